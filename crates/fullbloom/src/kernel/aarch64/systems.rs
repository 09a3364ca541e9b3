//! Lines of the kind `compact` with NEON: each bit of the coefficients becomes a byte of ones or zeros, and the chosen
//! bytes are xored. Of further columns, the ones of every byte are counted, and added pair by pair up to words.

use super::Neon;
use crate::kernel::lines::Line;
use crate::kernel::systems::{LIMIT, Systems, Tested, column_bits, xor_of_bytes};
use core::arch::aarch64::*;

/// The bit of each byte or word of eight.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

impl Systems for Neon {
    #[inline(always)]
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
        unsafe { tested(line, coefficients) }
    }

    #[inline(always)]
    fn parities<const W: usize>(self, words: &Line, coefficients: &[u64; W]) -> u8 {
        // SAFETY: see above.
        unsafe { parities(words, coefficients) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn tested<const W: usize>(line: &Line, coefficients: &[u64; W]) -> Tested {
    // SAFETY: reads the 64 bytes of the line.
    let slots = unsafe { vld1q_u8_x4(line.as_ptr()) };
    // SAFETY: reads sixteen bytes.
    let bits = unsafe { vld1q_u8(BITS.as_ptr()) };
    let mut parities = 0;
    for (v, word) in coefficients.iter().enumerate() {
        let bytes = word.to_le_bytes();
        let chosen = |i: usize, slots: uint8x16_t| {
            let copies = vcombine_u8(vdup_n_u8(bytes[2 * i]), vdup_n_u8(bytes[2 * i + 1]));
            vandq_u8(vtstq_u8(copies, bits), slots)
        };
        let first = veorq_u8(chosen(0, slots.0), chosen(1, slots.1));
        let second = veorq_u8(chosen(2, slots.2), chosen(3, slots.3));
        let sum = vreinterpretq_u64_u8(veorq_u8(first, second));
        let sum = vgetq_lane_u64::<0>(sum) ^ vgetq_lane_u64::<1>(sum);
        parities |= xor_of_bytes(sum) & column_bits(W) << v;
    }
    Tested { parities, limit: line[LIMIT] }
}

#[inline]
#[target_feature(enable = "neon")]
fn parities<const W: usize>(words: &Line, coefficients: &[u64; W]) -> u8 {
    // SAFETY: reads the 64 bytes of the words.
    let words = unsafe { vld1q_u8_x4(words.as_ptr()) };
    // SAFETY: reads eight of the sixteen bytes.
    let bits = unsafe { vld1_u8(BITS.as_ptr()) };
    let counts = |i: usize, part: uint8x16_t| {
        let pair = [coefficients[2 * i % W], coefficients[(2 * i + 1) % W]];
        // SAFETY: reads two words.
        let masks = unsafe { vreinterpretq_u8_u64(vld1q_u64(pair.as_ptr())) };
        vcntq_u8(vandq_u8(part, masks))
    };
    // Sums of two bytes, of four, of eight: one byte for each word, in order.
    let first = vpaddq_u8(counts(0, words.0), counts(1, words.1));
    let second = vpaddq_u8(counts(2, words.2), counts(3, words.3));
    let sums = vpaddq_u8(first, second);
    let ones = vpadd_u8(vget_low_u8(sums), vget_high_u8(sums));
    vaddv_u8(vand_u8(vtst_u8(ones, vdup_n_u8(1)), bits))
}
