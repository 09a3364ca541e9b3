//! How a native filter hashes keys: with a public seed, or with a secret.

use crate::error::KeysError;
use crate::hash::{Fold64, finish, fold, fold_halves, siphash13};
use crate::kernel::{Body, Cpu, Task};
use crate::keys::{self, Hashes, Key, KeyHasher, Keys, TakesIntegers, origin_of};
use crate::sealed::Sealed;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The seed or secret that makes the hash of one filter differ from that of another.
///
/// A seed is written into the file. It protects against chance, not against an adversary: anyone who knows it
/// can construct keys that the filter reports present. A [`Secret`] protects against adversaries too, at
/// about five times the hashing time.
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
    /// The hash of a key, as a filter with this seed or secret computes it: for lookups in many filters.
    ///
    /// The seed or secret is expanded in each call, which takes twice as long as hashing a short key. A
    /// filter, a `FilterRef` and a `FilterBuilder` have done that once; so has a [`Hasher`], for
    /// `KeyHash::new`.
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &Hasher::new(self))
    }

    /// The hashes of many keys, as a filter with this seed or secret computes them. For keys that are hashed
    /// before the filter exists, or elsewhere; [`hashes`](Self::hashes) makes a batch of them.
    ///
    /// ```
    /// use fullbloom::Hashing;
    ///
    /// let hashing = Hashing::default();
    /// let hashes: Vec<u64> = hashing.hash_batch(&["alice", "bob"])?;
    /// let mut filter = fullbloom::Filter::with_fpr(hashes.len() as u64, 0.01)?;
    /// filter.insert_batch(&hashing.hashes(&hashes))?;
    /// assert!(filter.may_contain("alice"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the keys are hashes themselves, with another seed or secret.
    pub fn hash_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<u64>, KeysError> {
        let mut hashes = vec![0; keys.count()];
        self.hash_batch_into(keys, &mut hashes)?;
        Ok(hashes)
    }

    /// As [`hash_batch`](Self::hash_batch), into memory of the caller's.
    ///
    /// # Errors
    /// Also if there is not one place for each key.
    pub fn hash_batch_into<K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        hashes: &mut [u64],
    ) -> Result<(), KeysError> {
        let hasher = Hasher::new(self);
        keys.require(&hasher, None)?;
        if keys.count() != hashes.len() {
            return Err(KeysError::Answers { keys: keys.count(), places: hashes.len() });
        }
        keys.hash_into(&hasher, 0, hashes, false);
        Ok(())
    }

    /// A batch of hashes that were computed with this seed or secret.
    pub fn hashes<'a>(&self, hashes: &'a [u64]) -> Hashes<'a, Hasher> {
        Hashes::new(hashes, &Hasher::new(self))
    }

    /// The hash of one key that was computed with this seed or secret, for hashes that were stored or sent.
    ///
    /// Hashes of another 64-bit function can be used in filters whose keys are never given as bytes: filters
    /// take the bits as they are, and rely on all of them to be random.
    pub fn from_raw(&self, hash: u64) -> KeyHash {
        KeyHash::from_raw(hash, &Hasher::new(self))
    }

    /// [`KeyHasher::variant`] of filters that use this many leading bits of the hash.
    #[doc(hidden)]
    #[inline(always)]
    pub fn variant(&self, hash_bits: u32) -> (u32, u64) {
        match self {
            Hashing::Seed(seed) => (1 << 8 | hash_bits, *seed),
            Hashing::Secret(secret) => (2 << 8 | hash_bits, secret.check()),
        }
    }
}

/// A secret of 128 bits, for filters that must not be fooled by chosen keys.
///
/// It is written into the filter's file only on request; see
/// `Filter::store_secret`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    bytes: [u8; 16],
    /// Kept, because a lookup by hash compares it: computing it takes three times as long as hashing a key.
    check: u64,
}

impl Secret {
    /// A secret from bytes that are hard to guess: from the system's random source, or a key-derivation
    /// function.
    pub fn new(bytes: [u8; 16]) -> Secret {
        Secret { bytes, check: check(&bytes) }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.bytes
    }

    /// A number that shows whether a secret is the one a filter was built with, and nothing else about it.
    pub fn check(&self) -> u64 {
        self.check
    }
}

fn check(secret: &[u8; 16]) -> u64 {
    // It uses a separate key, derived from the secret, so the number reveals nothing about the hashes of
    // keys.
    let mut derived = [0; 16];
    let (low, high) = derived.split_at_mut(8);
    low.copy_from_slice(&siphash13(&[1, 0], secret).to_le_bytes());
    high.copy_from_slice(&siphash13(&[1, 1], secret).to_le_bytes());
    siphash13(b"fullbloom native: is this the secret?", &derived)
}

/// Never prints the bytes.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The hash of a key, made by a filter or by [`Hashing::hash`], for lookups in many filters.
pub type KeyHash = keys::KeyHashOf<Hasher>;

/// The hash function of a native filter, ready to use.
#[derive(Clone)]
pub struct Hasher {
    keyed: Keyed,
    variant: (u32, u64),
    /// Kept, because every lookup by hash compares it.
    origin: u64,
}

#[derive(Clone)]
enum Keyed {
    Fold(Fold64),
    Sip([u8; 16]),
    /// Only the leading bits of the hash, spread over all 64.
    Leading(Box<Hasher>, u32),
}

