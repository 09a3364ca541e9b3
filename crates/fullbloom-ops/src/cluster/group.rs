//! Groups of filters that have the same name on every node, and their sums.

use super::node::{NodeLevel, NodePlace};
use crate::problem::Severity;
use crate::sstable::useless_reads;
use fullbloom_sstable::TokenRange;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::Path;

/// What filters have in common: their table, their level, or their dialect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
pub struct GroupName {
    /// Keyspace of a table of Cassandra.
    pub keyspace: Option<String>,
    /// Name of the table, if the group is one.
    pub table: Option<String>,
    /// Its id.
    pub table_id: Option<String>,
    /// Directory of a database.
    pub database: Option<String>,
    /// Column family.
    pub column_family: Option<String>,
    /// Level.
    pub level: Option<u32>,
    /// Dialect, of filter files and of Parquet.
    pub dialect: Option<String>,
    /// Column of Parquet files.
    pub column: Option<String>,
}

impl GroupName {
    /// The group of a filter.
    pub(super) fn of(place: &NodePlace) -> GroupName {
        let some = |text: &Option<String>| Some(text.clone().unwrap_or_else(|| "?".to_owned()));
        match place.r#type.as_str() {
            "sstable" => GroupName {
                keyspace: some(&place.keyspace),
                table: some(&place.table),
                table_id: place.table_id.clone(),
                ..GroupName::default()
            },
            "table" => GroupName {
                database: Some(directory(&place.path)),
                column_family: place.column_family.clone(),
                level: place.level,
                ..GroupName::default()
            },
            _ => GroupName {
                dialect: some(&place.dialect),
                column: place.column.clone(),
                ..GroupName::default()
            },
        }
    }

    /// The group of a level's tables.
    pub(super) fn of_level(level: &NodeLevel) -> GroupName {
        let family = Some(level.column_family.clone());
        let table = Path::new(&level.path).join("table").display().to_string();
        GroupName {
            database: Some(directory(&table)),
            // A database without a MANIFEST has no families.
            column_family: family.filter(|family| !family.is_empty()),
            level: level.level,
            ..GroupName::default()
        }
    }

    /// The name for people, with the table's id where another table has the same name.
    pub(super) fn shown(&self, shared: &HashSet<(Option<String>, Option<String>)>) -> String {
        let is_shared = shared.contains(&(self.keyspace.clone(), self.table.clone()));
        match self.table_id.as_ref().filter(|_| is_shared) {
            Some(id) => format!("{self}-{id}"),
            None => self.to_string(),
        }
    }
}

/// The names that tables of different ids have.
pub(super) fn shared_names<'a>(
    names: impl Iterator<Item = &'a GroupName>,
) -> HashSet<(Option<String>, Option<String>)> {
    let mut count: HashMap<(Option<String>, Option<String>), usize> = HashMap::new();
    for name in names.filter(|name| name.table.is_some()) {
        *count.entry((name.keyspace.clone(), name.table.clone())).or_default() += 1;
    }
    count.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
}

/// The directory of a table file.
fn directory(path: &str) -> String {
    let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).display().to_string()
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(keyspace), Some(table)) = (&self.keyspace, &self.table) {
            return write!(f, "{keyspace}.{table}");
        }
        if let Some(database) = &self.database {
            write!(f, "{database}")?;
            if let Some(family) = &self.column_family {
                write!(f, " {family}")?;
            }
            return self.level.map_or(Ok(()), |level| write!(f, " level {level}"));
        }
        let dialect = self.dialect.as_deref().unwrap_or("?");
        match &self.column {
            Some(column) => write!(f, "{dialect} column {column}"),
            None => write!(f, "{dialect} files"),
        }
    }
}

/// Sums over filters.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sums {
    /// Sstables, tables, column chunks or filter files.
    pub data_files: u64,
    /// Those whose filter can be read.
    pub filters: u64,
    /// Their keys, as far as they are known.
    pub keys: u64,
    /// Bits for each key, over those where both are known.
    pub bits_per_key: Option<f64>,
    #[serde(skip)]
    bits: u64,
    #[serde(skip)]
    keys_with_bits: u64,
    /// Bytes of the filters on disk.
    pub bytes: u64,
    /// Bytes of the filters in a node's memory.
    pub memory_bytes: u64,
    /// The rate to expect, over all keys; 1 for data files without a readable filter.
    pub expected_fpr: Option<f64>,
    #[serde(skip)]
    rates: f64,
    #[serde(skip)]
    weights: f64,
    /// The recorded rates, from the lowest.
    pub recorded_fpr: Vec<f64>,
    /// The versions of the data files.
    pub versions: BTreeSet<String>,
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
}

