//! Bloom filters for storage engines: a fast native filter, and the filters of Cassandra, RocksDB, LevelDB,
//! libbloom and others, bit for bit.
//!
//! ```
//! use fullbloom::NativeFilter;
//!
//! let mut filter = NativeFilter::with_fpr(1_000_000, 0.01)?; // a million keys, one false positive in a hundred
//! filter.insert("alice");
//! assert!(filter.may_contain("alice"));    // never a false negative
//! assert!(!filter.may_contain("mallory"));
//! # let names = tempfile::NamedTempFile::new()?;
//! # let path = names.path();
//! filter.save(path)?;                                      // the file is replaced atomically
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A Bloom filter answers "is this key in the set?" with a certain *no* or a probable *yes*, in about ten
//! bits per key at a false-positive rate of 1 %.
//!
//! # Which type to use
//!
//! | you have | use |
//! |---|---|
//! | a set of keys, and no other system's format to follow | [`NativeFilter`]: usually one cache line per lookup |
//! | keys whose number is known only at the end, for the filter block of a table | [`FilterBuilder`] |
//! | many keys at once: slices, numbers, Arrow columns, hashes | [`Filter::may_contain_batch`], [`Filter::insert_batch`] with [`keys`] |
//! | a set that does not change, and little space | [`native::CompactFilter`]: about 30 % smaller |
//! | an unknown number of keys, deletion, expiry | [`native::DynamicFilter`] |
//! | many threads that insert | [`native::SharedFilter`]; for an unknown number of keys `native::SharedDynamicFilter` |
//! | 10⁸ keys and more to build from | [`native::Builder`]: in parts, on several threads |
//! | bytes in a block cache, in `Bytes`, in a mapping | [`Filter::over`]; for engines [`Filter::read`], which never fails |
//! | one key and many filters | [`Filter::hash`] once, then [`Filter::may_contain_hash`] |
//! | the filter of another system | [`Filter`]`<D>` with a type of [`dialect`], such as `Filter<Cassandra>` |
//! | a dialect known only at run time | [`any::AnyFilter`] |
//! | keys from untrusted sources | a native filter with a [secret](native::Hashing::Secret) |
//! | known-good keys that must never match | [`Filter::with_exceptions`] |
//!
//! # In a storage engine
//!
//! A table's filter is built from its keys, stored in a block, and read from the block cache without a copy:
//!
//! ```
//! use fullbloom::{FilterBuilder, NativeFilter};
//!
//! let mut builder = FilterBuilder::with_bits_per_key(10.0);
//! for key in ["apple", "pear", "plum"] {
//!     builder.add(key);
//! }
//! let block = builder.finish()?;                          // store these bytes in the table
//!
//! let filter = NativeFilter::read(block.as_slice());      // or Bytes, Arc<[u8]>, …; never fails
//! assert!(filter.may_contain("pear"));
//! # Ok::<(), fullbloom::SizeError>(())
//! ```
//!
//! [`Filter::read`] answers "maybe" to every key if it cannot decode the bytes. It does not compare the bits
//! with their checksums: engines have a checksum for each block. Without one, call [`Filter::verify`] once
//! per block, or use [`Filter::decode`]. The bytes of the native filter are stable, and the same on every
//! machine. Lookups take `&self` and may run on many threads.
//!
//! # Other systems' filters
//!
//! Every engine has its own filter: its own sizing rule, key hash, probe positions and bytes. This crate
//! implements them exactly, quirks included; each is a [`dialect`]. Bytes written here are the bytes the
//! system itself writes, and answers are its answers.
//!
//! ```
//! use fullbloom::{Filter, dialect::RocksDb};
//!
//! let keys = ["apple", "pear", "plum"];
//! let mut filter = Filter::<RocksDb>::with_bits_per_key(keys.len() as u64, 10.0)?;
//! filter.insert_batch(&keys);
//! let block = filter.encode();                       // RocksDB's bytes
//! let view = Filter::<RocksDb>::view(&block)?;       // reads borrowed bytes in place, without a copy
//! assert!(view.may_contain(b"pear"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every decoder is strict, and its error names the wrong field. Nothing here panics on bytes from outside.
//! [`examples`] has one example for each dialect.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `std` | yes | files, detection of the dialect by a file's name, building on several threads, kernels chosen by CPU features |
//! | `mmap` | yes | files mapped into memory |
//! | `huge-pages` | no | large arrays in huge pages, by `madvise` on Linux |
//! | `kernel-variable` | no | the environment variable `FULLBLOOM_KERNEL` forces a [`kernel`] |
//!
//! Without `std` the crate needs `alloc` only.
//!
//! # Keys from untrusted sources
//!
//! The hashes of the other systems' dialects are public and unseeded: anyone who may choose keys can
//! construct keys that the filter reports present, or fill it. This is a property of their formats. The
//! native filter can use a secret instead.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod any;
mod bits;
mod checksum;
#[cfg(feature = "std")]
mod claim;
pub mod dialect;
pub mod error;
#[cfg(feature = "std")]
pub mod file;
pub mod filter;
pub mod hash;
#[doc(hidden)]
pub mod internal;
pub mod kernel;
pub mod keys;
mod memory;
pub mod native;
mod probe;
#[cfg(feature = "std")]
mod replace;
pub mod sizing;
#[cfg(feature = "std")]
mod sniff;
#[cfg(feature = "std")]
mod threads;
pub mod typed;
mod wire;

pub use bits::Owned;
#[cfg(feature = "std")]
pub use error::FileError;
pub use error::{DecodeError, MergeError, SizeError};
pub use filter::{Filter, View};
pub use kernel::pipeline::Answers;
pub use native::{FilterBuilder, NativeFilter};

#[cfg(doc)]
#[doc = include_str!("examples.md")]
pub mod examples {}

/// Prevents other crates from implementing the traits.
mod sealed {
    /// Implemented only in this crate.
    pub trait Sealed {}

    /// The hash of a key as two words, for code that learns the dialect at run time.
    pub trait Words: Sized {
        /// The words; the second one is 0 for a hash of one word.
        fn to_words(self) -> [u64; 2];

        /// The inverse of [`to_words`](Words::to_words). Bits that the hash does not have are ignored.
        fn from_words(words: [u64; 2]) -> Self;
    }

    macro_rules! words {
        ($($Int:ty)*) => {
            $(impl Words for $Int {
                #[inline(always)]
                fn to_words(self) -> [u64; 2] {
                    [self as u64, 0]
                }

                #[inline(always)]
                fn from_words(words: [u64; 2]) -> Self {
                    words[0] as $Int
                }
            }

            impl Words for [$Int; 2] {
                #[inline(always)]
                fn to_words(self) -> [u64; 2] {
                    self.map(|word| word as u64)
                }

                #[inline(always)]
                fn from_words(words: [u64; 2]) -> Self {
                    words.map(|word| word as $Int)
                }
            })*
        };
    }

    words! { u64 u32 i32 }
}

/// The code of the examples is run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("examples.md")]
struct Examples;
