//! What each engine does with a `Filter.db` when it next opens the sstable: one table of rules, by release.
//!
//! [`RULES`] is that table; `inspect` and `rebuild` print the rows that fit an sstable, and
//! `docs/formats/cassandra.md` has all of them. They hold for a table whose `bloom_filter_fp_chance` is not
//! 1; at 1 Cassandra does not read the file at all.
//!
//! Only a node rebuilds filters; offline tools do without. A starting Cassandra node takes the components
//! from the directory and loads a filter that `TOC.txt` does not list. ScyllaDB takes them from `TOC.txt`.

use fullbloom_sstable::TableFormat::{self, Big, Bti};
use fullbloom_sstable::report::Recorded;
use fullbloom_sstable::sstable::{FILTER, STATISTICS};
use fullbloom_sstable::{Engine, Sstable};
use std::fmt;

/// What one line of releases does with the filters of some versions.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// The engine.
    pub engine: Engine,
    /// The releases, as people write them.
    pub releases: &'static str,
    /// The format token of the sstables.
    pub format: TableFormat,
    /// The versions it opens: from the first to the last, as letters compare.
    pub versions: (&'static str, &'static str),
    /// What it does with a filter that exists.
    pub present: WhenPresent,
    /// What it does without one.
    pub absent: WhenAbsent,
}

/// What a release does with a filter that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenPresent {
    /// It is loaded as it is.
    Loaded,
    /// It is loaded only if the table's rate equals the recorded one; else the engine replaces it by its own
    /// at the table's rate.
    LoadedAtRecordedRate,
    /// It is not trusted; the engine rebuilds it.
    Rebuilt,
    /// It is loaded if `TOC.txt` lists it. A file that is too short stops the node.
    LoadedIfListed,
    /// The same, and its checksum must be the one in `Scylla.db`, if that has one.
    LoadedIfChecksumAgrees,
    /// It is loaded, unless a system property asks for the table's rate.
    LoadedUnlessAsked,
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
    /// It is never rebuilt: every lookup reads the sstable. If `TOC.txt` lists it, the node does not start.
    NeverRebuilt,
}

const fn rule(
    engine: Engine,
    releases: &'static str,
    format: TableFormat,
    versions: (&'static str, &'static str),
    present: WhenPresent,
    absent: WhenAbsent,
) -> Rule {
    Rule { engine, releases, format, versions, present, absent }
}

