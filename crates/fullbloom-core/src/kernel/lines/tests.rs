//! Every kernel against the definition.

use super::*;
use crate::kernel::pipeline::Bools;
use crate::kernel::{Kernel, Task};
use crate::native::shape::Shape;
use crate::sizing::Layout;
use fullbloom_testkit::keys::SplitMix;

/// The kernels this CPU can run.
fn kernels() -> Vec<(&'static str, Cpu)> {
    Kernel::available().map(|kernel| (kernel.name(), Cpu::detect(kernel).expect("available"))).collect()
}

/// A line in which each bit is set with probability one half, three quarters or seven eighths.
fn random_line(random: &mut SplitMix) -> Line {
    let denser = random.below(3);
    let mut line = [0; 64];
    for _ in 0..=denser {
        for word in line.as_chunks_mut().0 {
            *word = (u64::from_le_bytes(*word) | random.next_u64()).to_le_bytes();
        }
    }
    line
}

/// Bit numbers in the line, from the description of the format.
fn naive_bits(mark: Mark, probes: u32) -> Vec<usize> {
    let lanes = (0..probes as usize).map(|i| (mark.first as usize + i) % 8);
    let bit = |lane: usize| {
        let field = usize::from(mark.fields.to_le_bytes()[lane]);
        (lane + 8 * (field / 128)) * 32 + 31 - field % 32
    };
    lanes.map(bit).collect()
}

/// A random mark, also with meaningless bits in `first`.
fn random_mark(random: &mut SplitMix) -> Mark {
    Mark { fields: random.next_u64(), first: random.below(1 << 31) as u32 }
}

struct Test<'a>(&'a Line, Mark, Probes);

impl<K: Lines> Task<K> for Test<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, kernel: K) -> bool {
        kernel.test(self.0, self.1, self.2)
    }
}

struct Set<'a>(&'a mut Line, Mark, Probes);

impl<K: Lines> Task<K> for Set<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, kernel: K) -> bool {
        kernel.set(self.0, self.1, self.2)
    }
}

fn test(cpu: Cpu, line: &Line, mark: Mark, probes: u32) -> bool {
    cpu.run(Test(line, mark, Probes::new(probes)))
}

fn set(cpu: Cpu, line: &mut Line, mark: Mark, probes: u32) -> bool {
    cpu.run(Set(line, mark, Probes::new(probes)))
}

#[test]
fn every_kernel_tests_and_sets_what_the_definition_says() {
    let mut random = SplitMix::new(1);
    let mut present = 0;
    for (name, cpu) in kernels() {
        for round in 0..40_000u32 {
            let probes = round % 8 + 1;
            let mut line = random_line(&mut random);
            let mark = random_mark(&mut random);
            let bits = naive_bits(mark, probes);
            if round % 3 == 0 {
                bits.iter().for_each(|bit| line[bit / 8] |= 1 << (bit % 8));
            }
            let expected = bits.iter().all(|bit| line[bit / 8] >> (bit % 8) & 1 == 1);
            present += u32::from(expected);
            assert_eq!(test(cpu, &line, mark, probes), expected, "{name} {probes} {mark:x?}");
            let mut naive = line;
            bits.iter().for_each(|bit| naive[bit / 8] |= 1 << (bit % 8));
            assert_eq!(set(cpu, &mut line, mark, probes), !expected, "{name} {probes} {mark:x?}");
            assert_eq!(line, naive, "{name} {probes} {mark:x?}");
        }
    }
    assert!(present > 10_000);
}

