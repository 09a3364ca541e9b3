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
    /// Slots that are compared at once, and as many bits.
    per_word: u32,
    word_slots: u64,
    /// The bits of `starts`, and of `occupied` when shifted to the bottom.
    starts: u64,
    occupied: u64,
    /// The bits of a slot, and of its remainder.
    field: u64,
    remainder: u64,
    /// The lowest and the highest bit of each slot that is compared at once, and the bits of their remainders.
    ones: u64,
    tops: u64,
    remainders: u64,
    /// `tops - ones`.
    carry: u64,
    /// The bit where `occupied` begins, and 64 less that.
    shift: u32,
    unshift: u32,
    /// The bits of the first two words that belong to slots, and all bits up to the last slot.
    behind: [u64; 2],
    used: [u64; 8],
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
        let first = slots + 1 + quotients;
        let behind = u128::MAX << first;
        Slots {
            tag,
            width,
            slots,
            first,
            per_word,
            word_slots: low(per_word),
            starts: low(slots + 1),
            occupied: low(quotients),
            field: low(width),
            remainder: low(width) & !low(tag),
            ones,
            tops: ones << (width - 1),
            remainders: ones * (low(width) & !low(tag)),
            carry: (ones << (width - 1)) - ones,
            shift: slots + 1,
            unshift: 63 - slots,
            behind: [behind as u64, (behind >> 64) as u64],
            used: core::array::from_fn(|i| low((first + slots * width).saturating_sub(64 * i as u32))),
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

    #[inline(always)]
    fn position(&self, slot: u32) -> u32 {
        self.first + slot * self.width
    }

    #[inline(always)]
    fn slot(&self, line: &Line, slot: u32) -> u64 {
        window(line, self.position(slot)) & self.field
    }

    /// The slots from this one on, as many as are compared at once.
    #[inline(always)]
    fn lanes(&self, line: &Line, slot: u32) -> u64 {
        window(line, self.position(slot)) & self.remainders
    }

    /// The remainder of the entry in every lane.
    #[inline(always)]
    fn pattern(&self, entry: u64) -> u64 {
        (entry & self.remainder).wrapping_mul(self.ones)
    }

    /// The top bits of the lanes that are equal in both.
    #[inline(always)]
    fn equal(&self, lanes: u64, pattern: u64) -> u64 {
        let differ = lanes ^ pattern;
        // The top bit of a lane becomes zero if the whole lane is zero.
        !((differ & !self.tops).wrapping_add(self.carry) | differ) & self.tops
    }

    /// The top bits of the lanes that are less than those of the pattern.
    #[inline(always)]
    fn less(&self, lanes: u64, pattern: u64) -> u64 {
        // Lane by lane: the difference, without a borrow into the next lane; then whether it is negative.
        let differ = lanes ^ pattern;
        let difference = (lanes | self.tops).wrapping_sub(pattern & !self.tops) ^ (!differ & self.tops);
        ((!lanes & pattern) | (!differ & difference)) & self.tops
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

    /// The first of the set bits of `tops`, as many as the lowest bits of `count` are set; the distance between two
    /// of `tops`, and of the first from bit 0, is `width` (the first one bit less).
    #[inline(always)]
    fn first(self, tops: u64, width: u32, count: u64) -> u64 {
        tops & low(count.trailing_ones().saturating_mul(width))
    }

    /// Moves the bits from position `at` on up by `width`, 1 to 56, puts `value`, which has at most that many bits, into
    /// the gap, and clears all bits that are not `used`.
    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8]) {
        open(line, at, width, value, used);
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
pub(crate) fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8]) {
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
        self.slots > slots.word_slots
    }
}

