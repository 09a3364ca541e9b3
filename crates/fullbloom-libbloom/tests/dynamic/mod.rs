//! A shared library as a C program uses it: found by the loader, its functions looked up by name.
//!
//! Used by the tests of the crates that make shared libraries.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A loaded library; never unloaded.
#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

/// Where cargo has put the shared library that it built with this test.
pub fn path(file: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join(file)
}

impl Library {
    pub fn open(file: &str) -> Library {
        let path = CString::new(path(file).as_os_str().as_bytes()).unwrap();
        // SAFETY: the library's initialisers are Rust's own.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        Library(handle)
    }

    /// The function of this name.
    ///
    /// # Safety
    /// `F` is the type of that function.
    pub unsafe fn get<F: Copy>(self, name: &CStr) -> F {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        // SAFETY: a live handle and a NUL-terminated name.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null(), "{name:?} is not exported");
        // SAFETY: a function pointer of the type the caller says.
        unsafe { std::mem::transmute_copy(&symbol) }
    }
}

/// What the loader reads in an ELF file.
#[cfg(target_os = "linux")]
pub struct Elf {
    /// The name that programs request.
    pub soname: String,
    /// Names it defines for others, in alphabetical order.
    pub exports: Vec<String>,
}

#[cfg(target_os = "linux")]
impl Elf {
    /// Reads a little-endian 64-bit ELF file.
    pub fn read(file: &str) -> Elf {
        let bytes = std::fs::read(path(file)).unwrap();
        let u16 = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()) as usize;
        let u32 = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let u64 = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let text = |at: usize| CStr::from_bytes_until_nul(&bytes[at..]).unwrap().to_str().unwrap().to_owned();
        assert_eq!(&bytes[..6], b"\x7fELF\x02\x01");
        // Of each section: type, where it is, how long, which section it refers to.
        let (table, len, count) = (u64(0x28), u16(0x3a), u16(0x3c));
        let section = |i: usize| table + i * len;
        let find = |kind: usize| (0..count).map(section).find(|&at| u32(at + 4) == kind).unwrap();
        let contents = |at: usize| (u64(at + 0x18), u64(at + 0x20), u64(section(u32(at + 0x28)) + 0x18));
        let (symbols, len, names) = contents(find(11));
        let mut exports: Vec<String> = (symbols..symbols + len)
            .step_by(24)
            .filter(|&at| u16(at + 6) != 0 && bytes[at + 4] >> 4 != 0) // defined here, not local
            .map(|at| text(names + u32(at)))
            .collect();
        exports.sort();
        let (dynamic, len, names) = contents(find(6));
        let soname = (dynamic..dynamic + len).step_by(16).find(|&at| u64(at) == 14).expect("no SONAME");
        Elf { soname: text(names + u64(soname + 8)), exports }
    }
}

/// What `call` prints on standard output through C's `printf`, addresses masked. Runs in a process of its
/// own, whose output is a pipe.
#[cfg(target_os = "linux")]
pub fn printed(call: impl FnOnce()) -> String {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: the child calls the library and C's own functions, and ends without running Rust's or C's exit
    // handlers.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        let child = libc::fork();
        if child == 0 {
            libc::dup2(writer.as_raw_fd(), 1);
            call();
            libc::fflush(std::ptr::null_mut());
            libc::_exit(0);
        }
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        assert_eq!(status, 0);
        let mut masked = String::new();
        for line in text.lines() {
            match line.split_once(" 0x") {
                Some((before, after)) => {
                    let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
                    masked += &format!("{before} 0xPTR{rest}\n");
                }
                None => masked += &format!("{line}\n"),
            }
        }
        masked
    }
}

/// Memory that ends where nothing may be read or written: the first byte too far ends the process.
#[cfg(target_os = "linux")]
pub struct Cliff {
    start: *mut u8,
    len: usize,
}

#[cfg(target_os = "linux")]
impl Cliff {
    const PAGE: usize = 4096;

    /// At least `len` bytes before the edge.
    pub fn new(len: usize) -> Cliff {
        let len = len.next_multiple_of(Self::PAGE);
        // SAFETY: a new mapping, of which the last page is taken away again.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                len + Self::PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.cast::<u8>().add(len).cast(), Self::PAGE, libc::PROT_NONE), 0);
            Cliff { start: start.cast(), len }
        }
    }

    /// A copy of the bytes that ends at the edge.
    pub fn put(&mut self, bytes: &[u8]) -> *mut u8 {
        assert!(bytes.len() <= self.len);
        // SAFETY: the last bytes before the edge.
        unsafe {
            let at = self.start.add(self.len - bytes.len());
            at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            at
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Cliff {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.start.cast(), self.len + Self::PAGE) };
    }
}
