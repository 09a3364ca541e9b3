//! From a request to a layout and a number of blocks, and the reason for them.

use crate::error::{Quantity, SizeError};
#[cfg(not(feature = "std"))]
use crate::sizing::math::Float as _;
use crate::sizing::{Geometry, Layout, Request, Target, collision_fpr, combine};
use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::LN_2;
use core::fmt;

/// A layout with fewer lines is chosen if it needs at most this many times the bits of the best one: every
/// further line costs about half of the speed.
const WORTH_FEWER_LINES: f64 = 1.15;

/// Layouts with more lines are not computed if even the textbook filter would save less than this share of
/// the bits.
const WORTH_A_LOOK: f64 = 0.06;

/// The largest array, in bits: 32 TiB.
pub const MAX_BITS: u64 = 1 << 48;

/// The maximum bits per key; more than twice what the smallest reachable rate needs.
pub const MAX_BITS_PER_KEY: f64 = 512.0;

/// How many times the rate of the best layout one with fewer lines may have, for a given size. It matters
/// above 24 bits per key, where 15 % of the bits are worth more than this.
const MOST_RATE_FOR_FEWER_LINES: f64 = 5.0;

/// All eight lanes are used if the rate is at most this many times the best: batches are 6 % faster without the table
/// of lanes. That is from 11 bits per key on, where it costs 0.08 bits; at 12 bits, 0.014.
const RATE_FOR_ALL_LANES: f64 = 1.04;

/// The same for a given rate, in lines.
const LINES_FOR_ALL_LANES: f64 = 1.008;

/// The maximum bits per key where memory is the only limit.
const WORTHWHILE_BITS_PER_KEY: f64 = 100.0;

/// The native filter that a request leads to.
///
/// ```
/// use fullbloom::sizing::Sizing;
/// use fullbloom::sizing::{Request, Target};
///
/// let sizing = Sizing::new(&Request { expected_keys: 1_000_000, target: Target::Fpr(0.01) })?;
/// assert_eq!(sizing.layout.lines(), 1);
/// assert!(sizing.expected_fpr <= 0.01 && sizing.bits_per_key() < 10.0);
///
/// let low = Sizing::new(&Request { expected_keys: 1_000_000, target: Target::Fpr(1e-6) })?;
/// assert_eq!(low.layout.lines(), 2);
/// println!("{low}"); // reports the choice, and what the other layouts would have cost
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sizing {
    /// How a key's bits are laid out.
    pub layout: Layout,
    /// Number of blocks.
    pub blocks: u64,
    /// The number of keys it was sized for.
    pub expected_keys: u64,
    /// The expected rate with that number of keys: an average over the exact distribution of keys over
    /// blocks.
    pub expected_fpr: f64,
    /// The best candidate for each number of lines that could pay off, including the chosen one, fewest lines
    /// first.
    candidates: Vec<Candidate>,
}

/// One way to meet a request.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    layout: Layout,
    blocks: u64,
    expected_fpr: f64,
    /// Whether it makes the most of its bits, among those considered.
    smallest: bool,
}

impl Candidate {
    fn new(layout: Layout, blocks: u64, keys: u64) -> Candidate {
        let expected_fpr = combine(layout.fpr_with(keys as f64, blocks), collision_fpr(keys as f64, 64));
        Candidate { layout, blocks, expected_fpr, smallest: false }
    }

    fn bit_len(&self) -> u64 {
        self.blocks * self.layout.block_len()
    }

    /// Whether a key uses all eight lanes of its one line.
    fn uses_all_lanes(&self) -> bool {
        (self.layout.lines(), self.layout.line_probes()) == (1, 8)
    }
}

/// What matters more where one layout is not better in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefer {
    /// Fast lookups and insertions: the fewest lines for a key.
    Speed,
    /// The smallest filter for a rate, or the lowest rate for a size.
    Space,
}

