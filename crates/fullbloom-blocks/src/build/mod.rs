//! Building filter blocks, for any engine's tables: keys in, blocks out.
//!
//! ```text
//!   add(key) ─► which entries (whole key, prefix, neither) ─► builder ─► finish ─► block
//!                                                              │ enough keys? close a partition
//!                                                              ▼
//!                                        partitions, each with its key ─► written by the caller ─► top_level
//! ```
//!
//! ```
//! use fullbloom_dialects::Name;
//! use fullbloom_blocks::{
//!     Family, FilterBlockBuilder, FilterOptions, Finished, FullBlock, Holds, Policy, Question,
//! };
//!
//! let options = FilterOptions::new(Policy::new(Name::RocksDb, 10.0)?);
//! let mut builder = FilterBlockBuilder::new(options)?;
//! for i in 0..1000u32 {
//!     builder.add(&i.to_be_bytes())?;
//! }
//! let Finished::Block(block) = builder.finish()? else { panic!("a full filter is one block") };
//! let filter = FullBlock::new(&block, Family::RocksDb, Holds::default());
//! assert!((0..1000u32).all(|i| filter.may_match(Question::Get, &i.to_be_bytes())));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod collector;
mod entries;
mod partitions;
mod per_block;

pub use partitions::{Partition, Partitions};

use crate::error::BlockError;
use crate::holds::Holds;
use crate::policy::Policy;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use entries::EntryBuilder;
use fullbloom::SizeError;
use fullbloom_dialects::rocksdb::Reservation;
use partitions::PartitionedBuilder;
pub use per_block::BASE_LG;
use per_block::PerBlockBuilder;

/// The releases whose rules choose the entries of a filter. They matter only for identical bytes: every
/// release reads the filters of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rules {
    /// RocksDB 9.6 and later: repeats are recognised by hash, a prefix is inserted before its key.
    #[default]
    Since9_6,
    /// RocksDB 9.5.
    Of9_5,
    /// RocksDB 9.4 and older: repeats are recognised by comparing keys, a key is inserted before its prefix,
    /// and a filter of prefixes alone also holds the empty prefix, by accident.
    UpTo9_4,
}

/// The size at which a partition ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitioning {
    /// The size a partition should have, RocksDB's `metadata_block_size`. 4096 unless changed.
    pub target: u64,
    /// The percentage by which it may be smaller. 10 unless changed.
    pub deviation: u32,
    /// Partitions end where the caller's index partitions end: see
    /// [`cut_before_next`](FilterBlockBuilder::cut_before_next). Otherwise each ends when it holds enough
    /// keys.
    pub with_index: bool,
}

impl Default for Partitioning {
    fn default() -> Partitioning {
        Partitioning { target: 4096, deviation: 10, with_index: false }
    }
}

/// How the filter is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One filter for the whole table.
    #[default]
    Full,
    /// Several filters, with an index over them.
    Partitioned(Partitioning),
    /// One filter for every 2 KiB of data blocks.
    PerBlock,
}

/// The filter to build.
#[derive(Clone)]
pub struct FilterOptions {
    /// Dialect and bits per key.
    pub policy: Policy,
    /// The parts of each key to insert.
    pub holds: Holds,
    /// One filter, partitions, or one for each range of the file.
    pub layout: Layout,
    /// The releases' rules.
    pub rules: Rules,
    /// Keeps all hashes until every one has been looked up in the finished filter, and compares their sum.
    /// Finds failing memory and processors; the bytes of a good filter are the same. Full and partitioned.
    pub detect_corruption: bool,
    /// What the memory used is charged to, such as the engine's block cache.
    pub reservation: Option<Arc<dyn Reservation>>,
}

impl FilterOptions {
    /// A full filter of whole keys, or a per-block one for the dialects that are made per block.
    pub fn new(policy: Policy) -> FilterOptions {
        let layout = if policy.is_full() { Layout::Full } else { Layout::PerBlock };
        FilterOptions {
            policy,
            holds: Holds::default(),
            layout,
            rules: Rules::default(),
            detect_corruption: false,
            reservation: None,
        }
    }
}

impl fmt::Debug for FilterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterOptions")
            .field("policy", &self.policy)
            .field("holds", &self.holds)
            .field("layout", &self.layout)
            .field("rules", &self.rules)
            .field("detect_corruption", &self.detect_corruption)
            .field("charged", &self.reservation.is_some())
            .finish()
    }
}

/// Builds the filter of one table.
#[derive(Debug)]
pub struct FilterBlockBuilder {
    kind: Builder,
    holds: Holds,
}

#[derive(Debug)]
enum Builder {
    Full(EntryBuilder),
    Partitioned(PartitionedBuilder),
    PerBlock(PerBlockBuilder),
}

/// A finished filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// No keys were inserted; engines then store no filter.
    None,
    /// The filter block.
    Block(Vec<u8>),
    /// The partitions, to be written one after the other, and then the top-level index over them.
    Partitions(Partitions),
}

