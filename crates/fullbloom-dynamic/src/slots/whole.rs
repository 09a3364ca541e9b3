//! All entries of a line at once.

use super::find::metadata;
use super::select::store;
use super::{Line, Slots, window};

/// The most entries that [`decode`] writes, and some that mean nothing.
pub(crate) const DECODED: usize = 64;

/// Writes all entries of a line in order, each with `base` added. Returns how many there are; `out` is
/// undefined from there on.
#[inline(always)]
pub(crate) fn decode(line: &Line, slots: &Slots, base: u64, out: &mut [u64; DECODED]) -> usize {
    match slots.per_word {
        ..2 => decode_by::<1>(line, slots, base, out),
        2..4 => decode_by::<2>(line, slots, base, out),
        _ => decode_by::<4>(line, slots, base, out),
    }
}

/// `N` slots at a time, without a branch for each.
#[inline(always)]
fn decode_by<const N: usize>(line: &Line, slots: &Slots, base: u64, out: &mut [u64; DECODED]) -> usize {
    let (starts, mut occupied) = metadata(line, slots);
    let count = (63 - starts.leading_zeros()) as usize;
    let mut starts = starts >> 1;
    for (i, some) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        if i * N >= count {
            break;
        }
        let mut lanes = window(line, slots.position((i * N) as u32));
        for entry in some {
            // The lowest bit of `occupied` is the quotient of this slot; it goes if the next slot begins a
            // run.
            let quotient = u64::from(occupied.trailing_zeros()).wrapping_shl(slots.width);
            *entry = base.wrapping_add(quotient).wrapping_add(lanes & slots.field);
            lanes = lanes.wrapping_shr(slots.width);
            occupied &= occupied.wrapping_sub(starts & 1);
            starts >>= 1;
        }
    }
    count
}

/// The line of these entries, each with `base` added; at most as many as there are slots.
#[inline(always)]
pub(crate) fn encode(slots: &Slots, base: u64, entries: &[u64]) -> Line {
    let mut words = [0u64; 8];
    let (mut starts, mut occupied, mut before) = (0, 0, u64::MAX);
    // Bits that have not been stored, below `used` of a word.
    let (mut bits, mut used, mut at) = (0, 0, 0usize);
    for (slot, entry) in entries.iter().enumerate() {
        let entry = entry - base;
        let quotient = entry >> slots.width;
        starts |= u64::from(quotient != before) << (slot & 63);
        occupied |= 1 << (quotient & 63);
        before = quotient;
        let field = entry & slots.field;
        bits |= field << used;
        used += slots.width;
        if used >= 64 {
            words[at & 7] = bits;
            at += 1;
            used -= 64;
            bits = field >> ((slots.width - used) & 63);
        }
    }
    words[at & 7] = bits;
    let mut line = [0; 64];
    store(&mut line, words, slots.metadata(starts | 1 << (entries.len() & 63), occupied));
    line
}
