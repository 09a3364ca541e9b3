//! Per-block filter blocks of LevelDB and of RocksDB up to 6.x.
//!
//! ```text
//!   | filter 0 | filter 1 | … | offset of each: u32 | offset of that array: u32 | lg of the range: u8 |
//! ```
//!
//! Filter `i` holds the keys of the data blocks that begin in the `i`-th 2 KiB of the file. Several small
//! blocks share a filter; a large block leaves empty filters behind it. The end of the last filter is the
//! offset of the array.

use crate::bytes::u32_at;
use crate::error::{At, BlockError};
use crate::hashed::HashedKey;
use crate::policy::Family;
use fullbloom_dialects::filter::Dialect;
use fullbloom_dialects::leveldb::Compatible;
use fullbloom_dialects::{LevelDb, RocksDbBlock};

/// Offset array's own offset, and the range's logarithm.
const TRAILER: usize = 5;

/// A per-block filter block over its bytes, parsed once: borrowed bytes, or anything that owns them and can
/// stay in a block cache, such as `Bytes` or `Arc<[u8]>`.
#[derive(Debug, Clone, Copy)]
pub struct PerBlock<S> {
    bytes: S,
    family: Family,
    /// Where the offsets begin and how many there are; `None` when the outline is damaged.
    offsets: Option<(usize, usize)>,
}

/// What the block has for a range of the file.
enum Part<'a> {
    Filter(&'a [u8]),
    Nothing,
    Everything,
}

impl<S: AsRef<[u8]>> PerBlock<S> {
    /// Reads any bytes as the engines do: a damaged block matches every key.
    pub fn new(bytes: S, family: Family) -> PerBlock<S> {
        let data = bytes.as_ref();
        let outline = data.len().checked_sub(TRAILER).and_then(|array_end| {
            let start = u32_at(data, array_end) as usize;
            let len = array_end.checked_sub(start)?;
            Some((start, len / 4))
        });
        PerBlock { bytes, family, offsets: outline }
    }

    /// As [`new`](PerBlock::new), but damage is an error: the block lies at byte `at` of its file.
    ///
    /// # Errors
    /// What is damaged, and where.
    pub fn decode(bytes: S, family: Family, at: u64) -> Result<PerBlock<S>, BlockError> {
        let block = PerBlock::new(bytes, family);
        let bytes = block.bytes.as_ref();
        let have = bytes.len() as u64;
        if have < TRAILER as u64 {
            let (at, need) = (At::inside(at, 0), TRAILER as u64);
            return Err(BlockError::Truncated { field: "filter offsets", at, need, have });
        }
        let word = bytes.len() - TRAILER;
        let Some((start, count)) = block.offsets.filter(|(start, _)| (word - start).is_multiple_of(4)) else {
            let (at, got) = (At::inside(at, word), u32_at(bytes, word).into());
            let allowed = "an array of words inside the block";
            return Err(BlockError::Value { field: "offset of the filter offsets", at, got, allowed });
        };
        for i in 0..count {
            if let Part::Everything = block.part(i) {
                let place = start + 4 * i;
                let (at, got) = (At::inside(at, place), u32_at(bytes, place).into());
                return Err(BlockError::Value {
                    field: "filter offset",
                    at,
                    got,
                    allowed: "ascending offsets",
                });
            }
        }
        if block.base_lg() >= u64::BITS {
            let (at, got) = (At::inside(at, bytes.len() - 1), block.base_lg().into());
            return Err(BlockError::Value { field: "filter range", at, got, allowed: "below 64" });
        }
        Ok(block)
    }

    /// Filters in the block, empty ones included.
    pub fn len(&self) -> usize {
        self.offsets.map_or(0, |(_, count)| count)
    }

    /// Whether the block has no filters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The range that one filter covers is 2 to the power of this; 11 in every file the engines wrote.
    pub fn base_lg(&self) -> u32 {
        self.bytes.as_ref().last().copied().unwrap_or(0).into()
    }

