//! A table's filter, with lookups like those of the engine that wrote the table.

use super::{Content, Family, HashedKey, Holds, KeptContent, PartitionedBlock, PerBlock, Question};
use crate::contents::Contents;
use crate::error::{Problem, TableError};
use crate::handle::Handle;
use crate::index::in_order;
use crate::internal_key::{FOOTER_LEN, Target};
use crate::kept::Decoded;
use crate::metaindex::{FilterEntry, FilterLayout};
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;

/// A table's filter.
///
/// Answers are those of the engine's read path. An engine treats every error as "maybe":
/// `filter.may_contain(key).unwrap_or(true)`; a tool reports it.
#[derive(Debug)]
pub struct TableFilter<'t, S> {
    table: &'t Table<S>,
    entry: Option<&'t FilterEntry>,
    family: Family,
    holds: &'t Holds,
}

impl<S: Source> Table<S> {
    /// The table's filter; without one, it answers "maybe" to every lookup.
    ///
    /// Reads the filter block, or the top-level index over its partitions, and checks its structure.
    pub fn filter(&self) -> Result<TableFilter<'_, S>, TableError> {
        let filter = TableFilter::of(self);
        filter.check().map_err(|problem| self.error(problem))?;
        Ok(filter)
    }
}

impl<'t, S: Source> TableFilter<'t, S> {
    /// The filter, unchecked; damage is reported by lookups.
    pub(crate) fn of(table: &'t Table<S>) -> TableFilter<'t, S> {
        let (family, holds) = table.filter_terms();
        TableFilter { table, entry: table.metaindex().filter.as_ref(), family, holds }
    }

    fn check(&self) -> Result<(), Problem> {
        match self.entry.map(|entry| (entry.layout, entry.handle)) {
            None => Ok(()),
            Some((FilterLayout::Full, handle)) => self.table.fetch(handle, Role::Filter).map(|_| ()),
            Some((FilterLayout::Partitioned, handle)) => self.top(handle).map(|_| ()),
            Some((FilterLayout::PerBlock, handle)) => {
                let bytes = self.table.fetch(handle, Role::Filter)?;
                PerBlock::decode(&bytes, self.family, handle.offset)?;
                Ok(())
            }
        }
    }

    /// How the filter is laid out; `None` without a filter.
    pub fn layout(&self) -> Option<FilterLayout> {
        self.entry.map(|entry| entry.layout)
    }

    /// The family of the filter.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Says whether the filter holds whole keys, prefixes, or both.
    pub fn holds(&self) -> &'t Holds {
        self.holds
    }

    /// Whether a lookup of this key must read the table.
    pub fn may_contain(&self, key: &[u8]) -> Result<bool, TableError> {
        self.may_match(Question::Get, key)
    }

    /// Whether this operation on a key must read the table.
    pub fn may_match(&self, question: Question, key: &[u8]) -> Result<bool, TableError> {
        self.ask(question, &HashedKey::new(key)).map_err(|problem| self.table.error(problem))
    }

