//! FastLocalBloom over many blocks, on any kernel.

use super::{Block, Cpu};

/// Keys that one step of a batch answers.
pub(crate) const GROUP: usize = 64;

#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub(crate) blocks: &'a [Block],
    pub(crate) lines: u32,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(blocks: &'a [Block]) -> Option<Blocks<'a>> {
        let lines = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        if lines == 0 {
            return None;
        }
        Some(Blocks { blocks, lines })
    }
}

#[repr(C, align(64))]
pub(crate) struct Group {
    pub(crate) hashes: [u64; GROUP],
    pub(crate) offsets: [u64; GROUP],
    pub(crate) pairs: [u64; GROUP / 2],
    pub(crate) index: [[u64; 8]; 16],
    pub(crate) bits: [[u64; 8]; 16],
    pub(crate) len: usize,
}
impl Group { pub(crate) fn new() -> Group { Group { hashes: [0; GROUP], offsets: [0; GROUP], pairs: [0; GROUP / 2], index: [[0; 8]; 16], bits: [[0; 8]; 16], len: 0 } } }

pub(crate) trait Local: Copy { const FUSED: bool = false;
    fn test(self, block: &Block, hash: u32, probes: u32) -> bool;
    fn prepare(self, blocks: Blocks<'_>, probes: u32, next: &mut Group);
    #[inline(always)] fn spread(self, bits: u64, answers: &mut [bool; GROUP]) { for (j, a) in answers.iter_mut().enumerate() { *a = (bits >> j) & 1 != 0; } }
    fn step(self, blocks: Blocks<'_>, probes: u32, now: &Group, next: &mut Group) -> u64;
    #[inline(always)]
    fn batch<K, F: Fn(&K) -> u64>(self, job: Batch<'_, K, F>) { job.drive(self, |b, p, g| self.prepare(b, p, g), |b, p, n, x| self.step(b, p, n, x)) }
}

pub(crate) trait Task {
    type Output;
    fn run<K: Local>(self, kernel: K) -> Self::Output;
}

pub(crate) struct Batch<'a, K, F> {
    pub blocks: Blocks<'a>,
    pub probes: u32,
    pub keys: &'a [K],
    pub hash: F,
    pub answers: &'a mut [bool],
}

#[inline(always)]
fn fill<K, F: Fn(&K) -> u64>(keys: &mut &[K], hash: &F, group: &mut Group) {
    if let Some((now, rest)) = keys.split_first_chunk::<GROUP>() {
        for (slot, key) in group.hashes.iter_mut().zip(now) {
            *slot = hash(key);
        }
        *keys = rest;
        group.len = GROUP;
    } else {
        for (slot, key) in group.hashes.iter_mut().zip(*keys) {
            *slot = hash(key);
        }
        group.len = keys.len();
        *keys = &[];
    }
}

impl<K, F: Fn(&K) -> u64> Task for Batch<'_, K, F> {
    type Output = ();
    #[inline(always)]
    fn run<L: Local>(self, kernel: L) {
        kernel.batch(self);
    }
}
impl<K, F: Fn(&K) -> u64> Batch<'_, K, F> {
    #[inline(always)]
    pub(crate) fn drive<L: Local>(self, kernel: L, prepare: impl Fn(Blocks<'_>, u32, &mut Group), step: impl Fn(Blocks<'_>, u32, &Group, &mut Group) -> u64) {
        let mut a = Group::new();
        let mut b = Group::new();
        let (mut now, mut next) = (&mut a, &mut b);
        let mut keys = self.keys;
        fill(&mut keys, &self.hash, now);
        prepare(self.blocks, self.probes, now);
        for answers in self.answers.chunks_mut(GROUP) {
            fill(&mut keys, &self.hash, next);
            if !L::FUSED { prepare(self.blocks, self.probes, next); }
            let bits = step(self.blocks, self.probes, now, next);
            if let Some(full) = answers.first_chunk_mut::<GROUP>() {
                kernel.spread(bits, full);
            } else {
                for (j, answer) in answers.iter_mut().enumerate() {
                    *answer = (bits >> j) & 1 != 0;
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
    }
}

pub(crate) fn batch<K, F: Fn(&K) -> u64>(cpu: Cpu, blocks: &[Block], probes: u32, keys: &[K], hash: F, answers: &mut [bool]) {
    let blocks = Blocks::new(blocks).unwrap();
    cpu.run(Batch { blocks, probes, keys, hash, answers });
}
