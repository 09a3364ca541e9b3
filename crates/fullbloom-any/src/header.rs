//! What the header of a native filter tells an [`AnyFilter`]: kind, key type, secret, label, checksums.

use crate::stored::{StoredFilter, verify};
use crate::{AnyFilter, AnyKeys, ChangeError, Facts, Inner, Kind, NO_SECRET, Unchecked};
use fullbloom::{Hashing, Secret};
use fullbloom_core::error::DecodeError;
#[cfg(feature = "std")]
use fullbloom_core::error::SizeError;
use fullbloom_core::native::head::Head;
use fullbloom_core::typed::{KeyField, KeyForm, KeyType, TypeError};

impl AnyFilter {
    /// The native filter behind it; `None` for other dialects.
    pub fn as_native(&self) -> Option<&StoredFilter> {
        match &self.inner {
            Inner::Native(stored) => Some(stored),
            Inner::Dialect(_) => None,
        }
    }

    /// As [`as_native`](AnyFilter::as_native), to change it.
    pub fn as_native_mut(&mut self) -> Option<&mut StoredFilter> {
        match &mut self.inner {
            Inner::Native(stored) => Some(stored),
            Inner::Dialect(_) => None,
        }
    }

    /// The native filter itself; other filters are returned.
    pub fn into_native(self) -> Result<StoredFilter, AnyFilter> {
        match self.inner {
            Inner::Native(stored) => Ok(*stored),
            Inner::Dialect(_) => Err(self),
        }
    }

    /// What the native kinds share.
    fn head(&self) -> Option<&Head> {
        self.as_native().map(StoredFilter::head)
    }

    /// As `head`, of a filter that owns its memory; `unsupported` is the error for other dialects.
    fn head_mut(&mut self, unsupported: &'static str) -> Result<&mut Head, ChangeError> {
        match &mut self.inner {
            Inner::Native(stored) if stored.is_owned() => Ok(stored.head_mut()),
            Inner::Native(_) => Err(ChangeError::ReadOnly),
            Inner::Dialect(_) => Err(ChangeError::Unsupported(unsupported)),
        }
    }

    /// The same filter for keys of this type. Batches and single keys are given as their bytes
    /// ([`Value::key`](fullbloom_dialects::Name::key)), and hashed as numbers where the system does so. A
    /// native filter that owns its bytes records the type.
    #[must_use]
    pub fn with_key_type(mut self, key_type: KeyType) -> AnyFilter {
        let _ = self.set_key_type(key_type);
        self.assume_key_type(key_type);
        self
    }

    /// Records the type of its keys in a native filter.
    pub fn set_key_type(&mut self, key_type: KeyType) -> Result<(), ChangeError> {
        let head = self.head_mut("only native filters record the type of their keys")?;
        head.set_key_type(Some(key_type));
        Ok(())
    }

    /// Sets the type without recording it: the keys that the filter has already may be of another type.
    pub(super) fn assume_key_type(&mut self, key_type: KeyType) {
        if let Inner::Dialect(filter) = &mut self.inner {
            filter.set_numbers(key_type.is_number());
        }
        self.key_type = key_type;
    }

    /// The type of its keys: the one [set](AnyFilter::with_key_type), or the
    /// [recorded](AnyFilter::recorded_key_type) one, or bytes.
    pub fn key_type(&self) -> KeyType {
        self.key_type
    }

    /// The type of its keys that the encoded filter records. Only native filters do, if their builder knew
    /// it.
    pub fn recorded_key_type(&self) -> Option<KeyType> {
        self.head()?.key_type
    }

    /// The form of its keys that the encoded filter records; only native filters do. The filter does not
    /// bring keys into it: the caller must, and confirms it by
    /// [`key_form_applied`](crate::ReadOptions::key_form_applied).
    pub fn key_form(&self) -> KeyForm {
        self.head().map_or(KeyForm::default(), |head| head.key_form)
    }

    /// The field of a line that its keys were taken from, if the encoded filter records it; only native
    /// filters do. Keys are looked up as they are given: it matters to programs that are given lines.
    pub fn key_field(&self) -> Option<KeyField> {
        self.head()?.key_field
    }

    /// Checks that keys of this type have the bytes of the recorded type. If they do not, the filter surely
    /// contains none of them.
    pub fn require_key_type(&self, given: KeyType) -> Result<(), TypeError> {
        self.head().map_or(Ok(()), |head| head.require_key_type(given))
    }

