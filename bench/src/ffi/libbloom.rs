//! A shared library with libbloom's functions, loaded when it is needed.

use crate::memory;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::rc::Rc;

/// Room for `struct bloom` of either version, whose first fields are those of 1.6.
#[repr(C)]
struct Struct {
    entries: c_int,
    error: f64,
    bits: c_int,
    bytes: c_int,
    hashes: c_int,
    bpe: f64,
    bf: *mut u8,
    rest: [u64; 4],
}

type OnKey = unsafe extern "C" fn(*mut Struct, *const c_void, c_int) -> c_int;

/// The functions of one library.
#[derive(Clone)]
pub struct Library(Rc<Functions>);

struct Functions {
    init: unsafe extern "C" fn(*mut Struct, c_int, f64) -> c_int,
    add: OnKey,
    check: OnKey,
    free: unsafe extern "C" fn(*mut Struct),
    version: unsafe extern "C" fn() -> *const c_char,
    /// Unloads the functions above when it is dropped.
    _library: libloading::Library,
}

impl Library {
    /// By a path, or by a name that the system's loader finds.
    pub fn open(path: &Path) -> Result<Library, Box<dyn Error>> {
        // SAFETY: libbloom and its replacements have no initialisers, and their functions have these types: they
        // are those of bloom.h.
        unsafe {
            let library = libloading::Library::new(path)?;
            Ok(Library(Rc::new(Functions {
                init: *library.get(b"bloom_init")?,
                add: *library.get(b"bloom_add")?,
                check: *library.get(b"bloom_check")?,
                free: *library.get(b"bloom_free")?,
                version: *library.get(b"bloom_version")?,
                _library: library,
            })))
        }
    }

    pub fn version(&self) -> String {
        // SAFETY: bloom.h says that this returns a static string that ends in zero.
        unsafe { CStr::from_ptr((self.0.version)()) }.to_string_lossy().into_owned()
    }

    /// An empty filter, sized by the library.
    pub fn filter(&self, entries: u64, rate: f64) -> Result<Bloom, Box<dyn Error>> {
        // SAFETY: zero is a valid value of every field.
        let mut bloom: Box<Struct> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: the struct has room for either version's.
        if unsafe { (self.0.init)(&mut *bloom, c_int::try_from(entries)?, rate) } != 0 {
            return Err(format!("libbloom refuses {entries} entries").into());
        }
        if self.version().starts_with("1.") {
            memory::advise(bloom.bf, bloom.bytes as usize);
        }
        Ok(Bloom { bloom: Box::into_raw(bloom), library: self.clone() })
    }
}

/// A filter of a library.
pub struct Bloom {
    /// From `Box::into_raw`; only this value has it.
    bloom: *mut Struct,
    library: Library,
}

impl Bloom {
    pub fn add(&mut self, key: &[u8]) -> bool {
        // SAFETY: `filter` has initialised the struct, and pointer and length are those of a slice.
        unsafe { (self.library.0.add)(self.bloom, key.as_ptr().cast(), key.len() as c_int) != 0 }
    }

    pub fn check(&self, key: &[u8]) -> bool {
        // SAFETY: as in `add`; a lookup changes nothing in the struct.
        unsafe { (self.library.0.check)(self.bloom, key.as_ptr().cast(), key.len() as c_int) != 0 }
    }
}

impl Drop for Bloom {
    fn drop(&mut self) {
        // SAFETY: `filter` has initialised the struct; this frees its bits and then the box, both once.
        unsafe {
            (self.library.0.free)(self.bloom);
            drop(Box::from_raw(self.bloom));
        }
    }
}
