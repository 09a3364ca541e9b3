//! `fullbloom merge FILTER… -o FILTER`: merges several filters into one.

use super::made;
use crate::destination::{Destination, FORCE_NEW, ForceArgs};
use crate::error::{Failure, Status};
use crate::filter_args::{FilterArgs, PrintArgs};
use fullbloom_ops::filter::merge;
use std::path::PathBuf;

/// Merge several filters into one, without their keys
///
/// All must have the same dialect, geometry, and seed or secret. The result has all keys, and the rate of a
/// filter of this size with all of them.
///
/// Dynamic native filters may have different sizes. Counts of deletable filters are added. Uses the memory of
/// two filters. Exit status: 0 if the result was written, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(mut_arg("force", |force| force.help(FORCE_NEW)))]
#[command(after_help = "\
Examples:
  fullbloom merge monday.bloom tuesday.bloom -o week.bloom
  fullbloom merge part-*.bloom -o all.bloom
  fullbloom merge --dialect libbloom-1 --bits 8M --probes 5 a b -o both")]
pub struct Args {
    /// Filter files
    #[arg(required = true, value_name = "FILTER")]
    files: Vec<PathBuf>,

    /// Write the filter to this file; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    #[command(flatten)]
    read: FilterArgs,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Merges and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let destination = Destination::new(&args.output, args.force.force)?;
    let (first, others) = args.files.split_first().expect("clap requires one");
    let merged = merge(first, others, &args.read.read()?)?;
    destination.require_replaceable(merged.dialect(), args.force.force)?;
    made::save(&args.output, destination, &merged, args.print)
}
