//! From the `z` of all keys to the array: layer after layer, on several threads.

use super::collect::{Collected, Finished, bits_for};
use super::layer::{Solve, Solver, Sorted, Unit};
use super::shape::{Columns, LINE, LISTED, MAX_LAYERS, Shape};
use super::spool::PART_BITS;
use crate::probe::{Place, hash_of, t_of};
use fullbloom_core::bits::Owned;
use fullbloom_core::error::BuildError;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::{Body, Cpu, Task};
use fullbloom_core::partition::{Bucket, Lane};
use fullbloom_core::sort::Sorter;
use fullbloom_core::threads::try_on_threads;
use std::sync::Mutex;
use std::vec::Vec;

/// Lines that a thread solves at a time.
const UNIT_LINES: u64 = 512;

/// A thread is not worth starting for fewer keys than this.
pub(crate) const WORTH_A_THREAD: u64 = 1 << 14;

/// A finished filter: its numbers, its array, and how many different keys it has.
pub(crate) struct Constructed {
    pub(crate) shape: Shape,
    pub(crate) array: Owned,
    pub(crate) keys: u64,
}

/// Sorts the buckets of all lanes with the same top bits, as a task for a kernel.
struct Sort<'a>(&'a mut Sorter, Vec<Bucket>, u32);

impl<B: Body> Task<B> for Sort<'_> {
    type Output = Result<Bucket, SizeError>;

    #[inline(always)]
    fn run(self, _: B) -> Self::Output {
        let Sort(sorter, parts, bits) = self;
        let mut all = Bucket::default();
        parts.into_iter().for_each(|part| all.append(part));
        let sorted = sorter.sort(all.chunks().iter().map(Vec::as_slice), all.count(), bits)?;
        all.replace(sorted);
        Ok(all)
    }
}

/// The numbers of all lanes, which were distributed by the same bits, sorted and without duplicates.
fn sorted(lanes: Vec<Lane>, threads: usize) -> Result<Sorted, SizeError> {
    let keys: u64 = lanes.iter().map(Lane::count).sum();
    let bits = lanes.iter().map(Lane::bits).max().unwrap_or(0).max(bits_for(keys));
    let lanes: Vec<Mutex<Option<Lane>>> = lanes.into_iter().map(|lane| Mutex::new(Some(lane))).collect();
    let refined = try_on_threads(lanes.len(), |i| match take(&lanes[i]) {
        Some(lane) => lane.refined(bits)?.take(),
        None => Ok(Vec::new()),
    })?;
    let mut parts: Vec<Vec<Bucket>> = Vec::new();
    parts.resize_with(1 << bits, Vec::new);
    for lane in refined {
        parts.iter_mut().zip(lane).for_each(|(parts, bucket)| parts.push(bucket));
    }
    let work = Mutex::new(parts.into_iter().enumerate());
    let threads = threads.min((keys / WORTH_A_THREAD) as usize + 1);
    let results = try_on_threads(threads, |_| {
        let (mut sorter, mut sorted) = (Sorter::default(), Vec::new());
        loop {
            let next = work.lock().unwrap_or_else(|e| e.into_inner()).next();
            let Some((i, parts)) = next else { return Ok(sorted) };
            sorted.push((i, Cpu::in_use().run_narrow(Sort(&mut sorter, parts, bits))?));
        }
    })?;
    let mut all: Vec<(usize, Bucket)> = results.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(i, _)| *i);
    Ok(Sorted { buckets: all.into_iter().map(|(_, bucket)| bucket).collect(), bits, first: 0 })
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(|e| e.into_inner()).take()
}

/// The array while it grows.
struct Array {
    memory: Owned,
}

