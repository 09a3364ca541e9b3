//! `fullbloom merge FILTER… -o FILTER`: one filter of the keys of several.

use super::made::Made;
use crate::args;
use crate::destination::Destination;
use crate::error::{Failure, Status};
use crate::output;
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::native::{
    self, GrowingFilter, GuardedFilter, Hashing, NativeFilter, RemovingFilter, StoredFilter,
};
use fullbloom::{DecodeError, MergeError};
use fullbloom_ops::filter::{FilterFile, NativeRecord, ReadOptions};
use std::path::{Path, PathBuf};

/// Make one filter of the keys of several, without the keys
///
/// All must be of one dialect and geometry, with the same seed or secret. The rate of the result is that of a filter of
/// their size with all the keys. Native filters that grow need not be of one size: the result has the links of all, and the
/// sum of their rates; those with counters add them up; those that forget cannot be merged. Memory is that of one filter. Exit status: 0 if it was written, 2 on errors.
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

    /// The dialect of all files, where their names and bytes do not tell
    #[arg(long, value_name = "D", value_parser = args::dialect())]
    dialect: Option<Name>,

    #[command(flatten)]
    geometry: GeometryArgs,

    #[command(flatten)]
    secret: SecretArgs,

    /// Print what was made as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was made
    #[arg(short, long)]
    quiet: bool,
}

/// Merges and saves.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let destination = Destination::new(&args.output)?;
    let (first, rest) = args.files.split_first().expect("clap requires one");
    let opened = open(args, first)?;
    let dialect = opened.dialect();
    if dialect == Name::Native {
        let mut merged = Merged::begin(first, &opened)?;
        for path in rest {
            let other = open(args, path)?;
            same_dialect(first, dialect, path, &other)?;
            merged.add(first, path, &other)?;
        }
        let merged = merged.stored();
        destination.write(|out| merged.write_to(out))?;
        let facts = NativeRecord::of(&merged);
        if let Some(warning) = facts.overfull_message() {
            output::warning(&format!("{}: {warning}", args.output.display()));
        }
        let merged: Box<dyn AnyFilter> = merged.into();
        return summarise(args, destination, &*merged, Some(facts));
    }

    let geometry = args.geometry.geometry();
    sound(&opened)?;
    let merged = any::decode(dialect, opened.bytes(), geometry);
    let Some(mut merged) = merged.map_err(|e| Failure::new(first.display(), e))? else {
        let why = format!("{dialect} filters cannot be merged: they are solved for all their keys at once");
        return Err(Failure::new(first.display(), why).hint("build the filter of all keys anew"));
    };
    for path in rest {
        let other = open(args, path)?;
        same_dialect(first, dialect, path, &other)?;
        sound(&other)?;
        merged.merge_encoded(other.bytes(), geometry).map_err(|e| refused(first, path, &e))?;
    }
    destination.write_filter(&*merged)?;
    summarise(args, destination, &*merged, None)
}

/// Mapped, so that only the result takes memory.
fn open(args: &Args, path: &Path) -> Result<FilterFile, Failure> {
    let (dialect, geometry, secret) = (args.dialect, args.geometry.geometry(), args.secret.read()?);
    let options = ReadOptions { dialect, geometry, secret, ..ReadOptions::default() };
    Ok(FilterFile::map(path, &options)?)
}

/// The native filter of all so far.
enum Merged {
    Plain(NativeFilter),
    Growing(GrowingFilter),
    Removing(RemovingFilter),
}

impl Merged {
    /// A copy of the first, checked whole: what is damaged would spread.
    fn begin(path: &Path, file: &FilterFile) -> Result<Merged, Failure> {
        let size = |e| Failure::size(Name::Native, &e);
        let failed = |e| Failure::new(path.display(), e);
        Ok(match unlocked(path, file)? {
            StoredFilter::Plain(filter) => Merged::Plain(plain(path, filter)?.to_owned().map_err(size)?),
            stored @ (StoredFilter::Growing(_) | StoredFilter::Removing(_)) => {
                let mut bytes = Vec::new();
                stored.write_to(&mut bytes).map_err(|e| Failure::new(path.display(), e))?;
                let copy = StoredFilter::decode(&bytes).map_err(failed)?;
                let copy = match stored.first().hashing() {
                    Hashing::Secret(secret) => copy.unlock(secret).map_err(failed)?,
                    Hashing::Seed(_) => copy,
                };
                match copy {
                    StoredFilter::Growing(filter) => Merged::Growing(filter),
                    StoredFilter::Removing(filter) => Merged::Removing(filter),
                    other => return Err(cannot(path, other.form())),
                }
            }
            other => return Err(cannot(path, other.form())),
        })
    }

    /// Adds the keys of another, of the same form.
    fn add(&mut self, first: &Path, path: &Path, file: &FilterFile) -> Result<(), Failure> {
        let merged = match (&mut *self, unlocked(path, file)?) {
            (Merged::Plain(ours), StoredFilter::Plain(theirs)) => ours.union(&plain(path, theirs)?),
            (Merged::Growing(ours), StoredFilter::Growing(theirs)) => ours.merge(&theirs),
            (Merged::Removing(ours), StoredFilter::Removing(theirs)) => ours.merge(&theirs),
            (ours, theirs) => {
                let (theirs, ours) = (theirs.form(), ours.form());
                let why = format!("is a {theirs} filter, {} is a {ours} one", first.display());
                return Err(Failure::new(path.display(), why)
                    .hint("fullbloom convert --to native makes plain filters of removing ones"));
            }
        };
        merged.map_err(|e| refused(first, path, &e))
    }

    fn form(&self) -> &'static str {
        match self {
            Merged::Plain(_) => "plain",
            Merged::Growing(_) => "growing",
            Merged::Removing(_) => "removing",
        }
    }

    fn stored(self) -> StoredFilter {
        match self {
            Merged::Plain(filter) => StoredFilter::Plain(GuardedFilter::from(filter)),
            Merged::Growing(filter) => StoredFilter::Growing(filter),
            Merged::Removing(filter) => StoredFilter::Removing(filter),
        }
    }
}

fn cannot(path: &Path, form: &str) -> Failure {
    let why = format!("{form} filters cannot be merged: their generations do not begin at the same times");
    Failure::new(path.display(), why)
}

/// The native filter in a file, checked whole.
fn unlocked<'a>(path: &Path, file: &'a FilterFile) -> Result<StoredFilter<&'a [u8]>, Failure> {
    native::verify(file.bytes()).map_err(|e| Failure::new(path.display(), e))?;
    let stored = file.stored()?;
    if stored.is_locked() {
        return Err(Failure::locked(path));
    }
    Ok(stored)
}

fn plain<'a>(path: &Path, filter: GuardedFilter<&'a [u8]>) -> Result<NativeFilter<&'a [u8]>, Failure> {
    filter.into_filter().map_err(|_| {
        Failure::new(path.display(), "the filter has exceptions, which hold only for its own keys")
            .hint("build the filter of all keys anew, with --except")
    })
}

/// A filter that may lose keys would lose them for all.
fn sound(file: &FilterFile) -> Result<(), Failure> {
    let opened = file.open()?;
    match opened.problems.into_iter().next() {
        Some(problem) if opened.may_lose_keys => Err(problem.into()),
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

/// What was made.
fn summarise(
    args: &Args,
    destination: Destination<'_>,
    filter: &dyn AnyFilter,
    native: Option<NativeRecord>,
) -> Result<Status, Failure> {
    if !args.quiet {
        Made { path: &args.output, destination, filter, keys: None, native }.print(args.json)?;
    }
    Ok(Status::Yes)
}
