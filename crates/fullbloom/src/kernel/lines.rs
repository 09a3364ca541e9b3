#![allow(unsafe_code)]
//! Lines of the native layout: one key's bits in one line, and the lines of 64 keys at once.
//!
//! A batch is a pipeline of two groups of 64 keys. While the lines of the first are tested, those 32 keys further on
//! are asked of memory, the last of them from the second group, whose hashes are ready:
//!
//! ```text
//!   now    |.........test.........|.........test.........|
//!   next                          |..prefetch..|
//!          prefetch ──────────────►
//! ```

use super::Cpu;
use super::pipeline::eight_bools;
use super::scalar::Scalar;
use crate::bits::prefetch;
use crate::hash::fold;
use crate::probe::lines::{self, first_word};

/// 512 bits.
pub(crate) type Line = [u8; lines::LINE];

/// From a line's number to where it begins, in bytes.
pub(crate) const LINE_SHIFT: u32 = lines::LINE.ilog2();

/// Keys in a group.
pub(crate) const GROUP: usize = 64;

/// How many keys ahead of its test a key's line is asked for, when the array is near.
pub(crate) const AHEAD: usize = 32;

/// How an array's lines are asked for ahead, by where they are expected: a parameter of the kernels' loops.
#[cfg(target_arch = "x86_64")]
pub(super) mod distance {
    use super::{AHEAD, Group, Line};

    /// Up to 512 KiB, in the second cache: not at all. The CPU itself looks further ahead than these lines take.
    pub(in crate::kernel) const NEAR: u8 = 0;
    /// In between: [`AHEAD`] keys ahead.
    pub(in crate::kernel) const MIDDLE: u8 = 1;
    /// From 32 MiB, which no cache is expected to hold: a whole group ahead, and only as near as the second cache,
    /// which waits for more lines at once than the first. 15 % faster at 256 MiB, 10 % slower at 8 MiB.
    pub(in crate::kernel) const FAR: u8 = 2;

    /// The distance of this array.
    #[inline(always)]
    pub(in crate::kernel) fn of(lines: &[Line]) -> u8 {
        match size_of_val(lines) {
            0x200_0000.. => FAR,
            0x8_0000.. => MIDDLE,
            _ => NEAR,
        }
    }

    /// Where the lines are that should be asked for while half 0 or 1 of a group is worked on.
    #[inline(always)]
    pub(in crate::kernel) fn ahead<'a, const DISTANCE: u8>(
        now: &'a Group,
        next: &'a Group,
        half: usize,
    ) -> &'a [u64; AHEAD] {
        let (now, next) = (now.offsets.as_chunks().0, next.offsets.as_chunks().0);
        match (DISTANCE, half) {
            (FAR, _) => &next[half],
            (_, 0) => &now[1],
            (_, _) => &next[0],
        }
    }
}

/// How many words of a line a key uses, made ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probes {
    /// Byte `i` has the bits of the words of the run that begins at word `i`.
    pub(super) runs: &'static [u8; 8],
    /// The same with the words in the order in which AVX2 collects their signs: 0, 1, 4, 5, 2, 3, 6, 7.
    pub(super) signs: &'static [u8; 8],
    pub(super) count: u32,
}

/// The runs of 1 to 8 words.
const RUNS: [[u8; 8]; 8] = {
    let mut all = [[0; 8]; 8];
    let mut i = 0;
    while i < 64 {
        let (words, first) = (i / 8 + 1, i % 8);
        all[i / 8][first] = (((1u16 << words) - 1) as u8).rotate_left(first as u32);
        i += 1;
    }
    all
};

static SIGNS: [[u8; 8]; 8] = {
    let mut all = RUNS;
    let mut i = 0;
    while i < 64 {
        let words = &mut all[i / 8][i % 8];
        *words = *words & 0b1100_0011 | (*words & 0b0000_1100) << 2 | (*words & 0b0011_0000) >> 2;
        i += 1;
    }
    all
};

