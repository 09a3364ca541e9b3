//! Forged keys: for a public hash, any number of keys with the same hash as a key known to be in a filter.
//!
//! This is what an adversary can do from the public descriptions of the hashes alone. The first 16 bytes of a
//! forged key are free, the last 16 are computed.

/// The increment of splitmix64, which is also the factor of the length.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A 32-byte key whose fold64 hash with this public seed is `target`; another one for every `number`.
///
/// The last multiplication of the hash can be inverted. The step before it multiplies two words that the key
/// determines. If the second word is a power of two, the folded product is the first word rotated. So the
/// first word is the target before the last multiplication, rotated back.
pub fn fold64(seed: u64, target: u64, number: u64) -> [u8; 32] {
    let [a, b, c, d] = [1, 2, 3, 4].map(|i: u64| splitmix64(seed.wrapping_add(i.wrapping_mul(GOLDEN))));
    let free = [number, splitmix64(number)];
    let length = b ^ 32u64.wrapping_mul(GOLDEN);
    let product = u128::from(free[0] ^ a) * u128::from(free[1] ^ length);
    let between = (product >> 64) as u64 ^ product as u64;
    let shift = (number % 64) as u32;
    let halves = target.wrapping_mul(inverse(GOLDEN));
    let folded = halves ^ halves >> 32;
    key(free, [folded.rotate_right(shift) ^ c, 1 << shift ^ d ^ between])
}

fn splitmix64(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A 32-byte key whose Murmur3 hash, as Cassandra's filters use it, is `target`; another one for every
/// `number`.
///
/// Every step of the hash is invertible, so the second half of the key follows from the hash and the state
/// after the first half.
pub fn murmur3(target: [u64; 2], number: u64) -> [u8; 32] {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let free = [number, splitmix64(number)];
    // Forward through the first half.
    let mut h1 = free[0].wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    h1 = h1.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    let mut h2 = free[1].wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    // Backward from the end: sums, mixing, sums, length.
    let [mut e1, mut e2] = target;
    e2 = e2.wrapping_sub(e1);
    e1 = e1.wrapping_sub(e2);
    (e1, e2) = (unmix(e1), unmix(e2));
    e2 = e2.wrapping_sub(e1);
    e1 = e1.wrapping_sub(e2);
    (e1, e2) = (e1 ^ 32, e2 ^ 32);
    // Backward through the second half; e1 is still the value that e2 was added to.
    let fifth = inverse(5);
    let k2 = e2.wrapping_sub(0x3849_5ab5).wrapping_mul(fifth).wrapping_sub(e1).rotate_right(31) ^ h2;
    let k1 = e1.wrapping_sub(0x52dc_e729).wrapping_mul(fifth).wrapping_sub(h2).rotate_right(27) ^ h1;
    let first = k1.wrapping_mul(inverse(C2)).rotate_right(31).wrapping_mul(inverse(C1));
    let second = k2.wrapping_mul(inverse(C1)).rotate_right(33).wrapping_mul(inverse(C2));
    key(free, [first, second])
}

/// Inverts Murmur3's final mixing.
fn unmix(mut k: u64) -> u64 {
    k ^= k >> 33; // its own inverse: 33 is more than half of 64
    k = k.wrapping_mul(inverse(0xc4ce_b9fe_1a85_ec53));
    k ^= k >> 33;
    k = k.wrapping_mul(inverse(0xff51_afd7_ed55_8ccd));
    k ^ k >> 33
}

/// The multiplicative inverse of an odd number modulo 2^64: each Newton step doubles the number of correct
/// bits.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |guess, _| guess.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(guess))))
}

fn key(first: [u64; 2], last: [u64; 2]) -> [u8; 32] {
    let mut key = [0; 32];
    for (bytes, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(first.into_iter().chain(last)) {
        *bytes = word.to_le_bytes();
    }
    key
}
