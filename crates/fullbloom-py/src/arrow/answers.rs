//! Answers as an Arrow array of booleans.
#![allow(unsafe_code)]

use super::abi::{ARRAY, Array, SCHEMA, Schema};
use crate::errors::value;
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// The answers of a filter, as an Arrow array of booleans without nulls.
///
/// Every library with Arrow's PyCapsule interface reads it without a copy: ``pyarrow.array(answers)``,
/// ``polars.Series(answers)``.
#[pyclass(frozen, module = "fullbloom")]
pub struct BooleanArray {
    /// Bit `i % 8` of byte `i / 8` is answer `i`.
    bits: Arc<Vec<u8>>,
    len: usize,
}

/// Collects answers.
#[derive(Default)]
pub struct Answers {
    bits: Vec<u8>,
    len: usize,
}

impl Answers {
    /// Makes room for `count` more, so that memory is allocated once.
    pub fn reserve(&mut self, count: usize) {
        self.bits.reserve((self.len + count).div_ceil(8) - self.bits.len());
    }

    /// Appends some.
    pub fn push(&mut self, mut answers: &[bool]) {
        while !self.len.is_multiple_of(8) {
            let Some((&answer, rest)) = answers.split_first() else { return };
            *self.bits.last_mut().expect("the byte that is not full") |= u8::from(answer) << (self.len % 8);
            self.len += 1;
            answers = rest;
        }
        let pack =
            |group: &[bool]| group.iter().enumerate().fold(0, |byte, (i, &yes)| byte | u8::from(yes) << i);
        self.bits.extend(answers.chunks(8).map(pack));
        self.len += answers.len();
    }

    /// The array of all.
    pub fn finish(self) -> BooleanArray {
        BooleanArray { bits: Arc::new(self.bits), len: self.len }
    }
}

#[pymethods]
impl BooleanArray {
    fn __len__(&self) -> usize {
        self.len
    }

    fn __getitem__(&self, i: isize) -> PyResult<bool> {
        let at = if i < 0 { i.checked_add_unsigned(self.len) } else { Some(i) };
        match at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < self.len) {
            Some(at) => Ok(self.bits[at / 8] >> (at % 8) & 1 == 1),
            None => Err(pyo3::exceptions::PyIndexError::new_err(format!("there are {} answers", self.len))),
        }
    }

    fn __repr__(&self) -> String {
        let yes: u32 = self.bits.iter().map(|byte| byte.count_ones()).sum();
        format!("<fullbloom.BooleanArray: {yes} of {} true>", self.len)
    }

    /// The answers as a NumPy array of bools.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bools = PyByteArray::new_with(py, self.len, |bools| {
            for (i, slot) in bools.iter_mut().enumerate() {
                *slot = self.bits[i / 8] >> (i % 8) & 1;
            }
            Ok(())
        })?;
        py.import("numpy")?.call_method1("frombuffer", (bools, "?"))
    }

    /// The schema and the array, for Arrow libraries.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema); // there is only one form, and the specification allows it
        let mut schema = Schema::EMPTY;
        schema.format = c_str!("b").as_ptr();
        schema.name = c_str!("").as_ptr();
        schema.release = Some(release_schema);
        let length = i64::try_from(self.len).map_err(|_| value("too many answers for Arrow"))?;
        let held =
            Box::new(Held { buffers: [ptr::null(), self.bits.as_ptr().cast()], _bits: self.bits.clone() });
        let held = Box::into_raw(held);
        let mut array = Array::EMPTY;
        array.length = length;
        array.n_buffers = 2;
        // SAFETY: just made, and freed by `release_array` alone.
        array.buffers = unsafe { (&raw mut (*held).buffers).cast() };
        array.private_data = held.cast::<c_void>();
        array.release = Some(release_array);
        Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

/// What an exported array keeps until it is released.
struct Held {
    buffers: [*const c_void; 2],
    _bits: Arc<Vec<u8>>,
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: called once, with a schema of ours, which has nothing of its own to free.
    unsafe { (*schema).release = None };
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: called once, with an array of ours.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Held>()));
        (*array).release = None;
    }
}
