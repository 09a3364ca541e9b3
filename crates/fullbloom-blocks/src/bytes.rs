//! Reads the fields of a block through the workspace's cursor, whose errors become [`BlockError`]s that name
//! the block.

use crate::error::{At, BlockError};
use fullbloom::DecodeError;
use fullbloom_core::wire;
use fullbloom_core::wire::Origin;

pub use fullbloom_core::wire::{put_varint, put_zigzag};

/// A cursor over the plain contents of a block.
pub type Cursor<'a> = wire::Cursor<'a, InBlock>;

/// The block at this byte of the file.
#[derive(Debug, Clone, Copy)]
pub struct InBlock(u64);

impl Origin for InBlock {
    type Error = BlockError;

    fn error(&self, cause: DecodeError) -> BlockError {
        let at = |offset| At { file: self.0, inside: Some(offset) };
        match cause {
            DecodeError::Truncated { field, at: offset, need, have } => {
                BlockError::Truncated { field, at: at(offset), need, have }
            }
            DecodeError::Value { field, at: offset, got, allowed } => {
                BlockError::Value { field, at: at(offset), got, allowed }
            }
            cause => BlockError::Damaged { at: self.0, cause },
        }
    }
}

/// A cursor over the plain contents of the block at byte `block` of the file.
#[inline]
pub fn cursor(bytes: &[u8], block: u64) -> Cursor<'_> {
    cursor_at(bytes, block, 0)
}

/// The same, at `offset`, which must not be beyond the end.
#[inline]
pub fn cursor_at(bytes: &[u8], block: u64, offset: usize) -> Cursor<'_> {
    Cursor::within(bytes, offset, InBlock(block))
}

/// Where the next byte of the cursor is.
#[inline]
pub fn place(cursor: &Cursor<'_>) -> At {
    At::inside(cursor.origin().0, cursor.offset())
}

/// The little-endian word at `offset`; the caller has checked that it exists.
#[inline]
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

/// The little-endian word at `offset`; the caller has checked that it exists.
#[inline]
pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_block_and_the_byte_in_it() {
        let error = cursor_at(&[0xff; 12], 100, 1).varint64("size").unwrap_err();
        assert!(error.to_string().starts_with("size at byte 1 of the block at byte 100"), "{error}");
        let error = cursor(&[0x80, 0x80], 7).varint64("size").unwrap_err();
        assert_eq!(error.to_string(), "size at byte 0 of the block at byte 7: needs 3 bytes, 2 are there");
        let error = cursor(&[1], 7).magic("magic", &[2]).unwrap_err();
        assert_eq!(error.to_string(), "block at byte 7: magic: byte 0 is not what the format requires");
    }
}
