//! No panic reaches a C caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of `body`, or `failed` if it panics.
///
/// Costs nothing where the compiler can see that `body` does not panic.
#[inline(always)]
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    // Unwind safety: a body shares only the caller's struct, and every state of that is handled.
    match catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "planted-panic")]
        assert!(std::env::var_os("FULLBLOOM_PLANTED_PANIC").is_none(), "planted");
        body()
    })) {
        Ok(value) => value,
        Err(payload) => {
            std::mem::forget(payload); // its drop could panic again
            failed
        }
    }
}
