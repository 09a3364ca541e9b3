//! The lines of a shard, wherever they are: lookup, listing in order, filling.
//!
//! ```text
//!   lines      | 0 | 1 | … | 15 | 16 | …      the least fingerprints of its interval in each line
//!   overflow   |        0       | 1  …        one line for 16: the least of what they have no room for
//!   list                                      the rest, sorted
//! ```

use super::filter::run;
use super::shape::{GROUP, Grid, Shape};
use crate::slots::{self, DECODED, Find, Select, Slots};
use alloc::vec::Vec;
use core::ops::Range;
use fullbloom_core::kernel::Task;
use fullbloom_core::kernel::lines::Line;

/// The memory of one shard, or of a whole file.
///
/// An item of the list is a fingerprint with its tag below it.
pub(crate) trait Lines {
    fn main(&self, line: u64) -> &Line;
    fn overflow(&self, line: u64) -> &Line;
    fn list_len(&self) -> usize;
    fn listed(&self, i: usize) -> u64;

    /// The index of this fingerprint in the list, or the index at which it would be inserted.
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

/// All lines of a filter, if they are one grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Even<'a, R> {
    pub(crate) grid: &'a Grid,
    /// The bits of a hash that are its fingerprint.
    pub(crate) mask: u64,
    /// Bits of a tag.
    pub(crate) tag: u32,
    pub(crate) lines: &'a [Line],
    pub(crate) rest: R,
}

/// An empty line, for damaged files that claim more than they have.
static EMPTY: Line = [0; 64];

impl<'a, R> Even<'a, R> {
    #[inline(always)]
    pub(crate) fn line(&self, line: u64) -> &'a Line {
        match self.lines.get(line as usize) {
            Some(line) => line,
            None => no_line(),
        }
    }
}

#[cold]
#[inline(never)]
fn no_line() -> &'static Line {
    &EMPTY
}

/// Answers what the line of a key cannot answer alone.
pub(crate) trait Rest: Copy {
    /// The overflow line of a key.
    fn overflow_target(&self, hash: u64) -> Target<'_>;

    /// The tag of the key of this hash, if it is there.
    fn find(&self, hash: u64) -> Option<u64>;
}

/// The line of a key, and what is looked for in it.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) line: &'a Line,
    pub(crate) slots: &'a Slots,
    pub(crate) entry: u64,
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// A slot of the fingerprint's own line.
    Main(u32),
    /// A slot of this overflow line.
    Overflow(u64, u32),
    List(usize),
}

/// Finds a fingerprint, whose bits are at the top of `x`, by its line and its number there.
#[inline(always)]
pub(crate) fn locate<L: Lines>(
    kernel: impl Select,
    lines: &L,
    shape: &Shape,
    x: u64,
    line: &Line,
    number: u64,
) -> Option<Location> {
    match slots::find(kernel, line, &shape.main.slots, number << shape.tag) {
        Find::At(slot) => Some(Location::Main(slot)),
        Find::Absent => None,
        Find::Overflow => locate_in_overflow(lines, shape, x),
    }
}

#[cold]
#[inline(never)]
pub(crate) fn locate_in_overflow<L: Lines>(lines: &L, shape: &Shape, x: u64) -> Option<Location> {
    struct InOverflow<'a>(&'a Line, &'a Slots, u64);
    impl<B: Select> Task<B> for InOverflow<'_> {
        type Output = Find;

        #[inline(always)]
        fn run(self, kernel: B) -> Find {
            slots::find(kernel, self.0, self.1, self.2)
        }
    }
    let (line, number) = shape.overflow.place.of(x);
    match run(InOverflow(lines.overflow(line), &shape.overflow.slots, number << shape.tag)) {
        Find::At(slot) => Some(Location::Overflow(line, slot)),
        Find::Absent => None,
        Find::Overflow => lines.search_list(x >> (64 - shape.bits), shape.tag).ok().map(Location::List),
    }
}

/// The tag of a fingerprint that was found there; `line` is its line.
#[inline(always)]
pub(crate) fn tag<L: Lines>(lines: &L, shape: &Shape, line: &Line, location: Location) -> u64 {
    match location {
        Location::Main(slot) => slots::tag(line, &shape.main.slots, slot),
        Location::Overflow(line, slot) => slots::tag(lines.overflow(line), &shape.overflow.slots, slot),
        Location::List(i) => lines.listed(i) & ((1 << shape.tag) - 1),
    }
}

/// Items that [`read`] writes behind the end of its result before it cuts them off.
pub(crate) const MORE: usize = 66 * DECODED;

