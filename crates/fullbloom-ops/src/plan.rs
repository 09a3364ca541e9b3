//! `plan`: what a filter would cost in each dialect, and what other filters would cost the data of a place.

use crate::database::{self, DatabasePlanSummary, LevelPlan};
#[cfg(feature = "parquet")]
use crate::parquet::{ColumnPlan, ColumnPlanSummary};
use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::sstable::{self, CassandraPlanSummary, CassandraTablePlan};
use crate::{serialise, text};
use fullbloom::SizeError;
use fullbloom::error::Quantity;
use fullbloom_any as any;
use fullbloom_any::Plan;
use fullbloom_dialects::Name;

use fullbloom::sizing::Prefer;
use fullbloom::sizing::{Request, Target};
use serde::Serialize;

/// An expected rate counts as kept up to this much above the requested one: sizing rules round, and the last
/// percent of a rate cannot be measured with fewer than 10^6 false positives.
const TOLERANCE: f64 = 1.01;

/// The request: a rate, bits per key or memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// A rate, or bits for each key.
    Target(Target),
    /// The largest filter that fits this many bytes.
    Memory(u64),
}

/// One dialect. What it cannot do is null, and a problem says why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "dialect")]
pub struct DialectPlan {
    /// The dialect.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// Length of the array in bits.
    pub bits: Option<u64>,
    /// Bytes of the file.
    pub bytes: Option<u64>,
    /// Bits for each expected key; null without keys.
    pub bits_per_key: Option<f64>,
    /// Probes for each key.
    pub probes: Option<u32>,
    /// The rate to expect.
    pub expected_fpr: Option<f64>,
    /// Of the native dialect: the layouts that were considered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<LayoutPlan>,
    /// Of the native dialect: the kind `compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<CompactRow>,
}

/// The kind `compact` of the native dialect: for sets that do not change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CompactRow {
    /// Length of the array in bits.
    pub bits: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bits for each expected key; null without keys.
    pub bits_per_key: Option<f64>,
    /// The rate to expect.
    pub expected_fpr: f64,
}

/// A layout of the native dialect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayoutPlan {
    /// Lines of 512 bits for each key.
    pub lines: u32,
    /// Lines of a block.
    pub block_lines: u64,
    /// Probes for each key.
    pub probes: u32,
    /// Bits in all.
    pub bits: u64,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// It was chosen.
    pub chosen: bool,
}

impl LayoutPlan {
    /// Bits for each key.
    pub fn bits_per_key(&self, expected_keys: u64) -> f64 {
        self.bits as f64 / expected_keys.max(1) as f64
    }
}

/// The request.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DialectPlanSummary {
    /// Keys that the filter will hold.
    pub expected_keys: u64,
    /// The requested rate.
    pub fpr: Option<f64>,
    /// The requested bits per key.
    pub asked_bits_per_key: Option<f64>,
    /// The memory budget.
    pub memory: Option<u64>,
}

/// What `plan` found.
pub type PlanReport = Report<DialectPlan, DialectPlanSummary>;

/// Sizes a filter in each of the dialects, each by its own system's rule. `prefer` overrides the rule of
/// native filters. Fails if the numbers are wrong for all of them.
pub fn plan(
    dialects: &[Name],
    expected_keys: u64,
    wish: Wish,
    prefer: Option<Prefer>,
) -> Result<PlanReport, Problem> {
    if let Wish::Target(Target::Fpr(fpr)) = wish {
        check_rate(fpr)?;
    }
    if let Some(mistake) = mistake(dialects, wish) {
        return Err(Problem::new("plan", Code::SizeRefused, mistake));
    }
    let found: Vec<Found<DialectPlan>> =
        dialects.iter().map(|dialect| sized(*dialect, expected_keys, wish, prefer)).collect();
    let possible = found.iter().any(|found| found.record.bits.is_some());
    let mut summary = DialectPlanSummary { expected_keys, ..DialectPlanSummary::default() };
    match wish {
        Wish::Target(Target::Fpr(fpr)) => summary.fpr = Some(fpr),
        Wish::Target(Target::BitsPerKey(bits)) => summary.asked_bits_per_key = Some(bits),
        Wish::Target(_) => {}
        Wish::Memory(memory) => summary.memory = Some(memory),
    }
    let status = if possible { Status::Well } else { Status::NotWell };
    Ok(Report { found, problems: Vec::new(), summary, status })
}

/// The request for the data of a place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlaceWish {
    /// A rate to show in addition to the usual ones.
    pub fpr: Option<f64>,
    /// For databases: bits per key to show in addition to the usual ones.
    pub bits_per_key: Option<f64>,
    /// The memory for all filters.
    pub memory: Option<u64>,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
}

/// What other filters would cost the data of a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlacePlan {
    /// The tables of Cassandra, at several rates.
    Sstables(Report<CassandraTablePlan, CassandraPlanSummary>),
    /// The levels of a database of LevelDB or RocksDB, with several numbers of bits per key.
    Database(Report<LevelPlan, DatabasePlanSummary>),
    /// The columns of Parquet files, at several rates.
    #[cfg(feature = "parquet")]
    Columns(Report<ColumnPlan, ColumnPlanSummary>),
}

