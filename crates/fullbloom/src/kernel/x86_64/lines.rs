//! Lines of the native layout with AVX2 and AVX-512.
//!
//! Byte `j` of the fields is the bit number in word `j`, so widening eight bytes to eight words gives all shift
//! counts at once. AVX-512 rotates a one by them and tests the line; AVX2 shifts the line's bits to the sign and
//! collects the signs. Words that a key does not use are masked out at the end.

use super::{Avx2, Avx512};
use crate::kernel::lines::{AHEAD, GROUP, Group, LINE_SHIFT, Line, Lines, Probes, prefetch_after};
use crate::kernel::scalar::Scalar;
use crate::probe::lines::{P, block_of, first_word};
use std::arch::asm;
use std::arch::x86_64::*;

/// A value for every word.
static ONE: u64 = 1;

/// Answers or masks of a group, a byte for each key.
#[repr(C, align(64))]
struct Bytes([u8; GROUP]);

/// The spare bits of the fields that say where a key's run of words begins; `pext` makes a number of them.
const FIRST_WORD: u64 = 1 << 55 | 1 << 62 | 1 << 63;

impl Lines for Avx512 {
    /// Inlined assembly: a function with the CPU feature could not be inlined into callers without it, and would
    /// have to clear the vector registers before it returns. Only registers that code without AVX-512 never
    /// uses are touched, so nothing needs clearing. A fifth faster than the call in L2.
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        let absent: u32;
        // SAFETY: an `Avx512` exists only if `detect` saw AVX-512 F, DQ and VL, and BMI2. Read are the 64 bytes of
        // `line`, the 8 of ONE, and one of the 8 of `runs`: `pext` keeps three bits. Nothing is written.
        unsafe {
            asm!(
                "vmovq xmm16, {fields}",
                "vpbroadcastq zmm17, qword ptr [{one}]",
                "pext {first}, {fields}, {first_word}",
                "vpmovzxbq zmm16, xmm16",
                "vprolvq zmm16, zmm17, zmm16",
                "vptestnmq k1, zmm16, zmmword ptr [{line}]",
                "kmovb {absent:e}, k1",
                "and {absent:l}, byte ptr [{runs} + {first}]",
                fields = in(reg) fields,
                one = in(reg) &raw const ONE,
                first_word = in(reg) FIRST_WORD,
                line = in(reg) line.as_ptr(),
                runs = in(reg) probes.runs.as_ptr(),
                first = out(reg) _,
                absent = out(reg) absent,
                out("xmm16") _, out("xmm17") _, out("k1") _,
                options(pure, readonly, nostack),
            );
        }
        absent == 0
    }

    #[inline(always)]
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        let changed: u32;
        // SAFETY: as in `test`; the 64 bytes of `line` are written too, which it borrows exclusively.
        unsafe {
            asm!(
                "pext {first}, {fields}, {first_word}",
                "kmovb k1, byte ptr [{runs} + {first}]",
                "vmovq xmm16, {fields}",
                "vpbroadcastq zmm17, qword ptr [{one}]",
                "vpmovzxbq zmm16, xmm16",
                "vprolvq zmm16 {{k1}} {{z}}, zmm17, zmm16",
                "vmovdqu64 zmm17, zmmword ptr [{line}]",
                "vptestnmq k2 {{k1}}, zmm16, zmm17",
                "vporq zmm17, zmm17, zmm16",
                "vmovdqu64 zmmword ptr [{line}], zmm17",
                "kmovb {changed:e}, k2",
                fields = in(reg) fields,
                one = in(reg) &raw const ONE,
                first_word = in(reg) FIRST_WORD,
                line = in(reg) line.as_mut_ptr(),
                runs = in(reg) probes.runs.as_ptr(),
                first = out(reg) _,
                changed = lateout(reg) changed,
                out("xmm16") _, out("xmm17") _, out("k1") _, out("k2") _,
                options(nostack, preserves_flags),
            );
        }
        changed != 0
    }

    fn locate(self, blocks: u64, group: &mut Group) {
        match u32::try_from(blocks) {
            // SAFETY: an `Avx512` exists only if `detect` saw the features.
            Ok(narrow) => unsafe { locate_512(narrow, group) },
            Err(_) => Scalar.locate(blocks, group),
        }
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        // SAFETY: an `Avx512` exists only if `detect` saw the features; all lines of `now` are in the array, as
        // `check` has seen.
        unsafe { test_group_512(lines, now, next, probes) }
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        // SAFETY: an `Avx512` exists only if `detect` saw the features; all lines of `now` are in the array, as
        // `check` has seen.
        unsafe { set_group_512(lines, now, next, probes) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn locate_512(blocks: u32, group: &mut Group) {
    group.bound = u64::from(blocks).max(1); // every block number is below `blocks`, and 0 if that is 0
    let multiplier = _mm512_set1_epi64(P as i64);
    let blocks = _mm512_set1_epi64(blocks.into());
    let (hashes, _) = group.fields.as_chunks::<8>();
    let (offsets, _) = group.offsets.as_chunks_mut::<8>();
    for (hashes, offsets) in hashes.iter().zip(offsets) {
        // SAFETY: reads the 64 bytes of eight hashes.
        let hash = unsafe { _mm512_loadu_si512(hashes.as_ptr().cast()) };
        let folded = _mm512_xor_si512(hash, _mm512_srli_epi64::<32>(hash));
        let spread = _mm512_mullo_epi64(folded, multiplier);
        // The high 64 bits of a 64 x 32 bit product, from two of 32 x 32.
        let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(spread, blocks));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(spread), blocks);
        let block = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
        let offset = _mm512_slli_epi64::<LINE_SHIFT>(block);
        // SAFETY: writes the 64 bytes of eight offsets.
        unsafe { _mm512_storeu_si512(offsets.as_mut_ptr().cast(), offset) };
    }
}

