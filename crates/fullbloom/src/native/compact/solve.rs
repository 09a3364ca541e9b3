//! Solving the linear systems of several lines at once.
//!
//! Each key of a line is one equation over the bits: the xor of the slots that its coefficients choose is its
//! fingerprint, in all columns alike. `L` lines are eliminated in lockstep: lane `l` of every vector belongs to line
//! `l`. The code has no instructions of any CPU in it; as part of a [`Task`] it is compiled for each kernel's, and
//! gives the same bits on all.
//!
//! The keys of a line come in the order of their priorities. At the first key that contradicts earlier ones the line
//! is full: its limit is that key's priority, and all keys from this priority on belong to the next layer. Slots that
//! no equation determines are zero. So the solution depends on the set of keys only.
//!
//! [`Task`]: crate::kernel::Task

use crate::probe::systems::{ALL, Coefficients, SLOTS};
use std::boxed::Box;
use std::vec::Vec;

/// Keys of a line that are looked at beyond its number of slots. When none of them contradicts, which no real set of
/// keys does, the line is full nevertheless.
const BEYOND: usize = 128;

/// A number of 32 bits for each line.
type Lanes<const L: usize> = [u32; L];

/// The equations of `L` lines, and the memory to solve them. Coefficients are `H` halves of words, two for each word: 32
/// and 31 slots. Right sides have `S` numbers of 32 bits.
pub(super) struct Systems<const H: usize, const S: usize, const L: usize> {
    /// Equation `i` of each line.
    rows: Vec<[Lanes<L>; H]>,
    sides: Vec<[Lanes<L>; S]>,
    /// The slot that equation `i` determines, or [`NONE`].
    slots: Vec<[u16; L]>,
    /// The equation that determines a slot: its lowest coefficient is this slot.
    pivots: Box<[[Lanes<L>; H]]>,
    /// Its right side; after solving, the bits of the slot in all columns.
    solved: Box<[[Lanes<L>; S]]>,
}

const NONE: u16 = u16::MAX;

/// The first slot of a half.
const fn first_of(half: usize) -> usize {
    half / 2 * SLOTS + half % 2 * 32
}

/// The slots of a half.
const fn slots_of(half: usize) -> usize {
    if half.is_multiple_of(2) { 32 } else { SLOTS - 32 }
}

/// What became of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Keys that belong to the line: the first so many.
    pub(super) keys: usize,
    pub(super) limit: u8,
}

impl<const H: usize, const S: usize, const L: usize> Systems<H, S, L> {
    pub(super) fn new() -> Self {
        let slots = H / 2 * SLOTS;
        Systems {
            rows: Vec::new(),
            sides: Vec::new(),
            slots: Vec::new(),
            pivots: vec![[[0; L]; H]; slots].into_boxed_slice(),
            solved: vec![[[0; L]; S]; slots].into_boxed_slice(),
        }
    }

    /// The number of keys of a line that are needed of this many.
    #[inline(always)]
    pub(super) fn needed(keys: usize) -> usize {
        keys.min(H / 2 * SLOTS + BEYOND)
    }

    /// Makes room for this many equations in each line.
    #[inline(always)]
    pub(super) fn begin(&mut self, equations: usize) {
        self.rows.clear();
        self.rows.resize(equations, [[0; L]; H]);
        self.sides.clear();
        self.sides.resize(equations, [[0; L]; S]);
        self.slots.clear();
        self.slots.resize(equations, [NONE; L]);
    }

    /// Sets an equation: the number that the coefficients follow from, and the right side.
    #[inline(always)]
    pub(super) fn set(&mut self, line: usize, number: usize, t: u64, side: u64) {
        let (row, sides) = (&mut self.rows[number], &mut self.sides[number]);
        let mut words = Coefficients::new(t);
        for pair in row.as_chunks_mut::<2>().0 {
            let word = words.next_word();
            pair[0][line] = word as u32;
            pair[1][line] = (word >> 32) as u32;
        }
        for (i, part) in sides.iter_mut().enumerate() {
            part[line] = (side >> (32 * i)) as u32;
        }
    }

    /// Solves the lines. `keys` of each line are set; `priorities` gives the priority of a line's key.
    #[inline(always)]
    pub(super) fn solve(&mut self, keys: [usize; L], priority: impl Fn(usize, usize) -> u8) -> [Kept; L] {
        let taken = self.eliminate(keys);
        let mut kept = [Kept { keys: 0, limit: ALL }; L];
        for (line, kept) in kept.iter_mut().enumerate() {
            let needed = Self::needed(keys[line]);
            kept.keys = keys[line];
            if taken[line] == keys[line] {
                continue;
            }
            kept.limit = priority(line, taken[line]);
            kept.keys = (0..taken[line]).rev().find(|&i| priority(line, i) < kept.limit).map_or(0, |i| i + 1);
            debug_assert!(taken[line] <= needed);
            for slots in &self.slots[kept.keys..taken[line]] {
                let slot = slots[line];
                if slot != NONE {
                    self.pivots[slot as usize].iter_mut().for_each(|half| half[line] = 0);
                    self.solved[slot as usize].iter_mut().for_each(|part| part[line] = 0);
                }
            }
        }
        self.substitute();
        kept
    }

