//! RocksDB's 64-bit key hash: the XXH3 *preview* of xxHash 0.7.2, frozen there under the name XXPH3.
//!
//! It shares its secret and its structure with today's XXH3, but gives different hashes for every length: the
//! avalanche multiplies by another constant, keys of 1 to 16 bytes take other paths, and long keys add their
//! words to the lane they were read for, split into blocks without holding one byte back, and skip the last
//! stripe when it would be empty. The hash of the empty key is RocksDB's own.
//!
//! | length | path |
//! |---|---|
//! | 0 | a constant of the seed |
//! | 1 – 3, 4 – 8, 9 – 16 | two overlapping reads, one or two multiplications |
//! | 17 – 128 | pairs of 16 bytes, from both ends inwards |
//! | 129 – 240 | 16 bytes at a time, an extra avalanche after the eighth |
//! | 241 – | eight lanes over stripes of 64 bytes, scrambled after each 1,024 |

mod chunk;

pub(crate) use chunk::xxph3_chunk;

const P32_1: u64 = 0x9E37_79B1;
const P32_2: u64 = 0x85EB_CA77;
const P32_3: u64 = 0xC2B2_AE3D;
const P64_1: u64 = 0x9E37_79B1_85EB_CA87;
const P64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P64_3: u64 = 0x1656_67B1_9E37_79F9;
const P64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const P64_5: u64 = 0x27D4_EB2F_1656_67C5;

type Secret = [u8; 192];

#[rustfmt::skip]
const SECRET: Secret = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// RocksDB's 64-bit hash of a key, as its filters use it: [`xxph3`] with seed 0.
///
/// ```
/// use fullbloom_dialects::hash::xxph3_rocksdb;
/// assert_eq!(xxph3_rocksdb(b""), 0x5342c3010fe1dd04);
/// assert_eq!(xxph3_rocksdb(b"a"), 0x88d868bf607681c7);
/// assert_eq!(xxph3_rocksdb(b"ab\xff"), 0xb334d176310c25db);
/// ```
#[inline]
pub fn xxph3_rocksdb(key: &[u8]) -> u64 {
    xxph3(key, 0)
}

/// The XXH3 preview of xxHash 0.7.2, with RocksDB's rule for the empty key.
#[inline]
pub fn xxph3(key: &[u8], seed: u64) -> u64 {
    match key.len() {
        0 => fold(seed.wrapping_add(word(&SECRET, 0)), P64_2),
        1..=3 => up_to_3(key, seed),
        4..=8 => up_to_8(key, seed),
        9..=16 => up_to_16(key, seed),
        17..=128 => up_to_128(key, seed),
        129..=240 => up_to_240(key, seed),
        _ => long(key, seed),
    }
}

#[inline(always)]
fn up_to_3(key: &[u8], seed: u64) -> u64 {
    let n = key.len();
    let combined = u32::from_le_bytes([key[0], key[n / 2], key[n - 1], n as u8]);
    let keyed = u64::from(combined) ^ u64::from(half_word(&SECRET, 0)).wrapping_add(seed);
    avalanche(keyed.wrapping_mul(P64_1))
}

#[inline(always)]
fn up_to_8(key: &[u8], seed: u64) -> u64 {
    let n = key.len();
    let combined = u64::from(half_word(key, 0)) | u64::from(half_word(key, n - 4)) << 32;
    let keyed = combined ^ word(&SECRET, 0).wrapping_add(seed);
    let mixed = (keyed ^ keyed >> 51).wrapping_mul(P32_1).wrapping_add(n as u64);
    avalanche((mixed ^ mixed >> 47).wrapping_mul(P64_2))
}

#[inline(always)]
fn up_to_16(key: &[u8], seed: u64) -> u64 {
    let n = key.len();
    let low = word(key, 0) ^ word(&SECRET, 0).wrapping_add(seed);
    let high = word(key, n - 8) ^ word(&SECRET, 8).wrapping_sub(seed);
    avalanche((n as u64).wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)))
}

#[inline]
fn up_to_128(key: &[u8], seed: u64) -> u64 {
    let n = key.len();
    let mix = |at, secret| mix16(key, at, secret, seed);
    let pair = |i: usize| mix(16 * i, 32 * i).wrapping_add(mix(n - 16 * i - 16, 32 * i + 16));
    let mut sum = (n as u64).wrapping_mul(P64_1).wrapping_add(pair(0));
    if n > 32 {
        sum = sum.wrapping_add(pair(1));
        if n > 64 {
            sum = sum.wrapping_add(pair(2));
            if n > 96 {
                sum = sum.wrapping_add(pair(3));
            }
        }
    }
    avalanche(sum)
}

