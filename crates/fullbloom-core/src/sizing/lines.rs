//! The native layout and its false-positive rate, from the exact distribution of keys over blocks.
//!
//! Keys fall into blocks at random, so some blocks hold more keys than others, and the fullest ones cause
//! most of the false positives. The textbook formula ignores that: at 10 bits per key it is 19 % too low for
//! one line, and at 16 bits it gives half the true rate. Here the expectation is computed exactly.
//!
//! Letters: `n` keys, `B` blocks, `G` lines in a block, `L` lines per key, `k` probes in each line, `q =
//! 63/64`.
//!
//! In a line that holds `m` keys, each key uses a run of `k` of the eight words. The run begins at any of the
//! eight words with equal probability, and the key sets one of 64 bits in each. An absent key is reported
//! present when its `k` words all have its bits. By inclusion and exclusion over the subsets `A` of those
//! words, and because keys are independent,
//!
//! ```text
//!   P(m) = Σ_A (-1)^|A| · c_A^m         c_A = mean over the eight runs R of q^|A ∩ R|
//! ```
//!
//! which is exact. With `J` keys in a block, each line gets each key with probability `L/G`, so a line's
//! factor is `g(J) = Σ_A (-1)^|A| · (1 - L/G · (1 - c_A))^J`. A key's lines come from `L` separate regions,
//! chosen independently: the rate of the block is `g(J)^L`, and `J` is binomial with `n` trials of
//! probability `1/B`.

#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use alloc::vec::Vec;

/// How a native filter lays out a key's bits.
///
/// The array is `blocks` blocks of `block_lines` lines of 512 bits. A block is divided into equal regions,
/// one per line of a key. The key has one line in each region, and `line_probes` bits in each of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    lines: u8,
    block_lines: u8,
    line_probes: u8,
}

impl Layout {
    /// A layout with these numbers. `None` unless `lines` is 1, 2 or 4, `line_probes` is 1 to 8, and
    /// `block_lines` is a power of two up to 64 that gives each of a key's lines its own region. With one
    /// line per key, `block_lines` must be 1.
    pub fn new(lines: u32, block_lines: u32, line_probes: u32) -> Option<Layout> {
        let blocks_ok = match lines {
            1 => block_lines == 1,
            2 | 4 => block_lines.is_power_of_two() && (lines..=64).contains(&block_lines),
            _ => false,
        };
        (blocks_ok && (1..=8).contains(&line_probes)).then_some(Layout {
            lines: lines as u8,
            block_lines: block_lines as u8,
            line_probes: line_probes as u8,
        })
    }

    /// Lines that hold one key's bits: the number of cache misses of a positive lookup.
    #[inline(always)]
    pub fn lines(self) -> u32 {
        self.lines.into()
    }

    /// Lines in a block; 64 lines are a page of 4 KiB.
    #[inline(always)]
    pub fn block_lines(self) -> u64 {
        self.block_lines.into()
    }

    /// Bits that a key sets in each of its lines.
    #[inline(always)]
    pub fn line_probes(self) -> u32 {
        self.line_probes.into()
    }

    /// Lines in a region: the candidates for each of a key's lines.
    #[inline(always)]
    pub fn region_lines(self) -> u64 {
        u64::from(self.block_lines / self.lines)
    }

    /// Bits that a key sets.
    pub fn probes(self) -> u32 {
        self.lines() * self.line_probes()
    }

    /// Bits in a block.
    pub fn block_len(self) -> u64 {
        self.block_lines() * 512
    }

    /// The expected rate with `keys` distinct keys in `blocks` blocks.
    ///
    /// ```
    /// use fullbloom::sizing::Layout;
    /// let one_line = Layout::new(1, 1, 6).unwrap();
    /// // 10 bits for each of a million keys: 0.973 %, where the textbook gives 0.82 %.
    /// assert!((one_line.fpr_with(1e6, 19_532) - 0.00973).abs() < 1e-5);
    /// ```
    pub fn fpr_with(self, keys: f64, blocks: u64) -> f64 {
        if keys <= 0.0 {
            return 0.0;
        }
        if blocks == 0 {
            return 1.0;
        }
        let terms = terms(self.line_probes());
        let chance = 1.0 / blocks as f64;
        let rate = if self.lines == 1 {
            // E[c^J] for binomial J is (1 - (1 - c)/B)^n: no sum over J is needed.
            terms.iter().map(|&(weight, miss)| weight * kept(miss * chance, keys)).sum()
        } else {
            let share = f64::from(self.lines) / f64::from(self.block_lines);
            over_block_loads(keys, chance, |load| {
                let line: f64 = terms.iter().map(|&(weight, miss)| weight * kept(share * miss, load)).sum();
                line.clamp(0.0, 1.0).powi(self.lines.into())
            })
        };
        rate.clamp(0.0, 1.0)
    }
}

