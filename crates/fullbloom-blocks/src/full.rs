//! A full filter, or one partition: a filter and what it holds.

use crate::hashed::{DEFAULT, HashedKey};
use crate::holds::{Holds, Question};
use crate::policy::Family;
use alloc::boxed::Box;
use alloc::vec::Vec;

use alloc::sync::Arc;
use fullbloom::storage::Owned;
use fullbloom_core::part::Part;
use fullbloom_dialects::rocksdb::FullFilter;

/// A full filter over its block, parsed once: borrowed bytes, or anything that owns them and can stay in a
/// block cache, such as `Bytes` or `Arc<[u8]>`.
///
/// Any bytes are read as RocksDB reads them: bytes it does not know match every key, five bytes or fewer
/// match none.
#[derive(Debug)]
pub struct FullBlock<S> {
    content: Content<Part<S>>,
    holds: Holds,
}

impl<S: AsRef<[u8]>> FullBlock<S> {
    /// The filter in these bytes, the plain contents of a filter block or partition that this family wrote.
    pub fn new(bytes: S, family: Family, holds: Holds) -> FullBlock<S> {
        let content = match family {
            Family::RocksDb => Content::RocksDb(FullFilter::over(bytes)),
            Family::Native => Content::native(fullbloom::Filter::over(bytes)),
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        };
        FullBlock { content, holds }
    }

    /// Whether a key or a prefix may have been added. [`may_match`](Self::may_match) also knows which of both
    /// an operation must ask for.
    #[inline]
    pub fn may_contain(&self, entry: &[u8]) -> bool {
        self.content.may_contain(entry)
    }

    /// As [`may_contain`](Self::may_contain), for a key or prefix that is looked up in many filters: it is
    /// hashed once for all of them.
    #[inline]
    pub fn may_contain_hashed(&self, entry: &HashedKey<'_>) -> bool {
        self.content.may_contain_hashed(entry)
    }

    /// Prefetches the cache lines that a lookup of this key reads. If many filters larger than the caches are asked about
    /// one key, prefetch in all of them first.
    #[inline]
    pub fn prefetch(&self, entry: &HashedKey<'_>) {
        self.content.prefetch(entry);
    }

    /// Whether the engine must read the table.
    #[inline]
    pub fn may_match(&self, question: Question, key: &[u8]) -> bool {
        let Some(probe) = self.holds.probe(question, key) else { return true };
        self.content.may_contain(probe)
    }

    /// As [`may_match`](Self::may_match), for a key that is looked up in many filters: whole keys are hashed
    /// once for all of them.
    #[inline]
    pub fn may_match_hashed(&self, question: Question, key: &HashedKey<'_>) -> bool {
        match self.holds.probe(question, key.key()) {
            None => true,
            Some(probe) if core::ptr::eq(probe, key.key()) => self.content.may_contain_hashed(key),
            Some(prefix) => self.content.may_contain(prefix),
        }
    }
}

/// A full filter of any dialect of its family. `S` and `N` hold the bits.
#[derive(Debug)]
pub enum Content<S, N = S> {
    /// A filter of RocksDB.
    RocksDb(FullFilter<S>),
    /// A native filter of kind fast.
    Native(Box<fullbloom::Filter<N>>),
    /// Every key may be present.
    Unknown,
}

/// A filter that is kept together with its block. RocksDB's bits are those of the block, native ones a copy.
pub type KeptContent = Content<Part<SharedBlock>, Owned>;

/// A block that several owners share.
#[derive(Debug, Clone)]
pub struct SharedBlock(pub Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBlock {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<'a> Content<&'a [u8]> {
    /// Reads a block. Bytes that are no filter of the family match every key.
    pub fn read(bytes: &'a [u8], family: Family) -> Self {
        match family {
            Family::RocksDb => Content::RocksDb(FullFilter::read(bytes)),
            Family::Native => Content::native(fullbloom::Filter::view(bytes)),
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        }
    }
}

impl KeptContent {
    /// As [`read`](Content::read), to be kept together with the block.
    pub fn keep(block: &Arc<Vec<u8>>, family: Family) -> Self {
        match family {
            Family::RocksDb => Content::RocksDb(FullFilter::over(SharedBlock(Arc::clone(block)))),
            Family::Native => Content::native(fullbloom::Filter::decode_any(block)),
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        }
    }

    /// Bytes of memory besides those of the block.
    pub fn extra_bytes(&self) -> usize {
        match self {
            Content::Native(filter) => filter.bits().len(),
            _ => 0,
        }
    }
}

impl<S: AsRef<[u8]>, N: AsRef<[u8]>> Content<S, N> {
    /// Bytes that cannot be decoded match every key.
    fn native<E>(decoded: Result<fullbloom::Filter<N>, E>) -> Self {
        decoded.map_or(Content::Unknown, |filter| Content::Native(filter.into()))
    }

    /// Whether the key or prefix may be present.
    #[inline]
    pub fn may_contain(&self, probe: &[u8]) -> bool {
        match self {
            Content::RocksDb(filter) => filter.may_contain(probe),
            Content::Native(filter) => filter.may_contain(probe),
            Content::Unknown => true,
        }
    }

    /// Prefetches the cache lines that a lookup of this key reads.
    #[inline]
    pub fn prefetch(&self, key: &HashedKey<'_>) {
        match self {
            Content::RocksDb(FullFilter::Legacy(filter)) => filter.prefetch_raw(key.bloom32()),
            Content::RocksDb(FullFilter::FastLocal(filter)) => filter.prefetch_raw(key.xxph3()),
            Content::RocksDb(FullFilter::Ribbon(filter)) => filter.prefetch_raw(key.xxph3()),
            Content::Native(filter) if *filter.hashing() == DEFAULT => filter.prefetch(key.native()),
            Content::RocksDb(FullFilter::Nothing | FullFilter::Everything)
            | Content::Native(_)
            | Content::Unknown => {}
        }
    }

    /// As [`may_contain`](Self::may_contain), for a key that is looked up in many filters.
    #[inline]
    pub fn may_contain_hashed(&self, key: &HashedKey<'_>) -> bool {
        match self {
            Content::RocksDb(FullFilter::Nothing) => false,
            Content::RocksDb(FullFilter::Everything) => true,
            Content::RocksDb(FullFilter::Legacy(filter)) => filter.may_contain_raw(key.bloom32()),
            Content::RocksDb(FullFilter::FastLocal(filter)) => filter.may_contain_raw(key.xxph3()),
            Content::RocksDb(FullFilter::Ribbon(filter)) => filter.may_contain_raw(key.xxph3()),
            // A locked filter has another hash than it says.
            Content::Native(filter) if !filter.is_locked() && *filter.hashing() == DEFAULT => {
                filter.may_contain_raw(key.native().to_raw())
            }
            Content::Native(filter) => filter.may_contain(key.key()),
            Content::Unknown => true,
        }
    }
}
