#![allow(unsafe_code)]
//! Owned bit memory: 64-byte aligned, zeroed lazily by the system, allocated fallibly.

use crate::error::SizeError;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;

/// Alignment of the first byte: one cache line, so that a 512-bit block never straddles two.
pub(crate) const ALIGN: usize = 64;

/// A zeroed, 64-byte aligned byte array of fixed length.
///
/// Memory is asked for with `calloc`, so the pages of a large array cost nothing until they are
/// written: a 5 GB filter that holds a few keys occupies a few pages.
pub struct Owned {
    /// First aligned byte; dangling when `len` is 0.
    start: NonNull<u8>,
    len: usize,
    /// What the allocator returned, to be given back; `None` when nothing was allocated.
    base: Option<(NonNull<u8>, Layout)>,
}

impl Owned {
    /// `len` zero bytes, or [`SizeError::Memory`] when the allocator refuses.
    pub fn zeroed(len: u64) -> Result<Owned, SizeError> {
        let refused = SizeError::Memory { bytes: len };
        let Ok(size) = usize::try_from(len) else { return Err(refused) };
        if size == 0 {
            return Ok(Owned { start: NonNull::dangling(), len: 0, base: None });
        }
        // Over-aligned `alloc_zeroed` is posix_memalign plus memset, which touches every page. Asking for no
        // alignment keeps it a calloc; the slack makes room to align by hand.
        let Some(padded) = size.checked_add(ALIGN) else { return Err(refused) };
        let Ok(layout) = Layout::from_size_align(padded, 1) else { return Err(refused) };
        // SAFETY: `layout` has a non-zero size, because `padded` is at least ALIGN.
        let Some(base) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { return Err(refused) };
        let slack = base.addr().get().wrapping_neg() % ALIGN;
        // SAFETY: `slack` is a remainder by ALIGN, and the allocation is `size + ALIGN` bytes long.
        let start = unsafe { base.add(slack) };
        Ok(Owned { start, len: size, base: Some((base, layout)) })
    }
}

impl AsRef<[u8]> for Owned {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `zeroed` made `start` valid for `len` initialised bytes, and we own them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl AsMut<[u8]> for Owned {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_ref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some((base, layout)) = self.base {
            // SAFETY: `base` came from `alloc_zeroed(layout)` in `zeroed` and is freed once.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

// SAFETY: `Owned` is a uniquely owned byte buffer, like `Box<[u8]>`; nothing in it is tied to a thread.
unsafe impl Send for Owned {}
// SAFETY: `&Owned` only gives out `&[u8]`.
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
        for len in [0u64, 1, 15, 16, 63, 64, 65, 4096, 1 << 20] {
            let owned = Owned::zeroed(len).unwrap();
            assert_eq!(owned.as_ref().len() as u64, len);
            assert!(owned.as_ref().iter().all(|&b| b == 0));
            if len > 0 {
                assert_eq!(owned.as_ref().as_ptr() as usize % ALIGN, 0);
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused_not_aborted() {
        for len in [u64::MAX, u64::MAX - 63, 1 << 62] {
            assert_eq!(Owned::zeroed(len).unwrap_err(), SizeError::Memory { bytes: len });
        }
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
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
        // Other tests run beside this one; none of them needs a gigabyte.
        assert!(resident() < before + (1 << 30));
    }
}
