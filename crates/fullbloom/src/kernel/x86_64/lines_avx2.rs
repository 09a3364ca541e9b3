//! Lines of the native layout with AVX2.
//!
//! The bytes of the fields are widened to shift counts that move each word's bit to its sign. The eight signs
//! are collected as a byte, in the word order 0, 1, 4, 5, 2, 3, 6, 7, and compared with the mask of the key's
//! words in the same order.

use super::Avx2;
use super::prefetch;
use crate::kernel::lines::{
    AHEAD, GROUP, Group, LINE_SHIFT, Line, Lines, Probes, distance, line_at, prefetch_after,
};
use crate::kernel::scalar::Scalar;
use crate::probe::lines::{P, block_of, first_word};
use core::arch::asm;
use core::arch::x86_64::*;

/// The low six bits of every byte.
const LOW_SIX: u64 = 0x3f3f_3f3f_3f3f_3f3f;

impl Lines for Avx2 {
    /// [`signs`] as inline assembly: a function with the CPU feature could not be inlined into callers
    /// without it.
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        let signs: u32;
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2. The 64 bytes of `line` are read, nothing is
        // written. All vector registers are declared clobbered, because their upper halves are cleared at the
        // end: code without AVX must not find data in them.
        unsafe {
            asm!(
                "vmovq xmm0, {counts}",
                "vpmovzxbq ymm1, xmm0",
                "vpsrldq xmm0, xmm0, 4",
                "vpmovzxbq ymm0, xmm0",
                "vmovdqu ymm2, ymmword ptr [{line}]",
                "vmovdqu ymm3, ymmword ptr [{line} + 32]",
                "vpsllvq ymm1, ymm2, ymm1",
                "vpsllvq ymm0, ymm3, ymm0",
                "vshufps ymm0, ymm1, ymm0, 0xdd",
                "vmovmskps {signs:e}, ymm0",
                "vzeroupper",
                counts = in(reg) !fields & LOW_SIX,
                line = in(reg) line.as_ptr(),
                signs = lateout(reg) signs,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        !signs as u8 & probes.signs[first_word(fields) as usize & 7] == 0
    }

    #[inline(always)]
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set(line, fields, probes) }
    }

    fn fold(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { fold(keys, x, y, hashes) }
    }

    fn locate(self, blocks: u64, group: &mut Group) {
        match u32::try_from(blocks) {
            // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
            Ok(narrow) => unsafe { locate(narrow, group) },
            Err(_) => Scalar.locate(blocks, group),
        }
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        let work = match distance::of(lines) {
            distance::NEAR => test_group::<{ distance::NEAR }>,
            distance::FAR => test_group::<{ distance::FAR }>,
            _ => test_group::<{ distance::MIDDLE }>,
        };
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2; all lines of `now` are in the array,
        // as `check` verified.
        unsafe { work(lines, now, next, probes) }
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set_group(lines, now, next, probes) }
    }

    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set_part(lines, first, blocks, hashes, probes) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: reads the 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_words(words: &[u64; 4]) -> __m256i {
    // SAFETY: reads the 32 bytes of four words.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_words(words: &mut [u64; 4], vector: __m256i) {
    // SAFETY: writes the 32 bytes of four words.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

/// The two halves of a line.
#[inline(always)]
fn halves(line: &Line) -> [&[u8; 32]; 2] {
    let (halves, _) = line.as_chunks();
    [&halves[0], &halves[1]]
}

/// The bytes of the fields as two times four words.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(fields: u64) -> [__m256i; 2] {
    let bytes = _mm_cvtsi64_si128(fields as i64);
    [_mm256_cvtepu8_epi64(bytes), _mm256_cvtepu8_epi64(_mm_srli_si128::<4>(bytes))]
}

/// A bit for each word of the line, in the order 0, 1, 4, 5, 2, 3, 6, 7: whether the bit selected by the
/// fields is set.
#[inline]
#[target_feature(enable = "avx2")]
fn signs(line: &Line, [low, high]: [__m256i; 2]) -> u8 {
    let low_six = _mm256_set1_epi64x(63);
    let [first, last] = halves(line);
    // 63 - bit moves the bit to the sign.
    let first = _mm256_sllv_epi64(load(first), _mm256_andnot_si256(low, low_six));
    let last = _mm256_sllv_epi64(load(last), _mm256_andnot_si256(high, low_six));
    // The high halves of all eight words, then their signs.
    let high = _mm256_shuffle_ps::<0b11_01_11_01>(_mm256_castsi256_ps(first), _mm256_castsi256_ps(last));
    _mm256_movemask_ps(high) as u8
}

