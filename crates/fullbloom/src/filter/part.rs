//! The part of some storage that is a filter's bits.

use core::ops::Range;

/// A range of the bytes of `S`, which is kept with it.
#[derive(Debug, Clone)]
pub struct Part<S> {
    storage: S,
    range: Range<usize>,
}

impl<S: AsRef<[u8]>> Part<S> {
    /// This range of the bytes. Storage whose bytes become fewer afterwards has no part left.
    pub(crate) fn new(storage: S, range: Range<usize>) -> Part<S> {
        Part { storage, range }
    }

    /// This range of the bytes, if there are that many.
    pub fn of(storage: S, range: Range<usize>) -> Option<Part<S>> {
        storage.as_ref().get(range.clone())?;
        Some(Part { storage, range })
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
