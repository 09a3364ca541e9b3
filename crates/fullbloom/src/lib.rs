//! The Bloom filters of storage engines, bit for bit.
//!
//! A Bloom filter answers "is this key in the set?" with a certain *no* or a probable *yes*, in a few bits per key.
//! Every engine has its own: its own sizing rule, key hash, probe positions and bytes. This crate speaks theirs
//! exactly, quirks included; each such whole is a [`dialect`]. Bytes written here are the bytes the system itself
//! writes, and answers are its answers.
//!
//! ```
//! use fullbloom::{Cassandra, Filter};
//!
//! let mut filter = Filter::<Cassandra>::with_fpr(1_000, 0.01)?; // 1,000 keys, one false answer in a hundred
//! filter.insert(b"alice");
//! assert!(filter.may_contain(b"alice"));  // never a false no
//! assert!(!filter.may_contain(b"mallory"));
//! filter.save(std::env::temp_dir().join("nb-1-big-Filter.db"))?; // the file is replaced whole or not at all
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Filter`] owns its bits, [`View`] borrows them (a mapped file, a block from a cache); both answer single keys,
//! batches, and hashes made before. Everything that reads bytes is strict and names the field that is wrong;
//! nothing here panics on bytes from outside. When the dialect is known only at run time, use [`any`].
//!
//! # One example for each dialect
//!
//! **Cassandra 4.0 to 5.x** ([`Cassandra`], `na` and later) and **3.x** ([`Cassandra3`], `ma` to `me`) differ in the order of
//! bytes, **1.2 to 2.2** ([`Cassandra2`]) in the order of the hashes, **0.7.1 to 1.1** ([`Cassandra1`]) in the hash. The name of
//! the file says which one it is:
//!
//! ```
//! use fullbloom::{Cassandra, Cassandra1, Cassandra2, Cassandra3, Filter, cassandra::Descriptor, dialect::Name};
//!
//! fn filter_db<D: fullbloom::Size + fullbloom::Insert + fullbloom::Format>() -> String {
//!     let mut filter = Filter::<D>::with_fpr(3, 0.01).unwrap();
//!     filter.extend(["a", "b", "c"]);
//!     filter.encode()[8..].iter().map(|byte| format!("{byte:02x}")).collect()
//! }
//! assert_eq!(filter_db::<Cassandra>(), "840091804c003808");
//! assert_eq!(filter_db::<Cassandra3>(), "0838004c80910084");
//! assert_eq!(filter_db::<Cassandra2>(), "20a2428800842003");
//! assert_eq!(filter_db::<Cassandra1>(), "8880920080226a20");
//! assert_eq!(Descriptor::parse("me-7-big-Filter.db".as_ref())?.dialect, Name::Cassandra3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Cassandra 0.7.0** ([`Cassandra07`], `c` to `e`) and **0.3 to 0.7 beta** ([`Cassandra0`], `a` and `b`) store a Java object
//! stream; the older one hashes keys as UTF-16 text:
//!
//! ```
//! use fullbloom::{Cassandra0, Cassandra07, Filter};
//!
//! let mut bytes = Filter::<Cassandra07>::with_fpr(10, 0.01)?;
//! bytes.insert(&[0xff, 0x00]);
//! let mut text = Filter::<Cassandra0>::with_fpr(10, 0.01)?;
//! text.insert("schlüssel".as_bytes());
//! assert_eq!(bytes.encode()[4..8], [0xac, 0xed, 0x00, 0x05]);
//! assert!(Filter::<Cassandra0>::decode(&text.encode())?.may_contain("schlüssel".as_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **libbloom 2.0** ([`Libbloom`]) has a save file, **libbloom 1.6** ([`Libbloom1`]) raw bits:
//!
//! ```
//! use fullbloom::{Filter, Format, Libbloom, Libbloom1};
//!
//! let mut two = Filter::<Libbloom>::with_fpr(1_000, 0.01)?;
//! two.insert(b"hello");
//! assert!(Filter::<Libbloom>::decode(&two.encode())?.may_contain(b"hello"));
//!
//! let mut one = Filter::<Libbloom1>::with_fpr(1_000, 0.01)?;
//! one.insert(b"hello");
//! assert!(Libbloom1::view_exact(one.bits(), 9585, 7)?.may_contain(b"hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **LevelDB** ([`LevelDb`]) and **RocksDB's per-block filter** ([`RocksDbBlock`]) are sized by bits per key:
//!
//! ```
//! use fullbloom::{Filter, LevelDb, RocksDbBlock, View};
//!
//! let mut leveldb = Filter::<LevelDb>::with_bits_per_key(2, 10.0)?;
//! leveldb.extend(["hello", "world"]);
//! assert!(View::<LevelDb>::view(&leveldb.encode())?.may_contain(b"world"));
//!
//! let mut rocksdb = Filter::<RocksDbBlock>::with_bits_per_key(1, 10.0)?;
//! rocksdb.insert(b"caf\xc3\xa9"); // tail bytes above 0x7f: here the two part
//! assert!(rocksdb.may_contain(b"caf\xc3\xa9"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **RocksDB's full filters** ([`RocksDb`], [`RocksDbLegacy`], [`RocksDbRibbon`]) are made when all keys are known; bytes of any
//! kind are read as RocksDB reads them:
//!
//! ```
//! use fullbloom::rocksdb::{Builder, FullFilter, Kind, Policy};
//!
//! let mut builder = Builder::new(Policy::new(Kind::FastLocal, 10.0)?);
//! builder.insert(b"hello");
//! let block = builder.finish()?.encode();
//! assert_eq!(block[64..], [0xff, 0, 6, 0, 0]); // one block of 64 bytes, six probes
//! assert!(FullFilter::read(&block).may_contain(b"hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **java-lsm-tree** ([`JavaLsm`]) stores bits alone and forgets its two numbers; give them back:
//!
//! ```
//! use fullbloom::{Filter, Format, JavaLsm};
//!
//! let mut filter = Filter::<JavaLsm>::with_fpr(2_000, 0.05)?;
//! filter.insert(b"user:17");
//! let (bits, probes) = (filter.geometry().bit_len, filter.geometry().probes);
//! assert!(JavaLsm::view_exact(&filter.encode(), bits, probes)?.may_contain(b"user:17"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Parquet** ([`Parquet`]), **Guava** ([`Guava`], [`Guava32`]), **Spark** ([`Spark`], [`Spark2`]) and **ORC** ([`Orc`]) hash typed values;
//! [`typed`] has each one's way from a value to a key:
//!
//! ```
//! use fullbloom::{Filter, Guava, Guava32, Orc, Parquet, Spark, Spark2, View, typed::Value};
//!
//! fn ids<D: fullbloom::Size + fullbloom::Insert + fullbloom::Format>() -> Vec<u8> {
//!     let mut filter = Filter::<D>::with_fpr(100, 0.01).unwrap();
//!     filter.insert_value(Value::Long(7)).unwrap();
//!     assert!(View::<D>::view(&filter.encode()).unwrap().may_contain_value(Value::Long(7)).unwrap());
//!     filter.encode()
//! }
//! assert_eq!(ids::<Parquet>()[..2], [0x15, 0x80]); // a Thrift header
//! assert_eq!(ids::<Guava>()[..2], [1, 7]); // strategy and probes
//! assert_eq!(ids::<Guava32>()[..2], [0, 7]);
//! assert_eq!(ids::<Spark>()[..4], [0, 0, 0, 1]); // the version
//! assert_eq!(ids::<Spark2>()[..4], [0, 0, 0, 2]);
//! assert_eq!(ids::<Orc>()[..2], [8, 7]); // a protobuf field
//! ```
//!
//! **DCSO's bloom** ([`Dcso`]) and **poppy** ([`Poppy`]) count their keys and carry free bytes:
//!
//! ```
//! use fullbloom::{Dcso, Filter, Poppy};
//!
//! let mut dcso = Filter::<Dcso>::with_fpr(1_000, 1e-4)?;
//! dcso.insert(b"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709");
//! assert_eq!(dcso.with_data(b"a note")?.count(), 1);
//! let mut poppy = Filter::<Poppy>::with_fpr(1_000, 1e-4)?;
//! assert_eq!(poppy.try_insert(b"a key of some length"), Ok(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not for keys from untrusted people
//!
//! The hashes of these dialects are public and unseeded: whoever may choose keys can make ones that the filter
//! calls present, or fill it. That is a property of their bytes.

pub mod any;
mod bits;
pub mod dialect;
pub mod error;
pub mod file;
mod filter;
pub mod hash;
pub mod kernel;
pub mod native;
pub mod probe;
pub mod replace;
pub mod sizing;
pub mod sniff;
pub mod typed;
#[doc(hidden)]
pub mod wire;

pub use bits::Owned;
pub use dialect::*;
pub use error::{DecodeError, FileError, MergeError, SizeError};
pub use filter::{Answers, Dialect, Doubt, Filter, Format, Insert, Size, View, Weakness};
pub use native::NativeFilter;

/// The code of the tour is run with the examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
struct Tour;
