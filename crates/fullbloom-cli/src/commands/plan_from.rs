//! `fullbloom plan --from DIR`: what other filters would cost the data that are there.

use crate::cassandra::plan::{self, Wish};
use crate::error::{Failure, Status};
use crate::output::Output;
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
}

/// Plans and prints.
pub fn run(from: &From<'_>) -> Result<Status, Failure> {
    let wish = Wish { fpr: from.fpr, memory: from.memory, snapshots: false };
    let planned = plan::plan(from.directory, wish)?;
    let mut out = Output::stdout()?;
    match from.json {
        true => out.json(&planned.json(from.directory))?,
        false => out.bytes(planned.text().as_bytes())?,
    }
    out.finish()?;
    Ok(planned.status())
}
