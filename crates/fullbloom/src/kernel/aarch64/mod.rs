#![allow(unsafe_code)]
//! The kernel of AArch64.

mod neon;

use super::blocks::Filter;
use super::local::{EachTest, Local, TestFn};
use super::pipeline::{Hasher, Sink};
use super::{Block, Body};

/// Proof of NEON, which all common AArch64 targets have in their baseline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Neon> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

impl Body for Neon {}

impl Local for Neon {
    const TEST: TestFn = neon::test;

    #[inline(always)]
    fn answer<K>(self, filter: Filter<'_>, keys: &[K], hasher: impl Hasher<K>, sink: impl Sink) {
        if filter.probes <= 16 {
            // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
            let idle = unsafe { neon::idle(filter.probes) };
            // SAFETY: see above.
            let test = |block: &Block, hash| unsafe { neon::test_16(block, hash, idle) };
            sink.collect(EachTest { filter, test }, keys, hasher);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            sink.collect(EachTest { filter, test }, keys, hasher);
        }
    }
}
