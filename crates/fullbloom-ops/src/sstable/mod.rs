//! Sstables of Cassandra, ScyllaDB and DataStax: one, or all of a data directory.

pub mod damage;
mod inspect;
mod judge;
mod next;
pub mod opening;
mod plan;
mod problems;
mod ranges;
pub mod rates;
mod rebuild;
mod totals;
mod verify;

pub use inspect::{ScyllaRecord, SstableRecord};
pub(crate) use inspect::{inspect, inspect_all};
pub(crate) use plan::plan;
pub use plan::{CassandraNow, CassandraPlanSummary, CassandraTablePlan};
pub use rebuild::{RebuiltSstable, SstableAfter, SstableBefore};
pub(crate) use rebuild::{rebuild, restore};
pub use totals::{TableTotals, table_totals};
pub(crate) use totals::{totals, useless_reads};
pub use verify::VerifiedSstable;
pub(crate) use verify::verify_all;

use crate::problem::{Code, Need, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::{pool, serialise};
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::{Descriptor, TableFormat};
use fullbloom_sstable::sstable::{FILTER, INDEX, PARTITIONS};
use fullbloom_sstable::walk::{self, Options, Skipped, Walk, Why};
use fullbloom_sstable::{Engine, Sstable};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Which sstable it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SstableName {
    /// The path of its filter, whether it is there or not.
    pub path: String,
    /// The dialect of the filter: by the sstable's version, unless the bytes fit only another.
    #[serde(serialize_with = "serialise::name")]
    pub dialect: Name,
    /// Keyspace, where it is known.
    pub keyspace: Option<String>,
    /// Table, where it is known.
    pub table: Option<String>,
    /// The table's id, where the directory has it.
    pub table_id: Option<String>,
    /// Generation.
    pub generation: String,
    /// Version letters.
    pub version: String,
    /// `big` or `bti`.
    pub format: &'static str,
    /// `cassandra`, `scylla` or `datastax`: whose rules apply to its files.
    pub engine: &'static str,
}

impl SstableName {
    fn of(sstable: &Sstable) -> SstableName {
        SstableName {
            path: sstable.path(FILTER).display().to_string(),
            dialect: sstable.dialect,
            keyspace: sstable.keyspace.clone(),
            table: sstable.table.clone(),
            table_id: sstable.table_id.clone(),
            generation: sstable.id.clone(),
            version: sstable.version.clone(),
            format: match sstable.format {
                TableFormat::Big => "big",
                TableFormat::Bti => "bti",
            },
            engine: sstable.engine().as_str(),
        }
    }

    /// `keyspace.table`, as far as it is known.
    pub fn table_name(&self) -> String {
        table_name(self.keyspace.as_deref(), self.table.as_deref(), None)
    }
}

/// `keyspace.table`, as far as it is known, with the table's id if one is given.
fn table_name(keyspace: Option<&str>, table: Option<&str>, id: Option<&str>) -> String {
    let id = id.map_or(String::new(), |id| format!("-{id}"));
    format!("{}.{}{id}", keyspace.unwrap_or("?"), table.unwrap_or("?"))
}

/// The sstables of a directory, or the one that a file belongs to. Having none is a problem: the caller
/// expects some.
pub(crate) fn find(path: &Path, snapshots: bool) -> Result<Walk, Problem> {
    let found =
        walk::find(path, Options { snapshots }).map_err(|e| Problem::at(path, Code::Unreadable, e))?;
    if found.sstables.is_empty() {
        let unknown: BTreeSet<&str> = found.skipped.iter().filter_map(unknown_version).collect();
        if let Some(first) = found.skipped.iter().find(|skipped| unknown_version(skipped).is_some()) {
            let why = unknown.into_iter().collect::<Vec<_>>().join("; ");
            return Err(unsupported_version(&first.path, &why));
        }
        let copies = found.skipped.iter().any(|skipped| matches!(skipped.why, Why::Snapshots));
        let why = "cannot find sstables of Cassandra, ScyllaDB or DataStax, or tables of LevelDB or RocksDB, in this directory";
        let problem = Problem::at(path, Code::NothingFound, why);
        return Err(match copies {
            true => problem.hint("look into the snapshots or backups below it").needs(Need::Snapshots),
            false => problem.hint("filter files of other kinds are given by name"),
        });
    }
    Ok(found)
}

fn unknown_version(skipped: &Skipped) -> Option<&str> {
    match &skipped.why {
        Why::UnknownVersion(why) => Some(why),
        _ => None,
    }
}

/// What to do about a version that is not supported.
const DIALECT_HINT: &str = "inspect and check read one Filter.db if its dialect is given: cassandra (Cassandra 4.0 and \
                            later, DSE 6.8, HCD) or cassandra-3 (Cassandra 3, ScyllaDB, DSE 6.0)";

fn unsupported_version(path: &Path, why: &str) -> Problem {
    Problem::at(path, Code::UnknownVersion, why).hint(DIALECT_HINT).needs(Need::SstableDialect)
}

/// Works on every sstable of a directory that is wanted, several at once, or on the one that a file belongs to. `report`
/// gets what was found and the problems of what was left out.
pub(crate) fn each_sstable<R: Send, S>(
    path: &Path,
    snapshots: bool,
    wants: impl Fn(&Sstable) -> bool,
    one: impl Fn(&Sstable) -> Found<R> + Sync,
    watch: &mut dyn Watch<R>,
    report: impl FnOnce(Vec<Found<R>>, Vec<Problem>) -> Report<R, S>,
) -> Result<Report<R, S>, Problem> {
    let mut walk = find(path, snapshots)?;
    if path.is_dir() {
        walk.sstables.retain(wants);
    }
    let mut all = Vec::new();
    let _ = pool::each(&walk.sstables, one, watch, |found, watch| {
        let flow = watch.found(&found);
        all.push(found);
        flow
    });
    let problems: Vec<Problem> = walk.skipped.iter().map(skipped).collect();
    let unread = problems.iter().any(|problem| problem.code == Code::Unreadable);
    let mut report = report(all, problems);
    if unread {
        report.status = Status::Failed;
    }
    Ok(report)
}

/// What was left out of a directory, or could not be read.
pub(crate) fn skipped(skipped: &Skipped) -> Problem {
    let at = |code, why: &str| Problem::at(&skipped.path, code, why);
    match &skipped.why {
        Why::Unreadable(e) => Problem::at(&skipped.path, Code::Unreadable, e),
        Why::Link => at(Code::LinkSkipped, "a link to a directory is not followed"),
        Why::Snapshots => at(Code::SnapshotsSkipped, "snapshots and backups are left out")
            .hint("look into them")
            .needs(Need::Snapshots),
        Why::Temporary => at(Code::TemporarySkipped, "it was still being written"),
        Why::UnknownVersion(why) => unsupported_version(&skipped.path, why),
        _ => at(Code::Unsupported, "it was left out"),
    }
}

/// Why a filter must not be written to this path by anything but `rebuild`: it is the filter of a ScyllaDB
/// sstable, whose checksum is in `Scylla.db`, and no other file may be beside it. `None` for other paths.
pub fn refuses_filter(path: &Path) -> Option<Problem> {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_filter = Descriptor::parse(&whole).is_ok_and(|named| named.component == FILTER);
    let sstable = Sstable::of_file(&whole).ok().filter(|_| is_filter)?;
    let others = sstable.components.iter().any(|component| component != FILTER);
    (sstable.engine() == Engine::Scylla && others).then(|| {
        let why = "cannot save: it belongs to a ScyllaDB sstable, and Scylla.db may record its checksum";
        let hint = "fullbloom rebuild makes it from the keys of the sstable, and rewrites Scylla.db too";
        Problem::at(path, Code::CannotSave, why).hint(hint)
    })
}

/// How to rebuild a filter, if the keys are beside it.
fn rebuild_hint(sstable: &Sstable) -> Option<String> {
    let path = crate::text::quoted(&sstable.path(FILTER));
    let has_keys = sstable.has(INDEX) || sstable.has(PARTITIONS);
    has_keys.then(|| format!("rebuild it with: fullbloom rebuild {path}"))
}

/// What makes a "no" of this sstable's filter wrong: keys of its own index are not in it, or it has another
/// format than its version says. Looks up some keys, as `inspect` does.
pub fn lookups_fail(sstable: &Sstable) -> Option<Problem> {
    let wrong = |problem: &Problem| matches!(problem.code, Code::KeyMissing | Code::Mislabelled);
    inspect(sstable, None, false).problems.into_iter().find(wrong)
}
