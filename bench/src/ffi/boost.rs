//! Boost.Bloom's fastest filters, from C++ (`cpp/boost_shim.cc`).

use crate::keys::Key;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

unsafe extern "C" {
    fn boost_shim_version() -> c_uint;
    fn boost_shim_probes(words: c_int, keys: usize, bits: usize) -> usize;
    fn boost_shim_new(words: c_int, key_len: usize, probes: usize, bits: usize) -> *mut c_void;
    fn boost_shim_free(filter: *mut c_void);
    fn boost_shim_insert(filter: *mut c_void, keys: *const c_void, count: usize);
    fn boost_shim_count(filter: *const c_void, keys: *const c_void, count: usize) -> usize;
    fn boost_shim_answer(filter: *const c_void, keys: *const c_void, count: usize, out: *mut bool);
}

/// The version of the headers, such as `1.90`.
pub fn version() -> String {
    // SAFETY: takes and changes nothing.
    let version = unsafe { boost_shim_version() };
    format!("{}.{}", version / 100_000, version / 100 % 1000)
}

/// One of its layouts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `fast_multiblock32`.
    Multi32 = 32,
    /// `fast_multiblock64`.
    Multi64 = 64,
    /// `block<uint64_t>`: all bits of a key in one word.
    OneWord = 1,
}

impl Layout {
    /// The number of probes that has the lowest rate by Boost.Bloom's formula.
    pub fn probes(self, keys: usize, bits: usize) -> usize {
        // SAFETY: takes numbers only.
        unsafe { boost_shim_probes(self as c_int, keys, bits) }
    }

    pub fn name(self, probes: usize) -> String {
        match self {
            Layout::OneWord => format!("Boost block<{probes}>"),
            bits => format!("Boost mb{}<{probes}>", bits as c_int),
        }
    }
}

/// A filter on the other side of the border, for keys of one width.
pub struct Boost(NonNull<c_void>);

impl Boost {
    pub fn new<K: Key>(layout: Layout, probes: usize, bits: usize) -> Boost {
        // SAFETY: takes numbers only.
        let made = unsafe { boost_shim_new(layout as c_int, size_of::<K>(), probes, bits) };
        Boost(NonNull::new(made).expect("memory for a filter"))
    }

    /// Keys of the type that the filter was made for.
    pub fn insert<K: Key>(&mut self, keys: &[K]) {
        // SAFETY: `new` made the filter; pointer and count are those of a slice, whose keys are as wide as their type.
        unsafe { boost_shim_insert(self.0.as_ptr(), keys.as_ptr().cast(), keys.len()) }
    }

    /// The number of keys that may be present, looked up one by one.
    pub fn count<K: Key>(&self, keys: &[K]) -> usize {
        // SAFETY: as in `insert`.
        unsafe { boost_shim_count(self.0.as_ptr(), keys.as_ptr().cast(), keys.len()) }
    }

    /// By its bulk function.
    pub fn answer<K: Key>(&self, keys: &[K], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        // SAFETY: as in `insert`; the assertion makes room for one answer per key.
        unsafe { boost_shim_answer(self.0.as_ptr(), keys.as_ptr().cast(), keys.len(), out.as_mut_ptr()) }
    }
}

impl Drop for Boost {
    fn drop(&mut self) {
        // SAFETY: `new` made the filter, and it is freed once.
        unsafe { boost_shim_free(self.0.as_ptr()) }
    }
}
