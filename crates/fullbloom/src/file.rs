#![allow(unsafe_code)]
//! Filters in files: load (copy), open (map), save (atomically).
//!
//! A save writes a temporary file beside the target, flushes it to the disk, renames it over the target and
//! flushes the directory: after a crash at any moment the old file or the new one is there, whole. The
//! temporary file is removed when anything fails.

use crate::bits::Owned;
use crate::error::FileError;
use crate::filter::{Filter, Format};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A whole file mapped into memory, read-only.
///
/// The file must not be cut short by others while it is mapped: reading past its new end ends the process
/// with a bus error, as the system decides. Replacing it by renaming another over it, as [`replace`] does, is
/// safe: the mapping keeps the old file. [`read`] copies and has no such condition.
#[derive(Debug)]
pub struct Mapped(Option<memmap2::Mmap>);

impl Mapped {
    /// Maps a regular file.
    pub fn open(path: &Path) -> Result<Mapped, FileError> {
        let fail = |e| FileError::io(path, "open", e);
        let (file, len) = regular(path).map_err(fail)?;
        if len == 0 {
            return Ok(Mapped(None)); // an empty mapping is an error on some systems
        }
        // SAFETY: the mapping is read-only and private to us. Another process may write to the file; the bytes
        // are plain integers that every reader bounds-checks, so changed bytes can change answers but not break
        // memory safety. Truncation raises SIGBUS, which the type's documentation names.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
        Ok(Mapped(Some(map)))
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// The part of a mapped file that is a filter's bits.
#[derive(Debug)]
pub struct MappedBits {
    map: Mapped,
    range: Range<usize>,
}

impl MappedBits {
    /// This part of a file.
    ///
    /// # Panics
    /// On use, if the range is not inside the file.
    pub(crate) fn new(map: Mapped, range: Range<usize>) -> MappedBits {
        MappedBits { map, range }
    }

    /// The whole file.
    pub(crate) fn file(&self) -> &[u8] {
        self.map.as_ref()
    }
}

impl AsRef<[u8]> for MappedBits {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.map.as_ref()[self.range.clone()]
    }
}

/// Opens a regular file and tells its length; directories, pipes and devices are refused.
fn regular(path: &Path) -> io::Result<(File, u64)> {
    let check = |meta: fs::Metadata| match meta.is_file() {
        true => Ok(meta.len()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    };
    check(fs::metadata(path)?)?; // before opening: to open a pipe is to wait for its writer
    let file = File::open(path)?;
    let len = check(file.metadata()?)?;
    Ok((file, len))
}

/// Reads a whole regular file into aligned memory.
pub fn read(path: &Path) -> Result<Owned, FileError> {
    let fail = |e| FileError::io(path, "read", e);
    let (mut file, len) = regular(path).map_err(fail)?;
    let mut bytes = Owned::zeroed(len).map_err(|e| fail(io::Error::new(io::ErrorKind::OutOfMemory, e)))?;
    file.read_exact(bytes.as_mut()).map_err(fail)?;
    Ok(bytes)
}

impl<D: Format> Filter<D> {
    /// Reads a filter from a file, strictly; the file may change or go afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = read(path.as_ref())?;
        Filter::decode(bytes.as_ref()).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<D: Format> Filter<D, MappedBits> {
    /// Maps a filter's file and answers from it without reading it first; see [`Mapped`] for the condition.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let map = Mapped::open(path.as_ref())?;
        let fail = |e| FileError::decode(path.as_ref(), e);
        let (dialect, range) = D::decode(map.as_ref()).map_err(fail)?;
        Filter::from_parts(dialect, MappedBits { map, range }).map_err(fail)
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, S> {
    /// Saves the encoded filter: the file is replaced whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        replace(path.as_ref(), |out| self.write_to(out))
    }
}

/// Replaces a file by what `write` writes, or leaves it as it was.
///
/// The new file has the permissions of the old one, or the usual ones for a new file. A symbolic link is
/// followed: the file it names is replaced, the link stays.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
    try_replace(path, write).map_err(|e| FileError::io(path, "save", e))
}

fn try_replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (target, permissions) = match fs::canonicalize(path) {
        Ok(target) => {
            let meta = fs::metadata(&target)?;
            if !meta.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            (target, Some(meta.permissions()))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            (path.to_owned(), None)
        }
        Err(e) => return Err(e),
    };
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = Temporary::create(directory, &target)?;
    let mut out = BufWriter::with_capacity(1 << 16, &mut temporary.file);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, &target)?;
    temporary.renamed = true;
    // Directories cannot be opened everywhere; where they can, the rename must reach the disk.
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    Ok(())
}

/// A file that is removed again unless it has been renamed.
///
/// It is locked while it is being written, so that a later save can tell what a killed process has left
/// behind (nobody holds the lock) from what another is writing now.
struct Temporary {
    path: PathBuf,
    file: File,
    renamed: bool,
}

const SUFFIX: &str = ".tmp";

impl Temporary {
    /// Creates `.<name>.<process>-<number>.tmp` beside the target; never an existing file or a link.
    fn create(directory: &Path, target: &Path) -> io::Result<Temporary> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        remove_abandoned(directory, &prefix);
        loop {
            let mut own = prefix.clone();
            own.push(format!("{}-{}{SUFFIX}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
            let path = directory.join(own);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // Another save may have taken it for abandoned before it was locked: then it is gone.
                Ok(file) if !locked_by_other(&file) && path.exists() => {
                    return Ok(Temporary { path, file, renamed: false });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Takes the lock, or says that somebody else has it. File systems without locks count as locked by us.
fn locked_by_other(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes temporary files of the same target whose writers are gone. Best effort: what cannot be looked at
/// stays, and does no harm.
fn remove_abandoned(directory: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let middle = name
            .strip_prefix(prefix.as_encoded_bytes())
            .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        let ours =
            middle.is_some_and(|m| m.contains(&b'-') && m.iter().all(|b| b.is_ascii_digit() || *b == b'-'));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if ours && is_file && File::open(entry.path()).is_ok_and(|file| matches!(file.try_lock(), Ok(()))) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path); // already failing; there is nobody to tell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace(&path, |out| out.write_all(b"old")).unwrap();
        let failed = replace(&path, |out| {
            out.write_all(&[7; 100_000])?;
            Err(io::Error::other("planted"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("cannot save: planted"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".f.1-0.tmp", ".f.1-1.tmp", ".f.x.tmp", ".g.1-0.tmp"] {
            fs::write(dir.path().join(name), b"half").unwrap();
        }
        let live = File::open(dir.path().join(".f.1-1.tmp")).unwrap();
        live.lock().unwrap();
        replace(&dir.path().join("f"), |out| out.write_all(b"new")).unwrap();
        assert_eq!(names(dir.path()), [".f.1-1.tmp", ".f.x.tmp", ".g.1-0.tmp", "f"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_survive_a_replacement() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("f", &link).unwrap();
        replace(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn only_regular_files_are_read_or_replaced() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).is_err());
        assert!(Mapped::open(dir.path()).is_err());
        assert!(replace(dir.path(), |_| Ok(())).is_err());
        assert!(replace(Path::new("/"), |_| Ok(())).is_err());
        assert!(read(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn an_empty_file_maps_to_no_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("empty");
        fs::write(&path, b"").unwrap();
        assert!(Mapped::open(&path).unwrap().as_ref().is_empty());
        assert!(read(&path).unwrap().as_ref().is_empty());
    }
}
