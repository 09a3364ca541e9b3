//! Lines of the native layout with AVX2.
//!
//! A half of a line is one vector: its eight words belong to the eight lanes. The bytes of the fields are
//! sign-extended to lanes of 32 bits, so the top bit of a byte, which chooses the half, becomes the sign by
//! which a lane is selected from the two halves. A shift by the low five bits moves the lane's bit to its
//! sign. The signs of the key's lanes, a row of a table, must be set. In a group they are collected as bytes
//! and compared at the end.
//!
//! A build for any x86-64 has inline assembly for one key: a function with the CPU feature could not be
//! inlined into callers without it.

use super::Avx2;
use super::prefetch;
use crate::hash::FINISH;
use crate::kernel::lines::{
    AHEAD, GROUP, Group, LINE_SHIFT, Line, Lines, Probes, distance, line_at, set_hash, test_hash,
};
use crate::kernel::scalar::Scalar;
use crate::probe::lines::{FIRST_SHIFT, Mark, P, block_of};
use core::arch::asm;
use core::arch::x86_64::*;

/// The bits of a field that are a shift count, in every lane.
#[repr(align(32))]
struct Counts([u32; 8]);

static COUNTS: Counts = Counts([31; 8]);

/// Inline assembly that uses vector registers in code without AVX. All of them are declared clobbered,
/// because their upper halves are cleared at the end: code without AVX must not find data in them.
macro_rules! avx_asm {
    ($($line:literal,)* ; $($operand:tt)*) => {
        asm!(
            $($line,)*
            "vzeroupper",
            $($operand)*
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
        )
    };
}

/// Tests a line; `present` becomes 1 or 0. `options` are those of the assembly besides `nostack`.
macro_rules! test_line {
    ($present:ident, $line:expr, $mark:expr, $probes:expr, $($options:ident),*) => {
        avx_asm!(
            "vmovq xmm0, {fields}",
            "vpmovsxbd ymm0, xmm0",
            "vmovdqu ymm1, ymmword ptr [{line}]",
            "vblendvps ymm1, ymm1, ymmword ptr [{line} + 32], ymm0",
            "vpand ymm0, ymm0, ymmword ptr [{counts}]",
            "vpsllvd ymm1, ymm1, ymm0",
            "vtestps ymm1, ymmword ptr [{row}]",
            "setc {present}",;
            fields = in(reg) $mark.fields,
            line = in(reg) $line,
            counts = in(reg) COUNTS.0.as_ptr(),
            row = in(reg) $probes.row($mark).as_ptr(),
            present = lateout(reg_byte) $present,
            options(nostack, $($options),*),
        )
    };
}

