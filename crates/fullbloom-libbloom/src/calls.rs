//! The functions that are the same in both ABIs: `bloom_check`, `bloom_add`, `bloom_free`.

use crate::guard::guard;
use crate::memory;
use crate::message;
use crate::raw::{Key, Raw};
use crate::writers::writers;
use std::ffi::{c_int, c_void};

/// What these functions need of a `struct bloom`.
pub(crate) trait Struct<const WRAPS: bool> {
    /// The filter of a usable struct.
    ///
    /// # Safety
    /// `bloom` is null or a struct; while that is ready, `bf` is null or has `bytes` bytes, which other
    /// threads may be using through this library alone.
    unsafe fn filter<'a>(bloom: *const Self) -> Option<Raw<'a, WRAPS>>;

    /// Whether the struct is ready, and its number of probes is zero.
    fn matches_every_key(&self) -> bool;

    /// The bits of a ready struct; afterwards it is not ready.
    fn take_bits(&mut self) -> Option<*mut u8>;
}

/// `bloom_check`: 1 if the key may be present, 0 if not, -1 if the struct has no usable filter.
///
/// # Safety
/// As [`add`].
#[inline(always)]
pub(crate) unsafe fn check<const WRAPS: bool, B: Struct<WRAPS>>(
    bloom: *const B,
    key: *const c_void,
    len: c_int,
) -> c_int {
    guard(-1, || {
        // SAFETY: `check` demands what `add` does: null or a struct of this library, and a key that is null
        // or has `len` bytes; `filter` and `Key::new` refuse null.
        unsafe {
            if let Some(raw) = B::filter(bloom)
                && let Some(key) = Key::new(key.cast(), len)
            {
                return raw.may_contain(key);
            }
            without_bits(bloom, !key.is_null() || len <= 0)
        }
    })
}

/// `bloom_add`: 0 if at least one bit changed, 1 if none did, -1 if the struct has no usable filter.
///
/// # Safety
/// `bloom` is null or a struct that is zeroed or was filled by this library or the original, which alone use
/// it; if `len` is positive, `key` is null or has that many bytes.
#[inline(always)]
pub(crate) unsafe fn add<const WRAPS: bool, B: Struct<WRAPS>>(
    bloom: *mut B,
    key: *const c_void,
    len: c_int,
) -> c_int {
    guard(-1, || {
        // SAFETY: `add` demands null or a struct of this library, and a key that is null or has `len` bytes;
        // `filter` and `Key::new` refuse null.
        unsafe {
            if let Some(raw) = B::filter(bloom)
                && let Some(key) = Key::new(key.cast(), len)
            {
                return c_int::from(!raw.insert(key, writers()));
            }
            without_bits(bloom, !key.is_null() || len <= 0)
        }
    })
}

/// The answer if there are no bits or there is no key: 1 for a ready filter without probes, which a rate of 1
/// makes, else -1.
#[cold]
#[inline(never)]
unsafe fn without_bits<const WRAPS: bool, B: Struct<WRAPS>>(bloom: *const B, has_key: bool) -> c_int {
    // SAFETY: Both callers demand null or a struct of this library; `as_ref` refuses null.
    match unsafe { bloom.as_ref() } {
        Some(b) if b.matches_every_key() && has_key => 1,
        // SAFETY: Both callers demand null or a struct of this library; `filter` refuses null.
        _ if !has_key && unsafe { B::filter(bloom) }.is_some() => -1,
        _ => {
            message::not_initialized(bloom.cast());
            -1
        }
    }
}

/// `bloom_free`: frees the bits. The other fields stay as they are.
///
/// # Safety
/// As [`add`], and no other thread uses the struct.
pub(crate) unsafe fn free<const WRAPS: bool, B: Struct<WRAPS>>(bloom: *mut B) {
    guard((), || {
        // SAFETY: `free` demands null or a struct of this library that no other thread uses; `as_mut` refuses
        // null.
        if let Some(bits) = unsafe { bloom.as_mut() }.and_then(B::take_bits) {
            // SAFETY: a ready struct owns its bits, and is not ready any more.
            unsafe { memory::release(bits) };
        }
    });
}
