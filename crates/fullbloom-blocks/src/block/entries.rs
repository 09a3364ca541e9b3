//! Walks over the entries of a block.

use super::Block;
use crate::bytes::{Cursor, cursor_at};
use crate::error::{At, BlockError};
use alloc::vec::Vec;
use core::ops::Range;

/// The numbers before a key.
pub(super) struct Header {
    pub(super) shared: u32,
    pub(super) unshared: u32,
    pub(super) value: u32,
}

impl Header {
    #[inline]
    pub(super) fn read(cursor: &mut Cursor<'_>, value_lengths: bool) -> Result<Header, BlockError> {
        let shared = cursor.varint32("shared key length")?;
        let unshared = cursor.varint32("key length")?;
        let value = if value_lengths { cursor.varint32("value length")? } else { 0 };
        Ok(Header { shared, unshared, value })
    }
}

/// The delta-coded keys that all walks share.
#[derive(Debug, Clone)]
pub(super) struct Keys<B> {
    pub(super) block: Block<B>,
    /// The offset of the next entry.
    pub(super) next: usize,
    /// The offset of the current entry.
    current: usize,
    /// The current key, if it is contiguous in the block and needs no copy.
    whole: Option<Range<usize>>,
    /// The current key, if it was assembled.
    spelled: Vec<u8>,
    /// Bytes that the current key shares with the one before.
    pub(super) shared: usize,
    /// The bytes of the key before that are not shared. Kept on request, so that comparing keys costs only
    /// the stored bytes: a file of one MiB can encode 2^36 bytes of keys.
    replaced: Option<Vec<u8>>,
}

impl<B: AsRef<[u8]>> Keys<B> {
    pub(super) fn new(block: Block<B>, next: usize) -> Keys<B> {
        Keys { block, next, current: next, whole: None, spelled: Vec::new(), shared: 0, replaced: None }
    }

    pub(super) fn key(&self) -> &[u8] {
        match &self.whole {
            Some(range) => &self.block.bytes.as_ref()[range.clone()],
            None => &self.spelled,
        }
    }

    /// Reads lengths and key of the next entry, and leaves the cursor after the key; `None` at the end.
    #[inline]
    pub(super) fn advance(
        &mut self,
        value_lengths: bool,
    ) -> Result<Option<(Header, Cursor<'_>)>, BlockError> {
        if self.next == self.block.entries_len {
            return Ok(None);
        }
        let bytes = self.block.entry_bytes();
        let mut cursor = cursor_at(bytes, self.block.at, self.next);
        let header = Header::read(&mut cursor, value_lengths)?;
        let shared = header.shared as usize;
        let before = match &self.whole {
            Some(range) => &bytes[range.clone()],
            None => &self.spelled,
        };
        if shared > before.len() {
            let at = At::inside(self.block.at, self.next);
            let allowed = "not more than the key before";
            return Err(BlockError::Value {
                field: "shared key length",
                at,
                got: header.shared.into(),
                allowed,
            });
        }
        let start = cursor.offset();
        let suffix = cursor.slice("key", header.unshared.into())?;
        if let Some(replaced) = &mut self.replaced {
            replaced.clear();
            replaced.extend_from_slice(&before[shared..]);
        }
        if shared == 0 {
            self.whole = Some(start..start + suffix.len());
        } else {
            match self.whole.take() {
                Some(range) => {
                    self.spelled.clear();
                    self.spelled.extend_from_slice(&bytes[range][..shared]);
                }
                None => self.spelled.truncate(shared),
            }
            self.spelled.extend_from_slice(suffix);
        }
        self.shared = shared;
        self.current = self.next;
        Ok(Some((header, cursor)))
    }

    pub(super) fn at(&self) -> At {
        At::inside(self.block.at, self.current)
    }
}

/// A walk over a block's entries; it starts before the first.
#[derive(Debug, Clone)]
pub struct Entries<B> {
    pub(super) keys: Keys<B>,
    pub(super) value: Range<usize>,
}

impl<B: AsRef<[u8]>> Entries<B> {
    /// Goes to the next entry; false at the end.
    pub fn advance(&mut self) -> Result<bool, BlockError> {
        let Some((header, mut cursor)) = self.keys.advance(true)? else { return Ok(false) };
        self.value = cursor.take("value", header.value.into())?;
        self.keys.next = self.value.end;
        Ok(true)
    }

    /// The key of the entry.
    pub fn key(&self) -> &[u8] {
        self.keys.key()
    }

    /// The number of leading bytes that the key shares with the one before.
    pub fn shared(&self) -> usize {
        self.keys.shared
    }

    /// Keeps, from here on, what [`replaced`](Entries::replaced) returns.
    pub fn comparing(mut self) -> Entries<B> {
        self.keys.replaced = Some(Vec::new());
        self
    }

    /// The bytes of the key before it that this key does not share.
    pub fn replaced(&self) -> &[u8] {
        self.keys.replaced.as_deref().unwrap_or_default()
    }

    /// The value of the entry.
    pub fn value(&self) -> &[u8] {
        &self.keys.block.bytes.as_ref()[self.value.clone()]
    }

    /// The position of the current entry, for messages.
    pub fn at(&self) -> At {
        self.keys.at()
    }
}
