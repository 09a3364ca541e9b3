//! What can be said about a table and its filter.

use super::whole;
use crate::input::TableFile;
use crate::text;
use fullbloom::dialect::Name;
use fullbloom_table::metaindex::FilterLayout;
use fullbloom_table::{Inspection, TableError};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;

/// How a table is told from other files.
const RECOGNISED: &str = "a table of LevelDB or RocksDB, by the magic number at its end";

/// The numbers of a table's filter.
#[derive(Debug)]
pub struct TableFacts {
    path: String,
    format_version: u32,
    checksum: &'static str,
    found: Inspection,
}

impl TableFacts {
    /// Of an open table. Reads its filter, and all keys where their number is not noted.
    pub fn of(path: &Path, table: &TableFile) -> Result<TableFacts, TableError> {
        let footer = table.footer();
        Ok(TableFacts {
            path: path.display().to_string(),
            format_version: footer.format_version,
            checksum: footer.checksum.as_str(),
            found: table.inspect()?,
        })
    }

    /// What was found.
    pub fn inspection(&self) -> &Inspection {
        &self.found
    }

    /// The layout's name.
    pub fn kind(&self) -> &'static str {
        self.found.layout.map_or("none", |layout| layout.as_str())
    }

    /// The policy as the properties have it, or else as the metaindex has it.
    fn policy(&self) -> Option<&str> {
        self.found.policy_property.as_deref().or(self.found.policy.as_deref())
    }

    /// Our name for the extractor where it is known, else the table's.
    fn prefix_extractor(&self) -> Option<String> {
        let known = self.found.holds.prefixes.map(|extractor| extractor.to_string());
        known.or_else(|| self.found.prefix_extractor.clone())
    }

    /// What is not as it should be.
    pub fn warnings(&self) -> Vec<String> {
        match (self.found.layout, self.found.dialect) {
            (Some(_), None) => {
                vec!["the filter's policy or bytes are not known here: it lets every key pass".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    /// What is as it should be, and may surprise all the same.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (None, Some(policy)) = (self.found.layout, &self.found.policy_property) {
            notes.push(format!("the table names the policy {policy} but has no filter"));
        }
        if self.found.policy_property.as_deref() == Some("ribbonfilter")
            && self.found.dialect == Some(Name::RocksDb)
        {
            notes
                .push("Ribbon was asked for; RocksDB stores a Bloom filter where that is smaller, and in flushed tables".to_owned());
        }
        if self.found.layout == Some(FilterLayout::PerBlock) && self.found.policy_property.is_some() {
            notes.push("RocksDB 7.4 and later ignore per-block filters".to_owned());
        }
        notes
    }

    /// Whether there is nothing to warn of.
    pub fn is_well(&self) -> bool {
        self.warnings().is_empty()
    }

    /// An object; what cannot be told is null.
    pub fn json(&self) -> Value {
        let found = &self.found;
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("path", self.path.as_str().into());
        put("dialect", found.dialect.map_or(Value::Null, |dialect| dialect.as_str().into()));
        put("kind", self.kind().into());
        put("keys", found.keys.into());
        put("bits", found.bits.into());
        put("probes", found.probes.into());
        put("bytes", found.bytes.into());
        put("fill", found.fill().into());
        put("estimated_keys", whole(found.estimated_entries));
        put("expected_fpr", found.expected_fpr.into());
        put("bits_per_key", found.bits_per_key().map_or(Value::Null, Value::from));
        put("partitions", found.partitions.into());
        put("filter_entries", found.entries.map_or(Value::Null, Value::from));
        put("policy", self.policy().map_or(Value::Null, Value::from));
        put("prefix_extractor", self.prefix_extractor().map_or(Value::Null, Value::from));
        put("whole_key", found.holds.whole_keys.into());
        put("format_version", self.format_version.into());
        put("checksum", self.checksum.into());
        put("recognised", RECOGNISED.into());
        put("notes", self.notes().into());
        put("warnings", self.warnings().into());
        Value::Object(object)
    }

    /// A few lines; the first is the path.
    pub fn text(&self) -> String {
        let found = &self.found;
        let mut text = format!("{}\n", text::printable(&self.path));
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<15} {}", text::printable(&value)); // a String takes everything
        };
        line("recognised", RECOGNISED.into());
        line("table", format!("format_version {}, checksum {}", self.format_version, self.checksum));
        line("keys", found.keys.to_string());
        let Some(layout) = found.layout else {
            line("filter", "none".into());
            for note in self.notes() {
                line("note", note);
            }
            return text;
        };
        let dialect =
            found.dialect.map_or("not known".to_owned(), |dialect| format!("{dialect}, {}", dialect.about()));
        line("filter", format!("{}, {dialect}", layout.as_str()));
        line("policy", self.policy().unwrap_or("not named").to_owned());
        if layout != FilterLayout::Full {
            line("partitions", found.partitions.to_string());
        }
        line("bits", found.bits.to_string());
        line("probes", found.probes.to_string());
        line("bytes", format!("{} ({})", found.bytes, text::bytes(found.bytes)));
        let holds = match (found.holds.whole_keys, self.prefix_extractor()) {
            (true, None) => "whole keys".to_owned(),
            (true, Some(extractor)) => format!("whole keys and prefixes ({extractor})"),
            (false, Some(extractor)) => format!("prefixes ({extractor})"),
            (false, None) => "nothing".to_owned(),
        };
        line("holds", holds);
        line("fill", text::rate(found.fill()));
        if let Some(estimate) = found.estimated_entries.filter(|entries| entries.is_finite()) {
            line("estimated keys", format!("{estimate:.0}"));
        }
        if let Some(bits) = found.bits_per_key() {
            line("bits per key", text::decimal(bits, 2));
        }
        line("expected rate", text::rate(found.expected_fpr));
        for note in self.notes() {
            line("note", note);
        }
        for warning in self.warnings() {
            line("warning", warning);
        }
        text
    }
}
