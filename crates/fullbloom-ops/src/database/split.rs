//! A memory budget for filters, split over the levels of a database.
//!
//! A lookup of a key that is in no table needlessly reads every table whose filter says "maybe": on level 0
//! each table may, below it at most one of each level. Two ways to spend the same memory on that:
//!
//! * **equal**: the same bits per key everywhere, as engines do it. Nearly all memory goes to the last level,
//!   which holds nearly all keys but is only one of the reads to be saved;
//! * **optimal**: fewer bits where saving one read takes the bits of many keys. With textbook filters, `p =
//!   e^(-b ln²2)`, the least sum of reads has rates in proportion to the keys of each run (Dayan,
//!   Athanassoulis and Idreos, "Monkey", 2017). Here the real rates of the dialect and its real sizes are
//!   used, found by one price for a byte on all levels.

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{LevelDb, Name};
use fullbloom_table::filter::FilterRanges;
use serde::Serialize;

/// The most bits per key that a level gets, however much memory there is: beyond it the reads saved are not
/// worth the memory.
pub const MOST_BITS: u32 = 24;

/// The keys of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelKeys {
    /// Keys of all tables.
    pub keys: u64,
    /// Tables.
    pub tables: u64,
    /// How many of them a lookup may have to read: all of level 0, one of any other.
    pub runs: u64,
    /// How LevelDB divides the tables; `None` for one filter in each table.
    pub ranges: Option<FilterRanges>,
}

/// What one level gets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// Bits per key; 0 is no filter.
    pub bits_per_key: f64,
    /// Bytes of all its filters.
    pub bytes: u64,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// Tables of the level that a lookup of an absent key reads needlessly, on average.
    pub useless_reads: f64,
}

/// What each level could get.
#[derive(Debug)]
pub struct Curves {
    /// For each level its possible shares, from no filter upwards; the same index means the same bits per
    /// key.
    levels: Vec<Vec<Share>>,
}

impl Curves {
    /// Sizes filters of a dialect for all levels and bits per key. LevelDB takes whole bits, RocksDB tenths
    /// and finer.
    pub fn new(dialect: Name, levels: &[LevelKeys]) -> Result<Curves, SizeError> {
        let steps = match dialect {
            Name::LevelDb | Name::RocksDbBlock => 1,
            _ => 10,
        };
        let curve = |level: &LevelKeys| {
            let nothing =
                Share { bits_per_key: 0.0, bytes: 0, expected_fpr: 1.0, useless_reads: level.runs as f64 };
            let bits = (steps..=MOST_BITS * steps).map(|step| f64::from(step) / f64::from(steps));
            let shares = bits.map(|bits| match &level.ranges {
                Some(ranges) => share_of_ranges(ranges, level.runs, bits),
                None => share(dialect, level, bits),
            });
            std::iter::once(Ok(nothing)).chain(shares).collect::<Result<Vec<_>, _>>()
        };
        Ok(Curves { levels: levels.iter().map(curve).collect::<Result<_, _>>()? })
    }

    /// Shares that the caller has sized, for each level or table from the smallest upwards; the same index
    /// means the same rate or bits per key.
    pub fn of(levels: Vec<Vec<Share>>) -> Curves {
        Curves { levels }
    }

    /// The sums over all levels, which all have the same bits per key.
    pub fn summed(&self) -> Vec<Share> {
        let at = |step: usize| sum(&self.at(&vec![step; self.levels.len()]));
        (0..self.steps()).filter_map(at).collect()
    }

    /// The curves of several families as one: a budget is then split over all their levels.
    pub fn joined(families: &[Curves]) -> Curves {
        Curves { levels: families.iter().flat_map(|family| family.levels.iter().cloned()).collect() }
    }

