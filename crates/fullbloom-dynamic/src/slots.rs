//! One cache line of the quotient filter: sorted fingerprints with their tags, and the metadata that finds them.
//!
//! ```text
//!   | S slots of R + T bits: a remainder, and below it a tag | unused | occupied: Q bits | up to 7 | starts: S bits |
//! ```
//!
//! An entry is a number whose upper bits are the quotient, then the remainder, then the tag. Entries are
//! sorted; no two have the same quotient and remainder. Bit `q` of `occupied` is set if an entry has the
//! quotient `q`. The entries of one quotient are a run of slots. Bit `i` of `starts` is set where a run
//! begins at slot `i`, and after the last slot in use. Bit 0 is always set, and not stored: so a line of
//! zeros is empty. Unused slots are zero, so a line is a function of its entries. `occupied` ends at the end
//! of a byte, so one unaligned load and one shift extract it; the same holds for `starts` and for any slot.
//!
//! A lookup counts the occupied quotients below its own, finds the run of that number with [`Select`], and
//! compares the slots of the run with one word operation. No function here panics, whatever the bytes of the
//! line are.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use fullbloom_core::kernel::lines::Line;

/// Bits of a line.
const LINE_BITS: u32 = 512;

/// The most slots of a line: `starts` and its shifts fit in a word.
pub(crate) const MAX_SLOTS: u32 = 62;

/// Bits that an unaligned load of eight bytes gives at any bit position.
const WINDOW: u32 = 57;

/// The last byte from which eight bytes can be loaded.
const LAST: u32 = 56;

/// The last position at which a slot can begin: [`WINDOW`] bits can be loaded there.
pub(crate) const FARTHEST: u32 = 8 * LAST + 7;

/// The first byte from which those with `occupied` are loaded, if there are [`MAX_SLOTS`].
const OCCUPIED: u32 = 48;

/// How the slots of a run are compared with a remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// The bits of an entry that are its remainder.
    pub(crate) remainder: u64,
    /// The lowest bit of each slot that is compared at once.
    pub(crate) ones: u64,
    /// All bits but those of their tags.
    pub(crate) remainders: u64,
}

impl Lanes {
    /// Whether one of the slots with these top bits has the remainder of the entry: then not zero.
    #[inline(always)]
    pub(crate) fn matches(&self, window: u64, tops: u64, entry: u64) -> u64 {
        let differ = window & self.remainders ^ (entry & self.remainder).wrapping_mul(self.ones);
        // The top bit of a slot becomes one if the slot is zero. It may also become one above a zero slot,
        // but never in a word without a zero slot.
        differ.wrapping_sub(self.ones) & !differ & tops
    }
}

/// How a line is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Bits of a tag.
    tag: u32,
    /// Bits of a slot: those of a remainder and a tag.
    width: u32,
    /// The number of slots.
    slots: u32,
    /// Slots that a single load covers.
    per_word: u32,
    /// One bit for each slot that a single load covers.
    compared: u64,
    /// Byte offset, counted from byte 48, of the load that contains `occupied`, and the right shift that aligns it.
    occupied_at: u32,
    occupied_shift: u32,
    /// The right shift that aligns `starts`, after a load of the last eight bytes.
    starts_shift: u32,
    /// The shifts that write `occupied`, aligned to the top of a word: its part in the second to last word of the line
    /// by `up_shift` to the left, its part in the last word by `shared_shift` and 8 to the right.
    up_shift: u32,
    shared_shift: u32,
    /// The bit of `starts` after the last slot.
    pub(crate) full: u64,
    /// The bits of a slot.
    field: u64,
    pub(crate) lanes: Lanes,
    /// The highest bit of each slot that is compared at once.
    tops: u64,
    /// `tops - ones`.
    carry: u64,
    /// All bits of the slots.
    used: [u64; 8],
    windows: Windows,
}

impl Slots {
    /// The division with the most slots, for entries whose quotient and remainder together are below
    /// `interval`.
    pub(crate) fn new(interval: u64, tag: u32) -> Slots {
        let widest = WINDOW - 1 - tag;
        // Quotients below 64; a remainder that is longer by more than 6 bits has one quotient as well.
        let shortest = (u64::BITS - (interval.max(1) - 1).leading_zeros()).saturating_sub(6).clamp(1, widest);
        let divide = |remainder: u32| {
            let quotients = ((interval.max(1) - 1) >> remainder) + 1;
            (quotients <= 64)
                .then(|| (most_slots(remainder + tag, quotients as u32), remainder, quotients as u32))
        };
        let best = (shortest..=widest.min(shortest + 6))
            .filter_map(divide)
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (slots, remainder, quotients) = best.unwrap_or((1, widest, 64));
        let width = remainder + tag;
        let per_word = WINDOW / width;
        let ones = (0..per_word).fold(0, |lanes, i| lanes | 1 << (i * width));
        let occupied_at = (LINE_BITS - slots) / 8 - 8 - OCCUPIED;
        Slots {
            tag,
            width,
            slots,
            per_word,
            compared: low(per_word),
            occupied_at,
            occupied_shift: 64 - quotients,
            starts_shift: 63 - slots,
            up_shift: 8 * occupied_at,
            shared_shift: 8 * (LAST - 1 - OCCUPIED - occupied_at),
            full: 1 << slots,
            field: low(width),
            lanes: Lanes { remainder: low(width) & !low(tag), ones, remainders: !(ones * low(tag)) },
            tops: ones << (width - 1),
            carry: (ones << (width - 1)) - ones,
            used: core::array::from_fn(|i| low((slots * width).saturating_sub(64 * i as u32))),
            windows: Windows::new(width),
        }
    }

