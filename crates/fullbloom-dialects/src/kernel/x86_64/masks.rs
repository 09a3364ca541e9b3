//! Insertion with AVX-512: all bits of a key are collected in a register, and its block is written once.
//!
//! For probe `i` of eight keys at a time, the word of the block (one of eight) and the bit in that word are
//! computed. Then for each key, probe by probe, the bit is added in the lane whose number equals the word.
//! Word and bit are broadcast from memory to all lanes by the load.

use super::super::Block;
use super::super::blocks::FilterMut;
use super::super::local::{Found, found_pipe};
use super::super::scalar::multipliers;
use fullbloom_core::kernel::pipeline::{CHUNK, Pipe, RING};
use fullbloom_core::kernel::x86_64::Avx512;

/// The maximum number of probes supported.
pub(crate) const MAX_PROBES: usize = 16;

const MULTIPLIERS: [u32; MAX_PROBES] = multipliers();

/// Keys whose masks are built together, so that their chains of additions overlap.
const TOGETHER: usize = 4;

pub(crate) struct Masks<'a> {
    kernel: Avx512,
    filter: FilterMut<'a>,
    /// For each probe, and each key of the current chunk: the word it hits, and the bit.
    words: [Keys; MAX_PROBES],
    bits: [Keys; MAX_PROBES],
}

/// A value for each key of a chunk.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Keys([u64; CHUNK]);

impl<'a> Masks<'a> {
    /// For a filter of at most [`MAX_PROBES`] probes.
    #[inline(always)]
    pub(crate) fn new(kernel: Avx512, filter: FilterMut<'a>) -> Self {
        let empty = [Keys([0; CHUNK]); MAX_PROBES];
        Masks { kernel, filter, words: empty, bits: empty }
    }

    /// Computes words and bits of the chunk.
    #[inline(always)]
    fn locate(&mut self, hashes: &[u64; CHUNK]) {
        let v = self.kernel;
        let (hashes, _) = hashes.as_chunks::<8>();
        let upper = [v.right_32(v.load_8(&hashes[0])), v.right_32(v.load_8(&hashes[1]))];
        let probes = self.filter.probes as usize;
        let targets = self.words[..probes].iter_mut().zip(&mut self.bits[..probes]);
        for ((words, bits), multiplier) in targets.zip(&MULTIPLIERS) {
            let multiplier = v.all_8((*multiplier).into());
            let eights = words.0.as_chunks_mut().0.iter_mut().zip(bits.0.as_chunks_mut().0);
            for (upper, (words, bits)) in upper.into_iter().zip(eights) {
                let probe = v.product_8(upper, multiplier);
                v.store_8(words, v.and(v.right_29(probe), v.all_8(7)));
                v.store_8(bits, v.rotated_8(v.all_8(1), v.right_23(probe)));
            }
        }
    }
}

impl Pipe<CHUNK, RING> for Masks<'_> {
    found_pipe!();

    #[inline(always)]
    fn finish(&mut self, found: &Found, _: &Found, count: usize) -> u64 {
        let v = self.kernel;
        self.locate(&found.hashes);
        let numbers = v.load_8(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let probes = self.filter.probes as usize;
        let (words, bits) = (&self.words[..probes], &self.bits[..probes]);
        let blocks = &mut *self.filter.blocks;
        for first in (0..count).step_by(TOGETHER) {
            let mut masks = [v.zero(); TOGETHER];
            for (words, bits) in words.iter().zip(bits) {
                for (i, mask) in masks.iter_mut().enumerate() {
                    let hit = v.equal_8(numbers, v.all_8(words.0[first + i] as i64));
                    *mask = v.or_in(*mask, hit, *mask, v.all_8(bits.0[first + i] as i64));
                }
            }
            for (i, mask) in (first..count).zip(masks) {
                let block = &mut blocks[found.offsets.index::<Block>(i)];
                v.store(block, v.or(v.load(block), mask));
            }
        }
        0
    }
}
