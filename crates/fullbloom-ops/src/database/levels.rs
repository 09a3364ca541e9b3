//! Sums over the tables of each level, and what they cost a lookup.

use crate::table::TableRecord;
use fullbloom_dialects::Name;
use fullbloom_table::database::{Database, DatabaseTable};
use serde::Serialize;
use std::path::Path;

/// The tables of one level of one column family.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Column family.
    pub family: String,
    /// Level; `None` where it is not known.
    pub level: Option<u32>,
    /// Keys of each table.
    pub keys: Vec<u64>,
    /// Tables without a filter.
    pub without: u64,
    /// Tables that cannot be read. A lookup in their range reads them, and fails.
    pub unread: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Bits of the filters, and entries in them.
    pub bits: u64,
    entries: u64,
    /// Sum of the tables' rates, and the sum weighted by keys.
    rates: f64,
    weighted: f64,
    /// Keys by the dialect of their filter.
    pub dialects: Vec<(Name, u64)>,
}

impl Level {
    fn new(family: String, level: Option<u32>) -> Level {
        Level {
            family,
            level,
            keys: Vec::new(),
            without: 0,
            unread: 0,
            bytes: 0,
            bits: 0,
            entries: 0,
            rates: 0.0,
            weighted: 0.0,
            dialects: Vec::new(),
        }
    }

    fn add(&mut self, table: &TableRecord) {
        if table.kind.is_none() {
            self.unread += 1;
            return;
        }
        let (keys, bits, fpr) =
            (table.keys.unwrap_or(0), table.bits.unwrap_or(0), table.expected_fpr.unwrap_or(1.0));
        self.keys.push(keys);
        self.without += u64::from(table.kind == Some("none"));
        self.bytes += table.bytes.unwrap_or(0);
        self.bits += bits;
        if bits > 0 {
            self.entries += table.entries();
        }
        self.rates += fpr;
        self.weighted += fpr * keys as f64;
        if let Some(name) = table.dialect {
            match self.dialects.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += keys,
                None => self.dialects.push((name, keys)),
            }
        }
    }

    /// Keys of all tables.
    pub fn total_keys(&self) -> u64 {
        self.keys.iter().sum()
    }

    /// Bits for each entry, of the tables that have a filter.
    pub fn bits_per_key(&self) -> Option<f64> {
        (self.entries > 0).then(|| self.bits as f64 / self.entries as f64)
    }

    /// Whether a lookup may read every table: on level 0 they overlap, below it at most one holds a key.
    /// Without levels all may be read.
    pub fn overlaps(&self) -> bool {
        self.level.is_none_or(|level| level == 0)
    }

    /// Sorted runs: how many tables of the level a lookup of a key may have to read.
    pub fn runs(&self) -> u64 {
        let tables = self.keys.len() as u64 + self.unread;
        if self.overlaps() { tables } else { tables.min(1) }
    }

    /// The rate to expect, over all keys. A table that cannot be read counts as one without a filter, with as
    /// many keys as the others have on average.
    pub fn expected_fpr(&self) -> f64 {
        let (keys, readable) = (self.total_keys() as f64, self.keys.len() as f64);
        let mean = if readable > 0.0 { keys / readable } else { 1.0 };
        let unread = self.unread as f64 * mean;
        if keys + unread > 0.0 { (self.weighted + unread) / (keys + unread) } else { 0.0 }
    }

    /// Tables that a lookup of an absent key reads needlessly, on average.
    pub fn useless_reads(&self) -> f64 {
        if self.overlaps() { self.rates + self.unread as f64 } else { self.expected_fpr() }
    }

    /// The sums, as the report has them.
    pub fn totals(&self, path: &Path) -> LevelTotals {
        LevelTotals {
            path: path.display().to_string(),
            column_family: self.family.clone(),
            level: self.level,
            tables: self.keys.len() as u64 + self.unread,
            without_filter: self.without,
            unreadable: self.unread,
            keys: self.total_keys(),
            bytes: self.bytes,
            bits_per_key: self.bits_per_key(),
            expected_fpr: self.expected_fpr(),
            useless_reads: self.useless_reads(),
        }
    }
}

/// The sums over the tables of one level of a column family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelTotals {
    /// The database.
    pub path: String,
    /// Column family; empty where it is not known.
    pub column_family: String,
    /// Level; null where it is not known.
    pub level: Option<u32>,
    /// Tables.
    pub tables: u64,
    /// Tables without a filter.
    pub without_filter: u64,
    /// Tables that cannot be read; a lookup in their range reads them needlessly.
    pub unreadable: u64,
    /// Keys of all tables.
    pub keys: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Bits for each entry of the filters.
    pub bits_per_key: Option<f64>,
    /// The rate to expect, over all keys.
    pub expected_fpr: f64,
    /// Tables of the level that a lookup of an absent key reads needlessly, on average.
    pub useless_reads: f64,
}

/// The sums over several levels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LevelsSum {
    /// Tables.
    pub tables: u64,
    /// Tables without a filter.
    pub without_filter: u64,
    /// Keys of all tables.
    pub keys: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Tables that a lookup of an absent key reads needlessly; `None` for several column families, whose
    /// lookups do not add up.
    pub useless_reads: Option<f64>,
}

impl LevelsSum {
    /// The sums over these levels.
    pub fn of(levels: &[LevelTotals]) -> LevelsSum {
        let one_family = levels.windows(2).all(|two| two[0].column_family == two[1].column_family);
        let mut sum = LevelsSum::default();
        for level in levels {
            sum.tables += level.tables;
            sum.without_filter += level.without_filter;
            sum.keys += level.keys;
            sum.bytes += level.bytes;
        }
        let reads = || levels.iter().map(|level| level.useless_reads).sum();
        LevelsSum { useless_reads: one_family.then(reads), ..sum }
    }
}

/// The column family and level of a table; `None` if it does not belong to the database.
pub(super) fn level_of(database: &Database, table: &DatabaseTable) -> Option<(String, Option<u32>)> {
    match (&table.place, database.has_levels()) {
        (Some(place), _) => Some((place.family.clone(), Some(place.level))),
        (None, true) => None,
        (None, false) => Some((String::new(), None)),
    }
}

/// The levels of a database. Where there are levels, tables without one do
/// not belong to the database and are left out.
pub fn of<'a>(database: &Database, records: impl Iterator<Item = &'a TableRecord>) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (table, record) in database.tables.iter().zip(records) {
        let Some((family, level)) = level_of(database, table) else { continue };
        match levels.last_mut() {
            Some(last) if last.family == family && last.level == level => last.add(record),
            _ => {
                let mut new = Level::new(family, level);
                new.add(record);
                levels.push(new);
            }
        }
    }
    levels
}
