//! What each engine does with a `Filter.db` that is damaged, or that it cannot use: a table of its own beside
//! that of [`opening`](super::opening).

use super::opening::Rule;
use fullbloom_dialects::Name;
use fullbloom_sstable::report::{Inspection, Recorded};
use fullbloom_sstable::sstable::STATISTICS;
use fullbloom_sstable::{Engine, FilterProblem, Flag, Sstable};
use std::fmt;

/// Bytes of the header: probes and words.
const HEADER: u64 = 8;

/// The state of a `Filter.db`, as far as it matters to an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterState {
    /// Nothing is wrong.
    Sound,
    /// There is no `Filter.db`.
    Missing,
    /// It has no bytes.
    Empty,
    /// It ends within its header.
    Headless,
    /// It ends within its array.
    Truncated,
    /// The numbers of its header are not those of any filter.
    Malformed,
    /// No bit is set, though there are keys.
    Zeroed,
    /// `Statistics.db` does not record the rate, or is missing.
    Unrecorded,
}

impl FilterState {
    /// Those in which an engine does not simply load the file.
    pub const DAMAGED: [FilterState; 6] = [
        FilterState::Empty,
        FilterState::Headless,
        FilterState::Truncated,
        FilterState::Malformed,
        FilterState::Zeroed,
        FilterState::Unrecorded,
    ];

    /// The state of an sstable's filter.
    pub(super) fn of(sstable: &Sstable, seen: &Inspection) -> FilterState {
        let problem = seen.flags.iter().find_map(|flag| match flag {
            Flag::Filter(problem) => Some(problem),
            _ => None,
        });
        let is_recorded = !matches!(seen.recorded, Recorded::Nothing | Recorded::Missing);
        match problem {
            Some(FilterProblem::Missing { .. }) => FilterState::Missing,
            // A file that was copied out of its directory is not judged by what is not beside it.
            _ if !is_recorded && sstable.engine() == Engine::Cassandra && sstable.components.len() > 1 => {
                FilterState::Unrecorded
            }
            Some(FilterProblem::Empty) => FilterState::Empty,
            Some(FilterProblem::Truncated { have, .. }) if *have < HEADER => FilterState::Headless,
            Some(FilterProblem::Truncated { .. }) => FilterState::Truncated,
            Some(FilterProblem::Malformed(_)) => FilterState::Malformed,
            _ if seen.filter.as_ref().is_some_and(|filter| filter.fill == 0.0) && seen.keys != Some(0) => {
                FilterState::Zeroed
            }
            _ => FilterState::Sound,
        }
    }
}

impl fmt::Display for FilterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterState::Sound => f.write_str("the file is sound"),
            FilterState::Missing => f.write_str("the file is missing"),
            FilterState::Empty => f.write_str("the file is empty"),
            FilterState::Headless => f.write_str("the file ends within its header"),
            FilterState::Truncated => f.write_str("the file ends within its array"),
            FilterState::Malformed => f.write_str("the header is invalid"),
            FilterState::Zeroed => f.write_str("no bit is set"),
            FilterState::Unrecorded => write!(f, "{STATISTICS} does not record the rate"),
        }
    }
}

/// What an engine does with a damaged filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenDamaged {
    /// It is treated as if it were missing.
    AsMissing,
    /// Every key may be present.
    AlwaysPresent,
    /// The sstable is reported as corrupt, and not opened.
    Corrupt,
    /// It is loaded without a warning, and rows are invisible.
    RowsInvisible,
    /// The node does not start.
    NodeStops,
    /// Not known here.
    Unknown,
}

impl fmt::Display for WhenDamaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhenDamaged::AsMissing => "it is not loaded",
            WhenDamaged::AlwaysPresent => "it lets every key pass: every lookup reads the sstable",
            WhenDamaged::Corrupt => "the sstable is reported as corrupt",
            WhenDamaged::RowsInvisible => "it is loaded without a warning, and rows are invisible",
            WhenDamaged::NodeStops => "the node does not start",
            WhenDamaged::Unknown => "what the node does is not known",
        })
    }
}

impl Rule {
    /// What these releases do with the filter of an sstable of this dialect in this state; `None` where they
    /// load it.
    pub fn when_damaged(&self, dialect: Name, state: FilterState) -> Option<WhenDamaged> {
        // Cassandra 5.0 was the first to rebuild a filter that it cannot read.
        let is_recent = matches!(self.releases, "5.0" | "6.0");
        let found = match (self.engine, state) {
            (_, FilterState::Sound | FilterState::Missing) => return None,
            (_, FilterState::Zeroed) => WhenDamaged::RowsInvisible,
            (_, FilterState::Malformed) => WhenDamaged::Unknown,
            (Engine::Cassandra, FilterState::Unrecorded) => WhenDamaged::AsMissing,
            (_, FilterState::Unrecorded) => return None,
            (Engine::Scylla, _) => WhenDamaged::NodeStops,
            (Engine::Cassandra, FilterState::Empty) if is_recent => WhenDamaged::AlwaysPresent,
            (Engine::Cassandra, FilterState::Truncated) if dialect == Name::Cassandra => {
                WhenDamaged::RowsInvisible
            }
            (Engine::Cassandra, FilterState::Headless | FilterState::Truncated) if is_recent => {
                WhenDamaged::AsMissing
            }
            (Engine::Cassandra, _) => WhenDamaged::Corrupt,
            _ => WhenDamaged::Unknown,
        };
        Some(found)
    }

    /// What these releases do with a filter in this state, in a sentence.
    pub fn on_open(&self, dialect: Name, state: FilterState) -> String {
        let Rule { engine, releases, present, absent, .. } = self;
        match self.when_damaged(dialect, state) {
            Some(WhenDamaged::AsMissing) => {
                format!("{engine} {releases}: {state}: {}; {absent}", WhenDamaged::AsMissing)
            }
            Some(damaged) => format!("{engine} {releases}: {state}: {damaged}"),
            None if state == FilterState::Missing => format!("{engine} {releases}: {absent}"),
            None => format!("{engine} {releases}: {present}"),
        }
    }
}

/// What is done with damaged filters, as a table in Markdown.
pub fn markdown() -> String {
    let columns = [
        ("Cassandra up to 4.1, `ma` – `me`", "4.0 - 4.1", "ma", Name::Cassandra3),
        ("Cassandra 4.0 – 4.1, `na` – `nc`", "4.0 - 4.1", "na", Name::Cassandra),
        ("Cassandra 5.0 and later, `ma` – `me`", "5.0", "ma", Name::Cassandra3),
        ("Cassandra 5.0 and later, `na` and later, BTI", "5.0", "na", Name::Cassandra),
        ("ScyllaDB", "2026.2 and later", "ka", Name::Cassandra3),
    ];
    let rule = |releases: &str, first: &str| {
        let fits = |rule: &&Rule| rule.releases == releases && rule.versions.0 == first;
        super::opening::RULES.iter().find(fits).expect("the table has such a rule")
    };
    let mut text = "| |".to_owned();
    columns.iter().for_each(|(title, ..)| text += &format!(" {title} |"));
    text += "\n|---|---|---|---|---|---|\n";
    for state in FilterState::DAMAGED {
        text += &format!("| {state} |");
        for (_, releases, first, dialect) in columns {
            let rule = rule(releases, first);
            let done = rule.when_damaged(dialect, state).map(|damaged| damaged.to_string());
            text += &format!(" {} |", done.as_deref().unwrap_or("it is loaded"));
        }
        text += "\n";
    }
    text
}
