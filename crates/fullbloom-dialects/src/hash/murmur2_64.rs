//! Murmur2 64-bit in Cassandra's variant (sstable versions `f` to `hf`).

use super::sign_extended;

const M: u64 = 0xc6a4_a793_5bd1_e995;

/// Cassandra's 64-bit Murmur2. Only the low 32 bits of `seed` are used. The original does the same, and
/// passes a full 64-bit hash as the seed of its second run.
#[inline]
pub fn murmur2_64_cassandra(key: &[u8], seed: u64) -> u64 {
    let mut h = (seed & 0xffff_ffff) ^ M.wrapping_mul(key.len() as u64);
    let (blocks, tail) = key.as_chunks::<8>();
    for block in blocks {
        let mut k = u64::from_le_bytes(*block).wrapping_mul(M);
        k ^= k >> 47;
        h ^= k.wrapping_mul(M);
        h = h.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h ^= (sign_extended(byte) as u64) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    h ^= h >> 47;
    h = h.wrapping_mul(M);
    h ^ (h >> 47)
}
