//! Run-time filters from bytes and files. The dialect is detected once and the bytes are decoded once. Chunks
//! of a mapped native file are compared with their checksums when the file is read or when they are verified,
//! each once; only a dynamic filter is verified as a whole.

use super::build::boxed;
use super::dispatch::AtRunTime;
use super::erased::{Constant, Erased};
use super::storage::{SharedBytes, Storage};
use super::stored::StoredFilter;
use super::{AnyFilter, NO_SECRET, Unchecked};
use alloc::boxed::Box;
use alloc::vec::Vec;
use fullbloom::{Hashing, Secret};
use fullbloom_core::bits::Owned;
use fullbloom_core::error::DecodeError;
use fullbloom_core::typed::{KeyType, TypeError};
use fullbloom_dialects::filter::{Check, Filter, Format, Part};
use fullbloom_dialects::{Name, RocksDb, rocksdb, with_dialect};
#[cfg(feature = "std")]
use {
    super::Inner,
    super::stored::has_header,
    crate::sniff,
    fullbloom_core::error::FileError,
    fullbloom_dialects::parquet,
    fullbloom_dynamic::{Journal, read_with_journal},
    fullbloom_files::file,
    std::path::Path,
};

/// What the caller knows about the bytes.
///
/// ```
/// use fullbloom_any::ReadOptions; use fullbloom_dialects::Name;
///
/// let detected = ReadOptions::new();                          // the dialect is detected
/// let leveldb = ReadOptions::from(Name::LevelDb);             // or given
/// let raw = ReadOptions::from(Name::JavaLsm).geometry(9586, 4); // raw bits have no header
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The dialect; else it is detected.
    pub dialect: Option<Name>,
    /// Bits and probes.
    pub geometry: Option<(u64, u32)>,
    /// The secret of a keyed filter.
    pub secret: Option<Secret>,
    /// The type of the keys that will be looked up.
    pub key_type: Option<KeyType>,
    /// Whether the caller brings keys into the [form](AnyFilter::key_form) that the filter records. Otherwise
    /// a filter that records one is refused: it would answer "no" for its own keys.
    pub key_form_applied: bool,
}

impl From<Name> for ReadOptions {
    fn from(dialect: Name) -> Self {
        ReadOptions { dialect: Some(dialect), ..ReadOptions::default() }
    }
}

impl ReadOptions {
    /// No options: the dialect is detected from the file name and the bytes.
    pub fn new() -> Self {
        ReadOptions::default()
    }

    /// The dialect.
    #[must_use]
    pub fn dialect(self, dialect: Option<Name>) -> Self {
        ReadOptions { dialect, ..self }
    }

    /// Bits and probes: required for dialects whose bytes hold nothing but bits. For other dialects they must
    /// agree with the bytes.
    #[must_use]
    pub fn geometry(self, bit_len: u64, probes: u32) -> Self {
        ReadOptions { geometry: Some((bit_len, probes)), ..self }
    }

    /// The secret of a keyed filter.
    #[must_use]
    pub fn secret(self, secret: Option<Secret>) -> Self {
        ReadOptions { secret, ..self }
    }

    /// The type of the keys that will be looked up. A filter that records a type with other bytes is refused.
    #[must_use]
    pub fn key_type(self, key_type: KeyType) -> Self {
        ReadOptions { key_type: Some(key_type), ..self }
    }

    /// The caller brings keys into the [form](AnyFilter::key_form) that the filter records, or looks up none.
    #[must_use]
    pub fn key_form_applied(self) -> Self {
        ReadOptions { key_form_applied: true, ..self }
    }

    /// The given dialect, or the detected one.
    #[cfg(feature = "std")]
    fn detect(&self, path: Option<&Path>, bytes: &[u8]) -> Result<Name, DecodeError> {
        self.dialect.map_or_else(|| sniff::dialect(path, bytes), Ok)
    }

    #[cfg(not(feature = "std"))]
    fn detect(&self, _: Option<&()>, _: &[u8]) -> Result<Name, DecodeError> {
        self.dialect.ok_or(DecodeError::Unknown { what: "the dialect must be given" })
    }
}

