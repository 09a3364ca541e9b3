//! The part of some storage that is a filter's bits.

use core::ops::Range;

/// A range of the bytes of `S`, together with `S`.
#[derive(Debug, Clone)]
pub struct Part<S> {
    storage: S,
    range: Range<usize>,
}

impl<S: AsRef<[u8]>> Part<S> {
    /// This range of the bytes; empty if the storage has become shorter since.
    pub fn new(storage: S, range: Range<usize>) -> Part<S> {
        Part { storage, range }
    }

    /// This range of the bytes, if it lies inside.
    pub fn of(storage: S, range: Range<usize>) -> Option<Part<S>> {
        storage.as_ref().get(range.clone())?;
        Some(Part { storage, range })
    }

    /// All bytes, as a part that cannot be changed.
    pub fn whole(storage: S) -> Part<S> {
        let range = 0..storage.as_ref().len();
        Part { storage, range }
    }

    /// This range of the part.
    pub fn part(self, range: Range<usize>) -> Part<S> {
        let start = self.range.start;
        Part { storage: self.storage, range: start + range.start..start + range.end }
    }

    /// All bytes of the storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }
}

impl<S: AsRef<[u8]>> AsRef<[u8]> for Part<S> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        &self.storage.as_ref()[self.range.clone()]
    }
}

/// How much of a file is checked against its checksums, in the formats that have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Only the parts that are read to locate the bits. The bits themselves are not checked.
    Header,
    /// Every byte.
    All,
}
