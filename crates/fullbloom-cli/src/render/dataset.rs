//! A directory of Parquet files, by column.

use super::{elsewhere, or_dash};
use crate::hints;
use crate::table::Table;
use crate::text;
use fullbloom_ops::parquet::ColumnTotals;
use fullbloom_ops::{Code, Found, InspectReport, Inspected, Problem, Severity, Verified, VerifyReport};
use std::collections::HashMap;
use std::path::Path;

/// The columns that have filters, and what is wrong, each problem once for a column.
pub fn dataset(path: &Path, report: &InspectReport, width: Option<usize>) -> String {
    let columns = &report.summary.columns;
    let files = columns.iter().map(|column| column.files).max().unwrap_or(0);
    let mut shown = text::printable(&path.display().to_string()).into_owned();
    shown += &format!(": {}\n", text::counted(files, "Parquet file"));
    let with: Vec<&ColumnTotals> = columns.iter().filter(|column| column.filters > 0).collect();
    if !with.is_empty() {
        shown += &table(&with, width);
    }
    match columns.len() - with.len() {
        0 => {}
        1 => shown += "1 column has no filter\n",
        count => shown += &format!("{count} columns have no filter\n"),
    }
    let found = report.found.iter().flat_map(|found| match &found.record {
        Inspected::Column(record) => {
            found.problems.iter().map(|problem| (Some(&record.column), problem)).collect()
        }
        _ => Vec::new(),
    });
    let (missing, others): (Vec<&Problem>, Vec<&Problem>) =
        report.problems.iter().partition(|problem| problem.code == Code::NoFilter);
    shown += &once(found);
    shown += &once(missing.into_iter().map(|problem| (None, problem)));
    shown + &elsewhere(&others.into_iter().cloned().collect::<Vec<_>>())
}

fn table(columns: &[&ColumnTotals], width: Option<usize>) -> String {
    let titles = [
        "column",
        "type",
        "row groups",
        "filters",
        "too full",
        "wasted",
        "missing",
        "values",
        "filters' size",
        "column's size",
        "expected rate",
        "useless reads",
    ];
    let mut table =
        Table::new(&titles).optional(&["type", "values", "column's size"]).text(&["type"]).indent(2);
    for column in columns {
        table.row(vec![
            text::printable(&column.column).into_owned(),
            column.physical_type.clone(),
            column.row_groups.to_string(),
            column.filters.to_string(),
            column.saturated.to_string(),
            column.wasted.to_string(),
            column.missing.to_string(),
            column.values.to_string(),
            text::bytes(column.bytes),
            text::bytes(column.column_bytes),
            or_dash(column.expected_fpr, text::rate),
            text::decimal(column.useless_reads, 2),
        ]);
    }
    table.render_within(width)
}

/// Problems of one code and column as one: the first, and how many there are.
fn once<'a>(problems: impl Iterator<Item = (Option<&'a String>, &'a Problem)>) -> String {
    let mut equal: Vec<(&Problem, u64)> = Vec::new();
    let mut places: HashMap<(Option<&String>, Code), usize> = HashMap::new();
    for (column, problem) in problems {
        let place = *places.entry((column, problem.code)).or_insert(equal.len());
        match equal.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => equal.push((problem, 1)),
        }
    }
    let mut shown = String::new();
    for (problem, count) in equal {
        let more = if count == 1 { String::new() } else { format!(" (and {} more)", count - 1) };
        shown += &text::printable(&format!("{}: {problem}{more}", problem.severity));
        shown.push('\n');
        if let Some(hint) = hints::of(problem) {
            shown += &format!("hint: {}\n", text::printable(&hint));
        }
    }
    shown
}

/// The lookups of each column, and what is wrong.
pub fn verified_dataset(path: &Path, report: &VerifyReport, width: Option<usize>) -> String {
    #[derive(Default)]
    struct Sums {
        row_groups: u64,
        keys: u64,
        distinct: u64,
        estimated: bool,
        too_full: u64,
        missing: u64,
        measured: f64,
        expected: f64,
        differ: u64,
    }
    let mut columns: Vec<(&str, Sums)> = Vec::new();
    for Found { record, problems } in &report.found {
        let Verified::Column(record) = record else { continue };
        let place = columns.iter().position(|(name, _)| *name == record.column).unwrap_or_else(|| {
            columns.push((&record.column, Sums::default()));
            columns.len() - 1
        });
        let sums = &mut columns[place].1;
        sums.row_groups += 1;
        sums.keys += record.keys;
        sums.distinct += record.distinct;
        sums.estimated |= !record.distinct_exact;
        sums.too_full += u64::from(problems.iter().any(|problem| problem.code == Code::TooFull));
        sums.missing += record.missing;
        sums.measured += record.measured_fpr;
        sums.expected += record.expected_fpr;
        sums.differ += u64::from(!record.rebuilt_identical);
    }
    let titles = [
        "column",
        "filters",
        "values",
        "distinct",
        "too full",
        "missing",
        "measured rate",
        "expected rate",
        "differ",
    ];
    let mut table = Table::new(&titles).indent(2);
    for (name, sums) in &columns {
        let mean = |sum: f64| text::rate(sum / sums.row_groups as f64);
        table.row(vec![
            text::printable(name).into_owned(),
            sums.row_groups.to_string(),
            sums.keys.to_string(),
            text::estimated(sums.distinct, !sums.estimated),
            sums.too_full.to_string(),
            sums.missing.to_string(),
            mean(sums.measured),
            mean(sums.expected),
            sums.differ.to_string(),
        ]);
    }
    let rows = if columns.is_empty() { String::new() } else { table.render_within(width) };
    let heading = text::printable(&path.display().to_string()).into_owned();
    let found = report.found.iter().flat_map(|found| match &found.record {
        Verified::Column(record) => {
            found.problems.iter().map(|problem| (Some(&record.column), problem)).collect()
        }
        _ => Vec::new(),
    });
    // A value that is not found has its place; filters that are too full are equal.
    let (errors, others): (Vec<_>, Vec<_>) =
        found.partition(|(_, problem)| problem.severity == Severity::Error);
    let errors = super::each("", errors.into_iter().map(|(_, problem)| problem));
    format!("{heading}\n{rows}{errors}") + &once(others.into_iter()) + &elsewhere(&report.problems)
}
