//! A key hashed once, for many filters whose dialect is known at run time.

use super::{AnyFilter, AnyKeys, Builder, ChangeError, Inner, either};
use core::fmt;
use fullbloom_core::error::KeysError;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_dialects::Name;

/// The hash of a key, and which filters it belongs to: those of one dialect with one seed or secret. All
/// other filters refuse it, because they would answer "no" for keys that they contain.
///
/// The filters of `rocksdb` and `rocksdb-ribbon` hash keys alike and take each other's hashes: RocksDB itself
/// writes a Bloom filter where a Ribbon filter would not pay off. The native kinds take each other's hashes
/// if their seeds or secrets are the same, except for filters made from the fingerprints of a dynamic filter.
///
/// For bindings, the layout is fixed: four `u64`, of which the last has the dialect's number in its first
/// half in memory. Any bytes of this size are a valid value; zeros belong to no filter.
///
/// ```
/// use fullbloom_any::AnyFilter; use fullbloom_dialects::Name; use fullbloom::sizing::{Request, Target};
///
/// let request = Request { expected_keys: 1000, target: Target::Fpr(0.01) };
/// let mut filters = [AnyFilter::new(Name::Guava, &request)?, AnyFilter::new(Name::Guava, &request)?];
/// let hash = filters[0].hash(b"apple")?;
/// filters[1].insert_hash(&hash)?;
/// assert_eq!((filters[0].may_contain_hash(&hash), filters[1].may_contain_hash(&hash)), (Ok(false), Ok(true)));
/// assert!(AnyFilter::new(Name::Orc, &request)?.may_contain_hash(&hash).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct KeyHash {
    words: [u64; 2],
    by: HashedBy,
}

/// What makes hashes comparable: two filters with the same value take each other's hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct HashedBy {
    /// A seed, or a number that shows whether two secrets are the same and nothing else about them.
    seed: u64,
    dialect: u32,
    variant: u32,
}

impl HashedBy {
    #[inline(always)]
    fn new(dialect: Name, (variant, seed): (u32, u64)) -> HashedBy {
        let dialect = if dialect == Name::RocksDbRibbon { Name::RocksDb } else { dialect };
        HashedBy { seed, dialect: dialect.number().into(), variant }
    }

    fn require(self, hash: &KeyHash) -> Result<(), HashError> {
        if hash.by == self { Ok(()) } else { Err(HashError::between(self, hash.by)) }
    }
}

impl KeyHash {
    #[inline(always)]
    pub(super) fn words(&self) -> [u64; 2] {
        self.words
    }

    /// Whether it belongs to filters of this dialect with this
    /// [`KeyHasher::variant`](fullbloom_core::keys::KeyHasher::variant).
    #[inline(always)]
    pub(super) fn is_by(&self, dialect: Name, variant: (u32, u64)) -> bool {
        self.by == HashedBy::new(dialect, variant)
    }
}

/// Never prints the hash: the hashes of a keyed filter are not for everyone.
impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHash").field("dialect", &named(self.by.dialect)).finish_non_exhaustive()
    }
}

fn named(number: u32) -> Option<Name> {
    Name::ALL.iter().copied().find(|name| u32::from(name.number()) == number)
}

/// Why a filter cannot be asked with a hash, or cannot hash a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashError {
    /// A keyed filter whose secret is not known.
    Locked,
    /// The hash is one of another dialect, or of none.
    Dialect {
        /// The dialect that the filter's own hashes have.
        filter: Name,
        /// The dialect of the hash; `None` if it was not made by a filter.
        hash: Option<Name>,
    },
    /// The hash is one of the same dialect with another seed, another secret or another hash function.
    Hashing(Name),
    /// There is not one place for an answer for each hash.
    Answers(KeysError),
}

impl HashError {
    #[cold]
    fn between(filter: HashedBy, hash: HashedBy) -> HashError {
        match named(filter.dialect) {
            Some(name) if filter.dialect == hash.dialect => HashError::Hashing(name),
            name => HashError::Dialect { filter: name.unwrap_or(Name::Native), hash: named(hash.dialect) },
        }
    }
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HashError::Locked => f.write_str("the filter is keyed and its secret is not known"),
            HashError::Dialect { filter, hash: Some(hash) } => {
                write!(f, "this is a hash for {hash} filters, and the filter needs one for {filter}")
            }
            HashError::Dialect { filter, hash: None } => {
                write!(f, "this is not a hash that a filter made; the filter needs one for {filter}")
            }
            HashError::Answers(error) => error.fmt(f),
            HashError::Hashing(name) => {
                write!(f, "this is a hash for {name} filters with another seed, secret or hash function")
            }
        }
    }
}

