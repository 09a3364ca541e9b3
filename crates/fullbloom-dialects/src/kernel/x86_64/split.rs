//! The split block: all eight words of one key at once (AVX2), or of two keys (AVX-512).

use super::super::blocks::Filter;
use super::super::local::{Found, found_pipe};
use super::super::split::{SALTS, SplitBlock};
use core::arch::x86_64::*;
use fullbloom_core::kernel::pipeline::{CHUNK, Pipe, RING};
use fullbloom_core::kernel::x86_64::Avx512;

/// The key's bit in each word.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(lower: u32) -> __m256i {
    // SAFETY: eight salts are 32 bytes.
    let salts = unsafe { _mm256_loadu_si256(SALTS.as_ptr().cast()) };
    let products = _mm256_mullo_epi32(_mm256_set1_epi32(lower as i32), salts);
    _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(products))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &SplitBlock) -> __m256i {
    // SAFETY: a block is 32 bytes.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn test(block: &SplitBlock, lower: u32) -> bool {
    _mm256_testc_si256(load(block), bits(lower)) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn set(block: &mut SplitBlock, lower: u32) -> bool {
    let (old, bits) = (load(block), bits(lower));
    // SAFETY: a block is 32 bytes.
    unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), _mm256_or_si256(old, bits)) };
    _mm256_testc_si256(old, bits) == 0
}

/// Tests two keys with each instruction, and computes the answers of eight keys from sixty-four words at
/// once.
pub(crate) struct Pairs<'a> {
    filter: Filter<'a, SplitBlock>,
    /// Proof of AVX-512 F, BW, DQ and VL.
    _kernel: Avx512,
}

impl<'a> Pairs<'a> {
    #[inline(always)]
    pub(crate) fn new(kernel: Avx512, filter: Filter<'a, SplitBlock>) -> Self {
        Pairs { filter, _kernel: kernel }
    }
}

impl Pipe<CHUNK, RING> for Pairs<'_> {
    found_pipe!();

    #[inline(always)]
    fn finish(&mut self, found: &Found, _: &Found, _: usize) -> u64 {
        // SAFETY: holding an `Avx512` proves its features on this CPU; `prepare` computed the offsets with
        // the filter's own places.
        unsafe {
            u64::from(eight::<0>(&self.filter, found)) | u64::from(eight::<8>(&self.filter, found)) << 8
        }
    }
}

/// The answers of eight keys from `FROM` on.
///
/// # Safety
/// The offsets must have been computed with this filter's places.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn eight<const FROM: usize>(filter: &Filter<'_, SplitBlock>, found: &Found) -> u8 {
    // SAFETY: eight salts are 32 bytes.
    let salts = _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(SALTS.as_ptr().cast()) });
    // SAFETY: eight hashes of the chunk are 64 bytes.
    let hashes = unsafe { _mm512_loadu_si512(found.hashes[FROM..FROM + 8].as_ptr().cast()) };
    // The even 32-bit lanes choose the bits: one for the first eight lanes, the next for the others.
    let first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    let missing = |pair: usize| {
        let lanes = _mm512_add_epi32(first, _mm512_set1_epi32(4 * pair as i32));
        let keys = _mm512_permutexvar_epi32(lanes, hashes);
        let products = _mm512_mullo_epi32(keys, salts);
        let bits = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<27>(products));
        // SAFETY: guaranteed by the caller.
        let (one, two) = unsafe {
            let at = FROM + 2 * pair;
            (filter.block(&found.offsets, at), filter.block(&found.offsets, at + 1))
        };
        let blocks = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(load(one)), load(two));
        _mm512_testn_epi32_mask(blocks, bits)
    };
    let wide = |low: __mmask16, high: __mmask16| u64::from(low) | u64::from(high) << 16;
    let all = wide(missing(0), missing(1)) | wide(missing(2), missing(3)) << 32;
    // One byte per key: zero where no word lacks its bit.
    _mm512_testn_epi64_mask(_mm512_movm_epi8(all), _mm512_movm_epi8(all))
}
