//! The entries of a table in order, and its user keys as its filter holds them.
//!
//! A filter holds every user key of the table once, without sequence number, type and timestamp: puts, merges
//! and deletions alike, several versions as one. Deletions of ranges are not in it.
//!
//! ```no_run
//! use fullbloom_table::Table;
//!
//! let table = Table::open("000123.sst")?;
//! let filter = table.filter()?;
//! let mut keys = table.keys()?;
//! while let Some(key) = keys.next()? {
//!     assert!(filter.may_contain(key)?);
//! }
//! # Ok::<(), fullbloom_table::TableError>(())
//! ```

use crate::block::Entries;
use crate::contents::Contents;
use crate::error::{At, Problem, TableError};
use crate::index::DataBlocks;
use crate::internal_key::{FOOTER_LEN, InternalKey, KeyOrder, MAX_SEQUENCE, ValueType};
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use std::cmp::Ordering;

impl<S: Source> Table<S> {
    /// Walks all entries: every version of every key, in the order of the table.
    pub fn entries(&self) -> Result<TableEntries<'_, S>, TableError> {
        let blocks = self.data_blocks()?;
        Ok(TableEntries { table: self, blocks, block: None, last: None, new_user_key: false, count: 0 })
    }

    /// Walks the distinct user keys: what the table's filter holds.
    pub fn keys(&self) -> Result<TableKeys<'_, S>, TableError> {
        let stamped = self.order().is_some_and(|order| order.timestamp > 0);
        Ok(TableKeys { entries: self.entries()?, stamped, last: None, deletions: 0 })
    }

    /// Entries of all data blocks, read from the first to the last.
    pub fn count_entries(&self) -> Result<u64, TableError> {
        let mut entries = self.entries()?;
        while entries.advance()? {}
        Ok(entries.count())
    }

    /// Checks that lookups can find what is in the data blocks: the key of each block in the index is not
    /// less than the keys of the block, and less than the keys after it. Tables with an unknown comparator or
    /// with timestamps are not checked.
    pub fn check_index(&self) -> Result<(), TableError> {
        self.check_separators().map_err(|problem| self.error(problem))
    }

    fn check_separators(&self) -> Result<(), Problem> {
        let Some(order) = self.order().filter(|order| order.timestamp == 0) else { return Ok(()) };
        let (in_user_keys, internal) = (self.index_user_keys(), self.has_internal_keys());
        let compare = |separator: &[u8], key: &[u8]| match (in_user_keys, internal) {
            (false, _) => order.internal(separator, key),
            (true, true) => order.user(separator, &key[..key.len().saturating_sub(FOOTER_LEN)]),
            (true, false) => order.user(separator, key),
        };
        let mut blocks = DataBlocks::new(self)?;
        let (mut before, mut last): (Option<[Vec<u8>; 2]>, Vec<u8>) = (None, Vec::new());
        while let Some(handle) = blocks.step()? {
            let separators = [blocks.key().to_vec(), blocks.top_key().to_vec()];
            let mut entries = self.block(handle, Role::Data)?.into_entries();
            let mut is_first = true;
            while entries.advance()? {
                // The same entry of the top level leads to all blocks of a partition.
                let ended = before.iter().flatten().filter(|before| is_first && !separators.contains(before));
                if ended.into_iter().any(|before| compare(before, entries.key()) != Ordering::Less) {
                    return Err(Problem::Separator { at: handle.offset });
                }
                is_first = false;
                last.clear();
                last.extend_from_slice(entries.key());
            }
            let is_short = |separator: &Vec<u8>| compare(separator, &last) == Ordering::Less;
            if !is_first && separators.iter().any(is_short) {
                return Err(Problem::Separator { at: handle.offset });
            }
            before = Some(separators);
        }
        Ok(())
    }

    /// Whether the first data block's keys are ordered internal keys with types that LevelDB writes.
    ///
    /// Plain keys pass only by accident: the eighth byte from the end of each must be 0 or 1, and they must
    /// ascend by what is before it.
    pub(crate) fn looks_internal(&self) -> Result<bool, Problem> {
        let shape = *self.index_shape();
        let index = self.block(shape.handle, Role::Index)?;
        let mut blocks = index.index_entries(shape.format);
        if !blocks.advance()? {
            return Ok(true);
        }
        let written = |key: &[u8]| {
            InternalKey::decode(key)
                .is_some_and(|key| matches!(key.value_type, ValueType::DELETE | ValueType::PUT))
        };
        if !written(blocks.key()) {
            return Ok(false);
        }
        let data = self.block(blocks.handle(), Role::Data)?;
        let mut entries = data.entries().comparing();
        let mut first = true;
        while entries.advance()? {
            let ascends = first || Step::of(&entries, true, false).order == Ordering::Less;
            if !ascends || !written(entries.key()) {
                return Ok(false);
            }
            first = false;
        }
        Ok(true)
    }

    /// What the filter holds for a key as stored in a data block.
    pub(crate) fn filter_key_of<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        let footer = if self.has_internal_keys() { FOOTER_LEN } else { 0 };
        let user_key = &key[..key.len().saturating_sub(footer)];
        self.order().map_or(user_key, |order| order.filter_key(user_key))
    }

    /// The deletions of ranges, as the table stores them.
    pub fn range_deletions(&self) -> Result<Vec<RangeDeletion>, TableError> {
        self.collect_range_deletions().map_err(|problem| self.error(problem))
    }

    fn collect_range_deletions(&self) -> Result<Vec<RangeDeletion>, Problem> {
        let mut found = Vec::new();
        let Some(handle) = self.metaindex().range_deletions else { return Ok(found) };
        let block = self.block(handle, Role::RangeDeletions)?;
        let mut entries = block.entries();
        let (mut size, limit) = (0u64, self.options().limits.block_len);
        while entries.advance()? {
            let key = InternalKey::decode_at(entries.key(), entries.at())?;
            size += (key.user_key.len() + entries.value().len()) as u64;
            if size > limit {
                return Err(Problem::TooLarge { what: "range deletions", at: handle.offset, size, limit });
            }
            let (start, end) = (key.user_key.to_vec(), entries.value().to_vec());
            found.push(RangeDeletion { start, end, sequence: key.sequence });
        }
        Ok(found)
    }
}

