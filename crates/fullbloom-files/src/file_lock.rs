//! The right to replace a file: one process at a time has it, from reading the old file to the rename.
//!
//! ```text
//!   FileLock::new ─► lock ─► (read the old file, change it) ─► replace: temporary file ─► flush ─► rename ─► unlock
//! ```
//!
//! Everything here that replaces a file takes the lock first, so two processes that change the same file take
//! turns and neither loses the other's work. Readers take none: they see the old file or the new one.
//!
//! A save writes a temporary file beside the target, flushes it to the disk, renames it over the target and
//! flushes the directory: after a crash at any moment, either the old file or the new one is there, complete.
//! The temporary file is removed when anything fails. If a killed process left one behind, the next lock of
//! the same file removes it.

mod links;
mod lock;
mod temporary;

use crate::file::open_unlinked;
use fullbloom_core::error::FileError;
use lock::Lock;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf, is_separator};
use temporary::Temporary;

/// The right to replace a file, until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    target: Target,
    lock: Lock,
    private: bool,
    /// Where the temporary file goes; `None` for the target's directory.
    temporary_in: Option<PathBuf>,
    /// What a file without a predecessor takes owner, group and permissions from.
    like: Option<Box<Metadata>>,
}

impl FileLock {
    /// Waits until no other process has the lock of this file, which need not exist.
    pub fn new(path: &Path) -> Result<FileLock, FileError> {
        Self::wait(path, || {})
    }

    /// As [`new`](FileLock::new); calls `waiting` once if it has to wait.
    pub fn wait(path: &Path, waiting: impl FnOnce()) -> Result<FileLock, FileError> {
        let fail = |e| FileError::io(path, "save", e);
        require_memory().map_err(fail)?;
        let target = Target::find(path).map_err(fail)?;
        let (directory, name) = split(&target.path).map_err(fail)?;
        let lock = Lock::take(directory, name, target.old.as_ref(), waiting).map_err(fail)?;
        if lock.missing().is_none() {
            temporary::remove_abandoned(directory, name);
        }
        Self::under(path, lock)
    }

    /// As [`wait`](FileLock::wait), for directories in which a program allows no other files: the directory is
    /// locked itself. [`temporary_in`](FileLock::temporary_in) must name another one.
    pub fn of_directory(path: &Path, waiting: impl FnOnce()) -> Result<FileLock, FileError> {
        let fail = |e| FileError::io(path, "save", e);
        let place = Target::find(path).map_err(fail)?.path;
        let (directory, _) = split(&place).map_err(fail)?;
        let lock = Lock::of_directory(directory, waiting).map_err(fail)?;
        Self::under(path, lock)
    }

    /// The lock of another file in the directory that [`of_directory`](FileLock::of_directory) has locked. This
    /// lock must be kept until that one is dropped.
    pub fn beside(&self, path: &Path) -> Result<FileLock, FileError> {
        let other = Self::under(path, Lock::covered())?;
        Ok(FileLock { temporary_in: self.temporary_in.clone(), ..other })
    }

    fn under(path: &Path, lock: Lock) -> Result<FileLock, FileError> {
        // Only now: the process that had the lock before may have replaced the file.
        let target = Target::find(path).map_err(|e| FileError::io(path, "save", e))?;
        Ok(FileLock { path: path.to_owned(), target, lock, private: false, temporary_in: None, like: None })
    }

    /// From now on, writes the temporary file into this directory, which must be on the same file system.
    pub fn temporary_in(&mut self, directory: &Path) {
        self.temporary_in = Some(directory.to_owned());
    }

    /// If there is no old file, the new one takes owner, group and permissions from this one.
    pub fn like(&mut self, other: &Path) {
        self.like = fs::metadata(other).ok().map(Box::new);
    }

    /// Whether the file existed when it was locked, or has been written since.
    pub fn exists(&self) -> bool {
        self.target.old.is_some()
    }

