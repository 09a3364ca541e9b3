#![allow(unsafe_code)]
//! FastLocalBloom and Parquet's split block with the kernels of x86-64.

mod avx2;
mod avx512;
mod bitalg;
mod masks;
mod split;

use super::Block;
use super::blocks::{Filter, FilterMut};
use super::local::{EachTest, Local, TestFn, each_set};
use super::split::{self as split_block, Split, SplitBlock};
use bitalg::Bytes;
use fullbloom_core::kernel::pipeline::{self, Answers, Source};
use fullbloom_core::kernel::x86_64::{Avx2, Avx512};
use fullbloom_core::keys::{KeyHasher, Keys};
use masks::Masks;

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
            // SAFETY: An `Avx2` exists only if `detect` saw AVX2 on this CPU.
            let test = |block: &Block, hash| unsafe { avx2::test_8(block, hash, lanes) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else if filter.probes <= 16 {
            // SAFETY: An `Avx2` exists only if `detect` saw AVX2 on this CPU.
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

impl Local for Avx512 {
    const TEST: TestFn = avx512::test;

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
            _ => {
                let test = |block: &Block, hash| self.test(block, hash, filter.probes);
                pipeline::collect(EachTest { filter, test }, source, answers);
            }
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
