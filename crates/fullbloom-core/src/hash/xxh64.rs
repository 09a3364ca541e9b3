//! xxHash64 with seed 0, as Parquet's filters use it.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// xxHash64 of a key, seed 0.
///
/// ```
/// use fullbloom_core::hash::xxh64;
/// assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
/// assert_eq!(xxh64(b"a"), 0xd24e_c4f1_a98c_6e5b);
/// ```
#[inline]
pub fn xxh64(key: &[u8]) -> u64 {
    let (stripes, rest) = key.as_chunks::<32>();
    let mut hash = match stripes {
        [] => P5,
        _ => long(stripes),
    };
    hash = hash.wrapping_add(key.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(P5);
        hash = hash.rotate_left(11).wrapping_mul(P1);
    }
    finish(hash)
}

/// Four lanes over the whole stripes.
#[inline]
fn long(stripes: &[[u8; 32]]) -> u64 {
    let mut lanes = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let mut hash = 0u64;
    for (lane, turn) in lanes.iter().zip([1, 7, 12, 18]) {
        hash = hash.wrapping_add(lane.rotate_left(turn));
    }
    for lane in lanes {
        hash = (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4);
    }
    hash
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[inline(always)]
fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(P2);
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(P3);
    hash ^ (hash >> 32)
}

/// [`xxh64`] of a key of eight bytes, given as a little-endian number.
#[inline(always)]
pub fn xxh64_word(word: u64) -> u64 {
    let mixed = P5.wrapping_add(8) ^ round(0, word);
    finish(mixed.rotate_left(27).wrapping_mul(P1).wrapping_add(P4))
}

/// The hashes of a chunk. Eight-byte keys (Parquet's longs and doubles) take a path without branches, which
/// LLVM vectorises where the CPU can multiply 64-bit words.
#[inline(always)]
pub fn xxh64_chunk<K: AsRef<[u8]>, const N: usize>(keys: &[K; N], hashes: &mut [u64; N]) {
    let mut words = [0; N];
    let mut all = true;
    for (word, key) in words.iter_mut().zip(keys) {
        match <[u8; 8]>::try_from(key.as_ref()) {
            Ok(bytes) => *word = u64::from_le_bytes(bytes),
            Err(_) => all = false,
        }
    }
    if all {
        for (hash, word) in hashes.iter_mut().zip(words) {
            *hash = xxh64_word(word);
        }
    } else {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = xxh64(key.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_the_hashes_of_its_keys_whatever_their_lengths() {
        for len in 0..70usize {
            let keys: [Vec<u8>; 16] = std::array::from_fn(|i| {
                let len = if i == 5 && len % 3 == 0 { len } else { 8 };
                (0..len).map(|j| (i * 31 + j * 7 + len) as u8).collect()
            });
            let mut hashes = [0; 16];
            xxh64_chunk(&keys, &mut hashes);
            assert_eq!(hashes, std::array::from_fn(|i| xxh64(&keys[i])));
        }
    }
}