    /// Whether nobody may write to the existing file: its mode has no permission to write.
    pub fn is_read_only(&self) -> bool {
        self.target.old.as_ref().is_some_and(|old| old.permissions().readonly())
    }

    /// The file itself: where a symbolic link leads to.
    pub fn place(&self) -> &Path {
        &self.target.path
    }

    /// Fails if somebody changed the file since it was locked.
    pub fn require_unchanged(&self) -> Result<(), FileError> {
        let now = Target::find(&self.path).map_err(|e| FileError::io(&self.path, "save", e))?;
        if self.target.is(&now) { Ok(()) } else { Err(FileError::changed(&self.path)) }
    }

    /// Why the file could not be locked; `None` if it is locked. Without a lock, a save still refuses to
    /// replace a file that has changed since it was locked.
    pub fn unlocked(&self) -> Option<&io::Error> {
        self.lock.missing()
    }

    /// From now on, only its owner can read the new file, whatever the permissions of the old one are.
    pub fn make_private(&mut self) {
        self.private = true;
    }

    /// Replaces the file by the output of `write`, or leaves it unchanged.
    ///
    /// The new file has the permissions, the group and (where permitted) the owner of the old one, or the
    /// usual ones for a new file. A symbolic link is followed: the file it names is replaced, the link stays.
    /// Another user's link in a directory like `/tmp` is refused. A file that somebody changed since it was
    /// locked is not replaced.
    pub fn replace(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
        self.prepare(write)?.commit()
    }

    /// Writes the new file and flushes it, but does not replace the old one yet.
    pub fn prepare(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Prepared<'_>, FileError> {
        let temporary = self.write(write).map_err(|e| FileError::io(&self.path, "save", e))?;
        Ok(Prepared { lock: self, temporary })
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Temporary> {
        let (directory, name) = split(&self.target.path)?;
        let directory = self.temporary_in.as_deref().unwrap_or(directory);
        let old = self.target.old.as_ref().or(self.like.as_deref());
        let mut temporary = Temporary::create(directory, name, old, self.private)?;
        let mut out = BufWriter::with_capacity(1 << 16, &mut temporary.file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        match old {
            Some(old) => take_over(&temporary.file, old, self.private)?,
            None if self.private => {}
            None => temporary.open_to_others()?,
        }
        temporary.file.sync_all()?;
        Ok(temporary)
    }
}

/// A new file that is complete on the disk, beside the old one.
#[derive(Debug)]
pub struct Prepared<'a> {
    lock: &'a mut FileLock,
    temporary: Temporary,
}

impl Prepared<'_> {
    /// Puts the new file in the place of the old one.
    pub fn commit(self) -> Result<(), FileError> {
        let Prepared { lock, temporary } = self;
        let path = lock.path.clone();
        let fail = |e| FileError::io(&path, "save", e);
        lock.require_unchanged()?;
        let new = temporary.file.metadata().map_err(fail)?;
        // Opened before the rename, so that every error that can be found early is found before it. A
        // directory that is writable but not readable cannot be opened; its flush is then left to the system.
        let (directory, _) = split(&lock.target.path).map_err(fail)?;
        let directory = File::open(directory);
        temporary.rename(&lock.target.path).map_err(fail)?;
        lock.target.old = Some(new);
        // Other systems cannot flush a directory.
        if let Some(directory) = directory.ok().filter(|_| cfg!(unix)) {
            directory.sync_all().map_err(|e| FileError::unflushed(&path, e))?;
        }
        // The journal of the old file is not needed once the new one is certain to stay. Left behind, it
        // would be ignored, unless both files are equal.
        remove_journal(&lock.target.path).map_err(fail)
    }
}

/// The file that a path names, links followed.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    old: Option<Metadata>,
}

/// How often a path is looked up again while another process creates or replaces its file.
const TRIES: u32 = 100;

