//! Columns of numbers.

use super::key::{Integer, Shortest};
use super::{KeyHasher, Keys};
use crate::bits::prefetch;
use crate::error::KeysError;
use crate::sealed::Sealed;
use crate::typed::KeyType;

/// Numbers as keys.
///
/// Native filters and Spark's take every integer as eight bytes, so a column of `i32` and one of `i64` hold
/// the same keys; see [`Key`](super::Key). Other filters take the bytes of the number at its own width, least
/// significant first, on every machine. Floating-point numbers are their own bytes everywhere.
///
/// All integers and floating-point numbers of fixed width are accepted: `u8` to `u128`, `i8` to `i128`, `f32`
/// and `f64`.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a, N>(pub &'a [N]);

/// A number of fixed width.
#[allow(private_interfaces)]
pub trait Number: Copy + Sealed {
    /// Its bytes.
    type Bytes: AsRef<[u8]>;

    /// Its bytes, least significant first.
    fn bytes(self) -> Self::Bytes;

    /// How it is a key of filters that take integers.
    #[doc(hidden)]
    const FORM: Form;

    /// Its type as native filters record it, which have one for all integers.
    #[doc(hidden)]
    const KEY_TYPE: KeyType;

    /// The eight bytes of an integer as a word.
    #[doc(hidden)]
    fn word(self) -> u64;

    /// The bytes of an integer that eight bytes may be too few for.
    #[doc(hidden)]
    fn shortest(self) -> Shortest;

    /// The numbers themselves, if they are `u64`: those need not be copied.
    #[doc(hidden)]
    #[inline(always)]
    fn words(numbers: &[Self]) -> Option<&[u64]> {
        let _ = numbers;
        None
    }
}

/// How a number is a key of filters that take integers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An integer of eight bytes.
    Long,
    /// An integer of eight or sixteen bytes.
    LongOrWide,
    /// Its own bytes.
    Bytes,
}

macro_rules! numbers {
    ($($number:ty: $words:expr;)*) => {
        $(impl Sealed for $number {}

        #[allow(private_interfaces)]
        impl Number for $number {
            type Bytes = [u8; size_of::<$number>()];
            const FORM: Form = if <$number as Integer>::IS_LONG { Form::Long } else { Form::LongOrWide };
            const KEY_TYPE: KeyType = KeyType::Long;

            #[inline(always)]
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            #[inline(always)]
            fn word(self) -> u64 {
                Integer::word(self)
            }

            #[inline(always)]
            fn shortest(self) -> Shortest {
                Integer::shortest(self)
            }

            #[inline(always)]
            fn words(numbers: &[Self]) -> Option<&[u64]> {
                let words: fn(&[$number]) -> Option<&[u64]> = $words;
                words(numbers)
            }
        })*
    };
}

numbers! {
    u8: |_| None; u16: |_| None; u32: |_| None; u64: |numbers| Some(numbers); u128: |_| None;
    i8: |_| None; i16: |_| None; i32: |_| None; i64: |_| None; i128: |_| None;
}

macro_rules! floats {
    ($($number:ty)*) => {
        $(impl Sealed for $number {}

        #[allow(private_interfaces)]
        impl Number for $number {
            type Bytes = [u8; size_of::<$number>()];
            const FORM: Form = Form::Bytes;
            const KEY_TYPE: KeyType = KeyType::Double;

            #[inline(always)]
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            fn word(self) -> u64 {
                unreachable!("a floating-point number is not an integer")
            }

            fn shortest(self) -> Shortest {
                unreachable!("a floating-point number is not an integer")
            }
        })*
    };
}

floats!(f32 f64);

/// Numbers that are widened at a time: as many as most batches hash at a time.
const WIDENED: usize = 16;

impl<N> Sealed for Column<'_, N> {}

impl<N: Number, H: KeyHasher> Keys<H> for Column<'_, N> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], _: bool) {
        let numbers = &self.0[start..][..out.len()];
        let form = if H::INTEGERS_ARE_LONGS { N::FORM } else { Form::Bytes };
        match (N::words(numbers), form) {
            (Some(words), _) => hasher.hash_words(words, out),
            (None, Form::Bytes) => hasher.hash_iter(numbers.iter().map(|number| number.bytes()), out),
            (None, Form::LongOrWide) => {
                hasher.hash_iter(numbers.iter().map(|number| number.shortest()), out);
            }
            (None, Form::Long) => {
                let mut words = [0; WIDENED];
                for (numbers, out) in numbers.chunks(WIDENED).zip(out.chunks_mut(WIDENED)) {
                    words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number.word());
                    hasher.hash_words(&words[..numbers.len()], out);
                }
            }
        }
    }

    /// A filter of text surely does not contain a number, and no recorded type has floating-point numbers.
    #[inline(always)]
    fn require(&self, _: &H, recorded: Option<KeyType>) -> Result<(), KeysError> {
        match recorded {
            Some(recorded) if N::FORM == Form::Bytes || !recorded.is_number() => {
                Err(KeysError::of_type(recorded, N::KEY_TYPE))
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn prefetch(&self, start: usize, count: usize) {
        prefetch::ahead(self.0, start, count);
    }
}
