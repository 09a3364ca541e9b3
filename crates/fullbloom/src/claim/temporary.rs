//! The new file while it is written, beside the old one.

use crate::hash::siphash13;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is removed on drop unless it has been renamed.
///
/// It is locked while it is being written. So a later save can distinguish a file left behind by a killed
/// process (nobody holds the lock) from one that another process is writing now.
#[derive(Debug)]
pub struct Temporary {
    /// The file, open for writing.
    pub file: File,
    path: PathBuf,
    renamed: bool,
}

const SUFFIX: &str = ".tmp";

impl Temporary {
    /// Creates `.fullbloom-<target>-<process>-<number>.tmp` beside the target, where `<target>` is a number
    /// derived from its name; never an existing file or a link. It is readable only by those who could read
    /// the old file, or by its owner if it is private.
    pub fn create(
        directory: &Path,
        name: &OsStr,
        old: Option<&Metadata>,
        private: bool,
    ) -> io::Result<Temporary> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = prefix(name);
        remove_abandoned(directory, &prefix);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
            match old {
                _ if private => options.mode(0o600),
                Some(old) => options.mode(old.mode() & 0o600),
                None => &mut options,
            };
        }
        #[cfg(not(unix))]
        let _ = (old, private);
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

    /// Renames it over the target.
    pub fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

/// The common prefix of all files beside a target of this name; its length is the same for every name.
pub fn prefix(name: &OsStr) -> String {
    format!(".fullbloom-{:016x}-", siphash13(name.as_encoded_bytes(), &[0; 16]))
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
