//! Lines of fingerprints with BMI2 and AVX2.

use super::{Avx2, Avx512, Avx512Bitalg};
use crate::kernel::slots::Select;
use core::arch::x86_64::_pdep_u64;

impl Select for Avx2 {
    #[inline(always)]
    fn pair(self, word: u64, rank: u32) -> u64 {
        #[target_feature(enable = "bmi2")]
        #[inline]
        fn deposited(word: u64, rank: u32) -> u64 {
            // A rank of 64 and more has no bits.
            _pdep_u64(if rank < 64 { 3 << rank } else { 0 }, word)
        }
        // SAFETY: an `Avx2` exists only if `detect` saw BMI2 on this CPU.
        unsafe { deposited(word, rank) }
    }
}

/// Not used: [`Cpu::for_slots`](crate::kernel::Cpu::for_slots) takes the body for AVX2.
impl Select for Avx512 {}
impl Select for Avx512Bitalg {}
