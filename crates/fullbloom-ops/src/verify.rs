//! `verify`: is a filter the one that its keys give?

use crate::database::{self, LastDatabase};
use crate::filter::{self, FilterFile, ReadOptions, VerifiedFilter};
#[cfg(feature = "parquet")]
use crate::parquet::{self, VerifiedColumn};
use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Problem};
use crate::report::{Counts, Found, Report, Status, Watch};
use crate::sstable::{self, VerifiedSstable};
use crate::table::VerifiedTable;
use fullbloom_table::EnginePrefix;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// What `verify` reports about one filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verified {
    /// A filter file.
    Filter(VerifiedFilter),
    /// A table of LevelDB or RocksDB.
    Table(VerifiedTable),
    /// An sstable of Cassandra.
    Sstable(VerifiedSstable),
    /// A column chunk of a Parquet file.
    #[cfg(feature = "parquet")]
    Column(VerifiedColumn),
}

/// What the caller knows and wants.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// What is known about filter files.
    pub read: ReadOptions,
    /// Absent keys to measure the rate with.
    pub absent: u64,
    /// The rate that filters of sstables and of Parquet columns should keep. `None`: the one that sstables
    /// record, and 5 % of columns, which record none.
    pub fpr: Option<f64>,
    /// The prefix extractor of tables whose prefix extractor is not recognised.
    pub prefix_extractor: Option<EnginePrefix>,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
    /// In directories, only sstables, tables and Parquet files that changed since then.
    pub since: Option<SystemTime>,
    /// For tables given by name.
    pub last_database: LastDatabase,
}

impl VerifyOptions {
    /// Whether a file is wanted that is met in a directory. One that cannot be looked at is: whoever reads it
    /// says why.
    pub(crate) fn wants(&self, path: &Path) -> bool {
        let changed = fs::metadata(path).and_then(|meta| meta.modified());
        self.since.is_none_or(|since| changed.is_ok_and(|changed| changed >= since) || !path.exists())
    }
}

impl Default for VerifyOptions {
    /// 100,000 absent keys: a rate of 0.01 is measured to 3 % of itself.
    fn default() -> VerifyOptions {
        VerifyOptions {
            read: ReadOptions::default(),
            absent: 100_000,
            fpr: None,
            prefix_extractor: None,
            snapshots: false,
            since: None,
            last_database: LastDatabase::default(),
        }
    }
}

/// Sums over all places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VerifySummary {
    /// Filters that were looked up.
    pub filters: u64,
    /// Keys that were looked up.
    pub keys: u64,
    /// Keys that are missing.
    pub missing: u64,
    /// How many problems there are.
    #[serde(flatten)]
    pub problems: Counts,
}

/// What `verify` found.
pub type VerifyReport = Report<Verified, VerifySummary>;

/// Looks up every key of a place in its filters, and rebuilds them. Fails if the place itself cannot be read.
///
/// Filter files have no keys beside them: they are read completely, and nothing is looked up. For keys that
/// the caller has, see [`filter::verify_keys`].
pub fn verify(
    place: &Place,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<VerifyReport, Problem> {
    let path = place.path();
    let mut one = |record, problems| VerifySummary::one(Found { record, problems }, watch);
    match place.kind() {
        PlaceKind::Sstable | PlaceKind::DataDirectory => sstable::verify_all(path, options, watch),
        PlaceKind::Database => database::verify(path, options, watch),
        PlaceKind::Table => {
            let Found { record, problems } = database::verify_alone(path, options);
            Ok(one(Verified::Table(record), problems))
        }
        PlaceKind::Filter => {
            let verified = FilterFile::load(path, &options.read).and_then(|file| filter::verify(&file));
            let Found { record, problems } = verified.map_err(|problem| match problem.code {
                Code::UnknownDialect => {
                    let message =
                        format!("{}; it is not a table of LevelDB or RocksDB either", problem.message);
                    Problem { message, ..problem }
                }
                _ => problem,
            })?;
            Ok(one(Verified::Filter(record), problems))
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Parquet => parquet::verify(path, options, watch),
        #[cfg(feature = "parquet")]
        PlaceKind::Dataset => parquet::verify_dataset(path, options, watch),
        #[cfg(not(feature = "parquet"))]
        PlaceKind::Parquet | PlaceKind::Dataset => {
            Err(place.unsupported("built without support for Parquet"))
        }
    }
}

impl VerifySummary {
    /// The report of one place.
    pub(crate) fn one(found: Found<Verified>, watch: &mut dyn Watch<Verified>) -> VerifyReport {
        watch.start(1);
        watch.step();
        let _ = watch.found(&found); // this is the only place
        VerifySummary::report(vec![found], Vec::new())
    }

    /// The report of these filters, with its sums and status.
    pub(crate) fn report(found: Vec<Found<Verified>>, problems: Vec<Problem>) -> VerifyReport {
        let all = found.iter().flat_map(|found| &found.problems).chain(&problems);
        let status = all.clone().map(|problem| problem.code.ends_verify()).max().unwrap_or_default();
        let mut summary = VerifySummary {
            filters: found.len() as u64,
            problems: Counts::of(all),
            ..VerifySummary::default()
        };
        for found in &found {
            let (keys, missing) = found.record.keys();
            summary.keys += keys.unwrap_or(0);
            summary.missing += missing.unwrap_or(0);
        }
        Report { found, problems, summary, status }
    }
}

impl VerifyReport {
    /// An empty report.
    pub fn empty() -> VerifyReport {
        VerifySummary::report(Vec::new(), Vec::new())
    }

    /// The report of one filter, which was looked up for the caller's keys.
    pub fn of(found: Found<Verified>) -> VerifyReport {
        VerifySummary::report(vec![found], Vec::new())
    }

    /// The report of a place that could not be read.
    pub fn failed(problem: Problem) -> VerifyReport {
        let report = VerifySummary::report(Vec::new(), vec![problem]);
        Report { status: Status::Failed, ..report }
    }

    /// Adds what was found in another place.
    pub fn append(&mut self, other: VerifyReport) {
        let status = self.status.max(other.status);
        let Report { mut found, mut problems, .. } = std::mem::replace(self, VerifyReport::empty());
        found.extend(other.found);
        problems.extend(other.problems);
        *self = VerifySummary::report(found, problems);
        self.status = self.status.max(status);
    }
}

impl Verified {
    /// Where it is.
    pub fn path(&self) -> &str {
        match self {
            Verified::Filter(record) => &record.path,
            Verified::Table(record) => &record.path,
            Verified::Sstable(record) => &record.path,
            #[cfg(feature = "parquet")]
            Verified::Column(record) => &record.path,
        }
    }

    /// Keys that were looked up, and those that are missing.
    fn keys(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Verified::Filter(record) => (record.keys, record.missing),
            Verified::Table(record) => (record.keys, record.missing),
            Verified::Sstable(record) => (Some(record.keys), record.missing),
            #[cfg(feature = "parquet")]
            Verified::Column(record) => (Some(record.keys), Some(record.missing)),
        }
    }
}
