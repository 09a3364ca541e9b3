//! What can be wrong with a Parquet file.

use crate::types::PhysicalType;
use fullbloom::DecodeError;
use parquet::errors::ParquetError;
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};

/// A Parquet file, or a filter in it, could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to read it.
    Io(io::Error),
    /// It is not a Parquet file, or the parquet crate refuses it.
    File(Box<dyn std::error::Error + Send + Sync>),
    /// The parquet crate panicked on its bytes.
    Panicked,
    /// The footer puts a filter outside the file.
    Place {
        /// Its offset in the footer.
        offset: i64,
        /// Its length in the footer, if any.
        len: Option<i32>,
        /// Bytes of the file.
        file_len: u64,
    },
    /// The bytes are not a filter.
    Filter(DecodeError),
    /// Columns of this type have no filters.
    Type,
    /// A structure of the file is malformed, or announces more than is there.
    Malformed {
        /// Which.
        what: &'static str,
    },
    /// A page is larger than any that is read.
    TooLarge {
        /// Which page.
        what: &'static str,
        /// The size it announces.
        size: i64,
        /// The most that is read.
        limit: u64,
    },
    /// A column has more repeated values for each record than are read.
    TooManyValues {
        /// The values that its pages announce.
        values: u64,
    },
    /// The file has no column of this name.
    NoColumn {
        /// The name.
        name: String,
    },
    /// Several columns have this name. Names that contain dots can look like the path to a nested column.
    AmbiguousColumn {
        /// The name.
        name: String,
    },
    /// The value is not of the column's type, and cannot be converted to it without changing it.
    ValueType {
        /// The value's type.
        value: PhysicalType,
        /// The column's type.
        column: PhysicalType,
    },
    /// The value has another length than every value of the column.
    ValueLen {
        /// Bytes of the value.
        len: usize,
        /// Bytes of the column's values.
        column_len: i32,
    },
    /// The query was made for a column that differs from this file's column.
    OtherColumn {
        /// The name of the column that the query was made for.
        name: String,
    },
    /// The file has no such row group.
    NoRowGroup {
        /// The number of the row group, from 0.
        row_group: usize,
        /// Row groups of the file.
        row_groups: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => e.fmt(f),
            Error::File(e) => write!(f, "damaged Parquet file: {e}"),
            Error::Panicked => f.write_str("damaged Parquet file: its pages contradict each other"),
            Error::Place { offset, len: Some(len), file_len } => {
                write!(f, "a filter of {len} bytes at byte {offset} is not inside the file of {file_len}")
            }
            Error::Place { offset, len: None, file_len } => {
                write!(f, "a filter at byte {offset} is not inside the file of {file_len} bytes")
            }
            Error::Filter(e) => write!(f, "not a Parquet filter: {e}"),
            Error::Type => f.write_str("columns of booleans have no filters"),
            Error::Malformed { what } => {
                write!(f, "damaged Parquet file: {what} is malformed, or announces more than is there")
            }
            Error::TooLarge { what, size, limit } => {
                write!(f, "{what} of {size} bytes: pages of at most {limit} bytes are read")
            }
            Error::TooManyValues { values } => {
                write!(f, "{values} repeated values are more than are read for so few records")
            }
            Error::NoColumn { name } => write!(f, "the file has no column {name:?}"),
            Error::AmbiguousColumn { name } => write!(f, "the file has several columns {name:?}"),
            Error::ValueType { value, column } => {
                write!(
                    f,
                    "a value of type {value} cannot be looked up in a column of type {column}: convert it"
                )
            }
            Error::ValueLen { len, column_len } => {
                write!(f, "a value of {len} bytes cannot be in a column whose values have {column_len} bytes")
            }
            Error::OtherColumn { name } => {
                write!(f, "the query was made for a column {name:?} that differs from this file's column")
            }
            Error::NoRowGroup { row_group, row_groups } => {
                write!(f, "no row group {row_group}: the file has {row_groups}, counted from 0")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            Error::File(e) => Some(&**e),
            Error::Filter(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}

impl Error {
    /// An error of the parquet crate. No `From`: that would be a public implementation for a type of that
    /// crate, whose major version changes every few months.
    pub(crate) fn refused(e: ParquetError) -> Error {
        Error::File(Box::new(e))
    }
}

impl From<DecodeError> for Error {
    fn from(e: DecodeError) -> Error {
        Error::Filter(e)
    }
}

/// Runs code of the parquet crate and catches its panics on damaged pages.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(Error::Panicked))
}
