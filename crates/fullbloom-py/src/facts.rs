//! `plan` and `inspect`: what a filter would be, and what one in a file is, as the command tells it.

use crate::asked::{Wish, dialect};
use crate::errors;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::file;
use fullbloom::kernel::Kernel;
use fullbloom::native::{GuardedFilter, Hashing, StoredFilter};
use fullbloom::sizing::Request;
use fullbloom::sniff;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::{Path, PathBuf};

/// What a filter for ``expected_keys`` keys would be, by the dialect's own rule: a dict, or for ``dialect="all"`` a list of them,
/// with ``dialect``, ``bits``, ``bytes``, ``bits_per_key``, ``probes``, ``expected_fpr`` and ``note``.
///
/// Asked for is ``fpr``, ``bits_per_key`` or ``memory`` in bytes. In a list, dialects that cannot do it have None there, and why as their
/// note; a single one that cannot raises ``ValueError``.
#[pyfunction]
#[pyo3(signature = (expected_keys, fpr=None, *, bits_per_key=None, memory=None, dialect="native"))]
pub fn plan<'py>(
    py: Python<'py>,
    expected_keys: u64,
    fpr: Option<f64>,
    bits_per_key: Option<f64>,
    memory: Option<u64>,
    dialect: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if memory.is_some() && (fpr.is_some() || bits_per_key.is_some()) {
        return Err(errors::value("give one of fpr, bits_per_key and memory"));
    }
    let target = Wish { fpr, bits_per_key, bits: None, probes: None }.target()?;
    let planned = |name: Name| match memory {
        Some(bytes) => any::plan_within(name, expected_keys, bytes),
        None => any::plan(name, &Request { expected_keys, target }),
    };
    let row = |name: Name, plan: Option<any::Plan>, note: Option<String>| {
        let row = PyDict::new(py);
        row.set_item("dialect", name.as_str())?;
        row.set_item("bits", plan.map(|plan| plan.geometry.bit_len))?;
        row.set_item("bytes", plan.map(|plan| plan.encoded_len))?;
        let per_key = |plan: any::Plan| plan.geometry.bit_len as f64 / expected_keys as f64;
        row.set_item("bits_per_key", plan.map(per_key).filter(|bits| bits.is_finite()))?;
        row.set_item("probes", plan.map(|plan| plan.geometry.probes))?;
        row.set_item("expected_fpr", plan.map(|plan| plan.expected_fpr))?;
        row.set_item("note", note.or(plan.and_then(|plan| Some(plan.weakness?.why.to_owned()))))?;
        PyResult::Ok(row)
    };
    if dialect == "all" {
        let rows = PyList::empty(py);
        for &name in Name::ALL {
            rows.append(match py.detach(|| planned(name)) {
                Ok(plan) => row(name, Some(plan), None)?,
                Err(e) => row(name, None, Some(e.to_string()))?,
            })?;
        }
        return Ok(rows.into_any());
    }
    let name = self::dialect(dialect)?;
    let plan = py.detach(|| planned(name)).map_err(errors::size)?;
    Ok(row(name, Some(plan), None)?.into_any())
}

