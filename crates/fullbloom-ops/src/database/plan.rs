//! What filters of other sizes would cost a database, and how a memory budget is best split over its levels.

use super::levels::{self, Level};
use super::split::{Curves, LevelKeys, MOST_BITS, Share, sum};
use super::{find, is_stray, look, next};
use crate::next::Next;
use crate::plan::PlaceWish;
use crate::pool;
use crate::problem::{Code, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::{serialise, table, text};
use fullbloom_dialects::Name;
use fullbloom_table::database::Database;
use fullbloom_table::filter::FilterRanges;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// Usual numbers of bits per key.
const USUAL: [f64; 7] = [5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0];

/// One level of a column family: its filters now, and in each split of the memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "level")]
pub struct LevelPlan {
    /// Column family; empty where it is not known.
    pub column_family: String,
    /// Level; null where it is not known.
    pub level: Option<u32>,
    /// Tables.
    pub tables: u64,
    /// Their keys.
    pub keys: u64,
    /// The filters as they are.
    pub now: LevelNow,
    /// With the requested rate or bits per key; null if none was requested.
    pub requested: Option<Share>,
    /// With the same bits per key on all levels; null without a budget.
    pub equal: Option<Share>,
    /// In the split with the fewest useless reads; null without a budget.
    pub optimal: Option<Share>,
}

/// The filters of a level as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelNow {
    /// Bits for each entry.
    pub bits_per_key: Option<f64>,
    /// Bytes of the filters.
    pub bytes: u64,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// Tables that a lookup of an absent key reads needlessly, on average.
    pub useless_reads: f64,
}

/// The cost and effect of one split of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spending {
    /// Bytes of all filters.
    pub bytes: u64,
    /// Tables that a lookup of an absent key reads needlessly, on average; null for several column families,
    /// because a lookup reads one.
    pub useless_reads: Option<f64>,
}

/// The cost and effect of one number of bits per key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UsualRow {
    /// Bits per key, on all levels.
    pub bits_per_key: f64,
    /// The rate to expect, over all keys.
    pub expected_fpr: f64,
    /// What they cost.
    #[serde(flatten)]
    pub costs: Spending,
}

/// One column family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyPlan {
    /// Its name; empty where it is not known.
    pub name: String,
    /// Its keys.
    pub keys: u64,
    /// Its part of the memory: that of its levels in the split over all levels of all families.
    pub memory: Option<u64>,
    /// The requested rate or bits per key; null if none was requested.
    pub requested: Option<UsualRow>,
    /// The cost and effect of the usual numbers of bits per key.
    pub rows: Vec<UsualRow>,
    /// The same bits per key on all levels; null without a budget.
    pub equal: Option<Spending>,
    /// The best split; null without a budget.
    pub optimal: Option<Spending>,
    /// A level has reached the most useful bits per key, so memory is left over.
    pub capped: bool,
}

/// The filters of one column family as they are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FamilyNow {
    /// Tables.
    pub tables: u64,
    /// Their keys.
    pub keys: u64,
    /// The rate to expect, over all keys.
    pub expected_fpr: f64,
    /// What they cost.
    pub costs: Spending,
}

impl FamilyNow {
    /// The sums over the levels of one column family.
    pub fn of<'a>(levels: impl Iterator<Item = &'a LevelPlan>) -> FamilyNow {
        let (mut now, mut weighted) = (FamilyNow::default(), 0.0);
        for level in levels {
            now.tables += level.tables;
            now.keys += level.keys;
            now.costs.bytes += level.now.bytes;
            *now.costs.useless_reads.get_or_insert(0.0) += level.now.useless_reads;
            weighted += level.now.expected_fpr * level.keys as f64;
        }
        FamilyNow { expected_fpr: weighted / (now.keys as f64).max(1.0), ..now }
    }
}

/// All column families.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatabasePlanSummary {
    /// The database.
    pub from: String,
    /// `leveldb` or `rocksdb`.
    pub engine: &'static str,
    /// The dialect that filters are sized as.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// The memory budget.
    pub memory: Option<u64>,
    /// The requested rate.
    pub fpr: Option<f64>,
    /// The requested bits per key.
    pub asked_bits_per_key: Option<f64>,
    /// The most bits per key that a level gets.
    pub most_bits_per_key: u32,
    /// The cost and effect of the usual numbers of bits per key.
    pub rows: Vec<UsualRow>,
    /// The same bits per key on all levels; null without a budget.
    pub equal: Option<Spending>,
    /// The best split; null without a budget.
    pub optimal: Option<Spending>,
    /// Each column family.
    pub column_families: Vec<FamilyPlan>,
    /// What to type.
    pub next: Next,
    /// How to get these filters.
    pub advice: Vec<&'static str>,
}

