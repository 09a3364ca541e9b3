//! Rate formulas that several dialects share. Single letters as in the literature: `n` keys, `m` bits, `k`
//! probes.

#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use core::f64::consts::{LN_2, SQRT_2};

/// Bloom's rate for `keys` keys in `bit_len` bits with `probes` independent probes: `(1 - e^(-kn/m))^k`.
///
/// Zero probes, or an array without bits, answer "maybe" to every key: rate 1.
///
/// ```
/// use fullbloom::sizing::classic_fpr;
/// assert!((classic_fpr(1000.0, 10_000, 7) - 0.00819).abs() < 1e-5);
/// assert_eq!(classic_fpr(0.0, 64, 3), 0.0);
/// assert_eq!(classic_fpr(10.0, 0, 0), 1.0);
/// ```
pub fn classic_fpr(keys: f64, bit_len: u64, probes: u32) -> f64 {
    if probes == 0 || bit_len == 0 {
        return 1.0;
    }
    let k = f64::from(probes);
    (-(-k * keys / bit_len as f64).exp_m1()).powf(k)
}

/// The rate of `keys` keys in `blocks` blocks of `block_len` bits when all probes of a key stay in one block:
/// the mean over how many keys share the absent key's block, which is binomial.
///
/// The number of bits set in a block varies too, around the mean for its number of keys; the second-order
/// term of that is included. Compared with the exact alternating sum (which has no digits left past 12
/// probes) the result is low by 0.002 % at 10 bits per key and 6 probes, and by 0.03 % at 20 and 11.
pub fn blocked_fpr(keys: f64, blocks: u64, block_len: u32, probes: u32) -> f64 {
    let (n, m, k) = (keys, f64::from(block_len), f64::from(probes));
    if probes == 0 || block_len == 0 || blocks == 0 {
        return 1.0;
    }
    let rate_of_block = |in_block: f64| {
        let clear = (k * in_block * (-1.0 / m).ln_1p()).exp();
        let two_clear = (k * in_block * (-2.0 / m).ln_1p()).exp();
        let set = 1.0 - clear;
        if set <= 0.0 {
            return 0.0;
        }
        let variance = (clear / m + (1.0 - 1.0 / m) * two_clear - clear * clear).max(0.0);
        (set.powf(k) * (1.0 + k * (k - 1.0) / 2.0 * variance / (set * set))).min(1.0)
    };
    // With 64 probes for each bit, all bits are set. This also keeps the sum below short: its length grows
    // with the square root of the keys in a block.
    if n / blocks as f64 * k / m > 64.0 {
        return 1.0;
    }
    if (n / blocks as f64).floor() > 64.0 * m {
        return 1.0; // 64 probes for each bit leave none clear
    }
    mean_over_blocks(n, blocks, rate_of_block)
}

/// The rate of `keys` keys in `blocks` split blocks as in Parquet: 256 bits in eight words, one bit of each
/// word for every key.
pub fn split_block_fpr(keys: f64, blocks: u64) -> f64 {
    // 64 keys for each of the 32 bits of a word leave none clear.
    if blocks == 0 || keys / blocks as f64 > 64.0 * 32.0 {
        return 1.0;
    }
    mean_over_blocks(keys, blocks, |in_block| (-(in_block * (-1.0 / 32.0f64).ln_1p()).exp_m1()).powi(8))
}

/// The mean rate of blocks whose number of keys is binomial.
fn mean_over_blocks(n: f64, blocks: u64, rate_of_block: impl Fn(f64) -> f64) -> f64 {
    // Weights relative to the most likely number, upwards and downwards until they become negligible.
    const NEGLIGIBLE: f64 = 1e-30;
    let others = blocks as f64 - 1.0;
    let middle = (n / blocks as f64).floor();
    let (mut weights, mut rates) = (0.0, 0.0);
    let (mut weight, mut in_block) = (1.0, middle);
    while weight > NEGLIGIBLE {
        weights += weight;
        rates += weight * rate_of_block(in_block);
        // One block takes all keys, so the most likely number is all of them.
        weight *= if others > 0.0 { (n - in_block).max(0.0) / ((in_block + 1.0) * others) } else { 0.0 };
        in_block += 1.0;
    }
    (weight, in_block) = (1.0, middle);
    while in_block > 0.0 {
        weight *= in_block * others / (n - in_block + 1.0);
        in_block -= 1.0;
        if weight <= NEGLIGIBLE {
            break;
        }
        weights += weight;
        rates += weight * rate_of_block(in_block);
    }
    rates / weights
}

