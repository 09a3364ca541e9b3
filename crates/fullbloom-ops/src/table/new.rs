//! The filter of a new table: which dialect and layout its engine writes.

use fullbloom::SizeError;
use fullbloom::dialect::Name;
use fullbloom_table::filter::build::{FilterOptions, Layout, Partitioning};
use fullbloom_table::filter::{Holds, Policy};
use fullbloom_table::writer::{Format, IndexLayout};

/// RocksDB writes FastLocalBloom from this `format_version` on, and the legacy filter before.
const FIRST_FAST_LOCAL: u32 = 5;

/// A filter that a new table is to have.
#[derive(Debug, Clone)]
pub struct NewFilter {
    /// The engine that reads the table.
    pub format: Format,
    /// Ribbon instead of Bloom.
    pub ribbon: bool,
    /// In partitions instead of one filter.
    pub partitions: Option<Partitioning>,
    /// Bits for each key.
    pub bits_per_key: f64,
    /// What is inserted of a key.
    pub holds: Holds,
}

impl NewFilter {
    /// The dialect that the engine writes; `None` if it has no such filter.
    pub fn dialect(&self) -> Option<Name> {
        match (self.format, self.ribbon) {
            (Format::LevelDb, true) => None,
            (Format::LevelDb, false) => Some(Name::LevelDb),
            (Format::RocksDb { .. }, true) => Some(Name::RocksDbRibbon),
            (Format::RocksDb { version }, false) if version < FIRST_FAST_LOCAL => Some(Name::RocksDbLegacy),
            (Format::RocksDb { .. }, false) => Some(Name::RocksDb),
        }
    }

    /// The options of the table writer for a filter of this dialect.
    pub fn options(self, dialect: Name) -> Result<FilterOptions, SizeError> {
        let layout = match (self.partitions, self.format) {
            (Some(partitions), _) => Layout::Partitioned(partitions),
            (None, Format::LevelDb) => Layout::PerBlock,
            (None, Format::RocksDb { .. }) => Layout::Full,
        };
        let policy = Policy::new(dialect, self.bits_per_key)?;
        Ok(FilterOptions { holds: self.holds, layout, ..FilterOptions::new(policy) })
    }
}

/// The index of a table with such partitions: RocksDB partitions the index with the filter.
pub fn index_layout(partitions: Option<&Partitioning>) -> IndexLayout {
    match partitions {
        Some(partitions) => IndexLayout::TwoLevel { target: partitions.target },
        None => IndexLayout::Binary,
    }
}
