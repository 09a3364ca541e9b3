//! What a filter to be built is: the options, their defaults, and which of them go together.

use super::{Builder, is_built_at_once};
use crate::kind::Kind;
use crate::{AT_ONCE, AnyFilter};
use alloc::string::String;
use fullbloom::sizing::{Prefer, Sizing};
use fullbloom::{Filter, Hashing};
use fullbloom_core::error::{BuildError, BuildOption, SizeError};
use fullbloom_core::sizing::{Request, Target};
use fullbloom_core::typed::{KeyField, KeyForm, KeyType};
use fullbloom_dialects::Name;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};

/// The number of keys up to which a dynamic filter keeps its rate, unless set or expected.
const UP_TO: u64 = 1_000_000_000;

/// Keys that a dynamic filter has memory for at first, if their number is unknown.
const FIRST: u64 = 1 << 12;

/// What a filter to be built is. Options that are not set have the same defaults for every caller.
///
/// ```
/// use fullbloom_any::BuildOptions;
/// use fullbloom_dialects::Name;
/// use fullbloom_any::Kind;
///
/// let options = BuildOptions::new(Name::Native).kind(Kind::Compact).label("fruit");
/// let mut builder = options.begin()?;
/// builder.add_batch(&[b"apple".as_slice(), b"pear"]);
/// let filter = builder.build()?;
/// assert!(filter.may_contain(b"pear"));
///
/// let refused = BuildOptions::new(Name::Cassandra).label("fruit").begin().unwrap_err();
/// assert_eq!(refused.to_string(), "label: only native filters support this, not cassandra");
/// # Ok::<(), fullbloom::error::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct BuildOptions {
    pub(super) dialect: Name,
    pub(super) target: Target,
    pub(super) expected_keys: Option<u64>,
    pub(super) kind: Kind,
    pub(super) prefer: Option<Prefer>,
    pub(super) hashing: Hashing,
    pub(super) spark_seed: Option<i32>,
    pub(super) store_secret: bool,
    pub(super) label: String,
    pub(super) key_type: Option<KeyType>,
    pub(super) key_form: KeyForm,
    pub(super) key_field: Option<KeyField>,
    pub(super) up_to: Option<u64>,
    pub(super) mode: Mode,
    first: Option<u64>,
    exceptions: bool,
    pub(super) threads: usize,
    pub(super) memory: Option<u64>,
    #[cfg(feature = "std")]
    pub(super) spool_in: Option<std::path::PathBuf>,
}

impl BuildOptions {
    /// The size, unless set: one absent key in a hundred is reported present.
    pub const DEFAULT_TARGET: Target = Target::Fpr(0.01);

    /// A filter of this dialect with a rate of 1 %; for `native`, of the kind `fast`.
    pub fn new(dialect: Name) -> BuildOptions {
        BuildOptions {
            dialect,
            target: BuildOptions::DEFAULT_TARGET,
            expected_keys: None,
            kind: Kind::Fast,
            prefer: None,
            hashing: Hashing::default(),
            spark_seed: None,
            store_secret: false,
            label: String::new(),
            key_type: None,
            key_form: KeyForm::default(),
            key_field: None,
            up_to: None,
            mode: Mode::Set,
            first: None,
            exceptions: false,
            threads: 0,
            memory: None,
            #[cfg(feature = "std")]
            spool_in: None,
        }
    }

    /// The rate or the size.
    pub fn target(mut self, target: Target) -> BuildOptions {
        self.target = target;
        self
    }

    /// The number of keys to size the filter for; `None` if it is not known.
    pub fn expected_keys(mut self, keys: impl Into<Option<u64>>) -> BuildOptions {
        self.expected_keys = keys.into();
        self
    }

    /// The kind of a native filter.
    pub fn kind(mut self, kind: Kind) -> BuildOptions {
        self.kind = kind;
        self
    }

    /// The fastest or the smallest layout of a fast native filter.
    pub fn prefer(mut self, prefer: impl Into<Option<Prefer>>) -> BuildOptions {
        self.prefer = prefer.into();
        self
    }

    /// The seed or the secret of a native filter.
    pub fn hashing(mut self, hashing: Hashing) -> BuildOptions {
        self.hashing = hashing;
        self
    }

    /// The seed or the secret of a native filter, as set.
    pub fn hash(&self) -> &Hashing {
        &self.hashing
    }

