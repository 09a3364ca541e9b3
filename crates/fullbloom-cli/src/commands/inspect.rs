//! `fullbloom inspect FILE|DIR…`: what a filter file, a table's filter, or all filters of a directory hold.

use crate::args;
use crate::cassandra;
use crate::database;
use crate::directory::{self, Kind};
use crate::error::{Failure, Status};
use crate::facts::{Facts, SstableFacts, TableFacts};
use crate::input::{FilterFile, open_table};
use crate::output::{self, Output};
use crate::parquet;
use crate::report::{self, ReportArgs};
use crate::sizing::GeometryArgs;
use fullbloom::cassandra::Descriptor;
use fullbloom::dialect::Name;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is in filter files, tables, and directories of sstables or tables
///
/// Of a filter: dialect, size, fill, estimated keys, rate to expect. Estimates come from the bits that are set. Tables
/// are LevelDB's and RocksDB's; of them kind, policy, partitions and prefixes are told too. Of a directory of
/// Cassandra every sstable below it: version, keys, bits per key, what its filter costs, and what is remarkable (filter
/// missing, truncated, mislabelled, too full, too large), with totals by table. Of a database of LevelDB or RocksDB every
/// table, by level where the MANIFEST can be read, with what a lookup of an absent key costs. A file that cannot be read does not
/// hide the others. Exit status: 0 if all is well, 1 if a filter is missing or not as it should be, 2 if something
/// could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom inspect data/ks/table-*/
  fullbloom inspect --summary /var/lib/cassandra/data
  fullbloom inspect db/ --report db.html
  fullbloom inspect people.parquet
  fullbloom inspect --json keys.bloom
  fullbloom inspect --dialect leveldb filter.block")]
pub struct Args {
    /// Filter files, tables and directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The dialect of all files, where their names and bytes do not tell
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    /// Of directories, list only what there is something to say about, and the totals
    #[arg(long)]
    summary: bool,

    /// In directories of Cassandra, also look into snapshots and backups
    #[arg(long)]
    snapshots: bool,

    #[command(flatten)]
    report: ReportArgs,

    /// One JSON object: {"filters": […], "tables": […], "skipped": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// Inspects each file and directory.
pub fn run(args: &Args) -> Result<Status, Failure> {
    args.report.check()?;
    let mut out = Output::stdout()?;
    let mut all = Seen { is_well: true, ..Seen::default() };
    let mut errors = Vec::new();
    let mut first = true;
    for path in &args.files {
        match look(path, args) {
            Ok(seen) => {
                all.is_well &= seen.is_well;
                for (path, failure) in &seen.unread {
                    failure.report();
                    errors.push(error(path, failure));
                }
                all.filters.extend(seen.filters);
                all.tables.extend(seen.tables);
                all.skipped.extend(seen.skipped);
                if args.json {
                    continue;
                }
                if !first {
                    out.bytes(b"\n")?;
                }
                first = false;
                out.bytes(seen.text.as_bytes())?;
                out.pause()?;
            }
            Err(failure) => {
                failure.report();
                errors.push(error(path, &failure));
            }
        }
    }
    let status = if errors.is_empty() { Status::selected(all.is_well) } else { Status::Failed };
    let Seen { filters, tables, skipped, .. } = all;
    let whole = json!({ "filters": filters, "tables": tables, "skipped": skipped, "errors": errors });
    args.report.write(|| report::of_inspection(&whole))?;
    if args.json {
        out.json(&whole)?;
    }
    out.finish()?;
    Ok(status)
}

/// A file or directory, for people and for machines.
#[derive(Debug, Default)]
struct Seen {
    filters: Vec<Value>,
    /// Sums over the filters of a directory.
    tables: Vec<Value>,
    skipped: Vec<Value>,
    text: String,
    is_well: bool,
    /// What could not be read below a directory.
    unread: Vec<(PathBuf, Failure)>,
}

fn error(path: &Path, failure: &Failure) -> Value {
    json!({ "path": path.display().to_string(), "error": failure.to_string() })
}

fn look(path: &Path, args: &Args) -> Result<Seen, Failure> {
    match directory::kind(path) {
        Some(Kind::Data) => return look_at_sstables(path, args),
        Some(Kind::Database) => return look_at_tables(path, args),
        None => {}
    }
    if args.dialect.is_none() && parquet::is_parquet(path) {
        let told = parquet::inspect(path)?;
        return Ok(Seen { filters: told.json, text: told.text, is_well: told.is_well, ..Seen::default() });
    }
    let (json, text, is_well) = match open_table(path, args.dialect, None)? {
        Some(table) => {
            let facts = TableFacts::of(path, &table)?;
            (facts.json(), facts.text(), facts.is_well())
        }
        None => {
            let file = FilterFile::load(path, args.dialect, args.geometry.geometry())?;
            let opened = file.open()?;
            let of_sstable = args.dialect.is_none() && Descriptor::parse(path).is_ok();
            let facts = Facts::of(path, &*opened.filter, opened.bytes, opened.warnings)
                .with_native(opened.native)
                .recognised(file.recognised())
                .with_sstable(if of_sstable { SstableFacts::of(path) } else { None });
            (facts.json(), facts.text(), facts.is_well())
        }
    };
    Ok(Seen { filters: vec![json], text, is_well, ..Seen::default() })
}

/// The tables of a database of LevelDB or RocksDB.
fn look_at_tables(path: &Path, args: &Args) -> Result<Seen, Failure> {
    let report = database::inspect::Report::of(path, database::find(path)?);
    Ok(Seen {
        filters: report.filters(),
        tables: report.tables(),
        skipped: report.skipped(),
        text: report.text(output::width(), args.summary),
        is_well: report.is_well(),
        unread: Vec::new(),
    })
}

/// The sstables of Cassandra in a directory and below it.
fn look_at_sstables(path: &Path, args: &Args) -> Result<Seen, Failure> {
    let report = cassandra::inspect::Report::of(cassandra::find(path, args.snapshots)?);
    Ok(Seen {
        filters: report.filters(),
        tables: report.tables(),
        skipped: report.skipped(),
        text: report.text(output::width(), args.summary),
        is_well: report.is_well(),
        unread: report.unread().map(|(path, why)| (path.to_owned(), Failure::text(why))).collect(),
    })
}
