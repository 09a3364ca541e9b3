//! Lookups of many keys: groups of 64 in the pipeline.
//!
//! ```text
//!   one turn:   hash group i+2, find its lines
//!               test group i+1 in the first layer, prefetching the lines of group i+2;
//!                  find and prefetch what bumped keys and keys that agree read next
//!               test group i in the second layer and in the further columns
//! ```
//!
//! The first test has no branch. One key in seven is bumped; few of them go beyond the second layer.

use super::lookup::Data;
use super::shape::Layer;
use crate::kernel::{Found, GROUP, Keys, Systems, prefetch_line};
use crate::probe::{MAX_LINES, Place, second_z, t_of_first};
use fullbloom_core::bits::prefetch;
use fullbloom_core::kernel::lines::Line;
use fullbloom_core::kernel::pipeline::{self, Answers, Pipe, Source, ones};
use fullbloom_core::kernel::{Cpu, Task};
use fullbloom_core::keys::{self, KeyHasher};

/// Groups in the pipeline.
const SLOTS: usize = 4;

/// Groups between the first layer and the end.
const WAITING: usize = 2;

impl Data<'_> {
    /// Tests all keys; `excepted` says which of those reported present are exceptions, if there are any.
    pub(crate) fn test_batch<K: keys::Keys<H> + ?Sized, H: KeyHasher<Hash = u64>>(
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

/// A batch, compiled for the CPU.
struct Batch<'a, K: ?Sized, H, E, const W: usize> {
    data: Data<'a>,
    source: Source<'a, K, H>,
    answers: Answers<'a>,
    excepted: Option<E>,
}

impl<K: keys::Keys<H> + ?Sized, H: KeyHasher<Hash = u64>, E: Fn(u64) -> bool, const W: usize, B: Systems>
    Task<B> for Batch<'_, K, H, E, W>
{
    type Output = ();

    #[inline(always)]
    fn run(self, kernel: B) {
        let Batch { data, source, answers, excepted } = self;
        let none = Layer { first: 0, lines: 0, split: 0 };
        let layers = &data.shape.layers;
        let pipe = Test::<_, _, W> {
            kernel,
            data,
            excepted,
            first: layers.first().copied().unwrap_or(none),
            second: layers.get(1).copied().unwrap_or(none),
            // Without layers the array is the list.
            lines: if layers.is_empty() { &[] } else { data.lines() },
            further: data.has_further(),
            waiting: [Tested::NOTHING; WAITING],
            tested: 0,
            finished: 0,
        };
        pipeline::collect(pipe, source.wide(B::WIDE), answers);
    }
}

/// What follows from the hashes of a group.
#[derive(Clone, Copy)]
struct Slot {
    hashes: [u64; GROUP],
    t: [u64; GROUP],
    places: [Place; GROUP],
}

/// A group after the first layer.
#[derive(Clone, Copy)]
struct Tested {
    /// The keys that agree with their line, and those that are bumped.
    yes: u64,
    bumped: u64,
    /// Of the bumped keys: `t`, and the places in the second layer.
    t: [u64; GROUP],
    places: [Place; GROUP],
}

impl Tested {
    const NOTHING: Tested = Tested { yes: 0, bumped: 0, t: [0; GROUP], places: [Place::NOWHERE; GROUP] };
}

/// Tests the keys of one filter.
struct Test<'a, E, B, const W: usize> {
    kernel: B,
    data: Data<'a>,
    excepted: Option<E>,
    first: Layer,
    second: Layer,
    lines: &'a [Line],
    further: bool,
    /// The groups that were tested in the first layer only.
    waiting: [Tested; WAITING],
    /// How many were tested there, and how many are finished.
    tested: usize,
    finished: usize,
}

