#![allow(unsafe_code)]
//! Prefetch hints: memory that will be read soon. They never fault and never change an answer.

/// Prefetches the cache line where `items[index]` begins. Does nothing outside the slice and on CPUs without
/// such an instruction.
#[inline(always)]
pub fn read<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        address(core::ptr::from_ref(item).cast());
    }
}

/// Prefetches a line of an array of lines, without a look at its length.
#[inline(always)]
pub fn line(lines: &[[u8; 64]], index: usize) {
    address(lines.as_ptr().wrapping_add(index).cast());
}

/// Prefetches the cache line at this address, valid or not.
#[inline(always)]
pub fn address(at: *const u8) {
    // Miri knows neither instruction.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: prefetch reads nothing and never faults, at any address. SSE is part of x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: prfm never faults, at any address, and changes nothing but the cache.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = at;
}

/// Prefetches the memory of up to `count` items, from index `start` on.
#[inline(always)]
pub fn ahead<T>(items: &[T], start: usize, count: usize) {
    const LINE: usize = 64;
    let Some(rest) = items.get(start..) else { return };
    let bytes = size_of_val(&rest[..count.min(rest.len())]);
    for at in (0..bytes).step_by(LINE) {
        address(rest.as_ptr().cast::<u8>().wrapping_add(at));
    }
}
