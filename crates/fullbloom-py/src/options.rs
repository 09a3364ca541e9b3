//! The keyword arguments that describe a filter: one to be made, or one in bytes.

use crate::errors;
use fullbloom::any::{self, AnyFilter, Builder, ReadOptions};
use fullbloom::dialect::Name;
use fullbloom::native::{
    CompactBuilder, CompactFilter, DynamicFilter, DynamicOptions, Expiry, Hashing, Keep, Mode, NativeFilter,
    Secret, Sizing, StoredFilter,
};
use fullbloom::sizing::{Request, Target};
use fullbloom::typed::KeyType;
use pyo3::prelude::*;
use std::time::{Duration, SystemTime};

/// The arguments that size a filter. At most one of the rate, the bits per key, and bits with probes may be
/// given.
pub struct Size {
    pub fpr: Option<f64>,
    pub bits_per_key: Option<f64>,
    pub bits: Option<u64>,
    pub probes: Option<u32>,
}

impl Size {
    /// A rate of 1 % unless something else is given.
    pub fn target(&self) -> PyResult<Target> {
        match (self.fpr, self.bits_per_key, self.bits, self.probes) {
            (None, None, None, None) => Ok(Target::Fpr(0.01)),
            (Some(fpr), None, None, None) => Ok(Target::Fpr(fpr)),
            (None, Some(bits_per_key), None, None) => Ok(Target::BitsPerKey(bits_per_key)),
            (None, None, Some(bit_len), Some(probes)) => Ok(Target::Exact { bit_len, probes }),
            _ => Err(errors::value("give one of fpr, bits_per_key, and bits with probes")),
        }
    }
}

/// The dialect of this name.
pub fn dialect(name: &str) -> PyResult<Name> {
    name.parse().map_err(errors::value)
}

fn secret_of(bytes: Option<&[u8]>) -> PyResult<Option<Secret>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let bytes: [u8; 16] = bytes
        .try_into()
        .map_err(|_| errors::value(format_args!("a secret has 16 bytes, not {}", bytes.len())))?;
    Ok(Some(Secret::new(bytes)))
}

/// A filter to be made.
pub struct NewFilter {
    pub dialect: Name,
    pub target: Target,
    hashing: Hashing,
    spark_seed: Option<i32>,
    store_secret: bool,
    label: Option<String>,
    dynamic: Option<Dynamic>,
    compact: bool,
}

/// What only a filter of kind `dynamic` has.
#[derive(Clone, Copy)]
pub struct Dynamic {
    /// The number of keys up to which it keeps its rate; the expected ones if not given.
    pub up_to: Option<u64>,
    pub deletable: bool,
    /// Seconds after which keys expire.
    pub expire: Option<f64>,
}

impl Dynamic {
    /// Checks the arguments. `None` for the kind `fast`.
    pub fn new(
        kind: &str,
        up_to: Option<u64>,
        deletable: bool,
        expire: Option<f64>,
    ) -> PyResult<Option<Dynamic>> {
        match kind {
            "dynamic" if deletable && expire.is_some() => {
                Err(errors::value("keys are deletable or expire, not both"))
            }
            "dynamic" => Ok(Some(Dynamic { up_to, deletable, expire })),
            "fast" if up_to.is_some() || deletable || expire.is_some() => {
                Err(errors::value("up_to, deletable and expire need kind=\"dynamic\""))
            }
            "fast" => Ok(None),
            "compact" => Err(errors::value(
                "a compact filter is built from all its keys at once: use Filter.build(keys, kind=\"compact\")",
            )),
            _ => Err(errors::value(format_args!("kind is \"fast\" or \"dynamic\", not {kind:?}"))),
        }
    }

    fn mode(self) -> PyResult<Mode> {
        match self.expire {
            Some(seconds) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) => Ok(Mode::Expiring(Expiry::of(Keep::Time(time)))),
                Err(_) => Err(errors::value(format_args!("expire is a number of seconds, not {seconds}"))),
            },
            None if self.deletable => Ok(Mode::Counting),
            None => Ok(Mode::Set),
        }
    }
}

