//! The shape of a fast filter, and the work on its lines: one key, or many hashes.
//!
//! A batch consists of chunks of 64 hashes. Between the lines of one chunk, those of the next are prefetched,
//! unless the array is small enough for the second-level cache.

use super::sizing::geometry;
use crate::bits::prefetch;
use crate::kernel::lines::{self as kernel, CHUNK, Inlined, Line, OneKey as _, Probes};
use crate::kernel::pipeline::{is_near, ones};
use crate::kernel::{Cpu, Task};
use crate::probe::lines::{Lines, Mark, block_of};
use crate::sizing::{Geometry, Layout, estimated_keys};

/// A layout and a number of blocks, with the kernel of this CPU.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub layout: Layout,
    pub blocks: u64,
    pub probes: Probes,
    pub cpu: Cpu,
    /// The kernel that is inlined into the lookup and the insertion of one key, where a key has one line.
    pub inlined: Option<Inlined>,
}

impl Shape {
    pub fn new(layout: Layout, blocks: u64) -> Shape {
        let cpu = Cpu::in_use();
        let inlined = if layout.lines() == 1 { cpu.inlined() } else { None };
        Shape { layout, blocks, probes: Probes::new(layout.line_probes()), cpu, inlined }
    }

    /// The same without the inlined kernel, for filters whose lookups need more than their lines.
    pub fn not_inlined(self) -> Shape {
        Shape { inlined: None, ..self }
    }

    pub fn geometry(&self) -> Geometry {
        geometry(self.layout, self.blocks)
    }

    pub fn byte_len(&self) -> u64 {
        self.geometry().byte_len()
    }

