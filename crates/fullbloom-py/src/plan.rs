//! `plan`: what a filter would be. `kernels`: what this CPU can run.

use crate::errors;
use crate::options::{self, Size};
use fullbloom::sizing::Request;
use fullbloom_any as any;
use fullbloom_any::Plan;
use fullbloom_core::kernel::Kernel;
use fullbloom_dialects::Name;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The size of a filter for ``expected_keys`` keys, by the dialect's own rule: a dict, or for
/// ``dialect="all"`` a list of dicts, with ``dialect``, ``bits``, ``bytes``, ``bits_per_key``, ``probes``,
/// ``expected_fpr`` and ``note``.
///
/// Give ``fpr``, ``bits_per_key`` or ``memory`` in bytes. In a list, dialects that cannot do it have None in
/// these places, and the reason as their note; a single dialect that cannot do it raises ``ValueError``.
#[pyfunction]
#[pyo3(signature = (expected_keys, fpr=None, *, bits_per_key=None, memory=None, dialect="native"))]
pub fn plan<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = options::keys)] expected_keys: u64,
    fpr: Option<f64>,
    bits_per_key: Option<f64>,
    #[pyo3(from_py_with = options::memory)] memory: Option<u64>,
    dialect: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if memory.is_some() && (fpr.is_some() || bits_per_key.is_some()) {
        return Err(errors::value("give one of fpr, bits_per_key and memory"));
    }
    let target = Size { fpr, bits_per_key, bits: None, probes: None }.target()?;
    let planned = |name: Name| match memory {
        Some(bytes) => any::plan_within(name, expected_keys, bytes),
        None => any::plan(name, &Request { expected_keys, target }),
    };
    if dialect != "all" {
        let name = options::dialect(dialect)?;
        let plan = py.detach(|| planned(name)).map_err(errors::size)?;
        return Ok(row(py, expected_keys, name, Some(plan), None)?.into_any());
    }
    let rows = PyList::empty(py);
    for &name in Name::ALL {
        rows.append(match py.detach(|| planned(name)) {
            Ok(plan) => row(py, expected_keys, name, Some(plan), None)?,
            Err(e) => row(py, expected_keys, name, None, Some(e.to_string()))?,
        })?;
    }
    Ok(rows.into_any())
}

fn row<'py>(
    py: Python<'py>,
    expected_keys: u64,
    dialect: Name,
    plan: Option<Plan>,
    note: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let bits_per_key = |plan: Plan| plan.geometry.bit_len as f64 / expected_keys as f64;
    let row = PyDict::new(py);
    row.set_item("dialect", dialect.as_str())?;
    row.set_item("bits", plan.map(|plan| plan.geometry.bit_len))?;
    row.set_item("bytes", plan.map(|plan| plan.encoded_len))?;
    row.set_item("bits_per_key", plan.map(bits_per_key).filter(|bits| bits.is_finite()))?;
    row.set_item("probes", plan.map(|plan| plan.geometry.probes))?;
    row.set_item("expected_fpr", plan.map(|plan| plan.expected_fpr))?;
    row.set_item("note", note.or(plan.and_then(|plan| Some(plan.weakness?.why.to_owned()))))?;
    Ok(row)
}

/// The kernels that this CPU can run, slowest first; the last one is in use.
#[pyfunction]
pub fn kernels() -> Vec<&'static str> {
    Kernel::available().map(Kernel::name).collect()
}