impl Probes {
    /// For 1 to 8 probes.
    pub(crate) fn new(count: u32) -> Probes {
        let i = count as usize - 1;
        Probes { runs: &const { RUNS }[i], signs: &SIGNS[i], count }
    }

    /// The words that these fields use, as bits of a byte.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn words(self, fields: u64) -> u8 {
        self.runs[first_word(fields) as usize & 7]
    }
}

/// The lines and fields of up to 64 keys.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Group {
    /// The fields of each key's bits; the hash itself for a key's first line.
    pub(crate) fields: [u64; GROUP],
    /// Where in the array each key's line begins, in bytes: whole lines, all of them among the first `bound`.
    /// Only this module and the kernels write these.
    pub(super) offsets: [u64; GROUP],
    pub(super) bound: u64,
    len: usize,
}

impl Group {
    /// No keys; all lines are line 0, which every array has.
    pub(crate) const EMPTY: Group = Group { fields: [0; GROUP], offsets: [0; GROUP], bound: 1, len: 0 };

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where each place's line begins, in bytes.
    pub(crate) fn offsets(&self) -> &[u64; GROUP] {
        &self.offsets
    }

    /// Says that the first `len` places are keys.
    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = len.min(GROUP);
    }

    /// Adds a key.
    #[inline(always)]
    pub(crate) fn push(&mut self, line: u64, fields: u64) {
        (self.offsets[self.len], self.fields[self.len]) = (line << LINE_SHIFT, fields);
        self.bound = self.bound.max(line + 1);
        self.len += 1;
    }

    /// Replaces the line of each place by what `line` makes of its fields.
    pub(crate) fn locate_with(&mut self, line: impl Fn(u64) -> u64) {
        for (offset, &fields) in self.offsets.iter_mut().zip(&self.fields) {
            let line = line(fields);
            *offset = line << LINE_SHIFT;
            self.bound = self.bound.max(line + 1);
        }
    }

    /// Panics unless all lines are those of this array.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn check(&self, lines: &[Line]) {
        assert!(self.bound <= lines.len() as u64, "line {} of {}", self.bound - 1, lines.len());
    }

    /// The number of a key's line.
    #[inline(always)]
    pub(super) fn line(&self, key: usize) -> usize {
        (self.offsets[key] >> LINE_SHIFT) as usize
    }
}

/// The operations on lines.
pub(crate) trait Lines: Copy {
    /// Whether all bits of these fields are set.
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool;

    /// Sets all bits of these fields; true if at least one was clear.
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool;

    /// For each key `k`: low half xor high half of the 128-bit product of `k ^ x` and `y`. The slices are equally long;
    /// through [`Cpu`], the longer one is cut.
    fn fold(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]);

    /// The line of every place of a group whose `fields` are hashes, for layouts whose blocks are one line.
    fn locate(self, blocks: u64, group: &mut Group);

    /// Bit `i` says whether all bits of key `i` are set.
    ///
    /// # Panics
    /// If a line of `now` is outside the array.
    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64;

    /// A bool for each bit.
    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        for (eight, byte) in out.as_chunks_mut().0.iter_mut().zip(bits.to_le_bytes()) {
            *eight = eight_bools(byte);
        }
    }

    /// Sets the bits of all keys in order; bit `i` says whether key `i` changed any.
    ///
    /// # Panics
    /// If a line of `now` is outside the array.
    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64;

    /// Sets the bits of all these hashes, for layouts whose blocks are one line, in an array of `blocks` blocks of which
    /// `lines` are those from number `first` on; how many hashes changed a bit.
    ///
    /// # Panics
    /// If a hash belongs to another part of the array.
    #[inline(always)]
    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        let mut changed = 0;
        for &hash in hashes {
            let line = lines::block_of(hash, blocks).wrapping_sub(first) as usize;
            changed += u64::from(self.set(&mut lines[line], hash, probes));
        }
        changed
    }
}

/// The kernels whose `test` and `set` of one line are few enough instructions to be inlined anywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Inlined {
    #[cfg(target_arch = "x86_64")]
    Avx512(super::x86_64::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(super::x86_64::Avx2),
    #[cfg(not(target_arch = "x86_64"))]
    Scalar(Scalar),
}

