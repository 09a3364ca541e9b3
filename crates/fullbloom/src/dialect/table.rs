//! The table of dialects: the one place that lists them. Names, parsing, help and run-time dispatch are
//! derived from it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// `Variant: "name", "description";` for each dialect. The type is `crate::dialect::Variant`.
macro_rules! dialects {
    (($d:tt) $($(#[$doc:meta])* $Variant:ident: $name:literal, $about:literal;)*) => {
        /// The name of a dialect.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Name {
            $($(#[$doc])* $Variant,)*
        }

        impl Name {
            /// All dialects, in the order of listings.
            pub const ALL: &[Name] = &[$(Name::$Variant,)*];

            /// The name as typed on a command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Name::$Variant => $name,)*
                }
            }

            /// A short description of the dialect.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Name::$Variant => $about,)*
                }
            }
        }

        /// Calls `$body` with `$D` standing for the type of the dialect of this name.
        macro_rules! with_dialect {
            ($d name:expr, $d D:ident => $d body:expr) => {
                match $d name {
                    $($crate::dialect::Name::$Variant => {
                        type $d D = $crate::dialect::$Variant;
                        $d body
                    })*
                }
            };
        }
    };
}

dialects! { ($)
    /// Cassandra 4.0 – 5.x, sstable versions na to oa, and da: [`Cassandra`](super::Cassandra).
    Cassandra: "cassandra", "Cassandra 4.0 – 5.x (sstable versions na – oa, da)";
    /// Cassandra 3.0 – 3.11, versions ma to me: [`Cassandra3`](super::Cassandra3).
    Cassandra3: "cassandra-3", "Cassandra 3.0 – 3.11 (ma – me)";
    /// Cassandra 1.2 – 2.2, versions ia to lb: [`Cassandra2`](super::Cassandra2).
    Cassandra2: "cassandra-2", "Cassandra 1.2 – 2.2 (ia – lb)";
    /// Cassandra 0.7.1 – 1.1, versions f to hf: [`Cassandra1`](super::Cassandra1).
    Cassandra1: "cassandra-1", "Cassandra 0.7.1 – 1.1 (f – hf)";
    /// Cassandra 0.7.0, versions c to e: [`Cassandra07`](super::Cassandra07).
    Cassandra07: "cassandra-0.7", "Cassandra 0.7.0 (c – e)";
    /// Cassandra 0.3 to the 0.7 betas, versions a and b; keys are text: [`Cassandra0`](super::Cassandra0).
    Cassandra0: "cassandra-0", "Cassandra 0.3 – 0.7 beta (a, b); keys are text";
    /// libbloom 2.0 and its save file: [`Libbloom`](super::Libbloom).
    Libbloom: "libbloom", "libbloom 2.0, save file";
    /// libbloom 1.6; raw bits: [`Libbloom1`](super::Libbloom1).
    Libbloom1: "libbloom-1", "libbloom 1.6, raw bits";
    /// LevelDB's policy filter (`leveldb.BuiltinBloomFilter2`): [`LevelDb`](super::LevelDb).
    LevelDb: "leveldb", "LevelDB's policy filter (leveldb.BuiltinBloomFilter2)";
    /// RocksDB's per-block policy filter (6.x and older): [`RocksDbBlock`](super::RocksDbBlock).
    RocksDbBlock: "rocksdb-block", "RocksDB's per-block policy filter (6.x and older)";
    /// RocksDB's legacy full filter (`format_version` below 5): [`RocksDbLegacy`](super::RocksDbLegacy).
    RocksDbLegacy: "rocksdb-legacy", "RocksDB's legacy full filter (format_version below 5)";
    /// RocksDB's full filter, FastLocalBloom: [`RocksDb`](super::RocksDb).
    RocksDb: "rocksdb", "RocksDB's full filter, FastLocalBloom (format_version 5 and later)";
    /// RocksDB's Ribbon filter: [`RocksDbRibbon`](super::RocksDbRibbon).
    RocksDbRibbon: "rocksdb-ribbon", "RocksDB's Ribbon filter (Standard128)";
    /// java-lsm-tree; raw bits, keys are text: [`JavaLsm`](super::JavaLsm).
    JavaLsm: "java-lsm", "java-lsm-tree, raw bits; keys are text";
    /// Parquet's split block filter, with or without its header: [`Parquet`](super::Parquet).
    Parquet: "parquet", "Parquet's split block filter, with or without its header";
    /// Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default): [`Guava`](super::Guava).
    Guava: "guava", "Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default)";
    /// Guava's BloomFilter, strategy MURMUR128_MITZ_32: [`Guava32`](super::Guava32).
    Guava32: "guava-32", "Guava's BloomFilter, strategy MURMUR128_MITZ_32";
    /// Spark's sketch BloomFilter, version 1: [`Spark`](super::Spark).
    Spark: "spark", "Spark's sketch BloomFilter, version 1";
    /// Spark's sketch BloomFilter, version 2 (Spark 4 and later): [`Spark2`](super::Spark2).
    Spark2: "spark-2", "Spark's sketch BloomFilter, version 2 (Spark 4 and later)";
    /// ORC's BloomFilter and BloomFilterUtf8 messages: [`Orc`](super::Orc).
    Orc: "orc", "ORC's BloomFilter and BloomFilterUtf8 messages";
    /// DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso): [`Dcso`](super::Dcso).
    Dcso: "dcso", "DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso)";
    /// poppy, version 2 (.pop files): [`Poppy`](super::Poppy).
    Poppy: "poppy", "poppy, version 2 (.pop files)";
    /// fullbloom's own filter and its `.bloom` file: [`Native`](super::Native).
    Native: "native", "fullbloom's own, .bloom file";
}
pub(crate) use with_dialect;

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
        write!(f, "{:?} is not a dialect; known dialects: ", self.0)?;
        for (i, name) in Name::ALL.iter().enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

impl FromStr for Name {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Name, UnknownName> {
        let found = Name::ALL.iter().find(|name| name.as_str() == text);
        found.copied().ok_or_else(|| UnknownName(text.to_owned()))
    }
}
