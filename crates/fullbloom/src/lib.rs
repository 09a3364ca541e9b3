//! A fast Bloom filter for storage engines.
//!
//! ```
//! use fullbloom::Filter;
//!
//! let mut filter = Filter::with_fpr(1_000_000, 0.01)?; // a million keys, one false positive in a hundred
//! filter.insert("alice");
//! assert!(filter.may_contain("alice"));    // never a false negative
//! assert!(!filter.may_contain("mallory"));
//! # let names = tempfile::NamedTempFile::new()?;
//! # let path = names.path();
//! filter.save(path)?;                      // the file is replaced atomically
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A Bloom filter answers "is this key in the set?" with a certain *no* or a probable *yes*, in about ten
//! bits per key at a false-positive rate of 1 %.
//!
//! # In a storage engine
//!
//! A table's filter is built from its keys, stored in a block, and read from the block cache without a copy:
//!
//! ```
//! use fullbloom::{FilterBuilder, FilterRef};
//!
//! let mut builder = FilterBuilder::with_bits_per_key(10.0);
//! for key in ["apple", "pear", "plum"] {
//!     builder.add(key);
//! }
//! let block = builder.finish()?;                      // store these bytes in the table
//!
//! let filter = FilterRef::read(block.as_slice());     // or Bytes, Arc<[u8]>, ...; never fails
//! assert!(filter.may_contain("pear"));
//! # Ok::<(), fullbloom::BuildError>(())
//! ```
//!
//! The bytes are stable, and the same on every machine. Lookups take `&self` and may run on many threads.
//!
//! # Which type to use
//!
//! | you have | use |
//! |---|---|
//! | a set of keys | [`Filter`]: usually one cache line per lookup |
//! | keys whose number is known only at the end, for the filter block of a table | [`FilterBuilder`] |
//! | the bytes of a filter in a block cache, in `Bytes`, in a mapping | [`FilterRef`] |
//! | many keys at once: slices, numbers, Arrow columns, hashes | [`Filter::may_contain_batch`], [`Filter::insert_batch`] with [`keys`] |
//! | many threads that insert | [`SharedFilter`] |
//! | one key and many filters | [`FilterSet`]; or [`Filter::hash`] once, then [`Filter::may_contain_hash`] |
//! | 10⁸ keys and more to build from | [`bulk::Builder`]: in parts, on several threads |
//! | keys from untrusted sources | a [secret](Hashing::Secret) |
//! | known-good keys that must never match | [`Filter::with_exceptions`] |
//! | a set that does not change, and little space | the crate `fullbloom-compact` |
//! | an unknown number of keys, deletion, expiry | the crate `fullbloom-dynamic` |
//! | the filter of Cassandra, RocksDB, LevelDB, Parquet, libbloom, ... | the crate `fullbloom-dialects` |
//! | a filter whose kind is known only at run time | the crate `fullbloom-any` |
//!
//! # How keys become bits
//!
//! The array consists of lines. A line is 64 bytes: one cache line, eight lanes of 64 bits. A key has one
//! line, chosen by its hash, and sets one bit in each of some of the line's lanes: six of eight at 10 bits
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
//! the first. [`Sizing`](sizing::Sizing) computes the cost of each choice, from the exact distribution of
//! keys over lines, and reports its choice. The measured rate is the rate it promises.
//!
//! | bits per key | lines, probes | rate | relative to the textbook |
//! |---|---|---|---|
//! | 8 | 1, 5 | 2.34 % | x 1.09 |
//! | 10 | 1, 6 | 0.973 % | x 1.19 |
//! | 12 | 1, 8 | 0.422 % | x 1.34 |
//! | 16 | 2, 10 | 0.0552 % | x 1.20 |
//! | 24 | 2, 14 | 1.79·10⁻⁵ | x 1.82 |
//! | 32 | 4, 20 | 3.2·10⁻⁷ | x 1.53 |
//!
//! In the literature this is a *blocked Bloom filter* (Putze, Sanders and Singler, 2007) whose block is a cache line,
//! divided into lanes as in the *split block* filters of Impala and Parquet (after Polychroniou and Ross, 2014): one
//! bit in each lane, all of them by vector instructions. Ours are the lanes of two words, which make one vector of a
//! line's half, the cyclic run of lanes for fewer than eight bits, and the choice of one, two or four lines for each
//! key from the exact rate. Exceptions are a *filter cascade* (Salikhov, Sacomoto and Kucherov, 2014; CRLite, 2017).
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `std` | yes | files, building on several threads, kernels chosen by CPU features |
//! | `mmap` | yes | files mapped into memory |
//! | `huge-pages` | no | large arrays in huge pages, by `madvise` on Linux |
//! | `serde` | no | `Serialize` and `Deserialize` for [`Filter`]: its encoded bytes |
//! | `libm` | no | arithmetic for builds without `std` |
//! | `kernel-variable` | no | the environment variable `FULLBLOOM_KERNEL` forces a kernel |
//!
//! Without `std` the crate needs `alloc`, and the feature `libm`.
//!
//! # Keys from untrusted sources
//!
//! The default hash has a public seed: anyone who knows it can construct keys that collide. With
//! [`Hashing::Secret`] that requires the secret, which is stored in the file only on request.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
mod build;
mod builder;
#[cfg(feature = "std")]
mod file;
mod filter;
mod filter_ref;
mod filter_set;
mod native;
mod pipeline;
#[cfg(feature = "serde")]
mod serde;
mod shared;
#[cfg(all(test, feature = "std"))]
mod tests;

