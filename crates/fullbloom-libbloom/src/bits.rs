//! Bits that other threads may be testing and setting at the same time.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Whether one thread or several may be setting bits at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// This thread alone. A bit costs a load and a store.
    One,
    /// Perhaps other threads too. A clear bit costs an atomic OR, so no other thread's bit in the same byte
    /// is lost; a set bit costs a load.
    Many,
}

/// One if the bit at `position` is set, else zero.
#[inline(always)]
pub(crate) fn get(bits: &[AtomicU8], position: u64) -> u8 {
    (bits[(position >> 3) as usize].load(Relaxed) >> (position & 7)) & 1
}

/// Sets the bit at `position`; not zero if the bit was clear before.
#[inline(always)]
pub(crate) fn set(bits: &[AtomicU8], position: u64, writers: Writers) -> u8 {
    let byte = &bits[(position >> 3) as usize];
    let mask = 1u8 << (position & 7);
    let before = byte.load(Relaxed);
    let clear = !before & mask;
    match writers {
        Writers::One => byte.store(before | mask, Relaxed),
        // The result of the OR is not used: that keeps it one instruction on x86-64.
        Writers::Many if clear != 0 => {
            byte.fetch_or(mask, Relaxed);
        }
        Writers::Many => {}
    }
    clear
}
