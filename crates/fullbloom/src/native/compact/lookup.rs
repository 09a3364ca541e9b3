//! Lookups: single keys, and batches in the pipeline.

use super::shape::{LINE, Layer, Shape};
use crate::bits::prefetch;
use crate::kernel::lines::Line;
use crate::kernel::pipeline::{self, Answers, Pipe, Source};
use crate::kernel::systems::{Chunk, KEYS, wrong};
use crate::kernel::{Body, Cpu, Task};
use crate::keys::{KeyHasher, Keys};
use crate::native::pipeline::ones;
use crate::probe::systems::{Place, coefficients, first_z, next_z, second_z, t_of_first, u_of};

/// Arrays up to this many bytes are expected in the second-level cache: their lines are not prefetched.
const NEAR: usize = pipeline::NEAR;

/// A filter's numbers and its array.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) shape: &'a Shape,
    pub(super) bytes: &'a [u8],
}

/// A key at a line.
enum Answer {
    No,
    /// All columns of the line agree; the further columns have not been read.
    Yes,
    /// It belongs to a later layer.
    MovedOn,
}

impl<'a> Data<'a> {
    #[inline(always)]
    fn lines(self) -> &'a [Line] {
        self.bytes.as_chunks().0
    }

    #[inline(always)]
    fn has_further(self) -> bool {
        self.shape.further > 0 || self.shape.layers.first().is_some_and(|layer| !layer.is_even())
    }

    /// Whether a key with this hash may be present.
    #[inline(always)]
    pub(super) fn test(self, cpu: Cpu, hash: u64) -> bool {
        if self.shape.words != 1 {
            return self.test_wide(cpu, hash);
        }
        let z = first_z(hash);
        let Some(layer) = self.shape.layers.first() else { return self.is_listed(hash) };
        let place = Place::new(z, layer.lines);
        let Some(line) = self.lines().get(place.line() as usize) else { return true };
        let t = t_of_first(z);
        let tested = cpu.tested(line, &coefficients::<1>(t));
        if place.priority() < tested.limit {
            return tested.wrong::<1>(place.fingerprint()) == 0 && self.agrees::<1>(cpu, layer, place, t);
        }
        self.test_later::<1>(cpu, hash, t, second_z(t), 1)
    }

    /// For columns of several words.
    #[inline(never)]
    fn test_wide(self, cpu: Cpu, hash: u64) -> bool {
        match self.shape.words {
            2 => self.test_from_first::<2>(cpu, hash),
            4 => self.test_from_first::<4>(cpu, hash),
            _ => self.test_from_first::<8>(cpu, hash),
        }
    }

    #[inline(always)]
    fn test_from_first<const W: usize>(self, cpu: Cpu, hash: u64) -> bool {
        let z = first_z(hash);
        let t = t_of_first(z);
        let Some(layer) = self.shape.layers.first() else { return self.is_listed(hash) };
        match self.at::<W>(cpu, layer, z, t) {
            (Answer::No, _) => false,
            (Answer::Yes, place) => self.agrees::<W>(cpu, layer, place, t),
            (Answer::MovedOn, _) => self.test_later::<W>(cpu, hash, t, second_z(t), 1),
        }
    }

    /// The layers from number `from` on, and the list; `z` belongs to the first of them.
    #[inline(never)]
    fn test_later<const W: usize>(self, cpu: Cpu, hash: u64, t: u64, z: u64, from: usize) -> bool {
        let mut z = z;
        for layer in self.shape.layers.iter().skip(from) {
            match self.at::<W>(cpu, layer, z, t) {
                (Answer::No, _) => return false,
                (Answer::Yes, place) => return self.agrees::<W>(cpu, layer, place, t),
                (Answer::MovedOn, _) => z = next_z(z),
            }
        }
        self.is_listed(hash)
    }

    #[inline(always)]
    fn at<const W: usize>(self, cpu: Cpu, layer: &Layer, z: u64, t: u64) -> (Answer, Place) {
        let place = Place::new(z, layer.lines);
        let Some(line) = self.lines().get((layer.first + place.line()) as usize) else {
            return (Answer::Yes, place); // never: the array has all lines
        };
        let tested = cpu.tested(line, &coefficients::<W>(t));
        let answer = match tested.wrong::<W>(place.fingerprint()) {
            _ if place.priority() >= tested.limit => Answer::MovedOn,
            0 => Answer::Yes,
            _ => Answer::No,
        };
        (answer, place)
    }

    /// Whether the further columns of a line agree with a key.
    #[inline(always)]
    fn agrees<const W: usize>(self, cpu: Cpu, layer: &Layer, place: Place, t: u64) -> bool {
        let columns = self.shape.further_for(layer, place);
        columns == 0 || self.further_agree::<W>(cpu, layer, place, t, columns)
    }

    #[inline(never)]
    fn further_agree<const W: usize>(
        self,
        cpu: Cpu,
        layer: &Layer,
        place: Place,
        t: u64,
        columns: u32,
    ) -> bool {
        let (mut at, mut fingerprint) = (self.shape.further_at(layer, place.line()) as usize, u_of(t) >> 8);
        let coefficients = coefficients::<W>(t);
        let mut bits = columns * W as u32;
        while bits > 0 {
            let used = (u64::from(u8::MAX) >> (8 - bits.min(8))) as u8;
            let mut last = [0; LINE as usize];
            let eight = match self.bytes[at.min(self.bytes.len())..].first_chunk() {
                Some(eight) => eight,
                None => {
                    // The last columns of an array without a list: fewer than eight words follow.
                    let rest = &self.bytes[at.min(self.bytes.len())..];
                    last[..rest.len()].copy_from_slice(rest);
                    &last
                }
            };
            if wrong::<W>(cpu.parities(eight, &coefficients), fingerprint as u8) & used != 0 {
                return false;
            }
            at += LINE as usize;
            fingerprint >>= 8;
            bits = bits.saturating_sub(8);
        }
        true
    }

    /// Whether the list has this hash.
    #[inline(never)]
    fn is_listed(self, hash: u64) -> bool {
        let start = (self.shape.list_first() * LINE) as usize;
        let (list, _) = self.bytes[start.min(self.bytes.len())..].as_chunks::<8>();
        let list = &list[..list.len().min(self.shape.listed as usize)];
        list.binary_search_by_key(&hash, |bytes| u64::from_le_bytes(*bytes)).is_ok()
    }

    /// Prefetches what a lookup of this hash reads first.
    pub(super) fn prefetch(self, hash: u64) {
        if let Some(layer) = self.shape.layers.first() {
            prefetch::read(self.lines(), Place::new(first_z(hash), layer.lines).line() as usize);
        }
    }

    /// Tests all keys; `excepted` says which of those reported present are exceptions.
    pub(super) fn test_batch<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        cpu: Cpu,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
        excepted: impl Fn(u64) -> bool,
    ) {
        match self.shape.words {
            1 => cpu.run(Batch::<_, _, _, 1> { data: self, cpu, source, answers, excepted }),
            2 => cpu.run(Batch::<_, _, _, 2> { data: self, cpu, source, answers, excepted }),
            4 => cpu.run(Batch::<_, _, _, 4> { data: self, cpu, source, answers, excepted }),
            _ => cpu.run(Batch::<_, _, _, 8> { data: self, cpu, source, answers, excepted }),
        }
    }
}

