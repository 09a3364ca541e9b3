#![allow(unsafe_code)]
#![cfg(all(unix, target_pointer_width = "64"))]
//! The symbols of `libbloom.so.2` (libbloom 2.0). Their bodies are in [`fullbloom_libbloom::v2`];
//! `include/bloom.h` describes them.

use fullbloom_libbloom::{guard, v2};
use std::ffi::{c_char, c_double, c_int, c_uint, c_void};

pub use v2::Bloom;

/// See [`v2::init2`].
///
/// # Safety
/// The demands of [`v2::init2`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_init2(bloom: *mut Bloom, entries: c_uint, error: c_double) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::init2` demands: valid pointers, or null where it says so.
    unsafe { v2::init2(bloom, entries, error) }
}

/// [`bloom_init2`] under its name in 1.6; the bits of the int are read as an unsigned number.
///
/// # Safety
/// The demands of [`bloom_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_init(bloom: *mut Bloom, entries: c_int, error: c_double) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::init2` demands: valid pointers, or null where it says so.
    unsafe { v2::init2(bloom, entries as c_uint, error) }
}

/// See [`v2::check`].
///
/// # Safety
/// The demands of [`v2::check`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_check(bloom: *mut Bloom, buffer: *const c_void, len: c_int) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::check` demands: valid pointers, or null where it says so.
    unsafe { v2::check(bloom, buffer, len) }
}

/// See [`v2::add`].
///
/// # Safety
/// The demands of [`v2::add`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_add(bloom: *mut Bloom, buffer: *const c_void, len: c_int) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::add` demands: valid pointers, or null where it says so.
    unsafe { v2::add(bloom, buffer, len) }
}

/// See [`v2::print`].
///
/// # Safety
/// The demands of [`v2::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_print(bloom: *mut Bloom) {
    // SAFETY: bloom.h demands of a program what `v2::print` demands: valid pointers, or null where it says so.
    unsafe { v2::print(bloom) }
}

/// See [`v2::free`].
///
/// # Safety
/// The demands of [`v2::free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_free(bloom: *mut Bloom) {
    // SAFETY: bloom.h demands of a program what `v2::free` demands: valid pointers, or null where it says so.
    unsafe { v2::free(bloom) }
}

/// See [`v2::reset`].
///
/// # Safety
/// The demands of [`v2::reset`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_reset(bloom: *mut Bloom) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::reset` demands: valid pointers, or null where it says so.
    unsafe { v2::reset(bloom) }
}

/// See [`v2::save`].
///
/// # Safety
/// The demands of [`v2::save`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_save(bloom: *mut Bloom, filename: *mut c_char) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::save` demands: valid pointers, or null where it says so.
    unsafe { v2::save(bloom, filename) }
}

/// See [`v2::load`].
///
/// # Safety
/// The demands of [`v2::load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_load(bloom: *mut Bloom, filename: *mut c_char) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::load` demands: valid pointers, or null where it says so.
    unsafe { v2::load(bloom, filename) }
}

/// See [`v2::merge`].
///
/// # Safety
/// The demands of [`v2::merge`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloom_merge(bloom_dest: *mut Bloom, bloom_src: *mut Bloom) -> c_int {
    // SAFETY: bloom.h demands of a program what `v2::merge` demands: valid pointers, or null where it says so.
    unsafe { v2::merge(bloom_dest, bloom_src) }
}

/// The version of libbloom that this library replaces.
#[unsafe(no_mangle)]
pub extern "C" fn bloom_version() -> *const c_char {
    guard(v2::VERSION.as_ptr(), || v2::VERSION.as_ptr())
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
