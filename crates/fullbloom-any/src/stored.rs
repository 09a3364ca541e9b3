//! The contents of a `.bloom` file: one of the kinds of the native filter.

use crate::kind::Kind;
use core::ops::Range;
use fullbloom::{Filter, Hashing, Secret};
use fullbloom_compact::CompactFilter;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::native::chunks::Chunks;
use fullbloom_core::native::format::{Decoded, LAYOUT_COMPACT, LAYOUT_LINES, decode};
use fullbloom_core::native::head::Head;
use fullbloom_core::native::key_type;
use fullbloom_core::part::Check;
use fullbloom_core::typed::{KeyField, KeyForm, KeyType, TypeError};
use fullbloom_core::wire::{Output, Stop};
use fullbloom_dynamic::DynamicFilter;
#[cfg(feature = "std")]
use {
    fullbloom_core::error::{BuildError, FileError},
    fullbloom_dynamic::{Journal, JournalWriter, read_with_journal},
    fullbloom_files::Claim,
    std::path::Path,
};

/// A filter from a file, whose kind is detected when it is read.
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
pub enum StoredFilter<S = Owned> {
    /// Bits in lines, with exceptions or without.
    Fast(Filter<S>),
    /// Linear systems in lines, with exceptions or without.
    Compact(CompactFilter<S>),
    /// Fingerprints.
    Dynamic(DynamicFilter<S>),
}

/// Checks every byte of a `.bloom` file, of any kind, against its checksums. Reads the whole file.
pub fn verify(file: &[u8]) -> Result<(), DecodeError> {
    StoredFilter::read(file, Check::All, |_| ()).map(|_| ())
}

impl<'a> StoredFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and uses the bits in place, unchecked; [`verify`] checks them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self::read(file, Check::Front, |range| &file[range])?.0)
    }
}

impl StoredFilter {
    /// Reads a `.bloom` file, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        let memory = |_| DecodeError::Memory { bytes: file.len() as u64 };
        let mut copy = Owned::zeroed(file.len() as u64).map_err(memory)?;
        copy.as_mut().copy_from_slice(file);
        Self::decode_owned(copy)
    }

    pub(crate) fn decode_owned(file: Owned) -> Result<Self, DecodeError> {
        let mut bits = 0..0;
        let (stored, _) = StoredFilter::read(file.as_ref(), Check::All, |range| bits = range)?;
        Ok(stored.map(|()| file.part(bits)))
    }

    /// Reads a filter's file and its journal, and checks all of it. The file may be changed or deleted
    /// afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let (bytes, journal) = read_with_journal(path, fullbloom_files::read)?;
        Self::decode_with(bytes, journal.as_ref()).map_err(|e| FileError::decode(path, e))
    }

    /// As [`load`](Self::load), for a file that is claimed to be changed: a dynamic filter is saved with the
    /// writer.
    #[cfg(feature = "std")]
    pub fn load_to_change(claim: Claim) -> Result<(Self, JournalWriter), FileError> {
        JournalWriter::load(claim, Self::decode_with)
    }

    #[cfg(feature = "std")]
    fn decode_with(file: Owned, journal: Option<&Journal>) -> Result<Self, DecodeError> {
        let stored = Self::decode_owned(file)?;
        match journal {
            Some(journal) => stored.replay(journal),
            None => Ok(stored),
        }
    }
}

