//! Lines of the kind `compact` with AVX2.
//!
//! Each bit of the coefficients becomes a byte of ones or zeros: the byte of eight bits is copied eight times, a mask keeps
//! one bit of each copy, and a comparison makes it a byte. The chosen bytes of the line are xored: 64 become 32, and those
//! of several keys are folded together.
//!
//! Of further columns, the lower halves of eight words are one vector of 32-bit lanes, the upper halves another. Both are
//! masked with the coefficients and xored, so a lane of 32 bits has the parity of its word. A table gives the parity of each
//! nibble pair, a multiplication adds the four bytes of a lane.

use super::{Avx2, Avx512, Avx512Bitalg};
use crate::kernel::lines::Line;
use crate::kernel::systems::{Chunk, LIMIT, Systems, Tested, column_bits, xor_of_bytes};
use crate::probe::systems::coefficients;
use core::arch::asm;
use core::arch::x86_64::*;

/// Which byte of the coefficients belongs to each byte of the line, lower half and upper half, and its bit there.
#[repr(C, align(32))]
struct Spread {
    bytes: [[u8; 32]; 2],
    bits: [u8; 32],
}

static SPREAD: Spread = {
    let mut spread = Spread { bytes: [[0; 32]; 2], bits: [0; 32] };
    let mut i = 0;
    while i < 32 {
        spread.bytes[0][i] = (i / 8) as u8;
        spread.bytes[1][i] = (4 + i / 8) as u8;
        spread.bits[i] = 1 << (i % 8);
        i += 1;
    }
    spread
};

/// The bytes that a word of coefficients chooses, upper half and lower half xored.
#[inline]
#[target_feature(enable = "avx2")]
fn chosen(line: &Line, word: u64) -> __m256i {
    // SAFETY: each read is one of the vectors of the constants, which are aligned.
    let [lower, upper, bits] = [&SPREAD.bytes[0], &SPREAD.bytes[1], &SPREAD.bits]
        .map(|vector| unsafe { _mm256_load_si256(vector.as_ptr().cast()) });
    let word = _mm256_set1_epi64x(word as i64);
    let (halves, _) = line.as_chunks::<32>();
    let half = |i: usize, bytes| {
        let ones = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(word, bytes), bits), bits);
        // SAFETY: reads the 32 bytes of a half.
        _mm256_and_si256(ones, unsafe { _mm256_loadu_si256(halves[i].as_ptr().cast()) })
    };
    _mm256_xor_si256(half(0, lower), half(1, upper))
}

/// The same for all words of coefficients, each for the bits of a byte that belong to it.
#[inline]
#[target_feature(enable = "avx2")]
fn chosen_of_all<const W: usize>(line: &Line, coefficients: &[u64; W]) -> __m256i {
    if W == 1 {
        return chosen(line, coefficients[0]);
    }
    let mut sum = _mm256_setzero_si256();
    for (v, &word) in coefficients.iter().enumerate() {
        let bits = _mm256_set1_epi8((column_bits(W) << v) as i8);
        sum = _mm256_xor_si256(sum, _mm256_and_si256(chosen(line, word), bits));
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2")]
fn tested<const W: usize>(line: &Line, coefficients: &[u64; W]) -> Tested {
    let sum = chosen_of_all(line, coefficients);
    let sum = _mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let sum = _mm_xor_si128(sum, _mm_unpackhi_epi64(sum, sum));
    Tested { parities: xor_of_bytes(_mm_cvtsi128_si64(sum) as u64), limit: line[LIMIT] }
}

/// The chosen bytes of four keys, eight of each, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn four<const W: usize>(lines: &[&Line], t: &[u64]) -> __m256i {
    let pair = |i: usize| {
        let one = chosen_of_all::<W>(lines[i], &coefficients(t[i]));
        let two = chosen_of_all::<W>(lines[i + 1], &coefficients(t[i + 1]));
        _mm256_xor_si256(_mm256_unpacklo_epi64(one, two), _mm256_unpackhi_epi64(one, two))
    };
    let (first, second) = (pair(0), pair(2));
    let lower = _mm256_permute2x128_si256::<0x20>(first, second);
    _mm256_xor_si256(lower, _mm256_permute2x128_si256::<0x31>(first, second))
}

/// The limits of four lines, as 32-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn limits_of_four(lines: &[&Line]) -> __m128i {
    // SAFETY: reads the last 16 bytes of a line.
    let last = |i: usize| unsafe { _mm_loadu_si128(lines[i].as_chunks::<16>().0[3].as_ptr().cast()) };
    let first = _mm_castsi128_ps(_mm_unpackhi_epi64(last(0), last(1)));
    let second = _mm_castsi128_ps(_mm_unpackhi_epi64(last(2), last(3)));
    let lasts = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(first, second));
    _mm_srli_epi32::<24>(lasts)
}

