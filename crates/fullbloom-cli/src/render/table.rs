//! A table of LevelDB or RocksDB.

use super::Lines;
use crate::text;
use fullbloom_ops::Problem;
use fullbloom_ops::table::{EngineUse, TableRecord};

/// A few lines; the first is the path.
pub fn table(record: &TableRecord, problems: &[Problem]) -> String {
    let mut lines = Lines::new(&record.path);
    let Some(kind) = record.kind else {
        lines.problems(problems);
        return lines.0; // it cannot be read
    };
    lines.line("recognised", record.recognised.unwrap_or_default());
    let (version, checksum) = (record.format_version.unwrap_or(0), record.checksum.unwrap_or_default());
    lines.line("table", format!("format_version {version}, checksum {checksum}"));
    lines.line("keys", record.keys.unwrap_or(0).to_string());
    if kind == "none" {
        lines.line("filter", "none");
        lines.problems(problems);
        return lines.0;
    }
    let dialect =
        record.dialect.map_or("not known".to_owned(), |dialect| format!("{dialect}, {}", dialect.about()));
    lines.line("filter", format!("{kind}, {dialect}"));
    lines.line("policy", record.policy.as_deref().unwrap_or("not named"));
    if kind != "full" {
        lines.line("partitions", record.partitions.unwrap_or(0).to_string());
    }
    lines.line("bits", record.bits.unwrap_or(0).to_string());
    lines.line("probes", probes(record));
    let bytes = record.bytes.unwrap_or(0);
    lines.line("bytes", format!("{bytes} ({})", text::bytes(bytes)));
    let holds = match (record.whole_key.unwrap_or(false), &record.prefix_extractor) {
        (true, None) => "whole keys".to_owned(),
        (true, Some(extractor)) => format!("whole keys and prefixes ({extractor})"),
        (false, Some(extractor)) => format!("prefixes ({extractor})"),
        (false, None) => "nothing".to_owned(),
    };
    lines.line("holds", holds);
    lines.line("fill", text::rate(record.fill.unwrap_or(0.0)));
    if let Some(estimate) = record.estimated_keys.filter(|keys| keys.is_finite()) {
        lines.line("estimated keys", format!("{estimate:.0}"));
    }
    if let Some(bits) = record.bits_per_key {
        lines.line("bits per key", text::decimal(bits, 2));
    }
    lines.line("expected rate", text::rate(record.expected_fpr.unwrap_or(1.0)));
    for EngineUse { releases, used, why } in &record.used_by {
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        lines.line(if *used { "used by" } else { "not used by" }, format!("{releases}{why}"));
    }
    lines.problems(problems);
    lines.0
}

/// The probes; of partitions with different numbers, from the fewest to the most.
pub fn probes(record: &TableRecord) -> String {
    let (fewest, most) = (record.fewest_probes.unwrap_or(0), record.probes.unwrap_or(0));
    if fewest == most { most.to_string() } else { format!("{fewest} to {most}") }
}
