//! A filter for engines, which must never refuse to read.

use crate::filter::Filter;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Key, Keys};
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::part::Part;

/// A filter over bytes in a block cache, or bytes that could not be decoded: those answer "maybe" to every
/// key.
///
/// ```
/// use fullbloom::{Filter, FilterRef};
///
/// let mut filter = Filter::with_fpr(100, 0.01)?;
/// filter.insert("apple");
/// let block = filter.encode();
/// let read = FilterRef::read(block.as_slice()); // or Bytes, Arc<[u8]>, ...
/// assert!(read.may_contain("apple") && !read.may_contain("pear"));
/// let unknown = FilterRef::read(b"from a later version".as_slice());
/// assert!(!unknown.is_known() && unknown.may_contain("pear"));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// The bits are not compared with their checksums: engines have a checksum for each block. Without one, call
/// [`Filter::verify`] once per block.
#[derive(Debug, Clone)]
pub struct FilterRef<S> {
    filter: Option<Filter<Part<S>>>,
}

impl<S: AsRef<[u8]>> FilterRef<S> {
    /// Reads the bytes in place; never fails.
    pub fn read(storage: S) -> FilterRef<S> {
        FilterRef { filter: Filter::over(storage).ok() }
    }

    /// Whether the bytes could be decoded.
    pub fn is_known(&self) -> bool {
        self.filter.is_some()
    }

    /// The filter, if the bytes could be decoded.
    pub fn filter(&self) -> Option<&Filter<Part<S>>> {
        self.filter.as_ref()
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(key))
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret. Without a filter there
    /// is nothing to look up, and the hash is zero.
    #[inline]
    pub fn hash(&self, key: impl Key<Hasher>) -> u64 {
        self.filter.as_ref().map(|filter| filter.hash(key)).unwrap_or_default()
    }

    /// As [`may_contain`](FilterRef::may_contain), for a precomputed hash.
    #[inline]
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain_hash(hash))
    }

    /// Looks up many keys; see [`Filter::may_contain_batch`].
    ///
    /// # Panics
    /// If the number of places in `answers` is not the number of keys.
    pub fn may_contain_batch<'a, K: Keys<Hasher> + ?Sized>(&self, keys: &K, answers: impl Into<Answers<'a>>) {
        match &self.filter {
            Some(filter) => filter.may_contain_batch(keys, answers),
            None => {
                let mut answers = answers.into();
                answers.check_len(keys.count());
                answers.fill(keys.count(), true);
            }
        }
    }
}