/// Counts the keys of a directory, or of one sstable, and sizes filters for them.
pub fn plan_from(place: &Place, wish: &PlaceWish, watch: &mut dyn Watch<()>) -> Result<PlacePlan, Problem> {
    match place.kind() {
        PlaceKind::Database => Ok(PlacePlan::Database(database::plan(place.path(), wish, watch)?)),
        _ if wish.bits_per_key.is_some() => {
            let why = "tables of Cassandra and columns of Parquet are sized by a rate";
            Err(Problem::new("bits_per_key", Code::OptionRefused, why).hint("give a rate").needs(Need::Rate))
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Parquet | PlaceKind::Dataset => {
            Ok(PlacePlan::Columns(crate::parquet::plan(place, wish, watch)?))
        }
        _ => Ok(PlacePlan::Sstables(sstable::plan(place.path(), wish, watch)?)),
    }
}

impl PlacePlan {
    /// How the command ends.
    pub fn status(&self) -> Status {
        match self {
            PlacePlan::Sstables(report) => report.status,
            PlacePlan::Database(report) => report.status,
            #[cfg(feature = "parquet")]
            PlacePlan::Columns(report) => report.status,
        }
    }

    /// What is wrong.
    pub fn problems(&self) -> &[Problem] {
        match self {
            PlacePlan::Sstables(report) => &report.problems,
            PlacePlan::Database(report) => &report.problems,
            #[cfg(feature = "parquet")]
            PlacePlan::Columns(report) => &report.problems,
        }
    }
}

fn sized(dialect: Name, expected_keys: u64, wish: Wish, prefer: Option<Prefer>) -> Found<DialectPlan> {
    let mut layouts = Vec::new();
    let plan = match (dialect, wish) {
        (Name::Native, wish) => {
            let plan = match wish {
                Wish::Target(target) => fullbloom::sizing::Sizing::new(&Request { expected_keys, target }),
                Wish::Memory(memory) => fullbloom::sizing::Sizing::within(expected_keys, memory),
            };
            let plan = match prefer {
                Some(prefer) => plan.map(|plan| plan.prefer(prefer)),
                None => plan,
            };
            layouts = plan.as_ref().map(considered).unwrap_or_default();
            plan.as_ref().map(Plan::from).map_err(Clone::clone)
        }
        (dialect, Wish::Target(target)) => any::plan(dialect, &Request { expected_keys, target }),
        (dialect, Wish::Memory(memory)) => any::plan_within(dialect, expected_keys, memory),
    };
    let per_key = |plan: &Plan| {
        let bits = plan.geometry.bit_len as f64 / expected_keys as f64;
        Some(bits).filter(|bits| bits.is_finite())
    };
    let mut problems = Vec::new();
    let mut add = |code, why: String| problems.push(Problem::new(dialect, code, why));
    match &plan {
        Ok(plan) => {
            if let Some((code, why)) = shortfall(plan, per_key(plan), wish) {
                add(code, why);
            }
            if let Some(weakness) = plan.weakness {
                add(
                    if weakness.with_all_keys { Code::Weak } else { Code::WeakForSomeKeys },
                    weakness.to_string(),
                );
            }
        }
        Err(e) => add(Code::CannotSize, e.to_string()),
    }
    let plan = plan.as_ref().ok();
    let record = DialectPlan {
        dialect,
        bits: plan.map(|plan| plan.geometry.bit_len),
        bytes: plan.map(|plan| plan.encoded_len),
        bits_per_key: plan.and_then(per_key),
        probes: plan.map(|plan| plan.geometry.probes),
        expected_fpr: plan.map(|plan| plan.expected_fpr),
        layouts,
        compact: compact(dialect, expected_keys, wish),
    };
    Found { record, problems }
}

/// The kind `compact`, where it can be had.
fn compact(dialect: Name, expected_keys: u64, wish: Wish) -> Option<CompactRow> {
    if dialect != Name::Native {
        return None;
    }
    let plan = match wish {
        Wish::Target(Target::Fpr(fpr)) => fullbloom_compact::CompactFilter::plan(expected_keys, fpr).ok()?,
        Wish::Target(Target::BitsPerKey(bits)) => {
            compact_within(expected_keys, |plan| plan.bit_len as f64 <= bits * expected_keys as f64)?
        }
        Wish::Target(_) => return None,
        Wish::Memory(memory) => compact_within(expected_keys, |plan| plan.encoded_len <= memory)?,
    };
    let bits_per_key = Some(plan.bit_len as f64 / expected_keys as f64).filter(|bits| bits.is_finite());
    let (bits, bytes, expected_fpr) = (plan.bit_len, plan.encoded_len, plan.expected_fpr);
    Some(CompactRow { bits, bytes, bits_per_key, expected_fpr })
}

/// The compact filter with the lowest rate that fits. Rates are found by halving the range of their
/// exponents.
fn compact_within(
    expected_keys: u64,
    fits: impl Fn(&fullbloom_compact::CompactPlan) -> bool,
) -> Option<fullbloom_compact::CompactPlan> {
    let with = |exponent: f64| {
        fullbloom_compact::CompactFilter::plan(expected_keys, (-exponent).exp2()).ok().filter(&fits)
    };
    let (mut low, mut high) = (1.0, 64.0);
    let mut best = with(low)?;
    for _ in 0..30 {
        let middle = (low + high) / 2.0;
        match with(middle) {
            Some(plan) => (best, low) = (plan, middle),
            None => high = middle,
        }
    }
    Some(best)
}

fn considered(plan: &fullbloom::sizing::Sizing) -> Vec<LayoutPlan> {
    let each = plan.considered().map(|candidate| LayoutPlan {
        lines: candidate.layout.lines(),
        block_lines: candidate.layout.block_lines(),
        probes: candidate.layout.probes(),
        bits: candidate.geometry().bit_len,
        expected_fpr: candidate.expected_fpr,
        chosen: candidate.layout == plan.layout,
    });
    each.collect()
}

/// The part of the request that the filter does not meet.
fn shortfall(plan: &Plan, bits_per_key: Option<f64>, wish: Wish) -> Option<(Code, String)> {
    match wish {
        Wish::Target(Target::Fpr(asked)) if plan.expected_fpr > asked * TOLERANCE => {
            let (asked, expected) = (text::rate(asked), text::rate(plan.expected_fpr));
            Some((
                Code::RateNotKept,
                format!("cannot keep a rate of {asked}: the expected rate is {expected}"),
            ))
        }
        Wish::Target(Target::BitsPerKey(asked)) => {
            let used = bits_per_key.filter(|used| *used < asked / TOLERANCE)?;
            let used = text::decimal(used, 2);
            Some((Code::BitsNotUsed, format!("uses {used} of the {asked} bits per key requested")))
        }
        _ => None,
    }
}

/// A number that no dialect takes is the caller's mistake and not a result.
fn mistake(dialects: &[Name], wish: Wish) -> Option<SizeError> {
    let Wish::Target(target) = wish else { return None };
    let mut refusals = Vec::new();
    for name in dialects {
        match check_target(*name, target) {
            Err(e @ (SizeError::Value { .. } | SizeError::Unreachable { .. })) => refusals.push(e),
            _ => return None,
        }
    }
    refusals.into_iter().min_by_key(|e| !matches!(e, SizeError::Value { .. })) // the clearest message
}

/// Refuses a rate that no filter can have.
fn check_rate(fpr: f64) -> Result<(), Problem> {
    if fpr > 0.0 && fpr <= 1.0 {
        return Ok(());
    }
    let why = format!("{fpr} is not a false-positive rate: a rate is above 0 and at most 1");
    let problem = Problem::new("fpr", Code::SizeRefused, why);
    match fpr > 1.0 && fpr <= 100.0 {
        true => Err(problem.hint(format!("{fpr} in a hundred is {}", fpr / 100.0))),
        false => Err(problem),
    }
}

/// Refuses a target that is wrong however many keys there are, so that it is reported before any key is read.
pub fn check_target(dialect: Name, target: Target) -> Result<(), SizeError> {
    // Zero keys are cheap to plan for. Dialects that refuse them get the smallest number that all dialects
    // take.
    let mut plan = any::plan(dialect, &Request { expected_keys: 0, target });
    let mut fewer = false;
    if matches!(plan, Err(SizeError::Count { what: Quantity::ExpectedKeys, .. })) {
        plan = any::plan(dialect, &Request { expected_keys: 1000, target });
        fewer = true;
    }
    match plan {
        Err(e @ (SizeError::Value { .. } | SizeError::NoFilter { .. } | SizeError::Unsupported { .. })) => {
            Err(e)
        }
        // With fewer keys a lower rate may be possible, but never zero.
        Err(e @ SizeError::Unreachable { fpr, .. }) if fpr <= 0.0 || !fewer => Err(e),
        _ => Ok(()),
    }
}

/// Bits per key and the expected rate, by the dialect's own rule, for about this number of keys: at 1 to 40
/// bits.
pub fn rate_curve(dialect: Name, keys: u64) -> Vec<(f64, f64)> {
    let expected_keys = keys.clamp(1000, 100_000);
    let at = |bits: u32| {
        let target = Target::BitsPerKey(bits.into());
        let plan = any::plan(dialect, &Request { expected_keys, target }).ok()?;
        Some((plan.geometry.bit_len as f64 / expected_keys as f64, plan.expected_fpr))
    };
    (1..=40).filter_map(at).collect()
}

/// The rate of an ideal Bloom filter with this many bits per key and the best number of probes.
pub fn textbook_fpr(bits_per_key: f64) -> f64 {
    (-bits_per_key * std::f64::consts::LN_2.powi(2)).exp()
}
