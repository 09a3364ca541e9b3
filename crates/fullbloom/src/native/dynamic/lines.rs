//! The lines of a shard, wherever they are: lookup, listing in order, filling.
//!
//! ```text
//!   lines      | 0 | 1 | … | 15 | 16 | …      the least fingerprints of its interval in each line
//!   overflow   |        0       | 1  …        one line for 16: the least of what they have no room for
//!   list                                      the rest, sorted
//! ```

use super::shape::{GROUP, Shape};
use crate::kernel::lines::Line;
use crate::kernel::slots::{self, Find, Select};
use alloc::vec::Vec;
use core::ops::Range;

/// The memory of one shard, or of a whole file.
///
/// An item of the list is a fingerprint with its tag below it.
pub(super) trait Lines {
    fn main(&self, line: u64) -> &Line;
    fn overflow(&self, line: u64) -> &Line;
    fn list_len(&self) -> usize;
    fn listed(&self, i: usize) -> u64;

    /// Where this fingerprint is in the list, or belongs.
    fn search_list(&self, fingerprint: u64, tag_bits: u32) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.list_len());
        while low < high {
            let middle = low.midpoint(high);
            match (self.listed(middle) >> tag_bits).cmp(&fingerprint) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Equal => return Ok(middle),
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    Main(u64, u32),
    Overflow(u64, u32),
    List(usize),
}

/// Finds a fingerprint, whose bits are at the top of `x`, by its place in the main lines.
#[inline(always)]
pub(super) fn locate<L: Lines>(
    kernel: impl Select,
    lines: &L,
    shape: &Shape,
    x: u64,
    line: u64,
    number: u64,
) -> Option<Location> {
    match slots::find(kernel, lines.main(line), &shape.main.slots, number << shape.tag) {
        Find::At(slot) => Some(Location::Main(line, slot)),
        Find::Absent => None,
        Find::Beyond => locate_beyond(kernel, lines, shape, x),
    }
}

#[cold]
#[inline(never)]
fn locate_beyond<L: Lines>(kernel: impl Select, lines: &L, shape: &Shape, x: u64) -> Option<Location> {
    let (line, number) = shape.overflow.place(x);
    match slots::find(kernel, lines.overflow(line), &shape.overflow.slots, number << shape.tag) {
        Find::At(slot) => Some(Location::Overflow(line, slot)),
        Find::Absent => None,
        Find::Beyond => lines.search_list(x >> (64 - shape.bits), shape.tag).ok().map(Location::List),
    }
}

/// The tag at this place.
#[inline(always)]
pub(super) fn tag<L: Lines>(lines: &L, shape: &Shape, location: Location) -> u64 {
    match location {
        Location::Main(line, slot) => slots::tag(lines.main(line), &shape.main.slots, slot),
        Location::Overflow(line, slot) => slots::tag(lines.overflow(line), &shape.overflow.slots, slot),
        Location::List(i) => lines.listed(i) & ((1 << shape.tag) - 1),
    }
}

/// Appends the items of these groups of 16 lines to `out`, in order: fingerprints with their tags below them.
pub(super) fn read<L: Lines>(lines: &L, shape: &Shape, groups: Range<u64>, out: &mut Vec<u64>) {
    let mut beyond = Vec::with_capacity(64);
    let start = shape.overflow.base(groups.start);
    let mut at = lines.search_list(start, shape.tag).unwrap_or_else(|at| at);
    for group in groups {
        beyond.clear();
        let base = shape.overflow.base(group) << shape.tag;
        slots::entries(lines.overflow(group), &shape.overflow.slots, |entry| {
            beyond.push(base.wrapping_add(entry));
        });
        let end = shape.overflow.base(group + 1) << shape.tag;
        while at < lines.list_len() && lines.listed(at) < end {
            beyond.push(lines.listed(at));
            at += 1;
        }
        let mut later = beyond.iter().peekable();
        for line in group * GROUP..(group + 1) * GROUP {
            let base = shape.main.base(line) << shape.tag;
            slots::entries(lines.main(line), &shape.main.slots, |entry| out.push(base.wrapping_add(entry)));
            if later.peek().is_some() {
                let end = shape.main.base(line + 1) << shape.tag;
                while let Some(item) = later.next_if(|item| **item < end) {
                    out.push(*item);
                }
            }
        }
        out.extend(later); // only in a damaged file
    }
}

/// Writes the lines of these groups of 16, which hold these sorted items; returns their part of the list.
pub(super) fn fill(
    shape: &Shape,
    groups: Range<u64>,
    items: &[u64],
    mut main: impl FnMut(u64, Line),
    mut overflow: impl FnMut(u64, Line),
) -> Vec<u64> {
    let (mut list, mut beyond, mut rest) = (Vec::new(), Vec::new(), items);
    for group in groups {
        beyond.clear();
        let mut base = shape.main.base(group * GROUP) << shape.tag;
        for line in group * GROUP..(group + 1) * GROUP {
            let end = shape.main.base(line + 1) << shape.tag;
            let here = rest.iter().position(|item| *item >= end).unwrap_or(rest.len());
            let (here, later) = rest.split_at(here);
            let (fits, more) = here.split_at(here.len().min(shape.main.slots.count() as usize));
            main(line, slots::encode(&shape.main.slots, base, fits));
            beyond.extend_from_slice(more);
            (rest, base) = (later, end);
        }
        let (fits, more) = beyond.split_at(beyond.len().min(shape.overflow.slots.count() as usize));
        overflow(group, slots::encode(&shape.overflow.slots, shape.overflow.base(group) << shape.tag, fits));
        list.extend_from_slice(more);
    }
    list
}
