//! Every kernel against the definition.

use super::blocks::{Filter, FilterMut};
use super::scalar::{local_set, local_test};
use super::{Block, Ready, local};
use fullbloom_core::kernel::pipeline::Source;
use fullbloom_core::kernel::{Cpu, Kernel, KernelError};
use fullbloom_core::keys::Hashes;
use fullbloom_testkit::keys::SplitMix;

fn cpus() -> impl Iterator<Item = (Kernel, Cpu)> {
    Kernel::available().map(|kernel| (kernel, Cpu::detect(kernel).unwrap()))
}

/// Blocks of every fill: half the bits set, three quarters, … nearly all, all but one, and none.
fn blocks(random: &mut SplitMix, count: usize) -> Vec<Block> {
    let block = |i| {
        let mut block = [0; 64];
        match i % 10 {
            9 => {
                block.fill(0xff);
                let bit = random.below(512) as usize;
                block[bit / 8] &= !(1 << (bit % 8));
            }
            layers => {
                for _ in 0..layers {
                    for word in block.as_chunks_mut::<8>().0 {
                        *word = (u64::from_le_bytes(*word) | random.next_u64()).to_le_bytes();
                    }
                }
            }
        }
        block
    };
    (0..count).map(block).collect()
}

fn hashes(random: &mut SplitMix, count: usize) -> Vec<u64> {
    (0..count).map(|_| random.next_u64()).collect()
}

fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash & 0xffff_ffff) * blocks as u64) >> 32) as usize
}

/// The answers of the definition, key by key.
fn defined(blocks: &[Block], probes: u32, hashes: &[u64]) -> Vec<bool> {
    hashes.iter().map(|&h| local_test(&blocks[block_of(h, blocks.len())], upper(h), probes)).collect()
}

fn bools(cpu: Cpu, blocks: &[Block], probes: u32, hashes: &[u64]) -> Vec<bool> {
    let mut answers = vec![false; hashes.len()];
    let keys = Hashes::new(hashes, &Ready);
    let source = Source::new(&keys, &Ready);
    local::answer(cpu, Filter::new(blocks, probes).unwrap(), source, (&mut answers[..]).into());
    answers
}

fn bits(cpu: Cpu, blocks: &[Block], probes: u32, hashes: &[u64]) -> Vec<u64> {
    let mut answers = vec![!0; hashes.len().div_ceil(64)]; // so that bits after the last key must be cleared
    let keys = Hashes::new(hashes, &Ready);
    let source = Source::new(&keys, &Ready);
    local::answer(cpu, Filter::new(blocks, probes).unwrap(), source, (&mut answers[..]).into());
    answers
}

fn bitmap_of(bools: &[bool]) -> Vec<u64> {
    let word = |chunk: &[bool]| chunk.iter().enumerate().map(|(i, &yes)| u64::from(yes) << i).sum();
    bools.chunks(64).map(word).collect()
}

/// All kernels on this many pairs of block and hash, spread over 1 to 30 probes.
fn compare(pairs: usize) {
    let mut random = SplitMix::new(1);
    let of_each = pairs.div_ceil(30);
    let (mut yes, mut total) = (0, 0);
    for probes in 1..=30 {
        for _ in 0..of_each.div_ceil(1 << 20) {
            let blocks = blocks(&mut random, 1000);
            let hashes = hashes(&mut random, of_each.min(1 << 20));
            let expected = defined(&blocks, probes, &hashes);
            yes += expected.iter().filter(|&&yes| yes).count();
            total += expected.len();
            for (kernel, cpu) in cpus() {
                assert_eq!(bools(cpu, &blocks, probes, &hashes), expected, "{kernel}, {probes} probes");
                for (&hash, &expected) in hashes.iter().zip(&expected) {
                    let block = &blocks[block_of(hash, blocks.len())];
                    let answer = local::test_on(cpu, block, upper(hash), probes);
                    assert_eq!(answer, expected, "{kernel}, {probes} probes, {hash:#x}, {block:?}");
                }
            }
        }
    }
    assert!(total >= pairs && yes > total / 5 && yes < total * 4 / 5, "{yes} of {total} say yes");
}

#[test]
fn every_kernel_answers_ten_million_random_pairs_as_scalar_does() {
    compare(10_000_000);
}

#[test]
#[ignore = "10^8 pairs for each kernel, about 30 s: cargo test --release -p fullbloom-dialects --lib kernel -- --ignored"]
fn every_kernel_answers_a_hundred_million_random_pairs_as_scalar_does() {
    compare(100_000_000);
}

/// Probe counts that no decoder accepts: zero, and more than the format allows.
#[test]
fn every_kernel_agrees_at_probe_counts_outside_the_format() {
    let mut random = SplitMix::new(2);
    let blocks = blocks(&mut random, 500);
    let hashes = hashes(&mut random, 2000);
    for probes in [0].into_iter().chain(31..=70).chain([127, 128, 240, 255, 256, 1000]) {
        let expected = defined(&blocks, probes, &hashes);
        for (kernel, cpu) in cpus() {
            assert_eq!(bools(cpu, &blocks, probes, &hashes), expected, "{kernel}, {probes} probes");
            let single =
                |&hash: &u64| local::test_on(cpu, &blocks[block_of(hash, blocks.len())], upper(hash), probes);
            assert!(hashes.iter().map(single).eq(expected.iter().copied()), "{kernel}, {probes} probes");
        }
    }
}

