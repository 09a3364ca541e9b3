//! `plan --from` a data directory: what other rates would cost its tables.

use super::next::{self, ROUND};
use super::ranges::shares;
use super::rates::{Part, RATES, Row, row};
use super::totals::useless_reads;
use super::{SstableRecord, find, inspect, skipped, table_name};
use crate::next::Next;
use crate::plan::PlaceWish;
use crate::pool;
use crate::problem::{Code, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::text;
use fullbloom_sstable::{Sstable, TokenRange};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// How to get the planned filters.
const ADVICE: &str = "Set with ALTER TABLE … WITH bloom_filter_fp_chance = P; existing filters change \
                      when they are rebuilt at this rate, or when Cassandra rewrites the sstables.";

/// One table of Cassandra, or all of them: its filters now, and at each rate.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[serde(tag = "type", rename = "cassandra-table")]
pub struct CassandraTablePlan {
    /// Keyspace, where it is known.
    pub keyspace: Option<String>,
    /// Table, where it is known.
    pub table: Option<String>,
    /// The table's id, where it is known.
    pub table_id: Option<String>,
    /// Sstables whose keys are counted.
    pub sstables: u64,
    /// Sstables whose keys cannot be counted.
    pub uncounted: u64,
    /// Keys of all sstables.
    pub keys: u64,
    /// The filters as they are.
    pub now: CassandraNow,
    /// The rate that is proposed for it; null if none is.
    pub planned_fpr: Option<f64>,
    /// What each rate would cost.
    pub rows: Vec<Row>,
    #[serde(skip)]
    pub(super) parts: Vec<Part>,
    /// The tokens of each sstable, its rate, and whether its keys are counted.
    #[serde(skip)]
    pub(super) met: Vec<(Option<TokenRange>, f64, bool)>,
}

/// What the filters cost as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct CassandraNow {
    /// Bytes of all `Filter.db`.
    pub bytes: u64,
    /// Bytes of the filters in a node's memory.
    pub memory_bytes: u64,
    /// Bits for each key, of the sstables whose keys and filters can both be read.
    pub bits_per_key: Option<f64>,
    /// Sstables that a lookup of an absent key reads needlessly, on average; null for several tables,
    /// because a lookup reads one.
    pub useless_reads: Option<f64>,
    /// The rate that `Statistics.db` records; null if it is not the same for all sstables.
    pub recorded_fpr: Option<f64>,
    /// Keys and memory for the bits per key.
    #[serde(skip)]
    both: (u64, u64),
}

/// All tables together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CassandraPlanSummary {
    /// The directory.
    pub from: String,
    /// `cassandra`.
    pub engine: &'static str,
    /// Keys of all sstables.
    pub keys: u64,
    /// Sstables whose keys are counted.
    pub sstables: u64,
    /// The memory budget.
    pub memory: Option<u64>,
    /// The lowest round rate whose filters fit the memory.
    pub fitting_fpr: Option<f64>,
    /// The filters as they are.
    pub now: CassandraNow,
    /// What each rate would cost.
    pub rows: Vec<Row>,
    /// What to type.
    pub next: Next,
    /// How to get these filters.
    pub advice: Vec<&'static str>,
}

impl CassandraNow {
    fn add(&mut self, other: &CassandraNow) {
        self.bytes += other.bytes;
        self.memory_bytes += other.memory_bytes;
        self.both = (self.both.0 + other.both.0, self.both.1 + other.both.1);
        self.bits_per_key = (self.both.0 > 0).then(|| 8.0 * self.both.1 as f64 / self.both.0 as f64);
    }
}

impl CassandraTablePlan {
    /// Its name, so that it differs from those of the other tables; see [`TableTotals::name_among`].
    ///
    /// [`TableTotals::name_among`]: super::TableTotals::name_among
    pub fn name_among(&self, tables: &[Found<CassandraTablePlan>]) -> String {
        let same = |other: &&Found<CassandraTablePlan>| {
            (&other.record.keyspace, &other.record.table) == (&self.keyspace, &self.table)
        };
        let id = self.table_id.as_deref().filter(|_| tables.iter().filter(same).count() > 1);
        table_name(self.keyspace.as_deref(), self.table.as_deref(), id)
    }

    fn add(&mut self, sstable: &Sstable, seen: &SstableRecord) {
        match seen.keys {
            Some(keys) => self.parts.push(Part { dialect: sstable.dialect, keys, share: 1.0 }),
            None => self.uncounted += 1,
        }
        self.sstables = self.parts.len() as u64;
        self.keys += seen.keys.unwrap_or(0);
        self.now.add(&CassandraNow {
            bytes: seen.bytes.unwrap_or(0),
            memory_bytes: seen.memory_bytes.unwrap_or(0),
            bits_per_key: None,
            useless_reads: None,
            recorded_fpr: None,
            both: seen.keys.zip(seen.memory_bytes).unwrap_or((0, 0)),
        });
        let is_first = self.met.is_empty();
        self.now.recorded_fpr =
            seen.recorded_fpr.filter(|fpr| is_first || self.now.recorded_fpr == Some(*fpr));
        let range = seen.tokens.map(|[first, last]| TokenRange::new(first, last));
        self.met.push((range, seen.expected_fpr.unwrap_or(1.0), seen.keys.is_some()));
    }

