//! The dialects: one system's sizing rule, key hash, probe plan and byte format each, quirks included.
//!
//! | name | system | type |
//! |---|---|---|
//! | `cassandra` | Cassandra 4.0 – 5.x (sstable versions na – oa, da) | [`Cassandra`] |
//! | `cassandra-3` | Cassandra 3.0 – 3.11 (ma – me) | [`Cassandra3`] |
//! | `cassandra-2` | Cassandra 1.2 – 2.2 (ia – lb) | [`Cassandra2`] |
//! | `cassandra-1` | Cassandra 0.7.1 – 1.1 (f – hf) | [`Cassandra1`] |
//! | `cassandra-0.7` | Cassandra 0.7.0 (c – e) | [`Cassandra07`] |
//! | `cassandra-0` | Cassandra 0.3 – 0.7 beta (a, b); keys are text | [`Cassandra0`] |
//! | `libbloom` | libbloom 2.0, save file | [`Libbloom`] |
//! | `libbloom-1` | libbloom 1.6, raw bits | [`Libbloom1`] |
//! | `leveldb` | LevelDB's policy filter (leveldb.BuiltinBloomFilter2) | [`LevelDb`] |
//! | `rocksdb-block` | RocksDB's per-block policy filter (6.x and older) | [`RocksDbBlock`] |
//! | `rocksdb-legacy` | RocksDB's full filter below `format_version` 5 | [`RocksDbLegacy`] |
//! | `rocksdb` | RocksDB's full filter since, FastLocalBloom | [`RocksDb`] |
//! | `rocksdb-ribbon` | RocksDB's Ribbon filter | [`RocksDbRibbon`] |
//! | `java-lsm` | java-lsm-tree, raw bits; keys are text | [`JavaLsm`] |
//! | `parquet` | Parquet's split block filter, with or without its header | [`Parquet`] |
//! | `guava` | Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default) | [`Guava`] |
//! | `guava-32` | Guava's BloomFilter, strategy MURMUR128_MITZ_32 | [`Guava32`] |
//! | `spark` | Spark's sketch BloomFilter, version 1 | [`Spark`] |
//! | `spark-2` | Spark's sketch BloomFilter, version 2 (Spark 4 and later) | [`Spark2`] |
//! | `orc` | ORC's BloomFilter and BloomFilterUtf8 messages | [`Orc`] |
//! | `dcso` | DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso) | [`Dcso`] |
//! | `poppy` | poppy, version 2 (.pop files) | [`Poppy`] |
//! | `native` | fullbloom's own, `.bloom` file | [`NativeFilter`](crate::native::NativeFilter) |

pub mod cassandra;
pub mod dcso;
pub mod guava;
pub mod java_lsm;
pub mod leveldb;
pub mod libbloom;
pub mod orc;
pub mod parquet;
pub mod poppy;
pub mod rocksdb;
pub mod spark;

pub use cassandra::{Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07};
pub use dcso::Dcso;
pub use guava::{Guava, Guava32};
pub use java_lsm::JavaLsm;
pub use leveldb::{LevelDb, RocksDbBlock};
pub use libbloom::{Libbloom, Libbloom1};
pub use orc::Orc;
pub use parquet::Parquet;
pub use poppy::Poppy;
pub use rocksdb::{RocksDb, RocksDbLegacy, RocksDbRibbon};
pub use spark::{Spark, Spark2};

use std::fmt;
use std::str::FromStr;

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Name {
    /// Cassandra 4.0 – 5.x, sstable versions na to oa, and da.
    Cassandra,
    /// Cassandra 3.0 – 3.11, versions ma to me.
    Cassandra3,
    /// Cassandra 1.2 – 2.2, versions ia to lb.
    Cassandra2,
    /// Cassandra 0.7.1 – 1.1, versions f to hf.
    Cassandra1,
    /// Cassandra 0.7.0, versions c to e.
    Cassandra07,
    /// Cassandra 0.3 to the 0.7 betas, versions a and b; keys are text.
    Cassandra0,
    /// libbloom 2.0 and its save file.
    Libbloom,
    /// libbloom 1.6; raw bits.
    Libbloom1,
    /// LevelDB's policy filter (`leveldb.BuiltinBloomFilter2`).
    LevelDb,
    /// RocksDB's per-block policy filter (6.x and older).
    RocksDbBlock,
    /// RocksDB's legacy full filter (`format_version` below 5).
    RocksDbLegacy,
    /// RocksDB's full filter, FastLocalBloom.
    RocksDb,
    /// RocksDB's Ribbon filter.
    RocksDbRibbon,
    /// java-lsm-tree; raw bits, keys are text.
    JavaLsm,
    /// Parquet's split block filter, with or without its header.
    Parquet,
    /// Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default).
    Guava,
    /// Guava's BloomFilter, strategy MURMUR128_MITZ_32.
    Guava32,
    /// Spark's sketch BloomFilter, version 1.
    Spark,
    /// Spark's sketch BloomFilter, version 2 (Spark 4 and later).
    Spark2,
    /// ORC's BloomFilter and BloomFilterUtf8 messages.
    Orc,
    /// DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso).
    Dcso,
    /// poppy, version 2 (.pop files).
    Poppy,
    /// fullbloom's own filter and its `.bloom` file.
    Native,
}

