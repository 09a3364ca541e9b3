//! Sums over the sstables of each table.

use super::ranges::shares;
use super::{SstableRecord, table_name};
use crate::inspect::Inspected;
use crate::problem::{Problem, Severity};
use crate::report::Found;
use fullbloom_sstable::TokenRange;
use serde::Serialize;

/// The sums over the sstables of one table.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TableTotals {
    /// Keyspace, where it is known.
    pub keyspace: Option<String>,
    /// Table, where it is known.
    pub table: Option<String>,
    /// The table's id, where it is known. A table that was dropped and created again has another.
    pub table_id: Option<String>,
    /// Number of sstables.
    pub sstables: u64,
    /// Those whose filter can be read.
    pub filters: u64,
    /// Keys of all sstables whose keys can be counted; a key that is in two counts twice.
    pub keys: u64,
    /// Sstables whose keys cannot be counted.
    pub uncounted: u64,
    /// Bits for each key, over all sstables where both are known.
    pub bits_per_key: Option<f64>,
    /// Bits of the filters of sstables whose keys are counted.
    #[serde(skip)]
    bits: u64,
    /// The keys of the same sstables.
    #[serde(skip)]
    keys_with_bits: u64,
    /// Bytes of all `Filter.db`.
    pub bytes: u64,
    /// Bytes of all filters in a node's memory.
    pub memory_bytes: u64,
    /// Sstables that a lookup of an absent key reads needlessly, on average: the sum of the expected rates,
    /// each by the share of the table's tokens that the sstable covers. An sstable without a filter is always
    /// read.
    pub useless_reads: f64,
    /// Sstables with a warning or an error.
    pub flagged: u64,
}

impl TableTotals {
    /// Its name, so that it differs from those of the other tables: `keyspace.table`, with the id where
    /// another table has the same name.
    pub fn name_among(&self, tables: &[TableTotals]) -> String {
        let same = |other: &&TableTotals| (&other.keyspace, &other.table) == (&self.keyspace, &self.table);
        let id = self.table_id.as_deref().filter(|_| tables.iter().filter(same).count() > 1);
        table_name(self.keyspace.as_deref(), self.table.as_deref(), id)
    }

    fn add(&mut self, record: &SstableRecord, problems: &[Problem]) {
        self.sstables += 1;
        self.keys += record.keys.unwrap_or(0);
        self.uncounted += u64::from(record.keys.is_none());
        self.bytes += record.bytes.unwrap_or(0);
        self.flagged += u64::from(problems.iter().any(|problem| problem.severity > Severity::Note));
        self.filters += u64::from(record.bits.is_some());
        self.memory_bytes += record.memory_bytes.unwrap_or(0);
        if let (Some(bits), Some(keys)) = (record.bits, record.keys) {
            self.bits += bits;
            self.keys_with_bits += keys;
        }
        self.bits_per_key = (self.keys_with_bits > 0).then(|| self.bits as f64 / self.keys_with_bits as f64);
    }

    /// Adds the sums of another table. Useless reads of different tables do not add up, and are left alone.
    pub fn add_table(&mut self, other: &TableTotals) {
        self.sstables += other.sstables;
        self.filters += other.filters;
        self.keys += other.keys;
        self.uncounted += other.uncounted;
        self.bits += other.bits;
        self.keys_with_bits += other.keys_with_bits;
        self.bits_per_key = (self.keys_with_bits > 0).then(|| self.bits as f64 / self.keys_with_bits as f64);
        self.bytes += other.bytes;
        self.memory_bytes += other.memory_bytes;
        self.flagged += other.flagged;
    }
}

/// The sstables that a lookup of an absent key reads needlessly, by the tokens and the rate of each.
pub(crate) fn useless_reads(sstables: &[(Option<TokenRange>, f64)]) -> f64 {
    let ranges: Vec<Option<TokenRange>> = sstables.iter().map(|(range, _)| *range).collect();
    shares(&ranges).iter().zip(sstables).map(|(share, (_, fpr))| share * fpr).sum()
}

/// Sums up by table; the sstables in the order of [`walk`](fullbloom_sstable::walk::walk).
pub(crate) fn totals(found: &[Found<Inspected>]) -> Vec<TableTotals> {
    sums(sstables(found))
}

/// Sums up by table, each table once: its sstables may be in several data directories.
pub fn table_totals(found: &[Found<Inspected>]) -> Vec<TableTotals> {
    let mut sorted: Vec<(&SstableRecord, &[Problem])> = sstables(found).collect();
    sorted.sort_by_key(|(record, _)| (&record.keyspace, &record.table, &record.table_id));
    sums(sorted.into_iter())
}

fn sstables(found: &[Found<Inspected>]) -> impl Iterator<Item = (&SstableRecord, &[Problem])> {
    found.iter().filter_map(|Found { record, problems }| match record {
        Inspected::Sstable(record) => Some((record, problems.as_slice())),
        _ => None,
    })
}

/// The sums of each table, whose sstables follow one another.
fn sums<'a>(sstables: impl Iterator<Item = (&'a SstableRecord, &'a [Problem])>) -> Vec<TableTotals> {
    let mut tables: Vec<TableTotals> = Vec::new();
    let mut met: Vec<Vec<(Option<TokenRange>, f64)>> = Vec::new();
    for (record, problems) in sstables {
        let (keyspace, table, table_id) = (&record.keyspace, &record.table, &record.table_id);
        let is_same =
            |last: &TableTotals| (&last.keyspace, &last.table, &last.table_id) == (keyspace, table, table_id);
        if !tables.last().is_some_and(is_same) {
            let (keyspace, table, table_id) = (keyspace.clone(), table.clone(), table_id.clone());
            tables.push(TableTotals { keyspace, table, table_id, ..TableTotals::default() });
            met.push(Vec::new());
        }
        let last = tables.len() - 1;
        tables[last].add(record, problems);
        let range = record.tokens.map(|[first, last]| TokenRange::new(first, last));
        met[last].push((range, record.expected_fpr.unwrap_or(1.0)));
    }
    for (table, met) in tables.iter_mut().zip(&met) {
        table.useless_reads = useless_reads(met);
    }
    tables
}
