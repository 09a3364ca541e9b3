#![allow(unsafe_code)]
#![cfg(all(unix, target_pointer_width = "64"))]
//! libbloom's behaviour, function by function, in both of its ABIs: [`v1`] (1.6) and [`v2`] (2.0).
//!
//! The functions here are not exported. The crates `fullbloom-libbloom1` and `fullbloom-libbloom2` export
//! them under libbloom's names: `bloom_init` and the others take a different struct in each ABI, and a
//! library can have only one set of them.
//!
//! Filters are the originals', bit for bit. Memory comes from `calloc` and goes to `free`, and nothing is
//! kept outside the struct, so a filter made by the original library can be used and freed here, and the
//! other way round. Where the original crashes, reads out of bounds or never returns, these functions return
//! its error code; `docs/formats/libbloom.md` lists every difference. These libraries exist for 64-bit Unix
//! only: elsewhere libbloom 2.0 itself ends the process.
//!
//! | file | what |
//! |---|---|
//! | `v1.rs`, `v2/` | the functions of each ABI, and its struct |
//! | `calls.rs` | the functions that are the same in both |
//! | `raw.rs`, `raw/` | lookup and insert of one key, over the struct's numbers |
//! | `bits.rs`, `writers.rs` | bits that threads share, and whether there are other threads |
//! | `memory.rs`, `message.rs`, `guard.rs` | C's allocator, C's standard output, panics |

mod bits;
mod calls;
mod guard;
mod memory;
mod message;
mod raw;
mod writers;

pub mod v1;
pub mod v2;

pub use guard::guard;

use std::ffi::{c_int, c_uint, c_void};

/// `murmurhash2`: exported by libbloom, though not in its header.
///
/// A null pointer with a positive length gives 0.
///
/// # Safety
/// If `len` is positive and `key` not null, `len` bytes are readable there.
pub unsafe fn murmurhash2(key: *const c_void, len: c_int, seed: c_uint) -> c_uint {
    guard(0, || {
        let bytes = match usize::try_from(len) {
            Ok(len) if len > 0 && key.is_null() => return 0,
            // SAFETY: `key` is not null (checked above), and the function demands `len` readable bytes then.
            Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(key.cast::<u8>(), len) },
            _ => &[],
        };
        fullbloom_dialects::hash::murmur2_libbloom_from(seed ^ len as c_uint, bytes)
    })
}
