//! Lines of the kind `compact` with NEON: the ones of every byte are counted, and added pair by pair up to words.

use super::Neon;
use crate::kernel::lines::Line;
use crate::kernel::systems::{Systems, Tested};
use core::arch::aarch64::*;

/// The bytes that hold the signs of the eight words, and the bit of each word.
const TOPS: [u8; 8] = [7, 15, 23, 31, 39, 47, 55, 63];
const BITS: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

impl Systems for Neon {
    #[inline(always)]
    fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
        unsafe { tested(line, coefficients) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn tested<const W: usize>(line: &Line, coefficients: &[u64; W]) -> Tested {
    // SAFETY: reads the 64 bytes of the line.
    let words = unsafe { vld1q_u8_x4(line.as_ptr()) };
    // SAFETY: each reads its eight bytes.
    let (tops, bits) = unsafe { (vld1_u8(TOPS.as_ptr()), vld1_u8(BITS.as_ptr())) };
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
    let parities = vaddv_u8(vand_u8(vtst_u8(ones, vdup_n_u8(1)), bits));
    let signs = vcltz_s8(vreinterpret_s8_u8(vqtbl4_u8(words, tops)));
    Tested { parities, limit: vaddv_u8(vand_u8(signs, bits)) }
}
