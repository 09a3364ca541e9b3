#![allow(unsafe_code)]
//! The kernels of x86-64.
//!
//! Each is a value that only its `detect` makes, so its methods may rely on the CPU features `detect` saw.
//! The bodies are functions with those features enabled. Generic code marked `#[inline(always)]` is compiled
//! with them too, once it is inlined into [`Task::run`].

mod asm;
mod lines;
mod lines_avx512;
mod ops;

use super::{Body, Task, cpu_has};
use core::arch::x86_64::*;

/// Proof of AVX2, BMI, LZCNT and POPCNT: Haswell, Zen and later.
#[derive(Debug, Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    pub fn detect() -> Option<Avx2> {
        let all = cpu_has!(is_x86_feature_detected, "avx2")
            && cpu_has!(is_x86_feature_detected, "bmi1")
            && cpu_has!(is_x86_feature_detected, "bmi2")
            && cpu_has!(is_x86_feature_detected, "lzcnt")
            && cpu_has!(is_x86_feature_detected, "popcnt");
        all.then_some(Avx2(()))
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub fn run<T: Task<Self>>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn compiled<T: Task<Avx2>>(kernel: Avx2, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx2` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx2 {
    #[inline(always)]
    fn bools(self, bits: u64) -> [bool; 64] {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU.
        unsafe { bools(bits) }
    }
}

/// Eight copies of a byte, of which each keeps one bit.
#[inline]
#[target_feature(enable = "avx2")]
fn bools(bits: u64) -> [bool; 64] {
    let bytes = bits.to_le_bytes();
    let own_bits = _mm256_set1_epi64x(0x8040_2010_0804_0201u64 as i64);
    let mut ones = [[0u8; 32]; 2];
    for (bytes, ones) in bytes.as_chunks::<4>().0.iter().zip(&mut ones) {
        let copies = bytes.map(|byte| i64::from_le_bytes([byte; 8]));
        let copies = _mm256_setr_epi64x(copies[0], copies[1], copies[2], copies[3]);
        let set = _mm256_cmpeq_epi8(_mm256_and_si256(copies, own_bits), own_bits);
        // SAFETY: writes the 32 bytes.
        unsafe { _mm256_storeu_si256(ones.as_mut_ptr().cast(), _mm256_and_si256(set, _mm256_set1_epi8(1))) };
    }
    core::array::from_fn(|i| ones.as_flattened()[i] == 1)
}

/// An AVX-512 CPU has AVX2, BMI, LZCNT and POPCNT, as `Avx512::detect` has seen.
impl From<Avx512> for Avx2 {
    fn from(_: Avx512) -> Avx2 {
        Avx2(())
    }
}

/// Proof of AVX-512 F, BW, DQ, VL, VBMI, VBMI2, BITALG and VPOPCNTDQ, BMI, LZCNT and POPCNT: Ice Lake, Zen 4 and
/// later. Earlier CPUs with AVX-512 use AVX2.
#[derive(Debug, Clone, Copy)]
pub struct Avx512(());

impl Avx512 {
    pub fn detect() -> Option<Avx512> {
        // AVX-512 F includes AVX2; it is asked for because an `Avx512` becomes an `Avx2`.
        let all = cpu_has!(is_x86_feature_detected, "avx2")
            && cpu_has!(is_x86_feature_detected, "avx512f")
            && cpu_has!(is_x86_feature_detected, "avx512bw")
            && cpu_has!(is_x86_feature_detected, "avx512dq")
            && cpu_has!(is_x86_feature_detected, "avx512vl")
            && cpu_has!(is_x86_feature_detected, "avx512vbmi")
            && cpu_has!(is_x86_feature_detected, "avx512vbmi2")
            && cpu_has!(is_x86_feature_detected, "avx512bitalg")
            && cpu_has!(is_x86_feature_detected, "avx512vpopcntdq")
            && cpu_has!(is_x86_feature_detected, "bmi1")
            && cpu_has!(is_x86_feature_detected, "bmi2")
            && cpu_has!(is_x86_feature_detected, "lzcnt")
            && cpu_has!(is_x86_feature_detected, "popcnt");
        all.then_some(Avx512(()))
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub fn run<T: Task<Self>>(self, task: T) -> T::Output {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt"
        )]
        fn compiled<T: Task<Avx512>>(kernel: Avx512, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx512` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx512 {
    const WIDE: bool = true;

    #[inline(always)]
    fn bools(self, bits: u64) -> [bool; 64] {
        let mut bytes = [0u8; 64];
        self.store(&mut bytes, self.ones(bits));
        bytes.map(|byte| byte != 0)
    }
}
