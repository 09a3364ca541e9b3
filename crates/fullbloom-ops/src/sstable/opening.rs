//! What Cassandra does with a `Filter.db` when it next opens the sstable, release by release.
//!
//! The rules, for a table whose `bloom_filter_fp_chance` is not 1 (else the file is not read at all):
//!
//! | release | opens | a filter that is there | a filter that is not |
//! |---|---|---|---|
//! | 0.7 – 1.1 | a – hf | loaded; those of `a` and `b` are rebuilt | rebuilt |
//! | 1.2 | a – ic | as before | rebuilt |
//! | 2.0 – 3.11.2 | ic – me | rebuilt if the recorded rate is not the table's, else loaded | rebuilt |
//! | 3.11.3 – 3.11.x | jb – me | loaded | rebuilt |
//! | 4.0 – 4.1 | ma – nc | loaded | rebuilt, **in the wrong byte order for `m*`** |
//! | 5.0 | ma – oa, da | loaded | rebuilt; refused for `m*` |
//!
//! A filter that `TOC.txt` does not list counts as missing. Only a node rebuilds filters; offline tools do
//! without.

use fullbloom::dialect::cassandra::TableFormat;
use fullbloom_sstable::Sstable;
use fullbloom_sstable::report::Recorded;
use fullbloom_sstable::sstable::{FILTER, STATISTICS};
use std::fmt;

/// What one line of releases does.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Opening {
    /// The releases, as people write them.
    pub releases: &'static str,
    /// What it does with a filter that exists.
    pub present: WhenPresent,
    /// What it does without one.
    pub absent: WhenAbsent,
}

/// What a release does with a filter that exists.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum WhenPresent {
    /// It is loaded as it is.
    Loaded,
    /// It is loaded only if the table's rate equals the recorded one; else Cassandra replaces it by its own
    /// at the table's rate.
    LoadedAtRecordedRate {
        /// The recorded rate, where it is known.
        recorded: Option<f64>,
    },
    /// It is not trusted; Cassandra rebuilds it.
    Rebuilt,
}

/// What a release does with an sstable without a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenAbsent {
    /// The node rebuilds it from the index and saves it.
    Rebuilt,
    /// The same, but sized for the number of rows, not of partitions: too large where partitions have many
    /// rows.
    RebuiltForRows,
    /// The node rebuilds it in the byte order of 4.0, under version letters that mean the older one: the next
    /// start misreads it, and rows are invisible.
    RebuiltInWrongOrder,
    /// The node cannot write the old format and stops with an assertion.
    Refused,
}

/// What matters besides the release.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Circumstance {
    /// The file is read when the sstable is opened: a running node keeps the filter it has in memory.
    ReadAtOpening,
    /// With `bloom_filter_fp_chance = 1.0` the file is not read.
    NotReadAtRateOne,
    /// `Statistics.db` still records the old rate, and tools show it.
    RecordedRateStays {
        /// The recorded rate.
        recorded: f64,
    },
    /// Compaction, scrub and upgrade write new sstables with filters at the table's rate.
    NextCompaction,
    /// `TOC.txt` does not list the filter: Cassandra rebuilds it.
    NotListed,
    /// There is no validation part in `Statistics.db`, or no such file: Cassandra rebuilds the filter.
    NoValidation,
}

/// Version bounds of BIG sstables, as their letters compare.
struct Release {
    name: &'static str,
    first: &'static str,
    last: &'static str,
}

const RELEASES: [Release; 6] = [
    Release { name: "0.7 - 1.1", first: "a", last: "hf" },
    Release { name: "1.2", first: "a", last: "ic" },
    Release { name: "2.0 - 3.11.2", first: "ic", last: "me" },
    Release { name: "3.11.3 - 3.11.x", first: "jb", last: "me" },
    Release { name: "4.0 - 4.1", first: "ma", last: "nc" },
    Release { name: "5.0", first: "ma", last: "oa" },
];

