//! From keys to hashes: the hasher of a dialect's batches.

use crate::sealed::{Sealed, Words};

/// The hash of one dialect, with its seed or secret if it has one.
///
/// Most dialects are their own hasher. Implemented in this crate only.
pub trait KeyHasher: Sync + Sealed {
    /// What a key is hashed to, once; enough to look the key up in every filter with this hasher.
    type Hash: Copy + Default + Send + Sync + Words;

    /// Whether an integer of any width is hashed as eight bytes; see [`Key`](super::Key).
    #[doc(hidden)]
    const INTEGERS_ARE_LONGS: bool = false;

    /// What a key's hash depends on besides the type of the hasher: a variant of the hash function and a
    /// seed, both 0 where there is only one hash function. Two hashers of one type with the same values make
    /// the same hashes.
    #[doc(hidden)]
    #[inline(always)]
    fn variant(&self) -> (u32, u64) {
        (0, 0)
    }

    /// [`variant`](KeyHasher::variant) in one word, for hashes that are compared before each lookup: two different
    /// variants and seeds have the same word with a probability of 2⁻⁶⁴.
    #[doc(hidden)]
    #[inline(always)]
    fn origin(&self) -> u64 {
        origin_of(self.variant())
    }

    /// Hashes a key.
    fn hash(&self, key: &[u8]) -> Self::Hash;

    /// Hashes one key for each place in `out`.
    #[doc(hidden)]
    #[inline(always)]
    fn hash_keys<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut [Self::Hash], wide: bool) {
        let _ = wide;
        self.hash_iter(keys.iter(), out);
    }

    /// Hashes keys from an iterator that yields one key for each place in `out`.
    #[doc(hidden)]
    #[inline(always)]
    fn hash_iter<K: AsRef<[u8]>>(&self, keys: impl Iterator<Item = K>, out: &mut [Self::Hash]) {
        for (slot, key) in out.iter_mut().zip(keys) {
            *slot = self.hash(key.as_ref());
        }
    }

    /// Hashes keys of eight bytes, given as little-endian numbers.
    #[doc(hidden)]
    #[inline(always)]
    fn hash_words(&self, words: &[u64], out: &mut [Self::Hash]) {
        self.hash_iter(words.iter().map(|word| word.to_le_bytes()), out);
    }
}

/// The [`origin`](KeyHasher::origin) of a hasher with this variant and seed.
#[inline(always)]
pub fn origin_of((variant, seed): (u32, u64)) -> u64 {
    seed.wrapping_add(u64::from(variant).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
