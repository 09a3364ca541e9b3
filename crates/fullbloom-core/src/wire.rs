//! The bounded reading cursor of this workspace's crates: every decoder reads through it, so no length is
//! trusted before the bytes it counts are known to exist. Not part of the public interface.
//!
//! ```text
//!   bytes:  | header field | header field |  array ...............  | (trailing?)
//!   cursor:  at ─► u32_le ─► at ─► i32_be ─► at ─► take(len) ─► at ─► finish
//! ```
//!
//! | numbers | methods | used by |
//! |---|---|---|
//! | fixed, little-endian | `u16_le` … `f64_le` | native, RocksDB, libbloom, DCSO |
//! | fixed, big-endian | `u16_be` … `f64_be`, `count_be`, `long_count_be` | Java: Cassandra, Guava, Spark |
//! | varint, seven bits a byte, lowest first | `varint32`, `varint64`, `zigzag64`, `shortest_varint` | LevelDB, RocksDB, Thrift, protobuf |
//! | vint, the length in the first byte, highest first | `vint`, `vint_position` | Cassandra since 3.0 |

use crate::error::{DecodeError, SizeError};
use alloc::vec::Vec;
use core::ops::Range;

/// Where encoded bytes go: a `Vec`, or, with `std`, any [`io::Write`](std::io::Write) by `write_with`.
pub trait Output {
    /// Writes all bytes, or reports that no more can be written.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop>;
}

/// Why encoding ended early.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// The output accepts no more bytes; its creator knows why.
    Output,
    /// There is not enough memory to encode the filter.
    Memory(SizeError),
}

impl From<SizeError> for Stop {
    fn from(cause: SizeError) -> Stop {
        Stop::Memory(cause)
    }
}

impl Output for Vec<u8> {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Writes the output of `encode` to `out`, and keeps the error that stopped it.
#[cfg(feature = "std")]
pub fn write_with(
    out: &mut dyn std::io::Write,
    encode: impl FnOnce(&mut dyn Output) -> Result<(), Stop>,
) -> std::io::Result<()> {
    struct Writer<'a>(&'a mut dyn std::io::Write, std::io::Result<()>);
    impl Output for Writer<'_> {
        fn write_all(&mut self, bytes: &[u8]) -> Result<(), Stop> {
            self.1 = self.0.write_all(bytes);
            self.1.as_ref().map(|_| ()).map_err(|_| Stop::Output)
        }
    }
    let mut writer = Writer(out, Ok(()));
    match encode(&mut writer) {
        Ok(()) => Ok(()),
        Err(Stop::Output) => writer.1.and(Err(std::io::ErrorKind::Other.into())),
        Err(Stop::Memory(cause)) => Err(std::io::Error::new(std::io::ErrorKind::OutOfMemory, cause)),
    }
}

/// The source of a cursor's bytes, which determines the error it reports.
///
/// `()` stands for a whole file or filter, whose errors are [`DecodeError`]s. A crate that reads blocks of a
/// larger file adds the block's position and returns its own error.
pub trait Origin: Clone {
    /// The error of the caller.
    type Error;

    /// Converts the cursor's error, whose offsets count from the beginning of the bytes, into the caller's.
    fn error(&self, cause: DecodeError) -> Self::Error;
}

impl Origin for () {
    type Error = DecodeError;

    fn error(&self, cause: DecodeError) -> DecodeError {
        cause
    }
}

/// Reads fields from a slice in order and keeps its position. Every read names its field, for the error.
#[derive(Debug, Clone)]
pub struct Cursor<'a, O = ()> {
    bytes: &'a [u8],
    at: usize,
    origin: O,
}

impl<'a> Cursor<'a> {
    /// Begins at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0, origin: () }
    }

    /// Begins in the middle, at an offset that is not beyond the end; offsets in errors count from the first
    /// byte.
    #[inline]
    pub fn at_offset(bytes: &'a [u8], at: usize) -> Self {
        Cursor::within(bytes, at, ())
    }

    /// Begins at byte `at`, an offset that `field` of the same file points to.
    #[inline]
    pub fn pointed(bytes: &'a [u8], field: &'static str, at: u64) -> Result<Self, DecodeError> {
        match usize::try_from(at) {
            Ok(start) if start <= bytes.len() => Ok(Cursor::at_offset(bytes, start)),
            _ => Err(DecodeError::Truncated { field, at, need: 1, have: 0 }),
        }
    }
}

