#![allow(unsafe_code)]
//! Whatever allocation fails while a full filter is built, the answer is an error or a filter.

use fullbloom::SizeError;
use fullbloom::rocksdb::{BuildError, Builder, Kind, Policy};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which fails once when a thread's countdown ends.
struct Failing;

thread_local! {
    /// Allocations until the one that fails; zero: none will.
    static COUNTDOWN: Cell<u32> = const { Cell::new(0) };
}

fn fails() -> bool {
    COUNTDOWN.try_with(|countdown| {
        let left = countdown.get();
        countdown.set(left.saturating_sub(1));
        left == 1
    }) == Ok(true)
}

// SAFETY: every method returns what `System` returns for the same arguments, or null, which means failure.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps `GlobalAlloc::alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `GlobalAlloc::dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps `GlobalAlloc::realloc`'s contract.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

#[test]
fn no_failed_allocation_ends_the_process_or_loses_a_key() {
    for kind in [Kind::Legacy, Kind::FastLocal, Kind::Ribbon] {
        let policy = Policy::new(kind, 10.0).unwrap();
        let (mut refused, mut countdown) = (0, 1);
        loop {
            COUNTDOWN.set(countdown);
            let mut builder = Builder::new(policy).with_corruption_detection();
            (0..70_000u32).for_each(|i| builder.insert(&i.to_be_bytes()));
            let built = builder.finish();
            let unspent = COUNTDOWN.replace(0) > 0;
            match built {
                Ok(filter) => assert!((0..70_000u32).all(|i| filter.may_contain(&i.to_be_bytes()))),
                Err(e) => {
                    assert!(matches!(e, BuildError::Size(SizeError::Memory { bytes: 1.. })), "{kind:?}: {e}");
                    refused += 1;
                }
            }
            if unspent {
                break; // the build made fewer allocations than that
            }
            countdown += 1;
        }
        assert!(refused >= 10, "{kind:?}: {refused} of {countdown}");
    }
}
