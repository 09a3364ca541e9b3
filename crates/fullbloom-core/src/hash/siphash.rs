//! SipHash-1-3: a hash whose output nobody can predict without its 128-bit key.

/// SipHash with one round for each eight bytes and three at the end, as Rust's own hash maps use it.
///
/// ```
/// use fullbloom_core::hash::siphash13;
/// let secret = [7; 16];
/// assert_eq!(siphash13(b"key", &secret), siphash13(b"key", &secret));
/// assert_ne!(siphash13(b"key", &secret), siphash13(b"key", &[8; 16]));
/// ```
#[inline]
pub fn siphash13(key: &[u8], secret: &[u8; 16]) -> u64 {
    let secret = u128::from_le_bytes(*secret);
    siphash::<1, 3>(key, secret as u64, (secret >> 64) as u64)
}

/// The general function: `C` compression rounds for each word, `D` at the end. Published vectors exist for
/// other parameters than ours, so the tests run this function with theirs.
#[inline(always)]
fn siphash<const C: usize, const D: usize>(key: &[u8], k0: u64, k1: u64) -> u64 {
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, tail) = key.as_chunks::<8>();
    for word in words {
        compress::<C>(&mut state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    last[7] = key.len() as u8; // modulo 256, by definition
    compress::<C>(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xff;
    for _ in 0..D {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline(always)]
fn compress<const C: usize>(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    for _ in 0..C {
        round(state);
    }
    state[0] ^= word;
}

#[inline(always)]
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hasher};

    #[test]
    fn the_parameters_of_rusts_own_hasher_give_its_output() {
        // `DefaultHasher::new` is SipHash-1-3 with a key of zeros.
        let bytes: Vec<u8> = (0..=255).collect();
        for len in 0..=256 {
            let mut std = DefaultHasher::new();
            std.write(&bytes[..len]);
            assert_eq!(siphash13(&bytes[..len], &[0; 16]), std.finish(), "{len} bytes");
        }
    }

    #[test]
    fn the_published_parameters_give_the_published_output() {
        // SipHash-2-4 of the bytes 0 to len - 1 with the key 00 .. 0f, from the paper and its reference
        // vectors.
        let (k0, k1) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash::<2, 4>(&message, k0, k1), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash::<2, 4>(b"", k0, k1), 0x726f_db47_dd0e_0e31);
        #[expect(deprecated, reason = "the standard library's SipHash-2-4 is an independent second opinion")]
        for len in 0..15 {
            let mut std = std::hash::SipHasher::new_with_keys(k0, k1);
            std.write(&message[..len]);
            assert_eq!(siphash::<2, 4>(&message[..len], k0, k1), std.finish(), "{len} bytes");
        }
    }
}
