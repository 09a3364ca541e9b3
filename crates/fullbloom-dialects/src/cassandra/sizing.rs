//! Cassandra's sizing: a table of published rates, searched the way `BloomCalculations` searches it.
//!
//! Three of its quirks affect bytes and are kept:
//! - a rate of 0.393 or more gives **one** bit per key and two probes (the original passes two constructor
//!   arguments in the wrong order), for a real rate of about 0.75;
//! - probes are relaxed downwards as long as the rate holds: 0.01 means 10 bits and 5 probes, not 7;
//! - whether a rate is reachable is judged by the *last* cell of a row, which is not its smallest in rows 2
//!   to 10.

use fullbloom_core::error::{Quantity, SizeError};

/// Bits added to every filter.
pub const EXCESS_BITS: i64 = 20;

/// The maximum bits per key in the table.
pub const MAX_BITS_PER_KEY: u32 = 20;

/// The maximum number of probes for a reader: the length of its scratch array.
pub const MAX_PROBES: u32 = 21;

/// The maximum number of 64-bit words of a filter (the count is a Java int).
pub const MAX_WORDS: u64 = i32::MAX as u64;

/// Row: bits per key. Column: probes. Cell: expected rate. Column 0 and rows 0 and 1 are placeholders.
pub const RATES: [&[f64]; MAX_BITS_PER_KEY as usize + 1] = [
    &[1.0],
    &[1.0, 1.0],
    &[1.0, 0.393, 0.400],
    &[1.0, 0.283, 0.237, 0.253],
    &[1.0, 0.221, 0.155, 0.147, 0.160],
    &[1.0, 0.181, 0.109, 0.092, 0.092, 0.101],
    &[1.0, 0.154, 0.0804, 0.0609, 0.0561, 0.0578, 0.0638],
    &[1.0, 0.133, 0.0618, 0.0423, 0.0359, 0.0347, 0.0364],
    &[1.0, 0.118, 0.0489, 0.0306, 0.024, 0.0217, 0.0216, 0.0229],
    &[1.0, 0.105, 0.0397, 0.0228, 0.0166, 0.0141, 0.0133, 0.0135, 0.0145],
    &[1.0, 0.0952, 0.0329, 0.0174, 0.0118, 0.00943, 0.00844, 0.00819, 0.00846],
    &[1.0, 0.0869, 0.0276, 0.0136, 0.00864, 0.0065, 0.00552, 0.00513, 0.00509],
    &[1.0, 0.08, 0.0236, 0.0108, 0.00646, 0.00459, 0.00371, 0.00329, 0.00314],
    &[1.0, 0.074, 0.0203, 0.00875, 0.00492, 0.00332, 0.00255, 0.00217, 0.00199, 0.00194],
    &[1.0, 0.0689, 0.0177, 0.00718, 0.00381, 0.00244, 0.00179, 0.00146, 0.00129, 0.00121, 0.0012],
    &[1.0, 0.0645, 0.0156, 0.00596, 0.003, 0.00183, 0.00128, 0.001, 0.000852, 0.000775, 0.000744],
    &[
        1.0, 0.0606, 0.0138, 0.005, 0.00239, 0.00139, 0.000935, 0.000702, 0.000574, 0.000505, 0.00047,
        0.000459,
    ],
    &[
        1.0, 0.0571, 0.0123, 0.00423, 0.00193, 0.00107, 0.000692, 0.000499, 0.000394, 0.000335, 0.000302,
        0.000287, 0.000284,
    ],
    &[
        1.0, 0.054, 0.0111, 0.00362, 0.00158, 0.000839, 0.000519, 0.00036, 0.000275, 0.000226, 0.000198,
        0.000183, 0.000176,
    ],
    &[
        1.0, 0.0513, 0.00998, 0.00312, 0.0013, 0.000663, 0.000394, 0.000264, 0.000194, 0.000155, 0.000132,
        0.000118, 0.000111, 0.000109,
    ],
    &[
        1.0, 0.0488, 0.00906, 0.0027, 0.00108, 0.00053, 0.000303, 0.000196, 0.00014, 0.000108, 8.89e-05,
        7.77e-05, 7.12e-05, 6.79e-05, 6.71e-05,
    ],
];

/// Bits per key and probes: the contents of `BloomSpecification`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Probes per key.
    pub probes: u32,
    /// Bits per key.
    pub bits_per_key: u32,
}

/// The quirk of the original: its result for every rate of 0.393 and more.
const SWAPPED: Spec = Spec { probes: 2, bits_per_key: 1 };

/// The number of probes with the lowest rate in a row; the first of equal ones.
fn best_probes(bits_per_key: u32) -> u32 {
    let row = RATES[bits_per_key as usize];
    let mut best = 1.min(row.len() - 1);
    for probes in 2..row.len() {
        if row[probes] < row[best] {
            best = probes;
        }
    }
    best.max(1) as u32
}

