//! Sixteen probes at once: a 32-bit lane for each, and the whole block in one register.

use super::super::Block;
use super::super::scalar::multipliers;
use core::arch::x86_64::*;

const MULTIPLIERS: [u32; 16] = multipliers();

/// The step from one group of sixteen probes to the next.
const NEXT_16: u32 = multipliers::<17>()[16];

/// The lanes that are probes.
#[inline]
#[target_feature(enable = "bmi2")]
pub(crate) fn lanes(probes: u32) -> __mmask16 {
    _bzhi_u32(0xffff, probes.min(16)) as __mmask16
}

/// Any number of probes.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,bmi2")]
pub(crate) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    if probes <= 8 {
        return test_8(block, hash, lanes(probes));
    }
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
pub(crate) fn test_16(block: &Block, hash: u32, lanes: __mmask16) -> bool {
    // SAFETY: a block is 64 bytes.
    let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    // SAFETY: sixteen multipliers are 64 bytes.
    let multipliers = unsafe { _mm512_loadu_si512(MULTIPLIERS.as_ptr().cast()) };
    let probes = _mm512_mullo_epi32(_mm512_set1_epi32(hash as i32), multipliers);
    // The top four bits select the word, the next five the bit; a rotation uses only five bits of its count.
    let words = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(probes), block);
    let bits = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<23>(probes));
    _mm512_mask_testn_epi32_mask(lanes, words, bits) == 0
}

/// Up to eight probes, in half-width registers: the CPU has a third execution unit for them.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn test_8(block: &Block, hash: u32, lanes: __mmask16) -> bool {
    let (halves, _) = block.as_chunks::<32>();
    // SAFETY: a half is 32 bytes.
    let lower = unsafe { _mm256_loadu_si256(halves[0].as_ptr().cast()) };
    // SAFETY: A half is 32 bytes, and a block has two.
    let upper = unsafe { _mm256_loadu_si256(halves[1].as_ptr().cast()) };
    // SAFETY: the first eight multipliers are 32 bytes.
    let multipliers = unsafe { _mm256_loadu_si256(MULTIPLIERS.as_ptr().cast()) };
    let probes = _mm256_mullo_epi32(_mm256_set1_epi32(hash as i32), multipliers);
    let words = _mm256_permutex2var_epi32(lower, _mm256_srli_epi32::<28>(probes), upper);
    let bits = _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<23>(probes));
    _mm256_mask_testn_epi32_mask(lanes as __mmask8, words, bits) == 0
}
