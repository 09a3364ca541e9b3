#![allow(unsafe_code)]
//! Lengths that lie cost no memory: the most that is ever allocated is counted.

mod support;

use fullbloom_sstable::report::inspect;
use fullbloom_sstable::verify::{Options, verify};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Table, keys};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the memory came from `alloc` above, which had it from there.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most allocated above what was there before.
fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

// One test, because the counters are those of the whole process.
#[test]
fn lengths_that_lie_and_files_that_grow_cost_no_memory() {
    let few = keys(10);
    let look = |table: &Table| {
        let sstable = table.one();
        peak(|| {
            inspect(&sstable);
            verify(&sstable, Options { absent_keys: 100, examples: 3 });
        })
    };
    let mut worst = 0;
    for version in ["b", "jb", "mc", "nb", "da"] {
        for component in [
            "Index.db",
            "Filter.db",
            "Statistics.db",
            "TOC.txt",
            "Partitions.db",
            "Rows.db",
            "Data.db",
            "CompressionInfo.db",
        ] {
            let table = Table::new();
            match version {
                "da" => table.add_bti(1, &few, 0.01, true),
                _ => table.add(version, 1, &few, 0.01),
            }
            let path = table.path(version, 1, component);
            let Ok(whole) = fs::read(&path) else { continue };
            for at in 0..whole.len().saturating_sub(3) {
                let mut bytes = whole.clone();
                bytes[at..at + 4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
                table.put(version, 1, component, &bytes);
                worst = worst.max(look(&table));
            }
        }
    }
    assert!(worst < 64 << 10, "{worst} bytes for files of less than 2 KiB");

    // A hundred times the keys take the filter once more, and no more than that.
    let many = keys(200_000);
    let table = Table::new();
    table.add("nb", 1, &many, 0.01);
    let used = look(&table);
    let filter = fs::metadata(table.path("nb", 1, "Filter.db")).unwrap().len() as usize;
    assert!(used < filter + (64 << 10), "{used} bytes for a filter of {filter}");
    let table = Table::new();
    table.add_bti(1, &many, 0.01, true);
    let used = look(&table);
    assert!(used < filter + (64 << 10), "{used} bytes for a filter of {filter}");
}
