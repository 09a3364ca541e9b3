//! The contents of a `.bloom` file: one of the kinds of the native filter.

use super::chunks::Chunks;
use super::dialect::{Head, Native};
use super::format::{Decoded, DecodedKind, Encoder, decode};
use super::{CompactFilter, DynamicFilter, Hashing, Kind, NativeFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, SizeError};
use crate::filter::{Check, Filter};
use crate::wire::{Output, Stop};
use core::ops::Range;
#[cfg(feature = "std")]
use {super::read_with_journal, crate::error::FileError, crate::file, std::path::Path};

/// A filter from a file, whose kind is detected when it is read.
///
/// ```
/// use fullbloom::native::{DynamicFilter, StoredFilter};
///
/// let mut dynamic = DynamicFilter::with_fpr(1_000, 0.01)?;
/// dynamic.insert(b"alice")?;
/// let StoredFilter::Dynamic(read) = StoredFilter::decode(&dynamic.encode())? else { panic!("another kind") };
/// assert!(read.may_contain(b"alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoredFilter<S = Owned> {
    /// Bits in lines, with exceptions or without.
    Fast(NativeFilter<S>),
    /// Linear systems in lines, with exceptions or without.
    Compact(CompactFilter<S>),
    /// Fingerprints.
    Dynamic(DynamicFilter<S>),
}

/// Checks every byte of a `.bloom` file, of any kind, against its checksums. Reads the whole file.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    decode(file)?.verify(file)
}

/// Inserting or removing under another hash than its own would lose keys.
pub(super) fn assert_unlocked(locked: Option<u64>) {
    assert!(locked.is_none(), "the filter is locked: its secret is not known");
}

impl<'a> StoredFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and uses the bits in place, unchecked; [`verify`](super::verify)
    /// checks them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self::assemble(decode(file)?, file, |range| &file[range]))
    }
}

impl StoredFilter {
    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        match self {
            StoredFilter::Fast(filter) => filter.set_label(label),
            StoredFilter::Compact(filter) => filter.set_label(label),
            StoredFilter::Dynamic(filter) => filter.set_label(label),
        }
    }

    /// Reads a `.bloom` file, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        let memory = |_| DecodeError::Memory { bytes: file.len() as u64 };
        let mut copy = Owned::zeroed(file.len() as u64).map_err(memory)?;
        copy.as_mut().copy_from_slice(file);
        Self::decode_owned(copy)
    }

    pub(crate) fn decode_owned(file: Owned) -> Result<Self, DecodeError> {
        let decoded = decode(file.as_ref())?.verified(file.as_ref())?;
        let bits = decoded.bits.clone();
        let stored = StoredFilter::assemble(decoded, file.as_ref(), |_| ());
        Ok(stored.map(|()| file.part(bits)))
    }

    /// Reads a filter's file and its journal, and checks all of it. The file may be changed or deleted
    /// afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let (bytes, journal) = read_with_journal(path, file::read)?;
        let stored = Self::decode_owned(bytes).and_then(|stored| match journal {
            Some(journal) => journal.replay(stored),
            None => Ok(stored),
        });
        stored.map_err(|e| FileError::decode(path, e))
    }
}

impl<D, S> Filter<D, S> {
    fn map<T>(self, bits: impl FnOnce(S) -> T) -> Filter<D, T> {
        Filter { dialect: self.dialect, bits: bits(self.bits) }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// A copy that owns its bits.
    pub fn try_clone(&self) -> Result<StoredFilter, SizeError> {
        Ok(match self {
            StoredFilter::Fast(filter) => StoredFilter::Fast(filter.try_clone()?),
            StoredFilter::Compact(filter) => StoredFilter::Compact(filter.try_clone()?),
            StoredFilter::Dynamic(filter) => StoredFilter::Dynamic(filter.try_clone()?),
        })
    }
}

impl<S> StoredFilter<S> {
    /// Reads the front of a `.bloom` file, and checks the rest or returns its chunks, depending on `check`;
    /// `bits` creates the storage for a range of the file.
    pub(crate) fn read(
        file: &[u8],
        check: Check,
        bits: impl FnOnce(Range<usize>) -> S,
    ) -> Result<(Self, Option<Chunks>), DecodeError> {
        let decoded = decode(file)?;
        let (decoded, unchecked) = match check {
            Check::All => (decoded.verified(file)?, None),
            Check::Front => {
                let chunks = Chunks::of(&decoded);
                (decoded, Some(chunks))
            }
        };
        Ok((Self::assemble(decoded, file, bits), unchecked))
    }

