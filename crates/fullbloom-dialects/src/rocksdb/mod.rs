//! RocksDB's full filters: one filter for all keys of a table, or of a partition of it.
//!
//! | name | type | written by |
//! |---|---|---|
//! | `rocksdb-legacy` | [`RocksDbLegacy`] | `NewBloomFilterPolicy` below `format_version` 5 |
//! | `rocksdb` | [`RocksDb`] (FastLocalBloom) | `NewBloomFilterPolicy` from `format_version` 5 on |
//! | `rocksdb-ribbon` | [`RocksDbRibbon`] | `NewRibbonFilterPolicy` |
//!
//! ```text
//!   | data | 5-byte trailer |        the trailer's first byte, as a signed number, gives the type:
//!
//!    1 … 127   legacy: number of probes       -1 (FF)  FastLocalBloom      -2 (FE)  Ribbon
//!    0         matches every key              -128 … -3  reserved: matches every key
//!    (five bytes or fewer in all: matches no key)
//! ```
//!
//! Three entry points:
//! - [`Builder`] collects keys and produces the bytes of RocksDB's builder, Ribbon included;
//! - [`Filter`](crate::Filter) and [`View`](crate::View) of one type decode strictly: damage is an error;
//! - [`FullFilter::read`] accepts any bytes and answers as RocksDB's reader does, but never reads out of
//!   bounds.
//!
//! ```
//! use fullbloom_dialects::rocksdb::{Builder, FullFilter, FilterType, Policy};
//!
//! let mut builder = Builder::new(Policy::new(FilterType::Ribbon, 10.0)?);
//! for i in 0..1000u32 {
//!     builder.add(&i.to_be_bytes());
//! }
//! let content = builder.finish()?; // the filter block of a table, without the block's own trailer
//! let filter = FullFilter::read(&content);
//! assert!((0..1000u32).all(|i| filter.may_contain(&i.to_be_bytes())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The hashes are public and unseeded: anyone who can choose keys can make them collide.

mod builder;
mod construction;
mod entries;
mod fast_local;
pub mod full;
mod legacy;
mod memory;
mod rate;
pub mod reservation;
mod ribbon;
mod sizing;

pub use builder::{AltOrder, Builder, FullHash};
pub use construction::BuildError;
pub use fast_local::RocksDb;
pub use full::FullFilter;
pub use full::is_without_keys;
pub use full::{MATCHES_EVERYTHING, sniff};
pub use legacy::RocksDbLegacy;
pub use memory::MemoryBalance;
pub use reservation::Reservation;
pub use ribbon::RocksDbRibbon;
pub use sizing::{FilterType, Policy};

use crate::filter::Dialect;
use fullbloom_core::error::{DecodeError, Quantity, SizeError};

/// A type of full filters, which are built from all their keys at once.
pub trait Full: Dialect {
    /// The type, as RocksDB's options name it.
    const KIND: FilterType;
}

impl Full for RocksDbLegacy {
    const KIND: FilterType = FilterType::Legacy;
}

impl Full for RocksDb {
    const KIND: FilterType = FilterType::FastLocal;
}

impl Full for RocksDbRibbon {
    const KIND: FilterType = FilterType::Ribbon;
}

/// Bytes after the data of every full filter.
const TRAILER: usize = 5;

/// Data and trailer of a filter with data; lengths are 32-bit in RocksDB.
fn split(bytes: &[u8]) -> Result<(&[u8], [u8; TRAILER]), DecodeError> {
    let have = bytes.len() as u64;
    if have > u32::MAX.into() {
        let allowed = "below 2^32";
        return Err(DecodeError::Value { field: "length", at: 0, got: have.into(), allowed });
    }
    match bytes.split_last_chunk::<TRAILER>() {
        Some((data, trailer)) if !data.is_empty() => Ok((data, *trailer)),
        // RocksDB reads such short bytes as a filter without keys. Damage must not become a confident no.
        _ => Err(DecodeError::Truncated { field: "trailer", at: 0, need: TRAILER as u64 + 1, have }),
    }
}

/// The trailer must begin with this byte.
fn require_marker(data: &[u8], trailer: [u8; TRAILER], marker: u8) -> Result<(), DecodeError> {
    if trailer[0] == marker {
        return Ok(());
    }
    let allowed = match marker {
        fast_local::MARKER => "255, FastLocalBloom",
        _ => "254, Ribbon",
    };
    let (at, got) = (data.len() as u64, trailer[0].into());
    Err(DecodeError::Value { field: "marker", at, got, allowed })
}

/// A filter that accepts keys needs at least one block.
fn require_keys(keys: u64) -> Result<(), SizeError> {
    if keys == 0 {
        let allowed = "1 or more; RocksDB stores zero bytes for zero keys";
        return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: 0, allowed });
    }
    Ok(())
}
