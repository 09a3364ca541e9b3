//! Blocks of sorted entries: data, index, metaindex and properties all have this shape.
//!
//! ```text
//!   | entries | restarts: u32 each | hash index, maybe | restart count and flags: u32 |
//!   data entry:         shared, unshared, value length: varint32 | key suffix | value
//!   index entry, delta: shared, unshared: varint32 | key suffix | handle, or the change of its size
//! ```
//!
//! A key is the first `shared` bytes of the one before plus the suffix. At a restart nothing is shared, so a
//! search can begin there. The hash index of data blocks is optional, and a reader may skip it.

mod entries;
mod index;
#[cfg(test)]
mod tests;

pub use entries::Entries;
pub use index::{IndexEntries, IndexFormat};

use crate::bytes::{cursor_at, u32_at};
use crate::error::{At, BlockError};
use crate::handle::Handle;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;
use entries::{Header, Keys};

const HASH_INDEX: u32 = 1 << 31;
const RESERVED: u32 = 1 << 30;
const UNIFORM_KEYS: u32 = 1 << 29;
const SEPARATED_VALUES: u32 = 1 << 28;
const FLAGS: u32 = HASH_INDEX | RESERVED | UNIFORM_KEYS | SEPARATED_VALUES;

/// The plain contents of a block; its restarts and hash index have been checked.
#[derive(Debug, Clone)]
pub struct Block<B> {
    bytes: B,
    /// Where the block begins in the file, for errors.
    at: u64,
    entries_len: usize,
    restarts: usize,
    hash_buckets: u16,
}

impl<B: AsRef<[u8]>> Block<B> {
    /// Checks the structure of a block at byte `at` of a file.
    pub fn new(bytes: B, at: u64) -> Result<Block<B>, BlockError> {
        let data = bytes.as_ref();
        let Some(count_at) = data.len().checked_sub(4) else {
            let have = data.len() as u64;
            return Err(BlockError::Truncated {
                field: "restart count",
                at: At::inside(at, 0),
                need: 4,
                have,
            });
        };
        let packed = u32_at(data, count_at);
        let place = At::inside(at, count_at);
        if packed & RESERVED != 0 {
            return Err(BlockError::Unsupported { what: "reserved block flag (bit 30)", at: place });
        }
        if packed & SEPARATED_VALUES != 0 {
            return Err(BlockError::Unsupported {
                what: "block with keys and values apart (bit 28)",
                at: place,
            });
        }
        let restarts = (packed & !FLAGS) as usize;
        let (restarts_end, hash_buckets) =
            if packed & HASH_INDEX == 0 { (count_at, 0) } else { hash_index(data, count_at, at)? };
        let Some(entries_len) = restarts_end.checked_sub(restarts.saturating_mul(4)) else {
            let allowed = "an array that fits into the block";
            let got = restarts as i128;
            return Err(BlockError::Value { field: "restart count", at: place, got, allowed });
        };
        Ok(Block { bytes, at, entries_len, restarts, hash_buckets })
    }

    /// The number of restart points.
    pub fn restarts(&self) -> usize {
        self.restarts
    }

    /// Buckets of the hash index; 0 without one.
    pub fn hash_buckets(&self) -> u16 {
        self.hash_buckets
    }