impl Hasher {
    /// Expands this seed or secret. `KeyHash::new(key, &hasher)` then hashes keys.
    pub fn new(hashing: &Hashing) -> Hasher {
        let keyed = match hashing {
            Hashing::Seed(seed) => Keyed::Fold(Fold64::new(*seed)),
            Hashing::Secret(secret) => Keyed::Sip(secret.bytes),
        };
        Hasher::of(keyed, hashing.variant(64))
    }

    fn of(keyed: Keyed, variant: (u32, u64)) -> Hasher {
        Hasher { keyed, variant, origin: origin_of(variant) }
    }

    /// The hasher of filters that know only the leading bits of hashes, 64 or fewer.
    pub fn leading(self, bits: u32) -> Hasher {
        let (variant, seed) = self.variant;
        match bits {
            64 => self,
            _ => Hasher::of(Keyed::Leading(Box::new(self), bits), (variant - 64 + bits, seed)),
        }
    }
}

/// The hash that stands for the leading bits of another one. Different bits have different hashes.
pub fn spread(hash: u64, bits: u32) -> u64 {
    let kept = hash & !(u64::MAX >> bits);
    let mixed = (kept ^ kept >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

impl Hasher {
    /// Out of line, so that the most frequent hash can be inlined into its callers; "cold" keeps the call out of
    /// their loops.
    #[cold]
    fn hash_otherwise(&self, key: &[u8]) -> u64 {
        match &self.keyed {
            Keyed::Fold(fold) => fold.hash(key),
            Keyed::Sip(secret) => siphash13(key, secret),
            Keyed::Leading(hasher, bits) => spread(hasher.hash(key), *bits),
        }
    }
}

impl Sealed for Hasher {}

impl TakesIntegers for Hasher {}

impl KeyHasher for Hasher {
    type Hash = u64;
    const INTEGERS_ARE_LONGS: bool = true;

    #[inline(always)]
    fn variant(&self) -> (u32, u64) {
        self.variant
    }

    #[inline(always)]
    fn origin(&self) -> u64 {
        self.origin
    }

    #[inline(always)]
    fn hash(&self, key: &[u8]) -> u64 {
        match &self.keyed {
            Keyed::Fold(fold) => fold.hash(key),
            _ => self.hash_otherwise(key),
        }
    }

    /// The choice between the two hashes is made once for a run of keys, not for each of them.
    #[inline(always)]
    fn hash_iter<K: AsRef<[u8]>>(&self, keys: impl Iterator<Item = K>, out: &mut [u64]) {
        match &self.keyed {
            Keyed::Fold(fold) => {
                out.iter_mut().zip(keys).for_each(|(out, key)| *out = fold.hash(key.as_ref()));
            }
            Keyed::Sip(secret) => {
                out.iter_mut().zip(keys).for_each(|(out, key)| *out = siphash13(key.as_ref(), secret));
            }
            Keyed::Leading(hasher, bits) => {
                out.iter_mut()
                    .zip(keys)
                    .for_each(|(out, key)| *out = spread(hasher.hash(key.as_ref()), *bits));
            }
        }
    }

    /// Several at a time where the CPU supports it.
    #[inline(always)]
    fn hash_words(&self, words: &[u64], out: &mut [u64]) {
        match &self.keyed {
            Keyed::Fold(fold) => {
                let (x, y) = fold.of_eight_bytes();
                Cpu::in_use().run(HashWords { words, x, y, out });
            }
            Keyed::Sip(_) | Keyed::Leading(..) => {
                self.hash_iter(words.iter().map(|word| word.to_le_bytes()), out);
            }
        }
    }
}

/// The hashes of keys of eight bytes, compiled for the CPU: with AVX-512, eight at once, from products of their
/// halves.
struct HashWords<'a> {
    words: &'a [u64],
    x: u64,
    y: u64,
    out: &'a mut [u64],
}

impl<K: Body> Task<K> for HashWords<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: K) {
        let fold = if K::WIDE { fold_halves } else { fold };
        for (out, word) in self.out.iter_mut().zip(self.words) {
            *out = finish(fold(word ^ self.x, self.y));
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.keyed {
            Keyed::Fold(_) => "Fold",
            Keyed::Sip(_) => "Sip",
            Keyed::Leading(..) => "Leading",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn words_are_hashed_as_their_bytes_on_every_kernel() {
        let edges = [0, 1, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63];
        let words: Vec<u64> =
            (0..40u64).map(|i| i.wrapping_mul(0xbf58_476d_1ce4_e5b9)).chain(edges).collect();
        let fold = Fold64::new(3);
        let (x, y) = fold.of_eight_bytes();
        let expected: Vec<u64> = words.iter().map(|word| fold.hash(&word.to_le_bytes())).collect();
        for kernel in Kernel::available() {
            let cpu = Cpu::detect(kernel).expect("available");
            for len in 0..=words.len() {
                let mut hashes = vec![7; words.len()];
                cpu.run(HashWords { words: &words, x, y, out: &mut hashes[..len] });
                assert_eq!(hashes[..len], expected[..len], "{kernel}");
                assert!(hashes[len..].iter().all(|hash| *hash == 7), "{kernel}");
            }
        }
    }
}
