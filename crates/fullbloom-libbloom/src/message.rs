//! The lines libbloom prints. Through C's own `printf`: anything else would come before or after what the program prints.

use std::ffi::c_void;

/// The line for a struct that cannot be used.
#[cold]
pub(crate) fn not_initialized(bloom: *const c_void) {
    // SAFETY: one pointer, as the format says.
    unsafe {
        libc::printf(c"bloom at %p not initialized!\n".as_ptr(), bloom);
    }
}
