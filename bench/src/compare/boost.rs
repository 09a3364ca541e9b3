//! Boost.Bloom's fastest filters, from C++ (`cpp/boost_shim.cc`).

use super::contender::{Contender, Contenders, Size};
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

/// `fast_multiblock32`, `fast_multiblock64` and `block<uint64_t>`, each with the number of probes that has the lowest
/// rate.
pub fn all<K: Key>(size: Size) -> Contenders<K> {
    let made = |words| -> Box<dyn Contender<K>> { Box::new(Boost::new(words, size)) };
    vec![made(32), made(64), made(ONE_WORD)]
}

/// All bits of a key in one word of 64 bits.
const ONE_WORD: c_int = 1;

struct Boost {
    /// The bits of a word of a multiblock, or `ONE_WORD`.
    words: c_int,
    probes: usize,
    bits: usize,
    filter: Option<Made>,
}

/// A filter on the other side.
struct Made(NonNull<c_void>);

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made there, freed once.
        unsafe { boost_shim_free(self.0.as_ptr()) }
    }
}

impl Boost {
    fn new(words: c_int, size: Size) -> Boost {
        let bits = size.bytes as usize * 8;
        // SAFETY: takes numbers only.
        let probes = unsafe { boost_shim_probes(words, size.members as usize, bits) };
        Boost { words, probes, bits, filter: None }
    }

    fn made(&self) -> *mut c_void {
        self.filter.as_ref().expect("started").0.as_ptr()
    }
}

impl<K: Key> Contender<K> for Boost {
    fn name(&self) -> String {
        match self.words {
            ONE_WORD => format!("Boost block<{}>", self.probes),
            bits => format!("Boost mb{bits}<{}>", self.probes),
        }
    }

    fn start(&mut self) {
        self.filter = None;
        // SAFETY: takes numbers only.
        let made = unsafe { boost_shim_new(self.words, size_of::<K>(), self.probes, self.bits) };
        self.filter = Some(Made(NonNull::new(made).expect("memory for a filter")));
    }

    fn insert(&mut self, keys: &[K]) {
        // SAFETY: the pointer and the count are those of a slice, and a key is as wide as its type.
        unsafe { boost_shim_insert(self.made(), keys.as_ptr().cast(), keys.len()) }
    }

    fn count(&self, keys: &[K]) -> usize {
        // SAFETY: as in `insert`.
        unsafe { boost_shim_count(self.made(), keys.as_ptr().cast(), keys.len()) }
    }

    fn answer(&self, keys: &[K], out: &mut [bool]) {
        assert_eq!(keys.len(), out.len());
        // SAFETY: as in `insert`; there is room for an answer to each key.
        unsafe { boost_shim_answer(self.made(), keys.as_ptr().cast(), keys.len(), out.as_mut_ptr()) }
    }
}