pub use builder::FilterBuilder;
pub use filter::Filter;
pub use filter_ref::FilterRef;
pub use filter_set::FilterSet;
#[cfg(feature = "std")]
pub use fullbloom_core::error::FileError;
pub use fullbloom_core::error::{BuildError, DecodeError, SizeError};
pub use fullbloom_core::native::hashing::{Hashing, KeyHash, Secret};
pub use shared::SharedFilter;

/// What can go wrong.
pub mod error {
    pub use fullbloom_core::error::{
        BuildError, BuildOption, DecodeError, InsertError, KeysError, MergeError, Quantity, SizeError,
    };
    #[cfg(feature = "std")]
    pub use fullbloom_core::error::{FileCause, FileError};
}

/// Keys, one or many, in the forms in which programs hold them.
pub mod keys {
    pub use fullbloom_core::kernel::pipeline::Answers;
    #[doc(inline)]
    pub use fullbloom_core::keys::{
        ArrowError, Column, Hashes, Key, KeyHasher, Keys, Nullable, Offset, Offsets, Views,
    };
    pub use fullbloom_core::native::hashing::Hasher;
}

/// Building a large filter from many batches of keys, on several threads.
#[cfg(feature = "std")]
pub mod bulk {
    pub use crate::build::Builder;
}

/// Known-good keys that never match; see [`Filter::with_exceptions`].
pub mod exceptions {
    pub use fullbloom_core::native::guard::{ExceptError, ExceptionFacts};
}

/// The memory of a filter: its own, a part of the caller's, a mapped file.
pub mod storage {
    pub use fullbloom_core::bits::Owned;
    pub use fullbloom_core::part::Part;
    #[cfg(feature = "mmap")]
    pub use fullbloom_files::Mapped;
}

/// The CPU-specific bodies of the operations on lines, one of which can be forced.
#[cfg(feature = "kernel-variable")]
pub mod kernel {
    pub use fullbloom_core::kernel::VARIABLE;
    pub use fullbloom_core::kernel::{Kernel, KernelError};
}

/// Sizing arithmetic, without any bits: requests, layouts and expected rates.
pub mod sizing {
    pub use fullbloom_core::native::sizing::{Prefer, Sizing};
    pub use fullbloom_core::sizing::{Geometry, Layout, Request, Target, classic_fpr, estimated_keys};
}

/// The types of keys that a filter can record.
pub mod typed {
    pub use fullbloom_core::typed::{KeyType, TypeError};
}
