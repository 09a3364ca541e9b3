//! Problems of an sstable's filter, each with its severity.

use crate::filter_db::FilterProblem;
use crate::{ComponentError, sstable::FILTER};
use fullbloom::FileError;
use fullbloom::dialect::Name;
use std::fmt;

/// One problem of an sstable, or something worth knowing about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Flag {
    /// The filter's file is damaged or missing.
    Filter(FilterProblem),
    /// The keys of the index are missing when the filter is read as the version letters say, and all sampled keys are
    /// found when it is read as another family. Cassandra goes by the letters: rows are invisible.
    Mislabelled {
        /// What the version letters say.
        says: Name,
        /// The families that contain the keys; more than one only where few keys could be sampled.
        reads_as: Vec<Name>,
        /// How many keys were looked up.
        asked: u64,
    },
    /// Keys of the index are not in the filter in any family: it is damaged, and rows are invisible.
    KeysMissing {
        /// How many keys were looked up.
        asked: u64,
        /// How many of them were not found.
        missing: u64,
    },
    /// It contains more keys than it was sized for: its rate is worse than promised.
    TooFull {
        /// The rate it should have.
        promise: Promise,
        /// The expected rate at its present fill.
        expected_fpr: f64,
    },
    /// It has many more bits than its keys need: it was sized for more of them.
    TooLarge {
        /// Bits it has.
        bits: u64,
        /// Bits that would keep the promise.
        needed: u64,
    },
    /// The keys cannot be read, or not to the end.
    Keys(ComponentError),
    /// Entries of the index are not in the order of their partitions.
    IndexOutOfOrder {
        /// How many.
        entries: u64,
    },
    /// The rate at which the sstable was written cannot be read.
    Statistics(FileError),
    /// `TOC.txt` cannot be read.
    Toc(String),
    /// `TOC.txt` lists other components that are missing.
    ComponentsMissing(Vec<String>),
    /// The filter is there, but `TOC.txt` does not list it: Cassandra does not load it and rebuilds it.
    NotListed,
}

/// The rate a filter should have, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Promise {
    /// The rate recorded in `Statistics.db`.
    Recorded(f64),
    /// Not recorded, or not readable. A filter with this many probes is best when half of its bits are set, so
    /// Cassandra never sizes it for more: a rate of two to the power of minus the probes.
    HalfFull {
        /// Probes per key.
        probes: u32,
    },
}

impl Promise {
    /// The rate.
    pub fn fpr(self) -> f64 {
        match self {
            Promise::Recorded(fpr) => fpr,
            Promise::HalfFull { probes } => 0.5f64.powf(probes.into()),
        }
    }
}

/// How much a flag matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It costs reads or memory, or something could not be checked.
    Warning,
    /// Reads go wrong, or may go wrong.
    Damage,
}

impl Flag {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        match self {
            Flag::Filter(FilterProblem::Missing { listed: Some(false) }) => Severity::Note,
            Flag::Filter(FilterProblem::Empty | FilterProblem::Missing { listed: None }) => Severity::Warning,
            Flag::Filter(_) | Flag::Mislabelled { .. } | Flag::KeysMissing { .. } => Severity::Damage,
            Flag::Keys(ComponentError::Missing { .. } | ComponentError::Compressor { .. }) => {
                Severity::Warning
            }
            Flag::Keys(ComponentError::Version { .. }) | Flag::ComponentsMissing(_) => Severity::Note,
            Flag::Keys(ComponentError::File(_)) => Severity::Damage,
            Flag::TooFull { .. } | Flag::TooLarge { .. } | Flag::IndexOutOfOrder { .. } => Severity::Warning,
            Flag::Statistics(_) | Flag::Toc(_) | Flag::NotListed => Severity::Warning,
        }
    }

    /// A short name that does not change, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Flag::Filter(FilterProblem::Missing { .. }) => "filter-missing",
            Flag::Filter(FilterProblem::Empty) => "filter-empty",
            Flag::Filter(FilterProblem::Unreadable(_)) => "filter-unreadable",
            Flag::Filter(FilterProblem::Truncated { .. }) => "truncated",
            Flag::Filter(FilterProblem::Trailing { .. }) => "trailing-bytes",
            Flag::Filter(FilterProblem::Malformed(_)) => "malformed",
            Flag::Mislabelled { .. } => "mislabelled",
            Flag::KeysMissing { .. } => "keys-missing",
            Flag::TooFull { .. } => "too-full",
            Flag::TooLarge { .. } => "too-large",
            Flag::Keys(_) => "keys-unreadable",
            Flag::IndexOutOfOrder { .. } => "index-out-of-order",
            Flag::Statistics(_) => "statistics-unreadable",
            Flag::Toc(_) => "toc-unreadable",
            Flag::ComponentsMissing(_) => "components-missing",
            Flag::NotListed => "not-listed",
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flag::Filter(problem) => problem.fmt(f),
            Flag::Mislabelled { says, reads_as, asked } => {
                write!(
                    f,
                    "version and content disagree: the version says {says}, but the {asked} sampled keys are found "
                )?;
                f.write_str("only when it is read as ")?;
                for (i, name) in reads_as.iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
            Flag::KeysMissing { asked, missing: 1 } => {
                write!(f, "1 of {asked} sampled keys is not in the filter: its row is invisible")
            }
            Flag::KeysMissing { asked, missing } => {
                write!(f, "{missing} of {asked} sampled keys are not in the filter: their rows are invisible")
            }
            Flag::TooFull { promise, expected_fpr } => {
                write!(f, "too full: the expected rate is {expected_fpr:.3}, ")?;
                match promise {
                    Promise::Recorded(fpr) => write!(f, "the recorded one {fpr}"),
                    Promise::HalfFull { probes } => {
                        write!(f, "with {probes} probes it should be {:.3}", promise.fpr())
                    }
                }
            }
            Flag::TooLarge { bits, needed } => {
                let times = *bits as f64 / (*needed).max(1) as f64;
                write!(f, "too large: {bits} bits where {needed} are enough ({times:.1} times)")
            }
            Flag::Keys(e) => write!(f, "the keys cannot be read: {e}"),
            Flag::IndexOutOfOrder { entries } => {
                write!(f, "{entries} entries of the index are not in the order of their partitions")
            }
            Flag::Statistics(e) => write!(f, "the recorded rate cannot be read: {e}"),
            Flag::Toc(e) => f.write_str(e),
            Flag::ComponentsMissing(names) => {
                write!(f, "TOC.txt lists missing components: {}", names.join(", "))
            }
            Flag::NotListed => {
                write!(f, "TOC.txt does not list {FILTER}: Cassandra does not load it and rebuilds it")
            }
        }
    }
}