/// A deletion of all keys in a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeDeletion {
    /// The first key deleted.
    pub start: Vec<u8>,
    /// The first key after it that is not.
    pub end: Vec<u8>,
    /// Its sequence number: older versions are deleted.
    pub sequence: u64,
}

/// A walk over all entries of a table; it starts before the first.
#[derive(Debug)]
pub struct TableEntries<'t, S> {
    table: &'t Table<S>,
    blocks: DataBlocks<'t, S>,
    block: Option<Entries<Contents<'t>>>,
    /// The last key of the block before.
    last: Option<Vec<u8>>,
    new_user_key: bool,
    count: u64,
}

impl<S: Source> TableEntries<'_, S> {
    /// Goes to the next entry; false at the end. An entry out of order is an error.
    pub fn advance(&mut self) -> Result<bool, TableError> {
        self.step().map_err(|problem| self.table.error(problem))
    }

    pub(crate) fn step(&mut self) -> Result<bool, Problem> {
        let mut first_of_block = false;
        loop {
            if let Some(entries) = &mut self.block {
                if entries.advance()? {
                    self.count += 1;
                    return self.check(first_of_block).map(|()| true);
                }
                if !first_of_block {
                    self.last = Some(entries.key().to_vec());
                }
            }
            let Some(handle) = self.blocks.step()? else {
                self.block = None;
                return Ok(false);
            };
            self.block = Some(self.table.block(handle, Role::Data)?.into_entries().comparing());
            first_of_block = true;
        }
    }

    /// Compares the entry with the one before it.
    fn check(&mut self, first_of_block: bool) -> Result<(), Problem> {
        let Some(entries) = &self.block else { return Ok(()) };
        let internal = self.table.has_internal_keys();
        if internal && entries.key().len() < FOOTER_LEN {
            InternalKey::decode_at(entries.key(), entries.at())?;
        }
        self.new_user_key = true;
        let order = self.table.order().unwrap_or(KeyOrder { reverse: false, timestamp: 0 });
        let step = match (&self.last, first_of_block) {
            (Some(last), true) => Step::between(&[], last, entries.key(), internal, order.reverse),
            (None, true) => return Ok(()),
            (_, false) => Step::of(entries, internal, order.reverse),
        };
        self.new_user_key = !step.same_user_key;
        // An unknown comparator may have any order; timestamps descend inside a user key.
        let checked = self.table.order().is_some_and(|order| order.timestamp == 0);
        if checked && step.order != Ordering::Less {
            return Err(Problem::KeyOrder { at: entries.at() });
        }
        Ok(())
    }

    fn current(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], Entries::key)
    }

    /// The key as stored.
    pub fn key(&self) -> &[u8] {
        self.current()
    }

    /// The parts of the key; a plain key counts as a put.
    pub fn internal_key(&self) -> InternalKey<'_> {
        let plain =
            InternalKey { user_key: self.current(), sequence: MAX_SEQUENCE, value_type: ValueType::PUT };
        match self.table.has_internal_keys() {
            true => InternalKey::decode(self.current()).unwrap_or(plain),
            false => plain,
        }
    }

    /// The user key without its timestamp: what the filter holds.
    pub fn filter_key(&self) -> &[u8] {
        self.table.filter_key_of(self.current())
    }

    /// The value of the current entry.
    pub fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], Entries::value)
    }

    /// Whether the entry before had another user key; a timestamp counts as part of it.
    pub fn is_new_user_key(&self) -> bool {
        self.new_user_key
    }

    /// Entries seen so far, the present one included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The position of the current entry, for messages.
    pub fn at(&self) -> At {
        self.block.as_ref().map_or(At::from(0), Entries::at)
    }
}

