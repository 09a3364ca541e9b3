//! Fingerprint filters written in C++ (`cpp/field_shim.cc`).

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

unsafe extern "C" {
    fn field_shim_kinds() -> usize;
    fn field_shim_name(kind: usize) -> *const c_char;
    fn field_shim_new(kind: usize, keys: usize) -> *mut c_void;
    fn field_shim_free(filter: *mut c_void);
    fn field_shim_insert(filter: *mut c_void, keys: *const u64, count: usize) -> bool;
    fn field_shim_count(filter: *mut c_void, keys: *const u64, count: usize) -> usize;
    fn field_shim_answer(filter: *mut c_void, keys: *const u64, count: usize, out: *mut bool);
    fn field_shim_deletes(kind: usize) -> bool;
    fn field_shim_remove(filter: *mut c_void, keys: *const u64, count: usize);
    fn field_shim_bytes(filter: *const c_void) -> usize;
}

/// One of the filters.
#[derive(Clone, Copy)]
pub struct Kind(usize);

impl Kind {
    pub fn all() -> impl Iterator<Item = Kind> {
        // SAFETY: takes and changes nothing.
        (0..unsafe { field_shim_kinds() }).map(Kind)
    }

    pub fn name(self) -> &'static str {
        // SAFETY: `all` gives numbers of kinds only; each name is a literal.
        unsafe { CStr::from_ptr(field_shim_name(self.0)) }.to_str().expect("ASCII")
    }

    /// Whether keys can be removed.
    pub fn deletes(self) -> bool {
        // SAFETY: as in `name`.
        unsafe { field_shim_deletes(self.0) }
    }
}

/// A filter on the other side of the border.
pub struct Field(NonNull<c_void>);

impl Field {
    /// For this many keys.
    pub fn new(kind: Kind, keys: usize) -> Field {
        // SAFETY: `Kind::all` gives numbers of kinds only.
        let made = unsafe { field_shim_new(kind.0, keys) };
        Field(NonNull::new(made).expect("memory for a filter"))
    }

    /// # Panics
    /// If the filter is full.
    pub fn insert(&mut self, keys: &[u64]) {
        // SAFETY: `new` made the filter; pointer and count are those of a slice.
        let is_done = unsafe { field_shim_insert(self.0.as_ptr(), keys.as_ptr(), keys.len()) };
        assert!(is_done, "room for the expected keys");
    }

    /// The number of keys that may be present, looked up one by one.
    pub fn count(&self, keys: &[u64]) -> usize {
        // SAFETY: as in `insert`. The shim looks keys up without changing the filter.
        unsafe { field_shim_count(self.0.as_ptr(), keys.as_ptr(), keys.len()) }
    }

    pub fn answer(&self, keys: &[u64], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        // SAFETY: as in `count`; the assertion makes room for one answer per key.
        unsafe { field_shim_answer(self.0.as_ptr(), keys.as_ptr(), keys.len(), out.as_mut_ptr()) }
    }

    /// Removes keys that are present. Returns how many they are: the filters do not count what they find.
    pub fn remove(&mut self, keys: &[u64]) -> usize {
        // SAFETY: as in `insert`.
        unsafe { field_shim_remove(self.0.as_ptr(), keys.as_ptr(), keys.len()) }
        keys.len()
    }

    pub fn bytes(&self) -> u64 {
        // SAFETY: `new` made the filter.
        unsafe { field_shim_bytes(self.0.as_ptr()) as u64 }
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        // SAFETY: `new` made the filter, and it is freed once.
        unsafe { field_shim_free(self.0.as_ptr()) }
    }
}
