#![allow(unsafe_code)]
//! Where each slot of a line begins.

use super::{FARTHEST, LAST, Line, MAX_SLOTS};

/// Positions: those of the slots, and of what a damaged line claims to be one: up to 64.
const POSITIONS: usize = 65;

/// For each slot the first byte that has bits of it, and how many bits of that byte are below it.
///
/// No byte is above [`LAST`]: only `new` makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    bytes: [u8; POSITIONS],
    shifts: [u8; POSITIONS],
}

impl Windows {
    /// Of slots of this width. Those that are not in the line begin at [`FARTHEST`] at the latest.
    pub(crate) fn new(width: u32) -> Windows {
        let at = |slot: usize| (slot as u32 * width).min(FARTHEST);
        Windows {
            bytes: core::array::from_fn(|slot| (at(slot) >> 3) as u8),
            shifts: core::array::from_fn(|slot| (at(slot) & 7) as u8),
        }
    }

    /// The bits from the slot on: at least [`WINDOW`](super::WINDOW).
    #[inline(always)]
    pub(crate) fn load(&self, line: &Line, slot: u32) -> u64 {
        let slot = slot.min(POSITIONS as u32 - 1) as usize;
        let byte = usize::from(self.bytes[slot]);
        // SAFETY: no byte is above LAST, so eight bytes of the line's 64 follow.
        let bytes = unsafe { line.as_ptr().add(byte).cast::<[u8; 8]>().read() };
        u64::from_le_bytes(bytes).wrapping_shr(self.shifts[slot].into())
    }
}

const _: () = assert!(FARTHEST >> 3 == LAST && LAST + 8 == 64 && MAX_SLOTS < POSITIONS as u32);
