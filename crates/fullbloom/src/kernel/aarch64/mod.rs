#![allow(unsafe_code)]
//! The kernel of AArch64.

mod neon;

use super::Block;
use super::blocks::Filter;
use super::local::{EachTest, Local};
use super::pipeline::{Hasher, Sink};

/// Proof of NEON, which all common AArch64 targets have in their baseline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Neon> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

impl Local for Neon {
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool {
        // SAFETY: a `Neon` exists only if `detect` saw NEON on this CPU.
        unsafe { neon::test(block, hash, probes) }
    }

    #[inline(always)]
    fn answer<K>(self, filter: Filter<'_>, keys: &[K], hasher: impl Hasher<K>, sink: impl Sink) {
        if filter.probes <= 16 {
            // SAFETY: as in `test`.
            let idle = unsafe { neon::idle(filter.probes) };
            // SAFETY: as in `test`.
            let test = |block: &Block, hash| unsafe { neon::test_16(block, hash, idle) };
            sink.collect(EachTest { filter, test }, keys, hasher);
        } else {
            let test = |block: &Block, hash| self.test(block, hash, filter.probes);
            sink.collect(EachTest { filter, test }, keys, hasher);
        }
    }
}
