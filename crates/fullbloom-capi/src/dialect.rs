//! Dialects as numbers. A number keeps its meaning for ever; `0` means "detect it".

use crate::status::{Error, Status, call};
use fullbloom_dialects::Name;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::LazyLock;

/// The dialect is detected by the bytes and the file's name.
pub const UNKNOWN: c_int = 0;

/// The dialect of this number.
pub fn named(number: c_int) -> Result<Name, Error> {
    let found = Name::ALL.iter().find(|name| self::number(**name) == number);
    found
        .copied()
        .ok_or_else(|| Error::new(Status::Argument, format_args!("{number} is not the number of a dialect")))
}

/// The number of this dialect.
pub fn number(name: Name) -> c_int {
    name.number().into()
}

/// The names as C strings, in the order of [`Name::ALL`]. Names have no zero byte.
static NAMES: LazyLock<Vec<CString>> =
    LazyLock::new(|| Name::ALL.iter().map(|name| CString::new(name.as_str()).unwrap_or_default()).collect());

/// The name of a dialect; null for a number that is not a dialect's.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_dialect_name(dialect: c_int) -> *const c_char {
    let place = Name::ALL.iter().position(|name| number(*name) == dialect);
    place.map_or(ptr::null(), |place| NAMES[place].as_ptr())
}

/// The dialect of a name.
///
/// # Safety
/// `name` is null or ends with a NUL; `dialect` is null or memory for an int.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fullbloom_dialect_by_name(name: *const c_char, dialect: *mut c_int) -> Status {
    call(|| {
        if name.is_null() {
            return Err(Error::null("name"));
        }
        if dialect.is_null() {
            return Err(Error::null("dialect"));
        }
        // SAFETY: `name` is not null (checked above), and fullbloom.h demands text that ends in zero.
        let text = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let found: Name = text.parse().map_err(|e| Error::new(Status::Argument, e))?;
        // SAFETY: `dialect` is not null (checked above), and fullbloom.h demands room for an int.
        unsafe { dialect.write(number(found)) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_one_number_and_its_own_name() {
        for &name in Name::ALL {
            assert_eq!(named(number(name)).unwrap(), name);
            // SAFETY: a static text.
            let text = unsafe { CStr::from_ptr(fullbloom_dialect_name(number(name))) };
            assert_eq!(text.to_str().unwrap(), name.as_str());
        }
        let unused = Name::ALL.iter().map(|&name| number(name)).max().unwrap() + 1;
        for other in [UNKNOWN, -1, unused, c_int::MAX] {
            assert!(named(other).is_err() && fullbloom_dialect_name(other).is_null());
        }
    }
}
