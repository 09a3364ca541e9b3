//! A filter file: its bytes, what they are, and the filter in them.

use crate::error::Failure;
use fullbloom::any::{self, AnyFilter};
use fullbloom::cassandra::Descriptor;
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
    /// One of them may make keys of the filter look absent.
    pub may_lose_keys: bool,
}

impl FilterFile {
    /// Reads a file: it may change or go afterwards. What it is, is told first, so that a large file which is
    /// no filter is not read.
    pub fn load(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        let mapped = Self::map(path, dialect, geometry)?;
        Ok(FilterFile { bytes: Bytes::Loaded(file::read(path)?), ..mapped })
    }

    /// Maps a file: only what is asked for is read, but nobody may cut it short meanwhile. Without a dialect it
    /// is told from the file's name and bytes.
    pub fn map(
        path: &Path,
        dialect: Option<Name>,
        geometry: Option<(u64, u32)>,
    ) -> Result<FilterFile, Failure> {
        let map = Mapped::open(path)?;
        let dialect = match dialect {
            Some(dialect) => dialect,
            None => sniff::dialect(Some(path), map.as_ref()).map_err(|e| unknown(path, &e))?,
        };
        Ok(FilterFile { path: path.to_owned(), bytes: Bytes::Mapped(map), dialect, geometry })
    }

    /// The filter. Bytes that follow it are a warning, not an error, where it says itself where it ends.
    pub fn open(&self) -> Result<Opened<'_>, Failure> {
        let mut warnings: Vec<String> = name_contradicts(&self.path, self.dialect).into_iter().collect();
        let mut bytes = self.bytes.as_ref();
        let mut view = any::view(self.dialect, bytes, self.geometry);
        if let (Err(trailing @ DecodeError::Trailing { at, .. }), None) = (&view, self.geometry) {
            warnings.push(trailing.to_string());
            bytes = usize::try_from(*at).ok().and_then(|at| bytes.get(..at)).unwrap_or(bytes);
            view = any::view(self.dialect, bytes, None);
        }
        let filter = view.map_err(|e| self.refused(&e))?;
        let doubt = filter.doubt();
        let may_lose_keys = doubt.as_ref().is_some_and(|doubt| doubt.may_lose_keys);
        warnings.extend(doubt.map(|doubt| doubt.to_string()));
        Ok(Opened { filter, bytes: bytes.len() as u64, warnings, may_lose_keys })
    }

    fn refused(&self, cause: &DecodeError) -> Failure {
        let path = self.path.display();
        match cause {
            DecodeError::Mismatch { field: "bits given", got, expected, .. } => {
                Failure::new(path, format_args!("--bits {got}: the file says {expected}"))
            }
            DecodeError::Mismatch { field: "probes given", got, expected, .. } => {
                Failure::new(path, format_args!("--probes {got}: the file says {expected}"))
            }
            DecodeError::Trailing { at, extra } if self.geometry.is_some() => {
                let why = format!("{} bytes, where --bits needs {at}", at.saturating_add(*extra));
                Failure::new(path, why).hint("give the --bits the filter was built with")
            }
            DecodeError::Unknown { .. } => {
                Failure::new(path, format_args!("not a {} filter: {cause}", self.dialect))
                    .hint("give --bits M --probes K, as the filter was built with")
            }
            _ => Failure::new(path, format_args!("not a {} filter: {cause}", self.dialect)),
        }
    }
}

/// What to say when a file is named as the filter of another dialect than it is read or written as.
pub fn name_contradicts(path: &Path, dialect: Name) -> Option<String> {
    let named = Descriptor::parse(path).ok().filter(|named| named.component == "Filter.db")?;
    (named.dialect != dialect).then(|| {
        format!("the name says sstable version {}, which is {}, not {dialect}", named.version, named.dialect)
    })
}

fn unknown(path: &Path, cause: &DecodeError) -> Failure {
    let names: Vec<&str> = Name::ALL.iter().map(|name| name.as_str()).collect();
    Failure::new(path.display(), cause).hint(format!("give --dialect D, one of {}", names.join(", ")))
}
