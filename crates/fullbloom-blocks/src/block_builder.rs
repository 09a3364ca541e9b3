//! Makes blocks of sorted entries, byte for byte as the engines' block builders do.

use crate::block::IndexFormat;
use crate::bytes::{put_varint, put_zigzag};
use crate::handle::Handle;
use alloc::vec;
use alloc::vec::Vec;

/// Collects the entries of one block.
#[derive(Debug)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: u32,
    since_restart: u32,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// An empty block with a restart at every `restart_interval`-th entry; 0 counts as 1.
    pub fn new(restart_interval: u32) -> BlockBuilder {
        BlockBuilder {
            bytes: Vec::new(),
            restarts: vec![0],
            restart_interval: restart_interval.max(1),
            since_restart: 0,
            last_key: Vec::new(),
        }
    }

    /// Appends an entry. Keys must come in order; this is not checked here.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = self.next_key(key);
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (key.len() - shared) as u64);
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
    }

    /// The length of the prefix shared with the key before; records a restart where one is due.
    fn next_key(&mut self, key: &[u8]) -> usize {
        let shared = if self.since_restart >= self.restart_interval {
            self.restarts.push(self.bytes.len() as u32);
            self.since_restart = 0;
            0
        } else {
            self.last_key.iter().zip(key).take_while(|(a, b)| a == b).count()
        };
        self.since_restart += 1;
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        shared
    }

    /// Whether no entry was added since the last [`finish`](BlockBuilder::finish).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The length the block would have if it were finished now.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    /// RocksDB's guess of the length after one more entry: it counts the whole key, and half of the value
    /// when handles are delta-coded.
    #[inline]
    pub fn guess_with(&self, key_len: usize, value_len: usize, delta_values: bool) -> usize {
        let varint_len = |n: usize| (1 + (n.max(1).ilog2() / 7)) as usize;
        let restart = self.since_restart >= self.restart_interval;
        let value = if !delta_values || restart { value_len } else { value_len / 2 };
        let value_header = if !delta_values || restart { varint_len(value_len) } else { 0 };
        let new_restart = if restart { 4 } else { 0 };
        self.len() + key_len + value + new_restart + 4 + varint_len(key_len) + value_header
    }

    /// The block; the builder is empty again.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut block = core::mem::take(&mut self.bytes);
        for restart in &self.restarts {
            block.extend_from_slice(&restart.to_le_bytes());
        }
        block.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.restarts = vec![0];
        self.since_restart = 0;
        self.last_key.clear();
        block
    }
}

/// Collects the entries of an index block: of the index, of a partition of it, or of a partitioned filter's
/// top level.
#[derive(Debug)]
pub struct IndexBlockBuilder {
    block: BlockBuilder,
    format: IndexFormat,
    last: Option<Handle>,
}

impl IndexBlockBuilder {
    /// An empty index block.
    pub fn new(restart_interval: u32, format: IndexFormat) -> IndexBlockBuilder {
        IndexBlockBuilder { block: BlockBuilder::new(restart_interval), format, last: None }
    }

    /// Appends an entry. With delta-coded values the blocks must follow each other in the file, each with its
    /// trailer. `first_key` is left out unless the format has first keys.
    pub fn add(&mut self, key: &[u8], handle: Handle, first_key: &[u8]) {
        let mut value = Vec::with_capacity(24);
        if !self.format.delta_values {
            handle.encode(&mut value);
            self.put_first_key(&mut value, first_key);
            self.block.add(key, &value);
            return;
        }
        let shared = self.block.next_key(key);
        match self.last {
            // A reader distinguishes the two forms by whether part of the key is shared.
            Some(last) if shared != 0 => put_zigzag(&mut value, handle.size.wrapping_sub(last.size) as i64),
            _ => handle.encode(&mut value),
        }
        self.put_first_key(&mut value, first_key);
        let bytes = &mut self.block.bytes;
        put_varint(bytes, shared as u64);
        put_varint(bytes, (key.len() - shared) as u64);
        bytes.extend_from_slice(&key[shared..]);
        bytes.extend_from_slice(&value);
        self.last = Some(handle);
    }

    fn put_first_key(&self, value: &mut Vec<u8>, first_key: &[u8]) {
        if self.format.first_keys {
            put_varint(value, first_key.len() as u64);
            value.extend_from_slice(first_key);
        }
    }

    /// Whether no entry was added since the last [`finish`](IndexBlockBuilder::finish).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// The length the block would have if it were finished now.
    #[inline]
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// RocksDB's guess of the length after one more entry.
    #[inline]
    pub fn guess_with(&self, key_len: usize, value_len: usize) -> usize {
        self.block.guess_with(key_len, value_len, self.format.delta_values)
    }

    /// The block; the builder is empty again.
    pub fn finish(&mut self) -> Vec<u8> {
        self.last = None;
        self.block.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::handle::TRAILER_LEN;

    fn keys() -> Vec<Vec<u8>> {
        (0..100u32).map(|i| format!("key{:05}", i * i).into_bytes()).collect()
    }

    #[test]
    fn entries_come_back_at_every_restart_interval() {
        for interval in [0, 1, 3, 16, 1000] {
            let mut builder = BlockBuilder::new(interval);
            for key in keys() {
                builder.add(&key, &key[..2]);
            }
            let promised = builder.len();
            let bytes = builder.finish();
            assert_eq!(bytes.len(), promised);
            assert!(builder.is_empty());
            let block = Block::new(&bytes, 0).unwrap();
            let mut walk = block.entries();
            for key in keys() {
                assert!(walk.advance().unwrap());
                assert_eq!((walk.key(), walk.value()), (&key[..], &key[..2]));
                let found = block.seek(|other| other.cmp(&key)).unwrap().unwrap();
                assert_eq!(found.key(), key);
            }
            assert!(!walk.advance().unwrap());
        }
    }

    #[test]
    fn index_entries_come_back_in_every_format() {
        for delta_values in [false, true] {
            for first_keys in [false, true] {
                let format = IndexFormat { delta_values, first_keys };
                for interval in [1, 2, 16] {
                    let mut builder = IndexBlockBuilder::new(interval, format);
                    let mut handle = Handle { offset: 7, size: 1000 };
                    let mut expected = Vec::new();
                    for (i, key) in keys().into_iter().enumerate() {
                        builder.add(&key, handle, &key[1..]);
                        expected.push((key, handle));
                        let offset = handle.offset + handle.size + TRAILER_LEN;
                        handle = Handle { offset, size: 900 + (i as u64 * 37) % 300 };
                    }
                    let bytes = builder.finish();
                    let block = Block::new(&bytes, 0).unwrap();
                    let mut walk = block.index_entries(format);
                    for (key, handle) in &expected {
                        assert!(walk.advance().unwrap());
                        assert_eq!((walk.key(), walk.handle()), (&key[..], *handle));
                        assert_eq!(walk.first_key(), first_keys.then_some(&key[1..]));
                        let found = block.seek_index(format, |other| other.cmp(key)).unwrap().unwrap();
                        assert_eq!(found.handle(), *handle);
                    }
                    assert!(!walk.advance().unwrap());
                    assert_eq!(block.last_index_entry(format).unwrap(), expected.last().map(|(_, h)| *h));
                }
            }
        }
    }
}