#[test]
fn every_bit_of_a_line_is_seen_alone() {
    for (name, cpu) in kernels() {
        for bit in 0..512usize {
            let (word, in_word) = (bit / 32, bit % 32);
            // The unused bits of the fields are all clear or all set.
            for (first, unused) in (0..16).map(|i| (i / 2, i as u64 % 2 * 0x60)) {
                let field = (word as u64 / 8) << 7 | unused | (31 - in_word as u64);
                let mark = Mark { fields: field << (8 * (word % 8)), first };
                let mut line = [0; 64];
                line[bit / 8] = 1 << (bit % 8);
                for probes in 1..=8 {
                    let own = naive_bits(mark, probes);
                    let expected = own == [bit];
                    assert_eq!(test(cpu, &line, mark, probes), expected, "{name} {bit} {first}");
                }
            }
        }
    }
}

#[test]
fn the_inlined_kernels_find_and_set_the_bits_of_a_hash() {
    let mut random = SplitMix::new(7);
    for (name, cpu) in kernels() {
        let Some(inlined) = cpu.inlined() else { continue };
        let (mut present, mut clear) = (0, 0);
        for round in 0..20_000u32 {
            let probes = Probes::new(round % 8 + 1);
            let size = [1, 2, 3, 64, 100][round as usize % 5];
            let mut lines: Vec<Line> = (0..size).map(|_| random_line(&mut random)).collect();
            let hash = if round < 100 { u64::from(round).wrapping_neg() } else { random.next_u64() };
            let (line, mark) = (lines::block_of(hash, size) as usize, Mark::of(hash));
            let mut naive = lines.clone();
            if round % 3 == 0 {
                Scalar.set(&mut lines[line], mark, probes);
                naive.clone_from(&lines);
            }
            let expected = Scalar.test(&naive[line], mark, probes);
            assert_eq!(inlined.test_hash(&lines, hash, probes), expected, "{name} {hash:x} of {size}");
            let changed = Scalar.set(&mut naive[line], mark, probes);
            assert_eq!(inlined.set_hash(&mut lines, hash, probes), changed, "{name} {hash:x} of {size}");
            assert_eq!(lines, naive, "{name} {hash:x} of {size}");
            (present, clear) = (present + u32::from(expected), clear + u32::from(changed));
        }
        assert!(present > 5_000 && clear > 5_000, "{name} {present} {clear}");
        assert!(!inlined.test_hash(&[], 1, Probes::new(6)), "{name}");
        let set = std::panic::catch_unwind(|| inlined.set_hash(&mut [], 1, Probes::new(6)));
        assert!(set.is_err(), "{name}");
    }
}

#[test]
fn chunks_are_their_keys_one_by_one_on_every_kernel() {
    compare_chunks(400, &[1, 2, 63, 64, 65, 1000, 10_000]);
}

#[test]
#[ignore = "10^8 keys for each kernel, about two minutes: cargo test --release -p fullbloom-core --lib kernel -- --ignored"]
fn every_kernel_answers_and_sets_a_hundred_million_keys_as_scalar_does() {
    compare_chunks(100_000_000 / CHUNK, &[1, 2, 29, 63, 64, 65]);
}

/// A shape on a given kernel.
fn shape(cpu: Cpu, layout: (u32, u32, u32), blocks: usize) -> Shape {
    let layout = Layout::new(layout.0, layout.1, layout.2).expect("a layout");
    Shape { cpu, ..Shape::new(layout, blocks as u64) }
}

/// Whether the definition finds all bits of a hash, and sets them.
fn by_definition(shape: &Shape, lines: &mut [Line], hash: u64) -> (bool, bool) {
    let places: Vec<_> = lines::Lines::new(shape.layout, shape.blocks, hash).collect();
    let found = places.iter().all(|(line, mark)| Scalar.test(&lines[*line as usize], *mark, shape.probes));
    let set = |(line, mark): &(u64, Mark)| Scalar.set(&mut lines[*line as usize], *mark, shape.probes);
    let changed = places.iter().map(set).fold(false, |any, changed| any | changed);
    (found, changed)
}

