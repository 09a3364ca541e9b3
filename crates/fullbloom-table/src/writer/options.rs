//! Options for writing a table.

use crate::checksum::Checksum;
use crate::compression::Compression;
use crate::error::Problem;
use crate::filter::Policy;
use crate::filter::build::{FilterOptions, Layout, Rules};
use crate::separator::Shortening;
use fullbloom_dialects::Name;

/// The engine to write tables for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The format of LevelDB's tables.
    LevelDb,
    /// RocksDB's, with this `format_version`, 0 to 6.
    RocksDb {
        /// 5 is read by RocksDB 6.6 and later; 6, whose checksums cover the position of each block, by 8.6
        /// and later.
        version: u32,
    },
}

impl Format {
    pub(crate) fn version(self) -> u32 {
        match self {
            Format::LevelDb => 0,
            Format::RocksDb { version } => version,
        }
    }
}

/// How the index is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexLayout {
    /// One index block.
    #[default]
    Binary,
    /// One block, with the first key of each data block in it.
    FirstKey,
    /// Partitions of about this many bytes, and an index over them. A partitioned filter needs it.
    TwoLevel {
        /// The size that ends a partition: RocksDB's `metadata_block_size`.
        target: u64,
    },
}

/// Options for writing a table. The defaults are RocksDB's, `format_version` 5.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// The engine and its format.
    pub format: Format,
    /// The size of a data block before compression.
    pub block_size: u64,
    /// The percentage by which it may be smaller.
    pub deviation: u32,
    /// Keys between restarts in data blocks.
    pub restart_interval: u32,
    /// Keys between restarts in index blocks.
    pub index_restart_interval: u32,
    /// The compression of data and index blocks.
    pub compression: Compression,
    /// The checksum of blocks; LevelDB and version 0 always use CRC-32C.
    pub checksum: Checksum,
    /// How the index is laid out.
    pub index: IndexLayout,
    /// The filter, if any.
    pub filter: Option<FilterOptions>,
    /// Keys are written without sequence number and type, as by LevelDB's table builder when it is used
    /// without a database. LevelDB only.
    pub plain_keys: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        let policy = Policy::new(Name::RocksDb, 10.0).expect("ten bits per key are allowed");
        WriterOptions {
            format: Format::RocksDb { version: 5 },
            block_size: 4096,
            deviation: 10,
            restart_interval: 16,
            index_restart_interval: 1,
            compression: Compression::None,
            checksum: Checksum::Xxh3,
            index: IndexLayout::Binary,
            filter: Some(FilterOptions::new(policy)),
            plain_keys: false,
        }
    }
}

impl WriterOptions {
    /// LevelDB's defaults, with a per-block filter of ten bits per key.
    pub fn leveldb() -> WriterOptions {
        let policy = Policy::new(Name::LevelDb, 10.0).expect("ten bits per key are allowed");
        WriterOptions {
            format: Format::LevelDb,
            filter: Some(FilterOptions::new(policy)),
            compression: Compression::Snappy,
            checksum: Checksum::Crc32c,
            ..WriterOptions::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        let refuse = |why| Err(Problem::Input { why });
        let partitioned = match self.filter.as_ref().map(|filter| filter.layout) {
            Some(Layout::Partitioned(partitioning)) => Some(partitioning),
            _ => None,
        };
        if self.format.version() > 6 {
            return refuse("tables are written with format_version 0 to 6");
        }
        if partitioned.is_some() && !matches!(self.index, IndexLayout::TwoLevel { .. }) {
            return refuse("a partitioned filter needs a two-level index");
        }
        if self.format != Format::LevelDb {
            return match &self.filter {
                Some(filter) if filter.policy.dialect() == Name::LevelDb => {
                    refuse("RocksDB does not use filters of the leveldb dialect")
                }
                _ if self.plain_keys => refuse("RocksDB's tables hold internal keys"),
                _ => Ok(()),
            };
        }
        let per_block = self.filter.as_ref().is_none_or(|filter| filter.policy.dialect() == Name::LevelDb);
        if !per_block || self.index != IndexLayout::Binary {
            return refuse("LevelDB has a plain index and filters of the leveldb dialect");
        }
        if !matches!(self.compression, Compression::None | Compression::Snappy) {
            return refuse("LevelDB compresses with snappy or not at all");
        }
        Ok(())
    }

    pub(super) fn checksum(&self) -> Checksum {
        if self.format.version() == 0 { Checksum::Crc32c } else { self.checksum }
    }

    /// Handles in index blocks are delta-coded from version 4 on.
    pub(super) fn delta_values(&self) -> bool {
        self.format.version() >= 4
    }

    pub(super) fn shortening(&self) -> Shortening {
        let old = self.filter.as_ref().is_some_and(|filter| filter.rules != Rules::Since9_6);
        match self.format {
            Format::LevelDb if self.plain_keys => Shortening::LevelDbPlain,
            Format::LevelDb => Shortening::LevelDb,
            Format::RocksDb { .. } => Shortening::RocksDb { seek_kind: if old { 0x16 } else { 0x18 } },
        }
    }
}

/// Whether to close a block of `len` bytes before an entry that would grow it to about `guess`.
pub(super) fn block_is_full(len: u64, guess: u64, size: u64, deviation: u32) -> bool {
    let nearly = size.saturating_mul(100u32.saturating_sub(deviation).into()).div_ceil(100);
    len >= size || nearly > 0 && deviation > 0 && guess > size && len > nearly
}
