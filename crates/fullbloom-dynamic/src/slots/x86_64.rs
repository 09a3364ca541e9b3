#![allow(unsafe_code)]
//! Lines of fingerprints with BMI2 and AVX2.

use crate::slots::{GROUP, Lanes, Runs, Select, Slots};
use core::arch::x86_64::*;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::kernel::x86_64::Avx2;

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
    fn lowest(self, word: u64, bits: u32) -> u64 {
        // SAFETY: see above.
        unsafe { lowest(word, bits) }
    }

    #[inline(always)]
    fn matches(self, slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
        // SAFETY: see above.
        unsafe { matches(slots, runs, entries) }
    }

    #[inline(always)]
    fn widen(self, word: u64, at: u32) -> u64 {
        // SAFETY: see above.
        unsafe { deposit(word, !1u64.wrapping_shl(at)) }
    }

    #[inline(always)]
    fn open(self, line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
        // SAFETY: see above.
        unsafe { open(line, at, width, value, used, metadata) }
    }

    #[inline(always)]
    fn close(self, line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
        // SAFETY: see above.
        unsafe { close(line, at, width, used, metadata) }
    }
}

#[target_feature(enable = "bmi2")]
#[inline]
fn pair(word: u64, rank: u32) -> u64 {
    _pdep_u64(3u64.wrapping_shl(rank), word)
}

#[target_feature(enable = "bmi2")]
#[inline]
fn deposit(bits: u64, mask: u64) -> u64 {
    _pdep_u64(bits, mask)
}

#[target_feature(enable = "bmi2")]
#[inline]
fn lowest(word: u64, bits: u32) -> u64 {
    _bzhi_u64(word, bits)
}

/// As the definition, four keys at a time.
#[target_feature(enable = "avx2")]
#[inline]
fn matches(slots: &Slots, runs: &Runs, entries: &[u64; GROUP]) -> (u32, u32) {
    let lanes: &Lanes = &slots.lanes;
    let all = |word: u64| _mm256_set1_epi64x(word as i64);
    let (remainder, ones, remainders) = (all(lanes.remainder), all(lanes.ones), all(lanes.remainders));
    let upper_ones = _mm256_srli_epi64::<32>(ones);
    let four = |words: &[u64; GROUP], i: usize| {
        // SAFETY: a chunk has four words.
        unsafe { _mm256_loadu_si256(words.as_chunks::<4>().0[i].as_ptr().cast()) }
    };
    // The bits of `starts` are below the sign.
    let full = all(slots.full);
    let (mut absent, mut sure) = (0, 0);
    for i in 0..GROUP / 4 {
        let entry = _mm256_and_si256(four(entries, i), remainder);
        // The lower half of the product with `ones`.
        let crossed = _mm256_add_epi64(
            _mm256_mul_epu32(entry, upper_ones),
            _mm256_mul_epu32(_mm256_srli_epi64::<32>(entry), ones),
        );
        let pattern = _mm256_add_epi64(_mm256_mul_epu32(entry, ones), _mm256_slli_epi64::<32>(crossed));
        let differ = _mm256_xor_si256(_mm256_and_si256(four(&runs.windows, i), remainders), pattern);
        let zero = _mm256_andnot_si256(differ, _mm256_sub_epi64(differ, ones));
        let found = _mm256_and_si256(zero, four(&runs.tops, i));
        let none = _mm256_cmpeq_epi64(found, _mm256_setzero_si256());
        let below = _mm256_cmpgt_epi64(full, four(&runs.pairs, i));
        absent |= (_mm256_movemask_pd(_mm256_castsi256_pd(none)) as u32) << (4 * i);
        sure |= (_mm256_movemask_pd(_mm256_castsi256_pd(below)) as u32) << (4 * i);
    }
    (!absent, sure)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(line: &[u64; 8]) -> [__m256i; 2] {
    let at = line.as_ptr();
    // SAFETY: both halves have four words.
    unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(4).cast())] }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_line(line: &Line) -> [__m256i; 2] {
    let at = line.as_ptr();
    // SAFETY: both halves have 32 bytes.
    unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast())] }
}

