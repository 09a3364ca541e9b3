//! `fullbloom build [KEYS…] -o FILTER`: builds a filter from keys, as the real program would write it.

mod kinds;
mod native;

use super::made::Made;
use crate::args::{self, KeyArgs, TypeArgs};
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::input::Keys;
use crate::numbers;
use crate::output;
use crate::progress::Progress;
use crate::sizing::{self, NewGeometryArgs, TargetArgs};
use fullbloom::SizeError;
use fullbloom::any::{self, AnyFilter, Builder};
use fullbloom::dialect::Name;
use fullbloom::sizing::{Request, Target};
use fullbloom_ops::filter::{NativeRecord, name_contradicts};
use fullbloom_ops::plan::check_target;
use native::NativeArgs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Build a filter from keys: a native one, or byte for byte that of another system
///
/// The filter is sized for --expected-keys; without it, the given keys are counted first. The rate is 0.01
/// unless --fpr, --bits-per-key, --memory or --bits is given. The file is replaced completely or not at all. Exit
/// status: 0 if it was written, 1 if the engine would store no filter, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("size").args(["fpr", "bits_per_key", "bits", "memory"]),
    after_help = "\
Examples:
  fullbloom build keys.txt -o keys.bloom
  zcat hashes.gz | fullbloom build --fpr 1e-6 --except good.txt -o bad.bloom
  fullbloom build keys.txt --secret keys.secret -o keyed.bloom
  fullbloom build keys.txt --memory 64MiB -o keys.bloom
  fullbloom build keys.txt --dynamic -o keys.bloom
  fullbloom build keys.txt --deletable --up-to 10M -o keys.bloom
  fullbloom build --dialect cassandra --fpr 0.01 keys.txt -o nb-1-big-Filter.db
  fullbloom build --dialect leveldb --bits-per-key 10 keys.txt -o filter.block
  fullbloom build --dialect libbloom-1 --bits 8M --probes 5 keys.txt -o k.bits
  fullbloom build --dialect spark --key-type long --fpr 3% ids.txt -o ids.sketch"
)]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    types: TypeArgs,

    /// The filter file to write; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    /// The dialect of the filter (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true, default_value = "native")]
    dialect: Name,

    /// How many keys to size the filter for: 1000000, 1e6, 1M; counted if not given
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,

    /// Build the best filter whose file fits in this size: 64MiB, 500MB
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, allow_negative_numbers = true)]
    memory: Option<u64>,

    #[command(flatten)]
    geometry: NewGeometryArgs,

    #[command(flatten)]
    force: ForceArgs,

    /// Print what was built as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was built
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    native: NativeArgs,
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

/// Why no filter was built.
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
    let mut target = sizing::target(&args.target, &args.geometry);
    check_target(args.dialect, target)?;
    let bits_alone = args.geometry.bits.filter(|_| args.geometry.probes.is_none());
    if bits_alone.is_some_and(|bits| any::probes_for(args.dialect, 1, bits).is_none()) {
        let failure = Failure::new("--bits", format_args!("{} needs --probes K too", args.dialect));
        return Err(failure.into());
    }
    if args.dialect != Name::Native {
        args.native.refuse_for(args.dialect)?;
    }
    let mut keys = Keys::new(&args.keys.files, args.types.apply(args.keys.format(), args.dialect)?)?;
    let mut destination = Destination::new(&args.output, args.force.force)?;
    if keys.include(&args.output) {
        let failure =
            Failure::new(args.output.display(), "is a key file and would be overwritten by the filter");
        return Err(failure.into());
    }
    let mut known = args.expected_keys;
    if let Some(memory) = args.memory {
        // The size of a filter for some memory depends on the number of keys.
        let counted = match known {
            Some(given) => given,
            None => keys.count(&Progress::new("counting keys", keys.total()))?,
        };
        target = any::target_within(args.dialect, counted, memory)?;
        known = Some(counted);
    }
    if let Some(bit_len) = bits_alone {
        // Spark computes the probes from the number of keys.
        let counted = match known {
            Some(given) => given,
            None => keys.count(&Progress::new("counting keys", keys.total()))?,
        };
        let probes = any::probes_for(args.dialect, counted, bit_len).unwrap_or(1);
        target = Target::Exact { bit_len, probes };
        check_target(args.dialect, target)?;
    }
    if args.dialect == Name::Native {
        return native::build(args, known, target, &mut keys, destination);
    }

    let uncounted = any::ignores_expected_keys(args.dialect, target);
    let expected_keys = match known {
        Some(expected_keys) => expected_keys,
        None if uncounted => 0,
        None => keys.count(&Progress::new("counting keys", keys.total()))?,
    };
    let request = Request { expected_keys, target };
    let builder = match args.native.spark_seed(args.dialect)? {
        Some(seed) => Builder::spark_2(&request, seed)?,
        None => Builder::new(args.dialect, &request)?,
    };
    let mut builder = builder.with_key_type(args.types.key_type.key_type());
    let mut inserted = 0;
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        builder.insert_batch(batch.keys);
        inserted += batch.keys.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let filter = builder.finish()?;

    destination.write_filter(&filter)?;
    warn_of_name(args);
    if inserted == 0 && filter.encoded_len() == 0 {
        output::warning(&format!(
            "{}: without keys the engine stores no filter block: the file is empty, and matches no key",
            args.dialect
        ));
    }
    if inserted > expected_keys && !uncounted && target != Target::Fpr(1.0) {
        output::warning(&format!(
            "{inserted} keys were inserted where {expected_keys} were expected: the rate is higher than requested"
        ));
    }
    Ok(summarise(args, &destination, &filter, inserted, None)?)
}

fn warn_of_name(args: &Args) {
    if let Some(contradiction) = name_contradicts(&args.output, args.dialect) {
        let output = args.output.display();
        output::warning(&format!("{output}: {contradiction}: it will not find its keys there"));
    }
}

/// Prints what was built.
fn summarise(
    args: &Args,
    destination: &Destination,
    filter: &AnyFilter,
    keys: u64,
    native: Option<NativeRecord>,
) -> Result<(), Failure> {
    if args.quiet {
        return Ok(());
    }
    Made { path: &args.output, destination, filter, keys: Some(keys), native }.print(args.json)
}