#[inline(always)]
fn front(line: &Line, slots: &Slots) -> (u64, u64) {
    let (first, second) = (word(line, 0) ^ 1, word(line, 1));
    let occupied = first.wrapping_shr(slots.shift) | second.wrapping_shl(slots.unshift);
    (first & slots.starts, occupied & slots.occupied)
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

/// As [`search`], slot by slot.
#[cold]
#[inline(never)]
fn long_run(line: &Line, slots: &Slots, run: &Run, entry: u64) -> (Option<u32>, u32) {
    let remainder = entry & slots.remainder;
    let mut below = 0;
    for slot in run.start..run.start.saturating_add(run.len()) {
        let found = slots.slot(line, slot) & slots.remainder;
        if found == remainder {
            return (Some(slot), slot);
        }
        below += u32::from(found < remainder);
    }
    (None, run.start.saturating_add(below))
}

/// Where the entry's remainder is in its run, or else belongs: the first slot whose remainder is not below it.
#[inline(always)]
fn search(kernel: impl Select, line: &Line, slots: &Slots, run: &Run, entry: u64) -> (Option<u32>, u32) {
    if run.is_long(slots) {
        return long_run(line, slots, run, entry);
    }
    let (lanes, pattern) = (slots.lanes(line, run.start), slots.pattern(entry));
    let mine = kernel.first(slots.tops, slots.width, run.slots) & (run.rest & 1).wrapping_neg();
    let less = slots.less(lanes, pattern) & mine;
    let slot = run.start + less.count_ones();
    ((slots.equal(lanes, pattern) & mine != 0).then_some(slot), slot)
}

/// Whether an entry with this quotient and remainder is in the line; the second is true if that is not the whole
/// answer: [`find`] has it.
#[inline(always)]
pub(crate) fn test(kernel: impl Select, line: &Line, slots: &Slots, entry: u64) -> (bool, bool) {
    let run = run(kernel, line, slots, slots.quotient(entry));
    let equal = slots.equal(slots.lanes(line, run.start), slots.pattern(entry));
    let found = equal & kernel.first(slots.tops, slots.width, run.slots) != 0;
    (found & run.is_occupied(), run.is_last_of_full(slots) || run.is_long(slots))
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
    let (found, slot) = search(kernel, line, slots, &run, entry);
    if let Some(slot) = found {
        return Insert::Known(slot);
    }
    // The run gets longer, or one begins.
    let is_new = !run.rest & 1;
    let at = run.start + 1 - is_new as u32;
    let kept = run.starts & !(u64::MAX << (at & 63));
    let starts = kept | (run.starts ^ kept) << 1 | is_new << (at & 63);
    let occupied = run.occupied | 1 << run.quotient;
    if !run.is_full(slots) {
        kernel.open(line, slots.position(slot), slots.width, entry & slots.field, &slots.used);
        write_front(line, slots, starts, occupied);
        return Insert::Done;
    }
    if slot >= slots.slots {
        return Insert::Beyond;
    }
    // The last entry leaves. If it was alone in its run, its quotient is no longer occupied.
    let last = slots.slot(line, slots.slots - 1);
    kernel.open(line, slots.position(slot), slots.width, entry & slots.field, &slots.used);
    let quotient = 63 - (occupied | 1).leading_zeros();
    let was_alone = starts >> slots.slots & 1;
    let starts = starts & low(slots.slots) | 1 << slots.slots;
    write_front(line, slots, starts, occupied & !(was_alone << quotient));
    Insert::Evicted(u64::from(quotient) << slots.width | last)
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
    let front = [
        (starts & slots.starts ^ 1) | occupied.wrapping_shl(slots.shift),
        occupied.wrapping_shr(slots.unshift),
    ];
    for ((bytes, front), behind) in line.as_chunks_mut().0.iter_mut().zip(front).zip(slots.behind) {
        *bytes = (u64::from_le_bytes(*bytes) & behind | front).to_le_bytes();
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
#[inline(always)]
pub(crate) fn remove(kernel: impl Select, line: &mut Line, slots: &Slots, entry: u64) -> Remove {
    let run = run(kernel, line, slots, slots.quotient(entry));
    match search(kernel, line, slots, &run, entry) {
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

/// The most entries that [`decode`] writes, and some that mean nothing.
pub(crate) const DECODED: usize = 64;

/// Writes all entries of a line in order, each with `base` added. Returns how many there are; `out` is undefined from
/// there on.
#[inline(always)]
pub(crate) fn decode(line: &Line, slots: &Slots, base: u64, out: &mut [u64; DECODED]) -> usize {
    let (starts, mut occupied) = front(line, slots);
    let count = (63 - (starts | 1).leading_zeros()) as usize;
    // The quotient's part of an entry.
    let mut high = base;
    let mut at = 0;
    while at < count {
        let mut lanes = window(line, slots.position(at as u32));
        let end = count.min(at + slots.per_word as usize);
        for (slot, entry) in out.iter_mut().enumerate().take(end).skip(at) {
            let next = base.wrapping_add(u64::from(occupied.trailing_zeros()) << slots.width);
            let is_start = starts >> slot & 1 == 1;
            high = if is_start { next } else { high };
            occupied = if is_start { occupied & occupied.wrapping_sub(1) } else { occupied };
            *entry = high.wrapping_add(lanes & slots.field);
            lanes >>= slots.width;
        }
        at = end;
    }
    count
}

/// The line of these entries, each with `base` added; at most as many as there are slots.
#[inline(always)]
pub(crate) fn encode(slots: &Slots, base: u64, entries: &[u64]) -> Line {
    let mut words = [0u64; 9];
    let (mut starts, mut occupied, mut before) = (0, 0, u64::MAX);
    // Bits that have not been stored, below `used` of a word.
    let (mut bits, mut used, mut at) = (0, slots.first & 63, (slots.first >> 6) as usize);
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
    words[at.min(8)] = bits;
    let mut line = [0; 64];
    if let Some(words) = words.first_chunk() {
        store(&mut line, words);
    }
    write_front(&mut line, slots, starts | 1 << (entries.len() & 63), occupied);
    line
}

#[cfg(test)]
mod tests;