/// The line at this offset.
#[inline(always)]
fn line_at(lines: &[Line], offset: u64) -> *const Line {
    lines.as_flattened().as_ptr().wrapping_add(offset as usize).cast()
}

/// A one in the place that each byte of the fields names, in the word of that byte.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits_of(fields: &u64) -> __m512i {
    // SAFETY: reads the eight bytes of the fields.
    let bytes = unsafe { _mm_loadl_epi64(std::ptr::from_ref(fields).cast()) };
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_cvtepu8_epi64(bytes))
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn test_group_512(lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut absent = Bytes([0; GROUP]);
    let test = |i: usize| {
        // SAFETY: the line is in the array, says the caller; its 64 bytes are read.
        let line = unsafe { _mm512_loadu_si512(line_at(lines, now.offsets[i]).cast()) };
        _mm512_testn_epi64_mask(bits_of(&now.fields[i]), line)
    };
    for i in 0..GROUP - AHEAD {
        prefetch_line(lines, now.offsets[i + AHEAD]);
        absent.0[i] = test(i);
    }
    for i in GROUP - AHEAD..GROUP {
        prefetch_line(lines, next.offsets[i + AHEAD - GROUP]);
        absent.0[i] = test(i);
    }
    let words = words_512(&now.fields, probes);
    // SAFETY: reads the 64 bytes of `absent`.
    let absent = unsafe { _mm512_load_si512(absent.0.as_ptr().cast()) };
    // SAFETY: reads the 64 bytes of `words`.
    let words = unsafe { _mm512_load_si512(words.0.as_ptr().cast()) };
    _mm512_testn_epi8_mask(absent, words)
}

