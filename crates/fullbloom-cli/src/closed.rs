//! Whether standard output was closed when the process began (`fullbloom … >&-`).
//!
//! The runtime of Rust opens `/dev/null` in the place of a closed standard stream before `main`. What is then
//! written disappears without an error: `unique --state S >&-` would remember keys that nobody has seen. So
//! the stream is examined before the runtime starts.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the process began.
pub fn is_stdout_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn examine() {
    // SAFETY: `fcntl` with `F_GETFD` reads a flag of a descriptor number, open or not, and touches no memory.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions in this section before `main`, in the C calling convention;
// arguments that `examine` does not take are ignored. It needs nothing of the runtime that is not there yet:
// it makes one system call and one atomic store.
#[cfg(unix)]
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static EXAMINE: extern "C" fn() = examine;
