//! Why a filter could not be built.

use super::{InsertError, KeysError, SizeError};
use alloc::borrow::Cow;
use alloc::format;
use core::fmt;

/// A filter could not be built. Nothing is left of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The requested size is refused, or there is not enough memory.
    Size(SizeError),
    /// The keys do not fit the filter.
    Keys(KeysError),
    /// A filter of this dialect and kind cannot have this option.
    Option {
        /// The option.
        option: BuildOption,
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

/// An option of `BuildOptions` that a filter cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildOption {
    /// The dialect.
    Dialect,
    /// The kind of a native filter.
    Kind,
    /// The number of keys to size the filter for.
    ExpectedKeys,
    /// The number of keys up to which a dynamic filter keeps its rate.
    UpTo,
    /// Deletion or expiry.
    Mode,
    /// The fastest or the smallest layout.
    Prefer,
    /// The seed of the hash.
    Seed,
    /// The secret of a keyed filter.
    Secret,
    /// Storing the secret in the file.
    StoreSecret,
    /// The label.
    Label,
    /// Exceptions.
    Except,
}

impl BuildOption {
    /// The name of the option in messages, such as `expected_keys`.
    pub const fn as_str(self) -> &'static str {
        match self {
            BuildOption::Dialect => "dialect",
            BuildOption::Kind => "kind",
            BuildOption::ExpectedKeys => "expected_keys",
            BuildOption::UpTo => "up_to",
            BuildOption::Mode => "mode",
            BuildOption::Prefer => "prefer",
            BuildOption::Seed => "seed",
            BuildOption::Secret => "secret",
            BuildOption::StoreSecret => "store_secret",
            BuildOption::Label => "label",
            BuildOption::Except => "except",
        }
    }
}

impl fmt::Display for BuildOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl BuildError {
    pub fn option(option: BuildOption, why: &'static str) -> BuildError {
        BuildError::Option { option, why: why.into() }
    }

    /// The error for an option of native filters.
    pub fn only_native(option: BuildOption, dialect: &str) -> BuildError {
        BuildError::Option { option, why: format!("only native filters support this, not {dialect}").into() }
    }
}

#[cfg(feature = "std")]
impl BuildError {
    pub fn spool(path: &std::path::Path, cause: std::io::Error) -> BuildError {
        BuildError::Spool { path: path.to_owned(), cause }
    }
}

impl From<InsertError> for BuildError {
    fn from(error: InsertError) -> BuildError {
        match error {
            InsertError::Keys(error) => BuildError::Keys(error),
            InsertError::Size(error) => BuildError::Size(error),
            InsertError::Locked => BuildError::option(BuildOption::Secret, "it is not known"),
        }
    }
}

impl From<KeysError> for BuildError {
    fn from(error: KeysError) -> BuildError {
        BuildError::Keys(error)
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
            BuildError::Keys(error) => error.fmt(f),
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
            BuildError::Keys(error) => Some(error),
            BuildError::Option { .. } => None,
            #[cfg(feature = "std")]
            BuildError::Spool { cause, .. } => Some(cause),
        }
    }
}
