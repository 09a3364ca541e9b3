//! A filter file.

use super::Lines;
use crate::text;
use fullbloom_core::typed::KeyForm;
use fullbloom_ops::Problem;
use fullbloom_ops::filter::{ExceptionRecord, ExpiryRecord, FilterRecord, KindRecord, NativeRecord};
use std::time::Duration;

/// A few lines; the first is the path.
pub fn filter(record: &FilterRecord, problems: &[Problem]) -> String {
    let mut lines = Lines::new(&record.path);
    lines.line("dialect", format!("{}, {}", record.dialect, record.dialect.about()));
    if let Some(how) = &record.recognised {
        lines.line("recognised", how);
    }
    // A dynamic filter has fingerprints: it probes nothing, and grows before it is full.
    let is_dynamic =
        record.native.as_ref().is_some_and(|native| matches!(native.kind, KindRecord::Dynamic(_)));
    lines.line("bits", record.bits.to_string());
    if !is_dynamic {
        lines.line("probes", record.probes.to_string());
    }
    lines.line("bytes", format!("{} ({})", record.bytes, text::bytes(record.bytes)));
    if let Some(keys) = record.keys {
        lines.line("keys", keys.to_string());
    }
    if !is_dynamic {
        lines.line("fill", text::rate(record.fill));
    }
    lines.line("estimated keys", estimate(record.estimated_keys));
    if let Some(bits) = record.bits_per_key() {
        lines.line("bits per key", text::decimal(bits, 2));
    }
    lines.line("expected rate", text::rate(record.expected_fpr));
    if let Some(record) = &record.native {
        native(&mut lines, record);
    }
    lines.problems(problems);
    lines.0
}

/// An estimated number of keys.
pub fn estimate(keys: Option<f64>) -> String {
    keys.filter(|keys| keys.is_finite())
        .map_or("unknown: all bits are set".into(), |keys| format!("{keys:.0}"))
}

fn native(lines: &mut Lines, record: &NativeRecord) {
    kind(lines, record);
    if let (Some(count), Some(block_lines)) = (record.lines, record.block_lines) {
        lines.line("layout", layout(count, block_lines, record.line_probes));
    }
    match (&record.kind, record.planned_fpr) {
        (KindRecord::Fast, Some(fpr)) if record.expected_keys > 0 => {
            lines
                .line("sized for", format!("{} keys at a rate of {}", record.expected_keys, text::rate(fpr)));
        }
        (KindRecord::Fast, _) => {}
        _ => lines.line("keys in it", record.new_keys.map_or("unknown".to_owned(), |keys| keys.to_string())),
    }
    lines.line(
        "hash",
        match (record.seed, record.secret_stored) {
            (Some(seed), _) => format!("fold64, seed {seed}"),
            (None, Some(true)) => "keyed; the secret is in the file".to_owned(),
            (None, _) => "keyed; the secret is not in the file".to_owned(),
        },
    );
    if let Some(key_type) = record.key_type {
        lines.line("key type", key_type);
    }
    let form = KeyForm { trim: record.trim, ignore_case: record.ignore_case };
    if !form.is_plain() {
        lines.line("key form", format!("{form}; lookups do the same"));
    }
    if let Some(field) = &record.key_field {
        lines.line("key field", format!("{}; lookups of lines need -f", field.text));
    }
    if let Some(ExceptionRecord { levels, listed, bytes }) = record.exceptions {
        let hashes = format!("{listed} {}", if listed == 1 { "hash" } else { "hashes" });
        let how = match levels {
            0 => hashes,
            _ => format!("{} and {hashes}", text::counted(levels, "level")),
        };
        lines.line("exceptions", format!("{how} in {}", text::bytes(bytes)));
    }
    if !record.label.is_empty() {
        lines.line("label", &record.label);
    }
}

fn layout(lines: u32, block_lines: u64, line_probes: u32) -> String {
    let bits = text::counted(line_probes.into(), "bit");
    match lines {
        1 => format!("1 line of 512 bits for each key, {bits} set in it"),
        lines => {
            format!("each key uses {lines} of the {block_lines} lines (512 bits) of a block, {bits} in each")
        }
    }
}

fn kind(lines: &mut Lines, record: &NativeRecord) {
    if let KindRecord::Compact { columns, layers, further_bytes, listed } = &record.kind {
        let count = text::counted(layers.len() as u64, "layer");
        let (lines_, further) = (layers.iter().sum::<u64>(), text::bytes(*further_bytes));
        let listed = format!("{listed} {}", if *listed == 1 { "hash" } else { "hashes" });
        lines.line(
            "kind",
            format!(
                "compact: {columns} columns or one more, {count} of {lines_} lines, further columns in {further}, {listed} listed"
            ),
        );
    }
    let KindRecord::Dynamic(dynamic) = &record.kind else { return };
    let what = match dynamic.mode {
        "counting" => ", it supports deletion",
        "expiring" => ", its keys expire",
        _ => "",
    };
    lines.line("kind", format!("dynamic: it grows{what}; fingerprints of {} bits", dynamic.fingerprint_bits));
    if let Some(fpr) = record.planned_fpr {
        let up_to = text::counted(dynamic.up_to, "key");
        lines.line("promised", format!("a rate of at most {} up to {up_to}", text::rate(fpr)));
    }
    if let Some(record) = &dynamic.expiry {
        expiry(lines, record);
    }
    if let Some(bytes) = dynamic.journal_bytes {
        let what = "beside the file, with its newest keys: keep both together";
        lines.line("journal", format!("{} {what}", text::counted(bytes, "byte")));
    }
}

fn expiry(lines: &mut Lines, record: &ExpiryRecord) {
    let keep = match (record.remember_ms, record.remember_keys) {
        (Some(millis), _) => text::duration(Duration::from_millis(millis)),
        (None, keys) => format!("{} new keys", keys.unwrap_or(0)),
    };
    let since = if record.refresh { "since they last appeared" } else { "since they were new" };
    let parts = text::counted(record.generations_planned.into(), "generation");
    lines.line("expiry", format!("keys are remembered for {keep} {since}, in {parts}"));
    for one in record.generations.iter().filter(|one| one.keys > 0) {
        let since = if record.remember_ms.is_some() { "since" } else { "since key" };
        lines.line("generation", format!("{since} {}: {}", one.began, text::counted(one.keys, "key")));
    }
    if let Some(time) = &record.time {
        lines.line("time", time);
    }
}
