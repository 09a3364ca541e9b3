//! `fullbloom build [KEYS…] -o FILTER`: a filter of keys, as the real program would write it.

use crate::args::{self, KeyArgs};
use crate::error::{Failure, Status};
use crate::facts::Facts;
use crate::input::{Keys, name_contradicts};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::sizing::{self, GeometryArgs, TargetArgs};
use fullbloom::SizeError;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::file;
use fullbloom::sizing::{Request, Target};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Make a filter of keys, byte for byte as the real program would
///
/// The filter is sized for --expected-keys, and without it for the keys there are, which are then counted first;
/// its rate is 0.01 unless --fpr, --bits-per-key or --bits says otherwise. The file is replaced whole or not at
/// all. Exit status: 0 if it was written, 1 if the engine would store no filter, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("size").args(["fpr", "bits_per_key", "bits"]),
    after_help = "\
Examples:
  fullbloom build --dialect cassandra --fpr 0.01 keys.txt -o nb-1-big-Filter.db
  fullbloom build --dialect leveldb --bits-per-key 10 keys.txt -o keys.bloom
  zcat keys.gz | fullbloom build --dialect libbloom --expected-keys 1M --fpr 1e-4 -o keys.libbloom
  fullbloom build --dialect libbloom-1 --bits 8M --probes 5 keys.txt -o keys.bits"
)]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    /// The filter file to write; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    /// The system whose filter it shall be
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Name,

    /// How many keys to size the filter for: 1000000, 1e6, 1M; counted if not given
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    geometry: GeometryArgs,

    /// Print what was built as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was built
    #[arg(short, long)]
    quiet: bool,
}

/// Builds and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    match build(args) {
        Ok(()) => Ok(Status::Yes),
        Err(Refusal::Size(e @ SizeError::NoFilter { .. })) => {
            output::warning(&format!("{}: {e}; nothing is written", args.dialect));
            Ok(Status::No)
        }
        Err(Refusal::Size(e)) => {
            let failure = Failure::size(args.dialect, &e);
            Err(match e {
                SizeError::Count { what: "expected_keys", .. } if args.expected_keys.is_none() => {
                    failure.hint("--expected-keys N sizes the filter for N keys instead of those given")
                }
                _ => failure,
            })
        }
        Err(Refusal::Other(failure)) => Err(failure),
    }
}

/// Why there is no filter.
enum Refusal {
    Size(SizeError),
    Other(Failure),
}

impl From<SizeError> for Refusal {
    fn from(e: SizeError) -> Refusal {
        Refusal::Size(e)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal::Other(failure)
    }
}

fn build(args: &Args) -> Result<(), Refusal> {
    let target = sizing::target(&args.target, &args.geometry);
    sizing::check_target(args.dialect, target)?;
    let mut keys = Keys::new(&args.keys.files, args.keys.format())?;
    let destination = Destination::new(&args.output, &keys)?;

    let uncounted = any::ignores_expected_keys(args.dialect, target);
    let expected_keys = match args.expected_keys {
        Some(expected_keys) => expected_keys,
        None if uncounted => 0,
        None => keys.count(&Progress::new("counting keys", keys.total()))?,
    };
    let mut builder = any::builder(args.dialect, &Request { expected_keys, target })?;
    let mut inserted = 0;
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        builder.insert_batch(batch.keys);
        inserted += batch.keys.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let filter = builder.finish()?;

    destination.write(&*filter)?;
    if let Some(contradiction) = name_contradicts(&args.output, args.dialect) {
        output::warning(&format!(
            "{}: {contradiction}: it will not find its keys there",
            args.output.display()
        ));
    }
    if inserted > expected_keys && !uncounted && target != Target::Fpr(1.0) {
        output::warning(&format!(
            "{inserted} keys were inserted where {expected_keys} were expected: the rate is higher than asked"
        ));
    }
    Ok(summarise(args, &*filter, inserted)?)
}

/// Where the filter goes.
enum Destination<'a> {
    Stdout,
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// Looks before the work is done whether the filter can be written at all.
    fn new(path: &'a Path, keys: &Keys) -> Result<Destination<'a>, Failure> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                let failure = Failure::new("standard output", "is a terminal; a filter is not text");
                return Err(failure.hint("name a file: -o FILTER"));
            }
            return Ok(Destination::Stdout);
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(Err(e)) = directory.map(fs::metadata) {
            return Err(Failure::new(path.display(), format_args!("cannot save: {e}")));
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                return Err(Failure::new(path.display(), "cannot save: is a directory"));
            }
            Ok(meta) if !meta.is_file() => {
                let failure = Failure::new(path.display(), "cannot save: not a regular file");
                return Err(failure.hint("-o - writes to standard output"));
            }
            _ => {}
        }
        if keys.include(path) {
            return Err(Failure::new(path.display(), "is a key file and would be overwritten by the filter"));
        }
        Ok(Destination::File(path))
    }

    fn write(&self, filter: &dyn AnyFilter) -> Result<(), Failure> {
        match self {
            Destination::File(path) => Ok(file::replace(path, |out| filter.write_to(out))?),
            Destination::Stdout => {
                let written = output::duplicate(&io::stdout()).and_then(|mut stdout| {
                    let mut out = io::BufWriter::with_capacity(64 << 10, &mut stdout);
                    filter.write_to(&mut out)?;
                    out.flush()
                });
                // A reader that went early has half a filter: not a quiet end.
                written.map_err(|e| Failure::new("standard output", format_args!("cannot write: {e}")))
            }
        }
    }
}

/// What was built; on standard output, unless the filter itself went there.
fn summarise(args: &Args, filter: &dyn AnyFilter, keys: u64) -> Result<(), Failure> {
    if args.quiet || args.output == Path::new("-") {
        return Ok(());
    }
    let bytes = fs::metadata(&args.output).map_or(filter.encoded_len(), |meta| meta.len());
    let facts = Facts::of(&args.output, filter, bytes, Vec::new()).with_keys(keys);
    let mut out = Output::stdout()?;
    if args.json {
        out.json(&facts.json())?;
    } else {
        out.bytes(facts.text().as_bytes())?;
    }
    out.finish()
}
