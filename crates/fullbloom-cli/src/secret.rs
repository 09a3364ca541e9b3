//! The secret of a keyed filter, in a file of its own: 32 hex digits on a line.

use crate::error::Failure;
use crate::output;
use crate::sizing::FILES;
use fullbloom::Secret;
use fullbloom_files::file_lock::FileLock;
use fullbloom_ops::filter::secret_in;
use std::fs;
use std::path::{Path, PathBuf};

/// `--secret`, where a keyed filter is read.
#[derive(Debug, clap::Args)]
pub struct SecretArgs {
    /// Read a keyed filter's secret from this file, 32 hex digits
    #[arg(long, value_name = "FILE", help_heading = FILES)]
    secret: Option<PathBuf>,
}

impl SecretArgs {
    /// The secret, if a file is given.
    pub fn read(&self) -> Result<Option<Secret>, Failure> {
        self.secret.as_deref().map(read).transpose()
    }
}

/// The secret in this file.
pub fn read(path: &Path) -> Result<Secret, Failure> {
    let found = secret_in(path);
    let found =
        found.map_err(|e| Failure::new(path.display(), format_args!("cannot read the secret: {e}")))?;
    found.ok_or_else(|| {
        Failure::new(path.display(), "not a secret: 32 hex digits are expected")
            .hint("openssl rand -hex 16 makes one; build makes one too if the file does not exist")
    })
}

/// A secret from the system's random source.
pub fn random() -> Result<Secret, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| Failure::new("the system's random source", e))?;
    Ok(Secret::new(bytes))
}

/// Whether there is a file to read the secret from. What is there is never replaced.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Claims the file of a new secret.
pub fn lock(path: &Path) -> Result<FileLock, Failure> {
    Ok(FileLock::wait(path, || output::waiting(path))?)
}

/// Writes a secret to a new file that only its owner can read. The file appears with the secret in it, and
/// never in the place of another.
pub fn save(mut lock: FileLock, secret: &Secret) -> Result<(), Failure> {
    let text: String = secret.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    lock.make_private();
    Ok(lock.replace(|out| writeln!(out, "{text}"))?)
}
