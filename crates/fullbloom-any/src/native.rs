//! The native kinds behind an [`AnyFilter`](super::AnyFilter).

use super::erased::{Erased, NOT_DELETABLE, READ_ONLY, of_one_type};
use super::memory::Keeper;
use super::{AT_ONCE, AnyFilter, AnyKeys, ChangeError, KeyHash};
use crate::facts::Facts;
use crate::kind::Kind;
use crate::stored::StoredFilter;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use fullbloom::Filter;
use fullbloom::{Hashing, Secret};
use fullbloom_core::error::{DecodeError, MergeError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::native::chunks::Chunks;
use fullbloom_core::sizing::{Geometry, Request};
use fullbloom_core::typed::{KeyField, KeyForm, KeyType, TypeError, Value};
use fullbloom_core::wire::{Output, Stop};
use fullbloom_dialects::Name;
use fullbloom_dialects::filter::Part;
use fullbloom_dynamic::RemoveError;

/// A native filter of any kind, over owned memory or over bytes that are kept alive with it.
pub(super) enum Native {
    /// Mutable.
    Owned(StoredFilter),
    /// Read only.
    Kept(Kept),
}

/// A filter over bytes that are kept alive with it.
pub(super) struct Kept {
    pub(super) stored: StoredFilter<Part<Keeper>>,
    /// The chunks that have not been compared with their checksums; `None` if all were when the file was
    /// read.
    pub(super) unchecked: Option<Chunks>,
}

/// Evaluates the same expression over either memory.
macro_rules! stored {
    ($native:expr, $stored:ident => $body:expr) => {
        match $native {
            Native::Owned($stored) => $body,
            Native::Kept(Kept { stored: $stored, .. }) => $body,
        }
    };
}

/// An empty fast filter.
pub(super) fn empty(request: &Request) -> Result<Box<dyn Erased>, SizeError> {
    Ok(Box::new(Native::Owned(StoredFilter::Fast(Filter::new(request)?))))
}

impl Native {
    pub(super) fn facts(&self) -> Facts {
        stored!(self, stored => stored.facts())
    }

    pub(super) fn is_locked(&self) -> bool {
        stored!(self, stored => stored.is_locked())
    }

    pub(super) fn hashing(&self) -> &Hashing {
        stored!(self, stored => stored.hashing())
    }

    pub(super) fn stores_secret(&self) -> bool {
        stored!(self, stored => stored.stores_secret())
    }

    /// Checks all bytes against their checksums that have not been checked before.
    pub(super) fn verify(&self) -> Result<(), DecodeError> {
        let Native::Kept(Kept { stored, unchecked: Some(chunks) }) = self else { return Ok(()) };
        // A dynamic filter that has copied its lines checked all of them before.
        let Some(part) = stored.storage() else { return Ok(()) };
        let file = part.storage().as_ref();
        match stored {
            StoredFilter::Fast(_) | StoredFilter::Compact(_) => chunks.check_all(file),
            // Its lines must also be consistent with each other.
            StoredFilter::Dynamic(_) => crate::stored::verify(file),
        }
    }

    pub(super) fn key_type(&self) -> Option<KeyType> {
        stored!(self, stored => stored.key_type())
    }

    pub(super) fn key_form(&self) -> KeyForm {
        stored!(self, stored => stored.key_form())
    }

    pub(super) fn key_field(&self) -> Option<KeyField> {
        stored!(self, stored => stored.key_field())
    }

    /// Records the form of its keys and the field they were taken from, if it owns its memory.
    pub(super) fn set_key_origin(&mut self, form: KeyForm, field: Option<KeyField>) {
        if let Native::Owned(stored) = self {
            stored.set_key_form(form);
            stored.set_key_field(field);
        }
    }

    pub(super) fn require_key_type(&self, given: KeyType) -> Result<(), TypeError> {
        stored!(self, stored => stored.require_key_type(given))
    }

    pub(super) fn set_key_type(&mut self, key_type: Option<KeyType>) -> Result<(), ChangeError> {
        match self {
            Native::Kept(_) => Err(ChangeError::ReadOnly),
            Native::Owned(stored) => {
                stored.set_key_type(key_type);
                Ok(())
            }
        }
    }

    /// Records the type of keys that are about to be inserted; none if there are keys of another type.
    pub(super) fn note_key_type(&mut self, key_type: KeyType) {
        let Native::Owned(stored) = self else { return };
        if stored.key_type().is_none() && stored.facts().keys == 0 {
            stored.set_key_type(Some(key_type));
        } else if stored.require_key_type(key_type).is_err() {
            stored.set_key_type(None);
        }
    }

    /// Compares the chunks of a mapped file that these keys depend on.
    pub(super) fn verify_keys(&self, keys: &AnyKeys<'_>) -> Result<(), DecodeError> {
        let Native::Kept(Kept { stored, unchecked: Some(chunks) }) = self else { return Ok(()) };
        // A dynamic filter that has copied its lines checked all of them before.
        let Some(part) = stored.storage() else { return Ok(()) };
        let file = part.storage().as_ref();
        match stored {
            StoredFilter::Fast(filter) if !filter.is_locked() => {
                chunks.check_keys(file, filter.shape(), filter.hasher(), keys)
            }
            _ => chunks.check_all(file),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        stored!(self, stored => stored.kind())
    }

    pub(super) fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        stored!(self, stored => stored.unlock_in_place(secret))
    }

    #[cfg(feature = "std")]
    pub(super) fn advance(&mut self, now: std::time::SystemTime) {
        stored!(self, stored => if let StoredFilter::Dynamic(filter) = stored {
            // Without memory to drop expired keys, they stay longer.
            filter.advance(now).unwrap_or(());
        });
    }

    #[cfg(feature = "std")]
    pub(super) fn replay(&mut self, journal: &fullbloom_dynamic::Journal) -> Result<(), DecodeError> {
        let empty = StoredFilter::Fast(Filter::with_fpr(0, 0.5).map_err(DecodeError::Geometry)?);
        *self = match core::mem::replace(self, Native::Owned(empty)) {
            Native::Owned(stored) => Native::Owned(stored.replay(journal)?),
            Native::Kept(Kept { stored, unchecked }) => {
                Native::Kept(Kept { stored: stored.replay(journal)?, unchecked })
            }
        };
        Ok(())
    }

    pub(super) fn set_label(&mut self, label: &str) -> Result<(), ChangeError> {
        match self {
            Native::Kept(_) => Err(ChangeError::ReadOnly),
            Native::Owned(stored) => {
                stored.set_label(label);
                Ok(())
            }
        }
    }

    /// The filter itself if its memory is its own; the whole otherwise.
    pub(super) fn owned(self: Box<Self>) -> Result<StoredFilter, Box<Native>> {
        match *self {
            Native::Owned(stored) => Ok(stored),
            kept => Err(Box::new(kept)),
        }
    }

    fn changeable(&mut self) -> Result<&mut StoredFilter, ChangeError> {
        self.require_takes_keys()?;
        match self {
            Native::Owned(stored) => Ok(stored),
            Native::Kept(_) => Err(ChangeError::ReadOnly),
        }
    }

    /// Two filters of one kind, the first of them mutable.
    fn pair<'a>(
        &'a mut self,
        other: &'a dyn Erased,
    ) -> Result<(&'a mut StoredFilter, &'a Native), MergeError> {
        let theirs = of_one_type(self, other)?;
        MergeError::require_equal("kind", self.kind().as_str(), theirs.kind().as_str())?;
        match self {
            Native::Owned(ours) => Ok((ours, theirs)),
            Native::Kept(_) => {
                Err(MergeError::Unsupported { dialect: Name::Native.as_str(), why: READ_ONLY })
            }
        }
    }
}