    /// Whether the keys of all its sstables are known.
    pub(super) fn is_counted(&self) -> bool {
        self.uncounted == 0 && self.sstables > 0
    }

    /// When all sstables are known: the share of lookups that meet each of them.
    fn finish(&mut self) {
        let met: Vec<_> = self.met.iter().map(|(range, fpr, _)| (*range, *fpr)).collect();
        self.now.useless_reads = Some(useless_reads(&met));
        let ranges: Vec<_> = met.iter().map(|(range, _)| *range).collect();
        let counted = shares(&ranges).into_iter().zip(&self.met).filter(|(_, (.., counted))| *counted);
        for (part, (share, _)) in self.parts.iter_mut().zip(counted) {
            part.share = share;
        }
    }

    fn rows(&self, rates: &[f64]) -> Vec<Row> {
        // A rate that Cassandra's rule takes for one sstable it takes for all but astronomic ones.
        rates.iter().filter_map(|fpr| row(&self.parts, *fpr).ok()).collect()
    }
}

/// Counts the keys of every sstable and sizes filters for them.
pub(crate) fn plan(
    path: &Path,
    options: &PlaceWish,
    watch: &mut dyn Watch<()>,
) -> Result<Report<CassandraTablePlan, CassandraPlanSummary>, Problem> {
    let walk = find(path, options.snapshots)?;
    // What cannot be read is an error: the plan would be too small without it.
    let mut problems: Vec<Problem> = walk.skipped.iter().map(skipped).filter(Problem::is_failure).collect();
    let mut seen = Vec::new();
    let _ = pool::each(
        &walk.sstables,
        |sstable| inspect(sstable, None, false),
        watch,
        |found, _| {
            problems.extend(found.problems.into_iter().filter(Problem::is_failure));
            seen.push(found.record);
            ControlFlow::Continue(())
        },
    );
    let mut tables: Vec<CassandraTablePlan> = Vec::new();
    for (sstable, seen) in walk.sstables.iter().zip(&seen) {
        let Sstable { keyspace, table, table_id, .. } = sstable;
        let is_same = |last: &CassandraTablePlan| {
            (&last.keyspace, &last.table, &last.table_id) == (keyspace, table, table_id)
        };
        if !tables.last().is_some_and(is_same) {
            let (keyspace, table, table_id) = (keyspace.clone(), table.clone(), table_id.clone());
            tables.push(CassandraTablePlan { keyspace, table, table_id, ..CassandraTablePlan::default() });
        }
        let last = tables.len() - 1;
        tables[last].add(sstable, seen);
    }
    tables.iter_mut().for_each(CassandraTablePlan::finish);
    let mut all = CassandraTablePlan::default();
    for table in &tables {
        all.parts.extend_from_slice(&table.parts);
        all.keys += table.keys;
        all.sstables += table.sstables;
        all.uncounted += table.uncounted;
        all.now.add(&table.now);
    }
    let fits = |fpr: &f64| {
        options.memory.is_some_and(|memory| row(&all.parts, *fpr).is_ok_and(|r| r.memory_bytes <= memory))
    };
    let fitting = ROUND.into_iter().find(fits);
    if let Some(fpr) = options.fpr {
        row(&all.parts, fpr).map_err(|e| Problem::new("fpr", Code::SizeRefused, e))?;
    }
    let mut rates = RATES.to_vec();
    rates.extend(options.fpr.into_iter().chain(fitting));
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let mut rows = all.rows(&rates);
    if let [only] = tables.as_slice() {
        all.now.useless_reads = only.now.useless_reads;
    } else {
        rows.iter_mut().for_each(|row| row.useless_reads = None); // a lookup reads one table
    }
    let mut found: Vec<Found<CassandraTablePlan>> =
        tables.into_iter().map(|record| Found { record, problems: Vec::new() }).collect();
    let next = next::choose(&mut found, options);
    for Found { record: table, .. } in &mut found {
        let mut rates: Vec<f64> = rates.iter().copied().chain(table.planned_fpr).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        table.rows = table.rows(&rates);
    }
    if all.uncounted > 0 {
        let why = format!("{} left out: the keys cannot be read", text::counted(all.uncounted, "sstable"));
        problems.push(Problem::at(path, Code::Uncounted, why));
    }
    if let (Some(memory), None) = (options.memory, fitting) {
        let why = format!("no rate up to {} fits {}", ROUND[ROUND.len() - 1], text::bytes(memory));
        problems.push(Problem::at(path, Code::OverBudget, why));
    }
    let summary = CassandraPlanSummary {
        from: path.display().to_string(),
        engine: "cassandra",
        keys: all.keys,
        sstables: all.sstables,
        memory: options.memory,
        fitting_fpr: fitting,
        now: all.now,
        rows,
        next,
        advice: vec![ADVICE],
    };
    let status = Status::of_plan(&problems);
    Ok(Report { found, problems, summary, status })
}
