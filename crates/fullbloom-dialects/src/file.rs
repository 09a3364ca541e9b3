//! Filters in files: load (copy), open (map), save (atomically).

use crate::filter::{Filter, Format};
use fullbloom_core::error::FileError;
#[cfg(feature = "mmap")]
use fullbloom_core::part::Part;
#[cfg(feature = "mmap")]
use fullbloom_files::Mapped;
use fullbloom_files::{read, save};
use std::path::Path;

impl<D: Format> Filter<D> {
    /// Reads a filter from a file strictly and checks all of it. The file may be changed or deleted
    /// afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = read(path.as_ref())?;
        Filter::decode(bytes.as_ref()).map_err(|e| FileError::decode(path.as_ref(), e))
    }

    /// Maps a filter's file and uses it in place, without reading it first; see [`Mapped`] for the condition.
    /// Checksums of the bits are not checked: [`verify`](Filter::verify) does that.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Filter<D, Part<Mapped>>, FileError> {
        let map = Mapped::open(path.as_ref())?;
        Filter::<D>::over(map).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, S> {
    /// Saves the encoded filter. The file is replaced atomically; a new file with a secret is readable by its
    /// owner only.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        save(path.as_ref(), self.dialect.stores_secret(), |out| self.write_to(out))
    }
}
