//! The two hashes of a key.

use crate::hash::murmur2_libbloom_from;

/// The fixed seed of the first hash.
const SEED: u32 = 0x9747_b28c;

/// The two hashes of a key; the second is seeded with the first.
#[inline(always)]
pub(crate) fn hash(key: &[u8]) -> [u32; 2] {
    hash_with_len(key, key.len() as u32)
}

/// The two hashes of a key, with a separate length that is mixed into them: a C caller may pass a negative
/// length and no bytes.
#[inline(always)]
pub fn hash_with_len(key: &[u8], len: u32) -> [u32; 2] {
    let a = murmur2_libbloom_from(SEED ^ len, key);
    [a, murmur2_libbloom_from(a ^ len, key)]
}
