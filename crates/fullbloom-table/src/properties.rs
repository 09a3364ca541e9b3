//! What the writer recorded about a table: counts, sizes, names, and the format of the index.

use crate::block::{Block, Entries};
use crate::bytes::cursor;
use crate::error::Problem;
use std::ops::Range;

/// A table's properties; all absent in LevelDB's tables.
///
/// The block is kept encoded: names in it share prefixes, so decoding all of them could take far more memory
/// than the file.
#[derive(Debug, Clone)]
pub struct Properties {
    block: Option<Block<Vec<u8>>>,
}

impl Properties {
    /// A table without properties.
    pub(crate) fn none() -> Properties {
        Properties { block: None }
    }

    /// Checks that every entry can be read.
    pub(crate) fn decode(block: Block<Vec<u8>>) -> Result<Properties, Problem> {
        let mut entries = block.entries();
        while entries.advance()? {}
        Ok(Properties { block: Some(block) })
    }

    /// Whether there are no properties.
    pub fn is_empty(&self) -> bool {
        self.block.as_ref().is_none_or(Block::is_empty)
    }

    /// Walks all of them: names as keys, in order.
    pub fn entries(&self) -> Option<Entries<&[u8]>> {
        self.block.as_ref().map(Block::entries)
    }

    fn with<T>(&self, name: &str, take: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let mut entries = self.entries()?;
        while entries.advance().ok()? {
            if entries.key() == name.as_bytes() {
                return take(entries.value());
            }
        }
        None
    }

    /// A property that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.with(name, |value| cursor(value, 0).varint64("property").ok())
    }

    /// A property that is text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.with(name, |value| Some(String::from_utf8_lossy(value).into_owned()))
    }

    /// A property that is `1` or `0`; `absent` if it does not exist.
    pub fn flag(&self, name: &str, absent: bool) -> bool {
        self.with(name, |value| Some(value == b"1")).unwrap_or(absent)
    }

    /// Whether the table was made to be ingested: all its entries have the sequence number that the MANIFEST
    /// records for it.
    pub fn is_external(&self) -> bool {
        self.with("rocksdb.external_sst_file.version", |_| Some(())).is_some()
    }

    /// Keys and deletions in the table, every version counted.
    pub fn entry_count(&self) -> Option<u64> {
        self.number("rocksdb.num.entries")
    }

    /// Whether a table with this many entries in its data blocks is complete; `None` if the number is not
    /// recorded. Deletions of ranges are stored apart: newer releases count them with the entries, older ones
    /// do not.
    pub fn is_complete(&self, entries: u64) -> Option<bool> {
        let recorded = self.entry_count()?;
        let ranges = self.number("rocksdb.num.range-deletions").unwrap_or(0);
        Some(entries == recorded || entries.checked_add(ranges) == Some(recorded))
    }

    /// Data blocks of the table.
    pub fn data_block_count(&self) -> Option<u64> {
        self.number("rocksdb.num.data.blocks")
    }

    /// Entries of the filter (RocksDB 6.21 and later).
    pub fn filter_entries(&self) -> Option<u64> {
        self.number("rocksdb.num.filter_entries")
    }

    /// The name of the filter policy; present even if the policy made no filter.
    pub fn filter_policy(&self) -> Option<String> {
        self.text("rocksdb.filter.policy")
    }

    /// The name of the prefix extractor, when there is one.
    pub fn prefix_extractor(&self) -> Option<String> {
        self.text("rocksdb.prefix.extractor.name").filter(|name| !matches!(&name[..], "" | "nullptr"))
    }

    /// The name of the comparator.
    pub fn comparator(&self) -> Option<String> {
        self.text("rocksdb.comparator")
    }

    /// Whether the filter holds whole keys. Old files do not record it, and theirs do.
    pub fn whole_key_filtering(&self) -> bool {
        self.flag("rocksdb.block.based.table.whole.key.filtering", true)
    }

    /// Whether the filter holds prefixes. Old files do not record it, and theirs do if they have an
    /// extractor.
    pub fn prefix_filtering(&self) -> bool {
        self.flag("rocksdb.block.based.table.prefix.filtering", true)
    }

    /// Whether keys in index blocks are user keys, without sequence numbers.
    pub fn index_has_user_keys(&self) -> bool {
        self.number("rocksdb.index.key.is.user.key").unwrap_or(0) != 0
    }

    /// Whether handles in index blocks are delta-coded.
    pub fn index_has_delta_values(&self) -> bool {
        self.number("rocksdb.index.value.is.delta.encoded").unwrap_or(0) != 0
    }

    /// The number of the index's type.
    pub(crate) fn index_type(&self) -> Option<u32> {
        self.with("rocksdb.block.based.table.index.type", |value| {
            value.first_chunk::<4>().map(|word| u32::from_le_bytes(*word))
        })
    }

    /// Whether user keys in the table carry their timestamps.
    pub fn timestamps_stored(&self) -> bool {
        self.number("rocksdb.user.defined.timestamps.persisted").unwrap_or(1) != 0
    }
}

/// Where the bytes of a properties block at `offset` of its file have the sequence number that an ingested table
/// gets; `None` in other tables.
pub(crate) fn place_of_sequence(bytes: &[u8], offset: u64) -> Option<Range<usize>> {
    let block = Block::new(bytes, offset).ok()?;
    let mut entries = block.entries();
    while entries.advance().ok()? {
        if entries.key() == b"rocksdb.external_sst_file.global_seqno" {
            let value = entries.value();
            let at = (value.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
            return (value.len() == 8 && at + 8 <= bytes.len()).then_some(at..at + 8);
        }
    }
    None
}
