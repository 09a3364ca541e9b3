//! A line of sorted fingerprints with tags: the native kind `dynamic`.
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
//! of a byte, so one unaligned load and a shift get it, and so do they for `starts` and for any slot.
//!
//! A lookup counts the occupied quotients below its own, finds the run of that number with [`Select`], and
//! compares the slots of the run with one word operation. No function here panics, whatever the bytes of the
//! line are.

use super::lines::Line;

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

/// How a line is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Bits of a tag.
    tag: u32,
    /// Bits of a slot.
    width: u32,
    /// Slots.
    slots: u32,
    /// Slots that are loaded at once.
    per_word: u32,
    /// As many bits.
    compared: u64,
    /// `occupied` is the eight bytes from byte 48 plus this on, shifted down by so many bits.
    occupied_at: u32,
    occupied_shift: u32,
    /// `starts` is the last eight bytes, shifted down by so many bits.
    starts_shift: u32,
    /// These eight bytes, shifted down by so many bits and 8, are the beginning of the last eight.
    shared_shift: u32,
    /// The bits of a slot, and of its remainder.
    field: u64,
    remainder: u64,
    /// The lowest and the highest bit of each slot that is compared at once; all bits but those of their
    /// tags.
    ones: u64,
    tops: u64,
    remainders: u64,
    /// `tops - ones`.
    carry: u64,
    /// All bits of the slots.
    used: [u64; 8],
}

impl Slots {
    /// The division with the most slots, for entries whose quotient and remainder together are below
    /// `interval`.
    pub(crate) fn new(interval: u64, tag: u32) -> Slots {
        let widest = WINDOW - 1 - tag;
        let divide = |remainder: u32| {
            let quotients = ((interval.max(1) - 1) >> remainder) + 1;
            (quotients <= 64)
                .then(|| (most_slots(remainder + tag, quotients as u32), remainder, quotients as u32))
        };
        let best =
            (1..=widest).filter_map(divide).reduce(|best, next| if next.0 > best.0 { next } else { best });
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
            shared_shift: 8 * (LAST - 1 - OCCUPIED - occupied_at),
            field: low(width),
            remainder: low(width) & !low(tag),
            ones,
            tops: ones << (width - 1),
            remainders: !(ones * low(tag)),
            carry: (ones << (width - 1)) - ones,
            used: core::array::from_fn(|i| low((slots * width).saturating_sub(64 * i as u32))),
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

    /// Where a slot begins; undefined if there is no such slot, but at most [`FARTHEST`].
    #[inline(always)]
    fn position(&self, slot: u32) -> u32 {
        slot.wrapping_mul(self.width).min(FARTHEST)
    }

    /// The last two words, apart from slots.
    #[inline(always)]
    fn front(&self, starts: u64, occupied: u64) -> [u64; 2] {
        let occupied = occupied.wrapping_shl(self.occupied_shift);
        let last = (occupied >> 8).wrapping_shr(self.shared_shift);
        [occupied << (8 * (self.occupied_at & 7)), last | (starts >> 1).wrapping_shl(self.starts_shift + 1)]
    }

    #[inline(always)]
    fn slot(&self, line: &Line, slot: u32) -> u64 {
        window(line, self.position(slot)) & self.field
    }

    /// The remainders from this slot on, as many as are compared at once; above them are bits that mean
    /// nothing.
    #[inline(always)]
    fn lanes(&self, line: &Line, slot: u32) -> u64 {
        window(line, self.position(slot)) & self.remainders
    }

    /// The remainder of the entry in every lane.
    #[inline(always)]
    fn pattern(&self, entry: u64) -> u64 {
        (entry & self.remainder).wrapping_mul(self.ones)
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
    (1..=MAX_SLOTS).rev().find(fits).unwrap_or(0)
}

/// What differs between CPUs.
pub(crate) trait Select: Copy {
    /// Of the set bits of `word`, only the ones number `rank` and `rank + 1`, counted from 0; `rank` is below
    /// 64.
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        select_pair(word, rank)
    }

    /// The first of the set bits of `tops`, as many as the lowest bits of `count` are set; the distance
    /// between two of `tops`, and of the first from bit 0, is `width` (the first one bit less).
    #[inline(always)]
    fn first(self, tops: u64, width: u32, count: u64) -> u64 {
        tops & low(count.trailing_ones().saturating_mul(width))
    }

    /// Moves the bits from position `at` on, below 64, up by one.
    #[inline(always)]
    fn widen(self, word: u64, at: u32) -> u64 {
        word & low(at) | (word & !low(at)) << 1
    }

    /// Moves the bits from position `at` on, at most [`FARTHEST`], up by `width`, 1 to 56, and puts `value`,
    /// which has at most that many bits, into the gap. Then clears all bits that are not `used`, and sets
    /// those of `front` in the last two words.
    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], front: [u64; 2]) {
        open(line, at, width, value, used, front);
    }

    /// Clears all bits that are not `used`, then moves the bits from position `at + width` on down by
    /// `width`, and sets those of `front` in the last two words.
    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32, used: &[u64; 8], front: [u64; 2]) {
        close(line, at, width, used, front);
    }
}

