//! The new file while it is written, beside the old one.

use fullbloom_core::hash::siphash13;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
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
    /// The permissions that it was created with: those that a new file usually has, unless it was private.
    created: Option<Permissions>,
    renamed: bool,
}

const SUFFIX: &str = ".tmp";

impl Temporary {
    /// Creates `.fullbloom-<target>-<process>-<number>.tmp` beside the target, where `<target>` is a number
    /// derived from its name; never an existing file or a link. Only its owner can read what is written to
    /// it, if the owner could read the old file.
    pub fn create(
        directory: &Path,
        name: &OsStr,
        old: Option<&Metadata>,
        private: bool,
    ) -> io::Result<Temporary> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = prefix(name);
        remove_abandoned(directory, name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // A file that everybody will be able to read is created with its usual permissions, to learn them:
        // another process that opens it at once reads nothing that it could not read later.
        #[cfg(unix)]
        if private || old.is_some() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, closed(old));
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
                    let mut temporary = Temporary { path, file, created: None, renamed: false };
                    if temporary.path.try_exists()? {
                        temporary.created = Some(temporary.file.metadata()?.permissions());
                        #[cfg(unix)]
                        temporary
                            .file
                            .set_permissions(std::os::unix::fs::PermissionsExt::from_mode(closed(old)))?;
                        return Ok(temporary);
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Gives it the permissions that a new file usually has.
    pub fn open_to_others(&self) -> io::Result<()> {
        self.created.iter().try_for_each(|created| self.file.set_permissions(created.clone()))
    }

    /// Renames it over the target.
    pub fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

/// The mode of a file that only its owner can use, as far as the owner could use the old one.
#[cfg(unix)]
fn closed(old: Option<&Metadata>) -> u32 {
    old.map_or(0o600, |old| std::os::unix::fs::MetadataExt::mode(old) & 0o600)
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
pub fn remove_abandoned(directory: &Path, name: &OsStr) {
    let prefix = &prefix(name);
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
