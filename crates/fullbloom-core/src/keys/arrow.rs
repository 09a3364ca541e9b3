//! The two layouts of Arrow's string and binary columns, read in place.

use super::{KeyHasher, Keys};
#[cfg(target_endian = "little")]
use crate::bits;
use crate::sealed::Sealed;
use core::fmt;
use core::ops::Range;

/// Keys one after the other in one buffer: key `i` is `data[offsets[i]..offsets[i + 1]]`.
///
/// This is how Arrow holds `Utf8`, `Binary` and their large forms, with 32-bit or 64-bit offsets. Null values
/// have offsets too: [`Nullable`](super::Nullable) leaves them out.
#[derive(Debug, Clone, Copy)]
pub struct Offsets<'a, O> {
    data: &'a [u8],
    offsets: &'a [O],
}

/// An offset: `i32` or `i64`.
pub trait Offset: Copy + Into<i64> + Sealed {}
impl Offset for i32 {}
impl Offset for i64 {}

/// Buffers of an Arrow column that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrowError {
    /// An offset is below its predecessor or beyond the data.
    Offset {
        /// The index of the first such offset.
        at: usize,
        /// Its value.
        got: i64,
    },
    /// A view refers to bytes outside its buffer.
    View {
        /// The index of the first such view.
        at: usize,
    },
}

impl fmt::Display for ArrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrowError::Offset { at, got } => {
                write!(f, "offset {at} is {got}: offsets must not decrease, and must stay within the data")
            }
            ArrowError::View { at } => write!(f, "view {at} refers to bytes outside its buffer"),
        }
    }
}

impl core::error::Error for ArrowError {}

impl<'a, O: Offset> Offsets<'a, O> {
    /// Checks all offsets. There is one more offset than there are keys; an empty slice means no keys.
    pub fn new(data: &'a [u8], offsets: &'a [O]) -> Result<Self, ArrowError> {
        let mut least = 0;
        for (at, &offset) in offsets.iter().enumerate() {
            let got = offset.into();
            if got < least || got as u64 > data.len() as u64 {
                return Err(ArrowError::Offset { at, got });
            }
            least = got;
        }
        Ok(Offsets { data, offsets })
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key number `i`.
    ///
    /// # Panics
    /// If `i` is not below the number of keys.
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.key(&self.offsets[i..i + 2])
    }

    /// The keys at these indices.
    ///
    /// # Panics
    /// If an index is not below the number of keys.
    pub fn part(&self, keys: Range<usize>) -> Offsets<'a, O> {
        Offsets { data: self.data, offsets: &self.offsets[keys.start..keys.end + 1] }
    }

    #[inline(always)]
    fn key(&self, pair: &[O]) -> &'a [u8] {
        let Range { start, end } = pair[0].into() as usize..pair[1].into() as usize;
        &self.data[start..end]
    }
}

impl<O> Sealed for Offsets<'_, O> {}

impl<O: Offset, H: KeyHasher> Keys<H> for Offsets<'_, O> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], _: bool) {
        let pairs = self.offsets[start..][..out.len() + 1].windows(2);
        hasher.hash_iter(pairs.map(|pair| self.key(pair)), out);
    }
}

/// The longest value that is stored inside its view.
const INLINE: usize = 12;

/// Keys in the layout of Arrow's `Utf8View` and `BinaryView`: a view of 16 bytes each, over several buffers.
///
/// ```text
///   up to 12 bytes   | length: i32 | the bytes, padded with zeros          |
///   more             | length: i32 | first 4 bytes | buffer: i32 | offset: i32 |      all little-endian
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Views<'a> {
    views: &'a [[u8; 16]],
    buffers: &'a [&'a [u8]],
}

/// The length of a view's value, and the location of its bytes if they are not inside the view.
#[inline(always)]
fn parts(view: &[u8; 16]) -> (usize, usize, usize) {
    let number = |i: usize| u32::from_le_bytes([view[i], view[i + 1], view[i + 2], view[i + 3]]) as usize;
    (number(0), number(8), number(12))
}

impl<'a> Views<'a> {
    /// Checks all views.
    pub fn new(views: &'a [[u8; 16]], buffers: &'a [&'a [u8]]) -> Result<Self, ArrowError> {
        let is_valid = |view: &[u8; 16]| {
            let (len, buffer, offset) = parts(view);
            len <= INLINE || buffers.get(buffer).is_some_and(|b| b.len() >= offset && b.len() - offset >= len)
        };
        match views.iter().position(|view| !is_valid(view)) {
            Some(at) => Err(ArrowError::View { at }),
            None => Ok(Views { views, buffers }),
        }
    }

    /// As [`new`](Self::new), of views as arrow-rs holds them: `StringViewArray::views`, without a copy.
    #[cfg(target_endian = "little")]
    pub fn from_u128(views: &'a [u128], buffers: &'a [&'a [u8]]) -> Result<Self, ArrowError> {
        Views::new(bits::bytes_of_words(views), buffers)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Key number `i`.
    ///
    /// # Panics
    /// If `i` is not below the number of keys.
    pub fn get(&self, i: usize) -> &'a [u8] {
        self.key(&self.views[i])
    }

    /// The keys at these indices.
    ///
    /// # Panics
    /// If an index is not below the number of keys.
    pub fn part(&self, keys: Range<usize>) -> Views<'a> {
        Views { views: &self.views[keys], buffers: self.buffers }
    }

    #[inline(always)]
    fn key(&self, view: &'a [u8; 16]) -> &'a [u8] {
        let (len, buffer, offset) = parts(view);
        if len <= INLINE { &view[4..4 + len] } else { &self.buffers[buffer][offset..][..len] }
    }
}

impl Sealed for Views<'_> {}

impl<H: KeyHasher> Keys<H> for Views<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.views.len()
    }

    #[inline(always)]
    fn hash_into(&self, hasher: &H, start: usize, out: &mut [H::Hash], _: bool) {
        hasher.hash_iter(self.views[start..][..out.len()].iter().map(|view| self.key(view)), out);
    }
}