    /// Steps that all levels have.
    fn steps(&self) -> usize {
        self.levels.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The largest step that all levels can have within `bytes`; `None` if not even the first fits.
    pub fn equal_step(&self, bytes: u64) -> Option<usize> {
        (0..self.steps()).rev().find(|step| total(&self.at(&vec![*step; self.levels.len()])) <= bytes)
    }

    /// The most bits per key that all levels can have within `bytes`; none if nothing fits.
    pub fn equal(&self, bytes: u64) -> Vec<Share> {
        self.equal_step(bytes).map_or(Vec::new(), |step| self.at(&vec![step; self.levels.len()]))
    }

    /// The same bits per key everywhere, whatever they cost: the nearest number that was sized.
    pub fn with(&self, bits_per_key: f64) -> Vec<Share> {
        let distance = |share: &&Share| (share.bits_per_key - bits_per_key).abs();
        let nearest =
            |curve: &Vec<Share>| curve.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied();
        self.levels.iter().filter_map(nearest).collect()
    }

    /// The fewest bits per key with which every level keeps a rate; `None` if none of those that were sized
    /// does.
    pub fn with_fpr(&self, fpr: f64) -> Option<Vec<Share>> {
        let at = |step: usize| self.at(&vec![step; self.levels.len()]);
        (0..self.steps()).map(at).find(|shares| shares.iter().all(|share| share.expected_fpr <= fpr))
    }

    /// The split with the fewest useless reads within `bytes`; none if nothing fits.
    pub fn optimal(&self, bytes: u64) -> Vec<Share> {
        self.optimal_steps(bytes).map_or(Vec::new(), |steps| self.at(&steps))
    }

    /// The steps of the split with the fewest useless reads within `bytes`; `None` if nothing fits.
    pub fn optimal_steps(&self, bytes: u64) -> Option<Vec<usize>> {
        let equal = vec![self.equal_step(bytes)?; self.levels.len()];
        let at_price =
            |price: f64| -> Vec<usize> { self.levels.iter().map(|curve| cheapest(curve, price)).collect() };
        let size = |steps: &[usize]| total(&self.at(steps));
        // From a price at which nothing is bought to one at which everything is: a hundred halvings between 1
        // and 1e-30.
        let (mut dear, mut cheap) = (1.0f64, 1e-30f64);
        if size(&at_price(cheap)) <= bytes {
            dear = cheap;
        }
        for _ in 0..100 {
            let middle = (dear.ln() / 2.0 + cheap.ln() / 2.0).exp();
            if size(&at_price(middle)) <= bytes {
                dear = middle;
            } else {
                cheap = middle;
            }
        }
        let mut steps = at_price(dear);
        self.spend_rest(&mut steps, bytes);
        // If the split gains nothing, use the simpler one: the same bits everywhere.
        let cost = |steps: &[usize]| {
            let shares = self.at(steps);
            (shares.iter().map(|share| share.useless_reads).sum::<f64>(), total(&shares))
        };
        let fits = size(&steps) <= bytes;
        Some(if fits && cost(&steps) < cost(&equal) { steps } else { equal })
    }

    /// The share that each level has at its step.
    pub fn at(&self, steps: &[usize]) -> Vec<Share> {
        self.levels.iter().zip(steps).map(|(curve, step)| curve[*step]).collect()
    }

    /// Repeats the step that saves the most reads per byte until nothing more fits.
    fn spend_rest(&self, steps: &mut [usize], bytes: u64) {
        loop {
            let left = bytes.saturating_sub(total(&self.at(steps)));
            let mut best: Option<(f64, usize, usize)> = None;
            for (level, curve) in self.levels.iter().enumerate() {
                let now = curve[steps[level]];
                for (step, share) in curve.iter().enumerate().skip(steps[level] + 1) {
                    let (saved, cost) =
                        (now.useless_reads - share.useless_reads, share.bytes.saturating_sub(now.bytes));
                    let gain = saved / (cost.max(1) as f64);
                    if saved > 0.0 && cost <= left && best.is_none_or(|(most, _, _)| gain > most) {
                        best = Some((gain, level, step));
                    }
                }
            }
            match best {
                Some((_, level, step)) => steps[level] = step,
                None => return,
            }
        }
    }
}

/// The sums over levels that have the same bits per key. The rate is that of the last.
pub(super) fn sum(shares: &[Share]) -> Option<Share> {
    let (first, others) = shares.split_first()?;
    Some(others.iter().fold(*first, |sum, share| Share {
        bytes: sum.bytes + share.bytes,
        useless_reads: sum.useless_reads + share.useless_reads,
        ..*share
    }))
}

fn total(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.bytes).sum()
}

/// The step with the least sum of reads and price; of equal ones the first.
fn cheapest(curve: &[Share], price: f64) -> usize {
    let cost = |share: &Share| share.useless_reads + price * share.bytes as f64;
    let best = curve.iter().enumerate().min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
    best.map_or(0, |(step, _)| step)
}

/// The share of a level at `bits_per_key`, assuming that its tables are equally large.
fn share(dialect: Name, level: &LevelKeys, bits_per_key: f64) -> Result<Share, SizeError> {
    let expected_keys = level.keys.div_ceil(level.tables.max(1));
    let plan = any::plan(dialect, &Request { expected_keys, target: Target::BitsPerKey(bits_per_key) })?;
    Ok(Share {
        bits_per_key,
        bytes: plan.encoded_len.saturating_mul(level.tables),
        expected_fpr: plan.expected_fpr,
        useless_reads: level.runs as f64 * plan.expected_fpr,
    })
}

