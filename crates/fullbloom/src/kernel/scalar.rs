//! FastLocalBloom inside one block, one probe after the other: the definition every other kernel must equal.
//!
//! ```text
//!   repeat probes times:   bit = hash >> 23  (top nine bits: one of 512);   hash *= 0x9e3779b9
//! ```

use super::Block;

/// The multiplier between probes: 2^32 divided by the golden ratio, made odd.
pub(crate) const GOLDEN: u32 = 0x9e37_79b9;

/// Whether all probes of `hash` hit set bits of the block. True for no probes.
#[inline(always)]
pub(crate) fn local_test(block: &Block, hash: u32, probes: u32) -> bool {
    let mut hash = hash;
    for _ in 0..probes {
        let bit = hash >> 23;
        if block[(bit >> 3) as usize] & (1 << (bit & 7)) == 0 {
            return false;
        }
        hash = hash.wrapping_mul(GOLDEN);
    }
    true
}

/// Sets the bits of all probes of `hash`; true if at least one was clear.
#[inline(always)]
pub(crate) fn local_set(block: &mut Block, hash: u32, probes: u32) -> bool {
    let mut hash = hash;
    let mut changed = 0;
    for _ in 0..probes {
        let bit = hash >> 23;
        let byte = &mut block[(bit >> 3) as usize];
        let mask = 1 << (bit & 7);
        changed |= !*byte & mask;
        *byte |= mask;
        hash = hash.wrapping_mul(GOLDEN);
    }
    changed != 0
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar;
impl super::local::Local for Scalar {
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool { local_test(block, hash, probes) }
    fn prepare(self, blocks: super::local::Blocks<'_>, _: u32, next: &mut super::local::Group) {
        for j in 0..64 { next.offsets[j] = ((next.hashes[j] as u32 as u64 * blocks.lines as u64) >> 32) * 64; }
    }
    fn step(self, blocks: super::local::Blocks<'_>, probes: u32, now: &super::local::Group, _: &mut super::local::Group) -> u64 {
        let mut out = 0;
        for j in 0..64 { out |= u64::from(local_test(&blocks.blocks[(now.offsets[j] / 64) as usize], (now.hashes[j] >> 32) as u32, probes)) << j; }
        out
    }
}
