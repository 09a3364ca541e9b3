//! A database of LevelDB or RocksDB.

use super::table::probes;
use super::{codes, each, or_dash};
use crate::table::Table;
use crate::text;
use fullbloom_ops::database::{LevelTotals, LevelsSum};
use fullbloom_ops::table::TableRecord;
use fullbloom_ops::{Code, InspectReport, Inspected, Problem};

/// The tables, then the levels.
pub fn database(report: &InspectReport, width: Option<usize>, summary: bool) -> String {
    let Some(database) = report.summary.databases.first() else { return String::new() };
    let levels = match &database.manifest {
        Some(manifest) => format!("levels from {manifest}"),
        None => {
            let unknown =
                |problem: &&Problem| matches!(problem.code, Code::ManifestUnreadable | Code::ManifestMissing);
            report.problems.iter().find(unknown).map_or(String::new(), |problem| problem.message.clone())
        }
    };
    let heading = format!("{}: {}, {levels}", database.path, text::counted(database.tables, "table"));
    let mut text = text::printable(&heading).into_owned() + "\n";
    let rows = report.found.iter().filter_map(|found| match &found.record {
        Inspected::Table(record) => Some((record, found.problems.as_slice())),
        _ => None,
    });
    let rows: Vec<_> = rows.filter(|(_, problems)| !summary || !problems.is_empty()).collect();
    if !rows.is_empty() {
        text += &rows_table(&rows, width);
    }
    let of_tables = rows.iter().flat_map(|(_, problems)| problems.iter());
    let is_shown = |problem: &&Problem| {
        matches!(problem.code, Code::TableMissing | Code::Unflushed | Code::LogUnfinished)
    };
    text += &each("  ", of_tables.chain(report.problems.iter().filter(is_shown)));
    text.push('\n');
    text + &levels_table(&report.summary.levels, width)
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    text::printable(path.rsplit(['/', '\\']).next().unwrap_or(path)).into_owned()
}

fn rows_table(rows: &[(&TableRecord, &[Problem])], width: Option<usize>) -> String {
    let titles = [
        "table",
        "family",
        "level",
        "keys",
        "kind",
        "dialect",
        "bits/key",
        "probes",
        "partitions",
        "fill",
        "expected rate",
        "filter",
        "problems",
    ];
    let mut table = Table::new(&titles)
        .optional(&["probes", "partitions", "fill", "family", "problems", "kind", "dialect"])
        .text(&["family", "kind", "dialect", "problems"])
        .indent(2);
    for (record, problems) in rows {
        let has_bits = record.bits != Some(0);
        let family = record.column_family.clone().flatten();
        table.row(vec![
            file_name(&record.path),
            or_dash(family, |family| text::printable(&family).into_owned()),
            or_dash(record.level.flatten(), |level| level.to_string()),
            or_dash(record.keys, |keys| keys.to_string()),
            or_dash(record.kind, str::to_owned),
            or_dash(record.dialect, |dialect| dialect.to_string()),
            or_dash(record.bits_per_key, |bits| text::decimal(bits, 1)),
            or_dash(record.probes.filter(|_| has_bits), |_| probes(record)),
            or_dash(record.partitions.filter(|_| has_bits), |partitions| partitions.to_string()),
            or_dash(record.fill.filter(|_| has_bits), text::rate),
            or_dash(record.expected_fpr, text::rate),
            or_dash(record.bytes, text::bytes),
            codes(problems),
        ]);
    }
    table.render_within(width)
}

fn levels_table(levels: &[LevelTotals], width: Option<usize>) -> String {
    let titles = [
        "level",
        "family",
        "tables",
        "no filter",
        "keys",
        "bits/key",
        "filters",
        "expected rate",
        "useless reads",
    ];
    let mut table = Table::new(&titles).optional(&["no filter", "family", "tables"]).text(&["family"]);
    for level in levels {
        table.row(vec![
            level_name(level.level),
            text::printable(&level.column_family).into_owned(),
            level.tables.to_string(),
            level.without_filter.to_string(),
            level.keys.to_string(),
            or_dash(level.bits_per_key, |bits| text::decimal(bits, 1)),
            text::bytes(level.bytes),
            text::rate(level.expected_fpr),
            text::decimal(level.useless_reads, 4),
        ]);
    }
    let sum = LevelsSum::of(levels);
    table.row(vec![
        "all".into(),
        String::new(),
        sum.tables.to_string(),
        sum.without_filter.to_string(),
        sum.keys.to_string(),
        String::new(),
        text::bytes(sum.bytes),
        String::new(),
        sum.useless_reads.map_or(String::new(), |reads| text::decimal(reads, 4)),
    ]);
    table.render_within(width)
}

/// A level as a cell has it.
pub fn level_name(level: Option<u32>) -> String {
    level.map_or("no level".to_owned(), |level| level.to_string())
}
