//! Murmur3 x86 32 in Spark's variant.

use super::sign_extended;

/// Spark's 32-bit Murmur3 of a key (`Murmur3_x86_32.hashUnsafeBytes`).
///
/// Not the public algorithm: each byte of the tail (the last `len % 4` bytes) is sign-extended and mixed in
/// like a whole word. Spark hashes an integer of any width as the eight little-endian bytes of a long.
///
/// ```
/// use fullbloom_dialects::hash::murmur3_32_spark;
/// assert_eq!(murmur3_32_spark(b"", 0), 0);
/// assert_ne!(murmur3_32_spark(b"a", 0), murmur3_32_spark(b"a", 1));
/// ```
#[inline]
pub fn murmur3_32_spark(key: &[u8], seed: u32) -> u32 {
    let (words, tail) = key.as_chunks::<4>();
    let mut h = seed;
    for word in words {
        h = mix(h, u32::from_le_bytes(*word));
    }
    for &byte in tail {
        h = mix(h, sign_extended(byte) as u32);
    }
    h ^= key.len() as u32;
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[inline(always)]
fn mix(h: u32, word: u32) -> u32 {
    let k = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}
