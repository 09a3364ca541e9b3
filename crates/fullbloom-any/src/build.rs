//! Run-time filters from keys.

mod except;
mod options;

pub use except::{GoodKeys, Members};
pub use options::BuildOptions;

use super::dispatch::AtRunTime;
use super::erased::Erased;
use super::read::constant;
use super::storage::Storage;
use super::{AnyFilter, AnyKeys};
use crate::kind::Kind;
use alloc::boxed::Box;
use alloc::vec::Vec;
use fullbloom::Hashing;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{BuildError, SizeError};
use fullbloom_core::sealed::Words as _;
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_core::typed::KeyType;
use fullbloom_dialects::filter::{Dialect, Filter, Size};
use fullbloom_dialects::hash::{bloom32_rocksdb, xxph3_rocksdb};
use fullbloom_dialects::rocksdb::{self, FilterType, FullFilter, Policy};
use fullbloom_dialects::spark::optimal_probes;
use fullbloom_dialects::{Name, RocksDb, RocksDbLegacy, Spark2, with_dialect};
use fullbloom_dynamic::DynamicFilter;

/// The full filters of RocksDB, which are built from all their keys at once.
fn full_kind(dialect: Name) -> Option<FilterType> {
    with_dialect!(dialect, D => D::FULL, native => None)
}

/// Whether filters of this dialect are built from all their keys at once, by a [`Builder`], and accept none
/// afterwards.
fn is_built_at_once(dialect: Name) -> bool {
    full_kind(dialect).is_some()
}

/// Whether a [`Builder`] ignores the number of expected keys, because the geometry is given or the filter is
/// sized by the actual number of keys.
fn ignores_expected_keys(dialect: Name, target: Target) -> bool {
    matches!(target, Target::Exact { .. }) || is_built_at_once(dialect)
}

/// The probes of a filter of which only the bits are given, in dialects whose systems have such a call:
/// Spark computes them from the number of keys, and Parquet has no others.
pub fn probes_for(dialect: Name, expected_keys: u64, bits: u64) -> Option<u32> {
    match dialect {
        Name::Parquet => Some(8),
        Name::Spark | Name::Spark2 => Some(optimal_probes(expected_keys.max(1), bits)),
        _ => None,
    }
}

/// The policy that the target means for this number of keys.
pub(super) fn policy(kind: FilterType, keys: u64, target: Target) -> Result<Policy, SizeError> {
    match target {
        Target::BitsPerKey(bits_per_key) => Policy::new(kind, bits_per_key),
        Target::Fpr(fpr) => Policy::for_fpr(kind, keys, fpr),
        Target::Exact { .. } => Err(SizeError::Unsupported {
            dialect: "rocksdb-ribbon",
            what: "a Ribbon filter cannot be sized by bits and probes; give bits per key or a rate",
        }),
    }
}

pub(super) fn boxed<D>(Filter { dialect, bits }: Filter<D, Owned>) -> Box<dyn Erased>
where
    Filter<D, Storage>: Erased,
{
    Box::new(Filter { dialect, bits: Storage::Owned(bits) })
}

/// An empty filter that accepts keys at any time.
pub(super) fn empty(dialect: Name, request: &Request) -> Result<AnyFilter, SizeError> {
    with_dialect!(dialect, D => D::empty(request).map(AnyFilter::from_dialect), native => {
        fullbloom::Filter::new(request).map(AnyFilter::from)
    })
}

/// Collects keys, then becomes a filter. It can build filters of any dialect and any native kind.
///
/// RocksDB's full filters are sized by the actual number of keys, not by the expected one, as in RocksDB. If
/// a key cannot be added (there is no memory to grow, or no room on the disk), the builder
/// [fails](Builder::has_failed), and [`finish`](Builder::finish) returns the error.
pub struct Builder {
    inner: Inner,
    options: BuildOptions,
    noted: Noted,
    inserted: u64,
    failed: Option<BuildError>,
}

/// A large filter is built in parts on several threads.
#[cfg(feature = "std")]
type FastBuilder = fullbloom::bulk::Builder;

#[cfg(not(feature = "std"))]
type FastBuilder = fullbloom::Filter;

enum Inner {
    /// A filter of another dialect, which accepts keys until it is finished.
    Dialect(Box<dyn Erased>),
    /// A native filter of fixed size.
    Fast(Box<FastBuilder>),
    /// A native filter that grows.
    Dynamic(Box<DynamicFilter>),
    /// A native filter that is built from all its keys at once.
    #[cfg(feature = "std")]
    Compact(Box<fullbloom_compact::CompactBuilder>),
    /// Hashes are kept until all keys have been added.
    Full { kind: FilterType, builder: Box<rocksdb::Builder> },
}

/// The types of the keys so far.
#[derive(Clone, Copy)]
enum Noted {
    Nothing,
    /// All keys have the bytes of this type.
    One(KeyType),
    Several,
}

impl core::fmt::Debug for Builder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

