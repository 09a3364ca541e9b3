#![allow(unsafe_code)]
//! The kernels of x86-64.
//!
//! Each is a value that only its `detect` makes, so its methods may rely on the CPU features `detect` saw.
//! The bodies are functions with those features enabled. Generic code marked `#[inline(always)]` is compiled
//! with them too, once it is inlined into [`Task::run`].

mod avx2;
mod avx512;
mod bitalg;
mod lines_avx2;
mod lines_avx512;
mod masks;
mod ops;
mod slots;
mod split;
mod systems;

use super::blocks::{Filter, FilterMut};
use super::lines::{Line, distance};
use super::local::{EachTest, Local, TestFn, each_set};
use super::pipeline::{self, Answers, Source};
use super::split::{self as split_block, Split, SplitBlock};
use super::{Block, Body, Task, cpu_has};
use crate::keys::{KeyHasher, Keys};
use bitalg::Bytes;
use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
use masks::Masks;

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
pub(crate) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let all = cpu_has!(is_x86_feature_detected, "avx2")
            && cpu_has!(is_x86_feature_detected, "bmi1")
            && cpu_has!(is_x86_feature_detected, "bmi2")
            && cpu_has!(is_x86_feature_detected, "lzcnt")
            && cpu_has!(is_x86_feature_detected, "popcnt");
        all.then_some(Avx2(()))
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn compiled<T: Task>(kernel: Avx2, task: T) -> T::Output {
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

impl Local for Avx2 {
    const TEST: TestFn = avx2::test;

    #[inline(always)]
    fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        // SAFETY: an `Avx2` exists only if `detect` saw AVX2 on this CPU; also below.
        let lanes = unsafe { avx2::lanes(filter.probes) };
        if filter.probes <= 8 {
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { avx2::test_8(block, hash, lanes) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else if filter.probes <= 16 {
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { avx2::test_16(block, hash, lanes) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            pipeline::collect(EachTest { filter, test }, source, answers);
        }
    }
}

impl Split for Avx2 {
    const SPLIT_TEST: split_block::TestFn = split::test;
    const SPLIT_SET: split_block::SetFn = split::set;
}

/// Proof of AVX-512 F, BW, DQ and VL, BMI, LZCNT and POPCNT: Skylake-X and later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
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
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
        fn compiled<T: Task>(kernel: Avx512, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx512` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx512 {
    const WIDE: bool = true;
}

impl Local for Avx512 {
    const TEST: TestFn = avx512::test;

    #[inline(always)]
    fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        // SAFETY: an `Avx512` exists only if `detect` saw AVX-512 F and VL, and BMI2, on this CPU; also
        // below.
        let lanes = unsafe { avx512::lanes(filter.probes) };
        if filter.probes <= 8 {
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { avx512::test_8(block, hash, lanes) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else if filter.probes <= 16 {
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { avx512::test_16(block, hash, lanes) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            pipeline::collect(EachTest { filter, test }, source, answers);
        }
    }

    #[inline(always)]
    fn fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: FilterMut<'_>,
        source: Source<'_, K, H>,
    ) {
        if filter.probes as usize <= masks::MAX_PROBES {
            pipeline::run(&mut Masks::new(self, filter), source, |_, _, _, _| {});
        } else {
            pipeline::run(&mut each_set(filter), source.wide(false), |_, _, _, _| {});
        }
    }
}

impl Split for Avx512 {
    const SPLIT_TEST: split_block::TestFn = split::test;
    const SPLIT_SET: split_block::SetFn = split::set;

    #[inline(always)]
    fn split_answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_, SplitBlock>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        pipeline::collect(split::Pairs::new(self, filter), source, answers);
    }
}

/// Proof of everything [`Avx512`] needs, and of VBMI, VBMI2, BITALG and VPOPCNTDQ: Ice Lake, Zen 4 and later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512Bitalg(Avx512);

impl Avx512Bitalg {
    pub(super) fn detect() -> Option<Avx512Bitalg> {
        let all = cpu_has!(is_x86_feature_detected, "avx512vbmi")
            && cpu_has!(is_x86_feature_detected, "avx512vbmi2")
            && cpu_has!(is_x86_feature_detected, "avx512bitalg")
            && cpu_has!(is_x86_feature_detected, "avx512vpopcntdq");
        Avx512::detect().filter(|_| all).map(Avx512Bitalg)
    }

    /// The kernel with fewer features, which it proves as well.
    #[inline(always)]
    pub(crate) fn avx512(self) -> Avx512 {
        self.0
    }

    /// Runs the task, compiled for these features.
    #[inline(always)]
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,lzcnt,popcnt"
        )]
        fn compiled<T: Task>(kernel: Avx512Bitalg, task: T) -> T::Output {
            task.run(kernel)
        }
        // SAFETY: an `Avx512Bitalg` exists only if `detect` saw these features on this CPU.
        unsafe { compiled(self, task) }
    }
}

impl Body for Avx512Bitalg {
    const WIDE: bool = true;
}

impl Local for Avx512Bitalg {
    const TEST: TestFn = Avx512::TEST;

    #[inline(always)]
    fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        match filter.probes {
            0..=2 => pipeline::collect(Bytes::<1, 1>::new(self, filter), source, answers),
            3..=4 => pipeline::collect(Bytes::<1, 2>::new(self, filter), source, answers),
            5..=6 => pipeline::collect(Bytes::<1, 3>::new(self, filter), source, answers),
            7..=8 => pipeline::collect(Bytes::<1, 4>::new(self, filter), source, answers),
            9..=12 => pipeline::collect(Bytes::<2, 3>::new(self, filter), source, answers),
            13..=16 => pipeline::collect(Bytes::<2, 4>::new(self, filter), source, answers),
            _ => self.0.answer(filter, source, answers),
        }
    }

    #[inline(always)]
    fn fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: FilterMut<'_>,
        source: Source<'_, K, H>,
    ) {
        self.0.fill(filter, source);
    }
}

impl Split for Avx512Bitalg {
    const SPLIT_TEST: split_block::TestFn = Avx512::SPLIT_TEST;
    const SPLIT_SET: split_block::SetFn = Avx512::SPLIT_SET;

    #[inline(always)]
    fn split_answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_, SplitBlock>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        self.0.split_answer(filter, source, answers);
    }
}
