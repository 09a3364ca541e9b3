//! Inserting and removing entries.

use super::find::{Run, is_past_full_line, run, search, tag};
use super::{Line, Select, Slots, eight, low, put_eight};

/// Changes the tag in this slot.
pub(crate) fn set_tag(line: &mut Line, slots: &Slots, slot: u32, tag: u64) {
    let at = slots.position(slot);
    let (byte, shift) = (at >> 3, at & 7);
    let mask = low(slots.tag) << shift;
    put_eight(line, byte, eight(line, byte) & !mask | tag << shift & mask);
}

/// The result of inserting an entry into a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    /// It is there already, in this slot, perhaps with another tag.
    Known(u32),
    /// It is there now.
    Done,
    /// Perhaps it is in the overflow; if not, it belongs there.
    Overflow,
    /// It is there now, and this entry had to leave for the overflow.
    Evicted(u64),
}

/// Inserts an entry, unless one with its quotient and remainder is there. A full line keeps its least
/// entries.
#[inline(always)]
pub(crate) fn insert(kernel: impl Select, line: &mut Line, slots: &Slots, entry: u64) -> Insert {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let (found, slot) = search(kernel, line, slots, &run, entry);
    if let Some(slot) = found {
        return Insert::Known(slot);
    }
    // The run gets longer, or one begins.
    let is_new = !run.rest & 1;
    let at = run.start + 1 - is_new as u32;
    let starts = kernel.widen(run.starts, at & 63) | is_new << (at & 63);
    let occupied = run.occupied | 1 << run.quotient;
    let at = slots.position(slot);
    if !run.is_full(slots) {
        let metadata = slots.metadata(starts, occupied);
        kernel.open(line, at, slots.width, entry & slots.field, &slots.used, metadata);
        return Insert::Done;
    }
    if slot >= slots.slots {
        return Insert::Overflow;
    }
    // The last entry leaves. If it was alone in its run, its quotient is no longer occupied.
    let last = slots.slot(line, slots.slots - 1);
    let quotient = 63 - (occupied | 1).leading_zeros();
    let was_alone = starts >> slots.slots & 1;
    let starts = starts & low(slots.slots) | 1 << slots.slots;
    let metadata = slots.metadata(starts, occupied & !(was_alone << quotient));
    kernel.open(line, at, slots.width, entry & slots.field, &slots.used, metadata);
    Insert::Evicted(u64::from(quotient) << slots.width | last)
}

/// Takes the entry out of this slot, which is one of the run.
#[inline(always)]
fn take(kernel: impl Select, line: &mut Line, slots: &Slots, run: &Run, slot: u32) {
    let is_last = run.len() == 1;
    let at = run.start + u32::from(!is_last);
    let starts = run.starts & low(at) | run.starts >> 1 & !low(at);
    let metadata = slots.metadata(starts, run.occupied & !(u64::from(is_last) << run.quotient));
    kernel.close(line, slots.position(slot), slots.width, &slots.used, metadata);
}

/// What happened to an entry that was to be removed from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remove {
    /// It was nowhere.
    Absent,
    /// It is gone.
    Done,
    /// It is gone from a line that was full: the least entry of its overflow must follow.
    DoneFull,
    /// Perhaps it is in the overflow.
    Overflow,
    /// It is in this slot and has a tag.
    Tagged(u32),
}

/// Removes the entry with this quotient and remainder; if `KEEP`, only if its tag is zero.
#[inline(always)]
pub(crate) fn remove<const KEEP: bool>(
    kernel: impl Select,
    line: &mut Line,
    slots: &Slots,
    entry: u64,
) -> Remove {
    let run = run(kernel, line, slots, slots.quotient(entry));
    match search(kernel, line, slots, &run, entry) {
        (Some(slot), _) if KEEP && tag(line, slots, slot) != 0 => Remove::Tagged(slot),
        (Some(slot), _) => {
            take(kernel, line, slots, &run, slot);
            if run.is_full(slots) { Remove::DoneFull } else { Remove::Done }
        }
        (None, slot) if is_past_full_line(slots, &run, slot) => Remove::Overflow,
        (None, _) => Remove::Absent,
    }
}