    /// Where the block begins in its file.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether the block has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries_len == 0
    }

    fn restart(&self, i: usize) -> Result<usize, BlockError> {
        let place = self.entries_len + 4 * i;
        let offset = u32_at(self.bytes.as_ref(), place);
        if offset as usize <= self.entries_len {
            return Ok(offset as usize);
        }
        let allowed = "an offset among the entries";
        Err(BlockError::Value {
            field: "restart",
            at: At::inside(self.at, place),
            got: offset.into(),
            allowed,
        })
    }

    fn as_slices(&self) -> Block<&[u8]> {
        let Block { at, entries_len, restarts, hash_buckets, .. } = *self;
        Block { bytes: self.bytes.as_ref(), at, entries_len, restarts, hash_buckets }
    }

    /// Walks the entries of a data, metaindex or properties block from the first.
    pub fn entries(&self) -> Entries<&[u8]> {
        self.as_slices().into_entries()
    }

    /// As [`entries`](Block::entries), and the walk owns the block.
    pub fn into_entries(self) -> Entries<B> {
        Entries { keys: Keys::new(self, 0), value: 0..0 }
    }

    /// Walks the entries from the first whose key is not less than the target; `order` compares a key with
    /// it. The walk is already at that entry; `None` when there is none.
    pub fn seek(&self, order: impl Fn(&[u8]) -> Ordering) -> Result<Option<Entries<&[u8]>>, BlockError> {
        let start = self.last_restart_before(true, &RestartKeys::default(), &order)?;
        let mut entries = Entries { keys: Keys::new(self.as_slices(), start), value: 0..0 };
        while entries.advance()? {
            if order(entries.key()) != Ordering::Less {
                return Ok(Some(entries));
            }
        }
        Ok(None)
    }

    /// Walks the entries of an index block.
    pub fn index_entries(&self, format: IndexFormat) -> IndexEntries<&[u8]> {
        self.as_slices().into_index_entries(format)
    }

    /// As [`index_entries`](Block::index_entries), and the walk owns the block.
    pub fn into_index_entries(self, format: IndexFormat) -> IndexEntries<B> {
        IndexEntries::new(self, format)
    }

    /// As [`seek`](Block::seek), for an index block.
    pub fn seek_index(
        &self,
        format: IndexFormat,
        order: impl Fn(&[u8]) -> Ordering,
    ) -> Result<Option<IndexEntries<&[u8]>>, BlockError> {
        self.seek_index_with(format, &RestartKeys::default(), order)
    }

    /// As [`seek_index`](Block::seek_index), for a block that is searched often: `known` are its
    /// [`restart_keys`](Block::restart_keys).
    pub(crate) fn seek_index_with(
        &self,
        format: IndexFormat,
        known: &RestartKeys,
        order: impl Fn(&[u8]) -> Ordering,
    ) -> Result<Option<IndexEntries<&[u8]>>, BlockError> {
        let mut entries = self.index_entries(format);
        entries.keys.next = self.last_restart_before(!format.delta_values, known, &order)?;
        while entries.advance()? {
            if order(entries.key()) != Ordering::Less {
                return Ok(Some(entries));
            }
        }
        Ok(None)
    }

    /// The last entry of an index block, searched from its last restart.
    pub fn last_index_entry(&self, format: IndexFormat) -> Result<Option<Handle>, BlockError> {
        let mut entries = self.index_entries(format);
        let known = RestartKeys::default();
        entries.keys.next = self.last_restart_before(!format.delta_values, &known, &|_| Ordering::Less)?;
        let mut last = None;
        while entries.advance()? {
            last = Some(entries.handle());
        }
        Ok(last)
    }

    /// Offset of the last restart whose key is less than the target, or of the first.
    fn last_restart_before(
        &self,
        value_lengths: bool,
        known: &RestartKeys,
        order: &impl Fn(&[u8]) -> Ordering,
    ) -> Result<usize, BlockError> {
        if self.restarts == 0 {
            return Ok(0);
        }
        let (mut low, mut high) = (0, self.restarts - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let key = match known.get(middle) {
                Some(range) => Some(range),
                None => self.restart_key(middle, value_lengths)?,
            };
            match key.map(|range| order(&self.bytes.as_ref()[range])) {
                Some(Ordering::Less) => low = middle,
                _ => high = middle - 1,
            }
        }
        self.restart(low)
    }

    /// Where the key at a restart is; `None` for a restart after the last entry.
    fn restart_key(&self, i: usize, value_lengths: bool) -> Result<Option<Range<usize>>, BlockError> {
        let start = self.restart(i)?;
        if start == self.entries_len {
            return Ok(None);
        }
        let mut cursor = cursor_at(self.entry_bytes(), self.at, start);
        let header = Header::read(&mut cursor, value_lengths)?;
        if header.shared != 0 {
            let (field, at, got) = ("shared key length", At::inside(self.at, start), header.shared.into());
            return Err(BlockError::Value { field, at, got, allowed: "0 at a restart" });
        }
        cursor.take("key", header.unshared.into()).map(Some)
    }

    /// Finds the keys at all restarts of an index block, for [`seek_index_with`](Block::seek_index_with).
    pub(crate) fn restart_keys(&self, format: IndexFormat) -> RestartKeys {
        let place = |i| {
            let range = self.restart_key(i, !format.delta_values).ok()??;
            Some((u32::try_from(range.start).ok()?, u32::try_from(range.end).ok()?))
        };
        // A block with a restart at every entry is not a real index. It would cost three times its size.
        let dense = self.restarts > self.bytes.as_ref().len() / RestartKeys::BYTES_EACH;
        RestartKeys(if dense { Vec::new() } else { (0..self.restarts).map(place).collect() })
    }

    fn entry_bytes(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.entries_len]
    }
}

/// Where the keys at a block's restarts are, so that a search compares keys and decodes no lengths.
///
/// A restart that cannot be read is left out; the search reads it again and reports what is wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestartKeys(Vec<Option<(u32, u32)>>);

impl RestartKeys {
    const BYTES_EACH: usize = size_of::<Option<(u32, u32)>>();

    /// Bytes of memory.
    pub(crate) fn byte_len(&self) -> usize {
        self.0.len() * Self::BYTES_EACH
    }

    #[inline]
    fn get(&self, i: usize) -> Option<Range<usize>> {
        let (start, end) = (*self.0.get(i)?)?;
        Some(start as usize..end as usize)
    }
}

/// Where the restarts end before a hash index, and its number of buckets.
fn hash_index(data: &[u8], count_at: usize, at: u64) -> Result<(usize, u16), BlockError> {
    let Some(buckets_at) = count_at.checked_sub(2) else {
        let have = count_at as u64;
        return Err(BlockError::Truncated { field: "hash buckets", at: At::inside(at, 0), need: 2, have });
    };
    let buckets = u16::from_le_bytes([data[buckets_at], data[buckets_at + 1]]);
    let Some(end) = buckets_at.checked_sub(buckets.into()) else {
        let (at, got) = (At::inside(at, buckets_at), buckets.into());
        return Err(BlockError::Value {
            field: "hash buckets",
            at,
            got,
            allowed: "a table that fits into the block",
        });
    };
    Ok((end, buckets))
}
