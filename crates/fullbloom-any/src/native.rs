//! The verbs of an [`AnyFilter`](super::AnyFilter) on a native filter.

use crate::stored::{StoredFilter, each_kind};
use crate::{AT_ONCE, AnyKeys, ChangeError, KeyHash, Kind, READ_ONLY};
use alloc::vec::Vec;
use fullbloom::Filter;
use fullbloom_core::error::MergeError;
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::native::head::{Head, lines};
use fullbloom_core::sizing::Geometry;
use fullbloom_core::typed::{TypeError, Value};
use fullbloom_dialects::Name;
use fullbloom_dynamic::RemoveError;

/// Why a key cannot be removed.
pub(crate) const NOT_DELETABLE: &str = "filters of this kind do not support deletion";

/// The error for filters that cannot be merged or intersected.
fn unsupported(dialect: &'static str, why: &'static str) -> MergeError {
    MergeError::Unsupported { dialect, why }
}

impl StoredFilter {
    pub(crate) fn name(&self) -> Name {
        Name::Native
    }

    /// Of fingerprints: the bits of the array, in the file or in memory, and one probe.
    pub(crate) fn geometry(&self) -> Geometry {
        each_kind!(self, filter => fast filter.geometry(), compact filter.geometry(), dynamic {
            Geometry { bit_len: filter.array_len().saturating_mul(8), block_len: 512, probes: 1 }
        })
    }

