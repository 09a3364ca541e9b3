//! The properties of a table: RocksDB reads when it opens or ingests it.

use super::index::WrittenIndex;
use super::options::{IndexLayout, WriterOptions};
use crate::block_builder::BlockBuilder;
use crate::bytes::put_varint;
use crate::compression::Compression;
use crate::filter::build::Layout;
use crate::internal_key::{InternalKey, ValueType};
use std::collections::BTreeMap;

/// Counts kept while a table is written.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) entries: u64,
    pub(super) data_blocks: u64,
    pub(super) data_len: u64,
    pub(super) filter_entries: u64,
    pub(super) filter_len: u64,
    deletions: u64,
    merges: u64,
    range_deletions: u64,
    key_bytes: u64,
    value_bytes: u64,
    largest_sequence: u64,
}

impl Summary {
    pub(super) fn entry(&mut self, key: &InternalKey<'_>, key_len: usize, value_len: usize) {
        self.entries += 1;
        self.key_bytes += key_len as u64;
        self.value_bytes += value_len as u64;
        self.deletions += u64::from(key.value_type.is_delete());
        self.merges += u64::from(key.value_type == ValueType::MERGE);
        self.largest_sequence = self.largest_sequence.max(key.sequence);
    }

    /// RocksDB counts a deletion of a range as an entry and as a deletion.
    pub(super) fn range_deletion(&mut self, key_len: usize, end_len: usize) {
        self.entries += 1;
        self.deletions += 1;
        self.range_deletions += 1;
        self.key_bytes += key_len as u64;
        self.value_bytes += end_len as u64;
    }

    /// The properties block: one run of sorted names without restarts in it.
    ///
    /// `external_sst_file.*` allow `IngestExternalFile`; RocksDB fills in the sequence number there.
    pub(super) fn encode(&self, options: &WriterOptions, index: &WrittenIndex) -> Vec<u8> {
        let number = |n: u64| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, n);
            bytes
        };
        let flag = |on: bool| if on { b"1".to_vec() } else { b"0".to_vec() };
        let filter = options.filter.as_ref();
        let prefixes = filter.and_then(|filter| filter.holds.prefixes.as_ref());
        let kind: u32 = match options.index {
            IndexLayout::Binary => 0,
            IndexLayout::TwoLevel { .. } => 2,
            IndexLayout::FirstKey => 3,
        };
        let mut all: BTreeMap<&str, Vec<u8>> = BTreeMap::from([
            ("rocksdb.block.based.table.index.type", kind.to_le_bytes().to_vec()),
            ("rocksdb.block.based.table.prefix.filtering", flag(prefixes.is_some())),
            (
                "rocksdb.block.based.table.whole.key.filtering",
                flag(filter.is_none_or(|filter| filter.holds.whole_keys)),
            ),
            ("rocksdb.column.family.id", number(i32::MAX as u64)),
            ("rocksdb.comparator", b"leveldb.BytewiseComparator".to_vec()),
            ("rocksdb.compression", compression_name(options.compression).as_bytes().to_vec()),
            ("rocksdb.data.size", number(self.data_len)),
            ("rocksdb.deleted.keys", number(self.deletions)),
            ("rocksdb.external_sst_file.global_seqno", 0u64.to_le_bytes().to_vec()),
            ("rocksdb.external_sst_file.version", 2u32.to_le_bytes().to_vec()),
            ("rocksdb.filter.size", number(self.filter_len)),
            ("rocksdb.fixed.key.length", number(0)),
            ("rocksdb.format.version", number(options.format.version().into())),
            ("rocksdb.index.key.is.user.key", number(index.user_keys.into())),
            ("rocksdb.index.size", number(index.len)),
            ("rocksdb.index.value.is.delta.encoded", number(options.delta_values().into())),
            ("rocksdb.key.largest.seqno", number(self.largest_sequence)),
            ("rocksdb.merge.operands", number(self.merges)),
            ("rocksdb.merge.operator", b"nullptr".to_vec()),
            ("rocksdb.num.data.blocks", number(self.data_blocks)),
            ("rocksdb.num.entries", number(self.entries)),
            ("rocksdb.num.filter_entries", number(self.filter_entries)),
            ("rocksdb.num.range-deletions", number(self.range_deletions)),
            (
                "rocksdb.prefix.extractor.name",
                prefixes.map_or("nullptr".to_owned(), |extractor| extractor.name()).into_bytes(),
            ),
            ("rocksdb.property.collectors", b"[]".to_vec()),
            ("rocksdb.raw.key.size", number(self.key_bytes)),
            ("rocksdb.raw.value.size", number(self.value_bytes)),
            ("rocksdb.tail.start.offset", number(self.data_len)),
        ]);
        if let Some(filter) = filter {
            all.insert("rocksdb.filter.policy", filter.policy.property_name().as_bytes().to_vec());
            if matches!(filter.layout, Layout::Partitioned(partitioning) if !partitioning.with_index) {
                all.insert("rocksdb.block.based.table.decoupled.partitioned.filters", flag(true));
            }
        }
        if matches!(options.index, IndexLayout::TwoLevel { .. }) {
            all.insert("rocksdb.index.partitions", number(index.partitions));
            all.insert("rocksdb.top-level.index.size", number(index.top_len));
        }
        let mut block = BlockBuilder::new(i32::MAX as u32);
        for (name, value) in &all {
            block.add(name.as_bytes(), value);
        }
        block.finish()
    }
}

fn compression_name(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "NoCompression",
        Compression::Snappy => "Snappy",
        Compression::Zlib => "Zlib",
        Compression::Bzip2 => "BZip2",
        Compression::Lz4 => "LZ4",
        Compression::Lz4hc => "LZ4HC",
        Compression::Zstd => "ZSTD",
    }
}
