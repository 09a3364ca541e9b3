//! What filters would cost.

use super::database::level_name;
use super::next::{Of, next};
use super::or_dash;
use crate::output;
use crate::table::Table;
use crate::text;
use fullbloom_ops::database::{DatabasePlanSummary, FamilyNow, FamilyPlan, LevelPlan, UsualRow};
#[cfg(feature = "parquet")]
use fullbloom_ops::parquet::{ColumnCost, ColumnPlan, ColumnPlanSummary};
use fullbloom_ops::plan::{DialectPlan, LayoutPlan};
use fullbloom_ops::report::Report;
use fullbloom_ops::sstable::rates::Row;
use fullbloom_ops::sstable::{CassandraNow, CassandraPlanSummary, CassandraTablePlan};
use fullbloom_ops::{Found, PlanReport};

/// A row for each dialect, and what is wrong with some below.
pub fn dialect_plans(report: &PlanReport) -> String {
    let mut table = Table::new(&["dialect", "bits", "bytes", "bits/key", "probes", "expected rate"]);
    for Found { record, .. } in &report.found {
        table.row(vec![
            record.dialect.to_string(),
            or_dash(record.bits, |bits| bits.to_string()),
            or_dash(record.bytes, text::bytes),
            or_dash(record.bits_per_key, |bits| text::decimal(bits, 2)),
            or_dash(record.probes, |probes| probes.to_string()),
            or_dash(record.expected_fpr, text::rate),
        ]);
    }
    table.render() + &notes(&report.found, report.summary.expected_keys)
}

