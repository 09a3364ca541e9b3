//! Bytes, files and other kinds.

use super::filter::DynamicFilter;
use crate::error::{DecodeError, SizeError};
use crate::filter::{Check, Part};
use crate::keys::Hashes;
use crate::memory;
use crate::native::dialect::{Head, Native};
use crate::native::hashing::spread;
use crate::native::stored::assert_unlocked;
use crate::native::{NativeFilter, Sizing, StoredFilter};
use crate::sizing::{Request, Target};
use crate::wire::Stop;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use {
    crate::error::FileError,
    crate::file,
    crate::{error::BuildError, native::CompactFilter},
    std::path::Path,
};
#[cfg(feature = "mmap")]
use {crate::file::Mapped, crate::native::read_with_journal};

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// The file's bytes, in memory. [`write_to`](Self::write_to) reports a lack of memory; this function
    /// aborts the program, as a growing `Vec` does. The bytes depend only on the fingerprints and the
    /// options, not on the order of insertions.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.encode_to(&mut bytes) {
            Err(Stop::Memory(SizeError::Memory { bytes })) => out_of_memory(bytes),
            written => debug_assert!(written.is_ok(), "writing to a Vec cannot fail"),
        }
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

/// Ends as the standard library does when a `Vec` cannot grow.
fn out_of_memory(bytes: u64) -> ! {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX).min(isize::MAX as usize);
    alloc::alloc::handle_alloc_error(
        core::alloc::Layout::array::<u8>(len).unwrap_or(core::alloc::Layout::new::<u64>()),
    )
}

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// A [`NativeFilter`] of kind `fast` of the same keys. Its rate is `fpr` and, because it knows only the
    /// fingerprints, the [rate of this filter](Self::expected_fpr) on top of it. It has no counts and no
    /// ages: keys can neither be removed nor expire, and those that have expired already are left out.
    ///
    /// Its hash is shortened to a fingerprint, which the file records: hashes made for other filters do not
    /// fit it, and it can only be merged with filters whose hash is as short.
    ///
    /// ```
    /// use fullbloom::native::{DynamicFilter, DynamicOptions, Mode};
    ///
    /// let mut counted = DynamicFilter::new(DynamicOptions::new(100, 0.001).mode(Mode::Counting))?;
    /// counted.insert(b"alice")?;
    /// let fast = counted.to_fast(0.01)?;
    /// assert!(fast.may_contain(b"alice") && !fast.may_contain(b"bob"));
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    ///
    /// # Errors
    /// If the size is invalid or there is no memory.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    pub fn to_fast(&self, fpr: f64) -> Result<NativeFilter, SizeError> {
        assert_unlocked(self.locked);
        let request = Request { expected_keys: self.distinct(), target: Target::Fpr(fpr) };
        let mut native = Native::new(&Sizing::new(&request)?, self.head.hashing.clone());
        native.head = Head { keys: 0, estimated: false, hash_bits: self.plan.bits, ..self.head.clone() };
        native.head.expected_keys = request.expected_keys;
        native.hasher = native.head.hasher();
        let mut fast = NativeFilter::from_dialect(native)?;
        memory::require(0)?;
        let (mut hashes, mut some) = (self.hashes()?, memory::vec_of(4096)?);
        loop {
            some.clear();
            some.extend(hashes.by_ref().take(4096));
            if some.is_empty() {
                return Ok(fast);
            }
            fast.insert_batch(&Hashes(&some));
        }
    }

    /// A [`CompactFilter`] of the same keys: smaller, and it takes no more keys. Rates, counts and ages are
    /// as for [`to_fast`](Self::to_fast), and so is the hash.
    ///
    /// ```
    /// use fullbloom::native::{DynamicFilter, DynamicOptions};
    ///
    /// let mut grown = DynamicFilter::new(DynamicOptions::new(100, 1e-6).up_to(1_000_000))?;
    /// for i in 0..10_000u32 {
    ///     grown.insert(&i.to_le_bytes())?;
    /// }
    /// let compact = grown.to_compact(1e-3)?;
    /// assert!(compact.may_contain(&17u32.to_le_bytes()) && compact.keys() == 10_000);
    /// assert!(compact.encoded_len() * 2 < grown.encoded_len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the rate is invalid or there is no memory.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    #[cfg(feature = "std")]
    pub fn to_compact(&self, fpr: f64) -> Result<CompactFilter, BuildError> {
        assert_unlocked(self.locked);
        let (hash_bits, expected_keys) = (self.plan.bits, self.distinct());
        CompactFilter::of_hashes(self.hashes()?, Head { hash_bits, expected_keys, ..self.head.clone() }, fpr)
    }

    /// The hashes that stand for the fingerprints in filters of other kinds, which then use only as many bits
    /// of a key's hash as the fingerprints have.
    pub(in crate::native) fn hashes(&self) -> Result<impl Iterator<Item = u64>, SizeError> {
        Ok(self.fingerprints()?.map(|one| spread(one.hash, self.plan.bits)))
    }
}

/// A keyed filter whose file does not hold its secret is read [locked](DynamicFilter::is_locked): it answers
/// "maybe" to every key until it is [unlocked](DynamicFilter::unlock).
impl DynamicFilter {
    /// Reads a `.bloom` file of this kind, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        of_stored(StoredFilter::decode(file)?)
    }

    /// Reads a file of this kind and checks all of it. The file may be changed or deleted afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        of_stored(StoredFilter::load(path)?).map_err(|e| FileError::decode(path, e))
    }

    /// Maps a file of this kind: it is ready at once, for lookups in place. Only the front is checked;
    /// [`verify`](crate::native::verify) checks the rest. If the file has a journal, all of it is read and
    /// checked.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<DynamicFilter<Part<Mapped>>, FileError> {
        let path = path.as_ref();
        let (mapped, journal) = read_with_journal(path, Mapped::open)?;
        let check = if journal.is_some() { Check::All } else { Check::Front };
        let read = in_place(mapped, check).and_then(|stored| match journal {
            Some(journal) => journal.replay(stored),
            None => Ok(stored),
        });
        read.and_then(of_stored).map_err(|e| FileError::decode(path, e))
    }

    /// Reads the front of a `.bloom` file of this kind and uses the rest in place, unchecked: in a block
    /// cache, in `Bytes`, in a mapping.
    pub fn over<S: AsRef<[u8]>>(storage: S) -> Result<DynamicFilter<Part<S>>, DecodeError> {
        of_stored(in_place(storage, Check::Front)?)
    }
}

impl<'a> DynamicFilter<&'a [u8]> {
    /// As [`over`](DynamicFilter::over), for borrowed bytes.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        of_stored(StoredFilter::view(file)?)
    }
}

/// The filter of these bytes, which it keeps.
fn in_place<S: AsRef<[u8]>>(storage: S, check: Check) -> Result<StoredFilter<Part<S>>, DecodeError> {
    let mut range = 0..0;
    let (stored, _) = StoredFilter::read(storage.as_ref(), check, |bits| range = bits)?;
    Ok(stored.map(|()| Part::new(storage, range)))
}

/// The filter, if it is of this kind.
fn of_stored<S>(stored: StoredFilter<S>) -> Result<DynamicFilter<S>, DecodeError> {
    match stored {
        StoredFilter::Dynamic(filter) => Ok(filter),
        other => Err(DecodeError::Kind { found: other.kind().as_str(), wanted: "dynamic" }),
    }
}
