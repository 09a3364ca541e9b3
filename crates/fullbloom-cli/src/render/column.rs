//! The column chunks of a Parquet file.

use super::{elsewhere, or_dash};
use crate::table::Table;
use crate::text;
use fullbloom_ops::{InspectReport, Inspected, Verified, VerifyReport};
use std::path::Path;

/// A table of the filters.
pub fn columns(path: &Path, report: &InspectReport) -> String {
    let mut table = Table::new(&[
        "row group",
        "column",
        "type",
        "values",
        "bytes",
        "bits/distinct",
        "fill",
        "estimated keys",
        "expected rate",
    ]);
    for found in &report.found {
        let Inspected::Column(record) = &found.record else { continue };
        table.row(vec![
            record.row_group.to_string(),
            text::printable(&record.column).into_owned(),
            record.physical_type.clone(),
            record.values.to_string(),
            text::bytes(record.bytes),
            or_dash(record.bits_per_distinct, |bits| text::decimal(bits, 2)),
            text::rate(record.fill),
            or_dash(record.estimated_keys, |keys| format!("{keys:.0}")),
            text::rate(record.expected_fpr),
        ]);
    }
    let rows = if report.found.is_empty() { String::new() } else { table.render() };
    format!("{}\n{rows}", text::printable(&path.display().to_string())) + &elsewhere(&report.problems)
}

/// A table of the lookups, and what is wrong.
pub fn verified_columns(path: &Path, report: &VerifyReport) -> String {
    let mut table = Table::new(&[
        "row group",
        "column",
        "values",
        "distinct",
        "missing",
        "measured rate",
        "expected rate",
        "rebuilt",
    ]);
    let mut problems = String::new();
    for found in &report.found {
        let Verified::Column(record) = &found.record else { continue };
        table.row(vec![
            record.row_group.to_string(),
            text::printable(&record.column).into_owned(),
            record.keys.to_string(),
            text::estimated(record.distinct, record.distinct_exact),
            record.missing.to_string(),
            text::rate(record.measured_fpr),
            text::rate(record.expected_fpr),
            if record.rebuilt_identical { "identical" } else { "differs" }.into(),
        ]);
        for problem in &found.problems {
            problems += &format!("{}: {}\n", problem.severity, text::printable(&problem.message));
        }
    }
    let rows = if report.found.is_empty() { String::new() } else { table.render() };
    let heading = text::printable(&path.display().to_string()).into_owned();
    format!("{heading}\n{rows}{problems}") + &elsewhere(&report.problems)
}
