//! Columns of numbers.

use super::{KeyHasher, Keys};
use crate::bits::prefetch;
use crate::sealed::Sealed;

/// Numbers as keys: a key is the number's bytes, least significant first, on every machine.
///
/// All integers and floating-point numbers of fixed width are accepted: `u8` to `u128`, `i8` to `i128`, `f32`
/// and `f64`.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a, N>(pub &'a [N]);

/// A number of fixed width.
pub trait Number: Copy + Sealed {
    /// Its bytes.
    type Bytes: AsRef<[u8]>;

    /// Its bytes, least significant first.
    fn bytes(self) -> Self::Bytes;

    /// The numbers themselves, if they are 64 bits wide: those are hashed several at a time.
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
