//! Filters in tables: where they are, what they hold, and how the engines use them.
//!
//! ```text
//!   full          key ─────────────────────────────► filter ─► maybe / no
//!   partitioned   key ─► top-level index ─► partition ─► maybe / no
//!   per block     key ─► index ─► data block's offset / 2 KiB ─► filter ─► maybe / no
//! ```
//!
//! The readers here ([`FullBlock`], [`PartitionedBlock`], [`PerBlock`]) answer from blocks that they borrow or own, and need
//! no table; [`TableFilter`] connects them to a [`Table`](crate::Table) and to its cache.

pub mod build;
mod full;
mod hashed;
mod holds;
mod partitioned;
mod per_block;
pub(crate) mod policy;
mod ranges;
mod table_filter;

pub use full::FullBlock;
pub(crate) use full::{Content, KeptContent, SharedBlock};
pub use hashed::HashedKey;
pub use holds::{Holds, Question};
pub use partitioned::PartitionedBlock;
pub use per_block::PerBlock;
pub use policy::{Family, Policy};
pub use ranges::FilterRanges;
pub use table_filter::TableFilter;
