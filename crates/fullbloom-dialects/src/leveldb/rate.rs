//! The real rate of a policy filter: measured, because no formula is accurate.
//!
//! All probes of a key follow from one 32-bit hash, the step being that hash rotated. The positions are
//! therefore uneven and correlated, to a degree that depends on the length of the array: measured at 10 bits
//! per key, 1.05 times Bloom's formula at 1,000 keys and 1.75 times at 100,000; at 16 bits per key and 10
//! keys, ten times. The rate depends on the hashes alone, so hashes are sampled instead of keys.

use super::policy::{Policy, Tail};
use crate::filter::{Counted, Dialect, Insert};
use fullbloom_core::bits::Owned;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Geometry, collision_fpr, combine, modulo_fpr};

/// Up to this number of keys, filters are filled to measure the rate.
const MOST_KEYS: f64 = 2e6;
/// Total number of keys inserted, over as many filters as that allows.
const INSERTED: u32 = 1 << 17;
/// Total number of bytes cleared. With keys up to [`MOST_KEYS`] a longer array is so sparse that the formula
/// is correct.
const CLEARED: u64 = 64 << 20;
/// Hashes looked up per round, and in total while there are few hits.
const LOOKUPS: u32 = 1 << 17;
const MOST_ASKED: u32 = 1 << 22;
/// This many hits give the rate to within some 6 %.
const ENOUGH: u32 = 256;

/// The expected rate with this many keys: accurate to some 6 % down to 0.0001, and by a formula below that.
pub(crate) fn fpr_with<T: Tail>(policy: &Policy<T>, keys: f64) -> f64 {
    let Geometry { bit_len, probes, .. } = policy.geometry();
    let formula =
        combine(unevenness(bit_len) * modulo_fpr(keys, 1 << 32, bit_len, probes), collision_fpr(keys, 32));
    if probes == 0 || !(1.0..=MOST_KEYS).contains(&keys) || policy.byte_len() > CLEARED {
        return formula.min(1.0);
    }
    let keys = keys.round() as u32;
    let filters = (INSERTED / keys).min((CLEARED / policy.byte_len()) as u32).clamp(1, 256);
    let Ok(mut bits) = Owned::zeroed(policy.byte_len()) else { return formula };
    let mut policy = *policy;
    let mut tally = Tally::default();
    for filter in 0..filters {
        bits.as_mut().fill(0);
        for i in 0..keys {
            policy.set(bits.as_mut(), drawn(filter, i));
        }
        tally.look_up(
            &policy,
            bits.as_ref(),
            !filter,
            LOOKUPS / filters,
            ENOUGH.div_ceil(filters),
            MOST_ASKED / filters,
        );
    }
    tally.rate().unwrap_or(formula)
}

/// The factor by which long arrays exceed the formula, measured with random hashes at 10 bits per key: 1.36
/// at 3·10^7 bits, 1.2 from 6·10^7 on.
fn unevenness(bit_len: u64) -> f64 {
    if bit_len < 48_000_000 { 1.4 } else { 1.2 }
}

/// The rate of these bits.
pub(crate) fn fpr_of<T: Tail>(policy: &Policy<T>, bits: &Counted<'_>) -> f64 {
    let Geometry { bit_len, probes, .. } = policy.geometry();
    if probes == 0 {
        return 1.0;
    }
    // A filter of few bits has few distinct answers: 64 hashes per bit are enough.
    let most = bit_len.saturating_mul(64).clamp(1 << 12, MOST_ASKED.into()) as u32;
    let mut tally = Tally::default();
    tally.look_up(policy, bits.bits(), u32::MAX, LOOKUPS.min(most), ENOUGH, most);
    let fill = || bits.set_bits(policy) as f64 / bit_len as f64;
    tally.rate().unwrap_or_else(|| fill().powf(f64::from(probes)))
}

/// Hashes looked up and hit.
#[derive(Default)]
struct Tally {
    lookups: u64,
    hits: u64,
}

impl Tally {
    /// Looks up `at_once` hashes of a stream, and as many again until there are `enough` hits or `most`
    /// hashes were looked up.
    fn look_up<T: Tail>(
        &mut self,
        policy: &Policy<T>,
        bits: &[u8],
        stream: u32,
        at_once: u32,
        enough: u32,
        most: u32,
    ) {
        let (mut lookups, mut hits) = (0, 0);
        while lookups < most && hits < enough {
            hits += (lookups..lookups + at_once)
                .map(|i| u32::from(policy.test(bits, drawn(stream, i))))
                .sum::<u32>();
            lookups += at_once;
        }
        self.lookups += u64::from(lookups);
        self.hits += u64::from(hits);
    }

    /// The rate, if there were enough hits to estimate it.
    fn rate(&self) -> Option<f64> {
        (self.hits >= u64::from(ENOUGH) / 4).then(|| self.hits as f64 / self.lookups as f64)
    }
}

/// The `i`th hash of a stream: uniform over all 2^32 and the same in every run.
fn drawn(stream: u32, i: u32) -> u32 {
    let mut z = ((u64::from(stream) << 32) | u64::from(i)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (z >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;
    use crate::LevelDb;

    #[test]
    fn the_expected_rate_is_that_of_filters_filled_with_real_keys() {
        for (keys, bits_per_key) in [(10u64, 16.0), (100, 10.0), (100, 16.0), (1_000, 10.0), (100_000, 10.0)]
        {
            let (mut hits, mut lookups) = (0u64, 0u64);
            for round in 0..(200_000 / keys).clamp(1, 400) {
                let mut filter = Filter::<LevelDb>::with_bits_per_key(keys, bits_per_key).unwrap();
                let key = |i: u64| format!("{:016x}", (round << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                (0..keys).for_each(|i| {
                    filter.insert(key(i).as_bytes());
                });
                for i in keys..keys + 5_000 {
                    hits += u64::from(filter.may_contain(key(i).as_bytes()));
                    lookups += 1;
                }
            }
            let measured = hits as f64 / lookups as f64;
            let sized = Filter::<LevelDb>::with_bits_per_key(keys, bits_per_key).unwrap();
            let expected = sized.dialect().fpr_with(keys as f64);
            assert!(
                (measured / expected - 1.0).abs() < 0.25,
                "{keys} keys: {measured} measured, {expected} expected"
            );
        }
    }
}
