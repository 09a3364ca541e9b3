#![allow(unsafe_code)]
//! The AArch64 kernel.

mod lines;
mod neon;
mod slots;
mod split;
mod systems;

use super::blocks::Filter;
use super::local::{EachTest, Local, TestFn};
use super::pipeline::{self, Answers, Source};
use super::split::{self as split_block, Split};
use super::{Block, Body, cpu_has};
use crate::keys::{KeyHasher, Keys};

/// Proof of NEON, which is in the baseline of all common AArch64 targets, and of little-endian words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Neon> {
        let little_endian = cfg!(target_endian = "little");
        (little_endian && cpu_has!(is_aarch64_feature_detected, "neon")).then_some(Neon(()))
    }
}

impl Body for Neon {}

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
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { neon::test_16(block, hash, idle) };
            pipeline::collect(EachTest { filter, test }, source, answers);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            pipeline::collect(EachTest { filter, test }, source, answers);
        }
    }
}
