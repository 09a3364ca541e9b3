//! Asking a filter for every key of its sstable.
//!
//! `Filter.db` has no checksum: a bit that is lost makes rows invisible and nothing else shows it. Asking for all keys
//! does, and making the filter anew with the same geometry shows every other difference.

use crate::ComponentError;
use crate::absent::AbsentKeys;
use crate::family;
use crate::filter_db::{FilterFile, FilterProblem};
use crate::keys::Keys;
use crate::sstable::Sstable;
use fullbloom::any::{self, AnyBuilder, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::sizing::{Request, Target};
use std::ops::ControlFlow;

/// How thoroughly to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many absent keys to measure the rate with: the same ones every time.
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

/// What was found out.
#[derive(Debug)]
pub struct Verification {
    /// Keys read; all of them unless `keys_error` says otherwise.
    pub keys: u64,
    /// Why the keys could not be read (to the end).
    pub keys_error: Option<ComponentError>,
    /// What is wrong with the filter's file. Where it cannot be asked at all, what follows is empty.
    pub problem: Option<FilterProblem>,
    /// Keys the filter does not have when it is read as the version says; `None` if it could not be asked.
    pub missing: Option<u64>,
    /// The first of them.
    pub examples: Vec<Vec<u8>>,
    /// Where keys are missing: the other families in which none is.
    pub reads_as: Vec<Name>,
    /// Of the absent keys asked, how many the filter called present.
    pub absent: Option<Absent>,
    /// Whether a filter of the same geometry made from these keys has the same bytes; `None` if there is no filter, or
    /// not all keys are known.
    pub rebuilt_identical: Option<bool>,
}

/// The rate as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absent {
    /// Absent keys asked.
    pub asked: u64,
    /// Those the filter called present.
    pub false_positives: u64,
}

impl Verification {
    /// The measured rate.
    pub fn measured_fpr(&self) -> Option<f64> {
        let Absent { asked, false_positives } = self.absent?;
        (asked > 0).then(|| false_positives as f64 / asked as f64)
    }

    /// Nothing is missing, nothing differs, and everything could be looked at. An sstable that was written without a
    /// filter is well.
    pub fn is_well(&self) -> bool {
        match &self.problem {
            Some(FilterProblem::Missing { listed: Some(false) }) => true,
            Some(_) => false,
            None => {
                self.keys_error.is_none() && self.missing == Some(0) && self.rebuilt_identical == Some(true)
            }
        }
    }
}

/// Asks the filter for every key.
///
/// Never fails: what could not be done is said in the result. Memory: the filter once more, and nothing that grows with
/// the number of keys.
pub fn verify(sstable: &Sstable, options: Options) -> Verification {
    let mut result = Verification {
        keys: 0,
        keys_error: None,
        problem: None,
        missing: None,
        examples: Vec::new(),
        reads_as: Vec::new(),
        absent: None,
        rebuilt_identical: None,
    };
    let mut file = FilterFile::open(sstable).map_err(|problem| result.problem = Some(problem)).ok();
    if let Some(problem) = file.as_mut().and_then(|file| file.problem.take()) {
        result.problem = Some(problem);
    }
    let keys = Keys::open(sstable).map_err(|e| result.keys_error = Some(e)).ok();
    // Asked as Cassandra asks: by the version. A file that has not even the form of that family is not asked.
    let filter = file.as_ref().and_then(|file| file.view_as(sstable.dialect));
    let mut absent = AbsentKeys::new(if filter.is_some() { options.absent_keys } else { 0 });
    if let Some(keys) = &keys {
        let rebuilt = ask_all(keys, filter.as_deref(), options, &mut absent, &mut result);
        if let (Some(file), None) = (&file, &result.keys_error) {
            result.rebuilt_identical = rebuilt.map(|rebuilt| file.is_exactly(rebuilt.as_ref()));
            if result.missing != Some(0) {
                match family::that_have_all(file, keys, sstable.dialect, u64::MAX) {
                    Ok(names) => result.reads_as = names,
                    Err(e) => result.keys_error = Some(e),
                }
            }
        }
    }
    if let Some(filter) = &filter {
        let (mut asked, mut false_positives) = (0, 0);
        absent.for_each(|key| {
            asked += 1;
            false_positives += u64::from(filter.may_contain(key));
        });
        result.absent = Some(Absent { asked, false_positives });
    }
    result
}

/// One pass over the keys: asks, and builds the filter anew beside it. The new one, if it has all keys.
fn ask_all(
    keys: &Keys<'_>,
    filter: Option<&dyn AnyFilter>,
    options: Options,
    absent: &mut AbsentKeys,
    result: &mut Verification,
) -> Option<Box<dyn AnyFilter>> {
    let mut anew = filter.and_then(same_geometry);
    let (mut read, mut missing, mut answers) = (0, 0, Vec::new());
    let scanned = keys.visit(|batch| {
        read += batch.len() as u64;
        if let Some(filter) = filter {
            answers.resize(batch.len(), false);
            filter.may_contain_batch(batch, &mut answers);
            for (key, _) in batch.iter().zip(&answers).filter(|(_, answer)| !**answer) {
                missing += 1;
                if result.examples.len() < options.examples {
                    result.examples.push(key.to_vec());
                }
            }
            batch.iter().for_each(|key| absent.exclude(key));
        }
        if let Some(anew) = &mut anew {
            anew.insert_batch(batch);
        }
        ControlFlow::Continue(())
    });
    result.keys = read;
    result.missing = filter.map(|_| missing);
    result.keys_error = scanned.err();
    anew.filter(|_| result.keys_error.is_none()).and_then(|anew| anew.finish().ok())
}

/// An empty filter of the same family and geometry; `None` if there is no memory for it.
fn same_geometry(filter: &dyn AnyFilter) -> Option<Box<dyn AnyBuilder>> {
    let geometry = filter.geometry();
    let target = Target::Exact { bit_len: geometry.bit_len, probes: geometry.probes };
    any::builder(filter.dialect(), &Request { expected_keys: 0, target }).ok()
}
