//! A full filter, or one partition: a filter and what it holds.

use super::holds::{Holds, Question};
use fullbloom::rocksdb::FullFilter;

/// A full filter in borrowed bytes.
///
/// Any bytes are taken as RocksDB takes them: what it does not know matches every key, five bytes or fewer none.
#[derive(Debug, Clone)]
pub struct FullBlock<'a> {
    filter: FullFilter<&'a [u8]>,
    holds: Holds,
}

impl<'a> FullBlock<'a> {
    /// The filter in these bytes, the plain contents of a filter block or partition.
    pub fn new(bytes: &'a [u8], holds: Holds) -> FullBlock<'a> {
        FullBlock { filter: FullFilter::read(bytes), holds }
    }

    /// Whether the engine must look into the table.
    #[inline]
    pub fn may_match(&self, question: Question, key: &[u8]) -> bool {
        self.holds.probe(question, key).is_none_or(|probe| self.filter.may_contain(probe))
    }

    /// The filter itself.
    pub fn filter(&self) -> &FullFilter<&'a [u8]> {
        &self.filter
    }
}
