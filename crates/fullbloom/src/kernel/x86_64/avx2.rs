use super::super::local::{Blocks, Group};
use super::super::Block;
use std::arch::x86_64::*;
use super::avx512::POWERS;

#[inline]
#[target_feature(enable = "avx2")]
fn round(lo: __m256i, hi: __m256i, hash: u32, powers: __m256i, active: __m256i) -> bool {
    let x = _mm256_mullo_epi32(_mm256_set1_epi32(hash as i32), powers);
    let i = _mm256_srli_epi32::<28>(x);
    let a = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lo, i));
    let b = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(hi, i));
    let words = _mm256_castps_si256(_mm256_blendv_ps(a, b, _mm256_castsi256_ps(x)));
    let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(x));
    let mask = _mm256_sllv_epi32(active, bit);
    _mm256_testc_si256(words, mask) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn active(from: u32, probes: u32) -> __m256i {
    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let n = probes.saturating_sub(from).min(8) as i32;
    _mm256_srli_epi32::<31>(_mm256_sub_epi32(lane, _mm256_set1_epi32(n)))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    let lo = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
    let hi = unsafe { _mm256_loadu_si256(block.as_ptr().add(32).cast()) };
    let powers = unsafe { _mm256_loadu_si256(POWERS.as_ptr().cast()) };
    let mut ok = true;
    let (mut hash, mut from) = (hash, 0);
    while from < probes {
        ok &= round(lo, hi, hash, powers, active(from, probes));
        hash = hash.wrapping_mul(0xab25_f4c1);
        from += 8;
    }
    ok
}

#[inline]
#[target_feature(enable = "avx2")]
fn offsets4(blocks: Blocks<'_>, next: &mut Group, at: usize) {
    let h = unsafe { _mm256_loadu_si256(next.hashes.as_ptr().add(at).cast()) };
    let p = _mm256_mul_epu32(h, _mm256_set1_epi64x(blocks.lines.into()));
    let off = _mm256_and_si256(_mm256_srli_epi64::<26>(p), _mm256_set1_epi64x(!63));
    unsafe { _mm256_storeu_si256(next.offsets.as_mut_ptr().add(at).cast(), off) };
}
#[inline]
#[target_feature(enable = "avx2")]
fn prefetch4(blocks: Blocks<'_>, next: &Group, at: usize) {
    let base = blocks.blocks.as_ptr().cast::<i8>();
    for j in 0..4 {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(std::ptr::read_volatile(next.offsets.as_ptr().add(at + j)) as usize)) };
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn prepare(blocks: Blocks<'_>, probes: u32, next: &mut Group) {
    for c in 0..16 { offsets4(blocks, next, c * 4); }
}

#[target_feature(enable = "avx2")]
pub(super) fn step(blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 {
    match probes { 0..=8 => go::<1>(blocks, probes, now, next), _ => go::<2>(blocks, probes, now, next) }
}
#[inline]
#[target_feature(enable = "avx2")]
fn go<const ROUNDS: usize>(blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64 {
    let base = blocks.blocks.as_ptr().cast::<u8>();
    let powers = unsafe { _mm256_loadu_si256(POWERS.as_ptr().cast()) };
    let powers2 = unsafe { _mm256_loadu_si256(POWERS.as_ptr().add(8).cast()) };
    let act = active(0, probes);
    let act2 = active(8, probes);
    let mut out = 0u64;
    for c in 0..16 {
        prefetch4(blocks, next, c * 4);
        for j in c * 4..c * 4 + 4 {
            let p = unsafe { base.add(now.offsets[j] as usize) };
            let lo = unsafe { _mm256_loadu_si256(p.cast()) };
            let hi = unsafe { _mm256_loadu_si256(p.add(32).cast()) };
            let hash = (now.hashes[j] >> 32) as u32;
            let mut ok = round(lo, hi, hash, powers, act);
            if ROUNDS == 2 { ok &= round(lo, hi, hash, powers2, act2); }
            out = (out >> 1) | u64::from(ok) << 63;
        }
    }
    out
}
