//! `merge`: several filters in one, without their keys.

use super::{FilterFile, ReadOptions};
use crate::problem::{Code, Need, Problem};
use fullbloom::DecodeError;
use fullbloom::error::MergeError;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use std::path::{Path, PathBuf};

/// Merges the filters of these files, in order. They must have the same dialect, kind and geometry, and the
/// same seed or secret.
///
/// Every file is read once and compared with its checksums. A filter that is damaged, or may lose keys, is
/// refused: it would damage the result.
pub fn merge(first: &Path, others: &[PathBuf], options: &ReadOptions) -> Result<AnyFilter, Problem> {
    let file = FilterFile::load(first, options)?;
    let mut merged =
        trusted(&file)?.try_clone().map_err(|e| Problem::new(file.dialect(), Code::CannotSize, e))?;
    mergeable(first, &merged)?;
    for path in others {
        let other = FilterFile::load(path, options)?;
        if other.dialect() != file.dialect() {
            let (first, theirs, ours) = (first.display(), other.dialect(), file.dialect());
            return Err(refusal(path, format!("is a {theirs} filter, {first} is {ours}")));
        }
        let other = trusted(&other)?;
        mergeable(path, &other)?;
        same_kind(first, &merged, path, &other)?;
        merged.merge(&other).map_err(|e| refused(first, path, &e))?;
    }
    Ok(merged)
}

/// The filter of a file, if every key of it can be found.
pub(super) fn trusted(file: &FilterFile) -> Result<AnyFilter, Problem> {
    let opened = file.open()?;
    if opened.is_locked {
        return Err(Problem::locked(file.path()));
    }
    match opened.problems.into_iter().next() {
        Some(problem) if opened.may_lose_keys => Err(problem),
        _ => Ok(opened.filter),
    }
}

pub(super) fn refusal(path: &Path, why: impl std::fmt::Display) -> Problem {
    Problem::at(path, Code::Unsupported, why)
}

/// Refuses filters that cannot be merged.
fn mergeable(path: &Path, filter: &AnyFilter) -> Result<(), Problem> {
    if filter.dialect() == Name::RocksDbRibbon {
        let why = "rocksdb-ribbon filters cannot be merged: they are solved for all their keys at once";
        return Err(refusal(path, why).hint("rebuild the filter from all keys"));
    }
    let Some(facts) = filter.native_facts() else { return Ok(()) };
    if facts.exceptions.is_some() {
        return Err(refusal(path, "the filter has exceptions, which hold only for its own keys")
            .hint("rebuild the filter from all keys and all known-good keys")
            .needs(Need::Exceptions));
    }
    Ok(())
}

fn same_kind(first: &Path, ours: &AnyFilter, path: &Path, theirs: &AnyFilter) -> Result<(), Problem> {
    match (ours.kind(), theirs.kind()) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            Err(refusal(path, format!("is a {theirs} filter, {} is a {ours} one", first.display()))
                .hint("convert dynamic filters to fast ones first")
                .needs(Need::Convert))
        }
        _ => Ok(()),
    }
}

fn refused(first: &Path, path: &Path, cause: &MergeError) -> Problem {
    let problem = refusal(path, cause);
    match cause {
        MergeError::Differs { .. } => problem.hint(format!(
            "build it with the numbers of {}: the same expected keys and rate, seed and secret",
            first.display()
        )),
        MergeError::Decode(DecodeError::Unknown { .. }) => {
            problem.hint("give the bits and probes that the filters were built with").needs(Need::Geometry)
        }
        _ => problem,
    }
}
