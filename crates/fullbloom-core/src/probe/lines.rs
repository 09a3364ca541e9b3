//! The native walk: which lines a hash chooses, and which bits in those lines.
//!
//! ```text
//!   x0 = h, the hash      x1 = x0 · P      x2 = (x1 ^ x1 >> 32) · Q      x3 = (x2 ^ x2 >> 32) · P      and so on with P
//!
//!   block = high half of x1 · blocks
//!   line in each region of the block: bits 58.., 52.., 46.., 40.. of x2
//!   bits in the key's first line: x0 and x1; in its second: x2 and x3; in its third: x3 and x4; in its fourth: x4 and x5
//! ```
//!
//! A line is 64 bytes, sixteen little-endian words of 32 bits. Words `j` and `j + 8` are lane `j`. A key sets
//! at most one bit in each of the eight lanes. Two numbers `a` and `b` choose them: byte `j` of `(a rotated
//! by 32) ^ b` belongs to lane `j`. Its top bit chooses the word and its low five bits the bit, counted from
//! the top. A key uses a cyclic run of `probes` lanes. Bits 5 to 7 of `b` choose the first one.
//!
//! So the eight lanes of one half of the line are one vector of 256 bits. A lookup selects between two such
//! vectors and shifts once.
//!
//! Every step from `h` to the `x` is a bijection, so no entropy is lost. Only the block depends on the number
//! of blocks: halving that number merges neighbouring blocks (`block / 2`) and changes no bit in them.

use crate::sizing::Layout;

/// Bytes per line.
pub const LINE: usize = 64;

/// The golden ratio as a 64-bit odd number.
pub const P: u64 = 0x9e37_79b9_7f4a_7c15;
/// A second odd multiplier, from splitmix64.
const Q: u64 = 0xbf58_476d_1ce4_e5b9;

/// The value that chooses the block: its upper bits depend on the whole hash.
#[inline(always)]
pub fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(P)
}

/// The next number of a key.
#[inline(always)]
fn mixed(x: u64, factor: u64) -> u64 {
    (x ^ x >> 32).wrapping_mul(factor)
}

/// The high half of the product: an even choice among `blocks` blocks, for any number of blocks. Always below
/// `blocks`, unless that is 0.
#[inline(always)]
pub fn block_at(spread: u64, blocks: u64) -> u64 {
    ((u128::from(spread) * u128::from(blocks)) >> 64) as u64
}

/// The block of a hash.
#[inline(always)]
pub fn block_of(hash: u64, blocks: u64) -> u64 {
    block_at(spread(hash), blocks)
}

/// What chooses the bits of a key in one of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// A byte for each lane.
    pub fields: u64,
    /// Its low three bits are the first lane; the others have no meaning.
    pub first: u32,
}

impl Mark {
    #[inline(always)]
    fn new(a: u64, b: u64) -> Mark {
        Mark { fields: a.rotate_left(32) ^ b, first: (b >> FIRST_SHIFT) as u32 }
    }

    /// In the first line of a key.
    #[inline(always)]
    pub fn of(hash: u64) -> Mark {
        Mark::new(hash, spread(hash))
    }

    /// Bit numbers in the line (word · 32 + bit), one for each of `probes` lanes.
    #[inline(always)]
    pub fn bits(self, probes: u32) -> impl Iterator<Item = u32> {
        (0..probes).map(move |i| {
            let lane = self.first.wrapping_add(i) & 7;
            let field = (self.fields >> (8 * lane)) as u32;
            (field >> 4 & 8 | lane) << 5 | !field & 31
        })
    }
}

/// From the second number of a line to the first lane.
pub const FIRST_SHIFT: u32 = 5;

/// The lines of one key, in order: the line number in the whole array, and the key's bits in it.
#[derive(Debug, Clone)]
pub struct Lines {
    /// Number of the first line of the block's current region.
    region: u64,
    region_lines: u64,
    /// The line chosen in each region, six bits each from the top.
    choice: u64,
    next: Mark,
    /// The number before the next line's second one.
    mixed: u64,
    left: u32,
}

impl Lines {
    /// The lines of a key in an array of `blocks` blocks.
    #[inline(always)]
    pub fn new(layout: Layout, blocks: u64, hash: u64) -> Lines {
        let spread = spread(hash);
        let choice = mixed(spread, Q);
        Lines {
            region: block_at(spread, blocks) * layout.block_lines(),
            region_lines: layout.region_lines(),
            choice,
            next: Mark::new(hash, spread),
            mixed: choice,
            left: layout.lines(),
        }
    }
}

impl Iterator for Lines {
    type Item = (u64, Mark);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Mark)> {
        self.left = self.left.checked_sub(1)?;
        let line = self.region + (self.choice >> 58 & (self.region_lines - 1));
        let mark = self.next;
        self.region += self.region_lines;
        self.choice <<= 6;
        let following = mixed(self.mixed, P);
        self.next = Mark::new(self.mixed, following);
        self.mixed = following;
        Some((line, mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_testkit::vectors::{self, Record};

    #[test]
    fn the_bits_of_a_hash_are_those_of_the_second_implementation() {
        let file = vectors::json("native/hash.json");
        let records = file.list("places");
        assert_eq!(records.len(), 160);
        for record in records {
            let number = |name| record.count(name) as u32;
            let layout = Layout::new(number("lines"), number("block_lines"), number("probes")).unwrap();
            let lines = Lines::new(layout, record.count("blocks"), record.hex_int("hash"));
            let bits = lines.flat_map(|(line, mark)| {
                mark.bits(layout.line_probes()).map(move |bit| line * 512 + u64::from(bit))
            });
            let expected = record.list("bits").iter().map(|bit| bit.as_u64().unwrap());
            assert!(bits.eq(expected), "{record}");
        }
    }

    #[test]
    fn halving_the_blocks_merges_neighbours_and_moves_no_bit_in_them() {
        for layout in [(1, 1, 6), (2, 64, 5), (4, 8, 8)].map(|(l, g, k)| Layout::new(l, g, k).unwrap()) {
            for blocks in [2, 6, 1000, 1 << 40] {
                for hash in (0..1000u64).map(|i| mixed(i + 1, Q)) {
                    let whole: Vec<_> = Lines::new(layout, blocks, hash).collect();
                    let half: Vec<_> = Lines::new(layout, blocks / 2, hash).collect();
                    let block = block_of(hash, blocks);
                    assert_eq!(block_of(hash, blocks / 2), block / 2);
                    let moved = (block - block / 2) * layout.block_lines();
                    assert!(whole.iter().map(|&(line, mark)| (line - moved, mark)).eq(half));
                }
            }
        }
    }
}
