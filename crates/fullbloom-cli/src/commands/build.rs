//! `fullbloom build [KEYS…] -o FILTER`: builds a filter from keys, as the real program would write it.

mod exceptions;
mod fill;
mod native;
mod unknown;

use super::made::Made;
use crate::args::{self, KeyArgs, TypeArgs};
use crate::destination::{Destination, FORCE_NEW, ForceArgs};
use crate::error::{Failure, Status};
use crate::filter_args::PrintArgs;
use crate::input::Keys;
use crate::numbers;
use crate::output;
use crate::progress::Progress;
use crate::secret;
use crate::sizing::{self, NewGeometryArgs, TargetArgs};
use crate::text;
use exceptions::with_exceptions;
use fill::{Filled, fill};
use fullbloom::Hashing;
use fullbloom::SizeError;
use fullbloom::error::Quantity;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_any as plan;
use fullbloom_any::BuildOptions;
use fullbloom_core::error::{BuildError, BuildOption};
use fullbloom_dialects::Name;
use fullbloom_ops::filter::{Different, NativeRecord, name_contradicts};
use fullbloom_ops::plan::check_target;
use native::NativeArgs;
use std::path::{Path, PathBuf};

/// Build a filter from keys: a native one, or byte for byte that of another system
///
/// Without --expected-keys, the keys are counted first. Without a size, the rate is 1 %.
///
/// The file is replaced completely or not at all. Exit status: 0 if it was written, 1 if the engine would
/// store no filter, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("size").args(["fpr", "bits_per_key", "bits"]),
    after_help = "\
Examples:
  fullbloom build keys.txt -o keys.bloom
  zcat hashes.gz | fullbloom build --fpr 1e-6 --except good.txt -o bad.bloom
  fullbloom build keys.txt --deletable --up-to 10M -o keys.bloom
  fullbloom build --dialect cassandra --fpr 0.01 keys.txt -o nb-1-big-Filter.db
  fullbloom build --dialect spark --key-type long ids.txt -o ids.sketch",
    mut_arg("force", |force| force.help(FORCE_NEW))
)]
pub struct Args {
    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    types: TypeArgs,

    /// Write the filter to this file; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    /// Build this dialect (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true, default_value = "native")]
    dialect: Name,

    /// Make room for this many keys: 1e6, 1M [default: as many as there are]
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    expected_keys: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,

    /// Make it this large at most: 64MiB
    ///
    /// With --fpr, fails if that needs more. With --compact: the memory for building [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, allow_negative_numbers = true)]
    memory: Option<u64>,

    #[command(flatten)]
    geometry: NewGeometryArgs,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    native: NativeArgs,
}

/// A filter that reports more absent keys present is hardly of use, if nobody asked for such a rate.
const USEFUL_RATE: f64 = 0.1;

/// Builds and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    match build(args) {
        Ok(()) => Ok(Status::Yes),
        Err(Refusal::Build(BuildError::Size(e @ SizeError::NoFilter { .. }))) => {
            output::warning(&format!("{}: {e}; nothing is written", args.dialect));
            Ok(Status::No)
        }
        Err(Refusal::Build(e)) => Err(args.failure(e)),
        Err(Refusal::Other(failure)) => Err(failure),
    }
}

/// Why no filter was built.
enum Refusal {
    Build(BuildError),
    Other(Failure),
}

impl From<BuildError> for Refusal {
    fn from(e: BuildError) -> Refusal {
        Refusal::Build(e)
    }
}

impl From<SizeError> for Refusal {
    fn from(e: SizeError) -> Refusal {
        Refusal::Build(e.into())
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal::Other(failure)
    }
}

impl Args {
    /// The message for an error of the builder, in the words of the command line.
    fn failure(&self, error: BuildError) -> Failure {
        match error {
            BuildError::Size(e) => {
                let failure = Failure::size(self.dialect, &e);
                match e {
                    SizeError::Count { what: Quantity::ExpectedKeys, .. } if self.expected_keys.is_none() => {
                        failure.hint("--expected-keys N sizes the filter for N keys instead of those given")
                    }
                    _ => failure,
                }
            }
            BuildError::Option { option, why } => {
                let failure = Failure::new(self.native.flag(option), why);
                match option {
                    BuildOption::UpTo if self.dialect == Name::Native => {
                        failure.hint("give --dynamic or --deletable, too")
                    }
                    BuildOption::Kind if self.dialect == Name::Native => failure.hint("give --fpr"),
                    _ => failure,
                }
            }
            other => Failure::new("--compact", other).hint(
                "--memory SIZE keeps more of the hashes in memory: 8 bytes for each key, and a little more",
            ),
        }
    }