/// A filter that takes its keys now.
pub enum Building {
    /// A native filter of kind compact, and the types of its keys so far.
    Compact(Box<CompactBuilder>, Vec<KeyType>),
    /// A native filter, which can have a seed, a secret and a label.
    Native(AnyFilter),
    /// A filter of another system.
    Other(Builder, Name),
}

impl NewFilter {
    /// Checks the arguments: seeds are for native and spark-2 filters, secrets and labels for native ones.
    pub fn new(
        name: &str,
        size: &Size,
        seed: Option<i128>,
        secret: Option<&[u8]>,
        store_secret: bool,
        label: Option<String>,
    ) -> PyResult<NewFilter> {
        let dialect = dialect(name)?;
        let secret = secret_of(secret)?;
        let spark_seed = match (dialect, seed) {
            (Name::Spark2, Some(seed)) => Some(spark_seed(seed)?),
            _ => None,
        };
        let given = [
            ("seed", seed.is_some() && spark_seed.is_none()),
            ("secret", secret.is_some()),
            ("store_secret", store_secret),
            ("label", label.is_some()),
        ];
        if let Some((argument, _)) = given.iter().find(|(_, given)| *given) {
            require_native(argument, dialect)?;
        }
        let hashing = match (secret, seed) {
            (Some(_), Some(_)) => return Err(errors::value("give a seed or a secret, not both")),
            (Some(secret), None) => Hashing::Secret(secret),
            (None, _) if store_secret => {
                return Err(errors::value("store_secret: there is no secret to store"));
            }
            (None, Some(seed)) if spark_seed.is_none() => Hashing::Seed(native_seed(seed)?),
            (None, _) => Hashing::Seed(0),
        };
        let target = size.target()?;
        let (dynamic, compact) = (None, false);
        Ok(NewFilter { dialect, target, hashing, spark_seed, store_secret, label, dynamic, compact })
    }

    /// Makes a filter of kind dynamic.
    pub fn with_dynamic(self, dynamic: Option<Dynamic>) -> PyResult<NewFilter> {
        if dynamic.is_some() {
            require_native("kind", self.dialect)?;
        }
        Ok(NewFilter { dynamic, ..self })
    }

    /// Makes a filter of this kind, which is built from all its keys.
    pub fn of_kind(self, kind: &str) -> PyResult<NewFilter> {
        let compact = match kind {
            "fast" => false,
            "compact" => true,
            "dynamic" => {
                return Err(errors::value("a dynamic filter grows with its keys: use Filter.with_capacity"));
            }
            _ => {
                return Err(errors::value(format_args!(
                    "kind is \"fast\" or \"compact\" here, not {kind:?}"
                )));
            }
        };
        if compact {
            require_native("kind", self.dialect)?;
        }
        Ok(NewFilter { compact, ..self })
    }

    /// Whether the number of expected keys makes no difference.
    pub fn ignores_expected_keys(&self) -> bool {
        self.compact || any::ignores_expected_keys(self.dialect, self.target)
    }

    /// The builder of a compact filter.
    fn compact(&self, expected_keys: u64, threads: usize) -> PyResult<CompactBuilder> {
        let Target::Fpr(fpr) = self.target else {
            return Err(errors::value("a compact filter is sized by fpr"));
        };
        let builder = CompactBuilder::new(fpr).map_err(errors::size)?;
        Ok(builder.hashing(self.hashing.clone()).threads(threads).expected_keys(expected_keys))
    }

    /// The label and the way to store the secret, for a compact filter.
    pub fn finish_compact(&self, filter: &mut CompactFilter) {
        filter.set_label(self.label.as_deref().unwrap_or_default());
        filter.store_secret(self.store_secret);
    }

    fn request(&self, expected_keys: u64) -> Request {
        Request { expected_keys, target: self.target }
    }

