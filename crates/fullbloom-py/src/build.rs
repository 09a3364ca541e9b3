//! Keys into filters, and out of them.

use crate::errors;
use crate::keys::Source;
use crate::options::{Building, NewFilter};
use crate::run::Run;
use fullbloom::any::AnyFilter;
use fullbloom::native::StoredFilter;
use fullbloom::typed::KeyType;
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
    if filter.is_locked() {
        return Err(errors::locked());
    }
    filter.may_contain_batch(run.keys(key_type, filter.dialect())?, answers);
    Ok(())
}

/// Takes keys out again; how many of them were there.
pub fn remove(filter: &mut AnyFilter, run: Run<'_>, key_type: KeyType) -> PyResult<u64> {
    let mut removed = vec![false; run.count()];
    let keys = run.keys(key_type, filter.dialect())?;
    filter.remove_batch(keys, &mut removed).map_err(errors::change)
}

impl Building {
    fn insert(&mut self, run: Run<'_>, how: Insertion) -> PyResult<()> {
        match self {
            Building::Compact(builder, key_types) => {
                let key_type = run.key_type(how.key_type);
                if run.count() > 0 && !key_types.contains(&key_type) {
                    key_types.push(key_type);
                }
                builder.insert_batch(&run.native_keys()).map_err(errors::build)
            }
            Building::Native(filter) => how.insert(filter, run),
            Building::Other(builder, dialect) => {
                builder.insert_batch(run.keys(how.key_type, *dialect)?);
                Ok(())
            }
        }
    }

    fn finish(self, new: &NewFilter) -> PyResult<AnyFilter> {
        match self {
            Building::Compact(builder, key_types) => {
                let mut filter = builder.finish().map_err(errors::build)?;
                new.finish_compact(&mut filter);
                // None if there are numbers and others.
                let numbers = key_types.iter().filter(|key_type| key_type.is_number()).count();
                let one_form = numbers == 0 || numbers == key_types.len();
                filter.set_key_type(key_types.first().copied().filter(|_| one_form));
                Ok(filter.into())
            }
            Building::Native(filter) => Ok(filter),
            Building::Other(builder, _) => builder.finish().map_err(errors::size),
        }
    }
}

/// The filter of these keys. Without a number of expected keys they are counted, unless the dialect does not
/// need it.
pub fn build<'py>(
    py: Python<'py>,
    new: &NewFilter,
    keys: &Bound<'py, PyAny>,
    expected_keys: Option<u64>,
    except_keys: Option<&Bound<'py, PyAny>>,
    how: Insertion,
) -> PyResult<AnyFilter> {
    let mut source = Source::of(keys)?;
    let keep = except_keys.is_some();
    if keep {
        source.keep(py)?;
    }
    let expected_keys = match expected_keys {
        Some(expected_keys) => expected_keys,
        None if new.ignores_expected_keys() => 0,
        None => source.count(py)?,
    };
    let mut building = new.begin(expected_keys, how.threads)?;
    source.each(py, keep, |run| building.insert(run, how))?;
    let filter = py.detach(|| building.finish(new))?;
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
    /// The same for both kinds.
    macro_rules! passes {
        ($filter:expr) => {{
            let mut first = $filter.except().map_err(errors::except)?;
            Source::of(good)?.each(py, false, |run| first.add(&run.native_keys()).map_err(errors::except))?;
            let mut second = py.detach(|| first.members()).map_err(errors::except)?;
            keys.each(py, true, |run| second.add(&run.native_keys()).map_err(errors::except))?;
            warn_of_members(py, second.good_members())?;
            py.detach(|| second.finish()).map(AnyFilter::from).map_err(errors::except)
        }};
    }
    match filter.into_native() {
        Ok(StoredFilter::Fast(filter)) => passes!(filter),
        Ok(StoredFilter::Compact(filter)) => passes!(filter),
        _ => Err(errors::value("except_keys: only native filters have this")),
    }
}

fn warn_of_members(py: Python<'_>, in_both: u64) -> PyResult<()> {
    if in_both == 0 {
        return Ok(());
    }
    let message =
        CString::new(format!("except_keys: {in_both} of them are among the keys, and stay in the filter"))?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1)
}
