//! A native filter whose kind is known at run time: the contents of a `.bloom` file.

use crate::kind::Kind;
use crate::storage::{SharedBytes, Storage};
use fullbloom::Filter;
use fullbloom_compact::CompactFilter;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::native::chunks::Chunks;
use fullbloom_core::native::format::{Decoded, LAYOUT_COMPACT, LAYOUT_LINES, decode};
use fullbloom_core::native::hashing::Secret;
use fullbloom_core::native::head::Head;
use fullbloom_core::part::{Check, Part};
use fullbloom_core::wire::{Output, Stop};
use fullbloom_dynamic::DynamicFilter;
#[cfg(feature = "std")]
use {
    fullbloom_core::bits::Owned,
    fullbloom_core::error::{BuildError, FileError},
    fullbloom_dynamic::{Journal, JournalWriter, read_with_journal},
    fullbloom_files::FileLock,
    std::path::Path,
};

/// A native filter of any kind. Those that take keys own their memory; the others may share it.
///
/// ```
/// use fullbloom_any::StoredFilter;
/// use fullbloom_dynamic::DynamicFilter;
///
/// let mut dynamic = DynamicFilter::with_fpr(1_000, 0.01)?;
/// dynamic.insert(b"alice")?;
/// let StoredFilter::Dynamic(read) = StoredFilter::decode(&dynamic.encode())? else { panic!("another kind") };
/// assert!(read.may_contain(b"alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoredFilter {
    /// Bits in lines.
    Fast(Filter),
    /// As `Fast`, but it takes no keys: it has exceptions, it is locked, or it shares its bits.
    FixedFast(Filter<Storage>),
    /// Linear systems in lines, with exceptions or without.
    Compact(CompactFilter<Storage>),
    /// Fingerprints.
    Dynamic(DynamicFilter),
    /// As `Dynamic`, but it takes no keys: it was read from shared bytes.
    FixedDynamic(DynamicFilter<Part<SharedBytes>>),
}

/// Evaluates an expression over the filter of a [`StoredFilter`]: the same for all kinds, or one for each.
macro_rules! each_kind {
    ($stored:expr, $filter:ident => fast $fast:expr, compact $compact:expr, dynamic $dynamic:expr) => {
        match $stored {
            $crate::StoredFilter::Fast($filter) => $fast,
            $crate::StoredFilter::FixedFast($filter) => $fast,
            $crate::StoredFilter::Compact($filter) => $compact,
            $crate::StoredFilter::Dynamic($filter) => $dynamic,
            $crate::StoredFilter::FixedDynamic($filter) => $dynamic,
        }
    };
    ($stored:expr, $filter:ident => $body:expr) => {
        each_kind!($stored, $filter => fast $body, compact $body, dynamic $body)
    };
}
pub(crate) use each_kind;

/// A filter whose header has been read, without its bits.
enum Header {
    Fast(Filter<()>),
    Compact(CompactFilter<()>),
    Dynamic(DynamicFilter<()>),
}

impl Header {
    /// Reads the header of a file, and compares the rest with its checksums if `check` says so.
    fn read(decoded: &Decoded, file: &[u8], check: Check) -> Result<Header, DecodeError> {
        let verify = || if check == Check::All { decoded.verify(file) } else { Ok(()) };
        Ok(match decoded.layout {
            LAYOUT_LINES => {
                let filter = Filter::of_file(decoded, file, ())?;
                verify()?;
                Header::Fast(filter)
            }
            LAYOUT_COMPACT => {
                let filter = CompactFilter::of_file(decoded, file, ())?;
                verify()?;
                Header::Compact(filter)
            }
            _ => Header::Dynamic(DynamicFilter::of_file(decoded, file, check, ())?),
        })
    }
}

/// Checks every byte of a `.bloom` file, of any kind, against its checksums. Reads the whole file.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    Header::read(&decode(file)?, file, Check::All).map(drop)
}

