//! The hash of the native dialect: 64 bits, seeded, by folded multiplication.
//!
//! One step multiplies two 64-bit words into 128 bits and xors the halves. Keys of up to 16 bytes take one
//! step and keys of up to 32 bytes take two. Longer keys take one step for each 16 bytes, in two independent
//! lanes. A last multiplication finishes the hash. The output will never change: filters in files depend on
//! it.
//!
//! ```text
//!   A, B, C, D       the first four numbers of splitmix64 from the seed
//!   fold(x, y)       low half xor high half of the 128-bit product x · y
//!   finish(h)        (h xor h >> 32) · 0x9e3779b97f4a7c15, modulo 2^64
//!   w                B xor len · 0x9e3779b97f4a7c15
//!   le(i)            the eight bytes at i, little-endian
//!
//!   len  0 ..=  8    finish(fold(x xor A, w))             x: all bytes of the key, in one word
//!   len  9 ..= 16    finish(fold(le(0) xor A, le(len-8) xor w))
//!   len 17 ..= 32    finish(fold(le(len-16) xor C, le(len-8) xor D xor t)),  t = fold(le(0) xor A, le(8) xor w)
//!   longer           as 17 ..= 32 over the last 32 bytes, with w replaced by the two lanes' xor
//! ```
//!
//! Why it is finished: `fold` maps the keys of an arithmetic progression to leading bits that form a
//! progression as well. Fingerprints of leading bits then collided for up to 20 % of the absent keys of the
//! same progression where 1 % was promised, and with other seeds for none; bits in a line were less even
//! than chance. Finished hashes of patterned keys are as even as random numbers: see
//! `tests/it/patterned_keys.rs`.
//!
//! Not for keys that an adversary chooses: anyone who knows the seed can construct colliding keys. Use
//! [`siphash13`] with a secret for such keys.
//!
//! [`siphash13`]: super::siphash13

const LENGTH_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The factor of the last multiplication: the golden ratio as a 64-bit odd number.
pub const FINISH: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seed, expanded once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold64 {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

/// The hash of a key: [`Fold64::hash`] with a seed that is expanded for this one call.
///
/// ```
/// use fullbloom_core::hash::fold64;
/// assert_eq!(fold64(b"", 0), 0x0afabde152a76288);
/// assert_ne!(fold64(b"key", 0), fold64(b"key", 1));
/// ```
pub fn fold64(key: &[u8], seed: u64) -> u64 {
    Fold64::new(seed).hash(key)
}

impl Fold64 {
    /// Expands this seed.
    pub fn new(seed: u64) -> Fold64 {
        let word = |i| splitmix64(seed, i);
        Fold64 { a: word(1), b: word(2), c: word(3), d: word(4) }
    }

    /// The hash of a key.
    #[inline(always)]
    pub fn hash(&self, key: &[u8]) -> u64 {
        finish(self.folded(key))
    }

    #[inline(always)]
    fn folded(&self, key: &[u8]) -> u64 {
        let len = key.len();
        let w = self.b ^ (len as u64).wrapping_mul(LENGTH_STEP);
        // Halved at 16: two comparisons for every length, and a caller that knows an upper bound of 32 has no
        // call left.
        if len > 16 {
            if len > 32 { self.long(key, w) } else { self.last_32(key, 0, w) }
        } else if len > 8 {
            fold(le64(key, 0) ^ self.a, le64(key, len - 8) ^ w)
        } else {
            fold(short(key) ^ self.a, w)
        }
    }

    /// The two numbers `x` and `y` for which the hash of an eight-byte key is `finish(fold(key ^ x, y))`.
    #[inline(always)]
    pub fn of_eight_bytes(&self) -> (u64, u64) {
        (self.a, self.b ^ LENGTH_STEP.wrapping_mul(8))
    }

    #[inline(always)]
    fn last_32(&self, key: &[u8], at: usize, w: u64) -> u64 {
        let end = key.len();
        let t = fold(le64(key, at) ^ self.a, le64(key, at + 8) ^ w);
        fold(le64(key, end - 16) ^ self.c, le64(key, end - 8) ^ self.d ^ t)
    }

    /// Keys over 32 bytes. A separate function, so that the short lengths can be inlined.
    fn long(&self, key: &[u8], w: u64) -> u64 {
        let (mut u, mut v) = (w, self.d);
        // The last 32 bytes or fewer are left to `last_32`, which always reads the last 32 bytes of the key.
        for stripe in key[..key.len() - 1].as_chunks::<32>().0 {
            u = fold(le64(stripe, 0) ^ self.a, le64(stripe, 8) ^ u);
            v = fold(le64(stripe, 16) ^ self.c, le64(stripe, 24) ^ v);
        }
        self.last_32(key, key.len() - 32, u ^ v)
    }
}

/// Up to eight bytes as one word. Different keys of one length give different words.
#[inline(always)]
fn short(key: &[u8]) -> u64 {
    match *key {
        [] => 0,
        [a] => u64::from(a) | u64::from(a) << 8 | u64::from(a) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8 | u64::from(b) << 16,
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        // Overlapping halves: exactly eight bytes are covered once; with fewer, some bytes are read twice.
        _ => le32(key, 0) | le32(key, key.len() - 4) << 32,
    }
}

/// Low half xor high half of the product.
#[inline(always)]
pub fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    product as u64 ^ (product >> 64) as u64
}

