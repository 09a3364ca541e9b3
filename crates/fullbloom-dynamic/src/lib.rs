//! The kind `dynamic`: a filter that grows, deletes, counts, expires, merges and lists.
//!
//! It keeps a fingerprint of each key: the first bits of its hash. So it can do without the keys what a Bloom
//! filter needs them for. With `n` keys, a lookup of an absent key is wrong with probability `n / 2^bits`:
//! the bits are chosen so that this is the requested rate at the promised number of keys. With fewer keys the
//! rate is lower, with more it is higher; [`expected_fpr`](DynamicFilter::expected_fpr) and
//! [`fpr_with`](DynamicFilter::fpr_with) state it exactly.
//!
//! In the literature this is a *quotient filter* (Bender et al., 2012), divided into cache lines as vector quotient
//! filters are (Pandey et al., 2021): the quotient is a place in the line, the remainder is stored, two bit maps say
//! which remainders belong to which quotient. It grows by *extendible hashing* (Fagin et al., 1979), shard by shard: a
//! shard that splits gives the first bit of its fingerprints to its number, and no bit of a key's hash is lost. So the
//! rate follows the number of keys, where Taffy filters (Apple, 2022) and InfiniFilter (Dayan et al., 2023) give keys
//! fingerprints of different lengths to hold it. Ours are the overflow line that sixteen lines share in place of a
//! second choice of line, the tags (counts, generations), and the file that is answered in place.
//!
//! ```text
//!   options.rs   what is requested              filter.rs    DynamicFilter: single lookups
//!   change.rs    inserts and removes one key    batch.rs     many keys: hash, find positions, insert or remove
//!   bulk.rs      many new keys, in order        lookup.rs    looks up many keys
//!   expiry.rs    generations of keys            merge.rs     lists and merges fingerprints
//!
//!   shards.rs    hash prefix ─► shard, and the position of a key      growth.rs    shards that grow and split
//!   shard.rs     the lines of one shard, and its overflow             pool.rs      the memory of the lines
//!   lines.rs     finds, lists and writes the entries of lines         shape.rs     which line, and how it is divided
//!   slots.rs     one line of 64 bytes
//!   file.rs, convert.rs    the file             flat.rs      a file in place             journal    later keys
//! ```

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod batch;
mod bulk;
mod change;
mod convert;
mod expiry;
mod file;
mod filter;
mod flat;
mod growth;
#[cfg(feature = "std")]
mod journal;
mod lines;
mod lookup;
mod merge;
mod options;
mod pool;
mod shape;
mod shard;
mod shards;
mod slots;
#[cfg(test)]
mod tests;

pub use expiry::Generation;
pub use filter::{DynamicFilter, RemoveError};
#[doc(inline)]
pub use fullbloom_core::{error, keys, native::hashing::KeyHash};
#[cfg(feature = "std")]
pub use journal::{Journal, JournalWriter, read_with_journal};
pub use merge::Fingerprint;
pub use options::{DynamicOptions, Expiry, Keep, Mode};
