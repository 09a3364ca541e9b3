//! Lines of the native layout with AVX-512.
//!
//! Byte `j` of the fields is the bit number in word `j`, so widening eight bytes to eight words gives all bit
//! positions at once: a one rotated by them is compared with the line. Words that a key does not use are
//! masked out at the end, for a whole group at once. Testing with BITALG's vpshufbitqmb, one instruction
//! instead of three, was not faster: a group waits for its lines.

use super::Avx512;
use super::prefetch;
use crate::kernel::lines::{AHEAD, GROUP, Group, LINE_SHIFT, Line, Lines, Probes, distance, line_at};
use crate::kernel::scalar::Scalar;
use crate::probe::lines::P;
use core::arch::asm;
use core::arch::x86_64::*;

/// A value for every word.
static ONE: u64 = 1;

/// The spare bits of the fields that give the first word of a key's run; `pext` collects them into a number.
const FIRST_WORD: u64 = 1 << 55 | 1 << 62 | 1 << 63;

impl Lines for Avx512 {
    /// Inline assembly: a function with the CPU feature could not be inlined into callers without it, and
    /// would have to clear the vector registers before it returns. Only registers that code without AVX-512
    /// never uses are touched, so nothing needs clearing. A fifth faster than the call in L2.
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        let absent: u32;
        // SAFETY: an `Avx512` exists only if `detect` saw AVX-512 F, DQ and VL, and BMI2. It reads the 64
        // bytes of `line`, the 8 of ONE, and one of the 8 of `runs`: `pext` keeps three bits. Nothing is
        // written.
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
        // SAFETY: as in `test`; it also writes the 64 bytes of `line`, which is borrowed exclusively.
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

    fn fold(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        // SAFETY: an `Avx512` exists only if `detect` saw the features.
        unsafe { fold(keys, x, y, hashes) }
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

/// Low half xor high half of the 128-bit product of each word with `y`, from four products of 32-bit halves.
#[target_feature(enable = "avx512f,avx512dq")]
fn fold(keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
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
        store(out, _mm512_xor_si512(top, bottom));
    }
    Scalar.fold(rest, x, y, out_rest);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn locate(blocks: u32, group: &mut Group) {
    group.bound = u64::from(blocks).max(1); // every block number is below `blocks`, and 0 if that is 0
    let multiplier = _mm512_set1_epi64(P as i64);
    let blocks = _mm512_set1_epi64(blocks.into());
    for (hashes, offsets) in group.fields.as_chunks().0.iter().zip(group.offsets.as_chunks_mut().0) {
        let hash = load(hashes);
        let folded = _mm512_xor_si512(hash, _mm512_srli_epi64::<32>(hash));
        let spread = _mm512_mullo_epi64(folded, multiplier);
        // The high 64 bits of a 64 x 32 bit product, from two of 32 x 32.
        let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(spread, blocks));
        let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(spread), blocks);
        let block = _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low));
        store(offsets, _mm512_slli_epi64::<LINE_SHIFT>(block));
    }
}

/// For each byte of the fields, a one at the position it selects, in the word of that byte.
#[inline]
#[target_feature(enable = "avx512f")]
fn bits_of(fields: &u64) -> __m512i {
    // SAFETY: reads the eight bytes of the fields.
    let bytes = unsafe { _mm_loadl_epi64(core::ptr::from_ref(fields).cast()) };
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_cvtepu8_epi64(bytes))
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
            *absent = _mm512_testn_epi64_mask(bits_of(fields), line);
        }
    }
    _mm512_testn_epi8_mask(load_bytes(&absent), load_bytes(&words(&now.fields, probes)))
}

/// The words that each key uses, one byte of bits per key.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn words(fields: &[u64; GROUP], probes: Probes) -> [u8; GROUP] {
    let runs = _mm512_set1_epi64(i64::from_le_bytes(*probes.runs));
    let mut words = [0; GROUP];
    for (fields, words) in fields.as_chunks().0.iter().zip(words.as_chunks_mut::<8>().0) {
        let fields = load(fields);
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
unsafe fn set_group<const DISTANCE: u8>(
    lines: &mut [Line],
    now: &Group,
    next: &Group,
    probes: Probes,
) -> u64 {
    let words = words(&now.fields, probes);
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
        clear[i] = _mm512_testn_epi64_mask(bits, old);
        let new = _mm512_mask_or_epi64(old, words[i], old, bits);
        // SAFETY: as above; `lines` is borrowed exclusively.
        unsafe { _mm512_storeu_si512(line.cast(), new) };
    }
    _mm512_test_epi8_mask(load_bytes(&clear), load_bytes(&words))
}
