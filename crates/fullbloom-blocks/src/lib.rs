//! Filter blocks for storage engines: built from the keys of a table, and asked from the block cache.
//!
//! ```text
//!   full          key ─────────────────────────────► filter ─► maybe / no
//!   partitioned   key ─► top-level index ─► partition ─► maybe / no
//!   per block     key ─► index ─► data block's offset / 2 KiB ─► filter ─► maybe / no
//! ```
//!
//! | what | where |
//! |---|---|
//! | the keys of a table in, filter blocks out | [`FilterBlockBuilder`], [`FilterOptions`] |
//! | which filter, and how many bits for each key | [`Policy`] |
//! | a full filter, or one partition | [`FullBlock`] |
//! | the top-level index of a partitioned filter | [`PartitionedBlock`], [`PartitionSource`] |
//! | the block with one filter for every 2 KiB of data blocks | [`PerBlock`] |
//! | one key and the filters of many tables | [`HashedKey`] |
//! | filters of prefixes | [`PrefixExtractor`], [`Holds`], [`Question`] |
//!
//! ```
//! use fullbloom_blocks::{
//!     Family, FilterBlockBuilder, FilterOptions, Finished, FullBlock, Holds, Policy, Question,
//! };
//! use fullbloom_dialects::Name;
//! use std::sync::Arc;
//!
//! let mut builder = FilterBlockBuilder::new(FilterOptions::new(Policy::new(Name::RocksDb, 10.0)?))?;
//! for i in 0..1000u32 {
//!     builder.add(&i.to_be_bytes())?;
//! }
//! let Finished::Block(block) = builder.finish()? else { panic!("a full filter is one block") };
//!
//! let block: Arc<[u8]> = block.into(); // as the block cache holds it
//! let filter = FullBlock::new(block, Family::RocksDb, Holds::default()); // parsed once, never fails
//! assert!(filter.may_match(Question::Get, &17u32.to_be_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The readers own their bytes or borrow them, and are parsed once. Bytes that they do not know match every
//! key, so a damaged block costs reads and loses no key. The crate reads no files, compresses nothing and has
//! no cache: the crate `fullbloom-table` adds those, and whole tables of LevelDB and RocksDB.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod block;
pub mod block_builder;
mod build;
#[doc(hidden)]
pub mod bytes;
mod error;
mod full;
pub mod handle;
mod hashed;
mod holds;
pub mod internal_key;
mod partitioned;
mod per_block;
mod policy;
mod prefix;

pub use build::{
    BASE_LG, FilterBlockBuilder, FilterOptions, Finished, Layout, Partition, Partitioning, Partitions, Rules,
};
pub use error::{At, BlockError};
pub use full::{Content, FullBlock, KeptContent, SharedBlock};
pub use handle::Handle;
pub use hashed::HashedKey;
pub use holds::{Holds, Question};
pub use partitioned::{PartitionSource, PartitionedBlock};
pub use per_block::PerBlock;
pub use policy::{Family, FullPolicy, Policy};
pub use prefix::{EnginePrefix, PrefixExtractor, UnknownExtractor};