    /// Tells the filter the type of the keys inserted next. If keys of types with different bytes are
    /// inserted, a native filter records no type.
    pub fn note_key_type(&mut self, key_type: KeyType) {
        match self.as_native_mut() {
            Some(stored) if stored.is_owned() => {
                let is_empty = stored.is_empty();
                stored.head_mut().note_key_type(key_type, is_empty);
            }
            _ => {}
        }
    }

    /// The facts of a native filter of any kind; `None` for other dialects.
    pub fn native_facts(&self) -> Option<Facts> {
        self.as_native().map(StoredFilter::facts)
    }

    /// The kind of a native filter: `fast`, `compact` or `dynamic`; `None` for other dialects.
    pub fn kind(&self) -> Option<Kind> {
        self.as_native().map(StoredFilter::kind)
    }

    /// The seed or the secret of a native filter; `None` for other dialects, and while the secret is unknown.
    pub fn hashing(&self) -> Option<&Hashing> {
        self.head()?.known_hashing()
    }

    /// The secret of a keyed filter, if it is known and not part of the encoded bytes.
    pub fn secret(&self) -> Option<&Secret> {
        self.head()?.unstored_secret()
    }

    /// Sets the clock of a filter with expiry by age; other filters are unchanged.
    ///
    /// # Errors
    /// If there is no memory to drop expired keys: they stay longer.
    #[cfg(feature = "std")]
    pub fn advance(&mut self, now: std::time::SystemTime) -> Result<(), SizeError> {
        match self.as_native_mut() {
            Some(StoredFilter::Dynamic(filter)) => filter.advance(now),
            Some(StoredFilter::FixedDynamic(filter)) => filter.advance(now),
            _ => Ok(()),
        }
    }

    /// Sets the label of a native filter, a text chosen by its owner.
    pub fn set_label(&mut self, label: &str) -> Result<(), ChangeError> {
        self.head_mut("only native filters have a label")?.set_label(label);
        Ok(())
    }

    /// Whether it is keyed and its secret is unknown: it answers "maybe" to every key.
    pub fn is_locked(&self) -> bool {
        self.head().is_some_and(Head::is_locked)
    }

    /// Checks that the filter is not [locked](AnyFilter::is_locked), for programs that give no answer then.
    ///
    /// # Errors
    /// [`ChangeError::Locked`].
    pub fn require_unlocked(&self) -> Result<(), ChangeError> {
        if self.is_locked() { Err(ChangeError::Locked) } else { Ok(()) }
    }

    /// Gives a keyed filter its secret. Fails when it is the secret of another filter. A filter that is not
    /// locked is unchanged.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        match self.as_native_mut() {
            Some(stored) => stored.unlock(secret),
            None => Err(DecodeError::Unknown { what: NO_SECRET }),
        }
    }

    /// Checks every byte of a native filter against its checksums, for filters that [`open`](AnyFilter::open)
    /// read in place without checking. Filters that own their bits were checked when they were read.
    pub fn verify(&self) -> Result<(), DecodeError> {
        match (self.unchecked.as_deref(), self.kind()) {
            (None, _) => Ok(()),
            // Its lines must also be consistent with each other.
            (Some(Unchecked { file, .. }), Some(Kind::Dynamic)) => verify(file.as_ref()),
            (Some(Unchecked { file, chunks }), _) => chunks.check_all(file.as_ref()),
        }
    }

    /// As [`verify`](AnyFilter::verify), but compares only the parts of the file that the answers for these
    /// keys depend on, each once: a damaged part is an error before it becomes an answer.
    pub fn verify_keys<'k>(&self, keys: impl Into<AnyKeys<'k>>) -> Result<(), DecodeError> {
        let Some(Unchecked { file, chunks }) = self.unchecked.as_deref() else { return Ok(()) };
        match self.as_native() {
            Some(StoredFilter::FixedFast(filter)) if !filter.is_locked() => {
                chunks.check_keys(file.as_ref(), filter.shape(), filter.hasher(), &keys.into())
            }
            _ => chunks.check_all(file.as_ref()),
        }
    }

    /// Whether the encoded filter contains the secret of its hash, so that only its owner should be able to
    /// read it.
    pub fn stores_secret(&self) -> bool {
        self.head().is_some_and(|head| head.store_secret)
    }
}
