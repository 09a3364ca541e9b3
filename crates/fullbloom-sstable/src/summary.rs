//! The last key of `Summary.db`: if the index ends with another key, it was cut off.
//!
//! ```text
//!   | interval: i32 | entries: i32 | length of the samples: i64 | sampling level: i32 | full size: i32 |
//!   | samples | first key: i32 + bytes | last key: i32 + bytes |
//! ```
//!
//! Versions `ka` and later. Bytes may follow.

use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// The last key of a whole `Summary.db`.
pub(crate) fn last_key(summary_db: &[u8]) -> Result<&[u8], DecodeError> {
    let mut cursor = Cursor::new(summary_db);
    cursor.slice("interval and entries", 8)?;
    let len = cursor.long_count_be("length of the samples")?;
    cursor.slice("sampling level and full size", 8)?;
    cursor.slice("samples", len)?;
    let first = cursor.count_be("first key")?;
    cursor.slice("first key", first.into())?;
    let last = cursor.count_be("last key")?;
    cursor.slice("last key", last.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_follows_samples_and_first_key_and_every_cut_is_refused() {
        let mut file = [0, 0, 0, 128, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 128, 0, 0, 0, 1].to_vec();
        file.extend_from_slice(b"abc\0\0\0\x01f\0\0\0\x04last");
        assert_eq!(last_key(&file), Ok(&b"last"[..]));
        for cut in 0..file.len() {
            assert!(last_key(&file[..cut]).is_err(), "{cut}");
        }
        file.push(7);
        assert_eq!(last_key(&file), Ok(&b"last"[..]));
    }
}
