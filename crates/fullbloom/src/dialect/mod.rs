//! The dialects. Each is one system's sizing rule, key hash, probe plan and byte format, quirks included.
//!
//! [`Name`] lists them with their names and types. `docs/formats/` describes every byte of each.

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
mod table;

pub use crate::native::Native;
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
pub use table::Name;
pub(crate) use table::{each_dialect, with_dialect};
