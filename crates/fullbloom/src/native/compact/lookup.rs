//! Lookups: single keys, and batches in the pipeline.

use super::shape::{LINE, Layer, Shape};
use crate::bits::prefetch;
use crate::kernel::lines::Line;
use crate::kernel::pipeline::{self, Answers, CHUNK, Pipe, RING, Source};
use crate::kernel::{Body, Cpu, Task};
use crate::keys::{KeyHasher, Keys};
use crate::native::pipeline::ones;
use crate::probe::systems::{
    LIMIT, Picks, Place, coefficients, first_z, next_z, picks, second_z, sums, t_of_first, u_of,
};

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
    pub(super) fn test(self, hash: u64) -> bool {
        if self.shape.words != 1 {
            return self.test_wide(hash);
        }
        self.test_from_first::<1>(hash)
    }

    /// For columns of several parts.
    #[inline(never)]
    fn test_wide(self, hash: u64) -> bool {
        match self.shape.words {
            2 => self.test_from_first::<2>(hash),
            4 => self.test_from_first::<4>(hash),
            _ => self.test_from_first::<8>(hash),
        }
    }

    #[inline(always)]
    fn test_from_first<const W: usize>(self, hash: u64) -> bool {
        let z = first_z(hash);
        let t = t_of_first(z);
        let Some(layer) = self.shape.layers.first() else { return self.is_listed(hash) };
        match self.at::<W>(layer, z, t) {
            (Answer::No, _) => false,
            (Answer::Yes, place) => self.agrees::<W>(layer, place, t),
            (Answer::MovedOn, _) => self.test_later::<W>(hash, t),
        }
    }

    /// The layers after the first, and the list.
    #[inline(always)]
    fn test_later<const W: usize>(self, hash: u64, t: u64) -> bool {
        test_later::<W>(self.shape, self.bytes, hash, t)
    }

    #[inline(always)]
    fn at<const W: usize>(self, layer: &Layer, z: u64, t: u64) -> (Answer, Place) {
        let place = Place::new(z, layer.lines);
        let Some(line) = self.lines().get((layer.first + place.line()) as usize) else {
            return (Answer::Yes, place); // never: the array has all lines
        };
        let agrees = sums::<W>(line, &picks::<W>(t)) == place.fingerprint::<W>();
        let answer = match agrees {
            _ if place.priority() >= line[LIMIT] => Answer::MovedOn,
            true => Answer::Yes,
            false => Answer::No,
        };
        (answer, place)
    }

    /// Whether the further columns of a line agree with a key.
    #[inline(always)]
    fn agrees<const W: usize>(self, layer: &Layer, place: Place, t: u64) -> bool {
        let columns = self.shape.further_for(layer, place) as usize;
        columns == 0 || further_agree_of_one::<W>(self.further(layer, place), t, columns)
    }

    /// The further columns of a line, and what follows them.
    #[inline(always)]
    fn further(self, layer: &Layer, place: Place) -> &'a [u8] {
        let at = self.shape.further_at(layer, place.line()) as usize;
        &self.bytes[at.min(self.bytes.len())..]
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

    /// Tests all keys; `excepted` says which of those reported present are exceptions, if there are any.
    pub(super) fn test_batch<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
        self,
        cpu: Cpu,
        source: Source<'_, K, H>,
        answers: Answers<'_>,
        excepted: Option<impl Fn(u64) -> bool>,
    ) {
        match self.shape.words {
            1 => cpu.run(Batch::<_, _, _, 1> { data: self, source, answers, excepted }),
            2 => cpu.run(Batch::<_, _, _, 2> { data: self, source, answers, excepted }),
            4 => cpu.run(Batch::<_, _, _, 4> { data: self, source, answers, excepted }),
            _ => cpu.run(Batch::<_, _, _, 8> { data: self, source, answers, excepted }),
        }
    }
}

/// The layers after the first, and the list. Few arguments: what is passed in memory would be stored for
/// every key.
#[inline(never)]
fn test_later<const W: usize>(shape: &Shape, bytes: &[u8], hash: u64, t: u64) -> bool {
    let (data, mut z) = (Data { shape, bytes }, second_z(t));
    for layer in shape.layers.iter().skip(1) {
        match data.at::<W>(layer, z, t) {
            (Answer::No, _) => return false,
            (Answer::Yes, place) => return data.agrees::<W>(layer, place, t),
            (Answer::MovedOn, _) => z = next_z(z),
        }
    }
    data.is_listed(hash)
}

/// [`further_agree`] for single keys: most of them do not come here.
#[inline(never)]
fn further_agree_of_one<const W: usize>(bytes: &[u8], t: u64, columns: usize) -> bool {
    further_agree::<W>(bytes, t, columns)
}

/// Whether the first further columns in these bytes agree with a key.
#[inline(always)]
fn further_agree<const W: usize>(bytes: &[u8], t: u64, columns: usize) -> bool {
    let (words, _) = bytes.as_chunks::<8>().0.as_chunks::<W>();
    let (coefficients, mut fingerprint) = (coefficients::<W>(&picks::<W>(t)), u_of(t) >> 8);
    let mut wrong = 0;
    for column in words.iter().take(columns) {
        let parts = column.iter().zip(coefficients);
        let sum = parts.fold(0, |sum, (part, chosen)| sum ^ u64::from_le_bytes(*part) & chosen);
        wrong |= u64::from(sum.count_ones() & 1) ^ fingerprint;
        fingerprint >>= W;
    }
    wrong & 1 == 0
}

