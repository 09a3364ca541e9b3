//! A filter for engines, which must never refuse to read.

use crate::KeyHash;
use crate::filter::Filter;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::{DecodeError, KeysError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Key, Keys};
use fullbloom_core::native::hashing::{Hasher, Hashing, Secret};
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
///
/// Reading decodes the header, which takes as long as some dozens of lookups: keep the `FilterRef` with the
/// cached block, for example in an `Arc`, instead of reading it for each lookup.
#[derive(Debug, Clone)]
pub struct FilterRef<S> {
    /// The storage itself if it could not be decoded.
    filter: Result<Filter<Part<S>>, S>,
}

impl<S> FilterRef<S> {
    /// Whether the bytes could be decoded.
    pub fn is_known(&self) -> bool {
        self.filter.is_ok()
    }

    /// The filter, if the bytes could be decoded.
    #[inline]
    pub fn filter(&self) -> Option<&Filter<Part<S>>> {
        self.filter.as_ref().ok()
    }
}

impl<S: AsRef<[u8]>> FilterRef<S> {
    /// Reads the bytes in place; never fails.
    pub fn read(storage: S) -> FilterRef<S> {
        FilterRef { filter: Filter::over_or(storage).map_err(|(storage, _)| storage) }
    }

    /// As [`read`](FilterRef::read), of bytes by [`Filter::encode_bare`]; see [`Filter::over_bare`] for the
    /// condition.
    pub fn read_bare(storage: S, hashing: &Hashing) -> FilterRef<S> {
        FilterRef { filter: Filter::over_bare_or(storage, hashing).map_err(|(storage, _)| storage) }
    }

    /// The bytes, whether they could be decoded or not.
    pub fn storage(&self) -> &S {
        match &self.filter {
            Ok(filter) => filter.storage().storage(),
            Err(storage) => storage,
        }
    }

    /// Whether the hash was made with the seed or secret of this filter. If not, every lookup of it answers
    /// "maybe"; for assertions.
    pub fn accepts(&self, hash: KeyHash) -> bool {
        self.filter().is_none_or(|filter| hash.by(filter.hasher()).is_ok())
    }

    /// Prefetches the memory that the lookup of this hash reads, for lookups in several filters.
    #[inline]
    pub fn prefetch(&self, hash: KeyHash) {
        if let Ok(filter) = &self.filter {
            filter.prefetch(hash);
        }
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.filter().is_none_or(|filter| filter.may_contain(key))
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret. Without a filter the
    /// hash belongs to no filter, so that every filter answers "maybe".
    #[inline]
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        self.filter().map_or_else(KeyHash::of_none, |filter| filter.hash(key))
    }

    /// As [`may_contain`](FilterRef::may_contain), for a precomputed hash. Of a filter with another seed or
    /// secret the answer is "maybe".
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.filter().is_none_or(|filter| filter.may_contain_hash(hash))
    }

    /// Looks up many keys; see [`Filter::may_contain_batch`].
    ///
    /// # Errors
    /// If the keys do not fit the filter.
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        match &self.filter {
            Ok(filter) => filter.may_contain_batch(keys),
            Err(_) => Ok(vec![true; keys.count()]),
        }
    }

    /// As [`may_contain_batch`](FilterRef::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys.
    pub fn may_contain_batch_into<'a, K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        let mut answers = answers.into();
        match &self.filter {
            Ok(filter) => filter.may_contain_batch_into(keys, answers),
            Err(_) => {
                answers.require_places(keys.count())?;
                answers.fill(keys.count(), true);
                Ok(())
            }
        }
    }

    /// Gives a keyed filter its secret; see [`Filter::unlock`]. Bytes that could not be decoded have none to
    /// match.
    ///
    /// # Errors
    /// If it is the secret of another filter.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.filter.as_mut().map_or(Ok(()), |filter| filter.unlock(secret))
    }
}
