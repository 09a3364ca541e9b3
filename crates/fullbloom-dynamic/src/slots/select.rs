//! The CPU-specific primitives, with portable definitions.

use super::{GROUP, Line, Runs, Slots, low, matches, word};
use fullbloom_core::kernel::Body;

/// The primitives. Each method body is its definition, which kernels for a CPU replace.
pub(crate) trait Select: Body {
    /// Of the set bits of `word`, only the ones number `rank` and `rank + 1`, counted from 0; `rank` is below
    /// 64.
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        select_pair(word, ones_of_bytes(word), rank)
    }

    /// The first of the set bits of `tops`, as many as the lowest bits of `count` are set; the distance
    /// between two of `tops`, and of the first from bit 0, is `width` (the first one bit less).
    #[inline(always)]
    fn first(self, tops: u64, width: u32, count: u64) -> u64 {
        tops & low(count.trailing_ones().saturating_mul(width))
    }

    /// The lowest `bits` bits, below 64.
    #[inline(always)]
    fn lowest(self, word: u64, bits: u32) -> u64 {
        word & ((1 << (bits & 63)) - 1)
    }

    /// Which keys have a slot in their run with their remainder, and which runs have no bit from `full` on.
    #[inline(always)]
    fn matches(self, slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
        matches(slots, runs, entries)
    }

    /// Moves the bits from position `at` on, below 64, up by one.
    #[inline(always)]
    fn widen(self, word: u64, at: u32) -> u64 {
        word & low(at) | (word & !low(at)) << 1
    }

    /// Moves the bits from position `at` on, at most [`FARTHEST`], up by `width`, 1 to 56, and puts `value`,
    /// which has at most that many bits, into the gap. Then clears all bits that are not `used`, and sets
    /// those of `metadata` in the last two words.
    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
        open(line, at, width, value, used, metadata);
    }

    /// Clears all bits that are not `used`, then moves the bits from position `at + width` on down by
    /// `width`, and sets those of `metadata` in the last two words.
    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
        close(line, at, width, used, metadata);
    }
}

/// The set bits of each byte of a word, in that byte.
#[inline(always)]
fn ones_of_bytes(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f
}

/// The definition of [`Select::pair`], without a branch: first the byte that holds the bit, then the bit.
/// `ones` has the set bits of each byte.
#[inline(always)]
pub(crate) fn select_pair(word: u64, ones: u64, rank: u32) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // Each byte of the sums counts the bits up to and with that byte. Those at most `rank` are the first
    // ones.
    let at_most = |sums: u64, rank: u64| (((rank * ONES) | TOPS) - sums) & TOPS;
    let sums = ones.wrapping_mul(ONES);
    let byte = (at_most(sums, rank.into()) ^ TOPS).trailing_zeros() & !7;
    // The bits of that byte, each in a byte of its own, if it is there.
    let bits = (word.wrapping_shr(byte) & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let each = (bits + (TOPS - ONES)) >> 7 & ONES;
    let before = (sums << 8).wrapping_shr(byte) & 0xff;
    let rank = u64::from(rank).wrapping_sub(before) & 7;
    let bit = (at_most(each.wrapping_mul(ONES), rank) ^ TOPS).trailing_zeros() >> 3;
    // That bit and those above it; none if there are not so many.
    let rest = if byte == 64 { 0 } else { word & u64::MAX.wrapping_shl(byte + bit) };
    let above = rest & rest.wrapping_sub(1);
    rest ^ (above & above.wrapping_sub(1))
}

/// The definition of [`Select::open`].
#[inline(always)]
fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
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
    store(line, moved, metadata);
}

/// The definition of [`Select::close`].
#[inline(always)]
fn close(line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
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
    store(line, moved, metadata);
}

/// Writes these words, with the bits of `metadata` in the last two.
#[inline(always)]
pub(crate) fn store(line: &mut Line, mut words: [u64; 8], metadata: [u64; 2]) {
    words[6] |= metadata[0];
    words[7] |= metadata[1];
    for (bytes, word) in line.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

impl Select for fullbloom_core::kernel::scalar::Scalar {}
