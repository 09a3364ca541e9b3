//! Bytes, files and other kinds.

use super::file::DecodedDynamic;
use super::filter::DynamicFilter;
use alloc::vec::Vec;
use fullbloom::Filter;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_core::keys::Hashes;
use fullbloom_core::memory;
use fullbloom_core::native::format::{Decoded, decode};
use fullbloom_core::native::hashing::spread;
use fullbloom_core::native::head::Head;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::part::{Check, Part};
use fullbloom_core::sizing::{Request, Target};
use fullbloom_core::wire::Stop;
#[cfg(feature = "mmap")]
use fullbloom_files::Mapped;
#[cfg(feature = "std")]
use {
    crate::journal::{Journal, read_with_journal},
    fullbloom_core::error::FileError,
    std::path::Path,
};

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
        fullbloom_core::wire::write_with(out, |out| self.encode_to(out))
    }

    /// Saves the filter. The file is replaced atomically.
    #[cfg(feature = "std")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        fullbloom_files::save(path.as_ref(), self.head.stored_secret().is_some(), |out| self.write_to(out))
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
    /// A [`Filter`] of the same keys. Its rate is `fpr` and, because it knows only the
    /// fingerprints, the [rate of this filter](Self::expected_fpr) on top of it. It has no counts and no
    /// ages: keys can neither be removed nor expire, and those that have expired already are left out.
    ///
    /// Its hash is shortened to a fingerprint, which the file records: hashes made for other filters do not
    /// fit it, and it can only be merged with filters whose hash is as short.
    ///
    /// ```
    /// use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};
    ///
    /// let mut counted = DynamicFilter::new(DynamicOptions::new(100, 0.001).mode(Mode::Counting))?;
    /// counted.insert(b"alice")?;
    /// let fast = counted.to_fast(0.01)?;
    /// assert!(fast.may_contain(b"alice") && !fast.may_contain(b"bob"));
    /// # Ok::<(), fullbloom_dynamic::error::InsertError>(())
    /// ```
    ///
    /// # Errors
    /// If the size is invalid or there is no memory.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    pub fn to_fast(&self, fpr: f64) -> Result<Filter, SizeError> {
        self.head.assert_takes_keys();
        let request = Request { expected_keys: self.distinct(), target: Target::Fpr(fpr) };
        let sizing = Sizing::new(&request)?;
        let shape = Shape::new(sizing.layout, sizing.blocks);
        let bits = Owned::zeroed(shape.byte_len())?;
        let head = Head {
            keys: 0,
            hash_bits: self.plan.bits,
            expected_keys: request.expected_keys,
            ..self.head.clone()
        };
        let mut fast = Filter::from_parts(shape, head, bits);
        memory::require(0)?;
        let (mut hashes, mut some) = (self.hashes()?, memory::vec_of(4096)?);
        loop {
            some.clear();
            some.extend(hashes.by_ref().take(4096));
            if some.is_empty() {
                return Ok(fast);
            }
            let own = Hashes::new(&some, fast.hasher());
            fast.insert_batch(&own).expect("the filter's own hashes");
        }
    }

    /// The hashes that stand for the fingerprints in filters of other kinds, which then use only as many bits
    /// of a key's hash as the fingerprints have.
    #[doc(hidden)]
    pub fn hashes(&self) -> Result<impl Iterator<Item = u64>, SizeError> {
        Ok(self.fingerprints()?.map(|one| spread(one.hash, self.plan.bits)))
    }
}

/// A keyed filter whose file does not hold its secret is read [locked](DynamicFilter::is_locked): it answers
/// "maybe" to every key until it is [unlocked](DynamicFilter::unlock).
impl DynamicFilter {
    /// Reads a `.bloom` file of this kind, checks all of it, and copies it.
    pub fn decode(file: &[u8]) -> Result<Self, DecodeError> {
        let memory = |_| DecodeError::Memory { bytes: file.len() as u64 };
        let mut copy = Owned::zeroed(file.len() as u64).map_err(memory)?;
        copy.as_mut().copy_from_slice(file);
        Self::decode_owned(copy)
    }

    /// As [`decode`](Self::decode), without a copy.
    #[doc(hidden)]
    pub fn decode_owned(file: Owned) -> Result<Self, DecodeError> {
        let (filter, range) = read(file.as_ref(), Check::All)?;
        Ok(filter.map(|()| file.part(range)))
    }

    /// Reads a file of this kind and its journal, and checks all of it. The file may be changed or deleted
    /// afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let (bytes, journal) = read_with_journal(path, fullbloom_files::read)?;
        Self::decode_with(bytes, journal.as_ref()).map_err(|e| FileError::decode(path, e))
    }

    /// The filter of a file and its journal.
    #[cfg(feature = "std")]
    pub fn decode_with(file: Owned, journal: Option<&Journal>) -> Result<Self, DecodeError> {
        let filter = Self::decode_owned(file)?;
        match journal {
            Some(journal) => journal.replay(filter),
            None => Ok(filter),
        }
    }

    /// Maps a file of this kind: it is ready at once, for lookups in place. Only the header is checked. If the
    /// file has a journal, all of it is read and checked.
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<Path>) -> Result<DynamicFilter<Part<Mapped>>, FileError> {
        let path = path.as_ref();
        let (mapped, journal) = read_with_journal(path, Mapped::open)?;
        let check = if journal.is_some() { Check::All } else { Check::Header };
        let filter = in_place(mapped, check).and_then(|filter| match journal {
            Some(journal) => journal.replay(filter),
            None => Ok(filter),
        });
        filter.map_err(|e| FileError::decode(path, e))
    }

    /// Reads the header of a `.bloom` file of this kind and uses the rest in place, unchecked: in a block
    /// cache, in `Bytes`, in a mapping.
    pub fn over<S: AsRef<[u8]>>(storage: S) -> Result<DynamicFilter<Part<S>>, DecodeError> {
        in_place(storage, Check::Header)
    }
}

impl<'a> DynamicFilter<&'a [u8]> {
    /// As [`over`](DynamicFilter::over), for borrowed bytes.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        let (filter, range) = read(file, Check::Header)?;
        Ok(filter.map(|()| &file[range]))
    }
}

impl<S> DynamicFilter<S> {
    /// The filter of a file whose sections have been read, over the storage of its bits.
    #[doc(hidden)]
    pub fn of_file(decoded: &Decoded, file: &[u8], check: Check, bits: S) -> Result<Self, DecodeError> {
        Ok(DecodedDynamic::read(decoded, file, check)?.assemble(file, bits))
    }
}

/// The filter of a file, without its data, and where that is.
fn read(file: &[u8], check: Check) -> Result<(DynamicFilter<()>, core::ops::Range<usize>), DecodeError> {
    let decoded = decode(file)?;
    Ok((DynamicFilter::of_file(&decoded, file, check, ())?, decoded.bits.range()))
}

/// The filter of these bytes, which it keeps.
fn in_place<S: AsRef<[u8]>>(storage: S, check: Check) -> Result<DynamicFilter<Part<S>>, DecodeError> {
    let (filter, range) = read(storage.as_ref(), check)?;
    Ok(filter.map(|()| Part::new(storage, range)))
}