    /// Whether the filter has room for as many keys as were read, repeated ones included.
    fn is_sized_by_count(&self) -> bool {
        self.expected_keys.is_none()
            && self.native.is_fast()
            && self.geometry.bits.is_none()
            && self.memory.is_none()
    }

    /// The memory that the filter must fit in.
    fn within(&self) -> Option<u64> {
        self.memory.filter(|_| !self.native.compact)
    }

    /// The bits, where the probes are not given.
    fn bits_alone(&self) -> Option<u64> {
        self.geometry.bits.filter(|_| self.geometry.probes.is_none())
    }

    /// Whether the size of the filter depends on the number of keys.
    fn is_sized_by_keys(&self) -> bool {
        self.within().is_some() || self.bits_alone().is_some()
    }

    /// What to build, but for the hash of a keyed filter.
    fn options(&self, target: Target) -> Result<BuildOptions, Refusal> {
        let options = BuildOptions::new(self.dialect)
            .target(target)
            .expected_keys(self.expected_keys)
            .key_type(self.types.key_type.key_type())
            .key_form(self.keys.form());
        let options = self.native.apply(options)?;
        if !self.native.compact {
            return Ok(options);
        }
        let options = options.memory(self.memory);
        // Beside the filter: there is room for a file of its kind.
        let directory = self.output.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok(match self.output == Path::new("-") {
            true => options,
            false => options.spool_in(directory.unwrap_or(Path::new("."))),
        })
    }
}

fn build(args: &Args) -> Result<(), Refusal> {
    let mut target = checked_target(args)?;
    let mut options = args.options(target)?;
    options.check()?;
    let mut keys = Keys::new(&args.keys.files, args.types.apply(args.keys.format(), args.dialect)?)?;
    options = options.key_field(keys.key_field());
    let mut destination = destination(args, &keys)?;
    if args.is_sized_by_keys() {
        (options, target) = sized_by_keys(args, options, target, &mut keys)?;
    }
    let mut save_secret = None;
    if let Some((hashing, lock)) = args.native.secret(args.dialect)? {
        options = options.hashing(hashing).store_secret(args.native.store_secret);
        options.check()?;
        save_secret = lock;
    }
    let built = filled(args, &options, target, &mut keys)?;

    // The secret is saved when the filter is on the disk, and before the filter can be used. It is not
    // removed if the very last step fails: another process may have used it by then.
    let save = || match (save_secret, built.filter.hashing()) {
        (Some(lock), Some(Hashing::Secret(secret))) => secret::save(lock, secret),
        _ => Ok(()),
    };
    destination.write_filter_after(&built.filter, save)?;
    Ok(report(args, &built, &destination)?)
}

/// The requested size, refused before any key is read if it cannot be right.
fn checked_target(args: &Args) -> Result<Target, Refusal> {
    if args.memory.is_some() && !args.native.compact && args.target.bits_per_key.is_some() {
        let why = "the size follows from it: do not give --bits-per-key as well";
        return Err(Failure::new("--memory", why).into());
    }
    if args.within().is_some() && !args.native.is_fast() {
        return Err(Failure::new("--memory", "a dynamic filter grows: its size is not known before").into());
    }
    let target = sizing::target(&args.target, &args.geometry);
    check_target(args.dialect, target)?;
    if args.bits_alone().is_some_and(|bits| plan::probes_for(args.dialect, 1, bits).is_none()) {
        let failure = Failure::new("--bits", format_args!("{} needs --probes K too", args.dialect));
        return Err(failure.into());
    }
    Ok(target)
}

/// Where the filter goes: not over its keys or its secret.
fn destination(args: &Args, keys: &Keys) -> Result<Destination, Failure> {
    let destination = Destination::new(&args.output, args.force.force)?;
    let overwritten = if keys.include(&args.output) {
        "is a key file and would be overwritten by the filter"
    } else if args.native.secret_file().is_some_and(|secret| destination.is(secret)) {
        "is the file of the secret and would be overwritten by the filter"
    } else {
        destination.require_replaceable(args.dialect, args.force.force)?;
        return Ok(destination);
    };
    Err(Failure::new(args.output.display(), overwritten))
}

