//! An in-memory table: entries sorted by key, written out as a table.
//!
//! [`Tables`](crate::Tables) reads it before all table files. An engine with its own memory table looks there
//! first and needs only the files.

use crate::error::TableError;
use crate::writer::{TableWriter, WriterOptions, Written};
use std::collections::BTreeMap;
use std::io::Write;

/// Keys in memory, each with its value or a deletion mark.
#[derive(Debug, Clone, Default)]
pub struct MemTable {
    entries: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: u64,
}

impl MemTable {
    /// Sets a key.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.set(key, Some(value.to_vec()));
    }

    /// Marks a key as deleted, so that older tables do not bring it back.
    pub fn delete(&mut self, key: &[u8]) {
        self.set(key, None);
    }

    fn set(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        let value_len = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, |value| value.len() as u64);
        self.bytes += value_len(&value);
        match self.entries.get_mut(key) {
            Some(slot) => {
                self.bytes -= value_len(slot);
                *slot = value;
            }
            None => {
                self.bytes += key.len() as u64;
                self.entries.insert(key.to_vec(), value);
            }
        }
    }

    /// The state of a key: unknown (`None`), deleted (`Some(None)`), or its value.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.entries.get(key).map(Option::as_deref)
    }

    /// Number of keys, deleted ones included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of keys and values.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes a table of all entries.
    pub fn write_to<W: Write>(&self, out: W, options: WriterOptions) -> Result<Written<W>, TableError> {
        let mut writer = TableWriter::new(out, options)?;
        for (key, value) in &self.entries {
            match value {
                Some(value) => writer.put(key, value)?,
                None => writer.delete(key)?,
            }
        }
        writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_what_is_in_it() {
        let mut memory = MemTable::default();
        memory.put(b"key", b"value");
        memory.put(b"key", b"v");
        memory.delete(b"other");
        assert_eq!((memory.len(), memory.bytes()), (2, 3 + 1 + 5));
        memory.delete(b"key");
        assert_eq!(memory.bytes(), 8);
        assert_eq!(memory.get(b"key"), Some(None));
        assert_eq!(memory.get(b"none"), None);
    }
}