/// Whether the header of a `.bloom` file is sound.
#[cfg(feature = "std")]
pub(crate) fn has_header(file: &[u8]) -> bool {
    decode(file).and_then(|decoded| Header::read(&decoded, file, Check::Header)).is_ok()
}

impl From<Filter> for StoredFilter {
    fn from(filter: Filter) -> StoredFilter {
        match filter.head().takes_keys() {
            true => StoredFilter::Fast(filter),
            false => StoredFilter::FixedFast(filter.map(Storage::Owned)),
        }
    }
}

impl From<CompactFilter> for StoredFilter {
    fn from(filter: CompactFilter) -> StoredFilter {
        filter.map(Storage::Owned).into()
    }
}

impl From<CompactFilter<Storage>> for StoredFilter {
    fn from(filter: CompactFilter<Storage>) -> StoredFilter {
        StoredFilter::Compact(filter)
    }
}

impl From<DynamicFilter> for StoredFilter {
    fn from(filter: DynamicFilter) -> StoredFilter {
        StoredFilter::Dynamic(filter)
    }
}

impl StoredFilter {
    /// Reads the header of a `.bloom` file, and compares the rest with its checksums, or returns the chunks
    /// to be compared later, depending on `check`.
    pub(crate) fn read(file: Storage, check: Check) -> Result<(StoredFilter, Option<Chunks>), DecodeError> {
        let decoded = decode(file.as_ref())?;
        let unchecked = (check == Check::Header).then(|| Chunks::of(&decoded));
        let header = Header::read(&decoded, file.as_ref(), check)?;
        let stored = match (header, file.part(decoded.bits.range())) {
            (Header::Fast(filter), Storage::Owned(bits)) => filter.map(|()| bits).into(),
            (Header::Fast(filter), bits) => StoredFilter::FixedFast(filter.map(|()| bits)),
            (Header::Compact(filter), bits) => StoredFilter::Compact(filter.map(|()| bits)),
            (Header::Dynamic(filter), Storage::Owned(bits)) => filter.map(|()| bits).into(),
            (Header::Dynamic(filter), Storage::Shared(bits)) => {
                StoredFilter::FixedDynamic(filter.map(|()| bits))
            }
        };
        Ok((stored, unchecked))
    }

