//! The facts that a native filter of any kind reports about itself.

use super::{ExceptionFacts, Generation, GrowingFilter, Hashing, Mode, NativeFilter, Rotation, StoredFilter};
use crate::sizing::Layout;
use crate::typed::KeyType;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// The facts of a native filter beyond its bits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Facts {
    /// How a key's bits are laid out, of a filter that sets bits; of the first filter, if there are several.
    pub layout: Option<Layout>,
    /// How keys are hashed.
    pub hash: HashFacts,
    /// The number of keys it was sized for; 0 when that is unknown or the filter grows.
    pub expected_keys: u64,
    /// Insertions of new keys; for a filter that supports deletion, insertions minus deletions.
    pub keys: u64,
    /// Whether `keys` is an estimate.
    pub keys_are_estimated: bool,
    /// The rate with the expected keys; for a filter that grows, the rate it stays below.
    pub planned_fpr: f64,
    /// The composition of its exceptions.
    pub exceptions: Option<ExceptionFacts>,
    /// The type of its keys, if it is recorded.
    pub key_type: Option<KeyType>,
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
    /// A chain of filters.
    Growing {
        /// Its filters, oldest first.
        links: Vec<LinkFacts>,
    },
    /// A filter with counters.
    Removing {
        /// Bytes of the counters.
        counter_bytes: u64,
        /// Saturated counters, which are never lowered.
        full_counters: u64,
    },
    /// Generations of keys.
    Rotating {
        /// When keys expire.
        rotation: Rotation,
        /// The latest time set, in milliseconds since the Unix epoch.
        time: u64,
        /// The generations that have not expired, newest first.
        generations: Vec<GenerationFacts>,
    },
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

/// One filter of a chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LinkFacts {
    /// Insertions of new keys.
    pub keys: u64,
    /// The number of keys it accepts.
    pub expected_keys: u64,
    /// Length of its array in bits.
    pub bits: u64,
    /// Probes per key.
    pub probes: u32,
    /// Share of bits set.
    pub fill: f64,
    /// Its rate in its current state.
    pub expected_fpr: f64,
}

/// The keys of one period of time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GenerationFacts {
    /// When it began to take keys, in milliseconds since the Unix epoch.
    pub opened: u64,
    /// Its keys.
    pub keys: u64,
    /// Its rate in its current state.
    pub expected_fpr: f64,
    /// Its filters, oldest first.
    pub links: Vec<LinkFacts>,
}

impl Facts {
    /// Whether it holds more keys than it was sized for.
    pub fn is_overfull(&self) -> bool {
        match self.kind {
            KindFacts::Dynamic { up_to, .. } => self.keys > up_to,
            _ => self.expected_keys > 0 && self.keys > self.expected_keys,
        }
    }
}

impl LinkFacts {
    fn of<S: AsRef<[u8]>>(link: &NativeFilter<S>) -> LinkFacts {
        let shape = link.geometry();
        LinkFacts {
            keys: link.keys(),
            expected_keys: link.expected_keys(),
            bits: shape.bit_len,
            probes: shape.probes,
            fill: link.fill(),
            expected_fpr: link.expected_fpr(),
        }
    }

    fn all<S: AsRef<[u8]>>(filter: &GrowingFilter<S>) -> Vec<LinkFacts> {
        filter.links().iter().map(LinkFacts::of).collect()
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// The facts of this filter. Reads the arrays, unless it is a fast filter.
    pub fn facts(&self) -> Facts {
        let first = match self {
            StoredFilter::Fast(filter) => Some(filter),
            StoredFilter::Growing(filter) => filter.links().first(),
            StoredFilter::Removing(filter) => Some(filter.filter()),
            StoredFilter::Rotating(filter) => Some(filter.link()),
            StoredFilter::Dynamic(_) => None,
        };
        let (expected_keys, keys, planned_fpr) = match (self, first) {
            (StoredFilter::Growing(all), _) => (0, all.keys(), all.planned_fpr()),
            (StoredFilter::Rotating(all), _) => (0, all.keys(), all.planned_fpr()),
            (StoredFilter::Dynamic(all), _) => (all.expected_keys(), all.keys(), all.planned_fpr()),
            (_, Some(first)) => (first.expected_keys(), first.keys(), first.planned_fpr()),
            (_, None) => (0, 0, 0.0),
        };
        Facts {
            layout: first.map(NativeFilter::layout),
            hash: match self.hashing() {
                _ if self.is_locked() => HashFacts::Keyed { stored: false, locked: true },
                Hashing::Secret(_) => HashFacts::Keyed { stored: self.stores_secret(), locked: false },
                Hashing::Seed(seed) => HashFacts::Seed(*seed),
            },
            expected_keys,
            keys,
            keys_are_estimated: match self {
                StoredFilter::Growing(all) => all.keys_are_estimated(),
                _ => first.is_some_and(NativeFilter::keys_are_estimated),
            },
            planned_fpr,
            exceptions: first.and_then(NativeFilter::exceptions),
            key_type: self.key_type(),
            label: self.label().to_owned(),
            kind: self.kind_facts(),
        }
    }

    fn kind_facts(&self) -> KindFacts {
        match self {
            StoredFilter::Fast(_) => KindFacts::Fast,
            StoredFilter::Dynamic(filter) => KindFacts::Dynamic {
                mode: filter.mode(),
                fingerprint_bits: filter.fingerprint_bits(),
                up_to: filter.up_to(),
                time: filter.time_millis(),
                generations: filter.generations().collect(),
            },
            StoredFilter::Growing(filter) => KindFacts::Growing { links: LinkFacts::all(filter) },
            StoredFilter::Removing(filter) => KindFacts::Removing {
                counter_bytes: filter.filter().bits().len() as u64 * 4,
                full_counters: filter.full_counters(),
            },
            StoredFilter::Rotating(filter) => KindFacts::Rotating {
                rotation: filter.rotation(),
                time: filter.clock,
                generations: filter
                    .generations()
                    .map(|one| GenerationFacts {
                        opened: one.opened,
                        keys: one.filter().keys(),
                        expected_fpr: one.filter().expected_fpr(),
                        links: LinkFacts::all(one.filter()),
                    })
                    .collect(),
            },
        }
    }
}
