//! Every kernel against the definition.

use super::*;
use crate::kernel::Kernel;
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
            assert_eq!(cpu.test(&line, mark, Probes::new(probes)), expected, "{name} {probes} {mark:x?}");
            let mut naive = line;
            bits.iter().for_each(|bit| naive[bit / 8] |= 1 << (bit % 8));
            assert_eq!(cpu.set(&mut line, mark, Probes::new(probes)), !expected, "{name} {probes} {mark:x?}");
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
                    assert_eq!(cpu.test(&line, mark, Probes::new(probes)), expected, "{name} {bit} {first}");
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
fn groups_are_their_keys_one_by_one_on_every_kernel() {
    compare_groups(600, &[1, 2, 63, 64, 65, 1000, 10_000]);
}

#[test]
#[ignore = "10^8 keys for each kernel, about two minutes: cargo test --release -p fullbloom-core --lib kernel -- --ignored"]
fn every_kernel_answers_and_sets_a_hundred_million_keys_as_scalar_does() {
    compare_groups(100_000_000 / GROUP, &[1, 2, 29, 63, 64, 65]);
}

/// Locates the keys of a group, and compares with the definition.
fn locate(name: &str, cpu: Cpu, blocks: u64, group: &mut Group) {
    cpu.locate(blocks, group);
    for (i, &hash) in group.hashes.iter().enumerate() {
        assert_eq!(group.offsets[i], lines::block_of(hash, blocks) * 64, "{name} {blocks}");
        let Mark { fields, first } = Mark::of(hash);
        assert_eq!((group.fields[i], u32::from(group.first[i])), (fields, first & 7), "{name} {hash:x}");
    }
}

/// All kernels on this many groups, over arrays with these numbers of lines.
fn compare_groups(groups: usize, sizes: &[usize]) {
    let mut random = SplitMix::new(2);
    for (name, cpu) in kernels() {
        for round in 0..groups {
            let probes = Probes::new(round as u32 % 8 + 1);
            let size = sizes[round % sizes.len()];
            let blocks = size as u64;
            let mut lines: Vec<Line> = (0..size).map(|_| random_line(&mut random)).collect();
            let mut groups = [Group::EMPTY, Group::EMPTY];
            for group in &mut groups {
                group.hashes = std::array::from_fn(|_| random.next_u64());
                locate(name, cpu, blocks, group);
                group.len = GROUP;
            }
            if round % 2 == 0 {
                groups[0] = groups[0].shortened(round % 64 + 1);
            }
            let [now, next] = &groups;
            let answers = cpu.test_group(&lines, now, next, probes);
            let mut naive = lines.clone();
            let mut changed = 0;
            for i in 0..now.len() {
                let line = now.line(i);
                let alone = Scalar.test(&lines[line], now.mark(i), probes);
                assert_eq!(answers >> i & 1 == 1, alone, "{name} key {i}");
                changed |= u64::from(Scalar.set(&mut naive[line], now.mark(i), probes)) << i;
            }
            assert_eq!(cpu.set_group(&mut lines, now, next, probes), changed, "{name}");
            assert_eq!(lines, naive, "{name}");
        }
    }
}

#[test]
fn bits_become_the_same_bools_on_every_kernel() {
    let mut random = SplitMix::new(6);
    for (name, cpu) in kernels() {
        for bits in [0, 1, 1 << 63, u64::MAX].into_iter().chain((0..1000).map(|_| random.next_u64())) {
            let mut bools = [true; GROUP];
            cpu.spread(bits, &mut bools);
            let expected: [bool; GROUP] = std::array::from_fn(|i| bits >> i & 1 == 1);
            assert_eq!(bools, expected, "{name} {bits:x}");
        }
    }
}

#[test]
fn words_are_hashed_alike() {
    let mut random = SplitMix::new(5);
    let edges = [0, 1, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63];
    for (name, cpu) in kernels() {
        for len in 0..40 {
            let mut number =
                |i: usize| edges.get((i * 7 + len) % 11).copied().unwrap_or_else(|| random.next_u64());
            let (x, y, keys) = (number(1), number(2), (0..len).map(&mut number).collect::<Vec<u64>>());
            let expected: Vec<u64> = keys.iter().map(|key| finish(fold(key ^ x, y))).collect();
            for count in 0..len + 5 {
                let mut hashes = vec![7; count];
                cpu.hash_words(&keys, x, y, &mut hashes);
                let done = count.min(len);
                assert_eq!(hashes[..done], expected[..done], "{name} {len} {count}");
                assert!(hashes[done..].iter().all(|hash| *hash == 7), "{name} {len} {count}");
            }
        }
    }
}

#[test]
fn a_part_of_an_array_is_filled_as_the_whole() {
    let mut random = SplitMix::new(4);
    for (name, cpu) in kernels() {
        let (blocks, probes) = (1000, Probes::new(6));
        let hashes: Vec<u64> = (0..5000).map(|_| random.next_u64()).collect();
        let (mut whole, mut parts) = (vec![[0; 64]; 1000], vec![[0; 64]; 1000]);
        let (mut changed, mut sum) = (0, 0);
        for &hash in &hashes {
            let line = lines::block_of(hash, blocks) as usize;
            changed += u64::from(Scalar.set(&mut whole[line], Mark::of(hash), probes));
        }
        for (i, part) in parts.chunks_mut(300).enumerate() {
            let first = i as u64 * 300;
            let inside = |hash: &u64| (first..first + 300).contains(&lines::block_of(*hash, blocks));
            let own: Vec<u64> = hashes.iter().copied().filter(inside).collect();
            sum += cpu.set_part(part, first, blocks, &own, probes);
        }
        assert_eq!((parts, sum), (whole, changed), "{name}");
    }
}

#[test]
fn more_blocks_than_32_bits_are_located_alike() {
    let mut random = SplitMix::new(3);
    for (name, cpu) in kernels() {
        for blocks in [u64::from(u32::MAX), 1 << 32, (1 << 40) + 7, 1 << 57] {
            let mut group = Group { hashes: std::array::from_fn(|_| random.next_u64()), ..Group::EMPTY };
            locate(name, cpu, blocks, &mut group);
        }
    }
}

#[test]
fn a_line_outside_the_array_is_refused_by_every_kernel() {
    for (name, cpu) in kernels() {
        let mut group = Group::EMPTY;
        (0..GROUP as u64).for_each(|i| group.push(i / 63 * 2, Mark::of(0)));
        let tested =
            std::panic::catch_unwind(|| cpu.test_group(&[[0; 64]; 2], &group, &Group::EMPTY, Probes::new(3)));
        assert!(tested.is_err(), "{name}");
        let set = std::panic::catch_unwind(|| {
            cpu.set_group(&mut [[0; 64]; 2], &group, &Group::EMPTY, Probes::new(3))
        });
        assert!(set.is_err(), "{name}");
    }
}
