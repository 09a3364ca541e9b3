//! The vector instructions of the AVX-512 pipes, as safe methods of the kernels that prove they exist.
//!
//! A pipe's body cannot be a function with CPU features of its own: LLVM inlines such functions only while
//! they are small, and a pipe that is called once per chunk reloads its constants and masks each time (30 %
//! of the time of a batch with nine probes). With these methods, a pipe is ordinary code, always inlined into
//! the function that [`Task::run`](super::super::Task::run) is compiled in.

use super::super::Block;
use super::Avx512;
use core::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx512bw")]
fn ones(bits: __mmask64) -> __m512i {
    _mm512_maskz_set1_epi8(bits, 1)
}

/// Methods that are one instruction.
macro_rules! instructions {
    ($kernel:ty: $($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $out:ty = $intrinsic:path;)*) => {
        impl $kernel {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $name(self, $($arg: $type),*) -> $out {
                    // SAFETY: the kernel's value exists only if its `detect` saw the instruction's feature on
                    // this CPU, and the instruction needs nothing else.
                    unsafe { $intrinsic($($arg),*) }
                }
            )*
        }
    };
}

instructions! { Avx512:
    /// Zero.
    zero() -> __m512i = _mm512_setzero_si512;
    /// The word in all eight lanes.
    all_8(word: i64) -> __m512i = _mm512_set1_epi64;
    /// `a & b`.
    and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512;
    /// `a | b`.
    or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512;
    /// `a | b` in the lanes of the mask, `a` elsewhere when it is also `source`.
    or_in(source: __m512i, lanes: __mmask8, a: __m512i, b: __m512i) -> __m512i = _mm512_mask_or_epi64;
    /// Lanes where two 64-bit words are equal.
    equal_8(a: __m512i, b: __m512i) -> __mmask8 = _mm512_cmpeq_epi64_mask;
    /// The 64-bit products of the lower halves of 64-bit lanes.
    product_8(a: __m512i, b: __m512i) -> __m512i = _mm512_mul_epu32;
    /// 64-bit lanes rotated left by the lower six bits of the counts.
    rotated_8(a: __m512i, counts: __m512i) -> __m512i = _mm512_rolv_epi64;
    /// `a ^ b ^ c`.
    xor_3(a: __m512i, b: __m512i, c: __m512i) -> __m512i = _mm512_ternarylogic_epi64::<0x96>;
    /// The lower of two unsigned bytes, for all of them.
    lower_bytes(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epu8;
    /// Lanes where an unsigned 64-bit word is at least the other one.
    at_least_8(a: __m512i, b: __m512i) -> __mmask8 = _mm512_cmpge_epu64_mask;
    /// The 64-bit lanes of the mask, moved to the front; zero after them.
    packed_8(lanes: __mmask8, a: __m512i) -> __m512i = _mm512_maskz_compress_epi64;
    /// 64-bit lanes shifted right.
    right_8(a: __m512i) -> __m512i = _mm512_srli_epi64::<8>;
    /// 64-bit lanes shifted right.
    right_16(a: __m512i) -> __m512i = _mm512_srli_epi64::<16>;
    /// 64-bit lanes shifted right.
    right_23(a: __m512i) -> __m512i = _mm512_srli_epi64::<23>;
    /// 64-bit lanes shifted right.
    right_24(a: __m512i) -> __m512i = _mm512_srli_epi64::<24>;
    /// 64-bit lanes shifted right.
    right_25(a: __m512i) -> __m512i = _mm512_srli_epi64::<25>;
    /// 64-bit lanes shifted right.
    right_29(a: __m512i) -> __m512i = _mm512_srli_epi64::<29>;
    /// 64-bit lanes shifted right.
    right_32(a: __m512i) -> __m512i = _mm512_srli_epi64::<32>;
    /// 64-bit lanes shifted right.
    right_48(a: __m512i) -> __m512i = _mm512_srli_epi64::<48>;
    /// A byte with value one for each set bit.
    ones(bits: __mmask64) -> __m512i = ones;
    /// The lower 32 bits of the products of 32-bit lanes.
    product_16(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32;
    /// The top nine bits of 32-bit lanes, as integers.
    top_9(a: __m512i) -> __m512i = _mm512_srli_epi32::<23>;
    /// 32-bit lanes of `a` shifted left by nine, the top nine bits of `b` below them.
    push_9(a: __m512i, b: __m512i) -> __m512i = _mm512_shldi_epi32::<9>;
    /// In each 64-bit lane its upper half, twice.
    upper_twice(a: __m512i) -> __m512i = _mm512_shuffle_epi32::<0b11_11_01_01>;
    /// 32-bit lanes of `a`, selected by index.
    select_16(numbers: __m512i, a: __m512i) -> __m512i = _mm512_permutexvar_epi32;
    /// Bytes, each taken from eight bits of `a`'s 64-bit lane, beginning at the given bit number.
    fields(numbers: __m512i, a: __m512i) -> __m512i = _mm512_multishift_epi64_epi8;
    /// The upper half of each 64-bit lane from `b`, the lower from `a`.
    join(a: __m512i, lanes: __mmask16, b: __m512i) -> __m512i = _mm512_mask_mov_epi32;
    /// 64-bit lanes of the mask from `b`, the others from `a`.
    blend_8(a: __m512i, lanes: __mmask8, b: __m512i) -> __m512i = _mm512_mask_mov_epi64;
    /// In the lanes of the mask, bytes of `a`'s 128-bit lane, selected by an index below 16; zero elsewhere.
    look_up_16(lanes: __mmask64, a: __m512i, numbers: __m512i) -> __m512i = _mm512_maskz_shuffle_epi8;
    /// Bytes of `a`, selected by the low six bits of the index.
    look_up(numbers: __m512i, a: __m512i) -> __m512i = _mm512_permutexvar_epi8;
    /// The same in the lanes of the mask, `source` elsewhere.
    look_up_in(source: __m512i, lanes: __mmask64, numbers: __m512i, a: __m512i) -> __m512i = _mm512_mask_permutexvar_epi8;
    /// `!a & b`.
    and_not(a: __m512i, b: __m512i) -> __m512i = _mm512_andnot_si512;
    /// The number of set bits of 64-bit lanes.
    ones_8(a: __m512i) -> __m512i = _mm512_popcnt_epi64;
    /// 64-bit lanes where `a & b` is not zero.
    common_8(a: __m512i, b: __m512i) -> __mmask8 = _mm512_test_epi64_mask;
    /// 64-bit lanes where `a & b` is zero.
    zero_8(a: __m512i, b: __m512i) -> __mmask8 = _mm512_testn_epi64_mask;
    /// The bits of `a` selected by the mask, packed together.
    extract(a: u32, mask: u32) -> u32 = _pext_u32;
}

impl Avx512 {
    /// Loads a whole block.
    #[inline(always)]
    pub fn load(self, block: &Block) -> __m512i {
        // SAFETY: the value proves AVX-512 F, and a block is 64 bytes.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }

    /// Stores a whole block.
    #[inline(always)]
    pub fn store(self, block: &mut Block, value: __m512i) {
        // SAFETY: the value proves AVX-512 F, and a block is 64 bytes.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), value) }
    }

    /// Loads eight 64-bit lanes.
    #[inline(always)]
    pub fn load_8(self, words: &[u64; 8]) -> __m512i {
        // SAFETY: the value proves AVX-512 F, and eight words are 64 bytes.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    /// Loads the first lanes, at most eight, from words; zero after them. Also returns which lanes these are.
    #[inline(always)]
    pub fn load_first(self, words: &[[u8; 8]]) -> (__m512i, __mmask8) {
        let lanes = ((1u32 << words.len().min(8)) - 1) as __mmask8;
        // SAFETY: the value proves AVX-512 F, and only the bytes of lanes in the mask, which are those of
        // `words`, are read.
        (unsafe { _mm512_maskz_loadu_epi64(lanes, words.as_ptr().cast()) }, lanes)
    }

    /// Stores eight 64-bit lanes.
    #[inline(always)]
    pub fn store_8(self, words: &mut [u64; 8], value: __m512i) {
        // SAFETY: the value proves AVX-512 F, and eight words are 64 bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
    }

    /// Loads sixteen 32-bit lanes.
    #[inline(always)]
    pub fn load_16(self, words: &[u32; 16]) -> __m512i {
        // SAFETY: the value proves AVX-512 F, and sixteen words are 64 bytes.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }
}
