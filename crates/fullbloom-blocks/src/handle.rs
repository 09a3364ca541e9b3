//! Block handles: where a block is in the file.

use crate::bytes::{Cursor, put_varint};
use crate::error::BlockError;
use alloc::vec::Vec;

/// Bytes after every block: one for the compression type, four for the checksum.
pub const TRAILER_LEN: u64 = 5;

/// Offset and size of a block, its trailer not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Handle {
    /// Where the block begins in the file.
    pub offset: u64,
    /// Its size as stored, without the trailer.
    pub size: u64,
}

impl Handle {
    /// Bytes after a handle in an index value are reserved for future features; the engines ignore them, and
    /// so do we.
    #[doc(hidden)]
    #[inline]
    pub fn decode(cursor: &mut Cursor<'_>) -> Result<Handle, BlockError> {
        let offset = cursor.varint64("block offset")?;
        let size = cursor.varint64("block size")?;
        Ok(Handle { offset, size })
    }

    /// Appends offset and size as varints.
    pub fn encode(self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.size);
    }

    /// The first byte after the block and its trailer; `None` when that is past `limit`.
    #[inline]
    pub fn end(self, limit: u64) -> Option<u64> {
        let end = self.offset.checked_add(self.size).and_then(|end| end.checked_add(TRAILER_LEN));
        end.filter(|&end| end <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::cursor;

    #[test]
    fn handles_that_overflow_or_pass_the_limit_are_refused() {
        let block = |offset, size| Handle { offset, size }.end(100);
        assert_eq!(block(10, 85), Some(100));
        for (offset, size) in [(10, 86), (100, 0), (u64::MAX, 0), (0, u64::MAX), (u64::MAX - 5, 1)] {
            assert!(block(offset, size).is_none(), "{offset} {size}");
        }
    }

    #[test]
    fn a_handle_comes_back() {
        let handle = Handle { offset: 300, size: u64::MAX };
        let mut bytes = Vec::new();
        handle.encode(&mut bytes);
        assert_eq!(Handle::decode(&mut cursor(&bytes, 0)).unwrap(), handle);
    }
}