impl Sizing {
    /// The layout and size for a request.
    ///
    /// The fewest lines per key that need at most 15 % more bits than the best layout: few lines are fast,
    /// many waste less space at low rates. Where the size is given, their rate is also at most five times the
    /// best. [`prefer`](Sizing::prefer) decides otherwise.
    pub fn new(request: &Request) -> Result<Sizing, SizeError> {
        let keys = request.expected_keys;
        match request.target {
            Target::Fpr(fpr) => {
                if !(fpr > 0.0 && fpr < 1.0) {
                    return Err(SizeError::Value { what: Quantity::Fpr, got: fpr, allowed: "0 < fpr < 1" });
                }
                let textbook = keys as f64 * -fpr.log2() / LN_2;
                Sizing::choose(
                    keys,
                    |lines| smallest(lines, keys, fpr),
                    |best| 1.0 - textbook / best.bit_len() as f64,
                    |fewer, more| 1.0 - more.bit_len() as f64 / fewer.bit_len() as f64,
                )
                .ok_or(match textbook > MAX_BITS as f64 {
                    true => SizeError::TooLarge { bit_len: textbook as u64, limit: MAX_BITS },
                    false => SizeError::Unreachable { fpr, max_bits_per_key: MAX_BITS_PER_KEY },
                })?
                .bounded()
            }
            Target::BitsPerKey(bits) => {
                if !(bits > 0.0 && bits <= MAX_BITS_PER_KEY) {
                    let allowed = "0 < bits_per_key <= 512";
                    return Err(SizeError::Value { what: Quantity::BitsPerKey, got: bits, allowed });
                }
                let requested = bits * keys as f64;
                let too_large = SizeError::TooLarge { bit_len: requested as u64, limit: MAX_BITS };
                if requested > MAX_BITS as f64 {
                    return Err(too_large);
                }
                // A rate falls by the factor e^(-ln² 2) with each bit per key; this converts a better rate
                // into bits.
                let worth = |from: f64, to: f64| (from / to).ln() / (LN_2 * LN_2 * bits);
                let textbook = (-LN_2 * LN_2 * bits).exp();
                Sizing::choose(
                    keys,
                    |lines| Some(best(lines, keys, requested)),
                    |best| worth(best.expected_fpr, textbook),
                    |fewer, more| match fewer.expected_fpr > MOST_RATE_FOR_FEWER_LINES * more.expected_fpr {
                        true => 1.0,
                        false => worth(fewer.expected_fpr, more.expected_fpr),
                    },
                )
                .ok_or(too_large)?
                .bounded()
            }
            Target::Exact { bit_len, probes } => {
                let (layout, blocks) = exact(bit_len, probes)?;
                let only = Candidate::new(layout, blocks, keys);
                Sizing::chosen(keys, only, vec![only]).bounded()
            }
        }
    }

    /// The largest filter for `expected_keys` keys whose file fits in `bytes`, up to 100 bits per key: more
    /// would bring no measurable gain.
    pub fn within(expected_keys: u64, bytes: u64) -> Result<Sizing, SizeError> {
        Sizing::bits_within(expected_keys, bytes).map(|(sizing, _)| sizing)
    }

    /// As [`within`](Sizing::within), with the bits per key that give it.
    pub fn bits_within(expected_keys: u64, bytes: u64) -> Result<(Sizing, f64), SizeError> {
        let plan = |bits| {
            let target = Target::BitsPerKey(bits);
            Sizing::new(&Request { expected_keys, target })
                .map(|plan| (plan.encoded_len() <= bytes).then_some(plan))
        };
        // Blocks are rounded up, and the header takes some space: go down in steps of half a percent, then a
        // little up again.
        let mut bits = (8.0 * bytes as f64 / expected_keys.max(1) as f64).min(WORTHWHILE_BITS_PER_KEY);
        for _ in 0..1000 {
            let Some(mut best) = plan(bits)? else {
                bits *= 0.995;
                continue;
            };
            let (mut fits, mut over) = (bits, (bits / 0.995).min(WORTHWHILE_BITS_PER_KEY));
            for _ in 0..6 {
                let middle = (fits + over) / 2.0;
                match plan(middle)? {
                    Some(better) => (best, fits) = (better, middle),
                    None => over = middle,
                }
            }
            return Ok((best, fits));
        }
        Err(SizeError::OverBudget { bytes })
    }

