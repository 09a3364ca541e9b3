//! `keys`: the keys of a place.

use crate::key_spec::KeyText;
use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Problem};
use crate::report::Status;
use crate::{database, sstable, table, text};
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::{Keys, Sstable};
use fullbloom_table::database::{Database, DatabaseLog};
use fullbloom_table::{EnginePrefix, WriteKind};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

/// What the caller knows and wants.
#[derive(Debug, Clone, Default)]
pub struct KeysOptions {
    /// The column of a Parquet file.
    pub column: Option<String>,
    /// In data directories, also look into snapshots and backups.
    pub snapshots: bool,
    /// The prefix extractor of tables whose prefix extractor is not recognised.
    pub prefix_extractor: Option<EnginePrefix>,
    /// Of databases, only the keys that are alive: the newest write decides.
    pub live: bool,
}

/// What was found besides the keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeysFound {
    /// Keys handed out.
    pub keys: u64,
    /// Deletions, of single keys and of ranges, in the tables that were read: some of the keys are deleted.
    pub deletions: u64,
    /// What is wrong: part of the keys could not be read.
    pub problems: Vec<Problem>,
    /// How the command ends.
    pub status: Status,
}

impl KeysFound {
    pub(crate) fn add(&mut self, problem: Problem) {
        self.status = self.status.max(problem.code.ends_verify());
        self.problems.push(problem);
    }

    /// Tables hold deletions as they hold keys, and older versions of what was deleted.
    fn add_deletions(&mut self, path: &Path) {
        if self.deletions > 0 {
            let why =
                format!("{}: deleted keys are among the keys", text::counted(self.deletions, "deletion"));
            self.add(Problem::at(path, Code::DeletedKeys, why));
        }
    }
}

/// Who gets the keys: each with the way it is written. Breaking off ends the work.
pub type EachKey<'a> = dyn FnMut(&[u8], &KeyText) -> ControlFlow<()> + 'a;

/// A column that is ignored would give keys, or a "no", that nobody asked for.
pub(crate) fn require_column_place(place: &Place, column: Option<&str>) -> Result<(), Problem> {
    if column.is_none() || matches!(place.kind(), PlaceKind::Parquet | PlaceKind::Dataset) {
        return Ok(());
    }
    Err(Problem::at(place.path(), Code::OptionRefused, "only Parquet files have columns"))
}

/// Hands out the keys of an sstable, of a table, or of a Parquet column; of a directory, those of all its
/// sstables or tables, one after the other.
pub fn keys(place: &Place, options: &KeysOptions, each: &mut EachKey<'_>) -> Result<KeysFound, Problem> {
    let (path, mut found) = (place.path(), KeysFound::default());
    if options.live && place.kind() != PlaceKind::Database {
        let why = "only a database knows which of its keys are alive";
        return Err(Problem::at(path, Code::OptionRefused, why));
    }
    require_column_place(place, options.column.as_deref())?;
    match place.kind() {
        PlaceKind::Sstable | PlaceKind::DataDirectory => {
            let walk = sstable::find(path, options.snapshots)?;
            walk.skipped.iter().map(sstable::skipped).for_each(|problem| found.add(problem));
            let _ = walk.sstables.iter().try_for_each(|sstable| of_sstable(sstable, &mut found, each));
        }
        PlaceKind::Table => {
            let _ = of_table(path, options, &mut found, each);
            found.add_deletions(path);
        }
        PlaceKind::Database => {
            let own = database::own_tables(path)?;
            own.problems.iter().cloned().for_each(|problem| found.add(problem));
            if options.live {
                database::live::keys(path, &own, options.prefix_extractor, &mut found, each)?;
                return Ok(found);
            }
            let _ = own.paths.iter().try_for_each(|path| of_table(path, options, &mut found, each));
            let _ = own
                .database
                .unflushed
                .iter()
                .try_for_each(|log| of_log(&own.database, log, &mut found, each));
            found.add_deletions(path);
        }
        #[cfg(feature = "parquet")]
        PlaceKind::Parquet => crate::parquet::keys(path, options.column.as_deref(), &mut found.keys, each)?,
        #[cfg(feature = "parquet")]
        PlaceKind::Dataset => {
            let column = options.column.as_deref();
            crate::parquet::keys_of_dataset(path, column, &mut found, each)?;
        }
        #[cfg(not(feature = "parquet"))]
        PlaceKind::Parquet | PlaceKind::Dataset => {
            return Err(place.unsupported("built without support for Parquet"));
        }
        PlaceKind::Filter => {
            std::fs::metadata(path)
                .map_err(|e| Problem::at(path, Code::Unreadable, format_args!("cannot open: {e}")))?;
            return Err(place.unsupported(
                "a filter does not store its keys; give an sstable, a table or a Parquet file",
            ));
        }
    }
    Ok(found)
}

fn of_sstable(sstable: &Sstable, found: &mut KeysFound, each: &mut EachKey<'_>) -> ControlFlow<()> {
    let written = KeyText::of_sstable(sstable);
    let mut flow = ControlFlow::Continue(());
    let visited = Keys::open(sstable).and_then(|keys| {
        keys.visit(|batch| {
            flow = batch.iter().try_for_each(|key| {
                found.keys += 1;
                each(key, &written)
            });
            flow
        })
    });
    if let Err(e) = visited {
        found.add(Problem::at(
            &sstable.path(FILTER),
            Code::KeysUnreadable,
            format_args!("cannot read its keys: {e}"),
        ));
    }
    flow
}

/// Hands out the keys of a log that are in no table yet, each once.
fn of_log(
    database: &Database,
    log: &DatabaseLog,
    found: &mut KeysFound,
    each: &mut EachKey<'_>,
) -> ControlFlow<()> {
    // A range has no keys of its own.
    let mut keys = BTreeSet::new();
    let read = database::log::read(database, log, |write| {
        if write.kind != WriteKind::DeleteRange {
            keys.insert(write.key.to_vec());
        }
    });
    match read {
        Ok((record, problem)) => {
            found.deletions += record.deletions;
            problem.into_iter().for_each(|problem| found.add(problem));
        }
        Err(problem) => found.add(problem),
    }
    found.keys += keys.len() as u64;
    keys.iter().try_for_each(|key| each(key, &KeyText::Bytes))
}

fn of_table(
    path: &Path,
    options: &KeysOptions,
    found: &mut KeysFound,
    each: &mut EachKey<'_>,
) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    let walked = table::open(path, options.prefix_extractor).and_then(|table| {
        let failed = |e| table::problem(path, &e);
        found.deletions += table.range_deletions().map_err(failed)?.len() as u64;
        let mut keys = table.keys().map_err(failed)?;
        while let Some(key) = keys.next().map_err(failed)? {
            found.keys += 1;
            flow = each(key, &KeyText::Bytes);
            if flow.is_break() {
                return Ok(());
            }
        }
        found.deletions += keys.deletion_count();
        table::short(path, &table, keys.entry_count()).map_or(Ok(()), Err)
    });
    if let Err(problem) = walked {
        found.add(problem);
    }
    flow
}