impl Array {
    /// Room for `len` bytes, with what is there already.
    fn reserve(&mut self, len: u64) -> Result<(), SizeError> {
        let have = self.memory.as_ref().len();
        if len <= have as u64 {
            return Ok(());
        }
        // The layers after the first are an eighth of it. Pages that are never written cost nothing.
        let mut larger =
            Owned::zeroed(len.saturating_add(len / 4).saturating_add(4096).next_multiple_of(LINE))?;
        larger.as_mut()[..have].copy_from_slice(self.memory.as_ref());
        self.memory = larger;
        Ok(())
    }

    fn finish(self, len: u64) -> Owned {
        self.memory.part(0..len as usize)
    }
}

/// Solves all layers, from the `z` of layer 0.
pub(crate) fn construct(
    first: Collected,
    columns: Columns,
    threads: usize,
) -> Result<Constructed, BuildError> {
    let mut shape = Shape::empty(columns);
    let mut array = Array { memory: Owned::zeroed(0)? };
    let room = first.room().clone();
    let mut left = Parts::new(first.finish()?, threads);
    // Only the first layer has duplicates: its keys are counted before the number of lines is fixed.
    let mut keys = left.count()?;
    let distinct = keys;
    while keys > LISTED && shape.layers.len() < MAX_LAYERS {
        let lines = columns.lines_for(keys)?;
        shape.push(lines, columns.split(lines));
        array.reserve(shape.byte_len())?;
        let mut next = Collected::new(room.clone(), keys / 6);
        let memory = array.memory.as_mut();
        match columns.words {
            // Only with one part can right sides have more than 32 bits.
            1 if columns.further < 24 => solve::<1, 2, 64, 1>(&shape, left, memory, &mut next)?,
            1 => solve::<1, 2, 64, 2>(&shape, left, memory, &mut next)?,
            2 => solve::<2, 4, 128, 1>(&shape, left, memory, &mut next)?,
            4 => solve::<4, 8, 256, 1>(&shape, left, memory, &mut next)?,
            _ => solve::<8, 16, 512, 1>(&shape, left, memory, &mut next)?,
        }
        keys = next.len();
        left = Parts::new(next.finish()?, threads);
    }
    let mut list: Vec<u64> = Vec::new();
    let layers = shape.layers.len();
    while let Some(part) = left.next()? {
        for chunk in part.buckets.iter().flat_map(|bucket| bucket.chunks()) {
            list.try_reserve(chunk.len()).map_err(|_| SizeError::Memory { bytes: 8 * keys })?;
            list.extend(chunk.iter().map(|&z| hash_of(t_of(z, layers))));
        }
    }
    list.sort_unstable();
    let at = (shape.list_first() * LINE) as usize;
    shape.listed = list.len() as u64;
    array.reserve(shape.byte_len())?;
    for (bytes, hash) in array.memory.as_mut()[at..].chunks_exact_mut(8).zip(&list) {
        bytes.copy_from_slice(&hash.to_le_bytes());
    }
    let array = array.finish(shape.byte_len());
    Ok(Constructed { shape, array, keys: distinct })
}

/// The keys of a layer, sorted part by part.
struct Parts {
    finished: Option<Finished>,
    /// The part to read next.
    part: usize,
    /// Keys in memory are sorted once.
    sorted: Option<Sorted>,
    threads: usize,
}

impl Parts {
    fn new(finished: Finished, threads: usize) -> Parts {
        Parts { finished: Some(finished), part: 0, sorted: None, threads }
    }

    /// The number of different keys; the next part is the first one.
    fn count(&mut self) -> Result<u64, BuildError> {
        let mut count = 0;
        if matches!(self.finished, Some(Finished::Memory(_))) {
            self.sorted = self.next()?;
            return Ok(self.sorted.as_ref().map_or(0, Sorted::len));
        }
        while let Some(part) = self.next()? {
            count += part.len();
        }
        self.part = 0;
        Ok(count)
    }

