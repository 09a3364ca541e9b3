//! The effect of DCSO's generator on its rate at certain sizes.
//!
//! Position `i` of a key is `h · (-1469)^i mod 2^64 mod m`. The low `e` bits of such a number depend on the
//! low `e` bits of `h` alone, so when `m = 2^e · odd`, keys fall into `2^e` classes that share the residues
//! of all their positions modulo `2^e`, and each position can differ in only `odd` ways. If `odd` is 1, keys
//! of one class have the same bits: a filter sized for 0.004 % has a rate of 19 %.

use alloc::vec;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{classic_fpr, collision_fpr, combine};

/// From this odd part on, the classic rate is correct to within a few percent.
const ORDINARY: u64 = 4096;

/// Below this power of two, every class has so many keys that their number makes no difference.
const COARSE: u32 = 7;

/// How many times the numbers of keys in a key's classes are sampled.
const DRAWS: u32 = 1 << 14;

/// Whether an array of this length misses its rate.
pub(crate) fn collapses(bit_len: u64) -> bool {
    let classes = bit_len.trailing_zeros();
    bit_len > 0 && classes >= COARSE && bit_len >> classes < ORDINARY
}

/// The expected rate of `keys` keys.
///
/// The cell of position `i` (all bits with its residue) holds one bit of every key from the `probes` classes
/// that reach it; neighbouring positions share all but one of those classes. The rate is therefore the mean
/// of the product of the fills of these cells, with a Poisson number of keys in each class.
pub(crate) fn fpr_with(keys: f64, bit_len: u64, probes: u32) -> f64 {
    let classic = combine(classic_fpr(keys, bit_len, probes), collision_fpr(keys, 64));
    if !collapses(bit_len) || probes == 0 {
        return classic;
    }
    let classes = bit_len.trailing_zeros();
    let (odd, mean) = ((bit_len >> classes) as f64, keys / 2f64.powi(classes as i32));
    if mean * f64::from(probes) / odd > 64.0 {
        return 1.0; // every bit was hit 64 times over
    }
    let clear = 1.0 - 1.0 / odd;
    let k = probes as usize;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut crowd = vec![0.0; 2 * k - 1];
    let mut sum = 0.0;
    for _ in 0..DRAWS {
        crowd.iter_mut().for_each(|class| *class = random.poisson(mean));
        let mut inside: f64 = crowd[..k].iter().sum();
        let mut product = 1.0 - clear.powf(inside);
        for i in k..crowd.len() {
            inside += crowd[i] - crowd[i - k];
            product *= 1.0 - clear.powf(inside);
        }
        sum += product;
    }
    (sum / f64::from(DRAWS)).max(classic)
}

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn even(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// By multiplying uniform numbers where the mean is small, by the sum of twelve where it is large.
    fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 30.0 {
            let normal = (0..12).map(|_| self.even()).sum::<f64>() - 6.0;
            return (mean + normal * mean.sqrt()).round().max(0.0);
        }
        let (end, mut product, mut count) = ((-mean).exp(), self.even(), 0.0);
        while product > end {
            product *= self.even();
            count += 1.0;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_gives_the_rates_measured_on_the_original() {
        for (keys, bit_len, probes, measured, within) in [
            (1_000.0, 8192, 6, 0.238, 0.1),
            (1_000.0, 16_384, 12, 0.202, 0.1),
            (100_000.0, 1 << 20, 8, 0.237, 0.1),
            (100_000.0, 1 << 21, 15, 0.194, 0.1),
            (1_000_000.0, 1 << 24, 12, 0.199, 0.1),
            (641.0, 3 << 12, 14, 0.0090, 0.25),
            (100_000.0, 9 << 18, 17, 0.000_35, 0.5),
            (1_000_000.0, 9 << 21, 14, 0.0013, 0.3),
            (10_000.0, 33 << 12, 10, 0.0026, 0.2),
            (100_000.0, (1 << 21) + 1, 15, 4.0e-5, 0.2),
            (1_000.0, 9585, 7, 0.0100, 0.05),
        ] {
            let rate = fpr_with(keys, bit_len, probes);
            assert!((rate / measured - 1.0).abs() < within, "{keys} in {bit_len}: {rate}, not {measured}");
        }
    }

    #[test]
    fn only_powers_of_two_times_a_small_odd_number_collapse() {
        for bit_len in [1 << 13, 3 << 12, 9 << 18, 33 << 16] {
            assert!(collapses(bit_len), "{bit_len}");
        }
        for bit_len in [0, 1, 64, 9585, 958_505, (1 << 21) + 1, 19_170_116, 2049 << 2] {
            assert!(!collapses(bit_len), "{bit_len}");
        }
    }
}