/// Low half xor high half of the 128-bit product of each word with `y`, from four products of 32-bit halves.
#[target_feature(enable = "avx2")]
fn fold(keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
    let (low, high) = (_mm256_set1_epi64x((y & 0xffff_ffff) as i64), _mm256_set1_epi64x((y >> 32) as i64));
    let lower = _mm256_set1_epi64x(0xffff_ffff);
    let (fours, rest) = keys.as_chunks::<4>();
    let (out, out_rest) = hashes.as_chunks_mut::<4>();
    for (keys, out) in fours.iter().zip(out) {
        let word = _mm256_xor_si256(load_words(keys), _mm256_set1_epi64x(x as i64));
        let word_high = _mm256_srli_epi64::<32>(word);
        let low_low = _mm256_mul_epu32(word, low);
        let middle = _mm256_add_epi64(_mm256_mul_epu32(word_high, low), _mm256_srli_epi64::<32>(low_low));
        let second = _mm256_add_epi64(_mm256_mul_epu32(word, high), _mm256_and_si256(middle, lower));
        let top = _mm256_add_epi64(_mm256_mul_epu32(word_high, high), _mm256_srli_epi64::<32>(middle));
        let top = _mm256_add_epi64(top, _mm256_srli_epi64::<32>(second));
        // The even 32-bit lanes keep the low half's low bits.
        let bottom = _mm256_blend_epi32::<0b1010_1010>(low_low, _mm256_slli_epi64::<32>(second));
        store_words(out, _mm256_xor_si256(top, bottom));
    }
    Scalar.fold(rest, x, y, out_rest);
}

