//! `fullbloom verify TABLE|FILTER|DIR…`: checks filters against their keys.

use crate::args::{LookupTypeArgs, PartArgs, TypeArgs};
use crate::error::{Failure, Status};
use crate::filter_args::FilterArgs;
use crate::input::{KeyFormat, Keys};
use crate::metrics::{self, MetricsArgs};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::{Places, Progress};
use crate::render;
use crate::text;
#[cfg(feature = "parquet")]
use fullbloom_ops::PlaceKind;
use fullbloom_ops::database::LastDatabase;
use fullbloom_ops::filter::{FilterFile, ReadOptions, VerifiedFilter, verify_keys};
use fullbloom_ops::{
    self as ops, Code, Found, Place, Problem, Verified, VerifyOptions, VerifyReport, Watch, verify,
};
use fullbloom_table::EnginePrefix;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Verify filters: look up every key, measure the rate, and rebuild the filter's bytes
///
/// Reads all keys of each table, sstable or Parquet column, and of --keys for other filter files. Finds lost
/// bits, which make rows invisible: Cassandra's filter has no checksum.
///
/// Checks the checksums of tables of LevelDB and RocksDB. For sstables of Cassandra, one or all below a
/// directory, it reads the index (Index.db; for BTI sstables Partitions.db with Rows.db and Data.db). In
/// Parquet files, one or all below a directory, it reads every column that has a filter.
///
/// Exit status: 0 if all is well, 1 if there is no filter, a key is missing, a filter differs from the one
/// its keys give, or lets more keys pass than the rate it was made for, 2 if a file could not be opened or is
/// not a valid filter file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom verify 000123.sst
  fullbloom verify data/ks/table-*/
  fullbloom verify --summary --since 7d /var/lib/cassandra/data
  fullbloom verify -q data/ --metrics /var/lib/node-exporter/verify.prom
  fullbloom verify keys.bloom --keys keys.txt
  fullbloom verify --json db/*.sst")]
#[command(mut_arg("key_type", |key_type| key_type.requires("keys")))]
#[command(mut_arg("field", |field| field.requires("keys")))]
#[command(mut_arg("ignore_case", |ignore_case| ignore_case.requires("keys")))]
#[command(mut_arg("trim", |trim| trim.requires("keys")))]
#[command(mut_arg("skip_comments", |skip_comments| skip_comments.requires("keys")))]
#[command(mut_arg("crlf", |crlf| crlf.requires("keys")))]
pub struct Args {
    /// Tables, Filter.db of sstables, directories of them, and other filter files
    #[arg(required = true, value_name = "TABLE|FILTER|DIR")]
    files: Vec<PathBuf>,

    /// Measure the rate with this many made-up absent keys
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "100000")]
    absent: u64,

    /// Judge sstable filters against this rate, not the recorded one, and those of Parquet columns, not 5 %: 0.02, 2%
    #[arg(long, value_name = "P", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Take table prefixes like this: fixed:N, capped:N, noop
    ///
    /// For tables whose prefix extractor is not recognised.
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// Look up the keys in these files; - for standard input
    #[arg(long, value_name = "KEYS")]
    keys: Vec<PathBuf>,

    /// Each line of the key files is the hex of a key
    #[arg(long, requires = "keys")]
    hex: bool,

    /// Keys in the key files end with a zero byte, not a newline
    #[arg(short = '0', long, requires = "keys")]
    null: bool,

    /// Lines of the key files are keys of any bytes; without it, files that are not text are refused
    #[arg(long, requires = "keys")]
    binary: bool,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    types: LookupTypeArgs,

    #[command(flatten)]
    read: FilterArgs,

    /// Also look into snapshots and backups of Cassandra
    #[arg(long)]
    snapshots: bool,

    /// Verify only files that changed since then: 7d, 12h, 2026-11-18 (UTC)
    #[arg(long, value_name = "TIME", value_parser = numbers::since, conflicts_with = "keys")]
    since: Option<SystemTime>,

    /// List only filters with problems, and the totals
    #[arg(long)]
    summary: bool,

    /// Print nothing: the exit status is the answer
    #[arg(short, long, conflicts_with_all = ["json", "summary"])]
    quiet: bool,

    #[command(flatten)]
    metrics: MetricsArgs,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Verifies each file.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if args.files.len() > 1 && args.keys.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::new(
            "--keys -",
            "standard input can be read once: give one filter, or a file of keys",
        ));
    }
    args.metrics.check()?;
    let begun = Instant::now();
    let read = args.read.read()?;
    let mut printer = Printer::new(Shown::of(args));
    let mut all = VerifyReport::empty();
    let last_database = LastDatabase::default();
    for path in &args.files {
        let place = Place::detect(path, args.read.dialect());
        let found = look(&place, args, &read, &last_database, &mut printer);
        if let Some(failure) = printer.failure.take() {
            return Err(failure);
        }
        match found {
            Ok(found) => {
                printer.rest(&place, &found)?;
                all.append(found);
            }
            Err(Refused::Place(problem)) => {
                output::problem(&problem);
                all.append(VerifyReport::failed(problem));
            }
            Err(Refused::Keys(failure)) => {
                failure.report();
                all.append(VerifyReport::failed(Problem::key_file(path, failure)));
            }
        }
    }
    metrics::of_verification(&args.metrics, &all, begun)?;
    printer.total(&all)?;
    printer.out.finish()?;
    Ok(all.status.into())
}

/// Why a file could not be verified.
enum Refused {
    /// The file itself.
    Place(Problem),
    /// The caller's keys.
    Keys(Failure),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        Refused::Place(problem)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Keys(failure)
    }
}

fn look(
    place: &Place,
    args: &Args,
    read: &ReadOptions,
    last_database: &LastDatabase,
    printer: &mut Printer,
) -> Result<VerifyReport, Refused> {
    let _quiet = super::QuietPanics::of(place);
    if !args.keys.is_empty() {
        place.require_takes_keys()?;
        let types = args.types.of(place, args.hex)?;
        let read = read.clone().key_type(types.key_type.key_type());
        let mut found = with_keys(place.path(), args, &types, &read)?.map(Verified::Filter);
        // If keys are missing, this may be why.
        found.problems.extend(args.types.assumed(place, args.hex));
        if found.problems.iter().any(|problem| problem.code == Code::KeyMissing) {
            found.problems.extend(place.lookups_fail());
        }
        let _ = printer.found(&found); // a failure is kept
        return Ok(VerifyReport::of(found));
    }
    let (absent, prefix_extractor, snapshots) = (args.absent, args.prefix_extractor, args.snapshots);
    let (read, last_database) = (read.clone(), last_database.clone());
    let (fpr, since) = (args.fpr, args.since);
    let options = VerifyOptions { read, absent, fpr, prefix_extractor, snapshots, since, last_database };
    Ok(verify(place, &options, printer)?)
}

/// Looks up the caller's keys.
fn with_keys(
    path: &Path,
    args: &Args,
    types: &TypeArgs,
    read: &ReadOptions,
) -> Result<Found<VerifiedFilter>, Refused> {
    let file = FilterFile::load(path, read)?;
    let end = if args.null { 0 } else { b'\n' };
    let format = KeyFormat { end, hex: args.hex, binary: args.binary, ..args.part.format() };
    types.key_type.check_dialect(path, file.dialect())?;
    let mut keys = Keys::new(&args.keys, types.apply(format, file.dialect())?)?;
    let progress = Progress::new("looking up keys", keys.total());
    verify_keys(&file, args.absent, |filter, each| {
        args.part.require_field(path, filter.key_field())?;
        keys.apply_form(filter.key_form());
        let looked_up = keys.for_each_batch(&progress, |batch| {
            each(batch.keys);
            Ok(ControlFlow::Continue(()))
        });
        Ok(looked_up?)
    })
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Every filter, and the totals if there are several.
    All,
    /// Filters with problems, and the totals.
    Problems,
    /// Nothing.
    Nothing,
    /// One JSON object.
    Json,
}

impl Shown {
    fn of(args: &Args) -> Shown {
        match (args.json, args.quiet, args.summary) {
            (true, _, _) => Shown::Json,
            (_, true, _) => Shown::Nothing,
            (_, _, true) => Shown::Problems,
            _ => Shown::All,
        }
    }
}

/// Prints each result as it comes.
struct Printer {
    out: Output,
    shown: Shown,
    places: Places,
    /// The output could not be written.
    failure: Option<Failure>,
}

impl Printer {
    fn new(shown: Shown) -> Printer {
        Printer { out: Output::optional(), shown, places: Places::new("verifying"), failure: None }
    }

    /// Prints the sums over all filters.
    fn total(&mut self, all: &VerifyReport) -> Result<(), Failure> {
        match self.shown {
            Shown::Json => self.out.json(&super::report_value(all)),
            Shown::Problems => self.out.bytes(render::verify_total(&all.summary).as_bytes()),
            Shown::All if all.found.len() > 1 => {
                self.out.bytes(format!("\n{}", render::verify_total(&all.summary)).as_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Prints the problems that belong to no single filter.
    fn rest(&mut self, place: &Place, found: &VerifyReport) -> Result<(), Failure> {
        found
            .problems()
            .filter(|problem| problem.code.ends_verify() == ops::Status::Failed)
            .for_each(output::problem);
        if matches!(self.shown, Shown::Json | Shown::Nothing) {
            return Ok(());
        }
        #[cfg(feature = "parquet")]
        if place.kind() == PlaceKind::Parquet {
            return self.out.bytes(render::verified_columns(place.path(), found).as_bytes());
        }
        #[cfg(feature = "parquet")]
        if place.kind() == PlaceKind::Dataset {
            return self.out.bytes(render::verified_dataset(place.path(), found, output::width()).as_bytes());
        }
        #[cfg(not(feature = "parquet"))]
        let _ = place;
        let deliberate = found.problems().filter(|problem| is_deliberate(problem)).count() as u64;
        if deliberate > 0 && self.shown == Shown::Problems {
            let without = text::counted(deliberate, "sstable");
            self.out.bytes(
                format!("note: {without} without a filter, as the table is configured\n").as_bytes(),
            )?;
        }
        self.out.bytes(render::elsewhere(&found.problems).as_bytes())
    }
}

/// That an sstable has no filter, as its table is configured.
fn is_deliberate(problem: &Problem) -> bool {
    problem.code == Code::WrittenWithoutFilter
}

impl Watch<Verified> for Printer {
    fn start(&mut self, places: u64) {
        // On a terminal the results themselves show that the work goes on.
        if self.shown != Shown::All || !self.out.is_terminal() {
            self.places.start(places);
        }
    }

    fn step(&mut self) {
        self.places.advance();
    }

    fn found(&mut self, found: &Found<Verified>) -> ControlFlow<()> {
        let is_shown = match self.shown {
            Shown::All => true,
            Shown::Problems => !found.problems.iter().all(is_deliberate),
            Shown::Nothing | Shown::Json => false,
        };
        if !is_shown {
            return ControlFlow::Continue(());
        }
        let text = render::verified(found);
        match self.out.bytes(text.as_bytes()).and_then(|()| self.out.pause()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }
}