impl<E, B: Systems, const W: usize> Test<'_, E, B, W> {
    /// The keys that agree with their line of the first layer, and those that are bumped.
    #[inline(always)]
    fn test_first(&self, slot: &Slot, next: &Slot) -> (u64, u64) {
        let keys = Keys { places: &slot.places, t: &slot.t };
        let Found { agree, bumped } = self.kernel.find::<W>(self.lines, keys, &next.places);
        (agree & !bumped, bumped)
    }

    /// Prefetches the further columns of a key that agrees with its line: the first and the last of them. Few
    /// filters have columns between these two cache lines.
    #[inline(always)]
    fn prefetch_further(&self, place: Place) {
        let (shape, line) = (self.data.shape, place.line());
        let at = shape.further_at(&self.first, line) as usize;
        let len = shape.further_of(&self.first, line) as usize * W * 8;
        for step in [0, len.max(1) - 1] {
            prefetch::address(self.data.bytes.as_ptr().wrapping_add(at + step));
        }
    }

    /// Of the bumped keys, those that are present.
    #[inline(always)]
    fn test_bumped(&self, slot: &Slot, tested: &Tested) -> u64 {
        if self.second.lines == 0 {
            let listed = |i: &usize| self.data.is_listed(slot.hashes[*i]);
            return ones(tested.bumped).filter(listed).fold(0, |yes, i| yes | 1 << i);
        }
        let keys = Keys { places: &tested.places, t: &tested.t };
        let count = tested.bumped.count_ones();
        let lines = &self.lines[self.second.first as usize..];
        let Found { agree, bumped } = self.kernel.find_first::<W>(lines, keys, count as usize);
        let mut yes = agree & !bumped & u64::MAX.checked_shr(64 - count).unwrap_or(0);
        if self.further {
            for i in ones(yes) {
                let agrees =
                    self.data.agrees_now::<W>(self.kernel, &self.second, tested.places[i], tested.t[i]);
                yes &= !(u64::from(!agrees) << i);
            }
        }
        let mut yes = self.kernel.unpack(yes, tested.bumped);
        for i in ones(self.kernel.unpack(bumped, tested.bumped)) {
            yes |= u64::from(self.data.test_after_second::<W>(slot.hashes[i], slot.t[i])) << i;
        }
        yes
    }
}

impl<E: Fn(u64) -> bool, B: Systems, const W: usize> Pipe<GROUP, SLOTS> for Test<'_, E, B, W> {
    type Hash = u64;
    type Slot = Slot;
    const PREPARE: usize = 0;
    const PREFETCH: usize = 1;
    const FINISH: usize = 2;
    const PREFETCH_KEYS: bool = true;

    #[inline(always)]
    fn empty(&self) -> Slot {
        Slot { hashes: [0; GROUP], t: [0; GROUP], places: [Place::NOWHERE; GROUP] }
    }

    #[inline(always)]
    fn hashes(slot: &mut Slot) -> &mut [u64; GROUP] {
        &mut slot.hashes
    }

    #[inline(always)]
    fn prepare(&self, slot: &mut Slot) {
        // There are never more, but LLVM does not know it: products of 32 bits are enough.
        let lines = self.first.lines & MAX_LINES;
        for i in 0..GROUP {
            slot.places[i] = Place::new(slot.hashes[i], lines);
            slot.t[i] = t_of_first(slot.hashes[i]);
        }
    }

    #[inline(always)]
    fn prefetch(&mut self, slot: &Slot, next: &Slot) {
        let (yes, bumped) = self.test_first(slot, next);
        if self.further {
            ones(yes).for_each(|i| self.prefetch_further(slot.places[i]));
        }
        let tested = &mut self.waiting[self.tested % WAITING];
        self.tested += 1;
        (tested.yes, tested.bumped) = (yes, bumped);
        self.kernel.pack(&slot.t, bumped, &mut tested.t);
        let count = bumped.count_ones() as usize;
        // All of them where eight are computed at once: for a variable number, LLVM would gather and scatter.
        let computed = if B::WIDE { GROUP } else { count };
        for (t, place) in tested.t[..computed].iter().zip(&mut tested.places) {
            *place = Place::new(second_z(*t), self.second.lines & MAX_LINES);
        }
        for place in &tested.places[..count] {
            prefetch_line(self.lines, self.second.first + place.line());
        }
    }

    #[inline(always)]
    fn finish(&mut self, slot: &Slot, _: &Slot, count: usize) -> u64 {
        let tested = &self.waiting[self.finished % WAITING];
        self.finished += 1;
        let keys = u64::MAX >> (GROUP - count);
        let mut yes = tested.yes & keys;
        if self.further {
            for i in ones(yes) {
                let agrees = self.data.agrees_now::<W>(self.kernel, &self.first, slot.places[i], slot.t[i]);
                yes &= !(u64::from(!agrees) << i);
            }
        }
        yes |= self.test_bumped(slot, tested);
        let Some(excepted) = &self.excepted else { return yes };
        ones(yes).filter(|&i| excepted(slot.hashes[i])).fold(yes, |yes, i| yes & !(1 << i))
    }
}
