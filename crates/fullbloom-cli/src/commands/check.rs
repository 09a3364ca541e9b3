//! `fullbloom check FILTER [KEYS…]`: which keys may be there, as `grep` would say it.

use crate::args::{self, KeyArgs};
use crate::error::{Failure, Status};
use crate::input::{BATCH, Batch, FilterFile, Keys};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::sizing::GeometryArgs;
use fullbloom::any::AnyFilter;
use fullbloom::dialect::Name;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Print the keys that may be in a filter
///
/// Keys are printed exactly as they came in; a key that is not printed is surely absent. Exit status: 0 if a key
/// was selected, 1 if none was, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom check keys.bloom --dialect leveldb asked.txt
  zcat urls.gz | fullbloom check -c keys.bloom --dialect leveldb
  fullbloom check ma-1-big-Filter.db --hex --answers < partition-keys.hex
  printf 'key' | fullbloom check -q keys.bloom --dialect leveldb && echo maybe")]
pub struct Args {
    /// The filter file
    filter: PathBuf,

    #[command(flatten)]
    keys: KeyArgs,

    /// The filter's dialect, where its name and bytes do not tell
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    /// Map the filter instead of reading it whole; the file must not be cut short meanwhile
    #[arg(long)]
    map: bool,

    /// Ask a filter whose numbers contradict each other, though it may call its own keys absent
    #[arg(long)]
    force: bool,

    /// Select the keys that are surely absent instead
    #[arg(short = 'v', long)]
    invert: bool,

    /// Print only how many keys were selected
    #[arg(short = 'c', long, conflicts_with = "quiet")]
    count: bool,

    /// Print nothing and stop at the first selected key; the exit status tells
    #[arg(short = 'q', long)]
    quiet: bool,

    /// Print 1 or 0 for each key, in order: may be there, surely absent
    #[arg(long, conflicts_with_all = ["invert", "count", "quiet"])]
    answers: bool,
}

/// Answers all keys.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let read = if args.map { FilterFile::map } else { FilterFile::load };
    let file = read(&args.filter, args.dialect, args.geometry.geometry())?;
    let opened = file.open()?;
    if opened.may_lose_keys && !args.force {
        let failure = Failure::new(args.filter.display(), opened.warnings.join("; "));
        return Err(failure.hint("its own keys may be called absent; --force asks it all the same"));
    }
    for warning in &opened.warnings {
        output::warning(&format!("{}: {warning}", args.filter.display()));
    }
    let mut keys = Keys::new(&args.keys.files, args.keys.format())?;
    let mut out = Output::stdout()?;
    // Keys printed on the terminal would run through the bar.
    let progress =
        if out.is_terminal() { Progress::hidden() } else { Progress::new("checking", keys.total()) };

    let mut answers = [false; BATCH];
    let mut selected = 0;
    let end = keys.format().end;
    keys.for_each_batch(&progress, |batch| {
        let answers = &mut answers[..batch.keys.len()];
        selected += select(&*opened.filter, batch, args.invert, answers);
        if args.quiet {
            return Ok(if selected > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        if args.answers {
            for answer in answers {
                out.bytes(if *answer { b"1\n" } else { b"0\n" })?;
            }
        } else if !args.count {
            for (record, _) in batch.records.iter().zip(answers).filter(|(_, selected)| **selected) {
                out.record(record, end)?;
            }
        }
        out.pause()?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    if args.count {
        out.record(selected.to_string().as_bytes(), b'\n')?;
    }
    out.finish()?;
    Ok(Status::selected(selected > 0))
}

/// Marks the selected keys of a batch; how many they are.
fn select(filter: &dyn AnyFilter, batch: &Batch<'_>, invert: bool, selected: &mut [bool]) -> u64 {
    filter.may_contain_batch(batch.keys, selected);
    let mut count = 0;
    for answer in selected {
        *answer ^= invert;
        count += u64::from(*answer);
    }
    count
}
