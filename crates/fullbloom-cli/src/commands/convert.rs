//! `fullbloom convert FILTER --to D -o FILTER`: converts a filter to another dialect, where that needs no
//! keys.

use super::made;
use crate::args;
use crate::destination::{Destination, FORCE_NEW, ForceArgs};
use crate::error::{Failure, Status};
use crate::filter_args::{FilterArgs, PrintArgs};
use crate::numbers;
use crate::output;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::Name;
use fullbloom_ops::filter::{ConvertOptions, Shrink, convert, name_contradicts};
use std::path::PathBuf;

/// Convert a filter to another dialect, or shrink a native one, without its keys
///
/// Possible only where the keys' positions stay the same: between cassandra-3 and cassandra, between libbloom
/// and libbloom-1, and from native to native. Otherwise the error says what is needed.
///
/// Between cassandra-3 and cassandra the byte order of a word changes, between libbloom and libbloom-1 the
/// header, if the number of bits is a power of two. A native filter is halved once or several times; a
/// dynamic one can become a fast or compact one, without counts and times. Exit status: 0 if it was written,
/// 2 on errors.
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |force| force.help(FORCE_NEW)))]
#[command(after_help = "\
Examples:
  fullbloom convert me-1-big-Filter.db --to cassandra -o nb-1-big-Filter.db
  fullbloom convert keys.bloom --to native --memory 1MiB -o small.bloom
  fullbloom convert grown.bloom --to native --compact -o small.bloom
  fullbloom convert keys.bits --dialect libbloom-1 --bits 1048576 --probes 7 \\
      --to libbloom --expected-keys 104000 --fpr 0.0079 -o keys.libbloom")]
pub struct Args {
    /// The filter file
    filter: PathBuf,

    /// Convert to this dialect (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true)]
    to: Name,

    /// Write the filter to this file; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    #[command(flatten)]
    read: FilterArgs,

    /// Store this number of keys in a libbloom file
    #[arg(long, value_name = "N", value_parser = numbers::small_count, requires = "fpr")]
    expected_keys: Option<u32>,

    /// Store this rate in a libbloom file; with --compact: the rate that is added
    ///
    /// The rate the filter was made for, which a libbloom file stores. With --compact: the rate that the
    /// compact filter adds to that of the dynamic one [default: the rate of the dynamic one]
    #[arg(long, value_name = "P", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Make a compact filter of a dynamic one
    #[arg(long, conflicts_with_all = ["memory", "fold", "expected_keys"])]
    compact: bool,

    /// Halve a native filter until its file fits this size
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, conflicts_with = "fold")]
    memory: Option<u64>,

    /// Halve a native filter this many times
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=60))]
    fold: Option<u32>,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Converts and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if args.fpr.is_some() && args.expected_keys.is_none() && !args.compact {
        return Err(Failure::new("--fpr", "give --expected-keys as well, or --compact"));
    }
    let destination = Destination::new(&args.output, args.force.force)?;
    destination.require_replaceable(args.to, args.force.force)?;
    let options = ConvertOptions {
        read: args.read.read()?,
        to: args.to,
        made_for: args
            .expected_keys
            .zip(args.fpr)
            .map(|(keys, fpr)| Request { expected_keys: keys.into(), target: Target::Fpr(fpr) }),
        shrink: args.fold.map(Shrink::Times).or(args.memory.map(Shrink::ToBytes)),
        compact: args.compact,
        fpr: args.fpr,
    };
    let converted = convert(&args.filter, &options)?;
    let status = made::save(&args.output, destination, &converted, args.print)?;
    if let Some(contradiction) = name_contradicts(&args.output, args.to) {
        let path = args.output.display();
        output::warning(&format!(
            "{path}: {contradiction}: an engine will not find the keys under this name"
        ));
    }
    Ok(status)
}
