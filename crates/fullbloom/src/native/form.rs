//! What a `.bloom` file holds: one of the forms of the native filter.

use super::format::{Decoded, DecodedForm, decode};
use super::hashing::Hasher;
use super::rotating::Generation;
use super::{GrowingFilter, GuardedFilter, NativeFilter, RemovingFilter, RotatingFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, FileError};
use crate::file;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

/// A filter out of a file, whose form shows when it is read.
///
/// ```
/// use fullbloom::native::{GrowingFilter, StoredFilter};
///
/// let mut growing = GrowingFilter::with_fpr(1_000, 0.01)?;
/// growing.insert(b"alice")?;
/// let file = growing.encode();
/// let StoredFilter::Growing(read) = StoredFilter::decode(&file)? else { panic!("another form") };
/// assert!(read.may_contain(b"alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StoredFilter<S = Owned> {
    /// A plain filter, with exceptions or without.
    Plain(GuardedFilter<S>),
    /// A chain that grows.
    Growing(GrowingFilter<S>),
    /// A filter with counters.
    Removing(RemovingFilter<S>),
    /// Generations of keys.
    Rotating(RotatingFilter<S>),
}

impl<'a> StoredFilter<&'a [u8]> {
    /// Reads the front of a `.bloom` file and answers from the bits where they are, unchecked; [`verify`](super::verify) checks
    /// them.
    pub fn view(file: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self::assemble(decode(file)?, file, |range| &file[range]))
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

    fn decode_owned(file: Owned) -> Result<Self, DecodeError> {
        let decoded = decode(file.as_ref())?;
        decoded.verify(file.as_ref())?;
        let counters = match &decoded.form {
            DecodedForm::Removing { counters } => Some(counters.clone()),
            _ => None,
        };
        let ranges: Vec<_> = decoded.parts.iter().map(|part| part.bits.clone()).chain(counters).collect();
        let stored = StoredFilter::assemble(decoded, file.as_ref(), |range| range);
        // In the order in which `assemble` asked for them.
        let mut parts = file.split(ranges).into_iter();
        Ok(stored.map(|_| parts.next().expect("a part for each range")))
    }

    /// Reads a filter's file and checks all of it; the file may change or go afterwards.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let bytes = file::read(path.as_ref())?;
        Self::decode_owned(bytes).map_err(|e| FileError::decode(path.as_ref(), e))
    }
}

impl<S> NativeFilter<S> {
    fn map<T>(self, bits: impl FnOnce(S) -> T) -> NativeFilter<T> {
        let NativeFilter { shape, hasher, head, bits: old } = self;
        NativeFilter { shape, hasher, head, bits: bits(old) }
    }
}

impl<S> GrowingFilter<S> {
    fn map<T>(self, mut bits: impl FnMut(S) -> T) -> GrowingFilter<T> {
        let links = self.links.into_iter().map(|link| link.map(&mut bits)).collect();
        GrowingFilter { links, growth: self.growth, locked: self.locked }
    }
}

