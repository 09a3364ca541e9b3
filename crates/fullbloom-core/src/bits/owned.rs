#![allow(unsafe_code)]
//! Owned bit memory: 64-byte aligned, zeroed lazily by the operating system, allocated fallibly.

use crate::error::SizeError;
use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

/// Alignment of the first byte: one cache line, so that a 512-bit block never straddles two.
pub const ALIGN: usize = 64;

/// From this size on, huge pages are requested from Linux. Otherwise a random probe beyond the reach of the
/// TLB for small pages waits for two memory accesses: 55 against 90 million lines per second at 256 MiB.
#[cfg(all(target_os = "linux", feature = "huge-pages"))]
const HUGE_FROM: usize = 4 << 20;

/// The size of a huge page on common systems.
#[cfg(all(target_os = "linux", feature = "huge-pages"))]
const HUGE_PAGE: usize = 2 << 20;

/// Arrays in huge pages begin at this many different places of them. Otherwise the lines of one number, in arrays of
/// one size, compete for the same places in the caches: a key was looked up in 64 filters of 16 MiB three times as
/// slowly.
#[cfg(all(target_os = "linux", feature = "huge-pages"))]
const BEGINNINGS: usize = 1024;

/// A zeroed, 64-byte aligned byte array of fixed length.
///
/// The operating system zeroes pages on first touch, so the pages of a large array cost nothing until they
/// are written: a 5 GB filter that holds a few keys occupies a few pages.
pub struct Owned {
    /// First aligned byte; dangling when `len` is 0.
    start: NonNull<u8>,
    len: usize,
    memory: Memory,
}

/// Frees the memory when the array is dropped.
enum Memory {
    None,
    Allocated(#[expect(dead_code, reason = "held to be dropped")] Allocation),
    /// Unmaps itself when dropped.
    #[cfg(all(target_os = "linux", feature = "huge-pages"))]
    Mapped(#[expect(dead_code, reason = "held to be dropped")] memmap2::MmapMut),
}

/// Memory from the global allocator.
struct Allocation(NonNull<u8>, Layout);

// SAFETY: it is an allocator block that nobody else frees; nothing in it is tied to a thread.
unsafe impl Send for Allocation {}
// SAFETY: `&Allocation` gives no access to the memory.
unsafe impl Sync for Allocation {}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: it came from `alloc_zeroed` with this layout in `allocated`, and is freed once.
        unsafe { dealloc(self.0.as_ptr(), self.1) }
    }
}

impl Owned {
    /// `len` zero bytes, or [`SizeError::Memory`] when the allocation fails.
    pub fn zeroed(len: u64) -> Result<Owned, SizeError> {
        let refused = SizeError::Memory { bytes: len };
        let Ok(size) = usize::try_from(len) else { return Err(refused) };
        if size == 0 {
            return Ok(Owned { start: NonNull::dangling(), len: 0, memory: Memory::None });
        }
        #[cfg(all(target_os = "linux", feature = "huge-pages"))]
        if size >= HUGE_FROM && !cfg!(miri) {
            return Owned::mapped(size, true).ok_or(refused);
        }
        Owned::allocated(size).ok_or(refused)
    }

    /// A copy of these bytes.
    pub fn copied(bytes: &[u8]) -> Result<Owned, SizeError> {
        let mut owned = Owned::zeroed(bytes.len() as u64)?;
        owned.as_mut().copy_from_slice(bytes);
        Ok(owned)
    }

    /// As [`zeroed`](Owned::zeroed), without huge pages: what is never written takes no memory, at any size.
    pub fn zeroed_in_small_pages(len: usize) -> Result<Owned, SizeError> {
        #[cfg(all(target_os = "linux", feature = "huge-pages"))]
        if len >= HUGE_FROM && !cfg!(miri) {
            // The allocator may have memory of this size that it must clear.
            return Owned::mapped(len, false).ok_or(SizeError::Memory { bytes: len as u64 });
        }
        Owned::allocated(len).ok_or(SizeError::Memory { bytes: len as u64 })
    }

    fn allocated(size: usize) -> Option<Owned> {
        // Over-aligned `alloc_zeroed` is posix_memalign plus memset, which touches every page. Requesting the
        // natural alignment keeps it a calloc; the slack makes room to align by hand.
        let layout = Layout::from_size_align(size.checked_add(ALIGN)?, 1).ok()?;
        // SAFETY: `layout` has a non-zero size, because it is at least ALIGN.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let slack = base.addr().get().wrapping_neg() % ALIGN;
        // SAFETY: `slack` is a remainder by ALIGN, and the allocation is `size + ALIGN` bytes long.
        let start = unsafe { base.add(slack) };
        Some(Owned { start, len: size, memory: Memory::Allocated(Allocation(base, layout)) })
    }

