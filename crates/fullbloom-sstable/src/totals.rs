//! Sums over the sstables of each table.

use crate::flag::Severity;
use crate::report::Inspection;
use crate::sstable::Sstable;

/// The sums over the sstables of one table.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TableTotals {
    /// Keyspace, where it is known.
    pub keyspace: Option<String>,
    /// Table, where it is known.
    pub table: Option<String>,
    /// Number of sstables.
    pub sstables: u64,
    /// Sstables whose filter can be read.
    pub filters: u64,
    /// Keys of all sstables whose keys can be counted; a key that is in two counts twice.
    pub keys: u64,
    /// Sstables whose keys cannot be counted.
    pub uncounted: u64,
    /// Bits of the filters of sstables whose keys are counted, and those keys: for the bits per key.
    pub bits: u64,
    /// See `bits`.
    pub keys_with_bits: u64,
    /// Bytes of all `Filter.db`.
    pub disk_bytes: u64,
    /// Bytes of all filters in a node's memory.
    pub memory_bytes: u64,
    /// Sstables that are read needlessly, on average, for a key that is in none: the sum of the expected rates. An sstable
    /// without a filter is always read.
    pub useless_reads: f64,
    /// Sstables with a problem more severe than a note.
    pub flagged: u64,
}

impl TableTotals {
    /// Bits for each key, over all sstables where both are known.
    pub fn bits_per_key(&self) -> Option<f64> {
        (self.keys_with_bits > 0).then(|| self.bits as f64 / self.keys_with_bits as f64)
    }

    fn add(&mut self, inspection: &Inspection) {
        self.sstables += 1;
        self.keys += inspection.keys.unwrap_or(0);
        self.uncounted += u64::from(inspection.keys.is_none());
        self.disk_bytes += inspection.filter_bytes.unwrap_or(0);
        self.flagged += u64::from(inspection.severity() > Some(Severity::Note));
        self.useless_reads += inspection.filter.map_or(1.0, |filter| filter.expected_fpr);
        if let Some(filter) = inspection.filter {
            self.filters += 1;
            self.memory_bytes += filter.memory_bytes;
            if let Some(keys) = inspection.keys {
                self.bits += filter.bits;
                self.keys_with_bits += keys;
            }
        }
    }
}

/// Sums up by table; the sstables in the order of [`walk`](crate::walk::walk), each with its inspection.
pub fn totals<'a>(inspected: impl IntoIterator<Item = (&'a Sstable, &'a Inspection)>) -> Vec<TableTotals> {
    let mut tables: Vec<TableTotals> = Vec::new();
    for (sstable, inspection) in inspected {
        let same = tables.last().is_some_and(|t| t.keyspace == sstable.keyspace && t.table == sstable.table);
        if !same {
            let (keyspace, table) = (sstable.keyspace.clone(), sstable.table.clone());
            tables.push(TableTotals { keyspace, table, ..TableTotals::default() });
        }
        let last = tables.len() - 1;
        tables[last].add(inspection);
    }
    tables
}