    /// The number of keys, estimated from the number of set bits; `None` when all bits are set.
    pub fn keys_of(&self, set_bits: u64) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        estimated_keys(set_bits, bit_len, probes)
    }

    /// [`keys_of`](Self::keys_of) as the whole number that the file stores. It is the same on all machines.
    pub fn stored_keys(&self, set_bits: u64) -> u64 {
        self.keys_of(set_bits).map_or(u64::MAX, |keys| (keys + 0.5) as u64)
    }

    /// Whether all bits of this hash are set.
    #[inline(always)]
    pub fn test(&self, lines: &[Line], hash: u64) -> bool {
        debug_assert_eq!(lines.len() as u64, self.blocks * self.layout.block_lines());
        match self.inlined {
            Some(kernel) => kernel.test_hash(lines, hash, self.probes),
            None => self.test_any(lines, hash),
        }
    }

    /// Line by line: the first shows most absent keys.
    #[inline(never)]
    pub fn test_any(&self, lines: &[Line], hash: u64) -> bool {
        struct Test<'a>(&'a Shape, &'a [Line], u64);
        impl<K: kernel::Lines> Task<K> for Test<'_> {
            type Output = bool;

            #[inline(always)]
            fn run(self, kernel: K) -> bool {
                let Test(shape, lines, hash) = self;
                let mut walk = Lines::new(shape.layout, shape.blocks, hash);
                walk.all(|(line, mark)| kernel.test(&lines[line as usize], mark, shape.probes))
            }
        }
        self.cpu.run(Test(self, lines, hash))
    }

    /// Sets all bits of this hash. Returns true if at least one was clear.
    #[inline(always)]
    pub fn set(&self, lines: &mut [Line], hash: u64) -> bool {
        debug_assert_eq!(lines.len() as u64, self.blocks * self.layout.block_lines());
        match self.inlined {
            Some(kernel) => kernel.set_hash(lines, hash, self.probes),
            None => self.set_any(lines, hash),
        }
    }

    #[inline(never)]
    pub fn set_any(&self, lines: &mut [Line], hash: u64) -> bool {
        self.set_chunk(lines, &[hash], &[]) != 0
    }

    /// Bit `i` of the result: whether all bits of hash `i` of `now` are set. Prefetches the lines of `next`.
    pub fn test_chunk(&self, lines: &[Line], now: &[u64; CHUNK], next: &[u64; CHUNK]) -> u64 {
        match self.layout.lines() {
            1 => self.cpu.run(TestOne { shape: self, lines, now, next }),
            _ => self.cpu.run_narrow(TestMany { shape: self, lines, now, next }),
        }
    }

    /// Sets the bits of up to 64 hashes, in order. Bit `i` of the result: whether hash `i` changed any.
    /// Prefetches the lines of `next`, as many as there are in `now`.
    pub fn set_chunk(&self, lines: &mut [Line], now: &[u64], next: &[u64]) -> u64 {
        debug_assert!(now.len() <= CHUNK);
        self.set_hashes::<true>(lines, 0, now, next)
    }

    /// Sets the bits of any number of hashes in the part of the array that begins with block `first`.
    /// Prefetches the lines of `next`, as many as there are in `now`.
    ///
    /// # Panics
    /// If a hash belongs to another part.
    pub fn set_part(&self, lines: &mut [Line], first: u64, now: &[u64], next: &[u64]) {
        self.set_hashes::<false>(lines, (first * self.layout.block_lines()) as usize, now, next);
    }

    fn set_hashes<const CHANGED: bool>(
        &self,
        lines: &mut [Line],
        first_line: usize,
        now: &[u64],
        next: &[u64],
    ) -> u64 {
        let cpu = self.cpu;
        match self.layout.lines() {
            1 => cpu.run(Set::<CHANGED, false> { shape: self, lines, first_line, now, next }),
            _ => cpu.run(Set::<CHANGED, true> { shape: self, lines, first_line, now, next }),
        }
    }

    /// All lines of a hash, and its bits there.
    #[inline(always)]
    fn each_line<const MANY: bool>(&self, hash: u64, mut work: impl FnMut(usize, Mark)) {
        if MANY {
            for (line, mark) in Lines::new(self.layout, self.blocks, hash) {
                work(line as usize, mark);
            }
        } else {
            work(block_of(hash, self.blocks) as usize, Mark::of(hash));
        }
    }

    /// Line `number` of a hash, and its bits there.
    #[inline(always)]
    fn line_of(&self, hash: u64, number: usize) -> (usize, Mark) {
        let mut walk = Lines::new(self.layout, self.blocks, hash);
        let (line, mark) = walk.nth(number).expect("a key has this many lines");
        (line as usize, mark)
    }

    /// The probability that an absent key is reported present, given exactly these bits: the average over all
    /// blocks, lines and runs of lanes of the product of the lanes' fills.
    pub fn fpr_now(&self, lines: &[Line]) -> f64 {
        self.occupancy_now(lines).1
    }

    /// The number of set bits, and [`fpr_now`](Self::fpr_now), in one pass.
    pub fn occupancy_now(&self, lines: &[Line]) -> (u64, f64) {
        let mut set_bits = 0;
        let region = self.layout.region_lines() as usize;
        let blocks = lines.chunks_exact(self.layout.block_lines() as usize);
        let sum: f64 = blocks
            .map(|block| {
                let regions = block.chunks_exact(region);
                regions
                    .map(|lines| {
                        let rates = lines.iter().map(|line| self.line_fpr(line, &mut set_bits));
                        rates.sum::<f64>() / region as f64
                    })
                    .product::<f64>()
            })
            .sum();
        (set_bits, sum / self.blocks as f64)
    }

    /// The rate of one line, whose set bits are added to `set_bits`.
    fn line_fpr(&self, line: &Line, set_bits: &mut u64) -> f64 {
        let (words, _) = line.as_chunks::<4>();
        let ones = |word: usize| u32::from_le_bytes(words[word]).count_ones();
        let set: [u32; 8] = core::array::from_fn(|lane| ones(lane) + ones(lane + 8));
        *set_bits += u64::from(set.iter().sum::<u32>());
        let fill = set.map(|set| f64::from(set) / 64.0);
        let probes = self.layout.line_probes() as usize;
        let runs = (0..8).map(|first| (0..probes).map(|i| fill[(first + i) % 8]).product::<f64>());
        runs.sum::<f64>() / 8.0
    }
}

