#![allow(unsafe_code)]
//! Filters in files: load (copy), open (map), save (atomically).
//!
//! A save writes a temporary file beside the target, flushes it to the disk, renames it over the target and
//! flushes the directory: after a crash at any moment, either the old file or the new one is there, complete.
//! The temporary file is removed when anything fails. If a killed process left one behind, the next save of
//! the same file removes it.

use crate::bits::Owned;
use crate::error::FileError;
#[cfg(feature = "mmap")]
use crate::filter::Part;
use crate::filter::{Filter, Format};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
#[cfg(feature = "mmap")]
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A whole file mapped into memory, read-only. A clone is the same mapping.
///
/// The file must not be truncated by others while it is mapped: reading past its new end ends the process
/// with a bus error. Replacing it by renaming another file over it, as [`replace`] does, is safe: the mapping
/// keeps the old file. [`read`] copies and has no such condition.
#[cfg(feature = "mmap")]
#[derive(Debug, Clone)]
pub struct Mapped(Option<Arc<memmap2::Mmap>>);

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
        Ok(Mapped(Some(Arc::new(map))))
    }
}

#[cfg(feature = "mmap")]
impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |map| map.as_ref().as_ref())
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

/// Reads a whole regular file into aligned memory.
pub fn read(path: &Path) -> Result<Owned, FileError> {
    let fail = |e| FileError::io(path, "read", e);
    let (mut file, len) = regular(path).map_err(fail)?;
    let mut bytes = Owned::zeroed(len).map_err(|e| fail(io::Error::new(io::ErrorKind::OutOfMemory, e)))?;
    file.read_exact(bytes.as_mut()).map_err(fail)?;
    Ok(bytes)
}

impl<D: Format> Filter<D> {
    /// Reads a filter from a file strictly and checks all of it. The file may be changed or deleted
    /// afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = read(path.as_ref())?;
        Filter::decode(bytes.as_ref()).map_err(|e| FileError::decode(path.as_ref(), e))
    }

    /// Maps a filter's file and uses it in place, without reading it first; see [`Mapped`] for the condition.
    /// Checksums of the bits are not checked: [`verify`](Filter::verify) does that.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Filter<D, Part<Mapped>>, FileError> {
        let map = Mapped::open(path.as_ref())?;
        Filter::<D>::over(map).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, S> {
    /// Saves the encoded filter. The file is replaced atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        replace(path.as_ref(), |out| self.write_to(out))
    }
}

/// Replaces a file by the output of `write`, or leaves it unchanged.
///
/// The new file has the permissions of the old one, or the usual ones for a new file. A symbolic link is
/// followed: the file it names is replaced, the link stays.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
    replace_with(path, Placing::default(), write)
}

/// How a file is replaced where the usual way does not fit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Placing<'a> {
    /// Write the temporary file into this directory, which must be on the same file system, and not beside the
    /// target.
    pub temporary_in: Option<&'a Path>,
    /// A file without a predecessor takes owner, group and permissions from this one.
    pub like: Option<&'a Path>,
}

/// The same as [`replace`], with other places.
pub fn replace_with(
    path: &Path,
    placing: Placing<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let directory = try_replace(path, placing, write).map_err(|e| FileError::io(path, "save", e))?;
    // Other systems cannot flush a directory.
    match directory.filter(|_| cfg!(unix)) {
        Some(directory) => directory.sync_all().map_err(|e| FileError::unflushed(path, e)),
        None => Ok(()),
    }
}

