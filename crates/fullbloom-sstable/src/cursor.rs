//! Reading big-endian fields from the front of a slice; nothing is believed before it is known to be there.

use fullbloom::DecodeError;

/// Stands at a byte of a component and reads fields from there on.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Stands at byte `at`, which a field of the file points to.
    pub(crate) fn pointed(bytes: &'a [u8], field: &'static str, at: u64) -> Result<Self, DecodeError> {
        match usize::try_from(at) {
            Ok(at) if at <= bytes.len() => Ok(Cursor { bytes, at }),
            _ => Err(DecodeError::Truncated { field, at, need: 1, have: 0 }),
        }
    }

    /// Offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Bytes not read yet.
    pub(crate) fn remaining(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    fn short(&self, field: &'static str, need: u64) -> DecodeError {
        DecodeError::Truncated { field, at: self.at(), need, have: self.remaining() }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let Some(word) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.short(field, N as u64));
        };
        self.at += N;
        Ok(*word)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn f64(&mut self, field: &'static str) -> Result<f64, DecodeError> {
        self.array(field).map(f64::from_be_bytes)
    }

    /// A Java `int` that must not be negative.
    pub(crate) fn count(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        let at = self.at();
        let value = self.array(field).map(i32::from_be_bytes)?;
        let allowed = "0..=2147483647";
        u32::try_from(value).map_err(|_| DecodeError::Value { field, at, got: value.into(), allowed })
    }

    /// A Java `long` that must not be negative.
    pub(crate) fn long_count(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let at = self.at();
        let value = self.array(field).map(i64::from_be_bytes)?;
        u64::try_from(value).map_err(|_| negative(field, at, value))
    }

    /// An unsigned vint: as many further bytes as the first has leading ones, most significant bits first.
    pub(crate) fn vint(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let first = self.u8(field)?;
        let extra = first.leading_ones();
        let (mut value, rest) = (u64::from(first) & (0x7f >> extra), &self.bytes[self.at..]);
        let Some(rest) = rest.get(..extra as usize) else {
            self.at -= 1;
            return Err(self.short(field, u64::from(extra) + 1));
        };
        for &byte in rest {
            value = value << 8 | u64::from(byte);
        }
        self.at += rest.len();
        Ok(value)
    }

    /// An unsigned vint that holds a position in a file: Java's `long`, so below 2^63.
    pub(crate) fn vint_position(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let at = self.at();
        let value = self.vint(field)?;
        if value > i64::MAX as u64 {
            return Err(negative(field, at, value as i64));
        }
        Ok(value)
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, field: &'static str, len: u64) -> Result<&'a [u8], DecodeError> {
        if len > self.remaining() {
            return Err(self.short(field, len));
        }
        let start = self.at;
        self.at += len as usize; // not more than `remaining`, which came from a usize
        Ok(&self.bytes[start..self.at])
    }

    /// Bytes behind a u16 of their length: a partition key, a Java string.
    pub(crate) fn with_short_len(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.u16(field)?;
        self.take(field, len.into())
    }
}

fn negative(field: &'static str, at: u64, got: i64) -> DecodeError {
    DecodeError::Value { field, at, got: got.into(), allowed: "0..=2^63 - 1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vints_of_every_length_are_read_and_cut_ones_are_not() {
        let cases: [(&[u8], u64); 6] = [
            (&[0], 0),
            (&[0x7f], 127),
            (&[0x80, 0x80], 128),
            (&[0xc1, 0x06, 0x6e], 0x1066e),
            (&[0xfe, 1, 2, 3, 4, 5, 6, 7], 0x01_0203_0405_0607),
            (&[0xff; 9], u64::MAX),
        ];
        for (bytes, value) in cases {
            assert_eq!(Cursor::new(bytes).vint("v"), Ok(value), "{bytes:x?}");
            for cut in 0..bytes.len() {
                let mut cursor = Cursor::new(&bytes[..cut]);
                assert!(cursor.vint("v").is_err(), "{bytes:x?}");
                assert_eq!(cursor.at(), 0);
            }
        }
        assert!(Cursor::new(&[0xff; 9]).vint_position("p").is_err());
    }

    #[test]
    fn pointers_past_the_end_are_refused_and_one_to_the_end_is_empty() {
        assert!(Cursor::pointed(&[1, 2], "root", 3).is_err());
        assert!(Cursor::pointed(&[1, 2], "root", u64::MAX).is_err());
        assert_eq!(Cursor::pointed(&[1, 2], "root", 2).unwrap().remaining(), 0);
    }
}
