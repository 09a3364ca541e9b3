//! The positions of a key in the formats of data systems, directly from their definitions, in wide integers.

use super::hash;
use xxhash_rust::xxh64::xxh64;

/// A format; `bits` is the length of its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Guava with the strategy MURMUR128_MITZ_64.
    Guava,
    /// Guava with the strategy MURMUR128_MITZ_32.
    Guava32,
    /// Spark, version 1.
    Spark,
    /// Spark, version 2 with this seed.
    Spark2(i32),
    /// Parquet's split blocks.
    Parquet,
    /// ORC, keys that are bytes.
    Orc,
    /// ORC, keys that are eight bytes of a number.
    OrcNumber,
    /// DCSO, version 1.
    Dcso,
}

const SALTS: [u32; 8] =
    [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

/// The value of a number in a signed integer of this many bits, complemented if negative.
fn folded(number: i128, bits: u32) -> i128 {
    let rest = number.rem_euclid(1 << bits);
    if rest < 1 << (bits - 1) { rest } else { (1 << bits) - 1 - rest }
}

/// The positions of a key's probes, in order.
pub fn positions(format: Format, key: &[u8], bits: u64, probes: u32) -> Vec<u64> {
    let bits = i128::from(bits);
    let walk = |at: &dyn Fn(i128) -> i128| -> Vec<u64> {
        (1..=i128::from(probes)).map(|i| (at(i) % bits) as u64).collect()
    };
    let in_32_bits = |a: u32, b: u32| walk(&|i| folded(i128::from(a as i32) + i * i128::from(b as i32), 32));
    match format {
        Format::Guava => {
            let (h1, h2) = hash::murmur3_128(key);
            walk(&|i| (i128::from(h1) + (i - 1) * i128::from(h2)) % (1 << 63))
        }
        Format::Guava32 => {
            let (h1, _) = hash::murmur3_128(key);
            in_32_bits(h1 as u32, (h1 >> 32) as u32)
        }
        Format::Spark => {
            let h1 = hash::murmur3_32_spark(key, 0);
            in_32_bits(h1, hash::murmur3_32_spark(key, h1))
        }
        Format::Spark2(seed) => {
            let h1 = hash::murmur3_32_spark(key, seed as u32);
            let h2 = hash::murmur3_32_spark(key, h1);
            let [base, step] = [h1, h2].map(|h| i128::from(h as i32));
            walk(&|i| folded(base * i128::from(i32::MAX) + i * step, 64))
        }
        Format::Parquet => {
            let h = xxh64(key, 0);
            let block = (u128::from(h >> 32) * (bits as u128 / 256)) >> 32;
            let bit = |salt: u32| u64::from((h as u32).wrapping_mul(salt)) / (1 << 27);
            (0..8).map(|i| block as u64 * 256 + 32 * i + bit(SALTS[i as usize])).collect()
        }
        Format::Orc | Format::OrcNumber => {
            let h = match (format, <[u8; 8]>::try_from(key)) {
                (Format::OrcNumber, Ok(number)) => hash::wang64_orc(i64::from_le_bytes(number)),
                _ => hash::murmur3_64_orc(key),
            };
            in_32_bits(h as u32, (h >> 32) as u32)
        }
        Format::Dcso => {
            const MODULUS: u128 = (1 << 64) - 59;
            let mut h = u128::from(hash::fnv1_64(key)) % MODULUS;
            let mut next = || {
                h = h * ((1 << 64) - 1469) % (1 << 64) % MODULUS;
                (h % bits as u128) as u64
            };
            (0..probes).map(|_| next()).collect()
        }
    }
}
