//! Looking up entries in a line.

use super::{LAST, Line, OCCUPIED, Select, Slots, eight, low};

/// The slots of one quotient.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) starts: u64,
    pub(crate) occupied: u64,
    pub(crate) quotient: u32,
    /// Whether this quotient is occupied, and in the bits above, which greater ones are.
    pub(crate) rest: u64,
    /// Where it begins, or would, and the next run, in `starts`.
    pub(crate) pair: u64,
    pub(crate) start: u32,
    /// Its slots: the lowest bits, as many as it has.
    pub(crate) slots: u64,
}

impl Run {
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.slots.count_ones()
    }

    #[inline(always)]
    pub(crate) fn is_full(&self, slots: &Slots) -> bool {
        self.starts >= slots.full
    }

    /// Whether its slots are not compared at once. This is rare: most runs have one or two slots.
    #[inline(always)]
    pub(crate) fn is_long(&self, slots: &Slots) -> bool {
        self.slots > slots.compared
    }
}

#[inline(always)]
pub(crate) fn metadata(line: &Line, slots: &Slots) -> (u64, u64) {
    let starts = eight(line, LAST).wrapping_shr(slots.starts_shift) | 1;
    (starts, eight(line, OCCUPIED + (slots.occupied_at & 7)).wrapping_shr(slots.occupied_shift))
}

#[inline(always)]
pub(crate) fn run(kernel: impl Select, line: &Line, slots: &Slots, quotient: u32) -> Run {
    let (starts, occupied) = metadata(line, slots);
    let rest = occupied >> quotient;
    // Where the run begins, and the next one.
    let pair = kernel.pair(starts, kernel.lowest(occupied, quotient).count_ones());
    let start = pair.trailing_zeros();
    let slots = pair.wrapping_shr(start).wrapping_sub(2) & (rest & 1).wrapping_neg();
    Run { starts, occupied, quotient, rest, pair, start, slots }
}

/// As [`search`], slot by slot: of a run of this many slots that begins here.
#[cold]
#[inline(never)]
pub(crate) fn long_run(line: &Line, slots: &Slots, start: u32, len: u32, entry: u64) -> (Option<u32>, u32) {
    let remainder = entry & slots.lanes.remainder;
    let mut below = 0;
    for slot in start..start.saturating_add(len) {
        let found = slots.slot(line, slot) & slots.lanes.remainder;
        if found == remainder {
            return (Some(slot), slot);
        }
        below += u32::from(found < remainder);
    }
    (None, start.saturating_add(below))
}

/// Where the entry's remainder is in its run, or else belongs: the first slot whose remainder is not below
/// it.
#[inline(always)]
pub(crate) fn search(
    kernel: impl Select,
    line: &Line,
    slots: &Slots,
    run: &Run,
    entry: u64,
) -> (Option<u32>, u32) {
    if run.is_long(slots) {
        return long_run(line, slots, run.start, run.len(), entry);
    }
    let (lanes, pattern) = (slots.lanes(line, run.start), slots.pattern(entry));
    let mine = kernel.first(slots.tops, slots.width, run.slots);
    let slot = run.start + (slots.less(lanes, pattern) & mine).count_ones();
    ((slots.equal(lanes, pattern) & mine != 0).then_some(slot), slot)
}

/// Whether an entry with this quotient and remainder is in the line. If the second is true, it may also be in
/// the overflow: the line is full, and the run of the quotient, or the next one if it has none, is the last.
#[inline(always)]
pub(crate) fn test(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> (bool, bool) {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let tops = kernel.first(slots.tops, slots.width, run.slots);
    let mut found = slots.lanes.matches(slots.windows.load(line, run.start), tops, entry);
    if run.is_long(slots) {
        found = u64::from(long_run(line, slots, run.start, run.len(), entry).0.is_some());
    }
    (found != 0, run.pair >= slots.full)
}

/// The result of looking up an entry in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Find {
    /// In this slot.
    At(u32),
    /// The filter does not have it.
    Absent,
    /// Not in this line, which is full and holds only lesser entries: perhaps in the overflow.
    Overflow,
}

/// Finds the entry with this quotient and remainder; its tag does not matter.
#[inline(always)]
pub(crate) fn find(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> Find {
    let run = run(kernel, line, slots, slots.quotient(entry));
    match search(kernel, line, slots, &run, entry) {
        (Some(slot), _) => Find::At(slot),
        (None, slot) if is_past_full_line(slots, &run, slot) => Find::Overflow,
        (None, _) => Find::Absent,
    }
}

/// Whether the line is full and has only entries below the one that belongs into this slot.
#[inline(always)]
pub(crate) fn is_past_full_line(slots: &Slots, run: &Run, slot: u32) -> bool {
    run.is_full(slots) & (slot >= slots.slots)
}

/// The tag in this slot.
#[inline(always)]
pub(crate) fn tag(line: &Line, slots: &Slots, slot: u32) -> u64 {
    slots.slot(line, slot) & low(slots.tag)
}

/// The least entry of the line that is not below this one.
#[inline(always)]
pub(crate) fn at_least(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> Option<u64> {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let (_, slot) = search(kernel, line, slots, &run, entry);
    if slot < run.start.saturating_add(run.len()) {
        return Some(u64::from(run.quotient) << slots.width | slots.slot(line, slot));
    }
    let above = run.rest >> 1;
    if above == 0 {
        return None;
    }
    let quotient = u64::from(run.quotient) + 1 + u64::from(above.trailing_zeros());
    Some(quotient << slots.width | slots.slot(line, slot))
}
