//! libbloom 1.6, `libbloom.so.1`.

use crate::calls::{self, Struct};
use crate::guard::guard;
use crate::memory;
use crate::message;
use crate::raw::Raw1;
use fullbloom_dialects::libbloom::sizing::computed_1_6;
use std::ffi::{CStr, c_double, c_int, c_void};
use std::sync::atomic::AtomicU8;

/// `struct bloom` of 1.6. The caller owns it; the library owns what `bf` points to, while `ready` is not 0.
#[repr(C)]
#[derive(Debug)]
pub struct Bloom {
    /// Number of keys the filter was made for.
    pub entries: c_int,
    /// The rate it was made for.
    pub error: c_double,
    /// Length in bits.
    pub bits: c_int,
    /// Length in bytes.
    pub bytes: c_int,
    /// Probes per key.
    pub hashes: c_int,
    /// Bits per key.
    pub bpe: c_double,
    /// The array of bits.
    pub bf: *mut u8,
    /// Whether the filter can be used.
    pub ready: c_int,
}

const _: () = assert!(!cfg!(target_pointer_width = "64") || size_of::<Bloom>() == 56);

/// The result of `bloom_version`.
pub const VERSION: &CStr = c"1.6";

impl Struct<true> for Bloom {
    #[inline(always)]
    unsafe fn filter<'a>(bloom: *const Bloom) -> Option<Raw1<'a>> {
        // SAFETY: `bloom` is null or a struct that `init` has filled or that is zeroed, as bloom.h demands;
        // `as_ref` refuses null.
        let bloom = unsafe { bloom.as_ref()? };
        // One branch for three signs: everything a call does before the hash takes a sixth of its time.
        if bloom.ready == 0 || bloom.hashes | bloom.bits | bloom.bytes < 0 || bloom.bf.is_null() {
            return None;
        }
        // SAFETY: A ready struct has `bytes` bytes of bits, which `init` allocated and other threads use
        // through this library alone. An `AtomicU8` has the size of a byte.
        let bits = unsafe { std::slice::from_raw_parts(bloom.bf.cast::<AtomicU8>(), bloom.bytes as usize) };
        Raw1::new(bits, bloom.bits as u64, bloom.hashes as u32)
    }

    fn matches_every_key(&self) -> bool {
        self.ready != 0 && self.hashes == 0
    }

    fn take_bits(&mut self) -> Option<*mut u8> {
        (std::mem::take(&mut self.ready) != 0).then_some(self.bf)
    }
}

/// `bloom_init`: 0, or 1 if there can be no such filter.
///
/// # Safety
/// `bloom` is null or memory for a struct.
pub unsafe fn init(bloom: *mut Bloom, entries: c_int, error: c_double) -> c_int {
    guard(1, || {
        if bloom.is_null() {
            return 1;
        }
        // SAFETY: memory for a struct; integers and doubles have no invalid values.
        let bloom = unsafe { &mut *bloom };
        bloom.ready = 0;
        let Some(params) = computed_1_6(entries, error) else { return 1 };
        bloom.entries = entries;
        bloom.error = error;
        bloom.bits = params.bits;
        bloom.bytes = params.bytes;
        bloom.hashes = params.hashes;
        bloom.bpe = params.bpe;
        bloom.bf = u64::try_from(params.bytes).map_or(std::ptr::null_mut(), memory::zeroed);
        bloom.ready = c_int::from(!bloom.bf.is_null());
        1 - bloom.ready
    })
}

/// `bloom_check`: 1 if the key may be present, 0 if not, -1 if the struct has no usable filter.
///
/// # Safety
/// As [`add`].
#[inline(always)]
pub unsafe fn check(bloom: *const Bloom, key: *const c_void, len: c_int) -> c_int {
    // SAFETY: The `# Safety` section above demands the same of the caller as the function that is called
    // here.
    unsafe { calls::check(bloom, key, len) }
}

/// `bloom_add`: 0 if at least one bit changed, 1 if none did, -1 if the struct has no usable filter.
///
/// # Safety
/// `bloom` is null or a struct that is zeroed or was filled by this library or the original, which alone use
/// it; if `len` is positive, `key` is null or has that many bytes.
#[inline(always)]
pub unsafe fn add(bloom: *mut Bloom, key: *const c_void, len: c_int) -> c_int {
    // SAFETY: The `# Safety` section above demands the same of the caller as the function that is called
    // here.
    unsafe { calls::add(bloom, key, len) }
}

/// `bloom_reset`: 0, or 1 if the struct has no usable filter.
///
/// # Safety
/// As [`add`], and no other thread uses the struct.
pub unsafe fn reset(bloom: *mut Bloom) -> c_int {
    guard(1, || {
        // SAFETY: `bloom` is null or a struct that `init` has filled or that is zeroed, as bloom.h demands;
        // `as_ref` refuses null.
        match unsafe { bloom.as_ref() } {
            Some(&Bloom { ready, bf, bytes, .. }) if ready != 0 && !bf.is_null() && bytes >= 0 => {
                // SAFETY: a ready struct's `bf` has `bytes` bytes.
                unsafe { bf.write_bytes(0, bytes as usize) };
                0
            }
            _ => 1,
        }
    })
}

/// `bloom_free`: frees the bits. The other fields stay as they are.
///
/// # Safety
/// As [`reset`].
pub unsafe fn free(bloom: *mut Bloom) {
    // SAFETY: The `# Safety` section above demands the same of the caller as the function that is called
    // here.
    unsafe { calls::free(bloom) }
}

/// `bloom_print`: the fields, on standard output.
///
/// # Safety
/// `bloom` is null or a struct.
pub unsafe fn print(bloom: *const Bloom) {
    guard((), || {
        // SAFETY: bloom.h demands null or a struct; `as_ref` refuses null.
        let Some(b) = (unsafe { bloom.as_ref() }) else { return message::not_initialized(bloom.cast()) };
        // SAFETY: each format has the type of its argument.
        unsafe {
            libc::printf(c"bloom at %p\n".as_ptr(), bloom);
            libc::printf(c" ->entries = %d\n".as_ptr(), b.entries);
            libc::printf(c" ->error = %f\n".as_ptr(), b.error);
            libc::printf(c" ->bits = %d\n".as_ptr(), b.bits);
            libc::printf(c" ->bits per elem = %f\n".as_ptr(), b.bpe);
            libc::printf(c" ->bytes = %d\n".as_ptr(), b.bytes);
            libc::printf(c" ->hash functions = %d\n".as_ptr(), b.hashes);
        }
    });
}
