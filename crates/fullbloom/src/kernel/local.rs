#![allow(unsafe_code)]
//! FastLocalBloom over many blocks, on any kernel: one key, batches of keys, filling.
//!
//! ```text
//!   64-bit hash = upper | lower        block = lower * blocks >> 32        probes inside it from upper
//! ```

use super::pipeline::{self, CHUNK, Pipe};
use super::{Block, Body, Cpu, Task, scalar};
use crate::bits::prefetch;

/// What a kernel must be able to do. The results are those of [`scalar::local_test`] and
/// [`scalar::local_set`], always.
pub(crate) trait Local: Copy {
    /// [`scalar::local_test`].
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool;

    /// Passes keys through the kernel's best pipe for testing.
    #[inline(always)]
    fn answer<K, H: Fn(&K) -> u64, A: Answers>(self, filter: Filter<'_>, keys: &[K], hash: H, answers: A) {
        let test = |block: &Block, upper| self.test(block, upper, filter.probes);
        answers.collect(EachTest { filter, test }, keys, hash);
    }

    /// Passes keys through the kernel's best pipe for setting.
    #[inline(always)]
    fn fill<K, H: Fn(&K) -> u64>(self, filter: FilterMut<'_>, keys: &[K], hash: H) {
        pipeline::run(EachSet { filter }, keys, hash, |_, _, _| {});
    }
}

/// Where the blocks of a filter are; for finding and prefetching them, not for reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    base: *const u8,
    count: u32,
    /// Worth a prefetch.
    far: bool,
    /// Blocks lie across two cache lines.
    straddling: bool,
}

/// Up to this many blocks (256 KiB) no memory is asked for ahead: the second-level cache answers about as soon
/// as a request would, and batches were 9 % faster without.
const NEAR: usize = 1 << 12;

impl Places {
    /// `None` for no blocks, and for 2^32 and more; the format ends at 2^26.
    #[inline(always)]
    fn of(blocks: &[Block]) -> Option<Places> {
        let base = blocks.as_ptr().cast::<u8>();
        let straddling = !base.addr().is_multiple_of(size_of::<Block>());
        let count = u32::try_from(blocks.len()).ok().filter(|&count| count > 0)?;
        Some(Places { base, count, far: blocks.len() > NEAR, straddling })
    }

    /// Where the block of this hash begins, in bytes; always inside the array.
    #[inline(always)]
    fn offset(self, hash: u64) -> u64 {
        let number = (u64::from(hash as u32) * u64::from(self.count)) >> 32;
        number * size_of::<Block>() as u64
    }

    /// Asks for the blocks of a chunk, if that helps.
    #[inline(always)]
    pub(crate) fn prefetch(self, offsets: &Offsets) {
        if !self.far {
            return;
        }
        for offset in offsets.0 {
            prefetch::address(self.base.wrapping_add(offset as usize));
        }
        if self.straddling {
            let last = self.base.wrapping_add(size_of::<Block>() - 1);
            // Opaque, or the loop above keeps all addresses for this one, which is hardly ever run.
            for offset in std::hint::black_box(offsets).0 {
                prefetch::address(last.wrapping_add(offset as usize));
            }
        }
    }
}

/// Where the blocks of a chunk of keys begin.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Offsets([u64; CHUNK]);

impl Offsets {
    pub(crate) const EMPTY: Offsets = Offsets([0; CHUNK]);

    #[inline(always)]
    pub(crate) fn find(&mut self, places: Places, hashes: &[u64; CHUNK]) {
        for (offset, hash) in self.0.iter_mut().zip(hashes) {
            *offset = places.offset(*hash);
        }
    }

    /// The number of key `i`'s block.
    #[inline(always)]
    pub(crate) fn index(&self, i: usize) -> usize {
        self.0[i] as usize / size_of::<Block>()
    }
}

/// The blocks of a filter to be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'a> {
    pub(crate) places: Places,
    pub(crate) blocks: &'a [Block],
    pub(crate) probes: u32,
}

impl<'a> Filter<'a> {
    /// The block of key `i` of a chunk.
    ///
    /// # Safety
    /// The offsets were found with this filter's places.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, offsets: &Offsets, i: usize) -> &'a Block {
        // SAFETY: `Places::offset` gives 64 times a number below the number of blocks.
        unsafe { &*self.blocks.as_ptr().byte_add(offsets.0[i] as usize) }
    }
}

/// The blocks of a filter to be filled.
#[derive(Debug)]
pub(crate) struct FilterMut<'a> {
    pub(crate) places: Places,
    pub(crate) blocks: &'a mut [Block],
    pub(crate) probes: u32,
}

/// Where answers go.
pub(crate) trait Answers {
    /// Passes the keys through the pipe and keeps the answers.
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hash: impl Fn(&K) -> u64);
}