    /// The bytes of each filter in order; an empty one matches no key.
    pub fn filters(&self) -> impl Iterator<Item = &[u8]> + '_ {
        (0..self.len()).map(|i| match self.part(i) {
            Part::Filter(bytes) => bytes,
            Part::Nothing | Part::Everything => &[],
        })
    }

    /// The number of the filter for data blocks that begin at this byte of the file.
    pub fn index_of(&self, data_block: u64) -> Option<usize> {
        let index = data_block.checked_shr(self.base_lg()).unwrap_or(0);
        usize::try_from(index).ok().filter(|&index| index < self.len())
    }

    fn part(&self, i: usize) -> Part<'_> {
        let bytes = self.bytes.as_ref();
        let Some((start, _)) = self.offsets else { return Part::Everything };
        // The word behind the last offset is the array's own offset, which ends the last filter.
        let (from, to) = (u32_at(bytes, start + 4 * i) as usize, u32_at(bytes, start + 4 * i + 4) as usize);
        if from <= to && to <= start {
            Part::Filter(&bytes[from..to])
        } else if from == to {
            Part::Nothing
        } else {
            Part::Everything
        }
    }

    /// Whether the data block at this byte of the file may hold the key or prefix.
    pub fn may_contain(&self, data_block: u64, probe: &[u8]) -> bool {
        self.may_contain_hashed(data_block, &HashedKey::new(probe))
    }

    /// As [`may_contain`](Self::may_contain), for a key that is looked up in many filters: it is hashed once
    /// for all of them.
    pub fn may_contain_hashed(&self, data_block: u64, probe: &HashedKey<'_>) -> bool {
        let Some(i) = self.index_of(data_block) else { return true };
        match self.part(i) {
            Part::Nothing => false,
            Part::Everything => true,
            Part::Filter(bytes) => match self.family {
                Family::LevelDb => ask::<LevelDb>(&Compatible::read(bytes), || probe.bloom32_leveldb()),
                Family::RocksDb | Family::LevelDbSigned => {
                    ask::<RocksDbBlock>(&Compatible::read(bytes), || probe.bloom32())
                }
                Family::Native | Family::Unknown => true,
            },
        }
    }
}

fn ask<D: Dialect<Hash = u32>>(filter: &Compatible<'_, D>, hash: impl FnOnce() -> u32) -> bool {
    match filter {
        Compatible::Nothing => false,
        Compatible::Everything => true,
        Compatible::Filter(filter) => filter.may_contain_raw(hash()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_dialects::Filter;
    use fullbloom_dialects::LevelDb;

    fn filter(keys: &[&str]) -> Vec<u8> {
        let mut filter = Filter::<LevelDb>::with_bits_per_key(keys.len() as u64, 10.0).unwrap();
        filter.extend(keys);
        filter.encode()
    }

    /// Two filters with an empty one between, for three ranges of 2 KiB.
    fn sample() -> Vec<u8> {
        let (first, last) = (filter(&["a", "b"]), filter(&["c"]));
        let mut bytes = [&first[..], &last].concat();
        let array = bytes.len() as u32;
        for offset in [0, first.len() as u32, first.len() as u32, array] {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        bytes.push(11);
        bytes
    }

    #[test]
    fn the_block_offset_chooses_the_filter() {
        let bytes = sample();
        let block = PerBlock::decode(&bytes, Family::LevelDb, 0).unwrap();
        assert_eq!(block.len(), 3);
        for (offset, key, expected) in [
            (0, "a", true),
            (2047, "b", true),
            (0, "c", false),
            (2048, "a", false),
            (2048, "c", false),
            (4096, "c", true),
        ] {
            assert_eq!(block.may_contain(offset, key.as_bytes()), expected, "{offset} {key}");
        }
        assert!(block.may_contain(6144, b"x"), "past the last filter");
        assert!(block.may_contain(u64::MAX, b"x"));
    }

    #[test]
    fn a_damaged_block_is_an_error_to_a_tool_and_maybe_to_an_engine() {
        let good = sample();
        for len in 0..TRAILER {
            assert!(PerBlock::decode(&good[..len], Family::LevelDb, 0).is_err());
            assert!(PerBlock::new(&good[..len], Family::LevelDb).may_contain(0, b"x"));
        }
        let mut bytes = good.clone();
        let array = bytes.len() - TRAILER - 12;
        bytes[array] = 200;
        assert!(PerBlock::decode(&bytes, Family::LevelDb, 0).is_err());
        assert!(PerBlock::new(&bytes, Family::LevelDb).may_contain(0, b"x"));
        *bytes.last_mut().unwrap() = 200;
        assert!(PerBlock::new(&bytes, Family::LevelDb).index_of(u64::MAX).is_some());
        for i in 0..good.len() {
            for value in 0..=255 {
                let mut bytes = good.clone();
                bytes[i] = value;
                for offset in [0, 2048, 4096, 1 << 40] {
                    let _ = PerBlock::new(&bytes, Family::LevelDb).may_contain(offset, b"x");
                }
                let _ = PerBlock::decode(&bytes, Family::LevelDb, 0);
            }
        }
    }

    #[test]
    fn an_unknown_policy_never_says_no() {
        let bytes = sample();
        assert!(PerBlock::new(&bytes, Family::Unknown).may_contain(0, b"x"));
    }
}
