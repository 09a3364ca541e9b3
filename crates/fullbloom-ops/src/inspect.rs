//! `inspect`: what is in the filters of a place, and what is wrong with them.

use crate::database::{self, DatabaseSummary, LastDatabase, LevelTotals};
use crate::filter::{self, FilterFile, FilterRecord, ReadOptions};
#[cfg(feature = "parquet")]
use crate::parquet::{self, ColumnRecord, ColumnTotals};
use crate::place::{Place, PlaceKind};
use crate::problem::Problem;
use crate::report::{Counts, Found, Report, Status, Watch};
use crate::sstable::{self, SstableRecord, TableTotals};
use crate::table::TableRecord;
use serde::Serialize;

/// What `inspect` reports about one filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Inspected {
    /// A filter file.
    Filter(FilterRecord),
    /// A table of LevelDB or RocksDB.
    Table(TableRecord),
    /// An sstable of Cassandra.
    Sstable(SstableRecord),
    /// A column chunk of a Parquet file.
    #[cfg(feature = "parquet")]
    Column(ColumnRecord),
}

/// What the caller knows and wants.
#[derive(Debug, Clone, Default)]
pub struct InspectOptions {
    /// What is known about filter files.
    pub read: ReadOptions,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
    /// The rate that filters of sstables should keep; `None` for the recorded one.
    pub fpr: Option<f64>,
    /// For tables given by name.
    pub last_database: LastDatabase,
    /// Also measure the fill along the filter, for drawings: the field `strip` of the records.
    pub strips: bool,
}

/// Sums over all places.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct InspectSummary {
    /// Inspected filters.
    pub filters: u64,
    /// Keys, where they are counted.
    pub keys: u64,
    /// The sum of the numbers of keys estimated from the set bits.
    pub estimated_keys: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// How many problems there are.
    #[serde(flatten)]
    pub problems: Counts,
    /// By table of Cassandra.
    pub tables: Vec<TableTotals>,
    /// By level of a database.
    pub levels: Vec<LevelTotals>,
    /// The databases.
    pub databases: Vec<DatabaseSummary>,
    /// By column of Parquet files.
    #[cfg(feature = "parquet")]
    pub columns: Vec<ColumnTotals>,
}

/// What `inspect` found.
pub type InspectReport = Report<Inspected, InspectSummary>;

/// Inspects the filters of a place. Fails if the place itself cannot be read; what is wrong below it is in
/// the report.
pub fn inspect(
    place: &Place,
    options: &InspectOptions,
    watch: &mut dyn Watch<Inspected>,
) -> Result<InspectReport, Problem> {
    let path = place.path();
    let one = |record, problems| {
        InspectSummary::report(vec![Found { record, problems }], vec![], InspectSummary::default())
    };
    match place.kind() {
        PlaceKind::Sstable | PlaceKind::DataDirectory => sstable::inspect_all(path, options, watch),
        PlaceKind::Database => database::inspect(path, options.strips, watch),
        PlaceKind::Table => {
            let Found { record, problems } =
                database::look_alone(path, &options.last_database, options.strips);
            Ok(one(Inspected::Table(record), problems))
        }
        PlaceKind::Filter => {
            let file = FilterFile::load(path, &options.read)?;
            let opened = file.open()?;
            let Found { record, problems } = filter::inspect_opened(&file, &opened, options.strips);
            Ok(one(Inspected::Filter(record), problems))
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Parquet => parquet::inspect(path, options.fpr),
        #[cfg(feature = "parquet")]
        PlaceKind::Dataset => parquet::inspect_dataset(path, options.fpr, watch),
        #[cfg(not(feature = "parquet"))]
        PlaceKind::Parquet | PlaceKind::Dataset => {
            Err(place.unsupported("built without support for Parquet"))
        }
    }
}

impl InspectSummary {
    /// The report of these filters, with its sums and status.
    pub(crate) fn report(
        found: Vec<Found<Inspected>>,
        problems: Vec<Problem>,
        summary: InspectSummary,
    ) -> InspectReport {
        let all = found.iter().flat_map(|found| &found.problems).chain(&problems);
        let status = all.clone().map(|problem| problem.code.ends_inspect()).max().unwrap_or_default();
        let counts = Counts::of(all);
        let sum = |number: fn(&Inspected) -> Option<u64>| {
            found.iter().filter_map(|found| number(&found.record)).fold(0, u64::saturating_add)
        };
        let summary = InspectSummary {
            filters: found.len() as u64,
            keys: sum(Inspected::keys),
            estimated_keys: sum(Inspected::estimated_keys),
            bytes: sum(Inspected::bytes),
            problems: counts,
            ..summary
        };
        Report { found, problems, summary, status }
    }
}

impl InspectReport {
    /// An empty report.
    pub fn empty() -> InspectReport {
        InspectSummary::report(Vec::new(), Vec::new(), InspectSummary::default())
    }

    /// The report of a place that could not be read.
    pub fn failed(problem: Problem) -> InspectReport {
        let report = InspectSummary::report(Vec::new(), vec![problem], InspectSummary::default());
        Report { status: Status::Failed, ..report }
    }

    /// Adds what was found in another place.
    pub fn append(&mut self, other: InspectReport) {
        let status = self.status.max(other.status);
        let empty = InspectReport::empty();
        let Report { mut found, mut problems, mut summary, .. } = std::mem::replace(self, empty);
        found.extend(other.found);
        problems.extend(other.problems);
        summary.tables.extend(other.summary.tables);
        summary.levels.extend(other.summary.levels);
        summary.databases.extend(other.summary.databases);
        #[cfg(feature = "parquet")]
        summary.columns.extend(other.summary.columns);
        *self = InspectSummary::report(found, problems, summary);
        self.status = self.status.max(status);
    }
}

impl Inspected {
    /// Where it is.
    pub fn path(&self) -> &str {
        match self {
            Inspected::Filter(record) => &record.path,
            Inspected::Table(record) => &record.path,
            Inspected::Sstable(record) => &record.path,
            #[cfg(feature = "parquet")]
            Inspected::Column(record) => &record.path,
        }
    }

    fn keys(&self) -> Option<u64> {
        match self {
            Inspected::Filter(record) => record.keys,
            Inspected::Table(record) => record.keys,
            Inspected::Sstable(record) => record.keys,
            #[cfg(feature = "parquet")]
            Inspected::Column(_) => None,
        }
    }

    fn estimated_keys(&self) -> Option<u64> {
        let estimated = match self {
            Inspected::Filter(record) => record.estimated_keys,
            Inspected::Table(record) => record.estimated_keys,
            Inspected::Sstable(record) => record.estimated_keys,
            #[cfg(feature = "parquet")]
            Inspected::Column(record) => record.estimated_keys,
        };
        estimated.filter(|keys| (0.0..1e18).contains(keys)).map(|keys| keys.round() as u64)
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            Inspected::Filter(record) => Some(record.bytes),
            Inspected::Table(record) => record.bytes,
            Inspected::Sstable(record) => record.bytes,
            #[cfg(feature = "parquet")]
            Inspected::Column(record) => Some(record.bytes),
        }
    }
}
