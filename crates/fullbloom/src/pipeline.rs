//! Batches of native filters: groups of 64 keys; the next group is hashed and prefetched while one is tested.

use crate::native::Native;
use fullbloom_core::kernel::lines::{GROUP, Group, Line, Lines as _, prefetch_first};
use fullbloom_core::kernel::pipeline::{self, Answers, Pipe, Source, ones, put_bools};
use fullbloom_core::keys::Keys;
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::native::head::{lines, lines_mut};
use fullbloom_core::native::shape::Shape;

/// Groups in the pipeline.
const SLOTS: usize = 2;

/// The parts that the pipes of a shape share: `$shape` is an expression of `self`, `$lines` gives the lines
/// to prefetch.
macro_rules! group_pipe {
    ($self:ident, $shape:expr) => {
        type Hash = u64;
        type Slot = Group;
        const PREPARE: usize = 0;
        const PREFETCH: usize = 0;
        const FINISH: usize = 1;
        const PREFETCH_KEYS: bool = true;

        #[inline(always)]
        fn empty(&self) -> Group {
            Group::WHOLE
        }

        #[inline(always)]
        fn hashes(group: &mut Group) -> &mut [u64; GROUP] {
            &mut group.hashes
        }

        #[inline(always)]
        fn prepare(&$self, group: &mut Group) {
            $shape.locate(group);
        }

        #[inline(always)]
        fn bools(&$self, bits: u64) -> [bool; 64] {
            let mut bools = [false; 64];
            $shape.cpu.spread(bits, &mut bools);
            bools
        }
    };
}

/// Tests the keys of one filter.
struct Test<'a> {
    native: &'a Native,
    lines: &'a [Line],
    /// The lines of the first group are prefetched separately, those of later groups while others are tested.
    first: bool,
}

impl Pipe<GROUP, SLOTS> for Test<'_> {
    group_pipe!(self, self.native.shape);

    #[inline(always)]
    fn prefetch(&mut self, group: &Group, _: &Group) {
        if core::mem::take(&mut self.first) {
            prefetch_first(self.lines, group);
        }
    }

    #[inline(always)]
    fn finish(&mut self, now: &Group, next: &Group, count: usize) -> u64 {
        let shape = &self.native.shape;
        let mut answers = shape.cpu.test_group(self.lines, now, next, shape.probes);
        if shape.layout.lines() > 1 {
            answers = shape.test_further(self.lines, now, answers & (u64::MAX >> (GROUP - count)));
        }
        if self.native.head.exceptions.is_some() {
            let excepted = |i: &usize| self.native.head.excepts(now.hashes[*i]);
            answers = ones(answers).filter(excepted).fold(answers, |answers, i| answers & !(1 << i));
        }
        answers
    }
}

/// Tests all keys of a filter that is not locked.
pub(crate) fn test<K: Keys<Hasher> + ?Sized>(native: &Native, bits: &[u8], keys: &K, answers: Answers<'_>) {
    let pipe = Test { native, lines: lines(bits), first: true };
    pipeline::collect(pipe, Source::new(keys, &native.hasher), answers);
}

/// Sets the bits of keys.
struct Set<'a> {
    shape: &'a Shape,
    lines: &'a mut [Line],
}

impl Pipe<GROUP, SLOTS> for Set<'_> {
    group_pipe!(self, self.shape);

    #[inline(always)]
    fn prefetch(&mut self, _: &Group, _: &Group) {}

    #[inline(always)]
    fn finish(&mut self, now: &Group, next: &Group, count: usize) -> u64 {
        let (shape, lines) = (self.shape, &mut *self.lines);
        let short;
        let now = if count == GROUP {
            now
        } else {
            short = now.shortened(count);
            &short
        };
        let mut changed = shape.cpu.set_group(lines, now, next, shape.probes);
        for further in shape.further(now) {
            prefetch_first(lines, &further);
            changed |= shape.cpu.set_group(lines, &further, &Group::EMPTY, shape.probes);
        }
        changed
    }
}

/// Inserts all keys in order; `new` receives which of them changed a bit.
pub(crate) fn set<K: Keys<Hasher> + ?Sized>(
    native: &mut Native,
    bits: &mut [u8],
    keys: &K,
    new: Option<Answers<'_>>,
) {
    let Native { shape, hasher, head } = native;
    let lines = lines_mut(bits);
    let count = if new.is_none() && shape.layout.lines() == 1 && shape.cpu.inserts_one_by_one(lines) {
        let mut hashes = [0; GROUP];
        let mut count = 0;
        for start in (0..keys.count()).step_by(GROUP) {
            let hashes = &mut hashes[..(keys.count() - start).min(GROUP)];
            keys.hash_into(hasher, start, hashes, false);
            count += shape.cpu.set_part(lines, 0, shape.blocks, hashes, shape.probes);
        }
        count
    } else {
        insert(Set { shape, lines }, Source::new(keys, hasher), new)
    };
    head.keys = head.keys.saturating_add(count);
}

/// Passes keys through a pipe that inserts them. Returns how many were new.
fn insert<P: Pipe<GROUP, SLOTS, Hash = u64>, K: Keys<Hasher> + ?Sized>(
    mut pipe: P,
    source: Source<'_, K, Hasher>,
    new: Option<Answers<'_>>,
) -> u64 {
    let mut count = 0;
    match new {
        None => pipeline::run(&mut pipe, source, |_, _, bits, _| count += u64::from(bits.count_ones())),
        Some(Answers::Bools(bools)) => pipeline::run(&mut pipe, source, |pipe, start, bits, len| {
            count += u64::from(bits.count_ones());
            put_bools(pipe, bits, &mut bools[start..], len);
        }),
        Some(Answers::Bits(words)) => pipeline::run(&mut pipe, source, |_, start, bits, _| {
            count += u64::from(bits.count_ones());
            words[start / 64] = bits;
        }),
    }
    count
}
