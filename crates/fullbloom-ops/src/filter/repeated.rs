//! How many of the keys that were inserted into a new filter are different.

use fullbloom_any::AnyFilter;
use fullbloom_any::{Facts, Kind, KindFacts};
use fullbloom_dynamic::Mode;
use std::fmt;

/// A smaller share of repeated keys is not worth a word.
const WORTH_SAYING: f64 = 0.02;

/// The number of different keys among those that were inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Different {
    /// Counted by 64-bit hashes of all keys.
    Counted(u64),
    /// Counted by a dynamic filter, to which a few new keys look known, or estimated from the set bits.
    About(u64),
}

impl Different {
    /// The number of different keys.
    pub fn keys(self) -> u64 {
        match self {
            Different::Counted(keys) | Different::About(keys) => keys,
        }
    }
}

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Different::Counted(keys) => keys.fmt(f),
            Different::About(keys) => write!(f, "about {keys}"),
        }
    }
}

impl Different {
    /// The different keys of a filter that this many keys were inserted into; `None` if there are hardly
    /// fewer of them, or if the filter does not know. Costs no second look at the keys.
    pub fn of(filter: &AnyFilter, inserted: u64) -> Option<Different> {
        let different = match filter.native_facts() {
            Some(Facts { kind: KindFacts::Compact { .. }, keys, .. }) => Different::Counted(keys),
            // It counts every copy of a key.
            Some(Facts { kind: KindFacts::Dynamic { mode: Mode::Counting, .. }, .. }) => return None,
            Some(facts) if !facts.keys_are_estimated => Different::About(facts.keys),
            _ => Different::About(filter.estimated_keys().filter(|keys| keys.is_finite())?.round() as u64),
        };
        // Of the keys that look repeated, some are false positives; an estimate may be wrong by as much.
        let usual = if filter.kind() == Some(Kind::Compact) { 0.0 } else { 2.0 * filter.expected_fpr() };
        let repeated = inserted.saturating_sub(different.keys()) as f64;
        (repeated > inserted as f64 * WORTH_SAYING.max(usual)).then_some(different)
    }
}
