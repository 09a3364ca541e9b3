//! Builds a native filter: its options, its keys (hashed by several threads) and its exceptions.

use super::exceptions::{others, with_exceptions};
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
use fullbloom::dialect::Name;
use fullbloom::internal::claim::Claim;
use fullbloom::keys::Hashes;
use fullbloom::native::{Builder, Hashing, Sizing, StoredFilter};
use fullbloom::sizing::{Request, Target};
use fullbloom::{NativeFilter, SizeError};
use fullbloom_ops::filter::NativeRecord;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The options of native filters only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Native filters")]
pub struct NativeArgs {
    /// Files of known-good keys, which are answered "no"; a key in both lists is an error
    #[arg(long, value_name = "KEYS")]
    except: Vec<PathBuf>,

    /// Leave keys that are also in --except out of the filter
    #[arg(long, requires = "except", conflicts_with = "keys_win")]
    pub(super) except_wins: bool,

    /// Keep keys that are also in --except in the filter
    #[arg(long, requires = "except")]
    pub(super) keys_win: bool,

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

    /// The seed of the hash, not secret: other seeds give other false positives; also for spark-2 [default: 0]
    #[arg(long, value_name = "N", value_parser = numbers::seed, allow_negative_numbers = true, conflicts_with_all = ["keyed", "secret", "store_secret"])]
    seed: Option<i128>,

    /// A text to store with the filter
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,

    /// The fastest or the smallest layout for the rate [default: fast if at most 15 % larger]
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["dynamic", "deletable"])]
    prefer: Option<args::Prefer>,

    /// Make the smallest filter, of keys that do not change: about 30 % smaller; it takes no more keys later
    #[arg(long, conflicts_with_all = ["dynamic", "deletable", "prefer"])]
    pub(super) compact: bool,

    /// Make a filter that grows with its keys, now and later; --expected-keys reserves memory
    #[arg(long, conflicts_with = "except")]
    pub(super) dynamic: bool,

    /// Make a dynamic filter that supports deletion: it counts its keys, in two bits more for each
    #[arg(long, conflicts_with = "except")]
    pub(super) deletable: bool,

    /// Keep the rate of a dynamic filter up to this many keys: each doubling costs a bit for each key
    /// [default: --expected-keys, or 1e9]
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    pub(super) up_to: Option<u64>,
}

impl NativeArgs {
    /// Refuses these options for another dialect.
    pub fn refuse_for(&self, dialect: Name) -> Result<(), Failure> {
        let asked = [
            ("--except", !self.except.is_empty()),
            ("--keyed", self.keyed),
            ("--secret", self.secret.is_some()),
            ("--store-secret", self.store_secret),
            ("--seed", self.seed.is_some() && dialect != Name::Spark2),
            ("--label", self.label.is_some()),
            ("--prefer", self.prefer.is_some()),
            ("--compact", self.compact),
            ("--dynamic", self.dynamic),
            ("--deletable", self.deletable),
            ("--up-to", self.up_to.is_some()),
        ];
        match asked.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(Failure::new(option, format_args!("only native filters support this, not {dialect}")))
            }
            None => Ok(()),
        }
    }

    /// Whether the filter grows.
    pub(super) fn is_dynamic(&self) -> bool {
        self.dynamic || self.deletable
    }

    /// The seed of a `spark-2` filter.
    pub fn spark_seed(&self, dialect: Name) -> Result<Option<i32>, Failure> {
        let Some(seed) = self.seed.filter(|_| dialect == Name::Spark2) else { return Ok(None) };
        let refused = |_| Failure::new("--seed", "a seed of spark-2 is from -2147483648 to 2147483647");
        i32::try_from(seed).map(Some).map_err(refused)
    }

    /// The seed of a native filter.
    fn native_seed(&self) -> Result<u64, Failure> {
        let refused = |_| Failure::new("--seed", "a seed of a native filter is from 0 to 2^64 - 1");
        u64::try_from(self.seed.unwrap_or(0)).map_err(refused)
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
            return Ok((Hashing::Seed(self.native_seed()?), None));
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
    if args.native.up_to.is_some() && !args.native.is_dynamic() {
        let failure = Failure::new("--up-to", "only dynamic filters keep their rate as they grow");
        return Err(failure.hint("give --dynamic or --deletable, too").into());
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
        Some(good) if args.native.compact => {
            let make = |keys: &mut Keys, _, without: &HashSet<_>| {
                compact::build(args, expected_keys, target, keys, &hashing, without)
            };
            let (filter, inserted) = with_exceptions(&args.native, keys, good, &hashing, make)?;
            (StoredFilter::Compact(filter), inserted)
        }
        Some(good) => {
            let make = |keys: &mut Keys, counted, without: &HashSet<_>| {
                let expected_keys = expected_keys.or(is_exact(target).then_some(0)).unwrap_or(counted);
                let filter = empty(args, &Request { expected_keys, target }, &hashing)?;
                match without.is_empty() {
                    true => Ok(insert_keys(filter, keys, &hashing)?),
                    false => Ok(insert_others(filter, keys, without)?),
                }
            };
            let (filter, inserted) = with_exceptions(&args.native, keys, good, &hashing, make)?;
            (StoredFilter::Fast(filter), inserted)
        }
        None if args.native.compact => {
            let (filter, inserted) =
                compact::build(args, expected_keys, target, keys, &hashing, &HashSet::new())?;
            (StoredFilter::Compact(filter), inserted)
        }
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

/// Inserts all keys but these.
fn insert_others(
    filter: NativeFilter,
    keys: &mut Keys,
    without: &HashSet<Vec<u8>>,
) -> Result<(NativeFilter, u64), Failure> {
    let mut builder = Builder::new(filter, 1);
    let mut inserted = 0;
    let progress = Progress::new("inserting keys", keys.total());
    keys.for_each_batch(&progress, |batch| {
        let others = others(batch.keys, without);
        builder.insert_batch(&others);
        inserted += others.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((builder.finish(), inserted))
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
