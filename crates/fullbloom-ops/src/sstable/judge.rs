//! Whether a filter suits its keys: the thresholds.

use super::rebuild_hint;
use crate::problem::{Code, Problem};
use crate::text;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::cassandra::sizing;
use fullbloom_dialects::cassandra::sizing::{EXCESS_BITS, MAX_BITS_PER_KEY, RATES};
use fullbloom_sstable::Sstable;
use fullbloom_sstable::report::FilterFacts;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::verify::Absent;
use std::fs;
use std::path::Path;

/// A rate worse than promised by this factor is reported; ScyllaDB rebuilds filters from there on.
const TOO_FULL: f64 = 1.25;

/// A filter with this many times the bits it needs is reported,
const TOO_LARGE: u64 = 2;

/// if it wastes at least this many bytes: Cassandra makes small filters for 128 keys, however few there are.
const TOO_LARGE_BYTES: u64 = 1024;

/// What the filter of an sstable should do.
pub(super) struct Promise {
    /// The rate that the caller wants.
    wanted: Option<f64>,
    /// The table's rate in the `schema.cql` of a snapshot.
    schema: Option<f64>,
    /// The rate that `Statistics.db` records.
    recorded: Option<f64>,
}

impl Promise {
    /// What is known about the rate of an sstable's filter.
    pub(super) fn of(sstable: &Sstable, wanted: Option<f64>, recorded: Option<f64>) -> Promise {
        let schema = if sstable.is_in_memory() { None } else { schema_fpr(&sstable.directory) };
        Promise { wanted, schema, recorded }
    }

    /// The rate to keep, if one is given.
    fn fpr(&self) -> Option<f64> {
        self.wanted.or(self.schema).or(self.recorded).filter(|fpr| *fpr > 0.0 && *fpr < 1.0)
    }

    /// The rate to keep, and why. Without one: a filter with this many probes serves best when half of its
    /// bits are set, so Cassandra never sizes it for more.
    fn kept(&self, filter: &FilterFacts) -> (f64, String) {
        match self.fpr() {
            Some(fpr) if self.wanted.is_some() => (fpr, format!("{fpr} is wanted")),
            Some(fpr) if self.schema.is_some() => (fpr, format!("the schema says {fpr}")),
            Some(fpr) => (fpr, format!("{fpr} is recorded")),
            None => {
                let fpr = 0.5f64.powf(filter.probes.into());
                (fpr, format!("{fpr:.3} is usual for {} probes", filter.probes))
            }
        }
    }
}

/// The longest `schema.cql` that is read.
const MAX_SCHEMA: u64 = 1 << 20;

/// The rate in the `schema.cql` that a snapshot has beside its sstables.
fn schema_fpr(directory: &Path) -> Option<f64> {
    let path = directory.join("schema.cql");
    if !fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_SCHEMA) {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once("bloom_filter_fp_chance")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | 'E' | '-')).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The rate of Cassandra's table that gives exactly these bits and probes for these keys. Such a filter was
/// sized on purpose; `None` for one that got more or fewer keys than it was made for.
fn sized_for(filter: &FilterFacts, keys: u64) -> Option<f64> {
    let bits_per_key = u32::try_from(filter.bits.checked_sub(EXCESS_BITS as u64)?.checked_div(keys)?).ok()?;
    let spec = sizing::spec_for_bits_per_key(bits_per_key).ok()?;
    let words = sizing::words(i64::try_from(keys).ok()?, bits_per_key).ok()?;
    let exact = u64::from(words) * 64 == filter.bits && filter.probes <= spec.probes;
    exact.then(|| RATES[bits_per_key as usize].get(filter.probes as usize).copied()).flatten()
}

/// Whether the measured rate is worse than this one by more than chance: four standard deviations.
fn is_measured_worse(measured: Option<Absent>, fpr: f64) -> Option<f64> {
    let Absent { asked, false_positives, .. } = measured.filter(|measured| measured.asked > 0)?;
    let (asked, rate) = (asked as f64, false_positives as f64 / asked as f64);
    let deviation = (fpr * (1.0 - fpr) / asked).sqrt();
    (rate > fpr * TOO_FULL && rate > fpr + 4.0 * deviation).then_some(rate)
}

/// The problems of a filter that holds `keys` keys, by its set bits and by lookups of absent keys.
pub(super) fn judge(
    sstable: &Sstable,
    filter: &FilterFacts,
    keys: u64,
    promise: &Promise,
    measured: Option<Absent>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |code, message: String| {
        let problem = Problem::at(&sstable.path(FILTER), code, message);
        problems.push(Problem { hint: rebuild_hint(sstable), ..problem });
    };
    let bits_for = |keys, target| {
        let request = Request { expected_keys: keys, target };
        any::plan(filter.dialect, &request).ok().map(|plan| plan.geometry.bit_len)
    };
    let target = match promise.fpr() {
        Some(fpr) => Target::Fpr(fpr),
        // Without a rate: the most Cassandra ever spends.
        None => Target::BitsPerKey(MAX_BITS_PER_KEY.into()),
    };
    let needed = bits_for(keys, target);
    let (fpr, promised) = promise.kept(filter);
    if filter.expected_fpr > fpr * TOO_FULL {
        let expected = format!("the expected rate is {:.3}, {promised}", filter.expected_fpr);
        let other = sized_for(filter, keys).filter(|_| promise.wanted.or(promise.schema).is_none());
        let differs = needed.is_some_and(|needed| needed != filter.bits);
        match (other, needed) {
            (Some(other), _) if promise.fpr().is_some() && differs => {
                let why = format!("sized for a rate of {other}: {expected}");
                problems.push(Problem::at(&sstable.path(FILTER), Code::OtherRate, why));
                return problems;
            }
            (_, Some(needed)) if bits_for(0, target) == Some(filter.bits) && needed > filter.bits => add(
                Code::TooSmall,
                format!(
                    "sized for zero keys, as bulk loaders do: {} bits where {needed} are needed; {expected}",
                    filter.bits
                ),
            ),
            _ => add(Code::TooFull, format!("too full: {expected}")),
        }
    } else if let Some(rate) = is_measured_worse(measured, fpr) {
        add(Code::TooFull, format!("too many absent keys pass: the measured rate is {rate:.3}, {promised}"));
    }
    if let Some(needed) = needed
        && filter.bits >= needed.saturating_mul(TOO_LARGE)
        && filter.bits - needed >= 8 * TOO_LARGE_BYTES
    {
        let times = text::decimal(filter.bits as f64 / needed.max(1) as f64, 1);
        let bits = filter.bits;
        add(
            Code::TooLarge,
            format!("far larger than needed: {bits} bits; {needed} are enough ({times} times)"),
        );
    }
    problems
}