#[target_feature(enable = "avx2")]
fn locate(blocks: u32, group: &mut Group) {
    group.bound = u64::from(blocks).max(1); // every block number is below `blocks`, and 0 if that is 0
    let (low, high) = (_mm256_set1_epi64x((P & 0xffff_ffff) as i64), _mm256_set1_epi64x((P >> 32) as i64));
    let blocks = _mm256_set1_epi64x(blocks.into());
    for (hashes, offsets) in group.fields.as_chunks().0.iter().zip(group.offsets.as_chunks_mut().0) {
        let hash = load_words(hashes);
        let folded_high = _mm256_srli_epi64::<32>(hash);
        let folded = _mm256_xor_si256(hash, folded_high);
        // folded · P modulo 2^64; folding left the upper half unchanged.
        let crossed = _mm256_add_epi64(_mm256_mul_epu32(folded_high, low), _mm256_mul_epu32(folded, high));
        let spread = _mm256_add_epi64(_mm256_mul_epu32(folded, low), _mm256_slli_epi64::<32>(crossed));
        // The high 64 bits of a 64 x 32 bit product, from two of 32 x 32.
        let below = _mm256_srli_epi64::<32>(_mm256_mul_epu32(spread, blocks));
        let above = _mm256_mul_epu32(_mm256_srli_epi64::<32>(spread), blocks);
        let block = _mm256_srli_epi64::<32>(_mm256_add_epi64(above, below));
        store_words(offsets, _mm256_slli_epi64::<{ LINE_SHIFT as i32 }>(block));
    }
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx2,bmi2")]
unsafe fn test_group<const DISTANCE: u8>(lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut present = [[0; 32]; 2];
    for (half, present) in present.iter_mut().enumerate() {
        let from = half * AHEAD;
        let own = now.offsets[from..from + AHEAD].iter().zip(&now.fields[from..from + AHEAD]);
        for (((&offset, fields), &later), present) in
            own.zip(distance::ahead::<DISTANCE>(now, next, half)).zip(present)
        {
            prefetch::<DISTANCE>(line_at(lines, later));
            // SAFETY: the caller guarantees that the line is in the array; `lines` is borrowed meanwhile.
            *present = signs(unsafe { &*line_at(lines, offset) }, widened(*fields));
        }
    }
    let words = words(&now.fields, probes);
    let answers = |half: usize| {
        let words = words[half];
        let all = _mm256_cmpeq_epi8(_mm256_and_si256(load(&present[half]), words), words);
        u64::from(_mm256_movemask_epi8(all) as u32)
    };
    answers(0) | answers(1) << 32
}

/// The words that each key uses, in the order of [`signs`]: one byte of bits per key, 32 keys in a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn words(fields: &[u64; GROUP], probes: Probes) -> [__m256i; 2] {
    let runs = _mm256_set1_epi64x(i64::from_le_bytes(*probes.signs));
    // The run of each of four keys, in the lowest byte of its 64-bit word.
    let four = |fields: &[u64; 4]| {
        let fields = load_words(fields);
        let upper = _mm256_and_si256(_mm256_srli_epi64::<61>(fields), _mm256_set1_epi64x(6));
        let lower = _mm256_and_si256(_mm256_srli_epi64::<55>(fields), _mm256_set1_epi64x(1));
        // Bytes 1 to 7 of the index are zero and select byte 0 of the runs: cleared again.
        let run = _mm256_shuffle_epi8(runs, _mm256_or_si256(upper, lower));
        _mm256_and_si256(run, _mm256_set1_epi64x(0xff))
    };
    // Sixteen keys, four in each word, 16 bits each: word w has keys w, w + 4, w + 8, w + 12.
    let sixteen = |fields: &[[u64; 4]]| {
        let low = _mm256_or_si256(four(&fields[0]), _mm256_slli_epi64::<16>(four(&fields[1])));
        let high = _mm256_or_si256(four(&fields[2]), _mm256_slli_epi64::<16>(four(&fields[3])));
        _mm256_or_si256(low, _mm256_slli_epi64::<32>(high))
    };
    // 32 keys as bytes, a half-vector for each sixteen, then a transposition of four by four to restore their
    // order.
    let square =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    let half = |fields: &[[u64; 4]]| {
        let packed = _mm256_packus_epi16(sixteen(&fields[..4]), sixteen(&fields[4..]));
        _mm256_shuffle_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed), square)
    };
    let (fours, _) = fields.as_chunks();
    [half(&fours[..8]), half(&fours[8..])]
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn set(line: &mut Line, fields: u64, probes: Probes) -> bool {
    // Lane `j` of a run is one if word `j` is used, so that the shifted value is the bit or zero.
    let words = u32::from(probes.words(fields));
    let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
    let one = |words: u32| {
        let chosen = _mm256_and_si256(_mm256_set1_epi64x(words.into()), lanes);
        _mm256_srli_epi64::<63>(_mm256_cmpeq_epi64(chosen, lanes))
    };
    let low_six = _mm256_set1_epi64x(63);
    let [low, high] = widened(fields);
    let low = _mm256_sllv_epi64(one(words), _mm256_and_si256(low, low_six));
    let high = _mm256_sllv_epi64(one(words >> 4), _mm256_and_si256(high, low_six));
    let (halves, _) = line.as_chunks_mut::<32>();
    let (first, last) = (load(&halves[0]), load(&halves[1]));
    let known = _mm256_testc_si256(first, low) & _mm256_testc_si256(last, high);
    let (first, last) = (_mm256_or_si256(first, low), _mm256_or_si256(last, high));
    // SAFETY: writes the first 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(halves[0].as_mut_ptr().cast(), first) };
    // SAFETY: writes the last 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(halves[1].as_mut_ptr().cast(), last) };
    known == 0
}

#[target_feature(enable = "avx2,bmi2")]
fn set_group(lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut changed = 0;
    for i in 0..now.len() {
        prefetch_after(lines, now, next, i);
        changed |= u64::from(set(&mut lines[now.line(i)], now.fields[i], probes)) << i;
    }
    changed
}

#[target_feature(enable = "avx2,bmi2")]
fn set_part(lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
    let mut changed = 0;
    for &hash in hashes {
        let line = block_of(hash, blocks).wrapping_sub(first) as usize;
        changed += u64::from(set(&mut lines[line], hash, probes));
    }
    changed
}
