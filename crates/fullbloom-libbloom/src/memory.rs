//! Memory from C's allocator: the original may free what we allocate, and we free what it allocates.

use std::ptr;

/// No process can have this much: the address space of 64-bit CPUs ends here or before. The plain allocator
/// would fail; one that looks for errors, such as AddressSanitizer's, would end the process.
pub(crate) const UNREAL: u64 = 1 << 47;

/// Zeroed memory that costs nothing until it is written; null if there is not enough. Never null for 0 bytes.
pub(crate) fn zeroed(bytes: u64) -> *mut u8 {
    match usize::try_from(bytes) {
        // SAFETY: calloc accepts any numbers.
        Ok(len) if bytes < UNREAL => unsafe { libc::calloc(len.max(1), 1).cast() },
        _ => ptr::null_mut(),
    }
}

/// Frees memory.
///
/// # Safety
/// `at` is null or came from C's allocator and is not used again.
pub(crate) unsafe fn release(at: *mut u8) {
    // SAFETY: `release` demands null, which `free` ignores, or memory of C's allocator that is not used
    // again.
    unsafe { libc::free(at.cast()) }
}