    /// The seed of a native filter, from 0 to 2^64 - 1, or of a `spark-2` filter, a signed number of 32 bits.
    pub fn seed(mut self, seed: i128) -> Result<BuildOptions, BuildError> {
        match self.dialect {
            Name::Native => {
                let seed = u64::try_from(seed).map_err(|_| {
                    BuildError::option(BuildOption::Seed, "a seed of a native filter is from 0 to 2^64 - 1")
                })?;
                self.hashing = Hashing::Seed(seed);
            }
            Name::Spark2 => {
                let seed = i32::try_from(seed).map_err(|_| {
                    BuildError::option(
                        BuildOption::Seed,
                        "a seed of spark-2 is from -2147483648 to 2147483647",
                    )
                })?;
                self.spark_seed = Some(seed);
            }
            other => return Err(BuildError::only_native(BuildOption::Seed, other.as_str())),
        }
        Ok(self)
    }

    /// Stores the secret of a keyed filter in its file.
    pub fn store_secret(mut self, store: bool) -> BuildOptions {
        self.store_secret = store;
        self
    }

    /// A text that is stored with a native filter.
    pub fn label(mut self, label: impl Into<String>) -> BuildOptions {
        self.label = label.into();
        self
    }

    /// The type of all keys, which are given as their bytes ([`Name::key`](fullbloom_dialects::Name::key)). A
    /// native filter records it.
    pub fn key_type(mut self, key_type: KeyType) -> BuildOptions {
        self.key_type = Some(key_type);
        self
    }

    /// The form that the caller brings all keys into. A native filter records it.
    pub fn key_form(mut self, form: KeyForm) -> BuildOptions {
        self.key_form = form;
        self
    }

    /// The field of a line that the caller takes all keys from. A native filter records it.
    pub fn key_field(mut self, field: Option<KeyField>) -> BuildOptions {
        self.key_field = field;
        self
    }

    /// The number of keys up to which a dynamic filter keeps its rate. Unless set: the expected keys, or 10^9
    /// if their number is unknown.
    pub fn up_to(mut self, keys: impl Into<Option<u64>>) -> BuildOptions {
        self.up_to = keys.into();
        self
    }

    /// Whether a dynamic filter supports deletion or expiry.
    pub fn mode(mut self, mode: Mode) -> BuildOptions {
        self.mode = mode;
        self
    }

    /// Whether the filter will have [exceptions](AnyFilter::except).
    pub fn exceptions(mut self, exceptions: bool) -> BuildOptions {
        self.exceptions = exceptions;
        self
    }

    /// The threads that build a native filter; 0, the default, means one per core.
    pub fn threads(mut self, threads: usize) -> BuildOptions {
        self.threads = threads;
        self
    }

    /// The memory for building a compact filter, besides the filter itself. 1 GiB, unless set.
    pub fn memory(mut self, bytes: impl Into<Option<u64>>) -> BuildOptions {
        self.memory = bytes.into();
        self
    }

    /// The directory for the file with the hashes that do not fit into the memory. The system's directory for
    /// temporary files, unless set.
    #[cfg(feature = "std")]
    pub fn spool_in(mut self, directory: impl Into<std::path::PathBuf>) -> BuildOptions {
        self.spool_in = Some(directory.into());
        self
    }

    /// The same as a dynamic filter with memory for this many keys, because their number cannot be known.
    pub fn growing(mut self, first: u64) -> BuildOptions {
        (self.kind, self.prefer) = (Kind::Dynamic, None);
        (self.expected_keys, self.first) = (None, Some(first));
        self
    }

    /// Whether the number of expected keys makes no difference to the filter.
    pub fn ignores_expected_keys(&self) -> bool {
        super::ignores_expected_keys(self.dialect, self.target)
            || (self.is_native() && self.kind == Kind::Compact)
    }

    /// Whether the number of keys must be known, or counted, before the filter can be built.
    pub fn needs_expected_keys(&self) -> bool {
        let grows = self.is_native() && self.kind == Kind::Dynamic;
        self.expected_keys.is_none() && !grows && !self.ignores_expected_keys()
    }

    /// Whether such filters are built from all their keys at once and accept none afterwards.
    pub fn is_built_at_once(&self) -> bool {
        is_built_at_once(self.dialect) || (self.is_native() && self.kind == Kind::Compact)
    }

