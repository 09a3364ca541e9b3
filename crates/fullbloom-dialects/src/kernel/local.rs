#![allow(unsafe_code)]
//! FastLocalBloom over many blocks, on any kernel: single lookups, batches and insertion.
//!
//! ```text
//!   64-bit hash = upper | lower        block = lower * blocks >> 32        probes inside it from upper
//! ```

use super::blocks::{Filter, FilterMut, Halves, Offsets, Places};
use super::{Block, scalar};
use core::mem;
use core::sync::atomic::{AtomicPtr, Ordering};
use fullbloom_core::kernel::pipeline::{self, Answers, CHUNK, Pipe, RING, Source};
use fullbloom_core::kernel::scalar::Scalar;
use fullbloom_core::kernel::{Body, Cpu, Task};
use fullbloom_core::keys::{KeyHasher, Keys};

/// The operations of a kernel. The results always equal those of [`scalar::local_test`] and
/// [`scalar::local_set`].
pub(crate) trait Local: Body {
    /// This kernel's version of [`scalar::local_test`].
    const TEST: TestFn;

    /// Tests one block like [`scalar::local_test`], with this kernel.
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool {
        // SAFETY: the kernel's value proves that this CPU has what the kernel needs.
        unsafe { (Self::TEST)(block, hash, probes) }
    }

    /// Passes keys through the kernel's best pipe for testing.
    #[inline(always)]
    fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        let test = |block: &Block, upper| self.test(block, upper, filter.probes);
        pipeline::collect(EachTest { filter, test }, source, answers);
    }

    /// Passes keys through the kernel's best pipe for setting.
    #[inline(always)]
    fn fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: FilterMut<'_>,
        source: Source<'_, K, H>,
    ) {
        pipeline::run(&mut each_set(filter), source, |_, _, _, _| {});
    }
}

/// A kernel's [`scalar::local_test`]. Call it only on a CPU that can run the kernel.
pub(crate) type TestFn = unsafe fn(&Block, u32, u32) -> bool;

/// The common parts of a pipe whose slots are [`Found`] and whose `filter` finds the blocks.
macro_rules! found_pipe {
    () => {
        type Hash = u64;
        type Slot = Found;
        const PREPARE: usize = 1;
        const PREFETCH: usize = 2;
        const FINISH: usize = 4;

        #[inline(always)]
        fn empty(&self) -> Found {
            Found::EMPTY
        }

        #[inline(always)]
        fn hashes(found: &mut Found) -> &mut [u64; CHUNK] {
            &mut found.hashes
        }

        #[inline(always)]
        fn prepare(&self, found: &mut Found) {
            found.find(self.filter.places);
        }

        #[inline(always)]
        fn prefetch(&mut self, found: &Found, _: &Found) {
            self.filter.places.prefetch(&found.offsets);
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use found_pipe;

/// The state of a chunk in most pipes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) offsets: Offsets,
    pub(crate) hashes: [u64; CHUNK],
}

impl Found {
    pub(crate) const EMPTY: Found = Found { offsets: Offsets::EMPTY, hashes: [0; CHUNK] };

    #[inline(always)]
    pub(crate) fn find<B: Halves>(&mut self, places: Places<B>) {
        self.offsets.find(places, &self.hashes);
    }
}

/// Tests key by key.
pub(crate) struct EachTest<'a, T, B = Block> {
    pub(crate) filter: Filter<'a, B>,
    /// The test of one block with the half of a hash that chooses the bits.
    pub(crate) test: T,
}

impl<B: Halves, T: Fn(&B, u32) -> bool> Pipe<CHUNK, RING> for EachTest<'_, T, B> {
    found_pipe!();

    #[inline(always)]
    fn finish(&mut self, found: &Found, _: &Found, _: usize) -> u64 {
        let mut answers = 0;
        for (i, hash) in found.hashes.iter().enumerate() {
            // SAFETY: `prepare` found the offsets with the filter's own places.
            let block = unsafe { self.filter.block(&found.offsets, i) };
            answers |= u16::from((self.test)(block, B::probes(*hash))) << i;
        }
        answers.into()
    }
}

