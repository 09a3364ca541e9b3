#![allow(unsafe_code)]
//! Parquet's split block: 256 bits as eight 32-bit words, one bit of each for every key.
//!
//! ```text
//!   hash = upper | lower      block = upper * blocks >> 32      bit of word i = (lower * SALTS[i]) >> 27
//! ```

use super::blocks::{Filter, FilterMut, Halves};
use super::local::{EachSet, EachTest};
use core::mem;
use core::sync::atomic::{AtomicPtr, Ordering};
use fullbloom_core::kernel::pipeline::{self, Answers, Source};
use fullbloom_core::kernel::scalar::Scalar;
use fullbloom_core::kernel::{Body, Cpu, Task};
use fullbloom_core::keys::{KeyHasher, Keys};

/// 256 bits that hold all probes of one key, one in each little-endian 32-bit word.
pub(crate) type SplitBlock = [u8; 32];

impl Halves for SplitBlock {
    #[inline(always)]
    fn place(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    #[inline(always)]
    fn probes(hash: u64) -> u32 {
        hash as u32
    }
}

/// One multiplier for each word.
pub(crate) const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The eight bits of a key, in the order of the words.
#[inline(always)]
fn masks(lower: u32) -> [u32; 8] {
    SALTS.map(|salt| 1 << (lower.wrapping_mul(salt) >> 27))
}

/// The same as positions in the block.
pub(crate) fn positions(lower: u32) -> impl Iterator<Item = u64> {
    masks(lower).into_iter().zip(0..).map(|(mask, word)| 32 * word + u64::from(mask.trailing_zeros()))
}

/// Whether all eight bits are set: the definition.
#[inline(always)]
pub(crate) fn test(block: &SplitBlock, lower: u32) -> bool {
    let words = block.as_chunks::<4>().0;
    let missing =
        words.iter().zip(masks(lower)).fold(0, |m, (word, bit)| m | (!u32::from_le_bytes(*word) & bit));
    missing == 0
}

/// Sets all eight bits. Returns true if at least one was clear: the definition.
#[inline(always)]
pub(crate) fn set(block: &mut SplitBlock, lower: u32) -> bool {
    let mut missing = 0;
    for (word, bit) in block.as_chunks_mut::<4>().0.iter_mut().zip(masks(lower)) {
        let old = u32::from_le_bytes(*word);
        missing |= !old & bit;
        *word = (old | bit).to_le_bytes();
    }
    missing != 0
}

/// The operations of a kernel. The results always equal those of [`test`] and [`set`].
pub(crate) trait Split: Body {
    /// This kernel's version of [`test`].
    const SPLIT_TEST: TestFn;
    /// This kernel's version of [`set`].
    const SPLIT_SET: SetFn;

    /// Passes keys through the kernel's best pipe for testing.
    #[inline(always)]
    fn split_answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: Filter<'_, SplitBlock>,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
    ) {
        // SAFETY: the kernel's value proves that this CPU has what the kernel needs.
        let test = |block: &SplitBlock, lower| unsafe { Self::SPLIT_TEST(block, lower) };
        pipeline::collect(EachTest { filter, test }, source, answers);
    }

    /// Passes keys through the kernel's best pipe for setting.
    #[inline(always)]
    fn split_fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        filter: FilterMut<'_, SplitBlock>,
        source: Source<'_, K, H>,
    ) {
        // SAFETY: the kernel's value proves that this CPU has what the kernel needs.
        let set = |block: &mut SplitBlock, lower| unsafe { Self::SPLIT_SET(block, lower) };
        pipeline::run(&mut EachSet { filter, set }, source, |_, _, _, _| {});
    }
}

/// A kernel's [`test`]. Call it only on a CPU that can run the kernel.
pub(crate) type TestFn = unsafe fn(&SplitBlock, u32) -> bool;
/// A kernel's [`set`]. Call it only on a CPU that can run the kernel.
pub(crate) type SetFn = unsafe fn(&mut SplitBlock, u32) -> bool;

impl Split for Scalar {
    const SPLIT_TEST: TestFn = test;
    const SPLIT_SET: SetFn = set;
}

