//! Lines of the kind `compact` with AVX2.
//!
//! The lower halves of the line's eight words are one vector of 32-bit lanes, the upper halves another. The signs of
//! the upper halves are the limit. Both are masked with the coefficients and xored, so a lane of 32 bits has the
//! parity of its word. A table gives the parity of each nibble pair, a multiplication adds the four bytes of a lane.

use super::{Avx2, Avx512, Avx512Bitalg};
use crate::kernel::lines::Line;
use crate::kernel::systems::{KEYS, Systems, Tested};
use core::arch::asm;
use core::arch::x86_64::*;

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
fn tested<const W: usize>(line: &Line, coefficients: &[u64; W]) -> Tested {
    let ((lower, upper), (c_lower, c_upper)) = (halves(line), repeated(coefficients));
    let limit = _mm256_movemask_ps(_mm256_castsi256_ps(upper)) as u8;
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
    Tested { parities: _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u8, limit }
}

#[inline]
#[target_feature(enable = "avx2")]
fn compare(a: &[u8; KEYS], b: &[u8; KEYS], c: &[u8; KEYS], d: &[u8; KEYS]) -> (u64, u64) {
    // SAFETY: each read is the sixteen bytes of an array.
    let [a, b, c, d] = [a, b, c, d].map(|bytes| unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
    let equal = _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) as u16;
    let at_least = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(c, d), c)) as u16;
    (equal.into(), (!at_least).into())
}

impl Avx2 {
    /// As `tested`, as inline assembly unless the build requires AVX2: a function with the CPU feature could not be
    /// inlined into callers without it.
    #[inline(always)]
    pub(crate) fn tested_inlined<const W: usize>(self, line: &Line, coefficients: &[u64; W]) -> Tested {
        if W > 1 || cfg!(target_feature = "avx2") {
            return self.tested(line, coefficients);
        }
        let (parities, limit): (u32, u32);
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2. The 64 bytes of `line` and the 96 of CONSTANTS are read,
        // nothing is written. All vector registers are declared clobbered, because their upper halves are cleared.
        unsafe {
            asm!(
                "vmovdqu xmm0, xmmword ptr [{line}]",
                "vinserti128 ymm0, ymm0, xmmword ptr [{line} + 32], 1",
                "vmovdqu xmm1, xmmword ptr [{line} + 16]",
                "vinserti128 ymm1, ymm1, xmmword ptr [{line} + 48], 1",
                "vmovq xmm4, {coefficients}",
                "vshufps ymm2, ymm0, ymm1, 0x88",
                "vshufps ymm3, ymm0, ymm1, 0xdd",
                "vpsrlq xmm5, xmm4, 32",
                "vpbroadcastd ymm4, xmm4",
                "vpbroadcastd ymm5, xmm5",
                "vmovmskps {limit:e}, ymm3",
                "vpand ymm2, ymm2, ymm4",
                "vpand ymm3, ymm3, ymm5",
                "vpxor ymm2, ymm2, ymm3",
                "vpsrld ymm3, ymm2, 4",
                "vpxor ymm2, ymm2, ymm3",
                "vmovdqa ymm3, ymmword ptr [{constants}]",
                "vpand ymm2, ymm2, ymmword ptr [{constants} + 32]",
                "vpshufb ymm2, ymm3, ymm2",
                "vpmaddwd ymm2, ymm2, ymmword ptr [{constants} + 64]",
                "vpslld ymm2, ymm2, {to_sign}",
                "vmovmskps {parities:e}, ymm2",
                "vzeroupper",
                line = in(reg) line.as_ptr(),
                coefficients = in(reg) coefficients[0],
                constants = in(reg) &raw const CONSTANTS,
                limit = out(reg) limit,
                parities = lateout(reg) parities,
                to_sign = const TO_SIGN,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        Tested { parities: parities as u8, limit: limit as u8 }
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
            fn compare(self, a: &[u8; KEYS], b: &[u8; KEYS], c: &[u8; KEYS], d: &[u8; KEYS]) -> (u64, u64) {
                // SAFETY: see above.
                unsafe { compare(a, b, c, d) }
            }
        })*
    };
}

systems!(Avx2 Avx512 Avx512Bitalg);