/// Bloom's rate when each probe is one of `range` equally likely hash values, reduced modulo `bit_len`.
///
/// The first `range mod bit_len` positions are hit more often than the others, and positions from `range` on
/// are never hit. The effect is negligible while the array is small, and 13 % more false positives at
/// 1.7·10^9 bits of 2^32. Equal to [`classic_fpr`] where `bit_len` divides `range`.
pub fn modulo_fpr(keys: f64, range: u64, bit_len: u64, probes: u32) -> f64 {
    if probes == 0 || bit_len == 0 {
        return 1.0;
    }
    let (k, values) = (f64::from(probes), range as f64);
    let (rounds, favoured) = ((range / bit_len) as f64, (range % bit_len) as f64);
    let fill = |hits: f64| -(-k * (hits / values) * keys).exp_m1();
    let on_favoured = favoured * (rounds + 1.0) / values;
    (on_favoured * fill(rounds + 1.0) + (1.0 - on_favoured) * fill(rounds)).powf(k)
}

/// The rate when the probes of a key are `a + i·b` modulo `bit_len`, and each hits a set bit with probability
/// `fill`.
///
/// Two effects raise it above `fill^k`; they matter where the array is short and the rate low. First, a step
/// `b` may return to its start after `d < k` probes: one in `bit_len / φ(d)` steps does, for every divisor
/// `d` of `bit_len`. Second, an absent key may have the step of one of the `keys`, or its negative, and begin
/// `s` steps off, so that `k - s` of its bits are certainly set. For 1,000 keys sized for 10^-6 both together
/// are 40 times the rest, as measured.
pub fn stepped_fpr(fill: f64, keys: f64, bit_len: u64, probes: u32) -> f64 {
    if probes == 0 || bit_len == 0 {
        return 1.0;
    }
    let m = bit_len as f64;
    let all = fill.powf(probes.into());
    let beyond = |set: u32| fill.powf(set.into()) - all;
    // Some sizes request a billion probes; the later ones add nothing.
    let probes = probes.min(1024);
    let short: f64 =
        (1..probes).filter(|d| bit_len.is_multiple_of((*d).into())).map(|d| totient(d) / m * beyond(d)).sum();
    let shifted = beyond(0) + 2.0 * (1..probes).map(beyond).sum::<f64>();
    (all + short + 2.0 * keys / m / m * shifted).min(1.0)
}

/// How many numbers up to `n` are coprime to it.
fn totient(n: u32) -> f64 {
    let (mut rest, mut count) = (n, n);
    for p in 2..=n {
        if rest.is_multiple_of(p) {
            count -= count / p;
            while rest.is_multiple_of(p) {
                rest /= p;
            }
        }
    }
    f64::from(count)
}

/// Bits for `keys` keys at this rate with the best number of probes: `-n·ln(p) / ln(2)^2`, truncated and
/// saturated like a JVM double-to-integer conversion.
pub fn classic_bits(keys: u64, fpr: f64) -> u64 {
    (-(keys as f64) * fpr.ln() / (LN_2 * LN_2)) as u64
}

/// The share of probes that hit a set bit, when each is one of `range` equally likely hash values, reduced
/// modulo `bit_len`. `set_bits(n)` counts the set bits among the first `n`.
pub fn modulo_fill(range: u64, bit_len: u64, set_bits: impl Fn(u64) -> u64) -> f64 {
    if bit_len == 0 {
        return 1.0;
    }
    let (rounds, favoured) = (range / bit_len, range % bit_len);
    let hits = rounds as f64 * set_bits(bit_len) as f64 + set_bits(favoured) as f64;
    hits / range as f64
}

/// The probability that an absent key has exactly the hash of one of `keys` present keys, for a hash of
/// `bits` bits.
pub fn collision_fpr(keys: f64, bits: u32) -> f64 {
    -(-keys * 0.5f64.powi(bits as i32)).exp_m1()
}

/// The probability of at least one of two independent events.
pub fn combine(a: f64, b: f64) -> f64 {
    a + b - a * b
}

