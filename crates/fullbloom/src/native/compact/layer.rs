//! One layer: from sorted keys to solved lines, and the keys that move on.

use super::scatter::{Bucket, Lane};
use super::shape::{LINE, Layer, Shape};
use super::solve::Systems;
use crate::error::SizeError;
use crate::kernel::systems::{LIMIT, column_bits};
use crate::kernel::{Body, Task};
use crate::probe::systems::{Place, SLOTS, least_z, t_of, u_of, z_after};
use std::vec::Vec;

/// The sorted `z` of keys: those whose top bits are `first`, then `first + 1`, and so on.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) buckets: Vec<Bucket>,
    pub(super) bits: u32,
    pub(super) first: u64,
}

impl Sorted {
    pub(super) fn len(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.len() as u64).sum()
    }

    /// The largest number that this part could have.
    pub(super) fn last_possible(&self) -> u64 {
        let end = self.first + self.buckets.len() as u64;
        end.checked_shl(64 - self.bits).unwrap_or(0).wrapping_sub(1)
    }

    /// The numbers of the lines from `line` of `lines` on, in slices.
    pub(super) fn rest_from(&self, line: u64, lines: u64) -> impl Iterator<Item = &[u64]> {
        let mut cursor = least_z(line, lines).map(|least| self.from(least));
        core::iter::from_fn(move || cursor.as_mut()?.below(None))
    }

    /// The numbers from this one on.
    fn from(&self, least: u64) -> Cursor<'_> {
        let top = least.checked_shr(64 - self.bits).unwrap_or(0);
        let skipped = (top.saturating_sub(self.first) as usize).min(self.buckets.len());
        let mut cursor = Cursor { buckets: &self.buckets[skipped..], chunks: &[], rest: &[] };
        cursor.skip_to(least);
        cursor
    }
}

/// Reads sorted numbers.
struct Cursor<'a> {
    buckets: &'a [Bucket],
    chunks: &'a [Vec<u64>],
    rest: &'a [u64],
}

impl<'a> Cursor<'a> {
    /// The numbers below `end`, which is optional, in slices.
    #[inline(always)]
    fn below(&mut self, end: Option<u64>) -> Option<&'a [u64]> {
        while self.rest.is_empty() {
            if let Some((chunk, later)) = self.chunks.split_first() {
                (self.rest, self.chunks) = (chunk, later);
            } else {
                let (bucket, later) = self.buckets.split_first()?;
                (self.chunks, self.buckets) = (bucket.chunks(), later);
            }
        }
        let count = match end {
            Some(end) if *self.rest.last()? >= end => self.rest.partition_point(|&z| z < end),
            _ => self.rest.len(),
        };
        let (now, later) = self.rest.split_at(count);
        self.rest = later;
        (!now.is_empty()).then_some(now)
    }

    fn skip_to(&mut self, least: u64) {
        while self.below(Some(least)).is_some() {}
    }
}

/// The lines to solve: those of a layer from `first` on.
pub(super) struct Unit<'a> {
    pub(super) first: u64,
    /// The bytes of the lines, and of their further columns.
    pub(super) lines: &'a mut [u8],
    pub(super) further: &'a mut [u8],
}

/// Solves units of one layer.
pub(super) struct Solver<const H: usize, const S: usize, const L: usize> {
    systems: Systems<H, S, L>,
    keys: Vec<u64>,
    priorities: Vec<u8>,
    fingerprints: Vec<u8>,
    moved: Vec<u64>,
}

/// One unit, as a task for a kernel.
pub(super) struct Solve<'a, const H: usize, const S: usize, const L: usize> {
    pub(super) solver: &'a mut Solver<H, S, L>,
    pub(super) shape: &'a Shape,
    /// Number of the layer.
    pub(super) number: usize,
    pub(super) keys: &'a Sorted,
    pub(super) unit: Unit<'a>,
    /// The keys that move on, as their `z` in the next layer.
    pub(super) next: &'a mut Lane,
}

impl<const H: usize, const S: usize, const L: usize> Solver<H, S, L> {
    pub(super) fn new() -> Self {
        let (keys, moved) = (Vec::new(), Vec::new());
        Solver { systems: Systems::new(), keys, priorities: Vec::new(), fingerprints: Vec::new(), moved }
    }
}

