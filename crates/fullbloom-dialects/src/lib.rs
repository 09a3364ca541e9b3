//! The Bloom filters of Cassandra, RocksDB, LevelDB, Parquet, libbloom and others, bit for bit. Each is a
//! *dialect*: one system's sizing rule, key hash, probe plan and byte format, quirks included.
//!
//! Bytes written here are the bytes the system itself writes, and answers are its answers.
//!
//! ```
//! use fullbloom_dialects::{Filter, RocksDb};
//!
//! let keys = ["apple", "pear", "plum"];
//! let mut filter = Filter::<RocksDb>::with_bits_per_key(keys.len() as u64, 10.0)?;
//! filter.insert_batch(&keys)?;
//! let block = filter.encode();                       // RocksDB's bytes
//! let view = Filter::<RocksDb>::view(&block)?;       // reads borrowed bytes in place, without a copy
//! assert!(view.may_contain("pear"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Name`] lists the dialects with their names and types; [`examples`] has one example for each.
//! `docs/formats/` describes every byte. Every decoder is strict, and its error names the wrong field.
//! Nothing here panics on bytes from outside.
//!
//! # Keys from untrusted sources
//!
//! The hashes of these systems are public and unseeded: anyone who may choose keys can construct keys that
//! the filter reports present, or fill it. This is a property of their formats.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod cassandra;
pub mod dcso;
#[cfg(feature = "std")]
mod file;
pub mod filter;
pub mod guava;
pub mod hash;
pub mod java_lsm;
#[doc(hidden)]
pub mod kernel;
pub mod leveldb;
pub mod libbloom;
pub mod orc;
pub mod parquet;
pub mod poppy;
pub mod probe;
pub mod rocksdb;
pub mod spark;
mod table;
pub mod typed;

pub use cassandra::{Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07};
pub use dcso::Dcso;
pub use filter::{Filter, View};
pub use fullbloom_core::bits::Owned;
#[cfg(feature = "std")]
pub use fullbloom_core::error::FileError;
pub use fullbloom_core::error::{DecodeError, MergeError, SizeError};
pub use fullbloom_core::kernel::pipeline::Answers;
#[doc(inline)]
pub use fullbloom_core::{error, keys};
#[cfg(feature = "mmap")]
pub use fullbloom_files::Mapped;
pub use guava::{Guava, Guava32};
pub use java_lsm::JavaLsm;
pub use leveldb::{LevelDb, RocksDbBlock};
pub use libbloom::{Libbloom, Libbloom1};
pub use orc::Orc;
pub use parquet::Parquet;
pub use poppy::Poppy;
pub use rocksdb::{RocksDb, RocksDbLegacy, RocksDbRibbon};
pub use spark::{Spark, Spark2};
pub use table::Name;

#[cfg(doc)]
#[doc = include_str!("examples.md")]
pub mod examples {}

/// The code of the examples is run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("examples.md")]
struct Examples;