/// A walk over the distinct user keys of a table.
#[derive(Debug)]
pub struct TableKeys<'t, S> {
    entries: TableEntries<'t, S>,
    /// The last key, kept if keys have timestamps: neighbours may then differ only in those.
    stamped: bool,
    last: Option<Vec<u8>>,
    deletions: u64,
}

impl<S: Source> TableKeys<'_, S> {
    /// Entries seen so far, every version of a key counted.
    pub fn entry_count(&self) -> u64 {
        self.entries.count()
    }

    /// Deletions among the entries seen so far. Deletions of ranges are stored apart.
    pub fn deletion_count(&self) -> u64 {
        self.deletions
    }

    /// The next user key, without timestamp; `None` at the end.
    #[expect(
        clippy::should_implement_trait,
        reason = "the key is borrowed from the walk, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<&[u8]>, TableError> {
        while self.entries.advance()? {
            self.deletions += u64::from(self.entries.internal_key().value_type.is_delete());
            let key = self.entries.filter_key();
            if !self.entries.is_new_user_key() || self.stamped && self.last.as_deref() == Some(key) {
                continue;
            }
            if self.stamped {
                self.last = Some(key.to_vec());
            }
            return Ok(Some(self.entries.filter_key()));
        }
        Ok(None)
    }
}

/// How a key compares with the one before it.
struct Step {
    /// The one before, compared with this one.
    order: Ordering,
    same_user_key: bool,
}

impl Step {
    fn of<B: AsRef<[u8]>>(entries: &Entries<B>, internal: bool, reverse: bool) -> Step {
        let (common, suffix) = entries.key().split_at(entries.shared());
        Step::between(common, entries.replaced(), suffix, internal, reverse)
    }

    /// Compares `common + before` with `common + after` at a cost that does not depend on `common`.
    fn between(common: &[u8], before: &[u8], after: &[u8], internal: bool, reverse: bool) -> Step {
        let footer = if internal { FOOTER_LEN } else { 0 };
        let user_len = |tail: &[u8]| (common.len() + tail.len()).saturating_sub(footer);
        let (len_before, len_after) = (user_len(before), user_len(after));
        let by_user = if len_before >= common.len() && len_after >= common.len() {
            before[..len_before - common.len()].cmp(&after[..len_after - common.len()])
        } else {
            len_before.cmp(&len_after) // the shorter user key is in the common part
        };
        let by_user = if reverse { by_user.reverse() } else { by_user };
        let order = by_user.then_with(|| packed(common, after, footer).cmp(&packed(common, before, footer)));
        Step { order, same_user_key: by_user == Ordering::Equal }
    }
}

/// The last `footer` bytes of `common + tail` as a number.
fn packed(common: &[u8], tail: &[u8], footer: usize) -> u64 {
    let bytes = common.iter().rev().take(footer.saturating_sub(tail.len())).rev();
    let bytes = bytes.chain(&tail[tail.len().saturating_sub(footer)..]);
    bytes.rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparing_by_parts_equals_comparing_whole_keys() {
        let mut state = 1u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..200_000 {
            let mut part = |most: u64| (0..random(most)).map(|_| random(2) as u8).collect::<Vec<u8>>();
            let (common, before, after) = (part(20), part(14), part(14));
            let (a, b) = ([&common[..], &before].concat(), [&common[..], &after].concat());
            if a.len() >= 8 && b.len() >= 8 {
                for reverse in [false, true] {
                    let order = KeyOrder { reverse, timestamp: 0 };
                    let step = Step::between(&common, &before, &after, true, reverse);
                    assert_eq!(step.order, order.internal(&a, &b), "{common:?} {before:?} {after:?}");
                    assert_eq!(step.same_user_key, a[..a.len() - 8] == b[..b.len() - 8]);
                }
            }
            let step = Step::between(&common, &before, &after, false, false);
            assert_eq!((step.order, step.same_user_key), (a.cmp(&b), a == b));
        }
    }
}