impl<'a, O: Origin> Cursor<'a, O> {
    /// Begins at an offset, not beyond the end, of bytes that are part of something larger.
    #[inline]
    pub fn within(bytes: &'a [u8], at: usize, origin: O) -> Self {
        debug_assert!(at <= bytes.len());
        Cursor { bytes, at: at.min(bytes.len()), origin }
    }

    /// Offset of the next byte.
    #[inline]
    pub fn at(&self) -> u64 {
        self.at as u64
    }

    /// Offset of the next byte, as a `usize`.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The source of the bytes.
    #[inline]
    pub fn origin(&self) -> &O {
        &self.origin
    }

    /// Number of bytes not read yet.
    #[inline]
    pub fn remaining(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    #[cold]
    fn short(&self, field: &'static str, need: u64) -> O::Error {
        self.origin.error(DecodeError::Truncated { field, at: self.at(), need, have: self.remaining() })
    }

    #[cold]
    fn refused(&self, field: &'static str, at: u64, got: i128, allowed: &'static str) -> O::Error {
        self.origin.error(DecodeError::Value { field, at, got, allowed })
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], O::Error> {
        let Some(word) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.short(field, N as u64));
        };
        self.at += N;
        Ok(*word)
    }

    /// Skips exactly these bytes, or reports where they differ.
    pub fn magic(&mut self, field: &'static str, expected: &[u8]) -> Result<(), O::Error> {
        let rest = &self.bytes[self.at..];
        if let Some(i) = rest.iter().zip(expected).position(|(a, b)| a != b) {
            return Err(self.origin.error(DecodeError::Magic { field, at: self.at() + i as u64 }));
        }
        if rest.len() < expected.len() {
            return Err(self.short(field, expected.len() as u64));
        }
        self.at += expected.len();
        Ok(())
    }

    /// Skips `len` bytes. Returns their range.
    #[inline]
    pub fn take(&mut self, field: &'static str, len: u64) -> Result<Range<usize>, O::Error> {
        if len > self.remaining() {
            return Err(self.short(field, len));
        }
        let start = self.at;
        self.at += len as usize; // not more than `remaining`, which came from a usize
        Ok(start..self.at)
    }

    /// The next `len` bytes.
    #[inline]
    pub fn slice(&mut self, field: &'static str, len: u64) -> Result<&'a [u8], O::Error> {
        let range = self.take(field, len)?;
        Ok(&self.bytes[range])
    }

    /// The bytes after a big-endian u16 that counts them: a partition key, a Java string.
    #[inline]
    pub fn slice_u16_be(&mut self, field: &'static str) -> Result<&'a [u8], O::Error> {
        let len = self.u16_be(field)?;
        self.slice(field, len.into())
    }

    /// A cursor over the next `len` bytes, which are skipped here. Offsets count from the same beginning.
    #[inline]
    pub fn part(&mut self, field: &'static str, len: u64) -> Result<Self, O::Error> {
        let range = self.take(field, len)?;
        Ok(Cursor { bytes: &self.bytes[..range.end], at: range.start, origin: self.origin.clone() })
    }

    /// The filter must end here.
    pub fn finish(self) -> Result<(), O::Error> {
        match self.remaining() {
            0 => Ok(()),
            extra => Err(self.origin.error(DecodeError::Trailing { at: self.at(), extra })),
        }
    }
}

/// Methods that read one number of a fixed size.
macro_rules! fixed {
    ($($name:ident: $type:ty, $from:ident;)*) => {
        impl<O: Origin> Cursor<'_, O> {
            $(
                #[doc = concat!("One `", stringify!($type), "`.")]
                #[inline]
                pub fn $name(&mut self, field: &'static str) -> Result<$type, O::Error> {
                    self.array(field).map(<$type>::$from)
                }
            )*
        }
    };
}

