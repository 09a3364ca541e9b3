//! The secret of a keyed filter, in a file of its own: 32 hex digits on a line.

use crate::error::Failure;
use crate::input::decode_hex;
use fullbloom::native::Secret;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Longer files are not a secret.
const LONGEST: u64 = 1024;

/// `--secret`, where a keyed filter is read.
#[derive(Debug, clap::Args)]
pub struct SecretArgs {
    /// The secret of a keyed filter: a file of 32 hex digits
    #[arg(long, value_name = "FILE")]
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
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut text))
        .map_err(|e| Failure::new(path.display(), format_args!("cannot read the secret: {e}")))?;
    let mut bytes = Vec::new();
    let decoded = decode_hex(text.trim_ascii(), &mut bytes);
    match (decoded, <[u8; 16]>::try_from(bytes)) {
        (Ok(()), Ok(bytes)) => Ok(Secret::new(bytes)),
        _ => Err(Failure::new(path.display(), "not a secret: 32 hex digits are expected")
            .hint("openssl rand -hex 16 makes one; build makes one too if the file does not exist")),
    }
}

/// A secret from the system's random source.
pub fn random() -> Result<Secret, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| Failure::new("the system's random source", e))?;
    Ok(Secret::new(bytes))
}

/// Whether there is a secret to read. A killed process may have left an empty file, which counts as none.
pub fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() || meta.len() > 0)
}

/// Writes a secret to a new file that only its owner can read; never over another secret.
pub fn save(path: &Path, secret: &Secret) -> Result<(), Failure> {
    let text: String = secret.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let written = create(path).and_then(|mut file| {
        // One write, so that the file is empty or whole; the lock, so that of two writers one fails.
        let written = file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all());
        written.and_then(|()| flush_directory(path)).inspect_err(|_| forget(path))
    });
    written.map_err(|e| Failure::new(path.display(), format_args!("cannot save the secret: {e}")))
}

/// Removes a secret that no filter was made with.
pub fn forget(path: &Path) {
    let _ = fs::remove_file(path); // another failure is being reported
}

/// A new file, or an empty one, locked.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    let _ = file.lock(); // without locks the check below is all there is
    if file.metadata()?.len() > 0 {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Flushes the directory, as for the filter: a power failure must not lose the secret and keep the filter.
fn flush_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
