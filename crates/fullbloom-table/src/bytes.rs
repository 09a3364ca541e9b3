//! Reading fields from a block, and writing them: varints, little-endian words, length-prefixed strings.

use crate::error::{At, Problem};

/// Reads fields from the front of a block and remembers where it stands, so that errors can say it.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
    block: u64,
}

impl<'a> Cursor<'a> {
    /// A cursor over the plain contents of the block at byte `block` of the file.
    pub(crate) fn new(bytes: &'a [u8], block: u64) -> Cursor<'a> {
        Cursor { bytes, offset: 0, block }
    }

    /// The same, standing at `offset`, which must not lie behind the end.
    pub(crate) fn at_offset(bytes: &'a [u8], block: u64, offset: usize) -> Cursor<'a> {
        debug_assert!(offset <= bytes.len());
        Cursor { bytes, offset, block }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn at(&self) -> At {
        At::inside(self.block, self.offset)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    fn short(&self, field: &'static str, need: u64) -> Problem {
        Problem::Truncated { field, at: self.at(), need, have: self.rest().len() as u64 }
    }

    #[inline]
    pub(crate) fn take(&mut self, field: &'static str, len: u64) -> Result<&'a [u8], Problem> {
        let rest = self.rest();
        if len > rest.len() as u64 {
            return Err(self.short(field, len));
        }
        self.offset += len as usize; // not more than `rest.len()`, a usize
        Ok(&rest[..len as usize])
    }

    /// A cursor over the next `len` bytes, which are passed over here.
    pub(crate) fn part(&mut self, field: &'static str, len: u64) -> Result<Cursor<'a>, Problem> {
        let offset = self.offset;
        self.take(field, len)?;
        Ok(Cursor { bytes: &self.bytes[..self.offset], offset, block: self.block })
    }

    /// A varint of at most ten bytes; the tenth may only carry the topmost bit.
    #[inline]
    pub(crate) fn varint64(&mut self, field: &'static str) -> Result<u64, Problem> {
        // Nearly all are one byte: lengths of keys, and of what they share.
        match self.bytes.get(self.offset) {
            Some(&byte) if byte < 0x80 => {
                self.offset += 1;
                Ok(byte.into())
            }
            _ => self.long_varint64(field),
        }
    }

    fn long_varint64(&mut self, field: &'static str) -> Result<u64, Problem> {
        let rest = self.rest();
        let mut value = 0u64;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            if i == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.offset += i + 1;
                return Ok(value);
            }
        }
        match rest.len() {
            have if have < 10 => Err(self.short(field, have as u64 + 1)),
            _ => Err(Problem::Value { field, at: self.at(), got: u64::MAX, allowed: "a varint of 64 bits" }),
        }
    }

    #[inline]
    pub(crate) fn varint32(&mut self, field: &'static str) -> Result<u32, Problem> {
        let at = self.at();
        let value = self.varint64(field)?;
        u32::try_from(value).map_err(|_| Problem::Value {
            field,
            at,
            got: value,
            allowed: "a varint of 32 bits",
        })
    }

    /// A signed number whose sign sits in the lowest bit.
    pub(crate) fn zigzag64(&mut self, field: &'static str) -> Result<i64, Problem> {
        let value = self.varint64(field)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number whose sign sits in the lowest bit.
pub(crate) fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// The little-endian word at `offset`; the caller knows that it is there.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

/// The little-endian word at `offset`; the caller knows that it is there.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back_and_take_the_fewest_bytes() {
        for (value, len) in [(0, 1), (127, 1), (128, 2), (u64::from(u32::MAX), 5), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len(), len);
            let mut cursor = Cursor::new(&bytes, 0);
            assert_eq!(cursor.varint64("x").unwrap(), value);
            assert_eq!(cursor.offset(), bytes.len());
        }
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_zigzag(&mut bytes, value);
            assert_eq!(Cursor::new(&bytes, 0).zigzag64("x").unwrap(), value);
        }
    }

    #[test]
    fn a_varint_that_never_ends_or_overflows_is_refused_where_it_begins() {
        let endless = [0xff; 12];
        let error = Cursor::at_offset(&endless, 100, 1).varint64("size").unwrap_err();
        assert!(error.to_string().starts_with("size at byte 1 of the block at byte 100"), "{error}");
        let error = Cursor::new(&[0x80, 0x80], 7).varint64("size").unwrap_err();
        assert_eq!(error.to_string(), "size at byte 0 of the block at byte 7: needs 3 bytes, 2 are there");
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x10], 0).varint32("size").is_err());
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f], 0).varint32("size").unwrap(), u32::MAX);
    }

    #[test]
    fn taking_more_than_is_there_consumes_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3], 0);
        assert!(cursor.take("value", u64::MAX).is_err());
        assert_eq!(cursor.take("value", 3).unwrap(), [1, 2, 3]);
    }
}
