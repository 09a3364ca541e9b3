//! What is wrong with an sstable, as problems with codes and hints.

use super::rebuild_hint;
use crate::problem::{Code, Need, Problem};
use fullbloom_sstable::report::FilterFacts;
use fullbloom_sstable::sstable::FILTER;
use fullbloom_sstable::{ComponentError, DigestMismatch, FilterProblem, Flag, IndexShort, Sstable};
use std::fmt::Display;

fn at(sstable: &Sstable, code: Code, message: impl Display) -> Problem {
    Problem::at(&sstable.path(FILTER), code, message)
}

fn rebuildable(sstable: &Sstable, problem: Problem) -> Problem {
    Problem { hint: rebuild_hint(sstable), ..problem }
}

/// The problem of the filter's file.
pub(super) fn of_filter(sstable: &Sstable, problem: &FilterProblem) -> Problem {
    let code = match problem {
        FilterProblem::Missing { listed: Some(false) } => {
            return at(sstable, Code::WrittenWithoutFilter, problem);
        }
        FilterProblem::Missing { .. } => Code::FilterMissing,
        FilterProblem::Empty => Code::FilterEmpty,
        FilterProblem::Encrypted => return at(sstable, Code::Encrypted, problem),
        FilterProblem::Unreadable(_) => return at(sstable, Code::FilterUnreadable, problem),
        FilterProblem::Truncated { .. } => Code::FilterTruncated,
        FilterProblem::Trailing { .. } => Code::TrailingBytes,
        _ => Code::FilterMalformed,
    };
    rebuildable(sstable, at(sstable, code, problem))
}

/// The problem of the files that have the keys.
pub(super) fn of_keys(sstable: &Sstable, error: &ComponentError) -> Problem {
    match error {
        ComponentError::Missing { component } => {
            let why = format!("no {component} in this directory, so the keys cannot be read");
            at(sstable, Code::IndexMissing, why)
                .hint("look up keys that you have in another file")
                .needs(Need::KeyList)
        }
        ComponentError::Compressor { .. } => at(sstable, Code::UnknownCompressor, error),
        ComponentError::Encrypted { .. } => {
            at(sstable, Code::Encrypted, format_args!("the keys cannot be read: {error}"))
        }
        ComponentError::Version { .. } => at(sstable, Code::KeysNotRead, error),
        _ => at(sstable, Code::KeysUnreadable, format_args!("the keys cannot be read to the end: {error}")),
    }
}

/// The fewest keys that show whose filter it is.
const FEWEST_KEYS: u64 = 20;

/// Appended to the message about missing keys if the filter answers as for keys that it never had: as many of
/// them pass as of any keys, within four standard deviations. Empty for a filter that has lost bits.
pub(super) fn foreign(filter: Option<&FilterFacts>, keys: u64, missing: u64) -> &'static str {
    let Some(filter) = filter.filter(|filter| keys >= FEWEST_KEYS && filter.fill > 0.0) else { return "" };
    let (keys, fpr) = (keys as f64, filter.expected_fpr);
    let passed = keys - missing as f64;
    let deviation = (keys * fpr * (1.0 - fpr)).sqrt();
    match fpr < 0.5 && (passed - keys * fpr).abs() <= 4.0 * deviation + 1.0 {
        true => "; it looks like the filter of another sstable",
        false => "",
    }
}

/// The index has lost keys.
pub(super) fn index_short(sstable: &Sstable, short: &IndexShort) -> Problem {
    at(sstable, Code::IndexShort, short)
        .hint("get the index from a backup or another replica, or let the engine scrub the sstable")
}

/// A component is not the one that ScyllaDB wrote. A rebuilt filter gets its checksum.
pub(super) fn component_checksum(sstable: &Sstable, mismatch: &DigestMismatch) -> Problem {
    let problem = at(sstable, Code::ComponentChecksum, mismatch);
    match mismatch.component {
        FILTER => rebuildable(sstable, problem),
        _ => problem,
    }
}

/// A rebuild was interrupted between its steps.
pub(super) fn checksum_missing(sstable: &Sstable) -> Problem {
    rebuildable(sstable, at(sstable, Code::ChecksumMissing, Flag::DigestMissing))
}

/// Any other problem of the sstable.
pub(super) fn of_flag(sstable: &Sstable, flag: &Flag) -> Problem {
    match flag {
        Flag::Filter(problem) => of_filter(sstable, problem),
        Flag::Keys(error) => of_keys(sstable, error),
        Flag::Mislabelled { .. } => rebuildable(sstable, at(sstable, Code::Mislabelled, flag)),
        Flag::KeysMissing { .. } => rebuildable(sstable, at(sstable, Code::KeyMissing, flag)),
        Flag::IndexOutOfOrder { .. } => at(sstable, Code::IndexOutOfOrder, flag),
        Flag::Statistics(_) => at(sstable, Code::StatisticsUnreadable, flag),
        Flag::TocMissing => at(sstable, Code::TocMissing, flag),
        Flag::Toc(_) => at(sstable, Code::TocUnreadable, flag),
        Flag::ComponentLost(_) => at(sstable, Code::ComponentLost, flag),
        Flag::ComponentsMissing(_) => at(sstable, Code::ComponentsMissing, flag),
        Flag::IndexShort(short) => index_short(sstable, short),
        Flag::Digest(mismatch) => component_checksum(sstable, mismatch),
        Flag::DigestMissing => checksum_missing(sstable),
        Flag::ScyllaUnreadable(e) => at(sstable, Code::ScyllaUnreadable, e),
        _ => at(sstable, Code::NotListed, flag),
    }
}
