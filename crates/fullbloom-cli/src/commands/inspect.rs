//! `fullbloom inspect FILE…`: what a filter file, or the filter of a table, holds.

use crate::args;
use crate::error::{Failure, Status};
use crate::facts::{Facts, TableFacts};
use crate::input::{FilterFile, open_table};
use crate::output::Output;
use crate::sizing::GeometryArgs;
use fullbloom::dialect::Name;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is in a filter file or a table's filter: dialect, size, fill, estimated keys, rate to expect
///
/// Tables are LevelDB's and RocksDB's; of them kind, policy, partitions and prefixes are told too. Estimates come from
/// the bits that are set. A file that cannot be read is reported and does not hide the
/// others. Exit status: 0 if all is well, 1 if there were warnings, 2 if a file could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom inspect data/ks/table-*/*-Filter.db
  fullbloom inspect db/*.sst
  fullbloom inspect --json keys.bloom
  fullbloom inspect --dialect leveldb filter.block")]
pub struct Args {
    /// Filter files and tables
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
        match look(path, args) {
            Ok(seen) if args.json => {
                well &= seen.is_well;
                filters.push(seen.json);
            }
            Ok(seen) => {
                well &= seen.is_well;
                if !first {
                    out.bytes(b"\n")?;
                }
                first = false;
                out.bytes(seen.text.as_bytes())?;
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

/// A file, for people and for machines.
struct Seen {
    json: Value,
    text: String,
    is_well: bool,
}

fn look(path: &Path, args: &Args) -> Result<Seen, Failure> {
    if let Some(table) = open_table(path, args.dialect, None)? {
        let facts = TableFacts::of(path, &table)?;
        return Ok(Seen { json: facts.json(), text: facts.text(), is_well: facts.is_well() });
    }
    let file = FilterFile::load(path, args.dialect, args.geometry.geometry())?;
    let opened = file.open()?;
    let facts = Facts::of(path, &*opened.filter, opened.bytes, opened.warnings).with_native(opened.native);
    Ok(Seen { json: facts.json(), text: facts.text(), is_well: facts.is_well() })
}
