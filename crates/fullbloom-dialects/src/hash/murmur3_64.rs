//! ORC's two hashes: a 64-bit Murmur3 for bytes, and Thomas Wang's mix for numbers.

const SEED: u64 = 104_729;

/// ORC's hash of bytes and texts: one lane of Murmur3 x64 with a seed of its own.
///
/// ```
/// use fullbloom_dialects::hash::murmur3_64_orc;
/// assert_ne!(murmur3_64_orc(b""), murmur3_64_orc(&[0])); // the length is mixed in
/// ```
#[inline]
pub fn murmur3_64_orc(key: &[u8]) -> u64 {
    let (words, tail) = key.as_chunks::<8>();
    let mut h = SEED;
    for word in words {
        h ^= mix(u64::from_le_bytes(*word));
        h = h.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    if !tail.is_empty() {
        h ^= mix(tail.iter().rev().fold(0, |lane, &byte| lane << 8 | u64::from(byte)));
    }
    h ^= key.len() as u64;
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^= h >> 33;
    h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[inline(always)]
fn mix(k: u64) -> u64 {
    k.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f)
}

/// ORC's hash of integers, and of the bits of doubles: Thomas Wang's mix, but with arithmetic right shifts.
///
/// ```
/// use fullbloom_dialects::hash::wang64_orc;
/// assert_eq!(wang64_orc(0), 0); // Wang's own shifts would give 0x77cf_a1ee_f01b_ca90
/// ```
#[inline]
pub fn wang64_orc(number: i64) -> u64 {
    let mut k = number;
    k = (!k).wrapping_add(k << 21);
    k ^= k >> 24;
    k = k.wrapping_add(k << 3).wrapping_add(k << 8);
    k ^= k >> 14;
    k = k.wrapping_add(k << 2).wrapping_add(k << 4);
    k ^= k >> 28;
    k.wrapping_add(k << 31) as u64
}