/// The words that each key uses, a byte of bits for each key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn words_512(fields: &[u64; GROUP], probes: Probes) -> Bytes {
    let runs = _mm512_set1_epi64(i64::from_le_bytes(*probes.runs));
    let mut words = Bytes([0; GROUP]);
    for (fields, words) in fields.as_chunks::<8>().0.iter().zip(words.0.as_chunks_mut::<8>().0) {
        // SAFETY: reads the 64 bytes of eight keys' fields.
        let fields = unsafe { _mm512_loadu_si512(fields.as_ptr().cast()) };
        let upper = _mm512_and_si512(_mm512_srli_epi64::<61>(fields), _mm512_set1_epi64(6));
        let lower = _mm512_and_si512(_mm512_srli_epi64::<55>(fields), _mm512_set1_epi64(1));
        let run = _mm512_cvtepi64_epi8(_mm512_shuffle_epi8(runs, _mm512_or_si512(upper, lower)));
        *words = _mm_cvtsi128_si64(run).to_le_bytes();
    }
    words
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn set_group_512(lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let words = words_512(&now.fields, probes);
    let mut clear = Bytes([0; GROUP]);
    for i in 0..now.len() {
        let ahead = if i < GROUP - AHEAD { now.offsets[i + AHEAD] } else { next.offsets[i + AHEAD - GROUP] };
        prefetch_line(lines, ahead);
        let line = line_at(lines, now.offsets[i]).cast_mut();
        // SAFETY: the line is in the array, says the caller; its 64 bytes are read.
        let old = unsafe { _mm512_loadu_si512(line.cast()) };
        let bits = bits_of(&now.fields[i]);
        clear.0[i] = _mm512_testn_epi64_mask(bits, old);
        let new = _mm512_mask_or_epi64(old, words.0[i], old, bits);
        // SAFETY: as above; `lines` is borrowed exclusively.
        unsafe { _mm512_storeu_si512(line.cast(), new) };
    }
    // SAFETY: reads the 64 bytes of `clear`.
    let clear = unsafe { _mm512_load_si512(clear.0.as_ptr().cast()) };
    // SAFETY: reads the 64 bytes of `words`.
    let words = unsafe { _mm512_load_si512(words.0.as_ptr().cast()) };
    _mm512_test_epi8_mask(clear, words)
}

/// Asks for a line. An offset outside the array does no harm.
#[inline(always)]
fn prefetch_line(lines: &[Line], offset: u64) {
    // SAFETY: prefetch never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line_at(lines, offset).cast()) }
}

/// A run of words as [`signs`] would tell it.
#[inline(always)]
fn in_sign_order(words: u8) -> u8 {
    // Words 2, 3 and 4, 5 change places.
    words & 0b1100_0011 | (words & 0b0000_1100) << 2 | (words & 0b0011_0000) >> 2
}

/// A bit for each word of the line, in the order 0, 1, 4, 5, 2, 3, 6, 7: is the bit that the fields name set?
#[inline]
#[target_feature(enable = "avx2")]
fn signs(line: &Line, fields: u64) -> u8 {
    let low_six = _mm256_set1_epi64x(63);
    let fields = _mm_cvtsi64_si128(fields as i64);
    // 63 - bit, as shift counts that move the bit to the sign.
    let low = _mm256_andnot_si256(_mm256_cvtepu8_epi64(fields), low_six);
    let high = _mm256_andnot_si256(_mm256_cvtepu8_epi64(_mm_srli_si128::<4>(fields)), low_six);
    // SAFETY: reads the first 32 of the line's 64 bytes.
    let first = unsafe { _mm256_loadu_si256(line.as_ptr().cast()) };
    // SAFETY: reads the last 32 of the line's 64 bytes.
    let last = unsafe { _mm256_loadu_si256(line.as_ptr().add(32).cast()) };
    let first = _mm256_castsi256_ps(_mm256_sllv_epi64(first, low));
    let last = _mm256_castsi256_ps(_mm256_sllv_epi64(last, high));
    // The high halves of all eight words, then their signs.
    _mm256_movemask_ps(_mm256_shuffle_ps::<0b11_01_11_01>(first, last)) as u8
}

