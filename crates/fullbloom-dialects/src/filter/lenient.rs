//! A filter for engines, which must never refuse to read.

use super::{Dialect, Filter, Part};
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::KeysError;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Key, KeyHashOf, Keys};

/// A filter, or bytes that could not be decoded: those answer "maybe" to every key.
///
/// Made by [`Filter::read`].
///
/// ```
/// use fullbloom_dialects::{Filter, LevelDb};
///
/// let mut filter = Filter::<LevelDb>::with_bits_per_key(100, 10.0)?;
/// filter.insert(b"apple");
/// let block = filter.encode();
/// let read = Filter::<LevelDb>::read(block.as_slice());
/// assert!(read.may_contain(b"apple") && !read.may_contain(b"pear"));
/// let unknown = Filter::<LevelDb>::read(b"".as_slice());
/// assert!(!unknown.is_known() && unknown.may_contain(b"pear"));
/// # Ok::<(), fullbloom_dialects::SizeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lenient<D, S> {
    filter: Option<Filter<D, Part<S>>>,
}

impl<D: Dialect, S: AsRef<[u8]>> Lenient<D, S> {
    pub(crate) fn new(filter: Option<Filter<D, Part<S>>>) -> Self {
        Lenient { filter }
    }

    /// Whether the bytes could be decoded.
    pub fn is_known(&self) -> bool {
        self.filter.is_some()
    }

    /// The filter, if the bytes could be decoded.
    pub fn filter(&self) -> Option<&Filter<D, Part<S>>> {
        self.filter.as_ref()
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: impl Key<D::Hasher>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(key))
    }

    /// The hash of a key, for lookups in several filters of this dialect. Without a filter the hash belongs
    /// to no filter, so that every filter answers "maybe".
    #[inline]
    pub fn hash(&self, key: impl Key<D::Hasher>) -> KeyHashOf<D::Hasher> {
        self.filter.as_ref().map_or_else(KeyHashOf::of_none, |filter| filter.hash(key))
    }

    /// As [`may_contain`](Lenient::may_contain), for a precomputed hash.
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHashOf<D::Hasher>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain_hash(hash))
    }

    /// Looks up many keys; see [`Filter::may_contain_batch`].
    ///
    /// # Errors
    /// If the keys are hashes with another seed or hash function.
    pub fn may_contain_batch<K: Keys<D::Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        match &self.filter {
            Some(filter) => filter.may_contain_batch(keys),
            None => Ok(vec![true; keys.count()]),
        }
    }

    /// As [`may_contain_batch`](Lenient::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys.
    pub fn may_contain_batch_into<'a, K: Keys<D::Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        let mut answers = answers.into();
        match &self.filter {
            Some(filter) => filter.may_contain_batch_into(keys, answers),
            None => {
                answers.require_places(keys.count())?;
                answers.fill(keys.count(), true);
                Ok(())
            }
        }
    }
}
