//! What `rebuild` did, or would do.

use crate::text;
use fullbloom_ops::rebuild::{OnOpen, RebuildSummary, Restored};
use fullbloom_ops::sstable::{RebuiltSstable, SstableBefore};
use fullbloom_ops::table::{RebuiltTable, TableBefore};
use fullbloom_ops::{Found, Rebuilt};

/// One line: the old filter and the new one; then where it is.
pub fn rebuilt(found: &Found<Rebuilt>) -> String {
    let text = match &found.record {
        Rebuilt::Sstable(record) => sstable(record),
        Rebuilt::Table(record) => table(record),
        Rebuilt::Restored(record) => restored(record),
        _ => String::new(),
    };
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let old = found
        .problems
        .iter()
        .map(|problem| format!("  the old one: {}: {}\n", problem.code, problem.message));
    let text = format!("{first}\n{}{rest}", old.collect::<String>());
    text.lines().map(|line| text::printable(line).into_owned() + "\n").collect()
}

fn restored(record: &Restored) -> String {
    let mut text = match record.removed {
        true => {
            format!("{}: removed: a rebuild created it; TOC.txt is from {}\n", record.path, record.backup)
        }
        false => format!("{}: restored from {}\n", record.path, record.backup),
    };
    for other in &record.rewritten {
        text += &format!("  also restored: {other}\n");
    }
    text
}

fn sstable(record: &RebuiltSstable) -> String {
    if record.unchanged {
        return format!(
            "{}: {}: left alone, it has the right bytes\n",
            record.path,
            text::counted(record.keys, "key")
        );
    }
    let before = match record.before {
        None => "no filter".to_owned(),
        Some(SstableBefore { bits: Some(bits), probes: Some(probes), bytes, .. }) => {
            format!("{bits} bits, {}, {}", text::counted(probes.into(), "probe"), text::bytes(bytes))
        }
        Some(SstableBefore { bytes, .. }) => format!("a damaged filter, {}", text::bytes(bytes)),
    };
    let after = &record.after;
    let mut text = format!(
        "{}: {}: {before} -> {} bits, {}, {}, expected rate {}\n",
        record.path,
        text::counted(record.keys, "key"),
        after.bits,
        text::counted(after.probes.into(), "probe"),
        text::bytes(after.bytes),
        text::rate(after.expected_fpr),
    );
    match &record.written {
        Some(written) if *written != record.path => text += &format!("  written to {written}\n"),
        None if record.destination != record.path => {
            text += &format!("  would be written to {}\n", record.destination);
        }
        _ => {}
    }
    for other in &record.rewritten {
        text += &format!("  rewritten to agree with it: {other}\n");
    }
    if let Some(backup) = &record.backup {
        text += &format!("  the old one is kept as {backup}\n");
    }
    text
}

fn table(record: &RebuiltTable) -> String {
    let before = match record.before {
        None => "no filter".to_owned(),
        Some(TableBefore { bytes, damaged: true, .. }) => format!("a damaged filter, {}", text::bytes(bytes)),
        Some(TableBefore { bytes, bits_per_key: None, .. }) => text::bytes(bytes),
        Some(TableBefore { bytes, bits_per_key: Some(bits), .. }) => {
            format!("{}, {bits:.1} bits per key", text::bytes(bytes))
        }
    };
    if record.unchanged {
        let keys = text::counted(record.keys, "key");
        return format!("{}: {keys}: left alone, it has the right bytes\n", record.path);
    }
    let bits = record.bits_per_key.map_or(String::new(), |bits| format!(", {bits} bits per key"));
    let mut text = format!(
        "{}: {}: {before} -> {} {}, {}{bits}\n",
        record.path,
        text::counted(record.keys, "key"),
        record.dialect,
        record.kind,
        text::bytes(record.after.bytes),
    );
    match (&record.written, record.written_bytes) {
        (Some(written), bytes) if *written != record.path => {
            text += &format!("  written to {written}, {}\n", text::bytes(bytes.unwrap_or(0)));
        }
        (None, _) if record.destination != record.path => {
            text += &format!("  would be written to {}\n", record.destination);
        }
        (None, _) if !record.same_length => {
            text += "  the length changes: write the table to another directory with -o DIR\n";
        }
        _ => {}
    }
    if let Some(backup) = &record.backup {
        text += &format!("  the old table is kept as {backup}\n");
    }
    text
}

/// The sums, and what the engines do with the files, but for the sentences that were printed before.
pub fn rebuild_summary(summary: &RebuildSummary, printed: &[String]) -> String {
    if summary.filters == 0 {
        return match (summary.unchanged, summary.restored) {
            (0, 0) => "nothing to rebuild\n".to_owned(),
            (0, restored) => format!("{} restored\n", text::counted(restored, "filter")),
            (unchanged, _) => {
                format!("nothing to rebuild: {} right already\n", text::counted(unchanged, "filter"))
            }
        };
    }
    let alone = match summary.unchanged {
        0 => String::new(),
        count => format!("; {} left alone", text::counted(count, "filter")),
    };
    let dry_run = if summary.dry_run { "dry run: " } else { "" };
    let filters = text::counted(summary.filters, "filter");
    let (before, after) = (text::bytes(summary.bytes_before), text::bytes(summary.bytes_after));
    let mut text = format!("\n{dry_run}{filters}: {before} before, {after} after{alone}\n");
    for OnOpen { engine, files, versions, sentences } in &summary.on_open {
        if sentences.iter().all(|sentence| printed.contains(sentence)) {
            continue;
        }
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        text += &match *engine {
            "cassandra" | "scylla" | "datastax" => format!(
                "\nWhen {} next opens the {} of version {}:\n",
                match *engine {
                    "scylla" => "ScyllaDB",
                    "datastax" => "DataStax Enterprise",
                    _ => "Cassandra",
                },
                text::counted(*files, "sstable"),
                versions.join(", ")
            ),
            _ => format!("\nBefore RocksDB or LevelDB opens the {}:\n", text::counted(*files, "table")),
        };
        sentences.iter().for_each(|sentence| text += &format!("  - {sentence}\n"));
    }
    text
}
