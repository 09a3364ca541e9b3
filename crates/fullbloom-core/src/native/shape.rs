//! The layout numbers of a native filter, and the operations on an array of lines.

use super::sizing::geometry;
use crate::kernel::Cpu;
use crate::kernel::lines::{GROUP, Group, Inlined, Line, Lines as _, Probes, prefetch_first};
use crate::kernel::pipeline::ones;
use crate::probe::lines::{Lines, Mark, block_of};
use crate::sizing::{Geometry, Layout};

/// A layout and a number of blocks, with the kernel of this CPU.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub layout: Layout,
    pub blocks: u64,
    pub probes: Probes,
    pub cpu: Cpu,
    /// The kernel whose few instructions for one line are inlined into every caller, if it is in use and a
    /// key has one line: a third faster in L2 than a call.
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
    #[inline(always)]
    pub fn test_any(&self, lines: &[Line], hash: u64) -> bool {
        if self.layout.lines() == 1 {
            let line = &lines[block_of(hash, self.blocks) as usize];
            return self.cpu.test(line, Mark::of(hash), self.probes);
        }
        let mut walk = Lines::new(self.layout, self.blocks, hash);
        match self.cpu.inlined() {
            Some(kernel) => walk.all(|(line, mark)| kernel.test(&lines[line as usize], mark, self.probes)),
            None => walk.all(|(line, mark)| self.cpu.test(&lines[line as usize], mark, self.probes)),
        }
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

    #[inline(always)]
    pub fn set_any(&self, lines: &mut [Line], hash: u64) -> bool {
        if self.layout.lines() == 1 {
            let line = &mut lines[block_of(hash, self.blocks) as usize];
            return self.cpu.set(line, Mark::of(hash), self.probes);
        }
        let mut changed = false;
        for (line, mark) in Lines::new(self.layout, self.blocks, hash) {
            changed |= self.cpu.set(&mut lines[line as usize], mark, self.probes);
        }
        changed
    }

    /// Sets the bits of these hashes in the part of the array that begins with block `first`. Returns how
    /// many changed a bit.
    ///
    /// # Panics
    /// If a hash belongs to another part.
    pub fn set_part(&self, lines: &mut [Line], first: u64, hashes: &[u64]) -> u64 {
        if self.layout.lines() == 1 {
            return self.cpu.set_part(lines, first, self.blocks, hashes, self.probes);
        }
        let first_line = first * self.layout.block_lines();
        let mut new = 0;
        for &hash in hashes {
            let mut changed = false;
            for (line, mark) in Lines::new(self.layout, self.blocks, hash) {
                let line = line.wrapping_sub(first_line) as usize;
                changed |= self.cpu.set(&mut lines[line], mark, self.probes);
            }
            new += u64::from(changed);
        }
        new
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

impl Shape {
    /// Finds the first line of every key of a group by its hash.
    #[inline(always)]
    pub fn locate(&self, group: &mut Group) {
        if self.layout.lines() == 1 {
            self.cpu.locate(self.blocks, group);
            return;
        }
        group.locate_with(|hash| {
            Lines::new(self.layout, self.blocks, hash).next().expect("a key has at least one line")
        });
    }

    /// The further lines of the keys that their first line did not reject: few, unless the keys are present.
    pub fn test_further(&self, lines: &[Line], now: &Group, first: u64) -> u64 {
        let mut left = first;
        for number in 1..self.layout.lines() as usize {
            let mut group = Group::EMPTY;
            let mut owners = [0u8; GROUP];
            for (place, key) in ones(left).enumerate() {
                let further = Lines::new(self.layout, self.blocks, now.hashes[key]).nth(number);
                let (line, mark) = further.expect("a key has this many lines");
                group.push(line, mark);
                owners[place] = key as u8;
            }
            if group.is_empty() {
                return 0;
            }
            prefetch_first(lines, &group);
            let passed = self.cpu.test_group(lines, &group, &Group::EMPTY, self.probes);
            let passed = passed & (u64::MAX >> (GROUP - group.len()));
            left = ones(passed).fold(0, |left, place| left | 1 << owners[place]);
        }
        left
    }

    /// The second lines of all keys, then the third, and so on. They lie in separate regions, so one region
    /// can be filled after the other.
    pub fn further<'a>(&'a self, now: &'a Group) -> impl Iterator<Item = Group> + 'a {
        (1..self.layout.lines() as usize).map(|number| {
            let mut group = Group::EMPTY;
            for &hash in &now.hashes[..now.len()] {
                let further = Lines::new(self.layout, self.blocks, hash).nth(number);
                let (line, mark) = further.expect("a key has this many lines");
                group.push(line, mark);
            }
            group
        })
    }
}
