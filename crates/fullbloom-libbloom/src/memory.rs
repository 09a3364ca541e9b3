//! Bits in C's memory, because the original may free what we allocate, and we what it allocates.

use std::ptr;

/// No process can have this much: the address space of 64-bit CPUs ends here or before. Asking all the same would fail in the
/// plain allocator and end the process in one that looks for errors.
pub(crate) const UNREAL: u64 = 1 << 47;

/// Zeroed memory that costs nothing until it is written; null where it cannot be had. Never null for 0 bytes.
pub(crate) fn zeroed(bytes: u64) -> *mut u8 {
    match usize::try_from(bytes) {
        // SAFETY: calloc takes any numbers.
        Ok(len) if bytes < UNREAL => unsafe { libc::calloc(len.max(1), 1).cast() },
        _ => ptr::null_mut(),
    }
}

/// Gives memory back.
///
/// # Safety
/// `at` is null or came from C's allocator and is not used again.
pub(crate) unsafe fn release(at: *mut u8) {
    // SAFETY: handed on.
    unsafe { libc::free(at.cast()) }
}
