//! What only native filters record: its plan, its hash, its exceptions, its kind.

use crate::text;
use fullbloom_any::{Facts, HashFacts, KindFacts};
use fullbloom_compact::CompactFacts;
use fullbloom_core::typed::{KeyField, KeyType};
use fullbloom_dynamic::{Expiry, Generation, Keep, Mode};
use serde::Serialize;
use std::time::{Duration, SystemTime};

/// The numbers of a native filter beyond its bits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NativeRecord {
    /// Lines of 512 bits that each key has; not of kind dynamic.
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
    /// The number of keys; `None` if it is estimated from bits all of which are set.
    pub new_keys: Option<u64>,
    /// The number is estimated from the bits, as for every fast filter.
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
    /// The type of its keys: bytes, text, int or long; null if it is not recorded.
    pub key_type: Option<&'static str>,
    /// Keys are converted to lower case, at insertion and lookup.
    pub ignore_case: bool,
    /// Keys are taken without white space around them, at insertion and lookup.
    pub trim: bool,
    /// The field of a line that its keys were taken from; null if it is not recorded.
    pub key_field: Option<KeyFieldRecord>,
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

/// The field of a line that the keys of a filter were taken from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyFieldRecord {
    /// The number of the field, from 1.
    pub number: u32,
    /// The character between fields.
    pub delimiter: char,
    /// Fields may be in quotes, as in RFC 4180.
    pub quoted: bool,
    /// The same in words.
    #[serde(skip)]
    pub text: String,
}

impl From<KeyField> for KeyFieldRecord {
    fn from(field: KeyField) -> Self {
        let (number, delimiter) = (field.number(), field.delimiter().into());
        KeyFieldRecord { number, delimiter, quoted: field.is_quoted(), text: field.to_string() }
    }
}

/// The kind of a native filter, and what only that kind has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum KindRecord {
    /// One filter.
    Fast,
    /// Fingerprints of keys: it grows, and supports deletion or expiry if its mode says so.
    Dynamic(DynamicRecord),
    /// Linear systems in lines, of a set that does not change.
    Compact {
        /// The fewest columns of a line.
        columns: u32,
        /// The lines of each layer.
        layers: Vec<u64>,
        /// Bytes of the further columns.
        further_bytes: u64,
        /// Hashes in the list.
        listed: u64,
    },
}

/// What only a filter of kind dynamic has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DynamicRecord {
    /// `set`, `counting` (supports deletion) or `expiring`.
    pub mode: &'static str,
    /// Bits of a fingerprint.
    pub fingerprint_bits: u32,
    /// The number of keys up to which it keeps its rate.
    pub up_to: u64,
    /// When keys expire; null if they do not.
    pub expiry: Option<ExpiryRecord>,
    /// Bytes of the journal beside the file, which holds its newest keys; null if there is none.
    pub journal_bytes: Option<u64>,
}

/// When the keys of a filter expire.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpiryRecord {
    /// How long keys are remembered, in milliseconds; null if expiry is by keys.
    pub remember_ms: Option<u64>,
    /// For how many further keys they are remembered; null if expiry is by time.
    pub remember_keys: Option<u64>,
    /// Number of steps in which keys expire.
    pub generations_planned: u32,
    /// Inserting a known key again renews it.
    pub refresh: bool,
    /// When the filter was last used; null if expiry is by keys.
    pub time: Option<String>,
    /// The keys of each step, newest first.
    pub generations: Vec<GenerationRecord>,
}

/// The keys of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GenerationRecord {
    /// When it began: a time, or the number of keys inserted before.
    pub began: String,
    /// Keys in it.
    pub keys: u64,
}

