//! The table of dialects: the one place that lists them. Names, numbers, parsing, help and the dispatch at
//! run time follow from it.

use crate::filter::Format;
use core::fmt;
use core::str::FromStr;
use fullbloom_core::error::UnknownName;

/// `Variant: number, made, "name", "description";` for each dialect. The type is `crate::Variant`.
/// The number is the one in `fullbloom.h`; it never changes. `made` says how its filters are made:
///
/// | word | filters |
/// |---|---|
/// | `sized` | are sized first and take keys at any time: the usual one |
/// | `full` | are built from all their keys at once; their bits can be merged |
/// | `ribbon` | are built from all their keys at once, and cannot be merged |
macro_rules! dialects {
    (($d:tt) $(
        $Variant:ident: $number:literal, $made:ident, $name:literal, $about:literal;
    )* => $Native:ident: $native_number:literal, $native_name:literal, $native_about:literal;) => {
        /// The name of a dialect.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Name {
            $(
                #[doc = concat!($about, ": [`", stringify!($Variant), "`](super::", stringify!($Variant), ").")]
                $Variant,
            )*
            #[doc = $native_about]
            $Native,
        }

        impl Name {
            /// All dialects, in the order of listings.
            pub const ALL: &[Name] = &[$(Name::$Variant,)* Name::$Native];

            /// The name as typed on a command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Name::$Variant => $name,)*
                    Name::$Native => $native_name,
                }
            }

            /// The number of the dialect, for interfaces that have no names. It never changes; 0 is not a
            /// dialect.
            pub const fn number(self) -> u16 {
                match self {
                    $(Name::$Variant => $number,)*
                    Name::$Native => $native_number,
                }
            }

            /// What the dialect is, in a few words.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Name::$Variant => $about,)*
                    Name::$Native => $native_about,
                }
            }
        }

        /// Calls `$body` with `$D` standing for the type of the dialect of this name, or `$native`.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! with_dialect {
            ($d name:expr, $d D:ident => $d body:expr, native => $d native:expr) => {
                match $d name {
                    $($crate::Name::$Variant => {
                        type $d D = $crate::$Variant;
                        $d body
                    })*
                    $crate::Name::$Native => $d native,
                    #[allow(unreachable_patterns)] // in the crate of `Name`, where all are known
                    _ => unreachable!(),
                }
            };
        }

        /// Calls the macro `$item` for each dialect with the word for how its filters are made, and its type.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! each_dialect {
            ($d item:ident) => {
                $($d item! { $made $crate::$Variant })*
            };
        }
    };
}

dialects! { ($)
    Cassandra: 2, sized, "cassandra", "Cassandra 4.0 – 6.0 (sstable versions na – pa, da, ea), DSE 6.8, HCD";
    Cassandra3: 3, sized, "cassandra-3", "Cassandra 3.0 – 3.11 (ma – me), ScyllaDB (mc – mt), DSE 6.0 – 6.7";
    Cassandra2: 4, sized, "cassandra-2", "Cassandra 1.2 – 2.2 (ia – lb)";
    Cassandra1: 5, sized, "cassandra-1", "Cassandra 0.7.1 – 1.1 (f – hf)";
    Cassandra07: 6, sized, "cassandra-0.7", "Cassandra 0.7.0 (c – e)";
    Cassandra0: 7, sized, "cassandra-0", "Cassandra 0.3 – 0.7 beta (a, b); keys are text";
    Libbloom: 8, sized, "libbloom", "libbloom 2.0, save file";
    Libbloom1: 9, sized, "libbloom-1", "libbloom 1.6, raw bits";
    LevelDb: 10, sized, "leveldb", "LevelDB's policy filter (leveldb.BuiltinBloomFilter2)";
    RocksDbBlock: 11, sized, "rocksdb-block", "RocksDB's per-block policy filter (6.x and older)";
    RocksDbLegacy: 12, full, "rocksdb-legacy", "RocksDB's legacy full filter (format_version below 5)";
    RocksDb: 13, full, "rocksdb", "RocksDB's full filter, FastLocalBloom (format_version 5 and later)";
    RocksDbRibbon: 14, ribbon, "rocksdb-ribbon", "RocksDB's Ribbon filter (Standard128)";
    JavaLsm: 15, sized, "java-lsm", "java-lsm-tree, raw bits; keys are text";
    Parquet: 16, sized, "parquet", "Parquet's split block filter, with or without its header";
    Guava: 17, sized, "guava", "Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default)";
    Guava32: 18, sized, "guava-32", "Guava's BloomFilter, strategy MURMUR128_MITZ_32";
    Spark: 19, sized, "spark", "Spark's sketch BloomFilter, version 1";
    Spark2: 20, sized, "spark-2", "Spark's sketch BloomFilter, version 2 (Spark 4 and later)";
    Orc: 21, sized, "orc", "ORC's BloomFilter and BloomFilterUtf8 messages";
    Dcso: 22, sized, "dcso", "DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso)";
    Poppy: 23, sized, "poppy", "poppy, version 2 (.pop files)";
    => Native: 1, "native", "fullbloom's own, .bloom file";
}

impl Name {
    /// Whether the bytes of its filters are only bits: they are read with the numbers of bits and probes that
    /// the filter was built with.
    pub const fn is_raw(self) -> bool {
        with_dialect!(self, D => D::RAW, native => false)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Name {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Name, UnknownName> {
        UnknownName::or_found("dialect", text, Name::ALL, |name| name.as_str())
    }
}
