//! Eight probes at once: a 32-bit lane for each.

use super::super::Block;
use super::super::scalar::multipliers;
use core::arch::x86_64::*;

const MULTIPLIERS: [u32; 16] = multipliers();

/// The step from one group of sixteen probes to the next.
const NEXT_16: u32 = multipliers::<17>()[16];

/// The block, in two halves.
type Halves = [__m256i; 2];

/// Ones in the lanes that are probes, zeros in the others, for the first eight probes and for the second
/// eight.
pub(crate) type Lanes = [__m256i; 2];

/// The lanes of up to sixteen probes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn lanes(probes: u32) -> Lanes {
    let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let probes = probes.min(16) as i32;
    // Negative, so that the top bit is one, where the lane number is below the number of probes.
    let first = _mm256_sub_epi32(numbers, _mm256_set1_epi32(probes));
    let second = _mm256_sub_epi32(numbers, _mm256_set1_epi32(probes - 8));
    [_mm256_srli_epi32::<31>(first), _mm256_srli_epi32::<31>(second)]
}

/// Any number of probes.
#[inline]
#[target_feature(enable = "avx2")]
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

/// Up to eight probes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn test_8(block: &Block, hash: u32, lanes: Lanes) -> bool {
    eight::<0>(load(block), hash, lanes)
}

/// Up to sixteen probes.
///
/// The second eight are tested even if the first have failed: no CPU can predict which keys fail there, and a
/// mispredicted branch costs more than the test.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn test_16(block: &Block, hash: u32, lanes: Lanes) -> bool {
    let halves = load(block);
    eight::<0>(halves, hash, lanes) & eight::<1>(halves, hash, lanes)
}

/// Whether the first (0) or second (1) eight probes hit set bits.
#[inline]
#[target_feature(enable = "avx2")]
fn eight<const WHICH: usize>([lower, upper]: Halves, hash: u32, lanes: Lanes) -> bool {
    let (eights, _) = MULTIPLIERS.as_chunks::<8>();
    // SAFETY: eight multipliers are 32 bytes.
    let multipliers = unsafe { _mm256_loadu_si256(eights[WHICH].as_ptr().cast()) };
    let probes = _mm256_mullo_epi32(_mm256_set1_epi32(hash as i32), multipliers);
    // The top bit selects the half of the block, the next three bits its word, five more the bit in the word.
    let word = _mm256_srli_epi32::<28>(probes);
    let in_lower = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lower, word));
    let in_upper = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(upper, word));
    let words = _mm256_blendv_ps(in_lower, in_upper, _mm256_castsi256_ps(probes));
    let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(probes));
    _mm256_testc_si256(_mm256_castps_si256(words), _mm256_sllv_epi32(lanes[WHICH], bit)) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &Block) -> Halves {
    let (halves, _) = block.as_chunks::<32>();
    // SAFETY: a half is 32 bytes.
    let lower = unsafe { _mm256_loadu_si256(halves[0].as_ptr().cast()) };
    // SAFETY: A half is 32 bytes, and a block has two.
    let upper = unsafe { _mm256_loadu_si256(halves[1].as_ptr().cast()) };
    [lower, upper]
}
