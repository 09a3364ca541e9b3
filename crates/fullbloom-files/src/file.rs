#![allow(unsafe_code)]
//! Filters in files: load (copy), open (map), save (atomically).
//!
//! A save replaces the file completely or not at all, and waits for other processes that are replacing it.

use crate::file_lock::{FileLock, identity};
use fullbloom_core::bits::Owned;
use fullbloom_core::error::FileError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// A whole file mapped into memory, read-only.
///
/// The file must not be truncated by others while it is mapped: reading past its new end ends the process
/// with a bus error. Replacing it by renaming another file over it, as [`replace`] does, is safe: the mapping
/// keeps the old file. [`read`] copies and has no such condition.
#[cfg(feature = "mmap")]
#[derive(Debug)]
pub struct Mapped(Option<memmap2::Mmap>);

#[cfg(feature = "mmap")]
impl Mapped {
    /// Maps a regular file.
    pub fn open(path: &Path) -> Result<Mapped, FileError> {
        let fail = |e| FileError::io(path, "open", e);
        let (file, len) = regular(path).map_err(fail)?;
        if len == 0 {
            return Ok(Mapped(None)); // an empty mapping is an error on some systems
        }
        // SAFETY: the mapping is read-only and private to us. Another process may write to the file; the
        // bytes are plain integers that every reader bounds-checks, so changed bytes can change answers but
        // not break memory safety. Truncation raises SIGBUS, as the type's documentation states.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(fail)?;
        Ok(Mapped(Some(map)))
    }
}

#[cfg(feature = "mmap")]
impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        // A branch instead of two conditional moves, which a lookup would wait for: 0.5 of 6.5 ns.
        #[cold]
        fn nothing() -> &'static [u8] {
            &[]
        }
        self.0.as_deref().unwrap_or_else(|| nothing())
    }
}

/// Opens a regular file and returns its length too; directories, pipes and devices are refused.
fn regular(path: &Path) -> io::Result<(File, u64)> {
    let check = |meta: fs::Metadata| match meta.is_file() {
        true => Ok(meta.len()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    };
    check(fs::metadata(path)?)?; // before opening: opening a pipe would wait for its writer
    let file = File::open(path)?;
    let len = check(file.metadata()?)?;
    Ok((file, len))
}

/// Opens a regular file that is not a link: a file that only we make, in a directory where others may put a
/// link or a pipe in its place.
pub fn open_unlinked(path: &Path, options: &OpenOptions) -> io::Result<File> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        let before = fs::symlink_metadata(path)?;
        if !before.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = options.open(path)?;
        // Another process may have put another file in its place since; if that was a link, it is seen now.
        if identity(&file.metadata()?) == identity(&before) {
            return Ok(file);
        }
    }
    Err(io::Error::other("the file was replaced each of 100 times it was opened"))
}

/// Reads a whole regular file into aligned memory.
pub fn read(path: &Path) -> Result<Owned, FileError> {
    let fail = |e| FileError::io(path, "read", e);
    let (mut file, len) = regular(path).map_err(fail)?;
    let mut bytes = Owned::zeroed(len).map_err(|e| fail(io::Error::new(io::ErrorKind::OutOfMemory, e)))?;
    file.read_exact(bytes.as_mut()).map_err(fail)?;
    Ok(bytes)
}

/// Saves a filter. A new file with a secret is readable by its owner only; an old one keeps its permissions.
pub fn save(
    path: &Path,
    stores_secret: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut lock = FileLock::new(path)?;
    if stores_secret && !lock.exists() {
        lock.make_private();
    }
    lock.replace(write)
}

/// Replaces a file by the output of `write`, or leaves it unchanged; waits for other processes that are
/// replacing it. See [`FileLock::replace`].
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
    FileLock::new(path)?.replace(write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_or_replaced() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path()).is_err());
        assert!(Mapped::open(dir.path()).is_err());
        assert!(replace(dir.path(), |_| Ok(())).is_err());
        assert!(replace(Path::new("/"), |_| Ok(())).is_err());
        assert!(read(&dir.path().join("missing")).is_err());
    }

    /// With a mapping this would end the process.
    #[test]
    fn what_was_read_stays_when_the_file_is_cut_short() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for _ in 0..100 {
            fs::write(&path, [7; 20_000]).unwrap();
            let bytes = read(&path).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            assert!(bytes.as_ref().len() == 20_000 && bytes.as_ref().iter().all(|byte| *byte == 7));
        }
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
