//! The run-time filter: any dialect, any native kind, as one value. For commands, bindings and tools.
//!
//! ```
//! use fullbloom_any::{AnyFilter, Builder};
//! use fullbloom_dialects::Name;
//! use fullbloom::sizing::{Request, Target};
//!
//! let request = Request { expected_keys: 3, target: Target::BitsPerKey(10.0) };
//! let mut builder = Builder::new(Name::LevelDb, &request)?;
//! for key in ["apple", "pear", "plum"] {
//!     builder.add(key.as_bytes());
//! }
//! let filter = builder.build()?;
//! assert!(filter.may_contain(b"pear"));
//!
//! let read = AnyFilter::decode(&filter.encode(), &Name::LevelDb.into())?;
//! assert!(read.may_contain(b"plum"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `lib.rs` | [`AnyFilter`]: the verbs of [`Filter`](fullbloom_dialects::Filter) |
//! | `erased.rs` | the filter of one dialect behind it |
//! | `stored.rs`, `native.rs` | the native kinds behind it: [`StoredFilter`] |
//! | `header.rs` | what the header of a native filter says |
//! | `storage.rs` | the bytes under both: owned, or [`SharedBytes`] |
//! | `read.rs` | filters from bytes and files: [`ReadOptions`] |
//! | `build.rs` | [`Builder`]: filters from keys, with [`BuildOptions`]; exceptions |
//! | `hash.rs` | [`KeyHash`]: a key hashed once for many filters |
//! | `keys.rs` | [`AnyKeys`]: a batch whose form is known at run time |
//! | `plan.rs` | [`plan`], [`plan_within`]: the filter that a request leads to |
//! | `convert.rs` | [`convert`]: conversion between dialects, without keys |

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod build;
mod convert;
mod dispatch;
mod erased;
mod facts;
mod hash;
mod header;
mod keys;
mod kind;
mod native;
mod plan;
mod read;
pub mod slices;
#[cfg(feature = "std")]
pub mod sniff;
mod storage;
mod stored;

pub use build::{BuildOptions, Builder, GoodKeys, Members, probes_for};
pub use convert::{ConvertError, convert};
pub use facts::{Facts, HashFacts, KindFacts};
pub use hash::{HashError, KeyHash};
pub use keys::AnyKeys;
pub use kind::Kind;
pub use plan::{Plan, plan, plan_within, target_within};
pub use read::ReadOptions;
pub use storage::{SharedBytes, Storage};
#[cfg(feature = "std")]
pub use stored::to_compact;
pub use stored::{StoredFilter, verify};

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use erased::Erased;
use fullbloom_core::error::{InsertError, KeysError, MergeError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::native::chunks::Chunks;
use fullbloom_core::part::Part;
use fullbloom_core::sizing::{Geometry, Request};
use fullbloom_core::typed::{KeyType, TypeError, Value};
use fullbloom_core::wire::{Output, Stop};
use fullbloom_dialects::Name;
use fullbloom_dialects::filter::{Doubt, Weakness};

/// A filter of any dialect or native kind, with its memory, its secret and the type of its keys.
///
/// A command, a C library or a Python package holds this type. Programs that know their dialect use
/// [`Filter`](fullbloom_dialects::Filter), which is the same without the dispatch.
pub struct AnyFilter {
    inner: Inner,
    key_type: KeyType,
    /// `None` if all of the file was compared with its checksums when it was read.
    unchecked: Option<Box<Unchecked>>,
}

/// A native file that is read in place, and its chunks that have not been compared with their checksums.
struct Unchecked {
    file: Part<SharedBytes>,
    chunks: Chunks,
}

/// The one level between an [`AnyFilter`] and the filter of its dialect or kind.
enum Inner {
    Dialect(Box<dyn Erased>),
    Native(Box<StoredFilter>),
}

/// Evaluates the same expression over the filter of a dialect and over a native one.
macro_rules! either {
    ($inner:expr, $filter:ident => $body:expr) => {
        match $inner {
            Inner::Dialect($filter) => $body,
            Inner::Native($filter) => $body,
        }
    };
}
pub(crate) use either;

impl fmt::Debug for AnyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyFilter")
            .field("dialect", &self.dialect())
            .field("geometry", &self.geometry())
            .finish_non_exhaustive()
    }
}

