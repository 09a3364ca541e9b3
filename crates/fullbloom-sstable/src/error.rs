//! Why something cannot be learnt from an sstable.

use fullbloom::{FileError, SizeError};
use std::fmt;

/// A component could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ComponentError {
    /// It is not there.
    Missing {
        /// Its name, e.g. `Index.db`.
        component: &'static str,
    },
    /// It could not be read, or what it holds is not sound.
    File(FileError),
    /// The data are compressed by something we do not know.
    Compressor {
        /// The compressor's class, as `CompressionInfo.db` has it.
        name: String,
    },
    /// What is wanted cannot be had from sstables of this version.
    Version {
        /// The version letters.
        version: String,
        /// What cannot be had, and why.
        what: &'static str,
    },
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ComponentError::Missing { component } => write!(f, "{component} is missing"),
            ComponentError::File(e) => e.fmt(f),
            ComponentError::Compressor { name } => {
                write!(f, "data compressed by {name:?} cannot be read here")
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

/// A filter could not be made anew.
#[derive(Debug)]
#[non_exhaustive]
pub enum RebuildError {
    /// The keys cannot be read, or not all of them: a filter without them would make rows invisible.
    Keys(ComponentError),
    /// The numbers asked for are none that Cassandra's rule takes.
    Size(SizeError),
    /// No rate was given and the sstable does not tell its own.
    NoRate {
        /// Why not.
        why: &'static str,
    },
    /// A rate of 1 means that Cassandra keeps no filter at all.
    NoFilter,
    /// The components changed between counting their keys and reading them.
    Changed {
        /// Keys counted first.
        counted: u64,
        /// Keys found then.
        found: u64,
    },
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RebuildError::Keys(e) => write!(f, "the keys cannot be read: {e}"),
            RebuildError::Size(e) => e.fmt(f),
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