#[target_feature(enable = "avx2,bmi2")]
fn test_avx2(line: &Line, fields: u64, probes: Probes) -> bool {
    !signs(line, fields) & in_sign_order(probes.words(fields)) == 0
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx2,bmi2")]
unsafe fn test_group_avx2(lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut present = Bytes([0; GROUP]);
    let test = |i: usize| {
        // SAFETY: the line is in the array, says the caller, and `lines` is borrowed meanwhile.
        signs(unsafe { &*line_at(lines, now.offsets[i]) }, now.fields[i])
    };
    for i in 0..GROUP - AHEAD {
        prefetch_line(lines, now.offsets[i + AHEAD]);
        present.0[i] = test(i);
    }
    for i in GROUP - AHEAD..GROUP {
        prefetch_line(lines, next.offsets[i + AHEAD - GROUP]);
        present.0[i] = test(i);
    }
    let runs = probes.runs.map(in_sign_order);
    let mut words = Bytes([0; GROUP]);
    for (word, &fields) in words.0.iter_mut().zip(&now.fields) {
        *word = runs[first_word(fields) as usize & 7];
    }
    let mut answers = 0;
    for half in 0..2 {
        // SAFETY: reads 32 of the 64 bytes, the first or the last.
        let present = unsafe { _mm256_load_si256(present.0.as_ptr().add(32 * half).cast()) };
        // SAFETY: reads 32 of the 64 bytes, the first or the last.
        let words = unsafe { _mm256_load_si256(words.0.as_ptr().add(32 * half).cast()) };
        let all = _mm256_cmpeq_epi8(_mm256_and_si256(present, words), words);
        answers |= u64::from(_mm256_movemask_epi8(all) as u32) << (32 * half);
    }
    answers
}

#[target_feature(enable = "avx2,bmi2")]
fn set_avx2(line: &mut Line, fields: u64, probes: Probes) -> bool {
    // Lane `j` of a run is one if word `j` is used, so that what is shifted is the bit or nothing.
    let words = u32::from(probes.words(fields));
    let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
    let one = |words: u32| {
        let chosen = _mm256_and_si256(_mm256_set1_epi64x(words.into()), lanes);
        _mm256_srli_epi64::<63>(_mm256_cmpeq_epi64(chosen, lanes))
    };
    let low_six = _mm256_set1_epi64x(63);
    let fields = _mm_cvtsi64_si128(fields as i64);
    let low = _mm256_and_si256(_mm256_cvtepu8_epi64(fields), low_six);
    let high = _mm256_and_si256(_mm256_cvtepu8_epi64(_mm_srli_si128::<4>(fields)), low_six);
    let low = _mm256_sllv_epi64(one(words), low);
    let high = _mm256_sllv_epi64(one(words >> 4), high);
    let (first, last) = line.split_at_mut(32);
    // SAFETY: reads the first 32 of the line's 64 bytes.
    let old_first = unsafe { _mm256_loadu_si256(first.as_ptr().cast()) };
    // SAFETY: reads the last 32 of the line's 64 bytes.
    let old_last = unsafe { _mm256_loadu_si256(last.as_ptr().cast()) };
    let known = _mm256_testc_si256(old_first, low) & _mm256_testc_si256(old_last, high);
    // SAFETY: writes the first 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), _mm256_or_si256(old_first, low)) };
    // SAFETY: writes the last 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(last.as_mut_ptr().cast(), _mm256_or_si256(old_last, high)) };
    known == 0
}

#[target_feature(enable = "avx2,bmi2")]
fn set_group_avx2(lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut changed = 0;
    for i in 0..now.len() {
        prefetch_after(lines, now, next, i);
        changed |= u64::from(set_avx2(&mut lines[now.line(i)], now.fields[i], probes)) << i;
    }
    changed
}

#[target_feature(enable = "avx2,bmi2")]
fn set_part_avx2(lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
    let mut changed = 0;
    for &hash in hashes {
        let line = block_of(hash, blocks).wrapping_sub(first) as usize;
        changed += u64::from(set_avx2(&mut lines[line], hash, probes));
    }
    changed
}

impl Lines for Avx2 {
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { test_avx2(line, fields, probes) }
    }

    #[inline(always)]
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set_avx2(line, fields, probes) }
    }

    #[inline(always)]
    fn locate(self, blocks: u64, group: &mut Group) {
        Scalar.locate(blocks, group); // 64-bit products: no better with AVX2
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2; all lines of `now` are in the array, as
        // `check` has seen.
        unsafe { test_group_avx2(lines, now, next, probes) }
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set_group_avx2(lines, now, next, probes) }
    }

    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set_part_avx2(lines, first, blocks, hashes, probes) }
    }
}