impl Builder {
    /// Begins a filter for this request, with the default options.
    pub fn new(dialect: Name, request: &Request) -> Result<Builder, SizeError> {
        Builder::start(
            &BuildOptions::new(dialect).expected_keys(request.expected_keys).target(request.target),
        )
    }

    /// Begins a filter with these options, which go together.
    fn start(options: &BuildOptions) -> Result<Builder, SizeError> {
        let request = options.request();
        let inner = match (full_kind(options.dialect), options.target) {
            (Some(FilterType::Legacy), Target::Exact { .. }) => {
                Inner::Dialect(Filter::<RocksDbLegacy>::new(&request).map(boxed)?)
            }
            (Some(FilterType::FastLocal), Target::Exact { .. }) => {
                Inner::Dialect(Filter::<RocksDb>::new(&request).map(boxed)?)
            }
            (Some(kind), target) => {
                // For a rate, the policy for zero keys: it refuses an invalid rate, and is replaced at the
                // end.
                Inner::Full { kind, builder: Box::new(rocksdb::Builder::new(policy(kind, 0, target)?)) }
            }
            (None, _) => match options.spark_seed {
                Some(seed) => Inner::Dialect(spark_2(&request, seed)?),
                None => {
                    with_dialect!(options.dialect, D => Inner::Dialect(D::empty(&request)?), native => {
                        start_native(options)?
                    })
                }
            },
        };
        let (noted, inserted, failed) = (Noted::Nothing, 0, None);
        let builder = Builder { inner, options: options.clone(), noted, inserted, failed };
        Ok(match options.key_type {
            Some(key_type) => builder.with_key_type(key_type),
            None => builder,
        })
    }

    /// Sets the type of the keys, which are given as their bytes
    /// ([`Value::key`](fullbloom_dialects::Name::key)). A native filter records it.
    #[must_use]
    pub fn with_key_type(mut self, key_type: KeyType) -> Builder {
        if let Inner::Dialect(filter) = &mut self.inner {
            filter.set_numbers(key_type.is_number());
        }
        self.options.key_type = Some(key_type);
        self
    }

    /// Tells the filter the type of the keys inserted next. If keys of types with different bytes are
    /// inserted, a native filter records no type.
    pub fn note_key_type(&mut self, key_type: KeyType) {
        self.noted = match self.noted {
            Noted::Nothing => Noted::One(key_type),
            Noted::One(first) if !first.has_bytes_of(key_type) => Noted::Several,
            same => same,
        };
    }

    /// The seed or the secret of a native filter, for [`add_hashes`](Builder::add_hashes); `None` for
    /// other dialects.
    pub fn hashing(&self) -> Option<&Hashing> {
        self.options.is_native().then_some(&self.options.hashing)
    }

    /// Adds a key.
    pub fn add(&mut self, key: &[u8]) {
        self.add_batch(&[key]);
    }

