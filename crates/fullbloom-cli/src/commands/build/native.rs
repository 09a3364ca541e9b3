//! Builds a native filter: its options, its keys (hashed by several threads) and its exceptions.

use super::{Args, Refusal, compact, kinds, summarise, warn_of_name};
use crate::args;
use crate::destination::Destination;
use crate::error::Failure;
use crate::input::{Keys, threads};
use crate::numbers;
use crate::output;
use crate::progress::Progress;
use crate::secret;
use fullbloom::any::AnyFilter;
use fullbloom::claim::Claim;
use fullbloom::dialect::Name;
use fullbloom::keys::Hashes;
use fullbloom::native::{Builder, Except, ExceptError, Hashing, Sizing, StoredFilter};
use fullbloom::sizing::{Request, Target};
use fullbloom::{Filter, NativeFilter, SizeError};
use fullbloom_ops::filter::NativeRecord;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The options of native filters only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Native filters")]
pub struct NativeArgs {
    /// Files of known-good keys, in the format of KEYS: they are answered "no" unless they are also in KEYS
    #[arg(long, value_name = "KEYS")]
    except: Vec<PathBuf>,

    /// Hash with a secret, so that nobody without it can construct false positives; needs --secret or
    /// --store-secret
    #[arg(long)]
    keyed: bool,

    /// The file of the secret, 32 hex digits, created if it does not exist; check needs it too. Implies
    /// --keyed
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// Store the secret in the filter file, which must then be protected like the secret. Implies --keyed
    #[arg(long)]
    pub(super) store_secret: bool,

    /// The seed of the hash, not secret: filters with different seeds have different false positives
    /// [default: 0]
    #[arg(long, value_name = "N", value_parser = numbers::count, conflicts_with_all = ["keyed", "secret", "store_secret"])]
    seed: Option<u64>,

    /// A text to store with the filter
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,

    /// The fastest or the smallest layout for the rate [default: fast if at most 15 % larger]
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with = "growing")]
    prefer: Option<args::Prefer>,

    /// Make the smallest filter, of keys that do not change: about 30 % smaller; it takes no more keys later
    #[arg(long, conflicts_with_all = ["growing", "removable", "prefer"])]
    pub(super) compact: bool,

    /// Make a filter that grows with its keys, now and later; --expected-keys is its initial size
    #[arg(long, conflicts_with_all = ["removable", "except"])]
    pub(super) growing: bool,

    /// Make a filter that supports deletion: it has counters and needs five times the space
    #[arg(long, conflicts_with = "except")]
    pub(super) removable: bool,
}

impl NativeArgs {
    /// Refuses these options for another dialect.
    pub fn refuse_for(&self, dialect: Name) -> Result<(), Failure> {
        let asked = [
            ("--except", !self.except.is_empty()),
            ("--keyed", self.keyed),
            ("--secret", self.secret.is_some()),
            ("--store-secret", self.store_secret),
            ("--seed", self.seed.is_some()),
            ("--label", self.label.is_some()),
            ("--prefer", self.prefer.is_some()),
            ("--compact", self.compact),
            ("--growing", self.growing),
            ("--removable", self.removable),
        ];
        match asked.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(Failure::new(option, format_args!("only native filters support this, not {dialect}")))
            }
            None => Ok(()),
        }
    }

    /// The size of the filter.
    pub(super) fn sizing(&self, request: &Request) -> Result<Sizing, SizeError> {
        let sizing = Sizing::new(request)?;
        Ok(match self.prefer {
            Some(prefer) => sizing.prefer(prefer.into()),
            None => sizing,
        })
    }

    /// The hash, and the file that its new secret must be saved to.
    fn hashing(&self) -> Result<(Hashing, Option<&Path>), Failure> {
        if !self.keyed && self.secret.is_none() && !self.store_secret {
            return Ok((Hashing::Seed(self.seed.unwrap_or(0)), None));
        }
        match self.secret.as_deref() {
            Some(path) if secret::is_there(path) => {
                let secret = secret::read(path)?;
                drop(Claim::new(path)); // takes away the lock file of a build that was killed here
                Ok((Hashing::Secret(secret), None))
            }
            Some(path) => Ok((Hashing::Secret(secret::random()?), Some(path))),
            None if self.store_secret => Ok((Hashing::Secret(secret::random()?), None)),
            None => Err(Failure::new("--keyed", "no path given for the secret")
                .hint("--secret FILE keeps it in a file, --store-secret in the filter itself")),
        }
    }
}

