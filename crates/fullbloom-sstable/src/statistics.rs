//! `Statistics.db`, as far as filters need it: the partitioner and the rate that the sstable was written
//! with.
//!
//! ```text
//!   m*            | count: i32 |                 count * | type: i32 | offset: i32 | components ...
//!   n*, o*, d*    | count: i32 | CRC of count |  count * | type: i32 | offset: i32 | CRC of both | components ...
//!
//!   component 0, validation:  | length: u16 | partitioner class | rate: f64 |  and, from n* on, | CRC |
//! ```
//!
//! Big-endian; the CRC is that of zlib. Older versions keep the rate elsewhere and are not read.

use flate2::Crc;
use fullbloom::DecodeError;
use fullbloom::wire::Cursor;

/// How the file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Versions `ma` to `me`.
    Plain,
    /// Versions `na` to `oa`, and `da`: with checksums.
    Checked,
}

/// The validation part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Validation {
    /// Class name of the partitioner.
    pub partitioner: String,
    /// The table's rate when the sstable was written (`bloom_filter_fp_chance`).
    pub fpr: f64,
}

/// Type number of the validation part.
const VALIDATION: u32 = 0;

/// Reads the validation part of a whole `Statistics.db`.
///
/// `None` when the file has no such part. Offsets, and from `na` on checksums, are checked.
pub fn validation(statistics_db: &[u8], layout: Layout) -> Result<Option<Validation>, DecodeError> {
    let mut cursor = Cursor::new(statistics_db);
    let count = cursor.count_be("components")?;
    if layout == Layout::Checked {
        check(&mut cursor, "checksum of the component count", &[&statistics_db[..4]])?;
    }
    // Checked before the loop, so that a false count of two billion costs nothing.
    let list = cursor.clone().slice("list of components", u64::from(count) * 8)?;
    let mut offset = None;
    for _ in 0..count {
        let (kind, at) = (cursor.u32_be("component type")?, cursor.count_be("component offset")?);
        if kind == VALIDATION {
            offset = Some(at);
        }
    }
    if layout == Layout::Checked {
        check(&mut cursor, "checksum of the list of components", &[&statistics_db[..4], list])?;
    }
    let (list_end, Some(offset)) = (cursor.at(), offset) else { return Ok(None) };
    if u64::from(offset) < list_end {
        return Err(DecodeError::Mismatch {
            field: "offset of the validation part, inside the list that names it",
            at: list_end,
            got: offset.into(),
            expected: list_end,
        });
    }
    part(Cursor::pointed(statistics_db, "validation", offset.into())?, statistics_db, layout).map(Some)
}

fn part(mut cursor: Cursor<'_>, file: &[u8], layout: Layout) -> Result<Validation, DecodeError> {
    let start = cursor.at() as usize;
    let name = cursor.slice_u16_be("partitioner")?;
    let partitioner = match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(e) => {
            let at = start as u64 + 2 + e.valid_up_to() as u64;
            return Err(DecodeError::Magic { field: "partitioner, as UTF-8", at });
        }
    };
    let fpr = cursor.f64_be("fpr")?;
    let end = cursor.at() as usize;
    if layout == Layout::Checked {
        check(&mut cursor, "checksum of the validation part", &[&file[start..end]])?;
    }
    Ok(Validation { partitioner, fpr })
}

/// The next four bytes must be the CRC of these pieces.
fn check(cursor: &mut Cursor<'_>, field: &'static str, pieces: &[&[u8]]) -> Result<(), DecodeError> {
    let at = cursor.at();
    let stored = cursor.u32_be(field)?;
    let mut crc = Crc::new();
    for piece in pieces {
        crc.update(piece);
    }
    if stored == crc.sum() {
        return Ok(());
    }
    Err(DecodeError::Mismatch { field, at, got: stored.into(), expected: crc.sum().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &[u8] = b"org.apache.cassandra.dht.Murmur3Partitioner";

    fn crc(pieces: &[&[u8]]) -> [u8; 4] {
        let mut crc = Crc::new();
        pieces.iter().for_each(|piece| crc.update(piece));
        crc.sum().to_be_bytes()
    }

    /// A file of two parts: another one, and the validation part behind it.
    fn file(layout: Layout, fpr: f64) -> Vec<u8> {
        let checked = layout == Layout::Checked;
        let count = 2u32.to_be_bytes();
        let first = if checked { 4 + 4 + 16 + 4 } else { 4 + 16 };
        let mut list = Vec::new();
        for (kind, offset) in [(2u32, first), (VALIDATION, first + 5)] {
            list.extend_from_slice(&kind.to_be_bytes());
            list.extend_from_slice(&(offset as u32).to_be_bytes());
        }
        let mut bytes = count.to_vec();
        if checked {
            bytes.extend_from_slice(&crc(&[&count]));
        }
        bytes.extend_from_slice(&list);
        if checked {
            bytes.extend_from_slice(&crc(&[&count, &list]));
        }
        bytes.extend_from_slice(b"stats");
        let mut part = (NAME.len() as u16).to_be_bytes().to_vec();
        part.extend_from_slice(NAME);
        part.extend_from_slice(&fpr.to_be_bytes());
        bytes.extend_from_slice(&part);
        if checked {
            bytes.extend_from_slice(&crc(&[&part]));
        }
        bytes
    }

    #[test]
    fn both_layouts_give_the_rate_and_the_partitioner() {
        for layout in [Layout::Plain, Layout::Checked] {
            let found = validation(&file(layout, 0.01), layout).unwrap().unwrap();
            assert_eq!(found.fpr, 0.01);
            assert_eq!(found.partitioner.as_bytes(), NAME);
        }
    }

    #[test]
    fn every_prefix_is_refused_and_from_na_on_every_changed_byte_that_is_read() {
        for layout in [Layout::Plain, Layout::Checked] {
            let whole = file(layout, 0.01);
            for cut in 0..whole.len() {
                assert!(validation(&whole[..cut], layout).is_err(), "{layout:?} cut at {cut}");
            }
            let other = whole.windows(5).position(|window| window == b"stats").unwrap();
            for at in (0..whole.len()).filter(|at| !(other..other + 5).contains(at)) {
                for flip in [1, 0x80, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= flip;
                    let found = validation(&bytes, layout);
                    assert!(layout == Layout::Plain || found.is_err(), "byte {at} ^ {flip:#x}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn a_file_without_the_part_has_no_rate_and_a_pointer_into_the_list_is_refused() {
        assert_eq!(validation(&[0, 0, 0, 0], Layout::Plain), Ok(None));
        assert!(validation(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4], Layout::Plain).is_err());
        assert!(validation(&[0x7f, 0xff, 0xff, 0xff], Layout::Plain).is_err());
        assert!(validation(&[0xff; 64], Layout::Plain).is_err());
    }
}
