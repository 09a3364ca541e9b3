//! `fullbloom insert FILTER [KEYS…]` and `fullbloom remove FILTER [KEYS…]`: a native filter changed in its file.

use crate::args::{KeyArgs, TypeArgs};
use crate::claim::Claim;
use crate::destination::Destination;
use crate::error::{Failure, Status};
use crate::input::{Keys, load_stored, threads};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use fullbloom::dialect::Name;
use fullbloom::native::{GuardedFilter, Hashes, RemovingFilter, StoredFilter};
use serde_json::json;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::SystemTime;

/// Put more keys into a native filter
///
/// The file is read, checked, and replaced whole or not at all. A growing filter grows; a removing one counts every key, so that a
/// key inserted twice must be removed twice; a rotating one remembers new keys from now on, and known
/// ones only if it was begun with --refresh. Exit status: 0 if the
/// keys are in, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --growing -o keys.bloom
  fullbloom insert keys.bloom more.txt")]
pub struct InsertArgs {
    #[command(flatten)]
    common: Common,
}

/// Take keys out of a native filter that build --removable made
///
/// The file is read, checked, and replaced whole or not at all. Remove only keys that were inserted, and each as often: a key that
/// was never inserted is refused if it is surely not in, but now and then, at the filter's rate, it looks present, and
/// removing it may then make other keys look absent. Exit status: 0 if all keys were in and are removed, 1 if some were not in, 2
/// on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom build keys.txt --removable -o keys.bloom
  fullbloom remove keys.bloom gone.txt
  fullbloom remove -v keys.bloom gone.txt        print those that were not in")]
pub struct RemoveArgs {
    #[command(flatten)]
    common: Common,

    /// Print the keys that were not in, instead of the numbers
    #[arg(short = 'v', long, conflicts_with_all = ["json", "quiet"])]
    absent: bool,
}

/// What both take.
#[derive(Debug, clap::Args)]
struct Common {
    /// The filter file
    filter: PathBuf,

    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    types: TypeArgs,

    #[command(flatten)]
    secret: SecretArgs,

    /// Print the numbers as one JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing about what was done
    #[arg(short, long)]
    quiet: bool,
}

impl Common {
    /// The keys, where the filter goes, and the filter.
    fn open(&self) -> Result<(Keys, Changed<'_>, StoredFilter), Failure> {
        let path = self.filter.display();
        let format = self.types.apply(self.keys.format(), Name::Native)?;
        let keys = Keys::new(&self.keys.files, format)?;
        if keys.include(&self.filter) {
            return Err(Failure::new(&path, "is a key file and would be overwritten by the filter"));
        }
        let changed =
            Changed { destination: Destination::new(&self.filter)?, claim: Claim::new(&self.filter)? };
        let stored = load_stored(&self.filter, self.secret.read()?)?;
        Ok((keys, changed, stored))
    }

    /// Says what was done; `names` are the two numbers' in JSON.
    fn tell(&self, text: &str, names: [&str; 2], numbers: [u64; 2]) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let mut out = Output::stdout()?;
        if self.json {
            let path = self.filter.display().to_string();
            out.json(&json!({ "path": path, names[0]: numbers[0], names[1]: numbers[1] }))?;
        } else {
            out.bytes(format!("{text}\n").as_bytes())?;
        }
        out.finish()
    }
}

/// The file to be replaced.
struct Changed<'a> {
    destination: Destination<'a>,
    claim: Claim<'a>,
}

impl Changed<'_> {
    fn save(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        self.claim.check()?;
        self.destination.write(write)
    }
}

/// Inserts and saves.
pub fn insert(args: &InsertArgs) -> Result<Status, Failure> {
    let (mut keys, changed, stored) = args.common.open()?;
    let path = args.common.filter.display();
    let mut stored = match stored {
        StoredFilter::Plain(filter) => match filter.into_filter() {
            Ok(filter) => Form::Plain(filter),
            Err(_) => return Err(Failure::new(&path, "the filter has exceptions and takes no more keys")),
        },
        other => Form::Other(other),
    };
    let hashing = stored.hashing();
    let (mut inserted, mut new) = (0, 0);
    let progress = Progress::new("inserting keys", keys.total());
    keys.in_order_hashed(&progress, threads(), &hashing, |hashes| {
        inserted += hashes.len() as u64;
        new += stored.insert(hashes).map_err(|e| Failure::size(Name::Native, &e))?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let stored = stored.stored();
    if inserted > 0 {
        changed.save(|out| stored.write_to(out))?;
    }
    let facts = crate::facts::NativeFacts::of(&stored);
    if let Some(warning) = facts.warning() {
        output::warning(&format!("{path}: {warning}"));
    }
    let text = format!("{inserted} keys inserted, {new} of them new");
    args.common.tell(&text, ["inserted", "new"], [inserted, new])?;
    Ok(Status::Yes)
}

/// A filter that takes keys.
enum Form {
    Plain(fullbloom::native::NativeFilter),
    Other(StoredFilter),
}

impl Form {
    fn hashing(&self) -> fullbloom::native::Hashing {
        match self {
            Form::Plain(filter) => filter.hashing().clone(),
            Form::Other(stored) => stored.first().hashing().clone(),
        }
    }

    /// How many were new.
    fn insert(&mut self, hashes: &[u64]) -> Result<u64, fullbloom::SizeError> {
        let keys = &Hashes(hashes);
        match self {
            Form::Plain(filter) => Ok(filter.insert_batch(keys)),
            Form::Other(StoredFilter::Growing(filter)) => filter.insert_batch(keys),
            Form::Other(StoredFilter::Removing(filter)) => Ok(filter.insert_batch(keys)),
            Form::Other(StoredFilter::Rotating(filter)) => {
                let mut new = vec![false; hashes.len()];
                filter.insert_batch_new(keys, &mut new, SystemTime::now())
            }
            Form::Other(_) => Ok(0), // plain ones are the other variant
        }
    }

    fn stored(self) -> StoredFilter {
        match self {
            Form::Plain(filter) => StoredFilter::Plain(GuardedFilter::from(filter)),
            Form::Other(stored) => stored,
        }
    }
}

/// Removes and saves.
pub fn remove(args: &RemoveArgs) -> Result<Status, Failure> {
    let (mut keys, changed, stored) = args.common.open()?;
    let path = args.common.filter.display();
    let form = stored.form();
    let StoredFilter::Removing(mut filter) = stored else {
        return Err(Failure::new(&path, format_args!("is a {form} filter: keys cannot be removed from it"))
            .hint("fullbloom build --removable makes one that they can be removed from"));
    };
    let (removed, absent) = take_out(args, &mut keys, &mut filter)?;
    if removed > 0 {
        changed.save(|out| filter.write_to(out))?;
    }
    if !args.absent {
        let text = format!("{removed} keys removed, {absent} were not in");
        args.common.tell(&text, ["removed", "absent"], [removed, absent])?;
    }
    Ok(Status::selected(absent == 0))
}

/// Takes all keys out; how many were in, and how many were not.
fn take_out(args: &RemoveArgs, keys: &mut Keys, filter: &mut RemovingFilter) -> Result<(u64, u64), Failure> {
    let mut out = Output::stdout()?;
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

/// Whether somebody still reads what is printed. If not, the keys are taken out all the same.
fn goes_on(printed: Result<(), Failure>) -> Result<bool, Failure> {
    match printed {
        Ok(()) => Ok(true),
        Err(Failure::ClosedPipe) => Ok(false),
        Err(other) => Err(other),
    }
}
