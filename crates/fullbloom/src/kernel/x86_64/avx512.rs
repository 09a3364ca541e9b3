//! Sixteen probes at once: a 32-bit lane for each, and the whole block in one register.

use super::super::Block;
use super::super::scalar::multipliers;
use std::arch::x86_64::*;

const MULTIPLIERS: [u32; 16] = multipliers();

/// From sixteen probes to the next sixteen.
const NEXT_16: u32 = multipliers::<17>()[16];

/// The lanes that are probes.
#[inline(always)]
pub(super) fn lanes(probes: u32) -> __mmask16 {
    ((1u32 << probes.min(16)) - 1) as __mmask16
}

/// Any number of probes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    let mut all = test_16(block, hash, lanes(probes));
    let (mut hash, mut left) = (hash, probes);
    while left > 16 {
        hash = hash.wrapping_mul(NEXT_16);
        left -= 16;
        all &= test_16(block, hash, lanes(left));
    }
    all
}

/// Up to sixteen probes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn test_16(block: &Block, hash: u32, lanes: __mmask16) -> bool {
    // SAFETY: a block is 64 bytes.
    let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    // SAFETY: sixteen multipliers are 64 bytes.
    let multipliers = unsafe { _mm512_loadu_si512(MULTIPLIERS.as_ptr().cast()) };
    let probes = _mm512_mullo_epi32(_mm512_set1_epi32(hash as i32), multipliers);
    // The top four bits tell the word, the next five the bit; a rotation looks at no more of its count.
    let words = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(probes), block);
    let bits = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<23>(probes));
    _mm512_mask_testn_epi32_mask(lanes, words, bits) == 0
}
