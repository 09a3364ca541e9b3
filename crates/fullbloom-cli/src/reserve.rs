//! The end of memory: an error message and exit status 2 instead of an abort.
//!
//! Everything that grows with the input is allocated fallibly, and reports its failure. But when memory is
//! exhausted, the next allocation of a few bytes fails as well, for a message or a path, and the standard
//! library would abort the process, as would the C library. So some memory is set aside at the start and
//! given back when an allocation fails for the first time. When that is used up too, the process says so and
//! ends.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, Ordering};

/// What is set aside.
const RESERVE: usize = 4 << 20;

/// The part of the main thread's stack that is in use from the start. The system extends the stack when it is first
/// used, and kills a process whose stack it cannot extend.
#[cfg(unix)]
const STACK: usize = 512 << 10;

/// Allocations up to this size never fail. Larger ones grow with the input, and return null to callers that
/// report it.
const SMALL: usize = 1 << 20;

static SET_ASIDE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// The allocator of the command.
#[derive(Debug)]
pub struct WithReserve;

const LAYOUT: Layout = Layout::new::<[u8; RESERVE]>();

/// Extends the stack and sets memory aside. Called once, at the start.
pub fn set_aside() {
    #[cfg(unix)]
    extend_stack();
    // SAFETY: the layout's size is not zero.
    let memory = unsafe { System.alloc(LAYOUT) };
    SET_ASIDE.store(memory, Ordering::Release);
}

/// Uses [`STACK`] bytes of the stack once, if its limit is much larger.
#[cfg(unix)]
fn extend_stack() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `getrlimit` writes to the place it is given.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } == 0;
    if !is_known || limit.rlim_cur < 4 * STACK as libc::rlim_t {
        return;
    }
    // The stack cannot be refused, so a mapping tells whether there is room. It has more for what lies on the stack
    // beside these bytes.
    let room = Layout::new::<[u8; STACK + (64 << 10)]>();
    // SAFETY: the layout's size is not zero, and what is freed was just allocated with the same layout.
    unsafe {
        let mapping = System.alloc(room);
        if mapping.is_null() {
            end();
        }
        System.dealloc(mapping, room);
    }
    use_stack();
}

#[cfg(unix)]
#[inline(never)]
fn use_stack() {
    let mut used = [0u8; STACK];
    std::hint::black_box(&mut used);
}

/// Allocates, if need be with the memory that was set aside.
#[inline]
fn allocated(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    match allocate() {
        null if null.is_null() => again(size, allocate),
        memory => memory,
    }
}

/// Gives the reserve back. Calls `allocate` again for a small size, and ends the process if that does not
/// help.
#[cold]
fn again(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = SET_ASIDE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !memory.is_null() {
        // SAFETY: it was allocated by `set_aside` with this layout, and the exchange gave it to this thread
        // alone.
        unsafe { System.dealloc(memory, LAYOUT) };
    }
    if size > SMALL {
        return std::ptr::null_mut();
    }
    // Another thread may have given it back.
    match allocate() {
        null if null.is_null() => end(),
        memory => memory,
    }
}

/// Ends the process without allocating anything.
fn end() -> ! {
    const MESSAGE: &[u8] = b"error: not enough memory\n";
    #[cfg(unix)]
    // SAFETY: `write` reads the bytes of the message. It is called directly, because this thread or another
    // may hold the lock of standard error. `_exit` ends the process at once; no handler runs that could
    // allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(2)
    }
    #[cfg(not(unix))]
    {
        use std::io::Write as _;
        let _ = std::io::stderr().write_all(MESSAGE);
        std::process::exit(2)
    }
}

// SAFETY: every method passes its arguments to `System` unchanged, and returns what `System` returned for
// them, or null.
unsafe impl GlobalAlloc for WithReserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` asks for.
        allocated(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        allocated(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`. A failed `realloc` leaves the old memory as it was, so it can be repeated.
        allocated(new_size, || unsafe { System.realloc(old, layout, new_size) })
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; all memory comes from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}