/// Writes and renames. Returns the directory, which is still to be flushed, if it can be opened.
fn try_replace(
    path: &Path,
    placing: Placing<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Option<File>> {
    let (target, old) = match fs::canonicalize(path) {
        Ok(target) => {
            let meta = fs::metadata(&target)?;
            if !meta.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            (target, Some(meta))
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
    let old = old.or_else(|| placing.like.and_then(|like| fs::metadata(like).ok()));
    let mut temporary = Temporary::create(placing.temporary_in.unwrap_or(directory), &target, old.as_ref())?;
    let mut out = BufWriter::with_capacity(1 << 16, &mut temporary.file);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(old) = &old {
        take_over(&temporary.file, old)?;
    }
    temporary.file.sync_all()?;
    // Opened before the rename, so that every error that can be found early is found before it. A directory
    // that is writable but not readable cannot be opened; its flush is then left to the system.
    let opened = File::open(directory);
    fs::rename(&temporary.path, &target)?;
    temporary.renamed = true;
    Ok(opened.ok())
}

/// Gives the new file the owner (where permitted) and the permissions of the old one.
fn take_over(file: &File, old: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            let _ = fchown(file, Some(old.uid()), Some(old.gid())); // only root may change the owner
        }
    }
    file.set_permissions(old.permissions())
}

/// A file that is removed on drop unless it has been renamed.
///
/// It is locked while it is being written. So a later save can distinguish a file left behind by a killed
/// process (nobody holds the lock) from one that another process is writing now.
struct Temporary {
    path: PathBuf,
    file: File,
    renamed: bool,
}

const SUFFIX: &str = ".tmp";

impl Temporary {
    /// Creates `.fullbloom-<target>-<process>-<number>.tmp` beside the target, where `<target>` is a number
    /// derived from its name; never an existing file or a link. It is readable only by those who could read
    /// the old file.
    fn create(directory: &Path, target: &Path, old: Option<&fs::Metadata>) -> io::Result<Temporary> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))?;
        let prefix = prefix(name);
        remove_abandoned(directory, &prefix);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if let Some(old) = old {
            use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
            options.mode(old.mode() & 0o600);
        }
        #[cfg(not(unix))]
        let _ = old;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!("{prefix}{}-{number}{SUFFIX}", std::process::id()));
            match options.open(&path) {
                // Another save may have removed it as abandoned before it was locked: then it is gone, or
                // soon will be.
                Ok(file) if !locked_by_other(&file) => {
                    let temporary = Temporary { path, file, renamed: false };
                    if temporary.path.try_exists()? {
                        return Ok(temporary);
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// The common prefix of temporary files for a target of this name; its length is the same for every name.
fn prefix(name: &OsStr) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_encoded_bytes());
    format!(".fullbloom-{:016x}-", hasher.finish())
}

/// Takes the lock, or reports that somebody else holds it. On file systems without locks it counts as taken.
fn locked_by_other(file: &File) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes temporary files of the same target whose writers are gone. Best effort: files that cannot be
/// examined stay, and do no harm.
fn remove_abandoned(directory: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
        drop(file); // release the lock only now: its creator must not find the file unlocked and already gone
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path); // already failing; nowhere to report it
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
        let (f, g) = (prefix("f".as_ref()), prefix("g".as_ref()));
        let (dead, live, other) = (format!("{f}1-0.tmp"), format!("{f}1-1.tmp"), format!("{g}1-0.tmp"));
        for name in [&dead, &live, &other, ".f.2024-01.tmp"] {
            fs::write(dir.path().join(name), b"half").unwrap();
        }
        let lock = File::open(dir.path().join(&live)).unwrap();
        lock.lock().unwrap();
        replace(&dir.path().join("f"), |out| out.write_all(b"new")).unwrap();
        let left = names(dir.path());
        assert!(!left.contains(&dead), "{left:?}");
        assert!(
            [live, other, ".f.2024-01.tmp".into(), "f".into()].iter().all(|name| left.contains(name)),
            "{left:?}"
        );
    }

    #[test]
    fn savers_of_one_file_never_fail_and_readers_never_see_a_part() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace(&path, |out| out.write_all(&[0; 5000])).unwrap();
        std::thread::scope(|threads| {
            for byte in 1..=8u8 {
                let path = &path;
                threads.spawn(move || {
                    for _ in 0..40 {
                        replace(path, |out| out.write_all(&[byte; 5000])).unwrap();
                    }
                });
            }
            for _ in 0..200 {
                let bytes = fs::read(&path).unwrap();
                assert_eq!(bytes.len(), 5000);
                assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            }
        });
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn the_longest_names_can_be_saved() {
        let dir = tempfile::tempdir().unwrap();
        replace(&dir.path().join("n".repeat(255)), |out| out.write_all(b"new")).unwrap();
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