    /// The fewest lines that are nearly as small as the best; `saved` gives the share of the bits. `possible`
    /// is what even the textbook filter would save; where that is too little, nothing further is computed.
    fn choose(
        keys: u64,
        candidate: impl Fn(u32) -> Option<Candidate>,
        possible: impl Fn(&Candidate) -> f64,
        saved: impl Fn(&Candidate, &Candidate) -> f64,
    ) -> Option<Sizing> {
        let mut considered: Vec<Candidate> = Vec::new();
        let mut best: Option<Candidate> = None;
        for lines in [1, 2, 4] {
            if best.is_some_and(|best| possible(&best) < WORTH_A_LOOK) {
                break;
            }
            let Some(next) = candidate(lines) else { continue };
            considered.push(next);
            if best.is_none_or(|best| saved(&best, &next) > 0.0) {
                best = Some(next);
            }
        }
        let best = best?;
        let fast = |candidate: &&Candidate| saved(candidate, &best) <= 1.0 - 1.0 / WORTH_FEWER_LINES;
        let chosen = considered.iter().find(fast).copied().unwrap_or(best);
        considered.iter_mut().for_each(|candidate| candidate.smallest = *candidate == best);
        Some(Sizing::chosen(keys, chosen, considered))
    }

    /// The plan with another of the layouts that were considered: the one with the fewest lines, or the one
    /// that makes the most of its bits. To be called before [`foldable`](Sizing::foldable).
    ///
    /// ```
    /// use fullbloom::sizing::{Prefer, Sizing};
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// let sizing = Sizing::new(&Request { expected_keys: 1_000_000, target: Target::Fpr(0.0005) })?;
    /// let (fast, small) = (sizing.clone().prefer(Prefer::Speed), sizing.prefer(Prefer::Space));
    /// assert_eq!((fast.layout.lines(), small.layout.lines()), (1, 2));
    /// assert!(small.bits_per_key() < 0.95 * fast.bits_per_key());
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    #[must_use]
    pub fn prefer(self, prefer: Prefer) -> Sizing {
        let chosen = match prefer {
            Prefer::Speed => self.candidates.first(),
            Prefer::Space => self.candidates.iter().find(|candidate| candidate.smallest),
        };
        match chosen {
            Some(chosen) => Sizing::chosen(self.expected_keys, *chosen, self.candidates),
            None => self,
        }
    }

    fn chosen(keys: u64, chosen: Candidate, candidates: Vec<Candidate>) -> Sizing {
        let Candidate { layout, blocks, expected_fpr, .. } = chosen;
        Sizing { layout, blocks, expected_keys: keys, expected_fpr, candidates }
    }

    fn bounded(self) -> Result<Sizing, SizeError> {
        match self.geometry().bit_len {
            bit_len if bit_len > MAX_BITS => Err(SizeError::TooLarge { bit_len, limit: MAX_BITS }),
            _ => Ok(self),
        }
    }

    /// The plan with the number of blocks rounded up so that the filter can be halved this many times; see
    /// `Filter::folded_to`.
    pub fn foldable(mut self, times: u32) -> Result<Sizing, SizeError> {
        let unit = 1u64.checked_shl(times).filter(|unit| *unit <= MAX_BITS);
        let blocks = unit.and_then(|unit| self.blocks.checked_next_multiple_of(unit));
        let too_large = SizeError::TooLarge { bit_len: u64::MAX, limit: MAX_BITS };
        self.blocks =
            blocks.filter(|blocks| *blocks <= MAX_BITS / self.layout.block_len()).ok_or(too_large)?;
        self.expected_fpr = Candidate::new(self.layout, self.blocks, self.expected_keys).expected_fpr;
        Ok(self)
    }