/// Counts the keys of every table and sizes filters for them.
pub(crate) fn plan(
    path: &Path,
    wish: &PlaceWish,
    watch: &mut dyn Watch<()>,
) -> Result<Report<LevelPlan, DatabasePlanSummary>, Problem> {
    let memory = wish.memory;
    let database = find(path)?;
    let mut tables = Vec::new();
    let _ = pool::each(
        &database.tables,
        |table| look(&database, table, false),
        watch,
        |found, _| {
            tables.push(found);
            ControlFlow::Continue(())
        },
    );
    let levels = levels::of(&database, tables.iter().map(|found| &found.record));
    if levels.iter().all(|level| level.keys.is_empty()) {
        return Err(Problem::at(path, Code::TableUnreadable, "no table of the database can be read"));
    }
    let dialect = dialect(&levels);
    let all_levels = levels.len();
    let mut curves = Vec::new();
    for levels in levels.chunk_by(|a, b| a.family == b.family) {
        let divided = |level: &Level| match dialect {
            Name::LevelDb => Some(ranges_of(&database, level)),
            _ => None,
        };
        let sizes: Vec<LevelKeys> = levels.iter().map(|level| level_keys(level, divided(level))).collect();
        curves.push(Curves::new(dialect, &sizes).map_err(|e| Problem::at(path, Code::SizeRefused, e))?);
    }
    // The memory is split over the levels of all families at once.
    let mut best = memory.map(|memory| Curves::joined(&curves).optimal(memory).into_iter());
    let (mut found, mut families, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    for (levels, curves) in levels.chunk_by(|a, b| a.family == b.family).zip(&curves) {
        let keys: u64 = levels.iter().map(Level::total_keys).sum();
        let requested = requested(wish, curves)?;
        let optimal: Option<Vec<Share>> = best.as_mut().map(|best| best.take(levels.len()).collect());
        let budget = optimal.as_deref().map(|shares| shares.iter().map(|share| share.bytes).sum());
        let budget = if levels.len() == all_levels { memory } else { budget };
        let equal = budget.map(|budget| curves.equal(budget));
        wanted.extend(requested.as_deref().and_then(sum));
        let at_most = |share: &Share| share.bits_per_key >= f64::from(MOST_BITS);
        families.push(FamilyPlan {
            name: levels[0].family.clone(),
            keys,
            memory: budget,
            requested: requested.as_deref().map(|shares| usual(shares, levels)),
            rows: USUAL.iter().map(|bits| usual(&curves.with(*bits), levels)).collect(),
            equal: equal.as_deref().map(spending),
            optimal: optimal.as_deref().map(spending),
            capped: equal.iter().chain(&optimal).flatten().any(at_most),
        });
        for (i, level) in levels.iter().enumerate() {
            let at = |shares: &Option<Vec<Share>>| shares.as_ref().map(|shares| shares[i]);
            let shares = [at(&requested), at(&equal), at(&optimal)];
            found.push(Found { record: level_plan(level, shares), problems: Vec::new() });
        }
    }
    let names: Vec<String> = families.iter().map(|family| family.name.clone()).collect();
    let wanted = Some(wanted).filter(|wanted| wanted.len() == names.len());
    let next = next::choose(dialect, &names, &curves, &found, wanted, wish.memory);
    let unread = tables.iter().zip(&database.tables);
    let unread =
        unread.filter(|(found, table)| found.record.kind.is_none() && !is_stray(&database, table)).count();
    let unread = unread + database.missing.len();
    let left_out = (unread > 0)
        .then(|| format!("{} left out: cannot be read", text::counted(unread as u64, "table")))
        .map(|why| Problem::at(path, Code::Uncounted, why));
    let failures = tables.iter().flat_map(|found| &found.problems).filter(|problem| problem.is_failure());
    let problems: Vec<Problem> = failures.cloned().chain(left_out).collect();
    let status = Status::of_plan(&problems);
    let summary = summary(path, dialect, wish, families, next);
    Ok(Report { found, problems, summary, status })
}

fn summary(
    path: &Path,
    dialect: Name,
    wish: &PlaceWish,
    families: Vec<FamilyPlan>,
    next: Next,
) -> DatabasePlanSummary {
    let memory = wish.memory;
    let sum = |of: &dyn Fn(&FamilyPlan) -> Option<Spending>| Spending {
        bytes: families.iter().filter_map(of).map(|one| one.bytes).sum(),
        useless_reads: match families.as_slice() {
            [only] => of(only).and_then(|only| only.useless_reads),
            _ => None,
        },
    };
    let rows = USUAL.iter().enumerate();
    let keys: u64 = families.iter().map(|family| family.keys).sum();
    let row = |(i, bits): (usize, &f64)| UsualRow {
        bits_per_key: *bits,
        expected_fpr: {
            let weighted = families.iter().map(|family| family.rows[i].expected_fpr * family.keys as f64);
            weighted.sum::<f64>() / keys.max(1) as f64
        },
        costs: sum(&|family| Some(family.rows[i].costs)),
    };
    let mut advice = Vec::new();
    if memory.is_some() && families.len() > 1 {
        advice.push(
            "The memory is split over the column families as for lookups that go to all of them equally often: the \
             files do not show which family lookups go to.",
        );
    }
    if memory.is_some() {
        advice.push(match dialect {
            Name::LevelDb => "LevelDB has one number of bits per key for all levels.",
            _ => {
                "RocksDB takes bits per key by level from a FilterPolicy that looks at level_at_creation; \
                 tables change when they are compacted."
            }
        });
    }
    DatabasePlanSummary {
        from: path.display().to_string(),
        engine: if dialect == Name::LevelDb { "leveldb" } else { "rocksdb" },
        dialect,
        memory,
        fpr: wish.fpr,
        asked_bits_per_key: wish.bits_per_key,
        most_bits_per_key: MOST_BITS,
        rows: rows.map(row).collect(),
        equal: memory.map(|_| sum(&|family| family.equal)),
        optimal: memory.map(|_| sum(&|family| family.optimal)),
        column_families: families,
        next,
        advice,
    }
}

fn level_keys(level: &Level, ranges: Option<FilterRanges>) -> LevelKeys {
    LevelKeys { keys: level.total_keys(), tables: level.keys.len() as u64, runs: level.runs(), ranges }
}

/// How LevelDB divides the tables of a level. Those that cannot be read are left out, as their keys are.
fn ranges_of(database: &Database, level: &Level) -> FilterRanges {
    let place = Some((level.family.clone(), level.level));
    let own = database.tables.iter().filter(|table| levels::level_of(database, table) == place);
    let mut all = FilterRanges::default();
    for table in own {
        let ranges = table::open(&table.path, None).ok().and_then(|open| open.filter_ranges().ok());
        ranges.iter().for_each(|ranges| all.add(ranges));
    }
    all
}

fn level_plan(level: &Level, [requested, equal, optimal]: [Option<Share>; 3]) -> LevelPlan {
    LevelPlan {
        column_family: level.family.clone(),
        level: level.level,
        tables: level.keys.len() as u64,
        keys: level.total_keys(),
        now: LevelNow {
            bits_per_key: level.bits_per_key(),
            bytes: level.bytes,
            expected_fpr: level.expected_fpr(),
            useless_reads: level.useless_reads(),
        },
        requested,
        equal,
        optimal,
    }
}

fn spending(shares: &[Share]) -> Spending {
    Spending {
        bytes: shares.iter().map(|share| share.bytes).sum(),
        useless_reads: Some(shares.iter().map(|share| share.useless_reads).sum()),
    }
}

fn usual(shares: &[Share], levels: &[Level]) -> UsualRow {
    let keys: u64 = levels.iter().map(Level::total_keys).sum();
    let weighted =
        shares.iter().zip(levels).map(|(share, level)| share.expected_fpr * level.total_keys() as f64);
    UsualRow {
        bits_per_key: shares.first().map_or(0.0, |share| share.bits_per_key),
        expected_fpr: weighted.sum::<f64>() / keys.max(1) as f64,
        costs: spending(shares),
    }
}

/// What the requested rate or bits per key would give each level.
fn requested(wish: &PlaceWish, curves: &Curves) -> Result<Option<Vec<Share>>, Problem> {
    let most = f64::from(MOST_BITS);
    match (wish.fpr, wish.bits_per_key) {
        (Some(fpr), _) => match curves.with_fpr(fpr) {
            Some(shares) if fpr > 0.0 => Ok(Some(shares)),
            _ => {
                let why =
                    format!("{fpr} needs more than {most} bits per key, which no engine stores usefully");
                Err(Problem::new("fpr", Code::SizeRefused, why))
            }
        },
        (_, Some(bits)) if bits >= 1.0 && bits <= most => Ok(Some(curves.with(bits))),
        (_, Some(bits)) => {
            let why = format!("{bits} is not allowed (expected 1 to {most})");
            Err(Problem::new("bits_per_key", Code::SizeRefused, why))
        }
        _ => Ok(None),
    }
}

/// What the engine would write today: LevelDB its own, RocksDB Ribbon where it is used, else the full Bloom
/// filter.
fn dialect(levels: &[Level]) -> Name {
    let keys_of = |name: Name| -> u64 {
        let all = levels.iter().flat_map(|level| &level.dialects);
        all.filter(|(n, _)| *n == name).map(|(_, keys)| keys).sum()
    };
    let modern = [Name::RocksDb, Name::RocksDbLegacy, Name::RocksDbBlock].map(keys_of).iter().sum::<u64>();
    let all = [
        (modern, Name::RocksDb),
        (keys_of(Name::LevelDb), Name::LevelDb),
        (keys_of(Name::RocksDbRibbon), Name::RocksDbRibbon),
    ];
    // A database without filters is most likely one of RocksDB, whose default is no filter.
    let most = all.into_iter().rev().max_by_key(|(keys, _)| *keys).filter(|(keys, _)| *keys > 0);
    most.map_or(Name::RocksDb, |(_, name)| name)
}
