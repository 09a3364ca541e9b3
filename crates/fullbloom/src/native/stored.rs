//! Native filters as bytes and in files.

use super::dialect::Native;
use super::format::{Encoder, decode};
use super::hashing::Hasher;
use super::{GrowingFilter, Hashing, RemovingFilter, RotatingFilter, Secret, StoredFilter};
use crate::error::DecodeError;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use {crate::error::FileError, crate::file, std::path::Path};

/// Checks every byte of a `.bloom` file, of any kind, against its checksums. Reads the whole file.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    decode(file)?.verify(file)
}

/// Inserting or removing under another hash than its own would lose keys.
pub(super) fn assert_unlocked(locked: Option<u64>) {
    assert!(locked.is_none(), "the filter is locked: its secret is not known");
}

/// Gives the parts of a locked filter their secret. Fails when it is the secret of another filter.
pub(super) fn unlock<'a>(
    locked: &mut Option<u64>,
    parts: impl Iterator<Item = &'a mut Native>,
    secret: &Secret,
) -> Result<(), DecodeError> {
    let Some(expected) = *locked else { return Ok(()) };
    if secret.check() != expected {
        return Err(DecodeError::Unknown { what: "this is not the filter's secret" });
    }
    let hashing = Hashing::Secret(secret.clone());
    for part in parts {
        part.hasher = Hasher::new(&hashing);
        part.head.hashing = hashing.clone();
    }
    *locked = None;
    Ok(())
}

/// The methods of every filter that can be written, and of every kind that can be read directly.
macro_rules! written {
    ($filter:ident, $encoder:ident, $kind:ident) => {
        impl<S: AsRef<[u8]>> $filter<S> {
            /// Length of the file in bytes.
            pub fn encoded_len(&self) -> u64 {
                Encoder::$encoder(self).encoded_len()
            }

            /// Writes the file's bytes.
            #[cfg(feature = "std")]
            pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
                crate::wire::write_with(out, |out| Encoder::$encoder(self).write_to(out))
            }

            /// The file's bytes.
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(self.encoded_len() as usize);
                let written = Encoder::$encoder(self).write_to(&mut bytes);
                debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
                bytes
            }

            /// Saves the filter. The file is replaced atomically.
            #[cfg(feature = "std")]
            pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
                file::save(path.as_ref(), Encoder::$encoder(self).stores_secret(), |out| self.write_to(out))
            }
        }

        impl $filter {
            /// Reads a `.bloom` file that holds such a filter, checks all of it, and copies it.
            pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
                Self::of_stored(StoredFilter::decode(file)?, None)
            }

            /// As [`decode`](Self::decode), for a keyed filter whose file does not hold its secret.
            pub fn decode_keyed(file: &[u8], secret: &Secret) -> Result<Self, DecodeError> {
                Self::of_stored(StoredFilter::decode(file)?, Some(secret))
            }

            /// Reads the file of such a filter and checks all of it. The file may be changed or deleted
            /// afterwards.
            #[cfg(feature = "std")]
            pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
                let path = path.as_ref();
                Self::of_stored(StoredFilter::load(path)?, None).map_err(|e| FileError::decode(path, e))
            }

            /// As [`load`](Self::load), for a keyed filter whose file does not hold its secret.
            #[cfg(feature = "std")]
            pub fn load_keyed(path: impl AsRef<Path>, secret: &Secret) -> Result<Self, FileError> {
                let path = path.as_ref();
                Self::of_stored(StoredFilter::load(path)?, Some(secret))
                    .map_err(|e| FileError::decode(path, e))
            }

            fn of_stored(stored: StoredFilter, secret: Option<&Secret>) -> Result<Self, DecodeError> {
                let stored = match secret {
                    Some(secret) => stored.unlock(secret)?,
                    None => stored,
                };
                let found = stored.kind();
                match stored {
                    StoredFilter::$kind(filter) if filter.is_locked() => Err(LOCKED),
                    StoredFilter::$kind(filter) => Ok(filter),
                    _ => Err(DecodeError::Kind { found, wanted: stringify!($encoder) }),
                }
            }
        }
    };
}

written!(GrowingFilter, growing, Growing);
written!(RemovingFilter, removing, Removing);
written!(RotatingFilter, rotating, Rotating);

const LOCKED: DecodeError = DecodeError::Unknown { what: "the filter is keyed: give its secret" };
