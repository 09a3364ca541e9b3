//! `fullbloom merge FILTER… -o FILTER`: merges several filters into one.

use super::made;
use crate::args;
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use fullbloom::dialect::Name;
use fullbloom_ops::filter::{ReadOptions, merge};
use std::path::PathBuf;

/// Merge several filters into one, without their keys
///
/// All filters must have the same dialect, geometry, and seed or secret. The result has the rate of a filter
/// of their size with all the keys. Dynamic native filters may have different sizes: the result has
/// the keys of all. Counts of deletable filters are added. Uses the memory of two filters. Exit status: 0 if the result was written, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom merge monday.bloom tuesday.bloom -o week.bloom
  fullbloom merge part-*.bloom -o all.bloom
  fullbloom merge --dialect libbloom-1 --bits 8M --probes 5 a b -o both")]
pub struct Args {
    /// Filter files
    #[arg(required = true, value_name = "FILTER")]
    files: Vec<PathBuf>,

    /// The filter file to write; - for standard output
    #[arg(short, long, value_name = "FILTER")]
    output: PathBuf,

    /// The dialect of all files, if names and bytes do not determine it (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true)]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

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

/// Merges and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let destination = Destination::new(&args.output, args.force.force)?;
    let (first, others) = args.files.split_first().expect("clap requires one");
    let (dialect, geometry, secret) = (args.dialect, args.geometry.geometry(), args.secret.read()?);
    let merged = merge(first, others, &ReadOptions { dialect, geometry, secret, ..ReadOptions::default() })?;
    made::save(&args.output, destination, &merged, (args.json, args.quiet))
}