/// As [`fold`], from four products of 32-bit halves: LLVM computes those of several words at once.
#[inline(always)]
pub fn fold_halves(x: u64, y: u64) -> u64 {
    let half = |word: u64| word & 0xffff_ffff;
    let (x_low, x_high, y_low, y_high) = (half(x), x >> 32, half(y), y >> 32);
    let low = x_low * y_low;
    let middle = x_high * y_low + (low >> 32);
    let second = x_low * y_high + half(middle);
    let high = x_high * y_high + (middle >> 32) + (second >> 32);
    high ^ (second << 32 | half(low))
}

/// Spreads the differences between folded products over all bits. A bijection: no entropy is lost.
#[inline(always)]
pub fn finish(folded: u64) -> u64 {
    (folded ^ folded >> 32).wrapping_mul(FINISH)
}

#[inline(always)]
fn le64(key: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*key[at..].first_chunk().expect("the caller knows the length"))
}

#[inline(always)]
fn le32(key: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(*key[at..].first_chunk().expect("the caller knows the length")).into()
}

/// Output `i` (from 1) of splitmix64 seeded with `seed`.
fn splitmix64(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_bit_of_every_length_counts() {
        let hash = Fold64::new(7);
        for len in 1..=100usize {
            let mut key: Vec<u8> = (0..len as u8).map(|i| i.wrapping_mul(31)).collect();
            let before = hash.hash(&key);
            for bit in 0..len * 8 {
                key[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(hash.hash(&key), before, "bit {bit} of {len} bytes");
                key[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn products_of_halves_fold_alike() {
        let edges = [0, 1, 2, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63, u64::MAX - 1];
        let others = (1..=1000).map(|i| splitmix64(3, i));
        for x in edges.into_iter().chain(others) {
            for y in edges.into_iter().chain([splitmix64(x, 1), splitmix64(x, 2)]) {
                assert_eq!(fold_halves(x, y), fold(x, y), "{x:x} {y:x}");
            }
        }
    }

    #[test]
    fn zeros_of_different_lengths_and_seeds_differ() {
        let zeros = [0u8; 200];
        let mut seen = HashSet::new();
        for seed in 0..20 {
            for len in 0..=200 {
                assert!(seen.insert(fold64(&zeros[..len], seed)), "seed {seed}, {len} bytes");
            }
        }
    }

    #[test]
    fn a_flipped_bit_flips_half_of_the_upper_bits_on_average() {
        // The upper bits are a fingerprint, or choose a line.
        let hash = Fold64::new(0);
        for len in [1usize, 3, 4, 7, 8, 12, 16, 17, 24, 32, 33, 64, 80] {
            let (mut flipped, mut total) = (0u64, 0u64);
            for sample in 0..200u64 {
                let mut key: Vec<u8> = (0..len as u64).map(|i| splitmix64(sample, i + 1) as u8).collect();
                let before = hash.hash(&key) >> 32;
                for bit in 0..len * 8 {
                    key[bit / 8] ^= 1 << (bit % 8);
                    let after = hash.hash(&key) >> 32;
                    flipped += u64::from((before ^ after).count_ones());
                    total += 32;
                    key[bit / 8] ^= 1 << (bit % 8);
                }
            }
            let share = flipped as f64 / total as f64;
            assert!((share - 0.5).abs() < 0.02, "{len} bytes: {share}");
        }
    }
}