impl core::error::Error for HashError {}

impl AnyFilter {
    fn hashed_by(&self) -> HashedBy {
        HashedBy::new(self.dialect(), either!(&self.inner, filter => filter.hash_variant()))
    }

    /// Checks that the hashes are this filter's own.
    fn require_hashes(&self, hashes: &[KeyHash]) -> Result<(), HashError> {
        if self.is_locked() {
            return Err(HashError::Locked);
        }
        let ours = self.hashed_by();
        hashes.iter().try_for_each(|hash| ours.require(hash))
    }

    /// The hash of a key, for this filter and for every other one that hashes keys alike.
    ///
    /// # Errors
    /// [`HashError::Locked`].
    pub fn hash(&self, key: &[u8]) -> Result<KeyHash, HashError> {
        self.require_hashes(&[])?;
        Ok(KeyHash { words: either!(&self.inner, filter => filter.hash(key)), by: self.hashed_by() })
    }

    /// As [`may_contain`](AnyFilter::may_contain), for a key that was hashed before.
    ///
    /// # Errors
    /// If the filter is locked, or hashes keys in another way; it could answer "no" for its own keys.
    pub fn may_contain_hash(&self, hash: &KeyHash) -> Result<bool, HashError> {
        either!(&self.inner, filter => filter.may_contain_hash(hash)).ok_or_else(|| self.refuse(hash))
    }

    #[cold]
    fn refuse(&self, hash: &KeyHash) -> HashError {
        match self.is_locked() {
            true => HashError::Locked,
            false => HashError::between(self.hashed_by(), hash.by),
        }
    }

    /// Looks up many keys that were hashed before. All hashes are checked before the first answer.
    ///
    /// # Errors
    /// As of [`may_contain_hash`](AnyFilter::may_contain_hash); also if the number of places in `answers` is
    /// not the number of hashes. `answers` are then unchanged.
    pub fn may_contain_hashes<'a>(
        &self,
        hashes: &[KeyHash],
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), HashError> {
        let answers = answers.into();
        self.require_hashes(hashes)?;
        answers.require_places(hashes.len()).map_err(HashError::Answers)?;
        either!(&self.inner, filter => filter.may_contain_batch(&AnyKeys::hashes(hashes), answers));
        Ok(())
    }

    /// As [`insert`](AnyFilter::insert), for a key that was hashed before.
    pub fn insert_hash(&mut self, hash: &KeyHash) -> Result<bool, ChangeError> {
        let hashes = core::slice::from_ref(hash);
        self.require_takes_keys()?;
        self.require_hashes(hashes)?;
        let mut new = [false];
        self.add_batch(&AnyKeys::hashes(hashes), Some((&mut new).into()))?;
        Ok(new[0])
    }

    /// Adds many keys that were hashed before, or none if one of the hashes is not the filter's own.
    pub fn insert_hashes(&mut self, hashes: &[KeyHash]) -> Result<(), ChangeError> {
        self.require_takes_keys()?;
        self.require_hashes(hashes)?;
        self.add_batch(&AnyKeys::hashes(hashes), None)
    }
}

impl Builder {
    fn hashed_by(&self) -> HashedBy {
        let (dialect, variant) = self.hash_variant();
        HashedBy::new(dialect, variant)
    }

    /// The hash of a key, as the filter that is being built will hash it.
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash { words: self.hash_words(key), by: self.hashed_by() }
    }

    /// Adds keys that were hashed before, or none if one of the hashes is not the filter's own.
    pub fn add_key_hashes(&mut self, hashes: &[KeyHash]) -> Result<(), HashError> {
        let ours = self.hashed_by();
        hashes.iter().try_for_each(|hash| ours.require(hash))?;
        self.add_batch(AnyKeys::hashes(hashes));
        Ok(())
    }
}
