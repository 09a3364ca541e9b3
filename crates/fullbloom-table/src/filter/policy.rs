//! Filter policies: the names tables carry, and the dialects behind them.

use fullbloom::dialect::Name;
use fullbloom::rocksdb::{self, Kind};
use fullbloom::{Filter, LevelDb, RocksDbBlock, SizeError};

/// Whose filters a policy's name stands for. The name does not tell the dialect: the bytes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// RocksDB's built-in policies: full filters of three dialects, or `rocksdb-block` per block.
    RocksDb,
    /// LevelDB's since 1.18: `leveldb` per block.
    LevelDb,
    /// LevelDB's before 1.18, whose tail bytes were signed on x86 as RocksDB's still are.
    LevelDbSigned,
    /// A policy of somebody's own; nothing can be answered from its filters.
    Unknown,
}

impl Family {
    /// The family of a policy's name, as the metaindex has it.
    ///
    /// RocksDB 7.0.0 to 7.0.2 wrote the names of the options, and forks append words to the usual name.
    pub fn named(name: &str) -> Family {
        match name {
            "bloomfilter" | "ribbonfilter" => Family::RocksDb,
            "leveldb.BuiltinBloomFilter2" => Family::LevelDb,
            "leveldb.BuiltinBloomFilter" => Family::LevelDbSigned,
            _ if name.starts_with("rocksdb.BuiltinBloomFilter") => Family::RocksDb,
            _ => Family::Unknown,
        }
    }
}

/// What makes a table's filters: a dialect and how many bits to spend for each key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    dialect: Name,
    bits_per_key: f64,
}

impl Policy {
    /// A policy for one of the dialects that live in tables: `leveldb` and `rocksdb-block` per block,
    /// `rocksdb-legacy`, `rocksdb` and `rocksdb-ribbon` full or partitioned.
    pub fn new(dialect: Name, bits_per_key: f64) -> Result<Policy, SizeError> {
        let policy = Policy { dialect, bits_per_key };
        match policy.full_kind() {
            Some(kind) => rocksdb::Policy::new(kind, bits_per_key).map(|_| policy),
            None => policy.per_block_filter::<&[u8]>(&[]).map(|_| policy),
        }
    }

    /// The dialect asked for. A Ribbon filter of few keys is stored as `rocksdb`.
    pub fn dialect(&self) -> Name {
        self.dialect
    }

    /// Bits for each key.
    pub fn bits_per_key(&self) -> f64 {
        self.bits_per_key
    }

    /// The kind of full filter, for the dialects that are one.
    pub(crate) fn full_kind(&self) -> Option<Kind> {
        match self.dialect {
            Name::RocksDbLegacy => Some(Kind::Legacy),
            Name::RocksDb => Some(Kind::FastLocal),
            Name::RocksDbRibbon => Some(Kind::Ribbon),
            _ => None,
        }
    }

    pub(crate) fn full(&self) -> Result<rocksdb::Policy, SizeError> {
        let what = "is made per block; rocksdb-legacy, rocksdb and rocksdb-ribbon are full filters";
        let refused = SizeError::Unsupported { dialect: self.dialect.as_str(), what };
        rocksdb::Policy::new(self.full_kind().ok_or(refused)?, self.bits_per_key)
    }

    /// The encoded filter of these keys, one of many in a per-block filter block.
    pub(crate) fn per_block_filter<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<u8>, SizeError> {
        let (n, bits) = (keys.len() as u64, self.bits_per_key);
        match self.dialect {
            Name::LevelDb => {
                let mut filter = Filter::<LevelDb>::with_bits_per_key(n, bits)?;
                filter.insert_batch(keys);
                Ok(filter.encode())
            }
            Name::RocksDbBlock => {
                let mut filter = Filter::<RocksDbBlock>::with_bits_per_key(n, bits)?;
                filter.insert_batch(keys);
                Ok(filter.encode())
            }
            dialect => {
                let what = "has no form for tables; leveldb and rocksdb-block are made per block";
                Err(SizeError::Unsupported { dialect: dialect.as_str(), what })
            }
        }
    }

    /// What the metaindex calls the policy.
    pub fn engine_name(&self) -> &'static str {
        match self.dialect {
            Name::LevelDb => "leveldb.BuiltinBloomFilter2",
            _ => "rocksdb.BuiltinBloomFilter",
        }
    }

    /// What RocksDB's properties call the policy since 7.0.
    pub fn property_name(&self) -> &'static str {
        match self.dialect {
            Name::RocksDbRibbon => "ribbonfilter",
            _ => "bloomfilter",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_release_and_fork_are_known() {
        for (name, family) in [
            ("rocksdb.BuiltinBloomFilter", Family::RocksDb),
            ("rocksdb.BuiltinBloomFilter.FullBloom", Family::RocksDb),
            ("bloomfilter", Family::RocksDb),
            ("ribbonfilter", Family::RocksDb),
            ("leveldb.BuiltinBloomFilter2", Family::LevelDb),
            ("leveldb.BuiltinBloomFilter", Family::LevelDbSigned),
            ("my.Policy", Family::Unknown),
            ("", Family::Unknown),
        ] {
            assert_eq!(Family::named(name), family, "{name}");
        }
    }

    #[test]
    fn dialects_without_a_place_in_tables_are_refused() {
        assert!(Policy::new(Name::LevelDb, 10.0).is_ok());
        assert!(Policy::new(Name::RocksDbRibbon, 9.9).is_ok());
        assert!(matches!(Policy::new(Name::Libbloom, 10.0), Err(SizeError::Unsupported { .. })));
        assert!(matches!(Policy::new(Name::RocksDb, 0.4), Err(SizeError::NoFilter { .. })));
        assert!(Policy::new(Name::LevelDb, 10.0).unwrap().full().is_err());
    }
}