    /// Slots of a line.
    pub(crate) fn count(&self) -> u32 {
        self.slots
    }

    #[inline(always)]
    fn quotient(&self, entry: u64) -> u32 {
        (entry >> self.width) as u32 & 63
    }

    /// The bit where a slot begins. Of a slot that does not exist it is meaningless, but at most [`FARTHEST`].
    #[inline(always)]
    fn position(&self, slot: u32) -> u32 {
        slot.wrapping_mul(self.width).min(FARTHEST)
    }

    /// The metadata, as the last two words of the line have it.
    #[inline(always)]
    fn metadata(&self, starts: u64, occupied: u64) -> [u64; 2] {
        let occupied = occupied.wrapping_shl(self.occupied_shift);
        let last = (occupied >> 8).wrapping_shr(self.shared_shift);
        [occupied.wrapping_shl(self.up_shift), last | (starts & !1).wrapping_shl(self.starts_shift)]
    }

    #[inline(always)]
    fn slot(&self, line: &Line, slot: u32) -> u64 {
        self.windows.load(line, slot) & self.field
    }

    /// The remainders from this slot on, as many as are compared at once; above them are bits that mean
    /// nothing.
    #[inline(always)]
    fn lanes(&self, line: &Line, slot: u32) -> u64 {
        self.windows.load(line, slot) & self.lanes.remainders
    }

    /// The remainder of the entry in every lane.
    #[inline(always)]
    fn pattern(&self, entry: u64) -> u64 {
        (entry & self.lanes.remainder).wrapping_mul(self.lanes.ones)
    }

    /// The top bits of the lanes that are equal in both; other bits mean nothing.
    #[inline(always)]
    fn equal(&self, lanes: u64, pattern: u64) -> u64 {
        let differ = lanes ^ pattern;
        // The top bit of a lane becomes zero if the whole lane is zero.
        !((differ & !self.tops).wrapping_add(self.carry) | differ)
    }

    /// The top bits of the lanes that are less than those of the pattern; other bits mean nothing.
    #[inline(always)]
    fn less(&self, lanes: u64, pattern: u64) -> u64 {
        // Lane by lane: the difference, without a borrow into the next lane; then whether it is negative.
        let differ = lanes ^ pattern;
        let difference = !(lanes | self.tops).wrapping_sub(pattern & !self.tops);
        (!lanes & pattern) | (!differ & difference)
    }
}

/// The lowest `bits` bits, at most 64.
#[inline(always)]
fn low(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[inline(always)]
fn word(line: &Line, i: usize) -> u64 {
    u64::from_le_bytes(line.as_chunks().0[i])
}

/// The eight bytes from this one on, at most [`LAST`].
#[inline(always)]
fn eight(line: &Line, byte: u32) -> u64 {
    let bytes = line[byte.min(LAST) as usize..].first_chunk().copied();
    u64::from_le_bytes(bytes.unwrap_or_default())
}

#[inline(always)]
fn put_eight(line: &mut Line, byte: u32, bits: u64) {
    if let Some(bytes) = line[byte.min(LAST) as usize..].first_chunk_mut() {
        *bytes = bits.to_le_bytes();
    }
}

/// The bits from this position on, at most [`FARTHEST`]: at least [`WINDOW`].
#[inline(always)]
fn window(line: &Line, at: u32) -> u64 {
    eight(line, at >> 3) >> (at & 7)
}

/// The most slots of this width beside so many quotients. Every slot can be loaded with [`window`].
fn most_slots(width: u32, quotients: u32) -> u32 {
    let fits = |slots: &u32| {
        let occupied_end = (LINE_BITS - slots) / 8 * 8;
        slots * width + quotients <= occupied_end && (slots - 1) * width <= FARTHEST
    };
    // A slot takes its width and a bit of `starts`.
    let most = MAX_SLOTS.min((LINE_BITS - quotients) / (width + 1));
    (1..=most).rev().find(fits).unwrap_or(0)
}

mod change;
mod find;
mod group;
mod select;
mod whole;
mod windows;

pub(crate) use change::{Insert, Remove, insert, remove, set_tag};
pub(crate) use find::{Find, at_least, find, tag, test};
pub(crate) use group::{GROUP, Runs, matches, test_all};
pub(crate) use select::Select;
#[cfg(target_arch = "aarch64")]
pub(crate) use select::select_pair;
pub(crate) use whole::{DECODED, decode, encode};
use windows::Windows;

#[cfg(test)]
mod tests;
