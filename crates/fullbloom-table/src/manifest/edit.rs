//! One record of a MANIFEST: what changed from one version of the database to the next.
//!
//! A record is a sequence of fields, each preceded by a number that says what follows.
//!
//! | number | field | since |
//! |---|---|---|
//! | 1, 2, 3, 4, 9, 10 | comparator, log number, next file, last sequence, previous log, least log | LevelDB; 10 RocksDB |
//! | 5 | where compaction goes on | LevelDB |
//! | 6 | a file that is gone: level, number | LevelDB |
//! | 7, 100, 102, 103 | a new file, in four forms | LevelDB; RocksDB |
//! | 200 – 203 | column family: the record's, added, dropped, the largest | RocksDB |
//! | 300 | the record is one of a group that counts whole or not at all | RocksDB |
//! | 400, 401 | blob files | RocksDB 6.14 |
//! | 8192 + n | may be passed over by who does not know it; its length stands in front | RocksDB |
//!
//! Four numbers above 8192 have no length in front, because they are older than that rule: 8194 to 8197.

use crate::bytes::{Cursor, cursor, place};
use crate::error::Problem;
use crate::internal_key::InternalKey;

/// A table in the MANIFEST.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestFile {
    /// The number of the table, which is its file name.
    pub number: u64,
    /// The level that the table is added to.
    pub level: u32,
    /// The length of the table file in bytes.
    pub file_len: u64,
    /// Which of several directories it is in (`db_paths`); 0 is the first.
    pub path_id: u32,
    /// The smallest key of the table.
    pub smallest: Vec<u8>,
    /// The largest key of the table.
    pub largest: Vec<u8>,
    /// The largest sequence number in it; 0 in LevelDB, which does not record it. All entries of a table that was
    /// ingested have this one, whatever the table says.
    pub last_sequence: u64,
}

/// The contents of a record.
#[derive(Debug, Default)]
pub(crate) struct Edit {
    pub(crate) comparator: Option<String>,
    /// Write-ahead logs of the column family with smaller numbers are in tables.
    pub(crate) log_number: Option<u64>,
    /// An older log that LevelDB was still writing to tables.
    pub(crate) previous_log: Option<u64>,
    pub(crate) deleted: Vec<(u32, u64)>,
    pub(crate) added: Vec<ManifestFile>,
    pub(crate) family: u32,
    pub(crate) family_added: Option<String>,
    pub(crate) family_dropped: bool,
    /// Records of the same group that are still to come.
    pub(crate) group: Option<u32>,
}

/// Fields that may be skipped have this bit.
const MAY_BE_IGNORED: u32 = 1 << 13;

/// Parts of a new file that must not be skipped have this bit.
const MUST_BE_KNOWN: u32 = 1 << 6;

/// Ends the parts of a new file.
const END_OF_FILE_PARTS: u32 = 1;

/// The directory a new file is in.
const PATH_ID: u32 = 65;

impl Edit {
    /// Reads a record that begins at `at` of its log.
    pub(crate) fn decode(record: &[u8], at: u64) -> Result<Edit, Problem> {
        let mut edit = Edit::default();
        let mut cursor = cursor(record, at);
        while cursor.remaining() > 0 {
            let field_at = place(&cursor);
            match cursor.varint32("field number")? {
                1 => edit.comparator = Some(text(&mut cursor, "comparator")?),
                2 => edit.log_number = Some(cursor.varint64("log number")?),
                9 => edit.previous_log = Some(cursor.varint64("previous log number")?),
                3 | 4 | 10 => drop(cursor.varint64("number")?),
                5 => {
                    cursor.varint32("level")?;
                    with_len(&mut cursor, "compaction key")?;
                }
                6 => edit.deleted.push((cursor.varint32("level")?, cursor.varint64("file number")?)),
                form @ (7 | 100 | 102 | 103) => edit.added.push(new_file(&mut cursor, form)?),
                200 => edit.family = cursor.varint32("column family")?,
                201 => edit.family_added = Some(text(&mut cursor, "name of the column family")?),
                202 => edit.family_dropped = true,
                203 => drop(cursor.varint32("largest column family")?),
                300 => edit.group = Some(cursor.varint32("records left in the group")?),
                400 | 8194 => blob_file(&mut cursor, true)?,
                401 | 8195 => blob_file(&mut cursor, false)?,
                8196 => log_added(&mut cursor)?,
                8197 => drop(cursor.varint64("log number")?),
                other if other & MAY_BE_IGNORED != 0 => drop(with_len(&mut cursor, "ignored field")?),
                other => {
                    let (field, allowed) = ("field number", "one of LevelDB's or RocksDB's");
                    return Err(Problem::Value { field, at: field_at, got: other.into(), allowed });
                }
            }
        }
        Ok(edit)
    }
}

