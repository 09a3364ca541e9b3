//! The lines that libbloom prints. They go through C's `printf`: otherwise they could appear before earlier
//! output of the program.

use std::ffi::c_void;

/// The line for a struct without a usable filter.
#[cold]
pub(crate) fn not_initialized(bloom: *const c_void) {
    // SAFETY: the format takes one pointer.
    unsafe {
        libc::printf(c"bloom at %p not initialized!\n".as_ptr(), bloom);
    }
}
