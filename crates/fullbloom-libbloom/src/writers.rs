//! Whether other threads could be adding keys at this moment.
//!
//! With atomic ORs an add takes 76 ns instead of 28 (bench `libbloom --threaded`, an empty filter in the
//! cache, seven probes). A program with one thread should not pay for that. glibc knows whether there is one,
//! and has a variable that says so.

use crate::bits::Writers;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};

/// The answer if the C library gives none: there may be other threads.
static PERHAPS: AtomicU8 = AtomicU8::new(0);

/// Where the answer is; null before the first call.
static ANSWER: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());

/// Says whether other threads may be setting bits now.
#[inline(always)]
pub(crate) fn writers() -> Writers {
    let answer = ANSWER.load(Relaxed);
    let answer = if answer.is_null() { find() } else { answer };
    // SAFETY: `find` returned the address of a byte that lives as long as the process.
    match unsafe { &*answer }.load(Relaxed) {
        0 => Writers::Many,
        _ => Writers::One,
    }
}

#[cold]
fn find() -> *mut AtomicU8 {
    // glibc's `__libc_single_threaded` (2.32 and later) is 1 as long as the process has never had a second
    // thread, and may become 1 again when only one is left. It is looked up by name because older and other C
    // libraries do not have it.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a NUL-terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let found = std::ptr::null_mut::<libc::c_void>();
    let answer = if found.is_null() { (&raw const PERHAPS).cast_mut() } else { found.cast() };
    ANSWER.store(answer, Relaxed);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_second_thread_there_are_many_writers() {
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(writers(), Writers::Many));
            assert_eq!(writers(), Writers::Many);
        });
    }
}
