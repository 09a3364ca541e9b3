#![allow(unsafe_code)]
#![cfg(all(unix, target_pointer_width = "64"))]
//! The symbols of `libbloom.so.1` (libbloom 1.6). Their bodies are in [`fullbloom_libbloom::v1`];
//! `include/bloom.h` describes them.

use fullbloom_libbloom::{guard, v1};
use std::ffi::{c_char, c_double, c_int, c_uint, c_void};

pub use v1::Bloom;

/// See [`v1::init`].
///
/// # Safety
/// The demands of [`v1::init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_init(bloom: *mut Bloom, entries: c_int, error: c_double) -> c_int {
    // SAFETY: bloom.h demands of a program what `v1::init` demands: valid pointers, or null where it says so.
    unsafe { v1::init(bloom, entries, error) }
}

/// [`bloom_init`] under an older name; the cache size is not used.
///
/// # Safety
/// The demands of [`bloom_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_init_size(
    bloom: *mut Bloom,
    entries: c_int,
    error: c_double,
    _cache_size: c_uint,
) -> c_int {
    // SAFETY: bloom.h demands of a program what `v1::init` demands: valid pointers, or null where it says so.
    unsafe { v1::init(bloom, entries, error) }
}

/// See [`v1::check`].
///
/// # Safety
/// The demands of [`v1::check`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_check(bloom: *mut Bloom, buffer: *const c_void, len: c_int) -> c_int {
    // SAFETY: bloom.h demands of a program what `v1::check` demands: valid pointers, or null where it says so.
    unsafe { v1::check(bloom, buffer, len) }
}

/// See [`v1::add`].
///
/// # Safety
/// The demands of [`v1::add`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_add(bloom: *mut Bloom, buffer: *const c_void, len: c_int) -> c_int {
    // SAFETY: bloom.h demands of a program what `v1::add` demands: valid pointers, or null where it says so.
    unsafe { v1::add(bloom, buffer, len) }
}

/// See [`v1::print`].
///
/// # Safety
/// The demands of [`v1::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_print(bloom: *mut Bloom) {
    // SAFETY: bloom.h demands of a program what `v1::print` demands: valid pointers, or null where it says so.
    unsafe { v1::print(bloom) }
}

/// See [`v1::free`].
///
/// # Safety
/// The demands of [`v1::free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_free(bloom: *mut Bloom) {
    // SAFETY: bloom.h demands of a program what `v1::free` demands: valid pointers, or null where it says so.
    unsafe { v1::free(bloom) }
}

/// See [`v1::reset`].
///
/// # Safety
/// The demands of [`v1::reset`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_reset(bloom: *mut Bloom) -> c_int {
    // SAFETY: bloom.h demands of a program what `v1::reset` demands: valid pointers, or null where it says so.
    unsafe { v1::reset(bloom) }
}

/// The version of libbloom that this library replaces.
#[unsafe(no_mangle)]
pub extern "C" fn bloom_version() -> *const c_char {
    guard(v1::VERSION.as_ptr(), || v1::VERSION.as_ptr())
}

/// See [`fullbloom_libbloom::murmurhash2`].
///
/// # Safety
/// The demands of [`fullbloom_libbloom::murmurhash2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn murmurhash2(key: *const c_void, len: c_int, seed: c_uint) -> c_uint {
    // SAFETY: bloom.h demands of a program what `fullbloom_libbloom::murmurhash2` demands: valid pointers, or null where it says so.
    unsafe { fullbloom_libbloom::murmurhash2(key, len, seed) }
}
