//! The dialects: one system's sizing rule, key hash, probe plan and byte format each, quirks included.
//!
//! | name | system | type |
//! |---|---|---|
//! | `leveldb` | LevelDB's policy filter | [`LevelDb`] |
//! | `rocksdb-block` | RocksDB's per-block policy filter | [`RocksDbBlock`] |
//! | `rocksdb-legacy` | RocksDB's full filter below `format_version` 5 | [`RocksDbLegacy`] |
//! | `rocksdb` | RocksDB's full filter since, FastLocalBloom | [`RocksDb`] |
//! | `rocksdb-ribbon` | RocksDB's Ribbon filter | [`RocksDbRibbon`] |

pub mod leveldb;
pub mod rocksdb;

pub use leveldb::{LevelDb, RocksDbBlock};
pub use rocksdb::{RocksDb, RocksDbLegacy, RocksDbRibbon};

use std::fmt;
use std::str::FromStr;

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Name {
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
}

impl Name {
    /// All dialects, in the order in which they are listed to people.
    pub const ALL: &[Name] =
        &[Name::LevelDb, Name::RocksDbBlock, Name::RocksDbLegacy, Name::RocksDb, Name::RocksDbRibbon];

    /// The name as typed on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Name::LevelDb => "leveldb",
            Name::RocksDbBlock => "rocksdb-block",
            Name::RocksDbLegacy => "rocksdb-legacy",
            Name::RocksDb => "rocksdb",
            Name::RocksDbRibbon => "rocksdb-ribbon",
        }
    }

    /// What the dialect is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Name::LevelDb => "LevelDB's policy filter (leveldb.BuiltinBloomFilter2)",
            Name::RocksDbBlock => "RocksDB's per-block policy filter (6.x and older)",
            Name::RocksDbLegacy => "RocksDB's legacy full filter (format_version below 5)",
            Name::RocksDb => "RocksDB's full filter, FastLocalBloom (format_version 5 and later)",
            Name::RocksDbRibbon => "RocksDB's Ribbon filter (Standard128)",
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
