//! `fullbloom convert FILTER --to D -o FILTER`: converts a filter to another dialect, where that needs no
//! keys.

use super::made::Made;
use crate::args;
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output;
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use crate::text;
use fullbloom::NativeFilter;
use fullbloom::any::{self, AnyFilter, ConvertError, MadeFor};
use fullbloom::dialect::Name;
use fullbloom::native::StoredFilter;
use fullbloom_ops::filter::{FilterFile, NativeRecord, ReadOptions, name_contradicts};
use std::path::PathBuf;

/// Convert a filter to another dialect, or shrink a native one, without its keys
///
/// A filter does not store its keys, so this is possible only where the positions of the keys stay the same:
/// between cassandra-3 and cassandra (the byte order of a word), between libbloom and libbloom-1 (with and
/// without the header, if the number of bits is a power of two), and from native to native: halved once or
/// several times, or from a dynamic filter to a fast one, which has its keys, but neither counts nor times; the rate of a
/// dynamic one is added to --fpr. In other cases the error says what is needed. Exit status: 0 if it was written, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom convert me-1-big-Filter.db --to cassandra -o nb-1-big-Filter.db
  fullbloom convert keys.bloom --to native --memory 1MiB -o small.bloom
  fullbloom convert keys.bits --dialect libbloom-1 --bits 1048576 --probes 7 \\
      --to libbloom --expected-keys 104000 --fpr 0.0079 -o keys.libbloom")]
pub struct Args {
    /// The filter file
    filter: PathBuf,

    /// The dialect to convert to (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true)]
    to: Name,

    /// The filter file to write; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    /// The filter's dialect, if its name and bytes do not determine it (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true)]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    /// The keys the filter was made for, which a libbloom file stores
    #[arg(long, value_name = "N", value_parser = numbers::small_count, requires = "fpr")]
    expected_keys: Option<u32>,

    /// The rate the filter was made for, which a libbloom file stores; of a fast filter made from a dynamic one, its rate
    /// [default: that of the dynamic one]
    #[arg(long, value_name = "P", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Halve a native filter until its file fits this size
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, conflicts_with = "fold")]
    memory: Option<u64>,

    /// Halve a native filter this many times
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=60))]
    fold: Option<u32>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    force: ForceArgs,

    /// Print what was made as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was made
    #[arg(short, long)]
    quiet: bool,
}

/// Converts and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut destination = Destination::new(&args.output, args.force.force)?;
    let (dialect, geometry) = (args.dialect, args.geometry.geometry());
    let mut options = ReadOptions { dialect, geometry, ..ReadOptions::default() };
    let file = FilterFile::load(&args.filter, &options)?;
    let from = file.dialect();
    if (args.memory.is_some() || args.fold.is_some()) && (from, args.to) != (Name::Native, Name::Native) {
        return Err(Failure::new("--memory and --fold", "only native filters can be halved"));
    }
    if (from, args.to) == (Name::Native, Name::Native) {
        options.secret = args.secret.read()?;
        let folded = folded(args, FilterFile::load(&args.filter, &options)?)?;
        let folded = StoredFilter::Fast(folded);
        let facts = NativeRecord::of(&folded.facts());
        let folded = AnyFilter::from(folded);
        destination.write_filter(&folded)?;
        if let Some(warning) = facts.overfull_message() {
            output::warning(&format!("{}: {warning}", args.output.display()));
        }
        return summarise(args, &destination, &folded, Some(facts));
    }
    let opened = file.open()?;
    if let (Some(problem), true) = (opened.problems.first(), opened.may_lose_keys) {
        return Err(problem.clone().into());
    }
    if args.fpr.is_some() && args.expected_keys.is_none() {
        return Err(Failure::new("--fpr", "needs --expected-keys, for a libbloom file")
            .hint("only a dynamic native filter takes --fpr alone"));
    }
    let made_for =
        args.expected_keys.zip(args.fpr).map(|(expected_keys, fpr)| MadeFor { expected_keys, fpr });
    let made = any::convert(from, file.bytes(), args.geometry.geometry(), args.to, made_for)
        .map_err(|e| refused(args, from, &e))?;
    destination.write_filter(&made)?;
    if let Some(contradiction) = name_contradicts(&args.output, args.to) {
        let path = args.output.display();
        output::warning(&format!("{path}: {contradiction}: it will not find its keys there"));
    }
    summarise(args, &destination, &made, None)
}

/// The fast filter, halved as often as requested.
fn folded(args: &Args, file: FilterFile) -> Result<NativeFilter, Failure> {
    let path = args.filter.display();
    let size = |e| Failure::size(Name::Native, &e);
    let opened = file.open()?;
    if opened.is_locked {
        return Err(Failure::locked(&args.filter));
    }
    let stored = opened.filter.try_clone().map_err(size)?.into_native();
    let stored = stored.map_err(|_| Failure::new(&path, "is not a native filter"))?;
    let asked = args.fold.is_some() || args.memory.is_some();
    let mut filter = match stored {
        StoredFilter::Fast(_) if !asked => {
            return Err(Failure::new(&path, "it is native already")
                .hint("--memory SIZE or --fold TIMES makes it smaller"));
        }
        StoredFilter::Fast(filter) if !filter.takes_keys() => {
            return Err(Failure::new(&path, "the filter has exceptions, which hold only for its own size")
                .hint("build the smaller filter from its keys, with --except"));
        }
        StoredFilter::Fast(filter) => filter,
        StoredFilter::Dynamic(filter) => {
            filter.to_fast(args.fpr.unwrap_or(filter.planned_fpr())).map_err(size)?
        }
        other => {
            return Err(Failure::new(&path, format_args!("a {} filter cannot become a fast one", other.kind())));
        }
    };
    let mut times = 0;
    let wanted = |filter: &NativeFilter, times| match (args.fold, args.memory) {
        (Some(fold), _) => times < fold,
        (None, Some(memory)) => filter.encoded_len() > memory,
        (None, None) => false,
    };
    while wanted(&filter, times) {
        filter = filter.folded().map_err(|_| {
            let (blocks, size) = (filter.blocks(), text::bytes(filter.encoded_len()));
            let why =
                format!("it cannot be halved any further: {blocks} blocks, in {size}, are an odd number");
            Failure::new(&path, why).hint("build the smaller filter from its keys with: fullbloom build")
        })?;
        times += 1;
    }
    Ok(filter)
}

fn refused(args: &Args, from: Name, cause: &ConvertError) -> Failure {
    let failure = Failure::new(args.filter.display(), format_args!("cannot become {}: {cause}", args.to));
    let both_cassandra = [from, args.to].iter().all(|name| name.as_str().starts_with("cassandra"));
    match cause {
        ConvertError::NeedsKeys { .. } if both_cassandra => failure.hint(format!(
            "fullbloom rebuild makes Filter.db of the sstable's index; fullbloom build --dialect {} of a key list",
            args.to
        )),
        ConvertError::NeedsKeys { .. } => {
            failure.hint(format!("fullbloom build --dialect {} KEYS -o {}", args.to, args.output.display()))
        }
        ConvertError::NeedsNumbers => failure.hint("give --expected-keys N --fpr P, as it was made with"),
        _ => failure,
    }
}

/// Prints what was made.
fn summarise(
    args: &Args,
    destination: &Destination,
    filter: &AnyFilter,
    native: Option<NativeRecord>,
) -> Result<Status, Failure> {
    if !args.quiet {
        Made { path: &args.output, destination, filter, keys: None, native }.print(args.json)?;
    }
    Ok(Status::Yes)
}
