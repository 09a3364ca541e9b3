//! One filter built on several machines: what `fullbloom.spark` runs on executors and the driver.
//!
//! Hashes travel as bytes: eight for each, least significant first.

use crate::errors;
use crate::filter::Filter;
use crate::keys::Source;
use crate::options::{self, Size};
use fullbloom::Hashing;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Layout, Request};
use fullbloom::typed::KeyType;
use fullbloom_any::slices;
use fullbloom_any::slices::SliceFacts;
use fullbloom_compact::CompactBuilder;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

/// The shape of a filter, and how its array is cut into slices. It is the same on every machine, whatever its
/// floating-point arithmetic: it is pickled as a number of blocks, not as a rate.
#[pyclass(frozen, module = "fullbloom._core")]
pub struct Slicing {
    sizing: Sizing,
    seed: u64,
    slice_bytes: u64,
    /// What the filter records.
    key_type: Option<KeyType>,
    core: slices::Slicing,
}

impl Slicing {
    fn with_sizing(
        sizing: Sizing,
        seed: u64,
        slice_bytes: u64,
        key_type: Option<KeyType>,
    ) -> PyResult<Slicing> {
        let mut core =
            slices::Slicing::new(&sizing, Hashing::Seed(seed), slice_bytes).map_err(errors::size)?;
        if let Some(key_type) = key_type {
            core = core.with_key_type(key_type);
        }
        Ok(Slicing { sizing, seed, slice_bytes, key_type, core })
    }
}

/// The key type with this name.
fn named(key_type: Option<&str>) -> PyResult<Option<KeyType>> {
    key_type.map(|name| name.parse().map_err(errors::value)).transpose()
}

#[pymethods]
impl Slicing {
    #[new]
    #[pyo3(signature = (expected_keys, fpr=None, bits_per_key=None, seed=0, slice_bytes=1 << 45, key_type=None))]
    fn __new__(
        #[pyo3(from_py_with = options::keys)] expected_keys: u64,
        fpr: Option<f64>,
        bits_per_key: Option<f64>,
        seed: u64,
        slice_bytes: u64,
        key_type: Option<&str>,
    ) -> PyResult<Slicing> {
        let target = Size { fpr, bits_per_key, bits: None, probes: None }.target()?;
        let sizing = Sizing::new(&Request { expected_keys, target }).map_err(errors::size)?;
        Slicing::with_sizing(sizing, seed, slice_bytes, named(key_type)?)
    }

    /// The same, cut into slices of another size.
    fn with_slices_of(&self, slice_bytes: u64) -> PyResult<Slicing> {
        Slicing::with_sizing(self.sizing.clone(), self.seed, slice_bytes, self.key_type)
    }

    /// How many slices there are.
    #[getter]
    fn count(&self) -> u64 {
        self.core.count()
    }

    /// Bytes of all slices together.
    #[getter]
    fn byte_len(&self) -> u64 {
        self.core.byte_len()
    }

    /// One slice, empty.
    fn slice(&self, number: u64) -> PyResult<Slice> {
        self.core.slice(number).map(Slice).map_err(errors::size)
    }

    /// Hashes the keys of one machine, to be sent to the machines that have the slices.
    fn scatter(&self) -> Scatter {
        Scatter(slices::Scatter::new(&self.core))
    }

    /// The beginning of the file, from the facts of each slice in order; the bits of the slices follow.
    fn header<'py>(&self, py: Python<'py>, facts: Vec<(u64, Vec<u8>)>) -> PyResult<Bound<'py, PyBytes>> {
        let facts: Vec<_> = facts.into_iter().map(|(set_bits, sums)| SliceFacts { set_bits, sums }).collect();
        self.core.header(&facts).map(|header| PyBytes::new(py, &header)).map_err(errors::value)
    }

    #[classmethod]
    fn _of(
        _: &Bound<'_, PyType>,
        layout: (u32, u32, u32),
        blocks: u64,
        expected_keys: u64,
        seed: u64,
        slice_bytes: u64,
        key_type: Option<&str>,
    ) -> PyResult<Slicing> {
        let (lines, block_lines, line_probes) = layout;
        let layout = Layout::new(lines, block_lines, line_probes)
            .ok_or_else(|| errors::value(format_args!("no such layout: {layout:?}")))?;
        let sizing = Sizing::with_layout(layout, blocks, expected_keys);
        Slicing::with_sizing(sizing, seed, slice_bytes, named(key_type)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Slicing { sizing, seed, slice_bytes, key_type, .. } = slf.get();
        let layout = sizing.layout;
        let layout = (layout.lines(), layout.block_lines() as u32, layout.line_probes());
        let parts =
            (layout, sizing.blocks, sizing.expected_keys, *seed, *slice_bytes, key_type.map(KeyType::as_str));
        Ok((slf.get_type().getattr("_of")?, parts.into_pyobject(slf.py())?))
    }
}

