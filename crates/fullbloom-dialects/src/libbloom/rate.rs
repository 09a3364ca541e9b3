//! The effect of 2.0's 32-bit hashes on its rate when the array approaches 2^32 bits.
//!
//! A probe is `a + i·b` with `a` and `b` uniform over `[0, 2^32)`, reduced modulo `m`. Before the reduction,
//! probe `i` has a trapezoidal density over `[0, (i+1)·2^32)`. A small array folds it many times, so the
//! result is flat. A large array hardly folds it: some bits are hit often, the last ones never. Promised
//! 0.01, measured 0.0118 at 10^9 keys.

use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{collision_fpr, combine, stepped_fpr};

const RANGE: f64 = 4_294_967_296.0;

/// Below this length the folded density is flat to within a few percent and the formula for steps is correct.
const UNEVEN_FROM: u64 = 1 << 28;

/// The number of cells of the array, and of steps along each of the two hashes.
const CELLS: usize = 1024;
const STEPS: usize = 192;

/// A probe that is folded this often has a flat density.
const FLAT_FROM: f64 = 64.0;

/// The expected rate with `keys` keys in `bit_len` bits.
pub(crate) fn fpr_with(keys: f64, bit_len: u64, probes: u32) -> f64 {
    if !is_uneven(bit_len, probes) {
        let fill = -(-f64::from(probes) * keys / bit_len as f64).exp_m1();
        return combine(stepped_fpr(fill, keys, bit_len, probes), collision_fpr(keys, 64));
    }
    let m = bit_len as f64;
    let fills: Vec<f64> =
        densities(bit_len, probes).iter().map(|density| -(-keys * density).exp_m1()).collect();
    // The mean over both hashes of the product over the probes of one key.
    let mut sum = 0.0;
    for step_a in 0..STEPS {
        let a = (step_a as f64 + 0.5) / STEPS as f64 * RANGE;
        for step_b in 0..STEPS {
            let b = (step_b as f64 + 0.5) / STEPS as f64 * RANGE;
            let mut product = 1.0;
            for i in 0..probes {
                let position = (a + f64::from(i) * b) % m;
                product *= fills[((position / m * CELLS as f64) as usize).min(CELLS - 1)];
            }
            sum += product;
        }
    }
    combine(sum / (STEPS * STEPS) as f64, collision_fpr(keys, 64))
}

/// Whether the array is long enough for the unevenness to show.
pub(crate) fn is_uneven(bit_len: u64, probes: u32) -> bool {
    bit_len >= UNEVEN_FROM && probes > 0
}

/// How many keys leave `set_bits` bits set in an uneven array. The fill grows with the keys, so bisection
/// finds it.
pub(crate) fn keys_for(set_bits: u64, bit_len: u64, probes: u32) -> Option<f64> {
    let densities = densities(bit_len, probes);
    let fill =
        |keys: f64| densities.iter().map(|density| -(-keys * density).exp_m1()).sum::<f64>() / CELLS as f64;
    let wanted = set_bits as f64 / bit_len as f64;
    let (mut low, mut high) = (0.0, 100.0 * bit_len as f64);
    if fill(high) <= wanted {
        return None; // fuller than any number of keys can make it
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if fill(middle) < wanted { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// The probability that one key sets a bit, for each cell of the array.
fn densities(bit_len: u64, probes: u32) -> Vec<f64> {
    let m = bit_len as f64;
    let at = |cell: usize| (cell as f64 + 0.5) * m / CELLS as f64;
    (0..CELLS).map(|cell| (0..probes).map(|i| folded(at(cell), i, m)).sum()).collect()
}

/// Density of probe `i` at `at`, with all its folds.
fn folded(at: f64, i: u32, m: f64) -> f64 {
    let end = f64::from(i + 1) * RANGE;
    if end > FLAT_FROM * m {
        return 1.0 / m;
    }
    let mut density = 0.0;
    let mut x = at;
    while x < end {
        density += trapezoid(x, f64::from(i));
        x += m;
    }
    density
}

/// Density of `a + i·b` at `x`.
fn trapezoid(x: f64, i: f64) -> f64 {
    if i == 0.0 {
        return if x < RANGE { 1.0 / RANGE } else { 0.0 };
    }
    let flat = 1.0 / (i * RANGE);
    let (rising, falling) = (x / RANGE, (i + 1.0) - x / RANGE);
    flat * rising.min(falling).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::sizing::params_2_0;
    use super::*;

    #[test]
    fn the_model_gives_the_rates_measured_on_the_original() {
        for (entries, expected, within) in [
            (100_000_000u32, 0.01005, 2e-4),
            (1_000_000_000, 0.0118, 2e-4),
            (2_000_000_000, 0.030, 1e-3),
            (u32::MAX, 0.19, 1e-2),
        ] {
            let params = params_2_0(entries, 0.01).unwrap();
            let rate = fpr_with(entries.into(), params.bits, params.hashes.into());
            assert!((rate - expected).abs() < within, "{entries}: {rate}");
        }
    }

    #[test]
    fn the_estimate_of_keys_inverts_the_uneven_fill() {
        let params = params_2_0(2_000_000_000, 0.01).unwrap();
        let densities = densities(params.bits, params.hashes.into());
        let fill = densities.iter().map(|d| -(-2e9 * d).exp_m1()).sum::<f64>() / CELLS as f64;
        let keys = keys_for((fill * params.bits as f64) as u64, params.bits, params.hashes.into()).unwrap();
        assert!((keys / 2e9 - 1.0).abs() < 1e-3, "{keys}");
        assert_eq!(keys_for(params.bits, params.bits, params.hashes.into()), None);
    }
}
