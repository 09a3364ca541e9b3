//! A file that is read, changed and replaced. Two processes doing that at once would silently undo each
//! other's work, so they take turns.

use crate::error::Failure;
use crate::output;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::Path;

/// The right to replace a file, until it is dropped. Readers do not need it: they see the old file or the new
/// one.
#[derive(Debug)]
pub struct Claim<'a> {
    path: &'a Path,
    /// The file as it was when it was claimed, locked where the file system has locks; `None` if there was
    /// none.
    held: Option<File>,
}

impl<'a> Claim<'a> {
    /// Waits until no other process has it.
    pub fn new(path: &'a Path) -> Result<Claim<'a>, Failure> {
        let failed = |e: io::Error| Failure::new(path.display(), format_args!("cannot open: {e}"));
        loop {
            let file = match File::open(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Claim { path, held: None }),
                // The file exists but cannot be opened. Starting with an empty filter would lose its keys.
                other => other.map_err(failed)?,
            };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                output::warning(&format!(
                    "{}: waiting for another process that is changing it",
                    path.display()
                ));
                file.lock().map_err(failed)?;
            }
            // If its previous owner has replaced the file, the new one is claimed instead.
            if is_at(&file, path).map_err(failed)? {
                return Ok(Claim { path, held: Some(file) });
            }
        }
    }

    /// Whether there was a file.
    pub fn is_there(&self) -> bool {
        self.held.is_some()
    }

    /// Refuses if the file has been replaced since. That can happen if there was no file to lock, or no locks
    /// at all.
    pub fn check(&self) -> Result<(), Failure> {
        let unchanged = match &self.held {
            Some(file) => is_at(file, self.path),
            None => self.path.try_exists().map(|exists| !exists),
        };
        let failed = |e| Failure::new(self.path.display(), format_args!("cannot save: {e}"));
        match unchanged.map_err(failed)? {
            true => Ok(()),
            false => {
                let why = "was changed by another process meanwhile, and is not overwritten";
                Err(Failure::new(self.path.display(), why).hint("run the command again"))
            }
        }
    }

    /// After the file was replaced: claims the new one.
    pub fn renew(&mut self) -> Result<(), Failure> {
        *self = Claim::new(self.path)?;
        Ok(())
    }
}

/// Whether the file at `path` is this one.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(identity(&file.metadata()?) == identity(&there)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> impl PartialEq + use<> {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

#[cfg(not(unix))]
fn identity(meta: &Metadata) -> impl PartialEq + use<> {
    (meta.len(), meta.modified().ok())
}