#[inline(never)]
fn up_to_240(key: &[u8], seed: u64) -> u64 {
    let n = key.len();
    let mut sum = (n as u64).wrapping_mul(P64_1);
    for i in 0..8 {
        sum = sum.wrapping_add(mix16(key, 16 * i, 16 * i, seed));
    }
    sum = avalanche(sum);
    for i in 8..n / 16 {
        sum = sum.wrapping_add(mix16(key, 16 * i, 16 * (i - 8) + 3, seed));
    }
    avalanche(sum.wrapping_add(mix16(key, n - 16, 136 - 17, seed)))
}

/// Stripes of 64 bytes in a block: the secret advances by eight bytes per stripe.
const STRIPES: usize = 16;

#[inline(never)]
fn long(key: &[u8], seed: u64) -> u64 {
    let secret = if seed == 0 { SECRET } else { seeded(seed) };
    let mut lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
    let (stripes, rest) = key.as_chunks::<64>();
    for block in stripes.chunks(STRIPES) {
        for (i, stripe) in block.iter().enumerate() {
            add_stripe(&mut lanes, stripe, &secret, 8 * i);
        }
        if block.len() == STRIPES {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = (*lane ^ *lane >> 47 ^ word(&secret, 128 + 8 * i)).wrapping_mul(P32_1);
            }
        }
    }
    if let (false, Some(last)) = (rest.is_empty(), key.last_chunk::<64>()) {
        add_stripe(&mut lanes, last, &secret, 121);
    }
    let mut sum = (key.len() as u64).wrapping_mul(P64_1);
    for (i, pair) in lanes.as_chunks::<2>().0.iter().enumerate() {
        let [a, b] = [pair[0] ^ word(&secret, 11 + 16 * i), pair[1] ^ word(&secret, 19 + 16 * i)];
        sum = sum.wrapping_add(fold(a, b));
    }
    avalanche(sum)
}

/// Lane `i` adds word `i` itself and the product of the halves of the keyed word. Today's XXH3 adds the word
/// to lane `i ^ 1`.
#[inline(always)]
fn add_stripe(lanes: &mut [u64; 8], stripe: &[u8; 64], secret: &Secret, at: usize) {
    let (words, _) = stripe.as_chunks::<8>();
    let (keys, _) = secret[at..at + 64].as_chunks::<8>();
    for ((lane, value), key) in lanes.iter_mut().zip(words).zip(keys) {
        let value = u64::from_le_bytes(*value);
        let keyed = value ^ u64::from_le_bytes(*key);
        let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
        *lane = lane.wrapping_add(value).wrapping_add(product);
    }
}

/// The secret for long keys under a seed: the seed is alternately added to and subtracted from its words.
fn seeded(seed: u64) -> Secret {
    let mut secret = SECRET;
    for (i, bytes) in secret.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let old = u64::from_le_bytes(*bytes);
        let new = if i % 2 == 0 { old.wrapping_add(seed) } else { old.wrapping_sub(seed) };
        *bytes = new.to_le_bytes();
    }
    secret
}

#[inline(always)]
fn mix16(key: &[u8], at: usize, secret: usize, seed: u64) -> u64 {
    fold(
        word(key, at) ^ word(&SECRET, secret).wrapping_add(seed),
        word(key, at + 8) ^ word(&SECRET, secret + 8).wrapping_sub(seed),
    )
}

/// Low half xor high half of the 128-bit product.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn avalanche(mut hash: u64) -> u64 {
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(P64_3);
    hash ^ hash >> 32
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[inline(always)]
fn half_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths at which the path changes, and their neighbours: keys of zeros differ only in length.
    #[test]
    fn neighbouring_lengths_of_one_content_never_share_a_hash() {
        let zeros = vec![0u8; 5000];
        let mut seen = std::collections::HashSet::new();
        for len in 0..zeros.len() {
            assert!(seen.insert(xxph3_rocksdb(&zeros[..len])), "{len}");
        }
    }

    #[test]
    fn every_byte_of_a_key_counts_at_every_length() {
        for len in (1..=300).chain([1023, 1024, 1025, 1088, 2048, 2049]) {
            let mut key = vec![0x5au8; len];
            let hash = xxph3(&key, 7);
            for i in 0..len {
                key[i] ^= 0x80;
                assert_ne!(xxph3(&key, 7), hash, "length {len}, byte {i}");
                key[i] ^= 0x80;
            }
        }
    }
}
