//! Keys into filters, and out of them.

use crate::errors;
use crate::keys::Source;
use crate::run::Run;
use fullbloom::typed::KeyType;
use fullbloom_any::{AnyFilter, BuildOptions};
use fullbloom_dialects::Name;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// How the keys of a filter are inserted.
#[derive(Clone, Copy)]
pub struct Insertion {
    /// The type of integers.
    pub key_type: KeyType,
    /// Threads that fill a large native filter; 0 means one for each core.
    pub threads: usize,
}

impl Insertion {
    /// Adds keys to a filter.
    pub fn insert(self, filter: &mut AnyFilter, run: Run<'_>) -> PyResult<()> {
        let keys = run.keys(self.key_type, filter.dialect())?;
        if run.count() > 0 {
            filter.note_key_type(run.key_type(self.key_type));
        }
        match self.threads {
            1 => filter.insert_batch(keys),
            threads => filter.insert_parallel(keys, threads),
        }
        .map_err(errors::change)
    }
}

/// Answers keys; refused if the filter is locked, for it would answer "maybe" to all of them.
pub fn look_up(filter: &AnyFilter, run: Run<'_>, key_type: KeyType, answers: &mut [bool]) -> PyResult<()> {
    filter.require_unlocked().map_err(errors::change)?;
    filter.may_contain_batch_into(run.keys(key_type, filter.dialect())?, answers).map_err(errors::keys)
}

/// Takes keys out again; how many of them were there.
pub fn remove(filter: &mut AnyFilter, run: Run<'_>, key_type: KeyType) -> PyResult<u64> {
    let mut removed = vec![false; run.count()];
    let keys = run.keys(key_type, filter.dialect())?;
    filter.remove_batch(keys, &mut removed).map_err(errors::change)?;
    Ok(removed.iter().filter(|removed| **removed).count() as u64)
}

/// The filter of these keys. Without a number of expected keys they are counted, unless the dialect does not
/// need it.
pub fn build<'py>(
    py: Python<'py>,
    options: BuildOptions,
    dialect: Name,
    keys: &Bound<'py, PyAny>,
    except_keys: Option<&Bound<'py, PyAny>>,
    key_type: KeyType,
) -> PyResult<AnyFilter> {
    let mut options = options.exceptions(except_keys.is_some());
    options.check().map_err(errors::build)?;
    let mut source = Source::of(keys)?;
    let keep = except_keys.is_some();
    if keep {
        source.keep(py)?;
    }
    if options.needs_expected_keys() {
        options = options.expected_keys(source.count(py)?);
    }
    let mut builder = options.begin().map_err(errors::build)?;
    source.each(py, keep, |run| {
        if run.count() > 0 {
            builder.note_key_type(run.key_type(key_type));
        }
        builder.add_batch(run.keys(key_type, dialect)?);
        Ok(())
    })?;
    let filter = py.detach(|| builder.build()).map_err(errors::build)?;
    match except_keys {
        Some(good) => with_exceptions(py, filter, &mut source, good),
        None => Ok(filter),
    }
}

/// The filter with exceptions, built in two passes: the known-good keys, then all keys again.
fn with_exceptions<'py>(
    py: Python<'py>,
    filter: AnyFilter,
    keys: &mut Source<'py>,
    good: &Bound<'py, PyAny>,
) -> PyResult<AnyFilter> {
    let mut first = filter.except().map_err(errors::except)?;
    Source::of(good)?.each(py, false, |run| first.add(run.native_keys()).map_err(errors::except))?;
    let mut second = py.detach(|| first.members()).map_err(errors::except)?;
    keys.each(py, true, |run| second.add(run.native_keys()).map_err(errors::except))?;
    warn_of_members(py, second.good_members())?;
    py.detach(|| second.finish()).map_err(errors::except)
}

fn warn_of_members(py: Python<'_>, in_both: u64) -> PyResult<()> {
    if in_both == 0 {
        return Ok(());
    }
    let message =
        CString::new(format!("except_keys: {in_both} of them are among the keys, and stay in the filter"))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
}