    /// The verbs of one key are not inlined: those of a dialect's filter, which are one call through the
    /// table, would first save the registers that all the kinds need (2 of 9 ns for a lookup by hash).
    #[inline(never)]
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        each_kind!(self, filter => filter.may_contain(key))
    }

    pub(crate) fn hash(&self, key: &[u8]) -> [u64; 2] {
        [each_kind!(self, filter => filter.hash(key).to_raw()), 0]
    }

    /// Whatever part of it the fingerprints keep, a dynamic filter is given the whole hash.
    pub(crate) fn hash_variant(&self) -> (u32, u64) {
        match self.kind() {
            Kind::Dynamic => self.head().hashing.variant(64),
            Kind::Fast | Kind::Compact => self.head().hash_variant(),
        }
    }

    /// As `may_contain`, for a hash; `None` if it is not the filter's own, or the filter is locked.
    #[inline(never)]
    pub(crate) fn may_contain_hash(&self, hash: &KeyHash) -> Option<bool> {
        let [word, _] = hash.words();
        let ours = |head: &Head, variant| !head.is_locked() && hash.is_by(Name::Native, variant);
        each_kind!(self, filter => fast {
            ours(filter.head(), filter.head().hash_variant()).then(|| filter.may_contain_raw(word))
        }, compact {
            ours(filter.head(), filter.head().hash_variant()).then(|| filter.may_contain_raw(word))
        }, dynamic {
            ours(filter.head(), filter.hashing().variant(64)).then(|| filter.may_contain_raw(word))
        })
    }

    pub(crate) fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        Name::Native.key(value).map(|key| self.may_contain(key.as_ref()))
    }

    pub(crate) fn may_contain_batch(&self, keys: &AnyKeys<'_>, answers: Answers<'_>) {
        each_kind!(self, filter => filter.may_contain_batch_into(keys, answers))
            .expect("the caller's places");
    }

    pub(crate) fn bits(&self) -> &[u8] {
        match self {
            StoredFilter::Fast(filter) => filter.bits(),
            StoredFilter::FixedFast(filter) => filter.bits(),
            StoredFilter::Compact(filter) => filter.bits(),
            StoredFilter::Dynamic(_) | StoredFilter::FixedDynamic(_) => &[],
        }
    }

    pub(crate) fn probes_of(&self, key: &[u8]) -> Option<Vec<u64>> {
        match self {
            StoredFilter::Fast(filter) => filter.probes_of(key),
            StoredFilter::FixedFast(filter) => filter.probes_of(key),
            _ => None,
        }
    }

    pub(crate) fn count_ones(&self) -> u64 {
        match self {
            StoredFilter::Fast(filter) => filter.count_ones(),
            StoredFilter::FixedFast(filter) => filter.count_ones(),
            StoredFilter::Compact(filter) => filter.count_ones(),
            StoredFilter::Dynamic(_) | StoredFilter::FixedDynamic(_) => 0,
        }
    }

    /// Set bits, estimated keys and expected rate.
    pub(crate) fn occupancy(&self) -> (u64, Option<f64>, f64) {
        match self {
            StoredFilter::Fast(filter) => fast_occupancy(filter),
            StoredFilter::FixedFast(filter) => fast_occupancy(filter),
            StoredFilter::Compact(filter) => {
                let (set_bits, fpr) = filter.occupancy();
                (set_bits, Some(filter.keys() as f64), fpr)
            }
            // Its counts are exact and in memory.
            _ => (0, self.estimated_keys(), self.expected_fpr()),
        }
    }

    pub(crate) fn expected_fpr(&self) -> f64 {
        each_kind!(self, filter => filter.expected_fpr())
    }

    pub(crate) fn estimated_keys(&self) -> Option<f64> {
        each_kind!(self, filter => fast filter.estimated_keys(), compact Some(filter.keys() as f64), dynamic {
            Some(filter.keys() as f64)
        })
    }

    pub(crate) fn require_takes_keys(&self) -> Result<(), ChangeError> {
        match self {
            _ if self.head().is_locked() => Err(ChangeError::Locked),
            _ if !self.is_owned() => Err(ChangeError::ReadOnly),
            StoredFilter::Fast(_) | StoredFilter::Dynamic(_) => Ok(()),
            StoredFilter::FixedFast(_) => Err(ChangeError::Exceptions),
            StoredFilter::Compact(_) | StoredFilter::FixedDynamic(_) => {
                Err(ChangeError::BuiltAtOnce(self.kind().as_str()))
            }
        }
    }

    /// The error of a filter that takes no keys.
    #[cold]
    fn refused<T>(&self) -> Result<T, ChangeError> {
        self.require_takes_keys().and(Err(ChangeError::ReadOnly))
    }

    #[inline(never)]
    pub(crate) fn insert(&mut self, key: &[u8]) -> Result<bool, ChangeError> {
        match self {
            StoredFilter::Fast(filter) => Ok(filter.insert(key)),
            StoredFilter::Dynamic(filter) => Ok(filter.insert(key)?),
            other => other.refused(),
        }
    }

    pub(crate) fn insert_batch(
        &mut self,
        keys: &AnyKeys<'_>,
        new: Option<Answers<'_>>,
    ) -> Result<(), ChangeError> {
        match (self, new) {
            (StoredFilter::Fast(filter), Some(new)) => Ok(filter.insert_batch_new(keys, new)?),
            (StoredFilter::Fast(filter), None) => Ok(filter.insert_batch(keys)?),
            (StoredFilter::Dynamic(filter), Some(new)) => Ok(filter.insert_batch_new(keys, new)?),
            (StoredFilter::Dynamic(filter), None) => Ok(filter.insert_batch(keys)?),
            (other, _) => other.refused(),
        }
    }

    pub(crate) fn remove_batch(
        &mut self,
        keys: &AnyKeys<'_>,
        removed: Answers<'_>,
    ) -> Result<(), ChangeError> {
        self.require_takes_keys()?;
        let StoredFilter::Dynamic(filter) = self else { return Err(ChangeError::Unsupported(NOT_DELETABLE)) };
        filter.remove_batch(keys, removed).map_err(|e| match e {
            RemoveError::Change(e) => e.into(),
            _ => ChangeError::Unsupported(NOT_DELETABLE),
        })
    }

    pub(crate) fn clear(&mut self) -> Result<(), ChangeError> {
        match self {
            StoredFilter::Fast(filter) => filter.clear()?,
            StoredFilter::Dynamic(filter) => filter.clear()?,
            other => return other.refused(),
        }
        Ok(())
    }

    /// Checks that both are of one kind, and that this one can be changed.
    fn require_mergeable(&self, other: &StoredFilter) -> Result<(), MergeError> {
        MergeError::require_equal("kind", self.kind().as_str(), other.kind().as_str())?;
        if self.is_owned() { Ok(()) } else { Err(unsupported(Name::Native.as_str(), READ_ONLY)) }
    }

    pub(crate) fn merge(&mut self, other: &StoredFilter) -> Result<(), MergeError> {
        self.require_mergeable(other)?;
        match (self, other) {
            (StoredFilter::Fast(ours), StoredFilter::Fast(theirs)) => ours.merge(theirs),
            (StoredFilter::Fast(ours), StoredFilter::FixedFast(theirs)) => ours.merge(theirs),
            (StoredFilter::Dynamic(ours), StoredFilter::Dynamic(theirs)) => ours.merge(theirs),
            (StoredFilter::Dynamic(ours), StoredFilter::FixedDynamic(theirs)) => ours.merge(theirs),
            (StoredFilter::FixedFast(_), _) => Err(unsupported(Name::Native.as_str(), FIXED)),
            _ => Err(unsupported(Kind::Compact.as_str(), AT_ONCE)),
        }
    }

    pub(crate) fn intersect(&mut self, other: &StoredFilter) -> Result<(), MergeError> {
        self.require_mergeable(other)?;
        match (self, other) {
            (StoredFilter::Fast(ours), StoredFilter::Fast(theirs)) => ours.intersect(theirs),
            (StoredFilter::Fast(ours), StoredFilter::FixedFast(theirs)) => ours.intersect(theirs),
            (StoredFilter::FixedFast(_), _) => Err(unsupported(Name::Native.as_str(), FIXED)),
            _ => Err(unsupported(Name::Native.as_str(), "only fast filters can be intersected")),
        }
    }
}

/// As of [`StoredFilter::occupancy`], in one pass over the lines.
fn fast_occupancy<S: AsRef<[u8]>>(filter: &Filter<S>) -> (u64, Option<f64>, f64) {
    let (set_bits, share) = filter.shape().occupancy_now(lines(filter.bits()));
    let keys = filter.shape().keys_of(set_bits);
    (set_bits, keys, filter.head().fpr(share, keys))
}

/// Why nothing can be merged into a fast filter that owns its memory and takes no keys.
const FIXED: &str = "one has exceptions, or its secret is not known";
