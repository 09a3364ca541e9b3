//! The 32-bit Bloom hash of LevelDB and RocksDB: a MurmurHash1 relative without a final avalanche.

use super::sign_extended;

const SEED: u32 = 0xbc9f_1d34;
const M: u32 = 0xc6a4_a793;

/// LevelDB's Bloom hash (since 1.18, policy `leveldb.BuiltinBloomFilter2`): tail bytes are unsigned.
///
/// ```
/// use fullbloom_dialects::hash::{bloom32_leveldb, bloom32_rocksdb};
/// assert_eq!(bloom32_leveldb(b"ab\xff"), 0xa2f10108);
/// assert_eq!(bloom32_rocksdb(b"ab\xff"), 0x0ff101a5);
/// ```
#[inline]
pub fn bloom32_leveldb(key: &[u8]) -> u32 {
    bloom32(key, u32::from)
}

/// RocksDB's Bloom hash: tail bytes are signed. Equal to LevelDB's for ASCII tails.
#[inline]
pub fn bloom32_rocksdb(key: &[u8]) -> u32 {
    bloom32(key, |byte| sign_extended(byte) as u32)
}

#[inline(always)]
fn bloom32(key: &[u8], extend: impl Fn(u8) -> u32) -> u32 {
    let mut h = SEED ^ (key.len() as u32).wrapping_mul(M);
    let (words, tail) = key.as_chunks::<4>();
    for word in words {
        h = h.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(M);
        h ^= h >> 16;
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h = h.wrapping_add(extend(byte) << (8 * i));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}
