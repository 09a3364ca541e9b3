//! An sstable of Cassandra, or all of a data directory.

use super::filter::estimate;
use super::{Lines, codes, each, elsewhere, or_dash};
use crate::table::Table;
use crate::text;
use fullbloom_ops::sstable::{SstableRecord, TableTotals};
use fullbloom_ops::{InspectReport, Inspected, Problem, Severity};

/// One sstable: a few lines; the first is the path of its filter.
pub fn sstable(record: &SstableRecord, problems: &[Problem]) -> String {
    let mut lines = Lines::new(&record.path);
    lines.line("dialect", format!("{}, {}", record.dialect, record.dialect.about()));
    lines.line("recognised", record.recognised);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            lines.line(name, value);
        }
    };
    line("bits", record.bits.map(|bits| bits.to_string()));
    line("probes", record.probes.map(|probes| probes.to_string()));
    line("bytes", record.bytes.map(|bytes| format!("{bytes} ({})", text::bytes(bytes))));
    line("fill", record.fill.map(text::rate));
    line("estimated keys", record.bits.map(|_| estimate(record.estimated_keys)));
    line("bits per key", record.known_bits_per_key().map(|bits| text::decimal(bits, 2)));
    line("expected rate", record.expected_fpr.map(text::rate));
    line("key type", record.key_type.clone());
    line("keys in index", record.keys.map(|keys| keys.to_string()));
    line(
        "sampled",
        record.partly_sampled().map(|keys| format!("{keys} keys were looked up; verify looks up all")),
    );
    line("recorded rate", record.recorded_fpr.map(text::rate));
    if let Some(scylla) = &record.scylla {
        line("written by", scylla.version.as_ref().map(|version| format!("ScyllaDB {version}")));
        line("origin", scylla.origin.clone());
        line("features", scylla.features.clone());
        line("run", scylla.run_identifier.clone());
        line("checksums of", scylla.checksums.as_ref().map(|names| names.join(", ")));
    }
    lines.problems(problems);
    for rule in &record.on_open {
        lines.line("on open", rule);
    }
    lines.0
}

/// A data directory: each table with its sstables, then all tables. In short: only sstables with warnings or
/// errors.
pub fn data_directory(report: &InspectReport, width: Option<usize>, summary: bool) -> String {
    let mut text = String::new();
    let mut rows = report.found.iter().filter_map(|found| match &found.record {
        Inspected::Sstable(record) => Some((record, found.problems.as_slice())),
        _ => None,
    });
    let tables = &report.summary.tables;
    for totals in tables {
        let rows: Vec<_> = rows.by_ref().take(totals.sstables as usize).collect();
        let flagged = |(_, problems): &&(&SstableRecord, &[Problem])| {
            problems.iter().any(|problem| problem.severity > Severity::Note)
        };
        let shown: Vec<_> = match summary {
            true => rows.iter().filter(flagged).copied().collect(),
            false => rows,
        };
        if summary && shown.is_empty() {
            continue;
        }
        text += &heading(&name(totals, tables), totals);
        text += &rows_table(&shown, width);
        text += &each("  ", shown.iter().flat_map(|(_, problems)| problems.iter()));
        text.push('\n');
    }
    if tables.len() > 1 || summary {
        text += &totals_table(tables, width);
    } else {
        text.pop(); // one table is its own sum
    }
    text + &elsewhere(&report.problems) + &super::sampled(report)
}

fn totals_table(tables: &[TableTotals], width: Option<usize>) -> String {
    let titles =
        ["table", "sstables", "keys", "bits/key", "on disk", "in memory", "useless reads", "flagged"];
    let mut table = Table::new(&titles).optional(&["on disk", "sstables", "bits/key"]);
    let mut sum = TableTotals::default();
    for totals in tables {
        table.row(totals_row(&name(totals, tables), totals));
        sum.add_table(totals);
    }
    let mut cells = totals_row("all", &sum);
    cells[6] = String::new(); // reads of different tables do not add up
    table.row(cells);
    table.render_within(width)
}

fn name(totals: &TableTotals, tables: &[TableTotals]) -> String {
    text::printable(&totals.name_among(tables)).into_owned()
}

fn totals_row(name: &str, totals: &TableTotals) -> Vec<String> {
    vec![
        name.to_owned(),
        totals.sstables.to_string(),
        keys(totals),
        or_dash(totals.bits_per_key, |bits| text::decimal(bits, 1)),
        text::bytes(totals.bytes),
        text::bytes(totals.memory_bytes),
        text::decimal(totals.useless_reads, 3),
        totals.flagged.to_string(),
    ]
}

/// The keys counted; a plus where some could not be.
fn keys(totals: &TableTotals) -> String {
    format!("{}{}", totals.keys, if totals.uncounted > 0 { "+" } else { "" })
}

fn heading(name: &str, totals: &TableTotals) -> String {
    let per_key =
        totals.bits_per_key.map_or(String::new(), |bits| format!(", {} bits/key", text::decimal(bits, 1)));
    let reads = text::decimal(totals.useless_reads, 4);
    let sstables = if reads == "1" { "sstable" } else { "sstables" };
    format!(
        "{name}: {}, {} keys{per_key}, filters {} on disk, {} in memory\n  \
         a lookup of an absent key reads {reads} {sstables} needlessly\n",
        text::counted(totals.sstables, "sstable"),
        keys(totals),
        text::bytes(totals.bytes),
        text::bytes(totals.memory_bytes),
    )
}

fn rows_table(rows: &[(&SstableRecord, &[Problem])], width: Option<usize>) -> String {
    let titles = [
        "generation",
        "version",
        "keys",
        "bits",
        "bits/key",
        "probes",
        "fill",
        "expected rate",
        "recorded",
        "on disk",
        "in memory",
        "problems",
    ];
    let mut table = Table::new(&titles)
        .optional(&["bits", "on disk", "probes", "recorded", "fill", "in memory", "problems", "version"])
        .text(&["version", "problems"])
        .indent(2);
    for (record, problems) in rows {
        table.row(vec![
            record.generation.clone(),
            record.version.clone(),
            or_dash(record.keys, |keys| keys.to_string()),
            or_dash(record.bits, |bits| bits.to_string()),
            or_dash(record.bits_per_key, |bits| text::decimal(bits, 1)),
            or_dash(record.probes, |probes| probes.to_string()),
            or_dash(record.fill, text::rate),
            or_dash(record.expected_fpr, text::rate),
            or_dash(record.recorded_fpr, text::rate),
            or_dash(record.bytes, text::bytes),
            or_dash(record.memory_bytes, text::bytes),
            codes(problems),
        ]);
    }
    table.render_within(width)
}
