//! What the sstable around a `Filter.db` tells about it.

use crate::cassandra::inspect::flags_json;
use crate::text;
use fullbloom_sstable::report::{self, Inspection};
use fullbloom_sstable::{ComponentError, Flag, Severity, Sstable};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Keys and remarks, from the components beside the filter.
#[derive(Debug)]
pub struct SstableFacts(Inspection);

impl SstableFacts {
    /// Of the sstable this file is the filter of; `None` if it lies alone.
    pub fn of(path: &Path) -> Option<SstableFacts> {
        let sstable = Sstable::of_file(path).ok()?;
        let mut seen = report::inspect(&sstable);
        // A filter that was copied out of its directory has no index, and what is wrong with its own bytes is told already.
        seen.flags.retain(|flag| {
            !matches!(
                flag,
                Flag::Filter(_) | Flag::Keys(ComponentError::Missing { .. }) | Flag::ComponentsMissing(_)
            )
        });
        (sstable.components.len() > 1).then_some(SstableFacts(seen))
    }

    /// What makes reads go wrong.
    pub fn damage(&self) -> impl Iterator<Item = String> {
        self.0.flags.iter().filter(|flag| flag.severity() == Severity::Damage).map(Flag::to_string)
    }

    /// Adds the fields.
    pub fn add_to(&self, object: &mut Map<String, Value>) {
        object.insert("keys".into(), self.0.keys.into());
        object.insert("bits_per_key".into(), json!(self.0.bits_per_key()));
        object.insert("recorded_fpr".into(), json!(self.0.recorded.fpr()));
        object.insert("flags".into(), flags_json(&self.0.flags).into());
    }

    /// The lines for people, without the damage.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some(keys) = self.0.keys {
            lines.push(("keys in index", keys.to_string()));
        }
        if let Some(fpr) = self.0.recorded.fpr() {
            lines.push(("recorded rate", text::rate(fpr)));
        }
        let rest = self.0.flags.iter().filter(|flag| flag.severity() < Severity::Damage);
        lines.extend(rest.map(|flag| ("note", flag.to_string())));
        lines
    }
}
