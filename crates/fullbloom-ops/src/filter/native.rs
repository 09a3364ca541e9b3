//! What only native filters record: its plan, its hash, its exceptions, its kind.

use crate::text;
use fullbloom::native::{Facts, GenerationFacts, HashFacts, Keep, KindFacts, LinkFacts};
use fullbloom::typed::KeyType;
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// The numbers of a native filter beyond its bits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NativeRecord {
    /// Lines of 512 bits that each key has; not for kinds of several filters.
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
    /// The exceptions: keys that are always answered "no".
    pub exceptions: Option<ExceptionRecord>,
    /// The type of its keys: bytes, string, int or long; null if it is not recorded.
    pub key_type: Option<&'static str>,
    /// The label in the file.
    pub label: String,
    /// The kind.
    #[serde(flatten)]
    pub kind: KindRecord,
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

/// The kind of a native filter, and what only that kind has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum KindRecord {
    /// One filter.
    Fast,
    /// A chain of filters that grows.
    Growing {
        /// The filters.
        links: Vec<LinkRecord>,
    },
    /// One filter with counters, so that keys can be deleted.
    Removing {
        /// Bytes of the counters.
        counter_bytes: u64,
        /// Counters that are full and no longer change.
        full_counters: u64,
    },
    /// Filters for parts of the time, so that old keys expire.
    Rotating {
        /// How long keys are remembered, in milliseconds; null if expiry is by keys.
        remember_ms: Option<u64>,
        /// For how many further keys they are remembered; null if expiry is by time.
        remember_keys: Option<u64>,
        /// Number of parts of the time.
        generations_planned: u32,
        /// Inserting a known key again renews it.
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
    /// The record of a filter with these facts.
    pub fn of(facts: &Facts) -> NativeRecord {
        let kind = KindRecord::of(&facts.kind);
        let (keyed, seed, secret_stored) = match facts.hash {
            HashFacts::Keyed { stored, .. } => (true, None, Some(stored)),
            HashFacts::Seed(seed) => (false, Some(seed), None),
        };
        let is_planned = facts.expected_keys > 0 || kind.has_links();
        let layout = facts.layout.filter(|_| !kind.has_links());
        NativeRecord {
            lines: layout.map(|layout| layout.lines()),
            block_lines: layout.map(|layout| layout.block_lines()),
            line_probes: facts.layout.map_or(0, |layout| layout.line_probes()),
            expected_keys: facts.expected_keys,
            new_keys: facts.keys,
            new_keys_estimated: facts.keys_are_estimated,
            planned_fpr: is_planned.then_some(facts.planned_fpr),
            overfull: facts.is_overfull(),
            keyed,
            secret_stored,
            seed,
            exceptions: facts.exceptions.map(|exceptions| ExceptionRecord {
                levels: exceptions.levels as u64,
                listed: exceptions.listed,
                bytes: exceptions.bytes,
            }),
            key_type: facts.key_type.map(KeyType::as_str),
            label: facts.label.clone(),
            kind,
        }
    }

    /// The message if it holds more keys than it was made for.
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
    fn all(links: &[LinkFacts]) -> Vec<LinkRecord> {
        let record = |link: &LinkFacts| LinkRecord {
            keys: link.keys,
            expected_keys: link.expected_keys,
            bits: link.bits,
            probes: link.probes,
            fill: link.fill,
            expected_fpr: link.expected_fpr,
        };
        links.iter().map(record).collect()
    }
}

/// A time in milliseconds since the Unix epoch, as text.
fn time(millis: u64) -> String {
    text::time(SystemTime::UNIX_EPOCH + Duration::from_millis(millis.min(i64::MAX as u64 / 1_000_000)))
}

impl KindRecord {
    fn of(kind: &KindFacts) -> KindRecord {
        match kind {
            KindFacts::Growing { links } => KindRecord::Growing { links: LinkRecord::all(links) },
            KindFacts::Removing { counter_bytes, full_counters } => {
                KindRecord::Removing { counter_bytes: *counter_bytes, full_counters: *full_counters }
            }
            KindFacts::Rotating { rotation, time: clock, generations } => {
                let (remember_ms, remember_keys) = match rotation.keep {
                    Keep::Time(time) => (Some(time.as_millis() as u64), None),
                    Keep::Keys(keys) => (None, Some(keys)),
                };
                let generation = |one: &GenerationFacts| GenerationRecord {
                    opened: time(one.opened),
                    keys: one.keys,
                    expected_fpr: one.expected_fpr,
                    links: LinkRecord::all(&one.links),
                };
                KindRecord::Rotating {
                    remember_ms,
                    remember_keys,
                    generations_planned: rotation.generations,
                    refresh: rotation.refresh,
                    time: time(*clock),
                    generations: generations.iter().map(generation).collect(),
                }
            }
            _ => KindRecord::Fast,
        }
    }

    /// Whether it consists of several filters.
    pub fn has_links(&self) -> bool {
        matches!(self, KindRecord::Growing { .. } | KindRecord::Rotating { .. })
    }
}
