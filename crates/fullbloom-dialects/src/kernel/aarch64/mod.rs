#![allow(unsafe_code)]
//! FastLocalBloom and Parquet's split block with the AArch64 kernel.

mod neon;
mod split;

use super::Block;
use super::blocks::Filter;
use super::local::{EachTest, Local, TestFn};
use super::split::{self as split_block, Split};
use fullbloom_core::kernel::aarch64::Neon;
use fullbloom_core::kernel::pipeline::{self, Answers, Source};
use fullbloom_core::keys::{KeyHasher, Keys};

impl Split for Neon {
    const SPLIT_TEST: split_block::TestFn = split::test;
    const SPLIT_SET: split_block::SetFn = split::set;
}

impl Local for Neon {
    const TEST: TestFn = neon::test;

    #[inline(always)]
    fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        if filter.probes <= 16 {
            // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
            let idle = unsafe { neon::idle(filter.probes) };
            // SAFETY: A `Neon` exists only if `detect` saw NEON on this CPU.
            let test = |block: &Block, hash| unsafe { neon::test_16(block, hash, idle) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            pipeline::collect(EachTest { filter, test }, source, answers);
        }
    }
}
