//! The bounded reading cursor: every decoder reads through it, so no length is believed before
//! the bytes behind it are known to be there.
//!
//! ```text
//!   bytes:  | header field | header field |  array ...............  | (trailing?)
//!   cursor:  at ─► u32_be ─► at ─► i32_be ─► at ─► take(len) ─► at ─► finish
//! ```

use crate::error::DecodeError;
use alloc::vec::Vec;
use core::ops::Range;

/// Where encoded bytes go: a `Vec`, or, with `std`, any [`io::Write`](std::io::Write) by [`write_with`].
pub trait Output {
    /// Writes all bytes, or says that no more can be written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop>;
}

/// The output takes no more bytes; whoever made it knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop;

impl Output for Vec<u8> {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Writes to `out` what `encode` writes, and keeps the error that stopped it.
#[cfg(feature = "std")]
pub(crate) fn write_with(
    out: &mut dyn std::io::Write,
    encode: impl FnOnce(&mut dyn Output) -> Result<(), Stop>,
) -> std::io::Result<()> {
    struct Writer<'a>(&'a mut dyn std::io::Write, std::io::Result<()>);
    impl Output for Writer<'_> {
        fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop> {
            self.1 = self.0.write_all(bytes);
            self.1.as_ref().map(|_| ()).map_err(|_| Stop)
        }
    }
    let mut writer = Writer(out, Ok(()));
    match encode(&mut writer) {
        Ok(()) => Ok(()),
        Err(Stop) => writer.1.and(Err(std::io::ErrorKind::Other.into())),
    }
}

/// Reads fields from the front of a slice and remembers where it stands.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Begins in the middle, at an offset that is not beyond the end; errors tell offsets from the front.
    pub(crate) fn at_offset(bytes: &'a [u8], at: usize) -> Self {
        debug_assert!(at <= bytes.len());
        Cursor { bytes, at: at.min(bytes.len()) }
    }

    /// Offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Bytes not read yet.
    pub(crate) fn remaining(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(word) = rest.first_chunk::<N>() else {
            return Err(self.short(field, N as u64));
        };
        self.at += N;
        Ok(*word)
    }

    fn short(&self, field: &'static str, need: u64) -> DecodeError {
        DecodeError::Truncated { field, at: self.at(), need, have: self.remaining() }
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|b| b[0])
    }

    pub(crate) fn u16_le(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32_le(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64_le(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn f64_le(&mut self, field: &'static str) -> Result<f64, DecodeError> {
        self.array(field).map(f64::from_le_bytes)
    }

    pub(crate) fn i32_be(&mut self, field: &'static str) -> Result<i32, DecodeError> {
        self.array(field).map(i32::from_be_bytes)
    }

    /// Passes over exactly these bytes, or says where they differ.
    pub(crate) fn magic(&mut self, field: &'static str, expected: &[u8]) -> Result<(), DecodeError> {
        let rest = &self.bytes[self.at..];
        if let Some(i) = rest.iter().zip(expected).position(|(a, b)| a != b) {
            return Err(DecodeError::Magic { field, at: self.at() + i as u64 });
        }
        if rest.len() < expected.len() {
            return Err(self.short(field, expected.len() as u64));
        }
        self.at += expected.len();
        Ok(())
    }

    /// Passes over `len` bytes without looking at them; the range they occupy.
    pub(crate) fn take(&mut self, field: &'static str, len: u64) -> Result<Range<usize>, DecodeError> {
        if len > self.remaining() {
            return Err(self.short(field, len));
        }
        let start = self.at;
        self.at += len as usize; // not more than `remaining`, which came from a usize
        Ok(start..self.at)
    }

    /// The filter must end here.
    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            extra => Err(DecodeError::Trailing { at: self.at(), extra }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_field_names_itself_and_its_offset() {
        let mut cursor = Cursor::new(&[0, 0, 0, 5, 1]);
        assert_eq!(cursor.i32_be("probes"), Ok(5));
        assert_eq!(
            cursor.i32_be("words"),
            Err(DecodeError::Truncated { field: "words", at: 4, need: 4, have: 1 })
        );
    }

    #[test]
    fn a_length_past_the_end_is_refused_and_nothing_is_consumed() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert!(cursor.take("bits", u64::MAX).is_err());
        assert_eq!(cursor.take("bits", 3), Ok(0..3));
        assert_eq!(cursor.finish(), Ok(()));
    }

    #[test]
    fn magic_says_which_byte_differs_before_it_says_short() {
        let mut cursor = Cursor::new(b"libbxoom");
        assert_eq!(cursor.magic("magic", b"libbloom2"), Err(DecodeError::Magic { field: "magic", at: 4 }));
        let mut cursor = Cursor::new(b"libbl");
        assert_eq!(
            cursor.magic("magic", b"libbloom2"),
            Err(DecodeError::Truncated { field: "magic", at: 0, need: 9, have: 5 })
        );
    }

    #[test]
    fn trailing_bytes_are_counted() {
        let mut cursor = Cursor::new(&[7, 8, 9]);
        assert_eq!(cursor.u8("k"), Ok(7));
        assert_eq!(cursor.finish(), Err(DecodeError::Trailing { at: 1, extra: 2 }));
    }
}
