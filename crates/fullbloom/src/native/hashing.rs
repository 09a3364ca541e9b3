//! How a native filter hashes keys: with a public seed, or with a secret.

use super::keys::Keys;
use crate::hash::{Fold64, siphash13};
use std::fmt;

/// What makes the hash of one filter differ from that of another.
///
/// A seed is written into the file and resists chance, not people: whoever knows it can make keys that the filter
/// calls present. A [`Secret`] resists people too, for about five times the hashing time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hashing {
    /// [`fold64`](crate::hash::fold64) with this seed.
    Seed(u64),
    /// [`siphash13`] with this secret.
    Secret(Secret),
}

impl Default for Hashing {
    fn default() -> Self {
        Hashing::Seed(0)
    }
}

impl Hashing {
    /// The hashes of many keys, as a filter with this seed or secret makes them: for keys that are hashed before there
    /// is a filter, because their number is not yet known.
    ///
    /// ```
    /// use fullbloom::native::{Hashes, Hashing, NativeFilter};
    ///
    /// let keys = ["alice", "bob"];
    /// let mut hashes = [0; 2];
    /// Hashing::default().hash_batch(keys.as_slice(), &mut hashes);
    /// let mut filter = NativeFilter::with_fpr(hashes.len() as u64, 0.01)?;
    /// filter.insert_batch(&Hashes(&hashes));
    /// assert!(filter.may_contain(b"alice"));
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    ///
    /// # Panics
    /// If `hashes` is not as long as there are keys.
    pub fn hash_batch<K: Keys + ?Sized>(&self, keys: &K, hashes: &mut [u64]) {
        assert_eq!(keys.count(), hashes.len(), "one hash for each key");
        keys.hash_into(&Hasher::new(self), 0, hashes);
    }
}

/// 128 bits that nobody else may know, for filters that must not be fooled by chosen keys.
///
/// Not written into the filter's file unless asked; see [`NativeFilter::store_secret`](super::NativeFilter::store_secret).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// A secret from bytes that are hard to guess: from the system's random source, or a key-derivation function.
    pub fn new(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// A number that tells whether a secret is the one a filter was made with, and nothing else about it.
    pub(super) fn check(&self) -> u64 {
        siphash13(b"fullbloom native: is this the secret?", &self.derived(1))
    }

    /// The key of another purpose; without the secret it tells nothing about the others.
    fn derived(&self, purpose: u8) -> [u8; 16] {
        let mut derived = [0; 16];
        let (low, high) = derived.split_at_mut(8);
        low.copy_from_slice(&siphash13(&[purpose, 0], &self.0).to_le_bytes());
        high.copy_from_slice(&siphash13(&[purpose, 1], &self.0).to_le_bytes());
        derived
    }
}

/// Never prints the bytes.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The hash of a filter, made ready.
#[derive(Clone)]
pub enum Hasher {
    Fold(Fold64),
    Sip([u8; 16]),
}

impl Hasher {
    /// The hash that places keys.
    pub(super) fn new(hashing: &Hashing) -> Hasher {
        match hashing {
            Hashing::Seed(seed) => Hasher::Fold(Fold64::new(*seed)),
            Hashing::Secret(secret) => Hasher::Sip(secret.0),
        }
    }

    /// A second hash, independent of the first, for the exceptions.
    pub(super) fn for_exceptions(hashing: &Hashing) -> Hasher {
        match hashing {
            Hashing::Seed(seed) => Hasher::Fold(Fold64::new(!seed)),
            Hashing::Secret(secret) => Hasher::Sip(secret.derived(2)),
        }
    }

    #[inline(always)]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        match self {
            Hasher::Fold(fold) => fold.hash(key),
            Hasher::Sip(secret) => sip(key, secret),
        }
    }
}

/// Out of line, so that the other hash can be inlined where it is used.
#[inline(never)]
fn sip(key: &[u8], secret: &[u8; 16]) -> u64 {
    siphash13(key, secret)
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hasher::Fold(_) => "Fold",
            Hasher::Sip(_) => "Sip",
        })
    }
}
