use super::super::local::{Blocks, Group};
use super::super::Block;
use std::arch::x86_64::*;

pub(super) const POWERS: [u32; 16] = {
    let mut p = [1u32; 16];
    let mut i = 1;
    while i < 16 { p[i] = p[i - 1].wrapping_mul(0x9e37_79b9); i += 1; }
    p
};
const NEXT16: u32 = POWERS[15].wrapping_mul(0x9e37_79b9);

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn load(block: &Block) -> __m512i { unsafe { _mm512_loadu_si512(block.as_ptr().cast()) } }

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn round(block: __m512i, hash: u32, active: u16) -> u16 {
    let powers = unsafe { _mm512_loadu_si512(POWERS.as_ptr().cast()) };
    let x = _mm512_mullo_epi32(_mm512_set1_epi32(hash as i32), powers);
    let words = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(x), block);
    let bit = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<23>(x));
    _mm512_mask_testn_epi32_mask(active, words, bit)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    let block = load(block);
    if probes <= 16 {
        return round(block, hash, ((1u32 << probes) - 1) as u16) == 0;
    }
    let (mut hash, mut left) = (hash, probes);
    let mut bad = 0;
    while left > 0 {
        let n = left.min(16);
        bad |= round(block, hash, ((1u32 << n) - 1) as u16);
        hash = hash.wrapping_mul(NEXT16);
        left -= n;
    }
    bad == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn offsets8(blocks: Blocks<'_>, next: &mut Group, at: usize) {
    let h = unsafe { _mm512_loadu_si512(next.hashes.as_ptr().add(at).cast()) };
    let p = _mm512_mul_epu32(h, _mm512_set1_epi64(blocks.lines.into()));
    let off = _mm512_and_si512(_mm512_srli_epi64::<26>(p), _mm512_set1_epi64(!63));
    unsafe { _mm512_storeu_si512(next.offsets.as_mut_ptr().add(at).cast(), off) };
}
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn prefetch8(blocks: Blocks<'_>, next: &Group, at: usize) {
    let base = blocks.blocks.as_ptr().cast::<i8>();
    for j in 0..8 {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(std::ptr::read_volatile(next.offsets.as_ptr().add(at + j)) as usize)) };
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn prepare(blocks: Blocks<'_>, probes: u32, next: &mut Group) {
    for c in 0..8 { offsets8(blocks, next, c * 8); }
}

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn step(blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 {
    let mut masks = [0u16; 64];
    let active = ((1u32 << probes.min(16)) - 1) as u16;
    let base = blocks.blocks.as_ptr().cast::<u8>();
    for c in 0..8 {
        prefetch8(blocks, next, c * 8);
        for j in c * 8..c * 8 + 8 {
            let block = unsafe { _mm512_loadu_si512(base.add(now.offsets[j] as usize).cast()) };
            let hash = (now.hashes[j] >> 32) as u32;
            masks[j] = round(block, hash, active);
        }
    }
    let lo = unsafe { _mm512_loadu_si512(masks.as_ptr().cast()) };
    let hi = unsafe { _mm512_loadu_si512(masks.as_ptr().add(32).cast()) };
    let z = _mm512_setzero_si512();
    u64::from(_mm512_cmpeq_epi16_mask(lo, z)) | u64::from(_mm512_cmpeq_epi16_mask(hi, z)) << 32
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn spread(bits: u64, answers: &mut [bool; 64]) {
    unsafe { _mm512_storeu_si512(answers.as_mut_ptr().cast(), _mm512_maskz_set1_epi8(bits, 1)) }
}
