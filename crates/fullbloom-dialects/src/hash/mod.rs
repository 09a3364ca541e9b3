//! Bytes to integers: the key hashes of the dialects, each exactly as its system computes it.
//!
//! None of the engines' hashes resists an adversary: all are public and unseeded, and colliding keys are easy
//! to construct. The variants of one algorithm differ in how they treat the tail of a key:
//!
//! | function | system | tail bytes |
//! |---|---|---|
//! | [`murmur3_cassandra`] | Cassandra 1.2 and later | sign-extended, xored |
//! | [`murmur2_64_cassandra`] | Cassandra 0.7.1 – 1.1 | sign-extended, xored |
//! | [`murmur2_32_cassandra`] | Cassandra 0.3 – 0.7.0 | sign-extended, in reversed order |
//! | [`murmur2_libbloom`] | libbloom | plain (the public MurmurHash2) |
//! | [`bloom32_leveldb`] | LevelDB since 1.18 | zero-extended, added |
//! | [`bloom32_rocksdb`] | RocksDB, per-block and legacy filters | sign-extended, added |
//! | [`xxph3_rocksdb`] | RocksDB, FastLocalBloom and Ribbon | none; overlapping reads |
//! | [`murmur3_128`] | Guava | plain (the public Murmur3) |
//! | [`murmur3_32_spark`] | Spark | sign-extended, each mixed in like a word |
//! | [`murmur3_64_orc`], [`wang64_orc`] | ORC: bytes, numbers | plain; none |
//! | [`xxh64`] | Parquet | plain (the public xxHash64) |
//! | [`fnv1_64`] | DCSO bloom | none; byte by byte |
//! | [`wyhash_poppy`] | poppy | groups of 4, 2 and 1 |
//! | [`java_string_hash`] | java-lsm-tree | none; UTF-16 code units |

mod bloom32;
mod fnv1;
mod java_string;
mod murmur2_32;
mod murmur2_64;
mod murmur3;
mod murmur3_32;
mod murmur3_64;
mod wyhash;
mod xxph3;

pub use bloom32::{bloom32_leveldb, bloom32_rocksdb};
pub use fnv1::fnv1_64;
pub use fullbloom_core::hash::xxh64;
pub(crate) use fullbloom_core::hash::{xxh64_chunk, xxh64_word};
pub use java_string::{java_string_hash, utf16_units};
pub use murmur2_32::{murmur2_32_cassandra, murmur2_libbloom, murmur2_libbloom_from};
pub use murmur2_64::murmur2_64_cassandra;
pub use murmur3::{murmur3_128, murmur3_cassandra};
pub use murmur3_32::murmur3_32_spark;
pub use murmur3_64::{murmur3_64_orc, wang64_orc};
pub use wyhash::wyhash_poppy;
pub(crate) use xxph3::xxph3_chunk;
pub use xxph3::{xxph3, xxph3_rocksdb};

/// Sign-extends a byte, as Java and signed C `char` do.
#[inline(always)]
fn sign_extended(byte: u8) -> i64 {
    i64::from(byte as i8)
}
