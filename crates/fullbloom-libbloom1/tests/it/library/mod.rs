//! `libbloom.so.1` through its symbols, and its struct through its offsets: nothing here comes from the
//! library's own source.
#![allow(unsafe_code)]

#[path = "../../../../fullbloom-libbloom/tests/dynamic/mod.rs"]
pub mod dynamic;

use dynamic::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::LazyLock;

pub const FILE: &str = "libbloom1.so";

/// The number in the SONAME.
pub const ABI: u32 = 1;

pub type OnKey = unsafe extern "C" fn(*mut Struct, *const c_void, c_int) -> c_int;

pub struct Functions {
    pub init: unsafe extern "C" fn(*mut Struct, c_int, f64) -> c_int,
    pub init_size: unsafe extern "C" fn(*mut Struct, c_int, f64, c_uint) -> c_int,
    pub check: OnKey,
    pub add: OnKey,
    pub print: unsafe extern "C" fn(*mut Struct),
    pub free: unsafe extern "C" fn(*mut Struct),
    pub reset: unsafe extern "C" fn(*mut Struct) -> c_int,
    pub version: unsafe extern "C" fn() -> *const c_char,
    pub murmurhash2: unsafe extern "C" fn(*const c_void, c_int, c_uint) -> c_uint,
}

pub static LIBRARY: LazyLock<Functions> = LazyLock::new(|| {
    let library = Library::open(FILE);
    // SAFETY: these are the types of the functions in the header.
    unsafe {
        Functions {
            init: library.get(c"bloom_init"),
            init_size: library.get(c"bloom_init_size"),
            check: library.get(c"bloom_check"),
            add: library.get(c"bloom_add"),
            print: library.get(c"bloom_print"),
            free: library.get(c"bloom_free"),
            reset: library.get(c"bloom_reset"),
            version: library.get(c"bloom_version"),
            murmurhash2: library.get(c"murmurhash2"),
        }
    }
});

/// 56 bytes where a C program has its `struct bloom`.
#[repr(C, align(8))]
pub struct Struct(pub [u8; 56]);

impl Struct {
    pub fn filled(byte: u8) -> Struct {
        Struct([byte; 56])
    }

    /// A filter; the code is asserted.
    pub fn made(entries: i32, error: f64) -> Struct {
        let mut bloom = Struct::filled(0xaa);
        assert_eq!(bloom.init(entries, error), 0, "{entries} {error}");
        assert_eq!(bloom.ready(), 1);
        bloom
    }

    pub fn init(&mut self, entries: i32, error: f64) -> c_int {
        // SAFETY: the library writes only into the struct, which has its size and alignment.
        unsafe { (LIBRARY.init)(self, entries, error) }
    }

    pub fn add(&mut self, key: &[u8]) -> c_int {
        // SAFETY: the struct is ours, and the key has this many bytes.
        unsafe { (LIBRARY.add)(self, key.as_ptr().cast(), key.len() as c_int) }
    }

    pub fn check(&mut self, key: &[u8]) -> c_int {
        // SAFETY: the struct is ours, and the key has this many bytes.
        unsafe { (LIBRARY.check)(self, key.as_ptr().cast(), key.len() as c_int) }
    }

    pub fn reset(&mut self) -> c_int {
        // SAFETY: the struct is ours; the library finds out whether it holds a filter.
        unsafe { (LIBRARY.reset)(self) }
    }

    pub fn free(&mut self) {
        // SAFETY: the struct is ours; the library finds out whether it holds a filter.
        unsafe { (LIBRARY.free)(self) }
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    pub fn entries(&self) -> i32 {
        self.i32(0)
    }

    pub fn error(&self) -> u64 {
        self.u64(8)
    }

    pub fn bits(&self) -> i32 {
        self.i32(16)
    }

    pub fn bytes(&self) -> i32 {
        self.i32(20)
    }

    pub fn hashes(&self) -> i32 {
        self.i32(24)
    }

    pub fn bpe(&self) -> u64 {
        self.u64(32)
    }

    pub fn bf(&self) -> *mut u8 {
        self.u64(40) as *mut u8
    }

    pub fn ready(&self) -> i32 {
        self.i32(48)
    }

    pub fn set_bf(&mut self, bits: *mut u8) {
        self.0[40..48].copy_from_slice(&(bits as u64).to_le_bytes());
    }

    pub fn set_hashes(&mut self, probes: u8) {
        self.0[24..28].copy_from_slice(&u32::from(probes).to_le_bytes());
    }

    /// The bits of a ready filter.
    pub fn bits_bytes(&self) -> &[u8] {
        assert_ne!(self.ready(), 0);
        // SAFETY: the bits of a ready filter are this many bytes, and live until it is freed.
        unsafe { std::slice::from_raw_parts(self.bf(), self.bytes() as usize) }
    }

    pub fn bit(&mut self, position: u64) -> &mut u8 {
        assert!(position < self.bits() as u64);
        // SAFETY: the position is among the bits of the filter, which live until it is freed.
        unsafe { &mut *self.bf().add((position >> 3) as usize) }
    }
}

pub fn version() -> &'static str {
    // SAFETY: a text of the library, which ends with a zero byte and is never freed.
    unsafe { CStr::from_ptr((LIBRARY.version)()) }.to_str().unwrap()
}
