#![allow(unsafe_code)]
//! The symbols of `libfullbloom`: every dialect for C, behind opaque handles. `include/fullbloom.h` is what C sees and where each
//! function is described; this crate only translates.
//!
//! ```text
//!   fullbloom.h          here                 the core
//!   fullbloom_filter *   handle.rs: Filter    any::{AnyGrowing, AnyBuilder, AnyFilter}
//!   fullbloom_status     status.rs: Status    SizeError, DecodeError, MergeError, FileError
//!   fullbloom_policy *   policy.rs            LevelDb, NativeFilter, as LevelDB's callbacks
//! ```
//!
//! Every function runs inside [`status::call`]: a panic becomes `FULLBLOOM_INTERNAL`, an error its status and a message that
//! `fullbloom_message` gives to the same thread. Pointers are checked for null, structs for their size, handles for what they are;
//! that they point to live memory is the caller's promise.

pub mod dialect;
pub mod facts;
mod file;
pub mod filter;
pub mod handle;
pub mod keys;
pub mod policy;
pub mod sizing;
pub mod status;

use std::ffi::c_char;

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn fullbloom_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