impl<S> StoredFilter<S> {
    /// The filter over what `bits` makes of the ranges of the file: of each filter's bits in order, then of the counters.
    pub(super) fn assemble(
        decoded: Decoded,
        file: &[u8],
        mut bits: impl FnMut(Range<usize>) -> S,
    ) -> StoredFilter<S> {
        let Decoded { parts, form, exceptions, locked, .. } = decoded;
        let exceptions = exceptions.map(|stored| stored.read(file, &parts[0].head.hashing));
        let mut parts = parts.into_iter().map(|part| NativeFilter {
            shape: part.shape,
            hasher: Hasher::new(&part.head.hashing),
            head: part.head,
            bits: bits(part.bits),
        });
        match form {
            DecodedForm::Growing(growth) => {
                StoredFilter::Growing(GrowingFilter { links: parts.collect(), growth, locked })
            }
            DecodedForm::Rotating(growth, stored) => {
                let fpr = growth.fpr / (f64::from(stored.rotation.generations) + 1.0);
                let generation = |(opened, links)| {
                    let links: Vec<_> = parts.by_ref().take(links).collect();
                    let growth = super::growing::Growth { fpr, first: links[0].head.expected_keys.max(1) };
                    Generation { opened, filter: GrowingFilter { links, growth, locked } }
                };
                let generations = stored.generations.into_iter().map(generation).collect();
                let (rotation, clock) = (stored.rotation, stored.clock);
                StoredFilter::Rotating(RotatingFilter { rotation, growth, clock, generations })
            }
            DecodedForm::Removing { counters } => {
                let filter = parts.next().expect("every file has a filter");
                drop(parts);
                StoredFilter::Removing(RemovingFilter { filter, counters: bits(counters), locked })
            }
            DecodedForm::Plain => {
                let filter = parts.next().expect("every file has a filter");
                StoredFilter::Plain(GuardedFilter { filter, exceptions, locked })
            }
        }
    }

    /// The same filter over other memory.
    fn map<T>(self, mut bits: impl FnMut(S) -> T) -> StoredFilter<T> {
        match self {
            StoredFilter::Plain(GuardedFilter { filter, exceptions, locked }) => {
                StoredFilter::Plain(GuardedFilter { filter: filter.map(bits), exceptions, locked })
            }
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

    /// Which form it is: `plain`, `growing`, `removing` or `rotating`.
    pub fn form(&self) -> &'static str {
        match self {
            StoredFilter::Plain(_) => "plain",
            StoredFilter::Growing(_) => "growing",
            StoredFilter::Removing(_) => "removing",
            StoredFilter::Rotating(_) => "rotating",
        }
    }

    /// The plain filter; refused if it is of another form.
    pub fn into_plain(self) -> Result<GuardedFilter<S>, DecodeError> {
        match self {
            StoredFilter::Plain(filter) => Ok(filter),
            other => Err(DecodeError::Form { found: other.form(), wanted: "plain" }),
        }
    }
}

impl<S: AsRef<[u8]>> StoredFilter<S> {
    /// Whether it is keyed and its secret is not known.
    pub fn is_locked(&self) -> bool {
        match self {
            StoredFilter::Plain(filter) => filter.is_locked(),
            StoredFilter::Growing(filter) => filter.is_locked(),
            StoredFilter::Removing(filter) => filter.is_locked(),
            StoredFilter::Rotating(filter) => filter.is_locked(),
        }
    }

    /// Gives a keyed filter its secret, after which it answers; refused when it is another filter's.
    pub fn unlock(self, secret: &Secret) -> Result<Self, DecodeError> {
        Ok(match self {
            StoredFilter::Plain(filter) => StoredFilter::Plain(filter.unlock(secret)?),
            StoredFilter::Growing(filter) => StoredFilter::Growing(filter.unlock(secret)?),
            StoredFilter::Removing(filter) => StoredFilter::Removing(filter.unlock(secret)?),
            StoredFilter::Rotating(filter) => StoredFilter::Rotating(filter.unlock(secret)?),
        })
    }

    /// One of its filters, which tells what all share: the hash and the label.
    pub fn first(&self) -> &NativeFilter<S> {
        match self {
            StoredFilter::Plain(filter) => filter.filter(),
            StoredFilter::Growing(filter) => &filter.links[0],
            StoredFilter::Removing(filter) => filter.filter(),
            StoredFilter::Rotating(filter) => &filter.generations[0].filter.links[0],
        }
    }

    /// Writes the file's bytes.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            StoredFilter::Plain(filter) => filter.write_to(out),
            StoredFilter::Growing(filter) => filter.write_to(out),
            StoredFilter::Removing(filter) => filter.write_to(out),
            StoredFilter::Rotating(filter) => filter.write_to(out),
        }
    }
}
