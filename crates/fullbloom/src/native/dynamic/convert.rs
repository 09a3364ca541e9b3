//! Bytes, files and other kinds.

use super::filter::DynamicFilter;
use crate::error::DecodeError;
use crate::native::{Secret, StoredFilter};
use alloc::vec::Vec;
#[cfg(feature = "mmap")]
use {
    crate::file::Mapped,
    crate::filter::{Check, Part},
};
#[cfg(feature = "std")]
use {crate::error::FileError, crate::file, std::path::Path};

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// The file's bytes. They depend only on the fingerprints and the options, not on the order of insertions.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = self.encode_to(&mut bytes);
        debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
        bytes
    }

    /// Writes the file's bytes.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        crate::wire::write_with(out, |out| self.encode_to(out))
    }

    /// Saves the filter. The file is replaced atomically.
    #[cfg(feature = "std")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        file::save(path.as_ref(), self.secret_in_file().is_some(), |out| self.write_to(out))
    }
}

impl DynamicFilter {
    /// Reads a `.bloom` file of this kind, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        of_stored(StoredFilter::decode(file)?, None)
    }

    /// As [`decode`](Self::decode), for a keyed filter whose file does not hold its secret.
    pub fn decode_keyed(file: &[u8], secret: &Secret) -> Result<Self, DecodeError> {
        of_stored(StoredFilter::decode(file)?, Some(secret))
    }

    /// Reads a file of this kind and checks all of it. The file may be changed or deleted afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        of_stored(StoredFilter::load(path)?, None).map_err(|e| FileError::decode(path, e))
    }

    /// As [`load`](Self::load), for a keyed filter whose file does not hold its secret.
    #[cfg(feature = "std")]
    pub fn load_keyed(path: impl AsRef<Path>, secret: &Secret) -> Result<Self, FileError> {
        let path = path.as_ref();
        of_stored(StoredFilter::load(path)?, Some(secret)).map_err(|e| FileError::decode(path, e))
    }

    /// Maps a file of this kind: it is ready at once, for lookups in place. Only the front is checked;
    /// [`verify`](crate::native::verify) checks the rest.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<DynamicFilter<Part<Mapped>>, FileError> {
        let path = path.as_ref();
        let mapped = Mapped::open(path)?;
        let read = StoredFilter::read(mapped.as_ref(), Check::Front, |range| Part::new(mapped.clone(), range));
        read.and_then(|stored| of_stored(stored, None)).map_err(|e| FileError::decode(path, e))
    }
}

impl<'a> DynamicFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file of this kind and uses the rest in place, unchecked.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        of_stored(StoredFilter::view(file)?, None)
    }
}

/// The filter, if it is of this kind and its secret is known.
fn of_stored<S: AsRef<[u8]>>(
    stored: StoredFilter<S>,
    secret: Option<&Secret>,
) -> Result<DynamicFilter<S>, DecodeError> {
    let found = stored.kind();
    let StoredFilter::Dynamic(mut filter) = stored else {
        return Err(DecodeError::Kind { found, wanted: "dynamic" });
    };
    if let Some(secret) = secret {
        filter.unlock_in_place(secret)?;
    }
    match filter.is_locked() {
        true => Err(DecodeError::Unknown { what: "the filter is keyed: give its secret" }),
        false => Ok(filter),
    }
}