impl NativeRecord {
    /// The record of a filter with these facts.
    pub fn of(facts: &Facts) -> NativeRecord {
        let kind = KindRecord::of(&facts.kind);
        let (keyed, seed, secret_stored) = match facts.hash {
            HashFacts::Keyed { stored, .. } => (true, None, Some(stored)),
            HashFacts::Seed(seed) => (false, Some(seed), None),
        };
        let is_planned = facts.expected_keys > 0 || matches!(kind, KindRecord::Dynamic(_));
        let layout = facts.layout;
        NativeRecord {
            lines: layout.map(|layout| layout.lines()),
            block_lines: layout.map(|layout| layout.block_lines()),
            line_probes: facts.layout.map_or(0, |layout| layout.line_probes()),
            expected_keys: facts.expected_keys,
            new_keys: (facts.keys != u64::MAX).then_some(facts.keys),
            new_keys_estimated: facts.keys_are_estimated,
            planned_fpr: is_planned.then_some(facts.planned_fpr),
            overfull: facts.is_overfull,
            keyed,
            secret_stored,
            seed,
            exceptions: facts.exceptions.map(|exceptions| ExceptionRecord {
                levels: exceptions.levels as u64,
                listed: exceptions.listed,
                bytes: exceptions.bytes,
            }),
            key_type: facts.key_type.map(KeyType::as_str),
            ignore_case: facts.key_form.ignore_case,
            trim: facts.key_form.trim,
            key_field: facts.key_field.map(KeyFieldRecord::from),
            label: facts.label.clone(),
            kind,
        }
    }

    /// The message if it holds more keys than it was made for.
    pub fn overfull_message(&self) -> Option<String> {
        let planned_fpr = self.planned_fpr.filter(|_| self.overfull)?;
        let made_for = match &self.kind {
            KindRecord::Dynamic(dynamic) => dynamic.up_to,
            KindRecord::Fast | KindRecord::Compact { .. } => self.expected_keys,
        };
        let keys = match self.new_keys {
            None => "an unknown number of keys (every bit is set)".to_owned(),
            Some(keys) if self.new_keys_estimated => format!("about {keys} keys"),
            Some(keys) => format!("{keys} keys"),
        };
        let rate = text::rate(planned_fpr);
        Some(format!("holds {keys}, more than the {made_for} it was made for at a rate of {rate}"))
    }
}

/// A time in milliseconds since the Unix epoch, as text.
fn time(millis: u64) -> String {
    text::time(SystemTime::UNIX_EPOCH + Duration::from_millis(millis.min(i64::MAX as u64 / 1_000_000)))
}

impl KindRecord {
    fn of(kind: &KindFacts) -> KindRecord {
        match kind {
            KindFacts::Dynamic { mode, fingerprint_bits, up_to, time: clock, generations } => {
                let expiry = match mode {
                    Mode::Expiring(expiry) => Some(ExpiryRecord::of(expiry, *clock, generations)),
                    _ => None,
                };
                let (mode, fingerprint_bits, up_to) = (mode.name(), *fingerprint_bits, *up_to);
                KindRecord::Dynamic(DynamicRecord {
                    mode,
                    fingerprint_bits,
                    up_to,
                    expiry,
                    journal_bytes: None,
                })
            }
            KindFacts::Compact(CompactFacts { columns, layers, further_bytes, listed, .. }) => {
                KindRecord::Compact {
                    columns: *columns,
                    layers: layers.clone(),
                    further_bytes: *further_bytes,
                    listed: *listed,
                }
            }
            _ => KindRecord::Fast,
        }
    }
}

impl ExpiryRecord {
    fn of(expiry: &Expiry, clock: u64, generations: &[Generation]) -> ExpiryRecord {
        let (remember_ms, remember_keys) = match expiry.keep {
            Keep::Time(time) => (Some(time.as_millis() as u64), None),
            Keep::Keys(keys) => (None, Some(keys)),
        };
        let generation = |one: &Generation| GenerationRecord {
            began: if remember_ms.is_some() { time(one.began) } else { one.began.to_string() },
            keys: one.keys,
        };
        ExpiryRecord {
            remember_ms,
            remember_keys,
            generations_planned: expiry.generations,
            refresh: expiry.refresh,
            time: remember_ms.map(|_| time(clock)),
            generations: generations.iter().map(generation).collect(),
        }
    }
}
