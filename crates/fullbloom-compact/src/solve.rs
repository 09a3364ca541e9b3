//! Solving the linear system of a line.
//!
//! Each key of a line is one equation over bits: the sum of the slots that it chooses is its fingerprint, in
//! all columns alike. The keys come in the order of their `z`, and so of their priorities. At the first key
//! whose equation depends on those before it the line is full.
//!
//! Every equation that was added determines one slot, the lowest that the equations before it leave in it.
//! The entries of the determined slots are kept reduced: each is a sum of slots that are still free, the
//! constant slots 63, and a right side. So a key's equation is reduced by adding the entries of the few slots
//! that it chooses, and in the end the right sides are the slots: the free ones are zero. The solution
//! depends on the set of keys only.
//!
//! The slots of a part are two halves. The lower halves are determined first; from then on they are zero in
//! all entries, and are left out. The loops over entries are a few vector instructions, whatever the CPU has.

use crate::probe::{SLOTS, chosen, column_bits, picks};

/// The slots of a part, with the constant one.
const PART: usize = SLOTS + 1;

/// A half of the slots of a part.
const HALF: usize = 32;

/// The constant slot in the upper half of a part.
const CONSTANT: u32 = 1 << 31;

/// Entries that are updated at a time.
const BLOCK: usize = 16;

/// The equations of a line whose parts have `H` halves, two each. `N` is the number of their slots, the right
/// sides have `S` numbers of 32 bits.
pub(crate) struct System<const H: usize, const N: usize, const S: usize> {
    /// Half `h` of each entry: the slots of this half in its sum. Then those of the free slots, which are
    /// themselves.
    halves: [[[u32; N]; 2]; H],
    /// The right sides, a bit for each column; those of free slots are zero.
    sides: [[[u32; N]; 2]; S],
    /// The entry of a slot; `N` and more if it is free.
    entries: [u16; N],
    /// The slot of an entry.
    slots: [u16; N],
    /// The slots that no equation determines yet, and the constant ones.
    free: [u32; H],
    /// The number of entries: equations that were added.
    len: usize,
}

/// An equation.
#[derive(Clone, Copy)]
struct Row<const H: usize, const S: usize> {
    halves: [u32; H],
    sides: [u32; S],
}

impl<const H: usize, const N: usize, const S: usize> System<H, N, S> {
    /// The entries of free slots.
    const FREE: [u16; N] = {
        let (mut free, mut slot) = ([0; N], 0);
        while slot < N {
            free[slot] = (N + slot) as u16;
            slot += 1;
        }
        free
    };

    pub(crate) fn new() -> Self {
        const { assert!(N == HALF * H && N.is_power_of_two() && S <= 2) };
        let (mut halves, sides) = ([[[0; N]; 2]; H], [[[0; N]; 2]; S]);
        (0..N).for_each(|slot| halves[slot / HALF][1][slot] = 1 << (slot % HALF));
        System { halves, sides, entries: Self::FREE, slots: [0; N], free: [u32::MAX; H], len: 0 }
    }

    /// Removes all equations.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.entries = Self::FREE;
        self.free = [u32::MAX; H];
        self.len = 0;
    }

    /// Adds the equation of the key with this `t` and the right side, unless it depends on those that are
    /// there.
    #[inline(always)]
    pub(crate) fn add<const W: usize>(&mut self, t: u64, side: u64) -> bool {
        match self.free[0] {
            0 => self.add_from::<W, 1>(t, side),
            _ => self.add_from::<W, 0>(t, side),
        }
    }

    /// The same when no slot of the halves before `FROM` is free.
    #[inline(always)]
    fn add_from<const W: usize, const FROM: usize>(&mut self, t: u64, side: u64) -> bool {
        let mut row = Row { halves: [0; H], sides: core::array::from_fn(|i| (side >> (32 * i)) as u32) };
        for (part, slot) in chosen::<W>(picks::<W>(t)) {
            let entry = self.entries[(part * PART + slot) % N] as usize % (2 * N);
            for h in FROM..H {
                row.halves[h] ^= self.halves[h].as_flattened()[entry];
            }
            for (side, sides) in row.sides.iter_mut().zip(&self.sides) {
                *side ^= sides.as_flattened()[entry];
            }
        }
        let mut halves = FROM..H;
        let not_constant = |h: usize| if h % 2 == 1 { !CONSTANT } else { u32::MAX };
        let Some(half) = halves.find(|&h| row.halves[h] & not_constant(h) != 0) else { return false };
        let bit = row.halves[half].trailing_zeros();
        if FROM == 0 && half == 0 {
            self.eliminate::<0>(half, bit, &row);
        } else {
            self.eliminate::<1>(half, bit, &row);
        }
        self.free[half] &= !(1 << bit);
        row.halves[half] &= !(1 << bit);
        let entry = self.len % N;
        for (halves, half) in self.halves.iter_mut().zip(row.halves) {
            halves[0][entry] = half;
        }
        for (sides, side) in self.sides.iter_mut().zip(row.sides) {
            sides[0][entry] = side;
        }
        let slot = half * HALF + bit as usize;
        self.entries[slot % N] = entry as u16;
        self.slots[entry] = slot as u16;
        self.len += 1;
        true
    }

    /// Adds an equation to all entries that have this slot in their sum. The halves before `FROM` are zero in
    /// it.
    #[inline(always)]
    fn eliminate<const FROM: usize>(&mut self, half: usize, bit: u32, row: &Row<H, S>) {
        let half = if H == 2 { FROM } else { half % H };
        for block in 0..self.len.div_ceil(BLOCK).min(N / BLOCK) {
            let entries: &[u32; BLOCK] = &self.halves[half][0].as_chunks().0[block];
            // All ones where the slot is in the sum.
            let masks = entries.map(|entry| ((entry << (31 - bit)) as i32 >> 31) as u32);
            let add = |to: &mut [u32; N], number: u32| {
                let to: &mut [u32; BLOCK] = &mut to.as_chunks_mut().0[block];
                for (to, mask) in to.iter_mut().zip(masks) {
                    *to ^= number & mask;
                }
            };
            for h in FROM..H {
                // Of many halves, most are zero.
                if H == 2 || row.halves[h] != 0 {
                    add(&mut self.halves[h][0], row.halves[h]);
                }
            }
            for s in 0..S {
                add(&mut self.sides[s][0], row.sides[s]);
            }
        }
    }

    /// The slots that are determined, and their bits in the columns of a line with this limit. Slot `k` of
    /// part `v` is number `64 * v + k`.
    #[inline(always)]
    pub(crate) fn solution(&self, limit: u8) -> impl Iterator<Item = (usize, u64)> {
        let parts = H / 2;
        (0..self.len.min(N)).map(move |entry| {
            let side = (0..S).fold(0, |side, s| side | u64::from(self.sides[s][0][entry]) << (32 * s));
            let constant = (0..parts).fold(0, |sum, v| {
                let chosen = (self.halves[2 * v + 1][0][entry] as i32 >> 31) as u8;
                sum ^ limit >> v & column_bits(parts) & chosen
            });
            (self.slots[entry] as usize % N, side ^ u64::from(constant))
        })
    }
}

