//! A lock on a file that is replaced by renaming: a lock file beside it, which exists while it is held.
//!
//! A lock on the file itself would not do: it stays with the old file when that is replaced, and a file that
//! does not exist yet cannot be locked. The holder removes the lock file while it still has the lock; whoever
//! waited for it sees that the file is gone and takes a new one. A killed process leaves an empty lock file
//! without a lock, which the next one takes and removes.

use super::{identity, temporary::prefix};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    /// The lock file, which is removed at the end.
    path: Option<PathBuf>,
    /// The open file whose lock is held; `None` if another lock of this process covers the file.
    held: Result<Option<File>, io::Error>,
}

/// A lock file of another user cannot be opened for a moment, until its permissions are set.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

impl Lock {
    /// Waits for the lock of the file with this name; calls `waiting` once if somebody else has it. `old` is
    /// the file, if it exists.
    pub fn take(
        directory: &Path,
        name: &OsStr,
        old: Option<&Metadata>,
        waiting: impl FnOnce(),
    ) -> io::Result<Lock> {
        let path = directory.join(format!("{}lock", prefix(name)));
        let (mut waiting, mut denied) = (Some(waiting), 0);
        loop {
            let (file, created) = match open(&path, old) {
                Ok(opened) => opened,
                // It exists by now, unless it is a link that leads nowhere.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) {
                        return Err(not_a_lock_file(&path));
                    }
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied && denied < TRIES && path.exists() => {
                    denied += 1;
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(e) => return Err(e),
            };
            match lock(&file, &mut waiting) {
                Ok(()) => match is_at(&file, &path) {
                    Ok(true) => return Ok(Lock { path: Some(path), held: Ok(Some(file)) }),
                    Ok(false) => {} // its holder removed it before we had it
                    Err(e) => {
                        if created {
                            let _ = fs::remove_file(&path); // we have its lock, so nobody else uses it
                        }
                        return Err(e);
                    }
                },
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    if created {
                        let _ = fs::remove_file(&path); // useless without locks
                    }
                    return Ok(Lock { path: None, held: Err(e) });
                }
            }
        }
    }

    /// Waits for the lock of a directory itself; calls `waiting` once if somebody else has it.
    pub fn of_directory(directory: &Path, waiting: impl FnOnce()) -> io::Result<Lock> {
        let (directory, mut waiting) = (File::open(directory)?, Some(waiting));
        loop {
            match lock(&directory, &mut waiting) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                locked => return Ok(Lock { path: None, held: locked.map(|()| Some(directory)) }),
            }
        }
    }

    /// No lock of its own: another one covers the file.
    pub fn covered() -> Lock {
        Lock { path: None, held: Ok(None) }
    }

    /// Why there is no lock; `None` if there is one.
    pub fn missing(&self) -> Option<&io::Error> {
        self.held.as_ref().err()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before the lock is released: later it may be somebody else's. Elsewhere a file that is open cannot
        // be told from another one of the same name, so it stays.
        if let Some(path) = self.path.as_ref().filter(|_| cfg!(unix)) {
            let _ = fs::remove_file(path); // an empty file is left, which the next process takes
        }
    }
}

/// Takes the lock of an open file; calls `waiting` if somebody else has it.
fn lock(file: &File, waiting: &mut Option<impl FnOnce()>) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            file.lock()
        }
        Err(TryLockError::Error(e)) => Err(e),
        Ok(()) => Ok(()),
    }
}

/// The lock file, and whether it is new.
fn open(path: &Path, old: Option<&Metadata>) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        // `create` in one step would be refused for a file of another user in a directory like /tmp.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.create_new(true).open(path)?;
            if let Some(old) = old {
                share(&file, old);
            }
            Ok((file, true))
        }
        opened => Ok((opened?, false)),
    }
}

/// Lets those lock the file who may write to it, and nobody else: anybody who can open a lock file can hold
/// its lock, and keep us waiting.
fn share(lock: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let writers = old.mode() & 0o022;
        if writers != 0 && fchown(lock, None, Some(old.gid())).is_ok() {
            // Writers may also read, as opening the lock file needs both. Without it, others are refused.
            let _ = lock.set_permissions(fs::Permissions::from_mode(0o600 | writers | writers << 1));
        }
    }
    #[cfg(not(unix))]
    let _ = (lock, old);
}

fn not_a_lock_file(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not a lock file", path.display()))
}

/// Whether this file is the one at `path`.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Err(not_a_lock_file(path)),
        Ok(there) => Ok(identity(&file.metadata()?) == identity(&there)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}
