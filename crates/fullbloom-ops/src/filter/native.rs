//! What only a native filter can say about itself: its plan, its hash, its exceptions, its form.

use crate::text;
use fullbloom::native::{GrowingFilter, Hashing, Keep, NativeFilter, StoredFilter};
use serde::Serialize;

/// The numbers of a native filter beyond its bits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NativeRecord {
    /// Lines of 512 bits that each key has; not for forms of several filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Lines of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_lines: Option<u64>,
    /// Bits that a key sets in each of its lines.
    #[serde(skip)]
    pub line_probes: u32,
    /// Keys it was made for; 0 if that is not known.
    pub expected_keys: u64,
    /// Keys that were new when they were inserted.
    pub new_keys: u64,
    /// The number is an estimate: filters were merged.
    pub new_keys_estimated: bool,
    /// The rate it was made for, where that is known.
    pub planned_fpr: Option<f64>,
    /// It holds more keys than it was made for.
    pub overfull: bool,
    /// Its hash is keyed with a secret.
    pub keyed: bool,
    /// The secret is in the file; null if it is not keyed.
    pub secret_stored: Option<bool>,
    /// The seed of its hash; null if it is keyed.
    pub seed: Option<u64>,
    /// Keys that are answered "no".
    pub exceptions: Option<ExceptionRecord>,
    /// The label in the file.
    pub label: String,
    /// The form.
    #[serde(flatten)]
    pub form: FormRecord,
}

/// The exceptions of a native filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ExceptionRecord {
    /// Filters of exceptions, each over the one before.
    pub levels: u64,
    /// Hashes listed one by one.
    pub listed: u64,
    /// Bytes they take.
    pub bytes: u64,
}

/// The form of a native filter, and what only that form has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "form", rename_all = "lowercase")]
pub enum FormRecord {
    /// One filter.
    Plain,
    /// A chain of filters that grows.
    Growing {
        /// The filters.
        links: Vec<LinkRecord>,
    },
    /// One filter with counters, so that keys can be deleted.
    Removing {
        /// Bytes of the counters.
        counter_bytes: u64,
        /// Counters that stay as they are, because they are full.
        full_counters: u64,
    },
    /// Filters for parts of the time, so that old keys expire.
    Rotating {
        /// How long keys are remembered, in milliseconds; null if that goes by keys.
        remember_ms: Option<u64>,
        /// For how many further keys they are remembered; null if that goes by time.
        remember_keys: Option<u64>,
        /// Parts that the time is cut into.
        generations_planned: u32,
        /// A key that comes again is remembered anew.
        refresh: bool,
        /// When the filter was last used.
        time: String,
        /// The parts, newest first.
        generations: Vec<GenerationRecord>,
    },
}

/// One filter of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinkRecord {
    /// Keys in it.
    pub keys: u64,
    /// Keys it was made for.
    pub expected_keys: u64,
    /// Its bits.
    pub bits: u64,
    /// Its probes.
    pub probes: u32,
    /// Share of bits set.
    pub fill: f64,
    /// The rate to expect.
    pub expected_fpr: f64,
}

/// The keys of one part of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GenerationRecord {
    /// When it began.
    pub opened: String,
    /// Keys in it.
    pub keys: u64,
    /// The rate to expect.
    pub expected_fpr: f64,
    /// Its filters.
    pub links: Vec<LinkRecord>,
}

impl NativeRecord {
    /// Of this filter. Only a plain one does not need its bits for it.
    pub fn of<S: AsRef<[u8]>>(stored: &StoredFilter<S>) -> NativeRecord {
        let form = FormRecord::of(stored);
        let filter = stored.first();
        let (expected_keys, new_keys, planned_fpr) = match stored {
            StoredFilter::Growing(all) => (0, all.keys(), Some(all.planned_fpr())),
            StoredFilter::Rotating(all) => (0, all.keys(), Some(all.planned_fpr())),
            _ => {
                let expected = filter.expected_keys();
                (expected, filter.keys(), (expected > 0).then(|| filter.planned_fpr()))
            }
        };
        let (keyed, seed, secret_stored) = match filter.hashing() {
            _ if stored.is_locked() => (true, None, Some(false)),
            Hashing::Secret(_) => (true, None, Some(filter.stores_secret())),
            Hashing::Seed(seed) => (false, Some(*seed), None),
        };
        let layout = filter.layout();
        let exceptions = match stored {
            StoredFilter::Plain(plain) => plain.exceptions(),
            _ => None,
        };
        NativeRecord {
            lines: (!form.has_links()).then(|| layout.lines()),
            block_lines: (!form.has_links()).then(|| layout.block_lines()),
            line_probes: layout.line_probes(),
            expected_keys,
            new_keys,
            new_keys_estimated: match stored {
                StoredFilter::Growing(all) => all.keys_are_estimated(),
                _ => filter.keys_are_estimated(),
            },
            planned_fpr,
            overfull: expected_keys > 0 && new_keys > expected_keys,
            keyed,
            secret_stored,
            seed,
            exceptions: exceptions.map(|exceptions| ExceptionRecord {
                levels: exceptions.levels as u64,
                listed: exceptions.listed,
                bytes: exceptions.bytes,
            }),
            label: filter.label().to_owned(),
            form,
        }
    }

    /// What to say if it holds more keys than it was made for.
    pub fn overfull_message(&self) -> Option<String> {
        let planned_fpr = self.planned_fpr.filter(|_| self.overfull)?;
        Some(format!(
            "holds {} new keys, more than the {} it was made for at a rate of {}",
            self.new_keys,
            self.expected_keys,
            text::rate(planned_fpr),
        ))
    }
}

impl LinkRecord {
    fn of<S: AsRef<[u8]>>(link: &NativeFilter<S>) -> LinkRecord {
        let shape = link.geometry();
        LinkRecord {
            keys: link.keys(),
            expected_keys: link.expected_keys(),
            bits: shape.bit_len,
            probes: shape.probes,
            fill: link.fill(),
            expected_fpr: link.expected_fpr(),
        }
    }

    fn all<S: AsRef<[u8]>>(filter: &GrowingFilter<S>) -> Vec<LinkRecord> {
        filter.links().iter().map(LinkRecord::of).collect()
    }
}

impl FormRecord {
    fn of<S: AsRef<[u8]>>(stored: &StoredFilter<S>) -> FormRecord {
        match stored {
            StoredFilter::Growing(filter) => FormRecord::Growing { links: LinkRecord::all(filter) },
            StoredFilter::Removing(filter) => FormRecord::Removing {
                counter_bytes: filter.filter().bits().len() as u64 * 4,
                full_counters: filter.full_counters(),
            },
            StoredFilter::Rotating(filter) => {
                let rotation = filter.rotation();
                let (remember_ms, remember_keys) = match rotation.keep {
                    Keep::Time(time) => (Some(time.as_millis() as u64), None),
                    Keep::Keys(keys) => (None, Some(keys)),
                };
                let generation = filter.generations().map(|one| GenerationRecord {
                    opened: text::time(one.opened()),
                    keys: one.filter().keys(),
                    expected_fpr: one.filter().expected_fpr(),
                    links: LinkRecord::all(one.filter()),
                });
                FormRecord::Rotating {
                    remember_ms,
                    remember_keys,
                    generations_planned: rotation.generations,
                    refresh: rotation.refresh,
                    time: text::time(filter.time()),
                    generations: generation.collect(),
                }
            }
            _ => FormRecord::Plain,
        }
    }

    /// Whether it is several filters.
    pub fn has_links(&self) -> bool {
        matches!(self, FormRecord::Growing { .. } | FormRecord::Rotating { .. })
    }
}
