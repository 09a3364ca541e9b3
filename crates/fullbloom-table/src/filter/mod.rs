//! Filters in tables: where they are, and how the engines use them.
//!
//! The readers and builders of filter blocks are those of the crate `fullbloom-blocks`, which needs no table.
//! [`TableFilter`] connects them to a [`Table`](crate::Table) and to its cache.

mod ranges;
mod table_filter;

pub(crate) use fullbloom_blocks::{Content, FullPolicy, KeptContent, SharedBlock};
#[doc(no_inline)]
pub use fullbloom_blocks::{
    Family, FullBlock, HashedKey, Holds, PartitionSource, PartitionedBlock, PerBlock, Policy, Question,
};
pub use ranges::FilterRanges;
pub use table_filter::TableFilter;

/// Building filter blocks: keys in, blocks out.
pub mod build {
    pub(crate) use fullbloom_blocks::BASE_LG;
    #[doc(no_inline)]
    pub use fullbloom_blocks::{
        FilterBlockBuilder, FilterOptions, Finished, Layout, Partition, Partitioning, Partitions, Rules,
    };
}
