//! `Index.db` of the BIG format: one entry for each partition key, in three layouts.
//!
//! | versions | entry |
//! |---|---|
//! | `a` – `hf` | key length: u16, key, position: i64 |
//! | `ia` – `lb` | key length: u16, key, position: i64, length of the promoted index: i32, promoted index |
//! | `ma` – `pa` | key length: u16, key, position: vint, length of the promoted index: vint, promoted index |
//!
//! All numbers are big-endian. There is no header and no checksum: entries follow each other to the end of
//! the file.
//!
//! ```
//! use fullbloom_sstable::index::{Entries, Layout};
//!
//! let index_db = [0, 1, b'k', 0, 0, 0, 2, b'k', b'2', 0x40, 0];
//! let keys: Result<Vec<_>, _> = Entries::new(&index_db, Layout::Vint).map(|entry| entry.map(|e| e.key)).collect();
//! assert_eq!(keys?, [&b"k"[..], b"k2"]);
//! # Ok::<(), fullbloom::DecodeError>(())
//! ```

use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// What follows the key in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Versions `a` to `hf`: a position of eight bytes.
    Position,
    /// Versions `ia` to `lb`: the same, then the length of the promoted index in four bytes, and the index.
    Promoted,
    /// Versions `ma` to `pa`: the same, both numbers as vints.
    Vint,
}

/// One entry of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The partition key as the index has it.
    pub key: &'a [u8],
    /// Where the partition begins in the (uncompressed) data.
    pub position: u64,
    /// Where the entry begins in the index.
    pub at: u64,
}

/// The entries of an `Index.db`, in order, without copying. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    layout: Layout,
    failed: bool,
}

impl<'a> Entries<'a> {
    /// Reads from the start of the whole file.
    pub fn new(index_db: &'a [u8], layout: Layout) -> Self {
        Entries { cursor: Cursor::new(index_db), layout, failed: false }
    }

    #[inline]
    fn entry(&mut self) -> Result<Entry<'a>, DecodeError> {
        let at = self.cursor.at();
        let key = self.cursor.slice_u16_be("key")?;
        let position = match self.layout {
            Layout::Position | Layout::Promoted => self.cursor.long_count_be("position")?,
            Layout::Vint => self.cursor.vint_position("position")?,
        };
        let promoted = match self.layout {
            Layout::Position => 0,
            Layout::Promoted => self.cursor.count_be("promoted index length")?.into(),
            Layout::Vint => self.cursor.vint("promoted index length")?,
        };
        self.cursor.slice("promoted index", promoted)?;
        Ok(Entry { key, position, at })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.cursor.remaining() == 0 {
            return None;
        }
        let entry = self.entry();
        self.failed = entry.is_err();
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], layout: Layout) -> Result<Vec<&[u8]>, DecodeError> {
        Entries::new(bytes, layout).map(|entry| entry.map(|e| e.key)).collect()
    }

    #[test]
    fn every_layout_reads_its_own_entries() {
        let plain = [0, 2, b'k', b'1', 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(keys(&plain, Layout::Position), Ok(vec![&b"k1"[..], b""]));
        let promoted = [0, 1, b'k', 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 9, 9];
        assert_eq!(keys(&promoted, Layout::Promoted), Ok(vec![&b"k"[..]]));
        let vint = [0, 1, b'k', 0xc1, 0, 0, 2, 9, 9, 0, 1, b'l', 0, 0];
        assert_eq!(keys(&vint, Layout::Vint), Ok(vec![&b"k"[..], b"l"]));
        assert_eq!(keys(&[], Layout::Vint), Ok(vec![]));
    }

    #[test]
    fn an_entry_has_its_own_place_and_that_of_its_partition() {
        let vint = [0, 1, b'k', 0xc1, 0, 0, 2, 9, 9, 0, 1, b'l', 0x7f, 0];
        let last = Entries::new(&vint, Layout::Vint).last().unwrap();
        assert_eq!(last, Ok(Entry { key: b"l", position: 127, at: 9 }));
    }

    #[test]
    fn a_truncated_or_negative_field_is_named_with_its_offset() {
        let short = [0, 1, b'k', 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3, 9, 9];
        assert_eq!(
            keys(&short, Layout::Promoted),
            Err(DecodeError::Truncated { field: "promoted index", at: 15, need: 3, have: 2 })
        );
        let negative = [0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];
        assert!(matches!(
            keys(&negative, Layout::Position),
            Err(DecodeError::Value { field: "position", at: 2, .. })
        ));
        let mut entries = Entries::new(&[0], Layout::Vint);
        assert!(entries.next().unwrap().is_err());
        assert!(entries.next().is_none(), "no entries after an error");
    }
}