/// All kernels on this many chunks, over arrays with these numbers of blocks: above and below the size from which
/// lines are prefetched, and with several lines for each key.
fn compare_chunks(chunks: usize, sizes: &[usize]) {
    let mut random = SplitMix::new(2);
    for (name, cpu) in kernels() {
        for round in 0..chunks {
            let probes = round as u32 % 8 + 1;
            let (each, block) = [(1, 1), (1, 1), (1, 1), (2, 4), (4, 16)][round % 5];
            let shape =
                shape(cpu, (each, block, probes), sizes[round % sizes.len()].div_ceil(block as usize));
            let mut lines: Vec<Line> = (0..shape.byte_len() / 64).map(|_| random_line(&mut random)).collect();
            let [now, next]: [[u64; CHUNK]; 2] = [(); 2].map(|()| std::array::from_fn(|_| random.next_u64()));
            for hash in &now[..round % 17] {
                by_definition(&shape, &mut lines, *hash);
            }
            let answers = shape.test_chunk(&lines, &now, &next);
            let (mut naive, mut changed) = (lines.clone(), 0);
            for (i, hash) in now.iter().enumerate() {
                let alone = shape.test(&lines, *hash);
                assert_eq!(answers >> i & 1 == 1, alone, "{name} {each} key {i}");
                assert_eq!(
                    by_definition(&shape, &mut lines.clone(), *hash).0,
                    alone,
                    "{name} {each} key {i}"
                );
                changed |= u64::from(by_definition(&shape, &mut naive, *hash).1) << i;
            }
            let len = if round % 2 == 0 { CHUNK } else { round % CHUNK };
            let first = if len == CHUNK { 0 } else { CHUNK - len };
            let new = shape.set_chunk(&mut lines, &now[..first], &next);
            let new =
                new | if len == 0 { 0 } else { shape.set_chunk(&mut lines, &now[first..], &next) << first };
            assert_eq!(new, changed, "{name} {each}");
            assert!(lines == naive, "{name} {each}");
        }
    }
}

#[test]
fn bits_become_the_same_bools_on_every_kernel() {
    let mut random = SplitMix::new(6);
    for (name, cpu) in kernels() {
        for bits in [0, 1, 1 << 63, u64::MAX].into_iter().chain((0..1000).map(|_| random.next_u64())) {
            let expected: [bool; 64] = std::array::from_fn(|i| bits >> i & 1 == 1);
            assert_eq!(cpu.run(Bools(bits)), expected, "{name} {bits:x}");
        }
    }
}

#[test]
fn a_part_of_an_array_is_filled_as_the_whole() {
    let mut random = SplitMix::new(4);
    for (name, cpu) in kernels() {
        let shape = shape(cpu, (1, 1, 6), 1000);
        let hashes: Vec<u64> = (0..5000).map(|_| random.next_u64()).collect();
        let (mut whole, mut parts) = (vec![[0; 64]; 1000], vec![[0; 64]; 1000]);
        hashes.iter().for_each(|hash| _ = by_definition(&shape, &mut whole, *hash));
        for (i, part) in parts.chunks_mut(300).enumerate() {
            let first = i as u64 * 300;
            let inside = |hash: &u64| (first..first + 300).contains(&lines::block_of(*hash, 1000));
            let own: Vec<u64> = hashes.iter().copied().filter(inside).collect();
            shape.set_part(part, first, &own, &[]);
        }
        assert!(parts == whole, "{name}");
    }
}

#[test]
fn a_line_outside_the_array_is_refused_by_every_kernel() {
    for (name, cpu) in kernels() {
        let shape = shape(cpu, (1, 1, 3), 4);
        let hashes: [u64; CHUNK] = std::array::from_fn(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let none = std::panic::catch_unwind(|| shape.test_chunk(&[], &hashes, &hashes));
        assert!(none.is_err(), "{name}");
        for first in [0, 2] {
            let set = std::panic::catch_unwind(|| shape.set_part(&mut [[0; 64]; 2], first, &hashes, &[]));
            assert!(set.is_err(), "{name}");
        }
    }
}
