//! libbloom 2.0, `libbloom.so.2`.

mod load;
mod save;

pub use load::load;
pub use save::save;

use crate::bits::Writers;
use crate::calls::{self, Struct};
use crate::guard::guard;
use crate::memory;
use crate::message;
use crate::raw::Raw2;
use crate::writers::writers;
use fullbloom_dialects::libbloom::sizing::computed_2_0;
use std::ffi::{CStr, c_double, c_int, c_uchar, c_uint, c_ulong, c_void};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// `struct bloom` of 2.0. The caller owns it; the library owns what `bf` points to, while `ready` is not 0.
#[repr(C)]
#[derive(Debug)]
pub struct Bloom {
    /// Number of keys the filter was made for.
    pub entries: c_uint,
    /// Length in bits.
    pub bits: c_ulong,
    /// Length in bytes.
    pub bytes: c_ulong,
    /// Probes per key.
    pub hashes: c_uchar,
    /// The rate it was made for.
    pub error: c_double,
    /// Whether the filter can be used.
    pub ready: c_uchar,
    /// Version of the library that made it: 2.
    pub major: c_uchar,
    /// Version of the library that made it: 0.
    pub minor: c_uchar,
    /// Bits per key.
    pub bpe: c_double,
    /// The array of bits.
    pub bf: *mut u8,
}

const STRUCT_LEN: usize = size_of::<Bloom>();
const _: () = assert!(!cfg!(target_pointer_width = "64") || STRUCT_LEN == 64);

/// The result of `bloom_version`.
pub const VERSION: &CStr = c"2.0";

const MAJOR: c_uchar = 2;
const MINOR: c_uchar = 0;

/// The first bytes of a save file.
const MAGIC: &[u8; 9] = b"libbloom2";

impl Bloom {
    /// The bits of a ready struct, as memory that threads share.
    ///
    /// # Safety
    /// If the struct is ready and `bf` not null, `bytes` bytes are there, which other threads use through
    /// this library alone.
    #[inline(always)]
    unsafe fn shared<'a>(&self) -> Option<&'a [AtomicU8]> {
        let len = usize::try_from(self.bytes).ok().filter(|_| self.ready != 0 && !self.bf.is_null())?;
        // SAFETY: A ready struct has `bytes` bytes of bits, which `init` allocated and other threads use
        // through this library alone. An `AtomicU8` has the size of a byte.
        Some(unsafe { std::slice::from_raw_parts(self.bf.cast(), len) })
    }
}

impl Struct<false> for Bloom {
    #[inline(always)]
    unsafe fn filter<'a>(bloom: *const Bloom) -> Option<Raw2<'a>> {
        // SAFETY: `bloom` is null or a struct that `init` has filled or that is zeroed, as bloom.h demands;
        // `as_ref` refuses null.
        let bloom = unsafe { bloom.as_ref()? };
        // SAFETY: The struct is one that `init2` or `load` has filled, or zeroed: `shared` demands no more.
        let bits = unsafe { bloom.shared()? };
        Raw2::new(bits, bloom.bits, bloom.hashes.into())
    }

    fn matches_every_key(&self) -> bool {
        self.ready != 0 && self.hashes == 0
    }

    fn take_bits(&mut self) -> Option<*mut u8> {
        (std::mem::take(&mut self.ready) != 0).then_some(self.bf)
    }
}