/// The size of a filter for some memory depends on the number of keys, and so do the probes of Spark's.
fn sized_by_keys(
    args: &Args,
    options: BuildOptions,
    mut target: Target,
    keys: &mut Keys,
) -> Result<(BuildOptions, Target), Refusal> {
    let counted = match args.expected_keys {
        Some(given) => given,
        None => count(keys)?,
    };
    match (args.within(), args.target.fpr) {
        (Some(memory), None) => target = plan::target_within(args.dialect, counted, memory)?,
        (Some(memory), Some(fpr)) => {
            let needed = any::plan(args.dialect, &Request { expected_keys: counted, target })?.encoded_len;
            if needed > memory {
                let (keys, rate) = (text::counted(counted, "key"), text::rate(fpr));
                let why = format!("a rate of {rate} for {keys} needs {}", text::bytes(needed));
                return Err(Failure::new("--memory", why)
                    .hint("without --fpr, the best rate is taken")
                    .into());
            }
        }
        (None, _) => {}
    }
    if let Some(bit_len) = args.bits_alone() {
        let probes = plan::probes_for(args.dialect, counted, bit_len).unwrap_or(1);
        target = Target::Exact { bit_len, probes };
        check_target(args.dialect, target)?;
    }
    Ok((options.expected_keys(counted).target(target), target))
}

/// Prints what was written, and what is wrong with it.
fn report(args: &Args, built: &Filled, destination: &Destination) -> Result<(), Failure> {
    let Filled { filter, inserted, exceeded } = built;
    if let Some(contradiction) = name_contradicts(&args.output, args.dialect) {
        let output = args.output.display();
        output::warning(&format!(
            "{output}: {contradiction}: an engine will not find the keys under this name"
        ));
    }
    if *inserted == 0 && filter.encoded_len() == 0 {
        output::warning(&format!(
            "{}: without keys the engine stores no filter block: the file is empty, and matches no key",
            args.dialect
        ));
    }
    if let Some(expected_keys) = exceeded {
        output::warning(&format!(
            "{inserted} keys were inserted where {expected_keys} were expected: the rate is higher than requested"
        ));
    }
    let native = filter.native_facts().map(|facts| NativeRecord::of(&facts));
    if let Some(warning) = native.as_ref().and_then(NativeRecord::overfull_message) {
        output::warning(&warning);
    }
    // It may have fewer keys than it is sized for.
    let planned = native.as_ref().and_then(|native| native.planned_fpr).unwrap_or(0.0);
    let rate = filter.expected_fpr().max(planned);
    if args.within().is_some() && args.target.target().is_none() && rate > USEFUL_RATE {
        let keys = args.expected_keys.unwrap_or(*inserted).max(*inserted);
        output::warning(&format!(
            "--memory: too small for {}: {} of absent keys are reported present",
            text::counted(keys, "key"),
            text::rate(rate)
        ));
        output::hint(&format!("fullbloom plan --expected-keys {keys} --fpr 1% says what a rate needs"));
    }
    if args.print.quiet {
        return Ok(());
    }
    if let Some(different) = Different::of(filter, *inserted) {
        output::note(&format!("{} read, {different} of them different", text::counted(*inserted, "key")));
        if args.is_sized_by_count() {
            output::hint(&format!(
                "the filter is sized for all of them; --expected-keys {} makes it smaller",
                different.keys()
            ));
        }
    }
    let made = Made { path: &args.output, destination, filter, keys: Some(*inserted), native };
    made.print(args.print.json)
}

/// The filter of the keys.
fn filled(args: &Args, options: &BuildOptions, target: Target, keys: &mut Keys) -> Result<Filled, Refusal> {
    if let Some(mut good) = args.native.known_good(keys, &args.output)? {
        return with_exceptions(&args.native, options, keys, &mut good);
    }
    if !options.needs_expected_keys() {
        return fill(options.begin()?, keys);
    }
    if args.dialect == Name::Native {
        return unknown::build(options, matches!(target, Target::Fpr(_)), keys);
    }
    let counted = count(keys)?;
    fill(options.clone().expected_keys(counted).begin()?, keys)
}

fn count(keys: &mut Keys) -> Result<u64, Failure> {
    keys.count(&Progress::new("counting keys", keys.total()))
}
