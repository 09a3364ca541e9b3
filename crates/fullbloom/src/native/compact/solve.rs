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

use crate::probe::systems::{ALL, SLOTS};
use std::boxed::Box;
use std::vec::Vec;

/// Keys of a line that are looked at beyond its number of slots. When none of them contradicts, which no real set of
/// keys does, the line is full nevertheless.
const BEYOND: usize = 128;

/// Words of coefficients of one key in each line.
type Row<const W: usize, const L: usize> = [[u64; L]; W];

/// The equations of `L` lines, and the memory to solve them.
pub(super) struct Systems<const W: usize, const L: usize> {
    /// Equation `i` of each line.
    rows: Vec<Row<W, L>>,
    sides: Vec<[u64; L]>,
    /// The slot that equation `i` determines, or [`NONE`].
    slots: Vec<[u16; L]>,
    /// The equation that determines a slot: its lowest coefficient is this slot.
    pivots: Box<[Row<W, L>]>,
    /// Its right side; after solving, the bits of the slot in all columns.
    pub(super) solved: Box<[[u64; L]]>,
}

const NONE: u16 = u16::MAX;

/// What became of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Keys that belong to the line: the first so many.
    pub(super) keys: usize,
    pub(super) limit: u8,
}

impl<const W: usize, const L: usize> Systems<W, L> {
    pub(super) fn new() -> Self {
        let slots = W * SLOTS;
        Systems {
            rows: Vec::new(),
            sides: Vec::new(),
            slots: Vec::new(),
            pivots: vec![[[0; L]; W]; slots].into_boxed_slice(),
            solved: vec![[0; L]; slots].into_boxed_slice(),
        }
    }

    /// The number of keys of a line that are needed of this many.
    #[inline(always)]
    pub(super) fn needed(keys: usize) -> usize {
        keys.min(W * SLOTS + BEYOND)
    }

    /// Makes room for this many equations in each line.
    #[inline(always)]
    pub(super) fn begin(&mut self, equations: usize) {
        self.rows.clear();
        self.rows.resize(equations, [[0; L]; W]);
        self.sides.clear();
        self.sides.resize(equations, [0; L]);
        self.slots.clear();
        self.slots.resize(equations, [NONE; L]);
    }

    /// Sets an equation: coefficients and right side.
    #[inline(always)]
    pub(super) fn set(&mut self, line: usize, number: usize, coefficients: [u64; W], side: u64) {
        let (row, sides) = (&mut self.rows[number], &mut self.sides[number]);
        for (word, coefficient) in row.iter_mut().zip(coefficients) {
            word[line] = coefficient;
        }
        sides[line] = side;
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
                    self.pivots[slot as usize].iter_mut().for_each(|word| word[line] = 0);
                    self.solved[slot as usize][line] = 0;
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
        pivots.fill([[0; L]; W]);
        solved.fill([0; L]);
        let mut taken = keys;
        let mut alive = [true; L];
        // Slots of each word from this one on are not determined yet, in any line.
        let mut ends = [0usize; W];
        for (number, (row, side)) in rows.iter().zip(sides.iter()).enumerate() {
            let (mut row, mut side) = (*row, *side);
            for v in 0..W {
                let from = v * SLOTS;
                let pivots = &pivots[from..from + ends[v]];
                let solved = &solved[from..from + ends[v]];
                let mut bit = 1u64;
                for (pivot, right) in pivots.iter().zip(solved) {
                    // Loops over the lines inside, so that each is a few vector instructions. The words before
                    // `v` of a pivot are zero.
                    let mask: [u64; L] =
                        core::array::from_fn(|l| if row[v][l] & bit == 0 { 0 } else { u64::MAX });
                    for w in 0..W {
                        for l in 0..L {
                            row[w][l] ^= pivot[w][l] & mask[l];
                        }
                    }
                    for l in 0..L {
                        side[l] ^= right[l] & mask[l];
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
                    continue;
                }
                match (0..W).find(|&v| row[v][l] != 0) {
                    Some(v) => {
                        let k = row[v][l].trailing_zeros() as usize;
                        let slot = v * SLOTS + k;
                        for w in v..W {
                            pivots[slot][w][l] = row[w][l];
                        }
                        solved[slot][l] = side[l];
                        slots[number][l] = slot as u16;
                        ends[v] = ends[v].max(k + 1);
                    }
                    None if side[l] != 0 => {
                        taken[l] = number;
                        alive[l] = false;
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
        for slot in (0..W * SLOTS).rev() {
            let pivot = &pivots[slot];
            let (before, after) = solved.split_at_mut(slot + 1);
            let mut side = before[slot];
            let mut later = after.iter();
            for (v, words) in pivot.iter().enumerate().skip(slot / SLOTS) {
                let first = if v == slot / SLOTS { slot % SLOTS + 1 } else { 0 };
                let mut bit = 1u64 << first;
                for solved in later.by_ref().take(SLOTS - first) {
                    for l in 0..L {
                        let mask = if words[l] & bit == 0 { 0 } else { u64::MAX };
                        side[l] ^= solved[l] & mask;
                    }
                    bit <<= 1;
                }
            }
            before[slot] = side;
        }
    }

    /// Eight words of a line: bit `k` of word `j` is bit `8 * eighth + j` of slot `k` of the word number `v` of a column,
    /// for the columns that are in bits `8 * eighth` to `8 * eighth + 7`.
    #[inline(always)]
    pub(super) fn planes(&self, line: usize, v: usize, eighth: usize) -> [u64; 8] {
        let mut bytes = [0u8; 64];
        for (byte, solved) in bytes.iter_mut().zip(&self.solved[v * SLOTS..(v + 1) * SLOTS]) {
            *byte = (solved[line] >> (8 * eighth)) as u8;
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
