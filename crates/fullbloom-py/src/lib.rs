//! fullbloom for Python: the module `fullbloom._core`, which `fullbloom` re-exports.
//!
//! ```text
//!   errors.rs     the core's errors as Python exceptions
//!   run.rs        keys in the forms that a filter takes in one batch
//!   keys.rs       a Python object as keys: one, or many
//!   spool.rs      the keys of an iterator, kept to be read again
//!   column.rs     NumPy arrays and other buffers as runs of keys
//!   arrow/        Arrow arrays and streams as runs of keys; answers as an Arrow array
//!   options.rs    the keyword arguments that describe a filter
//!   build.rs      keys into filters, and out of them
//!   held.rs       a filter that several threads use
//!   filter.rs     the class `Filter`
//!   plan.rs       `plan` and `kernels`
//!   ops.rs        `inspect`, `verify`, `plan_from`, `rebuild` and `keys`, of paths
//!   slices.rs     filters built on several machines, for `fullbloom.spark`
//! ```
//!
//! Nothing is decided here: sizes, hashes, bytes and messages are the core's, through
//! [`AnyFilter`](fullbloom_any::AnyFilter); what is reported about paths is that of `fullbloom-ops`.

mod arrow;
mod build;
mod column;
mod errors;
mod filter;
mod held;
mod keys;
mod ops;
mod options;
mod plan;
mod run;
mod slices;
mod spool;

/// The module.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::arrow::BooleanArray;
    #[pymodule_export]
    use super::errors::FormatError;
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::ops::{inspect, keys, plan_from, rebuild, verify};
    #[pymodule_export]
    use super::plan::{kernels, plan};
    #[pymodule_export]
    use super::slices::{Compacting, Scatter, Slice, Slicing};

    use fullbloom_dialects::Name;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let names = Name::ALL.iter().map(|name| name.as_str());
        module.add("DIALECTS", PyTuple::new(module.py(), names)?)
    }
}
