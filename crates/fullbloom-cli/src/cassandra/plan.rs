//! What other rates would cost the tables of a data directory.

use super::{find, threads};
use crate::error::{Failure, Status};
use crate::output;
use crate::table::Table;
use crate::text;
use fullbloom_sstable::plan::{Part, RATES, Row, row};
use fullbloom_sstable::report::{self, Inspection};
use fullbloom_sstable::{Sstable, pool};
use serde_json::{Value, json};
use std::path::Path;

/// Round rates to try for a memory budget, from the dearest; Cassandra takes none below 6.71e-5.
const ROUND: [f64; 17] = [
    0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02,
    0.03, 0.05, 0.1,
];

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// A rate to show besides the usual ones.
    pub fpr: Option<f64>,
    /// Memory that all filters shall fit.
    pub memory: Option<u64>,
    /// Also snapshots and backups.
    pub snapshots: bool,
}

/// One table, or all of them.
#[derive(Debug)]
struct Group {
    keyspace: Option<String>,
    table: Option<String>,
    name: String,
    parts: Vec<Part>,
    uncounted: u64,
    now: Now,
}

/// What the filters cost as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Now {
    bytes: u64,
    memory_bytes: u64,
    useless_reads: f64,
    /// Keys and memory of the sstables whose keys and filters can both be read.
    asked: (u64, u64),
}

impl Group {
    fn new(sstable: &Sstable) -> Group {
        Group {
            keyspace: sstable.keyspace.clone(),
            table: sstable.table.clone(),
            name: sstable.table_name(),
            parts: Vec::new(),
            uncounted: 0,
            now: Now::default(),
        }
    }

    fn add(&mut self, sstable: &Sstable, seen: &Inspection) {
        match seen.keys {
            Some(keys) => self.parts.push(Part { dialect: sstable.dialect, keys }),
            None => self.uncounted += 1,
        }
        self.now.bytes += seen.filter_bytes.unwrap_or(0);
        self.now.memory_bytes += seen.filter.map_or(0, |filter| filter.memory_bytes);
        self.now.useless_reads += seen.filter.map_or(1.0, |filter| filter.expected_fpr);
        if let (Some(keys), Some(filter)) = (seen.keys, seen.filter) {
            self.now.asked.0 += keys;
            self.now.asked.1 += filter.memory_bytes;
        }
    }

    fn keys(&self) -> u64 {
        self.parts.iter().map(|part| part.keys).sum()
    }
}

/// What was planned.
#[derive(Debug)]
pub struct Planned {
    groups: Vec<Group>,
    rates: Vec<f64>,
    wish: Wish,
    /// The lowest round rate whose filters fit the memory.
    fitting: Option<f64>,
}

/// Counts the keys of every sstable and sizes filters for them.
pub fn plan(path: &Path, wish: Wish) -> Result<Planned, Failure> {
    let walk = find(path, wish.snapshots)?;
    let inspections = pool::in_order(&walk.sstables, threads(), report::inspect);
    let mut groups: Vec<Group> = Vec::new();
    for (sstable, seen) in walk.sstables.iter().zip(&inspections) {
        match groups.last_mut() {
            Some(group) if group.keyspace == sstable.keyspace && group.table == sstable.table => {
                group.add(sstable, seen);
            }
            _ => {
                let mut group = Group::new(sstable);
                group.add(sstable, seen);
                groups.push(group);
            }
        }
    }
    let all: Vec<Part> = groups.iter().flat_map(|group| group.parts.iter().copied()).collect();
    let mut rates = RATES.to_vec();
    let mut add = |fpr: f64| {
        if !rates.contains(&fpr) {
            rates.push(fpr);
        }
    };
    if let Some(fpr) = wish.fpr {
        row(&all, fpr).map_err(|e| Failure::new("--fpr", e))?;
        add(fpr);
    }
    let fits =
        |fpr: &f64| wish.memory.is_some_and(|memory| row(&all, *fpr).is_ok_and(|r| r.memory_bytes <= memory));
    let fitting = ROUND.into_iter().find(fits);
    fitting.map(&mut add);
    rates.sort_by(f64::total_cmp);
    Ok(Planned { groups, rates, wish, fitting })
}

impl Planned {
    /// Whether all keys could be counted and the memory is enough.
    pub fn status(&self) -> Status {
        let short = self.wish.memory.is_some() && self.fitting.is_none();
        Status::selected(self.uncounted() == 0 && !short)
    }

    fn uncounted(&self) -> u64 {
        self.groups.iter().map(|group| group.uncounted).sum()
    }

