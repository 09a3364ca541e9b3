//! One layer: from sorted keys to solved lines, and the bumped keys.

use super::shape::{LINE, Layer, Shape};
use super::solve::{System, planes};
use crate::probe::{ALL, LIMIT, Place, column_bits, least_z, t_of, u_of, z_after};
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::{Body, Task};
use fullbloom_core::partition::{Bucket, Lane};
use std::vec::Vec;

/// The sorted `z` of keys: those whose top bits are `first`, then `first + 1`, and so on.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) bits: u32,
    pub(crate) first: u64,
}

impl Sorted {
    pub(crate) fn len(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count() as u64).sum()
    }

    /// The largest number that this part could have.
    pub(crate) fn last_possible(&self) -> u64 {
        let end = self.first + self.buckets.len() as u64;
        end.checked_shl(64 - self.bits).unwrap_or(0).wrapping_sub(1)
    }

    /// The numbers of the lines from `line` of `lines` on, in slices.
    pub(crate) fn rest_from(&self, line: u64, lines: u64) -> impl Iterator<Item = &[u64]> {
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
pub(crate) struct Unit<'a> {
    pub(crate) first: u64,
    /// The bytes of the lines, and of their further columns.
    pub(crate) lines: &'a mut [u8],
    pub(crate) further: &'a mut [u8],
}

/// Lines whose keys are read at a time.
const AT_A_TIME: usize = 16;

/// Solves units of one layer.
pub(crate) struct Solver<const W: usize, const H: usize, const N: usize, const S: usize> {
    system: System<H, N, S>,
    keys: Vec<u64>,
    bumped: Vec<u64>,
}

/// One unit, as a task for a kernel.
pub(crate) struct Solve<'a, const W: usize, const H: usize, const N: usize, const S: usize> {
    pub(crate) solver: &'a mut Solver<W, H, N, S>,
    pub(crate) shape: &'a Shape,
    /// Number of the layer.
    pub(crate) number: usize,
    pub(crate) keys: &'a Sorted,
    pub(crate) unit: Unit<'a>,
    /// The bumped keys, as their `z` in the next layer.
    pub(crate) next: &'a mut Lane,
}

impl<const W: usize, const H: usize, const N: usize, const S: usize> Solver<W, H, N, S> {
    pub(crate) fn new() -> Self {
        Solver { system: System::new(), keys: Vec::new(), bumped: Vec::new() }
    }
}

impl<const W: usize, const H: usize, const N: usize, const S: usize, B: Body> Task<B>
    for Solve<'_, W, H, N, S>
{
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run(self, _: B) -> Result<(), SizeError> {
        let Solve { solver, shape, number, keys, unit, next } = self;
        let Solver { system, keys: own, bumped } = solver;
        let layer = &shape.layers[number];
        let Unit { first, lines, mut further } = unit;
        let Some(least) = least_z(first, layer.lines) else { return Ok(()) };
        let mut keys = keys.from(least);
        let mut line = first;
        for some in lines.chunks_mut(AT_A_TIME * LINE as usize) {
            let end = least_z(line + some.len() as u64 / LINE, layer.lines);
            own.clear();
            while let Some(some) = keys.below(end) {
                own.extend_from_slice(some);
            }
            bumped.clear();
            let mut rest = &own[..];
            for bytes in some.as_chunks_mut().0 {
                let columns = shape.further_of(layer, line);
                let (words, later) = core::mem::take(&mut further).split_at_mut(columns as usize * W * 8);
                further = later;
                let mask = side_mask(W, columns);
                let solved = solve_line::<W, H, N, S>(system, layer, line, number, mask, rest);
                bumped.extend(rest[solved.kept..solved.all].iter().map(|&z| z_after(z, number)));
                rest = &rest[solved.all..];
                write_line::<W, H, N, S>(system, solved.limit, bytes);
                if columns > 0 {
                    write_further::<W, H, N, S>(system, columns as usize, words);
                }
                line += 1;
            }
            next.add(bumped)?;
        }
        Ok(())
    }
}

/// What became of a line's keys.
struct Solved {
    /// The first so many are the line's.
    all: usize,
    /// The first so many belong to it, the others are bumped.
    kept: usize,
    limit: u8,
}

/// Adds the equations of the line's keys, which are the first of `keys`, until one depends on those before
/// it.
#[inline(always)]
fn solve_line<const W: usize, const H: usize, const N: usize, const S: usize>(
    system: &mut System<H, N, S>,
    layer: &Layer,
    line: u64,
    number: usize,
    mask: u64,
    keys: &[u64],
) -> Solved {
    system.clear();
    let place = |z| Place::new(z, layer.lines);
    for (added, &z) in keys.iter().enumerate() {
        let own = place(z);
        if own.line() != line {
            return Solved { all: added, kept: added, limit: ALL };
        }
        let t = t_of(z, number);
        let side = (u_of(t) & !0xff | u64::from(own.fingerprint::<1>())) & mask;
        if !system.add::<W>(t, side) {
            let limit = own.priority();
            let before = keys[..added].iter().rev().take_while(|&&z| place(z).priority() >= limit);
            let after = keys[added..].iter().take_while(|&&z| place(z).line() == line);
            return Solved { all: added + after.count(), kept: added - before.count(), limit };
        }
    }
    Solved { all: keys.len(), kept: keys.len(), limit: ALL }
}

/// Writes the slots of a line.
#[inline(always)]
fn write_line<const W: usize, const H: usize, const N: usize, const S: usize>(
    system: &System<H, N, S>,
    limit: u8,
    line: &mut [u8; LINE as usize],
) {
    for (slot, bits) in system.solution(limit) {
        let (part, slot) = (slot / LINE as usize, slot % LINE as usize);
        line[slot] |= (bits as u8 & column_bits(W)) << part;
    }
    line[LIMIT] = limit;
}

/// Writes the slots of a line's further columns.
#[inline(never)]
fn write_further<const W: usize, const H: usize, const N: usize, const S: usize>(
    system: &System<H, N, S>,
    columns: usize,
    further: &mut [u8],
) {
    let mut slots = [0; N];
    system.solution(0).for_each(|(slot, bits)| slots[slot] = bits);
    let (further, _) = further.as_chunks_mut::<8>();
    for (v, part) in slots.as_chunks().0.iter().enumerate() {
        for f in (0..columns).step_by(8 / W) {
            let planes = planes(part, 8 + (f * W) as u32);
            for j in 0..(8 / W).min(columns - f) {
                further[(f + j) * W + v] = planes[j * W].to_le_bytes();
            }
        }
    }
}

/// The bits of a fingerprint that lines with so many further columns use.
#[inline(always)]
fn side_mask(parts: usize, further: u32) -> u64 {
    let bits = u64::from(column_bits(parts)) * 0x0101_0101_0101_0101;
    let used = 8 + further * parts as u32;
    bits & (u64::MAX >> (64 - used))
}
