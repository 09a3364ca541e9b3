//! `libbloom.so.2` through its symbols, and its struct through its offsets: nothing here comes from the
//! library's own source.
#![allow(unsafe_code)]

#[path = "../../../../fullbloom-libbloom/tests/dynamic/mod.rs"]
pub mod dynamic;

use dynamic::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::LazyLock;

pub const FILE: &str = "libbloom2.so";

/// The number in the SONAME.
pub const ABI: u32 = 2;

type OnStruct = unsafe extern "C" fn(*mut Struct) -> c_int;
pub type OnKey = unsafe extern "C" fn(*mut Struct, *const c_void, c_int) -> c_int;
type OnFile = unsafe extern "C" fn(*mut Struct, *const c_char) -> c_int;

pub struct Functions {
    pub init: unsafe extern "C" fn(*mut Struct, c_int, f64) -> c_int,
    pub init2: unsafe extern "C" fn(*mut Struct, c_uint, f64) -> c_int,
    pub check: OnKey,
    pub add: OnKey,
    pub print: unsafe extern "C" fn(*mut Struct),
    pub free: unsafe extern "C" fn(*mut Struct),
    pub reset: OnStruct,
    pub save: OnFile,
    pub load: OnFile,
    pub merge: unsafe extern "C" fn(*mut Struct, *mut Struct) -> c_int,
    pub version: unsafe extern "C" fn() -> *const c_char,
    pub murmurhash2: unsafe extern "C" fn(*const c_void, c_int, c_uint) -> c_uint,
}

pub static LIBRARY: LazyLock<Functions> = LazyLock::new(|| {
    let library = Library::open(FILE);
    // SAFETY: these are the types of the functions in the header.
    unsafe {
        Functions {
            init: library.get(c"bloom_init"),
            init2: library.get(c"bloom_init2"),
            check: library.get(c"bloom_check"),
            add: library.get(c"bloom_add"),
            print: library.get(c"bloom_print"),
            free: library.get(c"bloom_free"),
            reset: library.get(c"bloom_reset"),
            save: library.get(c"bloom_save"),
            load: library.get(c"bloom_load"),
            merge: library.get(c"bloom_merge"),
            version: library.get(c"bloom_version"),
            murmurhash2: library.get(c"murmurhash2"),
        }
    }
});

/// 64 bytes where a C program has its `struct bloom`.
#[repr(C, align(8))]
pub struct Struct(pub [u8; 64]);

impl Struct {
    pub fn filled(byte: u8) -> Struct {
        Struct([byte; 64])
    }

    /// A filter; the codes are asserted.
    pub fn made(entries: u32, error: f64) -> Struct {
        let mut bloom = Struct::filled(0xaa);
        assert_eq!(bloom.init2(entries, error), 0, "{entries} {error}");
        assert_eq!((bloom.ready(), bloom.major(), bloom.minor()), (1, 2, 0));
        bloom
    }

    pub fn init2(&mut self, entries: u32, error: f64) -> c_int {
        // SAFETY: the library writes only into the struct, which has its size and alignment.
        unsafe { (LIBRARY.init2)(self, entries, error) }
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

    pub fn merge(&mut self, src: &mut Struct) -> c_int {
        // SAFETY: both structs are ours; the library finds out whether they hold filters.
        unsafe { (LIBRARY.merge)(self, src) }
    }

    pub fn save(&mut self, path: &Path) -> c_int {
        // SAFETY: the struct is ours; the path ends with a zero byte and lives until the call returns.
        unsafe { (LIBRARY.save)(self, c_path(path).as_ptr()) }
    }

    pub fn load(&mut self, path: &Path) -> c_int {
        // SAFETY: the struct is ours; the path ends with a zero byte and lives until the call returns.
        unsafe { (LIBRARY.load)(self, c_path(path).as_ptr()) }
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    pub fn entries(&self) -> u32 {
        u32::from_le_bytes(self.0[..4].try_into().unwrap())
    }

    pub fn bits(&self) -> u64 {
        self.u64(8)
    }

    pub fn bytes(&self) -> u64 {
        self.u64(16)
    }

    pub fn hashes(&self) -> u8 {
        self.0[24]
    }

    pub fn error(&self) -> u64 {
        self.u64(32)
    }

    pub fn ready(&self) -> u8 {
        self.0[40]
    }

    pub fn major(&self) -> u8 {
        self.0[41]
    }

    pub fn minor(&self) -> u8 {
        self.0[42]
    }

    pub fn bpe(&self) -> u64 {
        self.u64(48)
    }

    pub fn bf(&self) -> *mut u8 {
        self.u64(56) as *mut u8
    }

    pub fn set_bf(&mut self, bits: *mut u8) {
        self.0[56..64].copy_from_slice(&(bits as u64).to_le_bytes());
    }

    pub fn set_hashes(&mut self, probes: u8) {
        self.0[24] = probes;
    }

    /// The bits of a ready filter.
    pub fn bits_bytes(&self) -> &[u8] {
        assert_ne!(self.ready(), 0);
        // SAFETY: the bits of a ready filter are this many bytes, and live until it is freed.
        unsafe { std::slice::from_raw_parts(self.bf(), self.bytes() as usize) }
    }

    pub fn bit(&mut self, position: u64) -> &mut u8 {
        assert!(position < self.bits());
        // SAFETY: the position is among the bits of the filter, which live until it is freed.
        unsafe { &mut *self.bf().add((position >> 3) as usize) }
    }
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

pub fn version() -> &'static str {
    // SAFETY: a text of the library, which ends with a zero byte and is never freed.
    unsafe { CStr::from_ptr((LIBRARY.version)()) }.to_str().unwrap()
}