impl AnyFilter {
    /// Decodes encoded bytes strictly, checks all of them, and copies them.
    pub fn decode(bytes: &[u8], options: &ReadOptions) -> Result<AnyFilter, DecodeError> {
        Self::decode_storage(Storage::copy(bytes)?, options, Check::All)
    }

    /// As [`decode`](AnyFilter::decode), but takes over the bytes: nothing is copied.
    pub fn decode_owned(bytes: Owned, options: &ReadOptions) -> Result<AnyFilter, DecodeError> {
        Self::decode_storage(Storage::Owned(bytes), options, Check::All)
    }

    /// Decodes encoded bytes strictly and reads them in place. With `check`, the bits are compared with their
    /// checksums, where the format has them.
    pub fn over(
        storage: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &ReadOptions,
        check: Check,
    ) -> Result<AnyFilter, DecodeError> {
        Self::over_part(whole(storage), options, check)
    }

    /// As [`over`](AnyFilter::over), for a part of bytes that are shared with others.
    pub fn over_part(
        part: Part<SharedBytes>,
        options: &ReadOptions,
        check: Check,
    ) -> Result<AnyFilter, DecodeError> {
        Self::decode_storage(Storage::Shared(part), options, check)
    }

    fn decode_storage(bytes: Storage, options: &ReadOptions, check: Check) -> Result<AnyFilter, DecodeError> {
        let dialect = options.detect(None, bytes.as_ref())?;
        read(dialect, bytes, options, check)
    }

    /// Reads a filter's file and checks all of it. The file may be changed or deleted afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>, options: &ReadOptions) -> Result<AnyFilter, FileError> {
        let path = path.as_ref();
        let (bytes, journal) = read_with_journal(path, file::read)?;
        let filter = read_at(path, Storage::Owned(bytes), options, Check::All, journal.as_ref());
        filter.map_err(|e| FileError::decode(path, e))
    }

    /// Maps a filter's file and reads it in place; see [`Mapped`](file::Mapped) for the condition. With
    /// `check`, the bits of a native filter are compared with their checksums, which reads the whole file.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions, check: Check) -> Result<AnyFilter, FileError> {
        let path = path.as_ref();
        let (mapped, journal) = read_with_journal(path, file::Mapped::open)?;
        let filter = read_at(path, Storage::Shared(whole(mapped)), options, check, journal.as_ref());
        filter.map_err(|e| FileError::decode(path, e))
    }

    /// Inserts the keys of the journal that was found beside the filter's file, if there is one; see
    /// [`read_with_journal`]. A filter over mapped bytes is checked and copied for that, but stays read only.
    /// [`load`](AnyFilter::load) and [`open`](AnyFilter::open) do this themselves.
    #[cfg(feature = "std")]
    pub fn replay(mut self, journal: Option<&Journal>) -> Result<AnyFilter, DecodeError> {
        let Some(journal) = journal.filter(|journal| !journal.is_empty()) else { return Ok(self) };
        self.verify()?;
        if let Inner::Native(stored) = self.inner {
            self.inner = Inner::Native(Box::new(stored.replay(journal)?));
            self.unchecked = None;
        }
        Ok(self)
    }
}

