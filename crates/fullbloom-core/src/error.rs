//! Errors, in three families by who can act: [`SizeError`] (the caller's numbers), [`DecodeError`] (the
//! bytes) and [`FileError`] (the system).
//!
//! Variants carry facts; `Display` writes the sentence. Nothing here allocates except where a path or a
//! reason must be kept.

mod build;
mod keys;
mod quantity;

pub use build::{BuildError, BuildOption};
pub use keys::{InsertError, KeysError};
pub use quantity::Quantity;

use crate::sizing::Geometry;
use crate::typed::TypeError;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use std::io;
#[cfg(feature = "std")]
use std::path::{Path, PathBuf};

/// The requested numbers do not give a filter of this dialect.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SizeError {
    /// A number is outside the range that the dialect accepts.
    Value {
        /// The number that is wrong.
        what: Quantity,
        /// The given value.
        got: f64,
        /// The accepted values, in words.
        allowed: &'static str,
    },
    /// A count is outside the range that the dialect accepts.
    Count {
        /// Which count.
        what: Quantity,
        /// The given value.
        got: u64,
        /// The accepted values, in words.
        allowed: &'static str,
    },
    /// The rate cannot be reached with the maximum bits per key of this dialect.
    Unreachable {
        /// The requested rate.
        fpr: f64,
        /// The maximum bits per key of the dialect in this case.
        max_bits_per_key: f64,
    },
    /// The filter would be larger than the dialect can express.
    TooLarge {
        /// Bits that the request needs, saturated.
        bit_len: u64,
        /// The dialect's limit in bits.
        limit: u64,
    },
    /// Even the smallest filter for these keys exceeds the memory limit.
    OverBudget {
        /// The limit in bytes.
        bytes: u64,
    },
    /// The engine stores no filter at all for this request (bits per key below one half).
    NoFilter {
        /// The requested bits per key.
        bits_per_key: f64,
    },
    /// The dialect cannot be sized in this way.
    Unsupported {
        /// The dialect's name.
        dialect: &'static str,
        /// What it cannot do, and what to use instead.
        what: &'static str,
    },
    /// The memory for the bits could not be allocated.
    Memory {
        /// Bytes requested from the allocator.
        bytes: u64,
    },
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SizeError::Value { what, got, allowed } => {
                write!(f, "{what} {} is not allowed (expected {allowed})", Number(got))
            }
            SizeError::Count { what, got, allowed } => {
                write!(f, "{what} {got} is not allowed (expected {allowed})")
            }
            SizeError::Unreachable { fpr, max_bits_per_key } => {
                write!(
                    f,
                    "fpr {} cannot be reached with at most {max_bits_per_key} bits per key",
                    Number(fpr)
                )
            }
            SizeError::TooLarge { bit_len, limit } => {
                write!(f, "{bit_len} bits are more than the {limit} this dialect can hold")
            }
            SizeError::OverBudget { bytes } => {
                write!(f, "no filter for this many keys fits in {bytes} bytes")
            }
            SizeError::NoFilter { bits_per_key } => {
                let bits = Number(bits_per_key);
                write!(f, "at {bits} bits per key the engine stores no filter (it needs 0.5 or more)")
            }
            SizeError::Unsupported { dialect, what } => write!(f, "{dialect}: {what}"),
            SizeError::Memory { bytes } => write!(f, "{bytes} bytes of memory could not be allocated"),
        }
    }
}

impl core::error::Error for SizeError {}

/// A number in readable form: not three hundred zeros.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            x if x != 0.0 && x.is_finite() && !(1e-9..1e15).contains(&x.abs()) => write!(f, "{x:e}"),
            x => write!(f, "{x}"),
        }
    }
}