/// Builds and saves.
pub fn build(
    args: &Args,
    expected_keys: Option<u64>,
    target: Target,
    keys: &mut Keys,
    mut destination: Destination,
) -> Result<(), Refusal> {
    if args.native.secret.as_deref().is_some_and(|secret| destination.is(secret)) {
        let why = "is the file of the secret and would be overwritten by the filter";
        return Err(Failure::new(args.output.display(), why).into());
    }
    let (hashing, save_secret) = args.native.hashing()?;
    let mut good = match args.native.except.as_slice() {
        [] => None,
        files => {
            let good = known_good(files, keys)?;
            if good.include(&args.output) {
                let why = "is a file of known-good keys and would be overwritten by the filter";
                return Err(Failure::new(args.output.display(), why).into());
            }
            Some(good)
        }
    };
    let (mut stored, inserted) = match &mut good {
        good if args.native.compact => {
            let (filter, inserted) =
                compact::build(args, expected_keys, target, keys, &hashing, good.is_some())?;
            match good {
                Some(good) => (StoredFilter::Compact(except(filter, good, keys)?), inserted),
                None => (StoredFilter::Compact(filter), inserted),
            }
        }
        Some(good) => with_exceptions(args, (expected_keys, target), keys, good, &hashing)?,
        None => kinds::build(args, expected_keys, target, keys, &hashing)?,
    };

    stored.set_key_type(Some(args.types.key_type.key_type()));
    if args.native.store_secret {
        destination.make_private();
    }
    // The secret is saved when the filter is on the disk, and before the filter can be used. It is not removed
    // if the very last step fails: another process may have used it by then.
    let save = || match (save_secret, stored.hashing()) {
        (Some(path), Hashing::Secret(secret)) => secret::save(path, secret),
        _ => Ok(()),
    };
    destination.write_after(|out| stored.write_to(out), save)?;
    warn_of_name(args);
    let facts = NativeRecord::of(&stored.facts());
    if let Some(warning) = facts.overfull_message() {
        output::warning(&warning);
    }
    Ok(summarise(args, &destination, &AnyFilter::from(stored), inserted, Some(facts))?)
}

/// Exceptions need every key twice. Counting the keys also keeps a stream that can be read only once.
fn with_exceptions(
    args: &Args,
    (expected_keys, target): (Option<u64>, Target),
    keys: &mut Keys,
    good: &mut Keys,
    hashing: &Hashing,
) -> Result<(StoredFilter, u64), Refusal> {
    let counted = count(keys)?;
    let expected_keys = expected_keys.or(is_exact(target).then_some(0)).unwrap_or(counted);
    let filter = empty(args, &Request { expected_keys, target }, hashing)?;
    let (filter, inserted) = insert_keys(filter, keys, hashing)?;
    Ok((StoredFilter::Fast(except(filter, good, keys)?), inserted))
}

pub(super) fn is_exact(target: Target) -> bool {
    matches!(target, Target::Exact { .. })
}

pub(super) fn count(keys: &mut Keys) -> Result<u64, Failure> {
    keys.count(&Progress::new("counting keys", keys.total()))
}

pub(super) fn empty(args: &Args, request: &Request, hashing: &Hashing) -> Result<NativeFilter, Refusal> {
    let mut filter = NativeFilter::with_sizing(&args.native.sizing(request)?, hashing.clone())?;
    filter.set_label(args.native.label.as_deref().unwrap_or_default());
    filter.store_secret(args.native.store_secret);
    Ok(filter)
}

/// One thread inserts, in the order of the keys, so that the file is the same on every machine; the others
/// read and hash. Large filters are filled in parts by the builder.
pub(super) fn insert_keys(
    filter: NativeFilter,
    keys: &mut Keys,
    hashing: &Hashing,
) -> Result<(NativeFilter, u64), Failure> {
    let mut builder = Builder::new(filter, 1);
    let mut inserted = 0;
    let progress = Progress::new("inserting keys", keys.total());
    keys.in_order_hashed(&progress, threads(), hashing, |hashes| {
        builder.insert_batch(&Hashes(hashes));
        inserted += hashes.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((builder.finish(), inserted))
}

/// The known-good keys, in the format of the keys; both cannot come from standard input.
fn known_good(files: &[PathBuf], keys: &Keys) -> Result<Keys, Failure> {
    if keys.use_stdin() && files.iter().any(|file| file == Path::new("-")) {
        return Err(Failure::new(
            "--except",
            "standard input cannot be both the keys and the known-good keys",
        ));
    }
    Keys::new(files, keys.format().clone())
}

/// Makes the exceptions: reads the known-good keys once, and the keys a second time.
fn except<D: Except>(filter: Filter<D>, good: &mut Keys, keys: &mut Keys) -> Result<Filter<D>, Refusal> {
    let refused = |e: ExceptError| match e {
        ExceptError::Size(e) => Refusal::Size(e),
        ExceptError::NotMembers { .. } => {
            Failure::new("--except", format_args!("{e}: the key files have changed meanwhile")).into()
        }
        _ => Failure::new("--except", e).into(),
    };
    let failed = |e: ExceptError| Failure::new("--except", e);
    let mut first = filter.except().map_err(refused)?;
    let progress = Progress::new("known-good keys", good.total());
    good.for_each_batch(&progress, |batch| {
        first.add(batch.keys).map_err(failed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    let mut second = first.members().map_err(refused)?;
    let progress = Progress::new("keys again", keys.total());
    keys.for_each_batch(&progress, |batch| {
        second.add(batch.keys).map_err(failed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    drop(progress);
    second.finish().map_err(refused)
}