impl Answers for &mut [bool] {
    #[inline(always)]
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hash: impl Fn(&K) -> u64) {
        pipeline::run_bools(pipe, keys, hash, self);
    }
}

/// Answers as bits: bit `i % 64` of word `i / 64` for key `i`, zero after the last key.
#[derive(Debug)]
pub(crate) struct Bitmap<'a>(pub(crate) &'a mut [u64]);

impl Answers for Bitmap<'_> {
    #[inline(always)]
    fn collect<P: Pipe, K>(self, pipe: P, keys: &[K], hash: impl Fn(&K) -> u64) {
        pipeline::run_bitmap(pipe, keys, hash, self.0);
    }
}

/// What most pipes keep of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) offsets: Offsets,
    pub(crate) hashes: [u64; CHUNK],
}

impl Found {
    pub(crate) const EMPTY: Found = Found { offsets: Offsets::EMPTY, hashes: [0; CHUNK] };

    #[inline(always)]
    pub(crate) fn find(&mut self, places: Places, hashes: &[u64; CHUNK]) {
        self.offsets.find(places, hashes);
        self.hashes = *hashes;
    }
}

/// Tests key by key.
pub(crate) struct EachTest<'a, T> {
    pub(crate) filter: Filter<'a>,
    /// The test of one block with the upper half of a hash.
    pub(crate) test: T,
}

impl<T: Fn(&Block, u32) -> bool> Pipe for EachTest<'_, T> {
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
pub(crate) struct EachSet<'a> {
    pub(crate) filter: FilterMut<'a>,
}

impl Pipe for EachSet<'_> {
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
            let block = &mut self.filter.blocks[found.offsets.index(i)];
            scalar::local_set(block, (hash >> 32) as u32, self.filter.probes);
        }
        0
    }
}

/// [`scalar::local_test`] on the kernel in use.
#[inline(always)]
pub(crate) fn test(block: &Block, hash: u32, probes: u32) -> bool {
    struct Test<'a>(&'a Block, u32, u32);
    impl Task for Test<'_> {
        type Output = bool;
        #[inline(always)]
        fn run<B: Body>(self, kernel: B) -> bool {
            kernel.test(self.0, self.1, self.2)
        }
    }
    Cpu::in_use().run(Test(block, hash, probes))
}

/// Tests many keys, hashed by `hash`, on this kernel. Without blocks nothing is denied.
#[inline(always)]
pub(crate) fn test_batch<K>(
    cpu: Cpu,
    blocks: &[Block],
    probes: u32,
    keys: &[K],
    hash: impl Fn(&K) -> u64,
    answers: &mut [bool],
) {
    assert_eq!(keys.len(), answers.len(), "one answer for each key");
    match Places::of(blocks) {
        Some(places) => cpu.run(Batch { filter: Filter { places, blocks, probes }, keys, hash, answers }),
        None => answers.fill(true),
    }
}

/// As [`test_batch`], with the answers as [`Bitmap`].
#[inline(always)]
pub(crate) fn test_bitmap<K>(
    cpu: Cpu,
    blocks: &[Block],
    probes: u32,
    keys: &[K],
    hash: impl Fn(&K) -> u64,
    answers: &mut [u64],
) {
    assert_eq!(keys.len().div_ceil(64), answers.len(), "a word for every 64 keys");
    let places = Places::of(blocks).expect("todo");
    cpu.run(Batch { filter: Filter { places, blocks, probes }, keys, hash, answers: Bitmap(answers) });
}

struct Batch<'a, K, H, A> {
    filter: Filter<'a>,
    keys: &'a [K],
    hash: H,
    answers: A,
}

impl<K, H: Fn(&K) -> u64, A: Answers> Task for Batch<'_, K, H, A> {
    type Output = ();

    #[inline(always)]
    fn run<B: Body>(self, kernel: B) {
        kernel.answer(self.filter, self.keys, self.hash, self.answers);
    }
}

/// Sets the bits of many keys, hashed by `hash`, on this kernel. Without blocks nothing happens.
#[inline(always)]
pub(crate) fn set_batch<K>(cpu: Cpu, blocks: &mut [Block], probes: u32, keys: &[K], hash: impl Fn(&K) -> u64) {
    struct Fill<'a, K, H>(FilterMut<'a>, &'a [K], H);
    impl<K, H: Fn(&K) -> u64> Task for Fill<'_, K, H> {
        type Output = ();
        #[inline(always)]
        fn run<B: Body>(self, kernel: B) {
            kernel.fill(self.0, self.1, self.2);
        }
    }
    if let Some(places) = Places::of(blocks) {
        cpu.run(Fill(FilterMut { places, blocks, probes }, keys, hash));
    }
}
