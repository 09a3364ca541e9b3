//! Why a component cannot be read, or a filter not rebuilt.

use fullbloom::error::BuildError;
use fullbloom::{FileError, SizeError};
use std::fmt;

/// A component could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ComponentError {
    /// It does not exist.
    Missing {
        /// The name of the component, such as `Index.db`.
        component: &'static str,
    },
    /// It cannot be read, or its bytes are damaged.
    File(FileError),
    /// The data are compressed by an unknown method.
    Compressor {
        /// The compressor's class in `CompressionInfo.db`.
        name: String,
    },
    /// It is encrypted, by ScyllaDB or DataStax Enterprise.
    Encrypted {
        /// The name of the component.
        component: &'static str,
    },
    /// This cannot be read from sstables of this version.
    Version {
        /// The version letters.
        version: String,
        /// What cannot be read, and why.
        what: &'static str,
    },
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ComponentError::Missing { component } => write!(f, "{component} is missing"),
            ComponentError::File(e) => e.fmt(f),
            ComponentError::Compressor { name } => {
                write!(f, "unknown compressor {name:?}")
            }
            ComponentError::Encrypted { component } => {
                write!(f, "{component} is encrypted, and the keys to decrypt it are not here")
            }
            ComponentError::Version { version, what } => write!(f, "version {version}: {what}"),
        }
    }
}

impl std::error::Error for ComponentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ComponentError::File(e) => Some(e),
            _ => None,
        }
    }
}

impl From<FileError> for ComponentError {
    fn from(e: FileError) -> Self {
        ComponentError::File(e)
    }
}

/// A filter could not be rebuilt.
#[derive(Debug)]
#[non_exhaustive]
pub enum RebuildError {
    /// The keys cannot be read, or not all of them: a filter without them would make rows invisible.
    Keys(ComponentError),
    /// The requested size is invalid.
    Size(SizeError),
    /// The filter could not be built.
    Build(BuildError),
    /// No rate was given and the sstable does not record one.
    NoRate {
        /// Why there is no rate.
        why: &'static str,
    },
    /// At a rate of 1 Cassandra keeps no filter.
    NoFilter,
    /// The components changed between counting their keys and reading them.
    Changed {
        /// Keys counted first.
        counted: u64,
        /// Keys found when the filter was built.
        found: u64,
    },
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RebuildError::Keys(e) => write!(f, "the keys cannot be read: {e}"),
            RebuildError::Size(e) => e.fmt(f),
            RebuildError::Build(e) => e.fmt(f),
            RebuildError::NoRate { why } => write!(f, "no rate to build for: {why}"),
            RebuildError::NoFilter => f.write_str(
                "at a rate of 1 Cassandra keeps no filter: set the table's bloom_filter_fp_chance to 1.0 and it \
                 will not read the file",
            ),
            RebuildError::Changed { counted, found } => {
                write!(f, "the sstable changed while it was read: {counted} keys, then {found}")
            }
        }
    }
}

impl std::error::Error for RebuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RebuildError::Keys(e) => Some(e),
            RebuildError::Size(e) => Some(e),
            RebuildError::Build(e) => Some(e),
            _ => None,
        }
    }
}

impl From<ComponentError> for RebuildError {
    fn from(e: ComponentError) -> Self {
        RebuildError::Keys(e)
    }
}

impl From<SizeError> for RebuildError {
    fn from(e: SizeError) -> Self {
        RebuildError::Size(e)
    }
}

impl From<BuildError> for RebuildError {
    fn from(e: BuildError) -> Self {
        match e {
            BuildError::Size(e) => RebuildError::Size(e),
            other => RebuildError::Build(other),
        }
    }
}