/// From the order in which the folding leaves the keys to their own.
const ORDER: [u8; 16] = [0, 2, 8, 10, 4, 6, 12, 14, 1, 3, 9, 11, 5, 7, 13, 15];

#[inline]
#[target_feature(enable = "avx2")]
fn test_chunk<const W: usize>(chunk: &Chunk<'_>) -> (u64, u64) {
    let Chunk { lines, t, fingerprints, priorities } = chunk;
    let fours = |i: usize| four::<W>(&lines[i..i + 4], &t[i..i + 4]);
    // Each step halves the bytes of a key, and puts the keys of two vectors into one.
    let fold = |one, two| {
        let (one, two) = (_mm256_castsi256_ps(one), _mm256_castsi256_ps(two));
        let lower = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(one, two));
        _mm256_xor_si256(lower, _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(one, two)))
    };
    let (first, second) = (fold(fours(0), fours(4)), fold(fours(8), fours(12)));
    let first = _mm256_xor_si256(first, _mm256_srli_epi32::<16>(first));
    let second = _mm256_xor_si256(second, _mm256_slli_epi32::<16>(second));
    let all = _mm256_blend_epi16::<0b1010_1010>(first, second);
    let all = _mm256_xor_si256(all, _mm256_srli_epi16::<8>(all));
    let all = _mm256_and_si256(all, _mm256_set1_epi16(0xff));
    let parities = _mm_packus_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
    // SAFETY: each read is the sixteen bytes of an array.
    let [order, fingerprints, priorities] =
        [&ORDER, *fingerprints, *priorities].map(|bytes| unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
    let mut folded = _mm_shuffle_epi8(parities, order);
    // Bits of the next byte never reach a bit that counts.
    if W >= 2 {
        folded = _mm_xor_si128(folded, _mm_srli_epi16::<1>(folded));
    }
    if W >= 4 {
        folded = _mm_xor_si128(folded, _mm_srli_epi16::<2>(folded));
    }
    if W >= 8 {
        folded = _mm_xor_si128(folded, _mm_srli_epi16::<4>(folded));
    }
    let mut wrong = _mm_xor_si128(folded, fingerprints);
    if W > 1 {
        wrong = _mm_and_si128(wrong, _mm_set1_epi8(column_bits(W) as i8));
    }
    let agree = _mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) as u16;
    let limits =
        |i: usize| _mm_packus_epi32(limits_of_four(&lines[i..i + 4]), limits_of_four(&lines[i + 4..i + 8]));
    let limits = _mm_packus_epi16(limits(0), limits(8));
    let later = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(priorities, limits), priorities)) as u16;
    (agree.into(), (!later).into())
}

/// The parity of each number of four bits, the mask of four bits, and the factor that adds the bytes of a lane: each
/// fills a vector.
#[repr(C, align(32))]
struct Constants {
    table: [u8; 32],
    nibble: [u8; 32],
    factor: [u16; 16],
}

const PARITY: [u8; 16] = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0];

static CONSTANTS: Constants = Constants {
    table: {
        let mut twice = [0; 32];
        let mut i = 0;
        while i < 32 {
            twice[i] = PARITY[i % 16];
            i += 1;
        }
        twice
    },
    nibble: [15; 32],
    // Of two bytes b0 and b1 of 0 or 1, bit 8 of (b0 + 256 b1) · 257 is b0 + b1, without a carry into it.
    factor: [257; 16],
};

/// From bit 8, where the multiplication leaves the parity, to the sign.
const TO_SIGN: i32 = 31 - 8;

/// The lower and the upper halves of eight words, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(words: &[u8; 64]) -> (__m256i, __m256i) {
    let (parts, _) = words.as_chunks::<16>();
    // SAFETY: each of the four reads is 16 bytes of a part.
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| unsafe { _mm_loadu_si128(parts[i].as_ptr().cast()) });
    let even = _mm256_castsi256_ps(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), c));
    let odd = _mm256_castsi256_ps(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(b), d));
    let lower = _mm256_shuffle_ps::<0b10_00_10_00>(even, odd);
    let upper = _mm256_shuffle_ps::<0b11_01_11_01>(even, odd);
    (_mm256_castps_si256(lower), _mm256_castps_si256(upper))
}

