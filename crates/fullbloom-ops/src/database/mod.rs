//! Databases of LevelDB and RocksDB: directories of tables.

mod inspect;
mod levels;
mod plan;
mod split;
mod verify;

pub use inspect::DatabaseSummary;
pub(crate) use inspect::inspect;
pub use levels::LevelTotals;
pub(crate) use plan::plan;
pub use plan::{DatabasePlanSummary, FamilyPlan, LevelNow, LevelPlan, Spending, UsualRow};
pub use split::{Curves, LevelKeys, MOST_BITS, Share};
pub(crate) use verify::verify;

use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::table::{self, TableRecord};
use fullbloom_table::database::{Database, DatabaseTable, MissingTable};
use fullbloom_table::{PlainFile, PrefixExtractor, Table};
use std::path::{Path, PathBuf};

/// The tables of a directory. Having none is a problem: the caller expects some.
fn find(path: &Path) -> Result<Database, Problem> {
    let database = Database::open(path).map_err(|e| Problem::at(path, Code::Unreadable, e))?;
    if database.tables.is_empty() && database.missing.is_empty() {
        let why = "cannot find tables: the database has none yet";
        return Err(Problem::at(path, Code::NothingFound, why)
            .hint("entries that were not flushed are in its logs, which have no filters"));
    }
    Ok(database)
}

/// Opens a table of a database.
fn open(table: &DatabaseTable, extractor: Option<PrefixExtractor>) -> Result<Table<PlainFile>, Problem> {
    if !crate::place::ends_as_table(&table.path) {
        // A file that cannot be opened fails here.
        let opened = PlainFile::open(&table.path);
        opened.map_err(|e| Problem::at(&table.path, Code::Unreadable, format_args!("cannot open: {e}")))?;
        let why = "does not end as a table of LevelDB or RocksDB does";
        return Err(Problem::at(&table.path, Code::TableUnreadable, why));
    }
    table::open(&table.path, extractor)
}

/// Whether the table is left over from an earlier state, or not yet part of the database.
fn is_stray(database: &Database, table: &DatabaseTable) -> bool {
    table.place.is_none() && database.has_levels()
}

/// The problem of such a table.
fn stray(table: &DatabaseTable) -> Problem {
    let why = "not in the MANIFEST: left over, or not yet part of the database";
    Problem::at(&table.path, Code::NotInManifest, why)
}

/// Inspects one table of a database.
fn look(database: &Database, table: &DatabaseTable) -> Found<TableRecord> {
    let looked = open(table, None).and_then(|open| table::inspect(&table.path, &open));
    let mut found = looked.unwrap_or_else(|problem| {
        let record = TableRecord { path: table.path.display().to_string(), ..TableRecord::default() };
        Found { record, problems: vec![problem] }
    });
    let place = table.place.as_ref();
    found.record.column_family = Some(place.map(|place| place.family.clone()));
    found.record.level = Some(place.map(|place| place.level));
    found.record.file_bytes = Some(table.file_len);
    if is_stray(database, table) {
        // An interrupted compaction leaves part of a table behind, which is harmless.
        let unreadable = found.problems.iter().find(|_| found.record.kind.is_none());
        let mut problem = stray(table);
        if let Some(unreadable) = unreadable {
            problem.message += &format!("; it cannot be read: {}", unreadable.message);
            found.problems.clear();
        }
        found.problems.insert(0, problem);
    }
    if let Some(place) = place.filter(|place| place.file_len != table.file_len) {
        let why = format!("{} bytes, but the MANIFEST says {}", table.file_len, place.file_len);
        found.problems.insert(0, Problem::at(&table.path, Code::LengthDiffers, why));
    }
    found
}

/// A table that the MANIFEST lists and the directory does not have.
fn missing(directory: &Path, missing: &MissingTable) -> (PathBuf, Problem) {
    let path = directory.join(format!("{:06}.sst", missing.file.number));
    let why = match missing.file.path_id {
        0 => "the MANIFEST lists this table, but it is not in the directory".to_owned(),
        id => format!("the table is in another directory of the database (db_paths, number {id})"),
    };
    let problem = Problem::at(&path, Code::TableMissing, why);
    (path, problem)
}
