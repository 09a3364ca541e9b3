//! Lines of fingerprints with BMI2 and AVX2.

use super::{Avx2, Avx512, Avx512Bitalg};
use crate::kernel::lines::Line;
use crate::kernel::slots::Select;
use core::arch::x86_64::*;

impl Select for Avx2 {
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2 on this CPU; also below.
        unsafe { pair(word, rank) }
    }

    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64) {
        // SAFETY: see above.
        unsafe { open(line, at, width, value) }
    }

    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32) {
        // SAFETY: see above.
        unsafe { close(line, at, width) }
    }
}

/// Not used: [`Cpu::for_slots`](crate::kernel::Cpu::for_slots) takes the body for AVX2.
impl Select for Avx512 {}
impl Select for Avx512Bitalg {}

#[target_feature(enable = "bmi2")]
#[inline]
fn pair(word: u64, rank: u32) -> u64 {
    // A rank of 64 and more has no bits.
    _pdep_u64(if rank < 64 { 3 << rank } else { 0 }, word)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(line: &Line) -> [__m256i; 2] {
    let (low, high) = line.split_at(32);
    // SAFETY: both halves have 32 bytes.
    unsafe { [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())] }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(line: &mut Line, [first, second]: [__m256i; 2]) {
    let (low, high) = line.split_at_mut(32);
    // SAFETY: both halves have 32 bytes.
    unsafe {
        _mm256_storeu_si256(low.as_mut_ptr().cast(), first);
        _mm256_storeu_si256(high.as_mut_ptr().cast(), second);
    }
}

/// All bits of the line below position `at`.
#[target_feature(enable = "avx2")]
#[inline]
fn below(at: u32) -> [__m256i; 2] {
    let ones = _mm256_set1_epi64x(-1);
    let ends = [_mm256_setr_epi64x(64, 128, 192, 256), _mm256_setr_epi64x(320, 384, 448, 512)];
    ends.map(|ends| {
        // The word is shifted by the bits that are not below: none if that is negative, all from 64 on.
        let shift = _mm256_sub_epi64(ends, _mm256_set1_epi64x(at.into()));
        let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), shift);
        _mm256_srlv_epi64(ones, _mm256_andnot_si256(negative, shift))
    })
}

/// The bits of `yes` where the mask is set, of `no` elsewhere.
#[target_feature(enable = "avx2")]
#[inline]
fn choose(mask: __m256i, yes: __m256i, no: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_and_si256(mask, yes), _mm256_andnot_si256(mask, no))
}

#[target_feature(enable = "avx2")]
#[inline]
fn open(line: &mut Line, at: u32, width: u32, value: u64) {
    let [first, second] = load(line);
    // Each word's predecessor.
    let up = _mm256_permute4x64_epi64::<0b10_01_00_00>;
    let carried = [
        _mm256_blend_epi32::<0b11>(up(first), _mm256_setzero_si256()),
        _mm256_blend_epi32::<0b11>(up(second), _mm256_permute4x64_epi64::<0b11>(first)),
    ];
    let (left, right) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let (low, field) = (below(at), below(at + width));
    // Rotated, so that its bits are in their places in whichever words it touches.
    let value = _mm256_set1_epi64x(value.rotate_left(at) as i64);
    let moved = |word: __m256i, carried: __m256i| {
        _mm256_or_si256(_mm256_sll_epi64(word, left), _mm256_srl_epi64(carried, right))
    };
    let upper = [
        choose(field[0], value, moved(first, carried[0])),
        choose(field[1], value, moved(second, carried[1])),
    ];
    store(line, [choose(low[0], first, upper[0]), choose(low[1], second, upper[1])]);
}

#[target_feature(enable = "avx2")]
#[inline]
fn close(line: &mut Line, at: u32, width: u32) {
    let [first, second] = load(line);
    // Each word's successor.
    let down = _mm256_permute4x64_epi64::<0b11_11_10_01>;
    let carried = [
        _mm256_blend_epi32::<0b1100_0000>(down(first), _mm256_permute4x64_epi64::<0>(second)),
        _mm256_blend_epi32::<0b1100_0000>(down(second), _mm256_setzero_si256()),
    ];
    let (right, left) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let low = below(at);
    let moved = |word: __m256i, carried: __m256i| {
        _mm256_or_si256(_mm256_srl_epi64(word, right), _mm256_sll_epi64(carried, left))
    };
    let lower = [moved(first, carried[0]), moved(second, carried[1])];
    store(line, [choose(low[0], first, lower[0]), choose(low[1], second, lower[1])]);
}