/// What each line of releases that can open the sstable does with its filter.
pub fn openings(sstable: &Sstable, recorded: &Recorded) -> Vec<Opening> {
    let version = sstable.version.as_str();
    if sstable.format == TableFormat::Bti {
        return vec![Opening {
            releases: "5.0",
            present: WhenPresent::Loaded,
            absent: WhenAbsent::RebuiltForRows,
        }];
    }
    let opens = |release: &&Release| (release.first..=release.last).contains(&version);
    RELEASES.iter().filter(opens).map(|release| opening(release.name, version, recorded.fpr())).collect()
}

fn opening(releases: &'static str, version: &str, recorded: Option<f64>) -> Opening {
    let present = match (releases, version) {
        ("0.7 - 1.1" | "1.2", "a" | "b") => WhenPresent::Rebuilt,
        ("2.0 - 3.11.2", _) => WhenPresent::LoadedAtRecordedRate { recorded },
        _ => WhenPresent::Loaded,
    };
    let absent = match (releases, version.starts_with('m')) {
        ("4.0 - 4.1", true) => WhenAbsent::RebuiltInWrongOrder,
        ("5.0", true) => WhenAbsent::Refused,
        _ => WhenAbsent::Rebuilt,
    };
    Opening { releases, present, absent }
}

/// What else decides whether the file is used.
pub fn circumstances(sstable: &Sstable, recorded: &Recorded, new_fpr: Option<f64>) -> Vec<Circumstance> {
    let mut found = vec![Circumstance::ReadAtOpening, Circumstance::NotReadAtRateOne];
    if sstable.lists(FILTER) == Some(false) {
        found.push(Circumstance::NotListed);
    }
    match recorded {
        Recorded::Nothing | Recorded::Missing => found.push(Circumstance::NoValidation),
        Recorded::Found(validation) if new_fpr != Some(validation.fpr) => {
            found.push(Circumstance::RecordedRateStays { recorded: validation.fpr });
        }
        _ => {}
    }
    found.push(Circumstance::NextCompaction);
    found
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cassandra {}: {}; without it, {}", self.releases, self.present, self.absent)
    }
}

impl fmt::Display for WhenPresent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhenPresent::Loaded => f.write_str("the file is loaded as it is, whatever the table's rate"),
            WhenPresent::LoadedAtRecordedRate { recorded } => {
                f.write_str("the file is loaded only while bloom_filter_fp_chance equals the recorded rate")?;
                if let Some(recorded) = recorded {
                    write!(f, " ({recorded})")?;
                }
                f.write_str(", else Cassandra replaces it by its own")
            }
            WhenPresent::Rebuilt => {
                f.write_str("filters of this version are not trusted, and Cassandra rebuilds them")
            }
        }
    }
}

impl fmt::Display for WhenAbsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhenAbsent::Rebuilt => "the node builds one at the table's rate",
            WhenAbsent::RebuiltForRows => {
                "the node builds one at the table's rate, sized for the rows and not the partitions"
            }
            WhenAbsent::RebuiltInWrongOrder => {
                "the node builds one in the byte order of 4.0, which the next start misreads: rows become invisible"
            }
            WhenAbsent::Refused => "the sstable cannot be opened: 5.0 does not write this format",
        })
    }
}

impl fmt::Display for Circumstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Circumstance::ReadAtOpening => f.write_str(
                "the file is read when the sstable is opened: a running node keeps the filter it has in memory until \
                 it is restarted",
            ),
            Circumstance::NotReadAtRateOne => {
                f.write_str("with bloom_filter_fp_chance = 1.0 the file is not read")
            }
            Circumstance::RecordedRateStays { recorded } => {
                write!(f, "{STATISTICS} still records {recorded}: sstablemetadata shows it, and inspect compares with it")
            }
            Circumstance::NextCompaction => {
                f.write_str("the next compaction writes new filters at the table's bloom_filter_fp_chance")
            }
            Circumstance::NotListed => {
                write!(f, "TOC.txt does not list {FILTER}: Cassandra does not load it, and builds its own")
            }
            Circumstance::NoValidation => {
                write!(f, "{STATISTICS} does not record the rate: Cassandra does not load the file, and builds its own")
            }
        }
    }
}
