//! `fullbloom insert FILTER [KEYS…]` and `fullbloom remove FILTER [KEYS…]`: change a native filter in its
//! file.

use super::insert_other;
use crate::args::{self, KeyArgs, TypeArgs};
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::input::{Keys, load_stored, threads};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::sizing::GeometryArgs;
use crate::text;
use fullbloom::any::AnyFilter;
use fullbloom::dialect::Name;
use fullbloom::keys::Hashes;
use fullbloom::native::{RemovingFilter, StoredFilter};
use fullbloom_ops::filter::NativeRecord;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::SystemTime;

/// Insert more keys into a filter
///
/// Native filters, and filters of every dialect that takes keys after it was built: Cassandra's, Guava's, Spark's,
/// libbloom's, DCSO's and others. RocksDB's full filters are built from all their keys at once.
///
/// The file is read, checked, and replaced completely or not at all. A growing filter grows and keeps its
/// rate. A fast filter, or one made with build --removable, has room for the keys it was built for; it takes
/// more keys with a warning, at a rising rate. A removing filter counts every key: a key inserted twice must
/// be removed twice. A rotating filter remembers new keys from now on, and renews known ones only if it was
/// made with --refresh. Exit status: 0 if the keys were inserted, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --growing -o keys.bloom
  fullbloom insert keys.bloom more.txt
  fullbloom build keys.txt --expected-keys 1M -o room.bloom
  zcat more.gz | fullbloom insert room.bloom
  fullbloom insert nb-1-big-Filter.db --hex more-partitions.hex
  fullbloom insert ids.sketch --key-type long more-ids.txt")]
pub struct InsertArgs {
    #[command(flatten)]
    pub(super) common: Common,

    /// The filter's dialect, if its name and bytes do not determine it (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialect(), hide_possible_values = true)]
    pub(super) dialect: Option<Name>,

    #[command(flatten)]
    pub(super) geometry: GeometryArgs,
}

/// Remove keys from a native filter made with build --removable
///
/// The file is read, checked, and replaced completely or not at all. Remove only keys that were inserted,
/// each as often as it was inserted. A key that is surely absent is refused. But a key that was never
/// inserted looks present at the filter's rate, and removing it may make other keys look absent. Exit status:
/// 0 if all keys were removed, 1 if some were absent, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --removable -o keys.bloom
  fullbloom remove keys.bloom gone.txt
  fullbloom remove -v keys.bloom gone.txt > never-inserted.txt")]
pub struct RemoveArgs {
    #[command(flatten)]
    common: Common,

    /// Print the keys that were absent, instead of the numbers
    #[arg(short = 'v', long, conflicts_with_all = ["json", "quiet"])]
    absent: bool,
}

/// The arguments of both commands.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    /// The filter file
    pub(super) filter: PathBuf,

    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    pub(super) types: TypeArgs,

    #[command(flatten)]
    pub(super) secret: SecretArgs,

    #[command(flatten)]
    force: ForceArgs,

    /// Print the numbers as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was done
    #[arg(short, long)]
    quiet: bool,
}

impl Common {
    /// The keys, where the filter goes, and the filter.
    fn open(&self) -> Result<(Keys, Destination, StoredFilter), Failure> {
        let (keys, destination) = self.claim(Name::Native)?;
        let stored = load_stored(&self.filter, self.secret.read()?, self.types.key_type.key_type())?;
        Ok((keys, destination, stored))
    }

    /// The keys, and where the filter goes.
    pub(super) fn claim(&self, dialect: Name) -> Result<(Keys, Destination), Failure> {
        let keys = Keys::new(&self.keys.files, self.types.apply(self.keys.format(), dialect)?)?;
        if keys.include(&self.filter) {
            let why = "is a key file and would be overwritten by the filter";
            return Err(Failure::new(self.filter.display(), why));
        }
        Ok((keys, Destination::file(&self.filter, self.force.force)?))
    }

    /// Prints what was done, as text or JSON.
    pub(super) fn report(&self, text: &str, json: Value) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let mut out = Output::stdout();
        if self.json {
            out.json(&json)?;
        } else {
            out.bytes(format!("{text}\n").as_bytes())?;
        }
        out.finish()
    }
}

/// The hint for a filter that is full.
const ROOM: &str =
    "build --growing makes a filter for any number of keys, build --expected-keys N one with room for N";