    /// Checks that the dialect and the kind can have the options.
    pub fn check(&self) -> Result<(), BuildError> {
        let is_keyed = matches!(self.hashing, Hashing::Secret(_));
        let (dynamic, fast) = (self.kind == Kind::Dynamic, self.kind == Kind::Fast);
        let of_native = [
            (BuildOption::Except, self.exceptions),
            (BuildOption::Secret, is_keyed),
            (BuildOption::StoreSecret, self.store_secret),
            (BuildOption::Label, !self.label.is_empty()),
            (BuildOption::Prefer, self.prefer.is_some()),
            (BuildOption::Kind, !fast),
            (BuildOption::Mode, self.mode != Mode::Set),
            (BuildOption::UpTo, self.up_to.is_some()),
        ];
        if !self.is_native() {
            let given = of_native.iter().find(|(_, given)| *given);
            return given
                .map_or(Ok(()), |(option, _)| Err(BuildError::only_native(*option, self.dialect.as_str())));
        }
        let sized_by_rate = matches!(self.target, Target::Fpr(_));
        let rules = [
            (BuildOption::StoreSecret, self.store_secret && !is_keyed, "there is no secret to store"),
            (
                BuildOption::Mode,
                self.mode != Mode::Set && !dynamic,
                "only dynamic filters support deletion and expiry",
            ),
            (
                BuildOption::UpTo,
                self.up_to.is_some() && !dynamic,
                "only dynamic filters keep their rate as they grow",
            ),
            (
                BuildOption::Prefer,
                self.prefer.is_some() && !fast,
                "only fast filters have a choice of layouts",
            ),
            (BuildOption::Except, self.exceptions && dynamic, "a dynamic filter cannot have exceptions"),
            (
                BuildOption::Kind,
                !fast && !sized_by_rate,
                "the size of a compact or dynamic filter follows from the number of keys and the rate",
            ),
        ];
        match rules.iter().find(|(_, broken, _)| *broken) {
            Some((option, _, why)) => Err(BuildError::option(*option, why)),
            None => Ok(()),
        }
    }

    /// Begins to build the filter.
    ///
    /// # Errors
    /// When the options do not go together, the size is refused, or the number of keys is
    /// [needed](BuildOptions::needs_expected_keys).
    pub fn begin(&self) -> Result<Builder, BuildError> {
        self.check()?;
        if self.needs_expected_keys() {
            return Err(number_unknown());
        }
        Ok(Builder::start(self)?)
    }

    /// An empty filter that accepts keys at any time.
    ///
    /// # Errors
    /// As of [`begin`](BuildOptions::begin), and for filters that are built
    /// [at once](BuildOptions::is_built_at_once).
    pub fn empty(&self) -> Result<AnyFilter, BuildError> {
        self.check()?;
        if self.is_built_at_once() {
            let (option, what) = match self.dialect {
                Name::Native => (BuildOption::Kind, "compact"),
                dialect => (BuildOption::Dialect, dialect.as_str()),
            };
            let why = alloc::format!("a {what} filter cannot start empty: {AT_ONCE}").into();
            return Err(BuildError::Option { option, why });
        }
        Ok(self.describe(match (self.dialect, self.kind) {
            _ if self.needs_expected_keys() => return Err(number_unknown()),
            (Name::Native, Kind::Dynamic) => self.dynamic()?.into(),
            (Name::Native, _) => self.fast()?.into(),
            _ => return self.begin()?.build(),
        }))
    }

    /// Records in a filter what a native one keeps of the options besides its shape.
    pub(super) fn describe(&self, mut filter: AnyFilter) -> AnyFilter {
        if let Some(stored) = filter.as_native_mut() {
            let head = stored.head_mut();
            head.set_label(&self.label);
            head.store_secret = self.store_secret;
            (head.key_form, head.key_field) = (self.key_form, self.key_field);
        }
        match self.key_type {
            Some(key_type) => filter.with_key_type(key_type),
            None => filter,
        }
    }

    pub(super) fn is_native(&self) -> bool {
        self.dialect == Name::Native
    }

    pub(super) fn request(&self) -> Request {
        Request { expected_keys: self.expected_keys.unwrap_or(0), target: self.target }
    }

    /// An empty fast filter.
    pub(super) fn fast(&self) -> Result<Filter, SizeError> {
        let sizing = Sizing::new(&self.request())?;
        let sizing = match self.prefer {
            Some(prefer) => sizing.prefer(prefer),
            None => sizing,
        };
        Filter::with_sizing(&sizing, self.hashing.clone())
    }

    /// An empty dynamic filter.
    pub(super) fn dynamic(&self) -> Result<DynamicFilter, SizeError> {
        let Target::Fpr(fpr) = self.target else {
            return Err(SizeError::Unsupported {
                dialect: "native",
                what: "a dynamic filter is sized by a rate",
            });
        };
        let up_to = self.up_to.or(self.expected_keys).unwrap_or(UP_TO);
        let first = self.expected_keys.or(self.first).unwrap_or(FIRST.min(up_to));
        let options =
            DynamicOptions::new(first, fpr).up_to(up_to).mode(self.mode).hashing(self.hashing.clone());
        DynamicFilter::new(options)
    }
}

fn number_unknown() -> BuildError {
    BuildError::option(BuildOption::ExpectedKeys, "the number of keys must be known")
}