    fn dynamic(&self, expected_keys: u64, dynamic: Dynamic) -> PyResult<AnyFilter> {
        let Target::Fpr(fpr) = self.target else {
            return Err(errors::value("a dynamic filter is sized by fpr"));
        };
        let options = DynamicOptions::new(expected_keys, fpr)
            .up_to(dynamic.up_to.unwrap_or(expected_keys))
            .mode(dynamic.mode()?)
            .hashing(self.hashing.clone());
        let mut filter = DynamicFilter::new(options).map_err(errors::size)?;
        if dynamic.expire.is_some() {
            filter.advance(SystemTime::now()).map_err(errors::size)?;
        }
        filter.set_label(self.label.as_deref().unwrap_or_default());
        filter.store_secret(self.store_secret);
        Ok(StoredFilter::Dynamic(filter).into())
    }

    fn native(&self, expected_keys: u64) -> PyResult<AnyFilter> {
        if let Some(dynamic) = self.dynamic {
            return self.dynamic(expected_keys, dynamic);
        }
        let sizing = Sizing::new(&self.request(expected_keys)).map_err(errors::size)?;
        let mut filter = NativeFilter::with_sizing(&sizing, self.hashing.clone()).map_err(errors::size)?;
        filter.set_label(self.label.as_deref().unwrap_or_default());
        filter.store_secret(self.store_secret);
        Ok(filter.into())
    }

    /// An empty filter for this many keys, which takes keys at any time.
    pub fn empty(&self, expected_keys: u64) -> PyResult<AnyFilter> {
        match self.dialect {
            Name::Native => self.native(expected_keys),
            dialect if any::is_built_at_once(dialect) => Err(errors::value(format_args!(
                "a {dialect} filter is built from all its keys at once: use Filter.build"
            ))),
            dialect => match self.spark_seed {
                None => AnyFilter::new(dialect, &self.request(expected_keys)).map_err(errors::size),
                Some(seed) => {
                    let builder = Builder::spark_2(&self.request(expected_keys), seed);
                    builder.and_then(Builder::finish).map_err(errors::size)
                }
            },
        }
    }

    /// Begins a filter for this many keys, filled by so many threads if it is a native one.
    pub fn begin(&self, expected_keys: u64, threads: usize) -> PyResult<Building> {
        match self.dialect {
            Name::Native if self.compact => {
                let builder = self.compact(expected_keys, threads)?;
                Ok(Building::Compact(Box::new(builder), Vec::new()))
            }
            Name::Native => self.native(expected_keys).map(Building::Native),
            dialect => {
                let request = self.request(expected_keys);
                let builder = match self.spark_seed {
                    None => Builder::new(dialect, &request),
                    Some(seed) => Builder::spark_2(&request, seed),
                };
                builder.map(|builder| Building::Other(builder, dialect)).map_err(errors::size)
            }
        }
    }
}

fn native_seed(seed: i128) -> PyResult<u64> {
    let refused = |_| errors::value(format_args!("a seed is from 0 to {}, not {seed}", u64::MAX));
    u64::try_from(seed).map_err(refused)
}

/// Spark's seed is a Java int.
fn spark_seed(seed: i128) -> PyResult<i32> {
    let refused =
        |_| errors::value(format_args!("a seed of spark-2 is from {} to {}, not {seed}", i32::MIN, i32::MAX));
    i32::try_from(seed).map_err(refused)
}

/// Refuses an argument that only native filters have.
pub fn require_native(argument: &str, dialect: Name) -> PyResult<()> {
    match dialect {
        Name::Native => Ok(()),
        _ => Err(errors::value(format_args!("{argument}: only native filters support this, not {dialect}"))),
    }
}

/// The arguments that describe bytes.
pub fn read_options(
    dialect_name: Option<&str>,
    bits: Option<u64>,
    probes: Option<u32>,
    secret: Option<&[u8]>,
) -> PyResult<ReadOptions> {
    let options =
        ReadOptions::new().dialect(dialect_name.map(dialect).transpose()?).secret(secret_of(secret)?);
    match (bits, probes) {
        (Some(bits), Some(probes)) => Ok(options.geometry(bits, probes)),
        (None, None) => Ok(options),
        _ => Err(errors::value("give bits and probes, or neither")),
    }
}