impl Sums {
    /// Adds a filter.
    pub(super) fn add(&mut self, place: &NodePlace) {
        let keys = place.known_keys();
        self.data_files += 1;
        self.filters += u64::from(place.is_readable());
        self.keys = self.keys.saturating_add(keys.unwrap_or(0));
        if let (Some(bits), Some(keys)) = (place.bits.filter(|bits| *bits > 0), keys) {
            self.bits = self.bits.saturating_add(bits);
            self.keys_with_bits = self.keys_with_bits.saturating_add(keys);
        }
        self.bytes = self.bytes.saturating_add(place.bytes.unwrap_or(0));
        self.memory_bytes = self.memory_bytes.saturating_add(place.memory_bytes.unwrap_or(0));
        let weight = keys.unwrap_or(0).max(1) as f64;
        self.rates += place.expected_fpr.unwrap_or(1.0) * weight;
        self.weights += weight;
        place.recorded_fpr.into_iter().for_each(|fpr| self.record(fpr));
        self.versions.extend(place.file_version());
        self.divide();
    }

    fn record(&mut self, fpr: f64) {
        if let Err(place) = self.recorded_fpr.binary_search_by(|known| known.total_cmp(&fpr)) {
            self.recorded_fpr.insert(place, fpr);
        }
    }

    fn divide(&mut self) {
        self.bits_per_key = (self.keys_with_bits > 0).then(|| self.bits as f64 / self.keys_with_bits as f64);
        self.expected_fpr = (self.weights > 0.0).then(|| self.rates / self.weights);
    }

    /// Counts a problem.
    pub(super) fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => {}
        }
    }

    /// Adds other sums.
    pub(super) fn merge(&mut self, other: &Sums) {
        self.data_files += other.data_files;
        self.filters += other.filters;
        self.keys = self.keys.saturating_add(other.keys);
        self.bits = self.bits.saturating_add(other.bits);
        self.keys_with_bits = self.keys_with_bits.saturating_add(other.keys_with_bits);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
        self.rates += other.rates;
        self.weights += other.weights;
        other.recorded_fpr.iter().for_each(|fpr| self.record(*fpr));
        self.versions.extend(other.versions.iter().cloned());
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.divide();
    }
}

/// The filters of a group that a node has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOfNode {
    /// The node.
    pub node: String,
    /// The sums.
    #[serde(flatten)]
    pub sums: Sums,
    /// Data files that a lookup of an absent key reads needlessly on this node, on average; null where that
    /// is not known.
    pub useless_reads: Option<f64>,
    /// Of sstables: their tokens and rates.
    #[serde(skip)]
    met: Vec<(Option<TokenRange>, f64)>,
}

impl GroupOfNode {
    /// None yet.
    pub(super) fn new(node: &str) -> GroupOfNode {
        GroupOfNode { node: node.to_owned(), sums: Sums::default(), useless_reads: None, met: Vec::new() }
    }

    /// Adds a filter.
    pub(super) fn add(&mut self, place: &NodePlace) {
        self.sums.add(place);
        if place.r#type == "sstable" {
            let range = place.tokens.filter(|[first, last]| first <= last);
            let range = range.map(|[first, last]| TokenRange::new(first, last));
            self.met.push((range, place.expected_fpr.unwrap_or(1.0)));
        }
    }

    /// All filters were added.
    pub(super) fn finish(&mut self) {
        if !self.met.is_empty() {
            self.useless_reads = Some(useless_reads(&std::mem::take(&mut self.met)));
        }
    }

    /// Data files without a filter that can be read.
    pub fn without_filter(&self) -> u64 {
        self.sums.data_files - self.sums.filters
    }
}

/// A group under construction.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) nodes: Vec<GroupOfNode>,
}

/// A group on all nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRecord {
    /// Its name for people.
    pub name: String,
    /// Its parts.
    #[serde(flatten)]
    pub parts: GroupName,
    /// The sums over all nodes.
    #[serde(flatten)]
    pub sums: Sums,
    /// Data files that a lookup of an absent key reads needlessly, on a node as the mean one.
    pub useless_reads: Option<f64>,
    /// The nodes that have it, the worst first.
    pub nodes: Vec<GroupOfNode>,
}

/// The order of groups and of a group's nodes: the worst is the greatest.
fn badness(sums: &Sums, useless_reads: Option<f64>) -> (u64, u64, u64) {
    (sums.errors, sums.warnings, useless_reads.unwrap_or(0.0).max(0.0).to_bits())
}

impl GroupRecord {
    pub(super) fn badness(&self) -> (u64, u64, u64) {
        badness(&self.sums, self.nodes.first().and_then(|node| node.useless_reads))
    }
}

impl Group {
    pub(super) fn record(mut self, name: String, parts: GroupName) -> GroupRecord {
        self.nodes.sort_by_key(|node| std::cmp::Reverse(badness(&node.sums, node.useless_reads)));
        let mut sums = Sums::default();
        self.nodes.iter().for_each(|node| sums.merge(&node.sums));
        let reads: Vec<f64> = self.nodes.iter().filter_map(|node| node.useless_reads).collect();
        let useless_reads = (!reads.is_empty()).then(|| reads.iter().sum::<f64>() / reads.len() as f64);
        GroupRecord { name, parts, sums, useless_reads, nodes: self.nodes }
    }
}
