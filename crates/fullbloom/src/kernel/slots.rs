//! A line of sorted fingerprints with tags: the native kind `dynamic`.
//!
//! ```text
//!   | starts: S + 1 bits | occupied: Q bits | S slots of R + T bits: a remainder, and below it a tag | unused |
//! ```
//!
//! An entry is a number whose upper bits are the quotient, then the remainder, then the tag. Entries are sorted;
//! no two have the same quotient and remainder. Bit `q` of `occupied` is set if an entry has the quotient `q`. The
//! entries of one quotient are a run of slots. Bit `i` of `starts` is set where a run begins at slot `i`, and
//! after the last slot in use. Bit 0 of the line is stored inverted, so that a line of zeros is empty. Unused slots are
//! zero, so a line is a function of its entries.
//!
//! A lookup counts the occupied quotients below its own, finds the run of that number with [`Select`], and compares
//! the slots of the run with one word operation. No function here panics, whatever the bytes of the line are.

use super::lines::Line;

/// Bits of a line.
const LINE_BITS: u32 = 512;

/// The most slots of a line: `starts` and its shifts fit in a word.
pub(crate) const MAX_SLOTS: u32 = 62;

/// Bits that an unaligned load of eight bytes gives at any bit position.
const WINDOW: u32 = 57;

/// How a line is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Bits of a tag.
    tag: u32,
    /// Bits of a slot.
    width: u32,
    /// Slots.
    slots: u32,
    /// The bit where the slots begin.
    first: u32,
    /// Slots that are compared at once.
    per_word: u32,
    /// The bits of `starts`, and of `occupied` when shifted to the bottom.
    starts: u64,
    occupied: u64,
    /// The bits of a slot.
    field: u64,
    /// The lowest and the highest bit of each slot that is compared at once, and the bits of their remainders.
    ones: u64,
    tops: u64,
    remainders: u64,
}

