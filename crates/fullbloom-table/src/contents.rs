//! The plain bytes of a block, wherever they are kept.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

/// The plain bytes of a block: borrowed from the table's source, owned, or shared with a cache.
#[derive(Debug, Clone)]
pub enum Contents<'a> {
    /// Borrowed from the source.
    Borrowed(&'a [u8]),
    /// Read or expanded for one use.
    Owned(Vec<u8>),
    /// Kept by a cache or by the table.
    Shared(Arc<Vec<u8>>),
}

impl Contents<'_> {
    /// The bytes as a vector; copies what is borrowed or shared.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Contents::Borrowed(bytes) => bytes.to_vec(),
            Contents::Owned(bytes) => bytes,
            Contents::Shared(bytes) => Arc::unwrap_or_clone(bytes),
        }
    }
}

impl AsRef<[u8]> for Contents<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Contents::Borrowed(bytes) => bytes,
            Contents::Owned(bytes) => bytes,
            Contents::Shared(bytes) => bytes,
        }
    }
}

impl Deref for Contents<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_ref()
    }
}

impl<'a> From<Cow<'a, [u8]>> for Contents<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> Contents<'a> {
        match bytes {
            Cow::Borrowed(bytes) => Contents::Borrowed(bytes),
            Cow::Owned(bytes) => Contents::Owned(bytes),
        }
    }
}