impl Lines for Avx2 {
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        if cfg!(target_feature = "avx2") {
            // SAFETY: an `Avx2` exists only if `detect` saw AVX2.
            return unsafe { test(line, mark, probes) };
        }
        let present: u8;
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2. The 64 bytes of `line` and the 32 of COUNTS and
        // of the row are read, nothing is written.
        unsafe { test_line!(present, line.as_ptr(), mark, probes, pure, readonly) };
        present != 0
    }

    /// The assembly may read and write memory, as far as the compiler knows: so it moves no other access
    /// across it, and the CPU does not reorder loads. A word of 32 bits is the old or the new one.
    #[inline(always)]
    unsafe fn test_shared(self, line: *const Line, mark: Mark, probes: Probes) -> Option<bool> {
        let present: u8;
        // SAFETY: as in `test`; the caller guarantees that the line is readable.
        unsafe { test_line!(present, line, mark, probes,) };
        Some(present != 0)
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { set(line, mark, probes) }
    }

    /// The whole way from the hash, with the multiplication and the rotation of BMI2: a sixth faster than
    /// [`test`] after code for any CPU.
    ///
    /// [`test`]: Lines::test
    #[inline(always)]
    unsafe fn test_hash(self, lines: &[Line], hash: u64, probes: Probes) -> bool {
        if cfg!(target_feature = "avx2") {
            // SAFETY: the caller guarantees that there is a line.
            return unsafe { test_hash(self, lines, hash, probes) };
        }
        let present: u8;
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2. The line's number is the high half of
        // a product with the number of lines, and so below it. Its 64 bytes, the 32 of COUNTS and the 32 of a
        // row are read, nothing is written.
        unsafe {
            avx_asm!(
                "imul rdx, {hash}", // the spread hash
                "rorx {fields}, {hash}, 32",
                "mulx {offset}, {hash}, {count}",
                "xor {fields}, rdx",
                "shl {offset}, 6",
                "vmovq xmm0, {fields}",
                "shr edx, 24", // the first lane, times the 32 bytes of a row
                "and edx, 0xe0",
                "vpmovsxbd ymm0, xmm0",
                "vmovdqu ymm1, ymmword ptr [{lines} + {offset}]",
                "vblendvps ymm1, ymm1, ymmword ptr [{lines} + {offset} + 32], ymm0",
                "vpand ymm0, ymm0, ymmword ptr [{counts}]",
                "vpsllvd ymm1, ymm1, ymm0",
                "vtestps ymm1, ymmword ptr [{rows} + rdx]",
                "setc {present}",;
                hash = inout(reg) hash => _,
                inout("rdx") P => _,
                fields = out(reg) _,
                offset = out(reg) _,
                count = in(reg) lines.len(),
                lines = in(reg) lines.as_ptr(),
                counts = in(reg) COUNTS.0.as_ptr(),
                rows = in(reg) probes.rows.0.as_ptr(),
                present = lateout(reg_byte) present,
                options(pure, readonly, nostack),
            );
        }
        present != 0
    }

    /// As [`test_hash`](Lines::test_hash).
    #[inline(always)]
    unsafe fn set_hash(self, lines: &mut [Line], hash: u64, probes: Probes) -> bool {
        if cfg!(target_feature = "avx2") {
            // SAFETY: the caller guarantees that there is a line.
            return unsafe { set_hash(self, lines, hash, probes) };
        }
        let changed: u8;
        // SAFETY: as in `test_hash`; the 64 bytes of the line are also written. `lines` is borrowed
        // exclusively.
        unsafe {
            avx_asm!(
                "imul rdx, {hash}",
                "rorx {fields}, {hash}, 32",
                "mulx {offset}, {hash}, {count}",
                "xor {fields}, rdx",
                "shl {offset}, 6",
                "vmovq xmm0, {fields}",
                "shr edx, 24",
                "and edx, 0xe0",
                "vpmovsxbd ymm0, xmm0",
                "vpand ymm1, ymm0, ymmword ptr [{counts}]",
                "vmovdqu ymm2, ymmword ptr [{rows} + rdx]",
                "vpsrlvd ymm1, ymm2, ymm1", // the bits, in one half or the other
                "vmovdqu ymm2, ymmword ptr [{lines} + {offset}]",
                "vmovdqu ymm3, ymmword ptr [{lines} + {offset} + 32]",
                "vblendvps ymm4, ymm2, ymm3, ymm0",
                "vpsrad ymm0, ymm0, 31",
                "vpandn ymm5, ymm0, ymm1",
                "vpand ymm0, ymm0, ymm1",
                "vpor ymm2, ymm2, ymm5",
                "vpor ymm3, ymm3, ymm0",
                "vmovdqu ymmword ptr [{lines} + {offset}], ymm2",
                "vmovdqu ymmword ptr [{lines} + {offset} + 32], ymm3",
                "vptest ymm4, ymm1",
                "setnc {changed}",;
                hash = inout(reg) hash => _,
                inout("rdx") P => _,
                fields = out(reg) _,
                offset = out(reg) _,
                count = in(reg) lines.len(),
                lines = in(reg) lines.as_mut_ptr(),
                counts = in(reg) COUNTS.0.as_ptr(),
                rows = in(reg) probes.rows.0.as_ptr(),
                changed = lateout(reg_byte) changed,
                options(nostack),
            );
        }
        changed != 0
    }

    fn hash_words(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { hash_words(keys, x, y, hashes) }
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
        let work = match distance::of_two(lines) {
            distance::NEAR => test_group::<{ distance::NEAR }>,
            _ => test_group::<{ distance::FAR }>,
        };
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2; all lines of `now` are in the array,
        // as `check` verified.
        unsafe { work(lines, now, next, probes) }
    }

    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2.
        unsafe { bools(bits, out) }
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        let work = match distance::of_two(lines) {
            distance::NEAR => set_group::<{ distance::NEAR }>,
            _ => set_group::<{ distance::FAR }>,
        };
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 and BMI2; all lines of `now` are in the array,
        // as `check` verified.
        unsafe { work(lines, now, next, probes) }
    }

    /// In the cache, locating a key with BMI2 is as fast as locating eight keys with AVX2, and saves the
    /// group.
    #[inline(always)]
    fn inserts_one_by_one(self, lines: &[Line]) -> bool {
        distance::of_two(lines) == distance::NEAR
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

/// The bytes of the fields as lanes of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(fields: u64) -> __m256i {
    _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(fields as i64))
}

