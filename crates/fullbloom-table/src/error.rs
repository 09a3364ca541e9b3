//! What can be wrong with a table, with the file and the position in it.
//!
//! A [`Problem`] carries facts; `Display` makes the sentence. [`TableError`] adds the file's name where one
//! is known. An engine that only wants the filter's answer treats every error as "maybe": see
//! [`TableFilter`](crate::TableFilter).

use fullbloom::{DecodeError, SizeError};
pub use fullbloom_blocks::At;
use fullbloom_blocks::BlockError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A problem, and the offset where it was found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The system could not read or write the bytes.
    Io {
        /// The operation that failed, such as reading.
        action: &'static str,
        /// The offset in the file.
        at: u64,
        /// The system's error.
        cause: io::Error,
    },
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
    /// The file does not end with a magic number of a block-based table.
    Magic {
        /// The offset of the magic number.
        at: u64,
        /// The number that is there instead.
        got: u64,
        /// What that number stands for, if known.
        known_as: Option<&'static str>,
    },
    /// A handle points outside the part of the file where blocks can be.
    Handle {
        /// The part that the handle points to.
        of: &'static str,
        /// The offset it holds.
        offset: u64,
        /// The size it holds.
        size: u64,
        /// Where the last block must have ended.
        limit: u64,
    },
    /// A block begins before the end of the one that must precede it, so the index loops or overlaps.
    Order {
        /// The part whose entries were read.
        of: &'static str,
        /// The offset of the block.
        at: u64,
        /// Where it may begin at the earliest.
        earliest: u64,
    },
    /// Keys are not in the order of the table's comparator.
    KeyOrder {
        /// Where the key is that is not greater than the one before.
        at: At,
    },
    /// The key of a data block in the index does not separate its keys from those of the next block: lookups
    /// look for some of them elsewhere.
    Separator {
        /// Where the data block is, or the one after it.
        at: u64,
    },
    /// The stored checksum does not match the bytes.
    Checksum {
        /// The part that was read.
        of: &'static str,
        /// The offset of its first byte.
        at: u64,
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// Compressed bytes cannot be expanded.
    Compressed {
        /// The name of the compression method.
        method: &'static str,
        /// The offset of the block.
        at: u64,
        /// The decoder's error.
        why: String,
    },
    /// Something needs more memory than allowed: see [`Limits`](crate::Limits).
    TooLarge {
        /// The thing that is too large, in words.
        what: &'static str,
        /// The offset of its first byte.
        at: u64,
        /// The bytes it declares or has.
        size: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// A format feature that is not supported.
    Unsupported {
        /// The feature that is not supported.
        what: &'static str,
        /// The offset of what uses it.
        at: At,
    },
    /// The table has no such part.
    Missing {
        /// The part that the table does not have.
        what: &'static str,
    },
    /// The memory could not be allocated.
    Memory {
        /// The number of bytes that were requested.
        bytes: u64,
    },
    /// The requested filter cannot be built.
    Size(SizeError),
    /// The bytes of a block are damaged.
    Block {
        /// The offset of its first byte.
        at: u64,
        /// Why it cannot be decoded.
        cause: DecodeError,
    },
    /// The caller's input cannot go into a table.
    Input {
        /// Why the input is refused.
        why: &'static str,
    },
    /// A filter that was just built does not hold its keys: memory or processor is faulty.
    Construction {
        /// Which check failed.
        why: &'static str,
    },
}

impl From<SizeError> for Problem {
    fn from(cause: SizeError) -> Problem {
        Problem::Size(cause)
    }
}

impl From<BlockError> for Problem {
    fn from(error: BlockError) -> Problem {
        match error {
            BlockError::Truncated { field, at, need, have } => Problem::Truncated { field, at, need, have },
            BlockError::Value { field, at, got, allowed } => Problem::Value { field, at, got, allowed },
            BlockError::Unsupported { what, at } => Problem::Unsupported { what, at },
            BlockError::Damaged { at, cause } => Problem::Block { at, cause },
            BlockError::Size(cause) => Problem::Size(cause),
            BlockError::Construction { why } => Problem::Construction { why },
            _ => Problem::Construction { why: "a later version's check failed" }, // both have one version
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Io { action, at, cause } => write!(f, "cannot {action} at byte {at}: {cause}"),
            Problem::Truncated { field, at, need, have } => {
                write!(f, "{field} at {at}: needs {need} bytes, {have} are there")
            }
            Problem::Value { field, at, got, allowed } => {
                write!(f, "{field} at {at}: {got} is not allowed (expected {allowed})")
            }
            Problem::Magic { at, got, known_as } => {
                write!(f, "magic number at byte {at}: {got:#018x} is not a block-based table")?;
                known_as.map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            Problem::Handle { of, offset, size, limit } => write!(
                f,
                "handle of {of}: offset {offset} and size {size} do not fit before byte {limit}, where blocks end"
            ),
            Problem::Order { of, at, earliest } => {
                write!(
                    f,
                    "{of} at byte {at}: overlaps or precedes the one before it, which ends at byte {earliest}"
                )
            }
            Problem::KeyOrder { at } => write!(f, "key at {at}: not greater than the key before it"),
            Problem::Separator { at } => write!(
                f,
                "data block at byte {at}: the index does not separate its keys from those of its neighbours, so \
                 lookups miss some"
            ),
            Problem::Checksum { of, at, stored, computed } => {
                write!(f, "{of} at byte {at}: checksum is {computed:#010x}, the file says {stored:#010x}")
            }
            Problem::Compressed { method, at, why } => {
                write!(f, "block at byte {at}: cannot be expanded with {method}: {why}")
            }
            Problem::TooLarge { what, at, size, limit } => {
                write!(f, "{what} at byte {at}: {size} bytes are more than the {limit} accepted")
            }
            Problem::Unsupported { what, at } => write!(f, "{what} at {at}: not supported"),
            Problem::Missing { what } => write!(f, "the table has no {what}"),
            Problem::Memory { bytes } => write!(f, "{bytes} bytes of memory could not be allocated"),
            Problem::Size(cause) => cause.fmt(f),
            Problem::Block { at, cause } => write!(f, "block at byte {at}: {cause}"),
            Problem::Input { why } => f.write_str(why),
            Problem::Construction { why } => write!(f, "the filter just built is wrong: {why}"),
        }
    }
}

/// A [`Problem`] in a file.
#[derive(Debug)]
pub struct TableError {
    path: Option<PathBuf>,
    problem: Problem,
}

impl TableError {
    pub(crate) fn new(path: Option<&Path>, problem: Problem) -> TableError {
        TableError { path: path.map(Path::to_owned), problem }
    }

    /// The file, when the table was opened by name.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the problem without its place.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What is wrong, without the file.
    pub fn into_problem(self) -> Problem {
        self.problem
    }
}

impl From<Problem> for TableError {
    fn from(problem: Problem) -> TableError {
        TableError { path: None, problem }
    }
}

impl From<BlockError> for TableError {
    fn from(error: BlockError) -> TableError {
        Problem::from(error).into()
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", path.display(), self.problem),
            None => self.problem.fmt(f),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io { cause, .. } => Some(cause),
            Problem::Size(cause) => Some(cause),
            Problem::Block { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
