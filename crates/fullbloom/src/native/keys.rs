//! Many keys at once, in the forms in which programs have them.

use super::hashing::Hasher;
use crate::bits::prefetch;
use crate::hash::siphash13;
use crate::kernel::Cpu;
use crate::kernel::lines::Lines;
use std::fmt;
use std::ops::Range;

/// A list of keys that a batch runs over.
///
/// | form | type |
/// |---|---|
/// | slices, strings, vectors, arrays of bytes | `[K]` where `K: AsRef<[u8]>` |
/// | numbers, each a key of its little-endian bytes | [`Column`] |
/// | one buffer and where each key begins, as in Arrow | [`Offsets`] |
/// | hashes made before, by the same filter's hash | [`Hashes`] |
///
/// ```
/// use fullbloom::native::{Column, NativeFilter, Offsets};
///
/// let mut filter = NativeFilter::with_fpr(1_000, 0.01)?;
/// filter.insert_batch(&Column(&[17u64, 18, 19]));
/// filter.insert_batch(["alice", "bob"].as_slice());
/// let mut answers = [false; 3];
/// filter.may_contain_batch(&Offsets::new(b"alicebobeve", &[0i32, 5, 8, 11])?, &mut answers);
/// assert_eq!(answers, [true, true, false]);
/// assert!(filter.may_contain(&18u64.to_le_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The trait is closed: what it asks of a type is the filter's own business.
pub trait Keys: Sync + sealed::HashKeys {
    /// How many keys there are.
    fn count(&self) -> usize;
}

/// [`Keys`] whose bytes are at hand: all forms but [`Hashes`].
pub trait ByteKeys: Keys {}
impl<K: AsRef<[u8]> + Sync> ByteKeys for [K] {}
impl<N: Number> ByteKeys for Column<'_, N> {}
impl<O: Offset> ByteKeys for Offsets<'_, O> {}

pub(super) mod sealed {
    use super::Hasher;

    pub trait HashKeys {
        /// The hashes of the keys from number `start` on, as many as `out` has room for.
        #[doc(hidden)]
        fn hash_into(&self, hasher: &Hasher, start: usize, out: &mut [u64]);
    }
}

/// The choice between the two hashes is made once for a run of keys, not for each of them.
#[inline(always)]
fn hash_all<K: AsRef<[u8]>>(hasher: &Hasher, keys: impl Iterator<Item = K>, out: &mut [u64]) {
    match hasher {
        Hasher::Fold(fold) => out.iter_mut().zip(keys).for_each(|(out, key)| *out = fold.hash(key.as_ref())),
        Hasher::Sip(secret) => {
            out.iter_mut().zip(keys).for_each(|(out, key)| *out = siphash13(key.as_ref(), secret));
        }
    }
}

impl<K: AsRef<[u8]> + Sync> Keys for [K] {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<K: AsRef<[u8]> + Sync> sealed::HashKeys for [K] {
    #[inline]
    fn hash_into(&self, hasher: &Hasher, start: usize, out: &mut [u64]) {
        prefetch::ahead(self, start + out.len(), out.len());
        hash_all(hasher, self[start..].iter(), out);
    }
}

/// Numbers as keys: the key is the number's bytes, least significant first, on every machine.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a, N>(pub &'a [N]);

/// A number of fixed width.
pub trait Number: Copy + Sync {
    /// Its bytes.
    type Bytes: AsRef<[u8]>;
    /// Its bytes, least significant first.
    fn bytes(self) -> Self::Bytes;

    /// The numbers themselves, if they are 64 bits wide: these are hashed several at a time.
    #[doc(hidden)]
    fn words(numbers: &[Self]) -> Option<&[u64]> {
        let _ = numbers;
        None
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Number for $number {
            type Bytes = [u8; size_of::<$number>()];

            #[inline(always)]
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
        })*
    };
}

numbers!(u8 u16 u32 u128 i8 i16 i32 i64 i128 f32 f64);

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

impl<N: Number> Keys for Column<'_, N> {
    fn count(&self) -> usize {
        self.0.len()
    }
}

impl<N: Number> sealed::HashKeys for Column<'_, N> {
    #[inline]
    fn hash_into(&self, hasher: &Hasher, start: usize, out: &mut [u64]) {
        prefetch::ahead(self.0, start + out.len(), out.len());
        if let (Some(words), Hasher::Fold(fold)) = (N::words(&self.0[start..]), hasher) {
            let (x, y) = fold.of_eight_bytes();
            return Cpu::in_use().fold(words, x, y, out);
        }
        hash_all(hasher, self.0[start..].iter().map(|number| number.bytes()), out);
    }
}

/// Hashes made before by [`NativeFilter::hash`](super::NativeFilter::hash) of a filter with the same seed or secret.
#[derive(Debug, Clone, Copy)]
pub struct Hashes<'a>(pub &'a [u64]);

impl Keys for Hashes<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }
}

impl sealed::HashKeys for Hashes<'_> {
    #[inline]
    fn hash_into(&self, _: &Hasher, start: usize, out: &mut [u64]) {
        let hashes = &self.0[start..];
        let count = out.len().min(hashes.len());
        out[..count].copy_from_slice(&hashes[..count]);
    }
}