    /// The filter of one block that answers for whole keys, if the table has it in its own memory.
    #[inline]
    pub(crate) fn kept(&self) -> Option<&'t KeptContent> {
        match (self.entry?.layout, self.table.kept_filter()?) {
            (FilterLayout::Full, Decoded::Filter(content)) if self.holds.whole_keys => Some(content),
            _ => None,
        }
    }

    /// As [`may_match`](Self::may_match), for a key that is looked up in many tables.
    pub(crate) fn ask(&self, question: Question, hashed: &HashedKey<'_>) -> Result<bool, Problem> {
        let key = hashed.key();
        let Some(entry) = self.entry else { return Ok(true) };
        if self.family == Family::Unknown {
            return Ok(true);
        }
        match entry.layout {
            FilterLayout::Full => match self.holds.probe(question, key) {
                Some(probe) => self.ask_full(entry.handle, Role::Filter, probe, hashed),
                None => Ok(true),
            },
            FilterLayout::Partitioned => self.ask_partition(entry.handle, question, hashed),
            FilterLayout::PerBlock => self.ask_per_block(entry.handle, question, key),
        }
    }

    fn top(&self, handle: Handle) -> Result<PartitionedBlock<Contents<'t>>, Problem> {
        let bytes = self.table.fetch(handle, Role::FilterIndex)?;
        self.table.filter_index(bytes, handle)
    }

    fn ask_partition(
        &self,
        top: Handle,
        question: Question,
        hashed: &HashedKey<'_>,
    ) -> Result<bool, Problem> {
        let key = hashed.key();
        let Some(probe) = self.holds.probe(question, key) else { return Ok(true) };
        // Without the order of keys, the partition of a key is unknown.
        if self.table.order().is_none() {
            return Ok(true);
        }
        let index = self.table.fetch_decoded(top, Role::FilterIndex)?;
        let partition = match index.decoded() {
            Decoded::FilterIndex(index) => index.partition_for(question, key)?,
            _ => self.table.filter_index(index.bytes(), top)?.partition_for(question, key)?,
        };
        match partition {
            None => Ok(true),
            Some(handle) if handle.size == 0 => Ok(false),
            Some(handle) => self.ask_full(handle, Role::FilterPartition, probe, hashed),
        }
    }

    /// Looks up the key or its prefix in a full filter, or in one partition.
    #[inline]
    fn ask_full(
        &self,
        handle: Handle,
        role: Role,
        probe: &[u8],
        hashed: &HashedKey<'_>,
    ) -> Result<bool, Problem> {
        let block = self.table.fetch_decoded(handle, role)?;
        Ok(match block.decoded() {
            Decoded::Filter(content) if std::ptr::eq(probe, hashed.key()) => {
                content.may_contain_hashed(hashed)
            }
            Decoded::Filter(content) => content.may_contain(probe),
            _ => Content::read(block.bytes(), self.family).may_contain(probe),
        })
    }

    /// The index is searched first, because the filter is chosen by the position of the data block. If it has
    /// no block for the key, the key is surely absent.
    fn ask_per_block(&self, block: Handle, question: Question, key: &[u8]) -> Result<bool, Problem> {
        if self.table.order().is_none() {
            return Ok(true);
        }
        let probe = match question {
            Question::Get if self.holds.whole_keys => key,
            Question::Get => return Ok(true),
            // The search is for the prefix, not the key: any block that may begin with it counts.
            Question::Seek | Question::SeekBack => match self.holds.probe(question, key) {
                Some(prefix) => prefix,
                None => return Ok(true),
            },
        };
        let Some((data, separator)) = self.table.seek_data_block(Target::newest(probe))? else {
            return Ok(false);
        };
        if question != Question::Get {
            let footer = if self.table.index_user_keys() { 0 } else { FOOTER_LEN };
            // The separator need not be in the block: keys with the prefix may begin in the next one.
            if separator[..separator.len().saturating_sub(footer)].starts_with(probe) {
                return Ok(true);
            }
        }
        let bytes = self.table.fetch(block, Role::Filter)?;
        Ok(PerBlock::new(&bytes, self.family).may_contain(data.offset, probe))
    }

    /// Walks the partitions of a partitioned filter, each with its key in the top-level index.
    pub fn for_each_partition(
        &self,
        mut visit: impl FnMut(&[u8], Handle, &[u8]) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        self.for_each_handle(|key, partition| {
            let bytes = self.table.fetch(partition, Role::FilterPartition);
            visit(key, partition, &bytes.map_err(|problem| self.table.error(problem))?)
        })
    }

    /// Where the partitions of a partitioned filter are, each with its key in the top-level index.
    pub(crate) fn for_each_handle(
        &self,
        mut visit: impl FnMut(&[u8], Handle) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let Some(FilterEntry { layout: FilterLayout::Partitioned, handle, .. }) = self.entry else {
            return Ok(());
        };
        let fail = |problem: Problem| self.table.error(problem);
        let top = self.top(*handle).map_err(fail)?;
        let mut partitions = top.partitions();
        let mut earliest = 0;
        while partitions.advance().map_err(|error| fail(error.into()))? {
            let partition = partitions.handle();
            let limit = self.table.footer().offset;
            earliest = in_order(partition, earliest, Role::FilterPartition, limit).map_err(fail)?;
            visit(partitions.key(), partition)?;
        }
        Ok(())
    }

    /// The bytes of a full or per-block filter, or of the top-level index over partitions.
    pub fn block(&self) -> Result<Option<Contents<'t>>, TableError> {
        let Some(entry) = self.entry else { return Ok(None) };
        let role = match entry.layout {
            FilterLayout::Partitioned => Role::FilterIndex,
            FilterLayout::Full | FilterLayout::PerBlock => Role::Filter,
        };
        self.table.fetch(entry.handle, role).map(Some).map_err(|problem| self.table.error(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Policy;
    use crate::filter::build::{FilterOptions, Layout, Partitioning};
    use crate::writer::{IndexLayout, TableWriter, WriterOptions};
    use crate::{BlockCache, Keep, TableOptions};
    use fullbloom_dialects::Name;
    use std::sync::Arc;

    fn key(i: u64) -> Vec<u8> {
        format!("key{i:07}").into_bytes()
    }

    /// A table of the even numbers below 40,000.
    fn file(dialect: Name, layout: Layout) -> Vec<u8> {
        let filter =
            Some(FilterOptions { layout, ..FilterOptions::new(Policy::new(dialect, 10.0).unwrap()) });
        let index = IndexLayout::TwoLevel { target: 4096 };
        let options = WriterOptions { filter, index, ..WriterOptions::default() };
        let mut writer = TableWriter::new(Vec::new(), options).unwrap();
        (0..20_000).for_each(|i| writer.put(&key(2 * i), b"").unwrap());
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn filters_decoded_once_answer_as_filters_decoded_for_every_key_do() {
        for dialect in [Name::RocksDb, Name::RocksDbLegacy, Name::RocksDbRibbon, Name::Native] {
            for layout in [Layout::Full, Layout::Partitioned(Partitioning::default())] {
                let file = file(dialect, layout);
                let uncached = TableOptions { keep: Keep::Cache, ..TableOptions::default() };
                let plain = Table::new(&file[..], uncached).unwrap();
                let expected = plain.filter().unwrap();
                let expected: Vec<bool> =
                    (0..40_200).map(|i| expected.may_contain(&key(i)).unwrap()).collect();
                for keep in [Keep::Table, Keep::Cache, Keep::Pinned] {
                    let cache = BlockCache::new(16 << 20);
                    let options =
                        TableOptions { cache: Some(Arc::clone(&cache)), keep, ..TableOptions::default() };
                    let table = Table::new(&file[..], options).unwrap();
                    let filter = table.filter().unwrap();
                    for (i, expected) in expected.iter().enumerate() {
                        let answer = filter.may_contain(&key(i as u64)).unwrap();
                        assert_eq!(answer, *expected, "{dialect} {layout:?} {i}");
                    }
                    // Each block was read once, and then found in memory.
                    let mut partitions = 0;
                    filter
                        .for_each_handle(|_, _| {
                            partitions += 1;
                            Ok(())
                        })
                        .unwrap();
                    assert_eq!(table.reads(Role::FilterPartition).blocks, partitions);
                    let counts = cache.counts(Role::FilterPartition);
                    assert_eq!(
                        (counts.hits + counts.misses, counts.misses),
                        match layout {
                            Layout::Partitioned(_) => (40_200, partitions),
                            _ => (0, 0),
                        }
                    );
                    let whole = if partitions > 0 { Role::FilterIndex } else { Role::Filter };
                    assert_eq!(table.reads(whole).blocks, 1);
                }
            }
        }
    }
}
