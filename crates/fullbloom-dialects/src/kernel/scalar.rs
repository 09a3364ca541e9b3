//! FastLocalBloom inside one block, one probe after the other: the definition that every other kernel must
//! match.
//!
//! ```text
//!   repeat probes times:   bit = hash >> 23  (top nine bits: one of 512);   hash *= 0x9e3779b9
//! ```

use super::Block;

/// The multiplier between probes: 2^32 divided by the golden ratio, made odd.
const GOLDEN: u32 = 0x9e37_79b9;

/// The bits of the block that `hash` chooses, in order.
#[inline(always)]
pub fn local_positions(hash: u32, probes: u32) -> impl Iterator<Item = u32> {
    let mut hash = hash;
    (0..probes).map(move |_| {
        let bit = hash >> 23;
        hash = hash.wrapping_mul(GOLDEN);
        bit
    })
}

/// Whether all probes of `hash` hit set bits of the block. True for no probes.
#[inline(always)]
pub fn local_test(block: &Block, hash: u32, probes: u32) -> bool {
    local_positions(hash, probes).all(|bit| block[(bit >> 3) as usize] & (1 << (bit & 7)) != 0)
}

/// Sets the bits of all probes of `hash`. Returns true if at least one was clear.
#[inline(always)]
pub fn local_set(block: &mut Block, hash: u32, probes: u32) -> bool {
    let mut changed = 0;
    for bit in local_positions(hash, probes) {
        let byte = &mut block[(bit >> 3) as usize];
        let mask = 1 << (bit & 7);
        changed |= !*byte & mask;
        *byte |= mask;
    }
    changed != 0
}

/// The factors of the hash for probes 0, 1, 2 …
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))] // for vector kernels
pub const fn multipliers<const N: usize>() -> [u32; N] {
    let mut multipliers = [1; N];
    let mut i = 1;
    while i < N {
        multipliers[i] = GOLDEN.wrapping_mul(multipliers[i - 1]);
        i += 1;
    }
    multipliers
}