    /// The filter over the storage that `bits` creates for the range of its bits in the file.
    fn assemble(decoded: Decoded, file: &[u8], bits: impl FnOnce(Range<usize>) -> S) -> StoredFilter<S> {
        let Decoded { kind, exceptions, locked, bits: range, .. } = decoded;
        let (exceptions, bits) = (exceptions.map(|stored| stored.read(file)), bits(range));
        match kind {
            DecodedKind::Fast(head, shape) => {
                let dialect = Native::from_parts(shape, head).closed(exceptions, locked);
                StoredFilter::Fast(Filter { dialect, bits })
            }
            DecodedKind::Compact(compact) => {
                StoredFilter::Compact(Filter { dialect: compact.assemble(exceptions, locked), bits })
            }
            DecodedKind::Dynamic(dynamic) => StoredFilter::Dynamic(dynamic.assemble(file, locked, bits)),
        }
    }

    /// The same filter over other memory.
    pub(super) fn map<T>(self, bits: impl FnOnce(S) -> T) -> StoredFilter<T> {
        match self {
            StoredFilter::Fast(filter) => StoredFilter::Fast(filter.map(bits)),
            StoredFilter::Compact(filter) => StoredFilter::Compact(filter.map(bits)),
            StoredFilter::Dynamic(filter) => StoredFilter::Dynamic(filter.map(bits)),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            StoredFilter::Fast(_) => Kind::Fast,
            StoredFilter::Compact(_) => Kind::Compact,
            StoredFilter::Dynamic(_) => Kind::Dynamic,
        }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// Whether it is keyed and its secret is unknown.
    pub fn is_locked(&self) -> bool {
        match self {
            StoredFilter::Fast(filter) => filter.is_locked(),
            StoredFilter::Compact(filter) => filter.is_locked(),
            StoredFilter::Dynamic(filter) => filter.is_locked(),
        }
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.unlock_in_place(secret)?;
        Ok(self)
    }

    pub(crate) fn unlock_in_place(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        match self {
            StoredFilter::Fast(filter) => filter.dialect.unlock(secret),
            StoredFilter::Compact(filter) => filter.dialect.unlock(secret),
            StoredFilter::Dynamic(filter) => filter.unlock_in_place(secret),
        }
    }

    /// The facts that all kinds share.
    pub(super) fn head(&self) -> &Head {
        match self {
            StoredFilter::Fast(filter) => &filter.dialect.head,
            StoredFilter::Compact(filter) => &filter.dialect.head,
            StoredFilter::Dynamic(filter) => &filter.head,
        }
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.head().hashing
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.head().store_secret
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.head().label
    }

    /// The memory of its bits; `None` if a dynamic filter has copied them.
    pub(crate) fn storage(&self) -> Option<&S> {
        match self {
            StoredFilter::Fast(filter) => Some(&filter.bits),
            StoredFilter::Compact(filter) => Some(&filter.bits),
            StoredFilter::Dynamic(filter) => filter.storage(),
        }
    }

    pub(crate) fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        match self {
            StoredFilter::Fast(filter) => filter.dialect.encoder(filter.bits.as_ref()).write_to(out),
            StoredFilter::Compact(filter) => {
                Encoder::compact(&filter.dialect, filter.bits.as_ref()).write_to(out)
            }
            StoredFilter::Dynamic(filter) => filter.encode_to(out),
        }
    }

    /// Length of the file in bytes.
    pub fn encoded_len(&self) -> u64 {
        match self {
            StoredFilter::Fast(filter) => filter.encoded_len(),
            StoredFilter::Compact(filter) => filter.encoded_len(),
            StoredFilter::Dynamic(filter) => filter.encoded_len(),
        }
    }

    /// Writes the file's bytes.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        crate::wire::write_with(out, |out| self.encode_to(out))
    }
}
