//! Sixteen probes at once: a byte lane for each, and the whole block as one lookup table.

use super::super::Block;
use super::super::scalar::multipliers;
use core::arch::aarch64::*;

const MULTIPLIERS: [u32; 16] = multipliers();

/// The step from one group of sixteen probes to the next.
const NEXT_16: u32 = multipliers::<17>()[16];

/// All ones in the lanes that are not probes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn idle(probes: u32) -> uint8x16_t {
    const NUMBERS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    // SAFETY: sixteen bytes.
    let numbers = unsafe { vld1q_u8(NUMBERS.as_ptr()) };
    vcgeq_u8(numbers, vdupq_n_u8(probes.min(16) as u8))
}

/// Any number of probes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    let mut all = test_16(block, hash, idle(probes));
    let (mut hash, mut left) = (hash, probes);
    while left > 16 {
        hash = hash.wrapping_mul(NEXT_16);
        left -= 16;
        all &= test_16(block, hash, idle(left));
    }
    all
}

/// Up to sixteen probes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn test_16(block: &Block, hash: u32, idle: uint8x16_t) -> bool {
    let first = eight(hash, 0);
    let second = eight(hash, 1);
    // The top six of a probe's nine bits select the byte of the block, the other three the bit of that byte.
    let tops = vuzp2q_u8(vreinterpretq_u8_u16(first), vreinterpretq_u8_u16(second));
    let index = vshrq_n_u8::<2>(tops);
    let bit = vandq_u8(vcombine_u8(vshrn_n_u16::<7>(first), vshrn_n_u16::<7>(second)), vdupq_n_u8(7));
    // SAFETY: a block is 64 bytes.
    let table = unsafe { vld1q_u8_x4(block.as_ptr()) };
    let bytes = vqtbl4q_u8(table, index);
    let set = vtstq_u8(bytes, vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(bit)));
    vminvq_u8(vorrq_u8(set, idle)) == u8::MAX
}

/// The top halves of the products of the first (0) or second (1) eight probes.
#[inline]
#[target_feature(enable = "neon")]
fn eight(hash: u32, which: usize) -> uint16x8_t {
    let (fours, _) = MULTIPLIERS.as_chunks::<4>();
    // SAFETY: four multipliers.
    let low = unsafe { vld1q_u32(fours[2 * which].as_ptr()) };
    // SAFETY: four multipliers.
    let high = unsafe { vld1q_u32(fours[2 * which + 1].as_ptr()) };
    let hash = vdupq_n_u32(hash);
    vcombine_u16(vshrn_n_u32::<16>(vmulq_u32(hash, low)), vshrn_n_u32::<16>(vmulq_u32(hash, high)))
}
