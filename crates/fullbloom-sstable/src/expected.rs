//! What other components say about the keys that an index should have.
//!
//! An index has no header and no checksum. If it was cut between two entries, or is empty, it reads as one
//! with fewer keys, and a filter rebuilt from it would hide rows. Four components know better:
//!
//! | component | says | versions |
//! |---|---|---|
//! | `Statistics.db` | the number of partitions: the sum of the histogram of their sizes | `ka` and later |
//! | `Summary.db` | the last key | `ka` and later, BIG |
//! | `Data.db` | that there are partitions, if it has bytes; used where those above are missing | all |
//! | `Filter.db` | about how many keys were inserted, by its set bits; used where the others are missing | all |

use crate::keys::Ends;
use crate::sstable::{DATA, STATISTICS, SUMMARY, Sstable};
use crate::summary;
use crate::version::{KeySource, Version};
use fullbloom_any::AnyFilter;
use std::fmt;

/// An index that has fewer keys than the sstable.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct IndexShort {
    /// The keys of the index.
    pub found: u64,
    /// What shows that there were more.
    pub by: Evidence,
}

/// What shows that an index has lost keys.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Evidence {
    /// `Statistics.db` counts this many partitions.
    Statistics {
        /// The number of partitions.
        partitions: u64,
    },
    /// `Summary.db` ends with another key.
    Summary,
    /// `Data.db` has bytes, so there are partitions.
    Data,
    /// The set bits of the filter suggest about this many keys.
    Filter {
        /// The number of keys that the filter's set bits suggest.
        estimated: f64,
    },
}

impl fmt::Display for IndexShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.found == 1 { "key" } else { "keys" };
        write!(f, "the index has {} {keys}, but ", self.found)?;
        match self.by {
            Evidence::Statistics { partitions } => {
                write!(f, "{STATISTICS} counts {partitions} partitions")
            }
            Evidence::Summary => write!(f, "does not end with the last key of {SUMMARY}"),
            Evidence::Data => write!(f, "{DATA} has bytes"),
            Evidence::Filter { estimated } => {
                write!(f, "the set bits of the filter suggest about {estimated:.0}")
            }
        }?;
        f.write_str(": keys are missing from the index")
    }
}

/// How many keys the set bits may suggest for each key of the index, and besides, before the index is
/// doubted. The estimate of a sound filter is off by a few times the square root of the number of keys.
const FILTER_TIMES: f64 = 1.5;
const FILTER_MORE: f64 = 20.0;

/// Whether the index of an sstable has lost keys. `partitions` is the number in `Statistics.db`, and `filter`
/// the old filter, where they can be read.
///
/// Components that are missing or damaged say nothing.
pub(crate) fn index_short(
    sstable: &Sstable,
    found: u64,
    ends: &Ends,
    partitions: Option<u64>,
    filter: Option<&AnyFilter>,
) -> Option<IndexShort> {
    let short = |by| Some(IndexShort { found, by });
    let version = Version::of(sstable.format, &sstable.version);
    let mut known = false;
    if let Some(partitions) = partitions {
        if partitions > found {
            return short(Evidence::Statistics { partitions });
        }
        known = true;
    }
    if version.statistics.is_some()
        && matches!(version.keys, KeySource::Index(_))
        && let Ok(map) = sstable.open(SUMMARY)
        && let Ok(last) = summary::last_key(map.as_ref())
    {
        if ends.last.as_deref() != Some(last) {
            return short(Evidence::Summary);
        }
        known = true;
    }
    if !known && found == 0 && sstable.byte_len(DATA).is_some_and(|bytes| bytes > 0) {
        return short(Evidence::Data);
    }
    let estimated = filter.filter(|_| !known)?.estimated_keys()?;
    if estimated > found as f64 * FILTER_TIMES + FILTER_MORE {
        return short(Evidence::Filter { estimated });
    }
    None
}