/// How many distinct keys leave `set_bits` of `bit_len` bits set, on average: `-m/k · ln(1 - X/m)` (Swamidass
/// and Baldi 2007). `None` when every bit is set, or when there are no bits or no probes.
pub fn estimated_keys(set_bits: u64, bit_len: u64, probes: u32) -> Option<f64> {
    if probes == 0 || set_bits >= bit_len {
        return None;
    }
    let m = bit_len as f64;
    Some(m / f64::from(probes) * ln_ratio(m, (bit_len - set_bits) as f64))
}

/// The natural logarithm of `a / b`, for `0 < b <= a`. Native files store what follows from it, so it is not the
/// platform's: additions, multiplications and divisions have the same result on all machines.
fn ln_ratio(a: f64, b: f64) -> f64 {
    // Halve `a` until the ratio is below the root of two and the series is short.
    let (mut a, mut halvings) = (a, 0.0);
    while a > SQRT_2 * b {
        (a, halvings) = (a / 2.0, halvings + 1.0);
    }
    // ln(a / b) = 2 (z + z^3 / 3 + z^5 / 5 + ...) with |z| below 0.18
    let z = (a - b) / (a + b);
    let terms = (0..12).rev().fold(0.0, |sum, i| sum * z * z + 1.0 / f64::from(2 * i + 1));
    halvings * LN_2 + 2.0 * z * terms
}