/// All rules.
pub const RULES: [Rule; 23] = {
    use Engine::{Cassandra, DataStax, Scylla};
    use WhenPresent::{
        Loaded, LoadedAtRecordedRate, LoadedIfChecksumAgrees, LoadedIfListed, LoadedUnlessAsked,
    };
    [
        rule(Cassandra, "0.7 - 1.1", Big, ("a", "b"), WhenPresent::Rebuilt, WhenAbsent::Rebuilt),
        rule(Cassandra, "0.7 - 1.1", Big, ("c", "hf"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "1.2", Big, ("a", "b"), WhenPresent::Rebuilt, WhenAbsent::Rebuilt),
        rule(Cassandra, "1.2", Big, ("c", "ic"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "2.0 - 3.11.2", Big, ("ic", "me"), LoadedAtRecordedRate, WhenAbsent::Rebuilt),
        rule(Cassandra, "3.11.3 - 3.11.x", Big, ("jb", "me"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "4.0 - 4.1", Big, ("ma", "me"), Loaded, WhenAbsent::RebuiltInWrongOrder),
        rule(Cassandra, "4.0 - 4.1", Big, ("na", "nc"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "5.0", Big, ("ma", "me"), Loaded, WhenAbsent::Refused),
        rule(Cassandra, "5.0", Big, ("na", "oa"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "5.0", Bti, ("da", "da"), Loaded, WhenAbsent::RebuiltForRows),
        rule(Cassandra, "6.0", Big, ("ma", "me"), Loaded, WhenAbsent::Refused),
        rule(Cassandra, "6.0", Big, ("na", "pa"), Loaded, WhenAbsent::Rebuilt),
        rule(Cassandra, "6.0", Bti, ("da", "ea"), Loaded, WhenAbsent::RebuiltForRows),
        rule(Scylla, "up to 2026.1", Big, ("ka", "la"), LoadedIfListed, WhenAbsent::NeverRebuilt),
        rule(Scylla, "3.0 - 2026.1", Big, ("mc", "me"), LoadedIfListed, WhenAbsent::NeverRebuilt),
        rule(Scylla, "2025.4 - 2026.1", Big, ("ms", "ms"), LoadedIfListed, WhenAbsent::NeverRebuilt),
        rule(Scylla, "2026.1.7 - 2026.1.x", Big, ("mt", "mt"), LoadedIfListed, WhenAbsent::NeverRebuilt),
        rule(Scylla, "2026.2 and later", Big, ("ka", "mt"), LoadedIfChecksumAgrees, WhenAbsent::NeverRebuilt),
        rule(
            DataStax,
            "Converged Cassandra 4",
            Bti,
            ("aa", "ad"),
            LoadedUnlessAsked,
            WhenAbsent::RebuiltInWrongOrder,
        ),
        rule(DataStax, "Converged Cassandra 4", Bti, ("b", "cc"), LoadedUnlessAsked, WhenAbsent::Rebuilt),
        rule(DataStax, "Converged Cassandra 5", Bti, ("aa", "ad"), LoadedUnlessAsked, WhenAbsent::Refused),
        rule(DataStax, "Converged Cassandra 5", Bti, ("b", "cc"), LoadedUnlessAsked, WhenAbsent::Rebuilt),
    ]
};

/// The rules for one sstable: what each line of releases that can open it does with its filter.
pub fn openings(sstable: &Sstable) -> Vec<&'static Rule> {
    let (engine, version) = (sstable.engine(), sstable.version.as_str());
    let fits = |rule: &&Rule| {
        let (first, last) = rule.versions;
        rule.engine == engine && rule.format == sstable.format && (first..=last).contains(&version)
    };
    RULES.iter().filter(fits).collect()
}

/// All rules as a table in Markdown.
pub fn markdown() -> String {
    let mut text =
        "| engine | releases | sstables | a filter that is there | without it |\n|---|---|---|---|---|\n"
            .to_owned();
    for Rule { engine, releases, format, versions: (first, last), present, absent } in &RULES {
        let versions = if first == last { format!("`{first}`") } else { format!("`{first}` – `{last}`") };
        text += &format!("| {engine} | {releases} | {format} {versions} | {present} | {absent} |\n");
    }
    text
}

/// What matters besides the release.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Circumstance {
    /// The file is read when the sstable is opened: a running node keeps the filter it has in memory.
    ReadAtOpening,
    /// A running ScyllaDB node reads filters again, so it must be stopped.
    NodeStopped,
    /// Which releases of ScyllaDB compare the checksum, and how to start a node in spite of it.
    ChecksumCompared {
        /// Whether `Scylla.db` has checksums.
        recorded: bool,
    },
    /// With `bloom_filter_fp_chance = 1.0` the file is not read.
    NotReadAtRateOne,
    /// `Statistics.db` still records the old rate, and tools show it.
    RecordedRateStays {
        /// The recorded rate.
        recorded: f64,
    },
    /// Compaction, scrub and upgrade write new sstables with filters at the table's rate.
    NextCompaction,
    /// `TOC.txt` does not list the filter, and is rewritten.
    NotListed,
    /// There is no validation part in `Statistics.db`, or no such file: Cassandra rebuilds the filter.
    NoValidation,
}

/// What else decides whether the file is used.
pub fn circumstances(sstable: &Sstable, recorded: &Recorded, new_fpr: Option<f64>) -> Vec<Circumstance> {
    let scylla = sstable.engine() == Engine::Scylla;
    let mut found = match scylla {
        true => {
            let recorded = sstable.scylla_db().is_some_and(|read| read.digests.is_some());
            vec![Circumstance::NodeStopped, Circumstance::ChecksumCompared { recorded }]
        }
        false => vec![Circumstance::ReadAtOpening, Circumstance::NotReadAtRateOne],
    };
    if sstable.lists(FILTER) == Some(false) {
        found.push(Circumstance::NotListed);
    }
    match recorded {
        Recorded::Nothing | Recorded::Missing if !scylla => found.push(Circumstance::NoValidation),
        Recorded::Found(validation) if new_fpr != Some(validation.fpr) => {
            found.push(Circumstance::RecordedRateStays { recorded: validation.fpr });
        }
        _ => {}
    }
    found.push(Circumstance::NextCompaction);
    found
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}; without it, {}", self.engine, self.releases, self.present, self.absent)
    }
}

impl fmt::Display for WhenPresent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhenPresent::Loaded => "the file is loaded unchanged, unless bloom_filter_fp_chance is 1.0",
            WhenPresent::LoadedAtRecordedRate => {
                "the file is loaded only while bloom_filter_fp_chance equals the recorded rate, else Cassandra \
                 replaces it by its own"
            }
            WhenPresent::Rebuilt => "filters of this version are not trusted, and Cassandra rebuilds them",
            WhenPresent::LoadedIfListed => {
                "the file is loaded if TOC.txt lists it, whatever the table's rate; a truncated one stops the node"
            }
            WhenPresent::LoadedIfChecksumAgrees => {
                "the file is loaded if TOC.txt lists it; if its checksum is not the one in Scylla.db, or it is \
                 truncated, the node does not start"
            }
            WhenPresent::LoadedUnlessAsked => {
                "the file is loaded as it is, unless -Dcassandra.bf.recreate_on_fp_chance_change=true and the \
                 table's rate differs from the recorded one"
            }
        })
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
            WhenAbsent::Refused => "the sstable cannot be opened: this release does not write the old format",
            WhenAbsent::NeverRebuilt => {
                "every lookup reads the sstable; if TOC.txt lists the file, the node does not start"
            }
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
            Circumstance::NodeStopped => f.write_str(
                "stop the node before the rebuild and start it afterwards: a running ScyllaDB node reads filters \
                 again when memory is short",
            ),
            Circumstance::ChecksumCompared { recorded: true } => f.write_str(
                "Scylla.db records a checksum of the file, which is rewritten with it: ScyllaDB 2026.2 and later \
                 compares it, and ignore_component_digest_mismatch: true in scylla.yaml makes it a warning",
            ),
            Circumstance::ChecksumCompared { recorded: false } => {
                f.write_str("Scylla.db records no checksums: no release compares one for this sstable")
            }
            Circumstance::NotReadAtRateOne => {
                f.write_str("with bloom_filter_fp_chance = 1.0 the file is not read")
            }
            Circumstance::RecordedRateStays { recorded } => {
                write!(f, "{STATISTICS} still records {recorded}: tools show it, and inspect compares with it unless another rate is given")
            }
            Circumstance::NextCompaction => {
                f.write_str("the next compaction writes new filters at the table's bloom_filter_fp_chance")
            }
            Circumstance::NotListed => {
                write!(f, "TOC.txt does not list {FILTER}: it is added there, so that nodes and tools agree")
            }
            Circumstance::NoValidation => {
                write!(f, "{STATISTICS} does not record the rate: Cassandra does not load the file, and builds its own")
            }
        }
    }
}