impl<const H: usize, const S: usize, const L: usize> Task for Solve<'_, H, S, L> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<B: Body>(self, _: B) -> Result<(), SizeError> {
        let Solve { solver, shape, number, keys, unit, next } = self;
        let layer = &shape.layers[number];
        let Unit { first, lines, mut further } = unit;
        let Some(least) = least_z(first, layer.lines) else { return Ok(()) };
        let mut keys = keys.from(least);
        let mut line = first;
        for some in lines.chunks_mut(L * LINE as usize) {
            let count = some.len() as u64 / LINE;
            let end = least_z(line + count, layer.lines);
            solver.keys.clear();
            while let Some(some) = keys.below(end) {
                solver.keys.extend_from_slice(some);
            }
            let words = shape.further_words(layer, line + count) - shape.further_words(layer, line);
            let (own, rest) = core::mem::take(&mut further).split_at_mut(words as usize * 8);
            further = rest;
            solver.group(shape, layer, number, line, some, own);
            next.add(&solver.moved)?;
            line += count;
        }
        Ok(())
    }
}

impl<const H: usize, const S: usize, const L: usize> Solver<H, S, L> {
    /// Solves up to `L` lines from `first` on; `self.keys` are theirs.
    #[inline(always)]
    fn group(
        &mut self,
        shape: &Shape,
        layer: &Layer,
        number: usize,
        first: u64,
        lines: &mut [u8],
        further: &mut [u8],
    ) {
        let Solver { systems, keys, priorities, fingerprints, moved } = self;
        let mut starts = [keys.len(); L];
        let mut next = 0;
        priorities.clear();
        fingerprints.clear();
        for (i, &z) in keys.iter().enumerate() {
            let place = Place::new(z, layer.lines);
            // Keys come in the order of their lines.
            while next < L && place.line() - first >= next as u64 {
                starts[next] = i;
                next += 1;
            }
            priorities.push(place.priority());
            fingerprints.push(place.fingerprint());
        }
        let counts: [usize; L] =
            core::array::from_fn(|l| starts.get(l + 1).copied().unwrap_or(keys.len()) - starts[l]);
        let most = counts.iter().map(|&count| Systems::<H, S, L>::needed(count)).max().unwrap_or(0);
        systems.begin(most);
        for l in 0..lines.len() / LINE as usize {
            let columns = shape.further_of(layer, first + l as u64);
            let mask = side_mask(H / 2, columns);
            let own = starts[l]..starts[l] + Systems::<H, S, L>::needed(counts[l]);
            for (i, (&z, &fingerprint)) in keys[own.clone()].iter().zip(&fingerprints[own]).enumerate() {
                let t = t_of(z, number);
                systems.set(l, i, t, (u_of(t) & !0xff | u64::from(fingerprint)) & mask);
            }
        }
        let kept = systems.solve(counts, |l, i| priorities[starts[l] + i]);
        moved.clear();
        let mut further = further;
        for (l, line) in lines.chunks_exact_mut(LINE as usize).enumerate() {
            let leaving = &keys[starts[l] + kept[l].keys..starts[l] + counts[l]];
            moved.extend(leaving.iter().map(|&z| z_after(z, number)));
            let columns = shape.further_of(layer, first + l as u64) as usize;
            let (own, rest) = core::mem::take(&mut further).split_at_mut(columns * (H / 2) * 8);
            further = rest;
            for (k, slot) in line[..SLOTS].iter_mut().enumerate() {
                *slot = (0..H / 2).fold(0, |byte, v| byte | systems.byte(l, v * SLOTS + k) << v);
            }
            line[LIMIT] = kept[l].limit;
            for v in 0..H / 2 {
                for f in (0..columns).step_by(8 / (H / 2)) {
                    let planes = systems.planes(l, v, 1 + f * (H / 2) / 8);
                    for j in 0..(8 / (H / 2)).min(columns - f) {
                        put(own, (f + j) * (H / 2) + v, planes[j * (H / 2)]);
                    }
                }
            }
        }
    }
}

/// The bits of a fingerprint that lines with so many further columns use.
#[inline(always)]
fn side_mask(words: usize, further: u32) -> u64 {
    let bits = u64::from(column_bits(words)) * 0x0101_0101_0101_0101;
    let used = 8 + further * words as u32;
    bits & (u64::MAX >> (64 - used))
}

#[inline(always)]
fn put(bytes: &mut [u8], word: usize, value: u64) {
    bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
}
