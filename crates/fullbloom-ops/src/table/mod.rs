//! Tables of LevelDB and RocksDB: one file each, with its filter in it.
//!
//! [`inspect`] and [`verify`] take an open table over any source of bytes; only [`open`] reads from disk.

mod inspect;
mod rebuild;
mod verify;

pub use inspect::{TableRecord, inspect};
pub use rebuild::{RebuiltTable, TableAfter, TableBefore};
pub(crate) use rebuild::{first_clash, rebuild};
pub use verify::{VerifiedTable, verify};

use crate::problem::{Code, Problem};
use fullbloom_table::{BlockCache, PlainFile, PrefixExtractor, Table, TableError, TableOptions};
use std::path::Path;

/// Filter partitions and data blocks that are kept, for keys in random order.
const CACHE: u64 = 64 << 20;

/// Opens the table in a file. `prefix_extractor` is for tables whose own is not known by name.
pub fn open(path: &Path, prefix_extractor: Option<PrefixExtractor>) -> Result<Table<PlainFile>, Problem> {
    let cache = Some(BlockCache::new(CACHE));
    let options = TableOptions { cache, prefix_extractor, ..TableOptions::default() };
    Table::open_with(path, options).map_err(|e| problem(path, &e))
}

/// Turns an error of a table into a problem.
pub(crate) fn problem(path: &Path, error: &TableError) -> Problem {
    use fullbloom_table::Problem as Cause;
    let code = match error.problem() {
        Cause::Checksum { .. } => Code::Checksum,
        Cause::Io { .. } => Code::Unreadable,
        Cause::Size(_) => Code::SizeRefused,
        _ => Code::TableUnreadable,
    };
    Problem::at(path, code, error)
}