/// What is known of a filter in a file: a dict with at least ``path``, ``dialect``, ``bits``, ``probes``, ``bytes``, ``fill``,
/// ``estimated_keys``, ``expected_fpr`` and ``warnings``, as ``fullbloom inspect --json`` prints it. Reads all of the file.
#[pyfunction]
#[pyo3(signature = (path, dialect=None, *, bits=None, probes=None))]
pub fn inspect<'py>(
    py: Python<'py>,
    path: PathBuf,
    dialect: Option<&str>,
    bits: Option<u64>,
    probes: Option<u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let given = dialect.map(self::dialect).transpose()?;
    let geometry = bits.zip(probes);
    if geometry.is_none() && (bits.is_some() || probes.is_some()) {
        return Err(errors::value("give bits and probes, or neither"));
    }
    let bytes = py.detach(|| file::read(&path)).map_err(errors::file)?;
    let bytes = bytes.as_ref();
    let (name, recognised) = match given {
        Some(name) => (name, "as told by dialect".to_owned()),
        None => {
            let found = sniff::recognise(Some(&path), bytes).map_err(errors::decode_file(&path))?;
            (found.0, found.1.to_string())
        }
    };
    let view = py.detach(|| any::view(name, bytes, geometry)).map_err(errors::decode_file(&path))?;
    let facts = common(py, &path, &*view, bytes.len())?;
    let mut warnings: Vec<String> = view.doubt().iter().map(ToString::to_string).collect();
    if name == Name::Native {
        let stored = StoredFilter::view(bytes).map_err(errors::decode_file(&path))?;
        facts.set_item("form", stored.form())?;
        facts.set_item("label", stored.first().label())?;
        if let StoredFilter::Plain(filter) = &stored {
            native(&facts, filter, &mut warnings)?;
        }
    }
    facts.set_item("recognised", recognised)?;
    match view.weakness() {
        Some(weakness) if weakness.with_all_keys => warnings.push(weakness.to_string()),
        Some(weakness) => facts.set_item("note", weakness.why)?,
        None => {}
    }
    facts.set_item("warnings", warnings)?;
    Ok(facts)
}

fn common<'py>(
    py: Python<'py>,
    path: &Path,
    filter: &dyn AnyFilter,
    len: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let geometry = filter.geometry();
    let (fill, keys, fpr) = py.detach(|| (filter.fill(), filter.estimated_keys(), filter.expected_fpr()));
    let facts = PyDict::new(py);
    facts.set_item("path", path.display().to_string())?;
    facts.set_item("dialect", filter.dialect().as_str())?;
    facts.set_item("bits", geometry.bit_len)?;
    facts.set_item("probes", geometry.probes)?;
    facts.set_item("bytes", len)?;
    facts.set_item("fill", fill)?;
    facts.set_item("estimated_keys", keys.filter(|keys| *keys < 1e18).map(|keys| keys.round() as u64))?;
    facts.set_item("expected_fpr", fpr)?;
    Ok(facts)
}

/// What only a native filter can tell.
fn native(
    facts: &Bound<'_, PyDict>,
    guarded: &GuardedFilter<&[u8]>,
    warnings: &mut Vec<String>,
) -> PyResult<()> {
    let filter = guarded.filter();
    let keyed = guarded.is_locked() || matches!(filter.hashing(), Hashing::Secret(_));
    let seed = match filter.hashing() {
        Hashing::Seed(seed) if !keyed => Some(*seed),
        _ => None,
    };
    let expected_keys = filter.expected_keys();
    facts.set_item("lines", filter.layout().lines())?;
    facts.set_item("block_lines", filter.layout().block_lines())?;
    facts.set_item("expected_keys", expected_keys)?;
    facts.set_item("new_keys", filter.keys())?;
    facts.set_item("new_keys_estimated", filter.keys_are_estimated())?;
    facts.set_item("planned_fpr", (expected_keys > 0).then(|| filter.planned_fpr()))?;
    facts.set_item("overfull", filter.is_overfull())?;
    facts.set_item("keyed", keyed)?;
    facts.set_item("secret_stored", keyed.then(|| !guarded.is_locked() && filter.stores_secret()))?;
    facts.set_item("seed", seed)?;
    let exceptions = match guarded.exceptions() {
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
    if filter.is_overfull() {
        let (keys, fpr) = (filter.keys(), filter.planned_fpr());
        warnings.push(format!(
            "{keys} new keys are in, more than the {expected_keys} it was made for at a rate of {fpr:.3e}"
        ));
    }
    Ok(())
}

/// The kernels that this CPU can run, slowest first; the last one is in use, unless ``FULLBLOOM_KERNEL`` names another.
#[pyfunction]
pub fn kernels() -> Vec<&'static str> {
    Kernel::available().map(Kernel::name).collect()
}
