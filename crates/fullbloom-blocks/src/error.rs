//! What can be wrong with a block.
//!
//! A [`BlockError`] carries facts; `Display` makes the sentence. An engine that only wants the filter's
//! answer treats every error as "maybe".

use core::fmt;
use fullbloom_core::error::{DecodeError, SizeError};
use fullbloom_dialects::rocksdb::BuildError;

/// A place in a table file.
///
/// Blocks may be compressed, so a place inside one is counted from the start of its plain contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Offset in the file: of the byte itself, or of the block it is in.
    pub file: u64,
    /// Offset in the plain contents of the block at `file`.
    pub inside: Option<u64>,
}

impl At {
    /// A byte inside the plain contents of a block.
    pub fn inside(block: u64, offset: usize) -> At {
        At { file: block, inside: Some(offset as u64) }
    }
}

impl From<u64> for At {
    fn from(file: u64) -> At {
        At { file, inside: None }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inside {
            None => write!(f, "byte {}", self.file),
            Some(inside) => write!(f, "byte {inside} of the block at byte {}", self.file),
        }
    }
}

/// What is wrong with a block, and where.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BlockError {
    /// The bytes end inside a field.
    Truncated {
        /// The name of the field that is cut off.
        field: &'static str,
        /// The offset of its first byte.
        at: At,
        /// The number of bytes that the field needs.
        need: u64,
        /// The number of bytes that are there.
        have: u64,
    },
    /// A field holds a number that is not allowed.
    Value {
        /// The name of the field with the wrong value.
        field: &'static str,
        /// The offset of its first byte.
        at: At,
        /// The value that the field has.
        got: i128,
        /// The values that are accepted, in words.
        allowed: &'static str,
    },
    /// A format feature that is not supported.
    Unsupported {
        /// The feature that is not supported.
        what: &'static str,
        /// The offset of what uses it.
        at: At,
    },
    /// The bytes are damaged.
    Damaged {
        /// The offset of the block.
        at: u64,
        /// Why it cannot be decoded.
        cause: DecodeError,
    },
    /// The requested filter cannot be built.
    Size(SizeError),
    /// A filter that was just built does not hold its keys: memory or processor is faulty.
    Construction {
        /// Which check failed.
        why: &'static str,
    },
}

impl From<SizeError> for BlockError {
    fn from(cause: SizeError) -> BlockError {
        BlockError::Size(cause)
    }
}

impl From<BuildError> for BlockError {
    fn from(cause: BuildError) -> BlockError {
        match cause {
            BuildError::Size(cause) => BlockError::Size(cause),
            BuildError::HashesChanged => {
                BlockError::Construction { why: "its hashes changed while they were kept" }
            }
            _ => BlockError::Construction { why: "it denies keys that went in" },
        }
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockError::Truncated { field, at, need, have } => {
                write!(f, "{field} at {at}: needs {need} bytes, {have} are there")
            }
            BlockError::Value { field, at, got, allowed } => {
                write!(f, "{field} at {at}: {got} is not allowed (expected {allowed})")
            }
            BlockError::Unsupported { what, at } => write!(f, "{what} at {at}: not supported"),
            BlockError::Damaged { at, cause } => write!(f, "block at byte {at}: {cause}"),
            BlockError::Size(cause) => cause.fmt(f),
            BlockError::Construction { why } => write!(f, "the filter just built is wrong: {why}"),
        }
    }
}

impl core::error::Error for BlockError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            BlockError::Size(cause) => Some(cause),
            BlockError::Damaged { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
