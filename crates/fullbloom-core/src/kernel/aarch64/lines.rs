//! Lines of the native layout with NEON: the eight lanes of a line are two vectors of four.
//!
//! The bytes of the fields are sign-extended to lanes of 32 bits, so the top bit of a byte, which chooses the
//! half of the line, becomes the sign. A shift by the low five bits moves the lane's bit to its sign.

use super::Neon;
use crate::kernel::lines::{Line, Lines, OneKey, Probes};
use crate::probe::lines::Mark;
use core::arch::aarch64::*;

impl Lines for Neon {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
        unsafe { test(line, mark, probes) }
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
        unsafe { set(line, mark, probes) }
    }
}

impl OneKey for Neon {}

/// The fields as two times four lanes of 32 bits.
#[inline]
#[target_feature(enable = "neon")]
fn widened(fields: u64) -> [int32x4_t; 2] {
    let halves = vmovl_s8(vcreate_s8(fields));
    [vmovl_s16(vget_low_s16(halves)), vmovl_high_s16(halves)]
}

/// Four words of a line or of a row.
#[inline]
#[target_feature(enable = "neon")]
fn load(words: &[u8; 16]) -> uint32x4_t {
    // SAFETY: reads the 16 bytes.
    unsafe { vreinterpretq_u32_u8(vld1q_u8(words.as_ptr())) }
}

#[inline]
#[target_feature(enable = "neon")]
fn row(probes: Probes, mark: Mark) -> [uint32x4_t; 2] {
    let row = probes.row(mark).as_ptr();
    // SAFETY: reads the eight words of the row.
    unsafe { [vld1q_u32(row), vld1q_u32(row.add(4))] }
}

#[inline]
#[target_feature(enable = "neon")]
fn counts(fields: int32x4_t) -> int32x4_t {
    vandq_s32(fields, vdupq_n_s32(31))
}

#[inline]
#[target_feature(enable = "neon")]
fn test(line: &Line, mark: Mark, probes: Probes) -> bool {
    let (words, _) = line.as_chunks::<16>();
    let (fields, row) = (widened(mark.fields), row(probes, mark));
    // The signs that a key needs and the line lacks.
    let lacking = |i: usize| {
        let chosen = vbslq_u32(vcltzq_s32(fields[i]), load(&words[i + 2]), load(&words[i]));
        vbicq_u32(row[i], vshlq_u32(chosen, counts(fields[i])))
    };
    vmaxvq_u32(vorrq_u32(lacking(0), lacking(1))) == 0
}

#[inline]
#[target_feature(enable = "neon")]
fn set(line: &mut Line, mark: Mark, probes: Probes) -> bool {
    let (words, _) = line.as_chunks_mut::<16>();
    let (fields, row) = (widened(mark.fields), row(probes, mark));
    let mut new = vdupq_n_u32(0);
    for i in 0..2 {
        // A negative count shifts right.
        let bits = vshlq_u32(row[i], vnegq_s32(counts(fields[i])));
        let upper = vcltzq_s32(fields[i]);
        for (at, bits) in [(i, vbicq_u32(bits, upper)), (i + 2, vandq_u32(bits, upper))] {
            let old = load(&words[at]);
            new = vorrq_u32(new, vbicq_u32(bits, old));
            // SAFETY: writes the 16 bytes of four words.
            unsafe { vst1q_u8(words[at].as_mut_ptr(), vreinterpretq_u8_u32(vorrq_u32(old, bits))) };
        }
    }
    vmaxvq_u32(new) != 0
}