    /// Adds keys in this order.
    pub fn add_batch<'k>(&mut self, keys: impl Into<AnyKeys<'k>>) {
        let keys = keys.into();
        if self.failed.is_some() {
            return;
        }
        self.inserted += keys.count() as u64;
        let added = match &mut self.inner {
            Inner::Dialect(filter) => {
                filter.build_batch(&keys);
                Ok(())
            }
            #[cfg(feature = "std")]
            Inner::Fast(builder) => builder.add_batch(&keys).map_err(BuildError::from),
            #[cfg(not(feature = "std"))]
            Inner::Fast(filter) => filter.insert_batch(&keys).map_err(BuildError::from),
            Inner::Dynamic(filter) => filter.insert_batch(&keys).map_err(BuildError::from),
            #[cfg(feature = "std")]
            Inner::Compact(builder) => builder.add_batch(&keys),
            Inner::Full { builder, .. } => builder.add_batch(&keys).map_err(BuildError::from),
        };
        self.failed = added.err();
    }

    /// Adds keys of a native filter by hashes that its [`hashing`](Builder::hashing) made of them.
    ///
    /// # Panics
    /// If the filter is not native.
    #[cfg(feature = "std")]
    pub fn add_hashes(&mut self, hashes: &[u64]) {
        if self.failed.is_some() {
            return;
        }
        self.inserted += hashes.len() as u64;
        let hashes = &self.options.hashing.hashes(hashes);
        let added = match &mut self.inner {
            Inner::Fast(builder) => builder.add_batch(hashes).map_err(BuildError::from),
            Inner::Dynamic(filter) => filter.insert_batch(hashes).map_err(BuildError::from),
            Inner::Compact(builder) => builder.add_batch(hashes),
            Inner::Dialect(_) | Inner::Full { .. } => panic!("only native filters take hashes"),
        };
        self.failed = added.err();
    }

    /// The dialect of the filter, and [`KeyHasher::variant`](fullbloom_core::keys::KeyHasher::variant).
    pub(super) fn hash_variant(&self) -> (Name, (u32, u64)) {
        match &self.inner {
            Inner::Dialect(filter) => (filter.name(), filter.hash_variant()),
            Inner::Full { .. } => (self.options.dialect, (0, 0)),
            _ => (Name::Native, self.options.hashing.variant(64)),
        }
    }

    /// The hash of a key as words.
    pub(super) fn hash_words(&self, key: &[u8]) -> [u64; 2] {
        match &self.inner {
            Inner::Dialect(filter) => filter.hash(key),
            Inner::Full { kind: FilterType::Legacy, .. } => bloom32_rocksdb(key).to_words(),
            Inner::Full { .. } => xxph3_rocksdb(key).to_words(),
            _ => [self.options.hashing.hash(key).to_raw(), 0],
        }
    }

    /// Insertions so far, repeated keys included.
    pub fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Whether a key could not be added: [`finish`](Builder::finish) returns an error, and more keys are
    /// ignored.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The number of keys that a filter is sized for, if more have been added, so that its rate is higher
    /// than requested. `None` for native filters, whose [facts](AnyFilter::native_facts) say so.
    pub fn exceeded(&self) -> Option<u64> {
        let options = &self.options;
        // A native filter knows the number of its keys, and says itself when they are too many.
        let raises_rate =
            !options.is_native() && !options.ignores_expected_keys() && options.target != Target::Fpr(1.0);
        options.expected_keys.filter(|sized_for| raises_rate && self.inserted > *sized_for)
    }

    /// The encoded filter of the keys added.
    pub fn finish(self) -> Result<Vec<u8>, BuildError> {
        self.build().map(|filter| filter.encode())
    }

    /// The filter of the keys added.
    pub fn build(self) -> Result<AnyFilter, BuildError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let options = self.options;
        let mut filter: AnyFilter = match self.inner {
            Inner::Dialect(filter) => AnyFilter::from_dialect(filter),
            #[cfg(feature = "std")]
            Inner::Fast(builder) => builder.build().into(),
            #[cfg(not(feature = "std"))]
            Inner::Fast(filter) => (*filter).into(),
            Inner::Dynamic(filter) => (*filter).into(),
            #[cfg(feature = "std")]
            Inner::Compact(builder) => builder.build()?.into(),
            Inner::Full { kind, mut builder } => {
                builder.set_policy(policy(kind, builder.entries(), options.target)?);
                AnyFilter::from_dialect(match builder.build() {
                    Ok(FullFilter::Nothing) => constant(options.dialect, false),
                    Ok(FullFilter::Everything) => constant(options.dialect, true),
                    Ok(FullFilter::Legacy(filter)) => boxed(filter),
                    Ok(FullFilter::FastLocal(filter)) => boxed(filter),
                    Ok(FullFilter::Ribbon(filter)) => boxed(filter),
                    Err(rocksdb::BuildError::Size(e)) => return Err(e.into()),
                    Err(e) => unreachable!("{e}: corruption detection is off"),
                })
            }
        };
        if let (Noted::One(key_type), Some(stored)) = (self.noted, filter.as_native_mut()) {
            stored.head_mut().set_key_type(Some(key_type));
        }
        Ok(options.describe(filter))
    }
}

fn start_native(options: &BuildOptions) -> Result<Inner, SizeError> {
    Ok(match options.kind {
        Kind::Dynamic => Inner::Dynamic(Box::new(options.dynamic()?)),
        #[cfg(feature = "std")]
        Kind::Fast => Inner::Fast(Box::new(fullbloom::bulk::Builder::new(options.fast()?, options.threads))),
        #[cfg(feature = "std")]
        Kind::Compact => {
            let Target::Fpr(fpr) = options.target else {
                let what = "a compact filter is sized by a rate";
                return Err(SizeError::Unsupported { dialect: "native", what });
            };
            let builder = fullbloom_compact::CompactBuilder::new(fpr)?
                .hashing(options.hashing.clone())
                .threads(options.threads);
            let builder = match options.memory {
                Some(memory) => builder.memory(memory),
                None => builder,
            };
            let builder = match &options.spool_in {
                Some(directory) => builder.spool_in(directory),
                None => builder,
            };
            Inner::Compact(Box::new(builder.expected_keys(options.expected_keys.unwrap_or(0))))
        }
        #[cfg(not(feature = "std"))]
        Kind::Fast => Inner::Fast(Box::new(options.fast()?)),
        #[cfg(not(feature = "std"))]
        Kind::Compact => {
            let what = "compact filters are built with the feature std";
            return Err(SizeError::Unsupported { dialect: "native", what });
        }
    })
}

/// An empty `spark-2` filter whose hashes start from this seed.
fn spark_2(request: &Request, seed: i32) -> Result<Box<dyn Erased>, SizeError> {
    let Geometry { bit_len, probes, .. } = Spark2::size(request)?.geometry();
    Filter::<Spark2>::with_seed(bit_len, probes, seed).map(boxed)
}
