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
    fn first(self, tops: u64, _width: u32, count: u64) -> u64 {
        // SAFETY: see above.
        unsafe { deposit(count, tops) }
    }

    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8]) {
        // SAFETY: see above.
        unsafe { open(line, at, width, value, used) }
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

#[target_feature(enable = "bmi2")]
#[inline]
fn deposit(bits: u64, mask: u64) -> u64 {
    _pdep_u64(bits, mask)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(line: &[u8; 64]) -> [__m256i; 2] {
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

/// For each number of bits within a byte: bytes of ones, a byte with this many ones, and bytes of zeros. Any 64 bytes
/// in a row with that byte among them, or just after them, are a mask.
static MASKS: [[u8; 128]; 8] = {
    let mut masks = [[0; 128]; 8];
    let mut bits = 0;
    while bits < 8 {
        let mut i = 0;
        while i < 64 {
            masks[bits][i] = 0xff;
            i += 1;
        }
        masks[bits][64] = (1 << bits) - 1;
        bits += 1;
    }
    masks
};

/// All bits of the line below position `at`.
#[target_feature(enable = "avx2")]
#[inline]
fn below(at: u32) -> [__m256i; 2] {
    let start = 64 - (at >> 3).min(64) as usize;
    match MASKS[(at & 7) as usize][start..].first_chunk() {
        Some(mask) => load(mask),
        None => [_mm256_setzero_si256(); 2], // `start` is at most 64
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8]) {
    let (words, low) = (load(line), below(at));
    let moving = [_mm256_andnot_si256(low[0], words[0]), _mm256_andnot_si256(low[1], words[1])];
    // Each word's predecessor.
    let carried = [
        _mm256_alignr_epi8::<8>(moving[0], _mm256_permute2x128_si256::<0x08>(moving[0], moving[0])),
        _mm256_alignr_epi8::<8>(moving[1], _mm256_permute2x128_si256::<0x21>(moving[0], moving[1])),
    ];
    let (left, right) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let (at, value) = (_mm256_set1_epi64x(at.into()), _mm256_set1_epi64x(value as i64));
    let starts = [_mm256_setr_epi64x(0, 64, 128, 192), _mm256_setr_epi64x(256, 320, 384, 448)];
    let mut joined = words;
    for i in 0..2 {
        let moved = _mm256_or_si256(_mm256_sll_epi64(moving[i], left), _mm256_srl_epi64(carried[i], right));
        // The value's part of each word: a shift by a negative number, or by 64 and more, leaves nothing.
        let part = _mm256_or_si256(
            _mm256_sllv_epi64(value, _mm256_sub_epi64(at, starts[i])),
            _mm256_srlv_epi64(value, _mm256_sub_epi64(starts[i], at)),
        );
        let below = _mm256_and_si256(low[i], words[i]);
        // SAFETY: `used` has 64 bytes.
        let used = unsafe { _mm256_loadu_si256(used.as_ptr().add(4 * i).cast()) };
        joined[i] = _mm256_and_si256(_mm256_or_si256(_mm256_or_si256(below, part), moved), used);
    }
    store(line, joined);
}

#[target_feature(enable = "avx2")]
#[inline]
fn close(line: &mut Line, at: u32, width: u32) {
    let [first, second] = load(line);
    // Each word's successor.
    let carried_0 = _mm256_alignr_epi8::<8>(_mm256_permute2x128_si256::<0x21>(first, second), first);
    let carried_1 = _mm256_alignr_epi8::<8>(_mm256_permute2x128_si256::<0x81>(second, second), second);
    let (right, left) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let low = below(at);
    let joined = |word: __m256i, carried: __m256i, low: __m256i| {
        let moved = _mm256_or_si256(_mm256_srl_epi64(word, right), _mm256_sll_epi64(carried, left));
        _mm256_or_si256(_mm256_and_si256(low, word), _mm256_andnot_si256(low, moved))
    };
    store(line, [joined(first, carried_0, low[0]), joined(second, carried_1, low[1])]);
}
