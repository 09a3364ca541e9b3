//! The options of native filters, and what they ask for.

use crate::args;
use crate::error::Failure;
use crate::input::{Keys, threads};
use crate::numbers;
use crate::secret;
use fullbloom::Hashing;
use fullbloom_any::BuildOptions;
use fullbloom_any::Kind;
use fullbloom_core::error::BuildOption;
use fullbloom_dialects::Name;
use fullbloom_dynamic::Mode;
use fullbloom_files::file_lock::FileLock;
use std::path::{Path, PathBuf};

/// The options of native filters only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Native filters")]
pub struct NativeArgs {
    /// Never match these keys: an allowlist, in the format of KEYS
    ///
    /// A key in both lists is an error, unless --except-wins or --keys-win says otherwise.
    #[arg(long, value_name = "KEYS")]
    except: Vec<PathBuf>,

    /// Leave keys that are in both lists out of the filter
    #[arg(long, requires = "except", conflicts_with = "keys_win")]
    pub(super) except_wins: bool,

    /// Keep keys that are in both lists in the filter
    #[arg(long, requires = "except")]
    pub(super) keys_win: bool,

    /// Hash with a secret; needs --secret or --store-secret
    #[arg(long)]
    keyed: bool,

    /// Read the secret from this file; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// Store the secret in the filter: protect the file
    #[arg(long)]
    pub(super) store_secret: bool,

    /// Hash with this public seed; also of spark-2 [default: 0]
    #[arg(long, value_name = "N", value_parser = numbers::seed, allow_negative_numbers = true,
          conflicts_with_all = ["keyed", "secret", "store_secret"])]
    seed: Option<i128>,

    /// Store this text with the filter
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,

    /// Choose the layout: speed or space [default: speed, up to 15 % more bits]
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true, conflicts_with_all = ["dynamic", "deletable"])]
    prefer: Option<args::Prefer>,

    /// Make the smallest filter, which takes no more keys
    #[arg(long, conflicts_with_all = ["dynamic", "deletable", "prefer"])]
    pub(super) compact: bool,

    /// Make a filter that grows with its keys
    #[arg(long, conflicts_with = "except")]
    dynamic: bool,

    /// Make a dynamic filter that supports deletion: 2.4 to 4.9 more bits per key
    #[arg(long, conflicts_with = "except")]
    deletable: bool,

    /// Keep the rate of a dynamic filter up to this many keys [default: --expected-keys, or 1e9]
    ///
    /// Each doubling costs one bit per key.
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    up_to: Option<u64>,
}

impl NativeArgs {
    /// Adds these options, but for the hash.
    pub fn apply(&self, options: BuildOptions) -> Result<BuildOptions, super::Refusal> {
        let (kind, threads) = match (self.compact, self.dynamic || self.deletable) {
            (true, _) => (Kind::Compact, threads()),
            (false, true) => (Kind::Dynamic, 1),
            // The file says how many keys were new, which depends on the order if several threads insert.
            (false, false) => (Kind::Fast, 1),
        };
        let options = match self.seed {
            Some(seed) => options.seed(seed)?,
            None => options,
        };
        Ok(options
            .kind(kind)
            .mode(if self.deletable { Mode::Counting } else { Mode::Set })
            .prefer(self.prefer.map(Into::into))
            .label(self.label.as_deref().unwrap_or_default())
            .up_to(self.up_to)
            .exceptions(!self.except.is_empty())
            .threads(threads))
    }

    /// Whether the filter is of kind fast, or of another dialect.
    pub fn is_fast(&self) -> bool {
        !self.compact && !self.dynamic && !self.deletable
    }

    /// The option of the command that sets an option of the builder.
    pub fn flag(&self, option: BuildOption) -> String {
        use BuildOption::{Kind, Mode, Secret, StoreSecret};
        match option {
            Secret | StoreSecret if self.keyed => "--keyed".to_owned(),
            Secret if self.secret.is_none() => "--store-secret".to_owned(),
            Kind | Mode if self.deletable => "--deletable".to_owned(),
            Kind | Mode if self.dynamic => "--dynamic".to_owned(),
            Kind => "--compact".to_owned(),
            other => format!("--{}", other.as_str().replace('_', "-")),
        }
    }

    /// The secret of a keyed filter, and the lock of the file that a new one must be saved to; `None` if the
    /// filter is not keyed. Of several builds that would make a secret, one does, and the others wait for it.
    pub fn secret(&self, dialect: Name) -> Result<Option<(Hashing, Option<FileLock>)>, Failure> {
        if !self.keyed && self.secret.is_none() && !self.store_secret {
            return Ok(None);
        }
        match self.secret.as_deref() {
            Some(path) => match secret::lock(path) {
                Ok(lock) if !lock.exists() => Ok(Some((Hashing::Secret(secret::random()?), Some(lock)))),
                Err(e) if !secret::is_there(path) => Err(e),
                // It can be read where nothing can be written.
                _ => Ok(Some((Hashing::Secret(secret::read(path)?), None))),
            },
            None if !self.store_secret && dialect == Name::Native => {
                Err(Failure::new("--keyed", "no path given for the secret")
                    .hint("--secret FILE keeps it in a file, --store-secret in the filter itself"))
            }
            None => Ok(Some((Hashing::Secret(secret::random()?), None))),
        }
    }

    /// The file of the secret, if one is given.
    pub fn secret_file(&self) -> Option<&Path> {
        self.secret.as_deref()
    }

    /// The known-good keys, in the format of the keys; both cannot come from standard input.
    pub fn known_good(&self, keys: &Keys, output: &Path) -> Result<Option<Keys>, Failure> {
        if self.except.is_empty() {
            return Ok(None);
        }
        if keys.use_stdin() && self.except.iter().any(|file| file == Path::new("-")) {
            let why = "standard input cannot be both the keys and the known-good keys";
            return Err(Failure::new("--except", why));
        }
        let good = Keys::new(&self.except, keys.format().clone())?;
        if good.include(output) {
            let why = "is a file of known-good keys and would be overwritten by the filter";
            return Err(Failure::new(output.display(), why));
        }
        Ok(Some(good))
    }
}
