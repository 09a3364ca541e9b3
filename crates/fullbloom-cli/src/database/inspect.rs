//! What is said about the filters of a database.

use super::levels::{self, Level};
use super::{look, name};
use crate::facts::TableFacts;
use crate::table::Table;
use crate::text;
use fullbloom::any;
use fullbloom::dialect::Name;
use fullbloom::sizing::{Request, Target};
use fullbloom_table::database::{Database, DatabaseTable};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A database, looked at.
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    database: Database,
    facts: Vec<Result<TableFacts, String>>,
    levels: Vec<Level>,
}

/// A remark about a table.
#[derive(Debug)]
struct Flag {
    name: &'static str,
    severity: &'static str,
    message: String,
}

impl Report {
    /// Looks at every table, several at once.
    pub fn of(path: &Path, database: Database) -> Report {
        let facts = look(&database);
        let levels = levels::of(&database, &facts);
        Report { path: path.to_owned(), database, facts, levels }
    }

    fn rows(&self) -> impl Iterator<Item = (&DatabaseTable, &Result<TableFacts, String>, Vec<Flag>)> {
        let pairs = self.database.tables.iter().zip(&self.facts);
        pairs.map(|(table, facts)| (table, facts, flags(table, facts, self.database.has_levels())))
    }

    /// Every table is there and can be read, and its filter understood.
    pub fn is_well(&self) -> bool {
        let damaged = self.rows().any(|(_, _, flags)| flags.iter().any(|flag| flag.severity == "damage"));
        !damaged && self.database.missing.is_empty() && !matches!(self.database.manifest, Some(Err(_)))
    }

    /// An object for each table.
    pub fn filters(&self) -> Vec<Value> {
        self.rows()
            .map(|(table, facts, flags)| {
                let mut entry = match facts {
                    Ok(facts) => facts.json(),
                    Err(_) => json!({
                        "path": table.path.display().to_string(),
                        "dialect": null, "kind": null, "keys": null, "bits": null, "probes": null, "bytes": null,
                        "fill": null, "estimated_keys": null, "expected_fpr": null,
                    }),
                };
                let object = entry.as_object_mut().expect("both are objects");
                object.insert("column_family".into(), json!(table.place.as_ref().map(|place| &place.family)));
                object.insert("level".into(), json!(table.place.as_ref().map(|place| place.level)));
                object.insert("file_bytes".into(), table.file_len.into());
                let told = |f: &Flag| json!({ "flag": f.name, "severity": f.severity, "message": f.message });
                object.insert("flags".into(), flags.iter().map(told).collect());
                entry
            })
            .collect()
    }

    /// An object for each level.
    pub fn tables(&self) -> Vec<Value> {
        let each = |level: &Level| {
            json!({
                "path": self.path.display().to_string(),
                "column_family": level.family,
                "level": level.level,
                "tables": level.keys.len(),
                "without_filter": level.without,
                "keys": level.total_keys(),
                "bytes": level.bytes,
                "bits_per_key": level.bits_per_key(),
                "expected_fpr": level.expected_fpr(),
                "useless_reads": level.useless_reads(),
            })
        };
        self.levels.iter().map(each).collect()
    }

    /// What the MANIFEST names and is not there.
    pub fn skipped(&self) -> Vec<Value> {
        let missing = self.database.missing.iter();
        let each = |(number, why): (u64, String)| json!({ "path": self.path.join(format!("{number:06}.sst")).display().to_string(), "why": why });
        missing.map(|missing| each((missing.file.number, why_missing(missing)))).collect()
    }

    /// The tables, then the levels.
    pub fn text(&self, width: Option<usize>, summary: bool) -> String {
        let mut text =
            format!("{}: {}", self.path.display(), text::counted(self.database.tables.len() as u64, "table"));
        text += &match &self.database.manifest {
            Some(Ok(path)) => format!(", levels from {}\n", path.file_name().unwrap_or_default().display()),
            Some(Err(why)) => format!(", levels unknown: {why}\n"),
            None => ", levels unknown: there is no CURRENT\n".to_owned(),
        };
        text = text::printable(text.trim_end()).into_owned() + "\n";
        let rows: Vec<_> = self.rows().filter(|(_, _, flags)| !summary || !flags.is_empty()).collect();
        if !rows.is_empty() {
            text += &self.rows_table(&rows, width);
        }
        for (table, _, flags) in &rows {
            for flag in flags {
                text +=
                    &format!("  {}: {}: {}\n", flag.severity, name(table), text::printable(&flag.message));
            }
        }
        for missing in &self.database.missing {
            text += &format!("  damage: {:06}: {}\n", missing.file.number, why_missing(missing));
        }
        text.push('\n');
        text + &self.levels_table(width)
    }

