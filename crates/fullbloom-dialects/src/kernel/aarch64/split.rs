//! The split block: all eight words of one key at once, four in each vector.

use crate::kernel::split::{SALTS, SplitBlock};
use core::arch::aarch64::*;

/// The key's bit in each word of the first (0) or second (1) half.
#[inline]
#[target_feature(enable = "neon")]
fn bits(lower: u32, half: usize) -> uint32x4_t {
    let (salts, _) = SALTS.as_chunks::<4>();
    // SAFETY: reads four salts.
    let products = unsafe { vmulq_n_u32(vld1q_u32(salts[half].as_ptr()), lower) };
    vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(vshrq_n_u32::<27>(products)))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(half: &[u8; 16]) -> uint32x4_t {
    // SAFETY: reads the 16 bytes.
    unsafe { vreinterpretq_u32_u8(vld1q_u8(half.as_ptr())) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn test(block: &SplitBlock, lower: u32) -> bool {
    let (halves, _) = block.as_chunks();
    let lacking = |half: usize| vbicq_u32(bits(lower, half), load(&halves[half]));
    vmaxvq_u32(vorrq_u32(lacking(0), lacking(1))) == 0
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn set(block: &mut SplitBlock, lower: u32) -> bool {
    let (halves, _) = block.as_chunks_mut::<16>();
    let mut new = vdupq_n_u32(0);
    for (half, bytes) in halves.iter_mut().enumerate() {
        let (old, bits) = (load(bytes), bits(lower, half));
        new = vorrq_u32(new, vbicq_u32(bits, old));
        // SAFETY: writes the 16 bytes.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), vreinterpretq_u8_u32(vorrq_u32(old, bits))) };
    }
    vmaxvq_u32(new) != 0
}