    #[cfg(all(target_os = "linux", feature = "huge-pages"))]
    fn mapped(size: usize, huge: bool) -> Option<Owned> {
        use core::sync::atomic::{AtomicUsize, Ordering};
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let beginning = MADE.fetch_add(1, Ordering::Relaxed) % BEGINNINGS * ALIGN;
        let len = size.checked_add(HUGE_PAGE + BEGINNINGS * ALIGN)?;
        let mut map = memmap2::MmapOptions::new().len(len).map_anon().ok()?;
        if huge {
            // A system without huge pages refuses, which changes nothing.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let base = NonNull::new(map.as_mut_ptr())?;
        let slack = base.addr().get().wrapping_neg() % HUGE_PAGE + beginning;
        // SAFETY: `slack` is below HUGE_PAGE + BEGINNINGS * ALIGN, and the mapping is that much longer than `size`.
        let start = unsafe { base.add(slack) };
        Some(Owned { start, len: size, memory: Memory::Mapped(map) })
    }

    /// This part of the array. Bytes outside it become inaccessible, and stay in memory until the part is
    /// dropped.
    ///
    /// # Panics
    /// If the range is not inside the array.
    pub fn part(self, range: Range<usize>) -> Owned {
        let len = self.as_ref()[range.clone()].len();
        // SAFETY: slicing has just shown that the range lies inside the array.
        let start = unsafe { self.start.add(range.start) };
        Owned { start, len, memory: self.memory }
    }

    /// The first byte; for views of another type over the same memory.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Zeroed 64-bit integers in [`Owned`] memory; large arrays use huge pages too.
#[cfg(feature = "std")]
pub struct Words(Owned);

#[cfg(feature = "std")]
impl Words {
    pub fn zeroed(len: usize) -> Result<Words, SizeError> {
        Owned::zeroed((len as u64).saturating_mul(8)).map(Words)
    }
}

#[cfg(feature = "std")]
impl AsMut<[u64]> for Words {
    fn as_mut(&mut self) -> &mut [u64] {
        if self.0.len == 0 {
            return &mut []; // nothing is allocated, and the pointer is not aligned
        }
        // SAFETY: the memory is valid for `len` initialised bytes, aligned to 64, and ours alone; every eight
        // bytes are a `u64`.
        unsafe { core::slice::from_raw_parts_mut(self.0.start.as_ptr().cast(), self.0.len / 8) }
    }
}

/// Allocates as collections of the standard library do: without enough memory, it panics. `try_clone` of a
/// filter returns an error instead.
impl Clone for Owned {
    fn clone(&self) -> Owned {
        Owned::copied(self.as_ref()).expect("memory for a copy of the bits")
    }
}

impl AsRef<[u8]> for Owned {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `zeroed` made `start` valid for `len` initialised bytes, and we own them.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl AsMut<[u8]> for Owned {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_ref`; `&mut self` makes the access exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: `Owned` is a uniquely owned byte buffer, like `Box<[u8]>`; nothing in it is tied to a thread.
unsafe impl Send for Owned {}
// SAFETY: `&Owned` gives out `&[u8]`, and a pointer for `AtomicBits`, which owns its array and writes to it
// with atomics.
unsafe impl Sync for Owned {}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_zero_at_every_small_length() {
        let most = if cfg!(miri) { 4096 } else { u64::MAX };
        let lengths = [0u64, 1, 15, 16, 63, 64, 65, 4096, 1 << 20, (4 << 20) - 1, 4 << 20, (5 << 20) + 1];
        for len in lengths.into_iter().filter(|len| *len <= most) {
            let owned = Owned::zeroed(len).unwrap();
            assert_eq!(owned.as_ref().len() as u64, len);
            assert!(owned.as_ref().iter().all(|&b| b == 0));
            if len > 0 {
                assert_eq!(owned.as_ref().as_ptr() as usize % ALIGN, 0);
            }
        }
    }

    #[test]
    fn a_part_of_an_array_is_that_part_and_keeps_the_memory() {
        for len in [200u64, 5 << 20] {
            let mut owned = Owned::zeroed(len).unwrap();
            owned.as_mut()[64..68].copy_from_slice(&[1, 2, 3, 4]);
            let mut part = owned.part(65..200).part(1..100);
            part.as_mut()[1] = 9;
            assert_eq!((part.len, &part.as_ref()[..3]), (99, &[3, 9, 0][..]));
        }
        assert!(Owned::zeroed(10).unwrap().part(10..10).as_ref().is_empty());
        assert!(Owned::zeroed(0).unwrap().part(0..0).as_ref().is_empty());
    }

    #[test]
    #[should_panic(expected = "range end index 11 out of range")]
    fn a_part_beyond_the_end_is_refused() {
        Owned::zeroed(10).unwrap().part(5..11);
    }

    #[test]
    fn impossible_sizes_are_refused_not_aborted() {
        for len in [u64::MAX, u64::MAX - 63, 1 << 62] {
            assert_eq!(Owned::zeroed(len).unwrap_err(), SizeError::Memory { bytes: len });
        }
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))] // Miri pays for every byte
    #[test]
    fn a_large_array_is_usable_at_both_ends_without_being_paid_for() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
        };
        let before = resident();
        let mut owned = Owned::zeroed(5 << 30).unwrap();
        owned.as_mut()[0] = 1;
        *owned.as_mut().last_mut().unwrap() = 2;
        assert_eq!(owned.as_ref()[0], 1);
        assert_eq!(owned.as_ref()[1 << 30], 0);
        // Other tests run at the same time; none of them needs a gigabyte.
        assert!(resident() < before + (1 << 30));
    }
}
