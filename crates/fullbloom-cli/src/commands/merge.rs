//! `fullbloom merge FILTER… -o FILTER`: merges several filters into one.

use super::made::Made;
use crate::args;
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::output;
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use fullbloom::any::AnyFilter;
use fullbloom::dialect::Name;
use fullbloom::{DecodeError, MergeError};
use fullbloom_ops::filter::{FilterFile, NativeRecord, ReadOptions};
use std::path::{Path, PathBuf};

/// Merge several filters into one, without their keys
///
/// All filters must have the same dialect, geometry, and seed or secret. The result has the rate of a filter
/// of their size with all the keys. Dynamic native filters may have different sizes: the result has the keys of all, and
/// states its rate. Counts of deletable filters are added. Of filters whose keys expire, a key gets the later
/// of its times. Uses the memory of two filters. Exit status: 0 if the result was written, 2 on errors.
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
    let mut destination = Destination::new(&args.output, args.force.force)?;
    let (first, rest) = args.files.split_first().expect("clap requires one");
    let file = open(args, first)?;
    let mut merged = opened(first, &file)?.try_clone().map_err(|e| Failure::size(file.dialect(), &e))?;
    mergeable(first, &merged)?;
    for path in rest {
        let other = open(args, path)?;
        same_dialect(first, file.dialect(), path, &other)?;
        let other = opened(path, &other)?;
        mergeable(path, &other)?;
        same_kind(first, &merged, path, &other)?;
        merged.merge(&other).map_err(|e| refused(first, path, &e))?;
    }
    destination.write_filter(&merged)?;
    let facts = merged.native_facts().map(|facts| NativeRecord::of(&facts));
    if let Some(warning) = facts.as_ref().and_then(NativeRecord::overfull_message) {
        output::warning(&format!("{}: {warning}", args.output.display()));
    }
    summarise(args, &destination, &merged, facts)
}

/// Reads a file. Not mapped: what is merged must be what was checked, even if the file changes meanwhile.
fn open(args: &Args, path: &Path) -> Result<FilterFile, Failure> {
    let (dialect, geometry, secret) = (args.dialect, args.geometry.geometry(), args.secret.read()?);
    let options = ReadOptions { dialect, geometry, secret, ..ReadOptions::default() };
    Ok(FilterFile::load(path, &options)?)
}

/// The filter in a file, fully checked: a damaged filter, or one that may lose keys, would damage the result.
fn opened(path: &Path, file: &FilterFile) -> Result<AnyFilter, Failure> {
    let opened = file.open()?;
    if opened.is_locked {
        return Err(Failure::locked(path));
    }
    match opened.problems.into_iter().next() {
        Some(problem) if opened.may_lose_keys => Err(problem.into()),
        _ => Ok(opened.filter),
    }
}

/// Refuses filters that cannot be merged.
fn mergeable(path: &Path, filter: &AnyFilter) -> Result<(), Failure> {
    if filter.dialect() == Name::RocksDbRibbon {
        let why = "rocksdb-ribbon filters cannot be merged: they are solved for all their keys at once";
        return Err(Failure::new(path.display(), why).hint("rebuild the filter from all keys"));
    }
    let Some(facts) = filter.native_facts() else { return Ok(()) };
    if facts.exceptions.is_some() {
        let why = "the filter has exceptions, which hold only for its own keys";
        let hint = "rebuild the filter from all keys, with --except";
        return Err(Failure::new(path.display(), why).hint(hint));
    }
    Ok(())
}

fn same_kind(first: &Path, ours: &AnyFilter, path: &Path, theirs: &AnyFilter) -> Result<(), Failure> {
    match (ours.kind(), theirs.kind()) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let why = format!("is a {theirs} filter, {} is a {ours} one", first.display());
            Err(Failure::new(path.display(), why)
                .hint("fullbloom convert --to native makes fast filters of dynamic ones"))
        }
        _ => Ok(()),
    }
}

fn same_dialect(first: &Path, dialect: Name, path: &Path, file: &FilterFile) -> Result<(), Failure> {
    if file.dialect() == dialect {
        return Ok(());
    }
    let (first, other) = (first.display(), file.dialect());
    Err(Failure::new(path.display(), format_args!("is a {other} filter, {first} is {dialect}")))
}

fn refused(first: &Path, path: &Path, cause: &MergeError) -> Failure {
    let failure = Failure::new(path.display(), cause);
    match cause {
        MergeError::Differs { .. } => failure.hint(format!(
            "build it with the numbers of {}: the same --expected-keys and rate, seed and secret",
            first.display()
        )),
        MergeError::Decode(DecodeError::Unknown { .. }) => {
            failure.hint("give --bits M --probes K, as the filters were built with")
        }
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
