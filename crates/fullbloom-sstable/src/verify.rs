//! Looks every key of an sstable up in its filter.
//!
//! `Filter.db` has no checksum: a lost bit makes rows invisible, and nothing else shows it. Looking up all
//! keys does, and rebuilding the filter with the same geometry shows every other difference.

use crate::absent::AbsentKeys;
use crate::digests::{self, DigestMismatch, Which};
use crate::expected::{IndexShort, index_short};
use crate::family;
use crate::filter_db::{FilterFile, FilterProblem};
use crate::keys::{Ends, Keys};
use crate::report::{self, FilterFacts, Recorded, Statistics};
use crate::sstable::{FILTER, Scylla, Sstable};
use crate::{ComponentError, replace};
use fullbloom::sizing::{Request, Target};
use fullbloom_any::{AnyFilter, Builder};
use fullbloom_dialects::Name;
use std::ops::ControlFlow;

/// How thoroughly to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many absent keys to measure the rate with. They are the same every time.
    pub absent_keys: u64,
    /// How many missing keys to keep as examples.
    pub examples: usize,
}

impl Default for Options {
    /// 100,000 absent keys: a rate of 0.01 is measured to 3 % of itself. Five examples.
    fn default() -> Self {
        Options { absent_keys: 100_000, examples: 5 }
    }
}

/// What verifying one sstable has found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// Keys read; all of them unless `keys_error` says otherwise.
    pub keys: u64,
    /// Why the keys could not be read (to the end).
    pub keys_error: Option<ComponentError>,
    /// What is wrong with the filter's file. If it cannot be queried at all, the fields below are empty.
    pub problem: Option<FilterProblem>,
    /// Keys missing from the filter when it is read as the version says; `None` if it could not be queried.
    pub missing: Option<u64>,
    /// The first of them.
    pub examples: Vec<Vec<u8>>,
    /// Where keys are missing: the other families in which none is.
    pub reads_as: Vec<Name>,
    /// The absent keys looked up, and how many were reported present.
    pub absent: Option<Absent>,
    /// The numbers of the filter, where it can be read.
    pub filter: Option<FilterFacts>,
    /// The rate that `Statistics.db` records.
    pub recorded_fpr: Option<f64>,
    /// Whether a filter of the same geometry made from these keys has the same bytes; `None` if there is no
    /// filter, or not all keys are known.
    pub rebuilt_identical: Option<bool>,
    /// The index has fewer keys than the sstable: some could not be looked up.
    pub index_short: Option<IndexShort>,
    /// Components that are not the ones whose checksums `Scylla.db` records. The data are compared too.
    pub digests: Vec<DigestMismatch>,
    /// `Scylla.db` has checksums, but none of the filter: a rebuild was interrupted.
    pub digest_missing: bool,
    /// Why `Scylla.db` cannot be read.
    pub scylla_error: Option<String>,
    /// There is no `TOC.txt`, and the sstable is one of ScyllaDB's.
    pub toc_missing: bool,
    /// The filter exists, but `TOC.txt` does not list it.
    pub not_listed: bool,
    /// Components with the keys or the rate that `TOC.txt` lists and that are missing.
    pub lost: Vec<&'static str>,
}

/// The measured rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absent {
    /// Absent keys looked up.
    pub asked: u64,
    /// How many of them the filter reported present.
    pub false_positives: u64,
}

impl Verification {
    /// The measured rate.
    pub fn measured_fpr(&self) -> Option<f64> {
        let Absent { asked, false_positives } = self.absent?;
        (asked > 0).then(|| false_positives as f64 / asked as f64)
    }

    /// No key is missing, no byte differs, and everything could be read. An sstable that was written without
    /// a filter is well.
    pub fn is_well(&self) -> bool {
        let scylla_is_well = self.digests.is_empty()
            && !self.digest_missing
            && self.scylla_error.is_none()
            && !self.toc_missing;
        if self.index_short.is_some() || !scylla_is_well {
            return false;
        }
        match &self.problem {
            Some(FilterProblem::Missing { listed: Some(false) }) => true,
            Some(_) => false,
            None => {
                self.keys_error.is_none() && self.missing == Some(0) && self.rebuilt_identical == Some(true)
            }
        }
    }
}

