//! Checks, before any work is done, that a file can be written.

use crate::problem::{Code, Need, Problem};
use crate::rebuild::{check_writable, not_saved};
use crate::sstable::refuses_filter;
use crate::text;
use fullbloom::internal::claim::Claim;
use fullbloom::native::Secret;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Longer files are not a secret.
const LONGEST_SECRET: u64 = 1024;

/// Claims the file that a filter, or another result, will be written to, before an old file there is read.
/// Refuses directories, special files, files with a secret, and read-only files unless `force` is given.
/// Calls `waiting` once if another process has claimed it.
pub fn claim(path: &Path, force: bool, waiting: impl FnOnce()) -> Result<Claim, Problem> {
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
    let claim = Claim::wait(path, waiting).map_err(|e| not_saved(path, &e))?;
    if secret_in(path).is_ok_and(|secret| secret.is_some()) {
        return Err(refused("is a file with a secret, and would be overwritten"));
    }
    check_writable(path, &claim, force)?;
    Ok(claim)
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
