//! Lines of the native layout with AVX-512.
//!
//! A single key takes two vectors of 256 bits, as with AVX2, but masks select between the halves of the line
//! and a rotation needs no masked counts. In a group, a line is one vector of sixteen words. The bytes of the
//! fields are widened twice, for the two halves: a one rotated by them is compared with the line, which gives
//! a bit for each word. The bits of the words that a key does not use are masked out at the end, for the
//! whole group at once.

use super::Avx512;
use super::prefetch;
use crate::hash::FINISH;
use crate::kernel::lines::{AHEAD, GROUP, Group, LINE_SHIFT, Line, Lines, Probes, distance, line_at};
use crate::kernel::scalar::Scalar;
use crate::probe::lines::{FIRST_SHIFT, Mark, P};
use core::arch::asm;
use core::arch::x86_64::*;

/// The bit of field 0, in every word.
static TOP: u32 = 1 << 31;

/// Tests a line; `signs` becomes a bit for each lane. `options` are those of the assembly besides `nostack`.
macro_rules! test_line {
    ($signs:ident, $line:expr, $mark:expr, $($options:ident),*) => {
        asm!(
            "vmovq xmm16, {fields}",
            "vpmovsxbd ymm16, xmm16",
            "vmovdqu32 ymm17, ymmword ptr [{line}]",
            "vpmovd2m k1, ymm16",
            "vmovdqu32 ymm17 {{k1}}, ymmword ptr [{line} + 32]",
            "vprolvd ymm17, ymm17, ymm16",
            "vpmovd2m k1, ymm17",
            "kmovb {signs:e}, k1",
            fields = in(reg) $mark.fields,
            line = in(reg) $line,
            signs = lateout(reg) $signs,
            out("xmm16") _, out("xmm17") _, out("k1") _,
            options(nostack, preserves_flags, $($options),*),
        )
    };
}

impl Lines for Avx512 {
    /// Inline assembly: a function with the CPU feature could not be inlined into callers without it, and
    /// would have to clear the vector registers before it returns. Only registers that code without AVX-512
    /// never uses are touched, so nothing needs clearing.
    #[inline(always)]
    fn test(self, line: &Line, mark: Mark, probes: Probes) -> bool {
        let signs: u32;
        // SAFETY: an `Avx512` exists only if `detect` saw AVX-512 F, DQ and VL. It reads the 64 bytes of
        // `line`. Nothing is written.
        unsafe { test_line!(signs, line.as_ptr(), mark, pure, readonly) };
        !signs as u8 & probes.lanes(mark) == 0
    }

    /// The assembly may read and write memory, as far as the compiler knows: so it moves no other access
    /// across it, and the CPU does not reorder loads. A word of 32 bits is the old or the new one.
    #[inline(always)]
    unsafe fn test_shared(self, line: *const Line, mark: Mark, probes: Probes) -> Option<bool> {
        let signs: u32;
        // SAFETY: as in `test`; the caller guarantees that the line is readable.
        unsafe { test_line!(signs, line, mark,) };
        Some(!signs as u8 & probes.lanes(mark) == 0)
    }

    #[inline(always)]
    fn set(self, line: &mut Line, mark: Mark, probes: Probes) -> bool {
        let changed: u8;
        // SAFETY: as in `test`; it also reads the 4 bytes of TOP and writes the 64 bytes of `line`, which is
        // borrowed exclusively.
        unsafe {
            asm!(
                "vmovq xmm16, {fields}",
                "vpmovsxbd ymm16, xmm16",
                "kmovd k3, {lanes:e}",
                "vpmovd2m k1, ymm16",
                "kandb k2, k1, k3",  // lanes of the upper half
                "kandnb k1, k1, k3", // lanes of the lower half
                "vpbroadcastd ymm17, dword ptr [{top}]",
                "vprorvd ymm16, ymm17, ymm16",
                "vmovdqu32 ymm17, ymmword ptr [{line}]",
                "vmovdqu32 ymm18, ymmword ptr [{line} + 32]",
                "vptestnmd k3 {{k1}}, ymm16, ymm17",
                "vptestnmd k4 {{k2}}, ymm16, ymm18",
                "vpord ymm17 {{k1}}, ymm17, ymm16",
                "vpord ymm18 {{k2}}, ymm18, ymm16",
                "vmovdqu32 ymmword ptr [{line}], ymm17",
                "vmovdqu32 ymmword ptr [{line} + 32], ymm18",
                "kortestb k3, k4",
                "setnz {changed}",
                fields = in(reg) mark.fields,
                lanes = in(reg) u32::from(probes.lanes(mark)),
                top = in(reg) &raw const TOP,
                line = in(reg) line.as_mut_ptr(),
                changed = lateout(reg_byte) changed,
                out("xmm16") _, out("xmm17") _, out("xmm18") _,
                out("k1") _, out("k2") _, out("k3") _, out("k4") _,
                options(nostack),
            );
        }
        changed != 0
    }

