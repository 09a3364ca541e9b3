//! LevelDB's policy filter, and RocksDB's twin of it: `leveldb` and `rocksdb-block`.
//!
//! ```text
//!   | bit array, whole bytes | probes: u8 |
//! ```
//!
//! The bytes of one filter in a table's filter block. The two differ only in how the tail bytes of a key
//! enter the hash ([`bloom32_leveldb`](crate::hash::bloom32_leveldb),
//! [`bloom32_rocksdb`](crate::hash::bloom32_rocksdb)). A key contributes only one 32-bit hash: the
//! step between probes is that hash rotated. Keys whose hashes collide are indistinguishable at any size.
//!
//! ```
//! use fullbloom_dialects::{Filter, View};
//! use fullbloom_dialects::LevelDb;
//!
//! let keys = ["apple", "pear", "plum"];
//! let mut filter = Filter::<LevelDb>::with_bits_per_key(keys.len() as u64, 10.0)?;
//! filter.extend(keys);
//! let bytes = filter.encode(); // the bytes that LevelDB's CreateFilter appends
//! let view = Filter::<LevelDb>::view(&bytes)?;
//! assert!(keys.iter().all(|key| view.may_contain(key.as_bytes())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod policy;
mod rate;

pub use policy::{Compatible, LevelDb, RocksDbBlock};
