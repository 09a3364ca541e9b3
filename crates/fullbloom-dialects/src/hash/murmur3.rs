//! Murmur3 x64 128 with seed 0: the public algorithm, and Cassandra's variant (sstable versions `ia` and
//! later).

use super::sign_extended;

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The two halves `[h1, h2]` of Cassandra's Murmur3.
///
/// Equal to the public Murmur3 x64 128 except that each byte of the tail (the last `len % 16` bytes)
/// is sign-extended before it is shifted and xored in, so a tail byte of 0x80 or more also flips all
/// higher bits of its lane.
///
/// ```
/// use fullbloom_dialects::hash::murmur3_cassandra;
/// assert_eq!(murmur3_cassandra(b""), [0, 0]);
/// assert_eq!(murmur3_cassandra(b"a"), [0x85555565f6597889, 0xe6b53a48510e895a]);
/// assert_eq!(murmur3_cassandra(&[0xff]), [0xc25a08894c506b7f, 0xac0bbee7ce7542c7]);
/// ```
#[inline]
pub fn murmur3_cassandra(key: &[u8]) -> [u64; 2] {
    murmur3(key, signed_lane)
}

/// The two halves `[h1, h2]` of the public Murmur3 x64 128, as Guava uses it.
///
/// ```
/// use fullbloom_dialects::hash::{murmur3_128, murmur3_cassandra};
/// assert_eq!(murmur3_128(b"a"), murmur3_cassandra(b"a"));
/// assert_ne!(murmur3_128(&[0xff]), murmur3_cassandra(&[0xff])); // a tail byte above 0x7f
/// ```
#[inline]
pub fn murmur3_128(key: &[u8]) -> [u64; 2] {
    murmur3(key, plain_lane)
}

#[inline(always)]
fn murmur3(key: &[u8], tail_lane: impl Fn(&[u8]) -> u64) -> [u64; 2] {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let whole = u128::from_le_bytes(*block);
        h1 ^= mix1(whole as u64);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2((whole >> 64) as u64);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if !tail.is_empty() {
        let (low, high) = tail.split_at(tail.len().min(8));
        if !high.is_empty() {
            h2 ^= mix2(tail_lane(high));
        }
        h1 ^= mix1(tail_lane(low));
    }
    h1 ^= key.len() as u64;
    h2 ^= key.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = fmix(h1);
    h2 = fmix(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    [h1, h2]
}

/// Xor, not or: a negative byte has already set the bits above it.
#[inline(always)]
fn signed_lane(bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().fold(0, |lane, (i, &b)| lane ^ ((sign_extended(b) as u64) << (8 * i)))
}

#[inline(always)]
fn plain_lane(bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().fold(0, |lane, (i, &b)| lane | u64::from(b) << (8 * i))
}

#[inline(always)]
fn mix1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline(always)]
fn mix2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline(always)]
fn fmix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}