impl Inlined {
    #[inline(always)]
    pub(crate) fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Inlined::Avx512(kernel) => kernel.test(line, fields, probes),
            #[cfg(target_arch = "x86_64")]
            Inlined::Avx2(kernel) => kernel.test(line, fields, probes),
            #[cfg(not(target_arch = "x86_64"))]
            Inlined::Scalar(kernel) => kernel.test(line, fields, probes),
        }
    }

    #[inline(always)]
    pub(crate) fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Inlined::Avx512(kernel) => kernel.set(line, fields, probes),
            #[cfg(target_arch = "x86_64")]
            Inlined::Avx2(kernel) => kernel.set(line, fields, probes),
            #[cfg(not(target_arch = "x86_64"))]
            Inlined::Scalar(kernel) => kernel.set(line, fields, probes),
        }
    }
}

impl Cpu {
    /// This CPU's kernel, if it is one of those.
    pub(crate) fn inlined(self) -> Option<Inlined> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(kernel) => Some(Inlined::Avx512(kernel)),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => Some(Inlined::Avx512(kernel.avx512())),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(kernel) => Some(Inlined::Avx2(kernel)),
            #[cfg(target_arch = "x86_64")]
            Cpu::Scalar(_) => None,
            #[cfg(not(target_arch = "x86_64"))]
            _ => Some(Inlined::Scalar(Scalar)),
        }
    }
}

/// Runs the same expression on the kernel of this CPU.
macro_rules! on_kernel {
    ($cpu:expr, $kernel:ident => $body:expr) => {
        match $cpu {
            Cpu::Scalar($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512($kernel) => $body,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512Bitalg(kernel) => {
                let $kernel = kernel.avx512();
                $body
            }
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(_) => {
                let $kernel = Scalar;
                $body
            }
        }
    };
}

impl Lines for Cpu {
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        on_kernel!(self, kernel => kernel.test(line, fields, probes))
    }

    #[inline(always)]
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        on_kernel!(self, kernel => kernel.set(line, fields, probes))
    }

    fn fold(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        let count = keys.len().min(hashes.len());
        let (keys, hashes) = (&keys[..count], &mut hashes[..count]);
        on_kernel!(self, kernel => kernel.fold(keys, x, y, hashes));
    }

    fn locate(self, blocks: u64, group: &mut Group) {
        on_kernel!(self, kernel => kernel.locate(blocks, group));
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.test_group(lines, now, next, probes))
    }

    #[inline(always)]
    fn spread(self, bits: u64, out: &mut [bool; GROUP]) {
        on_kernel!(self, kernel => kernel.spread(bits, out));
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.set_group(lines, now, next, probes))
    }

    fn set_part(self, lines: &mut [Line], first: u64, blocks: u64, hashes: &[u64], probes: Probes) -> u64 {
        on_kernel!(self, kernel => kernel.set_part(lines, first, blocks, hashes, probes))
    }
}

/// The line at this offset, wherever that is.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn line_at(lines: &[Line], offset: u64) -> *const Line {
    lines.as_flattened().as_ptr().wrapping_add(offset as usize).cast()
}

/// Asks for the line that is `AHEAD` keys after key `i`.
#[inline(always)]
pub(super) fn prefetch_after(lines: &[Line], now: &Group, next: &Group, i: usize) {
    let offset = if i + AHEAD < GROUP { now.offsets[i + AHEAD] } else { next.offsets[i + AHEAD - GROUP] };
    prefetch::read(lines.as_flattened(), offset as usize);
}

/// Asks for the first lines of a pipeline.
pub(crate) fn prefetch_first(lines: &[Line], group: &Group) {
    for &offset in &group.offsets[..AHEAD] {
        prefetch::read(lines.as_flattened(), offset as usize);
    }
}

/// One word of a line.
#[inline(always)]
fn word(line: &Line, word: u32) -> u64 {
    let (words, _) = line.as_chunks::<8>();
    u64::from_le_bytes(words[word as usize & 7])
}

