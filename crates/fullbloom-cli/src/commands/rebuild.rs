//! `fullbloom rebuild TABLE|FILTER.db|DIR…`: rebuilds the filters of sstables and tables from their keys.

use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Places;
use crate::render;
use crate::text;
use fullbloom_files::replace;
use fullbloom_ops::rebuild::Size;
use fullbloom_ops::{self as ops, Found, Place, Problem, RebuildOptions, Rebuilt, Watch, rebuild};
use fullbloom_table::EnginePrefix;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Rebuild the filters of sstables and tables, offline, from their keys
///
/// Stop the engine first. The old filters are kept, and --restore puts them back. Without a size, sstables
/// get the rate that Statistics.db records, tables a filter as long as the old one.
///
/// Sstables of Cassandra, ScyllaDB and DataStax: each filter has the dialect of its sstable's version. What
/// the engine will do with the file is printed at the end. Cassandra reads filters only when it opens
/// sstables: stop the node first, or restart it afterwards. ScyllaDB: stop the node first. Scylla.db gets the
/// checksum of the new filter, and the old files go to snapshots/fullbloom-1, because a node does not start
/// if the table's directory has an unknown file.
///
/// Tables of LevelDB and RocksDB: a filter as long as the old one replaces it in place. If the size changes,
/// or the table has no filter, a new copy of the table is written to another directory (-o).
///
/// A new file replaces the old one completely or not at all. --restore also removes a filter that was
/// created. In a directory, sstables of tables without filters (bloom_filter_fp_chance = 1.0) get one only if
/// the directory of their table is named. A filter that has the right bytes already is left alone. A database
/// that an engine has open is refused before anything is written. Exit status: 0 if filters were rebuilt or
/// are right, 1 if there is nothing to rebuild, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom rebuild --fpr 0.05 --dry-run data/ks/table-*/
  fullbloom rebuild --fpr 0.05 data/ks/table-*/
  fullbloom rebuild --damaged --summary /var/lib/cassandra/data
  fullbloom rebuild --restore data/ks/table-*/
  fullbloom rebuild --bits-per-key 16 db/000012.sst -o new/")]
pub struct Args {
    /// Tables, sstables (Filter.db or another component), and directories of them
    #[arg(required = true, value_name = "TABLE|FILTER|DIR")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    rate: RateArgs,

    /// Write the new files into this directory and leave the old ones alone
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Rebuild only filters that are missing, damaged, incomplete, or too full
    #[arg(long)]
    damaged: bool,

    /// Keep no copy of the old filters
    #[arg(long, conflicts_with = "output")]
    no_backup: bool,

    /// Rebuild even if the index or the table lacks keys; replace read-only files
    #[arg(long)]
    force: bool,

    /// Put the old filters back, from the newest backup
    #[arg(long, conflicts_with_all = ["fpr", "bits_per_key", "same_size", "output", "damaged", "no_backup", "force"])]
    restore: bool,

    /// Also look into snapshots and backups of Cassandra
    #[arg(long)]
    snapshots: bool,

    /// Take table prefixes like this: fixed:N, capped:N, noop
    ///
    /// For tables whose prefix extractor is not recognised.
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// Print only the totals, and what the engine will do
    #[arg(long)]
    summary: bool,

    /// Print nothing but errors: the exit status is the answer
    #[arg(short, long, conflicts_with_all = ["json", "summary"])]
    quiet: bool,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// How large the new filters are.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct RateArgs {
    /// Size filters for this rate, by the engine's rule: 0.01, 1%
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// Size filters with this many bits for each key; Cassandra takes 1 to 20
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    bits_per_key: Option<f64>,

    /// Keep the size of the old filters, which must be readable
    #[arg(long)]
    same_size: bool,
}

impl RateArgs {
    fn size(&self) -> Size {
        match (self.fpr, self.bits_per_key, self.same_size) {
            (Some(fpr), _, _) => Size::Fpr(fpr),
            (_, Some(bits), _) => Size::BitsPerKey(bits),
            (_, _, true) => Size::AsBefore,
            _ => Size::Recorded,
        }
    }
}

/// Rebuilds the filters, one after the other.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let places: Vec<Place> = args.files.iter().map(|path| Place::detect(path, None)).collect();
    let output = match &args.output {
        Some(directory) => replace::Output::Into(directory.clone()),
        None => replace::Output::InPlace { backup: !args.no_backup },
    };
    let options = RebuildOptions {
        size: args.rate.size(),
        output,
        dry_run: args.dry_run,
        damaged: args.damaged,
        force: args.force,
        restore: args.restore,
        snapshots: args.snapshots,
        prefix_extractor: args.prefix_extractor,
    };
    let places_shown = Places::new("rebuilding");
    let (out, notes) = (Output::optional(), Vec::new());
    let is_listed = !(args.json || args.summary || args.quiet);
    let quiet = args.quiet;
    let mut printer = Printer { out, is_listed, quiet, places: places_shown, notes, saved: 0, failure: None };
    let report = rebuild(&places, &options, &mut printer)?;
    let saved = if args.dry_run { 0 } else { printer.saved };
    let after_saving = |failure: Failure| match saved {
        0 => failure,
        _ => failure.after_saving(text::counted(saved, "file")),
    };
    if let Some(failure) = printer.failure {
        return Err(after_saving(failure));
    }
    let is_shown = |problem: &&Problem| !args.quiet || problem.is_error();
    report.problems.iter().filter(is_shown).for_each(output::problem_or_warning);
    let mut out = printer.out;
    let mut print = || {
        if args.json {
            out.json(&super::report_value(&report))?;
        } else if args.quiet {
            return Ok(());
        } else if report.summary.filters > 0 || report.status != ops::Status::Failed {
            out.bytes(render::rebuild_summary(&report.summary, &printer.notes).as_bytes())?;
        }
        out.pause()
    };
    print().map_err(after_saving)?;
    Ok(report.status.into())
}

/// Prints each result as it comes.
struct Printer {
    out: Output,
    /// Whether each filter is shown.
    is_listed: bool,
    /// Whether nothing but errors is shown.
    quiet: bool,
    places: Places,
    /// What was printed before the first result.
    notes: Vec<String>,
    /// Files that were replaced, or would be.
    saved: u64,
    /// The output could not be written.
    failure: Option<Failure>,
}

impl Watch<Rebuilt> for Printer {
    fn waiting(&mut self, path: &Path) {
        output::waiting(path);
    }

    fn notes(&mut self, notes: &[String]) {
        if !self.quiet {
            notes.iter().for_each(|note| output::note(note));
        }
        self.notes.extend_from_slice(notes);
    }

    fn start(&mut self, places: u64) {
        if !self.quiet && (!self.is_listed || !self.out.is_terminal()) {
            self.places.start(places);
        }
    }

    fn step(&mut self) {
        self.places.advance();
    }

    fn found(&mut self, found: &Found<Rebuilt>) -> ControlFlow<()> {
        self.saved += u64::from(!found.record.is_unchanged());
        if !self.is_listed {
            return ControlFlow::Continue(());
        }
        let text = render::rebuilt(found);
        match self.out.bytes(text.as_bytes()).and_then(|()| self.out.pause()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }
}
