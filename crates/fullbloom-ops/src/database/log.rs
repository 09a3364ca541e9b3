//! The write-ahead logs of a database: writes that are in no table yet, and so in no filter.

use crate::problem::{Code, Problem};
use crate::text;
use fullbloom_table::database::{Database, DatabaseLog};
use fullbloom_table::{LogWrite, WriteKind, read_log};
use serde::Serialize;
use std::fs::File;
use std::io::Read;

/// A write-ahead log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogRecord {
    /// Where it is.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// Writes in it that are in no table.
    pub writes: u64,
    /// Deletions among them, of keys and of ranges.
    pub deletions: u64,
    /// Where it cannot be read any further; null if it can be read to its end.
    pub unread_from: Option<u64>,
}

/// Reads a log, and hands out its writes that are in no table. A problem says if it cannot be read to its end.
pub(crate) fn read(
    database: &Database,
    log: &DatabaseLog,
    mut each: impl FnMut(LogWrite<'_>),
) -> Result<(LogRecord, Option<Problem>), Problem> {
    // Copied and not mapped: an engine cuts the log to its length when it closes it.
    let mut bytes = Vec::new();
    let read = File::open(&log.path).and_then(|file| file.take(log.file_len).read_to_end(&mut bytes));
    read.map_err(|e| Problem::at(&log.path, Code::Unreadable, e))?;
    let (mut writes, mut deletions) = (0, 0);
    let end = read_log(&bytes, log.number, |write| {
        if database.needs(write.family, log.number) {
            writes += 1;
            deletions += u64::from(matches!(write.kind, WriteKind::Delete | WriteKind::DeleteRange));
            each(write);
        }
    });
    let problem = end.unread.as_ref().map(|(at, why)| {
        let rest = text::bytes(bytes.len() as u64 - at);
        let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let why = format!("its last {rest} are no whole write, as after a crash, and are not read{why}");
        Problem::at(&log.path, Code::LogUnfinished, why)
    });
    let record = LogRecord {
        path: log.path.display().to_string(),
        bytes: log.file_len,
        writes,
        deletions,
        unread_from: end.unread.map(|(at, _)| at),
    };
    Ok((record, problem))
}

/// What is in the logs that may hold writes that are in no table, and the problems of these.
pub(crate) fn inspect(database: &Database) -> (Vec<LogRecord>, Vec<Problem>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for log in &database.unflushed {
        match read(database, log, |_| {}) {
            Ok((record, unfinished)) => {
                if record.writes > 0 {
                    let writes = text::counted(record.writes, "write");
                    let why = format!(
                        "{writes} in {} are in no table: their keys are in no filter",
                        text::bytes(record.bytes)
                    );
                    problems.push(Problem::at(&log.path, Code::Unflushed, why));
                }
                problems.extend(unfinished);
                records.push(record);
            }
            Err(problem) => problems.push(problem),
        }
    }
    (records, problems)
}