    /// Reads a `.bloom` file, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<StoredFilter, DecodeError> {
        Ok(Self::read(Storage::copy(file)?, Check::All)?.0)
    }

    /// Reads a filter's file and its journal, and checks all of it. The file may be changed or deleted
    /// afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<StoredFilter, FileError> {
        let path = path.as_ref();
        let (bytes, journal) = read_with_journal(path, fullbloom_files::read)?;
        Self::decode_with(bytes, journal.as_ref()).map_err(|e| FileError::decode(path, e))
    }

    /// As [`load`](Self::load), for a file that is locked to be changed: a dynamic filter is saved with the
    /// writer.
    #[cfg(feature = "std")]
    pub fn load_to_change(lock: FileLock) -> Result<(StoredFilter, JournalWriter), FileError> {
        JournalWriter::load(lock, Self::decode_with)
    }

    #[cfg(feature = "std")]
    fn decode_with(file: Owned, journal: Option<&Journal>) -> Result<StoredFilter, DecodeError> {
        let (stored, _) = Self::read(Storage::Owned(file), Check::All)?;
        match journal {
            Some(journal) => stored.replay(journal),
            None => Ok(stored),
        }
    }

    /// Inserts the keys of its journal. A filter over shared bytes is copied into memory first.
    #[cfg(feature = "std")]
    pub(crate) fn replay(self, journal: &Journal) -> Result<StoredFilter, DecodeError> {
        match self {
            _ if journal.is_empty() => Ok(self),
            StoredFilter::Dynamic(filter) => Ok(StoredFilter::Dynamic(journal.replay(filter)?)),
            StoredFilter::FixedDynamic(filter) => Ok(StoredFilter::FixedDynamic(journal.replay(filter)?)),
            other => Err(DecodeError::Kind { found: other.kind().as_str(), wanted: "dynamic" }),
        }
    }

    /// A copy that owns its bits.
    pub fn try_clone(&self) -> Result<StoredFilter, SizeError> {
        each_kind!(self, filter => fast filter.copied().map(StoredFilter::from), compact {
            filter.try_clone().map(StoredFilter::from)
        }, dynamic filter.try_clone().map(StoredFilter::from))
    }

    /// Gives a keyed filter its secret, so that it can answer, and take keys if it owns its memory. Fails
    /// when it is the secret of another filter.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        each_kind!(self, filter => filter.unlock(secret))?;
        if let StoredFilter::FixedFast(filter) = self
            && filter.head().takes_keys()
            && filter.storage().is_owned()
        {
            let no_bits = Storage::copy(&[])?;
            let without_bits = filter.as_view().map(|_| no_bits);
            *self = StoredFilter::Fast(core::mem::replace(filter, without_bits).map(|bits| match bits {
                Storage::Owned(bits) => bits,
                Storage::Shared(_) => unreachable!("it owns its memory"),
            }));
        }
        Ok(())
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        each_kind!(self, _filter => fast Kind::Fast, compact Kind::Compact, dynamic Kind::Dynamic)
    }

    /// What all kinds share: the hash, the label, the type of the keys, the exceptions.
    #[doc(hidden)]
    pub fn head(&self) -> &Head {
        each_kind!(self, filter => filter.head())
    }

    /// As [`head`](Self::head), mutable. The hash and the exceptions of a filter with keys must stay.
    pub(crate) fn head_mut(&mut self) -> &mut Head {
        each_kind!(self, filter => filter.head_mut())
    }

    /// Whether it owns its memory. If not, it reads shared bytes and cannot be changed.
    pub fn is_owned(&self) -> bool {
        match self {
            StoredFilter::Fast(_) | StoredFilter::Dynamic(_) => true,
            StoredFilter::FixedFast(filter) => filter.storage().is_owned(),
            StoredFilter::Compact(filter) => filter.storage().is_owned(),
            StoredFilter::FixedDynamic(_) => false,
        }
    }

    /// Writes the file's bytes.
    pub(crate) fn encode(&self, out: &mut dyn Output) -> Result<(), Stop> {
        each_kind!(self, filter => filter.encode_to(out))
    }

    /// Length of the file in bytes.
    pub fn encoded_len(&self) -> u64 {
        each_kind!(self, filter => filter.encoded_len())
    }

    /// Writes the file's bytes.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        fullbloom_core::wire::write_with(out, |out| self.encode(out))
    }
}

/// A [`CompactFilter`] of the same keys: smaller, and it takes no more keys. Rates, counts and ages are as
/// for [`DynamicFilter::to_fast`], and so is the hash.
///
/// ```
/// use fullbloom_any::to_compact;
/// use fullbloom_dynamic::{DynamicFilter, DynamicOptions};
///
/// let mut grown = DynamicFilter::new(DynamicOptions::new(100, 1e-6).up_to(1_000_000))?;
/// for i in 0..10_000 {
///     grown.insert(i)?;
/// }
/// let compact = to_compact(&grown, 1e-3)?;
/// assert!(compact.may_contain(17) && compact.keys() == 10_000);
/// assert!(compact.encoded_len() * 2 < grown.encoded_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the rate is invalid or there is no memory.
///
/// # Panics
/// If the filter is [locked](DynamicFilter::is_locked).
#[cfg(feature = "std")]
pub fn to_compact<S: AsRef<[u8]>>(filter: &DynamicFilter<S>, fpr: f64) -> Result<CompactFilter, BuildError> {
    filter.head().assert_takes_keys();
    let (hash_bits, expected_keys) = (filter.fingerprint_bits(), filter.distinct());
    CompactFilter::of_hashes(
        filter.hashes()?,
        Head { hash_bits, expected_keys, ..filter.head().clone() },
        fpr,
    )
}