/// `computeBloomSpec(buckets)`: the best probes for this many bits per key, 1 to 20.
pub fn spec_for_bits_per_key(bits_per_key: u32) -> Result<Spec, SizeError> {
    if !(1..=MAX_BITS_PER_KEY).contains(&bits_per_key) {
        return Err(SizeError::Count {
            what: Quantity::BitsPerKey,
            got: bits_per_key.into(),
            allowed: "1..=20",
        });
    }
    Ok(Spec { probes: best_probes(bits_per_key), bits_per_key })
}

/// `computeBloomSpec(maxBuckets, fpr)`: the fewest bits, then the fewest probes, that keep the rate.
pub fn spec_for_fpr(max_bits_per_key: u32, fpr: f64) -> Result<Spec, SizeError> {
    if !(1..=MAX_BITS_PER_KEY).contains(&max_bits_per_key) {
        return Err(SizeError::Count {
            what: Quantity::BitsPerKey,
            got: max_bits_per_key.into(),
            allowed: "1..=20",
        });
    }
    if fpr >= RATES[2][1] {
        return Ok(SWAPPED);
    }
    let last_row = RATES[max_bits_per_key as usize];
    // Written so that NaN is refused too.
    let reachable = fpr >= last_row[last_row.len() - 1];
    if !reachable {
        return Err(SizeError::Unreachable { fpr, max_bits_per_key: max_bits_per_key.into() });
    }
    Ok(search(fpr, best_probes))
}

/// The search itself. The caller has checked that some row keeps the rate.
fn search(fpr: f64, best_probes: impl Fn(u32) -> u32) -> Spec {
    let mut bits_per_key = 2;
    let mut probes = best_probes(bits_per_key);
    while RATES[bits_per_key as usize][probes as usize] > fpr {
        bits_per_key += 1;
        probes = best_probes(bits_per_key);
    }
    while RATES[bits_per_key as usize][probes as usize - 1] <= fpr {
        probes -= 1; // column 0 is 1.0 and ends the loop
    }
    Spec { probes, bits_per_key }
}

/// How bits are counted: in a Java long (0.7.1 and later) or a Java int (0.x).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// 64-bit: the limit is never reached in practice.
    Long,
    /// 32-bit: from 107,374,182 keys on fewer than 20 bits per key remain.
    Int,
}

/// `maxBucketsPerElement(keys)`: how many bits per key that fit in the counter, at most 20.
pub fn max_bits_per_key(keys: i64, counter: Counter) -> Result<u32, SizeError> {
    let most = match counter {
        Counter::Long => (i64::MAX - EXCESS_BITS) as f64,
        Counter::Int => f64::from(i32::MAX) - EXCESS_BITS as f64,
    };
    let keys = keys.max(1);
    let room = most / keys as f64;
    if room < 1.0 {
        let allowed = "at most 2147483627: bits are counted in 32 bits";
        return Err(SizeError::Count { what: Quantity::ExpectedKeys, got: keys as u64, allowed });
    }
    Ok((room as u32).min(MAX_BITS_PER_KEY))
}

/// `getFilter(keys, fpr)` up to the spec. `None` is the always-present filter, for a rate of exactly 1.
pub fn spec_by_fpr(keys: i64, fpr: f64) -> Result<Option<Spec>, SizeError> {
    check_rate(fpr)?;
    if fpr == 1.0 {
        return Ok(None);
    }
    spec_for_fpr(max_bits_per_key(keys, Counter::Long)?, fpr).map(Some)
}

/// "Invalid probability": more than 1, or NaN.
fn check_rate(fpr: f64) -> Result<(), SizeError> {
    if fpr <= 1.0 {
        return Ok(());
    }
    Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0.0000671 <= fpr <= 1" })
}

/// `getFilter(keys, targetBuckets)` up to the spec: a target that does not fit in the counter is reduced.
pub fn spec_by_target(keys: i64, target: u32, counter: Counter) -> Result<Spec, SizeError> {
    spec_for_bits_per_key(target.min(max_bits_per_key(keys, counter)?.max(1)))
}

/// 64-bit words for this many keys: `keys * bits_per_key + 20` bits, rounded up; at most 2^31 - 1 words (16
/// GB).
///
/// The arithmetic is Java's: a negative number of keys (-1 means unknown there) fails unless the product plus
/// 20 is still positive.
pub fn words(keys: i64, bits_per_key: u32) -> Result<u32, SizeError> {
    let bit_len = keys.wrapping_mul(bits_per_key.into()).wrapping_add(EXCESS_BITS);
    let words = ((bit_len.wrapping_sub(1) as u64) >> 6) + 1;
    match u32::try_from(words) {
        Ok(words) if u64::from(words) <= MAX_WORDS => Ok(words),
        _ => Err(SizeError::TooLarge { bit_len: words.saturating_mul(64), limit: MAX_WORDS * 64 }),
    }
}

