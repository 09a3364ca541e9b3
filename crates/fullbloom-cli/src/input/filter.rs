//! A filter file: its bytes, what they are, and the filter in them.

use crate::error::Failure;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::file::{self, Mapped};
use fullbloom::{DecodeError, Owned, sniff};
use std::path::{Path, PathBuf};

/// A file, and what is known about it before its bytes are understood.
#[derive(Debug)]
pub struct FilterFile {
    path: PathBuf,
    bytes: Bytes,
    dialect: Name,
    geometry: Option<(u64, u32)>,
}

#[derive(Debug)]
enum Bytes {
    Loaded(Owned),
    Mapped(Mapped),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Loaded(bytes) => bytes.as_ref(),
            Bytes::Mapped(map) => map.as_ref(),
        }
    }
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
    /// Reads a file: it may change or go afterwards.
    pub fn load(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        Self::new(path, Bytes::Loaded(file::read(path)?), dialect, geometry)
    }

    /// Maps a file: only what is asked for is read, but nobody may cut it short meanwhile.
    pub fn map(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        Self::new(path, Bytes::Mapped(Mapped::open(path)?), dialect, geometry)
    }

    /// Without a dialect it is told from the file's name and first bytes.
    fn new(
        path: &Path,
        bytes: Bytes,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        let dialect = match dialect {
            Some(dialect) => dialect,
            None => sniff::dialect(Some(path), bytes.as_ref()).map_err(|e| unknown(path, &e))?,
        };
        Ok(FilterFile { path: path.to_owned(), bytes, dialect, geometry })
    }

    /// The filter. Bytes that follow it are a warning, not an error: it answers for itself.
    pub fn open(&self) -> Result<Opened<'_>, Failure> {
        let mut warnings = Vec::new();
        let mut bytes = self.bytes.as_ref();
        let mut view = any::view(self.dialect, bytes, self.geometry);
        if let Err(trailing @ DecodeError::Trailing { at, .. }) = &view {
            warnings.push(trailing.to_string());
            // A filter that says where it ends ends inside the bytes.
            bytes = usize::try_from(*at).ok().and_then(|at| bytes.get(..at)).unwrap_or(bytes);
            view = any::view(self.dialect, bytes, self.geometry);
        }
        let filter = view.map_err(|e| self.refused(&e))?;
        warnings.extend(filter.doubt().map(|doubt| doubt.to_string()));
        Ok(Opened { filter, bytes: bytes.len() as u64, warnings })
    }

    fn refused(&self, cause: &DecodeError) -> Failure {
        let failure =
            Failure::new(self.path.display(), format_args!("not a {} filter: {cause}", self.dialect));
        match cause {
            DecodeError::Unknown { .. } => {
                failure.hint("give --bits M --probes K, as the filter was built with")
            }
            _ => failure,
        }
    }
}

fn unknown(path: &Path, cause: &DecodeError) -> Failure {
    let names: Vec<&str> = Name::ALL.iter().map(|name| name.as_str()).collect();
    Failure::new(path.display(), cause).hint(format!("give --dialect D, one of {}", names.join(", ")))
}
