//! Keys that are hashed already.

use super::{Key, KeyHasher, Keys};
use crate::error::KeysError;
use crate::sealed::Sealed;
use crate::typed::KeyType;
use core::fmt;

/// The hash of one key, for lookups in many filters that hash keys alike.
///
/// `fullbloom::KeyHash` is that of native filters. It remembers the seed or secret that it was made with. A
/// filter with another one would answer "no" for its own keys; it refuses the hash instead, and answers
/// "maybe".
pub struct KeyHashOf<H: KeyHasher> {
    hash: H::Hash,
    origin: u64,
}

/// The [`origin`](KeyHasher::origin) of no hasher in use.
const NONE: u64 = 0x6e6f_2066_696c_7465;

impl<H: KeyHasher> KeyHashOf<H> {
    /// The hash of a key by this hasher.
    #[inline(always)]
    pub fn new(key: impl Key<H>, hasher: &H) -> KeyHashOf<H> {
        KeyHashOf::from_raw(key.hash_with(hasher), hasher)
    }

    /// A hash that this hasher computed before, and that was stored or sent without its seed.
    #[inline(always)]
    pub fn from_raw(hash: H::Hash, hasher: &H) -> KeyHashOf<H> {
        KeyHashOf { hash, origin: hasher.origin() }
    }

    /// The hash that no filter takes for its own: every filter answers "maybe".
    #[doc(hidden)]
    #[inline(always)]
    pub fn of_none() -> KeyHashOf<H> {
        KeyHashOf { hash: H::Hash::default(), origin: NONE }
    }

    /// The hash alone, to be stored or sent.
    #[inline(always)]
    pub fn to_raw(self) -> H::Hash {
        self.hash
    }

    /// The hash alone, if this hasher makes the same hashes.
    #[doc(hidden)]
    #[inline(always)]
    pub fn by(self, hasher: &H) -> Result<H::Hash, KeysError> {
        if self.origin == hasher.origin() { Ok(self.hash) } else { Err(KeysError::Hash) }
    }
}

impl<H: KeyHasher> Clone for KeyHashOf<H> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: KeyHasher> Copy for KeyHashOf<H> {}

impl<H: KeyHasher<Hash: PartialEq>> PartialEq for KeyHashOf<H> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.origin == other.origin
    }
}

impl<H: KeyHasher<Hash: Eq>> Eq for KeyHashOf<H> {}

/// Never prints the hash: the hashes of a keyed filter are not for everyone.
impl<H: KeyHasher> fmt::Debug for KeyHashOf<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

/// Hashes of many keys, all by one hasher; a batch.
#[derive(Debug)]
pub struct Hashes<'a, H: KeyHasher> {
    hashes: &'a [H::Hash],
    origin: u64,
}

impl<'a, H: KeyHasher> Hashes<'a, H> {
    /// Hashes that this hasher computed before.
    #[inline(always)]
    pub fn new(hashes: &'a [H::Hash], hasher: &H) -> Hashes<'a, H> {
        Hashes { hashes, origin: hasher.origin() }
    }

    /// The hashes alone, to be stored or sent.
    pub fn to_raw(&self) -> &'a [H::Hash] {
        self.hashes
    }
}

impl<H: KeyHasher> Sealed for Hashes<'_, H> {}

impl<H: KeyHasher> Keys<H> for Hashes<'_, H> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.hashes.len()
    }

    #[inline(always)]
    fn hash_into(&self, _: &H, start: usize, out: &mut [H::Hash], _: bool) {
        out.copy_from_slice(&self.hashes[start..][..out.len()]);
    }

    #[inline(always)]
    fn require(&self, hasher: &H, _: Option<KeyType>) -> Result<(), KeysError> {
        if self.origin == hasher.origin() { Ok(()) } else { Err(KeysError::Hash) }
    }
}

impl<H: KeyHasher> Keys<H> for [KeyHashOf<H>] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn hash_into(&self, _: &H, start: usize, out: &mut [H::Hash], _: bool) {
        out.iter_mut().zip(&self[start..]).for_each(|(out, hash)| *out = hash.hash);
    }

    fn require(&self, hasher: &H, _: Option<KeyType>) -> Result<(), KeysError> {
        self.iter().try_for_each(|hash| hash.by(hasher).map(|_| ()))
    }
}
