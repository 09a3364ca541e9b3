//! Why a filter could not be built.

use super::SizeError;
use alloc::borrow::Cow;
use alloc::format;
use core::fmt;

/// A filter could not be built. Nothing is left of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The requested size is refused, or there is not enough memory.
    Size(SizeError),
    /// A filter of this dialect and kind cannot have this option.
    Option {
        /// The name of the option, as in `BuildOptions`.
        option: &'static str,
        /// What is wrong with it.
        why: Cow<'static, str>,
    },
    /// The file that keeps the hashes of the keys could not be written or read.
    #[cfg(feature = "std")]
    Spool {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
}

impl BuildError {
    pub fn option(option: &'static str, why: &'static str) -> BuildError {
        BuildError::Option { option, why: why.into() }
    }

    /// The error for an option of native filters.
    pub fn only_native(option: &'static str, dialect: &str) -> BuildError {
        BuildError::Option { option, why: format!("only native filters support this, not {dialect}").into() }
    }
}

#[cfg(feature = "std")]
impl BuildError {
    pub fn spool(path: &std::path::Path, cause: std::io::Error) -> BuildError {
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
            BuildError::Option { option, why } => write!(f, "{option}: {why}"),
            #[cfg(feature = "std")]
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
            BuildError::Option { .. } => None,
            #[cfg(feature = "std")]
            BuildError::Spool { cause, .. } => Some(cause),
        }
    }
}