impl Target {
    fn find(path: &Path) -> io::Result<Target> {
        for _ in 0..TRIES {
            let end = links::follow(path)?;
            let old = match fs::symlink_metadata(&end) {
                Ok(old) => old,
                Err(e) if e.kind() != io::ErrorKind::NotFound || end != path => return Err(e),
                Err(_) => {
                    // The directory's own name, so that all paths to the same new file agree.
                    let (directory, name) = split(path)?;
                    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
                    return Ok(Target { path: directory.join(name), old: None });
                }
            };
            // Another process may have put a link there meanwhile, or removed the file.
            let Ok(place) = fs::canonicalize(&end) else { continue };
            if fs::symlink_metadata(&place).is_ok_and(|now| identity(&now) == identity(&old)) {
                if !old.is_file() {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
                }
                return Ok(Target { path: place, old: Some(old) });
            }
        }
        Err(io::Error::other("other processes replace it all the time"))
    }

    /// Whether both are the same file, unchanged.
    fn is(&self, other: &Target) -> bool {
        let state = |target: &Target| target.old.as_ref().map(|meta| (identity(meta), meta.len()));
        let modified = |target: &Target| target.old.as_ref().and_then(|meta| meta.modified().ok());
        self.path == other.path && state(self) == state(other) && modified(self) == modified(other)
    }
}

/// The first bytes of a journal.
pub const JOURNAL_MAGIC: &[u8; 8] = b"\x89FBJRNL\n";

/// The longest file name of common file systems, in bytes.
const LONGEST_NAME: usize = 255;

/// Where the journal of a file is: beside the file itself, not beside a link to it. `None` if the file does
/// not exist, or its name is too long to have a journal.
pub fn journal_of(path: &Path) -> Option<PathBuf> {
    let place = fs::canonicalize(path).ok()?;
    let mut name = place.file_name()?.to_owned();
    name.push(".journal");
    (name.len() <= LONGEST_NAME).then(|| place.with_file_name(name))
}

/// Fails if there is no memory for paths and a buffer.
fn require_memory() -> io::Result<()> {
    fullbloom_core::memory::require(0).map_err(|e| io::Error::new(io::ErrorKind::OutOfMemory, e))
}

/// Removes the journal of a file. Another file with its name stays.
fn remove_journal(target: &Path) -> io::Result<()> {
    let Some(path) = journal_of(target) else { return Ok(()) };
    let mut magic = [0; 8];
    match open_unlinked(&path, OpenOptions::new().read(true)).and_then(|mut file| file.read_exact(&mut magic))
    {
        Ok(()) if magic == *JOURNAL_MAGIC => fs::remove_file(&path),
        _ => Ok(()),
    }
}

/// The directory and the name of a file.
fn split(path: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    // `file_name` ignores a separator at the end.
    let names_directory =
        path.as_os_str().as_encoded_bytes().last().is_some_and(|last| is_separator(*last as char));
    let name = path
        .file_name()
        .filter(|_| !names_directory)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((directory.unwrap_or(Path::new(".")), name))
}

/// What distinguishes a file from all others that exist now.
#[cfg(unix)]
pub fn identity(meta: &Metadata) -> impl PartialEq + use<> {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

/// Not known on this system: length and time must do.
#[cfg(not(unix))]
pub fn identity(_: &Metadata) -> impl PartialEq + use<> {}

/// Gives the new file the owner, the group and the permissions of the old one.
///
/// Only root may change the owner. The group is then kept where the process is a member of it, so that the
/// other members are not locked out.
fn take_over(file: &File, old: &Metadata, private: bool) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid())
            && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
        {
            let _ = fchown(file, None, Some(old.gid())); // only its members and root may give it this group
        }
        if private {
            return file.set_permissions(fs::Permissions::from_mode(0o600));
        }
    }
    let _ = private;
    file.set_permissions(old.permissions())
}

#[cfg(test)]
mod tests;
