//! Filter policies: the names tables carry, and the dialects behind them.

use alloc::vec::Vec;
use fullbloom::SizeError;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::rocksdb;
use fullbloom_dialects::rocksdb::FilterType;
use fullbloom_dialects::{LevelDb, RocksDbBlock};

/// The family of filters that a policy's name stands for. The dialect follows from the bytes, not from the
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// RocksDB's built-in policies: full filters of three dialects, or `rocksdb-block` per block.
    RocksDb,
    /// LevelDB's since 1.18: `leveldb` per block.
    LevelDb,
    /// LevelDB's before 1.18, whose tail bytes were signed on x86 as RocksDB's still are.
    LevelDbSigned,
    /// fullbloom's own: a `native` filter with its whole file format, full or partitioned. Engines do not
    /// know it and take such a table for one without a filter.
    Native,
    /// A policy of somebody's own; nothing can be answered from its filters.
    Unknown,
}

/// What the metaindex calls fullbloom's own policy.
const NATIVE: &str = "fullbloom.native";

impl Family {
    /// The family of a policy's name, as the metaindex has it.
    ///
    /// RocksDB 7.0.0 to 7.0.2 wrote the names of the options, and forks append words to the usual name.
    pub fn named(name: &str) -> Family {
        match name {
            "bloomfilter" | "ribbonfilter" => Family::RocksDb,
            "leveldb.BuiltinBloomFilter2" => Family::LevelDb,
            "leveldb.BuiltinBloomFilter" => Family::LevelDbSigned,
            NATIVE => Family::Native,
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
    /// `rocksdb-legacy`, `rocksdb`, `rocksdb-ribbon` and `native` full or partitioned.
    pub fn new(dialect: Name, bits_per_key: f64) -> Result<Policy, SizeError> {
        let policy = Policy { dialect, bits_per_key };
        match policy.is_full() {
            true => policy.full().map(|_| policy),
            false => policy.per_block_filter::<&[u8]>(&[]).map(|_| policy),
        }
    }

    /// The requested dialect. A Ribbon filter of few keys is stored as `rocksdb`.
    pub fn dialect(&self) -> Name {
        self.dialect
    }

    /// Bits for each key.
    pub fn bits_per_key(&self) -> f64 {
        self.bits_per_key
    }

    /// Whether the dialect's filters are full ones, or partitions; otherwise they are made per block.
    pub fn is_full(&self) -> bool {
        matches!(self.dialect, Name::RocksDbLegacy | Name::RocksDb | Name::RocksDbRibbon | Name::Native)
    }

    /// What makes its full filters and partitions; an error for a policy of per-block filters.
    pub fn full(&self) -> Result<FullPolicy, SizeError> {
        let rocksdb = |kind| rocksdb::Policy::new(kind, self.bits_per_key).map(FullPolicy::RocksDb);
        match self.dialect {
            Name::RocksDbLegacy => rocksdb(FilterType::Legacy),
            Name::RocksDb => rocksdb(FilterType::FastLocal),
            Name::RocksDbRibbon => rocksdb(FilterType::Ribbon),
            Name::Native => {
                plan(1, self.bits_per_key)?;
                Ok(FullPolicy::Native { bits_per_key: self.bits_per_key })
            }
            dialect => {
                let what = "has no full filter; rocksdb-legacy, rocksdb, rocksdb-ribbon and native have";
                Err(SizeError::Unsupported { dialect: dialect.as_str(), what })
            }
        }
    }

    /// The encoded filter of these keys, one of many in a per-block filter block.
    pub fn per_block_filter<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<u8>, SizeError> {
        let (n, bits) = (keys.len() as u64, self.bits_per_key);
        match self.dialect {
            Name::LevelDb => {
                let mut filter = Filter::<LevelDb>::with_bits_per_key(n, bits)?;
                filter.insert_batch(keys).expect("keys are given as bytes");
                Ok(filter.encode())
            }
            Name::RocksDbBlock => {
                let mut filter = Filter::<RocksDbBlock>::with_bits_per_key(n, bits)?;
                filter.insert_batch(keys).expect("keys are given as bytes");
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
            Name::Native => NATIVE,
            Name::LevelDb => "leveldb.BuiltinBloomFilter2",
            _ => "rocksdb.BuiltinBloomFilter",
        }
    }

    /// What RocksDB's properties call the policy since 7.0.
    pub fn property_name(&self) -> &'static str {
        match self.dialect {
            Name::Native => NATIVE,
            Name::RocksDbRibbon => "ribbonfilter",
            _ => "bloomfilter",
        }
    }
}

/// What makes full filters and partitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FullPolicy {
    /// Filters of RocksDB.
    RocksDb(rocksdb::Policy),
    /// Native filters of kind fast.
    Native {
        /// Their size.
        bits_per_key: f64,
    },
}

fn plan(keys: u64, bits_per_key: f64) -> Result<Sizing, SizeError> {
    Sizing::new(&Request { expected_keys: keys, target: Target::BitsPerKey(bits_per_key) })
}

impl FullPolicy {
    /// Length of a filter of this many keys; a Ribbon filter's may be 16 bytes off.
    pub fn content_len(&self, keys: u64) -> Result<u64, SizeError> {
        match self {
            FullPolicy::RocksDb(policy) => Ok(policy.content_len(keys)),
            FullPolicy::Native { bits_per_key } => Ok(plan(keys, *bits_per_key)?.encoded_len()),
        }
    }

    /// How many keys a filter of this length takes. Partitions are cut by it.
    pub fn approximate_keys(&self, content_len: u64) -> u64 {
        let FullPolicy::Native { bits_per_key } = self else {
            let FullPolicy::RocksDb(policy) = self else { return 0 };
            return policy.approximate_keys(content_len);
        };
        let fits = |keys| self.content_len(keys).is_ok_and(|len| len <= content_len);
        let most = (content_len as f64 * 8.0 / bits_per_key) as u64 + 1;
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        low
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
            ("fullbloom.native", Family::Native),
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
        assert!(Policy::new(Name::Native, 10.0).is_ok());
        assert!(Policy::new(Name::Native, f64::NAN).is_err());
    }

    #[test]
    fn a_native_partition_takes_as_many_keys_as_fit() {
        let policy = Policy::new(Name::Native, 10.0).unwrap().full().unwrap();
        for len in [100, 500, 1000, 4096, 100_000] {
            let keys = policy.approximate_keys(len);
            assert!(keys == 0 || policy.content_len(keys).unwrap() <= len, "{len}: {keys}");
            assert!(policy.content_len(keys + 1).unwrap() > len, "{len}: {keys}");
        }
    }
}
