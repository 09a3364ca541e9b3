//! From a hash to its equation, and from the stored solution to an answer.

use super::solution::{Layout, parity};
use fullbloom_core::bits::prefetch;

/// The effect of a seed on hashes: keys are hashed once, and the seed is applied to the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed(u64);

/// The equation of a key.
pub(crate) struct Equation {
    /// The first slot of its window.
    pub(crate) start: usize,
    /// Bit i: whether the value of slot `start + i` is included. Bit 0 is set.
    pub(crate) coefficients: u128,
    /// The XOR of the included values, one bit per column.
    pub(crate) result: u32,
}

impl Seed {
    /// The seed with this number, as stored in the trailer.
    pub(crate) fn new(ordinal: u8) -> Seed {
        let mut mixed = u64::from(ordinal).wrapping_mul(0xc782_19a2_3eea_dd03);
        mixed ^= (mixed & 0xf0f0_f0f0_f0f0_f0f0) >> 4;
        Seed(mixed & 0xffff_ffff)
    }

    #[inline(always)]
    fn rehash(self, hash: u64) -> u64 {
        (hash ^ self.0).wrapping_mul(0x6193_d459_236a_3a0d)
    }

    /// The first slot of the hash's window.
    #[inline(always)]
    pub(crate) fn start(self, hash: u64, starts: u64) -> usize {
        ((u128::from(self.rehash(hash)) * u128::from(starts)) >> 64) as usize
    }

    #[inline(always)]
    pub(crate) fn equation(self, hash: u64, starts: u64) -> Equation {
        let a = self.rehash(hash).wrapping_mul(0xc28f_8282_2b65_0bed);
        let coefficients = u128::from(a) << 64 | u128::from(a ^ 0xc367_844a_6e52_731d) | 1;
        Equation { start: self.start(hash, starts), coefficients, result: a.swap_bytes() as u32 }
    }
}

/// The block of a slot, and the slot's place in it.
#[inline(always)]
fn split(start: usize) -> (u32, u32) {
    ((start / 128) as u32, (start % 128) as u32)
}

/// Whether the solution gives this hash its expected result, in all columns of the block where its window
/// starts.
///
/// The window's second half is in the next block, whose segments follow those of the first. That holds even
/// where the next block has one column more: only its first columns are used.
#[inline]
pub(crate) fn test(layout: &Layout, seed: Seed, data: &[u8], hash: u64) -> bool {
    let Equation { start, coefficients, result } = seed.equation(hash, layout.starts());
    let (block, place) = split(start);
    let columns = layout.columns(block) as usize;
    let first = layout.first_segment(block) as usize;
    let (segments, _) = data.as_chunks::<16>();
    let here = &segments[first..first + columns];
    let agrees = |column: usize, value: u32| value == result >> column & 1;
    if place == 0 {
        let value = |segment: &[u8; 16]| parity(u128::from_le_bytes(*segment) & coefficients);
        return here.iter().enumerate().all(|(column, segment)| agrees(column, value(segment)));
    }
    let (low, high) = (coefficients << place, coefficients >> (128 - place));
    let next = &segments[first + columns..first + 2 * columns];
    here.iter().zip(next).enumerate().all(|(column, (here, next))| {
        let bits = u128::from_le_bytes(*here) & low ^ u128::from_le_bytes(*next) & high;
        agrees(column, parity(bits))
    })
}

/// Prefetches all segments that [`test`] may read: at most 1,024 bytes, 224 at 10 bits per key.
#[inline]
pub(crate) fn prefetch(layout: &Layout, seed: Seed, data: &[u8], hash: u64) {
    let (block, _) = split(seed.start(hash, layout.starts()));
    let first = layout.first_segment(block) as usize * 16;
    let end = first + 2 * 16 * layout.columns(block) as usize;
    for at in (first..end).step_by(64) {
        prefetch::read(data, at);
    }
    prefetch::read(data, end.saturating_sub(1)); // the run may begin inside a cache line
}
