//! The contents of a `.bloom` file: one of the kinds of the native filter.

use super::dialect::{Head, Native};
use super::format::{Decoded, DecodedKind, Encoder, decode};
#[cfg(feature = "std")]
use super::hashing::Hasher;
use super::rotating::Generation;
use super::{DynamicFilter, GrowingFilter, Hashing, NativeFilter, RemovingFilter, RotatingFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, SizeError};
use crate::filter::{Check, Filter};
#[cfg(feature = "std")]
use crate::keys::Keys;
use crate::wire::{Output, Stop};
use alloc::vec::Vec;
use core::ops::Range;
#[cfg(feature = "std")]
use {crate::error::FileError, crate::file, std::path::Path};

/// A filter from a file, whose kind is detected when it is read.
///
/// ```
/// use fullbloom::native::{GrowingFilter, StoredFilter};
///
/// let mut growing = GrowingFilter::with_fpr(1_000, 0.01)?;
/// growing.insert(b"alice")?;
/// let file = growing.encode();
/// let StoredFilter::Growing(read) = StoredFilter::decode(&file)? else { panic!("another kind") };
/// assert!(read.may_contain(b"alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoredFilter<S = Owned> {
    /// A fast filter, with exceptions or without.
    Fast(NativeFilter<S>),
    /// A chain that grows.
    Growing(GrowingFilter<S>),
    /// A filter with counters.
    Removing(RemovingFilter<S>),
    /// Generations of keys.
    Rotating(RotatingFilter<S>),
    /// Fingerprints.
    Dynamic(DynamicFilter<S>),
}

impl<'a> StoredFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and uses the bits in place, unchecked; [`verify`](super::verify)
    /// checks them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self::assemble(decode(file)?, file, |range| &file[range]))
    }
}

