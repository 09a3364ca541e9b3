//! `fullbloom insert FILTER [KEYS…]` and `fullbloom remove FILTER [KEYS…]`: change a native filter in its
//! file.

use super::insert_other;
use crate::args::{GivenArgs, KeyArgs, TypeArgs};
use crate::destination::{Destination, ForceArgs};
use crate::error::{Failure, Status};
use crate::filter_args::{FilterArgs, PrintArgs};
use crate::input::{Keys, threads};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::text;
use fullbloom_dialects::Name;
use fullbloom_ops::Code;
use fullbloom_ops::filter::Changing;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Insert more keys into a filter
///
/// Works with native filters, except compact ones, and with dialects that take keys later: Cassandra's,
/// Guava's, Spark's, libbloom's, DCSO's and others.
///
/// RocksDB's full filters are built from all their keys at once. The file is read, checked, and replaced
/// completely or not at all. A dynamic filter (build --dynamic or --deletable) grows; a few keys for a large
/// one go into a journal beside it, FILTER.journal: keep it with the file. A fast filter has room for the
/// keys it was built for; more keys are inserted with a warning, and its false-positive rate rises. A
/// deletable filter counts every key: a key inserted twice must be removed twice. In a filter with expiry, a
/// key's age starts now. Exit status: 0 if the keys were inserted, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --dynamic -o keys.bloom
  fullbloom insert keys.bloom more.txt
  fullbloom insert keys.bloom -e example.org
  fullbloom build keys.txt --expected-keys 1M -o room.bloom
  zcat more.gz | fullbloom insert room.bloom
  fullbloom insert nb-1-big-Filter.db --hex more-partitions.hex
  fullbloom insert ids.sketch --key-type long more-ids.txt")]
pub struct InsertArgs {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    pub(super) read: FilterArgs,

    #[command(flatten)]
    pub(super) force: ForceArgs,
}

/// Remove keys from a native filter made with build --deletable
///
/// Remove only keys that were inserted, each as often as it was inserted: removing another one can make an
/// inserted key look absent.
///
/// If any key is surely absent, nothing is changed, and the exit status is 1; with --force the others are
/// removed. A key that was never inserted can look present. Removing it makes the inserted key with the same
/// fingerprint look absent, and no others. The file is replaced completely or not at all. Exit status: 0 if
/// all keys were removed, 1 if some were absent, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --deletable -o keys.bloom
  fullbloom remove keys.bloom gone.txt
  fullbloom remove --force keys.bloom gone.txt
  fullbloom remove -v keys.bloom gone.txt > never-inserted.txt")]
pub struct RemoveArgs {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    secret: SecretArgs,

    /// Remove those that are present, even if others are absent; replace a read-only file
    #[arg(long)]
    force: bool,

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
    given: GivenArgs,

    #[command(flatten)]
    pub(super) types: TypeArgs,

    #[command(flatten)]
    print: PrintArgs,
}

impl Common {
    /// The keys, and the filter to be changed.
    fn open(&self, secret: &SecretArgs, force: bool) -> Result<(Keys, Changing), Failure> {
        let (mut keys, destination) = self.lock(Name::Native, force)?;
        let lock = destination.into_lock().expect("a file");
        let key_type = self.types.key_type.key_type();
        let loaded = Changing::load(&self.filter, lock, secret.read()?.as_ref(), key_type);
        let (filter, problems) = loaded.map_err(|problem| match problem.code {
            Code::NotAFilter => Failure::from(problem)
                .hint("fullbloom inspect shows what it is; fullbloom build makes a native filter"),
            _ => problem.into(),
        })?;
        problems.iter().for_each(|problem| output::warning(&problem.to_string()));
        filter.require_form(self.keys.form())?;
        let recorded = filter.facts().key_field;
        self.keys.require_field(&self.given, &self.filter, recorded)?;
        keys.warn_unrecorded(&self.filter, recorded);
        keys.apply_form(filter.key_form());
        Ok((keys, filter))
    }

    /// The keys, and where the filter goes.
    pub(super) fn lock(&self, dialect: Name, force: bool) -> Result<(Keys, Destination), Failure> {
        let format = self.types.apply(self.keys.format(), dialect)?;
        let keys = self.given.keys(&self.keys.files, format)?;
        if keys.include(&self.filter) {
            let why = "is a key file and would be overwritten by the filter";
            return Err(Failure::new(self.filter.display(), why));
        }
        Ok((keys, Destination::file(&self.filter, force)?))
    }

    /// Prints what was done, as text or JSON. If that fails, the error says that the filter was saved, if it
    /// was: otherwise somebody would insert the keys a second time.
    pub(super) fn report(&self, text: &str, json: Value, is_saved: bool) -> Result<(), Failure> {
        if self.print.quiet {
            return Ok(());
        }
        let mut out = Output::stdout();
        let mut print = || {
            if self.print.json {
                out.json(&json)?;
            } else {
                out.bytes(format!("{text}\n").as_bytes())?;
            }
            out.pause()
        };
        print().map_err(|failure| match is_saved {
            true => failure.after_saving(self.filter.display()),
            false => failure,
        })
    }
}

