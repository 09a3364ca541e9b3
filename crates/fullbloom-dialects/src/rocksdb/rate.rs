//! RocksDB's own rate formulas, in its own order of operations: its sizes and its balance of rates depend on
//! them, so they affect the bytes.
//!
//! They are models. The uneven filling of blocks is modelled by two blocks, one standard deviation to either
//! side of the mean: at 10 bits per key this gives 0.951 %, where the sum over the full distribution is 0.966
//! %.

use fullbloom_core::sizing::combine;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// Bits of a block, in the formulas and in FastLocalBloom.
const BLOCK_BITS: f64 = 512.0;

/// A Bloom filter without blocks: `(1 - e^(-k/b))^k`.
fn standard(bits_per_key: f64, probes: u32) -> f64 {
    let k = f64::from(probes);
    (1.0 - (-k / bits_per_key).exp()).powf(k)
}

/// Probes that stay in one block of 512 bits.
///
/// At 512 bits per key and more, the emptier block has zero keys or fewer. The formula then divides by zero
/// or a negative number; IEEE arithmetic turns that into a rate of 0 or close to it, as in RocksDB.
pub(crate) fn cache_local(bits_per_key: f64, probes: u32) -> f64 {
    let keys = BLOCK_BITS / bits_per_key;
    let deviation = keys.sqrt();
    let crowded = standard(BLOCK_BITS / (keys + deviation), probes);
    let uncrowded = standard(BLOCK_BITS / (keys - deviation), probes);
    (crowded + uncrowded) / 2.0
}

/// The probability that an absent key has exactly the hash of a present one.
fn fingerprint(keys: f64, bits: i32) -> f64 {
    let expected = keys * 0.5f64.powi(bits);
    // For small numbers 1 - e^-x loses its digits; two terms of the series do not.
    if expected > 0.0001 { 1.0 - (-expected).exp() } else { expected - expected * expected / 2.0 }
}

/// The rate of FastLocalBloom with `keys` keys in `data_len` bytes.
pub(crate) fn fast_local(keys: f64, data_len: u64, probes: u32) -> f64 {
    if keys <= 0.0 {
        return 0.0;
    }
    let bits_per_key = 8.0 * data_len as f64 / keys;
    combine(cache_local(bits_per_key, probes), fingerprint(keys, 64))
}

/// The rate of the legacy filter with lines of any length: the formula assumes lines of 64 bytes. The middle
/// term models the loss because one hash chooses the line and the first bit.
pub(crate) fn legacy(keys: f64, data_len: u64, probes: u32) -> f64 {
    if keys <= 0.0 {
        return 0.0;
    }
    let bits_per_key = 8.0 * data_len as f64 / keys;
    combine(cache_local(bits_per_key, probes) + 0.1 / (bits_per_key * 0.75 + 22.0), fingerprint(keys, 32))
}
