//! Native filters as bytes and in files.

use super::format::{Decoded, Encoder, decode};
use super::hashing::Hasher;
use super::{GuardedFilter, Hashing, NativeFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, FileError};
use crate::file::{self, Mapped, MappedBits};
use std::io::{self, Write};
use std::path::Path;

impl Decoded {
    /// The filter over these bits, which are those of the file.
    fn filter<S>(self, file: &[u8], bits: impl FnOnce(std::ops::Range<usize>) -> S) -> GuardedFilter<S> {
        let exceptions = self.exceptions.as_ref().map(|stored| stored.read(file, &self.head.hashing));
        let hasher = Hasher::new(&self.head.hashing);
        let filter = NativeFilter { shape: self.shape, hasher, head: self.head, bits: bits(self.bits) };
        GuardedFilter { filter, exceptions, locked: self.locked }
    }
}

/// Checks every byte of a `.bloom` file against its checksums. Reads all of it.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    decode(file)?.verify(file)
}

impl<'a> GuardedFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and answers from the bits where they are, unchecked; [`verify`] checks them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(decode(file)?.filter(file, |range| &file[range]))
    }
}

impl GuardedFilter {
    /// Reads a `.bloom` file, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        let memory = |_| DecodeError::Memory { bytes: file.len() as u64 };
        let mut copy = Owned::zeroed(file.len() as u64).map_err(memory)?;
        copy.as_mut().copy_from_slice(file);
        Self::decode_owned(copy)
    }

    fn decode_owned(file: Owned) -> Result<Self, DecodeError> {
        let decoded = decode(file.as_ref())?;
        decoded.verify(file.as_ref())?;
        let GuardedFilter { filter, exceptions, locked } = decoded.filter(file.as_ref(), |range| range);
        let NativeFilter { shape, hasher, head, bits } = filter;
        let filter = NativeFilter { shape, hasher, head, bits: file.narrow(bits) };
        Ok(GuardedFilter { filter, exceptions, locked })
    }

    /// Reads a filter's file and checks all of it; the file may change or go afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = file::read(path.as_ref())?;
        Self::decode_owned(bytes).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl GuardedFilter<MappedBits> {
    /// Maps a filter's file and answers from it at once: only its front is read and checked. See [`Mapped`] for the
    /// condition, and [`verify`](Self::verify) to check the rest.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let map = Mapped::open(path.as_ref())?;
        let decoded = decode(map.as_ref()).map_err(|e| FileError::decode(path.as_ref(), e))?;
        let GuardedFilter { filter, exceptions, locked } = decoded.filter(map.as_ref(), |range| range);
        let NativeFilter { shape, hasher, head, bits } = filter;
        let filter = NativeFilter { shape, hasher, head, bits: MappedBits::new(map, bits) };
        Ok(GuardedFilter { filter, exceptions, locked })
    }

    /// Checks every byte of the mapped file against its checksums. Reads all of it.
    pub fn verify(&self) -> Result<(), DecodeError> {
        verify(self.filter.bits.file())
    }
}

impl<S: AsRef<[u8]>> GuardedFilter<S> {
    /// Gives a keyed filter its secret, after which it answers; refused when it is another filter's.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        let Some(expected) = self.locked else { return Ok(self) };
        if secret.check() != expected {
            return Err(DecodeError::Unknown {
                what: "this is not the secret that the filter was made with",
            });
        }
        let hashing = Hashing::Secret(secret.clone());
        self.exceptions.iter_mut().for_each(|exceptions| exceptions.set_hashing(&hashing));
        self.filter.hasher = Hasher::new(&hashing);
        self.filter.head.hashing = hashing;
        self.locked = None;
        Ok(self)
    }

    fn encoder(&self) -> Encoder<'_> {
        let filter = &self.filter;
        Encoder::new(&filter.head, &filter.shape, filter.bits.as_ref(), self.exceptions.as_ref(), self.locked)
    }

    /// Length of the file in bytes.
    pub fn encoded_len(&self) -> u64 {
        self.encoder().encoded_len()
    }

    /// Writes the file's bytes.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.encoder().write_to(out)
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

impl<S: AsRef<[u8]>> NativeFilter<S> {
    fn encoder(&self) -> Encoder<'_> {
        Encoder::new(&self.head, &self.shape, self.bits.as_ref(), None, None)
    }

    /// Length of the file in bytes.
    pub fn encoded_len(&self) -> u64 {
        self.encoder().encoded_len()
    }

    /// Writes the file's bytes.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.encoder().write_to(out)
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

/// Why a stored filter cannot take keys.
fn takes_keys<S: AsRef<[u8]>>(stored: GuardedFilter<S>) -> Result<NativeFilter<S>, DecodeError> {
    stored.into_filter().map_err(|stored| DecodeError::Unknown {
        what: match stored.is_locked() {
            true => "the filter is keyed: give its secret",
            false => "the filter has exceptions and takes no more keys: read it as a GuardedFilter",
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