/// Tests a chunk where a key has one line.
struct TestOne<'a> {
    shape: &'a Shape,
    lines: &'a [Line],
    now: &'a [u64; CHUNK],
    next: &'a [u64; CHUNK],
}

impl<K: kernel::Lines> Task<K> for TestOne<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self, kernel: K) -> u64 {
        let TestOne { shape: Shape { probes, .. }, lines, now, next } = self;
        // The compiler makes a loop for each case.
        match (probes.count, is_near(size_of_val(lines))) {
            (8, true) => kernel.test_chunk(lines, now, None, Probes::new(8)),
            (8, false) => kernel.test_chunk(lines, now, Some(next), Probes::new(8)),
            (_, true) => kernel.test_chunk(lines, now, None, *probes),
            (_, false) => kernel.test_chunk(lines, now, Some(next), *probes),
        }
    }
}

/// Tests a chunk where a key has several lines: the first shows most absent keys, and is prefetched in time. The
/// others are fetched for the keys that are left.
struct TestMany<'a> {
    shape: &'a Shape,
    lines: &'a [Line],
    now: &'a [u64; CHUNK],
    next: &'a [u64; CHUNK],
}

impl<K: kernel::Lines> Task<K> for TestMany<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self, kernel: K) -> u64 {
        let TestMany { shape, lines, now, next } = self;
        next.iter().for_each(|&hash| prefetch::line(lines, shape.line_of(hash, 0).0));
        let mut present = u64::MAX;
        for number in 0..shape.layout.lines() as usize {
            if number > 0 {
                ones(present).for_each(|i| prefetch::line(lines, shape.line_of(now[i], number).0));
            }
            for i in ones(present) {
                let (line, mark) = shape.line_of(now[i], number);
                present &= !(u64::from(!kernel.test(&lines[line], mark, shape.probes)) << i);
            }
        }
        present
    }
}

/// Sets the bits of hashes. Returns which of the first 64 changed a bit, if `CHANGED`. `MANY`: a key has several
/// lines.
struct Set<'a, const CHANGED: bool, const MANY: bool> {
    shape: &'a Shape,
    /// The lines from `first_line` on.
    lines: &'a mut [Line],
    first_line: usize,
    now: &'a [u64],
    next: &'a [u64],
}

impl<K: kernel::Lines, const CHANGED: bool, const MANY: bool> Task<K> for Set<'_, CHANGED, MANY> {
    type Output = u64;

    #[inline(always)]
    fn run(self, kernel: K) -> u64 {
        let probes = self.shape.probes;
        if probes.count == 8 { self.with(kernel, Probes::new(8)) } else { self.with(kernel, probes) }
    }
}

impl<const CHANGED: bool, const MANY: bool> Set<'_, CHANGED, MANY> {
    #[inline(always)]
    fn with(self, kernel: impl kernel::Lines, probes: Probes) -> u64 {
        let Set { shape: &shape, lines, first_line, now, next } = self;
        let mut next = if is_near(size_of_val(lines)) { [].iter() } else { next.iter() };
        let (mut all_changed, mut bit) = (0, 1u64);
        for &hash in now {
            if let Some(&next) = next.next() {
                shape.each_line::<MANY>(next, |line, _| prefetch::line(lines, line.wrapping_sub(first_line)));
            }
            let mut changed = false;
            shape.each_line::<MANY>(hash, |line, mark| {
                let line = &mut lines[line.wrapping_sub(first_line)];
                changed |= kernel.set(line, mark, probes);
            });
            if CHANGED {
                all_changed |= if changed { bit } else { 0 };
                bit = bit.wrapping_shl(1);
            }
        }
        all_changed
    }
}
