//! What can be said about a filter, for people and for machines.

mod form;
mod native;
mod sstable;
mod table;

pub use native::NativeFacts;
pub use sstable::SstableFacts;
pub use table::TableFacts;

use crate::text;
use fullbloom::any::AnyFilter;
use fullbloom::dialect::Name;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;

/// The numbers of a filter. Collecting them reads the whole array.
#[derive(Debug)]
pub struct Facts {
    path: String,
    dialect: Name,
    bits: u64,
    probes: u32,
    bytes: u64,
    /// Keys that were inserted, where we were there.
    keys: Option<u64>,
    fill: f64,
    estimated_keys: Option<f64>,
    expected_fpr: f64,
    native: Option<NativeFacts>,
    recognised: Option<String>,
    sstable: Option<SstableFacts>,
    /// What holds only for some keys.
    note: Option<&'static str>,
    warnings: Vec<String>,
}

impl Facts {
    /// Nothing has to be said about the file.
    pub fn is_well(&self) -> bool {
        self.warnings.is_empty()
    }

    /// Of a filter that occupies `bytes` bytes of a file.
    pub fn of(path: &Path, filter: &dyn AnyFilter, bytes: u64, mut warnings: Vec<String>) -> Facts {
        let geometry = filter.geometry();
        let weakness = filter.weakness();
        warnings.extend(weakness.filter(|w| w.with_all_keys).map(|w| w.to_string()));
        Facts {
            path: path.display().to_string(),
            dialect: filter.dialect(),
            bits: geometry.bit_len,
            probes: geometry.probes,
            bytes,
            keys: None,
            fill: filter.fill(),
            estimated_keys: filter.estimated_keys(),
            expected_fpr: filter.expected_fpr(),
            native: None,
            recognised: None,
            sstable: None,
            note: weakness.filter(|w| !w.with_all_keys).map(|w| w.why),
            warnings,
        }
    }

    /// Adds what only a native filter has.
    #[must_use]
    pub fn with_native(self, native: Option<NativeFacts>) -> Facts {
        Facts { native, ..self }
    }

    /// Adds how the dialect is known.
    #[must_use]
    pub fn recognised(self, how: &str) -> Facts {
        Facts { recognised: Some(how.to_owned()), ..self }
    }

    /// Adds what the sstable around it tells; what is wrong there is wrong with the filter.
    #[must_use]
    pub fn with_sstable(mut self, sstable: Option<SstableFacts>) -> Facts {
        self.warnings.extend(sstable.iter().flat_map(SstableFacts::damage));
        Facts { sstable, ..self }
    }

    /// Adds the number of keys inserted.
    #[must_use]
    pub fn with_keys(self, keys: u64) -> Facts {
        Facts { keys: Some(keys), ..self }
    }

    /// An object; what cannot be told is null.
    pub fn json(&self) -> Value {
        let mut object = Map::new();
        object.insert("path".into(), self.path.as_str().into());
        object.insert("dialect".into(), self.dialect.as_str().into());
        object.insert("bits".into(), self.bits.into());
        object.insert("probes".into(), self.probes.into());
        object.insert("bytes".into(), self.bytes.into());
        if let Some(keys) = self.keys {
            object.insert("keys".into(), keys.into());
        }
        object.insert("fill".into(), self.fill.into());
        object.insert("estimated_keys".into(), whole(self.estimated_keys));
        object.insert("expected_fpr".into(), self.expected_fpr.into());
        if let Some(native) = &self.native {
            native.add_to(&mut object);
        }
        if let Some(sstable) = &self.sstable {
            sstable.add_to(&mut object);
        }
        if let Some(how) = &self.recognised {
            object.insert("recognised".into(), how.as_str().into());
        }
        if let Some(note) = self.note {
            object.insert("note".into(), note.into());
        }
        object.insert("warnings".into(), self.warnings.as_slice().into());
        Value::Object(object)
    }

    /// A few lines; the first is the path.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", text::printable(&self.path));
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<15} {value}"); // a String takes everything
        };
        line("dialect", format!("{}, {}", self.dialect, self.dialect.about()));
        if let Some(how) = &self.recognised {
            line("recognised", how.clone());
        }
        line("bits", self.bits.to_string());
        line("probes", self.probes.to_string());
        line("bytes", format!("{} ({})", self.bytes, text::bytes(self.bytes)));
        if let Some(keys) = self.keys {
            line("keys", keys.to_string());
        }
        line("fill", text::rate(self.fill));
        let estimate = self.estimated_keys.filter(|keys| keys.is_finite());
        line("estimated keys", estimate.map_or("cannot be told".into(), |keys| format!("{keys:.0}")));
        if let Some(keys) = estimate.filter(|keys| *keys >= 0.5) {
            line("bits per key", text::decimal(self.bits as f64 / keys.round(), 2));
        }
        line("expected rate", text::rate(self.expected_fpr));
        for (name, value) in self.native.iter().flat_map(NativeFacts::lines) {
            line(name, value);
        }
        for (name, value) in self.sstable.iter().flat_map(SstableFacts::lines) {
            line(name, text::printable(&value).into_owned());
        }
        if let Some(note) = self.note {
            line("note", note.to_owned());
        }
        for warning in &self.warnings {
            line("warning", warning.clone());
        }
        text
    }
}

/// The nearest whole number; null for none, or for one no integer holds.
pub fn whole(number: Option<f64>) -> Value {
    match number {
        Some(number) if (0.0..1e18).contains(&number) => (number.round() as u64).into(),
        Some(number) => number.into(),
        None => Value::Null,
    }
}