/// The same for positions that have a limit, from the bits below it. `set_bits(n)` counts the set bits among
/// the first `n`.
pub fn estimated_keys_within(
    range: Option<u64>,
    bit_len: u64,
    probes: u32,
    set_bits: impl Fn(u64) -> u64,
) -> Option<f64> {
    let reached = range.unwrap_or(bit_len).min(bit_len);
    estimated_keys(set_bits(reached), reached, probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_bits_per_key_have_the_known_rates() {
        let blocked = blocked_fpr(1e6, 19_532, 512, 6);
        assert!((blocked - 0.009664).abs() < 1e-6);
        assert!(blocked > 1.14 * classic_fpr(1e6, 19_532 * 512, 6));
        assert!((split_block_fpr(1e6, 39_063) - 0.0126).abs() < 1e-4);
        assert_eq!(classic_bits(1000, 0.01), 9585);
    }

    #[test]
    fn the_estimate_inverts_the_expected_fill() {
        let (n, m, k) = (5_000.0, 48_000u64, 6u32);
        let set = (m as f64 * -(-f64::from(k) * n / m as f64).exp_m1()).round() as u64;
        assert!((estimated_keys(set, m, k).unwrap() - n).abs() < 2.0);
        assert_eq!(estimated_keys(m, m, k), None);
        assert_eq!(estimated_keys(0, m, k), Some(0.0));
    }

    #[test]
    fn our_logarithm_is_that_of_the_platform() {
        let powers = (0..48).map(|i| 3f64.powi(i) / 2f64.powi(i / 2));
        for a in powers.chain([512.0, 1e15, 281_474_976_710_656.0]) {
            for share in [1e-9, 0.001, 0.25, 0.4999, 0.5, 0.707, 0.708, 0.999, 1.0 - 1e-12, 1.0] {
                let (ours, theirs) = (ln_ratio(a, a * share), -f64::ln(share));
                assert!((ours - theirs).abs() <= 4e-16 * theirs.max(1.0), "{a} {share}: {ours} {theirs}");
            }
        }
    }

    #[test]
    fn reducing_an_even_hash_by_a_divisor_of_its_range_is_the_classic_case() {
        let (even, classic) = (modulo_fpr(1e5, 1 << 32, 1 << 20, 7), classic_fpr(1e5, 1 << 20, 7));
        assert!((even / classic - 1.0).abs() < 1e-9);
        // libbloom 1.6 near its limit: 1.7e9 bits for a promise of 0.01.
        assert!((modulo_fpr(1.7e9 / 9.585, 1 << 32, 1_700_000_000, 7) - 0.0113).abs() < 1e-4);
    }

    #[test]
    fn rates_stay_inside_zero_and_one() {
        for n in [0.0, 1.0, 1e3, 1e9, 1e18, f64::MAX] {
            for m in [0u64, 1, 64, 1 << 40] {
                for k in [0u32, 1, 7, 1075] {
                    let rate = classic_fpr(n, m, k);
                    assert!((0.0..=1.0).contains(&rate), "{n} {m} {k}: {rate}");
                    let rate = modulo_fpr(n, 1 << 31, m, k);
                    assert!((0.0..=1.0).contains(&rate), "{n} {m} {k}: {rate}");
                }
            }
            assert!((0.0..=1.0).contains(&collision_fpr(n, 32)));
        }
        for n in [0.0, 1.0, 50.0, 1e3, 1e6, 1e9, 1e19] {
            for blocks in [0, 1, 2, 20, 20_000, 1 << 33] {
                for k in [0, 1, 6, 30] {
                    let rate = blocked_fpr(n, blocks, 512, k);
                    assert!((0.0..=1.0).contains(&rate), "{n} {blocks} {k}: {rate}");
                }
            }
        }
    }

    #[test]
    fn steps_that_come_back_and_steps_that_are_shared_are_counted() {
        // Measured with 5,000,000 absent keys: libbloom 2.0 and Spark's second version.
        for (keys, bit_len, probes, measured) in [
            (1000.0, 28_755, 20, 4.06e-5),
            (1000.0, 28_800, 20, 5.8e-5),
            (1000.0, 19_170, 14, 1.946e-4),
            (1000.0, 19_200, 13, 1.816e-4),
        ] {
            let fill = -(-f64::from(probes) * keys / bit_len as f64).exp_m1();
            let rate = stepped_fpr(fill, keys, bit_len, probes);
            assert!((rate / measured - 1.0).abs() < 0.1, "{keys} {bit_len} {probes}: {rate} {measured}");
        }
        for (n, coprime) in [(1, 1.0), (2, 1.0), (9, 6.0), (10, 4.0), (97, 96.0), (210, 48.0)] {
            assert_eq!(totient(n), coprime, "{n}");
        }
        for fill in [0.0, 1e-300, 0.5, 1.0] {
            for (bit_len, probes) in [(0, 0), (1, 1), (1, 255), (64, 7), (1 << 40, u32::MAX)] {
                for keys in [0.0, 1.0, 1e18] {
                    let rate = stepped_fpr(fill, keys, bit_len, probes);
                    assert!((0.0..=1.0).contains(&rate), "{fill} {bit_len} {probes} {keys}: {rate}");
                }
            }
        }
    }

    /// Inclusion and exclusion over the distinct positions of the absent key, with a Poisson number of keys.
    fn exact_blocked_fpr(in_block: f64, block_len: u32, probes: u32) -> f64 {
        let m = f64::from(block_len);
        // distinct[d]: the probability that the probes so far cover d positions
        let mut distinct = vec![0.0; probes as usize + 1];
        distinct[0] = 1.0;
        for _ in 0..probes {
            for d in (1..distinct.len()).rev() {
                distinct[d] = distinct[d] * d as f64 / m + distinct[d - 1] * (1.0 - (d - 1) as f64 / m);
            }
            distinct[0] = 0.0;
        }
        let all_set = |d: usize| {
            let (mut choose, mut sum) = (1.0, 0.0);
            for i in 0..=d {
                let untouched = (1.0 - i as f64 / m).powi(probes as i32);
                sum += choose * (-in_block * (1.0 - untouched)).exp();
                choose *= -((d - i) as f64) / (i + 1) as f64;
            }
            sum
        };
        distinct.iter().enumerate().map(|(d, chance)| chance * all_set(d)).sum()
    }

    #[test]
    fn the_rate_of_blocks_is_the_exact_one_to_four_digits() {
        for (bits_per_key, probes) in
            [(1.0, 1), (3.0, 2), (8.0, 5), (10.0, 6), (12.0, 8), (16.0, 9), (20.0, 11)]
        {
            let blocks = 1 << 24; // enough blocks for a Poisson distribution of keys
            let keys = f64::from(blocks) * 512.0 / bits_per_key;
            let ours = blocked_fpr(keys, blocks as u64, 512, probes);
            let exact = exact_blocked_fpr(512.0 / bits_per_key, 512, probes);
            assert!((ours / exact - 1.0).abs() < 5e-4, "{bits_per_key}: {ours} {exact}");
        }
    }
}