/// The definition of [`Select::pair`].
#[inline(always)]
pub(crate) fn select_pair(word: u64, rank: u32) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // Byte i of `sums` is the number of set bits in bytes 0 to i.
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let sums = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
    // The bytes whose sum is at most the rank are before the byte that holds the bit.
    let before = (((u64::from(rank) * ONES) | TOPS) - sums) & TOPS;
    let byte = 8 * before.count_ones();
    if byte == 64 {
        return 0;
    }
    let skipped = (sums << 8 >> byte) as u32 & 0xff;
    let mut rest = word >> byte << byte;
    for _ in skipped..rank {
        rest &= rest.wrapping_sub(1);
    }
    let first = rest & rest.wrapping_neg();
    let rest = rest ^ first;
    first | rest & rest.wrapping_neg()
}

/// The definition of [`Select::open`].
#[inline(always)]
fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], front: [u64; 2]) {
    let words: [u64; 8] = core::array::from_fn(|i| word(line, i));
    let (start, bit) = ((at >> 6) as usize, at & 63);
    let mut moved = words;
    for i in (start + 1..8).rev() {
        moved[i] = words[i] << width | words[i - 1] >> (64 - width);
    }
    if let Some(split) = words.get(start) {
        let above = split & !low(bit);
        moved[start] = split & low(bit) | above << width | value << bit;
        if let Some(next) = moved.get_mut(start + 1) {
            *next = words[start + 1] << width | above >> (64 - width) | value >> 1 >> (63 - bit);
        }
    }
    for (word, used) in moved.iter_mut().zip(used) {
        *word &= used;
    }
    store(line, moved, front);
}

/// The definition of [`Select::close`].
#[inline(always)]
fn close(line: &mut Line, at: u32, width: u32, used: &[u64; 8], front: [u64; 2]) {
    let words: [u64; 9] = core::array::from_fn(|i| if i < 8 { word(line, i) & used[i] } else { 0 });
    let (start, bit) = ((at >> 6) as usize, at & 63);
    let mut moved = [0; 8];
    for i in 0..8 {
        let down = words[i] >> width | words[i + 1] << (64 - width);
        moved[i] = match i.cmp(&start) {
            core::cmp::Ordering::Less => words[i],
            core::cmp::Ordering::Equal => words[i] & low(bit) | down & !low(bit),
            core::cmp::Ordering::Greater => down,
        };
    }
    store(line, moved, front);
}

