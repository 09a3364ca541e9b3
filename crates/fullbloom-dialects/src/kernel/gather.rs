#![allow(unsafe_code)]
//! The probes of one key tested at once, on x86-64 with AVX-512 IFMA.
//!
//! Reducing and testing a position takes some ten instructions. For eight positions that is more than an
//! out-of-order core looks ahead, so the loads of the next key do not start before this key is finished. Here
//! eight lanes sum and reduce, one gather fetches eight words, and one instruction tests them. The whole key
//! costs about as much as two probes did.
//!
//! The scalar walks in [`probe`](crate::probe) are the definition; the tests compare every answer with them.

use core::arch::asm;
use core::arch::x86_64::{
    __cpuid, __m256i, __m512i, _mm256_rorv_epi32, _mm256_set1_epi32, _mm256_testn_epi32_mask,
    _mm512_and_si512, _mm512_cvtepi64_epi32, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_min_epu64,
    _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_sub_epi64,
};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use fullbloom_core::cpu_has;
use fullbloom_core::kernel::Kernel;

/// Proof that this CPU supports gathers and that they pay off; only [`Gather::get`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Gather(());

const UNKNOWN: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;
static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);

impl Gather {
    /// Whether to gather; the CPU is checked once.
    #[inline(always)]
    pub fn get() -> Option<Gather> {
        match CHOICE.load(Relaxed) {
            YES => Some(Gather(())),
            NO => None,
            _ => Gather::choose(),
        }
    }

    /// As [`get`](Gather::get), but `None` until that has been called once: one load and no call.
    #[inline(always)]
    pub fn known() -> Option<Gather> {
        (CHOICE.load(Relaxed) == YES).then_some(Gather(()))
    }

    #[cold]
    fn choose() -> Option<Gather> {
        let found = Gather::detect();
        CHOICE.store(if found.is_some() { YES } else { NO }, Relaxed);
        found
    }

    /// Available where the kernel in use is an AVX-512 kernel. Intel's cores before AVX-VNNI are excluded:
    /// microcode against Downfall made their gathers several times slower than the loads they replace.
    fn detect() -> Option<Gather> {
        let able = Kernel::in_use() == Kernel::Avx512
            && cpu_has!(is_x86_feature_detected, "avx512f")
            && cpu_has!(is_x86_feature_detected, "avx512vl")
            && cpu_has!(is_x86_feature_detected, "avx512ifma")
            && cpu_has!(is_x86_feature_detected, "bmi2");
        (able && (!is_intel() || cpu_has!(is_x86_feature_detected, "avxvnni"))).then_some(Gather(()))
    }
}

