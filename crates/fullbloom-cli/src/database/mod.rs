//! Databases of LevelDB and RocksDB, as the commands show them.

pub mod inspect;
pub mod levels;
pub mod plan;

use crate::error::Failure;
use crate::facts::TableFacts;
use crate::input::open_table;
use fullbloom_sstable::pool;
use fullbloom_table::PrefixExtractor;
use fullbloom_table::database::{Database, DatabaseTable};
use std::path::Path;

/// A directory without tables is a failure: nobody asks for nothing.
pub fn find(path: &Path) -> Result<Database, Failure> {
    let database = Database::open(path)?;
    if database.tables.is_empty() && database.missing.is_empty() {
        return Err(Failure::new(path.display(), "cannot find tables: the database has none yet")
            .hint("entries that were not flushed are in its logs, which have no filters"));
    }
    Ok(database)
}

/// Opens a table of a database; what is no table at all is said to be none.
pub fn open(
    table: &DatabaseTable,
    extractor: Option<PrefixExtractor>,
) -> Result<crate::input::TableFile, Failure> {
    match open_table(&table.path, None, extractor)? {
        Some(table) => Ok(table),
        None => {
            fullbloom::file::Mapped::open(&table.path)?; // what cannot be opened at all is told by opening it
            Err(Failure::new(table.path.display(), "does not end as a table of LevelDB or RocksDB does"))
        }
    }
}

/// Looks at every table, several at once.
pub fn look(database: &Database) -> Vec<Result<TableFacts, String>> {
    let one = |table: &DatabaseTable| -> Result<TableFacts, String> {
        let told = |failure: Failure| failure.to_string();
        let opened = open(table, None).map_err(told)?;
        TableFacts::of(&table.path, &opened).map_err(|e| e.to_string())
    };
    pool::in_order(&database.tables, crate::cassandra::threads(), one)
}

/// A table's file name.
pub fn name(table: &DatabaseTable) -> String {
    table.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
