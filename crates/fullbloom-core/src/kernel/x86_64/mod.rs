#![allow(unsafe_code)]
//! The kernels of x86-64.
//!
//! Each is a value that only its `detect` makes, so its methods may rely on the CPU features `detect` saw.
//! The bodies are functions with those features enabled. Generic code marked `#[inline(always)]` is compiled
//! with them too, once it is inlined into [`Task::run`].

mod lines_avx2;
mod lines_avx512;
mod ops;

use super::lines::{Line, distance};
use super::{Body, Task, cpu_has};
use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

/// Prefetches this line, unless the array is near. A line outside the array does no harm.
#[inline(always)]
fn prefetch<const DISTANCE: u8>(line: *const Line) {
    let line = line.cast();
    match DISTANCE {
        distance::NEAR => {}
        // SAFETY: prefetch never faults, whatever the address. SSE is part of x86-64.
        distance::FAR => unsafe { _mm_prefetch::<_MM_HINT_T1>(line) },
        // SAFETY: as above.
        _ => unsafe { _mm_prefetch::<_MM_HINT_T0>(line) },
    }
}

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

impl Body for Avx2 {}

/// Both have AVX2, BMI, LZCNT and POPCNT, as `Avx512::detect` has seen.
impl From<Avx512> for Avx2 {
    fn from(_: Avx512) -> Avx2 {
        Avx2(())
    }
}

impl From<Avx512Bitalg> for Avx2 {
    fn from(kernel: Avx512Bitalg) -> Avx2 {
        kernel.0.into()
    }
}

/// Proof of AVX-512 F, BW, DQ and VL, BMI, LZCNT and POPCNT: Skylake-X and later.
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
            && cpu_has!(is_x86_feature_detected, "bmi1")
            && cpu_has!(is_x86_feature_detected, "bmi2")
            && cpu_has!(is_x86_feature_detected, "lzcnt")
            && cpu_has!(is_x86_feature_detected, "popcnt");
        all.then_some(Avx512(()))
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub fn run<T: Task<Self>>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
        fn compiled<T: Task<Avx512>>(kernel: Avx512, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx512` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx512 {
    const WIDE: bool = true;
}

/// Proof of everything [`Avx512`] needs, and of VBMI, VBMI2, BITALG and VPOPCNTDQ: Ice Lake, Zen 4 and later.
#[derive(Debug, Clone, Copy)]
pub struct Avx512Bitalg(Avx512);

impl Avx512Bitalg {
    pub fn detect() -> Option<Avx512Bitalg> {
        let all = cpu_has!(is_x86_feature_detected, "avx512vbmi")
            && cpu_has!(is_x86_feature_detected, "avx512vbmi2")
            && cpu_has!(is_x86_feature_detected, "avx512bitalg")
            && cpu_has!(is_x86_feature_detected, "avx512vpopcntdq");
        Avx512::detect().filter(|_| all).map(Avx512Bitalg)
    }

    /// The kernel with fewer features, which it proves as well.
    #[inline(always)]
    pub fn avx512(self) -> Avx512 {
        self.0
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub fn run<T: Task<Self>>(self, task: T) -> T::Output {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt"
        )]
        fn compiled<T: Task<Avx512Bitalg>>(kernel: Avx512Bitalg, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx512Bitalg` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx512Bitalg {
    const WIDE: bool = true;
}
