//! The facts that a file stores besides the shape: one value for all native kinds.

use super::exceptions::Exceptions;
use super::hashing::{Hasher, Hashing, Secret};
use super::key_type;
use crate::error::{DecodeError, MergeError};
use crate::kernel::lines::Line;
use crate::sizing as rates;
use crate::typed::{KeyField, KeyForm, KeyType, TypeError};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;

/// Longest label in bytes.
pub const MAX_LABEL: usize = 65_535;

/// The facts that a file stores besides the shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    pub hashing: Hashing,
    pub expected_keys: u64,
    /// The exact number of keys, in the kinds that know it; 0 in the kind fast, which estimates it from the bits.
    pub keys: u64,
    pub store_secret: bool,
    /// The type of its keys, if that is known.
    pub key_type: Option<KeyType>,
    /// The form that its keys were brought into.
    pub key_form: KeyForm,
    /// The field of a line that its keys were taken from, if that is known.
    pub key_field: Option<KeyField>,
    /// The leading bits of the hash that are used: 64, or fewer in a filter of fingerprints.
    pub hash_bits: u32,
    pub label: String,
    /// The check value of the right secret, if the filter is keyed and its secret is unknown.
    pub locked: Option<u64>,
    pub exceptions: Option<Arc<Exceptions>>,
}

impl Head {
    /// The facts of an empty filter.
    pub fn new(hashing: Hashing, expected_keys: u64) -> Head {
        Head {
            hashing,
            expected_keys,
            keys: 0,
            store_secret: false,
            key_type: None,
            key_form: KeyForm::default(),
            key_field: None,
            hash_bits: 64,
            label: String::new(),
            locked: None,
            exceptions: None,
        }
    }

    /// The hash function of a filter with these facts.
    pub fn hasher(&self) -> Hasher {
        Hasher::new(&self.hashing).leading(self.hash_bits)
    }

    /// What a key's hash depends on. Two filters with the same values take each other's hashes.
    #[inline(always)]
    pub fn hash_variant(&self) -> (u32, u64) {
        self.hashing.variant(self.hash_bits)
    }

    /// `Ok` when both hash keys in the same way, and keys have the same form and no types with different
    /// bytes.
    pub fn same_hash(&self, other: &Head) -> Result<(), MergeError> {
        if let (Some(ours), Some(theirs)) = (self.key_type, other.key_type)
            && key_type::require(Some(ours), theirs).is_err()
        {
            return MergeError::require_equal("the key type", ours, theirs);
        }
        MergeError::require_equal("the form of keys", self.key_form, other.key_form)?;
        MergeError::require_equal("bits of the hash", self.hash_bits, other.hash_bits)?;
        match (&self.hashing, &other.hashing) {
            (Hashing::Seed(ours), Hashing::Seed(theirs)) => {
                MergeError::require_equal("the seed", ours, theirs)
            }
            (Hashing::Secret(ours), Hashing::Secret(theirs)) if ours == theirs => Ok(()),
            (Hashing::Secret(_), Hashing::Secret(_)) => {
                MergeError::require_equal("the secret", "one", "another")
            }
            (Hashing::Seed(_), _) => MergeError::require_equal("the hash", "seeded", "keyed"),
            (Hashing::Secret(_), _) => MergeError::require_equal("the hash", "keyed", "seeded"),
        }
    }

    /// Keeps the field that the keys of one of them were taken from: of lines, it must then be said which
    /// part is the key.
    pub fn merge_key_field(&mut self, other: &Head) {
        self.key_field = self.key_field.or(other.key_field);
    }

    /// Whether there are more keys than expected.
    pub fn is_overfull(&self) -> bool {
        self.expected_keys > 0 && self.keys > self.expected_keys
    }

    /// Whether this estimate of the number of keys is above the expected number by more than three standard deviations.
    pub fn exceeds(&self, keys: u64) -> bool {
        let expected = self.expected_keys;
        expected > 0 && keys > expected.saturating_add(3 * expected.isqrt())
    }

    /// Whether keys can be inserted: there are no exceptions, and if the filter is keyed, its secret is
    /// known.
    pub fn takes_keys(&self) -> bool {
        self.exceptions.is_none() && self.locked.is_none()
    }

