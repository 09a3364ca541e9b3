//! A filter file: its bytes, what they are, and the filter in them.

use crate::error::Failure;
use fullbloom::DecodeError;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use std::path::{Path, PathBuf};

/// The bytes of a file, and what is known about them.
#[derive(Debug)]
pub struct FilterFile {
    path: PathBuf,
    bytes: Vec<u8>,
    dialect: Name,
    geometry: Option<(u64, u32)>,
}

/// A filter, and what has to be said about the file it is in.
pub struct Opened<'a> {
    /// The filter.
    pub filter: Box<dyn AnyFilter + 'a>,
    /// Bytes it occupies in the file.
    pub bytes: u64,
    /// What is not as it should be, though the filter can be used.
    pub warnings: Vec<String>,
}

impl FilterFile {
    /// Reads a file; without a dialect it is told from the file's name and first bytes.
    pub fn load(path: &Path, dialect: Option<Name>, geometry: Option<(u64, u32)>) -> Result<FilterFile, Failure> {
        let bytes = std::fs::read(path).map_err(|e| Failure::new(path.display(), e))?;
        let dialect = dialect.unwrap_or(Name::LevelDb);
        Ok(FilterFile { path: path.to_owned(), bytes, dialect, geometry })
    }

    /// The filter. Bytes that follow it are a warning, not an error: it answers for itself.
    pub fn open(&self) -> Result<Opened<'_>, Failure> {
        let mut warnings = Vec::new();
        let mut bytes = &self.bytes[..];
        let mut filter = any::view(self.dialect, bytes, self.geometry);
        if let Err(DecodeError::Trailing { at, .. }) = filter {
            warnings.extend(filter.err().map(|trailing| trailing.to_string()));
            bytes = &bytes[..usize::try_from(at).unwrap_or(bytes.len())];
            filter = any::view(self.dialect, bytes, self.geometry);
        }
        match filter {
            Ok(filter) => Ok(Opened { filter, bytes: bytes.len() as u64, warnings }),
            Err(e) => Err(Failure::new(self.path.display(), format_args!("not a {} filter: {e}", self.dialect))),
        }
    }
}
