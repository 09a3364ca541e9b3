//! Helpers shared by the tests of every fullbloom crate.
//!
//! | module | contents |
//! |---|---|
//! | [`vectors`] | the golden files under `vectors/` and how to read them |
//! | [`keys`] | keys from fixed seeds: random, sequential, common prefix, and the vectors' own key rules |
//! | [`naive`] | a filter of each classic family, written to be obvious rather than fast |
//! | [`rocksdb`] | RocksDB's reader of full filters, in the same style |
//! | [`stats`] | compares a measured count with the predicted rate |
//! | [`damage`] | every truncation and every changed byte of a small file |
//! | [`forge`] | forged keys with a given hash |
//! | [`alloc`] | an allocator that records the peak and can fail |
//! | [`process`] | tests that need a separate process |
//! | [`steps`] | walks over many points, of which `cargo test` takes a part |
//!
//! None of these modules uses the `fullbloom` crate: an oracle that shares code with what it judges judges
//! nothing.

pub mod alloc;
pub mod damage;
pub mod forge;
mod hex;
pub mod keys;
pub mod naive;
pub mod process;
pub mod rocksdb;
pub mod stats;
pub mod steps;
pub mod vectors;

pub use hex::{from_hex, to_hex};

/// The Rust code of `docs/tour.md` is run with the documentation tests. It is here, and not in `fullbloom`,
/// because the published crate has no `docs/`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
struct Tour;

/// Runs the examples of `docs/adopting.md` as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adopting.md")]
struct Adopting;

/// SHA-256 as lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use sha2::Digest;
    to_hex(&sha2::Sha256::digest(bytes))
}
