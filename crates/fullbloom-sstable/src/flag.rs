//! What is wrong with an sstable, as far as its files show it. The severity is decided in `fullbloom-ops`.

use crate::ComponentError;
use crate::digests::DigestMismatch;
use crate::expected::IndexShort;
use crate::filter_db::FilterProblem;
use crate::sstable::{FILTER, STATISTICS};
use fullbloom::FileError;
use fullbloom_dialects::Name;
use std::fmt;

/// One problem of an sstable, or something worth knowing about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Flag {
    /// The filter's file is damaged or missing.
    Filter(FilterProblem),
    /// The keys of the index are missing when the filter is read as the version letters say, and all sampled
    /// keys are found when it is read as another family. Cassandra follows the letters, so rows are
    /// invisible.
    Mislabelled {
        /// The dialect that belongs to the version letters.
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
    /// The keys cannot be read, or not to the end.
    Keys(ComponentError),
    /// The index has fewer keys than the sstable.
    IndexShort(IndexShort),
    /// A component is not the one whose checksum `Scylla.db` records.
    Digest(DigestMismatch),
    /// `Scylla.db` has checksums, but none of the filter: a rebuild was interrupted.
    DigestMissing,
    /// `Scylla.db` cannot be read.
    ScyllaUnreadable(String),
    /// Entries of the index are not in the order of their partitions.
    IndexOutOfOrder {
        /// The number of entries that are out of order.
        entries: u64,
    },
    /// The rate at which the sstable was written cannot be read.
    Statistics(FileError),
    /// There is no `TOC.txt`, and the sstable is one of ScyllaDB's.
    TocMissing,
    /// `TOC.txt` cannot be read.
    Toc(String),
    /// `TOC.txt` lists this component, which has the keys or the rate, and it is missing.
    ComponentLost(&'static str),
    /// `TOC.txt` lists other components that are missing.
    ComponentsMissing(Vec<String>),
    /// The filter exists, but `TOC.txt` does not list it. A starting Cassandra node loads it all the same;
    /// its tools and ScyllaDB do not.
    NotListed,
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
            Flag::Keys(e) => write!(f, "the keys cannot be read: {e}"),
            Flag::IndexShort(short) => short.fmt(f),
            Flag::Digest(mismatch) => mismatch.fmt(f),
            Flag::DigestMissing => {
                write!(f, "Scylla.db records no checksum of {FILTER}: a rebuild was interrupted")
            }
            Flag::ScyllaUnreadable(e) => f.write_str(e),
            Flag::IndexOutOfOrder { entries } => {
                write!(f, "{entries} entries of the index are not in the order of their partitions")
            }
            Flag::Statistics(e) => write!(f, "the recorded rate cannot be read: {e}"),
            Flag::TocMissing => f.write_str("there is no TOC.txt: ScyllaDB does not start on this sstable"),
            Flag::Toc(e) => f.write_str(e),
            Flag::ComponentLost(STATISTICS) => {
                write!(f, "{STATISTICS} is missing, though TOC.txt lists it: rate and key type are unknown")
            }
            Flag::ComponentLost(name) => {
                write!(f, "{name} is missing, though TOC.txt lists it: the keys cannot be read")
            }
            Flag::ComponentsMissing(names) => {
                write!(f, "TOC.txt lists missing components: {}", names.join(", "))
            }
            Flag::NotListed => {
                write!(
                    f,
                    "TOC.txt does not list {FILTER}: a starting Cassandra node loads it, tools and ScyllaDB do not"
                )
            }
        }
    }
}
