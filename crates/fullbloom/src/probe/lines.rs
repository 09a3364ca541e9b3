//! The native walk: which lines a hash chooses, and which bits in those lines.
//!
//! ```text
//!   hash h ──► s = (h ^ h >> 32) · P        block = high half of s · blocks
//!          └─► bytes of h                    the bits in the key's first line
//!   t = (s ^ s >> 32) · Q                    the line in each region of the block: bits 58.., 52.., 46.., 40..
//!   u = (t ^ t >> 32) · P                    the bits in the key's second line; and so on with P
//! ```
//!
//! A line is 64 bytes, eight little-endian words. One key sets at most one bit in each word of a line: byte
//! `j` of its 64 bits of fields holds, in its low six bits, the bit number in word `j`. A key uses a cyclic
//! run of `probes` of the eight words. Spare high bits of the fields choose the first word of the run.
//!
//! Every step from `h` is a bijection, so no entropy is lost. Only the block depends on the number of blocks:
//! halving that number merges neighbouring blocks (`block / 2`) and changes no bit in them.

use crate::sizing::Layout;

/// Bytes per line.
pub(crate) const LINE: usize = 64;

/// The golden ratio as a 64-bit odd number.
pub(crate) const P: u64 = 0x9e37_79b9_7f4a_7c15;
/// A second odd multiplier, from splitmix64.
const Q: u64 = 0xbf58_476d_1ce4_e5b9;

/// The value that chooses the block: the hash, mixed once more, so that its upper bits depend on all of it.
#[inline(always)]
pub(crate) fn spread(hash: u64) -> u64 {
    (hash ^ hash >> 32).wrapping_mul(P)
}

/// The value that chooses the lines in a block of several lines.
#[inline(always)]
fn spread_again(spread: u64) -> u64 {
    (spread ^ spread >> 32).wrapping_mul(Q)
}

/// The first word a key uses, from the fields' spare bits: 55, 62 and 63, lowest first.
#[inline(always)]
pub(crate) fn first_word(fields: u64) -> u32 {
    (fields >> 55 & 1 | fields >> 61 & 6) as u32
}

/// `hash · blocks / 2^64`, after spreading: an even choice among `blocks` blocks, for any number of blocks.
#[inline(always)]
pub(crate) fn block_of(hash: u64, blocks: u64) -> u64 {
    ((u128::from(spread(hash)) * u128::from(blocks)) >> 64) as u64
}

/// The lines of one key, in order: the line number in the whole array, and the fields of the key's bits.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    /// Number of the first line of the block's current region.
    region: u64,
    region_lines: u64,
    /// The line chosen in each region, six bits each from the top.
    choice: u64,
    next_fields: u64,
    mixed: u64,
    left: u32,
}

impl Lines {
    /// The lines of a key in an array of `blocks` blocks.
    #[inline(always)]
    pub(crate) fn new(layout: Layout, blocks: u64, hash: u64) -> Lines {
        let spread = spread(hash);
        let block = ((u128::from(spread) * u128::from(blocks)) >> 64) as u64;
        let choice = spread_again(spread);
        let region_lines = layout.region_lines();
        Lines {
            region: block * layout.block_lines(),
            region_lines,
            choice,
            next_fields: hash,
            mixed: choice,
            left: layout.lines(),
        }
    }
}

impl Iterator for Lines {
    type Item = (u64, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, u64)> {
        self.left = self.left.checked_sub(1)?;
        let line = self.region + (self.choice >> 58 & (self.region_lines - 1));
        let fields = self.next_fields;
        self.region += self.region_lines;
        self.choice <<= 6;
        self.mixed = spread(self.mixed);
        self.next_fields = self.mixed;
        Some((line, fields))
    }
}

/// Bit numbers inside a line (word · 64 + bit) that these fields use, `probes` of them.
#[inline(always)]
pub(crate) fn bits_in_line(fields: u64, probes: u32) -> impl Iterator<Item = u32> {
    let first = first_word(fields);
    (0..probes).map(move |i| {
        let word = (first + i) & 7;
        word << 6 | (fields >> (8 * word) & 63) as u32
    })
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
            let bits = lines.flat_map(|(line, fields)| {
                bits_in_line(fields, layout.line_probes()).map(move |bit| line * 512 + u64::from(bit))
            });
            let expected = record.list("bits").iter().map(|bit| bit.as_u64().unwrap());
            assert!(bits.eq(expected), "{record}");
        }
    }

    #[test]
    fn halving_the_blocks_merges_neighbours_and_moves_no_bit_in_them() {
        for layout in [(1, 1, 6), (2, 64, 5), (4, 8, 8)].map(|(l, g, k)| Layout::new(l, g, k).unwrap()) {
            for blocks in [2, 6, 1000, 1 << 40] {
                for hash in (0..1000u64).map(|i| spread(i + 1)) {
                    let whole: Vec<_> = Lines::new(layout, blocks, hash).collect();
                    let half: Vec<_> = Lines::new(layout, blocks / 2, hash).collect();
                    let block = block_of(hash, blocks);
                    assert_eq!(block_of(hash, blocks / 2), block / 2);
                    let moved = (block - block / 2) * layout.block_lines();
                    assert!(whole.iter().map(|&(line, fields)| (line - moved, fields)).eq(half));
                }
            }
        }
    }
}