    /// `Ok` if keys can be inserted; otherwise why not.
    pub fn require_takes_keys(&self) -> Result<(), &'static str> {
        match (&self.exceptions, self.locked) {
            (_, Some(_)) => {
                Err("the filter's secret is not known: it can be read in place, and takes no keys")
            }
            (Some(_), None) => Err("the filter has exceptions: it can be read in place, and takes no keys"),
            (None, None) => Ok(()),
        }
    }

    /// A key inserted under another hash than the filter's own would be lost, and so might a key among the
    /// exceptions.
    pub fn assert_takes_keys(&self) {
        assert!(self.locked.is_none(), "the filter is locked: its secret is not known");
        assert!(self.exceptions.is_none(), "a filter with exceptions takes no more keys");
    }

    /// Whether a key that the bits report present is one of the exceptions.
    #[inline]
    pub fn excepts(&self, hash: u64) -> bool {
        self.exceptions.as_ref().is_some_and(|exceptions| exceptions.excepts(hash))
    }

    /// The rate of a filter of this many keys (`None`: too many to estimate) whose bits report this share of all
    /// hashes present.
    pub fn fpr(&self, share: f64, keys: Option<f64>) -> f64 {
        let fpr = share * self.kept_share();
        match self.hash_bits {
            64 => fpr,
            shortened => rates::combine(fpr, rates::collision_fpr(keys.unwrap_or(f64::INFINITY), shortened)),
        }
    }

    /// The share of false positives that the exceptions do not reject.
    pub fn kept_share(&self) -> f64 {
        self.exceptions.as_ref().map_or(1.0, |exceptions| exceptions.kept_share())
    }

    /// Whether the filter is keyed and its secret is unknown, so that it answers "maybe" to every key.
    pub fn is_locked(&self) -> bool {
        self.locked.is_some()
    }

    /// The seed or the secret of the hash; `None` while the secret is unknown.
    pub fn known_hashing(&self) -> Option<&Hashing> {
        (!self.is_locked()).then_some(&self.hashing)
    }

    /// The secret of a keyed filter, if it is known and not stored in the file.
    pub fn unstored_secret(&self) -> Option<&Secret> {
        match self.known_hashing()? {
            Hashing::Secret(secret) if !self.store_secret => Some(secret),
            _ => None,
        }
    }

    /// Gives a locked filter its secret. Fails when it is the secret of another filter.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        let Some(expected) = self.locked else { return Ok(()) };
        if secret.check() != expected {
            return Err(DecodeError::Unknown { what: "this is not the filter's secret" });
        }
        self.hashing = Hashing::Secret(secret.clone());
        self.locked = None;
        Ok(())
    }

    /// The secret to be stored in the file.
    pub fn stored_secret(&self) -> Option<&[u8; 16]> {
        match &self.hashing {
            Hashing::Secret(secret) if self.store_secret && self.locked.is_none() => Some(secret.as_bytes()),
            _ => None,
        }
    }

    /// Records the type of the keys. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.key_type = key_type.and_then(key_type::recorded);
    }

    /// Checks that keys of this type can be in the filter: that their bytes are those of the recorded type.
    pub fn require_key_type(&self, given: KeyType) -> Result<(), TypeError> {
        key_type::require(self.key_type, given)
    }

    /// Records the type of keys that are about to be inserted; with keys of types whose bytes differ, no type
    /// is recorded. `is_empty`: the filter has no keys yet.
    pub fn note_key_type(&mut self, key_type: KeyType, is_empty: bool) {
        if self.key_type.is_none() && is_empty {
            self.set_key_type(Some(key_type));
        } else if self.require_key_type(key_type).is_err() {
            self.set_key_type(None);
        }
    }

    /// Sets the label. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        let end = (0..=label.len().min(MAX_LABEL)).rev().find(|&end| label.is_char_boundary(end));
        self.label = label[..end.unwrap_or(0)].to_owned();
    }
}

/// The array as lines. `bits` has the length given by the shape, as was checked when the filter was made.
#[inline(always)]
pub fn lines(bits: &[u8]) -> &[Line] {
    bits.as_chunks().0
}

/// As [`lines`], mutable.
#[inline(always)]
pub fn lines_mut(bits: &mut [u8]) -> &mut [Line] {
    bits.as_chunks_mut().0
}