/// The functions of the kernel in use, once it is chosen; as [`local::test`](super::local::test).
static TEST: AtomicPtr<()> = AtomicPtr::new(first_test as TestFn as *mut ());
static SET: AtomicPtr<()> = AtomicPtr::new(first_set as SetFn as *mut ());

/// [`test`] on the kernel in use.
#[inline(always)]
pub(crate) fn chosen_test(block: &SplitBlock, lower: u32) -> bool {
    let chosen = TEST.load(Ordering::Relaxed);
    // SAFETY: only pointers to functions of this type are ever stored there.
    let chosen = unsafe { mem::transmute::<*mut (), TestFn>(chosen) };
    // SAFETY: `first_test` runs on any CPU, and what it stores is the test of a kernel that this CPU can run.
    unsafe { chosen(block, lower) }
}

/// [`set`] on the kernel in use.
#[inline(always)]
pub(crate) fn chosen_set(block: &mut SplitBlock, lower: u32) -> bool {
    let chosen = SET.load(Ordering::Relaxed);
    // SAFETY: Only pointers to functions of this type are ever stored in `SET`.
    let chosen = unsafe { mem::transmute::<*mut (), SetFn>(chosen) };
    // SAFETY: `first_set` runs on any CPU, and stores the function of a kernel that this CPU can run.
    unsafe { chosen(block, lower) }
}

#[cold]
fn first_test(block: &SplitBlock, lower: u32) -> bool {
    let (chosen, _) = functions(Cpu::in_use());
    TEST.store(chosen as *mut (), Ordering::Relaxed);
    // SAFETY: a `Cpu` holds the proof that this CPU can run its kernel.
    unsafe { chosen(block, lower) }
}

#[cold]
fn first_set(block: &mut SplitBlock, lower: u32) -> bool {
    let (_, chosen) = functions(Cpu::in_use());
    SET.store(chosen as *mut (), Ordering::Relaxed);
    // SAFETY: A `Cpu` holds the proof that this CPU can run its kernel.
    unsafe { chosen(block, lower) }
}

/// [`test`] and [`set`] on this kernel.
pub(crate) fn functions(cpu: Cpu) -> (TestFn, SetFn) {
    struct Find;
    impl<B: Split> Task<B> for Find {
        type Output = (TestFn, SetFn);

        #[inline(always)]
        fn run(self, _: B) -> Self::Output {
            (B::SPLIT_TEST, B::SPLIT_SET)
        }
    }
    cpu.run(Find)
}

/// Tests many keys on this kernel.
#[inline(always)]
pub(crate) fn answer<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
    cpu: Cpu,
    filter: Filter<'_, SplitBlock>,
    source: Source<'_, K, H>,
    answers: Answers<'_>,
) {
    struct Answer<'a, K: ?Sized, H>(Filter<'a, SplitBlock>, Source<'a, K, H>, Answers<'a>);
    impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, B: Split> Task<B> for Answer<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run(self, kernel: B) {
            kernel.split_answer(self.0, self.1.wide(B::WIDE), self.2);
        }
    }
    cpu.run(Answer(filter, source, answers));
}

