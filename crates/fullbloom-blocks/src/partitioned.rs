//! Partitioned filters: an index over full filters, each for a range of keys.

use crate::block::{Block, IndexEntries, IndexFormat, RestartKeys};
use crate::error::BlockError;
use crate::full::FullBlock;
use crate::handle::Handle;
use crate::hashed::HashedKey;
use crate::holds::{Holds, Question};
use crate::internal_key::{KeyOrder, Target};
use core::borrow::Borrow;

/// Where an engine has the partitions of a table's filter: its block cache, and behind that its file.
pub trait PartitionSource {
    /// What owns or borrows a partition's bytes.
    type Bytes: AsRef<[u8]>;
    /// A parsed partition: a [`FullBlock`], a reference to one, or an `Arc` of one.
    type Partition: Borrow<FullBlock<Self::Bytes>>;
    /// What can go wrong, in the index or in the source.
    type Error: From<BlockError>;

    /// The partition at this place of the file.
    fn partition(&self, handle: Handle) -> Result<Self::Partition, Self::Error>;
}

/// The top-level index of a partitioned filter.
///
/// ```
/// use fullbloom_blocks::{
///     BlockError, Family, FilterBlockBuilder, FilterOptions, Finished, FullBlock, Handle, Holds, Layout,
///     Partitioning, PartitionSource, PartitionedBlock, Policy, Question,
/// };
/// use fullbloom_dialects::Name;
/// use std::cell::RefCell;
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// /// An engine's block cache; this one reads each partition once.
/// struct Cache {
///     file: Vec<u8>,
///     parsed: RefCell<HashMap<u64, Arc<FullBlock<Vec<u8>>>>>,
/// }
///
/// impl PartitionSource for Cache {
///     type Bytes = Vec<u8>;
///     type Partition = Arc<FullBlock<Vec<u8>>>;
///     type Error = BlockError;
///
///     fn partition(&self, handle: Handle) -> Result<Self::Partition, BlockError> {
///         let read = || {
///             let bytes = self.file[handle.offset as usize..][..handle.size as usize].to_vec();
///             Arc::new(FullBlock::new(bytes, Family::RocksDb, Holds::default()))
///         };
///         Ok(Arc::clone(self.parsed.borrow_mut().entry(handle.offset).or_insert_with(read)))
///     }
/// }
///
/// let layout = Layout::Partitioned(Partitioning::default());
/// let policy = Policy::new(Name::RocksDb, 10.0)?;
/// let mut builder = FilterBlockBuilder::new(FilterOptions { layout, ..FilterOptions::new(policy) })?;
/// for i in 0..10_000u32 {
///     builder.add(&i.to_be_bytes())?;
/// }
/// let Finished::Partitions(partitions) = builder.finish()? else { panic!("a filter in partitions") };
/// let (mut file, mut handles) = (Vec::new(), Vec::new());
/// for partition in &partitions.partitions {
///     handles.push(Handle { offset: file.len() as u64, size: partition.content.len() as u64 });
///     file.extend_from_slice(&partition.content);
/// }
/// let top = partitions.top_level(&handles, 1, true, false); // user keys, and handles as they are
///
/// let index = PartitionedBlock::new(top, 0, Holds::default(), true, false)?;
/// let cache = Cache { file, parsed: RefCell::default() };
/// assert!(index.may_match(Question::Get, &17u32.to_be_bytes(), &cache)?);
/// assert_eq!(cache.parsed.borrow().len(), 1, "one partition was read, of several");
/// assert!(handles.len() > 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A partition's key is not less than any key it holds. Partitions also hold the prefix of the first key
/// after them, where a forward seek may end, and that of the last key before them, for a backward seek; so
/// one lookup in the partition of the key is enough in both directions.
#[derive(Debug, Clone)]
pub struct PartitionedBlock<B> {
    top: Block<B>,
    restarts: RestartKeys,
    format: IndexFormat,
    user_keys: bool,
    order: KeyOrder,
    holds: Holds,
}

impl<B: AsRef<[u8]>> PartitionedBlock<B> {
    /// Reads a top-level index at byte `at` of its file. `user_keys` and `delta_values` follow the table's
    /// index: keys without sequence numbers, handles delta-coded.
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn new(
        bytes: B,
        at: u64,
        holds: Holds,
        user_keys: bool,
        delta_values: bool,
    ) -> Result<Self, BlockError> {
        let format = IndexFormat { delta_values, first_keys: false };
        let top = Block::new(bytes, at)?;
        let restarts = top.restart_keys(format);
        Ok(PartitionedBlock { top, restarts, format, user_keys, order: KeyOrder::BYTEWISE, holds })
    }

    /// For tables whose keys have another order than [`KeyOrder::BYTEWISE`].
    #[must_use]
    pub fn with_order(self, order: KeyOrder) -> Self {
        PartitionedBlock { order, ..self }
    }

    /// The partition for a key; `None` if there are no partitions, and then the answer is "maybe".
    ///
    /// Past the last partition's key it is the last one: its keys are all smaller, but a prefix may be in it.
    pub fn partition_for(&self, question: Question, key: &[u8]) -> Result<Option<Handle>, BlockError> {
        let target = match question {
            Question::Get | Question::Seek => Target::newest(key),
            Question::SeekBack => Target::oldest(key),
        };
        let order = |entry: &[u8]| target.order(self.order, entry, self.user_keys);
        match self.top.seek_index_with(self.format, &self.restarts, order)? {
            Some(entry) => Ok(Some(entry.handle())),
            None => self.top.last_index_entry(self.format),
        }
    }

    /// Whether the engine must read the table: asks the partition for the key, which `source` gives.
    ///
    /// # Errors
    /// If the index is damaged, or the source fails. An engine takes both for "maybe".
    pub fn may_match<S: PartitionSource>(
        &self,
        question: Question,
        key: &[u8],
        source: &S,
    ) -> Result<bool, S::Error> {
        self.ask(question, key, source, |partition| partition.may_match(question, key))
    }

    /// As [`may_match`](Self::may_match), for a key that is looked up in many filters: whole keys are hashed
    /// once for all of them.
    ///
    /// # Errors
    /// As of [`may_match`](Self::may_match).
    pub fn may_match_hashed<S: PartitionSource>(
        &self,
        question: Question,
        key: &HashedKey<'_>,
        source: &S,
    ) -> Result<bool, S::Error> {
        self.ask(question, key.key(), source, |partition| partition.may_match_hashed(question, key))
    }

    fn ask<S: PartitionSource>(
        &self,
        question: Question,
        key: &[u8],
        source: &S,
        ask: impl FnOnce(&FullBlock<S::Bytes>) -> bool,
    ) -> Result<bool, S::Error> {
        // A lookup that the filter cannot answer reads no partition, and is not denied by an empty one.
        if self.holds.probe(question, key).is_none() {
            return Ok(true);
        }
        match self.partition_for(question, key)? {
            None => Ok(true),
            // RocksDB stores a partition without keys as no bytes at all.
            Some(handle) if handle.size == 0 => Ok(false),
            Some(handle) => Ok(ask(source.partition(handle)?.borrow())),
        }
    }

    /// Bytes of memory besides those of the block.
    pub fn extra_bytes(&self) -> usize {
        self.restarts.byte_len()
    }

    /// Walks the partitions in order.
    pub fn partitions(&self) -> IndexEntries<&[u8]> {
        self.top.index_entries(self.format)
    }
}
