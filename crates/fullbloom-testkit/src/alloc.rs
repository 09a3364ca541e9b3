#![allow(unsafe_code)]
//! An allocator that records the peak memory of a piece of code, and that can be made to fail.
//!
//! A test binary that wants these figures installs it:
//!
//! ```
//! use fullbloom_testkit::alloc::{Counting, peak_of};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let (len, peak) = peak_of(|| vec![0u8; 5000].len());
//! assert_eq!(len, 5000);
//! assert!((5000..6000).contains(&peak), "{peak}");
//! ```
//!
//! Counts are per thread, so concurrent tests do not affect each other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with counters.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    // Const-initialised and without a destructor: reading them never allocates.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    /// Allocations until the one that fails; zero: none fails.
    static COUNTDOWN: Cell<u32> = const { Cell::new(0) };
}

fn fails() -> bool {
    COUNTDOWN.try_with(|countdown| {
        let left = countdown.get();
        countdown.set(left.saturating_sub(1));
        left == 1
    }) == Ok(true)
}

fn change(by: isize) {
    // While a thread ends, its cells may be gone; nothing is measured then.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + by);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

/// Counts a request before it is granted, and subtracts it if it fails. Refuses it when this thread's
/// countdown ends.
fn counted(by: isize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    change(by);
    let ptr = if fails() { std::ptr::null_mut() } else { allocate() };
    if ptr.is_null() {
        change(-by);
    }
    ptr
}

// SAFETY: every method passes its arguments to `System` unchanged and returns its result, or null, which
// means failure. So its contract is that of `System`. The counting does not touch the allocation's memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract.
        counted(layout.size() as isize, || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `GlobalAlloc::alloc_zeroed`'s contract.
        counted(layout.size() as isize, || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        change(-(layout.size() as isize));
        // SAFETY: the caller keeps `GlobalAlloc::dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let growth = new_size as isize - layout.size() as isize;
        // SAFETY: the caller keeps `GlobalAlloc::realloc`'s contract.
        counted(growth, || unsafe { System.realloc(ptr, layout, new_size) })
    }
}

/// Runs `body` and returns by how many bytes this thread's peak memory exceeded the memory it held before. A
/// refused allocation counts in the peak as if it had been granted: requests are what is measured.
///
/// Zero unless [`Counting`] is the binary's allocator.
pub fn peak_of<T>(body: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get();
    PEAK.set(before);
    let result = body();
    (result, (PEAK.get() - before) as u64)
}

/// Runs `body` with this thread's `nth` allocation, counted from one, failing. Returns the result of `body`,
/// and whether it made that many allocations.
///
/// No allocation fails unless [`Counting`] is the binary's allocator.
pub fn failing_at<T>(nth: u32, body: impl FnOnce() -> T) -> (T, bool) {
    COUNTDOWN.set(nth);
    let result = body();
    (result, COUNTDOWN.replace(0) == 0)
}