fn add(builder: &mut Builder, key: &[u8], prefix: Option<&[u8]>) -> Result<(), BlockError> {
    match builder {
        Builder::Full(builder) => builder.add(key, prefix),
        Builder::Partitioned(builder) => builder.add(key, prefix)?,
        Builder::PerBlock(builder) => builder.add(key, prefix)?,
    }
    Ok(())
}

impl Finished {
    /// The bytes of the filter, if it is one block: a full filter that holds keys, or a per-block one.
    pub fn into_block(self) -> Option<Vec<u8>> {
        match self {
            Finished::Block(block) => Some(block),
            Finished::None | Finished::Partitions(_) => None,
        }
    }
}

impl FilterBlockBuilder {
    /// A builder; refused when the dialect has no such layout.
    pub fn new(options: FilterOptions) -> Result<FilterBlockBuilder, SizeError> {
        let kind = match options.layout {
            Layout::Full => Builder::Full(EntryBuilder::new(&options, false)?),
            Layout::Partitioned(partitioning) => {
                Builder::Partitioned(PartitionedBuilder::new(&options, partitioning)?)
            }
            Layout::PerBlock => Builder::PerBlock(PerBlockBuilder::new(&options)?),
        };
        Ok(FilterBlockBuilder { kind, holds: options.holds })
    }

    /// Sets the position of the next data block in the file. Only per-block filters need it.
    ///
    /// Call it before the first key and after each data block was written.
    pub fn start_block(&mut self, offset: u64) -> Result<(), BlockError> {
        match &mut self.kind {
            Builder::PerBlock(builder) => Ok(builder.start_block(offset).map_err(BlockError::from)?),
            Builder::Full(_) | Builder::Partitioned(_) => Ok(()),
        }
    }

    /// Adds a user key, without timestamp and sequence number. Keys are added in the order of the table, once
    /// for every version; the rules drop repeats.
    ///
    /// The key's prefix is added too, if the [`Holds`] of the options have an extractor that finds one.
    ///
    /// # Errors
    /// If a partition ends here and cannot be built.
    pub fn add(&mut self, key: &[u8]) -> Result<(), BlockError> {
        let FilterBlockBuilder { kind, holds } = self;
        add(kind, key, holds.prefix(key))
    }

    /// As [`add`](Self::add), with a prefix that the caller knows instead of the one that the options'
    /// extractor finds, or `None` for a key without one. It is added once for all keys in a row that share it.
    ///
    /// Without an extractor in its [`Holds`], a reader looks whole keys up. Ask it for a prefix with
    /// [`FullBlock::may_contain`](crate::FullBlock::may_contain).
    ///
    /// # Errors
    /// As of [`add`](Self::add), and if the dialect is LevelDB's, whose filters hold no prefixes.
    pub fn add_with_prefix(&mut self, key: &[u8], prefix: Option<&[u8]>) -> Result<(), BlockError> {
        add(&mut self.kind, key, prefix)
    }

    /// Whether the open partition holds enough keys, so that the caller should end its index partition at the
    /// end of the data block. Check it before each key.
    #[inline]
    pub fn wants_cut(&self) -> bool {
        matches!(&self.kind, Builder::Partitioned(builder) if builder.wants_cut())
    }

    /// The caller's index begins a new partition: the next key begins one here too. `separator` is the index
    /// key, with its 8-byte footer, of the last data block: not less than any key so far, less than the next.
    pub fn cut_before_next(&mut self, separator: &[u8]) {
        if let Builder::Partitioned(builder) = &mut self.kind {
            builder.cut_before_next(separator);
        }
    }

    /// Builds filters of exactly these lengths, in this order, with the probes that fit them: an existing
    /// filter's.
    pub fn fix_lengths(&mut self, lengths: Vec<u64>) {
        match &mut self.kind {
            Builder::Full(builder) => builder.fix_lengths(lengths),
            Builder::Partitioned(builder) => builder.fix_lengths(lengths),
            Builder::PerBlock(_) => {}
        }
    }

    /// Entries so far: RocksDB's `num_filter_entries`.
    pub fn entries(&self) -> u64 {
        match &self.kind {
            Builder::Full(builder) => builder.entries(),
            Builder::Partitioned(builder) => builder.entries(),
            Builder::PerBlock(builder) => builder.entries(),
        }
    }

    /// The finished filter.
    pub fn finish(self) -> Result<Finished, BlockError> {
        Ok(match self.kind {
            Builder::Full(mut builder) if builder.entries() > 0 => Finished::Block(builder.finish()?),
            Builder::Full(_) => Finished::None,
            Builder::Partitioned(builder) => builder.finish()?,
            Builder::PerBlock(builder) => builder.finish().map_err(BlockError::from)?,
        })
    }
}
