//! `verify` of one sstable, or of a data directory.

use super::judge::{Promise, judge};
use super::{SstableName, each_sstable, problems, rebuild_hint};
use crate::key_spec::KeyText;
use crate::problem::{Code, Problem};
use crate::report::{Found, Report, Status, Watch};
use crate::verify::{Verified, VerifyOptions, VerifySummary};
use crate::{serialise, text};
use fullbloom_dialects::Name;
use fullbloom_sstable::verify::{self as sstable_verify, Verification};
use fullbloom_sstable::{ComponentError, FilterProblem, Flag, Sstable, sstable::FILTER};
use serde::Serialize;
use std::ops::Deref;
use std::path::Path;

/// An sstable whose filter was looked up for every key. What could not be done is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedSstable {
    /// Which sstable it is.
    #[serde(flatten)]
    pub name: SstableName,
    /// Keys that were read.
    pub keys: u64,
    /// Keys that are not in the filter.
    pub missing: Option<u64>,
    /// Absent keys looked up.
    pub absent_asked: Option<u64>,
    /// Absent keys that were reported present.
    pub absent_passed: Option<u64>,
    /// The rate measured on them.
    pub measured_fpr: Option<f64>,
    /// Whether a filter of the same geometry, made from the keys, has the same bytes.
    pub rebuilt_identical: Option<bool>,
    /// The first missing key, in hex.
    pub first_missing: Option<String>,
    /// The first few of them, in hex.
    pub missing_keys: Vec<String>,
    /// The same keys as values of their type.
    pub missing_keys_text: Vec<String>,
    /// Where keys are missing: the other dialects that have them all.
    #[serde(serialize_with = "serialise::names")]
    pub reads_as: Vec<Name>,
}

impl Deref for VerifiedSstable {
    type Target = SstableName;

    fn deref(&self) -> &SstableName {
        &self.name
    }
}

/// Looks up every key of one sstable. Never fails: what could not be done is a problem.
fn verify(sstable: &Sstable, wish: &VerifyOptions) -> Found<VerifiedSstable> {
    let options = sstable_verify::Options { absent_keys: wish.absent, ..sstable_verify::Options::default() };
    let found = sstable_verify::verify(sstable, options);
    let written = KeyText::of_sstable(sstable);
    let examples: Vec<String> = found.examples.iter().map(|key| text::hex(key)).collect();
    let record = VerifiedSstable {
        name: SstableName::of(sstable),
        keys: found.keys,
        missing: found.missing,
        absent_asked: found.absent.map(|absent| absent.asked),
        absent_passed: found.absent.map(|absent| absent.false_positives),
        measured_fpr: found.measured_fpr(),
        rebuilt_identical: found.rebuilt_identical,
        first_missing: examples.first().cloned(),
        missing_keys: examples,
        missing_keys_text: found.examples.iter().map(|key| written.shown(key)).collect(),
        reads_as: found.reads_as.clone(),
    };
    Found { record, problems: problems_of(sstable, &found, wish.fpr) }
}

/// What is wrong, as problems. The filter should keep the rate `wanted`, or else the recorded one.
pub(super) fn problems_of(sstable: &Sstable, found: &Verification, wanted: Option<f64>) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    all.extend(found.problem.iter().map(|problem| problems::of_filter(sstable, problem)));
    // Without a filter there is nothing to look up in.
    let without = matches!(found.problem, Some(FilterProblem::Missing { listed: Some(false) }));
    all.extend(found.lost.iter().map(|name| problems::of_flag(sstable, &Flag::ComponentLost(name))));
    let is_lost = |e: &&ComponentError| matches!(e, ComponentError::Missing { component } if found.lost.contains(component));
    let keys_error = found.keys_error.iter().filter(|e| !without && !is_lost(e));
    all.extend(keys_error.map(|e| problems::of_keys(sstable, e)));
    all.extend(found.index_short.iter().map(|short| problems::index_short(sstable, short)));
    all.extend(found.digests.iter().map(|mismatch| problems::component_checksum(sstable, mismatch)));
    all.extend(found.digest_missing.then(|| problems::checksum_missing(sstable)));
    let scylla_error = found.scylla_error.iter();
    all.extend(scylla_error.map(|e| problems::of_flag(sstable, &Flag::ScyllaUnreadable(e.clone()))));
    all.extend(found.toc_missing.then(|| problems::of_flag(sstable, &Flag::TocMissing)));
    all.extend(found.not_listed.then(|| problems::of_flag(sstable, &Flag::NotListed)));
    // A filter rebuilt from a part of the keys would hide the others.
    let hint = || rebuild_hint(sstable).filter(|_| found.index_short.is_none());
    let mut add = |code, why: String| {
        all.push(Problem { hint: hint(), ..Problem::at(&sstable.path(FILTER), code, why) });
    };
    match (found.missing.unwrap_or(0), found.reads_as.as_slice()) {
        (0, _) => {}
        (1, []) => {
            add(Code::KeyMissing, "1 key is not in the filter: its row is invisible".into());
        }
        (missing, []) => {
            let foreign = problems::foreign(found.filter.as_ref(), found.keys, missing);
            let why = format!("{missing} keys are not in the filter: their rows are invisible{foreign}");
            add(Code::KeyMissing, why);
        }
        (missing, names) => {
            let names = names.iter().map(|name| Name::as_str(*name)).collect::<Vec<_>>().join(" or ");
            let missing = text::counted(missing, "key");
            let why = format!(
                "version and content disagree: {missing} missing when it is read as {}, none as {names}",
                sstable.dialect
            );
            add(Code::Mislabelled, why);
        }
    }
    // With keys missing from the index, they cannot be the same.
    if found.rebuilt_identical == Some(false) && found.index_short.is_none() {
        let why = "the filter's bytes differ from a filter rebuilt from its keys".to_owned();
        add(Code::BytesDiffer, why);
    }
    all.extend(rate_not_kept(sstable, found, wanted));
    all
}

/// That the filter lets more keys pass than it should. One that is larger than it must be does its work.
fn rate_not_kept(sstable: &Sstable, found: &Verification, wanted: Option<f64>) -> Vec<Problem> {
    // The size of a filter cannot be judged by a part of its keys.
    let (Some(filter), None, None) = (&found.filter, &found.keys_error, &found.index_short) else {
        return Vec::new();
    };
    let promise = Promise::of(sstable, wanted, found.recorded_fpr);
    let mut problems = judge(sstable, filter, found.keys, &promise, found.absent);
    problems.retain(|problem| problem.code.ends_verify() != Status::Well);
    problems
}

/// Looks up every key of every sstable of a directory, several at once; or of the one that a file belongs to.
pub(crate) fn verify_all(
    path: &Path,
    options: &VerifyOptions,
    watch: &mut dyn Watch<Verified>,
) -> Result<Report<Verified, VerifySummary>, Problem> {
    let one = |sstable: &Sstable| verify(sstable, options).map(Verified::Sstable);
    // A new sstable has new files, and a rebuilt one a new filter.
    let wants = |sstable: &Sstable| {
        options.since.is_none() || sstable.components.iter().any(|name| options.wants(&sstable.path(name)))
    };
    each_sstable(path, options.snapshots, wants, one, watch, VerifySummary::report)
}
