//! Why a compact filter could not be built.

use crate::error::SizeError;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A compact filter could not be built. Nothing is left of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The numbers are refused, or there is not enough memory.
    Size(SizeError),
    /// The file that keeps the hashes of the keys could not be written or read.
    Spool {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
}

impl BuildError {
    pub(super) fn spool(path: &Path, cause: io::Error) -> BuildError {
        BuildError::Spool { path: path.to_owned(), cause }
    }
}

impl From<SizeError> for BuildError {
    fn from(error: SizeError) -> BuildError {
        BuildError::Size(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Size(error) => error.fmt(f),
            BuildError::Spool { path, cause } => {
                write!(f, "{}: the hashes of the keys cannot be kept on the disk: {cause}", path.display())
            }
        }
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            BuildError::Size(error) => Some(error),
            BuildError::Spool { cause, .. } => Some(cause),
        }
    }
}