/// The vendor's name, which every x86-64 CPU gives.
fn is_intel() -> bool {
    // SAFETY: every x86-64 CPU has the instruction `cpuid`, and leaf 0 exists on all of them.
    #[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
    let vendor = unsafe { __cpuid(0) };
    [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

/// An array whose positions are reduced by multiplication with `inverse`, `floor((2^52 - 1) / bit_len)`.
///
/// The high half of the 52-bit product of a sum and `inverse` is the quotient or one less: the error is below
/// `sum / 2^52`, and sums stay below 2^52. One conditional subtraction finishes the remainder.
///
/// Holding an `Array` means that `len` bytes from `bits` on may be read: only the two unsafe constructors
/// make one.
#[derive(Debug, Clone, Copy)]
pub struct Array {
    bits: *const u8,
    len: usize,
    bit_len: u64,
    inverse: u64,
}

impl Array {
    /// Every length that [`Array::new`] accepts is below this, so that positions fit in 52 bits.
    const MAX_LEN: usize = 1 << 49;

    /// An array of `bit_len` bits in `len` bytes; `None` if it is too short to load words from, or too long
    /// for 52-bit positions.
    ///
    /// # Safety
    /// `bits` must be valid for reads of `len` bytes as long as the value is used; other threads may be
    /// setting bits.
    #[inline(always)]
    pub(crate) unsafe fn new(bits: *const u8, len: usize, bit_len: u64) -> Option<Array> {
        // SAFETY: `new` demands what `compared` does of `bits` and `len`, and the comparison below that calls
        // this has checked `bit_len`.
        let array = || unsafe { Self::compared(bits, len, bit_len) };
        (bit_len.wrapping_sub(1) >> 3 < len as u64).then(array).flatten()
    }

    /// As [`new`](Array::new), for a `bit_len` that has already been checked against `len`.
    ///
    /// # Safety
    /// As for `new`, and `bit_len` must be 1 to eight times `len`.
    #[inline(always)]
    pub unsafe fn compared(bits: *const u8, len: usize, bit_len: u64) -> Option<Array> {
        let suits = (4..Self::MAX_LEN).contains(&len);
        suits.then(|| Array { bits, len, bit_len, inverse: ((1 << 52) - 1) / bit_len })
    }
}

/// As [`all_set`], over bits that nobody changes; `None` where the CPU cannot gather or the array does not
/// qualify.
#[inline(always)]
pub(crate) fn test<const WRAPS: bool>(
    bits: &[u8],
    bit_len: u64,
    hash: [u32; 2],
    probes: u32,
) -> Option<bool> {
    Gather::get()?;
    // SAFETY: pointer and length are those of a live slice.
    let array = unsafe { Array::new(bits.as_ptr(), bits.len(), bit_len)? };
    // SAFETY: a `Gather` proves that the CPU can gather.
    Some(unsafe { all_set::<WRAPS>(array, hash, probes) })
}

/// Whether the bits at `(base + i * step) mod bit_len` are set for all `i < probes`. With `WRAPS`, the sums
/// are first taken modulo 2^32. Without it, `probes` must be at most 2^20, so that the sums stay below 2^52.
///
/// # Safety
/// The CPU must be able to gather: the caller holds a [`Gather`].
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
#[inline]
pub fn all_set<const WRAPS: bool>(array: Array, [base, step]: [u32; 2], probes: u32) -> bool {
    if probes <= 8 {
        return eight_set::<WRAPS>(Constants::new(array), base.into(), step, probes);
    }
    let Array { bits, len, bit_len, inverse } = array;
    // SAFETY: these are the parts of an `Array`.
    unsafe { many_set::<WRAPS>(bits, len, bit_len, inverse, u64::from(step) << 32 | u64::from(base), probes) }
}

/// A separate function with all arguments in registers, so that the common case needs no stack frame.
///
/// # Safety
/// The first four arguments must be the parts of one [`Array`].
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
#[inline(never)]
unsafe fn many_set<const WRAPS: bool>(
    bits: *const u8,
    len: usize,
    bit_len: u64,
    inverse: u64,
    step_and_base: u64,
    probes: u32,
) -> bool {
    let constants = Constants::new(Array { bits, len, bit_len, inverse });
    let step = (step_and_base >> 32) as u32;
    let mut base = step_and_base & u64::from(u32::MAX);
    let mut left = probes;
    while left > 8 {
        if !eight_set::<WRAPS>(constants, base, step, 8) {
            return false;
        }
        base += 8 * u64::from(step);
        if WRAPS {
            base &= u64::from(u32::MAX);
        }
        left -= 8;
    }
    eight_set::<WRAPS>(constants, base, step, left)
}

/// The values shared by all probes.
#[derive(Clone, Copy)]
struct Constants {
    bits: *const u8,
    bit_len: __m512i,
    inverse: __m512i,
    /// The last offset a word can be loaded from.
    last: __m512i,
}

impl Constants {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn new(array: Array) -> Constants {
        Constants {
            bits: array.bits,
            bit_len: _mm512_set1_epi64(array.bit_len as i64),
            inverse: _mm512_set1_epi64(array.inverse as i64),
            last: _mm512_set1_epi64((array.len - 4) as i64),
        }
    }
}

/// Up to eight probes.
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,bmi2")]
#[inline]
fn eight_set<const WRAPS: bool>(constants: Constants, base: u64, step: u32, probes: u32) -> bool {
    let Constants { bits, bit_len, inverse, last } = constants;
    let numbers = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let zero = _mm512_setzero_si512();
    let mut sums =
        _mm512_madd52lo_epu64(_mm512_set1_epi64(base as i64), _mm512_set1_epi64(step.into()), numbers);
    if WRAPS {
        sums = _mm512_and_si512(sums, _mm512_set1_epi64(u32::MAX.into()));
    }
    let quotients = _mm512_madd52hi_epu64(zero, sums, inverse);
    let rests = _mm512_sub_epi64(sums, _mm512_madd52lo_epu64(zero, quotients, bit_len));
    let positions = _mm512_min_epu64(rests, _mm512_sub_epi64(rests, bit_len));
    // A word begins at the byte of its bit, except where it would reach past the end.
    let offsets = _mm512_min_epu64(_mm512_srli_epi64::<3>(positions), last);
    let shifts = _mm512_cvtepi64_epi32(_mm512_sub_epi64(positions, _mm512_slli_epi64::<3>(offsets)));
    // SAFETY: no offset is above `last`, so each word's four bytes lie inside the array, by the contract of
    // `Array::new`.
    let words = unsafe { gather(bits, offsets, probes) };
    _mm256_testn_epi32_mask(_mm256_rorv_epi32(words, shifts), _mm256_set1_epi32(1)) == 0
}

/// The 32-bit words at `bits + offset` for the first `count` offsets; all ones for the rest.
///
/// Inline assembly rather than the intrinsic, because other threads may be setting bits: the instruction acts
/// as relaxed loads of single bytes, each of which is the old or the new one.
///
/// # Safety
/// The four bytes at each of these offsets must be readable.
#[target_feature(enable = "avx512f,avx512vl,bmi2")]
#[inline]
unsafe fn gather(bits: *const u8, offsets: __m512i, count: u32) -> __m256i {
    let mut words = _mm256_set1_epi32(-1);
    // SAFETY: reads only bytes that the caller vouches for, and writes only registers.
    unsafe {
        asm!(
            "vpgatherqd ({bits}, {offsets}), {words} {{{lanes}}}",
            words = inout(ymm_reg) words,
            bits = in(reg) bits,
            offsets = in(zmm_reg) offsets,
            lanes = inout(kreg) (1u16 << count) - 1 => _,
            options(att_syntax, readonly, nostack, preserves_flags)
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_core::bits;

    /// The definition: position by position, with one division each.
    fn defined<const WRAPS: bool>(bits: &[u8], bit_len: u64, [base, step]: [u32; 2], probes: u32) -> bool {
        (0..u64::from(probes)).all(|i| {
            let sum = u64::from(base) + i * u64::from(step);
            bits::get(bits, if WRAPS { sum & 0xffff_ffff } else { sum } % bit_len) == 1
        })
    }

    fn agree<const WRAPS: bool>(bits: &[u8], bit_len: u64, hash: [u32; 2], probes: u32) {
        let answer = test::<WRAPS>(bits, bit_len, hash, probes).expect("the CPU was checked before");
        assert_eq!(answer, defined::<WRAPS>(bits, bit_len, hash, probes), "{bit_len} {hash:?} {probes}");
    }

    #[test]
    fn every_probe_of_every_length_is_looked_at_in_its_own_place() {
        if Gather::get().is_none() {
            println!("skipped: fullbloom does not use gathers on this CPU");
            return;
        }
        // All bits are set but one, so the answer is no exactly when some probe hits that bit. Lengths lie
        // around the end of a word, around powers of two, and cover every remainder; the array ends where the
        // bits do.
        let lengths = (25..=130).chain([1 << 12, (1 << 12) + 1, 4792, 9585, 65_521]);
        for (round, bit_len) in lengths.enumerate() {
            let len = usize::try_from(u64::div_ceil(bit_len, 8)).unwrap();
            for step in 0..40u32 {
                let seed = (round as u32 * 41 + step).wrapping_mul(0x9e37_79b9);
                let hash = [seed ^ 0xffff_0000, seed.rotate_left(13) | 0x8000_0000];
                let probes = [0, 1, 6, 7, 8, 9, 16, 17, 255][step as usize % 9];
                let mut bits = vec![0xffu8; len];
                agree::<true>(&bits, bit_len, hash, probes);
                agree::<false>(&bits, bit_len, hash, probes);
                for i in [0, 1, 5, 7, 8, 15, 16, 254] {
                    let sum = u64::from(hash[0]) + i * u64::from(hash[1]);
                    for missing in [sum % bit_len, (sum & 0xffff_ffff) % bit_len, bit_len - 1, 0] {
                        bits[(missing >> 3) as usize] ^= 1 << (missing & 7);
                        agree::<true>(&bits, bit_len, hash, probes);
                        agree::<false>(&bits, bit_len, hash, probes);
                        bits[(missing >> 3) as usize] ^= 1 << (missing & 7);
                    }
                }
            }
        }
    }

    #[test]
    fn positions_beyond_32_bits_are_reached() {
        if Gather::get().is_none() {
            println!("skipped: fullbloom does not use gathers on this CPU");
            return;
        }
        let mut owned = crate::Owned::zeroed(1 << 30).unwrap(); // 2^33 bits, of which a few pages are touched
        let bits = owned.as_mut();
        let bit_len = (1 << 33) - 5;
        let hash = [u32::MAX, u32::MAX];
        for i in 0..20u64 {
            assert!(!test::<false>(bits, bit_len, hash, 20).unwrap());
            bits::set(bits, (u64::from(u32::MAX) * (i + 1)) % bit_len);
        }
        assert!(test::<false>(bits, bit_len, hash, 20).unwrap());
    }

    #[test]
    fn arrays_too_short_for_a_word_are_left_to_the_walks() {
        for len in 0..4 {
            // SAFETY: the array is longer than the length passed.
            assert!(unsafe { Array::new([0u8; 4].as_ptr(), len, 8) }.is_none());
        }
        // SAFETY: nothing is read.
        assert!(unsafe { Array::new([0u8; 4].as_ptr(), 4, 0) }.is_none());
        // SAFETY: nothing is read.
        assert!(unsafe { Array::new([0u8; 4].as_ptr(), 4, 33) }.is_none());
    }
}