/// The bytes are not a complete, valid filter of this dialect.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a field.
    Truncated {
        /// The field being read.
        field: &'static str,
        /// Its offset.
        at: u64,
        /// Bytes it needs.
        need: u64,
        /// Bytes available.
        have: u64,
    },
    /// A field holds a number that is not allowed.
    Value {
        /// The field.
        field: &'static str,
        /// Its offset.
        at: u64,
        /// Its value.
        got: i128,
        /// The accepted values, in words.
        allowed: &'static str,
    },
    /// Fixed bytes (a magic, a class description) differ from the format.
    Magic {
        /// The field.
        field: &'static str,
        /// The offset of the first different byte.
        at: u64,
    },
    /// Two fields, or a field and the length, contradict each other.
    Mismatch {
        /// The inconsistent field.
        field: &'static str,
        /// Its offset.
        at: u64,
        /// Its value.
        got: u64,
        /// The value that would be consistent.
        expected: u64,
    },
    /// A number that the caller gave contradicts the bytes.
    Given {
        /// The number that is wrong.
        what: Quantity,
        /// The given value.
        got: u64,
        /// The value by the bytes.
        expected: u64,
    },
    /// Bytes follow after the end of the filter.
    Trailing {
        /// Where the filter ends.
        at: u64,
        /// The number of bytes that follow.
        extra: u64,
    },
    /// Bytes do not match their stored checksum: they are damaged.
    Checksum {
        /// The damaged part.
        field: &'static str,
        /// Its offset.
        at: u64,
        /// Its length.
        len: u64,
    },
    /// The bytes need a newer reader.
    Newer {
        /// The feature that this reader does not know.
        field: &'static str,
        /// The offset of the field that requires it.
        at: u64,
        /// The value of that field.
        got: u64,
    },
    /// The file holds another kind of filter than the one requested.
    Kind {
        /// The kind it holds: fast, growing, removing, rotating.
        found: &'static str,
        /// The requested kind.
        wanted: &'static str,
    },
    /// The bytes alone do not identify the filter.
    Unknown {
        /// What is missing, and how to supply it.
        what: &'static str,
    },
    /// The filter takes no keys, and the requested type does.
    ReadOnly {
        /// Why it takes none, and how to read it.
        why: &'static str,
    },
    /// The geometry given for bytes without a header is invalid.
    Geometry(SizeError),
    /// The given type of the keys is not the one that the filter records.
    KeyType(TypeError),
    /// The memory for the bits could not be allocated.
    Memory {
        /// Bytes requested from the allocator.
        bytes: u64,
    },
}

