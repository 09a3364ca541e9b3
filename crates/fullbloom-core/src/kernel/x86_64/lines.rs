//! A key's bits in its line, with AVX2.
//!
//! A half of a line is one vector: its eight words belong to the eight lanes. The bytes of the fields are
//! sign-extended to lanes of 32 bits, so the top bit of a byte, which chooses the half, becomes the sign by
//! which a lane is selected from the two halves. A shift by the low five bits moves the lane's bit to its
//! sign. The signs of the key's lanes, a row of a table, must be set.

use super::Avx2;
use crate::bits::prefetch;
use crate::kernel::lines::{CHUNK, Line, Lines, Probes, line_of};
use crate::probe::lines::Mark;
use core::arch::x86_64::*;

impl Lines for Avx2 {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
        unsafe { test(line, mark, probes) }
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
        unsafe { set(line, mark, probes) }
    }

    #[inline(always)]
    fn test_chunk(
        self,
        lines: &[Line],
        now: &[u64; CHUNK],
        next: Option<&[u64; CHUNK]>,
        probes: Probes,
    ) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
        unsafe { test_chunk(lines, now, next, probes) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(half: &[u8; 32]) -> __m256i {
    // SAFETY: reads the 32 bytes.
    unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(half: &mut [u8; 32], vector: __m256i) {
    // SAFETY: writes the 32 bytes.
    unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), vector) }
}

/// The fields as lanes of 32 bits, and their low five bits.
#[inline]
#[target_feature(enable = "avx2")]
fn fields_and_shifts(mark: Mark) -> (__m256i, __m256i) {
    let fields = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(mark.fields as i64));
    (fields, _mm256_and_si256(fields, _mm256_set1_epi32(31)))
}

/// The lanes of a key: their signs are set. All eight need no table.
#[inline]
#[target_feature(enable = "avx2")]
fn row(mark: Mark, probes: Probes) -> __m256i {
    match probes.count {
        8 => _mm256_set1_epi32(i32::MIN),
        // SAFETY: reads the 32 bytes of a row.
        _ => unsafe { _mm256_loadu_si256(probes.row(mark).as_ptr().cast()) },
    }
}

/// The words that the fields choose from the two halves.
#[inline]
#[target_feature(enable = "avx2")]
fn chosen(lower: __m256i, upper: __m256i, fields: __m256i) -> __m256i {
    let float = |vector| _mm256_castsi256_ps(vector);
    _mm256_castps_si256(_mm256_blendv_ps(float(lower), float(upper), float(fields)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn test(line: &Line, mark: Mark, probes: Probes) -> bool {
    let (halves, (fields, shifts)) = (line.as_chunks().0, fields_and_shifts(mark));
    let signs = _mm256_sllv_epi32(chosen(load(&halves[0]), load(&halves[1]), fields), shifts);
    _mm256_testc_ps(_mm256_castsi256_ps(signs), _mm256_castsi256_ps(row(mark, probes))) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn set(line: &mut Line, mark: Mark, probes: Probes) -> bool {
    let (halves, (fields, shifts)) = (line.as_chunks_mut().0, fields_and_shifts(mark));
    let bits = _mm256_srlv_epi32(row(mark, probes), shifts);
    let in_upper = _mm256_srai_epi32::<31>(fields);
    let (lower, upper) = (load(&halves[0]), load(&halves[1]));
    store(&mut halves[0], _mm256_or_si256(lower, _mm256_andnot_si256(in_upper, bits)));
    store(&mut halves[1], _mm256_or_si256(upper, _mm256_and_si256(in_upper, bits)));
    _mm256_testc_si256(chosen(lower, upper, fields), bits) == 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn test_chunk(lines: &[Line], now: &[u64; CHUNK], next: Option<&[u64; CHUNK]>, probes: Probes) -> u64 {
    assert!(!lines.is_empty());
    let mut present = 0;
    for (i, &hash) in now.iter().enumerate().rev() {
        if let Some(next) = next {
            prefetch::line(lines, line_of(lines, next[i]));
        }
        // SAFETY: the line's number is below that of the lines, of which there is at least one.
        let line = unsafe { lines.get_unchecked(line_of(lines, hash)) };
        let found = test(line, Mark::of(hash), probes);
        // One instruction: the test leaves its answer in the carry.
        // SAFETY: every x86-64 CPU has it.
        #[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
        unsafe {
            _addcarry_u64(found.into(), present, present, &mut present)
        };
    }
    present
}