impl StoredFilter {
    /// Adds many keys. Returns how many were new. A filter with expiry by age inserts them at the latest time
    /// set.
    ///
    /// # Errors
    /// When there is not enough memory to grow; some of the keys have then been inserted.
    ///
    /// # Panics
    /// If the filter is locked or has exceptions.
    #[cfg(feature = "std")]
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<u64, SizeError> {
        match self {
            StoredFilter::Fast(filter) => {
                let before = filter.keys();
                filter.insert_batch(keys);
                Ok(filter.keys() - before)
            }
            StoredFilter::Growing(filter) => filter.insert_batch(keys),
            StoredFilter::Removing(filter) => Ok(filter.insert_batch(keys)),
            StoredFilter::Dynamic(filter) => filter.insert_batch(keys),
            StoredFilter::Rotating(filter) => {
                let (now, mut new) = (filter.time(), alloc::vec![false; keys.count()]);
                filter.insert_batch_new(keys, &mut new, now)
            }
        }
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        match self {
            StoredFilter::Fast(filter) => filter.set_label(label),
            StoredFilter::Growing(filter) => filter.set_label(label),
            StoredFilter::Removing(filter) => filter.set_label(label),
            StoredFilter::Rotating(filter) => filter.set_label(label),
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
        let decoded = decode(file.as_ref())?;
        decoded.verify(file.as_ref())?;
        let counters = match &decoded.kind {
            DecodedKind::Removing { counters } => Some(counters.clone()),
            DecodedKind::Dynamic(dynamic) => Some(dynamic.bits()),
            _ => None,
        };
        let ranges: Vec<_> = decoded.parts.iter().map(|part| part.bits.clone()).chain(counters).collect();
        let stored = StoredFilter::assemble(decoded, file.as_ref(), |range| range);
        // In the order in which `assemble` requested them.
        let mut parts = file.split(ranges).into_iter();
        Ok(stored.map(|_| parts.next().expect("a part for each range")))
    }

    /// Reads a filter's file and checks all of it. The file may be changed or deleted afterwards.
    #[cfg(feature = "std")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = file::read(path.as_ref())?;
        Self::decode_owned(bytes).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<S> NativeFilter<S> {
    fn map<T>(self, bits: impl FnOnce(S) -> T) -> NativeFilter<T> {
        Filter { dialect: self.dialect, bits: bits(self.bits) }
    }
}

impl<S> GrowingFilter<S> {
    fn map<T>(self, mut bits: impl FnMut(S) -> T) -> GrowingFilter<T> {
        let links = self.links.into_iter().map(|link| link.map(&mut bits)).collect();
        GrowingFilter { links, growth: self.growth, locked: self.locked }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// Reads the front of a `.bloom` file, and checks the rest depending on `check`; `bits` creates the
    /// storage for each range of the file.
    pub(crate) fn read(
        file: &[u8],
        check: Check,
        bits: impl FnMut(Range<usize>) -> S,
    ) -> Result<Self, DecodeError> {
        let decoded = decode(file)?;
        if check == Check::All {
            decoded.verify(file)?;
        }
        Ok(Self::assemble(decoded, file, bits))
    }

    /// A copy that owns its bits.
    pub fn try_clone(&self) -> Result<StoredFilter, SizeError> {
        let copied = |bytes: &S| {
            let mut copy = Owned::zeroed(bytes.as_ref().len() as u64)?;
            copy.as_mut().copy_from_slice(bytes.as_ref());
            Ok(copy)
        };
        let growing = |filter: &GrowingFilter<S>| {
            let links = filter.links.iter().map(NativeFilter::try_clone).collect::<Result<_, _>>()?;
            Ok(GrowingFilter { links, growth: filter.growth, locked: filter.locked })
        };
        Ok(match self {
            StoredFilter::Dynamic(filter) => StoredFilter::Dynamic(filter.try_clone()?),
            StoredFilter::Fast(filter) => StoredFilter::Fast(filter.try_clone()?),
            StoredFilter::Growing(filter) => StoredFilter::Growing(growing(filter)?),
            StoredFilter::Removing(filter) => StoredFilter::Removing(RemovingFilter {
                filter: filter.filter.try_clone()?,
                counters: copied(&filter.counters)?,
                locked: filter.locked,
            }),
            StoredFilter::Rotating(filter) => {
                let generation = |one: &Generation<S>| {
                    Ok(Generation { opened: one.opened, filter: growing(&one.filter)? })
                };
                StoredFilter::Rotating(RotatingFilter {
                    rotation: filter.rotation,
                    growth: filter.growth,
                    clock: filter.clock,
                    generations: filter
                        .generations
                        .iter()
                        .map(generation)
                        .collect::<Result<_, SizeError>>()?,
                })
            }
        })
    }
}

impl<S> StoredFilter<S> {
    /// The filter over the storage that `bits` creates for ranges of the file: for each filter's bits in
    /// order, then for the counters.
    pub(super) fn assemble(
        decoded: Decoded,
        file: &[u8],
        mut bits: impl FnMut(Range<usize>) -> S,
    ) -> StoredFilter<S> {
        let Decoded { parts, kind, exceptions, locked, .. } = decoded;
        let exceptions = exceptions.map(|stored| stored.read(file));
        let mut parts = parts
            .into_iter()
            .map(|part| Filter { dialect: Native::from_parts(part.shape, part.head), bits: bits(part.bits) });
        match kind {
            DecodedKind::Dynamic(dynamic) => {
                drop(parts);
                let storage = bits(dynamic.bits());
                StoredFilter::Dynamic(dynamic.assemble(file, storage))
            }
            DecodedKind::Growing(growth) => {
                StoredFilter::Growing(GrowingFilter { links: parts.collect(), growth, locked })
            }
            DecodedKind::Rotating(growth, stored) => {
                let fpr = growth.fpr / (f64::from(stored.rotation.generations) + 1.0);
                let generation = |(opened, links)| {
                    let links: Vec<_> = parts.by_ref().take(links).collect();
                    let growth =
                        super::growing::Growth { fpr, first: links[0].dialect.head.expected_keys.max(1) };
                    Generation { opened, filter: GrowingFilter { links, growth, locked } }
                };
                let generations = stored.generations.into_iter().map(generation).collect();
                let (rotation, clock) = (stored.rotation, stored.clock);
                StoredFilter::Rotating(RotatingFilter { rotation, growth, clock, generations })
            }
            DecodedKind::Removing { counters } => {
                let filter = parts.next().expect("every file has a filter");
                drop(parts);
                StoredFilter::Removing(RemovingFilter { filter, counters: bits(counters), locked })
            }
            DecodedKind::Fast => {
                let Filter { dialect, bits } = parts.next().expect("every file has a filter");
                StoredFilter::Fast(Filter { dialect: dialect.closed(exceptions, locked), bits })
            }
        }
    }

    /// The same filter over other memory.
    pub(crate) fn map<T>(self, mut bits: impl FnMut(S) -> T) -> StoredFilter<T> {
        match self {
            StoredFilter::Fast(filter) => StoredFilter::Fast(filter.map(bits)),
            StoredFilter::Dynamic(filter) => StoredFilter::Dynamic(filter.map(bits)),
            StoredFilter::Growing(filter) => StoredFilter::Growing(filter.map(bits)),
            StoredFilter::Removing(RemovingFilter { filter, counters, locked }) => {
                let filter = filter.map(&mut bits);
                StoredFilter::Removing(RemovingFilter { filter, counters: bits(counters), locked })
            }
            StoredFilter::Rotating(RotatingFilter { rotation, growth, clock, generations }) => {
                let generation =
                    |one: Generation<S>| Generation { opened: one.opened, filter: one.filter.map(&mut bits) };
                let generations = generations.into_iter().map(generation).collect();
                StoredFilter::Rotating(RotatingFilter { rotation, growth, clock, generations })
            }
        }
    }

    /// The name of its kind: `fast`, `growing`, `removing`, `rotating` or `dynamic`.
    pub fn kind(&self) -> &'static str {
        match self {
            StoredFilter::Fast(_) => "fast",
            StoredFilter::Growing(_) => "growing",
            StoredFilter::Removing(_) => "removing",
            StoredFilter::Rotating(_) => "rotating",
            StoredFilter::Dynamic(_) => "dynamic",
        }
    }

    /// The fast filter. Fails for other kinds.
    pub fn into_fast(self) -> Result<NativeFilter<S>, DecodeError> {
        match self {
            StoredFilter::Fast(filter) => Ok(filter),
            other => Err(DecodeError::Kind { found: other.kind(), wanted: "fast" }),
        }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// Whether it is keyed and its secret is unknown.
    pub fn is_locked(&self) -> bool {
        match self {
            StoredFilter::Fast(filter) => filter.is_locked(),
            StoredFilter::Growing(filter) => filter.is_locked(),
            StoredFilter::Removing(filter) => filter.is_locked(),
            StoredFilter::Rotating(filter) => filter.is_locked(),
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
            StoredFilter::Growing(filter) => filter.unlock_in_place(secret),
            StoredFilter::Removing(filter) => filter.unlock_in_place(secret),
            StoredFilter::Rotating(filter) => filter.unlock_in_place(secret),
            StoredFilter::Dynamic(filter) => filter.unlock_in_place(secret),
        }
    }

    /// The facts that all kinds share.
    pub(super) fn head(&self) -> &Head {
        match self {
            StoredFilter::Fast(filter) => &filter.dialect.head,
            StoredFilter::Growing(filter) => &filter.links[0].dialect.head,
            StoredFilter::Removing(filter) => &filter.filter().dialect.head,
            StoredFilter::Rotating(filter) => &filter.generations[0].filter.links[0].dialect.head,
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

    /// The memory of the first bits, if it is not in memory of its own.
    pub(crate) fn storage(&self) -> Option<&S> {
        match self {
            StoredFilter::Fast(filter) => Some(&filter.bits),
            StoredFilter::Growing(filter) => Some(&filter.links[0].bits),
            StoredFilter::Removing(filter) => Some(&filter.filter.bits),
            StoredFilter::Rotating(filter) => Some(&filter.generations[0].filter.links[0].bits),
            StoredFilter::Dynamic(filter) => filter.storage(),
        }
    }

    pub(crate) fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        match self {
            StoredFilter::Dynamic(filter) => filter.encode_to(out),
            other => other.encoder().write_to(out),
        }
    }

    /// Length of the file in bytes.
    pub fn encoded_len(&self) -> u64 {
        match self {
            StoredFilter::Dynamic(filter) => filter.encoded_len(),
            other => other.encoder().encoded_len(),
        }
    }

    fn encoder(&self) -> Encoder<'_> {
        match self {
            StoredFilter::Dynamic(_) => unreachable!("encoded without an encoder"),
            StoredFilter::Fast(filter) => filter.dialect.encoder(filter.bits.as_ref()),
            StoredFilter::Growing(filter) => Encoder::growing(filter),
            StoredFilter::Removing(filter) => Encoder::removing(filter),
            StoredFilter::Rotating(filter) => Encoder::rotating(filter),
        }
    }

    /// Writes the file's bytes.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        crate::wire::write_with(out, |out| self.encode_to(out))
    }
}