impl DecodeError {
    /// `Ok` if the bits and probes that the caller gave are those of the bytes.
    pub fn require_given(bit_len: u64, probes: u32, found: &Geometry) -> Result<(), DecodeError> {
        let pairs = [
            (Quantity::Bits, bit_len, found.bit_len),
            (Quantity::Probes, probes.into(), found.probes.into()),
        ];
        match pairs.into_iter().find(|(_, got, expected)| got != expected) {
            Some((what, got, expected)) => Err(DecodeError::Given { what, got, expected }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DecodeError::Truncated { field, at, need, have } => {
                write!(f, "{field} at byte {at}: needs {need} bytes, {have} are there")
            }
            DecodeError::Value { field, at, got, allowed } => {
                write!(f, "{field} at byte {at}: {got} is not allowed (expected {allowed})")
            }
            DecodeError::Magic { field, at } => {
                write!(f, "{field}: byte {at} is not what the format requires")
            }
            DecodeError::Mismatch { field, at, got, expected } => {
                write!(f, "{field} at byte {at}: {got}, but the rest of the file says {expected}")
            }
            DecodeError::Given { what, got, expected } => {
                write!(f, "{what}: {got} given, the file says {expected}")
            }
            DecodeError::Trailing { at, extra } => {
                let bytes = if extra == 1 { "byte follows" } else { "bytes follow" };
                write!(f, "{extra} {bytes} the end of the filter at byte {at}")
            }
            DecodeError::Checksum { field, at, len } => {
                write!(f, "{field}: the {len} bytes at byte {at} do not match their checksum")
            }
            DecodeError::Newer { field, at, got } => {
                write!(
                    f,
                    "{field} at byte {at}: {got} is unknown to this version: the file needs a newer one"
                )
            }
            DecodeError::Kind { found, wanted } => {
                write!(f, "the file holds a {found} filter, where a {wanted} one is expected")
            }
            DecodeError::Unknown { what } | DecodeError::ReadOnly { why: what } => f.write_str(what),
            DecodeError::Geometry(ref e) => e.fmt(f),
            DecodeError::KeyType(ref e) => e.fmt(f),
            DecodeError::Memory { bytes } => write!(f, "{bytes} bytes of memory could not be allocated"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Two filters cannot be merged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MergeError {
    /// A number that both filters must share differs.
    Differs {
        /// The glossary name of the number.
        what: &'static str,
        /// Ours, as text.
        ours: String,
        /// Theirs, as text.
        theirs: String,
    },
    /// Filters of this dialect cannot be merged at all.
    Unsupported {
        /// The dialect's name.
        dialect: &'static str,
        /// Why not.
        why: &'static str,
    },
    /// One of them is not a valid filter.
    Decode(DecodeError),
    /// There is not enough memory for the result.
    Size(SizeError),
}

impl From<SizeError> for MergeError {
    fn from(cause: SizeError) -> MergeError {
        MergeError::Size(cause)
    }
}

impl From<DecodeError> for MergeError {
    fn from(cause: DecodeError) -> MergeError {
        MergeError::Decode(cause)
    }
}

impl MergeError {
    /// `Ok` when the two values are equal; otherwise the error that shows both.
    pub fn require_equal<T: PartialEq + fmt::Display>(
        what: &'static str,
        ours: T,
        theirs: T,
    ) -> Result<(), MergeError> {
        if ours == theirs {
            return Ok(());
        }
        Err(MergeError::Differs { what, ours: ours.to_string(), theirs: theirs.to_string() })
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Differs { what, ours, theirs } => {
                write!(f, "filters cannot be merged: {what} is {ours} in one and {theirs} in the other")
            }
            MergeError::Unsupported { dialect, why } => {
                write!(f, "{dialect} filters cannot be merged: {why}")
            }
            MergeError::Decode(cause) => cause.fmt(f),
            MergeError::Size(cause) => cause.fmt(f),
        }
    }
}

impl core::error::Error for MergeError {}

/// A file could not be read or written, or its contents are not a filter.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    action: &'static str,
    cause: FileCause,
}

/// Why a file operation failed.
#[cfg(feature = "std")]
#[derive(Debug)]
#[non_exhaustive]
pub enum FileCause {
    /// The operating system reported an error.
    Io(io::Error),
    /// The new file is in place, but the directory could not be flushed.
    Unflushed(io::Error),
    /// The bytes are not a valid filter.
    Decode(DecodeError),
    /// The file was changed while its replacement was being made, and has not been replaced.
    Changed,
}

#[cfg(feature = "std")]
impl FileError {
    /// The operating system refused `action` (a verb: read, open, save) for this file.
    pub fn io(path: &Path, action: &'static str, cause: io::Error) -> FileError {
        FileError { path: path.to_owned(), action, cause: FileCause::Io(cause) }
    }

    /// This file has been replaced, but its directory could not be flushed.
    pub fn unflushed(path: &Path, cause: io::Error) -> FileError {
        FileError { path: path.to_owned(), action: "save", cause: FileCause::Unflushed(cause) }
    }

    /// Somebody changed this file since it was read; it has not been replaced.
    pub fn changed(path: &Path) -> FileError {
        FileError { path: path.to_owned(), action: "save", cause: FileCause::Changed }
    }

    /// The contents of this file are not valid.
    pub fn decode(path: &Path, cause: DecodeError) -> FileError {
        FileError { path: path.to_owned(), action: "read", cause: FileCause::Decode(cause) }
    }

    /// The file it is about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file was replaced despite the error.
    pub fn is_in_place(&self) -> bool {
        matches!(self.cause, FileCause::Unflushed(_))
    }

    /// The error of the operating system or the decoder.
    pub fn cause(&self) -> &FileCause {
        &self.cause
    }
}

#[cfg(feature = "std")]
impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            FileCause::Io(e) => write!(f, "{}: cannot {}: {e}", self.path.display(), self.action),
            FileCause::Unflushed(e) => write!(
                f,
                "{}: cannot {}: the new file is in place, but may not survive a power failure: {e}",
                self.path.display(),
                self.action
            ),
            FileCause::Decode(e) => write!(f, "{}: {e}", self.path.display()),
            FileCause::Changed => write!(
                f,
                "{}: cannot {}: another program has changed it meanwhile, and it is not overwritten",
                self.path.display(),
                self.action
            ),
        }
    }
}

#[cfg(feature = "std")]
impl core::error::Error for FileError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.cause {
            FileCause::Io(e) | FileCause::Unflushed(e) => Some(e),
            FileCause::Decode(e) => Some(e),
            FileCause::Changed => None,
        }
    }
}

/// A text that is not the name of a dialect, of a key type, or of a kind of native filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    given: String,
    known: Vec<&'static str>,
}

impl UnknownName {
    /// The one of `all` with this name. `what` says what they are.
    pub fn or_found<T: Copy>(
        what: &'static str,
        given: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, UnknownName> {
        let found = all.iter().copied().find(|one| name(*one) == given);
        let known = || all.iter().map(|one| name(*one)).collect();
        found.ok_or_else(|| UnknownName { what, given: given.to_owned(), known: known() })
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownName { what, given, known } = self;
        write!(f, "{given:?} is not a {what}; known {what}s: {}", known.join(", "))
    }
}

impl core::error::Error for UnknownName {}
