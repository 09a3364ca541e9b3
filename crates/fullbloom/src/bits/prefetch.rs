#![allow(unsafe_code)]
//! A hint that memory will be read soon. Never a fault, never an answer.

/// Asks the CPU to bring the cache line where `items[index]` begins closer. Does nothing outside the slice
/// and on CPUs without such an instruction.
#[inline(always)]
pub(crate) fn read<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        address(core::ptr::from_ref(item).cast());
    }
}

/// Asks the CPU to bring the cache line of this address closer, whatever the address is.
#[inline(always)]
pub(crate) fn address(at: *const u8) {
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

/// Asks for the memory of `count` items from number `start` on, as far as there are any.
#[inline(always)]
pub(crate) fn ahead<T>(items: &[T], start: usize, count: usize) {
    const LINE: usize = 64;
    let Some(rest) = items.get(start..) else { return };
    let bytes = size_of_val(&rest[..count.min(rest.len())]);
    for at in (0..bytes).step_by(LINE) {
        address(rest.as_ptr().cast::<u8>().wrapping_add(at));
    }
}
