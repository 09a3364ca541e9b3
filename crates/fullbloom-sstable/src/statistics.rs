//! `Statistics.db`, as far as filters need it: the partitioner, the rate that the sstable was written with,
//! and the number of partitions.
//!
//! ```text
//!   k* – m*       | count: i32 |                 count * | type: i32 | offset: i32 | components ...
//!   n* on, BTI    | count: i32 | CRC of count |  count * | type: i32 | offset: i32 | CRC of both | components ...
//!
//!   component 0, validation:  | length: u16 | partitioner class | rate: f64 |  and, from n* on, | CRC |
//!   component 2, statistics:  | buckets: i32 | buckets * (size: i64, partitions: i64) | ...  and, from n* on, | CRC |
//! ```
//!
//! Big-endian; the CRC is that of zlib. Older versions keep the rate elsewhere and are not read.

use flate2::Crc;
use fullbloom::DecodeError;
use fullbloom_core::wire::Cursor;

/// How the file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Versions `ka` to `mt`.
    Plain,
    /// Versions `na` and later, and all of BTI: with checksums.
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

/// Type number of the statistics of the data.
const STATS: u32 = 2;

/// Reads the validation part of a whole `Statistics.db`.
///
/// `None` when the file has no such part. Offsets, and from `na` on checksums, are checked.
pub fn validation(statistics_db: &[u8], layout: Layout) -> Result<Option<Validation>, DecodeError> {
    let cursor = find(statistics_db, layout, VALIDATION)?;
    cursor.map(|cursor| part(cursor, statistics_db, layout)).transpose()
}

/// The number of partitions, from a whole `Statistics.db`: each is counted once in the histogram of their
/// sizes, with which the statistics begin.
///
/// `None` when the file has no such part. From `na` on, its checksum is checked.
pub fn partitions(statistics_db: &[u8], layout: Layout) -> Result<Option<u64>, DecodeError> {
    let Some(mut cursor) = find(statistics_db, layout, STATS)? else { return Ok(None) };
    if layout == Layout::Checked {
        let (start, end) = (cursor.offset(), end_of(statistics_db, cursor.at())?);
        let mut sum = Cursor::pointed(statistics_db, "statistics", end - 4)?;
        check(&mut sum, "checksum of the statistics", &[&statistics_db[start..end as usize - 4]])?;
    }
    let buckets = cursor.count_be("buckets of the histogram of partition sizes")?;
    let mut histogram = cursor.part("histogram of partition sizes", u64::from(buckets) * 16)?;
    let mut sum = 0u64;
    for _ in 0..buckets {
        histogram.i64_be("size of partitions")?;
        sum = sum.saturating_add(histogram.long_count_be("number of partitions of a size")?);
    }
    Ok(Some(sum))
}

/// The list of parts, as `(type, offset)`, and where it ends. Checksums are checked.
fn list(file: &[u8], layout: Layout) -> Result<(Vec<(u32, u32)>, u64), DecodeError> {
    let mut cursor = Cursor::new(file);
    let count = cursor.count_be("components")?;
    if layout == Layout::Checked {
        check(&mut cursor, "checksum of the component count", &[&file[..4]])?;
    }
    // Checked before the loop, so that a false count of two billion costs nothing.
    let bytes = cursor.clone().slice("list of components", u64::from(count) * 8)?;
    let mut found = Vec::new();
    for _ in 0..count {
        found.push((cursor.u32_be("component type")?, cursor.count_be("component offset")?));
    }
    if layout == Layout::Checked {
        check(&mut cursor, "checksum of the list of components", &[&file[..4], bytes])?;
    }
    Ok((found, cursor.at()))
}

/// The start of the last part of this type.
pub(crate) fn find(file: &[u8], layout: Layout, kind: u32) -> Result<Option<Cursor<'_>>, DecodeError> {
    let (list, list_end) = list(file, layout)?;
    let Some((_, offset)) = list.into_iter().rfind(|(found, _)| *found == kind) else { return Ok(None) };
    if u64::from(offset) < list_end {
        return Err(DecodeError::Mismatch {
            field: "offset of a part, inside the list that names it",
            at: list_end,
            got: offset.into(),
            expected: list_end,
        });
    }
    Cursor::pointed(file, "part of the statistics", offset.into()).map(Some)
}

/// Where the part that begins at `start` ends: at the next one, or at the end of the file. It has room for a
/// checksum.
fn end_of(file: &[u8], start: u64) -> Result<u64, DecodeError> {
    let (list, _) = list(file, Layout::Checked)?;
    let next = list.iter().map(|(_, offset)| u64::from(*offset)).filter(|offset| *offset > start).min();
    let end = next.unwrap_or(file.len() as u64).min(file.len() as u64);
    match end.saturating_sub(start) {
        0..4 => Err(DecodeError::Truncated { field: "part of the statistics", at: start, need: 4, have: 0 }),
        _ => Ok(end),
    }
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
