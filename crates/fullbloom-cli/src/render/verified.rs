//! What `verify` found in one filter.

use super::Lines;
use crate::text;
use fullbloom_ops::filter::VerifiedFilter;
use fullbloom_ops::report::Counts;
use fullbloom_ops::sstable::VerifiedSstable;
use fullbloom_ops::table::VerifiedTable;
use fullbloom_ops::verify::VerifySummary;
use fullbloom_ops::{Code, Found, Problem, Verified};

/// A few lines; the first is the path. Column chunks are shown together, in a table.
pub fn verified(found: &Found<Verified>) -> String {
    let mut lines = match &found.record {
        Verified::Filter(record) => filter(record),
        Verified::Table(record) => table(record),
        Verified::Sstable(record) => sstable(record, has_no_filter(&found.problems)),
        _ => return String::new(),
    };
    lines.problems(&found.problems);
    lines.0
}

/// The sums, in one line.
pub fn verify_total(summary: &VerifySummary) -> String {
    let Counts { errors, warnings, notes } = summary.problems;
    let mut parts = vec![
        format!("{} looked up", text::counted(summary.keys, "key")),
        format!("{} missing", summary.missing),
        text::counted(errors, "error"),
        text::counted(warnings, "warning"),
    ];
    if notes > 0 {
        parts.push(text::counted(notes, "note"));
    }
    format!("{}: {}\n", text::counted(summary.filters, "filter"), parts.join(", "))
}

/// A key as people know it, and its bytes.
fn key(hex: &str, text: &str) -> String {
    match text.strip_prefix("0x") {
        Some(digits) if digits == hex => format!("{hex} (hex)"),
        _ => format!("{text} (hex {hex})"),
    }
}

fn rate(lines: &mut Lines, measured: Option<f64>, absent: Option<u64>) {
    if let (Some(fpr), Some(absent)) = (measured, absent) {
        lines.line("measured rate", format!("{} of {absent} absent keys", text::rate(fpr)));
    }
}

fn filter(record: &VerifiedFilter) -> Lines {
    let mut lines = Lines::new(&record.path);
    let Some(dialect) = record.dialect else { return lines };
    lines.line("dialect", format!("{dialect}, {}", dialect.about()));
    lines.line("recognised", record.recognised.as_deref().unwrap_or_default());
    let (Some(keys), Some(missing)) = (record.keys, record.missing) else {
        lines.line(
            "read",
            match record.checksums {
                true => "completely, and every checksum is right; --keys looks up keys",
                false => "completely; the format has no checksum: --keys looks up keys",
            },
        );
        return lines;
    };
    lines.line("keys", keys.to_string());
    lines.line("missing", missing.to_string());
    if let (Some(hex), Some(text)) = (&record.first_missing, &record.first_missing_text) {
        lines.line("first missing", key(hex, text));
    }
    rate(&mut lines, record.measured_fpr, record.absent_asked);
    lines.line(
        "rebuilt",
        match record.rebuilt {
            Some("identical") => "identical",
            Some("differs") => "not identical",
            Some("order-dependent") => "not identical: other keys, or these in another order",
            _ => "cannot be rebuilt in the same shape",
        },
    );
    lines
}

fn table(record: &VerifiedTable) -> Lines {
    let mut lines = Lines::new(&record.path);
    let (Some(keys), Some(missing)) = (record.keys, record.missing) else { return lines };
    lines.line("keys", keys.to_string());
    lines.line("missing", missing.to_string());
    let seeks = (record.missing_in_seek.unwrap_or(0), record.missing_in_seek_back.unwrap_or(0));
    if seeks != (0, 0) {
        lines.line("missing in seek", format!("{} forward, {} backward", seeks.0, seeks.1));
    }
    if let (Some(hex), Some(text)) = (&record.first_missing, &record.first_missing_text) {
        lines.line("first missing", key(hex, text));
    }
    match record.measured_fpr {
        Some(_) => rate(&mut lines, record.measured_fpr, record.absent_asked),
        None => lines.line("measured rate", "no absent keys to look up"),
    }
    let bits = record.rebuilt_bits_per_key.map_or(String::new(), |bits| text::decimal(bits, 2));
    lines.line(
        "rebuilt",
        match record.rebuilt {
            Some("identical") => format!("identical, with {bits} bits per key"),
            Some("identical-in-length") => "identical, in the length the allocator chose".to_owned(),
            Some("differs") => "not identical".to_owned(),
            _ => "nothing to build".to_owned(),
        },
    );
    lines
}

fn has_no_filter(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| matches!(problem.code, Code::WrittenWithoutFilter | Code::FilterMissing))
}

fn sstable(record: &VerifiedSstable, has_no_filter: bool) -> Lines {
    let mut lines = Lines::new(&record.path);
    let name = record.table_name();
    lines.line("sstable", format!("{name}, version {}, {}", record.version, record.dialect));
    lines.line("keys", record.keys.to_string());
    // The rate is measured with other keys: if it is known, the filter can be read.
    let unread = if record.measured_fpr.is_some() { "keys" } else { "filter" };
    let unknown = || match has_no_filter {
        true => "unknown: there is no filter".to_owned(),
        false => format!("unknown: the {unread} cannot be read"),
    };
    let missing = record.missing.map_or_else(unknown, |missing| missing.to_string());
    lines.line("missing", missing);
    for (hex, text) in record.missing_keys.iter().zip(&record.missing_keys_text) {
        lines.line("missing key", key(hex, text));
    }
    rate(&mut lines, record.measured_fpr, record.absent_asked);
    match record.rebuilt_identical {
        Some(true) => lines.line("rebuilt", "identical"),
        Some(false) => lines.line("rebuilt", "not identical"),
        None => {}
    }
    lines
}
