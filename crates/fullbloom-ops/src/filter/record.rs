//! What `inspect` reports about a filter file.

use super::native::NativeRecord;
use crate::serialise;
use fullbloom_dialects::Name;
use serde::Serialize;

/// The numbers of a filter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilterRecord {
    /// Where it is.
    pub path: String,
    /// Its dialect.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// Length of the array in bits.
    pub bits: u64,
    /// Probes for each key.
    pub probes: u32,
    /// Bytes of the file that are the filter.
    pub bytes: u64,
    /// Keys that were inserted, where the caller inserted them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<u64>,
    /// Share of bits set.
    pub fill: f64,
    /// The number of keys estimated from the set bits; null if all bits are set.
    #[serde(serialize_with = "serialise::whole")]
    pub estimated_keys: Option<f64>,
    /// The expected rate at this fill.
    pub expected_fpr: f64,
    /// What only a native filter has.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRecord>,
    /// The fill along the filter, if it was asked for: [`InspectOptions::strips`](crate::InspectOptions).
    #[serde(skip)]
    pub strip: Vec<f64>,
    /// How the dialect was detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised: Option<String>,
}

/// What a record says of its filter's origin.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// The filter was just made, by inserting this many keys if that is known.
    Keys(Option<u64>),
    /// The filter is in a file.
    File {
        /// How its dialect was detected.
        recognised: &'a str,
        /// Whether the fill along the filter is asked for.
        strip: bool,
    },
}

/// Bits for each key, where the number of keys is an estimate; `None` without keys.
pub fn bits_per_estimated_key(bits: u64, keys: Option<f64>) -> Option<f64> {
    let keys = keys.filter(|keys| keys.is_finite() && *keys >= 0.5)?;
    Some(bits as f64 / keys.round())
}

impl FilterRecord {
    /// Bits for each key, by the estimate; `None` without keys.
    pub fn bits_per_key(&self) -> Option<f64> {
        bits_per_estimated_key(self.bits, self.estimated_keys)
    }
}