/// The coefficients in the same form.
#[inline]
#[target_feature(enable = "avx2")]
fn repeated<const W: usize>(coefficients: &[u64; W]) -> (__m256i, __m256i) {
    if W == 1 {
        let word = coefficients[0];
        return (_mm256_set1_epi32(word as i32), _mm256_set1_epi32((word >> 32) as i32));
    }
    let mut all = [0; 64];
    for (i, bytes) in all.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = coefficients[i % W].to_le_bytes();
    }
    halves(&all)
}

#[inline]
#[target_feature(enable = "avx2")]
fn parities<const W: usize>(words: &Line, coefficients: &[u64; W]) -> u8 {
    let ((lower, upper), (c_lower, c_upper)) = (halves(words), repeated(coefficients));
    let x = _mm256_xor_si256(_mm256_and_si256(lower, c_lower), _mm256_and_si256(upper, c_upper));
    // SAFETY: each read is one of the vectors of the constants, which are aligned.
    let (table, nibble, factor) = unsafe {
        (
            _mm256_load_si256(CONSTANTS.table.as_ptr().cast()),
            _mm256_load_si256(CONSTANTS.nibble.as_ptr().cast()),
            _mm256_load_si256(CONSTANTS.factor.as_ptr().cast()),
        )
    };
    let x = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi32::<4>(x)), nibble);
    let sums = _mm256_madd_epi16(_mm256_shuffle_epi8(table, x), factor);
    let signs = _mm256_slli_epi32::<TO_SIGN>(sums);
    _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u8
}

impl Avx2 {
    /// As `tested`, as inline assembly unless the build requires AVX2: a function with the CPU feature could not be
    /// inlined into callers without it.
    #[inline(always)]
    pub(crate) fn tested_inlined<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        if W > 1 || cfg!(target_feature = "avx2") {
            return self.tested(line, coefficients);
        }
        let sum: u64;
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2. The 64 bytes of `line` and the 96 of SPREAD are read,
        // nothing is written. All vector registers are declared clobbered, because their upper halves are cleared.
        unsafe {
            asm!(
                "vmovq xmm0, {word}",
                "vpbroadcastq ymm0, xmm0",
                "vmovdqa ymm2, ymmword ptr [{spread} + 64]",
                "vpshufb ymm1, ymm0, ymmword ptr [{spread}]",
                "vpshufb ymm0, ymm0, ymmword ptr [{spread} + 32]",
                "vpand ymm1, ymm1, ymm2",
                "vpand ymm0, ymm0, ymm2",
                "vpcmpeqb ymm1, ymm1, ymm2",
                "vpcmpeqb ymm0, ymm0, ymm2",
                "vpand ymm1, ymm1, ymmword ptr [{line}]",
                "vpand ymm0, ymm0, ymmword ptr [{line} + 32]",
                "vpxor ymm0, ymm0, ymm1",
                "vextracti128 xmm1, ymm0, 1",
                "vpxor xmm0, xmm0, xmm1",
                "vpunpckhqdq xmm1, xmm0, xmm0",
                "vpxor xmm0, xmm0, xmm1",
                "vmovq {word}, xmm0",
                "vzeroupper",
                line = in(reg) line.as_ptr(),
                word = inout(reg) coefficients[0] => sum,
                spread = in(reg) &raw const SPREAD,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        Tested { parities: xor_of_bytes(sum), limit: line[LIMIT] }
    }
}

macro_rules! systems {
    ($($kernel:ident)*) => {
        $(impl Systems for $kernel {
            #[inline(always)]
            fn tested<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
                // SAFETY: the value exists only if `detect` saw AVX2, or AVX-512 F, which includes it.
                unsafe { tested(line, coefficients) }
            }

            #[inline(always)]
            fn parities<const W: usize>(self, words: &Line, coefficients: &[u64; W]) -> u8 {
                // SAFETY: see above.
                unsafe { parities(words, coefficients) }
            }

            #[inline(always)]
            fn test_chunk<const W: usize>(self, chunk: &Chunk<'_>) -> (u64, u64) {
                // SAFETY: see above.
                unsafe { test_chunk::<W>(chunk) }
            }
        })*
    };
}

systems!(Avx2 Avx512 Avx512Bitalg);
