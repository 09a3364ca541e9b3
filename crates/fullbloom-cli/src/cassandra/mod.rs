//! Cassandra's sstables, as the commands show them.

pub mod inspect;
pub mod plan;
pub mod rebuild;
pub mod verify;

use crate::error::Failure;
use fullbloom::cassandra::TableFormat;
use fullbloom_sstable::walk::{self, Options, Skipped, Walk, Why};
use fullbloom_sstable::{Sstable, sstable};
use serde_json::{Value, json};
use std::path::Path;
use std::thread;

/// The sstables of a directory, or the one that a file belongs to. None at all is a failure: nobody asks for nothing.
pub fn find(path: &Path, snapshots: bool) -> Result<Walk, Failure> {
    let found = walk::find(path, Options { snapshots })?;
    if found.sstables.is_empty() {
        let copies = found.skipped.iter().any(|skipped| matches!(skipped.why, Why::Snapshots));
        let failure = Failure::new(
            path.display(),
            "cannot find sstables of Cassandra or tables of LevelDB or RocksDB in this directory",
        );
        return Err(match copies {
            true => failure.hint("there are snapshots or backups below it: --snapshots looks into them"),
            false => failure.hint("filter files of other kinds are given by name"),
        });
    }
    Ok(found)
}

/// How many sstables are looked at at once.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The path of an sstable's filter, whether it is there or not.
pub fn filter_path(sstable: &Sstable) -> String {
    sstable.path(sstable::FILTER).display().to_string()
}

/// The fields that say which sstable it is.
pub fn identity(sstable: &Sstable) -> Value {
    json!({
        "keyspace": sstable.keyspace,
        "table": sstable.table,
        "table_id": sstable.table_id,
        "generation": sstable.id,
        "version": sstable.version,
        "format": match sstable.format {
            TableFormat::Big => "big",
            TableFormat::Bti => "bti",
        },
    })
}

/// Puts the fields of one object behind those of another.
pub fn join(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// What was not looked into, and why.
pub fn why(skipped: &Skipped) -> String {
    match &skipped.why {
        Why::Unreadable(e) => e.to_string(),
        Why::Link => "a link to a directory is not followed".to_owned(),
        Why::Snapshots => "snapshots and backups are left out (--snapshots looks into them)".to_owned(),
        Why::UnknownVersion => "the version in its name is not known".to_owned(),
        Why::Temporary => "it was still being written".to_owned(),
        _ => "left out".to_owned(),
    }
}

/// The same for machines.
pub fn skipped_json(skipped: &[Skipped]) -> Vec<Value> {
    let entry = |s: &Skipped| json!({ "path": s.path.display().to_string(), "why": why(s) });
    skipped.iter().map(entry).collect()
}

/// The same for people; what could not be read is an error, and told as one.
pub fn skipped_text(skipped: &[Skipped]) -> String {
    let expected = |s: &&Skipped| matches!(s.why, Why::Snapshots);
    let mut text = String::new();
    for skipped in skipped.iter().filter(|s| !expected(s) && !is_unread(s)) {
        let path = skipped.path.display().to_string();
        text += &format!("left out: {}: {}\n", crate::text::printable(&path), why(skipped));
    }
    let copies = skipped.iter().filter(expected).count();
    if copies > 0 {
        text += &format!("left out: {copies} directories of snapshots and backups (--snapshots)\n");
    }
    text
}

/// Whether it could not be read: what is said is not about everything there is.
pub fn is_unread(skipped: &Skipped) -> bool {
    matches!(skipped.why, Why::Unreadable(_))
}