/// A batch, as a task for a kernel.
struct Batch<'a, K: ?Sized, H, E, const W: usize> {
    data: Data<'a>,
    cpu: Cpu,
    source: Source<'a, K, H>,
    answers: Answers<'a>,
    excepted: E,
}

impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, E: Fn(u64) -> bool, const W: usize> Task
    for Batch<'_, K, H, E, W>
{
    type Output = ();

    #[inline(always)]
    fn run<B: Body>(self, kernel: B) {
        let Batch { data, cpu, source, answers, excepted } = self;
        let layer = data.shape.layers.first().copied();
        let pipe = Test::<_, _, W> {
            data,
            kernel,
            cpu,
            excepted,
            first: layer.unwrap_or(Layer { first: 0, lines: 0, split: 0 }),
            // Without layers the array is the list.
            lines: if layer.is_some() { data.lines() } else { &[] },
            further: data.has_further(),
            far: data.bytes.len() > NEAR,
            waiting: [(0, 0); WAITING],
            tested: 0,
            finished: 0,
        };
        pipeline::collect(pipe, source.wide(B::WIDE), answers);
    }
}

/// Turns between the test of a chunk's lines in the first layer and its answers, at most.
const WAITING: usize = 4;

/// What is known of the keys of a chunk.
#[derive(Clone, Copy)]
struct Slot {
    hashes: [u64; KEYS],
    t: [u64; KEYS],
    places: [Place; KEYS],
    priorities: [u8; KEYS],
    fingerprints: [u8; KEYS],
}

/// Tests keys in three steps: the line of a key is prefetched, then tested; the lines of the next layer and the
/// further columns that this test asks for are prefetched meanwhile, and read in the last step.
struct Test<'a, B, E, const W: usize> {
    data: Data<'a>,
    kernel: B,
    cpu: Cpu,
    excepted: E,
    first: Layer,
    lines: &'a [Line],
    further: bool,
    far: bool,
    /// The keys of a chunk that agree with their line, and those that moved on.
    waiting: [(u64, u64); WAITING],
    tested: usize,
    finished: usize,
}

