//! The filter of a new table: which dialect and layout its engine writes.

use fullbloom::SizeError;
use fullbloom_dialects::Name;
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
        Ok(FilterOptions { holds: self.holds.clone(), layout, ..FilterOptions::new(policy) })
    }
}

/// The index of a table with such partitions: RocksDB partitions the index with the filter.
pub fn index_layout(partitions: Option<&Partitioning>) -> IndexLayout {
    match partitions {
        Some(partitions) => IndexLayout::TwoLevel { target: partitions.target },
        None => IndexLayout::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_and_the_layout_are_those_that_the_engine_writes() {
        let new = |format, ribbon| NewFilter {
            format,
            ribbon,
            partitions: None,
            bits_per_key: 10.0,
            holds: Holds { whole_keys: true, prefixes: None },
        };
        let rocksdb = |version| Format::RocksDb { version };
        for (format, ribbon, dialect) in [
            (Format::LevelDb, false, Some(Name::LevelDb)),
            (Format::LevelDb, true, None),
            (rocksdb(4), false, Some(Name::RocksDbLegacy)),
            (rocksdb(5), false, Some(Name::RocksDb)),
            (rocksdb(5), true, Some(Name::RocksDbRibbon)),
        ] {
            assert_eq!(new(format, ribbon).dialect(), dialect, "{format:?}");
        }
        let layout = |format, dialect| new(format, false).options(dialect).unwrap().layout;
        assert!(matches!(layout(Format::LevelDb, Name::LevelDb), Layout::PerBlock));
        assert!(matches!(layout(rocksdb(5), Name::RocksDb), Layout::Full));
    }
}
