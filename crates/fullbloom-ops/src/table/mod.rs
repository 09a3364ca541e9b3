//! Tables of LevelDB and RocksDB: one file each, with its filter in it.
//!
//! [`inspect`] and [`verify`] take an open table over any source of bytes; only [`open`] reads from disk.

mod engines;
mod inspect;
mod new;
mod rebuild;
mod verify;

pub use engines::EngineUse;
pub(crate) use inspect::strip;
pub use inspect::{TableRecord, inspect};
pub use new::{NewFilter, index_layout};
pub use rebuild::{RebuiltTable, TableAfter, TableBefore};
pub(crate) use rebuild::{first_clash, rebuild};
pub use verify::{VerifiedTable, verify};

use crate::problem::{Code, Problem};
use crate::text;
use fullbloom_table::{BlockCache, EnginePrefix, PlainFile, Source, Table, TableError, TableOptions};
use std::path::Path;

/// Filter partitions and data blocks that are kept, for keys in random order.
const CACHE: u64 = 64 << 20;

/// Opens the table in a file. `prefix_extractor` is for tables whose prefix extractor is not recognised.
pub fn open(path: &Path, prefix_extractor: Option<EnginePrefix>) -> Result<Table<PlainFile>, Problem> {
    let source = PlainFile::open(path);
    let source = source.map_err(|e| Problem::at(path, Code::Unreadable, format_args!("cannot open: {e}")))?;
    open_source(path, source, prefix_extractor)
}

/// The same for bytes from anywhere.
pub fn open_source<S: Source>(
    name: &Path,
    source: S,
    prefix_extractor: Option<EnginePrefix>,
) -> Result<Table<S>, Problem> {
    if !crate::place::ends_as_table(&source) {
        return Err(Problem::at(name, Code::TableUnreadable, "has no LevelDB or RocksDB footer"));
    }
    let cache = Some(BlockCache::new(CACHE));
    let prefix_extractor = prefix_extractor.map(Into::into);
    let options = TableOptions { cache, prefix_extractor, ..TableOptions::default() };
    Table::new(source, options).map_err(|e| problem(name, &e))
}

/// The problem of a table that does not have all of its entries.
pub(crate) fn short(path: &Path, table: &Table<impl Source>, entries: u64) -> Option<Problem> {
    let recorded = table.properties().entry_count()?;
    if table.properties().is_complete(entries)? {
        return None;
    }
    let why = format!("{} in its data blocks, but it records {recorded}", text::counted_entries(entries));
    Some(Problem::at(path, Code::EntriesDiffer, why))
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
    let problem = Problem::at(path, code, error);
    match error.problem() {
        // The data can still be read, so the filter can be made again.
        Cause::Checksum { of, .. } if of.contains("filter") => {
            problem.hint(format!("rebuild it with: fullbloom rebuild {}", text::quoted(path)))
        }
        _ => problem,
    }
}
