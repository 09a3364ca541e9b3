//! The same hash for several keys side by side, step by step over arrays. LLVM turns this into vector code
//! where the CPU multiplies 64-bit words in vectors.
//!
//! The paths for short keys have no branches, so keys that take the same path can be hashed together. On
//! AVX-512 that makes batches of 8-byte slices twice as fast. Elsewhere the plain hash is faster: a 128-bit
//! product is one instruction there, and four multiplications here.

use super::{P32_1, P64_1, P64_2, SECRET, avalanche, half_word, word, xxph3};

/// Hashes `N` keys with seed 0.
#[inline(always)]
pub(crate) fn xxph3_chunk<K: AsRef<[u8]>, const N: usize>(keys: &[K; N], hashes: &mut [u64; N]) {
    let (mut shortest, mut longest) = (usize::MAX, 0);
    for key in keys {
        shortest = shortest.min(key.as_ref().len());
        longest = longest.max(key.as_ref().len());
    }
    match (shortest, longest) {
        (8, 8) => *hashes = up_to_8(each(keys, |key| word(key, 0)), [8; N]),
        (4.., ..=8) => {
            let ends =
                |key: &[u8]| u64::from(half_word(key, 0)) | u64::from(half_word(key, key.len() - 4)) << 32;
            *hashes = up_to_8(each(keys, ends), each(keys, |key| key.len() as u64));
        }
        (9.., ..=16) => {
            let (low, high) = (each(keys, |key| word(key, 0)), each(keys, |key| word(key, key.len() - 8)));
            *hashes = up_to_16(low, high, each(keys, |key| key.len() as u64));
        }
        (17.., ..=128) if (shortest - 1) / 32 == (longest - 1) / 32 => {
            up_to_128(keys, (longest - 1) / 32, hashes);
        }
        _ => *hashes = each(keys, |key| xxph3(key, 0)),
    }
}

/// One value per key.
#[inline(always)]
fn each<K: AsRef<[u8]>, const N: usize>(keys: &[K; N], value: impl Fn(&[u8]) -> u64) -> [u64; N] {
    let mut values = [0; N];
    for (slot, key) in values.iter_mut().zip(keys) {
        *slot = value(key.as_ref());
    }
    values
}

#[inline(always)]
fn up_to_8<const N: usize>(combined: [u64; N], lengths: [u64; N]) -> [u64; N] {
    let mut hashes = [0; N];
    for i in 0..N {
        let keyed = combined[i] ^ word(&SECRET, 0);
        let mixed = (keyed ^ keyed >> 51).wrapping_mul(P32_1).wrapping_add(lengths[i]);
        hashes[i] = avalanche((mixed ^ mixed >> 47).wrapping_mul(P64_2));
    }
    hashes
}

#[inline(always)]
fn up_to_16<const N: usize>(low: [u64; N], high: [u64; N], lengths: [u64; N]) -> [u64; N] {
    let mut hashes = [0; N];
    for i in 0..N {
        let (low, high) = (low[i] ^ word(&SECRET, 0), high[i] ^ word(&SECRET, 8));
        hashes[i] = avalanche(lengths[i].wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)));
    }
    hashes
}

/// The outermost 16 bytes at both ends, and `more` further pairs towards the middle.
#[inline(always)]
fn up_to_128<K: AsRef<[u8]>, const N: usize>(keys: &[K; N], more: usize, hashes: &mut [u64; N]) {
    let mut sums = each(keys, |key| (key.len() as u64).wrapping_mul(P64_1));
    for pair in 0..=more {
        let from_start = |at| each(keys, |key| word(key, 16 * pair + at));
        let from_end = |at| each(keys, |key| word(key, key.len() - 16 * pair - 16 + at));
        let words = [from_start(0), from_start(8), from_end(0), from_end(8)];
        let secret = &SECRET[32 * pair..32 * pair + 32];
        for i in 0..N {
            let keyed = |j: usize| words[j][i] ^ word(secret, 8 * j);
            sums[i] = sums[i].wrapping_add(fold(keyed(0), keyed(1))).wrapping_add(fold(keyed(2), keyed(3)));
        }
    }
    for (hash, sum) in hashes.iter_mut().zip(sums) {
        *hash = avalanche(sum);
    }
}

/// Low half xor high half of the 128-bit product, computed from products of 32-bit halves, because vectors
/// offer no wider ones.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    const LOW: u64 = 0xffff_ffff;
    let (low, high) = ((a & LOW) * (b & LOW), (a >> 32) * (b >> 32));
    let (ab, ba) = ((a & LOW) * (b >> 32), (a >> 32) * (b & LOW));
    let middle = (low >> 32) + (ab & LOW) + (ba & LOW);
    (low & LOW | middle << 32) ^ (high + (ab >> 32) + (ba >> 32) + (middle >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_testkit::keys::SplitMix;

    fn assert_as_one_by_one(keys: &[Vec<u8>; 16]) {
        let mut hashes = [0; 16];
        xxph3_chunk(keys, &mut hashes);
        for (key, hash) in keys.iter().zip(hashes) {
            assert_eq!(hash, xxph3(key, 0), "{} bytes: {key:x?}", key.len());
        }
    }

    #[test]
    fn chunks_of_equal_lengths_hash_as_one_by_one() {
        let mut random = SplitMix::new(1);
        for len in 0..=300 {
            assert_as_one_by_one(&std::array::from_fn(|_| random.bytes(len)));
        }
    }

    #[test]
    fn chunks_of_lengths_around_every_change_of_route_hash_as_one_by_one() {
        let mut random = SplitMix::new(2);
        for around in [0usize, 3, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 240] {
            for spread in 1..=9 {
                for _ in 0..50 {
                    let keys = std::array::from_fn(|_| {
                        let len =
                            (around + random.below(spread) as usize).saturating_sub(spread as usize / 2);
                        random.bytes(len)
                    });
                    assert_as_one_by_one(&keys);
                }
            }
        }
    }

    #[test]
    fn the_product_in_halves_is_the_product() {
        let mut random = SplitMix::new(3);
        let edges = [0, 1, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let pairs = edges.into_iter().flat_map(|a| edges.map(|b| (a, b)));
        for (a, b) in pairs.chain((0..10_000).map(|_| (random.next_u64(), random.next_u64()))) {
            assert_eq!(fold(a, b), super::super::fold(a, b), "{a:#x} * {b:#x}");
        }
    }
}