    /// All tables together.
    fn all(&self) -> Group {
        let mut all = Group {
            keyspace: None,
            table: None,
            name: "all tables".to_owned(),
            parts: Vec::new(),
            uncounted: self.uncounted(),
            now: Now::default(),
        };
        for group in &self.groups {
            all.parts.extend_from_slice(&group.parts);
            all.now.bytes += group.now.bytes;
            all.now.memory_bytes += group.now.memory_bytes;
            all.now.useless_reads += group.now.useless_reads;
            all.now.asked.0 += group.now.asked.0;
            all.now.asked.1 += group.now.asked.1;
        }
        all
    }

    fn rows(&self, group: &Group) -> Vec<Row> {
        // A rate that Cassandra's rule takes for one sstable it takes for all but astronomic ones.
        self.rates.iter().filter_map(|fpr| row(&group.parts, *fpr).ok()).collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for group in &self.groups {
            text += &self.group_text(group);
            text.push('\n');
        }
        if self.groups.len() > 1 {
            text += &self.group_text(&self.all());
            text.push('\n');
        }
        if let Some(memory) = self.wish.memory {
            let memory = text::bytes(memory);
            text += &match self.fitting {
                Some(fpr) => format!("The lowest round rate whose filters fit {memory}: {fpr}\n"),
                None => format!("No rate up to {} fits {memory}.\n", ROUND[ROUND.len() - 1]),
            };
        }
        text += "Set with ALTER TABLE … WITH bloom_filter_fp_chance = P; existing filters change by \
                 `fullbloom rebuild --fpr P` or when Cassandra rewrites the sstables.\n";
        if self.uncounted() > 0 {
            let sstables = text::counted(self.uncounted(), "sstable");
            output::warning(&format!("{sstables} left out: the keys cannot be read"));
        }
        text
    }

    fn group_text(&self, group: &Group) -> String {
        let (keys, sstables) = (text::counted(group.keys(), "key"), group.parts.len() as u64);
        let heading = format!("{}: {keys} in {}\n", group.name, text::counted(sstables, "sstable"));
        let mut table = Table::new(&[
            "rate",
            "bits/key",
            "probes",
            "in memory",
            "on disk",
            "expected rate",
            "useless reads",
        ])
        .optional(&["on disk", "probes"])
        .indent(2);
        table.row(vec![
            "now".into(),
            match group.now.asked {
                (0, _) => "-".into(),
                (keys, bytes) => text::decimal(8.0 * bytes as f64 / keys as f64, 1),
            },
            String::new(),
            text::bytes(group.now.memory_bytes),
            text::bytes(group.now.bytes),
            String::new(),
            text::decimal(group.now.useless_reads, 4),
        ]);
        for row in self.rows(group) {
            let chosen = if self.fitting == Some(row.fpr) { " *" } else { "" };
            table.row(vec![
                format!("{}{chosen}", row.fpr),
                row.bits_per_key.to_string(),
                row.probes.to_string(),
                text::bytes(row.memory_bytes),
                text::bytes(row.disk_bytes),
                text::rate(row.expected_fpr),
                text::decimal(row.useless_reads, 4),
            ]);
        }
        text::printable(heading.trim_end()).into_owned() + "\n" + &table.render_within(output::width())
    }

    /// For machines.
    pub fn json(&self, path: &Path) -> Value {
        let all = self.all();
        let tables: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                json!({
                    "keyspace": group.keyspace,
                    "table": group.table,
                    "sstables": group.parts.len(),
                    "uncounted": group.uncounted,
                    "keys": group.keys(),
                    "now": now_json(&group.now),
                    "rows": self.rows(group).iter().map(row_json).collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({
            "from": path.display().to_string(),
            "engine": "cassandra",
            "keys": all.keys(),
            "memory": self.wish.memory,
            "fitting_fpr": self.fitting,
            "now": now_json(&all.now),
            "rows": self.rows(&all).iter().map(row_json).collect::<Vec<_>>(),
            "tables": tables,
        })
    }
}

fn now_json(now: &Now) -> Value {
    json!({ "bytes": now.bytes, "memory_bytes": now.memory_bytes, "useless_reads": now.useless_reads })
}

fn row_json(row: &Row) -> Value {
    json!({
        "fpr": row.fpr,
        "bits_per_key": row.bits_per_key,
        "probes": row.probes,
        "memory_bytes": row.memory_bytes,
        "bytes": row.disk_bytes,
        "expected_fpr": row.expected_fpr,
        "useless_reads": row.useless_reads,
    })
}
