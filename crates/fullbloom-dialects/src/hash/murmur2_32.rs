//! Murmur2 32-bit: the public algorithm as libbloom uses it, and Cassandra 0.x's deviation.

use super::sign_extended;

const M: u32 = 0x5bd1_e995;

/// libbloom's MurmurHash2: the public algorithm, words read little-endian.
///
/// ```
/// let a = fullbloom_dialects::hash::murmur2_libbloom(b"hello", 0x9747b28c);
/// assert_eq!(a, 2132663229);
/// ```
#[inline]
pub fn murmur2_libbloom(key: &[u8], seed: u32) -> u32 {
    murmur2_libbloom_from(seed ^ key.len() as u32, key)
}

/// As [`murmur2_libbloom`], starting from the state `seed ^ length`, into which seed and length are already
/// mixed.
///
/// For C callers, whose length is a separate signed number. If it is negative, no byte is read, but the
/// length is mixed in all the same.
#[inline(always)]
pub fn murmur2_libbloom_from(start: u32, key: &[u8]) -> u32 {
    let (h, tail) = body(key, start);
    let last = match *tail {
        [] => return finish(h),
        [a] => a.into(),
        [a, b] => u32::from_le_bytes([a, b, 0, 0]),
        [a, b, c, ..] => u32::from_le_bytes([a, b, c, 0]),
    };
    finish((h ^ last).wrapping_mul(M))
}

/// Cassandra 0.x's Murmur2: tail bytes are sign-extended *and* taken from the end of the key, so
/// the last byte is shifted by 0, the one before it by 8, the one before that by 16.
#[inline]
pub fn murmur2_32_cassandra(key: &[u8], seed: u32) -> u32 {
    let (mut h, tail) = body(key, seed ^ key.len() as u32);
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().rev().enumerate() {
            h ^= (sign_extended(byte) as u32) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    finish(h)
}

/// Mixes all whole words, starting from `seed ^ length`. The originals use 32-bit lengths, so longer lengths
/// wrap.
#[inline(always)]
fn body(key: &[u8], start: u32) -> (u32, &[u8]) {
    let mut h = start;
    let (words, tail) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        h = h.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    (h, tail)
}

#[inline(always)]
fn finish(mut h: u32) -> u32 {
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^ (h >> 15)
}
