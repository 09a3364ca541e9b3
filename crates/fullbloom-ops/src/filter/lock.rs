//! Checks, before any work is done, that a file can be written.

use super::file::is_text;
use super::{FilterFile, ReadOptions};
use crate::place::{Place, PlaceKind};
use crate::problem::{Code, Need, Problem};
use crate::rebuild::{check_writable, not_saved};
use crate::sstable::refuses_filter;
use crate::text;
use fullbloom::Secret;
use fullbloom::storage::Mapped;
use fullbloom_any::sniff;
use fullbloom_dialects::Name;
use fullbloom_files::file_lock::FileLock;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Longer files are not a secret.
const LONGEST_SECRET: u64 = 1024;

/// Claims the file that a filter, or another result, will be written to, before an old file there is read.
/// Refuses directories, special files, files with a secret, and read-only files unless `force` is given.
/// Calls `waiting` once if another process has locked it.
pub fn lock(path: &Path, force: bool, waiting: impl FnOnce()) -> Result<FileLock, Problem> {
    let refused = |why: &str| Problem::at(path, Code::CannotSave, format_args!("cannot save: {why}"));
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(Err(e)) = directory.map(fs::metadata) {
        return Err(refused(&e.to_string()));
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(refused("is a directory")),
        Ok(meta) if !meta.is_file() => {
            return Err(refused("not a regular file").needs(Need::StandardOutput));
        }
        _ => {}
    }
    if let Some(problem) = refuses_filter(path) {
        return Err(problem);
    }
    let lock = FileLock::wait(path, waiting).map_err(|e| not_saved(path, &e))?;
    if secret_in(path).is_ok_and(|secret| secret.is_some()) {
        return Err(refused("is a file with a secret, and would be overwritten"));
    }
    check_writable(path, &lock, force)?;
    Ok(lock)
}

/// Refuses to replace a file that is not a filter by a new filter of this dialect.
///
/// A file counts as a filter if its bytes say so, if its name does and it is not text, or if it is a valid
/// file of the same dialect.
/// Raw bits and the filters of LevelDB's blocks have no header that could tell them from any other file:
/// those are refused, too. An empty file has nothing to lose.
pub fn require_replaceable(path: &Path, dialect: Name) -> Result<(), Problem> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > 0 => {}
        _ => return Ok(()),
    }
    let has_header = !dialect.is_raw() && !matches!(dialect, Name::LevelDb | Name::RocksDbBlock);
    let of_dialect = || FilterFile::map(path, &ReadOptions::from(dialect)).and_then(|file| file.open());
    let is_named = |bytes: &[u8]| sniff::recognise(Some(path), bytes).is_ok() && !is_note(bytes);
    let is_packed = || FilterFile::map(path, &ReadOptions::new()).is_ok_and(|file| !file.is_mapped());
    if Mapped::open(path).is_ok_and(|bytes| is_named(bytes.as_ref()))
        || is_packed()
        || has_header && of_dialect().is_ok_and(|opened| opened.problems.is_empty())
    {
        return Ok(());
    }
    Err(foreign(path, "filter"))
}

/// As [`require_replaceable`], for a new table in the place of a file that is not a table.
pub fn require_replaceable_by_table(path: &Path) -> Result<(), Problem> {
    let is_empty = fs::metadata(path).map_or(true, |meta| meta.len() == 0);
    if is_empty || Place::detect(path, None).kind() == PlaceKind::Table {
        return Ok(());
    }
    Err(foreign(path, "table"))
}

/// Whether these bytes are text, of which the last line may have no end.
fn is_note(bytes: &[u8]) -> bool {
    is_text(&[&bytes[..bytes.len().min(1000)], b"\n"].concat())
}

fn foreign(path: &Path, what: &str) -> Problem {
    let why = format_args!("cannot save: a file is there already, and nothing shows that it is a {what}");
    Problem::at(path, Code::CannotSave, why).hint("choose another name, or replace it").needs(Need::Force)
}

/// The secret of a keyed filter in this file, 32 hex digits; `None` if something else is in it.
pub fn secret_in(path: &Path) -> io::Result<Option<Secret>> {
    let (mut digits, mut bytes) = (Vec::new(), Vec::new());
    File::open(path)?.take(LONGEST_SECRET).read_to_end(&mut digits)?;
    Ok(match text::decode_hex(digits.trim_ascii(), &mut bytes) {
        Ok(()) => <[u8; 16]>::try_from(bytes).ok().map(Secret::new),
        Err(_) => None,
    })
}
