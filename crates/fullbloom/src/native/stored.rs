//! Native filters as bytes and in files.

use super::format::{Encoder, decode};
use super::hashing::Hasher;
use super::{
    GrowingFilter, GuardedFilter, Hashing, NativeFilter, RemovingFilter, RotatingFilter, Secret, StoredFilter,
};
use crate::error::{DecodeError, FileError};
use crate::file::{self, Mapped, MappedBits};
use std::io::{self, Write};
use std::path::Path;

/// Checks every byte of a `.bloom` file, of whatever form, against its checksums. Reads all of it.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    decode(file)?.verify(file)
}

impl<'a> GuardedFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and answers from the bits where they are, unchecked; [`verify`] checks them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        StoredFilter::view(file)?.into_plain()
    }
}

impl GuardedFilter {
    /// Reads a `.bloom` file, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        StoredFilter::decode(file)?.into_plain()
    }

    /// Reads a filter's file and checks all of it; the file may change or go afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        StoredFilter::load(path)?.into_plain().map_err(|e| FileError::decode(path, e))
    }
}

impl GuardedFilter<MappedBits> {
    /// Maps a filter's file and answers from it at once: only its front is read and checked. See [`Mapped`] for the
    /// condition, and [`verify`](Self::verify) to check the rest.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let map = Mapped::open(path.as_ref())?;
        let found = decode(map.as_ref())
            .and_then(|decoded| StoredFilter::assemble(decoded, map.as_ref(), |range| range).into_plain());
        let GuardedFilter { filter, exceptions, locked } =
            found.map_err(|e| FileError::decode(path.as_ref(), e))?;
        let NativeFilter { shape, hasher, head, bits } = filter;
        let filter = NativeFilter { shape, hasher, head, bits: MappedBits::new(map, bits) };
        Ok(GuardedFilter { filter, exceptions, locked })
    }

    /// Checks every byte of the mapped file against its checksums. Reads all of it.
    pub fn verify(&self) -> Result<(), DecodeError> {
        verify(self.filter.bits.file())
    }
}

/// What is put in or taken out under another hash than its own would lose keys.
pub(super) fn assert_unlocked(locked: Option<u64>) {
    assert!(locked.is_none(), "the filter is locked: its secret is not known");
}

/// Gives the parts of a locked filter their secret; refused when it is another filter's.
pub(super) fn unlock<'a, S: 'a>(
    locked: &mut Option<u64>,
    parts: impl Iterator<Item = &'a mut NativeFilter<S>>,
    secret: &Secret,
) -> Result<(), DecodeError> {
    let Some(expected) = *locked else { return Ok(()) };
    if secret.check() != expected {
        return Err(DecodeError::Unknown { what: "this is not the secret that the filter was made with" });
    }
    let hashing = Hashing::Secret(secret.clone());
    for part in parts {
        part.hasher = Hasher::new(&hashing);
        part.head.hashing = hashing.clone();
    }
    *locked = None;
    Ok(())
}

impl<S: AsRef<[u8]>> GuardedFilter<S> {
    /// Gives a keyed filter its secret, after which it answers; refused when it is another filter's.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        if self.locked.is_some() {
            unlock(&mut self.locked, std::iter::once(&mut self.filter), secret)?;
            let hashing = self.filter.hashing();
            self.exceptions.iter_mut().for_each(|exceptions| exceptions.set_hashing(hashing));
        }
        Ok(self)
    }
}

/// What every filter that can be written has, and every form that can be read as itself.
macro_rules! written {
    ($filter:ident, $encoder:ident) => {
        impl<S: AsRef<[u8]>> $filter<S> {
            /// Length of the file in bytes.
            pub fn encoded_len(&self) -> u64 {
                Encoder::$encoder(self).encoded_len()
            }

            /// Writes the file's bytes.
            pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
                Encoder::$encoder(self).write_to(out)
            }

            /// The file's bytes.
            pub fn encode(&self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(self.encoded_len() as usize);
                self.write_to(&mut bytes).expect("writing to a Vec cannot fail");
                bytes
            }

            /// Saves the filter: the file is replaced whole or not at all.
            pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
                file::replace(path.as_ref(), |out| self.write_to(out))
            }
        }
    };
    ($filter:ident, $encoder:ident, $form:ident) => {
        written!($filter, $encoder);

        impl $filter {
            /// Reads a `.bloom` file that holds such a filter, checks all of it, and copies it.
            pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
                Self::of_stored(StoredFilter::decode(file)?, None)
            }

            /// As [`decode`](Self::decode), for a keyed filter whose file does not hold its secret.
            pub fn decode_keyed(file: &[u8], secret: &Secret) -> Result<Self, DecodeError> {
                Self::of_stored(StoredFilter::decode(file)?, Some(secret))
            }

            /// Reads the file of such a filter and checks all of it; the file may change or go afterwards.
            pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
                let path = path.as_ref();
                Self::of_stored(StoredFilter::load(path)?, None).map_err(|e| FileError::decode(path, e))
            }

            /// As [`load`](Self::load), for a keyed filter whose file does not hold its secret.
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
                let found = stored.form();
                match stored {
                    StoredFilter::$form(filter) if filter.is_locked() => Err(LOCKED),
                    StoredFilter::$form(filter) => Ok(filter),
                    _ => Err(DecodeError::Form { found, wanted: stringify!($encoder) }),
                }
            }
        }
    };
}

written!(NativeFilter, plain);
written!(GuardedFilter, guarded);
written!(GrowingFilter, growing, Growing);
written!(RemovingFilter, removing, Removing);
written!(RotatingFilter, rotating, Rotating);

const LOCKED: DecodeError = DecodeError::Unknown { what: "the filter is keyed: give its secret" };

/// Why a stored filter cannot take keys.
fn takes_keys<S: AsRef<[u8]>>(stored: GuardedFilter<S>) -> Result<NativeFilter<S>, DecodeError> {
    stored.into_filter().map_err(|stored| match stored.is_locked() {
        true => LOCKED,
        false => DecodeError::Unknown {
            what: "the filter has exceptions and takes no more keys: read it as a GuardedFilter",
        },
    })
}

impl NativeFilter {
    /// Reads a `.bloom` file without exceptions, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        takes_keys(GuardedFilter::decode(file)?)
    }

    /// As [`decode`](Self::decode), for a keyed filter whose file does not hold its secret.
    pub fn decode_keyed(file: &[u8], secret: &Secret) -> Result<Self, DecodeError> {
        takes_keys(GuardedFilter::decode(file)?.unlock(secret)?)
    }

    /// Reads a filter's file and checks all of it; the file may change or go afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        takes_keys(GuardedFilter::load(path.as_ref())?).map_err(|e| FileError::decode(path.as_ref(), e))
    }

    /// As [`load`](Self::load), for a keyed filter whose file does not hold its secret.
    pub fn load_keyed(path: impl AsRef<Path>, secret: &Secret) -> Result<Self, FileError> {
        let unlocked = GuardedFilter::load(path.as_ref())?.unlock(secret);
        unlocked.and_then(takes_keys).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}