/// Eight words: bit `k` of word `j` is bit `first + j` of slot `k`.
#[inline(always)]
pub(crate) fn planes(slots: &[u64; PART], first: u32) -> [u64; 8] {
    let mut planes = [[0u8; 8]; 8];
    for (i, eight) in slots.as_chunks::<8>().0.iter().enumerate() {
        let bytes = eight.map(|slot| (slot >> first) as u8);
        for (plane, byte) in planes.iter_mut().zip(transposed(u64::from_le_bytes(bytes)).to_le_bytes()) {
            plane[i] = byte;
        }
    }
    planes.map(u64::from_le_bytes)
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
        let slots: [u64; 64] = core::array::from_fn(|k| (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let planes = planes(&slots, 24);
        for (k, j) in (0..64).flat_map(|k| (0..8).map(move |j| (k, j))) {
            assert_eq!(planes[j] >> k & 1, slots[k] >> (24 + j) & 1);
        }
    }

    /// Equations from a stream of numbers until the line is full.
    fn fill<const W: usize, const H: usize, const N: usize, const S: usize>(
        seed: u64,
    ) -> (System<H, N, S>, Vec<(u64, u64)>) {
        let (mut system, mut added) = (System::<H, N, S>::new(), Vec::new());
        let sides = (u64::from(column_bits(W)) * 0x0101_0101_0101_0101) & (u64::MAX >> (64 - 32 * S));
        for i in 1.. {
            let t = (seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let t = (t ^ t >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ t >> 7;
            let side = t.rotate_left(23).wrapping_mul(0x94d0_49bb_1331_11eb) & sides;
            if !system.add::<W>(t, side) {
                break;
            }
            added.push((t, side));
        }
        (system, added)
    }

    fn all_equations_hold<const W: usize, const H: usize, const N: usize, const S: usize>() {
        let mut count = 0;
        for seed in 0..30 {
            let (mut system, added) = fill::<W, H, N, S>(seed << 32);
            count += added.len();
            for limit in [0, 1, 0x5a, 255] {
                let mut slots = [0; N];
                system.solution(limit).for_each(|(slot, bits)| slots[slot] = bits);
                for v in 0..W {
                    assert_eq!(slots[v * PART + SLOTS], 0);
                    slots[v * PART + SLOTS] = u64::from(limit >> v & column_bits(W));
                }
                for (t, side) in &added {
                    let sum = chosen::<W>(picks::<W>(*t))
                        .fold(0, |sum, (part, slot)| sum ^ slots[part * PART + slot]);
                    assert_eq!(sum, *side, "{W} parts, seed {seed}, limit {limit}");
                }
            }
            // An equation that is there already depends on itself.
            assert!(!system.add::<W>(added[0].0, added[0].1));
            system.clear();
            assert!(system.add::<W>(added[0].0, added[0].1));
        }
        let share = count as f64 / (30 * SLOTS * W) as f64;
        assert!(share > 0.94, "{W} parts: {share}");
    }

    #[test]
    fn the_solution_fulfils_all_equations_and_few_slots_stay_free() {
        all_equations_hold::<1, 2, 64, 1>();
        all_equations_hold::<1, 2, 64, 2>();
        all_equations_hold::<2, 4, 128, 1>();
        all_equations_hold::<4, 8, 256, 1>();
        all_equations_hold::<8, 16, 512, 1>();
    }
}
