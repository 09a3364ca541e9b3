//! Memory for filters, given to all contestants alike.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Zeroed bytes that begin at a 2 MiB boundary.
pub struct Region {
    base: *mut libc::c_void,
    mapped: usize,
    start: usize,
    len: usize,
}

const HUGE_PAGE: usize = 2 << 20;

impl Region {
    /// `len` zeroed bytes, in 2 MiB pages if there are enough of them.
    pub fn new(len: usize) -> Result<Region, std::io::Error> {
        Region::zeroed(len, len >= LARGE)
    }

    /// `len` bytes; in 2 MiB pages if asked for and the system has them.
    pub fn zeroed(len: usize, huge_pages: bool) -> Result<Region, std::io::Error> {
        let mapped = len.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new private mapping, anywhere.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), mapped, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let advice = if huge_pages { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the mapping just made. Where the advice is not known nothing happens.
        unsafe { libc::madvise(base, mapped, advice) };
        let start = (base as usize).next_multiple_of(HUGE_PAGE) - base as usize;
        Ok(Region { base, mapped, start, len })
    }
}

impl Deref for Region {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start + len` is at most `mapped`, and all of it is readable and initialised by the system.
        unsafe { std::slice::from_raw_parts(self.base.cast::<u8>().add(self.start), self.len) }
    }
}

impl DerefMut for Region {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast::<u8>().add(self.start), self.len) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped in `zeroed`, unmapped once.
        unsafe { libc::munmap(self.base, self.mapped) };
    }
}

/// Memory of the whole program while something runs, beyond what it held before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// The most at any time.
    pub peak: u64,
    /// What is left.
    pub after: u64,
}

/// Bytes that the program has allocated, and the most it had.
static HELD: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

/// The memory that this takes and keeps.
pub fn held_by(what: impl FnOnce()) -> Held {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    what();
    let beyond = |now: &AtomicU64| now.load(Ordering::Relaxed).saturating_sub(before);
    Held { peak: beyond(&MOST), after: beyond(&HELD) }
}

fn took(bytes: usize) {
    let now = HELD.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if now > MOST.load(Ordering::Relaxed) {
        MOST.fetch_max(now, Ordering::Relaxed);
    }
}

/// Gives allocations of 4 MiB and more 2 MiB pages, if that was asked for: then peers that do not ask for
/// them have them too.
pub struct HugePages;

static WANTED: AtomicBool = AtomicBool::new(false);

impl HugePages {
    /// From now on, in the whole program.
    pub fn want() {
        WANTED.store(true, Ordering::Relaxed);
    }
}

// SAFETY: the system's allocator does it all; large blocks are asked for with a wider alignment, of which
// `dealloc` knows by their size.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(widened(layout)) };
        took(layout.size());
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            took(layout.size());
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // The pages are advised before they are first touched: by the zeros.
        // SAFETY: the caller's promise; the block is `size` bytes long.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: allocated with this layout, widened the same way.
        unsafe { System.dealloc(block, widened(layout)) }
    }
}

const LARGE: usize = 4 << 20;

fn widened(layout: Layout) -> Layout {
    if layout.size() < LARGE { layout } else { layout.align_to(HUGE_PAGE).unwrap_or(layout) }
}

/// Asks for 2 MiB pages in a block of memory that was not touched yet, if they are wanted.
pub fn advise(block: *mut u8, len: usize) {
    if len < LARGE || block.is_null() || !WANTED.load(Ordering::Relaxed) {
        return;
    }
    let start = (block as usize).next_multiple_of(HUGE_PAGE) - block as usize;
    let len = (len - start.min(len)) / HUGE_PAGE * HUGE_PAGE;
    // SAFETY: whole pages inside the block; the advice changes no content.
    unsafe { libc::madvise(block.wrapping_add(start).cast(), len, libc::MADV_HUGEPAGE) };
}

/// Why a contender that needs so much memory while it builds must stay out: it would take more than two
/// fifths of what is free, and others build beside it.
pub fn refused(needed: u64) -> Option<String> {
    let available = available()?;
    (needed > available / 5 * 2)
        .then(|| format!("needs {} MiB to build, {} are free", needed >> 20, available >> 20))
}

/// Bytes that can be had without swapping; `None` where the system does not tell.
fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10)
}

/// The most memory that this process has had, in MiB; 0 where the system does not tell.
pub fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