/// Why the keys of a filter cannot be changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChangeError {
    /// It does not own its bytes: they are a mapped file or the caller's memory.
    ReadOnly,
    /// A keyed filter whose secret is not known.
    Locked,
    /// It has exceptions, which are valid only for its current keys.
    Exceptions,
    /// Filters of this dialect, or of this native kind, are built from all their keys at once.
    BuiltAtOnce(&'static str),
    /// Filters of this kind do not support it.
    Unsupported(&'static str),
    /// The hash is not one of this filter.
    Hash(HashError),
    /// The keys do not fit the filter.
    Keys(KeysError),
    /// There is not enough memory to grow.
    Size(SizeError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::ReadOnly => f.write_str(READ_ONLY),
            ChangeError::Locked => f.write_str("the filter is keyed and its secret is not known"),
            ChangeError::Exceptions => f.write_str("a filter with exceptions takes no more keys"),
            ChangeError::BuiltAtOnce(what) => write!(f, "a {what} filter takes no more keys: {AT_ONCE}"),
            ChangeError::Unsupported(what) => f.write_str(what),
            ChangeError::Hash(e) => e.fmt(f),
            ChangeError::Keys(e) => e.fmt(f),
            ChangeError::Size(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for ChangeError {}

/// Why nothing can be merged into a filter that does not own its bytes.
const READ_ONLY: &str = "the filter is read-only: it does not own its bytes";

/// Why a filter of another dialect takes no secret.
const NO_SECRET: &str = "only native filters have a secret";

/// Why a filter that has been built cannot be changed.
const AT_ONCE: &str = "it is built from all its keys at once";

impl From<HashError> for ChangeError {
    /// A locked filter is the same error for a hash as for a key.
    fn from(e: HashError) -> Self {
        match e {
            HashError::Locked => ChangeError::Locked,
            other => ChangeError::Hash(other),
        }
    }
}

impl From<InsertError> for ChangeError {
    fn from(e: InsertError) -> Self {
        match e {
            InsertError::Keys(e) => ChangeError::Keys(e),
            InsertError::Size(e) => ChangeError::Size(e),
            _ => ChangeError::Locked,
        }
    }
}

impl From<KeysError> for ChangeError {
    fn from(e: KeysError) -> Self {
        ChangeError::Keys(e)
    }
}

impl From<SizeError> for ChangeError {
    fn from(e: SizeError) -> Self {
        ChangeError::Size(e)
    }
}

/// What the bits of a filter show; see [`AnyFilter::occupancy`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Number of set bits.
    pub set_bits: u64,
    /// Share of bits set; 0 for an array without bits.
    pub fill: f64,
    /// The number of distinct keys, estimated from the bits; `None` when it cannot be estimated.
    pub estimated_keys: Option<f64>,
    /// The expected rate.
    pub expected_fpr: f64,
}

fn fill(set_bits: u64, bit_len: u64) -> f64 {
    if bit_len == 0 { 0.0 } else { set_bits as f64 / bit_len as f64 }
}

/// A native filter of any kind.
impl<F: Into<StoredFilter>> From<F> for AnyFilter {
    fn from(filter: F) -> AnyFilter {
        let stored = filter.into();
        let key_type = stored.head().key_type.unwrap_or(KeyType::Bytes);
        AnyFilter { inner: Inner::Native(Box::new(stored)), key_type, unchecked: None }
    }
}

impl AnyFilter {
    fn from_dialect(filter: Box<dyn Erased>) -> AnyFilter {
        AnyFilter { inner: Inner::Dialect(filter), key_type: KeyType::Bytes, unchecked: None }
    }

    /// An empty filter for this request that accepts keys at any time.
    ///
    /// # Errors
    /// When the size is refused; and [`SizeError::Unsupported`] for RocksDB's full filters, which a
    /// [`Builder`] builds from all their keys at once.
    ///
    /// ```
    /// use fullbloom_any::AnyFilter; use fullbloom_dialects::Name; use fullbloom::sizing::{Request, Target};
    ///
    /// let request = Request { expected_keys: 1000, target: Target::Fpr(0.01) };
    /// let mut one = AnyFilter::new(Name::Cassandra, &request)?;
    /// let mut two = AnyFilter::new(Name::Cassandra, &request)?;
    /// assert!(one.insert(b"apple")? && two.insert(b"pear")?);
    /// one.merge(&two)?;
    /// assert!(one.may_contain(b"pear"));
    /// assert!(AnyFilter::new(Name::RocksDb, &request).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(dialect: Name, request: &Request) -> Result<AnyFilter, SizeError> {
        build::empty(dialect, request)
    }

    /// The dialect.
    pub fn dialect(&self) -> Name {
        either!(&self.inner, filter => filter.name())
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        either!(&self.inner, filter => filter.geometry())
    }

    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        either!(&self.inner, filter => filter.may_contain(key))
    }

    /// As [`may_contain`](AnyFilter::may_contain), for a typed key, as the dialect's system hashes it.
    pub fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        self.require_key_type(value.key_type())?;
        either!(&self.inner, filter => filter.may_contain_value(value))
    }

    /// Looks up many keys.
    pub fn may_contain_batch<'k>(&self, keys: impl Into<AnyKeys<'k>>) -> Vec<bool> {
        let keys = keys.into();
        let mut answers = vec![false; keys.count()];
        either!(&self.inner, filter => filter.may_contain_batch(&keys, (&mut answers).into()));
        answers
    }

    /// As [`may_contain_batch`](AnyFilter::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// If the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch_into<'k, 'a>(
        &self,
        keys: impl Into<AnyKeys<'k>>,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        let (keys, answers) = (keys.into(), answers.into());
        answers.require_places(keys.count())?;
        either!(&self.inner, filter => filter.may_contain_batch(&keys, answers));
        Ok(())
    }

    /// Whether it owns its memory. If not, it reads a mapped file or the caller's bytes and cannot be
    /// changed.
    pub fn is_owned(&self) -> bool {
        either!(&self.inner, filter => filter.is_owned())
    }

    /// Checks that keys can be inserted; the error says why not.
    pub fn require_takes_keys(&self) -> Result<(), ChangeError> {
        either!(&self.inner, filter => filter.require_takes_keys())
    }

    /// Adds a key. Returns true if it was certainly not present before.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, ChangeError> {
        either!(&mut self.inner, filter => filter.insert(key))
    }

    /// Adds many keys.
    pub fn insert_batch<'k>(&mut self, keys: impl Into<AnyKeys<'k>>) -> Result<(), ChangeError> {
        self.add_batch(&keys.into(), None)
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not
    /// new.
    ///
    /// # Errors
    /// Also if the number of places in `new` is not the number of keys.
    pub fn insert_batch_new<'k, 'a>(
        &mut self,
        keys: impl Into<AnyKeys<'k>>,
        new: impl Into<Answers<'a>>,
    ) -> Result<(), ChangeError> {
        let (keys, new) = (keys.into(), new.into());
        new.require_places(keys.count())?;
        self.add_batch(&keys, Some(new))
    }

    fn add_batch(&mut self, keys: &AnyKeys<'_>, new: Option<Answers<'_>>) -> Result<(), ChangeError> {
        either!(&mut self.inner, filter => filter.insert_batch(keys, new))
    }

    /// As [`insert_batch`](AnyFilter::insert_batch), on `threads` threads where that helps; 0 means one per
    /// core.
    #[cfg(feature = "std")]
    pub fn insert_parallel<'k>(
        &mut self,
        keys: impl Into<AnyKeys<'k>>,
        threads: usize,
    ) -> Result<(), ChangeError> {
        match self.as_native_mut() {
            Some(StoredFilter::Fast(filter)) => Ok(filter.insert_parallel(&keys.into(), threads)?),
            _ => self.add_batch(&keys.into(), None),
        }
    }

    /// Removes many keys, in order, and reports for each whether it was present. Only filters that support
    /// deletion do so. Removing a key that was never inserted makes the inserted key with the same
    /// fingerprint look absent, and no others.
    ///
    /// # Errors
    /// Also if the number of places in `removed` is not the number of keys.
    pub fn remove_batch<'k, 'a>(
        &mut self,
        keys: impl Into<AnyKeys<'k>>,
        removed: impl Into<Answers<'a>>,
    ) -> Result<(), ChangeError> {
        let (keys, removed) = (keys.into(), removed.into());
        removed.require_places(keys.count())?;
        match self.as_native_mut() {
            Some(stored) => stored.remove_batch(&keys, removed),
            None => Err(ChangeError::Unsupported(native::NOT_DELETABLE)),
        }
    }

    /// Removes all keys. What remains is a new filter of the same shape, with the same hash function, label
    /// and key type.
    ///
    /// # Errors
    /// As of [`insert_batch`](AnyFilter::insert_batch): the filter takes no keys, or there is not enough memory.
    pub fn clear(&mut self) -> Result<(), ChangeError> {
        either!(&mut self.inner, filter => filter.clear())
    }

    /// Adds all keys of another filter of the same dialect, kind and shape.
    pub fn merge(&mut self, other: &AnyFilter) -> Result<(), MergeError> {
        match (&mut self.inner, &other.inner) {
            (Inner::Dialect(ours), Inner::Dialect(theirs)) => ours.merge(&**theirs),
            (Inner::Native(ours), Inner::Native(theirs)) => ours.merge(theirs),
            _ => Err(self.differs(other)),
        }
    }

    /// Keeps only the keys that another filter of the same dialect and shape may contain too.
    pub fn intersect(&mut self, other: &AnyFilter) -> Result<(), MergeError> {
        match (&mut self.inner, &other.inner) {
            (Inner::Dialect(ours), Inner::Dialect(theirs)) => ours.intersect(&**theirs),
            (Inner::Native(ours), Inner::Native(theirs)) => ours.intersect(theirs),
            _ => Err(self.differs(other)),
        }
    }

    fn differs(&self, other: &AnyFilter) -> MergeError {
        erased::differs(self.dialect(), other.dialect())
    }

    /// Length of the encoded filter in bytes. For `java-lsm`, which drops trailing zeros, the maximum length.
    pub fn encoded_len(&self) -> u64 {
        either!(&self.inner, filter => filter.encoded_len())
    }

    /// The bytes of the array; empty for filters of several arrays.
    pub fn bits(&self) -> &[u8] {
        either!(&self.inner, filter => filter.bits())
    }

    /// The bits that a lookup of this key tests, in the order of the probes, as positions in
    /// [`bits`](AnyFilter::bits): position `p` is bit `p % 8` of byte `p / 8`. `None` where a lookup is not a
    /// test of single bits: Ribbon filters, filters of several parts, keyed filters whose secret is not
    /// known.
    pub fn probes_of(&self, key: &[u8]) -> Option<Vec<u64>> {
        either!(&self.inner, filter => filter.probes_of(key))
    }

    /// Number of set bits. Reads the whole array, as do the next three methods.
    pub fn count_ones(&self) -> u64 {
        either!(&self.inner, filter => filter.count_ones())
    }

    /// Share of bits set; 0 for an array without bits.
    pub fn fill(&self) -> f64 {
        fill(self.count_ones(), self.geometry().bit_len)
    }

    /// What the bits show: how many are set, the keys and the rate that follow. Reads the array once, except
    /// where a dialect's rate is measured by lookups.
    pub fn occupancy(&self) -> Occupancy {
        let (set_bits, estimated_keys, expected_fpr) = either!(&self.inner, filter => filter.occupancy());
        Occupancy { set_bits, fill: fill(set_bits, self.geometry().bit_len), estimated_keys, expected_fpr }
    }

    /// The expected rate of the filter in its current state.
    pub fn expected_fpr(&self) -> f64 {
        either!(&self.inner, filter => filter.expected_fpr())
    }

    /// The number of distinct keys, estimated from the bits; `None` when it cannot be estimated.
    pub fn estimated_keys(&self) -> Option<f64> {
        either!(&self.inner, filter => filter.estimated_keys())
    }

    /// An inconsistency in the decoded fields that the system would not have written, although the filter can
    /// answer.
    pub fn doubt(&self) -> Option<Doubt> {
        match &self.inner {
            Inner::Dialect(filter) => filter.doubt(),
            Inner::Native(_) => None,
        }
    }

    /// A known case in which the format misses the rate it promises.
    pub fn weakness(&self) -> Option<Weakness> {
        match &self.inner {
            Inner::Dialect(filter) => filter.weakness(),
            Inner::Native(_) => None,
        }
    }

    /// The encoded filter, in the bytes its system writes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.encoded_len()).unwrap_or(0));
        let written = self.encode_to(&mut bytes);
        debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
        bytes
    }

    /// Writes the encoded filter without copying it first.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        fullbloom_core::wire::write_with(out, |out| self.encode_to(out))
    }

    fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        either!(&self.inner, filter => filter.encode(out))
    }

    /// Saves the encoded filter. The file is replaced atomically; a new file with a secret is readable by its
    /// owner only.
    #[cfg(feature = "std")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), fullbloom_core::error::FileError> {
        fullbloom_files::save(path.as_ref(), self.stores_secret(), |out| self.write_to(out))
    }

    /// A copy that owns its bits, and accepts keys if filters of this kind do.
    pub fn try_clone(&self) -> Result<AnyFilter, SizeError> {
        let inner = match &self.inner {
            Inner::Dialect(filter) => Inner::Dialect(filter.try_clone()?),
            Inner::Native(stored) => Inner::Native(Box::new(stored.try_clone()?)),
        };
        Ok(AnyFilter { inner, key_type: self.key_type, unchecked: None })
    }
}

#[cfg(test)]
mod tests;
