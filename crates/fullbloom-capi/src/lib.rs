#![allow(unsafe_code)]
//! The symbols of `libfullbloom`: every dialect for C, behind opaque handles. `include/fullbloom.h` is what C
//! programs include, and describes each function; this crate only translates.
//!
//! ```text
//!   fullbloom.h          here                 the core
//!   fullbloom_filter *   handle.rs: Filter    any::{AnyFilter, Builder}
//!   fullbloom_hash       hash.rs              any::KeyHash
//!   fullbloom_status     status.rs: Status    SizeError, DecodeError, MergeError, ChangeError, FileError
//!   fullbloom_policy *   policy.rs            LevelDb, fullbloom::Filter, as LevelDB's callbacks
//! ```
//!
//! Every function runs inside [`status::call`]: a panic becomes `FULLBLOOM_INTERNAL`, an error becomes its
//! status and a message that `fullbloom_message` returns to the same thread. Pointers are checked for null,
//! structs for their size, handles for their kind; that they point to live memory is the caller's promise.

pub mod dialect;
pub mod dynamic;
pub mod facts;
mod file;
pub mod filter;
pub mod handle;
pub mod hash;
pub mod key_type;
pub mod keys;
mod memory;
pub mod policy;
pub mod sizing;
pub mod status;

use std::ffi::c_char;

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