/// One slice of the array.
#[pyclass(module = "fullbloom._core")]
pub struct Slice(slices::Slice);

#[pymethods]
impl Slice {
    /// Adds the keys of these hashes.
    fn insert_hashes(&mut self, py: Python<'_>, hashes: &[u8]) -> PyResult<()> {
        let hashes = numbers(hashes)?;
        py.detach(|| self.0.insert_hashes(&hashes)).map_err(errors::value)
    }

    /// Bytes of its bits.
    #[getter]
    fn byte_len(&self) -> usize {
        self.0.bits().len()
    }

    /// What the beginning of the file says of it: how many bits are set, and their checksums.
    fn facts<'py>(&self, py: Python<'py>) -> (u64, Bound<'py, PyBytes>) {
        let SliceFacts { set_bits, sums } = py.detach(|| self.0.facts());
        (set_bits, PyBytes::new(py, &sums))
    }

    /// Its bits, as they are in the file.
    fn bits<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.bits())
    }
}

/// Keys of one machine, hashed and sorted by slice.
#[pyclass(module = "fullbloom._core")]
pub struct Scatter(slices::Scatter);

#[pymethods]
impl Scatter {
    /// Adds many keys. Nulls are not added.
    fn update<'py>(&mut self, py: Python<'py>, keys: &Bound<'py, PyAny>) -> PyResult<()> {
        let scatter = &mut self.0;
        Source::of(keys)?.each(py, false, |run| {
            scatter.insert_batch(&run.native_keys()).map_err(errors::value)?;
            Ok(())
        })
    }

    /// Hashes that wait to be taken.
    #[getter]
    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// ``(slice, hashes)`` of every slice for which some wait.
    fn take<'py>(&mut self, py: Python<'py>) -> Vec<(u64, Bound<'py, PyBytes>)> {
        let runs = (0..).zip(self.0.take()).filter(|(_, hashes)| !hashes.is_empty());
        runs.map(|(slice, hashes)| (slice, bytes(py, &hashes))).collect()
    }
}

/// A compact filter, from the hashes of its keys on all machines, in any order.
#[pyclass(module = "fullbloom._core")]
pub struct Compacting {
    builder: Option<CompactBuilder>,
    hashing: Hashing,
    key_type: Option<KeyType>,
}

#[pymethods]
impl Compacting {
    #[new]
    #[pyo3(signature = (fpr=None, seed=0, key_type=None, threads=1))]
    fn __new__(fpr: Option<f64>, seed: u64, key_type: Option<&str>, threads: usize) -> PyResult<Compacting> {
        let builder = CompactBuilder::new(fpr.unwrap_or(0.01)).map_err(errors::size)?;
        let hashing = Hashing::Seed(seed);
        let builder = builder.hashing(hashing.clone()).threads(threads);
        Ok(Compacting { builder: Some(builder), hashing, key_type: named(key_type)? })
    }

    /// Adds the keys of these hashes.
    fn insert_hashes(&mut self, py: Python<'_>, hashes: &[u8]) -> PyResult<()> {
        let hashes = numbers(hashes)?;
        let (builder, hashing) = (self.builder.as_mut().ok_or_else(finished)?, &self.hashing);
        py.detach(|| builder.add_batch(&hashing.hashes(&hashes))).map_err(errors::build)
    }

    /// The filter of all of them; once.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Filter> {
        let builder = self.builder.take().ok_or_else(finished)?;
        let mut filter = py.detach(|| builder.build()).map_err(errors::build)?;
        filter.set_key_type(self.key_type);
        Ok(Filter::of_read(filter.into(), None))
    }
}

fn finished() -> PyErr {
    errors::value("the filter is built already")
}

fn bytes<'py>(py: Python<'py>, hashes: &[u64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

fn numbers(bytes: &[u8]) -> PyResult<Vec<u64>> {
    let (hashes, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(errors::value(format_args!(
            "hashes have eight bytes each: {} are left over",
            rest.len()
        )));
    }
    Ok(hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect())
}