impl<B: Body, E, const W: usize> Test<'_, B, E, W> {
    /// A key that moved on from the first layer: most are in the second.
    #[inline(always)]
    fn test_second(&self, hash: u64, t: u64) -> bool {
        let Some(layer) = self.data.shape.layers.get(1) else { return self.data.is_listed(hash) };
        let z = second_z(t);
        let place = Place::new(z, layer.lines);
        let Some(line) = self.lines.get((layer.first + place.line()) as usize) else { return true };
        let tested = self.kernel.tested(line, &coefficients::<W>(t));
        if place.priority() < tested.limit {
            let yes = tested.wrong::<W>(place.fingerprint()) == 0;
            return yes && self.data.agrees::<W>(self.cpu, layer, place, t);
        }
        self.data.test_later::<W>(self.cpu, hash, t, next_z(z), 2)
    }
}

impl<B: Body, E: Fn(u64) -> bool, const W: usize> Pipe<KEYS, 8> for Test<'_, B, E, W> {
    type Hash = u64;
    type Slot = Slot;
    const PREPARE: usize = 1;
    const PREFETCH: usize = 4;
    const FINISH: usize = 6;

    #[inline(always)]
    fn empty(&self) -> Slot {
        let places = [Place::new(0, 0); KEYS];
        Slot { hashes: [0; KEYS], t: [0; KEYS], places, priorities: [0; KEYS], fingerprints: [0; KEYS] }
    }

    #[inline(always)]
    fn hashes(slot: &mut Slot) -> &mut [u64; KEYS] {
        &mut slot.hashes
    }

    #[inline(always)]
    fn prepare(&self, slot: &mut Slot) {
        for i in 0..KEYS {
            let z = first_z(slot.hashes[i]);
            slot.places[i] = Place::new(z, self.first.lines);
            slot.t[i] = t_of_first(z);
        }
        for i in 0..KEYS {
            slot.priorities[i] = slot.places[i].priority();
            slot.fingerprints[i] = slot.places[i].fingerprint();
        }
        if self.far {
            for place in &slot.places {
                prefetch::address(self.lines.as_ptr().wrapping_add(place.line() as usize).cast());
            }
        }
    }

    #[inline(always)]
    fn prefetch(&mut self, slot: &Slot) {
        const NOWHERE: &Line = &[0; LINE as usize];
        let line = |place: Place| self.lines.get(place.line() as usize).unwrap_or(NOWHERE);
        let (agree, here) = self.kernel.test_chunk::<W>(&Chunk {
            lines: slot.places.map(line),
            t: &slot.t,
            fingerprints: &slot.fingerprints,
            priorities: &slot.priorities,
        });
        let (yes, moved) = (agree & here, !here & (u64::MAX >> (64 - KEYS)));
        self.waiting[self.tested % WAITING] = (yes, moved);
        self.tested += 1;
        if !self.far {
            return;
        }
        if let Some(next) = self.data.shape.layers.get(1) {
            for i in ones(moved) {
                let line = next.first + Place::new(second_z(slot.t[i]), next.lines).line();
                prefetch::address(self.lines.as_ptr().wrapping_add(line as usize).cast());
            }
        }
        if self.further {
            for i in ones(yes) {
                let shape = self.data.shape;
                let line = slot.places[i].line();
                let at = shape.further_at(&self.first, line) as usize;
                let len = shape.further_of(&self.first, line) as usize * W * 8;
                for step in (0..len).step_by(LINE as usize).chain([len.max(1) - 1]) {
                    prefetch::address(self.data.bytes.as_ptr().wrapping_add(at + step));
                }
            }
        }
    }

    #[inline(always)]
    fn finish(&mut self, slot: &Slot, _: &Slot, count: usize) -> u64 {
        let (mut yes, moved) = self.waiting[self.finished % WAITING];
        self.finished += 1;
        let keys = u64::MAX >> (64 - count);
        if self.further {
            for i in ones(yes & keys) {
                let agrees = self.data.agrees::<W>(self.cpu, &self.first, slot.places[i], slot.t[i]);
                yes &= !(u64::from(!agrees) << i);
            }
        }
        for i in ones(moved & keys) {
            yes |= u64::from(self.test_second(slot.hashes[i], slot.t[i])) << i;
        }
        let found = yes & keys;
        ones(found).filter(|&i| (self.excepted)(slot.hashes[i])).fold(yes, |yes, i| yes & !(1 << i))
    }
}