    /// A given layout and number of blocks.
    pub fn with_layout(layout: Layout, blocks: u64, expected_keys: u64) -> Sizing {
        Sizing::chosen(expected_keys, Candidate::new(layout, blocks, expected_keys), Vec::new())
    }

    /// The best layout for each number of lines that could pay off, including the chosen one, fewest lines
    /// first.
    pub fn considered(&self) -> impl Iterator<Item = Sizing> + '_ {
        self.candidates.iter().map(|candidate| Sizing::chosen(self.expected_keys, *candidate, Vec::new()))
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        geometry(self.layout, self.blocks)
    }

    /// Length in bytes of the file of such a filter, without label, secret or exceptions.
    pub fn encoded_len(&self) -> u64 {
        super::format::plain_len(self.geometry().byte_len())
    }

    /// Bits for each expected key.
    pub fn bits_per_key(&self) -> f64 {
        self.geometry().bit_len as f64 / (self.expected_keys.max(1)) as f64
    }
}

pub fn geometry(layout: Layout, blocks: u64) -> Geometry {
    let block_len = layout.block_len();
    Geometry { bit_len: blocks * block_len, block_len, probes: layout.probes() }
}

impl fmt::Display for Sizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.expected_keys.max(1) as f64;
        for (i, candidate) in self.candidates.iter().enumerate() {
            let chosen = candidate.layout == self.layout;
            let lines = candidate.layout.lines();
            writeln!(
                f,
                "{} {lines} line{} of 512 bits for each key, {} probes: {:.2} bits per key, rate {:.3e}{}",
                if chosen { "*" } else { " " },
                if lines == 1 { "" } else { "s" },
                candidate.layout.probes(),
                candidate.bit_len() as f64 / keys,
                candidate.expected_fpr,
                if chosen && i > 0 { "; chosen for its size" } else { "" },
            )?;
        }
        Ok(())
    }
}

/// Lines in a block for an array of about this many bits: a page, or less where a page would be too coarse a
/// step.
fn block_lines(lines: u32, bits: f64) -> u32 {
    if lines == 1 {
        return 1;
    }
    let sixteenth = (bits / 512.0 / 16.0).clamp(1.0, 64.0) as u32;
    (1 << sixteenth.ilog2()).max(2 * lines)
}

/// Rounded up so that large filters can be folded: halved up to four times.
fn foldable(blocks: u64) -> u64 {
    let unit = match blocks {
        0..512 => 1,
        512..4096 => 2,
        _ => 16,
    };
    blocks.div_ceil(unit) * unit
}

/// Probes per line worth trying when about this many in total would be best by the textbook. Uneven blocks
/// lower the best number and never raise it by more than one.
fn probes_near(lines: u32, total: f64) -> core::ops::RangeInclusive<u32> {
    let each = (total / f64::from(lines)).clamp(1.0, 8.0);
    (each.floor() as u32).saturating_sub(2).max(1)..=(each.ceil() as u32 + 1).min(8)
}

/// The best rate with about this many bits.
fn best(lines: u32, keys: u64, bits: f64) -> Candidate {
    let block_lines = block_lines(lines, bits);
    let blocks = foldable(((bits / 512.0 / f64::from(block_lines)).ceil() as u64).max(1));
    let total = bits / (keys.max(1)) as f64 * LN_2;
    let candidates = || {
        probes_near(lines, total)
            .filter_map(|probes| Layout::new(lines, block_lines, probes))
            .map(|layout| Candidate::new(layout, blocks, keys))
    };
    let best = candidates()
        .reduce(|best, next| if next.expected_fpr < best.expected_fpr { next } else { best })
        .expect("every number of probes in the range makes a layout");
    let nearly = |all: &Candidate| all.expected_fpr <= RATE_FOR_ALL_LANES * best.expected_fpr;
    candidates().find(Candidate::uses_all_lanes).filter(nearly).unwrap_or(best)
}

