//! Walks over the entries of an index block.

use super::Block;
use super::entries::Keys;
use crate::bytes::place;
use crate::error::{At, BlockError};
use crate::handle::{Handle, TRAILER_LEN};
use core::ops::Range;

/// The encoding of an index block's entries, recorded in the table's properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexFormat {
    /// Values have no length, and after the first of a restart only the change of the block size is kept.
    pub delta_values: bool,
    /// Values are followed by the first key of their block.
    pub first_keys: bool,
}

/// A walk over the entries of an index block.
#[derive(Debug, Clone)]
pub struct IndexEntries<B> {
    pub(super) keys: Keys<B>,
    format: IndexFormat,
    handle: Handle,
    first_key: Range<usize>,
}

impl<B: AsRef<[u8]>> IndexEntries<B> {
    pub(super) fn new(block: Block<B>, format: IndexFormat) -> IndexEntries<B> {
        IndexEntries { keys: Keys::new(block, 0), format, handle: Handle::default(), first_key: 0..0 }
    }

    /// Goes to the next entry; false at the end.
    pub fn advance(&mut self) -> Result<bool, BlockError> {
        let IndexFormat { delta_values, first_keys } = self.format;
        let Some((header, mut cursor)) = self.keys.advance(!delta_values)? else { return Ok(false) };
        let mut value =
            if delta_values { cursor.clone() } else { cursor.part("value", header.value.into())? };
        if delta_values && header.shared != 0 {
            let at = place(&value);
            let change = value.zigzag64("change of the block size")?;
            let allowed = "one that gives a block inside the file";
            let refused =
                BlockError::Value { field: "change of the block size", at, got: change.into(), allowed };
            self.handle = next_handle(self.handle, change).ok_or(refused)?;
        } else {
            self.handle = Handle::decode(&mut value)?;
        }
        if first_keys {
            let len = value.varint64("first key length")?;
            self.first_key = value.take("first key", len)?;
        }
        self.keys.next = if delta_values { value.offset() } else { cursor.offset() };
        Ok(true)
    }

    /// A key not less than any in the block and less than all in the next.
    pub fn key(&self) -> &[u8] {
        self.keys.key()
    }

    /// The handle of the block that the current entry names.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The first key of the block, where the index keeps it.
    pub fn first_key(&self) -> Option<&[u8]> {
        self.format.first_keys.then(|| &self.keys.block.bytes.as_ref()[self.first_key.clone()])
    }

    /// The position of the current entry, for messages.
    pub fn at(&self) -> At {
        self.keys.at()
    }
}

/// Blocks of a delta-coded index follow each other, with a trailer between.
fn next_handle(before: Handle, change: i64) -> Option<Handle> {
    let offset = before.offset.checked_add(before.size)?.checked_add(TRAILER_LEN)?;
    Some(Handle { offset, size: before.size.checked_add_signed(change)? })
}