/// All bytes of an owner, to be shared.
fn whole(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Part<SharedBytes> {
    let bytes = SharedBytes::new(owner);
    let len = bytes.as_ref().len();
    Part::new(bytes, 0..len)
}

/// The filter of a file with this path and these bytes, and of its journal.
#[cfg(feature = "std")]
fn read_at(
    path: &Path,
    bytes: Storage,
    options: &ReadOptions,
    check: Check,
    journal: Option<&Journal>,
) -> Result<AnyFilter, DecodeError> {
    let dialect = options.detect(Some(path), bytes.as_ref())?;
    read(dialect, bytes, options, check)?.replay(journal)
}

fn read(
    dialect: Name,
    bytes: Storage,
    options: &ReadOptions,
    check: Check,
) -> Result<AnyFilter, DecodeError> {
    let mut filter = match dialect {
        _ if options.secret.is_some() && dialect != Name::Native => {
            return Err(DecodeError::Unknown { what: NO_SECRET });
        }
        _ if options.geometry.is_none() && rocksdb::is_without_keys(dialect, bytes.as_ref()) => {
            let bytes = bytes.as_ref().to_vec();
            AnyFilter::from_dialect(Box::new(Constant { name: dialect, answer: false, bytes }))
        }
        // RocksDB writes a Bloom filter where a Ribbon filter would not pay off.
        Name::RocksDbRibbon if rocksdb::sniff(bytes.as_ref()) == Some(Name::RocksDb) => {
            AnyFilter::from_dialect(read_dialect::<RocksDb>(bytes, options, check)?)
        }
        other => {
            with_dialect!(other, D => AnyFilter::from_dialect(D::read(bytes, options, check)?), native => {
                read_native(bytes, options, check)?
            })
        }
    };
    let recorded = filter.key_form();
    if !recorded.is_plain() && !options.key_form_applied {
        return Err(DecodeError::KeyType(TypeError::Form { recorded }));
    }
    if let Some(key_type) = options.key_type {
        filter.require_key_type(key_type).map_err(DecodeError::KeyType)?;
        filter.assume_key_type(key_type);
    }
    Ok(filter)
}

pub(super) fn read_dialect<D: Format>(
    bytes: Storage,
    options: &ReadOptions,
    check: Check,
) -> Result<Box<dyn Erased>, DecodeError>
where
    Filter<D, Storage>: Erased,
{
    let all = bytes.as_ref();
    let (dialect, range) = match options.geometry {
        Some((bit_len, probes)) => D::decode_exact(all, bit_len, probes, check)?,
        None => D::decode(all, check)?,
    };
    let is_whole = range.len() as u64 >= dialect.byte_len();
    if bytes.is_owned() && !is_whole {
        // The file drops trailing zero bytes; the filter needs them as room for keys.
        let view = Filter::from_decoded(dialect, &all[range])?;
        let copy = view.try_clone().map_err(|_| DecodeError::Memory { bytes: all.len() as u64 })?;
        return Ok(boxed(copy));
    }
    Ok(Box::new(Filter::from_decoded(dialect, bytes.part(range))?))
}

fn read_native(bytes: Storage, options: &ReadOptions, check: Check) -> Result<AnyFilter, DecodeError> {
    let shared = match &bytes {
        Storage::Shared(file) => Some(file.clone()),
        Storage::Owned(_) => None,
    };
    let (stored, chunks) = StoredFilter::read(bytes, check)?;
    let mut filter = AnyFilter::from(stored);
    filter.unchecked = shared.zip(chunks).map(|(file, chunks)| Box::new(Unchecked { file, chunks }));
    if let Some((bit_len, probes)) = options.geometry {
        DecodeError::require_given(bit_len, probes, &filter.geometry())?;
    }
    if let Some(secret) = &options.secret {
        if matches!(filter.hashing(), Some(Hashing::Seed(_))) {
            return Err(DecodeError::Unknown { what: "the filter is not keyed, it needs no secret" });
        }
        filter.unlock(secret)?;
    }
    Ok(filter)
}

/// The bytes that RocksDB stores for zero keys, and for keys for which it could not build a filter.
pub(super) fn constant(name: Name, answer: bool) -> Box<dyn Erased> {
    let bytes = if answer { rocksdb::MATCHES_EVERYTHING.to_vec() } else { Vec::new() };
    Box::new(Constant { name, answer, bytes })
}

/// The dialects that can decode these bytes strictly. Dialects of raw bits are excluded: they can decode any
/// bytes.
///
/// ```
/// use fullbloom_any::sniff; use fullbloom_dialects::Name;
///
/// let filter_db = b"\0\0\0\x05\0\0\0\x01\x84\0\x91\x80\x4c\0\x38\x08";
/// let candidates = sniff::candidates(filter_db);
/// assert!(candidates.contains(&Name::Cassandra) && candidates.contains(&Name::Cassandra3));
/// assert!(!candidates.contains(&Name::Libbloom));
/// ```
#[cfg(feature = "std")]
pub fn candidates(bytes: &[u8]) -> Vec<Name> {
    let fits = |name: &Name| match name {
        Name::Parquet => parquet::sniff(bytes), // without its header it is raw bits
        name => {
            with_dialect!(name, D => D::decode(bytes, Check::Header).is_ok(), native => has_header(bytes))
        }
    };
    Name::ALL.iter().copied().filter(fits).collect()
}