/// Keys one after the other in one buffer: key `i` is `data[offsets[i]..offsets[i + 1]]`.
///
/// This is how Arrow holds strings and binary values, with 32-bit or 64-bit offsets. Values that are null have
/// offsets too; they are keys of their bytes, usually none.
#[derive(Debug, Clone, Copy)]
pub struct Offsets<'a, O> {
    data: &'a [u8],
    offsets: &'a [O],
}

/// An offset: `i32` or `i64`.
pub trait Offset: Copy + Sync + Into<i64> {}
impl Offset for i32 {}
impl Offset for i64 {}

/// Offsets that are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetError {
    /// The place in the offsets of the first that is below the one before, or beyond the data.
    pub at: usize,
    /// What stands there.
    pub got: i64,
}

impl fmt::Display for OffsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OffsetError { at, got } = self;
        write!(f, "offset {at} is {got}: offsets must not fall, and must stay within the data")
    }
}

impl std::error::Error for OffsetError {}

impl<'a, O: Offset> Offsets<'a, O> {
    /// Checks all offsets. One more than there are keys; none at all means no keys.
    pub fn new(data: &'a [u8], offsets: &'a [O]) -> Result<Self, OffsetError> {
        let mut least = 0;
        for (at, &offset) in offsets.iter().enumerate() {
            let got = offset.into();
            if got < least || got as u64 > data.len() as u64 {
                return Err(OffsetError { at, got });
            }
            least = got;
        }
        Ok(Offsets { data, offsets })
    }

    /// The key of this number.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.key(&self.offsets[i..i + 2])
    }

    /// Only the keys with these numbers.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn part(&self, keys: Range<usize>) -> Offsets<'a, O> {
        Offsets { data: self.data, offsets: &self.offsets[keys.start..keys.end + 1] }
    }

    #[inline(always)]
    fn key(&self, pair: &[O]) -> &'a [u8] {
        let Range { start, end } = pair[0].into() as usize..pair[1].into() as usize;
        &self.data[start..end]
    }
}

impl<O: Offset> Keys for Offsets<'_, O> {
    fn count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
}

impl<O: Offset> sealed::HashKeys for Offsets<'_, O> {
    #[inline]
    fn hash_into(&self, hasher: &Hasher, start: usize, out: &mut [u64]) {
        hash_all(hasher, self.offsets[start..].windows(2).map(|pair| self.key(pair)), out);
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::HashKeys as _;
    use super::*;
    use crate::native::{Hashing, Secret};

    fn hashes<K: Keys + ?Sized>(keys: &K, hasher: &Hasher, start: usize) -> Vec<u64> {
        let mut out = vec![0; keys.count() - start];
        keys.hash_into(hasher, start, &mut out);
        out
    }

    #[test]
    fn all_forms_of_the_same_keys_give_the_same_hashes() {
        for hashing in [Hashing::Seed(5), Hashing::Secret(Secret::new([9; 16]))] {
            let hasher = Hasher::new(&hashing);
            let numbers: Vec<u64> = (0..40).map(|i| 0x0123_4567_89ab_cdef << i ^ i).collect();
            let bytes: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
            let data = bytes.as_flattened();
            let expected: Vec<u64> = bytes.iter().map(|key| hasher.hash(key)).collect();
            let wide: Vec<i64> = (0..=40).map(|i| i * 8).collect();
            let narrow: Vec<i32> = wide.iter().map(|&offset| offset as i32).collect();
            for start in 0..=numbers.len() {
                let expected = &expected[start..];
                assert_eq!(hashes(bytes.as_slice(), &hasher, start), expected);
                assert_eq!(hashes(&Column(&numbers), &hasher, start), expected);
                assert_eq!(hashes(&Offsets::new(data, &narrow).unwrap(), &hasher, start), expected);
                assert_eq!(hashes(&Offsets::new(data, &wide).unwrap(), &hasher, start), expected);
                assert_eq!(hashes(&Hashes(&expected.repeat(2)), &hasher, expected.len()), expected);
                for len in 0..=expected.len() {
                    let mut some = vec![0; len];
                    Column(&numbers).hash_into(&hasher, start, &mut some);
                    assert_eq!(some, expected[..len]);
                }
            }
        }
    }

    #[test]
    fn offsets_that_fall_or_leave_the_data_are_refused() {
        let data = [0; 10];
        for (offsets, at) in
            [(&[0i32, 5, 4][..], 2), (&[-1, 5], 0), (&[0, 11], 1), (&[0, 10, i32::MAX], 2), (&[3, 2], 1)]
        {
            assert_eq!(Offsets::new(&data, offsets).unwrap_err().at, at, "{offsets:?}");
        }
        assert_eq!(Offsets::<i64>::new(&data, &[]).unwrap().count(), 0);
        assert_eq!(Offsets::new(&data, &[10i64]).unwrap().count(), 0);
        assert_eq!(Offsets::new(&data, &[0i64, 0, 10]).unwrap().count(), 2);
    }

    #[test]
    fn a_part_of_offsets_has_the_keys_of_its_numbers() {
        let keys = Offsets::new(b"applepearplum", &[0i32, 5, 9, 13]).unwrap();
        let part = keys.part(1..3);
        assert_eq!((part.count(), part.get(0), part.get(1)), (2, &b"pear"[..], &b"plum"[..]));
        assert_eq!(keys.part(3..3).count(), 0);
    }
}