impl Name {
    /// All dialects, in the order in which they are listed to people.
    pub const ALL: &[Name] = &[
        Name::Cassandra,
        Name::Cassandra3,
        Name::Cassandra2,
        Name::Cassandra1,
        Name::Cassandra07,
        Name::Cassandra0,
        Name::Libbloom,
        Name::Libbloom1,
        Name::LevelDb,
        Name::RocksDbBlock,
        Name::RocksDbLegacy,
        Name::RocksDb,
        Name::RocksDbRibbon,
        Name::JavaLsm,
        Name::Parquet,
        Name::Guava,
        Name::Guava32,
        Name::Spark,
        Name::Spark2,
        Name::Orc,
        Name::Dcso,
        Name::Poppy,
        Name::Native,
    ];

    /// The name as typed on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Name::Cassandra => "cassandra",
            Name::Cassandra3 => "cassandra-3",
            Name::Cassandra2 => "cassandra-2",
            Name::Cassandra1 => "cassandra-1",
            Name::Cassandra07 => "cassandra-0.7",
            Name::Cassandra0 => "cassandra-0",
            Name::Libbloom => "libbloom",
            Name::Libbloom1 => "libbloom-1",
            Name::LevelDb => "leveldb",
            Name::RocksDbBlock => "rocksdb-block",
            Name::RocksDbLegacy => "rocksdb-legacy",
            Name::RocksDb => "rocksdb",
            Name::RocksDbRibbon => "rocksdb-ribbon",
            Name::JavaLsm => "java-lsm",
            Name::Parquet => "parquet",
            Name::Guava => "guava",
            Name::Guava32 => "guava-32",
            Name::Spark => "spark",
            Name::Spark2 => "spark-2",
            Name::Orc => "orc",
            Name::Dcso => "dcso",
            Name::Poppy => "poppy",
            Name::Native => "native",
        }
    }

    /// What the dialect is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Name::Cassandra => "Cassandra 4.0 – 5.x (sstable versions na – oa, da)",
            Name::Cassandra3 => "Cassandra 3.0 – 3.11 (ma – me)",
            Name::Cassandra2 => "Cassandra 1.2 – 2.2 (ia – lb)",
            Name::Cassandra1 => "Cassandra 0.7.1 – 1.1 (f – hf)",
            Name::Cassandra07 => "Cassandra 0.7.0 (c – e)",
            Name::Cassandra0 => "Cassandra 0.3 – 0.7 beta (a, b); keys are text",
            Name::Libbloom => "libbloom 2.0, save file",
            Name::Libbloom1 => "libbloom 1.6, raw bits",
            Name::LevelDb => "LevelDB's policy filter (leveldb.BuiltinBloomFilter2)",
            Name::RocksDbBlock => "RocksDB's per-block policy filter (6.x and older)",
            Name::RocksDbLegacy => "RocksDB's legacy full filter (format_version below 5)",
            Name::RocksDb => "RocksDB's full filter, FastLocalBloom (format_version 5 and later)",
            Name::RocksDbRibbon => "RocksDB's Ribbon filter (Standard128)",
            Name::JavaLsm => "java-lsm-tree, raw bits; keys are text",
            Name::Parquet => "Parquet's split block filter, with or without its header",
            Name::Guava => "Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default)",
            Name::Guava32 => "Guava's BloomFilter, strategy MURMUR128_MITZ_32",
            Name::Spark => "Spark's sketch BloomFilter, version 1",
            Name::Spark2 => "Spark's sketch BloomFilter, version 2 (Spark 4 and later)",
            Name::Orc => "ORC's BloomFilter and BloomFilterUtf8 messages",
            Name::Dcso => "DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso)",
            Name::Poppy => "poppy, version 2 (.pop files)",
            Name::Native => "fullbloom's own, .bloom file",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is not the name of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName(String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a dialect; known are ", self.0)?;
        for (i, name) in Name::ALL.iter().enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownName {}

impl FromStr for Name {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Name, UnknownName> {
        let found = Name::ALL.iter().find(|name| name.as_str() == text);
        found.copied().ok_or_else(|| UnknownName(text.to_owned()))
    }
}