/// The hint for a filter that is full.
const ROOM: &str =
    "build --dynamic makes a filter for any number of keys, build --expected-keys N one with room for N";

/// Inserts and saves.
pub fn insert(args: &InsertArgs) -> Result<Status, Failure> {
    if let Some(other) = insert_other::dialect(args)? {
        return insert_other::run(args, other);
    }
    let (mut keys, mut filter) = args.common.open(&args.read.secret, args.force.force)?;
    let path = args.common.filter.display();
    filter.require_takes_keys()?;
    let hashing = filter.hashing().clone();
    let was_full = filter.is_full();
    if was_full {
        output::warning(&format!(
            "{path}: already holds the keys it was sized for; each further key raises the false-positive rate"
        ));
        output::hint(ROOM);
    }
    let (mut inserted, mut new) = (0, 0);
    let progress = Progress::new("inserting keys", keys.total());
    keys.in_order_hashed(&progress, threads(), &hashing, |hashes| {
        inserted += hashes.len() as u64;
        new += filter.insert(hashes)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let (overfull, expected_fpr) = (filter.overfull_message(), filter.expected_fpr());
    if let Some(warning) = overfull.as_ref().filter(|_| new > 0) {
        let now = text::rate(expected_fpr);
        output::warning(&format!("{path}: {warning}; by now {now} of absent keys are reported present"));
        if !was_full {
            output::hint(ROOM);
        }
    }
    if inserted > 0 {
        filter.finish()?;
    }
    let text = format!("{} inserted, {new} new", text::counted(inserted, "key"));
    let json = json!({
        "path": path.to_string(),
        "inserted": inserted,
        "new": new,
        "overfull": overfull.is_some(),
        "expected_fpr": expected_fpr,
    });
    args.common.report(&text, json, inserted > 0)?;
    Ok(Status::Yes)
}

/// Removes and saves.
pub fn remove(args: &RemoveArgs) -> Result<Status, Failure> {
    let (mut keys, mut filter) = args.common.open(&args.secret, args.force)?;
    let path = args.common.filter.display();
    filter.removes_keys().map_err(|problem| {
        Failure::from(problem).hint("fullbloom build --deletable makes a filter that supports deletion")
    })?;
    let Removal { mut removed, absent, first } = take_out(args, &mut keys, &mut filter)?;
    if !filter.finish_removal(args.force)? {
        removed = 0;
        let keys = text::counted(absent, "key");
        output::warning(&format!(
            "{path}: {keys} not in the filter; nothing was removed: {}",
            named(&first, absent)
        ));
        output::hint(
            "removing a key that was never inserted can make other keys look absent; --force removes the keys \
             that are present",
        );
    }
    if !args.absent {
        let text = format!("{} removed, {absent} not in the filter", text::counted(removed, "key"));
        let json = json!({ "path": path.to_string(), "removed": removed, "absent": absent });
        args.common.report(&text, json, removed > 0)?;
    }
    Ok(Status::selected(absent == 0))
}

/// How many absent keys are named.
const NAMED: usize = 3;

/// What came of removing keys.
struct Removal {
    removed: u64,
    absent: u64,
    /// The first absent keys.
    first: Vec<String>,
}

/// The first absent keys, and whether there are more.
fn named(first: &[String], absent: u64) -> String {
    let more = if absent > first.len() as u64 { ", ..." } else { "" };
    format!("{}{more}", first.join(", "))
}

/// Removes all keys from the filter in memory.
fn take_out(args: &RemoveArgs, keys: &mut Keys, filter: &mut Changing) -> Result<Removal, Failure> {
    let mut out = Output::stdout();
    let end = keys.format().end;
    let hashing = filter.hashing().clone();
    let mut done = Removal { removed: 0, absent: 0, first: Vec::new() };
    let (mut told, mut is_read) = (Vec::new(), args.absent);
    let progress = Progress::new("removing keys", keys.total());
    keys.in_order_hashed_records(&progress, threads(), &hashing, |hashes, records| {
        told.resize(hashes.len(), false);
        let count = filter.remove(hashes, &mut told)?;
        done.removed += count;
        done.absent += hashes.len() as u64 - count;
        let absent = (0..told.len()).filter(|at| !told[*at]);
        for at in absent.clone().take(NAMED - done.first.len().min(NAMED)) {
            let record = records.run(at..at + 1);
            let key = record.strip_suffix(&[end]).unwrap_or(record);
            done.first.push(format!("{:?}", String::from_utf8_lossy(&key[..key.len().min(80)])));
        }
        if is_read {
            let mut print = || {
                for at in absent.clone() {
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
    Ok(done)
}

/// Whether the output is still read. If not, the keys are removed anyway.
fn goes_on(printed: Result<(), Failure>) -> Result<bool, Failure> {
    match printed {
        Ok(()) => Ok(true),
        Err(Failure::ClosedPipe) => Ok(false),
        Err(other) => Err(other),
    }
}
