//! `fullbloom_hash`: a key hashed once, looked up in or inserted into many filters.

use crate::filter::answers_of;
use crate::handle::Filter;
use crate::keys::{array, key};
use crate::status::{Error, Status, call};
use fullbloom_any::KeyHash;
use std::ffi::c_void;

/// The header's struct has this size and alignment in every version: programs keep arrays of it.
const _: () = assert!(size_of::<KeyHash>() == 32 && align_of::<KeyHash>() == align_of::<u64>());

/// The caller's hash.
///
/// # Safety
/// `hash` is null or points to a `fullbloom_hash` that nobody changes while it is used.
unsafe fn read<'a>(hash: *const KeyHash) -> Result<&'a KeyHash, Error> {
    // SAFETY: `read` demands null, which `as_ref` refuses, or a hash that nobody changes. A `KeyHash` is four integers, so
    // any bytes are a valid one.
    unsafe { hash.as_ref() }.ok_or_else(|| Error::null("hash"))
}

/// Hashes a key for this filter and all that hash keys alike.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; the key has `len` bytes; `hash` is null or
/// memory for a `fullbloom_hash`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_hash(
    filter: *const Filter,
    start: *const c_void,
    len: usize,
    hash: *mut KeyHash,
) -> Status {
    call(|| {
        if hash.is_null() {
            return Err(Error::null("hash"));
        }
        // SAFETY: the caller promised memory for one hash. Zeros belong to no filter, so a caller who ignores
        // the status gets an error from the next call, not an answer.
        unsafe { hash.write_bytes(0, 1) };
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call, and `len`
        // bytes of key; `get` and `key` refuse null.
        let made = unsafe { Filter::get(filter)?.hash(key(start, len)?) }?;
        // SAFETY: `hash` is not null (checked above), and fullbloom.h demands room for one hash.
        unsafe { hash.write(made) };
        Ok(())
    })
}

/// Adds a key by its hash.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; `hash` is null or a `fullbloom_hash`;
/// `changed` is null or memory for a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_insert_hash(
    filter: *mut Filter,
    hash: *const KeyHash,
    changed: *mut bool,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call, and null
        // or a hash; `get_mut` and `read` refuse null.
        let is_new = unsafe { Filter::get_mut(filter)?.insert_hash(read(hash)?) }?;
        if !changed.is_null() {
            // SAFETY: `changed` is not null, and fullbloom.h demands room for a bool.
            unsafe { changed.write(is_new) };
        }
        Ok(())
    })
}

/// Adds many keys by their hashes, or none if one of them is not the filter's own.
///
/// # Safety
/// `filter` is null or a live handle that nobody else uses meanwhile; `hashes` is null or has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_insert_hash_batch(
    filter: *mut Filter,
    hashes: *const KeyHash,
    count: usize,
) -> Status {
    // SAFETY: fullbloom.h demands null or a live handle that nobody else uses during the call, and null or `count` hashes;
    // `get_mut` and `array` refuse null. A `KeyHash` is four integers, so any bytes are a valid one.
    call(|| unsafe { Filter::get_mut(filter)?.insert_hashes(array(hashes, count, "hashes")?) })
}

/// Whether the key with this hash may be present; "maybe" if the call fails.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; `hash` is null or a `fullbloom_hash`;
/// `answer` is null or memory for a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_may_contain_hash(
    filter: *const Filter,
    hash: *const KeyHash,
    answer: *mut bool,
) -> Status {
    call(|| {
        if answer.is_null() {
            return Err(Error::null("answer"));
        }
        // SAFETY: `answer` is not null (checked above), and fullbloom.h demands room for a bool, null or a
        // live handle that nobody changes during the call, and null or a hash.
        unsafe {
            answer.write(true);
            answer.write(Filter::get(filter)?.answering()?.may_contain_hash(read(hash)?)?);
        }
        Ok(())
    })
}

/// Answers many hashes; "maybe" to all if the call fails.
///
/// # Safety
/// `filter` is null or a live handle that nobody changes meanwhile; both arrays are null or have `count`
/// elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_filter_may_contain_hash_batch(
    filter: *const Filter,
    hashes: *const KeyHash,
    count: usize,
    answers: *mut bool,
) -> Status {
    call(|| {
        // SAFETY: fullbloom.h demands null or a live handle that nobody changes during the call, and two
        // arrays that are null or have `count` elements. Any bytes are a valid `KeyHash`.
        unsafe {
            let answers = answers_of(answers, count)?;
            let filter = Filter::get(filter)?.answering()?;
            Ok(filter.may_contain_hashes(array(hashes, count, "hashes")?, answers)?)
        }
    })
}
