//! Records as text for people. What a record means is decided in `fullbloom-ops`.

mod cluster;
#[cfg(feature = "parquet")]
mod column;
mod database;
#[cfg(feature = "parquet")]
mod dataset;
mod filter;
mod next;
mod plan;
mod rebuilt;
mod sstable;
mod table;
mod verified;

pub use cluster::cluster;
#[cfg(feature = "report")]
pub use cluster::{cluster_problem, cluster_values};
#[cfg(feature = "parquet")]
pub use column::{columns, verified_columns};
pub use database::database;
#[cfg(feature = "parquet")]
pub use dataset::{dataset, verified_dataset};
pub use filter::filter;
#[cfg(feature = "report")]
pub use next::gained;
#[cfg(feature = "parquet")]
pub use plan::column_plan;
pub use plan::{cassandra_plan, database_plan, dialect_plans, reads};
pub use rebuilt::{rebuild_summary, rebuilt};
pub use sstable::{data_directory, sstable};
pub use table::table;
pub use verified::{verified, verify_total};

use crate::text;
use fullbloom_ops::{Code, InspectReport, Inspected, Problem};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Lines of a name and a value, below a path.
struct Lines(String);

impl Lines {
    fn new(path: &str) -> Lines {
        Lines(format!("{}\n", text::printable(path)))
    }

    fn line(&mut self, name: &str, value: impl AsRef<str>) {
        let _ = writeln!(self.0, "  {name:<15} {}", text::printable(value.as_ref())); // a String takes everything
    }

    fn problems(&mut self, problems: &[Problem]) {
        let mut hints: Vec<String> = Vec::new();
        for problem in problems {
            self.line(problem.severity.as_str(), &problem.message);
            hints.extend(crate::hints::of(problem));
        }
        let mut seen = BTreeSet::new();
        hints.retain(|hint| seen.insert(hint.clone())); // one rebuild fixes them all
        hints.iter().for_each(|hint| self.line("hint", hint));
    }
}

/// What is wrong with a directory as a whole; what could not be read is an error on standard error.
pub fn elsewhere(problems: &[Problem]) -> String {
    let mut text = String::new();
    let (copies, others): (Vec<_>, Vec<_>) =
        problems.iter().partition(|problem| problem.code == Code::SnapshotsSkipped);
    text += &each("", others.into_iter().filter(|problem| problem.code != Code::Unreadable));
    if let Some(copy) = copies.first() {
        let (count, hint) = (copies.len(), crate::hints::of(copy).unwrap_or_default());
        let directories = if count == 1 { "directory" } else { "directories" };
        text += &format!("{}: {} ({count} {directories}); {hint}\n", copy.severity, copy.message);
    }
    text
}

/// Each problem in a line of its own with its path, and what to do about it; problems that follow each other
/// share a hint.
fn each<'a>(indent: &str, problems: impl Iterator<Item = &'a Problem>) -> String {
    let mut lines = String::new();
    let mut problems = problems.peekable();
    while let Some(problem) = problems.next() {
        lines += &format!("{indent}{}: {}\n", problem.severity, text::printable(&problem.to_string()));
        let hint = crate::hints::of(problem);
        let is_shared = problems.peek().is_some_and(|next| crate::hints::of(next) == hint);
        if let Some(hint) = hint.filter(|_| !is_shared) {
            lines += &format!("{indent}hint: {}\n", text::printable(&hint));
        }
    }
    lines
}

/// That not all keys were looked up, so that a small damage may not have been seen. Empty if all were.
pub fn sampled(report: &InspectReport) -> String {
    let sampled = report.found.iter().filter_map(|found| match &found.record {
        Inspected::Sstable(record) => record.partly_sampled(),
        _ => None,
    });
    sampled.max().map_or(String::new(), |keys| {
        format!("{keys} keys of each sstable were looked up; fullbloom verify looks up all\n")
    })
}

/// A number, or a dash.
fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// The codes of problems, for a column of a table.
fn codes(problems: &[Problem]) -> String {
    let mut codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    codes.dedup();
    codes.join(", ")
}
