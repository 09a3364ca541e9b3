//! libbloom 1.6 as it is installed, loaded when asked for.

use crate::memory;
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};

/// libbloom 1.6's `struct bloom`.
#[repr(C)]
struct Bloom {
    entries: c_int,
    error: f64,
    bits: c_int,
    bytes: c_int,
    hashes: c_int,
    bpe: f64,
    bf: *mut u8,
    ready: c_int,
}

type Init = unsafe extern "C" fn(*mut Bloom, c_int, f64) -> c_int;
type Key = unsafe extern "C" fn(*mut Bloom, *const c_void, c_int) -> c_int;
type Free = unsafe extern "C" fn(*mut Bloom);
type Version = unsafe extern "C" fn() -> *const c_char;
type Reset = unsafe extern "C" fn(*mut Bloom) -> c_int;

/// A filter of the real library.
pub struct Original {
    bloom: RefCell<Bloom>,
    add: Key,
    check: Key,
    reset: Reset,
    free: Free,
    version: Version,
    _library: libloading::Library,
}

impl Original {
    /// Sized by the library; its sizes end at 2^31 bits.
    pub fn new(entries: u64, rate: f64) -> Result<Original, Box<dyn Error>> {
        // SAFETY: libbloom has no initialisers; its functions have the types of its header.
        unsafe {
            let library = libloading::Library::new("libbloom.so.1")?;
            let init = *library.get::<Init>(b"bloom_init")?;
            let (add, check) = (*library.get::<Key>(b"bloom_add")?, *library.get::<Key>(b"bloom_check")?);
            let reset = *library.get::<Reset>(b"bloom_reset")?;
            let free = *library.get::<Free>(b"bloom_free")?;
            let version = *library.get::<Version>(b"bloom_version")?;
            let mut bloom: Bloom = std::mem::zeroed();
            if init(&mut bloom, c_int::try_from(entries)?, rate) != 0 {
                return Err("it refuses this size".into());
            }
            memory::advise(bloom.bf, bloom.bytes as usize);
            let bloom = RefCell::new(bloom);
            Ok(Original { bloom, add, check, reset, free, version, _library: library })
        }
    }

    pub fn add(&self, key: &[u8]) -> u64 {
        // SAFETY: `bloom` was made by `bloom_init`, and the key's bytes are there.
        unsafe { (self.add)(&mut *self.bloom.borrow_mut(), key.as_ptr().cast(), key.len() as c_int) as u64 }
    }

    pub fn check(&self, key: &[u8]) -> u64 {
        // SAFETY: as in `add`.
        unsafe { (self.check)(&mut *self.bloom.borrow_mut(), key.as_ptr().cast(), key.len() as c_int) as u64 }
    }

    pub fn reset(&self) {
        // SAFETY: as in `add`.
        unsafe { (self.reset)(&mut *self.bloom.borrow_mut()) };
    }

    pub fn version(&self) -> String {
        // SAFETY: a static string that ends in zero.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // SAFETY: made by `bloom_init`, freed once, before the library goes.
        unsafe { (self.free)(self.bloom.get_mut()) };
    }
}