/// Writes these words, with the bits of `front` in the last two.
#[inline(always)]
fn store(line: &mut Line, mut words: [u64; 8], front: [u64; 2]) {
    words[6] |= front[0];
    words[7] |= front[1];
    for (bytes, word) in line.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// The slots of one quotient.
#[derive(Debug, Clone, Copy)]
struct Run {
    starts: u64,
    occupied: u64,
    quotient: u32,
    /// Whether this quotient is occupied, and in the bits above, which greater ones are.
    rest: u64,
    /// Where it begins, or would.
    start: u32,
    /// Its slots: the lowest bits, as many as it has. Undefined if the quotient is not occupied.
    slots: u64,
}

impl Run {
    #[inline(always)]
    fn is_occupied(&self) -> bool {
        self.rest & 1 == 1
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        if self.is_occupied() { self.slots.count_ones() } else { 0 }
    }

    #[inline(always)]
    fn is_full(&self, slots: &Slots) -> bool {
        self.starts >> slots.slots != 0
    }

    /// Whether it is full and no greater quotient is occupied: then a greater entry may be in the overflow.
    #[inline(always)]
    fn is_last_of_full(&self, slots: &Slots) -> bool {
        self.starts >> slots.slots > self.rest >> 1
    }

    /// Whether its slots are not compared at once. This is rare: most runs have one or two slots.
    #[inline(always)]
    fn is_long(&self, slots: &Slots) -> bool {
        self.slots > slots.compared
    }
}

#[inline(always)]
fn front(line: &Line, slots: &Slots) -> (u64, u64) {
    let starts = eight(line, LAST).wrapping_shr(slots.starts_shift) | 1;
    (starts, eight(line, OCCUPIED + (slots.occupied_at & 7)).wrapping_shr(slots.occupied_shift))
}

#[inline(always)]
fn run(kernel: impl Select, line: &Line, slots: &Slots, quotient: u32) -> Run {
    let (starts, occupied) = front(line, slots);
    let rank = (occupied & ((1 << quotient) - 1)).count_ones();
    // Where the run begins, and the next one.
    let pair = kernel.pair(starts, rank);
    let start = pair.trailing_zeros();
    let slots = pair.wrapping_shr(start).wrapping_sub(2);
    Run { starts, occupied, quotient, rest: occupied >> quotient, start, slots }
}

/// As [`search`], slot by slot: of a run of this many slots that begins here.
#[cold]
#[inline(never)]
fn long_run(line: &Line, slots: &Slots, start: u32, len: u32, entry: u64) -> (Option<u32>, u32) {
    let remainder = entry & slots.remainder;
    let mut below = 0;
    for slot in start..start.saturating_add(len) {
        let found = slots.slot(line, slot) & slots.remainder;
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
fn search(kernel: impl Select, line: &Line, slots: &Slots, run: &Run, entry: u64) -> (Option<u32>, u32) {
    if run.is_long(slots) {
        return long_run(line, slots, run.start, run.len(), entry);
    }
    let (lanes, pattern) = (slots.lanes(line, run.start), slots.pattern(entry));
    let mine = kernel.first(slots.tops, slots.width, run.slots) & (run.rest & 1).wrapping_neg();
    let slot = run.start + (slots.less(lanes, pattern) & mine).count_ones();
    ((slots.equal(lanes, pattern) & mine != 0).then_some(slot), slot)
}

/// Whether an entry with this quotient and remainder is in the line. If the second is true, it may also be in
/// the overflow.
#[inline(always)]
pub(crate) fn test(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> (bool, bool) {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let equal = slots.equal(slots.lanes(line, run.start), slots.pattern(entry));
    let mut found = equal & kernel.first(slots.tops, slots.width, run.slots);
    if run.is_long(slots) {
        found = u64::from(long_run(line, slots, run.start, run.len(), entry).0.is_some());
    }
    ((found != 0) & run.is_occupied(), run.is_last_of_full(slots))
}

/// The answer of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Find {
    /// In this slot.
    At(u32),
    /// Nowhere.
    Absent,
    /// Not in this line, which is full and holds only lesser entries: perhaps in the overflow.
    Beyond,
}

/// Finds the entry with this quotient and remainder; its tag does not matter.
#[inline(always)]
pub(crate) fn find(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> Find {
    let run = run(kernel, line, slots, slots.quotient(entry));
    match search(kernel, line, slots, &run, entry) {
        (Some(slot), _) => Find::At(slot),
        (None, slot) if is_beyond(slots, &run, slot) => Find::Beyond,
        (None, _) => Find::Absent,
    }
}

/// Whether the line is full and has only entries below the one that belongs into this slot.
#[inline(always)]
fn is_beyond(slots: &Slots, run: &Run, slot: u32) -> bool {
    run.is_full(slots) & (slot >= slots.slots)
}

/// The tag in this slot.
#[inline(always)]
pub(crate) fn tag(line: &Line, slots: &Slots, slot: u32) -> u64 {
    slots.slot(line, slot) & low(slots.tag)
}

/// Changes the tag in this slot.
pub(crate) fn set_tag(line: &mut Line, slots: &Slots, slot: u32, tag: u64) {
    let at = slots.position(slot);
    let (byte, shift) = (at >> 3, at & 7);
    let mask = low(slots.tag) << shift;
    put_eight(line, byte, eight(line, byte) & !mask | tag << shift & mask);
}

/// What happened to an entry that was inserted into a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insert {
    /// It is there already, in this slot, perhaps with another tag.
    Known(u32),
    /// It is there now.
    Done,
    /// Perhaps it is in the overflow; if not, it belongs there.
    Beyond,
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
        let front = slots.front(starts, occupied);
        kernel.open(line, at, slots.width, entry & slots.field, &slots.used, front);
        return Insert::Done;
    }
    if slot >= slots.slots {
        return Insert::Beyond;
    }
    // The last entry leaves. If it was alone in its run, its quotient is no longer occupied.
    let last = slots.slot(line, slots.slots - 1);
    let quotient = 63 - (occupied | 1).leading_zeros();
    let was_alone = starts >> slots.slots & 1;
    let starts = starts & low(slots.slots) | 1 << slots.slots;
    let front = slots.front(starts, occupied & !(was_alone << quotient));
    kernel.open(line, at, slots.width, entry & slots.field, &slots.used, front);
    Insert::Evicted(u64::from(quotient) << slots.width | last)
}

/// Takes the entry out of this slot, which is one of the run.
#[inline(always)]
fn take(kernel: impl Select, line: &mut Line, slots: &Slots, run: &Run, slot: u32) {
    let is_last = run.len() == 1;
    let at = run.start + u32::from(!is_last);
    let starts = run.starts & low(at) | run.starts >> 1 & !low(at);
    let front = slots.front(starts, run.occupied & !(u64::from(is_last) << run.quotient));
    kernel.close(line, slots.position(slot), slots.width, &slots.used, front);
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
    Beyond,
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
        (None, slot) if is_beyond(slots, &run, slot) => Remove::Beyond,
        (None, _) => Remove::Absent,
    }
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

mod whole;
pub(crate) use whole::{DECODED, decode, encode};

#[cfg(test)]
mod tests;