/// `(1 - miss)^keys`, accurate also where `miss` is tiny and `keys` is large.
fn kept(miss: f64, keys: f64) -> f64 {
    (keys * (-miss).ln_1p()).exp()
}

/// The terms of `P(m)`, grouped: signed number of subsets, and `1 - c_A`.
#[cfg(feature = "std")]
fn terms(probes: u32) -> &'static [(f64, f64)] {
    static TERMS: std::sync::OnceLock<[Vec<(f64, f64)>; 8]> = std::sync::OnceLock::new();
    let all = TERMS.get_or_init(|| core::array::from_fn(|i| make_terms(i as u32 + 1)));
    &all[probes as usize - 1]
}

/// As above, computed on every call.
#[cfg(not(feature = "std"))]
fn terms(probes: u32) -> Vec<(f64, f64)> {
    make_terms(probes)
}

fn make_terms(probes: u32) -> Vec<(f64, f64)> {
    let run = |first: u32| (0..probes).fold(0u32, |words, i| words | 1 << ((first + i) % 8));
    let own = run(0);
    let mut terms: Vec<(f64, f64)> = Vec::new();
    for subset in (0..256u32).filter(|subset| subset & !own == 0) {
        let sign = if subset.count_ones() % 2 == 0 { 1.0 } else { -1.0 };
        let miss = (0..8).map(|first| 1.0 - (63.0f64 / 64.0).powi((subset & run(first)).count_ones() as i32));
        let miss = miss.sum::<f64>() / 8.0;
        match terms.iter_mut().find(|(_, known)| (known - miss).abs() < 1e-12) {
            Some((weight, _)) => *weight += sign,
            None => terms.push((sign, miss)),
        }
    }
    terms.retain(|&(weight, _)| weight != 0.0);
    terms
}