/// Why a compact filter does not change.
const BUILT_AT_ONCE: ChangeError = ChangeError::BuiltAtOnce(Kind::Compact.as_str());

/// The error for filters that cannot be merged or intersected.
fn unsupported(why: &'static str) -> MergeError {
    MergeError::Unsupported { dialect: Name::Native.as_str(), why }
}

impl Erased for Native {
    fn name(&self) -> Name {
        Name::Native
    }

    /// Of fingerprints: the bits of the array, in the file or in memory, and one probe.
    fn geometry(&self) -> Geometry {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.geometry(),
            StoredFilter::Compact(filter) => filter.geometry(),
            StoredFilter::Dynamic(filter) => {
                Geometry { bit_len: filter.array_len().saturating_mul(8), block_len: 512, probes: 1 }
            }
        })
    }

    fn set_numbers(&mut self, _: bool) {}

    fn may_contain(&self, key: &[u8]) -> bool {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.may_contain(key),
            StoredFilter::Dynamic(filter) => filter.may_contain(key),
            StoredFilter::Compact(filter) => filter.may_contain(key),
        })
    }

    fn hash(&self, key: &[u8]) -> [u64; 2] {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => [filter.hash(key), 0],
            StoredFilter::Dynamic(filter) => [filter.hash(key), 0],
            StoredFilter::Compact(filter) => [filter.hash(key), 0],
        })
    }

    fn hash_variant(&self) -> (u32, u64) {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.head().hash_variant(),
            // Whatever part of it the fingerprints keep, a dynamic filter is given the whole hash.
            StoredFilter::Dynamic(filter) => filter.hashing().variant(64),
            StoredFilter::Compact(filter) => filter.head().hash_variant(),
        })
    }

    fn may_contain_hash(&self, hash: &KeyHash) -> Option<bool> {
        let [word, _] = hash.words();
        let ours = |is_locked: bool, variant| !is_locked && hash.is_by(Name::Native, variant);
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => {
                let ours = ours(filter.is_locked(), filter.head().hash_variant());
                ours.then(|| filter.may_contain_hash(word))
            }
            StoredFilter::Dynamic(filter) => {
                let ours = ours(filter.is_locked(), filter.hashing().variant(64));
                ours.then(|| filter.may_contain_hash(word))
            }
            StoredFilter::Compact(filter) => {
                let ours = ours(filter.is_locked(), filter.head().hash_variant());
                ours.then(|| filter.may_contain_hash(word))
            }
        })
    }

    fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        Name::Native.key(value).map(|key| self.may_contain(key.as_ref()))
    }

    fn may_contain_batch(&self, keys: &AnyKeys<'_>, answers: Answers<'_>) {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.may_contain_batch(keys, answers),
            StoredFilter::Dynamic(filter) => filter.may_contain_batch(keys, answers),
            StoredFilter::Compact(filter) => filter.may_contain_batch(keys, answers),
        });
    }

    fn encoded_len(&self) -> u64 {
        stored!(self, stored => stored.encoded_len())
    }

    fn bits(&self) -> &[u8] {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.bits(),
            StoredFilter::Compact(filter) => filter.bits(),
            StoredFilter::Dynamic(_) => &[],
        })
    }

    fn probes_of(&self, key: &[u8]) -> Option<Vec<u64>> {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.probes_of(key),
            StoredFilter::Compact(_) | StoredFilter::Dynamic(_) => None,
        })
    }

    fn is_owned(&self) -> bool {
        matches!(self, Native::Owned(_))
    }

    fn count_ones(&self) -> u64 {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.count_ones(),
            StoredFilter::Compact(filter) => filter.count_ones(),
            StoredFilter::Dynamic(_) => 0,
        })
    }

    fn expected_fpr(&self) -> f64 {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.expected_fpr(),
            StoredFilter::Dynamic(filter) => filter.expected_fpr(),
            StoredFilter::Compact(filter) => filter.expected_fpr(),
        })
    }

    fn estimated_keys(&self) -> Option<f64> {
        stored!(self, stored => match stored {
            StoredFilter::Fast(filter) => filter.estimated_keys(),
            StoredFilter::Compact(filter) => Some(filter.keys() as f64),
            StoredFilter::Dynamic(filter) => Some(filter.keys() as f64),
        })
    }

    fn encode(&self, out: &mut dyn Output) -> Result<(), Stop> {
        stored!(self, stored => stored.encode_to(out))
    }

    fn try_clone(&self) -> Result<Box<dyn Erased>, SizeError> {
        let clone = stored!(self, stored => stored.try_clone())?;
        Ok(Box::new(Native::Owned(clone)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn native(&self) -> Option<&Native> {
        Some(self)
    }

    fn native_mut(&mut self) -> Option<&mut Native> {
        Some(self)
    }

    fn require_takes_keys(&self) -> Result<(), ChangeError> {
        match self {
            _ if self.is_locked() => Err(ChangeError::Locked),
            Native::Kept(_) => Err(ChangeError::ReadOnly),
            Native::Owned(StoredFilter::Compact(_)) => Err(BUILT_AT_ONCE),
            Native::Owned(StoredFilter::Fast(filter)) if !filter.takes_keys() => Err(ChangeError::Exceptions),
            Native::Owned(_) => Ok(()),
        }
    }

    fn insert_batch(&mut self, keys: &AnyKeys<'_>, new: Option<Answers<'_>>) -> Result<(), ChangeError> {
        match (self.changeable()?, new) {
            (StoredFilter::Fast(filter), Some(new)) => filter.insert_batch_new(keys, new),
            (StoredFilter::Fast(filter), None) => filter.insert_batch(keys),
            (StoredFilter::Dynamic(filter), Some(new)) => {
                filter.insert_batch_new(keys, new)?;
            }
            (StoredFilter::Dynamic(filter), None) => {
                filter.insert_batch(keys)?;
            }
            (StoredFilter::Compact(_), _) => return Err(BUILT_AT_ONCE),
        }
        Ok(())
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ChangeError> {
        match self.changeable()? {
            StoredFilter::Fast(filter) => Ok(filter.insert(key)),
            StoredFilter::Compact(_) => Err(BUILT_AT_ONCE),
            StoredFilter::Dynamic(filter) => Ok(filter.insert(key)?),
        }
    }

    #[cfg(feature = "std")]
    fn insert_parallel(&mut self, keys: &AnyKeys<'_>, threads: usize) -> Result<(), ChangeError> {
        if let StoredFilter::Fast(filter) = self.changeable()? {
            filter.insert_parallel(keys, threads);
            return Ok(());
        }
        self.insert_batch(keys, None)
    }

    fn remove_batch(&mut self, keys: &AnyKeys<'_>, removed: Answers<'_>) -> Result<u64, ChangeError> {
        match self.changeable()? {
            StoredFilter::Dynamic(filter) => filter.remove_batch(keys, removed).map_err(|e| match e {
                RemoveError::Size(e) => ChangeError::Size(e),
                _ => ChangeError::Unsupported(NOT_DELETABLE),
            }),
            _ => Err(ChangeError::Unsupported(NOT_DELETABLE)),
        }
    }

    fn clear(&mut self) -> Result<(), ChangeError> {
        match self.changeable()? {
            StoredFilter::Fast(filter) => filter.clear(),
            StoredFilter::Compact(_) => return Err(BUILT_AT_ONCE),
            StoredFilter::Dynamic(filter) => filter.clear()?,
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
        let (ours, theirs) = self.pair(other)?;
        stored!(theirs, theirs => match (ours, theirs) {
            (StoredFilter::Fast(ours), StoredFilter::Fast(theirs)) => ours.merge(theirs),
            (StoredFilter::Dynamic(ours), StoredFilter::Dynamic(theirs)) => ours.merge(theirs),
            _ => Err(MergeError::Unsupported { dialect: Kind::Compact.as_str(), why: AT_ONCE }),
        })
    }

    fn intersect(&mut self, other: &dyn Erased) -> Result<(), MergeError> {
        let (ours, theirs) = self.pair(other)?;
        stored!(theirs, theirs => match (ours, theirs) {
            (StoredFilter::Fast(ours), StoredFilter::Fast(theirs)) => ours.intersect(theirs),
            _ => Err(unsupported("only fast filters can be intersected")),
        })
    }
}

impl AnyFilter {
    /// The native filter behind it, if it owns its memory; `None` for other dialects, and for bytes that are
    /// read in place.
    pub fn as_native(&self) -> Option<&StoredFilter> {
        match self.inner.native()? {
            Native::Owned(stored) => Some(stored),
            Native::Kept(_) => None,
        }
    }

    /// As [`as_native`](AnyFilter::as_native), to change it.
    pub fn as_native_mut(&mut self) -> Option<&mut StoredFilter> {
        match self.inner.native_mut()? {
            Native::Owned(stored) => Some(stored),
            Native::Kept(_) => None,
        }
    }
}