/// Appends the items of these groups of 16 lines to `out`, in order: fingerprints with their tags below them.
pub(crate) fn read<L: Lines>(lines: &L, shape: &Shape, groups: Range<u64>, out: &mut Vec<u64>) {
    struct Read<'a, L>(&'a L, &'a Shape, Range<u64>, &'a mut Vec<u64>);
    impl<L: Lines, B: Select> Task<B> for Read<'_, L> {
        type Output = ();

        #[inline(always)]
        fn run(self, _: B) {
            read_lines(self.0, self.1, self.2, self.3);
        }
    }
    run(Read(lines, shape, groups, out));
}

#[inline(always)]
fn read_lines<L: Lines>(lines: &L, shape: &Shape, groups: Range<u64>, out: &mut Vec<u64>) {
    let (tag, mut at_out) = (shape.tag, out.len());
    let mut overflowed = Vec::with_capacity(2 * DECODED);
    let mut at_list = lines.search_list(shape.overflow.base(groups.start), tag).unwrap_or_else(|at| at);
    let mut bases = shape.main.bases(groups.start * GROUP);
    let mut base = bases.next_base() << tag;
    for group in groups {
        overflowed.resize(DECODED, 0);
        let first = shape.overflow.base(group) << tag;
        let mut count = match overflowed.first_chunk_mut() {
            Some(to) => slots::decode(lines.overflow(group), &shape.overflow.slots, first, to),
            None => 0,
        };
        overflowed.truncate(count);
        let end = shape.overflow.base(group + 1) << tag;
        while at_list < lines.list_len() && lines.listed(at_list) < end {
            overflowed.push(lines.listed(at_list));
            at_list += 1;
        }
        count = 0;
        for line in group * GROUP..(group + 1) * GROUP {
            // Room for one line and what overflowed from it.
            let room = at_out + DECODED + overflowed.len();
            if out.len() < room {
                out.resize(room + 64 * DECODED, 0);
            }
            if let Some(to) = out[at_out..].first_chunk_mut() {
                at_out += slots::decode(lines.main(line), &shape.main.slots, base, to);
            }
            base = bases.next_base() << tag;
            while let Some(item) = overflowed.get(count).filter(|item| **item < base) {
                out[at_out] = *item;
                (at_out, count) = (at_out + 1, count + 1);
            }
        }
        for item in &overflowed[count..] {
            out[at_out] = *item; // only in a damaged file
            at_out += 1;
        }
    }
    out.truncate(at_out);
}

/// Writes the lines of these groups of 16, which hold these sorted items; returns their part of the list.
pub(crate) fn fill(
    shape: &Shape,
    groups: Range<u64>,
    items: &[u64],
    main: impl FnMut(u64, Line),
    overflow: impl FnMut(u64, Line),
) -> Vec<u64> {
    struct Fill<'a, M, O>(&'a Shape, Range<u64>, &'a [u64], M, O);
    impl<M: FnMut(u64, Line), O: FnMut(u64, Line), B: Select> Task<B> for Fill<'_, M, O> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn run(self, _: B) -> Vec<u64> {
            fill_lines(self.0, self.1, self.2, self.3, self.4)
        }
    }
    run(Fill(shape, groups, items, main, overflow))
}

#[inline(always)]
fn fill_lines(
    shape: &Shape,
    groups: Range<u64>,
    items: &[u64],
    mut main: impl FnMut(u64, Line),
    mut overflow: impl FnMut(u64, Line),
) -> Vec<u64> {
    let tag = shape.tag;
    let (mut list, mut overflowed, mut rest) = (Vec::new(), Vec::new(), items);
    let mut bases = shape.main.bases(groups.start * GROUP);
    let mut base = bases.next_base() << tag;
    for group in groups {
        overflowed.clear();
        for line in group * GROUP..(group + 1) * GROUP {
            let end = bases.next_base() << tag;
            let (here, later) = rest.split_at(count_below(rest, end));
            let (fits, more) = here.split_at(here.len().min(shape.main.slots.count() as usize));
            main(line, slots::encode(&shape.main.slots, base, fits));
            overflowed.extend_from_slice(more);
            (rest, base) = (later, end);
        }
        let (fits, more) = overflowed.split_at(overflowed.len().min(shape.overflow.slots.count() as usize));
        overflow(group, slots::encode(&shape.overflow.slots, shape.overflow.base(group) << tag, fits));
        list.extend_from_slice(more);
    }
    list
}

/// How many of the sorted items are below this one: few, so they are counted from the first on.
#[inline(always)]
fn count_below(items: &[u64], end: u64) -> usize {
    let mut count = 0;
    // Without a branch for each item.
    for some in items.chunks(32) {
        let below = some.iter().map(|item| usize::from(*item < end)).sum::<usize>();
        count += below;
        if below < some.len() {
            break;
        }
    }
    count
}
