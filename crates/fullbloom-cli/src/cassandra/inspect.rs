//! What is said about the filters of a data directory.

use super::{filter_path, identity, is_unread, join, skipped_json, skipped_text, threads, why};
use crate::facts::whole;
use crate::table::Table;
use crate::text;
use fullbloom_sstable::report::{self, Inspection};
use fullbloom_sstable::totals::{self, TableTotals};
use fullbloom_sstable::walk::Walk;
use fullbloom_sstable::{Flag, Severity, Sstable, pool};
use serde_json::{Value, json};
use std::path::Path;

/// A data directory, looked at.
#[derive(Debug)]
pub struct Report {
    walk: Walk,
    inspections: Vec<Inspection>,
    totals: Vec<TableTotals>,
}

impl Report {
    /// Looks at every sstable, several at once.
    pub fn of(walk: Walk) -> Report {
        let inspections = pool::in_order(&walk.sstables, threads(), report::inspect);
        let totals = totals::totals(walk.sstables.iter().zip(&inspections));
        Report { walk, inspections, totals }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Sstable, &Inspection)> {
        self.walk.sstables.iter().zip(&self.inspections)
    }

    /// No filter is missing, damaged or mislabelled.
    pub fn is_well(&self) -> bool {
        self.inspections.iter().all(is_well)
    }

    /// What could not be looked into at all, and why.
    pub fn unread(&self) -> impl Iterator<Item = (&Path, String)> {
        self.walk.skipped.iter().filter(|s| is_unread(s)).map(|s| (s.path.as_path(), why(s)))
    }

    /// An object for each sstable.
    pub fn filters(&self) -> Vec<Value> {
        self.pairs().map(|(sstable, inspection)| as_json(sstable, inspection)).collect()
    }

    /// An object for each table.
    pub fn tables(&self) -> Vec<Value> {
        self.totals.iter().map(totals_json).collect()
    }

    /// What was left out.
    pub fn skipped(&self) -> Vec<Value> {
        skipped_json(&self.walk.skipped)
    }

    /// Each table with its sstables, then all tables. In short: only sstables with something to say about them.
    pub fn text(&self, width: Option<usize>, summary: bool) -> String {
        let mut text = String::new();
        let mut pairs = self.pairs().peekable();
        for totals in &self.totals {
            let rows: Vec<_> = pairs.by_ref().take(totals.sstables as usize).collect();
            let shown: Vec<_> = match summary {
                true => rows.iter().copied().filter(|(_, i)| i.severity() > Some(Severity::Note)).collect(),
                false => rows,
            };
            if summary && shown.is_empty() {
                continue;
            }
            text += &heading(totals);
            text += &rows_table(&shown, width);
            text += &remarks(&shown);
            text.push('\n');
        }
        if self.totals.len() > 1 || summary {
            text += &self.totals_table(width);
        } else {
            text.pop(); // one table is its own sum
        }
        text + &skipped_text(&self.walk.skipped)
    }

    fn totals_table(&self, width: Option<usize>) -> String {
        let titles =
            ["table", "sstables", "keys", "bits/key", "on disk", "in memory", "useless reads", "flagged"];
        let mut table = Table::new(&titles).optional(&["on disk", "sstables", "bits/key"]);
        let mut sum = TableTotals::default();
        for totals in &self.totals {
            table.row(totals_row(&name(totals), totals));
            sum.sstables += totals.sstables;
            sum.keys += totals.keys;
            sum.uncounted += totals.uncounted;
            sum.bits += totals.bits;
            sum.keys_with_bits += totals.keys_with_bits;
            sum.disk_bytes += totals.disk_bytes;
            sum.memory_bytes += totals.memory_bytes;
            sum.flagged += totals.flagged;
        }
        let mut cells = totals_row("all", &sum);
        cells[6] = String::new(); // reads of different tables do not add up
        table.row(cells);
        table.render_within(width)
    }
}

/// No filter is missing, damaged or mislabelled. What only costs memory or reads is worth a look, but nothing is wrong.
pub fn is_well(inspection: &Inspection) -> bool {
    inspection.flags.iter().all(|flag| match flag {
        Flag::Filter(_) => flag.severity() == Severity::Note,
        _ => flag.severity() < Severity::Damage,
    })
}

fn name(totals: &TableTotals) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".to_owned());
    text::printable(&format!("{}.{}", part(&totals.keyspace), part(&totals.table))).into_owned()
}

fn totals_row(name: &str, totals: &TableTotals) -> Vec<String> {
    vec![
        name.to_owned(),
        totals.sstables.to_string(),
        keys(totals),
        totals.bits_per_key().map_or("-".into(), |bits| text::decimal(bits, 1)),
        text::bytes(totals.disk_bytes),
        text::bytes(totals.memory_bytes),
        text::decimal(totals.useless_reads, 3),
        totals.flagged.to_string(),
    ]
}