/// 0.6.13's `getFilter(keys, fpr)` up to the spec: bits are counted in an int, and rate 1 is treated like any
/// other rate of 0.393 and more.
pub fn spec_by_fpr_0_6(keys: i64, fpr: f64) -> Result<Spec, SizeError> {
    check_rate(fpr)?;
    spec_for_fpr(max_bits_per_key(keys, Counter::Int)?, fpr)
}

/// 0.6.13's number of bits: clamped to 2^31 - 1, then rounded up to words by `java.util.BitSet`.
///
/// From 2^31 - 63 bits on, `BitSet.size()` overflows to a negative number in the original and the filter is
/// unusable; refused here.
pub fn bit_set_len_0_6(keys: i64, bits_per_key: u32) -> Result<u32, SizeError> {
    let bit_len = i128::from(keys) * i128::from(bits_per_key) + i128::from(EXCESS_BITS);
    let rounded = (bit_len.clamp(1, i128::from(i32::MAX)) as u64).div_ceil(64) * 64;
    if rounded <= i32::MAX as u64 {
        return Ok(rounded as u32);
    }
    Err(SizeError::TooLarge {
        bit_len: u64::try_from(bit_len).unwrap_or(u64::MAX),
        limit: i32::MAX as u64 - 63,
    })
}

/// How the two other generations of the 0.x filter chose probes and bits, for comparing with old files.
/// Neither is needed to read a file, since the number of probes is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vintage {
    /// Cassandra 0.3 to 0.5.
    V0_3,
    /// stream-lib 2.9.6, which copied the code between two changes.
    StreamLib,
}

impl Vintage {
    /// The probes chosen for this many bits per key.
    pub fn best_probes(self, bits_per_key: u32) -> u32 {
        match (self, bits_per_key) {
            (_, 0) => 1,
            (_, 8) => 5,
            (Vintage::V0_3, _) => best_probes(bits_per_key.min(12)),
            (Vintage::StreamLib, _) => best_probes(bits_per_key.min(MAX_BITS_PER_KEY)),
        }
    }

    /// Bits and probes for a rate: silently limited to 15 bits and 8 probes.
    pub fn spec_for_fpr(self, fpr: f64) -> Spec {
        const LAST: Spec = Spec { probes: 8, bits_per_key: 15 };
        if fpr >= RATES[2][1] {
            SWAPPED
        } else if fpr >= RATES[15][8] {
            search(fpr, |bits_per_key| self.best_probes(bits_per_key))
        } else {
            LAST
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_rates_give_the_usual_specs() {
        for (fpr, bits_per_key, probes) in
            [(0.1, 5, 3), (0.05, 7, 3), (0.01, 10, 5), (0.001, 15, 7), (0.0001, 20, 10), (6.71e-05, 20, 14)]
        {
            assert_eq!(spec_for_fpr(20, fpr), Ok(Spec { probes, bits_per_key }), "{fpr}");
        }
    }

    #[test]
    fn rates_from_0_393_on_get_one_bit_and_two_probes() {
        assert_eq!(spec_for_fpr(20, 0.3929).unwrap().bits_per_key, 3);
        assert_eq!(spec_for_fpr(20, 0.393), Ok(SWAPPED));
        assert_eq!(spec_by_fpr(10, 0.999), Ok(Some(SWAPPED)));
        assert_eq!(spec_by_fpr(10, 1.0), Ok(None));
    }

    #[test]
    fn reachability_is_judged_by_the_last_cell_even_where_a_better_one_exists() {
        assert_eq!(spec_for_fpr(8, 0.022), Err(SizeError::Unreachable { fpr: 0.022, max_bits_per_key: 8.0 }));
        assert!(spec_for_fpr(8, 0.0229).is_ok());
    }

    #[test]
    fn invalid_rates_are_refused() {
        for fpr in [f64::NAN, 1.0000001, f64::INFINITY, 0.0, -0.0, -0.1, f64::NEG_INFINITY, 6.7e-5, 5e-324] {
            assert!(spec_by_fpr(10, fpr).is_err(), "{fpr}");
            assert!(spec_by_fpr_0_6(10, fpr).is_err(), "{fpr}");
        }
    }

    #[test]
    fn word_counts_follow_java_arithmetic_also_below_zero() {
        assert_eq!(words(0, 10), Ok(1));
        assert_eq!(words(-1, 10), Ok(1));
        assert!(words(-3, 10).is_err());
        assert_eq!(words(137_438_953_343, 1), Ok(i32::MAX as u32));
        assert!(words(137_438_953_343, 2).is_err());
        assert!(words(i64::MAX, 1).is_err());
        assert!(words(i64::MAX, 20).is_err());
    }
}
