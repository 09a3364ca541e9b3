//! The metrics of `verify`.

use super::exposition::Labels;
use super::groups::{Family, Groups, Mean, Sums, TableNames, database};
use super::{MetricsArgs, Run};
use crate::error::Failure;
use fullbloom_ops::{Found, Verified, VerifyReport};
use std::time::Instant;

/// The sums over the filters of a group.
#[derive(Debug, Default)]
struct Verification {
    data_files: u64,
    keys: u64,
    missing: u64,
    measured: Mean,
}

impl Sums for Verification {
    const FAMILIES: &'static [Family] = &[
        ("data_files", "", "Sstables, tables, column chunks or filter files that were verified."),
        ("keys", "", "Keys that were looked up."),
        ("missing_keys", "", "Keys that their filter reports absent: their rows are invisible."),
        (
            "measured_false_positive_ratio",
            "ratio",
            "False positives among lookups of made-up absent keys: a mean over keys.",
        ),
    ];

    fn values(&self) -> Vec<Option<f64>> {
        vec![
            Some(self.data_files as f64),
            Some(self.keys as f64),
            Some(self.missing as f64),
            self.measured.value(),
        ]
    }

    fn merge(&mut self, other: &Verification) {
        self.data_files += other.data_files;
        self.keys += other.keys;
        self.missing += other.missing;
        self.measured.merge(other.measured);
    }

    fn rate(&self) -> Option<f64> {
        self.measured.value()
    }
}

impl Verification {
    fn add(&mut self, record: &Verified) {
        let (keys, missing, measured) = match record {
            Verified::Filter(record) => (record.keys, record.missing, record.measured_fpr),
            Verified::Table(record) => (record.keys, record.missing, record.measured_fpr),
            Verified::Sstable(record) => (Some(record.keys), record.missing, record.measured_fpr),
            #[cfg(feature = "parquet")]
            Verified::Column(record) => (Some(record.keys), Some(record.missing), Some(record.measured_fpr)),
            _ => return,
        };
        self.data_files += 1;
        self.keys += keys.unwrap_or(0);
        self.missing += missing.unwrap_or(0);
        if let Some(rate) = measured {
            self.measured.add(rate, keys.unwrap_or(0));
        }
    }
}

/// Writes the metrics of a verification, if they are wanted.
pub fn of_verification(args: &MetricsArgs, seen: &VerifyReport, begun: Instant) -> Result<(), Failure> {
    let run = Run { command: "verify", begun, status: seen.status.into() };
    args.write(&run, || groups(&seen.found), || files(&seen.found), &seen.problems, seen.problems())
}

fn groups(found: &[Found<Verified>]) -> Groups<Verification> {
    let names = TableNames::of(found.iter().filter_map(|found| match &found.record {
        Verified::Sstable(record) => Some(&record.name),
        _ => None,
    }));
    let mut groups: Groups<Verification> = Groups::new();
    for Found { record, problems } in found {
        let labels = match record {
            Verified::Sstable(record) => {
                let name = &record.name;
                names.labels(&name.keyspace, &name.table, &name.table_id)
            }
            Verified::Table(record) => vec![database(&record.path)],
            #[cfg(feature = "parquet")]
            Verified::Column(record) => {
                vec![("dialect", "parquet".to_owned()), ("column", record.column.clone())]
            }
            Verified::Filter(record) => {
                record.dialect.iter().map(|dialect| ("dialect", dialect.to_string())).collect()
            }
            _ => Labels::new(),
        };
        groups.sums(labels.clone()).add(record);
        groups.add_problems(labels, problems);
    }
    groups
}

fn files(found: &[Found<Verified>]) -> Groups<Verification> {
    let mut files: Groups<Verification> = Groups::new();
    for Found { record, problems } in found {
        let labels = of_file(record);
        files.sums(labels.clone()).add(record);
        files.add_problems(labels, problems);
    }
    files
}

fn of_file(record: &Verified) -> Labels {
    let path = ("path", record.path().to_owned());
    match record {
        #[cfg(feature = "parquet")]
        Verified::Column(record) => {
            vec![path, ("column", record.column.clone()), ("row_group", record.row_group.to_string())]
        }
        _ => vec![path],
    }
}