/// The low five bits of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn counts(fields: __m256i) -> __m256i {
    _mm256_and_si256(fields, _mm256_set1_epi32(31))
}

/// The words that the fields choose.
#[inline]
#[target_feature(enable = "avx2")]
fn chosen([low, high]: [__m256i; 2], fields: __m256i) -> __m256i {
    let float = |vector| _mm256_castsi256_ps(vector);
    _mm256_castps_si256(_mm256_blendv_ps(float(low), float(high), float(fields)))
}

/// The bit that a field chooses, as the sign of its lane.
#[inline]
#[target_feature(enable = "avx2")]
fn signs(line: &Line, fields: u64) -> __m256 {
    let ([low, high], fields) = (halves(line), widened(fields));
    _mm256_castsi256_ps(_mm256_sllv_epi32(chosen([load(low), load(high)], fields), counts(fields)))
}

/// The lanes of a key: their signs are set.
#[inline]
#[target_feature(enable = "avx2")]
fn row(mark: Mark, probes: Probes) -> __m256i {
    // SAFETY: reads the 32 bytes of a row.
    unsafe { _mm256_loadu_si256(probes.row(mark).as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn test(line: &Line, mark: Mark, probes: Probes) -> bool {
    _mm256_testc_ps(signs(line, mark.fields), _mm256_castsi256_ps(row(mark, probes))) != 0
}

/// The fields of a key, and its bits in whichever half they are.
#[inline]
#[target_feature(enable = "avx2")]
fn fields_and_bits(mark: Mark, probes: Probes) -> (__m256i, __m256i) {
    let fields = widened(mark.fields);
    (fields, _mm256_srlv_epi32(row(mark, probes), counts(fields)))
}

/// Each bit in the half that its field chooses.
#[inline]
#[target_feature(enable = "avx2")]
fn in_halves(fields: __m256i, bits: __m256i) -> [__m256i; 2] {
    let upper = _mm256_srai_epi32::<31>(fields);
    [_mm256_andnot_si256(upper, bits), _mm256_and_si256(upper, bits)]
}

/// Each bit as a byte: a vector of 32 at a time.
#[target_feature(enable = "avx2")]
fn bools(bits: u64, out: &mut [bool; GROUP]) {
    // Byte i takes byte i / 8 of the bits, and keeps bit i % 8 of it.
    let copies = _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    for (half, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let bits = _mm256_set1_epi32((bits >> (32 * half)) as i32);
        let set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(bits, copies), own), own);
        // SAFETY: writes the 32 bytes of `out`, each 0 or 1, which are valid bools.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_and_si256(set, _mm256_set1_epi8(1))) };
    }
}

/// The folded product of each word, from four products of 32-bit halves, then finished.
#[target_feature(enable = "avx2")]
fn hash_words(keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
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
        let folded = _mm256_xor_si256(top, bottom);
        store_words(out, times::<FINISH>(_mm256_xor_si256(folded, _mm256_srli_epi64::<32>(folded))));
    }
    Scalar.hash_words(rest, x, y, out_rest);
}

/// Each word times a constant, modulo 2^64.
#[inline]
#[target_feature(enable = "avx2")]
fn times<const FACTOR: u64>(words: __m256i) -> __m256i {
    let low = _mm256_set1_epi64x((FACTOR & 0xffff_ffff) as i64);
    let high = _mm256_set1_epi64x((FACTOR >> 32) as i64);
    let words_high = _mm256_srli_epi64::<32>(words);
    let crossed = _mm256_add_epi64(_mm256_mul_epu32(words_high, low), _mm256_mul_epu32(words, high));
    _mm256_add_epi64(_mm256_mul_epu32(words, low), _mm256_slli_epi64::<32>(crossed))
}