/// The mean of `rate` over the number of keys in a block, which is binomial: `keys` trials of probability
/// `chance`.
///
/// Evaluated at some 200 loads within ten standard deviations; `rate` is smooth on that scale.
fn over_block_loads(keys: f64, chance: f64, rate: impl Fn(f64) -> f64) -> f64 {
    let mean = keys * chance;
    let deviation = (mean * (1.0 - chance)).sqrt();
    if deviation < 1e-3 * mean || keys < 1.0 {
        return rate(mean); // one block, or so many keys that all blocks are equally full
    }
    let mode = mean.floor();
    let steps = (10.0 * deviation + 10.0) as u64;
    let stride = (deviation / 10.0).max(1.0) as u64;
    let (mut total, mut weights) = (rate(mode), 1.0);
    // From the mode in both directions; each weight follows from the previous one. Every `stride`th load
    // counts.
    let (mut load, mut weight) = (mode, 1.0);
    for step in 1..=steps.min((keys - mode) as u64) {
        weight *= (keys - load) / (load + 1.0) * (chance / (1.0 - chance));
        load += 1.0;
        if step % stride == 0 {
            total += weight * rate(load);
            weights += weight;
        }
    }
    (load, weight) = (mode, 1.0);
    for step in 1..=steps.min(mode as u64) {
        weight *= load / (keys - load + 1.0) * ((1.0 - chance) / chance);
        load -= 1.0;
        if step % stride == 0 {
            total += weight * rate(load);
            weights += weight;
        }
    }
    total / weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::classic_fpr;

    fn layout(lines: u32, block_lines: u32, line_probes: u32) -> Layout {
        Layout::new(lines, block_lines, line_probes).unwrap()
    }

    /// `P(m)` by enumerating every possible state of a line's words after `m` keys, for small `m`.
    fn line_rate_by_enumeration(probes: u32, keys: u32) -> f64 {
        // The probability depends only on how often each word was used; enumerate the runs of all keys.
        let run = |first: u32| (0..probes).map(move |i| ((first + i) % 8) as usize);
        let histories = 8u32.pow(keys);
        let mut sum = 0.0;
        for history in 0..histories {
            let mut uses = [0; 8];
            for key in 0..keys {
                run(history / 8u32.pow(key) % 8).for_each(|word| uses[word] += 1);
            }
            let fill = |word: usize| 1.0 - (63.0f64 / 64.0).powi(uses[word]);
            sum += (0..8).map(|first| run(first).map(fill).product::<f64>()).sum::<f64>() / 8.0;
        }
        sum / f64::from(histories)
    }

    #[test]
    fn inclusion_and_exclusion_equals_enumeration() {
        for probes in 1..=8 {
            for keys in 0..=4 {
                let terms = terms(probes).iter().map(|(weight, miss)| weight * (1.0 - miss).powi(keys));
                let (closed, played) = (terms.sum::<f64>(), line_rate_by_enumeration(probes, keys as u32));
                assert!((closed - played).abs() < 1e-13, "{probes} probes, {keys} keys: {closed} {played}");
            }
        }
    }

    #[test]
    fn one_line_is_the_sum_over_poisson_loads() {
        for (probes, bits_per_key) in [(5, 8.0), (6, 10.0), (7, 12.0), (8, 16.0)] {
            let (blocks, load) = (1 << 30, 512.0 / bits_per_key);
            let mut weight = f64::exp(-load);
            let mut sum = 0.0;
            for keys in 0..400 {
                let line = terms(probes).iter().map(|(w, miss)| w * (1.0 - miss).powi(keys)).sum::<f64>();
                sum += weight * line;
                weight *= load / f64::from(keys + 1);
            }
            let closed = layout(1, 1, probes).fpr_with(load * blocks as f64, blocks);
            assert!((closed / sum - 1.0).abs() < 1e-6, "{closed} {sum}");
        }
    }

    #[test]
    fn rates_against_the_textbook_are_those_of_the_documentation() {
        let ratio = |layout: Layout, bits_per_key: f64| {
            let blocks = 1u64 << 24;
            let keys = (blocks * layout.block_len()) as f64 / bits_per_key;
            let classic = (1..40)
                .map(|probes| classic_fpr(keys, blocks * layout.block_len(), probes))
                .fold(1.0, f64::min);
            layout.fpr_with(keys, blocks) / classic
        };
        for (layout, bits_per_key, expected) in [
            (layout(1, 1, 5), 8.0, 1.086),
            (layout(1, 1, 6), 10.0, 1.187),
            (layout(1, 1, 7), 12.0, 1.334),
            (layout(1, 1, 8), 16.0, 1.981),
            (layout(2, 64, 5), 16.0, 1.204),
            (layout(2, 64, 7), 24.0, 1.817),
        ] {
            let found = ratio(layout, bits_per_key);
            assert!((found - expected).abs() < 0.001, "{layout:?} at {bits_per_key}: x{found}");
        }
    }

    #[test]
    fn rates_stay_inside_zero_and_one_and_grow_with_the_keys() {
        for layout in [layout(1, 1, 1), layout(1, 1, 8), layout(2, 2, 3), layout(2, 64, 8), layout(4, 64, 8)]
        {
            for blocks in [0, 1, 2, 7, 1000, 1 << 40] {
                let mut last = 0.0;
                for keys in [0.0, 1.0, 10.0, 1e3, 1e6, 1e9, 1e15, 1e300] {
                    let rate = layout.fpr_with(keys, blocks);
                    assert!((0.0..=1.0).contains(&rate), "{layout:?} {blocks} {keys}: {rate}");
                    assert!(
                        rate >= last * 0.999_999 - 1e-12,
                        "{layout:?} {blocks} {keys}: {rate} after {last}"
                    );
                    last = rate;
                }
            }
        }
    }

    #[test]
    fn impossible_layouts_are_refused() {
        for (lines, block_lines, probes) in [
            (0, 1, 6),
            (1, 2, 6),
            (2, 1, 6),
            (3, 48, 6),
            (4, 2, 6),
            (2, 128, 6),
            (2, 24, 6),
            (8, 64, 6),
            (1, 1, 0),
            (1, 1, 9),
        ] {
            assert_eq!(Layout::new(lines, block_lines, probes), None, "{lines} {block_lines} {probes}");
        }
    }
}
