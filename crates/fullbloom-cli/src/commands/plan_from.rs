//! `fullbloom plan --from DIR`: what other filters would cost the data that are there.

use crate::cassandra::{self, plan::Wish};
use crate::database;
use crate::directory::{self, Kind};
use crate::error::{Failure, Status};
use crate::output::Output;
use crate::report::{self, ReportArgs};
use std::path::Path;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct From<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// A rate to show.
    pub fpr: Option<f64>,
    /// Memory to spend on all filters.
    pub memory: Option<u64>,
    /// For machines.
    pub json: bool,
    /// A page to write.
    pub report: &'a ReportArgs,
}

/// Plans and prints.
pub fn run(from: &From<'_>) -> Result<Status, Failure> {
    let (text, json, status) = match directory::kind(from.directory) {
        Some(Kind::Database) => {
            if from.fpr.is_some() {
                return Err(Failure::new(
                    "--fpr",
                    "databases of LevelDB and RocksDB are planned by --memory",
                ));
            }
            let planned = database::plan::plan(from.directory, from.memory)?;
            (planned.text(), planned.json(from.directory), planned.status())
        }
        _ => {
            let wish = Wish { fpr: from.fpr, memory: from.memory, snapshots: false };
            let planned = cassandra::plan::plan(from.directory, wish)?;
            (planned.text(), planned.json(from.directory), planned.status())
        }
    };
    from.report.write(|| report::of_plan(&json))?;
    let mut out = Output::stdout()?;
    match from.json {
        true => out.json(&json)?,
        false => out.bytes(text.as_bytes())?,
    }
    out.finish()?;
    Ok(status)
}