/// The share of a level whose tables LevelDB divides like this.
fn share_of_ranges(ranges: &FilterRanges, runs: u64, bits_per_key: f64) -> Result<Share, SizeError> {
    let mut bytes = ranges.overhead();
    for (keys, filters) in &ranges.filters {
        bytes += filters * Filter::<LevelDb>::with_bits_per_key(*keys, bits_per_key)?.encoded_len();
    }
    let expected_fpr = ranges.expected_fpr(bits_per_key)?;
    Ok(Share { bits_per_key, bytes, expected_fpr, useless_reads: runs as f64 * expected_fpr })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<LevelKeys> {
        [(50_000, 4, 4), (500_000, 5, 1), (5_000_000, 20, 1), (50_000_000, 100, 1)]
            .map(|(keys, tables, runs)| LevelKeys { keys, tables, runs, ranges: None })
            .to_vec()
    }

    fn reads(shares: &[Share]) -> f64 {
        shares.iter().map(|share| share.useless_reads).sum()
    }

    #[test]
    fn both_splits_keep_the_budget_and_the_optimal_one_reads_least() {
        for dialect in [Name::RocksDb, Name::RocksDbRibbon, Name::LevelDb] {
            let curves = Curves::new(dialect, &levels()).unwrap();
            for bytes in [0, 1000, 100_000, 10 << 20, 40 << 20, 70 << 20, 1 << 30] {
                let (equal, optimal) = (curves.equal(bytes), curves.optimal(bytes));
                assert!(total(&equal) <= bytes && total(&optimal) <= bytes, "{dialect} {bytes}");
                assert!(reads(&optimal) <= reads(&equal), "{dialect} {bytes}");
            }
            let (equal, optimal) = (curves.equal(60 << 20), curves.optimal(60 << 20));
            assert!(
                reads(&optimal) < 0.8 * reads(&equal),
                "{dialect}: {} {}",
                reads(&optimal),
                reads(&equal)
            );
        }
    }

    #[test]
    fn rates_are_about_proportional_to_the_keys_of_a_run() {
        let curves = Curves::new(Name::RocksDb, &levels()).unwrap();
        let shares = curves.optimal(40 << 20);
        // Levels of ten times the keys have about ten times the rate; the last one may have none at all.
        for pair in shares[1..3].windows(2) {
            let ratio = pair[1].expected_fpr / pair[0].expected_fpr;
            assert!((5.0..20.0).contains(&ratio), "{ratio}: {shares:?}");
        }
    }

    #[test]
    fn no_split_found_by_trying_all_is_better_by_more_than_a_step() {
        let levels = &levels()[..3];
        let curves = Curves::new(Name::LevelDb, levels).unwrap();
        for bytes in [2 << 20, 5 << 20, 8 << 20] {
            let mut best = f64::INFINITY;
            for a in &curves.levels[0] {
                for b in &curves.levels[1] {
                    for c in &curves.levels[2] {
                        if a.bytes + b.bytes + c.bytes <= bytes {
                            best = best.min(a.useless_reads + b.useless_reads + c.useless_reads);
                        }
                    }
                }
            }
            let found = reads(&curves.optimal(bytes));
            assert!(found <= best * 1.02, "{bytes}: {found} where {best} is possible");
        }
    }

    #[test]
    fn where_a_split_gains_nothing_it_is_the_equal_one() {
        let curves =
            Curves::new(Name::RocksDb, &[LevelKeys { keys: 2_000, tables: 2, runs: 1, ranges: None }])
                .unwrap();
        for bytes in (500..8_000).step_by(100) {
            let (equal, optimal) = (curves.equal(bytes), curves.optimal(bytes));
            if (reads(&equal), total(&equal)) == (reads(&optimal), total(&optimal)) {
                assert_eq!(equal[0].bits_per_key, optimal[0].bits_per_key, "{bytes}");
            }
        }
    }

    #[test]
    fn a_rate_is_kept_on_every_level_with_the_fewest_bits() {
        let curves = Curves::new(Name::RocksDb, &levels()).unwrap();
        let shares = curves.with_fpr(0.01).unwrap();
        let bits = shares[0].bits_per_key;
        assert!(shares.iter().all(|share| share.expected_fpr <= 0.01 && share.bits_per_key == bits));
        let fewer = curves.with(bits - 0.1);
        assert!(fewer.iter().any(|share| share.expected_fpr > 0.01), "{bits} is not the fewest");
        assert_eq!(curves.with_fpr(1e-9), None);
    }

    #[test]
    fn no_levels_and_no_memory_are_no_filters() {
        let curves = Curves::new(Name::RocksDb, &[]).unwrap();
        assert!(curves.equal(100).is_empty() && curves.optimal(100).is_empty());
        let curves = Curves::new(Name::RocksDb, &levels()).unwrap();
        assert!(curves.optimal(0).iter().all(|share| share.bits_per_key == 0.0));
        let empty = [LevelKeys { keys: 0, tables: 1, runs: 1, ranges: None }];
        assert_eq!(Curves::new(Name::RocksDb, &empty).unwrap().equal(100).len(), 1);
    }
}