    /// The number of keys of each line that do not contradict, up to the first that does.
    #[inline(always)]
    fn eliminate(&mut self, keys: [usize; L]) -> [usize; L] {
        let Systems { rows, sides, slots, pivots, solved } = self;
        pivots.fill([[0; L]; H]);
        solved.fill([[0; L]; S]);
        let mut taken = keys;
        let mut alive = [true; L];
        let mut left = L;
        // Slots of each half from this one on are not determined yet, in any line.
        let mut ends = [0usize; H];
        for (number, (row, side)) in rows.iter().zip(sides.iter()).enumerate() {
            if left == 0 {
                return taken;
            }
            let (mut row, mut side) = (*row, *side);
            for h in 0..H {
                let from = first_of(h);
                let pivots = &pivots[from..from + ends[h]];
                let solved = &solved[from..from + ends[h]];
                let mut bit = 1u32;
                for (pivot, right) in pivots.iter().zip(solved) {
                    // Loops over the lines inside, so that each is a few vector instructions. The halves before
                    // `h` of a pivot are zero.
                    let mask: Lanes<L> =
                        core::array::from_fn(|l| if row[h][l] & bit == 0 { 0 } else { u32::MAX });
                    for w in h..H {
                        for l in 0..L {
                            row[w][l] ^= pivot[w][l] & mask[l];
                        }
                    }
                    for s in 0..S {
                        for l in 0..L {
                            side[s][l] ^= right[s][l] & mask[l];
                        }
                    }
                    bit <<= 1;
                }
            }
            for l in 0..L {
                if !alive[l] {
                    continue;
                }
                if number >= keys[l] {
                    alive[l] = false;
                    left -= 1;
                    continue;
                }
                match (0..H).find(|&h| row[h][l] != 0) {
                    Some(h) => {
                        let k = row[h][l].trailing_zeros() as usize;
                        let slot = first_of(h) + k;
                        for w in h..H {
                            pivots[slot][w][l] = row[w][l];
                        }
                        for s in 0..S {
                            solved[slot][s][l] = side[s][l];
                        }
                        slots[number][l] = slot as u16;
                        ends[h] = ends[h].max(k + 1);
                    }
                    None if (0..S).any(|s| side[s][l] != 0) => {
                        taken[l] = number;
                        alive[l] = false;
                        left -= 1;
                    }
                    None => {}
                }
            }
        }
        for l in 0..L {
            if alive[l] && keys[l] > rows.len() {
                taken[l] = rows.len();
            }
        }
        taken
    }

    /// From the equations of the slots to the slots themselves, last one first.
    #[inline(always)]
    fn substitute(&mut self) {
        let Systems { pivots, solved, .. } = self;
        for half in (0..H).rev() {
            for k in (0..slots_of(half)).rev() {
                let slot = first_of(half) + k;
                let pivot = &pivots[slot];
                let (before, after) = solved.split_at_mut(slot + 1);
                let mut side = before[slot];
                let mut later = after.iter();
                for (h, lanes) in pivot.iter().enumerate().skip(half) {
                    let first = if h == half { k + 1 } else { 0 };
                    let mut bit = 1u32.checked_shl(first as u32).unwrap_or(0);
                    for solved in later.by_ref().take(slots_of(h) - first) {
                        let mask: Lanes<L> =
                            core::array::from_fn(|l| if lanes[l] & bit == 0 { 0 } else { u32::MAX });
                        for s in 0..S {
                            for l in 0..L {
                                side[s][l] ^= solved[s][l] & mask[l];
                            }
                        }
                        bit <<= 1;
                    }
                }
                before[slot] = side;
            }
        }
    }

    /// The first eight bits of a slot.
    #[inline(always)]
    pub(super) fn byte(&self, line: usize, slot: usize) -> u8 {
        self.solved[slot][0][line] as u8
    }

    /// Eight words of a line: bit `k` of word `j` is bit `8 * eighth + j` of slot `k` of the word number `v` of a column,
    /// for the columns that are in bits `8 * eighth` to `8 * eighth + 7`.
    #[inline(always)]
    pub(super) fn planes(&self, line: usize, v: usize, eighth: usize) -> [u64; 8] {
        let mut bytes = [0u8; 64];
        for (byte, solved) in bytes.iter_mut().zip(&self.solved[v * SLOTS..(v + 1) * SLOTS]) {
            *byte = (solved[eighth / 4][line] >> (eighth % 4 * 8)) as u8;
        }
        let mut planes = [[0u8; 8]; 8];
        for (i, eight) in bytes.as_chunks().0.iter().enumerate() {
            for (plane, byte) in planes.iter_mut().zip(transposed(u64::from_le_bytes(*eight)).to_le_bytes()) {
                plane[i] = byte;
            }
        }
        planes.map(u64::from_le_bytes)
    }
}

/// The transpose of a matrix of 8 by 8 bits, a byte for each row.
#[inline(always)]
fn transposed(x: u64) -> u64 {
    let mut x = x;
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (x ^ x >> shift) & mask;
        x ^= swapped ^ swapped << shift;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_matrix_has_rows_and_columns_exchanged() {
        for (row, column) in (0..64).map(|i| (i / 8, i % 8)) {
            assert_eq!(transposed(1 << (8 * row + column)), 1 << (8 * column + row));
        }
    }
}
