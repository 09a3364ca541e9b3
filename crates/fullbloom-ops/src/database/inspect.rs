//! `inspect` of a database.

use super::log::{self, LogRecord};
use super::{find_with_logs, levels, look, missing};
use crate::inspect::{InspectSummary, Inspected};
use crate::pool;
use crate::problem::{Code, Problem};
use crate::report::{Report, Watch};
use fullbloom_table::database::DatabaseTable;
use serde::Serialize;
use std::path::Path;

/// An inspected database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatabaseSummary {
    /// Where it is.
    pub path: String,
    /// Tables in the directory.
    pub tables: u64,
    /// The MANIFEST that the levels are from; null if levels are unknown.
    pub manifest: Option<String>,
    /// The write-ahead logs that may hold writes that are in no table.
    pub logs: Vec<LogRecord>,
}

/// Inspects every table, several at once.
pub(crate) fn inspect(
    path: &Path,
    strips: bool,
    watch: &mut dyn Watch<Inspected>,
) -> Result<Report<Inspected, InspectSummary>, Problem> {
    let database = find_with_logs(path)?;
    let mut problems = Vec::new();
    let manifest = match &database.manifest {
        Some(Ok(path)) => Some(path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        Some(Err(why)) => {
            let why = format!("levels are unknown: {why}");
            problems.push(Problem::at(path, Code::ManifestUnreadable, why));
            None
        }
        None => {
            problems.push(Problem::at(
                path,
                Code::ManifestMissing,
                "levels are unknown: there is no CURRENT",
            ));
            None
        }
    };
    let mut found = Vec::new();
    let look = |table: &DatabaseTable| look(&database, table, strips).map(Inspected::Table);
    let _ = pool::each(&database.tables, look, watch, |table, watch| {
        let flow = watch.found(&table);
        found.push(table);
        flow
    });
    problems.extend(database.missing.iter().map(|table| missing(path, table).1));
    let (logs, of_logs) = log::inspect(&database);
    problems.extend(of_logs);
    let tables = found.iter().filter_map(|found| match &found.record {
        Inspected::Table(record) => Some(record),
        _ => None,
    });
    let summary = InspectSummary {
        levels: levels::of(&database, tables).iter().map(|level| level.totals(path)).collect(),
        databases: vec![DatabaseSummary {
            path: path.display().to_string(),
            tables: database.tables.len() as u64,
            manifest,
            logs,
        }],
        ..InspectSummary::default()
    };
    Ok(InspectSummary::report(found, problems, summary))
}