    fn next(&mut self) -> Result<Option<Sorted>, BuildError> {
        if let Some(sorted) = self.sorted.take() {
            return Ok(Some(sorted));
        }
        match self.finished.take() {
            None => Ok(None),
            Some(Finished::Memory(lanes)) => Ok(Some(sorted(lanes, self.threads)?)),
            Some(Finished::Disk(mut spool)) => {
                let part = self.part;
                if part == 1 << PART_BITS {
                    self.finished = Some(Finished::Disk(spool));
                    return Ok(None);
                }
                let keys = spool.part_len(part) << PART_BITS;
                let lane = spool.read(part, bits_for(keys).max(PART_BITS))?;
                self.finished = Some(Finished::Disk(spool));
                self.part += 1;
                let mut sorted = sorted(vec![lane], self.threads)?;
                let each = 1 << (sorted.bits - PART_BITS);
                sorted.first = (part * each) as u64;
                sorted.buckets = sorted.buckets.drain(part * each..(part + 1) * each).collect();
                Ok(Some(sorted))
            }
        }
    }

    /// Whether the part that was read last is the last one.
    fn is_last(&self) -> bool {
        match &self.finished {
            Some(Finished::Disk(_)) => self.part == 1 << PART_BITS,
            _ => true,
        }
    }
}

/// Solves the last layer of the shape. The bumped keys go to `next`.
fn solve<const W: usize, const H: usize, const N: usize, const S: usize>(
    shape: &Shape,
    mut parts: Parts,
    array: &mut [u8],
    next: &mut Collected,
) -> Result<(), BuildError> {
    let number = shape.layers.len() - 1;
    let layer = &shape.layers[number];
    let (_, own) = array.split_at_mut((layer.first * LINE) as usize);
    let (lines, further) = own.split_at_mut((layer.lines * LINE) as usize);
    let mut units = Units { lines, further, first: 0, end: 0 };
    // Keys of the line that the end of a part divides.
    let mut carried = Bucket::default();
    while let Some(mut keys) = parts.next()? {
        if let Some(first) = keys.buckets.first_mut() {
            carried.append(core::mem::take(first));
            *first = core::mem::take(&mut carried);
        }
        units.end = match parts.is_last() {
            true => layer.lines,
            false => Place::new(keys.last_possible(), layer.lines).line(),
        };
        for some in keys.rest_from(units.end, layer.lines) {
            carried.extend(some)?;
        }
        let threads = parts.threads.min((keys.len() / WORTH_A_THREAD) as usize + 1);
        let lanes: Vec<Mutex<&mut Lane>> = next.lanes(threads).iter_mut().map(Mutex::new).collect();
        let shared = Mutex::new(&mut units);
        try_on_threads(threads, |i| {
            let mut solver = Solver::<W, H, N, S>::new();
            let mut next = lanes[i].lock().unwrap_or_else(|e| e.into_inner());
            loop {
                let unit = shared.lock().unwrap_or_else(|e| e.into_inner()).next(shape);
                let Some(unit) = unit else { return Ok(()) };
                let (solver, keys) = (&mut solver, &keys);
                Cpu::in_use().run_narrow(Solve { solver, shape, number, keys, unit, next: &mut next })?;
            }
        })?;
        next.spill()?;
    }
    Ok(())
}

/// The lines that nobody solves yet.
struct Units<'a> {
    lines: &'a mut [u8],
    further: &'a mut [u8],
    first: u64,
    /// Lines from this one on are not solved yet: not all of their keys are known.
    end: u64,
}

impl<'a> Units<'a> {
    fn next(&mut self, shape: &Shape) -> Option<Unit<'a>> {
        let layer = shape.layers.last()?;
        let first = self.first;
        let count = UNIT_LINES.min(self.end.saturating_sub(first));
        if count == 0 {
            return None;
        }
        let words = shape.further_words(layer, first + count) - shape.further_words(layer, first);
        let (lines, rest) = core::mem::take(&mut self.lines).split_at_mut((count * LINE) as usize);
        self.lines = rest;
        let (further, rest) = core::mem::take(&mut self.further).split_at_mut(words as usize * 8);
        self.further = rest;
        self.first += count;
        Some(Unit { first, lines, further })
    }
}