fn with_len<'a>(cursor: &mut Cursor<'a>, field: &'static str) -> Result<&'a [u8], Problem> {
    let len = cursor.varint32(field)?;
    Ok(cursor.slice(field, len.into())?)
}

fn text(cursor: &mut Cursor<'_>, field: &'static str) -> Result<String, Problem> {
    Ok(String::from_utf8_lossy(with_len(cursor, field)?).into_owned())
}

/// The user key of an internal key, which ends with sequence number and type.
fn key(cursor: &mut Cursor<'_>, field: &'static str) -> Result<Vec<u8>, Problem> {
    let at = place(cursor);
    let bytes = with_len(cursor, field)?;
    Ok(InternalKey::decode_at(bytes, at)?.user_key.to_vec())
}

fn new_file(cursor: &mut Cursor<'_>, form: u32) -> Result<ManifestFile, Problem> {
    let (level, number) = (cursor.varint32("level")?, cursor.varint64("file number")?);
    let mut path_id = if form == 102 { cursor.varint32("path")? } else { 0 };
    let file_len = cursor.varint64("file length")?;
    let (smallest, largest) = (key(cursor, "first key")?, key(cursor, "last key")?);
    let mut last_sequence = 0;
    if form != 7 {
        cursor.varint64("first sequence number")?;
        last_sequence = cursor.varint64("last sequence number")?;
    }
    if form == 103 {
        path_id = file_parts(cursor)?;
    }
    Ok(ManifestFile { number, level, file_len, path_id, smallest, largest, last_sequence })
}

/// The parts after a new file; only its directory is used here.
fn file_parts(cursor: &mut Cursor<'_>) -> Result<u32, Problem> {
    let mut path_id = 0;
    loop {
        let at = place(cursor);
        let part = cursor.varint32("part of a new file")?;
        if part == END_OF_FILE_PARTS {
            return Ok(path_id);
        }
        let bytes = with_len(cursor, "part of a new file")?;
        match (part, bytes) {
            (PATH_ID, [id]) => path_id = (*id).into(),
            _ if part & MUST_BE_KNOWN != 0 => {
                let (field, allowed) = ("part of a new file", "65 with one byte, or a number without bit 6");
                return Err(Problem::Value { field, at, got: part.into(), allowed });
            }
            _ => {}
        }
    }
}

/// A blob file that is new, or garbage in one: both end with parts of their own.
fn blob_file(cursor: &mut Cursor<'_>, new: bool) -> Result<(), Problem> {
    for field in ["blob file number", "blobs", "bytes of blobs"] {
        cursor.varint64(field)?;
    }
    if new {
        with_len(cursor, "checksum method")?;
        with_len(cursor, "checksum")?;
    }
    while cursor.varint32("part of a blob file")? != 0 {
        with_len(cursor, "part of a blob file")?;
    }
    Ok(())
}

/// A write-ahead log with its parts: 1 ends them, 2 is its length.
fn log_added(cursor: &mut Cursor<'_>) -> Result<(), Problem> {
    cursor.varint64("log number")?;
    loop {
        let at = place(cursor);
        match cursor.varint32("part of a log")? {
            1 => return Ok(()),
            2 => drop(cursor.varint64("length of the log")?),
            got => {
                let (field, allowed) = ("part of a log", "1 or 2");
                return Err(Problem::Value { field, at, got: got.into(), allowed });
            }
        }
    }
}
