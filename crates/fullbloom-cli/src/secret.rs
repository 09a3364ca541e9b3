//! The secret of a keyed filter, in a file of its own: 32 hex digits on a line.

use crate::error::Failure;
use crate::text::decode_hex;
use fullbloom::internal::claim::Claim;
use fullbloom::native::Secret;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer files are not a secret.
const LONGEST: u64 = 1024;

/// `--secret`, where a keyed filter is read.
#[derive(Debug, clap::Args)]
pub struct SecretArgs {
    /// The file of a keyed filter's secret, 32 hex digits
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
    let text =
        front(path).map_err(|e| Failure::new(path.display(), format_args!("cannot read the secret: {e}")))?;
    decode(&text).ok_or_else(|| {
        Failure::new(path.display(), "not a secret: 32 hex digits are expected")
            .hint("openssl rand -hex 16 makes one; build makes one too if the file does not exist")
    })
}

/// Whether there is a secret in this file.
pub fn is_in(path: &Path) -> bool {
    front(path).is_ok_and(|text| decode(&text).is_some())
}

fn front(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

fn decode(text: &[u8]) -> Option<Secret> {
    let mut bytes = Vec::new();
    decode_hex(text.trim_ascii(), &mut bytes).ok()?;
    <[u8; 16]>::try_from(bytes).ok().map(Secret::new)
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

/// Writes a secret to a new file that only its owner can read. The file appears with the secret in it, and
/// never in the place of another: of two processes that make one, the second fails.
pub fn save(path: &Path, secret: &Secret) -> Result<(), Failure> {
    let text: String = secret.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut claim = Claim::new(path)?;
    if claim.exists() {
        return Err(Failure::new(path.display(), "cannot save the secret: the file exists by now")
            .hint("run the command again: it then uses the secret in this file"));
    }
    claim.make_private();
    Ok(claim.replace(|out| writeln!(out, "{text}"))?)
}