    fn rows_table(
        &self,
        rows: &[(&DatabaseTable, &Result<TableFacts, String>, Vec<Flag>)],
        width: Option<usize>,
    ) -> String {
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
            "flags",
        ];
        let mut table = Table::new(&titles)
            .optional(&["probes", "partitions", "fill", "family", "flags", "kind", "dialect"])
            .text(&["family", "kind", "dialect", "flags"])
            .indent(2);
        for (file, facts, flags) in rows {
            let none = || "-".to_owned();
            let family = file.place.as_ref().map_or_else(none, |place| place.family.clone());
            let level = file.place.as_ref().map_or_else(none, |place| place.level.to_string());
            let mut cells = vec![name(file), text::printable(&family).into_owned(), level];
            match facts {
                Ok(facts) => {
                    let found = facts.inspection();
                    cells.push(found.keys.to_string());
                    cells.push(facts.kind().to_owned());
                    cells.push(found.dialect.map_or_else(none, |name| name.to_string()));
                    cells.push(found.bits_per_key().map_or_else(none, |bits| text::decimal(bits, 1)));
                    cells.push(if found.bits == 0 { none() } else { found.probes.to_string() });
                    cells.push(if found.bits == 0 { none() } else { found.partitions.to_string() });
                    cells.push(if found.bits == 0 { none() } else { text::rate(found.fill()) });
                    cells.push(text::rate(found.expected_fpr));
                    cells.push(text::bytes(found.bytes));
                }
                Err(_) => cells.extend(vec![none(); 9]),
            }
            cells.push(flags.iter().map(|flag| flag.name).collect::<Vec<_>>().join(", "));
            table.row(cells);
        }
        table.render_within(width)
    }

    fn levels_table(&self, width: Option<usize>) -> String {
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
        let mut sums = (0, 0, 0, 0, 0.0);
        for level in &self.levels {
            sums = (
                sums.0 + level.keys.len(),
                sums.1 + level.without,
                sums.2 + level.total_keys(),
                sums.3 + level.bytes,
                sums.4 + level.useless_reads(),
            );
            table.row(vec![
                level.title(),
                text::printable(&level.family).into_owned(),
                level.keys.len().to_string(),
                level.without.to_string(),
                level.total_keys().to_string(),
                level.bits_per_key().map_or("-".into(), |bits| text::decimal(bits, 1)),
                text::bytes(level.bytes),
                text::rate(level.expected_fpr()),
                text::decimal(level.useless_reads(), 4),
            ]);
        }
        let one_family = self.levels.iter().all(|level| level.family == self.levels[0].family);
        table.row(vec![
            "all".into(),
            String::new(),
            sums.0.to_string(),
            sums.1.to_string(),
            sums.2.to_string(),
            String::new(),
            text::bytes(sums.3),
            String::new(),
            // Lookups in different column families do not add up.
            if one_family { text::decimal(sums.4, 4) } else { String::new() },
        ]);
        table.render_within(width)
    }
}

fn why_missing(missing: &fullbloom_table::database::MissingTable) -> String {
    match missing.file.path_id {
        0 => "the MANIFEST has this table, the directory has not".to_owned(),
        id => format!("the table is in another directory of the database (db_paths, number {id})"),
    }
}

fn flags(table: &DatabaseTable, facts: &Result<TableFacts, String>, has_levels: bool) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut flag = |name, severity, message: String| flags.push(Flag { name, severity, message });
    match &table.place {
        Some(place) if place.file_len != table.file_len => flag(
            "length-differs",
            "damage",
            format!("{} bytes, where the MANIFEST says {}", table.file_len, place.file_len),
        ),
        None if has_levels => {
            flag(
                "not-in-manifest",
                "note",
                "not of the database: left over, or not yet in its MANIFEST".into(),
            );
        }
        _ => {}
    }
    let facts = match facts {
        Ok(facts) => facts,
        Err(why) => {
            // What does not belong to the database may be half a table, left when a compaction was cut off.
            let stray = table.place.is_none() && has_levels;
            flag("unreadable", if stray { "note" } else { "damage" }, why.clone());
            return flags;
        }
    };
    let found = facts.inspection();
    if found.layout.is_none() {
        flag("no-filter", "warning", "no filter: every lookup in its range reads the table".into());
    }
    for warning in facts.warnings() {
        flag("unknown-filter", "damage", warning);
    }
    match found.dialect {
        Some(Name::RocksDbBlock) => flag(
            "old-kind",
            "warning",
            "a filter for each block, which RocksDB 7.4 and later ignore: compaction there writes a full one"
                .into(),
        ),
        Some(Name::RocksDbLegacy) => flag("old-kind", "warning", improvement(facts)),
        _ => {}
    }
    flags
}

/// What format_version 5 would make of the same bits.
fn improvement(facts: &TableFacts) -> String {
    let found = facts.inspection();
    let keys = found.entries.filter(|entries| *entries > 0).unwrap_or(found.keys);
    let target = Target::BitsPerKey(found.bits_per_key().unwrap_or(10.0));
    let newer = any::plan(Name::RocksDb, &Request { expected_keys: keys, target });
    match newer {
        Ok(plan) if plan.expected_fpr < found.expected_fpr => format!(
            "the full filter of format_version below 5: with 5 or later the same bits give {} instead of {}",
            text::rate(plan.expected_fpr),
            text::rate(found.expected_fpr),
        ),
        _ => "the full filter of format_version below 5: later ones are faster".to_owned(),
    }
}
