//! `fullbloom inspect FILE|DIR…`: shows filter files, the filters of tables, or all filters of a directory.

use crate::error::{Failure, Status};
use crate::filter_args::LayoutArgs;
use crate::metrics::{self, MetricsArgs};
use crate::output::{self, Output};
use crate::progress::Places;
use crate::render;
#[cfg(feature = "report")]
use crate::report::{self, ReportArgs};
use fullbloom_ops::{
    self as ops, Found, InspectOptions, InspectReport, Inspected, Place, PlaceKind, inspect,
};
use std::path::PathBuf;
use std::time::Instant;

/// Show what is in filter files, tables, and directories of sstables or tables
///
/// Shows size, fill, estimated keys and expected rate of each filter, and what is wrong with it; in
/// directories also totals by table, level or column.
///
/// For a table of LevelDB or RocksDB also kind, policy, partitions and prefixes. For a directory of
/// Cassandra, every sstable below it: version, keys, bits per key, the size of its filter, and problems
/// (filter missing, truncated, mislabelled, too full, too large). For a database of LevelDB or RocksDB, every
/// table, by level if the MANIFEST can be read, with the cost of a lookup of an absent key. For a directory
/// of Parquet files, every column that has filters: how many row groups have one, and which filters are too
/// full, save nothing, or are missing. If a file cannot be read, the others are still shown.
///
/// Exit status: 0 if all is well, 1 if a problem was found, such as a damaged sstable or table, or a filter
/// that lets more keys pass than it should, 2 if a path could not be opened or is not a valid filter file.
/// Filters that are only larger than needed are well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom inspect data/ks/table-*/
  fullbloom inspect --summary /var/lib/cassandra/data
  fullbloom inspect db/ --report db.html
  fullbloom inspect -q data/ --metrics /var/lib/node-exporter/fullbloom.prom
  fullbloom inspect people.parquet
  fullbloom inspect lake/events/ --fpr 1%
  fullbloom inspect --json keys.bloom
  fullbloom inspect --dialect leveldb filter.block")]
pub struct Args {
    /// Filter files, tables and directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    read: LayoutArgs,

    /// List only filters with problems, and the totals
    #[arg(long)]
    summary: bool,

    /// Also look into snapshots and backups of Cassandra
    #[arg(long)]
    snapshots: bool,

    /// Judge sstable filters against this rate, not the recorded one; Parquet's instead of 5%
    #[arg(long, value_name = "P", value_parser = crate::numbers::rate)]
    fpr: Option<f64>,

    #[cfg(feature = "report")]
    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    metrics: MetricsArgs,

    /// Print nothing: the exit status is the answer
    #[arg(short, long, conflicts_with_all = ["json", "summary"])]
    quiet: bool,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Inspects each file and directory.
pub fn run(args: &Args) -> Result<Status, Failure> {
    #[cfg(feature = "report")]
    args.report.check()?;
    args.metrics.check()?;
    let begun = Instant::now();
    let mut out = Output::stdout();
    let mut all = InspectReport::empty();
    let options = InspectOptions {
        read: args.read.read(),
        snapshots: args.snapshots,
        fpr: args.fpr,
        #[cfg(feature = "report")]
        strips: args.report.is_wanted(),
        ..InspectOptions::default()
    };
    let mut first = true;
    for path in &args.files {
        let place = Place::detect(path, args.read.dialect);
        let _quiet = super::QuietPanics::of(&place);
        let found = inspect(&place, &options, &mut Places::new("inspecting"));
        let found = match found {
            Ok(found) => found,
            Err(problem) => {
                output::problem(&problem);
                all.append(InspectReport::failed(problem));
                continue;
            }
        };
        found
            .problems()
            .filter(|problem| problem.code.ends_inspect() == ops::Status::Failed)
            .for_each(output::problem);
        if !args.json && !args.quiet {
            let gap = if first { "" } else { "\n" };
            first = false;
            out.bytes(format!("{gap}{}", text(&place, &found, args.summary)).as_bytes())?;
            out.pause()?;
        }
        all.append(found);
    }
    #[cfg(feature = "report")]
    args.report.write(|| report::of_inspection(&all, &args.files))?;
    metrics::of_inspection(&args.metrics, &all, begun)?;
    if args.json {
        out.json(&super::report_value(&all))?;
    }
    out.finish()?;
    Ok(all.status.into())
}

fn text(place: &Place, report: &InspectReport, summary: bool) -> String {
    match (place.kind(), report.found.as_slice()) {
        (PlaceKind::Database, _) => render::database(report, output::width(), summary),
        #[cfg(feature = "parquet")]
        (PlaceKind::Parquet, _) => render::columns(place.path(), report),
        #[cfg(feature = "parquet")]
        (PlaceKind::Dataset, _) => render::dataset(place.path(), report, output::width()),
        (PlaceKind::Table | PlaceKind::Filter | PlaceKind::Sstable, [Found { record, problems }]) => {
            match record {
                Inspected::Table(record) => render::table(record, problems),
                Inspected::Filter(record) => render::filter(record, problems),
                Inspected::Sstable(record) => render::sstable(record, problems),
                _ => String::new(),
            }
        }
        _ => render::data_directory(report, output::width(), summary),
    }
}