/// A block with one clear bit rejects a key exactly if a probe hits that bit. A block with only the key's own
/// bits set accepts it, until any of them is cleared.
#[test]
fn every_bit_position_counts_on_every_kernel_with_every_number_of_probes() {
    let mut random = SplitMix::new(3);
    for probes in 1..=30 {
        let hash = random.next_u64() as u32;
        let mut own = [0; 64];
        local_set(&mut own, hash, probes);
        for bit in 0..512 {
            let mask = 1u8 << (bit % 8);
            let mut all_but_one = [0xff; 64];
            all_but_one[bit / 8] &= !mask;
            let mut own_but_one = own;
            own_but_one[bit / 8] &= !mask;
            let hit = own[bit / 8] & mask != 0;
            for (kernel, cpu) in cpus() {
                let what = format!("{kernel}, {probes} probes, bit {bit}, {hash:#x}");
                for block in [all_but_one, own_but_one] {
                    assert_eq!(local::test_on(cpu, &block, hash, probes), !hit, "{what}");
                    let key = [u64::from(hash) << 32];
                    assert_eq!(bools(cpu, &[block], probes, &key), [!hit], "{what}, batch");
                }
            }
        }
        for (kernel, cpu) in cpus() {
            assert!(local::test_on(cpu, &own, hash, probes), "{kernel}, {probes} probes, {hash:#x}");
        }
    }
}

/// Fewer and more blocks than are prefetched, aligned to cache lines and not.
#[test]
fn batches_of_every_length_answer_as_single_keys_do_in_bools_and_in_bits() {
    let mut random = SplitMix::new(4);
    for (count, shift) in [(1, 0), (300, 0), (300, 13), (5000, 0), (5000, 1), (5000, 63)] {
        let mut bytes = vec![0; shift];
        bytes.extend(blocks(&mut random, count).as_flattened());
        let (blocks, _) = bytes[shift..].as_chunks::<64>();
        for len in (0..=200).chain([1000, 1023, 1024, 1025]) {
            let probes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 30][len % 14];
            let hashes = hashes(&mut random, len);
            let expected = defined(blocks, probes, &hashes);
            for (kernel, cpu) in cpus() {
                let what = format!("{kernel}, {count} blocks + {shift}, {len} keys, {probes} probes");
                assert_eq!(bools(cpu, blocks, probes, &hashes), expected, "{what}");
                assert_eq!(bits(cpu, blocks, probes, &hashes), bitmap_of(&expected), "{what}");
            }
        }
    }
}

#[test]
fn filling_sets_the_bits_that_scalar_sets_and_no_others() {
    let mut random = SplitMix::new(5);
    for probes in (0..=40).chain([255]) {
        for (count, len) in [(1, 1), (1, 100), (3, 7), (40, 15), (40, 16), (40, 17), (40, 33), (5000, 3000)] {
            let before = blocks(&mut random, count);
            let hashes = hashes(&mut random, len);
            let mut expected = before.clone();
            for &hash in &hashes {
                local_set(&mut expected[block_of(hash, count)], upper(hash), probes);
            }
            for (kernel, cpu) in cpus() {
                let mut filled = before.clone();
                let keys = Hashes::new(&hashes, &Ready);
                let source = Source::new(&keys, &Ready);
                local::fill(cpu, FilterMut::new(&mut filled, probes).unwrap(), source);
                assert!(filled == expected, "{kernel}, {probes} probes, {count} blocks, {len} keys");
            }
        }
    }
}

#[test]
fn a_set_says_whether_a_bit_changed() {
    let mut random = SplitMix::new(6);
    for probes in 1..=30 {
        let mut block = [0; 64];
        for _ in 0..100 {
            let hash = random.next_u64() as u32;
            let known = local_test(&block, hash, probes);
            assert_eq!(local_set(&mut block, hash, probes), !known);
            assert!(!local_set(&mut block, hash, probes));
        }
    }
    assert!(!local_set(&mut [0; 64], 7, 0));
}

#[test]
fn zero_blocks_are_refused() {
    assert!(Filter::<Block>::new(&[], 6).is_none());
    assert!(FilterMut::<Block>::new(&mut [], 6).is_none());
}

/// A wrong or unavailable name in the variable must not go unnoticed: this test then fails.
#[test]
fn the_kernel_in_use_is_the_forced_one_or_else_the_fastest() {
    let forced = Kernel::forced().unwrap();
    assert_eq!(Some(Kernel::in_use()), forced.or(Kernel::available().last()));
}

#[test]
fn kernels_are_found_by_their_names() {
    for kernel in Kernel::ALL {
        match Kernel::by_name(kernel.name()) {
            Ok(found) => assert!(found == kernel && Kernel::available().any(|k| k == kernel)),
            Err(error) => {
                assert_eq!(error, KernelError::Unavailable { kernel });
                assert!(Kernel::available().all(|k| k != kernel));
                assert!(error.to_string().starts_with(&format!("this CPU cannot run the kernel {kernel}")));
            }
        }
    }
    for name in ["", "AVX2", "avx2 ", "sse2"] {
        let error = Kernel::by_name(name).unwrap_err();
        assert_eq!(error, KernelError::Unknown { name: name.to_owned() });
        assert!(error.to_string().contains("scalar"), "{error}");
    }
}