/// Writes the words, with the bits of `metadata` in the last two.
#[target_feature(enable = "avx2")]
#[inline]
fn store(line: &mut Line, [first, second]: [__m256i; 2], metadata: [u64; 2]) {
    let metadata = _mm256_set_epi64x(metadata[1] as i64, metadata[0] as i64, 0, 0);
    let at = line.as_mut_ptr();
    // SAFETY: both halves have 32 bytes.
    unsafe {
        _mm256_storeu_si256(at.cast(), first);
        _mm256_storeu_si256(at.add(32).cast(), _mm256_or_si256(second, metadata));
    }
}

/// All bits of the line from position `at` on.
#[target_feature(enable = "avx2")]
#[inline]
fn from(at: u32) -> [__m256i; 2] {
    let (at, all) = (_mm256_set1_epi64x(at.into()), _mm256_set1_epi64x(-1));
    // How many bits of each word are below; a shift by 64 and more leaves none.
    let below = [
        _mm256_subs_epu16(at, _mm256_setr_epi64x(0, 64, 128, 192)),
        _mm256_subs_epu16(at, _mm256_setr_epi64x(256, 320, 384, 448)),
    ];
    [_mm256_sllv_epi64(all, below[0]), _mm256_sllv_epi64(all, below[1])]
}

#[target_feature(enable = "avx2")]
#[inline]
fn open(line: &mut Line, at: u32, width: u32, value: u64, used: &[u64; 8], metadata: [u64; 2]) {
    let (words, from, used) = (load_line(line), from(at), load(used));
    let moving = [_mm256_and_si256(from[0], words[0]), _mm256_and_si256(from[1], words[1])];
    // Each word's predecessor.
    let carried = [
        _mm256_alignr_epi8::<8>(moving[0], _mm256_permute2x128_si256::<0x08>(moving[0], moving[0])),
        _mm256_alignr_epi8::<8>(moving[1], _mm256_permute2x128_si256::<0x21>(moving[0], moving[1])),
    ];
    let (left, right) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let joined = |i: usize| {
        let moved = _mm256_or_si256(_mm256_sll_epi64(moving[i], left), _mm256_srl_epi64(carried[i], right));
        _mm256_and_si256(_mm256_or_si256(_mm256_andnot_si256(from[i], words[i]), moved), used[i])
    };
    store(line, [joined(0), joined(1)], metadata);
    let byte = (at >> 3).min(56) as usize;
    if let Some(bytes) = line[byte..].first_chunk_mut() {
        *bytes = (u64::from_le_bytes(*bytes) | value << (at & 7)).to_le_bytes();
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn close(line: &mut Line, at: u32, width: u32, used: &[u64; 8], metadata: [u64; 2]) {
    let (words, from, used) = (load_line(line), from(at), load(used));
    let (first, second) = (_mm256_and_si256(words[0], used[0]), _mm256_and_si256(words[1], used[1]));
    // Each word's successor.
    let carried_0 = _mm256_alignr_epi8::<8>(_mm256_permute2x128_si256::<0x21>(first, second), first);
    let carried_1 = _mm256_alignr_epi8::<8>(_mm256_permute2x128_si256::<0x81>(second, second), second);
    let (right, left) = (_mm_cvtsi64_si128(width.into()), _mm_cvtsi64_si128(64 - i64::from(width)));
    let joined = |word: __m256i, carried: __m256i, from: __m256i| {
        let moved = _mm256_or_si256(_mm256_srl_epi64(word, right), _mm256_sll_epi64(carried, left));
        _mm256_or_si256(_mm256_andnot_si256(from, word), _mm256_and_si256(from, moved))
    };
    store(line, [joined(first, carried_0, from[0]), joined(second, carried_1, from[1])], metadata);
}
