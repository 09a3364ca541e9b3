//! The metrics of `inspect`.

use super::exposition::Labels;
use super::groups::{Family, Groups, Mean, Sums, TableNames, database};
use super::{MetricsArgs, Run};
use crate::error::Failure;
use fullbloom_ops::database::LevelTotals;
use fullbloom_ops::sstable::table_totals;
use fullbloom_ops::{Found, InspectReport, Inspected};
use std::path::Path;
use std::time::Instant;

/// The sums over the filters of a group.
#[derive(Debug, Default)]
struct Inspection {
    data_files: u64,
    filters: u64,
    keys: u64,
    bytes: u64,
    memory_bytes: Option<u64>,
    expected: Mean,
    recorded: Mean,
    useless_reads: Option<f64>,
}

impl Sums for Inspection {
    const FAMILIES: &'static [Family] = &[
        (
            "data_files",
            "",
            "Sstables, tables, column chunks or filter files, with a readable filter or without.",
        ),
        ("filters", "", "Filters that can be read."),
        ("keys", "", "Keys of the data files, where they are counted."),
        ("filter_bytes", "bytes", "Bytes of the filters on disk."),
        (
            "filter_memory_bytes",
            "bytes",
            "Bytes of the filters in the memory of a Cassandra or ScyllaDB node.",
        ),
        (
            "expected_false_positive_ratio",
            "ratio",
            "False positives among lookups of absent keys, expected from the set bits: a mean over keys. 1 without a filter.",
        ),
        (
            "recorded_false_positive_ratio",
            "ratio",
            "The rate that Statistics.db records for the filters: a mean over keys.",
        ),
        (
            "useless_reads_per_lookup",
            "",
            "Data files that a lookup of an absent key reads needlessly, on average.",
        ),
    ];

    fn values(&self) -> Vec<Option<f64>> {
        vec![
            Some(self.data_files as f64),
            Some(self.filters as f64),
            Some(self.keys as f64),
            Some(self.bytes as f64),
            self.memory_bytes.map(|bytes| bytes as f64),
            self.expected.value(),
            self.recorded.value(),
            self.useless_reads,
        ]
    }

    fn merge(&mut self, other: &Inspection) {
        self.data_files += other.data_files;
        self.filters += other.filters;
        self.keys += other.keys;
        self.bytes += other.bytes;
        if let Some(bytes) = other.memory_bytes {
            *self.memory_bytes.get_or_insert(0) += bytes;
        }
        self.expected.merge(other.expected);
        self.recorded.merge(other.recorded);
        self.useless_reads = None; // lookups of different groups do not add up
    }

    fn rate(&self) -> Option<f64> {
        self.expected.value()
    }
}

impl Inspection {
    fn add(&mut self, record: &Inspected) {
        let (is_readable, keys, bytes, expected, memory_bytes, recorded) = match record {
            Inspected::Filter(record) => {
                let keys = record.keys.or_else(|| whole(record.estimated_keys));
                (true, keys, Some(record.bytes), Some(record.expected_fpr), None, None)
            }
            Inspected::Table(record) => {
                let is_readable = record.dialect.is_some();
                (is_readable, record.keys, record.bytes, record.expected_fpr, None, None)
            }
            Inspected::Sstable(record) => {
                let (memory_bytes, recorded) = (record.memory_bytes, record.recorded_fpr);
                let is_readable = record.bits.is_some();
                (is_readable, record.keys, record.bytes, record.expected_fpr, memory_bytes, recorded)
            }
            #[cfg(feature = "parquet")]
            Inspected::Column(record) => {
                (true, Some(record.values), Some(record.bytes), Some(record.expected_fpr), None, None)
            }
            _ => return,
        };
        let keys = keys.unwrap_or(0);
        self.data_files += 1;
        self.filters += u64::from(is_readable);
        self.keys += keys;
        self.bytes += bytes.unwrap_or(0);
        if let Some(bytes) = memory_bytes {
            *self.memory_bytes.get_or_insert(0) += bytes;
        }
        // A filter that cannot be read lets every key pass.
        self.expected.add(expected.unwrap_or(1.0), keys);
        if let Some(recorded) = recorded {
            self.recorded.add(recorded, keys);
        }
    }
}

fn whole(number: Option<f64>) -> Option<u64> {
    number.filter(|number| (0.0..1e18).contains(number)).map(|number| number.round() as u64)
}

/// Writes the metrics of an inspection, if they are wanted.
pub fn of_inspection(args: &MetricsArgs, seen: &InspectReport, begun: Instant) -> Result<(), Failure> {
    let run = Run { command: "inspect", begun, status: seen.status.into() };
    args.write(&run, || groups(seen), || files(&seen.found), &seen.problems, seen.problems())
}

fn groups(seen: &InspectReport) -> Groups<Inspection> {
    let names = TableNames::of(seen.found.iter().filter_map(|found| match &found.record {
        Inspected::Sstable(record) => Some(&record.name),
        _ => None,
    }));
    let mut groups: Groups<Inspection> = Groups::new();
    for Found { record, problems } in &seen.found {
        let labels = labels(&names, record);
        groups.sums(labels.clone()).add(record);
        groups.add_problems(labels, problems);
    }
    for sums in table_totals(&seen.found) {
        let labels = names.labels(&sums.keyspace, &sums.table, &sums.table_id);
        groups.sums(labels).useless_reads = Some(sums.useless_reads);
    }
    for sums in &seen.summary.levels {
        let labels = of_level(Path::new(&sums.path), sums);
        groups.sums(labels).useless_reads = Some(sums.useless_reads);
    }
    groups
}

/// The group of a filter.
fn labels(names: &TableNames<'_>, record: &Inspected) -> Labels {
    match record {
        Inspected::Sstable(record) => {
            let name = &record.name;
            names.labels(&name.keyspace, &name.table, &name.table_id)
        }
        Inspected::Table(record) => {
            let family = record.column_family.clone().flatten().unwrap_or_default();
            level_labels(database(&record.path), family, record.level.flatten())
        }
        #[cfg(feature = "parquet")]
        Inspected::Column(record) => {
            vec![("dialect", record.dialect.to_string()), ("column", record.column.clone())]
        }
        Inspected::Filter(record) => vec![("dialect", record.dialect.to_string())],
        _ => Labels::new(),
    }
}

fn of_level(path: &Path, sums: &LevelTotals) -> Labels {
    // As the directory of the level's tables is written: without a slash at the end.
    let directory = database(&path.join("table").display().to_string());
    level_labels(directory, sums.column_family.clone(), sums.level)
}

fn level_labels(database: (&'static str, String), family: String, level: Option<u32>) -> Labels {
    let level = level.map_or(String::new(), |level| level.to_string());
    vec![database, ("column_family", family), ("level", level)]
}

fn files(found: &[Found<Inspected>]) -> Groups<Inspection> {
    let mut files: Groups<Inspection> = Groups::new();
    for Found { record, problems } in found {
        let labels = of_file(record);
        files.sums(labels.clone()).add(record);
        files.add_problems(labels, problems);
    }
    files
}

fn of_file(record: &Inspected) -> Labels {
    let path = ("path", record.path().to_owned());
    match record {
        #[cfg(feature = "parquet")]
        Inspected::Column(record) => {
            vec![path, ("column", record.column.clone()), ("row_group", record.row_group.to_string())]
        }
        _ => vec![path],
    }
}
