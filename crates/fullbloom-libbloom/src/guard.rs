//! No panic leaves a C function.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `body` returns, or `failed` if it panics.
///
/// Costs nothing where the compiler can see that `body` does not panic.
#[inline(always)]
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    // Unwind safety: what a body shares with its caller is the caller's struct, whose every state is handled.
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
