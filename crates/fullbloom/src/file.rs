//! Filters in files: load (copy), open (map), save (atomically).

use crate::Filter;
use fullbloom_core::error::FileError;
#[cfg(feature = "mmap")]
use fullbloom_core::part::Part;
#[cfg(feature = "mmap")]
use fullbloom_files::Mapped;
use std::io::{self, Write};
use std::path::Path;

impl Filter {
    /// Reads a filter from a file strictly and checks all of it. The file may be changed or deleted
    /// afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Filter, FileError> {
        let bytes = fullbloom_files::read(path.as_ref())?;
        Filter::decode(bytes.as_ref()).map_err(|e| FileError::decode(path.as_ref(), e))
    }

    /// Maps a filter's file and uses it in place, without reading it first; see [`Mapped`] for the condition.
    /// Checksums of the bits are not checked: [`verify`](Filter::verify) does that.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<Filter<Part<Mapped>>, FileError> {
        let map = Mapped::open(path.as_ref())?;
        Filter::over(map).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<S: AsRef<[u8]>> Filter<S> {
    /// Saves the encoded filter. The file is replaced atomically; a new file with a secret is readable by its
    /// owner only.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let secret = self.native.head.stored_secret().is_some();
        fullbloom_files::save(path.as_ref(), secret, |out| self.write_to(out))
    }

    /// Writes the encoded filter without copying it first.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        fullbloom_core::wire::write_with(out, |out| self.encode_to(out))
    }
}