impl Lines for Scalar {
    #[inline(always)]
    fn test(self, line: &Line, fields: u64, probes: Probes) -> bool {
        let first = first_word(fields);
        // The fields in the order of the run: one variable shift for the key, not one for each probe.
        let mut bits = fields.rotate_right(8 * first);
        let mut all = 1;
        for i in 0..probes.count {
            all &= word(line, first + i) >> (bits & 63);
            bits >>= 8;
        }
        all & 1 != 0
    }

    #[inline(always)]
    fn set(self, line: &mut Line, fields: u64, probes: Probes) -> bool {
        let mut changed = false;
        for bit in lines::bits_in_line(fields, probes.count) {
            let byte = &mut line[bit as usize >> 3];
            let mask = 1 << (bit & 7);
            changed |= *byte & mask == 0;
            *byte |= mask;
        }
        changed
    }

    #[inline(always)]
    fn fold(self, keys: &[u64], x: u64, y: u64, hashes: &mut [u64]) {
        for (hash, &key) in hashes.iter_mut().zip(keys) {
            *hash = fold(key ^ x, y);
        }
    }

    #[inline(always)]
    fn locate(self, blocks: u64, group: &mut Group) {
        for (offset, &hash) in group.offsets.iter_mut().zip(&group.fields) {
            *offset = lines::block_of(hash, blocks) << LINE_SHIFT;
        }
        group.bound = blocks.max(1); // no blocks: `block_of` gives 0
    }

