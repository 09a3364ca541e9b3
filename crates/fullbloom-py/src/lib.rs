//! fullbloom for Python: the module `fullbloom._core`, which `fullbloom` re-exports.
//!
//! ```text
//!   errors.rs     what went wrong, as the exception that fits
//!   run.rs        keys in the forms that a filter takes at once
//!   keys.rs       a Python object as keys: one, or many
//!   column.rs     NumPy arrays and other buffers as runs of keys
//!   arrow/        Arrow arrays and streams as runs of keys; answers as an Arrow array
//!   state.rs      what a filter holds: built, growing, read from a file
//!   combine.rs    two filters into one; whether two are equal
//!   native.rs     what only native filters have
//!   asked.rs      what a caller asks a new filter to be
//!   filter.rs     the class `Filter`
//!   facts.rs      `plan` and `inspect`
//!   slices.rs     filters built on several machines, for `fullbloom.spark`
//! ```
//!
//! Nothing is decided here: sizes, hashes, bytes and messages are the core's.

mod arrow;
mod asked;
mod column;
mod combine;
mod errors;
mod facts;
mod filter;
mod keys;
mod native;
mod run;
mod slices;
mod state;

/// The module.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::arrow::BooleanArray;
    #[pymodule_export]
    use super::errors::FormatError;
    #[pymodule_export]
    use super::facts::{inspect, kernels, plan};
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::slices::{Partial, Scatter, Slice, Slicing};

    use fullbloom::dialect::Name;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let names = Name::ALL.iter().map(|name| name.as_str());
        module.add("DIALECTS", PyTuple::new(module.py(), names)?)
    }
}
