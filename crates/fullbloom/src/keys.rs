//! Batches of keys, in the forms in which programs hold them.
//!
//! | form | type |
//! |---|---|
//! | slices, strings, vectors, arrays of bytes | `[K]` where `K: AsRef<[u8]>` |
//! | numbers, each a key of its little-endian bytes | [`Column`] |
//! | one buffer and the offset of each key, as in Arrow's `String` and `Binary` | [`Offsets`] |
//! | views of 16 bytes over several buffers, as in Arrow's `StringView` | [`Views`] |
//! | precomputed hashes | [`Hashes`] |
//!
//! ```
//! use fullbloom::NativeFilter;
//! use fullbloom::keys::{Column, Offsets};
//!
//! let mut filter = NativeFilter::with_fpr(1_000, 0.01)?;
//! filter.insert_batch(&Column(&[17u64, 18, 19]));
//! filter.insert_batch(["alice", "bob"].as_slice());
//! let mut answers = [false; 3];
//! filter.may_contain_batch(&Offsets::new(b"alicebobeve", &[0i32, 5, 8, 11])?, &mut answers);
//! assert_eq!(answers, [true, true, false]);
//! assert!(filter.may_contain(&18u64.to_le_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow;
mod hasher;

pub use arrow::{Offset, OffsetError, Offsets, ViewError, Views};
pub use hasher::KeyHasher;

use crate::bits::prefetch;
use crate::sealed::Sealed;
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

/// Numbers as keys: a key is the number's bytes, least significant first, on every machine.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a, N>(pub &'a [N]);

/// A number of fixed width.
pub trait Number: Copy + Sealed {
    /// Its bytes.
    type Bytes: AsRef<[u8]>;

    /// Its bytes, least significant first.
    fn bytes(self) -> Self::Bytes;

    /// The numbers themselves, if they are 64 bits wide: those are hashed several at a time.
    #[doc(hidden)]
    #[inline(always)]
    fn words(numbers: &[Self]) -> Option<&[u64]> {
        let _ = numbers;
        None
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Sealed for $number {}

        impl Number for $number {
            type Bytes = [u8; size_of::<$number>()];

            #[inline(always)]
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
        })*
    };
}

numbers!(u8 u16 u32 u128 i8 i16 i32 i64 i128 f32 f64);

impl Sealed for u64 {}

impl Number for u64 {
    type Bytes = [u8; 8];

    #[inline(always)]
    fn bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    #[inline(always)]
    fn words(numbers: &[u64]) -> Option<&[u64]> {
        Some(numbers)
    }
}

impl<N> Sealed for Column<'_, N> {}

impl<N: Number, H: KeyHasher> Keys<H> for Column<'_, N> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], _: bool) {
        let numbers = &self.0[start..][..out.len()];
        match N::words(numbers) {
            Some(words) => hasher.hash_words(words, out),
            None => hasher.hash_iter(numbers.iter().map(|number| number.bytes()), out),
        }
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        prefetch::ahead(self.0, start, count);
    }
}

/// Hashes computed before, by [`Filter::hash`](crate::Filter::hash) of a filter of the same dialect (of
/// `native`: with the same seed or secret).
#[derive(Debug, Clone, Copy)]
pub struct Hashes<'a, H>(pub &'a [H]);

impl<H> Sealed for Hashes<'_, H> {}

impl<H: KeyHasher> Keys<H> for Hashes<'_, H::Hash> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn hash_into(&self, _: &H, start: usize, out: &mut [H::Hash], _: bool) {
        out.copy_from_slice(&self.0[start..][..out.len()]);
    }
}

#[cfg(test)]
mod tests;
