//! The lock of a database: an engine holds it while the database is open.
//!
//! LevelDB and RocksDB lock the file `LOCK` with `fcntl`. While tables are replaced the lock is ours, so no
//! engine can open the database in between.

use crate::problem::{Code, Need, Problem};
use fullbloom_files::file_lock::FileLock;
use std::fs::File;
use std::path::Path;

/// A database that no engine can open. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Locked {
    _file: Option<File>,
    /// Processes of ours wait for each other. Released last.
    _lock: Option<FileLock>,
}

/// Locks the database in a directory. A directory without `LOCK` was never opened by an engine and needs no
/// lock of the engine. Calls `waiting` if another process of ours has the database.
pub(crate) fn lock(directory: &Path, waiting: impl FnOnce()) -> Result<Locked, Problem> {
    let path = directory.join("LOCK");
    let lock = FileLock::of_directory(&path, waiting).ok(); // without it, the lock of the engine decides
    if !path.is_file() {
        return Ok(Locked { _file: None, _lock: lock });
    }
    let refused = || {
        Problem::at(
            directory,
            Code::EngineRunning,
            "an engine or another program has the database open: it holds the file LOCK",
        )
        .hint("close the database, or write the tables to another directory")
        .needs(Need::OtherDirectory)
    };
    if system::is_held(&path) {
        return Err(refused());
    }
    let unusable = |e| Problem::at(&path, Code::Unreadable, format_args!("cannot lock: {e}"));
    match system::lock(&path).map_err(unusable)? {
        Some(file) => Ok(Locked { _file: Some(file), _lock: lock }),
        None => Err(refused()),
    }
}

#[cfg(unix)]
mod system {
    use rustix::fs::{FlockOperation, fcntl_lock, major, minor};
    use rustix::io::Errno;
    use std::fs::{self, File};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// Whether any process holds the lock, this one included. Closing a file releases all locks that the
    /// process has on it, so a database that this process has open must be recognised before `LOCK` is
    /// opened. Only Linux lists locks; elsewhere nothing is known.
    pub(super) fn is_held(path: &Path) -> bool {
        let Ok(meta) = fs::metadata(path) else { return false };
        let file = format!("{:02x}:{:02x}:{}", major(meta.dev()), minor(meta.dev()), meta.ino());
        // 1: POSIX  ADVISORY  WRITE 4242 08:01:1234567 0 EOF
        let is_this = |line: &str| {
            let mut words = line.split_ascii_whitespace().skip(1);
            words.next() == Some("POSIX") && words.nth(3) == Some(&file)
        };
        fs::read_to_string("/proc/locks").is_ok_and(|locks| locks.lines().any(is_this))
    }

    /// The locked file; `None` if another process has the lock.
    pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
        let (file, operation) = match File::options().read(true).write(true).open(path) {
            Ok(file) => (file, FlockOperation::NonBlockingLockExclusive),
            // A shared lock needs no permission to write, and conflicts with the engine's too.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                (File::open(path)?, FlockOperation::NonBlockingLockShared)
            }
            Err(e) => return Err(e),
        };
        match fcntl_lock(&file, operation) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn is_held(_: &Path) -> bool {
        false
    }

    /// Engines open `LOCK` without sharing it, so opening it fails while the database is open.
    pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
        File::options().read(true).write(true).open(path).map(Some).or_else(|_| Ok(None))
    }
}
