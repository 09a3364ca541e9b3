//! Lookups of many keys in lines of one division.
//!
//! ```text
//!   key by key       its run, the slots from there on, and which of them are the run's
//!   all keys         whether one of those slots has the remainder
//! ```

use super::find::{long_run, run};
use super::{Line, Select, Slots};

/// Keys of a group.
pub(crate) const GROUP: usize = 32;

/// The runs of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    /// The bits from each run on.
    pub(crate) windows: [u64; GROUP],
    /// The top bits of its slots.
    pub(crate) tops: [u64; GROUP],
    /// Where it begins and ends, in `starts`.
    pub(crate) pairs: [u64; GROUP],
}

/// The definition of [`Select::matches`].
#[inline(always)]
pub(crate) fn matches(slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
    let (mut found, mut sure) = (0, 0);
    for (i, entry) in entries.iter().enumerate() {
        found |= u32::from(slots.lanes.matches(runs.windows[i], runs.tops[i], *entry) != 0) << i;
        sure |= u32::from(runs.pairs[i] < slots.full) << i;
    }
    (found, sure)
}

/// [`test`](super::test) of a group, in the bits of both words. Before each key, `ahead` is called with its
/// number: to prefetch the line of a later one.
#[inline(always)]
pub(crate) fn test_all(
    kernel: impl Select,
    lines: &[&Line; GROUP],
    slots: &Slots,
    entries: &[u64; GROUP],
    mut ahead: impl FnMut(usize),
) -> (u32, u32) {
    let mut quotients = [0; GROUP];
    for (quotient, entry) in quotients.iter_mut().zip(entries) {
        *quotient = u64::from(slots.quotient(*entry));
    }
    let mut runs = Runs { windows: [0; GROUP], tops: [0; GROUP], pairs: [0; GROUP] };
    for (i, line) in lines.iter().enumerate() {
        ahead(i);
        let run = run(kernel, line, slots, quotients[i] as u32);
        runs.windows[i] = slots.windows.load(line, run.start);
        runs.tops[i] = kernel.first(slots.tops, slots.width, run.slots);
        runs.pairs[i] = run.pair;
        if run.is_long(slots) {
            let is_there = long_run(line, slots, run.start, run.len(), entries[i]).0.is_some();
            runs.windows[i] = slots.pattern(entries[i]);
            runs.tops[i] = if is_there { slots.tops } else { 0 };
        }
    }
    let (found, sure) = kernel.matches(slots, &runs, entries);
    (found, !sure)
}