    fn hash_words(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        // SAFETY: an `Avx512` exists only if `detect` saw the features.
        unsafe { hash_words(keys, x, y, hashes) }
    }

    fn locate(self, blocks: u64, group: &mut Group) {
        match u32::try_from(blocks) {
            // SAFETY: an `Avx512` exists only if `detect` saw the features.
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
        // SAFETY: an `Avx512` exists only if `detect` saw the features; all lines of `now` are in the array,
        // as `check` verified.
        unsafe { work(lines, now, next, probes) }
    }

    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        // SAFETY: an `Avx512` exists only if `detect` saw the features.
        unsafe { bools(bits, out) }
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        now.check(lines);
        let work = match distance::of(lines) {
            distance::NEAR => set_group::<{ distance::NEAR }>,
            distance::FAR => set_group::<{ distance::FAR }>,
            _ => set_group::<{ distance::MIDDLE }>,
        };
        // SAFETY: an `Avx512` exists only if `detect` saw the features; all lines of `now` are in the array,
        // as `check` verified.
        unsafe { work(lines, now, next, probes) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: reads the 64 bytes of eight words.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u64; 8], vector: __m512i) {
    // SAFETY: writes the 64 bytes of eight words.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; GROUP]) -> __m512i {
    // SAFETY: reads the 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// One instruction for all of them.
#[target_feature(enable = "avx512f,avx512bw")]
fn bools(bits: u64, out: &mut [bool; GROUP]) {
    let bytes = _mm512_maskz_set1_epi8(bits, 1);
    // SAFETY: writes the 64 bytes of `out`, each 0 or 1, which are valid bools.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), bytes) }
}

/// The folded product of each word, from four products of 32-bit halves, then finished.
#[target_feature(enable = "avx512f,avx512dq")]
fn hash_words(keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
    let (low, high) = (_mm512_set1_epi64((y & 0xffff_ffff) as i64), _mm512_set1_epi64((y >> 32) as i64));
    let lower = _mm512_set1_epi64(0xffff_ffff);
    let (eights, rest) = keys.as_chunks::<8>();
    let (out, out_rest) = hashes.as_chunks_mut::<8>();
    for (keys, out) in eights.iter().zip(out) {
        let word = _mm512_xor_si512(load(keys), _mm512_set1_epi64(x as i64));
        let word_high = _mm512_srli_epi64::<32>(word);
        let low_low = _mm512_mul_epu32(word, low);
        let middle = _mm512_add_epi64(_mm512_mul_epu32(word_high, low), _mm512_srli_epi64::<32>(low_low));
        let second = _mm512_add_epi64(_mm512_mul_epu32(word, high), _mm512_and_si512(middle, lower));
        let top = _mm512_add_epi64(_mm512_mul_epu32(word_high, high), _mm512_srli_epi64::<32>(middle));
        let top = _mm512_add_epi64(top, _mm512_srli_epi64::<32>(second));
        // The even 32-bit lanes keep the low half's low bits.
        let bottom = _mm512_mask_blend_epi32(0x5555, _mm512_slli_epi64::<32>(second), low_low);
        let folded = _mm512_xor_si512(top, bottom);
        let halves = _mm512_xor_si512(folded, _mm512_srli_epi64::<32>(folded));
        store(out, _mm512_mullo_epi64(halves, _mm512_set1_epi64(FINISH as i64)));
    }
    Scalar.hash_words(rest, x, y, out_rest);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn locate(blocks: u32, group: &mut Group) {
    group.bound = u64::from(blocks).max(1); // every block number is below `blocks`, and 0 if that is 0
    let multiplier = _mm512_set1_epi64(P as i64);
    let blocks = _mm512_set1_epi64(blocks.into());
    let hashes = group.hashes.as_chunks().0;
    let (fields, offsets) = (group.fields.as_chunks_mut().0, group.offsets.as_chunks_mut().0);
    let firsts = group.first.as_chunks_mut::<8>().0;
    for (((hashes, fields), offsets), firsts) in hashes.iter().zip(fields).zip(offsets).zip(firsts) {
        let hash = load(hashes);
        let spread = _mm512_mullo_epi64(hash, multiplier);
        store(fields, _mm512_xor_si512(_mm512_rol_epi64::<32>(hash), spread));
        // The high 64 bits of a 64 x 32 bit product, from two of 32 x 32.
        let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(spread, blocks));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(spread), blocks);
        let block = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
        store(offsets, _mm512_slli_epi64::<LINE_SHIFT>(block));
        let first = _mm512_and_si512(_mm512_srli_epi64::<FIRST_SHIFT>(spread), _mm512_set1_epi64(7));
        *firsts = _mm_cvtsi128_si64(_mm512_cvtepi64_epi8(first)).to_le_bytes();
    }
}

/// For each lane, the bit that its field chooses, in the words of both halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits_of(fields: &u64) -> __m512i {
    let twice = _mm_set1_epi64x(*fields as i64);
    _mm512_rorv_epi32(_mm512_set1_epi32(1 << 31), _mm512_cvtepi8_epi32(twice))
}

