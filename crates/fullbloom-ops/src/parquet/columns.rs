//! Sums over the row groups of each column.

use super::{ColumnRecord, Looked, Wasted};
use crate::inspect::Inspected;
use crate::problem::{Code, Problem};
use crate::report::Found;
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The sums over the row groups of a column, of a file or of all files of a directory.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ColumnTotals {
    /// The column's name.
    pub column: String,
    /// The type of its values in the files; that of the first file, if they differ.
    pub physical_type: String,
    /// Files that have the column.
    pub files: u64,
    /// Row groups.
    pub row_groups: u64,
    /// Row groups with a filter.
    pub filters: u64,
    /// Filters whose rate is worse than it should be.
    pub saturated: u64,
    /// Filters that save nothing.
    pub wasted: u64,
    /// Of these, those of row groups whose values are all in a dictionary that is no larger.
    pub wasted_dictionary: u64,
    /// Of these, those of row groups in which the smallest and the largest value decide.
    pub wasted_min_max: u64,
    /// Of these, those that are larger than their column.
    pub wasted_larger: u64,
    /// Row groups without a filter, where others of the column have one, and that are not in a dictionary.
    pub missing: u64,
    /// Values of row groups with a filter, without nulls.
    pub values: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Bytes of the column, in row groups with a filter.
    pub column_bytes: u64,
    /// The rate to expect, over all row groups with a filter.
    pub expected_fpr: Option<f64>,
    /// Row groups that a lookup of an absent value reads needlessly, out of all of them.
    pub useless_reads: f64,
    #[serde(skip)]
    rates: f64,
}

/// The columns of many files.
#[derive(Default)]
pub(super) struct Columns {
    all: Vec<(ColumnTotals, Vec<Without>)>,
    places: HashMap<String, usize>,
}

/// A row group of a column that has no filter.
struct Without {
    path: PathBuf,
    row_group: usize,
}

impl Columns {
    fn of(&mut self, column: &str) -> &mut (ColumnTotals, Vec<Without>) {
        let place = *self.places.entry(column.to_owned()).or_insert_with(|| {
            self.all
                .push((ColumnTotals { column: column.to_owned(), ..ColumnTotals::default() }, Vec::new()));
            self.all.len() - 1
        });
        &mut self.all[place]
    }

    /// Adds a file.
    pub(super) fn add(&mut self, path: &Path, looked: &Looked) {
        for of_file in &looked.columns {
            let (column, without) = self.of(&of_file.name);
            if column.files == 0 {
                column.physical_type.clone_from(&of_file.physical_type);
            }
            column.files += 1;
            column.row_groups += of_file.row_groups;
            let places = of_file.without.iter();
            without.extend(places.map(|row_group| Without { path: path.to_owned(), row_group: *row_group }));
        }
        for Found { record, problems } in &looked.found {
            let Inspected::Column(record) = record else { continue };
            self.of(&record.column).0.add_filter(record, problems);
        }
    }

    /// All columns, in the order of the files; and the row groups without a filter of columns that have some. A
    /// column that is not meant to have filters has none at all.
    pub(super) fn finish(self) -> (Vec<ColumnTotals>, Vec<Problem>) {
        let (mut columns, mut problems) = (Vec::new(), Vec::new());
        for (mut column, without) in self.all {
            if column.filters > 0 {
                column.missing = without.len() as u64;
                column.expected_fpr = Some(column.rates / column.filters as f64);
                problems.extend(without.iter().map(|without| {
                    let place = format!("row group {}, column {}", without.row_group, column.column);
                    let why = format!("{place}: has no filter, and others of the column have one");
                    let hint = "write the file again with a filter for this column";
                    Problem::at(&without.path, Code::NoFilter, why).hint(hint)
                }));
            }
            column.useless_reads = column.rates + (column.row_groups - column.filters) as f64;
            columns.push(column);
        }
        (columns, problems)
    }
}

impl ColumnTotals {
    fn add_filter(&mut self, record: &ColumnRecord, problems: &[Problem]) {
        self.filters += 1;
        self.saturated += u64::from(problems.iter().any(|problem| problem.code == Code::TooFull));
        self.wasted += u64::from(record.wasted.is_some());
        self.wasted_dictionary += u64::from(record.wasted == Some(Wasted::Dictionary));
        self.wasted_min_max += u64::from(record.wasted == Some(Wasted::MinMax));
        self.wasted_larger += u64::from(record.wasted == Some(Wasted::Larger));
        self.values += record.values;
        self.bytes += record.bytes;
        self.column_bytes += record.column_bytes;
        self.rates += record.expected_fpr;
    }
}
