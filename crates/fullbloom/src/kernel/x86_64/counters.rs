//! Counting insertions with AVX-512 and AVX2: a line and the first two digits of its counters are loaded,
//! changed and stored at once.

use super::lines_avx2;
use crate::kernel::counters::{Counters, add_high};
use crate::kernel::lines::{Line, Probes};
use crate::probe::lines::{LINE, Mark};
use core::arch::x86_64::*;

/// The definition is in `kernel/counters.rs`. Here a line is one vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]
pub(super) fn add_512(line: &mut Line, counters: &mut Counters, mark: Mark, probes: Probes) -> bool {
    let [low, high] = lines_avx2::bits(mark, probes);
    let key = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    let digits = counters.as_mut_ptr();
    // SAFETY: a line is 64 bytes, and counters are four times that, of which the first half is read and
    // written. Both are borrowed exclusively.
    unsafe {
        let second = digits.add(LINE).cast();
        let old = _mm512_loadu_si512(line.as_ptr().cast());
        let digit_0 = _mm512_loadu_si512(digits.cast());
        let digit_1 = _mm512_loadu_si512(second);
        let known = _mm512_and_si512(old, key);
        let carry_1 = _mm512_and_si512(digit_0, known);
        _mm512_storeu_si512(line.as_mut_ptr().cast(), _mm512_or_si512(old, key));
        _mm512_storeu_si512(digits.cast(), _mm512_xor_si512(digit_0, known));
        // Four keys in five carry nothing: then the counters are not written, and their line need not be
        // written back to memory.
        let carried = _mm512_test_epi64_mask(carry_1, carry_1);
        _mm512_mask_storeu_epi64(second.cast(), carried, _mm512_xor_si512(digit_1, carry_1));
        if _mm512_test_epi64_mask(digit_1, carry_1) != 0 {
            let mut carry_2 = [0u64; 8];
            _mm512_storeu_si512(carry_2.as_mut_ptr().cast(), _mm512_and_si512(digit_1, carry_1));
            add_high(counters, carry_2);
        }
        let new = _mm512_andnot_si512(old, key);
        _mm512_test_epi64_mask(new, new) != 0
    }
}

/// As [`add_512`], with two vectors per line.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn add_256(line: &mut Line, counters: &mut Counters, mark: Mark, probes: Probes) -> bool {
    let keys = lines_avx2::bits(mark, probes);
    let mut changed = false;
    let mut carry_2 = [_mm256_setzero_si256(); 2];
    for (i, key) in keys.into_iter().enumerate() {
        let digits = counters.as_mut_ptr();
        // SAFETY: halves of a line of 64 bytes, and of the first two lines of the counters, which have four.
        // Both are borrowed exclusively.
        unsafe {
            let line: *mut __m256i = line.as_mut_ptr().add(32 * i).cast();
            let zeroth: *mut __m256i = digits.add(32 * i).cast();
            let first: *mut __m256i = digits.add(LINE + 32 * i).cast();
            let old = _mm256_loadu_si256(line);
            let (digit_0, digit_1) = (_mm256_loadu_si256(zeroth), _mm256_loadu_si256(first));
            let known = _mm256_and_si256(old, key);
            let carry_1 = _mm256_and_si256(digit_0, known);
            _mm256_storeu_si256(line, _mm256_or_si256(old, key));
            _mm256_storeu_si256(zeroth, _mm256_xor_si256(digit_0, known));
            _mm256_storeu_si256(first, _mm256_xor_si256(digit_1, carry_1));
            carry_2[i] = _mm256_and_si256(digit_1, carry_1);
            changed |= _mm256_testc_si256(old, key) == 0;
        }
    }
    let any = _mm256_or_si256(carry_2[0], carry_2[1]);
    if _mm256_testz_si256(any, any) == 0 {
        let mut words = [0u64; 8];
        // SAFETY: eight words are two vectors.
        unsafe {
            _mm256_storeu_si256(words.as_mut_ptr().cast(), carry_2[0]);
            _mm256_storeu_si256(words.as_mut_ptr().add(4).cast(), carry_2[1]);
        }
        add_high(counters, words);
    }
    changed
}
