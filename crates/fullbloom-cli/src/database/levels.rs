//! Sums over the tables of each level, and what they mean for a lookup.

use crate::facts::TableFacts;
use fullbloom::dialect::Name;
use fullbloom_table::database::Database;

/// The tables of one level of one column family.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Column family.
    pub family: String,
    /// Level; `None` for tables of which it is not known.
    pub level: Option<u32>,
    /// Keys of each table.
    pub keys: Vec<u64>,
    /// Tables without a filter.
    pub without: u64,
    /// Bytes of the filters.
    pub bytes: u64,
    /// Bits of the filters, and entries in them.
    pub bits: u64,
    entries: u64,
    /// Sum of the tables' rates, and the same weighted by keys.
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
            bytes: 0,
            bits: 0,
            entries: 0,
            rates: 0.0,
            weighted: 0.0,
            dialects: Vec::new(),
        }
    }

    fn add(&mut self, facts: &TableFacts) {
        let found = facts.inspection();
        self.keys.push(found.keys);
        self.without += u64::from(found.layout.is_none());
        self.bytes += found.bytes;
        self.bits += found.bits;
        if found.bits > 0 {
            self.entries += found.entries.filter(|entries| *entries > 0).unwrap_or(found.keys);
        }
        self.rates += found.expected_fpr;
        self.weighted += found.expected_fpr * found.keys as f64;
        if let Some(name) = found.dialect {
            match self.dialects.iter_mut().find(|(known, _)| *known == name) {
                Some((_, keys)) => *keys += found.keys,
                None => self.dialects.push((name, found.keys)),
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

    /// Whether a lookup asks every table: on level 0 they overlap, below it at most one holds a key. Without levels
    /// nothing is known, and all are asked.
    pub fn overlaps(&self) -> bool {
        self.level.is_none_or(|level| level == 0)
    }

    /// Sorted runs: how many tables of the level a lookup of a key may have to ask.
    pub fn runs(&self) -> u64 {
        if self.overlaps() { self.keys.len() as u64 } else { u64::from(!self.keys.is_empty()) }
    }

    /// The rate to expect, over all keys.
    pub fn expected_fpr(&self) -> f64 {
        let keys = self.total_keys();
        if keys > 0 { self.weighted / keys as f64 } else { 0.0 }
    }

    /// Tables read in vain for a key that is in none of them.
    pub fn useless_reads(&self) -> f64 {
        if self.overlaps() { self.rates } else { self.expected_fpr() }
    }

    /// What it is called.
    pub fn title(&self) -> String {
        self.level.map_or("no level".to_owned(), |level| level.to_string())
    }
}

/// The levels of a database, of the tables that could be read. Where there are levels, tables without one do not belong
/// to the database and are left out.
pub fn of(database: &Database, facts: &[Result<TableFacts, String>]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (table, facts) in database.tables.iter().zip(facts) {
        let Ok(facts) = facts else { continue };
        let (family, level) = match (&table.place, database.has_levels()) {
            (Some(place), _) => (place.family.clone(), Some(place.level)),
            (None, true) => continue,
            (None, false) => (String::new(), None),
        };
        match levels.last_mut() {
            Some(last) if last.family == family && last.level == level => last.add(facts),
            _ => {
                let mut new = Level::new(family, level);
                new.add(facts);
                levels.push(new);
            }
        }
    }
    levels
}
