#![allow(unsafe_code)]
#![cfg(all(unix, target_pointer_width = "64"))]
//! libbloom's behaviour, function by function, in both of its ABIs: [`v1`] (1.6) and [`v2`] (2.0).
//!
//! The functions here are not exported; the crates `fullbloom-libbloom1` and `fullbloom-libbloom2` give them libbloom's
//! names, because `bloom_init` and its sisters mean a different struct in each ABI and one library can hold one set only.
//!
//! Filters are the originals', bit for bit: memory comes from `calloc` and goes to `free`, and nothing is kept beside the
//! struct, so one filled by the original library can be used and freed here, and the other way round. Where the original
//! crashes, reads out of bounds or never ends, these functions return its error code; `docs/formats/libbloom.md` lists every
//! difference. Only 64-bit Unix has these libraries: elsewhere libbloom 2.0 itself ends the process.

mod bits;
mod guard;
mod memory;
mod message;
mod raw;
mod writers;

pub mod v1;
pub mod v2;

pub use guard::guard;

use std::ffi::{c_int, c_uint, c_void};

/// `murmurhash2`: in no header of libbloom, but exported by it.
///
/// A null pointer to a positive number of bytes hashes to 0.
///
/// # Safety
/// If `len` is positive and `key` not null, `len` bytes are readable there.
pub unsafe fn murmurhash2(key: *const c_void, len: c_int, seed: c_uint) -> c_uint {
    guard(0, || {
        let bytes = match usize::try_from(len) {
            Ok(len) if len > 0 && key.is_null() => return 0,
            // SAFETY: promised by the caller.
            Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(key.cast::<u8>(), len) },
            _ => &[],
        };
        fullbloom::hash::murmur2_libbloom_from(seed ^ len as c_uint, bytes)
    })
}
