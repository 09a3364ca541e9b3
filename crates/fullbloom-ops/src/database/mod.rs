//! Databases of LevelDB and RocksDB: directories of tables.

mod inspect;
mod last;
mod levels;
pub(crate) mod live;
mod lock;
pub(crate) mod log;
mod next;
mod plan;
mod split;
mod verify;

pub use inspect::DatabaseSummary;
pub(crate) use inspect::inspect;
pub use last::LastDatabase;
pub use levels::{LevelTotals, LevelsSum};
pub(crate) use lock::{Locked, lock};
pub use log::LogRecord;
pub(crate) use plan::plan;
pub use plan::{DatabasePlanSummary, FamilyNow, FamilyPlan, LevelNow, LevelPlan, Spending, UsualRow};
pub use split::{Curves, LevelKeys, MOST_BITS, Share};
pub(crate) use verify::{verify, verify_alone};

use crate::problem::{Code, Problem};
use crate::report::Found;
use crate::table::{self, TableRecord};
use fullbloom_table::database::{Database, DatabaseTable, MissingTable};
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

/// Whether the table is left over from an earlier state, or not yet part of the database.
fn is_stray(database: &Database, table: &DatabaseTable) -> bool {
    table.place.is_none() && database.has_levels()
}

/// The problem of such a table.
fn stray(table: &DatabaseTable) -> Problem {
    let why = "not in the MANIFEST: left over, or not yet part of the database";
    Problem::at(&table.path, Code::NotInManifest, why)
}

/// The problems of such a table, which has these if it is looked at alone. An interrupted compaction leaves
/// part of a table behind, which is harmless.
fn of_stray(table: &DatabaseTable, mut problems: Vec<Problem>, is_read: bool) -> Vec<Problem> {
    let mut own = stray(table);
    if let Some(why) = problems.first().filter(|_| !is_read) {
        own.message += &format!("; it cannot be read: {}", why.message);
        problems.clear();
    }
    problems.insert(0, own);
    problems
}

/// A database with tables, or with writes in its logs.
fn find_with_logs(path: &Path) -> Result<Database, Problem> {
    match Database::open(path) {
        Ok(database) if !database.unflushed.is_empty() => Ok(database),
        _ => find(path),
    }
}

/// The tables that belong to a database, for a command that reads their keys or changes them, and the
/// problems of the others.
pub(crate) struct OwnTables {
    pub(crate) database: Database,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) problems: Vec<Problem>,
}

pub(crate) fn own_tables(path: &Path) -> Result<OwnTables, Problem> {
    let database = find_with_logs(path)?;
    let (strays, own): (Vec<_>, Vec<_>) =
        database.tables.iter().partition(|table| is_stray(&database, table));
    let mut problems: Vec<Problem> = strays.iter().map(|table| stray(table)).collect();
    problems.extend(database.missing.iter().map(|table| missing(path, table).1));
    let paths = own.iter().map(|table| table.path.clone()).collect();
    Ok(OwnTables { database, paths, problems })
}

/// Inspects a table that was given by name. It is judged as in its directory: what the MANIFEST there records
/// about it counts.
pub(crate) fn look_alone(path: &Path, last: &LastDatabase, strips: bool) -> Found<TableRecord> {
    match last.of(path) {
        Some((database, table)) => look(&database, &table, strips),
        None => look_into(path, strips),
    }
}

fn look_into(path: &Path, strips: bool) -> Found<TableRecord> {
    let looked = table::open(path, None).and_then(|open| {
        let mut found = table::inspect(path, &open)?;
        if strips {
            found.record.strip = table::strip(&open, found.record.dialect);
        }
        Ok(found)
    });
    looked.unwrap_or_else(|problem| TableRecord::unread(path, problem))
}

/// Inspects one table of a database.
fn look(database: &Database, table: &DatabaseTable, strips: bool) -> Found<TableRecord> {
    let mut found = look_into(&table.path, strips);
    let place = table.place.as_ref();
    found.record.column_family = Some(place.map(|place| place.family.clone()));
    found.record.level = Some(place.map(|place| place.level));
    found.record.file_bytes = Some(table.file_len);
    if is_stray(database, table) {
        found.problems = of_stray(table, found.problems, found.record.kind.is_some());
    }
    found.problems.splice(0..0, length_differs(table));
    found
}

/// The problem of a table whose length is not the recorded one.
fn length_differs(table: &DatabaseTable) -> Option<Problem> {
    let place = table.place.as_ref().filter(|place| place.file_len != table.file_len)?;
    let why = format!("{} bytes, but the MANIFEST says {}", table.file_len, place.file_len);
    Some(Problem::at(&table.path, Code::LengthDiffers, why))
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
