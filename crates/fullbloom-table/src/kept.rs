//! Blocks that stay in memory: in the cache, or in the table itself.
//!
//! A filter is decoded once, when its block is read, and not for every lookup.

use crate::contents::Contents;
use crate::filter::{KeptContent, PartitionedBlock, SharedBlock};
use std::sync::Arc;

/// A block that stays in memory.
#[derive(Debug)]
pub(crate) struct KeptBlock {
    bytes: Arc<Vec<u8>>,
    pub(crate) decoded: Decoded,
}

/// What was decoded from a block.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// Nothing: the block is not a filter, or a damaged one.
    Nothing,
    /// A full filter, or a partition of one.
    Filter(KeptContent),
    /// The top-level index over the partitions of a filter.
    FilterIndex(PartitionedBlock<SharedBlock>),
}

impl KeptBlock {
    pub(crate) fn new(bytes: Vec<u8>, decode: impl FnOnce(&Arc<Vec<u8>>) -> Decoded) -> Arc<KeptBlock> {
        let bytes = Arc::new(bytes);
        let decoded = decode(&bytes);
        Arc::new(KeptBlock { bytes, decoded })
    }

    /// Bytes of memory it is charged for.
    pub(crate) fn byte_len(&self) -> usize {
        let extra = match &self.decoded {
            Decoded::Nothing => 0,
            Decoded::Filter(content) => content.extra_bytes(),
            Decoded::FilterIndex(index) => index.extra_bytes(),
        };
        self.bytes.len() + extra
    }
}

/// A block for one use.
#[derive(Debug)]
pub(crate) enum Fetched<'a> {
    /// Read for this use alone.
    Read(Contents<'a>),
    /// Kept by the table.
    InTable(&'a KeptBlock),
    /// Kept by the cache.
    InCache(Arc<KeptBlock>),
}

impl<'a> Fetched<'a> {
    /// What was decoded when the block was read.
    pub(crate) fn decoded(&self) -> &Decoded {
        match self {
            Fetched::Read(_) => &Decoded::Nothing,
            Fetched::InTable(block) => &block.decoded,
            Fetched::InCache(block) => &block.decoded,
        }
    }

    /// The block's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Fetched::Read(contents) => contents,
            Fetched::InTable(block) => &block.bytes,
            Fetched::InCache(block) => &block.bytes,
        }
    }

    /// The block's bytes, without what was decoded.
    pub(crate) fn into_contents(self) -> Contents<'a> {
        match self {
            Fetched::Read(contents) => contents,
            Fetched::InTable(block) => Contents::Borrowed(&block.bytes),
            Fetched::InCache(block) => Contents::Shared(Arc::clone(&block.bytes)),
        }
    }
}
