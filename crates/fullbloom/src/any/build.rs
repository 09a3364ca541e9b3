//! Run-time filters from keys.

use super::dispatch::AtRunTime;
use super::erased::Erased;
use super::memory::Memory;
use super::native::Native;
use super::read::constant;
use super::{AnyFilter, AnyKeys};
use crate::bits::Owned;
use crate::dialect::rocksdb::{self, BuildError, FullFilter, Kind, Policy};
use crate::dialect::spark::optimal_probes;
use crate::dialect::{Name, RocksDb, RocksDbLegacy, Spark2, with_dialect};
use crate::error::SizeError;
use crate::filter::{Dialect, Filter, Size};
use crate::native::{Hashing, NativeFilter, Sizing, StoredFilter};
use crate::sizing::{Geometry, Request, Target};
use crate::typed::KeyType;
use alloc::boxed::Box;

/// The full filters of RocksDB, which are built from all their keys at once.
pub(super) fn full_kind(dialect: Name) -> Option<Kind> {
    match dialect {
        Name::RocksDbLegacy => Some(Kind::Legacy),
        Name::RocksDb => Some(Kind::FastLocal),
        Name::RocksDbRibbon => Some(Kind::Ribbon),
        _ => None,
    }
}

/// Whether filters of this dialect are built from all their keys at once, by a [`Builder`], and accept none
/// afterwards.
pub fn is_built_at_once(dialect: Name) -> bool {
    full_kind(dialect).is_some()
}

