//! `fullbloom_key_type`: the type of keys that a native filter records.

use crate::handle::Filter;
use crate::status::{Error, Status, call};
use fullbloom::typed::KeyType;
use std::ffi::c_int;

/// The types, by their numbers in the header; 0 means that none is recorded.
const TYPES: [KeyType; 4] = [KeyType::Bytes, KeyType::Text, KeyType::Int, KeyType::Long];

/// The number of a type.
pub fn number(key_type: Option<KeyType>) -> u8 {
    let at = key_type.and_then(|key_type| TYPES.iter().position(|known| *known == key_type));
    at.map_or(0, |at| at as u8 + 1)
}

fn numbered(number: c_int) -> Result<KeyType, Error> {
    let found = usize::try_from(number).ok().and_then(|number| TYPES.get(number.checked_sub(1)?));
    found
        .copied()
        .ok_or_else(|| Error::new(Status::Argument, format_args!("{number} is not the number of a key type")))
}

/// Records the type of a native filter's keys.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_set_key_type(filter: *mut Filter, key_type: c_int) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call; `get_mut`
    // refuses null and a wrong tag.
    call(|| unsafe { Filter::get_mut(filter) }?.set_key_type(numbered(key_type)?))
}

/// Checks that keys of this type can be in the filter.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_require_key_type(filter: *const Filter, key_type: c_int) -> Status {
    call(|| {
        let key_type = numbered(key_type)?;
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call; `get`
        // refuses null and a wrong tag.
        let checked = unsafe { Filter::get(filter) }?.finished()?.require_key_type(key_type);
        checked.map_err(|e| Error::new(Status::KeyType, e))
    })
}