/// Inserts and saves.
pub fn insert(args: &InsertArgs) -> Result<Status, Failure> {
    if let Some(other) = insert_other::dialect(args)? {
        return insert_other::run(args, other);
    }
    let (mut keys, mut destination, mut stored) = args.common.open()?;
    let path = args.common.filter.display();
    if let StoredFilter::Fast(filter) = &stored
        && !filter.takes_keys()
    {
        return Err(Failure::new(&path, "the filter has exceptions and takes no more keys"));
    }
    let hashing = stored.hashing().clone();
    let was_full = is_full(&stored);
    if let StoredFilter::Rotating(filter) = &mut stored {
        filter.advance(SystemTime::now());
    }
    if was_full {
        output::warning(&format!(
            "{path}: has as many keys as it was made for: every further key raises its rate"
        ));
        output::hint(ROOM);
    }
    let (mut inserted, mut new) = (0, 0);
    let progress = Progress::new("inserting keys", keys.total());
    keys.in_order_hashed(&progress, threads(), &hashing, |hashes| {
        inserted += hashes.len() as u64;
        new += stored.insert_batch(&Hashes(hashes)).map_err(|e| Failure::size(Name::Native, &e))?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let overfull = NativeRecord::of(&stored.facts()).overfull_message();
    let stored = AnyFilter::from(stored);
    let expected_fpr = stored.expected_fpr();
    if let Some(warning) = overfull.as_ref().filter(|_| new > 0) {
        let now = text::rate(expected_fpr);
        output::warning(&format!("{path}: {warning}; by now {now} of absent keys are called present"));
        if !was_full {
            output::hint(ROOM);
        }
    }
    if inserted > 0 {
        destination.write(|out| stored.write_to(out))?;
    }
    let text = format!("{} inserted, {new} new", text::counted(inserted, "key"));
    let json = json!({
        "path": path.to_string(),
        "inserted": inserted,
        "new": new,
        "overfull": overfull.is_some(),
        "expected_fpr": expected_fpr,
    });
    args.common.report(&text, json)?;
    Ok(Status::Yes)
}

/// Whether a filter of fixed size has as many keys as it was made for.
fn is_full(stored: &StoredFilter) -> bool {
    let filter = match stored {
        StoredFilter::Fast(filter) => filter,
        StoredFilter::Removing(filter) => filter.filter(),
        _ => return false,
    };
    filter.expected_keys() > 0 && filter.keys() >= filter.expected_keys()
}

/// Removes and saves.
pub fn remove(args: &RemoveArgs) -> Result<Status, Failure> {
    let (mut keys, mut destination, stored) = args.common.open()?;
    let path = args.common.filter.display();
    let kind = stored.kind();
    let StoredFilter::Removing(mut filter) = stored else {
        return Err(Failure::new(&path, format_args!("is a {kind} filter: keys cannot be removed from it"))
            .hint("fullbloom build --removable makes a filter that supports deletion"));
    };
    let (removed, absent) = take_out(args, &mut keys, &mut filter)?;
    if removed > 0 {
        destination.write(|out| filter.write_to(out))?;
    }
    if !args.absent {
        let text = format!("{} removed, {absent} not in the filter", text::counted(removed, "key"));
        let json = json!({ "path": path.to_string(), "removed": removed, "absent": absent });
        args.common.report(&text, json)?;
    }
    Ok(Status::selected(absent == 0))
}

/// Removes all keys; returns how many were present, and how many were absent.
fn take_out(args: &RemoveArgs, keys: &mut Keys, filter: &mut RemovingFilter) -> Result<(u64, u64), Failure> {
    let mut out = Output::stdout();
    let end = keys.format().end;
    let hashing = filter.filter().hashing().clone();
    let (mut removed, mut absent, mut told, mut is_read) = (0, 0, Vec::new(), args.absent);
    let progress = Progress::new("removing keys", keys.total());
    keys.in_order_hashed_records(&progress, threads(), &hashing, |hashes, records| {
        told.resize(hashes.len(), false);
        let count = filter.remove_batch_told(&Hashes(hashes), &mut told);
        removed += count;
        absent += hashes.len() as u64 - count;
        if is_read {
            let mut print = || {
                for at in (0..told.len()).filter(|at| !told[*at]) {
                    out.bytes(records.run(at..at + 1))?;
                    if at + 1 == records.len() && records.last_is_unended() {
                        out.bytes(&[end])?;
                    }
                }
                out.pause()
            };
            is_read = goes_on(print())?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    goes_on(out.finish())?;
    Ok((removed, absent))
}

/// Whether the output is still read. If not, the keys are removed anyway.
fn goes_on(printed: Result<(), Failure>) -> Result<bool, Failure> {
    match printed {
        Ok(()) => Ok(true),
        Err(Failure::ClosedPipe) => Ok(false),
        Err(other) => Err(other),
    }
}