fixed! {
    u8: u8, from_le_bytes;
    u16_le: u16, from_le_bytes;
    u32_le: u32, from_le_bytes;
    u64_le: u64, from_le_bytes;
    f64_le: f64, from_le_bytes;
    u16_be: u16, from_be_bytes;
    u32_be: u32, from_be_bytes;
    i32_be: i32, from_be_bytes;
    i64_be: i64, from_be_bytes;
    f64_be: f64, from_be_bytes;
}

const NOT_NEGATIVE: &str = "0..=2^63 - 1";

impl<O: Origin> Cursor<'_, O> {
    /// A Java `int` that must not be negative.
    #[inline]
    pub fn count_be(&mut self, field: &'static str) -> Result<u32, O::Error> {
        let at = self.at();
        let value = self.i32_be(field)?;
        u32::try_from(value).map_err(|_| self.refused(field, at, value.into(), "0..=2147483647"))
    }

    /// A Java `long` that must not be negative.
    #[inline]
    pub fn long_count_be(&mut self, field: &'static str) -> Result<u64, O::Error> {
        let at = self.at();
        let value = self.i64_be(field)?;
        u64::try_from(value).map_err(|_| self.refused(field, at, value.into(), NOT_NEGATIVE))
    }

    /// Cassandra's unsigned vint: the leading ones of the first byte count the further bytes; highest bits
    /// first.
    #[inline]
    pub fn vint(&mut self, field: &'static str) -> Result<u64, O::Error> {
        let Some((&first, rest)) = self.bytes[self.at..].split_first() else {
            return Err(self.short(field, 1));
        };
        let extra = first.leading_ones();
        let Some(rest) = rest.get(..extra as usize) else {
            return Err(self.short(field, u64::from(extra) + 1));
        };
        let mut value = u64::from(first) & (0x7f >> extra);
        for &byte in rest {
            value = value << 8 | u64::from(byte);
        }
        self.at += 1 + rest.len();
        Ok(value)
    }

    /// Cassandra's unsigned vint for a position in a file: a Java `long`, so below 2^63.
    #[inline]
    pub fn vint_position(&mut self, field: &'static str) -> Result<u64, O::Error> {
        let at = self.at();
        let value = self.vint(field)?;
        match i64::try_from(value) {
            Ok(_) => Ok(value),
            Err(_) => Err(self.refused(field, at, (value as i64).into(), NOT_NEGATIVE)),
        }
    }

    /// A varint of at most ten bytes; the tenth may hold only the topmost bit.
    #[inline]
    pub fn varint64(&mut self, field: &'static str) -> Result<u64, O::Error> {
        // Nearly all are one byte: the lengths of keys and of shared prefixes.
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_varint64(field),
        }
    }

    fn long_varint64(&mut self, field: &'static str) -> Result<u64, O::Error> {
        let rest = &self.bytes[self.at..];
        let mut value = 0u64;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            if i == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        match rest.len() {
            have if have < 10 => Err(self.short(field, have as u64 + 1)),
            _ => Err(self.refused(field, self.at(), u64::MAX.into(), "a varint of 64 bits")),
        }
    }

    /// A varint below 2^32.
    #[inline]
    pub fn varint32(&mut self, field: &'static str) -> Result<u32, O::Error> {
        let at = self.at();
        let value = self.varint64(field)?;
        u32::try_from(value).map_err(|_| self.refused(field, at, value.into(), "a varint of 32 bits"))
    }

    /// A varint whose lowest bit is the sign.
    #[inline]
    pub fn zigzag64(&mut self, field: &'static str) -> Result<i64, O::Error> {
        let value = self.varint64(field)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A varint of at most five bytes in its shortest form, for formats where one filter has one encoding.
    /// `allowed` describes in words what the caller accepts.
    pub fn shortest_varint(&mut self, field: &'static str, allowed: &'static str) -> Result<u64, O::Error> {
        let mut value = 0u64;
        for i in 0..5 {
            let Some(&byte) = self.bytes.get(self.at + i) else {
                return Err(self.short(field, i as u64 + 1));
            };
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte == 0 && i > 0 {
                break;
            }
            if byte < 0x80 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        Err(self.refused(field, self.at(), value.into(), allowed))
    }
}

/// Appends a varint in its shortest form.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a varint whose lowest bit is the sign.
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

#[cfg(test)]
mod tests;