/// A byte for each key: the lanes it uses.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn lanes(now: &Group, probes: Probes) -> __m512i {
    let runs = _mm512_set1_epi64(i64::from_le_bytes(*probes.runs));
    _mm512_shuffle_epi8(runs, load_bytes(&now.first))
}

/// A byte for each key: the lanes in which it uses the word of the upper half.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn upper(now: &Group) -> __m512i {
    let mut upper = [0u8; GROUP];
    for (fields, upper) in now.fields.as_chunks().0.iter().zip(upper.as_chunks_mut::<8>().0) {
        *upper = _mm512_movepi8_mask(load(fields)).to_le_bytes();
    }
    load_bytes(&upper)
}

/// The words of a whole group, sixteen bits for each key, as two vectors of 32 keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_words(words: &[u16; GROUP]) -> [__m512i; 2] {
    let at = words.as_ptr();
    // SAFETY: reads the 128 bytes of 64 times sixteen bits.
    unsafe { [_mm512_loadu_si512(at.cast()), _mm512_loadu_si512(at.add(32).cast())] }
}

/// The low bytes of 64 sixteen-bit words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn low_bytes([first, last]: [__m512i; 2]) -> __m512i {
    let first = _mm512_castsi256_si512(_mm512_cvtepi16_epi8(first));
    _mm512_inserti64x4::<1>(first, _mm512_cvtepi16_epi8(last))
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn test_group<const DISTANCE: u8>(lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
    let mut absent = [0; GROUP];
    for (half, absent) in absent.as_chunks_mut::<AHEAD>().0.iter_mut().enumerate() {
        let own = now.offsets[half * AHEAD..].iter().zip(&now.fields[half * AHEAD..]);
        for (((&offset, fields), &later), absent) in
            own.zip(distance::ahead::<DISTANCE>(now, next, half)).zip(absent)
        {
            prefetch::<DISTANCE>(line_at(lines, later));
            // SAFETY: the caller guarantees that the line is in the array; its 64 bytes are read.
            let line = unsafe { _mm512_loadu_si512(line_at(lines, offset).cast()) };
            *absent = _mm512_testn_epi32_mask(bits_of(fields), line);
        }
    }
    let absent = load_words(&absent);
    let in_lower = low_bytes(absent);
    let in_upper = low_bytes(absent.map(|words| _mm512_srli_epi16::<8>(words)));
    // For each lane the bit of the half that is used.
    let chosen = _mm512_ternarylogic_epi64::<0xca>(upper(now), in_upper, in_lower);
    _mm512_testn_epi8_mask(chosen, lanes(now, probes))
}

/// The words that each key uses: sixteen bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn words(now: &Group, probes: Probes) -> [u16; GROUP] {
    let (lanes, upper) = (lanes(now, probes), upper(now));
    let (in_lower, in_upper) = (_mm512_andnot_si512(upper, lanes), _mm512_and_si512(upper, lanes));
    let mut words = [0u16; GROUP];
    for (i, words) in words.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let half = |bytes| match i {
            0 => _mm512_cvtepu8_epi16(_mm512_castsi512_si256(bytes)),
            _ => _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(bytes)),
        };
        let both = _mm512_or_si512(half(in_lower), _mm512_slli_epi16::<8>(half(in_upper)));
        // SAFETY: writes the 64 bytes of 32 times sixteen bits.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), both) };
    }
    words
}

/// # Safety
/// All lines of `now` must be in the array.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn set_group<const DISTANCE: u8>(
    lines: &mut [Line],
    now: &Group,
    next: &Group,
    probes: Probes,
) -> u64 {
    let words = words(now, probes);
    let mut clear = [0; GROUP];
    // All lines, including those only prefetched, are addressed through one mutable pointer.
    let base = lines.as_flattened_mut().as_mut_ptr();
    let line_at = |offset: u64| base.wrapping_add(offset as usize).cast::<Line>();
    for i in 0..now.len() {
        let half = i / AHEAD;
        prefetch::<DISTANCE>(line_at(distance::ahead::<DISTANCE>(now, next, half)[i % AHEAD]));
        let line = line_at(now.offsets[i]);
        // SAFETY: the caller guarantees that the line is in the array; its 64 bytes are read.
        let old = unsafe { _mm512_loadu_si512(line.cast()) };
        let bits = bits_of(&now.fields[i]);
        clear[i] = _mm512_mask_testn_epi32_mask(words[i], bits, old);
        let new = _mm512_mask_or_epi32(old, words[i], old, bits);
        // SAFETY: as above; `lines` is borrowed exclusively.
        unsafe { _mm512_storeu_si512(line.cast(), new) };
    }
    let [first, last] = load_words(&clear).map(|words| u64::from(_mm512_test_epi16_mask(words, words)));
    first | last << 32
}
