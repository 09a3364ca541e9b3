//! The facts that a native filter of any kind reports about itself.

use crate::kind::Kind;
use crate::stored::{StoredFilter, each_kind};
use alloc::string::String;
use alloc::vec::Vec;
use fullbloom::Hashing;
use fullbloom::exceptions::ExceptionFacts;
use fullbloom_compact::CompactFacts;
use fullbloom_core::sizing::Layout;
use fullbloom_core::typed::{KeyField, KeyForm, KeyType};
use fullbloom_dynamic::{DynamicFilter, Generation, Mode};

/// The facts of a native filter beyond its bits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Facts {
    /// How a key's bits are laid out, of a fast filter.
    pub layout: Option<Layout>,
    /// How keys are hashed.
    pub hash: HashFacts,
    /// The number of keys it was sized for; 0 when that is unknown.
    pub expected_keys: u64,
    /// The number of keys; for a filter that supports deletion, insertions minus deletions.
    pub keys: u64,
    /// Whether `keys` is estimated from the bits, as for every fast filter.
    pub keys_are_estimated: bool,
    /// Whether it holds more keys than it was sized for; for a dynamic filter, than it keeps its rate for.
    pub is_overfull: bool,
    /// The rate with the expected keys; for a dynamic filter, with the promised number of keys.
    pub planned_fpr: f64,
    /// The composition of its exceptions.
    pub exceptions: Option<ExceptionFacts>,
    /// The type of its keys, if it is recorded.
    pub key_type: Option<KeyType>,
    /// The form that its keys were brought into, and that keys must have that are looked up.
    pub key_form: KeyForm,
    /// The field of a line that its keys were taken from, if it is recorded.
    pub key_field: Option<KeyField>,
    /// The label set by the owner.
    pub label: String,
    /// Facts specific to its kind.
    pub kind: KindFacts,
}

/// How keys are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashFacts {
    /// With this public seed.
    Seed(u64),
    /// With a secret.
    Keyed {
        /// Whether the secret is in the file.
        stored: bool,
        /// Whether the secret is unknown.
        locked: bool,
    },
}

/// Facts specific to one kind of filter.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KindFacts {
    /// One filter of fixed size.
    Fast,
    /// Linear systems in lines, of a set that does not change.
    Compact(CompactFacts),
    /// Fingerprints.
    Dynamic {
        /// What it remembers of keys besides their fingerprints.
        mode: Mode,
        /// Bits of a fingerprint.
        fingerprint_bits: u32,
        /// The number of keys up to which it keeps its rate.
        up_to: u64,
        /// The latest time set, in milliseconds since the Unix epoch, or the number of keys inserted.
        time: u64,
        /// The generations that have not expired, newest first.
        generations: Vec<Generation>,
    },
}

impl StoredFilter {
    /// Whether it has no keys.
    pub(crate) fn is_empty(&self) -> bool {
        let no_bits = |bits: &[u8]| bits.iter().all(|byte| *byte == 0);
        each_kind!(self, filter => fast no_bits(filter.bits()), compact filter.keys() == 0, dynamic {
            filter.keys() == 0
        })
    }

    /// The number of its keys; see [`Facts::keys`].
    pub fn keys(&self) -> u64 {
        each_kind!(self, filter => filter.keys())
    }

    /// Whether it holds more keys than it was sized for; see [`Facts::is_overfull`].
    pub fn is_overfull(&self) -> bool {
        each_kind!(self, filter => fast filter.is_overfull(), compact filter.head().is_overfull(), dynamic {
            filter.is_overfull()
        })
    }

    /// The facts of this filter.
    pub fn facts(&self) -> Facts {
        let head = self.head();
        Facts {
            layout: match self {
                StoredFilter::Fast(filter) => Some(filter.layout()),
                StoredFilter::FixedFast(filter) => Some(filter.layout()),
                _ => None,
            },
            hash: match &head.hashing {
                _ if head.is_locked() => HashFacts::Keyed { stored: false, locked: true },
                Hashing::Secret(_) => HashFacts::Keyed { stored: head.store_secret, locked: false },
                Hashing::Seed(seed) => HashFacts::Seed(*seed),
            },
            expected_keys: head.expected_keys,
            keys: self.keys(),
            keys_are_estimated: self.kind() == Kind::Fast,
            is_overfull: self.is_overfull(),
            planned_fpr: each_kind!(self, filter => filter.planned_fpr()),
            exceptions: ExceptionFacts::of(head),
            key_type: head.key_type,
            key_form: head.key_form,
            key_field: head.key_field,
            label: head.label.clone(),
            kind: self.kind_facts(),
        }
    }

    fn kind_facts(&self) -> KindFacts {
        match self {
            StoredFilter::Fast(_) | StoredFilter::FixedFast(_) => KindFacts::Fast,
            StoredFilter::Compact(filter) => KindFacts::Compact(filter.facts()),
            StoredFilter::Dynamic(filter) => dynamic_facts(filter),
            StoredFilter::FixedDynamic(filter) => dynamic_facts(filter),
        }
    }
}

fn dynamic_facts<S: AsRef<[u8]>>(filter: &DynamicFilter<S>) -> KindFacts {
    KindFacts::Dynamic {
        mode: filter.mode(),
        fingerprint_bits: filter.fingerprint_bits(),
        up_to: filter.up_to(),
        time: filter.time_millis(),
        generations: filter.generations().collect(),
    }
}