/// Sets the bits of many keys on this kernel.
#[inline(always)]
pub(crate) fn fill<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
    cpu: Cpu,
    filter: FilterMut<'_, SplitBlock>,
    source: Source<'_, K, H>,
) {
    struct Fill<'a, K: ?Sized, H>(FilterMut<'a, SplitBlock>, Source<'a, K, H>);
    impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, B: Split> Task<B> for Fill<'_, K, H> {
        type Output = ();

        #[inline(always)]
        fn run(self, kernel: B) {
            kernel.split_fill(self.0, self.1.wide(B::WIDE));
        }
    }
    cpu.run(Fill(filter, source));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Ready;
    use fullbloom_core::kernel::Kernel;
    use fullbloom_core::keys::Hashes;
    use fullbloom_testkit::keys::SplitMix;

    /// Blocks of every fill, including blocks with all bits set but one.
    fn blocks(random: &mut SplitMix, count: usize) -> Vec<SplitBlock> {
        let block = |i: usize| {
            let mut block = [0u8; 32];
            match i % 10 {
                9 => {
                    block.fill(0xff);
                    let bit = random.below(256) as usize;
                    block[bit / 8] &= !(1 << (bit % 8));
                }
                layers => {
                    for _ in 0..layers {
                        for (byte, more) in block.iter_mut().zip(random.bytes(32)) {
                            *byte |= more;
                        }
                    }
                }
            }
            block
        };
        (0..count).map(block).collect()
    }

    fn block_of(hash: u64, blocks: usize) -> usize {
        (((hash >> 32) * blocks as u64) >> 32) as usize
    }

    #[test]
    fn every_kernel_answers_a_million_random_pairs_as_the_definition_does() {
        let mut random = SplitMix::new(11);
        let (mut yes, mut total) = (0, 0);
        for count in [1, 2, 7, 1000, 10_000] {
            let blocks = blocks(&mut random, count);
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 1000, 200_000] {
                let hashes: Vec<u64> = (0..len).map(|_| random.next_u64()).collect();
                let expected: Vec<bool> =
                    hashes.iter().map(|&h| test(&blocks[block_of(h, count)], h as u32)).collect();
                yes += expected.iter().filter(|&&yes| yes).count();
                total += len;
                for kernel in Kernel::available() {
                    let cpu = Cpu::detect(kernel).unwrap();
                    let filter = Filter::new(&blocks, 8).unwrap();
                    let mut bools = vec![false; len];
                    answer(
                        cpu,
                        filter,
                        Source::new(&Hashes::new(&hashes, &Ready), &Ready),
                        (&mut bools[..]).into(),
                    );
                    assert_eq!(bools, expected, "{kernel}, {count} blocks, {len} keys");
                    let mut bits = vec![!0; len.div_ceil(64)];
                    answer(
                        cpu,
                        filter,
                        Source::new(&Hashes::new(&hashes, &Ready), &Ready),
                        (&mut bits[..]).into(),
                    );
                    assert!(
                        expected
                            .iter()
                            .enumerate()
                            .all(|(i, &yes)| (bits[i / 64] >> (i % 64) & 1 == 1) == yes)
                    );
                    assert_eq!(
                        bits.iter().map(|w| w.count_ones()).sum::<u32>(),
                        expected.iter().filter(|y| **y).count() as u32
                    );
                    let (single, _) = functions(cpu);
                    for (&hash, &expected) in hashes.iter().zip(&expected).take(1000) {
                        // SAFETY: the function of a kernel that this CPU can run.
                        let answer = unsafe { single(&blocks[block_of(hash, count)], hash as u32) };
                        assert_eq!(answer, expected, "{kernel}");
                    }
                }
            }
        }
        assert!(total > 1_000_000 && yes > total / 5 && yes < total * 4 / 5, "{yes} of {total} say yes");
    }

    #[test]
    fn every_kernel_fills_as_the_definition_does() {
        let mut random = SplitMix::new(12);
        for (count, len) in [(1, 40), (3, 17), (1000, 15), (10_000, 40_001)] {
            let hashes: Vec<u64> = (0..len).map(|_| random.next_u64()).collect();
            let mut expected = vec![[0u8; 32]; count];
            for &hash in &hashes {
                set(&mut expected[block_of(hash, count)], hash as u32);
            }
            for kernel in Kernel::available() {
                let cpu = Cpu::detect(kernel).unwrap();
                let mut filled = vec![[0u8; 32]; count];
                fill(
                    cpu,
                    FilterMut::new(&mut filled, 8).unwrap(),
                    Source::new(&Hashes::new(&hashes, &Ready), &Ready),
                );
                assert!(filled == expected, "{kernel}, {count} blocks");
                let (_, single) = functions(cpu);
                let (mut one, mut other) = ([0u8; 32], [0u8; 32]);
                for &hash in hashes.iter().take(200) {
                    // SAFETY: the function of a kernel that this CPU can run.
                    let changed = unsafe { single(&mut one, hash as u32) };
                    assert_eq!(changed, set(&mut other, hash as u32), "{kernel}");
                }
                assert_eq!(one, other);
            }
        }
    }
}
