//! The native filter, for programs that are not bound to an engine's bytes.
//!
//! ```
//! use fullbloom::NativeFilter;
//! use fullbloom::keys::Column;
//!
//! let mut filter = NativeFilter::with_fpr(1_000_000, 0.01)?;
//! filter.insert_batch(&Column(&[1u64, 2, 3]));  // numbers; slices and Arrow buffers work the same way
//! assert!(filter.insert(b"four"));              // true: it was new
//! let path = std::env::temp_dir().join("example.bloom");
//! filter.save(&path)?;                          // replaced atomically, every byte under a checksum
//!
//! let opened = NativeFilter::open(&path)?;      // mapped: ready at once, at any size
//! assert!(opened.may_contain(b"four"));
//! assert!(!opened.may_contain(b"five"));
//! # std::fs::remove_file(path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How keys become bits
//!
//! The array consists of lines. A line is 64 bytes: one cache line, eight words of 64 bits. A key has one
//! line, chosen by its hash, and sets one bit in each of some of the line's words: six of eight at 10 bits
//! per key. So a lookup costs one cache miss, and one vector instruction tests all its bits.
//! `docs/formats/native.md` describes every step.
//!
//! ```text
//!   one line for each key        | line | line | line | ...            about 1 % and above
//!   two or four lines            |  page of 64 lines  |  page  | ...   below: the lines of a key are in one page
//! ```
//!
//! Some lines get more keys than others. The lower the rate, the more false positives this causes. At low
//! rates a key therefore has two or four lines in one page of 4 KiB: most absent keys are still rejected by
//! the first. [`Sizing`] computes the cost of each choice, from the exact distribution of keys over lines,
//! and reports its choice. The measured rate is the rate it promises.
//!
//! | bits per key | lines, probes | rate | relative to the textbook |
//! |---|---|---|---|
//! | 8 | 1, 5 | 2.34 % | x 1.09 |
//! | 10 | 1, 6 | 0.973 % | x 1.19 |
//! | 12 | 1, 7 | 0.419 % | x 1.33 |
//! | 16 | 2, 10 | 0.0552 % | x 1.20 |
//! | 24 | 2, 14 | 1.79·10⁻⁵ | x 1.82 |
//! | 32 | 4, 20 | 3.2·10⁻⁷ | x 1.53 |
//!
//! # Types
//!
//! | type | use |
//! |---|---|
//! | [`NativeFilter`] | insertion and lookup, single or in batches; merge, fold, save; exceptions |
//! | [`SharedFilter`] | the same, with concurrent insertion by many threads |
//! | [`FilterBuilder`] | keys whose number is known at the end: the filter block of a table |
//! | [`Builder`] | builds large filters in parts, on several threads |
//! | [`CompactFilter`], [`CompactBuilder`] | for sets that do not change: built at once, about 30 % smaller |
//! | [`DynamicFilter`] | for an unknown number of keys, deletion and expiry: a fingerprint for each key |
//! | [`SharedDynamicFilter`] | the same, with concurrent insertion by many threads |
//! | [`StoredFilter`] | the contents of a file: any of these |
//! | [`Sizing`] | the layout and size for a request, and why |
//!
//! # Keys from untrusted sources
//!
//! The default hash has a public seed: anyone who knows it can construct keys that collide. With
//! [`Hashing::Secret`] that requires the secret, which is stored in the file only on request.

#[cfg(feature = "std")]
mod build;
mod builder;
mod chunks;
mod compact;
mod dialect;
mod dynamic;
mod exceptions;
mod facts;
mod filter;
mod format;
mod guard;
mod hashing;
#[cfg(feature = "std")]
pub(crate) mod journal;
mod key_type;
mod kind;
mod pipeline;
mod shape;
mod shared;
mod sizing;
pub(crate) mod slices;
mod stored;

#[cfg(feature = "std")]
pub use build::Builder;
pub use builder::FilterBuilder;
pub(crate) use chunks::Chunks;
pub(crate) use compact::Compact;
#[cfg(feature = "std")]
pub use compact::CompactBuilder;
pub use compact::{CompactFilter, CompactPlan};
pub use dialect::Native;
pub(crate) use dynamic::Fingerprint;
#[cfg(feature = "std")]
pub use dynamic::SharedDynamicFilter;
pub use dynamic::{DynamicFilter, DynamicOptions, Expiry, Generation, Keep, Mode, RemoveError};
pub use facts::{Facts, HashFacts, KindFacts};
pub use filter::NativeFilter;
#[cfg(feature = "std")]
pub(crate) use format::MAGIC;
pub use guard::{ExceptError, ExceptionFacts};
pub(crate) use guard::{GoodKeys, Members};
pub use hashing::{Hasher, Hashing, Secret};
#[cfg(feature = "std")]
pub(crate) use journal::{Journal, read_with_journal};
pub use kind::Kind;
pub use shared::SharedFilter;
pub use sizing::{Prefer, Sizing};
pub use stored::{StoredFilter, verify};