/// The keys counted; a plus where some could not be.
fn keys(totals: &TableTotals) -> String {
    format!("{}{}", totals.keys, if totals.uncounted > 0 { "+" } else { "" })
}

fn heading(totals: &TableTotals) -> String {
    let plural = if totals.sstables == 1 { "" } else { "s" };
    let per_key =
        totals.bits_per_key().map_or(String::new(), |bits| format!(", {} bits/key", text::decimal(bits, 1)));
    format!(
        "{}: {} sstable{plural}, {} keys{per_key}, filters {} on disk, {} in memory\n  a lookup of an absent key reads {} sstables in vain\n",
        name(totals),
        totals.sstables,
        keys(totals),
        text::bytes(totals.disk_bytes),
        text::bytes(totals.memory_bytes),
        text::decimal(totals.useless_reads, 4),
    )
}

fn rows_table(rows: &[(&Sstable, &Inspection)], width: Option<usize>) -> String {
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
        "flags",
    ];
    let mut table = Table::new(&titles)
        .optional(&["bits", "on disk", "probes", "recorded", "fill", "in memory", "flags", "version"])
        .text(&["version", "flags"])
        .indent(2);
    let none = || "-".to_owned();
    for (sstable, seen) in rows {
        let filter = seen.filter.as_ref();
        let flags: Vec<&str> = seen.flags.iter().map(Flag::name).collect();
        table.row(vec![
            sstable.id.clone(),
            sstable.version.clone(),
            seen.keys.map_or_else(none, |keys| keys.to_string()),
            filter.map_or_else(none, |f| f.bits.to_string()),
            seen.bits_per_key().map_or_else(none, |bits| text::decimal(bits, 1)),
            filter.map_or_else(none, |f| f.probes.to_string()),
            filter.map_or_else(none, |f| text::rate(f.fill)),
            filter.map_or_else(none, |f| text::rate(f.expected_fpr)),
            seen.recorded.fpr().map_or_else(none, text::rate),
            seen.filter_bytes.map_or_else(none, text::bytes),
            filter.map_or_else(none, |f| text::bytes(f.memory_bytes)),
            flags.join(", "),
        ]);
    }
    table.render_within(width)
}

/// Each remark in a line of its own.
fn remarks(rows: &[(&Sstable, &Inspection)]) -> String {
    let mut lines = String::new();
    for (sstable, seen) in rows {
        for flag in &seen.flags {
            let (severity, flag) = (severity(flag.severity()), flag.to_string());
            lines += &format!("  {severity}: {}: {}\n", sstable.id, text::printable(&flag));
        }
    }
    lines
}

/// How grave a remark is.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Damage => "damage",
    }
}

/// The remarks, for machines.
pub fn flags_json(flags: &[Flag]) -> Vec<Value> {
    let one = |flag: &Flag| json!({ "flag": flag.name(), "severity": severity(flag.severity()), "message": flag.to_string() });
    flags.iter().map(one).collect()
}

fn as_json(sstable: &Sstable, seen: &Inspection) -> Value {
    let filter = seen.filter.as_ref();
    let numbers = json!({
        "path": filter_path(sstable),
        "dialect": filter.map_or(sstable.dialect, |f| f.dialect).as_str(),
        "bits": filter.map(|f| f.bits),
        "probes": filter.map(|f| f.probes),
        "bytes": seen.filter_bytes,
        "fill": filter.map(|f| f.fill),
        "estimated_keys": whole(filter.and_then(|f| f.estimated_keys)),
        "expected_fpr": filter.map(|f| f.expected_fpr),
    });
    let remarks = seen.flags.iter().filter(|flag| flag.severity() > Severity::Note);
    let rest = json!({
        "keys": seen.keys,
        "bits_per_key": seen.bits_per_key(),
        "memory_bytes": filter.map(|f| f.memory_bytes),
        "recorded_fpr": seen.recorded.fpr(),
        "flags": flags_json(&seen.flags),
        "warnings": remarks.map(Flag::to_string).collect::<Vec<_>>(),
    });
    join(join(numbers, identity(sstable)), rest)
}

fn totals_json(totals: &TableTotals) -> Value {
    json!({
        "keyspace": totals.keyspace,
        "table": totals.table,
        "sstables": totals.sstables,
        "filters": totals.filters,
        "keys": totals.keys,
        "uncounted": totals.uncounted,
        "bits_per_key": totals.bits_per_key(),
        "bytes": totals.disk_bytes,
        "memory_bytes": totals.memory_bytes,
        "useless_reads": totals.useless_reads,
        "flagged": totals.flagged,
    })
}
