//! `inspect`: the facts of a filter in a file, as the command reports them.

use crate::errors;
use crate::options::{dialect, read_options};
use fullbloom::any::AnyFilter;
use fullbloom::filter::Check;
use fullbloom::native::{Facts, HashFacts, KindFacts};
use fullbloom::{file, sniff};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The facts of a filter in a file: a dict with at least ``path``, ``dialect``, ``bits``, ``probes``,
/// ``bytes``, ``fill``, ``estimated_keys``, ``expected_fpr`` and ``warnings``, as ``fullbloom inspect
/// --json`` prints them. Reads the whole file.
#[pyfunction]
#[pyo3(signature = (path, dialect=None, *, bits=None, probes=None))]
pub fn inspect<'py>(
    py: Python<'py>,
    path: PathBuf,
    dialect: Option<&str>,
    bits: Option<u64>,
    probes: Option<u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = read_options(dialect, bits, probes, None)?;
    let bytes = py.detach(|| file::read(&path)).map_err(errors::file)?;
    let len = bytes.as_ref().len();
    let (name, detected) = match dialect.map(self::dialect).transpose()? {
        Some(name) => (name, "given by dialect".to_owned()),
        None => {
            let found = sniff::recognise(Some(&path), bytes.as_ref()).map_err(errors::decode_file(&path))?;
            (found.0, found.1.to_string())
        }
    };
    let options = options.dialect(Some(name));
    let filter =
        py.detach(|| AnyFilter::over(bytes, &options, Check::Front)).map_err(errors::decode_file(&path))?;
    let (fill, keys, fpr, of_native) =
        py.detach(|| (filter.fill(), filter.estimated_keys(), filter.expected_fpr(), filter.native_facts()));

    let facts = PyDict::new(py);
    facts.set_item("path", path.display().to_string())?;
    facts.set_item("dialect", filter.dialect().as_str())?;
    facts.set_item("bits", filter.geometry().bit_len)?;
    facts.set_item("probes", filter.geometry().probes)?;
    facts.set_item("bytes", len)?;
    facts.set_item("fill", fill)?;
    facts.set_item("estimated_keys", keys.filter(|keys| *keys < 1e18).map(|keys| keys.round() as u64))?;
    facts.set_item("expected_fpr", fpr)?;
    facts.set_item("recognised", detected)?;
    let mut warnings: Vec<String> = filter.doubt().iter().map(ToString::to_string).collect();
    if let Some(of_native) = of_native {
        facts.set_item("form", filter.kind())?;
        facts.set_item("label", &of_native.label)?;
        if let KindFacts::Plain = of_native.kind {
            warnings.extend(plain(&facts, &of_native)?);
        }
    }
    match filter.weakness() {
        Some(weakness) if weakness.with_all_keys => warnings.push(weakness.to_string()),
        Some(weakness) => facts.set_item("note", weakness.why)?,
        None => {}
    }
    facts.set_item("warnings", warnings)?;
    Ok(facts)
}

/// The facts that only a plain native filter has; a warning if it has more keys than it was made for.
fn plain(facts: &Bound<'_, PyDict>, native: &Facts) -> PyResult<Option<String>> {
    let (seed, secret_stored) = match native.hash {
        HashFacts::Seed(seed) => (Some(seed), None),
        HashFacts::Keyed { stored, .. } => (None, Some(stored)),
    };
    let Facts { expected_keys, keys, planned_fpr, .. } = *native;
    facts.set_item("lines", native.layout.lines())?;
    facts.set_item("block_lines", native.layout.block_lines())?;
    facts.set_item("expected_keys", expected_keys)?;
    facts.set_item("new_keys", keys)?;
    facts.set_item("new_keys_estimated", native.keys_are_estimated)?;
    facts.set_item("planned_fpr", (expected_keys > 0).then_some(planned_fpr))?;
    facts.set_item("overfull", native.is_overfull())?;
    facts.set_item("keyed", seed.is_none())?;
    facts.set_item("secret_stored", secret_stored)?;
    facts.set_item("seed", seed)?;
    let exceptions = match native.exceptions {
        Some(exceptions) => {
            let dict = PyDict::new(facts.py());
            dict.set_item("levels", exceptions.levels)?;
            dict.set_item("listed", exceptions.listed)?;
            dict.set_item("bytes", exceptions.bytes)?;
            Some(dict)
        }
        None => None,
    };
    facts.set_item("exceptions", exceptions)?;
    Ok(native.is_overfull().then(|| {
        format!(
            "{keys} new keys are in, more than the {expected_keys} it was made for at a rate of {planned_fpr:.3e}"
        )
    }))
}