    fn test_group(self, lines: &[Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        let mut answers = 0;
        for i in 0..GROUP {
            prefetch_after(lines, now, next, i);
            answers |= u64::from(self.test(&lines[now.line(i)], now.fields[i], probes)) << i;
        }
        answers
    }

    fn set_group(self, lines: &mut [Line], now: &Group, next: &Group, probes: Probes) -> u64 {
        let mut changed = 0;
        for i in 0..now.len() {
            prefetch_after(lines, now, next, i);
            changed |= u64::from(self.set(&mut lines[now.line(i)], now.fields[i], probes)) << i;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use fullbloom_testkit::keys::SplitMix;

    /// The kernels this CPU can run.
    fn kernels() -> Vec<(&'static str, Cpu)> {
        Kernel::available().map(|kernel| (kernel.name(), Cpu::detect(kernel).expect("available"))).collect()
    }

    /// A line in which each bit is set with chance one half, three quarters or seven eighths.
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

    fn naive_bits(fields: u64, probes: u32) -> Vec<usize> {
        let first = (fields >> 55 & 1 | (fields >> 62) << 1) as usize;
        let words = (0..probes as usize).map(|i| (first + i) % 8);
        words.map(|word| word * 64 + (fields.to_le_bytes()[word] & 63) as usize).collect()
    }

    #[test]
    fn every_kernel_tests_and_sets_what_the_definition_says() {
        let mut random = SplitMix::new(1);
        let mut present = 0;
        for (name, cpu) in kernels() {
            for round in 0..40_000u32 {
                let probes = round % 8 + 1;
                let mut line = random_line(&mut random);
                let fields = random.next_u64();
                let bits = naive_bits(fields, probes);
                if round % 3 == 0 {
                    bits.iter().for_each(|bit| line[bit / 8] |= 1 << (bit % 8));
                }
                let expected = bits.iter().all(|bit| line[bit / 8] >> (bit % 8) & 1 == 1);
                present += u32::from(expected);
                assert_eq!(
                    cpu.test(&line, fields, Probes::new(probes)),
                    expected,
                    "{name} {probes} {fields:x}"
                );
                let mut naive = line;
                bits.iter().for_each(|bit| naive[bit / 8] |= 1 << (bit % 8));
                assert_eq!(
                    cpu.set(&mut line, fields, Probes::new(probes)),
                    !expected,
                    "{name} {probes} {fields:x}"
                );
                assert_eq!(line, naive, "{name} {probes} {fields:x}");
            }
        }
        assert!(present > 10_000);
    }

    #[test]
    fn every_bit_of_a_line_is_seen_alone() {
        for (name, cpu) in kernels() {
            for bit in 0..512usize {
                let fields = ((bit % 64) as u64) << (8 * (bit / 64));
                for first in 0..8u64 {
                    let fields = fields | (first >> 1) << 62 | (first & 1) << 55;
                    let mut line = [0; 64];
                    line[bit / 8] = 1 << (bit % 8);
                    for probes in 1..=8 {
                        let own = naive_bits(fields, probes);
                        let expected = own == [bit];
                        assert_eq!(
                            cpu.test(&line, fields, Probes::new(probes)),
                            expected,
                            "{name} {bit} {first}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn groups_are_their_keys_one_by_one_on_every_kernel() {
        compare_groups(600, &[1, 2, 63, 64, 65, 1000, 10_000]);
    }

    #[test]
    #[ignore = "10^8 keys for each kernel, about two minutes: cargo test --release -p fullbloom --lib kernel -- --ignored"]
    fn every_kernel_answers_and_sets_a_hundred_million_keys_as_scalar_does() {
        compare_groups(100_000_000 / GROUP, &[1, 2, 29, 63, 64, 65]);
    }

    /// All kernels on this many groups, over arrays of these many lines.
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
                    group.fields = std::array::from_fn(|_| random.next_u64());
                    cpu.locate(blocks, group);
                    let expected = group.fields.map(|hash| lines::block_of(hash, blocks) * 64);
                    assert_eq!(group.offsets, expected, "{name}");
                    group.len = GROUP;
                }
                if round % 2 == 0 {
                    groups[0].set_len(round % 64 + 1);
                }
                let [now, next] = &groups;
                let answers = cpu.test_group(&lines, now, next, probes);
                let mut naive = lines.clone();
                let mut changed = 0;
                for i in 0..now.len() {
                    let line = now.line(i);
                    let alone = Scalar.test(&lines[line], now.fields[i], probes);
                    assert_eq!(answers >> i & 1 == 1, alone, "{name} key {i}");
                    changed |= u64::from(Scalar.set(&mut naive[line], now.fields[i], probes)) << i;
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
    fn products_are_folded_alike() {
        let mut random = SplitMix::new(5);
        let edges = [0, 1, u64::MAX, 1 << 32, (1 << 32) - 1, 1 << 63];
        for (name, cpu) in kernels() {
            for len in 0..40 {
                let mut number =
                    |i: usize| edges.get((i * 7 + len) % 11).copied().unwrap_or_else(|| random.next_u64());
                let (x, y, keys) = (number(1), number(2), (0..len).map(&mut number).collect::<Vec<u64>>());
                let expected: Vec<u64> = keys.iter().map(|key| fold(key ^ x, y)).collect();
                for count in 0..len + 5 {
                    let mut hashes = vec![7; count];
                    cpu.fold(&keys, x, y, &mut hashes);
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
                changed += u64::from(Scalar.set(&mut whole[line], hash, probes));
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
                let mut group = Group { fields: std::array::from_fn(|_| random.next_u64()), ..Group::EMPTY };
                cpu.locate(blocks, &mut group);
                let expected = group.fields.map(|hash| lines::block_of(hash, blocks) * 64);
                assert_eq!(group.offsets, expected, "{name} {blocks}");
            }
        }
    }

    #[test]
    fn a_line_outside_the_array_is_refused_by_every_kernel() {
        for (name, cpu) in kernels() {
            let mut group = Group::EMPTY;
            (0..GROUP as u64).for_each(|i| group.push(i / 63 * 2, 0));
            let tested = std::panic::catch_unwind(|| {
                cpu.test_group(&[[0; 64]; 2], &group, &Group::EMPTY, Probes::new(3))
            });
            assert!(tested.is_err(), "{name}");
            let set = std::panic::catch_unwind(|| {
                cpu.set_group(&mut [[0; 64]; 2], &group, &Group::EMPTY, Probes::new(3))
            });
            assert!(set.is_err(), "{name}");
        }
    }
}
