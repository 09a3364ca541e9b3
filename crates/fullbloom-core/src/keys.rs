//! Batches of keys, in the forms in which programs hold them.
//!
//! | form | type |
//! |---|---|
//! | slices, strings, vectors, arrays of bytes | `[K]` where `K: AsRef<[u8]>` |
//! | numbers | [`Column`] |
//! | one buffer and the offset of each key, as in Arrow's `String` and `Binary` | [`Offsets`] |
//! | views of 16 bytes over several buffers, as in Arrow's `StringView` | [`Views`] |
//! | precomputed hashes | [`KeyHashOf`] in a slice, or [`Hashes`] |
//! | any of these, with nulls | [`Nullable`] |
//!
//! ```
//! use fullbloom::Filter;
//! use fullbloom::keys::{Column, Offsets};
//!
//! let mut filter = fullbloom::Filter::with_fpr(1_000, 0.01)?;
//! filter.insert_batch(&Column(&[17u64, 18, 19]))?;
//! filter.insert_batch(["alice", "bob"].as_slice())?;
//! let answers = filter.may_contain_batch(&Offsets::new(b"alicebobeve", &[0i32, 5, 8, 11])?)?;
//! assert_eq!(answers, [true, true, false]);
//! assert!(filter.may_contain(18));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow;
mod column;
mod hash;
mod hasher;
mod key;
mod validity;

pub use arrow::{ArrowError, Offset, Offsets, Views};
pub use column::Column;
pub use hash::{Hashes, KeyHashOf};
pub use hasher::{KeyHasher, origin_of};
pub use key::{Key, TakesIntegers};
pub use validity::{Nullable, Validity, each_valid, each_valid_new, look_up};

use crate::bits::prefetch;
use crate::error::KeysError;
use crate::sealed::Sealed;
use crate::typed::KeyType;
use alloc::vec::Vec;

/// Keys that a filter with the hasher `H` accepts in one batch; see the [module](self) for the forms.
///
/// The trait is sealed: it is implemented for the forms listed there.
pub trait Keys<H: KeyHasher>: Sealed {
    /// How many keys there are.
    fn count(&self) -> usize;

    /// Hashes the keys from index `start` on, one for each place in `out`.
    ///
    /// `wide`: the caller is compiled for a CPU that multiplies 64-bit words in vectors.
    ///
    /// # Panics
    /// If there are fewer keys than places.
    #[doc(hidden)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool);

    /// Checks that the keys fit filters with this hasher, whose keys have this type if it is recorded.
    #[doc(hidden)]
    #[inline(always)]
    fn require(&self, hasher: &H, recorded: Option<KeyType>) -> Result<(), KeysError> {
        let _ = (hasher, recorded);
        Ok(())
    }

    /// Which keys are not null; `None` if all are valid.
    #[doc(hidden)]
    #[inline(always)]
    fn validity(&self) -> Option<Validity<'_>> {
        None
    }

    /// Prefetches the keys from index `start` on, as far as they exist.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        let _ = (start, count);
    }
}

impl<K> Sealed for [K] {}

impl<K: AsRef<[u8]>, H: KeyHasher> Keys<H> for [K] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        hasher.hash_keys(&self[start..][..out.len()], out, wide);
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        prefetch::ahead(self, start, count);
    }
}

impl<K, const N: usize> Sealed for [K; N] {}

impl<K: AsRef<[u8]>, H: KeyHasher, const N: usize> Keys<H> for [K; N] {
    #[inline(always)]
    fn count(&self) -> usize {
        N
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        self.as_slice().hash_into(hasher, start, out, wide);
    }
}

impl<K> Sealed for Vec<K> {}

impl<K: AsRef<[u8]>, H: KeyHasher> Keys<H> for Vec<K> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], wide: bool) {
        self.as_slice().hash_into(hasher, start, out, wide);
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        prefetch::ahead(self, start, count);
    }
}

#[cfg(test)]
mod tests;