/// `bloom_init2`: 0, or 1 if there can be no such filter.
///
/// # Safety
/// `bloom` is null or memory for a struct.
pub unsafe fn init2(bloom: *mut Bloom, entries: c_uint, error: c_double) -> c_int {
    guard(1, || {
        if bloom.is_null() {
            return 1;
        }
        // SAFETY: memory for a struct. All of it becomes zero, also the padding, which is written to save
        // files; a struct of zeros is valid.
        let bloom = unsafe {
            bloom.write_bytes(0, 1);
            &mut *bloom
        };
        let Some(params) = computed_2_0(entries, error) else { return 1 };
        bloom.entries = entries;
        bloom.bits = params.bits;
        bloom.bytes = params.bytes;
        bloom.hashes = params.hashes;
        bloom.error = error;
        bloom.bpe = params.bpe;
        bloom.bf = memory::zeroed(params.bytes);
        if bloom.bf.is_null() {
            return 1;
        }
        (bloom.ready, bloom.major, bloom.minor) = (1, MAJOR, MINOR);
        0
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
        let Some(bits) = (unsafe { bloom.as_ref().and_then(|b| b.shared()) }) else { return 1 };
        // SAFETY: `shared` returned these bytes, and nobody else uses them now.
        unsafe { bits.as_ptr().cast_mut().write_bytes(0, bits.len()) };
        0
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

/// `bloom_merge`: 0, 1 if the two were made with different numbers, -1 if one has no usable filter. Like the
/// original, it does not compare bits and probes.
///
/// # Safety
/// Both as for [`add`].
pub unsafe fn merge(dest: *mut Bloom, src: *const Bloom) -> c_int {
    guard(-1, || {
        for bloom in [dest.cast_const(), src] {
            // SAFETY: `bloom` is null or a struct that `init` has filled or that is zeroed, as bloom.h
            // demands; `as_ref` refuses null.
            if unsafe { bloom.as_ref() }.is_none_or(|b| b.ready == 0) {
                message::not_initialized(bloom.cast());
                return -1;
            }
        }
        // SAFETY: neither is null; the structs are only read, so they may be the same.
        let (ours, theirs) = unsafe { (&*dest, &*src) };
        let made = |b: &Bloom| (b.entries, b.error, b.major, b.minor, b.bytes);
        if made(ours) != made(theirs) {
            return 1;
        }
        // SAFETY: Both are ready (checked above), so their bits are those that `init2` or `load` allocated.
        let (Some(ours), Some(theirs)) = (unsafe { (ours.shared(), theirs.shared()) }) else { return -1 };
        if !std::ptr::eq(ours, theirs) {
            or_into(ours, theirs, writers());
        }
        0
    })
}

/// ORs `theirs` into `ours`; they do not overlap and have the same length.
fn or_into(ours: &[AtomicU8], theirs: &[AtomicU8], writers: Writers) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        let (before, more) = (ours.load(Relaxed), theirs.load(Relaxed));
        match writers {
            Writers::One => ours.store(before | more, Relaxed),
            Writers::Many if more & !before != 0 => {
                ours.fetch_or(more, Relaxed);
            }
            Writers::Many => {}
        }
    }
}

/// `bloom_print`: the fields, on standard output.
///
/// # Safety
/// `bloom` is null or a struct.
pub unsafe fn print(bloom: *const Bloom) {
    guard((), || {
        // SAFETY: bloom.h demands null or a struct; `as_ref` refuses null.
        let Some(b) = (unsafe { bloom.as_ref() }) else { return message::not_initialized(bloom.cast()) };
        let kib = (b.bytes / 1024) as c_uint; // 32 bits, as in the original
        // SAFETY: each format has the type of its argument.
        unsafe {
            libc::printf(c"bloom at %p\n".as_ptr(), bloom);
            if b.ready == 0 {
                libc::printf(c" *** NOT READY ***\n".as_ptr());
            }
            libc::printf(c" ->version = %d.%d\n".as_ptr(), c_int::from(b.major), c_int::from(b.minor));
            libc::printf(c" ->entries = %u\n".as_ptr(), b.entries);
            libc::printf(c" ->error = %f\n".as_ptr(), b.error);
            libc::printf(c" ->bits = %lu\n".as_ptr(), b.bits);
            libc::printf(c" ->bits per elem = %f\n".as_ptr(), b.bpe);
            libc::printf(c" ->bytes = %lu (%u KB, %u MB)\n".as_ptr(), b.bytes, kib, kib / 1024);
            libc::printf(c" ->hash functions = %d\n".as_ptr(), c_int::from(b.hashes));
        }
    });
}