/// A batch, compiled for the CPU.
struct Batch<'a, K: ?Sized, H, E, const W: usize> {
    data: Data<'a>,
    source: Source<'a, K, H>,
    answers: Answers<'a>,
    excepted: Option<E>,
}

impl<K: Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, E: Fn(u64) -> bool, const W: usize> Task
    for Batch<'_, K, H, E, W>
{
    type Output = ();

    #[inline(always)]
    fn run<B: Body>(self, _: B) {
        let Batch { data, source, answers, excepted } = self;
        let layer = data.shape.layers.first().copied();
        let pipe = Test::<_, W> {
            data,
            excepted,
            first: layer.unwrap_or(Layer { first: 0, lines: 0, split: 0 }),
            // Without layers the array is the list.
            lines: if layer.is_some() { data.lines() } else { &[] },
            further: data.has_further(),
            far: !pipeline::is_near(data.bytes.len()),
            waiting: [(0, 0); WAITING],
            tested: 0,
            finished: 0,
        };
        pipeline::collect(pipe, source.wide(B::WIDE), answers);
    }
}

/// Turns between the test of a chunk's lines in the first layer and its answers, at most.
const WAITING: usize = 4;

/// What follows from the hashes of a chunk.
#[derive(Clone, Copy)]
struct Slot {
    hashes: [u64; CHUNK],
    places: [Place; CHUNK],
    picks: [Picks; CHUNK],
}

impl Slot {
    #[inline(always)]
    fn t(&self, i: usize) -> u64 {
        t_of_first(first_z(self.hashes[i]))
    }
}

/// Tests keys in three steps: the line of a key is prefetched, then tested; the lines of the next layer and
/// the further columns that this test asks for are prefetched meanwhile, and read in the last step.
struct Test<'a, E, const W: usize> {
    data: Data<'a>,
    excepted: Option<E>,
    first: Layer,
    lines: &'a [Line],
    further: bool,
    far: bool,
    /// The keys of a chunk that agree with their line, and those that moved on.
    waiting: [(u64, u64); WAITING],
    tested: usize,
    finished: usize,
}

impl<E: Fn(u64) -> bool, const W: usize> Pipe<CHUNK, RING> for Test<'_, E, W> {
    type Hash = u64;
    type Slot = Slot;
    const PREPARE: usize = 1;
    const PREFETCH: usize = 5;
    const FINISH: usize = 7;

    #[inline(always)]
    fn empty(&self) -> Slot {
        Slot { hashes: [0; CHUNK], places: [Place::new(0, 0); CHUNK], picks: [[0; 8]; CHUNK] }
    }

    #[inline(always)]
    fn hashes(slot: &mut Slot) -> &mut [u64; CHUNK] {
        &mut slot.hashes
    }

    #[inline(always)]
    fn prepare(&self, slot: &mut Slot) {
        let mut t = [0; CHUNK];
        for ((place, t), hash) in slot.places.iter_mut().zip(&mut t).zip(slot.hashes) {
            let z = first_z(hash);
            *place = Place::new(z, self.first.lines);
            *t = t_of_first(z);
        }
        slot.picks = t.map(picks::<W>);
        if self.far {
            for place in &slot.places {
                prefetch::address(self.lines.as_ptr().wrapping_add(place.line() as usize).cast());
            }
        }
    }

    #[inline(always)]
    fn prefetch(&mut self, slot: &Slot) {
        let (mut agree, mut moved) = (0, 0);
        for i in (0..CHUNK).rev() {
            const NOWHERE: &Line = &[0; LINE as usize];
            let place = slot.places[i];
            let line = self.lines.get(place.line() as usize).unwrap_or(NOWHERE);
            // One bit after the other: of shifts by different counts, LLVM makes vectors, and fills them byte
            // by byte.
            agree = agree << 1 | u64::from(sums::<W>(line, &slot.picks[i]) == place.fingerprint::<W>());
            moved = moved << 1 | u64::from(place.priority() >= line[LIMIT]);
        }
        let yes = agree & !moved;
        self.waiting[self.tested % WAITING] = (yes, moved);
        self.tested += 1;
        if !self.far {
            return;
        }
        if let Some(next) = self.data.shape.layers.get(1) {
            for i in ones(moved) {
                let line = next.first + Place::new(second_z(slot.t(i)), next.lines).line();
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
                let (place, shape) = (slot.places[i], self.data.shape);
                let columns = shape.further_for(&self.first, place) as usize;
                let bytes = self.data.further(&self.first, place);
                yes &= !(u64::from(!further_agree::<W>(bytes, slot.t(i), columns)) << i);
            }
        }
        for i in ones(moved & keys) {
            yes |= u64::from(self.data.test_later::<W>(slot.hashes[i], slot.t(i))) << i;
        }
        let Some(excepted) = &self.excepted else { return yes };
        let found = ones(yes & keys);
        found.filter(|&i| excepted(slot.hashes[i])).fold(yes, |yes, i| yes & !(1 << i))
    }
}
