//! A full filter, or one partition: a filter and what it holds.

use super::holds::{Holds, Question};
use super::policy::Family;
use fullbloom::NativeFilter;
use fullbloom::dialect::rocksdb::FullFilter;
use fullbloom::filter::Dialect;
use fullbloom::{Filter, Owned};
use std::sync::Arc;

/// A full filter in borrowed bytes.
///
/// Any bytes are read as RocksDB reads them: bytes it does not know match every key, five bytes or fewer
/// match none.
#[derive(Debug)]
pub struct FullBlock<'a> {
    content: Content<&'a [u8]>,
    holds: Holds,
}

impl<'a> FullBlock<'a> {
    /// The filter in these bytes, the plain contents of a filter block or partition that this family wrote.
    pub fn new(bytes: &'a [u8], family: Family, holds: Holds) -> FullBlock<'a> {
        FullBlock { content: Content::read(bytes, family), holds }
    }

    /// Whether the engine must read the table.
    #[inline]
    pub fn may_match(&self, question: Question, key: &[u8]) -> bool {
        let Some(probe) = self.holds.probe(question, key) else { return true };
        self.content.may_contain(probe)
    }
}

/// A full filter of any dialect of its family. `S` and `N` hold the bits.
#[derive(Debug)]
pub(crate) enum Content<S, N = S> {
    RocksDb(FullFilter<S>),
    Native(Box<NativeFilter<N>>),
    /// Every key may be present.
    Unknown,
}

/// A filter that is kept together with its block. RocksDB's bits are those of the block, native ones a copy.
pub(crate) type KeptContent = Content<Front, Owned>;

/// The first part of a shared block.
#[derive(Debug, Clone)]
pub(crate) struct Front {
    block: Arc<Vec<u8>>,
    len: usize,
}

impl From<&Arc<Vec<u8>>> for Front {
    /// All of the block.
    fn from(block: &Arc<Vec<u8>>) -> Front {
        Front { block: Arc::clone(block), len: block.len() }
    }
}

impl AsRef<[u8]> for Front {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.block[..self.len]
    }
}

impl<'a> Content<&'a [u8]> {
    pub(crate) fn read(bytes: &'a [u8], family: Family) -> Self {
        match family {
            Family::RocksDb => Content::RocksDb(FullFilter::read(bytes)),
            Family::Native => {
                NativeFilter::view(bytes).map_or(Content::Unknown, |view| Content::Native(view.into()))
            }
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        }
    }
}

impl KeptContent {
    /// As [`read`](Content::read), to be kept together with the block.
    pub(crate) fn keep(block: &Arc<Vec<u8>>, family: Family) -> Self {
        match family {
            Family::RocksDb => Content::RocksDb(match FullFilter::read(block) {
                FullFilter::Nothing => FullFilter::Nothing,
                FullFilter::Everything => FullFilter::Everything,
                FullFilter::Legacy(view) => {
                    shared(&view, block).map_or(FullFilter::Everything, FullFilter::Legacy)
                }
                FullFilter::FastLocal(view) => {
                    shared(&view, block).map_or(FullFilter::Everything, FullFilter::FastLocal)
                }
                FullFilter::Ribbon(view) => {
                    shared(&view, block).map_or(FullFilter::Everything, FullFilter::Ribbon)
                }
            }),
            Family::Native => {
                NativeFilter::decode(block).map_or(Content::Unknown, |filter| Content::Native(filter.into()))
            }
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        }
    }

    /// Bytes of memory besides those of the block.
    pub(crate) fn extra_bytes(&self) -> usize {
        match self {
            Content::Native(filter) => filter.bits().len(),
            _ => 0,
        }
    }
}

/// The same filter over the block, which begins with its bits.
fn shared<D: Dialect + Clone>(view: &Filter<D, &[u8]>, block: &Arc<Vec<u8>>) -> Option<Filter<D, Front>> {
    let bits = Front { block: Arc::clone(block), len: view.bits().len() };
    Filter::from_parts(view.dialect().clone(), bits).ok()
}

impl<S: AsRef<[u8]>, N: AsRef<[u8]>> Content<S, N> {
    #[inline]
    pub(crate) fn may_contain(&self, probe: &[u8]) -> bool {
        match self {
            Content::RocksDb(filter) => filter.may_contain(probe),
            Content::Native(filter) => filter.may_contain(probe),
            Content::Unknown => true,
        }
    }
}
