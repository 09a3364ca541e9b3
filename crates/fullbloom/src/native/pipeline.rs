//! Batches: hashes in, answers out, with the lines of later keys on their way while earlier ones are tested.

use super::hashing::Hasher;
use super::keys::Keys;
use super::shape::Shape;
use crate::kernel::counters::{Counted, Counters};
use crate::kernel::lines::{GROUP, Group, Line, Lines as _, prefetch_first};
use crate::probe::lines::Lines;

/// A bit for each of up to 64 keys, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) bits: u64,
    pub(super) len: usize,
}

impl Answers {
    /// The numbers of the keys whose bit is set.
    pub(super) fn ones(self) -> impl Iterator<Item = usize> {
        let mut bits = self.bits;
        std::iter::from_fn(move || {
            let next = bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
            (next < 64).then_some(next as usize)
        })
    }
}

impl Shape {
    /// Hashes the keys from number `start` on and finds the first line of each.
    #[inline(always)]
    fn fill<K: Keys + ?Sized>(&self, keys: &K, hasher: &Hasher, start: usize, group: &mut Group) {
        let len = keys.count().saturating_sub(start).min(GROUP);
        keys.hash_into(hasher, start.min(keys.count()), &mut group.fields[..len]);
        group.set_len(len);
        self.locate(group);
    }

    /// The first line of every place of a group whose fields are hashes.
    pub(super) fn locate(&self, group: &mut Group) {
        if self.layout.lines() == 1 {
            self.cpu.locate(self.blocks, group);
            return;
        }
        group.locate_with(|hash| {
            Lines::new(self.layout, self.blocks, hash).next().map_or(0, |(line, _)| line)
        });
    }

    /// Runs `step` over all groups of keys: with the current group and the next, whose lines may be asked for ahead.
    fn groups<K: Keys + ?Sized>(
        &self,
        keys: &K,
        hasher: &Hasher,
        mut step: impl FnMut(&Group, &Group) -> u64,
        mut sink: impl FnMut(usize, Answers),
    ) {
        let count = keys.count();
        let (mut a, mut b) = (Group::EMPTY, Group::EMPTY);
        let (mut now, mut next) = (&mut a, &mut b);
        self.fill(keys, hasher, 0, now);
        for start in (0..count).step_by(GROUP) {
            self.fill(keys, hasher, start + GROUP, next);
            let bits = step(now, next);
            let len = now.len();
            sink(start, Answers { bits: bits & (u64::MAX >> (GROUP - len)), len });
            std::mem::swap(&mut now, &mut next);
        }
    }

    /// Tests all keys; `sink` gets the number of the first key of each group and the group's answers.
    pub(super) fn test_batch<K: Keys + ?Sized>(
        &self,
        lines: &[Line],
        keys: &K,
        hasher: &Hasher,
        sink: impl FnMut(usize, Answers),
    ) {
        let mut first = true;
        let step = |now: &Group, next: &Group| {
            if std::mem::take(&mut first) {
                prefetch_first(lines, now);
            }
            let answers = self.cpu.test_group(lines, now, next, self.probes);
            if self.layout.lines() == 1 { answers } else { self.test_further(lines, now, answers) }
        };
        self.groups(keys, hasher, step, sink);
    }

    /// Answers as bools, as many as both have.
    #[inline(always)]
    pub(super) fn bools(&self, answers: Answers, out: &mut [bool]) {
        match out.first_chunk_mut() {
            Some(whole) if answers.len == GROUP => self.cpu.spread(answers.bits, whole),
            _ => {
                for (i, answer) in out.iter_mut().take(answers.len).enumerate() {
                    *answer = answers.bits >> i & 1 != 0;
                }
            }
        }
    }

    /// The further lines of the keys that their first line did not tell absent: few, unless the keys are present.
    fn test_further(&self, lines: &[Line], now: &Group, first: u64) -> u64 {
        let mut left = first;
        for number in 1..self.layout.lines() as usize {
            let mut group = Group::EMPTY;
            let keys = Answers { bits: left, len: GROUP };
            let mut owners = [0u8; GROUP];
            for (place, key) in keys.ones().take_while(|&key| key < now.len()).enumerate() {
                let further = Lines::new(self.layout, self.blocks, now.fields[key]).nth(number);
                let (line, fields) = further.unwrap_or_default();
                group.push(line, fields);
                owners[place] = key as u8;
            }
            if group.len() == 0 {
                return 0;
            }
            prefetch_first(lines, &group);
            let passed = self.cpu.test_group(lines, &group, &Group::EMPTY, self.probes);
            left = Answers { bits: passed & (u64::MAX >> (GROUP - group.len())), len: group.len() }
                .ones()
                .fold(0, |left, place| left | 1 << owners[place]);
        }
        left
    }

    /// Inserts all keys in order; `sink` gets which of them changed a bit.
    pub(super) fn set_batch<K: Keys + ?Sized>(
        &self,
        lines: &mut [Line],
        keys: &K,
        hasher: &Hasher,
        sink: impl FnMut(usize, Answers),
    ) {
        let step = |now: &Group, next: &Group| {
            let mut changed = self.cpu.set_group(lines, now, next, self.probes);
            for further in self.further(now) {
                prefetch_first(lines, &further);
                changed |= self.cpu.set_group(lines, &further, &Group::EMPTY, self.probes);
            }
            changed
        };
        self.groups(keys, hasher, step, sink);
    }

    /// As [`set_batch`](Self::set_batch), counting the keys of each bit.
    pub(super) fn count_batch<K: Keys + ?Sized>(
        &self,
        lines: &mut [Line],
        counters: &mut [Counters],
        keys: &K,
        hasher: &Hasher,
        sink: impl FnMut(usize, Answers),
    ) {
        let step = |now: &Group, next: &Group| {
            let mut add = |now: &Group, next: &Group| {
                Counted { lines, counters, probes: self.probes }.add_group(self.cpu, now, next)
            };
            let changed = add(now, next);
            self.further(now).fold(changed, |changed, further| changed | add(&further, &Group::EMPTY))
        };
        self.groups(keys, hasher, step, sink);
    }

    /// The second lines of all keys, the third, and so on. They lie in regions of their own, so that it is in order, too, to
    /// fill one region after the other.
    fn further<'a>(&'a self, now: &'a Group) -> impl Iterator<Item = Group> + 'a {
        (1..self.layout.lines() as usize).map(|number| {
            let mut group = Group::EMPTY;
            for &hash in &now.fields[..now.len()] {
                let further = Lines::new(self.layout, self.blocks, hash).nth(number);
                let (line, fields) = further.unwrap_or_default();
                group.push(line, fields);
            }
            group
        })
    }
}