#[target_feature(enable = "avx2")]
fn locate(blocks: u32, group: &mut Group) {
    group.bound = u64::from(blocks).max(1); // every block number is below `blocks`, and 0 if that is 0
    let blocks = _mm256_set1_epi64x(blocks.into());
    let hashes = group.hashes.as_chunks::<4>().0.as_chunks::<4>().0;
    let fields = group.fields.as_chunks_mut::<4>().0.as_chunks_mut::<4>().0;
    let offsets = group.offsets.as_chunks_mut::<4>().0.as_chunks_mut::<4>().0;
    let firsts = group.first.as_chunks_mut::<16>().0;
    for (((hashes, fields), offsets), firsts) in hashes.iter().zip(fields).zip(offsets).zip(firsts) {
        // The first lanes of sixteen keys: byte i of word w belongs to key 4 i + w.
        let mut collected = _mm256_setzero_si256();
        for i in (0..4).rev() {
            let hash = load_words(&hashes[i]);
            let spread = times::<P>(hash);
            let swapped = _mm256_shuffle_epi32::<0b10_11_00_01>(hash);
            store_words(&mut fields[i], _mm256_xor_si256(swapped, spread));
            // The high 64 bits of a 64 x 32 bit product, from two of 32 x 32.
            let below = _mm256_srli_epi64::<32>(_mm256_mul_epu32(spread, blocks));
            let above = _mm256_mul_epu32(_mm256_srli_epi64::<32>(spread), blocks);
            let block = _mm256_srli_epi64::<32>(_mm256_add_epi64(above, below));
            store_words(&mut offsets[i], _mm256_slli_epi64::<{ LINE_SHIFT as i32 }>(block));
            let first = _mm256_srli_epi64::<{ FIRST_SHIFT as i32 }>(spread);
            let first = _mm256_and_si256(first, _mm256_set1_epi64x(7));
            collected = _mm256_or_si256(_mm256_slli_epi64::<8>(collected), first);
        }
        let even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
        let words = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(collected, even));
        let square = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        // SAFETY: writes the 16 bytes of the first lanes.
        unsafe { _mm_storeu_si128(firsts.as_mut_ptr().cast(), _mm_shuffle_epi8(words, square)) };
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
            *present = _mm256_movemask_ps(signs(unsafe { &*line_at(lines, offset) }, *fields)) as u8;
        }
    }
    let runs = _mm256_set1_epi64x(i64::from_le_bytes(*probes.runs));
    let (firsts, _) = now.first.as_chunks();
    let answers = |half: usize| {
        let lanes = _mm256_shuffle_epi8(runs, load(&firsts[half]));
        let all = _mm256_cmpeq_epi8(_mm256_and_si256(load(&present[half]), lanes), lanes);
        u64::from(_mm256_movemask_epi8(all) as u32)
    };
    answers(0) | answers(1) << 32
}

#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn set(line: &mut Line, mark: Mark, probes: Probes) -> bool {
    let (fields, bits) = fields_and_bits(mark, probes);
    let [low, high] = in_halves(fields, bits);
    let (halves, _) = line.as_chunks_mut::<32>();
    let (first, last) = (load(&halves[0]), load(&halves[1]));
    // SAFETY: writes the first 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(halves[0].as_mut_ptr().cast(), _mm256_or_si256(first, low)) };
    // SAFETY: writes the last 32 of the line's 64 bytes.
    unsafe { _mm256_storeu_si256(halves[1].as_mut_ptr().cast(), _mm256_or_si256(last, high)) };
    _mm256_testc_si256(chosen([first, last], fields), bits) == 0
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx2,bmi2")]
unsafe fn set_group<const DISTANCE: u8>(
    lines: &mut [Line],
    now: &Group,
    next: &Group,
    probes: Probes,
) -> u64 {
    let mut changed = [0u8; GROUP];
    // All lines, including those only prefetched, are addressed through one mutable pointer.
    let base = lines.as_flattened_mut().as_mut_ptr();
    let line_at = |offset: u64| base.wrapping_add(offset as usize).cast::<Line>();
    for (i, changed) in changed.iter_mut().enumerate().take(now.len()) {
        let half = i / AHEAD;
        prefetch::<DISTANCE>(line_at(distance::ahead::<DISTANCE>(now, next, half)[i % AHEAD]));
        // SAFETY: the caller guarantees that the line is in the array; `lines` is borrowed exclusively, and
        // no other reference to a line exists here.
        let line = unsafe { &mut *line_at(now.offsets[i]) };
        *changed = set(line, now.mark(i), probes).into();
    }
    let (halves, _) = changed.as_chunks();
    let mask = |half: usize| _mm256_movemask_epi8(_mm256_slli_epi16::<7>(load(&halves[half]))) as u32;
    u64::from(mask(0)) | u64::from(mask(1)) << 32
}

#[target_feature(enable = "avx2,bmi2")]
fn set_part(lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
    let mut changed = 0;
    for &hash in hashes {
        let line = block_of(hash, blocks).wrapping_sub(first) as usize;
        changed += u64::from(set(&mut lines[line], Mark::of(hash), probes));
    }
    changed
}
