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

use crate::bytes::{Cursor, cursor_at, place, u32_at};
use crate::error::{At, Problem};
use crate::handle::{Handle, TRAILER_LEN};
use std::cmp::Ordering;
use std::ops::Range;

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
    pub fn new(bytes: B, at: u64) -> Result<Block<B>, Problem> {
        let data = bytes.as_ref();
        let Some(count_at) = data.len().checked_sub(4) else {
            let have = data.len() as u64;
            return Err(Problem::Truncated { field: "restart count", at: At::inside(at, 0), need: 4, have });
        };
        let packed = u32_at(data, count_at);
        let place = At::inside(at, count_at);
        if packed & RESERVED != 0 {
            return Err(Problem::Unsupported { what: "reserved block flag (bit 30)", at: place });
        }
        if packed & SEPARATED_VALUES != 0 {
            return Err(Problem::Unsupported {
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
            return Err(Problem::Value { field: "restart count", at: place, got, allowed });
        };
        Ok(Block { bytes, at, entries_len, restarts, hash_buckets })
    }

    /// How many restarts there are.
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

    fn restart(&self, i: usize) -> Result<usize, Problem> {
        let place = self.entries_len + 4 * i;
        let offset = u32_at(self.bytes.as_ref(), place);
        if offset as usize <= self.entries_len {
            return Ok(offset as usize);
        }
        let allowed = "an offset among the entries";
        Err(Problem::Value { field: "restart", at: At::inside(self.at, place), got: offset.into(), allowed })
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
    pub fn seek(&self, order: impl Fn(&[u8]) -> Ordering) -> Result<Option<Entries<&[u8]>>, Problem> {
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
        IndexEntries { keys: Keys::new(self, 0), format, handle: Handle::default(), first_key: 0..0 }
    }

    /// As [`seek`](Block::seek), for an index block.
    pub fn seek_index(
        &self,
        format: IndexFormat,
        order: impl Fn(&[u8]) -> Ordering,
    ) -> Result<Option<IndexEntries<&[u8]>>, Problem> {
        self.seek_index_with(format, &RestartKeys::default(), order)
    }

    /// As [`seek_index`](Block::seek_index), for a block that is searched often: `known` are its
    /// [`restart_keys`](Block::restart_keys).
    pub(crate) fn seek_index_with(
        &self,
        format: IndexFormat,
        known: &RestartKeys,
        order: impl Fn(&[u8]) -> Ordering,
    ) -> Result<Option<IndexEntries<&[u8]>>, Problem> {
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
    pub fn last_index_entry(&self, format: IndexFormat) -> Result<Option<Handle>, Problem> {
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
    ) -> Result<usize, Problem> {
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
    fn restart_key(&self, i: usize, value_lengths: bool) -> Result<Option<Range<usize>>, Problem> {
        let start = self.restart(i)?;
        if start == self.entries_len {
            return Ok(None);
        }
        let mut cursor = cursor_at(self.entry_bytes(), self.at, start);
        let header = Header::read(&mut cursor, value_lengths)?;
        if header.shared != 0 {
            let (field, at, got) = ("shared key length", At::inside(self.at, start), header.shared.into());
            return Err(Problem::Value { field, at, got, allowed: "0 at a restart" });
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
fn hash_index(data: &[u8], count_at: usize, at: u64) -> Result<(usize, u16), Problem> {
    let Some(buckets_at) = count_at.checked_sub(2) else {
        let have = count_at as u64;
        return Err(Problem::Truncated { field: "hash buckets", at: At::inside(at, 0), need: 2, have });
    };
    let buckets = u16::from_le_bytes([data[buckets_at], data[buckets_at + 1]]);
    let Some(end) = buckets_at.checked_sub(buckets.into()) else {
        let (at, got) = (At::inside(at, buckets_at), buckets.into());
        return Err(Problem::Value {
            field: "hash buckets",
            at,
            got,
            allowed: "a table that fits into the block",
        });
    };
    Ok((end, buckets))
}

/// The numbers before a key.
struct Header {
    shared: u32,
    unshared: u32,
    value: u32,
}

impl Header {
    #[inline]
    fn read(cursor: &mut Cursor<'_>, value_lengths: bool) -> Result<Header, Problem> {
        let shared = cursor.varint32("shared key length")?;
        let unshared = cursor.varint32("key length")?;
        let value = if value_lengths { cursor.varint32("value length")? } else { 0 };
        Ok(Header { shared, unshared, value })
    }
}

/// The delta-coded keys that all walks share.
#[derive(Debug, Clone)]
struct Keys<B> {
    block: Block<B>,
    /// Where the next entry begins.
    next: usize,
    /// Where the current entry begins.
    current: usize,
    /// The current key, if it is contiguous in the block and needs no copy.
    whole: Option<Range<usize>>,
    /// The current key, if it was assembled.
    spelled: Vec<u8>,
    /// Bytes that the current key shares with the one before.
    shared: usize,
    /// The bytes of the key before that are not shared. Kept on request, so that comparing keys costs only
    /// the stored bytes: a file of one MiB can encode 2^36 bytes of keys.
    replaced: Option<Vec<u8>>,
}

impl<B: AsRef<[u8]>> Keys<B> {
    fn new(block: Block<B>, next: usize) -> Keys<B> {
        Keys { block, next, current: next, whole: None, spelled: Vec::new(), shared: 0, replaced: None }
    }

    fn key(&self) -> &[u8] {
        match &self.whole {
            Some(range) => &self.block.bytes.as_ref()[range.clone()],
            None => &self.spelled,
        }
    }

    /// Reads lengths and key of the next entry, and leaves the cursor after the key; `None` at the end.
    #[inline]
    fn advance(&mut self, value_lengths: bool) -> Result<Option<(Header, Cursor<'_>)>, Problem> {
        if self.next == self.block.entries_len {
            return Ok(None);
        }
        let bytes = self.block.entry_bytes();
        let mut cursor = cursor_at(bytes, self.block.at, self.next);
        let header = Header::read(&mut cursor, value_lengths)?;
        let shared = header.shared as usize;
        let before = match &self.whole {
            Some(range) => &bytes[range.clone()],
            None => &self.spelled,
        };
        if shared > before.len() {
            let at = At::inside(self.block.at, self.next);
            let allowed = "not more than the key before";
            return Err(Problem::Value {
                field: "shared key length",
                at,
                got: header.shared.into(),
                allowed,
            });
        }
        let start = cursor.offset();
        let suffix = cursor.slice("key", header.unshared.into())?;
        if let Some(replaced) = &mut self.replaced {
            replaced.clear();
            replaced.extend_from_slice(&before[shared..]);
        }
        if shared == 0 {
            self.whole = Some(start..start + suffix.len());
        } else {
            match self.whole.take() {
                Some(range) => {
                    self.spelled.clear();
                    self.spelled.extend_from_slice(&bytes[range][..shared]);
                }
                None => self.spelled.truncate(shared),
            }
            self.spelled.extend_from_slice(suffix);
        }
        self.shared = shared;
        self.current = self.next;
        Ok(Some((header, cursor)))
    }

    fn at(&self) -> At {
        At::inside(self.block.at, self.current)
    }
}

/// A walk over a block's entries; it starts before the first.
#[derive(Debug, Clone)]
pub struct Entries<B> {
    keys: Keys<B>,
    value: Range<usize>,
}

impl<B: AsRef<[u8]>> Entries<B> {
    /// Goes to the next entry; false at the end.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        let Some((header, mut cursor)) = self.keys.advance(true)? else { return Ok(false) };
        self.value = cursor.take("value", header.value.into())?;
        self.keys.next = self.value.end;
        Ok(true)
    }

    /// The key of the entry.
    pub fn key(&self) -> &[u8] {
        self.keys.key()
    }

    /// The number of leading bytes that the key shares with the one before.
    pub(crate) fn shared(&self) -> usize {
        self.keys.shared
    }

    /// Keeps, from here on, what [`replaced`](Entries::replaced) returns.
    pub(crate) fn comparing(mut self) -> Entries<B> {
        self.keys.replaced = Some(Vec::new());
        self
    }

    /// The bytes of the key before it that this key does not share.
    pub(crate) fn replaced(&self) -> &[u8] {
        self.keys.replaced.as_deref().unwrap_or_default()
    }

    /// The value of the entry.
    pub fn value(&self) -> &[u8] {
        &self.keys.block.bytes.as_ref()[self.value.clone()]
    }

    /// Where the entry is.
    pub fn at(&self) -> At {
        self.keys.at()
    }
}

/// The encoding of an index block's entries, recorded in the table's properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexFormat {
    /// Values have no length, and after the first of a restart only the change of the block size is kept.
    pub delta_values: bool,
    /// Values are followed by the first key of their block.
    pub first_keys: bool,
}

/// A walk over the entries of an index block.
#[derive(Debug, Clone)]
pub struct IndexEntries<B> {
    keys: Keys<B>,
    format: IndexFormat,
    handle: Handle,
    first_key: Range<usize>,
}

impl<B: AsRef<[u8]>> IndexEntries<B> {
    /// Goes to the next entry; false at the end.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        let IndexFormat { delta_values, first_keys } = self.format;
        let Some((header, mut cursor)) = self.keys.advance(!delta_values)? else { return Ok(false) };
        let mut value =
            if delta_values { cursor.clone() } else { cursor.part("value", header.value.into())? };
        if delta_values && header.shared != 0 {
            let at = place(&value);
            let change = value.zigzag64("change of the block size")?;
            let allowed = "one that gives a block inside the file";
            let refused =
                Problem::Value { field: "change of the block size", at, got: change.into(), allowed };
            self.handle = next_handle(self.handle, change).ok_or(refused)?;
        } else {
            self.handle = Handle::decode(&mut value)?;
        }
        if first_keys {
            let len = value.varint64("first key length")?;
            self.first_key = value.take("first key", len)?;
        }
        self.keys.next = if delta_values { value.offset() } else { cursor.offset() };
        Ok(true)
    }

    /// A key not less than any in the block and less than all in the next.
    pub fn key(&self) -> &[u8] {
        self.keys.key()
    }

    /// The block.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The first key of the block, where the index keeps it.
    pub fn first_key(&self) -> Option<&[u8]> {
        self.format.first_keys.then(|| &self.keys.block.bytes.as_ref()[self.first_key.clone()])
    }

    /// Where the entry is.
    pub fn at(&self) -> At {
        self.keys.at()
    }
}

/// Blocks of a delta-coded index follow each other, with a trailer between.
fn next_handle(before: Handle, change: i64) -> Option<Handle> {
    let offset = before.offset.checked_add(before.size)?.checked_add(TRAILER_LEN)?;
    Some(Handle { offset, size: before.size.checked_add_signed(change)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_varint;

    /// A block with a restart at every `interval`-th entry.
    fn block_of(entries: &[(&[u8], &[u8])], interval: usize) -> Vec<u8> {
        let (mut bytes, mut restarts, mut before) = (Vec::new(), Vec::new(), &b""[..]);
        for (i, (key, value)) in entries.iter().enumerate() {
            let mut shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
            if i % interval == 0 {
                restarts.push(bytes.len() as u32);
                shared = 0;
            }
            for n in [shared, key.len() - shared, value.len()] {
                put_varint(&mut bytes, n as u64);
            }
            bytes.extend_from_slice(&key[shared..]);
            bytes.extend_from_slice(value);
            before = key;
        }
        for restart in &restarts {
            bytes.extend_from_slice(&restart.to_le_bytes());
        }
        bytes.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
        bytes
    }

    const ENTRIES: [(&[u8], &[u8]); 5] =
        [(b"apple", b"1"), (b"apricot", b"22"), (b"banana", b""), (b"band", b"4"), (b"cherry", b"55")];

    #[test]
    fn entries_come_back_and_every_target_is_found() {
        for interval in 1..6 {
            let bytes = block_of(&ENTRIES, interval);
            let block = Block::new(&bytes, 0).unwrap();
            let mut walk = block.entries();
            for (key, value) in ENTRIES {
                assert!(walk.advance().unwrap());
                assert_eq!((walk.key(), walk.value()), (key, value));
            }
            assert!(!walk.advance().unwrap());
            for target in [&b""[..], b"apple", b"apq", b"apricot", b"banana\0", b"cherry", b"d"] {
                let expected = ENTRIES.iter().find(|(key, _)| *key >= target);
                let found = block.seek(|key| key.cmp(target)).unwrap();
                assert_eq!(
                    found.as_ref().map(Entries::key),
                    expected.map(|(key, _)| *key),
                    "{target:?} {interval}"
                );
            }
        }
    }

    #[test]
    fn a_hash_index_is_passed_over() {
        let mut bytes = block_of(&ENTRIES, 2);
        let count = u32_at(&bytes, bytes.len() - 4);
        bytes.truncate(bytes.len() - 4);
        bytes.extend_from_slice(&[0, 1, 2, 255, 254]); // five buckets
        bytes.extend_from_slice(&5u16.to_le_bytes());
        bytes.extend_from_slice(&(count | HASH_INDEX).to_le_bytes());
        let block = Block::new(&bytes, 0).unwrap();
        assert_eq!(block.hash_buckets(), 5);
        let mut walk = block.entries();
        let mut n = 0;
        while walk.advance().unwrap() {
            n += 1;
        }
        assert_eq!(n, 5);
    }

    #[test]
    fn damaged_lengths_are_errors_that_say_where() {
        let good = block_of(&ENTRIES, 2);
        for i in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[i] = value;
                let Ok(block) = Block::new(&bytes, 0) else { continue };
                let mut walk = block.entries();
                while let Ok(true) = walk.advance() {}
                let _ = block.seek(|key| key.cmp(b"band"));
            }
        }
        let mut bytes = good.clone();
        bytes[0] = 9;
        let error = Block::new(&bytes, 4096).unwrap().entries().advance().unwrap_err().to_string();
        assert!(error.starts_with("shared key length at byte 0 of the block at byte 4096: 9"), "{error}");
        assert!(Block::new(&[0, 0, 0][..], 0).is_err());
        assert!(Block::new(&[1, 0, 0, 0][..], 0).is_err());
        assert!(Block::new(&[0, 0, 0, 0x40][..], 0).is_err());
    }

    #[test]
    fn delta_coded_handles_follow_each_other() {
        // Two restarts of two entries: full handle, then the change of size.
        let mut bytes = Vec::new();
        let mut restarts = Vec::new();
        for (shared, suffix, numbers) in
            [(0, "aa", &[1000, 500][..]), (1, "b", &[3]), (0, "ba", &[2000, 10]), (1, "b", &[4])]
        {
            if shared == 0 {
                restarts.push(bytes.len() as u32);
            }
            put_varint(&mut bytes, shared);
            put_varint(&mut bytes, suffix.len() as u64);
            bytes.extend_from_slice(suffix.as_bytes());
            for &n in numbers {
                put_varint(&mut bytes, n);
            }
        }
        for restart in &restarts {
            bytes.extend_from_slice(&restart.to_le_bytes());
        }
        bytes.extend_from_slice(&2u32.to_le_bytes());
        let block = Block::new(&bytes, 0).unwrap();
        let format = IndexFormat { delta_values: true, first_keys: false };
        let expected = [("aa", 1000, 500), ("ab", 1505, 498), ("ba", 2000, 10), ("bb", 2015, 12)];
        let mut walk = block.index_entries(format);
        for (key, offset, size) in expected {
            assert!(walk.advance().unwrap());
            assert_eq!((walk.key(), walk.handle()), (key.as_bytes(), Handle { offset, size }));
        }
        assert!(!walk.advance().unwrap());
        for (target, offset) in [("", 1000), ("aab", 1505), ("ab", 1505), ("b", 2000), ("bb", 2015)] {
            let found = block.seek_index(format, |key| key.cmp(target.as_bytes())).unwrap();
            assert_eq!(found.unwrap().handle().offset, offset, "{target}");
        }
        assert!(block.seek_index(format, |key| key.cmp(b"c")).unwrap().is_none());
        assert_eq!(block.last_index_entry(format).unwrap(), Some(Handle { offset: 2015, size: 12 }));
    }
}