/// Sets key by key.
pub(crate) struct EachSet<'a, S, B = Block> {
    pub(crate) filter: FilterMut<'a, B>,
    /// Sets the bits of one block with the half of a hash that chooses them; returns true if at least one was
    /// clear.
    pub(crate) set: S,
}

impl<B: Halves, S: Fn(&mut B, u32) -> bool> Pipe<CHUNK, RING> for EachSet<'_, S, B> {
    found_pipe!();

    #[inline(always)]
    fn finish(&mut self, found: &Found, _: &Found, count: usize) -> u64 {
        for (i, hash) in found.hashes.iter().enumerate().take(count) {
            let block = &mut self.filter.blocks[found.offsets.index::<B>(i)];
            (self.set)(block, B::probes(*hash)); // whether it was new is not collected: that cost 6 % in L2
        }
        0
    }
}

/// The definition, key by key.
#[inline(always)]
pub(crate) fn each_set(filter: FilterMut<'_>) -> EachSet<'_, impl Fn(&mut Block, u32) -> bool> {
    let probes = filter.probes;
    EachSet { filter, set: move |block: &mut Block, upper| scalar::local_set(block, upper, probes) }
}

impl Local for Scalar {
    const TEST: TestFn = scalar::local_test;
}

/// The test function of the kernel in use, once it is chosen. One load and one call: most of the cost of a
/// single lookup is outside the test.
static TEST: AtomicPtr<()> = AtomicPtr::new(first_test as TestFn as *mut ());

/// [`scalar::local_test`] on the kernel in use.
#[inline(always)]
pub(crate) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    let chosen = TEST.load(Ordering::Relaxed);
    // SAFETY: only pointers to functions of this type are ever stored there.
    let chosen = unsafe { mem::transmute::<*mut (), TestFn>(chosen) };
    // SAFETY: `first_test` runs on any CPU, and what it stores is the test of a kernel that this CPU can run.
    unsafe { chosen(block, hash, probes) }
}

#[cold]
fn first_test(block: &Block, hash: u32, probes: u32) -> bool {
    let cpu = Cpu::in_use();
    TEST.store(test_fn(cpu) as *mut (), Ordering::Relaxed);
    test_on(cpu, block, hash, probes)
}

fn test_fn(cpu: Cpu) -> TestFn {
    struct Find;
    impl<B: Local> Task<B> for Find {
        type Output = TestFn;

        #[inline(always)]
        fn run(self, _: B) -> TestFn {
            B::TEST
        }
    }
    cpu.run(Find)
}

/// [`scalar::local_test`] on this kernel.
pub(crate) fn test_on(cpu: Cpu, block: &Block, hash: u32, probes: u32) -> bool {
    // SAFETY: a `Cpu` holds the proof that this CPU can run its kernel.
    unsafe { test_fn(cpu)(block, hash, probes) }
}

/// Tests many keys on this kernel.
#[inline(always)]
pub(crate) fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
    cpu: Cpu,
    filter: Filter<'_>,
    source: Source<'_, K, H>,
    answers: Answers<'_>,
) {
    struct Answer<'a, K: ?Sized, H>(Filter<'a>, Source<'a, K, H>, Answers<'a>);
    impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, B: Local> Task<B> for Answer<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run(self, kernel: B) {
            kernel.answer(self.0, self.1.wide(B::WIDE), self.2);
        }
    }
    cpu.run(Answer(filter, source, answers));
}

/// Sets the bits of many keys on this kernel.
#[inline(always)]
pub(crate) fn fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
    cpu: Cpu,
    filter: FilterMut<'_>,
    source: Source<'_, K, H>,
) {
    struct Fill<'a, K: ?Sized, H>(FilterMut<'a>, Source<'a, K, H>);
    impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, B: Local> Task<B> for Fill<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run(self, kernel: B) {
            kernel.fill(self.0, self.1.wide(B::WIDE));
        }
    }
    cpu.run(Fill(filter, source));
}
