//! `Filter.db` of an sstable in any state: sound, truncated, empty, mislabelled or missing.

use crate::sstable::{FILTER, Sstable};
use fullbloom::error::FileCause;
use fullbloom::{DecodeError, FileError};
use fullbloom_any::{AnyFilter, SharedBytes};
use fullbloom_core::part::{Check, Part};
use fullbloom_dialects::Name;
use std::fmt;
use std::io;

/// The dialects of `Filter.db`, newest first.
pub const FAMILIES: [Name; 6] = [
    Name::Cassandra,
    Name::Cassandra3,
    Name::Cassandra2,
    Name::Cassandra1,
    Name::Cassandra07,
    Name::Cassandra0,
];

/// What is wrong with the file itself, whatever the keys say.
#[derive(Debug)]
#[non_exhaustive]
pub enum FilterProblem {
    /// It is missing.
    Missing {
        /// Whether `TOC.txt` lists it: `Some(false)` is an sstable written without a filter, at a rate of 1.
        listed: Option<bool>,
    },
    /// It has no bytes. Cassandra 5 reads that as "maybe" for every key; older releases fail.
    Empty,
    /// ScyllaDB has encrypted it.
    Encrypted,
    /// The system refused to read it.
    Unreadable(FileError),
    /// It ends too early. Cassandra 4.0 and later load it without a warning and answer from unwritten memory.
    Truncated {
        /// Bytes it has.
        have: u64,
        /// Bytes it should have, by its header.
        need: u64,
    },
    /// Bytes follow the filter. Cassandra ignores them.
    Trailing {
        /// The offset of the byte behind the filter.
        at: u64,
        /// The number of bytes behind the filter.
        extra: u64,
    },
    /// Its header holds values that Cassandra never writes.
    Malformed(DecodeError),
}

impl fmt::Display for FilterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterProblem::Missing { listed: Some(true) } => {
                write!(f, "{FILTER} is missing, though TOC.txt lists it")
            }
            FilterProblem::Missing { listed: Some(false) } => {
                write!(f, "no {FILTER}: the sstable was written without one (bloom_filter_fp_chance = 1.0)")
            }
            FilterProblem::Missing { listed: None } => write!(f, "{FILTER} is missing"),
            FilterProblem::Empty => write!(f, "{FILTER} is empty"),
            FilterProblem::Encrypted => {
                write!(f, "{FILTER} is encrypted, and the keys to decrypt it are not here")
            }
            FilterProblem::Unreadable(e) => e.fmt(f),
            FilterProblem::Truncated { have, need } => {
                write!(f, "{FILTER} is truncated: {have} of {need} bytes")
            }
            FilterProblem::Trailing { at, extra } => {
                let bytes = if *extra == 1 { "byte follows" } else { "bytes follow" };
                write!(f, "{extra} {bytes} the end of the filter at byte {at}")
            }
            FilterProblem::Malformed(e) => write!(f, "{FILTER} is damaged: {e}"),
        }
    }
}

impl Sstable {
    /// The filter, as `inspect` reads it: as the dialect of the version, unless the bytes fit only another.
    pub fn filter(&self) -> Result<AnyFilter, FilterProblem> {
        FilterFile::open(self).map(|file| file.filter)
    }
}

/// A filter's file.
#[derive(Debug)]
pub(crate) struct FilterFile {
    map: SharedBytes,
    /// Bytes that are the filter.
    len: usize,
    /// The filter, read as the family of the version, unless only another fits.
    pub(crate) filter: AnyFilter,
    /// What is wrong with a file that can still be queried.
    pub(crate) problem: Option<FilterProblem>,
}

impl FilterFile {
    /// Opens the filter of an sstable, or reports why it cannot be queried.
    pub(crate) fn open(sstable: &Sstable) -> Result<FilterFile, FilterProblem> {
        if !sstable.has(FILTER) {
            return Err(FilterProblem::Missing { listed: sstable.lists(FILTER) });
        }
        if sstable.is_encrypted(FILTER) {
            return Err(FilterProblem::Encrypted);
        }
        let map = sstable.bytes(FILTER).map_err(|e| match e.cause() {
            FileCause::Io(io) if io.kind() == io::ErrorKind::NotFound => {
                FilterProblem::Missing { listed: sstable.lists(FILTER) }
            }
            _ => FilterProblem::Unreadable(e),
        })?;
        let bytes = map.as_ref();
        if bytes.is_empty() {
            return Err(FilterProblem::Empty);
        }
        let have = bytes.len() as u64;
        let view = |dialect, len| view(&map, dialect, len);
        let (filter, len, problem) = match view(sstable.dialect, bytes.len()) {
            Ok(filter) => (filter, bytes.len(), None),
            Err(DecodeError::Trailing { at, extra }) => {
                let len = at as usize;
                let filter = view(sstable.dialect, len).map_err(|e| problem(e, have))?;
                (filter, len, Some(FilterProblem::Trailing { at, extra }))
            }
            // The two forms, a Java object stream and plain words, can be distinguished: the other one may
            // fit.
            Err(e) => match FAMILIES.into_iter().find_map(|other| view(other, bytes.len()).ok()) {
                Some(other) => (other, bytes.len(), Some(FilterProblem::Malformed(e))),
                None => return Err(problem(e, have)),
            },
        };
        Ok(FilterFile { map, len, filter, problem })
    }

    /// Bytes of the whole file.
    pub(crate) fn file_len(&self) -> u64 {
        self.map.as_ref().len() as u64
    }

    /// Whether the whole file is the encoded form of this filter.
    pub(crate) fn is_exactly(&self, filter: &AnyFilter) -> bool {
        let mut rest = Comparing { rest: self.map.as_ref() };
        filter.write_to(&mut rest).is_ok() && rest.rest.is_empty()
    }

    /// The filter, read as one of the families; `None` if the bytes do not have that form.
    pub(crate) fn view_as(&self, dialect: Name) -> Option<AnyFilter> {
        view(&self.map, dialect, self.len).ok()
    }
}

/// The filter in the first `len` bytes of a file, read where they are.
fn view(map: &SharedBytes, dialect: Name, len: usize) -> Result<AnyFilter, DecodeError> {
    let short =
        DecodeError::Truncated { field: "file", at: 0, need: len as u64, have: map.as_ref().len() as u64 };
    let part = Part::of(map.clone(), 0..len).ok_or(short)?;
    AnyFilter::over_part(part, &dialect.into(), Check::Header)
}

fn problem(e: DecodeError, have: u64) -> FilterProblem {
    match e {
        DecodeError::Truncated { at, need, .. } => {
            FilterProblem::Truncated { have, need: at.saturating_add(need) }
        }
        e => FilterProblem::Malformed(e),
    }
}

/// Accepts bytes only while they are the expected ones.
struct Comparing<'a> {
    rest: &'a [u8],
}

impl io::Write for Comparing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest = self.rest.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
