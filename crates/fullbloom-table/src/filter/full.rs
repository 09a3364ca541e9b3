//! A full filter, or one partition: a filter and what it holds.

use super::holds::{Holds, Question};
use super::policy::Family;
use fullbloom::NativeFilter;
use fullbloom::dialect::rocksdb::FullFilter;

/// A full filter in borrowed bytes.
///
/// Any bytes are taken as RocksDB takes them: what it does not know matches every key, five bytes or fewer none.
#[derive(Debug)]
pub struct FullBlock<'a> {
    content: Content<'a>,
    holds: Holds,
}

/// A full filter of whichever dialect its family's bytes can be.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    RocksDb(FullFilter<&'a [u8]>),
    Native(Box<NativeFilter<&'a [u8]>>),
    /// Every key may be there.
    Unknown,
}

impl<'a> Content<'a> {
    pub(crate) fn read(bytes: &'a [u8], family: Family) -> Content<'a> {
        match family {
            Family::RocksDb => Content::RocksDb(FullFilter::read(bytes)),
            Family::Native => {
                NativeFilter::view(bytes).map_or(Content::Unknown, |view| Content::Native(view.into()))
            }
            Family::LevelDb | Family::LevelDbSigned | Family::Unknown => Content::Unknown,
        }
    }
}

impl<'a> FullBlock<'a> {
    /// The filter in these bytes, the plain contents of a filter block or partition that this family wrote.
    pub fn new(bytes: &'a [u8], family: Family, holds: Holds) -> FullBlock<'a> {
        FullBlock { content: Content::read(bytes, family), holds }
    }

    /// Whether the engine must look into the table.
    #[inline]
    pub fn may_match(&self, question: Question, key: &[u8]) -> bool {
        let Some(probe) = self.holds.probe(question, key) else { return true };
        match &self.content {
            Content::RocksDb(filter) => filter.may_contain(probe),
            Content::Native(filter) => filter.may_contain(probe),
            Content::Unknown => true,
        }
    }
}