/// Whether a [`Builder`] ignores the number of expected keys, because the geometry is given or the filter is
/// sized by the actual number of keys.
pub fn ignores_expected_keys(dialect: Name, target: Target) -> bool {
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
pub(super) fn policy(kind: Kind, keys: u64, target: Target) -> Result<Policy, SizeError> {
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
    Filter<D, Memory>: Erased,
{
    Box::new(Filter { dialect, bits: Memory::Owned(bits) })
}

pub(super) const BUILT_AT_ONCE: SizeError = SizeError::Unsupported {
    dialect: "rocksdb",
    what: "RocksDB's full filters are built from all their keys at once",
};

/// An empty filter that accepts keys at any time.
pub(super) fn empty(dialect: Name, request: &Request) -> Result<Box<dyn Erased>, SizeError> {
    match full_kind(dialect) {
        Some(_) => Err(BUILT_AT_ONCE),
        None => with_dialect!(dialect, D => D::empty(request)),
    }
}

pub(super) fn native(request: &Request, hashing: Hashing) -> Result<Box<dyn Erased>, SizeError> {
    let filter = NativeFilter::with_sizing(&Sizing::new(request)?, hashing)?;
    Ok(Box::new(Native::Owned(StoredFilter::Fast(filter))))
}

/// Collects keys, then becomes a filter. It can build filters of any dialect.
///
/// RocksDB's full filters are sized by the actual number of keys, not by the expected one, as in RocksDB.
pub struct Builder {
    inner: Inner,
    key_type: Option<KeyType>,
}

enum Inner {
    /// A filter that accepts keys.
    Filter(Box<dyn Erased>),
    /// A large native filter, built in parts on several threads.
    #[cfg(feature = "std")]
    Native(Box<crate::native::Builder>),
    /// Hashes are kept until all keys have been added.
    Full { name: Name, kind: Kind, target: Target, builder: Box<rocksdb::Builder> },
}

impl core::fmt::Debug for Builder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}

impl Builder {
    /// Begins a filter for this request.
    pub fn new(dialect: Name, request: &Request) -> Result<Builder, SizeError> {
        let inner = match (full_kind(dialect), request.target) {
            (Some(Kind::Legacy), Target::Exact { .. }) => {
                Inner::Filter(Filter::<RocksDbLegacy>::new(request).map(boxed)?)
            }
            (Some(Kind::FastLocal), Target::Exact { .. }) => {
                Inner::Filter(Filter::<RocksDb>::new(request).map(boxed)?)
            }
            (Some(kind), target) => {
                // For a rate, the policy for zero keys: it refuses an invalid rate, and is replaced at the
                // end.
                let builder = Box::new(rocksdb::Builder::new(policy(kind, 0, target)?));
                Inner::Full { name: dialect, kind, target, builder }
            }
            #[cfg(feature = "std")]
            (None, _) if dialect == Name::Native => {
                let filter = NativeFilter::with_sizing(&Sizing::new(request)?, Hashing::default())?;
                Inner::Native(Box::new(crate::native::Builder::new(filter, 0)))
            }
            (None, _) => Inner::Filter(empty(dialect, request)?),
        };
        Ok(Builder { inner, key_type: None })
    }

    /// Begins a `spark-2` filter whose hashes start from this seed.
    pub fn spark_2(request: &Request, seed: i32) -> Result<Builder, SizeError> {
        let Geometry { bit_len, probes, .. } = Spark2::size(request)?.geometry();
        let filter = Filter::from_dialect(Spark2::with_seed(bit_len, probes, seed)?)?;
        Ok(Builder { inner: Inner::Filter(boxed(filter)), key_type: None })
    }

    /// Sets the type of the keys, which are given as their bytes ([`Value::key`](crate::typed::Value::key)).
    /// A native filter records it.
    #[must_use]
    pub fn with_key_type(mut self, key_type: KeyType) -> Builder {
        if let Inner::Filter(filter) = &mut self.inner {
            filter.set_numbers(key_type.is_number());
        }
        self.key_type = Some(key_type);
        self
    }

    /// Adds a key.
    pub fn insert(&mut self, key: &[u8]) {
        self.insert_batch(&[key]);
    }

    /// Adds keys in this order.
    pub fn insert_batch<'k>(&mut self, keys: impl Into<AnyKeys<'k>>) {
        let keys = keys.into();
        match &mut self.inner {
            Inner::Filter(filter) => filter.build_batch(&keys),
            #[cfg(feature = "std")]
            Inner::Native(builder) => builder.insert_batch(&keys),
            Inner::Full { builder, .. } => builder.insert_batch(&keys),
        }
    }

    /// The filter of the keys added.
    pub fn finish(self) -> Result<AnyFilter, SizeError> {
        let inner = match self.inner {
            Inner::Filter(filter) => filter,
            #[cfg(feature = "std")]
            Inner::Native(builder) => Box::new(Native::Owned(StoredFilter::Fast(builder.finish()))),
            Inner::Full { name, kind, target, mut builder } => {
                builder.set_policy(policy(kind, builder.entries(), target)?);
                match builder.finish() {
                    Ok(FullFilter::Nothing) => constant(name, false),
                    Ok(FullFilter::Everything) => constant(name, true),
                    Ok(FullFilter::Legacy(filter)) => boxed(filter),
                    Ok(FullFilter::FastLocal(filter)) => boxed(filter),
                    Ok(FullFilter::Ribbon(filter)) => boxed(filter),
                    Err(BuildError::Size(e)) => return Err(e),
                    Err(e @ (BuildError::HashesChanged | BuildError::KeysLost { .. })) => {
                        unreachable!("{e}: corruption detection is off")
                    }
                }
            }
        };
        let filter = AnyFilter::from_inner(inner);
        Ok(match self.key_type {
            Some(key_type) => filter.with_key_type(key_type),
            None => filter,
        })
    }
}

impl AnyFilter {
    /// A native filter, hashing with this seed or secret.
    pub fn native(request: &Request, hashing: Hashing) -> Result<AnyFilter, SizeError> {
        native(request, hashing).map(AnyFilter::from_inner)
    }
}

impl From<StoredFilter> for AnyFilter {
    fn from(stored: StoredFilter) -> AnyFilter {
        AnyFilter::from_inner(Box::new(Native::Owned(stored)))
    }
}

impl From<NativeFilter> for AnyFilter {
    fn from(filter: NativeFilter) -> AnyFilter {
        StoredFilter::Fast(filter).into()
    }
}
