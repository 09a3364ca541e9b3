//! Whether other threads could be adding at this moment.
//!
//! With atomic ors an add takes 76 ns instead of 28 (bench `libbloom --threaded`, an empty filter in the cache, seven probes): a
//! program that has only one thread should not pay for others. The C library knows, and says so to libraries in just this place.

use crate::bits::Writers;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};

/// Stands for the C library's answer where it gives none: there may be other threads.
static PERHAPS: AtomicU8 = AtomicU8::new(0);

/// Where the answer is; null before the first question.
static ANSWER: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());

/// Who may be setting bits now.
#[inline(always)]
pub(crate) fn writers() -> Writers {
    let answer = ANSWER.load(Relaxed);
    let answer = if answer.is_null() { find() } else { answer };
    // SAFETY: `find` gave the address of a byte that lives as long as the process.
    match unsafe { &*answer }.load(Relaxed) {
        0 => Writers::Many,
        _ => Writers::One,
    }
}

#[cold]
fn find() -> *mut AtomicU8 {
    // glibc's `__libc_single_threaded` (2.32 and later) is 1 as long as the process has never had a second thread, and
    // may become 1 again when it has only one. Looked up by name: older ones and other C libraries do not have it.
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
    fn beside_another_thread_there_are_many_writers() {
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(writers(), Writers::Many));
            assert_eq!(writers(), Writers::Many);
        });
    }
}