/// The fewest blocks that keep the rate; `None` when no number of blocks does.
fn smallest(lines: u32, keys: u64, fpr: f64) -> Option<Candidate> {
    let total = -fpr.log2();
    let textbook = keys.max(1) as f64 * total / LN_2;
    let block_lines = block_lines(lines, textbook);
    let candidates: Vec<Candidate> = probes_near(lines, total)
        .filter_map(|probes| Layout::new(lines, block_lines, probes))
        .filter_map(|layout| Some(Candidate::new(layout, blocks_for(layout, keys, fpr)?, keys)))
        .filter(|candidate| candidate.expected_fpr <= fpr)
        .collect();
    let best = candidates.iter().copied().reduce(|best, next| {
        let better = (next.blocks, next.expected_fpr) < (best.blocks, best.expected_fpr);
        if better { next } else { best }
    })?;
    let nearly = |all: &Candidate| all.blocks as f64 <= LINES_FOR_ALL_LANES * best.blocks as f64;
    Some(candidates.into_iter().find(Candidate::uses_all_lanes).filter(nearly).unwrap_or(best))
}

/// One line per key: the fewest blocks for a rate that is not too small, and the best possible below that.
pub fn smallest_one_line(keys: u64, fpr: f64) -> (Layout, u64) {
    let found = smallest(1, keys, fpr);
    let Candidate { layout, blocks, .. } =
        found.unwrap_or_else(|| best(1, keys, keys as f64 * MAX_BITS_PER_KEY));
    (layout, blocks)
}

/// By bisection, to one part in two thousand: the rate falls with every additional block.
fn blocks_for(layout: Layout, keys: u64, fpr: f64) -> Option<u64> {
    let enough = |blocks: f64| Candidate::new(layout, blocks as u64, keys).expected_fpr <= fpr;
    let bits = keys.max(1) as f64;
    let most = ((bits * MAX_BITS_PER_KEY).min(MAX_BITS as f64) / layout.block_len() as f64).ceil();
    // A tenth less than the textbook filter needs is too few; four times that is nearly always enough.
    let textbook = bits * -fpr.log2() / LN_2 / layout.block_len() as f64;
    let (mut low, mut high) = ((0.9 * textbook).floor(), (4.0 * textbook).ceil().clamp(1.0, most));
    if !enough(high) {
        (low, high) = (high, most);
        if !enough(high) {
            return None;
        }
    }
    while high - low > (high / 2000.0).max(1.0) {
        let middle = (low.max(1.0) * high).sqrt().round().clamp(low + 1.0, high - 1.0);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(foldable(high as u64))
}

/// The layout given by these two numbers.
fn exact(bit_len: u64, probes: u32) -> Result<(Layout, u64), SizeError> {
    let (lines, line_probes) = match probes {
        1..=8 => (1, probes),
        9..=16 if probes.is_multiple_of(2) => (2, probes / 2),
        17..=32 if probes.is_multiple_of(4) => (4, probes / 4),
        _ => {
            let allowed = "1 to 8, even up to 16, a multiple of 4 up to 32";
            return Err(SizeError::Count { what: Quantity::Probes, got: probes.into(), allowed });
        }
    };
    let block_lines = match lines {
        1 => 1,
        _ => 1 << (bit_len / 512).trailing_zeros().min(6),
    };
    let layout =
        Layout::new(lines, block_lines, line_probes).filter(|_| bit_len > 0 && bit_len.is_multiple_of(512));
    let allowed = "whole lines of 512 bits; their number a multiple of the lines per key";
    let refused = SizeError::Count { what: Quantity::Bits, got: bit_len, allowed };
    let layout = layout.ok_or(refused)?;
    Ok((layout, bit_len / layout.block_len()))
}
