//! Dialects as numbers. A number keeps its meaning for ever; `0` means "detect it".

use crate::status::{Error, Status, call};
use fullbloom::dialect::Name;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::LazyLock;

/// The dialect is detected by the bytes and the file's name.
pub const UNKNOWN: c_int = 0;

/// The number of each dialect, in the order of the header.
pub const NUMBERS: &[(c_int, Name)] = &[
    (1, Name::Native),
    (2, Name::Cassandra),
    (3, Name::Cassandra3),
    (4, Name::Cassandra2),
    (5, Name::Cassandra1),
    (6, Name::Cassandra07),
    (7, Name::Cassandra0),
    (8, Name::Libbloom),
    (9, Name::Libbloom1),
    (10, Name::LevelDb),
    (11, Name::RocksDbBlock),
    (12, Name::RocksDbLegacy),
    (13, Name::RocksDb),
    (14, Name::RocksDbRibbon),
    (15, Name::JavaLsm),
    (16, Name::Parquet),
    (17, Name::Guava),
    (18, Name::Guava32),
    (19, Name::Spark),
    (20, Name::Spark2),
    (21, Name::Orc),
    (22, Name::Dcso),
    (23, Name::Poppy),
];

/// The dialect of this number.
pub fn named(number: c_int) -> Result<Name, Error> {
    let found = NUMBERS.iter().find(|(n, _)| *n == number).map(|(_, name)| *name);
    found.ok_or_else(|| Error::new(Status::Argument, format_args!("{number} is not the number of a dialect")))
}

/// The number of this dialect.
pub fn number(name: Name) -> c_int {
    NUMBERS.iter().find(|(_, n)| *n == name).map_or(UNKNOWN, |(number, _)| *number)
}

/// The names as C strings, in the order of [`NUMBERS`]. Names have no zero byte.
static NAMES: LazyLock<Vec<CString>> = LazyLock::new(|| {
    NUMBERS.iter().map(|(_, name)| CString::new(name.as_str()).unwrap_or_default()).collect()
});

/// The name of a dialect; null for a number that is not a dialect's.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_dialect_name(dialect: c_int) -> *const c_char {
    let place = NUMBERS.iter().position(|(number, _)| *number == dialect);
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
        // SAFETY: promised by the caller.
        let text = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let found: Name = text.parse().map_err(|e| Error::new(Status::Argument, e))?;
        // SAFETY: promised by the caller.
        unsafe { dialect.write(number(found)) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_one_number_and_its_own_name() {
        assert_eq!(NUMBERS.len(), Name::ALL.len());
        for &name in Name::ALL {
            assert_eq!(named(number(name)).unwrap(), name);
            // SAFETY: a static text.
            let text = unsafe { CStr::from_ptr(fullbloom_dialect_name(number(name))) };
            assert_eq!(text.to_str().unwrap(), name.as_str());
        }
        for other in [UNKNOWN, -1, 24, c_int::MAX] {
            assert!(named(other).is_err() && fullbloom_dialect_name(other).is_null());
        }
    }
}
