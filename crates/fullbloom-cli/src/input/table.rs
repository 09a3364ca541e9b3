//! Table files of LevelDB and RocksDB, told from filter files by how they end.

use crate::error::Failure;
use fullbloom::dialect::Name;
use fullbloom_table::footer::is_table;
use fullbloom_table::{BlockCache, PlainFile, PrefixExtractor, Source, Table, TableOptions};
use std::path::Path;

/// An open table.
pub type TableFile = Table<PlainFile>;

/// Filter partitions and data blocks that are kept, for keys that come in no order.
const CACHE: u64 = 64 << 20;

/// The table in this file; `None` if it is something else, or if the caller says that it is a filter of some dialect.
///
/// A file that cannot be opened is something else, too: whoever opens it as that tells why.
pub fn open_table(
    path: &Path,
    dialect: Option<Name>,
    prefix_extractor: Option<PrefixExtractor>,
) -> Result<Option<TableFile>, Failure> {
    if dialect.is_some() || !ends_as_table(path) {
        return Ok(None);
    }
    let options =
        TableOptions { cache: Some(BlockCache::new(CACHE)), prefix_extractor, ..TableOptions::default() };
    Ok(Some(Table::open_with(path, options)?))
}

fn ends_as_table(path: &Path) -> bool {
    let Ok(file) = PlainFile::open(path) else { return false };
    let Some(offset) = file.byte_len().checked_sub(8) else { return false };
    file.read(offset, 8).is_ok_and(|tail| is_table(&tail))
}