/// A [`CompactFilter`] of the same keys: smaller, and it takes no more keys. Rates, counts and ages are as for
/// [`DynamicFilter::to_fast`], and so is the hash.
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

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// A copy that owns its bits.
    pub fn try_clone(&self) -> Result<StoredFilter, SizeError> {
        Ok(match self {
            StoredFilter::Fast(filter) => StoredFilter::Fast(filter.try_clone()?),
            StoredFilter::Compact(filter) => StoredFilter::Compact(filter.try_clone()?),
            StoredFilter::Dynamic(filter) => StoredFilter::Dynamic(filter.try_clone()?),
        })
    }

    /// Inserts the keys of its journal. A mapped filter is copied into memory first.
    #[cfg(feature = "std")]
    pub(crate) fn replay(self, journal: &Journal) -> Result<Self, DecodeError> {
        match self {
            _ if journal.is_empty() => Ok(self),
            StoredFilter::Dynamic(filter) => Ok(StoredFilter::Dynamic(journal.replay(filter)?)),
            other => Err(DecodeError::Kind { found: other.kind().as_str(), wanted: "dynamic" }),
        }
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
        let unchecked = (check == Check::Front).then(|| Chunks::of(&decoded));
        let bits = bits(decoded.bits.range());
        Ok((Self::assemble(&decoded, file, check, bits)?, unchecked))
    }

    fn assemble(decoded: &Decoded, file: &[u8], check: Check, bits: S) -> Result<Self, DecodeError> {
        let verify = || if check == Check::All { decoded.verify(file) } else { Ok(()) };
        Ok(match decoded.layout {
            LAYOUT_LINES => {
                let (head, shape) = decoded.fast(file)?;
                verify()?;
                StoredFilter::Fast(Filter::from_parts(shape, head, bits))
            }
            LAYOUT_COMPACT => {
                let filter = CompactFilter::of_file(decoded, file, bits)?;
                verify()?;
                StoredFilter::Compact(filter)
            }
            _ => StoredFilter::Dynamic(DynamicFilter::of_file(decoded, file, check, bits)?),
        })
    }

    /// The same filter over other memory.
    pub(crate) fn map<T>(self, bits: impl FnOnce(S) -> T) -> StoredFilter<T> {
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

    /// The facts that all kinds share.
    pub(crate) fn head(&self) -> &Head {
        match self {
            StoredFilter::Fast(filter) => filter.head(),
            StoredFilter::Compact(filter) => filter.head(),
            StoredFilter::Dynamic(filter) => filter.head(),
        }
    }

    fn head_mut(&mut self) -> &mut Head {
        match self {
            StoredFilter::Fast(filter) => filter.head_mut(),
            StoredFilter::Compact(filter) => filter.head_mut(),
            StoredFilter::Dynamic(filter) => filter.head_mut(),
        }
    }

    /// Whether it is keyed and its secret is unknown.
    pub fn is_locked(&self) -> bool {
        self.head().locked.is_some()
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

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.head_mut().set_label(label);
    }

    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.head().key_type
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.head_mut().set_key_type(key_type);
    }

    /// Checks that keys of this type can be in the filter: that their bytes are those of the recorded type.
    pub fn require_key_type(&self, given: KeyType) -> Result<(), TypeError> {
        key_type::require(self.key_type(), given)
    }

    /// The recorded form of its keys. The filter does not bring keys into it: the caller must.
    pub fn key_form(&self) -> KeyForm {
        self.head().key_form
    }

    /// Records the form that its keys were brought into.
    pub fn set_key_form(&mut self, form: KeyForm) {
        self.head_mut().key_form = form;
    }

    /// The recorded field of a line that its keys were taken from.
    pub fn key_field(&self) -> Option<KeyField> {
        self.head().key_field
    }

    /// Records the field of a line that its keys were taken from.
    pub fn set_key_field(&mut self, field: Option<KeyField>) {
        self.head_mut().key_field = field;
    }

    /// The memory of its bits; `None` if a dynamic filter has copied them.
    pub(crate) fn storage(&self) -> Option<&S> {
        match self {
            StoredFilter::Fast(filter) => Some(filter.storage()),
            StoredFilter::Compact(filter) => Some(filter.storage()),
            StoredFilter::Dynamic(filter) => filter.storage(),
        }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.unlock_in_place(secret)?;
        Ok(self)
    }

    pub(crate) fn unlock_in_place(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        match self {
            StoredFilter::Fast(filter) => filter.unlock_in_place(secret),
            StoredFilter::Compact(filter) => filter.unlock_in_place(secret),
            StoredFilter::Dynamic(filter) => filter.unlock_in_place(secret),
        }
    }

    pub(crate) fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        match self {
            StoredFilter::Fast(filter) => filter.encode_to(out),
            StoredFilter::Compact(filter) => filter.encode_to(out),
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
        fullbloom_core::wire::write_with(out, |out| self.encode_to(out))
    }
}
