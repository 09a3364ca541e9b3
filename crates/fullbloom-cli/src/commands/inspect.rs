//! `fullbloom inspect FILE…`: what a filter file holds.

use crate::args;
use crate::error::{Failure, Status};
use crate::facts::Facts;
use crate::input::FilterFile;
use crate::output::Output;
use crate::sizing::GeometryArgs;
use fullbloom::dialect::Name;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What is in a filter file: dialect, size, fill, estimated keys, rate to expect
///
/// Estimates come from the bits that are set. A file that cannot be read is reported and does not hide the
/// others. Exit status: 0 if all is well, 1 if there were warnings, 2 if a file could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom inspect data/ks/table-*/*-Filter.db
  fullbloom inspect --dialect leveldb keys.bloom
  fullbloom inspect --json --dialect leveldb keys.bloom")]
pub struct Args {
    /// Filter files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The dialect of all files, where their names and bytes do not tell
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    /// One JSON object: {"filters": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// Inspects each file.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut out = Output::stdout()?;
    let mut filters = Vec::new();
    let mut errors = Vec::new();
    let mut first = true;
    let mut well = true;
    for path in &args.files {
        let facts = facts(path, args);
        well &= facts.as_ref().is_ok_and(Facts::is_well);
        match facts {
            Ok(facts) if args.json => filters.push(facts.json()),
            Ok(facts) => {
                if !first {
                    out.bytes(b"\n")?;
                }
                first = false;
                out.bytes(facts.text().as_bytes())?;
                out.pause()?;
            }
            Err(failure) => {
                failure.report();
                errors.push(json!({ "path": path.display().to_string(), "error": failure.to_string() }));
            }
        }
    }
    let status = if errors.is_empty() { Status::selected(well) } else { Status::Failed };
    if args.json {
        let report = json!({ "filters": filters, "errors": errors });
        out.json(&report)?;
    }
    out.finish()?;
    Ok(status)
}

fn facts(path: &Path, args: &Args) -> Result<Facts, Failure> {
    let file = FilterFile::load(path, args.dialect, args.geometry.geometry())?;
    let opened = file.open()?;
    Ok(Facts::of(path, &*opened.filter, opened.bytes, opened.warnings))
}