impl Slots {
    /// The division with the most slots, for entries whose quotient and remainder together are below `interval`.
    pub(crate) fn new(interval: u64, tag: u32) -> Slots {
        let widest = WINDOW - 1 - tag;
        let divide = |remainder: u32| {
            let quotients = ((interval.max(1) - 1) >> remainder) + 1;
            let width = remainder + tag;
            let slots =
                ((LINE_BITS - 1).saturating_sub(quotients.min(512) as u32) / (width + 1)).min(MAX_SLOTS);
            (quotients <= 64).then_some((slots, remainder, quotients as u32))
        };
        let best =
            (1..=widest).filter_map(divide).reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (slots, remainder, quotients) = best.unwrap_or((1, widest, 64));
        let width = remainder + tag;
        let per_word = WINDOW / width;
        let ones = (0..per_word).fold(0, |lanes, i| lanes | 1 << (i * width));
        Slots {
            tag,
            width,
            slots,
            first: slots + 1 + quotients,
            per_word,
            starts: low(slots + 1),
            occupied: low(quotients),
            field: low(width),
            ones,
            tops: ones << (width - 1),
            remainders: ones * (low(width) & !low(tag)),
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

    /// The remainder of the entry in every lane.
    #[inline(always)]
    fn pattern(&self, entry: u64) -> u64 {
        (entry & self.field & !low(self.tag)).wrapping_mul(self.ones)
    }

    #[inline(always)]
    fn position(&self, slot: u32) -> u32 {
        self.first + slot * self.width
    }

    #[inline(always)]
    fn slot(&self, line: &Line, slot: u32) -> u64 {
        window(line, self.position(slot)) & self.field
    }

    /// The mask of the first lanes, at most `slots`.
    #[inline(always)]
    fn lanes(&self, slots: u32) -> u64 {
        low(slots.min(self.per_word) * self.width)
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

/// The bits from position `at` on: at least [`WINDOW`], or all that the line has.
#[inline(always)]
fn window(line: &Line, at: u32) -> u64 {
    let byte = (at >> 3).min(56);
    let bytes = line[byte as usize..].first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(bytes) >> ((at - 8 * byte) & 63)
}

/// What differs between CPUs.
pub(crate) trait Select: Copy {
    /// Of the set bits of `word`, only the ones number `rank` and `rank + 1`, counted from 0.
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        select_pair(word, rank)
    }

    /// Moves the bits from position `at` on up by `width`, 1 to 56, and puts `value` into the gap. Bits that leave
    /// the line are lost.
    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64) {
        open(line, at, width, value);
    }

    /// Moves the bits from position `at + width` on down by `width`; zeros follow.
    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32) {
        close(line, at, width);
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
    let rank = rank.min(64);
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
pub(crate) fn open(line: &mut Line, at: u32, width: u32, value: u64) {
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
    store(line, &moved);
}

/// The definition of [`Select::close`].
#[inline(always)]
pub(crate) fn close(line: &mut Line, at: u32, width: u32) {
    let words: [u64; 9] = core::array::from_fn(|i| if i < 8 { word(line, i) } else { 0 });
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
    store(line, &moved);
}

#[inline(always)]
fn store(line: &mut Line, words: &[u64; 8]) {
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
    start: u32,
    end: u32,
}

impl Run {
    #[inline(always)]
    fn is_occupied(&self) -> bool {
        self.occupied >> self.quotient & 1 == 1
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        if self.is_occupied() { self.end.wrapping_sub(self.start) & 63 } else { 0 }
    }
}

#[inline(always)]
fn front(line: &Line, slots: &Slots) -> (u64, u64) {
    let (first, second) = (word(line, 0) ^ 1, word(line, 1));
    let occupied = first >> (slots.slots + 1) | second << 1 << (62 - slots.slots);
    (first & slots.starts, occupied & slots.occupied)
}

#[inline(always)]
fn run(kernel: impl Select, line: &Line, slots: &Slots, quotient: u32) -> Run {
    let (starts, occupied) = front(line, slots);
    let rank = (occupied & ((1 << quotient) - 1)).count_ones();
    let pair = kernel.pair(starts, rank);
    let (start, end) = (pair.trailing_zeros(), 63u32.wrapping_sub(pair.leading_zeros()));
    Run { starts, occupied, quotient, start, end }
}

/// The slot of the run that holds this remainder.
#[inline(always)]
fn equal(line: &Line, slots: &Slots, run: &Run, entry: u64) -> Option<u32> {
    let pattern = slots.pattern(entry);
    let (mut slot, mut left) = (run.start, run.len());
    loop {
        let lanes = (window(line, slots.position(slot)) ^ pattern) & slots.remainders;
        // The top bit of a lane becomes zero if the whole lane is zero.
        let others = (lanes & !slots.tops).wrapping_add(slots.tops - slots.ones) | lanes;
        let equal = !others & slots.tops & slots.lanes(left);
        if equal != 0 {
            return Some(slot + equal.trailing_zeros() / slots.width);
        }
        if left <= slots.per_word {
            return None;
        }
        (slot, left) = (slot + slots.per_word, left - slots.per_word);
    }
}

/// The first slot of the run, or after it, whose remainder is not below this one.
#[inline(always)]
fn lower_bound(line: &Line, slots: &Slots, run: &Run, entry: u64) -> u32 {
    let y = slots.pattern(entry);
    let (mut slot, mut left, mut below) = (run.start, run.len(), run.start);
    loop {
        let x = window(line, slots.position(slot)) & slots.remainders;
        // Lane by lane: x - y, without a borrow into the next lane; then whether it is negative.
        let difference = (x | slots.tops).wrapping_sub(y & !slots.tops) ^ ((x ^ !y) & slots.tops);
        let less = (!x & y) | (!(x ^ y) & difference);
        below += (less & slots.tops & slots.lanes(left)).count_ones();
        if left <= slots.per_word {
            return below;
        }
        (slot, left) = (slot + slots.per_word, left - slots.per_word);
    }
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
    match equal(line, slots, &run, entry) {
        Some(slot) => Find::At(slot),
        None if is_beyond(line, slots, &run, entry) => Find::Beyond,
        None => Find::Absent,
    }
}

/// Whether the line is full and has only entries below this one.
#[inline(always)]
fn is_beyond(line: &Line, slots: &Slots, run: &Run, entry: u64) -> bool {
    if run.starts >> slots.slots == 0 || run.occupied >> run.quotient >> 1 != 0 {
        return false;
    }
    !run.is_occupied() || slots.slot(line, slots.slots - 1) >> slots.tag < (entry & slots.field) >> slots.tag
}

/// The tag in this slot.
#[inline(always)]
pub(crate) fn tag(line: &Line, slots: &Slots, slot: u32) -> u64 {
    slots.slot(line, slot) & low(slots.tag)
}

/// Changes the tag in this slot.
pub(crate) fn set_tag(line: &mut Line, slots: &Slots, slot: u32, tag: u64) {
    let at = slots.position(slot);
    let byte = (at >> 3).min(56);
    if let Some(bytes) = line[byte as usize..].first_chunk_mut() {
        let shift = (at - 8 * byte) & 63;
        let mask = low(slots.tag) << shift;
        *bytes = (u64::from_le_bytes(*bytes) & !mask | tag << shift & mask).to_le_bytes();
    }
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

/// Inserts an entry, unless one with its quotient and remainder is there. A full line keeps its least entries.
#[inline(always)]
pub(crate) fn insert(kernel: impl Select, line: &mut Line, slots: &Slots, entry: u64) -> Insert {
    let run = run(kernel, line, slots, slots.quotient(entry));
    if let Some(slot) = equal(line, slots, &run, entry) {
        return Insert::Known(slot);
    }
    if run.starts >> slots.slots == 0 {
        put(kernel, line, slots, &run, entry);
        return Insert::Done;
    }
    insert_full(kernel, line, slots, &run, entry)
}

#[cold]
#[inline(never)]
fn insert_full(kernel: impl Select, line: &mut Line, slots: &Slots, found: &Run, entry: u64) -> Insert {
    if is_beyond(line, slots, found, entry) {
        return Insert::Beyond;
    }
    let last = slots.slots - 1;
    let quotient = 63u32.wrapping_sub(found.occupied.leading_zeros()) & 63;
    let evicted = u64::from(quotient) << slots.width | slots.slot(line, last);
    take(kernel, line, slots, &run(kernel, line, slots, quotient), last);
    put(kernel, line, slots, &run(kernel, line, slots, slots.quotient(entry)), entry);
    Insert::Evicted(evicted)
}

/// Inserts an entry that is not there into a line that is not full.
#[inline(always)]
fn put(kernel: impl Select, line: &mut Line, slots: &Slots, run: &Run, entry: u64) {
    let slot = lower_bound(line, slots, run, entry);
    kernel.open(line, slots.position(slot), slots.width, entry & slots.field);
    // The run gets longer, or one begins.
    let is_new = !run.is_occupied();
    let at = run.start + u32::from(!is_new);
    let kept = run.starts & low(at);
    let starts = kept | (run.starts ^ kept) << 1 | u64::from(is_new) << (at & 63);
    write_front(line, slots, starts, run.occupied | 1 << run.quotient);
}

/// Takes the entry out of this slot, which is one of the run.
#[inline(always)]
fn take(kernel: impl Select, line: &mut Line, slots: &Slots, run: &Run, slot: u32) {
    kernel.close(line, slots.position(slot), slots.width);
    let is_last = run.len() == 1;
    let at = run.start + u32::from(!is_last);
    let starts = run.starts & low(at) | run.starts >> 1 & !low(at);
    let occupied = run.occupied & !(u64::from(is_last) << run.quotient);
    write_front(line, slots, starts, occupied);
}

#[inline(always)]
fn write_front(line: &mut Line, slots: &Slots, starts: u64, occupied: u64) {
    let front = u128::from(starts & slots.starts ^ 1) | u128::from(occupied) << (slots.slots + 1);
    let mask = (1u128 << slots.first) - 1;
    if let Some(bytes) = line.first_chunk_mut() {
        *bytes = (u128::from_le_bytes(*bytes) & !mask | front).to_le_bytes();
    }
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
}

/// Removes the entry with this quotient and remainder.
pub(crate) fn remove(kernel: impl Select, line: &mut Line, slots: &Slots, entry: u64) -> Remove {
    let run = run(kernel, line, slots, slots.quotient(entry));
    match equal(line, slots, &run, entry) {
        Some(slot) => {
            take(kernel, line, slots, &run, slot);
            if run.starts >> slots.slots == 0 { Remove::Done } else { Remove::DoneFull }
        }
        None if is_beyond(line, slots, &run, entry) => Remove::Beyond,
        None => Remove::Absent,
    }
}

/// The least entry of the line that is not below this one.
pub(crate) fn at_least(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> Option<u64> {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let slot = lower_bound(line, slots, &run, entry);
    if slot < run.start + run.len() {
        return Some(u64::from(run.quotient) << slots.width | slots.slot(line, slot));
    }
    let above = run.occupied >> run.quotient >> 1;
    if above == 0 {
        return None;
    }
    let quotient = u64::from(run.quotient) + 1 + u64::from(above.trailing_zeros());
    Some(quotient << slots.width | slots.slot(line, slot))
}

/// Calls `sink` with all entries of a line, in order.
#[inline(always)]
pub(crate) fn entries(line: &Line, slots: &Slots, mut sink: impl FnMut(u64)) {
    let (starts, mut occupied) = front(line, slots);
    let count = (64 - starts.leading_zeros()).saturating_sub(1);
    let mut quotient = 0;
    for slot in 0..count {
        let is_start = starts >> slot & 1 == 1;
        let next = occupied.trailing_zeros();
        quotient = if is_start { next } else { quotient };
        occupied = if is_start { occupied & occupied.wrapping_sub(1) } else { occupied };
        sink(u64::from(quotient) << slots.width | slots.slot(line, slot));
    }
}

/// The line of these entries, each with `base` added; at most as many as there are slots.
#[inline(always)]
pub(crate) fn encode(slots: &Slots, base: u64, entries: &[u64]) -> Line {
    let mut words = [0u64; 9];
    let (mut starts, mut occupied, mut before) = (0, 0, u64::MAX);
    for (slot, entry) in entries.iter().enumerate() {
        let entry = entry - base;
        let quotient = entry >> slots.width;
        starts |= u64::from(quotient != before) << slot;
        occupied |= 1 << (quotient & 63);
        before = quotient;
        let (at, field) = (slots.position(slot as u32), entry & slots.field);
        words[(at >> 6) as usize & 7] |= field << (at & 63);
        words[((at >> 6) as usize & 7) + 1] |= field >> 1 >> (63 - (at & 63));
    }
    let mut line = [0; 64];
    if let Some(words) = words.first_chunk() {
        store(&mut line, words);
    }
    write_front(&mut line, slots, starts | 1 << entries.len(), occupied);
    line
}

#[cfg(test)]
mod tests;