/// The problems below the table; dialects with the same problems share a line.
fn notes(found: &[Found<DialectPlan>], expected_keys: u64) -> String {
    let note = |found: &Found<DialectPlan>| {
        let messages: Vec<&str> = found.problems.iter().map(|problem| problem.message.as_str()).collect();
        messages.join("; ")
    };
    let mut text = String::new();
    let mut done: Vec<String> = Vec::new();
    for note_of in found.iter().map(note).filter(|note| !note.is_empty()) {
        if done.contains(&note_of) {
            continue;
        }
        let of_it = found.iter().filter(|found| note(found) == note_of);
        let names: Vec<&str> = of_it.map(|found| found.record.dialect.as_str()).collect();
        text += &format!("\n{}: {note_of}", names.join(", "));
        done.push(note_of);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for layouts in found.iter().map(|found| &found.record.layouts).filter(|layouts| !layouts.is_empty()) {
        text += "\nnative: the layouts considered, * chosen; without --prefer, the fewest lines that need at most 15 % more bits\n";
        text.extend(layouts.iter().map(|layout| layout_line(layout, expected_keys)));
    }
    for row in found.iter().filter_map(|found| found.record.compact) {
        let per_key =
            row.bits_per_key.map_or(String::new(), |bits| format!(", {} bits/key", text::decimal(bits, 2)));
        let (bytes, rate) = (text::bytes(row.bytes), text::rate(row.expected_fpr));
        text += &format!(
            "\nnative, build --compact, for keys that do not change: {bytes}{per_key}, expected rate {rate}\n"
        );
    }
    text
}

fn layout_line(layout: &LayoutPlan, expected_keys: u64) -> String {
    format!(
        "{} {} of 512 bits for each key, {}: {} bits per key, expected rate {}\n",
        if layout.chosen { '*' } else { ' ' },
        text::counted(layout.lines.into(), "line"),
        text::counted(layout.probes.into(), "probe"),
        text::decimal(layout.bits_per_key(expected_keys), 2),
        text::rate(layout.expected_fpr)
    )
}

/// The tables of a data directory at several rates.
pub fn cassandra_plan(report: &Report<CassandraTablePlan, CassandraPlanSummary>) -> String {
    let summary = &report.summary;
    let mut text = String::new();
    for Found { record, .. } in &report.found {
        let name = record.name_among(&report.found);
        let chosen = record.planned_fpr.or(summary.fitting_fpr);
        text += &rates(&name, (record.keys, record.sstables), &record.now, &record.rows, chosen);
        text.push('\n');
    }
    if report.found.len() > 1 {
        let size = (summary.keys, summary.sstables);
        text += &rates("all tables", size, &summary.now, &summary.rows, summary.fitting_fpr);
        text.push('\n');
    }
    if let (Some(memory), Some(fpr)) = (summary.memory, summary.fitting_fpr) {
        text += &format!("The lowest round rate whose filters fit {}: {fpr}\n", text::bytes(memory));
    }
    if !summary.next.steps.is_empty() {
        return text + &next(&summary.next, Of::Tables);
    }
    summary.advice.iter().for_each(|advice| text += &format!("{advice}\n"));
    text
}

fn rates(
    name: &str,
    (keys, sstables): (u64, u64),
    now: &CassandraNow,
    rows: &[Row],
    chosen: Option<f64>,
) -> String {
    let heading = format!("{name}: {} in {}", text::counted(keys, "key"), text::counted(sstables, "sstable"));
    let mut table =
        Table::new(&["rate", "bits/key", "probes", "in memory", "on disk", "expected rate", "useless reads"])
            .optional(&["on disk", "probes"])
            .indent(2);
    table.row(vec![
        "now".into(),
        or_dash(now.bits_per_key, |bits| text::decimal(bits, 1)),
        String::new(),
        text::bytes(now.memory_bytes),
        text::bytes(now.bytes),
        String::new(),
        reads(now.useless_reads),
    ]);
    for row in rows {
        let mark = if chosen == Some(row.fpr) { " *" } else { "" };
        table.row(vec![
            format!("{}{mark}", row.fpr),
            row.bits_per_key.to_string(),
            row.probes.to_string(),
            text::bytes(row.memory_bytes),
            text::bytes(row.bytes),
            text::rate(row.expected_fpr),
            reads(row.useless_reads),
        ]);
    }
    text::printable(&heading).into_owned() + "\n" + &table.render_within(output::width())
}

/// The columns of Parquet files at several rates.
#[cfg(feature = "parquet")]
pub fn column_plan(report: &Report<ColumnPlan, ColumnPlanSummary>) -> String {
    let mut shown = String::new();
    for Found { record, .. } in &report.found {
        let groups = text::counted(record.row_groups, "row group");
        let heading = format!(
            "column {}: {groups}, {} with a filter, at most {} in one",
            record.column,
            record.filters,
            text::counted(record.most_distinct, "distinct value")
        );
        shown += &format!("{}\n", text::printable(&heading));
        let mut table = Table::new(&["rate", "filters", "useless reads"]).indent(2);
        let mut row = |rate: String, cost: ColumnCost| {
            table.row(vec![rate, text::bytes(cost.bytes), text::decimal(cost.useless_reads, 4)]);
        };
        row("now".into(), record.now);
        for planned in &record.rows {
            let mark = if record.planned_fpr == Some(planned.fpr) { " *" } else { "" };
            row(format!("{}{mark}", planned.fpr), planned.cost);
        }
        shown += &table.render_within(output::width());
        shown.push('\n');
    }
    shown += "Useless reads: row groups, of all files, that a lookup of an absent value reads.\n";
    shown + &next(&report.summary.next, Of::Columns)
}

/// A number of useless reads; empty for several tables or column families, whose reads do not add up.
pub fn reads(useless: Option<f64>) -> String {
    useless.map_or(String::new(), |reads| text::decimal(reads, 4))
}

/// The levels of a database.
pub fn database_plan(report: &Report<LevelPlan, DatabasePlanSummary>) -> String {
    let summary = &report.summary;
    let mut text = String::new();
    if let (Some(memory), true) = (summary.memory, summary.column_families.len() > 1) {
        text += &families(memory, &summary.column_families);
        text.push('\n');
    }
    for family in &summary.column_families {
        let levels: Vec<&LevelPlan> = report
            .found
            .iter()
            .map(|found| &found.record)
            .filter(|l| l.column_family == family.name)
            .collect();
        if summary.column_families.len() > 1 {
            text += &format!("column family {}\n", text::printable(&family.name));
        }
        text += &usual(family, &levels);
        text.push('\n');
        if family.memory.is_some() {
            text += &splits(family, &levels, summary.most_bits_per_key);
            text.push('\n');
        }
    }
    let dialect = summary.dialect;
    text += &format!(
        "Sized as {dialect} ({}). Useless reads: tables that a lookup of an absent key reads needlessly.\n",
        dialect.about()
    );
    summary.advice.iter().for_each(|advice| text += &format!("{advice}\n"));
    text + &next(&summary.next, Of::Families)
}

/// How the memory is split over the column families.
fn families(memory: u64, families: &[FamilyPlan]) -> String {
    let mut table = Table::new(&["family", "keys", "memory", "share"]).text(&["family"]).indent(2);
    for family in families {
        let part = family.memory.unwrap_or(0);
        table.row(vec![
            text::printable(&family.name).into_owned(),
            family.keys.to_string(),
            text::bytes(part),
            text::rate(part as f64 / memory.max(1) as f64),
        ]);
    }
    format!("{} split over the column families\n", text::bytes(memory))
        + &table.render_within(output::width())
}

/// What the usual numbers of bits per key cost, beside the filters as they are.
fn usual(family: &FamilyPlan, levels: &[&LevelPlan]) -> String {
    let now = FamilyNow::of(levels.iter().copied());
    let mut table = Table::new(&["bits/key", "filters", "expected rate", "useless reads"]).indent(2);
    table.row(vec![
        "now".into(),
        text::bytes(now.costs.bytes),
        text::rate(now.expected_fpr),
        reads(now.costs.useless_reads),
    ]);
    let mut rows: Vec<(&UsualRow, &str)> = family.rows.iter().map(|row| (row, "")).collect();
    rows.extend(family.requested.as_ref().map(|row| (row, " *")));
    rows.sort_by(|(a, _), (b, _)| a.bits_per_key.total_cmp(&b.bits_per_key));
    for (row, mark) in rows {
        table.row(vec![
            format!("{}{mark}", row.bits_per_key),
            text::bytes(row.costs.bytes),
            text::rate(row.expected_fpr),
            reads(row.costs.useless_reads),
        ]);
    }
    let (tables, count) = (text::counted(now.tables, "table"), text::counted(levels.len() as u64, "level"));
    let heading = format!("{} in {tables} on {count}\n", text::counted(now.keys, "key"));
    heading + &table.render_within(output::width()) + &by_level(levels)
}

/// The levels as they are, and with the requested filters.
fn by_level(levels: &[&LevelPlan]) -> String {
    let mut titles = vec!["level", "tables", "keys", "now: bits/key", "rate", "filters", "useless reads"];
    let is_requested = levels.iter().any(|level| level.requested.is_some());
    if is_requested {
        titles.extend(["requested: bits/key", "rate", "filters", "useless reads"]);
    }
    let mut table = Table::new(&titles).indent(2);
    for level in levels {
        let mut cells = vec![
            level_name(level.level),
            level.tables.to_string(),
            level.keys.to_string(),
            or_dash(level.now.bits_per_key, |bits| text::decimal(bits, 1)),
            text::rate(level.now.expected_fpr),
            text::bytes(level.now.bytes),
            text::decimal(level.now.useless_reads, 4),
        ];
        if let Some(share) = level.requested {
            cells.extend([
                text::decimal(share.bits_per_key, 1),
                text::rate(share.expected_fpr),
                text::bytes(share.bytes),
                text::decimal(share.useless_reads, 4),
            ]);
        }
        table.row(cells);
    }
    "\n".to_owned() + &table.render_within(output::width())
}

fn splits(family: &FamilyPlan, levels: &[&LevelPlan], most_bits: u32) -> String {
    let titles = [
        "level",
        "tables",
        "keys",
        "equal: bits/key",
        "rate",
        "filters",
        "optimal: bits/key",
        "rate",
        "filters",
    ];
    let mut table = Table::new(&titles).indent(2);
    for level in levels {
        let mut cells = vec![level_name(level.level), level.tables.to_string(), level.keys.to_string()];
        for share in [level.equal, level.optimal].into_iter().flatten() {
            let bits = share.bits_per_key;
            cells.push(if bits == 0.0 { "none".into() } else { text::decimal(bits, 1) });
            cells.push(text::rate(share.expected_fpr));
            cells.push(text::bytes(share.bytes));
        }
        table.row(cells);
    }
    let mut text = format!("{} split over the levels\n", text::bytes(family.memory.unwrap_or(0)));
    text += &table.render_within(output::width());
    if let (Some(equal), Some(optimal)) = (family.equal, family.optimal) {
        text += &format!(
            "  useless reads per lookup: equal {} in {}, optimal {} in {}\n",
            reads(equal.useless_reads),
            text::bytes(equal.bytes),
            reads(optimal.useless_reads),
            text::bytes(optimal.bytes),
        );
    }
    if family.capped {
        text += &format!(
            "  no level gets more than {most_bits} bits per key: more would not be worth the memory\n"
        );
    }
    text
}
