#![allow(unsafe_code)]
//! FastLocalBloom over many blocks, on any kernel: one key, batches of keys, filling.
//!
//! ```text
//!   64-bit hash = upper | lower        block = lower * blocks >> 32        probes inside it from upper
//! ```

use super::blocks::{Filter, FilterMut, Offsets, Places};
use super::pipeline::{self, CHUNK, Hasher, Pipe, Sink};
use super::{Block, Body, Cpu, Task, scalar};
use std::mem;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a kernel must be able to do. The results are those of [`scalar::local_test`] and
/// [`scalar::local_set`], always.
pub(crate) trait Local: Copy {
    /// [`scalar::local_test`].
    const TEST: TestFn;

    /// [`scalar::local_test`].
    #[inline(always)]
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool {
        // SAFETY: the kernel's value proves that this CPU has what the kernel needs.
        unsafe { (Self::TEST)(block, hash, probes) }
    }

    /// Passes keys through the kernel's best pipe for testing.
    #[inline(always)]
    fn answer<K>(self, filter: Filter<'_>, keys: &[K], hasher: impl Hasher<K>, sink: impl Sink) {
        let test = |block: &Block, upper| self.test(block, upper, filter.probes);
        sink.collect(EachTest { filter, test }, keys, hasher);
    }

    /// Passes keys through the kernel's best pipe for setting.
    #[inline(always)]
    fn fill<K>(self, filter: FilterMut<'_>, keys: &[K], hasher: impl Hasher<K>) {
        pipeline::run(each_set(filter), keys, hasher, |_, _, _| {});
    }
}

/// A kernel's [`scalar::local_test`]. To be called only on a CPU that can run the kernel.
pub(crate) type TestFn = unsafe fn(&Block, u32, u32) -> bool;

/// What most pipes keep of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) offsets: Offsets,
    pub(crate) hashes: [u64; CHUNK],
}

impl Found {
    pub(crate) const EMPTY: Found = Found { offsets: Offsets::EMPTY, hashes: [0; CHUNK] };

    #[inline(always)]
    pub(crate) fn find<B: Copy>(&mut self, places: Places<B>, hashes: &[u64; CHUNK]) {
        self.offsets.find(places, hashes);
        self.hashes = *hashes;
    }
}

/// Tests key by key.
pub(crate) struct EachTest<'a, T, B = Block> {
    pub(crate) filter: Filter<'a, B>,
    /// The test of one block with the upper half of a hash.
    pub(crate) test: T,
}

impl<B: Copy, T: Fn(&B, u32) -> bool> Pipe for EachTest<'_, T, B> {
    type Slot = Found;

    #[inline(always)]
    fn empty(&self) -> Found {
        Found::EMPTY
    }

    #[inline(always)]
    fn prepare(&self, hashes: &[u64; CHUNK], found: &mut Found) {
        found.find(self.filter.places, hashes);
    }

    #[inline(always)]
    fn prefetch(&self, found: &Found) {
        self.filter.places.prefetch(&found.offsets);
    }

    #[inline(always)]
    fn finish(&mut self, found: &Found, _: usize) -> u16 {
        let mut answers = 0;
        for (i, hash) in found.hashes.iter().enumerate() {
            // SAFETY: `prepare` found the offsets with the filter's own places.
            let block = unsafe { self.filter.block(&found.offsets, i) };
            answers |= u16::from((self.test)(block, (hash >> 32) as u32)) << i;
        }
        answers
    }
}

/// Sets key by key.
pub(crate) struct EachSet<'a, S, B = Block> {
    pub(crate) filter: FilterMut<'a, B>,
    /// Sets the bits of one block with the upper half of a hash.
    pub(crate) set: S,
}

impl<B: Copy, S: Fn(&mut B, u32)> Pipe for EachSet<'_, S, B> {
    type Slot = Found;

    #[inline(always)]
    fn empty(&self) -> Found {
        Found::EMPTY
    }

    #[inline(always)]
    fn prepare(&self, hashes: &[u64; CHUNK], found: &mut Found) {
        found.find(self.filter.places, hashes);
    }

    #[inline(always)]
    fn prefetch(&self, found: &Found) {
        self.filter.places.prefetch(&found.offsets);
    }

    #[inline(always)]
    fn finish(&mut self, found: &Found, count: usize) -> u16 {
        for (i, hash) in found.hashes.iter().enumerate().take(count) {
            let block = &mut self.filter.blocks[found.offsets.index::<B>(i)];
            (self.set)(block, (hash >> 32) as u32);
        }
        0
    }
}

/// The definition, key by key.
#[inline(always)]
pub(crate) fn each_set(filter: FilterMut<'_>) -> EachSet<'_, impl Fn(&mut Block, u32)> {
    let probes = filter.probes;
    let set = move |block: &mut Block, upper| {
        scalar::local_set(block, upper, probes);
    };
    EachSet { filter, set }
}

/// The test of the kernel in use, once it is chosen. One load and one call: what single questions cost is mostly
/// what stands around the test.
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
    TEST.store(cpu.test_fn() as *mut (), Ordering::Relaxed);
    cpu.local_test(block, hash, probes)
}

impl Cpu {
    fn test_fn(self) -> TestFn {
        struct Find;
        impl Task for Find {
            type Output = TestFn;

            #[inline(always)]
            fn run<B: Body>(self, _: B) -> TestFn {
                B::TEST
            }
        }
        self.run(Find)
    }

    /// [`scalar::local_test`] on this kernel.
    pub(crate) fn local_test(self, block: &Block, hash: u32, probes: u32) -> bool {
        // SAFETY: a `Cpu` holds the proof that this CPU can run its kernel.
        unsafe { self.test_fn()(block, hash, probes) }
    }
}

/// Tests many keys on this kernel.
#[inline(always)]
pub(crate) fn answer<K>(cpu: Cpu, filter: Filter<'_>, keys: &[K], hasher: impl Hasher<K>, sink: impl Sink) {
    struct Answer<'a, K, H, S>(Filter<'a>, &'a [K], H, S);
    impl<K, H: Hasher<K>, S: Sink> Task for Answer<'_, K, H, S> {
        type Output = ();

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) {
            kernel.answer(self.0, self.1, self.2, self.3);
        }
    }
    cpu.run(Answer(filter, keys, hasher, sink));
}

/// Sets the bits of many keys on this kernel.
#[inline(always)]
pub(crate) fn fill<K>(cpu: Cpu, filter: FilterMut<'_>, keys: &[K], hasher: impl Hasher<K>) {
    struct Fill<'a, K, H>(FilterMut<'a>, &'a [K], H);
    impl<K, H: Hasher<K>> Task for Fill<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run<B: Body>(self, kernel: B) {
            kernel.fill(self.0, self.1, self.2);
        }
    }
    cpu.run(Fill(filter, keys, hasher));
}