/// Looks every key up in the filter.
///
/// Never fails: the result reports what could not be read. Memory: one more filter, and nothing that grows
/// with the number of keys.
pub fn verify(sstable: &Sstable, options: Options) -> Verification {
    let mut result = Verification {
        keys: 0,
        keys_error: None,
        problem: None,
        missing: None,
        examples: Vec::new(),
        reads_as: Vec::new(),
        absent: None,
        filter: None,
        recorded_fpr: None,
        rebuilt_identical: None,
        index_short: None,
        digests: digests::mismatches(sstable, Which::All),
        digest_missing: replace::is_interrupted(sstable),
        scylla_error: match &sstable.scylla {
            Scylla::Unreadable(e) => Some(e.to_string()),
            Scylla::Absent | Scylla::Read(_) => None,
        },
        toc_missing: sstable.lacks_toc(),
        not_listed: sstable.has(FILTER) && sstable.lists(FILTER) == Some(false),
        lost: report::lost(sstable).collect(),
    };
    let mut file = FilterFile::open(sstable).map_err(|problem| result.problem = Some(problem)).ok();
    if let Some(problem) = file.as_mut().and_then(|file| file.problem.take()) {
        result.problem = Some(problem);
    }
    result.filter = file.as_ref().map(|file| FilterFacts::of(&file.filter));
    let statistics = Statistics::read(sstable);
    result.recorded_fpr = statistics.recorded.as_ref().ok().and_then(Recorded::fpr);
    let keys = Keys::open(sstable).map_err(|e| result.keys_error = Some(e)).ok();
    // Read as Cassandra reads it: by the version. A file that cannot be of that family is not queried.
    let filter = file.as_ref().and_then(|file| file.view_as(sstable.dialect));
    let mut absent = AbsentKeys::new(if filter.is_some() { options.absent_keys } else { 0 });
    if let Some(keys) = &keys {
        let (rebuilt, ends) = ask_all(keys, filter.as_ref(), options, &mut absent, &mut result);
        if result.keys_error.is_none() {
            let filter = file.as_ref().map(|file| &file.filter);
            result.index_short = index_short(sstable, result.keys, &ends, statistics.partitions, filter);
        }
        if let (Some(file), None) = (&file, &result.keys_error) {
            result.rebuilt_identical = rebuilt.map(|rebuilt| file.is_exactly(&rebuilt));
            if result.missing != Some(0) {
                match family::that_have_all(file, keys, sstable.dialect, u64::MAX) {
                    Ok(names) => result.reads_as = names,
                    Err(e) => result.keys_error = Some(e),
                }
            }
        }
    }
    if let Some(filter) = &filter {
        let (asked, false_positives) = absent.ask(filter);
        result.absent = Some(Absent { asked, false_positives });
    }
    result
}

/// One pass over the keys: looks them up, and rebuilds the filter. Returns the new one if all keys were read,
/// and the first and the last key.
fn ask_all(
    keys: &Keys<'_>,
    filter: Option<&AnyFilter>,
    options: Options,
    absent: &mut AbsentKeys,
    result: &mut Verification,
) -> (Option<AnyFilter>, Ends) {
    let mut rebuilt = filter.and_then(same_geometry);
    let (mut read, mut missing, mut answers, mut ends) = (0, 0, Vec::new(), Ends::default());
    let scanned = keys.visit(|batch| {
        ends.extend(batch);
        read += batch.len() as u64;
        if let Some(filter) = filter {
            answers.resize(batch.len(), false);
            filter.may_contain_batch_into(batch, &mut answers).expect("a place for each key");
            for (key, _) in batch.iter().zip(&answers).filter(|(_, answer)| !**answer) {
                missing += 1;
                if result.examples.len() < options.examples {
                    result.examples.push(key.to_vec());
                }
            }
            batch.iter().for_each(|key| absent.exclude(key));
        }
        if let Some(rebuilt) = &mut rebuilt {
            rebuilt.add_batch(batch);
        }
        ControlFlow::Continue(())
    });
    result.keys = read;
    result.missing = filter.map(|_| missing);
    result.keys_error = scanned.err();
    let rebuilt = rebuilt.filter(|_| result.keys_error.is_none());
    (rebuilt.and_then(|rebuilt| rebuilt.build().ok()), ends)
}

/// An empty filter of the same family and geometry; `None` if there is no memory for it.
fn same_geometry(filter: &AnyFilter) -> Option<Builder> {
    let geometry = filter.geometry();
    let target = Target::Exact { bit_len: geometry.bit_len, probes: geometry.probes };
    Builder::new(filter.dialect(), &Request { expected_keys: 0, target }).ok()
}
