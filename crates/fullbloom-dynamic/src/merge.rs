//! Listing the fingerprints, and merging filters.

use super::filter::{DynamicFilter, MANY, Store};
use super::lines;
use super::options::Mode;
use super::shape::Shape;
use super::shards::Shards;
use crate::slots::MAX_SLOTS;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use fullbloom_core::error::{MergeError, SizeError};
use fullbloom_core::memory;
use fullbloom_core::native::key_type;

/// One fingerprint of a [`DynamicFilter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The hash of its key, of which the last bits are unknown and given as zeros: as a hash it stands for
    /// this key in filters of the same kind, seed or secret, whose fingerprints are not longer.
    pub hash: u64,
    /// How often it was inserted; 1 unless the filter counts.
    pub count: u64,
    /// How many generations ago it was inserted; 0 unless the filter expires.
    pub age: u64,
}

/// The fingerprints of a [`DynamicFilter`] in ascending order; see [`DynamicFilter::fingerprints`].
#[derive(Debug)]
pub struct Fingerprints<'a, S>(Items<'a, S>);

impl<S: AsRef<[u8]>> Iterator for Fingerprints<'_, S> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        let item = self.0.next()?;
        let filter = self.0.filter;
        let DynamicFilter { plan, clock, .. } = filter;
        let (fingerprint, tag) = (item >> plan.tag, item & ((1 << plan.tag) - 1));
        Some(Fingerprint {
            hash: fingerprint << (64 - plan.bits),
            count: filter.count_of(tag, fingerprint),
            age: clock.as_ref().map_or(0, |clock| clock.age(tag)),
        })
    }
}

/// Groups of lines of a file that are read at once.
const GROUPS: u64 = 64;

/// Memory for rewriting a filter with this many keys, beside that of its lines: the items of a few shards.
pub(crate) fn working(keys: u64) -> u64 {
    keys.saturating_mul(64).min(8 << 20)
}

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// The fingerprints of all keys that have not expired, in ascending order. Keys with equal fingerprints
    /// have one.
    ///
    /// # Errors
    /// If there is no memory for the fingerprints of one shard, about a megabyte.
    pub fn fingerprints(&self) -> Result<Fingerprints<'_, S>, SizeError> {
        Ok(Fingerprints(Items::new(self)?))
    }

    /// The most items that [`items`](Self::items) reads at once, and what reading them needs for a moment.
    pub(crate) fn most_items(&self) -> usize {
        lines::MORE
            + match &self.store {
                Store::Shards(shards) => shards.most_keys(),
                Store::Flat(flat) => {
                    flat.listed + (GROUPS * (super::shape::GROUP + 1)) as usize * MAX_SLOTS as usize
                }
            }
    }

    /// Replaces `items` by those of the next shard, or of the next groups of lines; false after the last. A
    /// vector with room for [`most_items`](Self::most_items) does not grow.
    pub(crate) fn items(&self, next: &mut u64, items: &mut Vec<u64>) -> Result<bool, SizeError> {
        items.clear();
        match &self.store {
            Store::Shards(shards) => {
                if *next as usize >= shards.entries() {
                    return Ok(false);
                }
                *next = shards.read_at(*next as usize, items)? as u64;
            }
            Store::Flat(flat) => {
                let groups = *next..(*next + GROUPS).min(flat.shape.overflow.lines);
                if groups.is_empty() {
                    return Ok(false);
                }
                *next = groups.end;
                let Shape { tag, overflow, .. } = &flat.shape;
                let (mut free, end) = (overflow.base(groups.start) << tag, overflow.base(groups.end) << tag);
                lines::read(&**flat, &flat.shape, groups, items);
                // Of a file that was not checked, only what is in order is listed.
                items.retain(|item| {
                    let is_in_order = (free..end).contains(item);
                    free = if is_in_order { item + 1 } else { free };
                    is_in_order
                });
            }
        }
        Ok(true)
    }

    /// A copy of the fingerprints in shards.
    pub(crate) fn copied_shards(&self) -> Result<Shards, SizeError> {
        let plan = self.plan;
        let now = self.clock.as_ref().map_or(0, |clock| clock.generation());
        match &self.store {
            Store::Flat(flat)
                if flat.is_checked && self.clock.as_ref().is_none_or(|clock| clock.is_current()) =>
            {
                Shards::from_lines(plan.bits, plan.tag, flat.depth, &**flat, &flat.shape, now)
            }
            _ => {
                let mut shards =
                    Shards::new(plan.bits, plan.tag, self.distinct().max(self.head.expected_keys))?;
                memory::require(working(self.distinct()))?;
                shards.fill_sorted(&mut Items::new(self)?, now)?;
                Ok(shards)
            }
        }
    }
}

/// All live items of a filter, in order.
#[derive(Debug)]
pub(crate) struct Items<'a, S> {
    filter: &'a DynamicFilter<S>,
    next: u64,
    /// Those of one shard, or of some groups of lines, and how many of them were returned.
    items: Vec<u64>,
    at: usize,
}

impl<'a, S: AsRef<[u8]>> Items<'a, S> {
    /// The memory for all further steps is allocated here, so that they cannot fail.
    pub(crate) fn new(filter: &'a DynamicFilter<S>) -> Result<Self, SizeError> {
        Ok(Items { filter, next: 0, items: memory::vec_of(filter.most_items())?, at: 0 })
    }
}

impl<S: AsRef<[u8]>> Iterator for Items<'_, S> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let tags = (1 << self.filter.plan.tag) - 1;
        loop {
            while let Some(item) = self.items.get(self.at) {
                self.at += 1;
                if self.filter.is_live(item & tags) {
                    return Some(*item);
                }
            }
            self.at = 0;
            let more = self.filter.items(&mut self.next, &mut self.items);
            // Not an early end: keys would be lost without a word.
            if !more.expect("`new` made room for the items of every shard") {
                return None;
            }
        }
    }
}

impl DynamicFilter {
    /// Adds all keys of another filter with the same hash and the same mode.
    ///
    /// If the fingerprints of the two have different lengths, the longer ones are shortened, and the filter
    /// keeps its rate up to a lower number of keys; [`fpr_with`](Self::fpr_with) states it. Counts are added.
    /// A key in two filters with expiry keeps the later time; both clocks are set to the later one before.
    /// The memory of the result is there beside the old one for a moment.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &DynamicFilter<T>) -> Result<(), MergeError> {
        self.mergeable(other)?;
        self.advance_millis(other.time_millis())?;
        let bits = self.plan.bits.min(other.plan.bits);
        let tag = self.plan.tag;
        let expected = self.distinct().saturating_add(other.distinct());
        let mut shards = Shards::new(bits, tag, expected)?;
        memory::require(working(expected))?;
        let mut merged = Merged {
            ours: Shortened::new(self.fingerprints()?, bits),
            theirs: Shortened::new(other.fingerprints()?, bits),
            their_delay: self
                .clock
                .as_ref()
                .zip(other.clock.as_ref())
                .map_or(0, |(ours, theirs)| ours.generation().saturating_sub(theirs.generation())),
            mode: self.plan.mode,
            bits,
            tag,
            tag_now: self.clock.as_ref().map_or(0, |clock| clock.generation()),
            generations: match self.plan.mode {
                Mode::Expiring(expiry) => expiry.generations.into(),
                _ => 0,
            },
            copies: 0,
            counts: Default::default(),
            by_age: Vec::new(),
        };
        shards.fill_sorted(&mut merged, merged_generation(self))?;
        let Merged { copies, counts, by_age, .. } = merged;
        (self.copies, self.counts) = (copies, counts);
        if let Some(clock) = &mut self.clock {
            clock.rebase();
            clock.set_by_age(&by_age);
        }
        self.head.key_type = key_type::common(self.head.key_type, other.head.key_type);
        self.head.merge_key_field(&other.head);
        self.plan.bits = bits;
        // What the shorter fingerprints can keep.
        let most = ((1u64 << bits) as f64 * self.plan.fpr) as u64;
        self.plan.up_to = self.plan.up_to.min(most);
        self.store = Store::Shards(Box::new(shards));
        Ok(())
    }

    fn mergeable<T: AsRef<[u8]>>(&self, other: &DynamicFilter<T>) -> Result<(), MergeError> {
        let unsupported = |why| Err(MergeError::Unsupported { dialect: "native", why });
        if self.is_locked() || other.is_locked() {
            return unsupported("one is locked: its secret is not known");
        }
        self.head.same_hash(&other.head)?;
        match (&self.plan.mode, &other.plan.mode) {
            (Mode::Expiring(ours), Mode::Expiring(theirs)) if ours != theirs => {
                unsupported("their keys expire after different times")
            }
            (Mode::Expiring(expiry), Mode::Expiring(_)) if expiry.is_by_keys() => {
                unsupported("their keys expire after a number of other keys, which both have counted alone")
            }
            (Mode::Expiring(_), Mode::Expiring(_)) => match (&self.clock, &other.clock) {
                (Some(ours), Some(theirs)) if ours.origin != theirs.origin => {
                    unsupported("the clock of one was set back")
                }
                _ => Ok(()),
            },
            (Mode::Set, Mode::Set) | (Mode::Counting, Mode::Counting) => Ok(()),
            (ours, theirs) => MergeError::require_equal("mode", ours.name(), theirs.name()),
        }
    }
}

fn merged_generation(filter: &DynamicFilter) -> u64 {
    filter.clock.as_ref().map_or(0, |clock| clock.generation())
}

/// Fingerprints of fewer bits: those that become equal are one.
struct Shortened<I: Iterator<Item = Fingerprint>> {
    from: core::iter::Peekable<I>,
    mask: u64,
}

impl<I: Iterator<Item = Fingerprint>> Shortened<I> {
    fn new(from: I, bits: u32) -> Self {
        Shortened { from: from.peekable(), mask: !(u64::MAX >> bits) }
    }

    fn peek(&mut self) -> Option<u64> {
        let mask = self.mask;
        self.from.peek().map(|next| next.hash & mask)
    }
}

impl<I: Iterator<Item = Fingerprint>> Iterator for Shortened<I> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        let mask = self.mask;
        let mut one = self.from.next()?;
        one.hash &= mask;
        while let Some(equal) = self.from.next_if(|next| next.hash & mask == one.hash) {
            one = joined(one, equal);
        }
        Some(one)
    }
}

/// Two fingerprints that are equal, as one.
fn joined(one: Fingerprint, other: Fingerprint) -> Fingerprint {
    let count = one.count.saturating_add(other.count);
    Fingerprint { hash: one.hash, count, age: one.age.min(other.age) }
}

/// The items of two filters in order.
struct Merged<A: Iterator<Item = Fingerprint>, B: Iterator<Item = Fingerprint>> {
    ours: Shortened<A>,
    theirs: Shortened<B>,
    /// Generations by which the other filter's clock is late.
    their_delay: u64,
    mode: Mode,
    bits: u32,
    tag: u32,
    tag_now: u64,
    generations: u64,
    copies: u64,
    counts: alloc::collections::BTreeMap<u64, u64>,
    by_age: Vec<u64>,
}

impl<A: Iterator<Item = Fingerprint>, B: Iterator<Item = Fingerprint>> Merged<A, B> {
    fn their_next(&mut self) -> Option<Fingerprint> {
        let next = self.theirs.next()?;
        Some(Fingerprint { age: next.age + self.their_delay, ..next })
    }

    fn next_fingerprint(&mut self) -> Option<Fingerprint> {
        let (Some(ours), Some(theirs)) = (self.ours.peek(), self.theirs.peek()) else {
            return self.ours.next().or_else(|| self.their_next());
        };
        match ours.cmp(&theirs) {
            Ordering::Less => self.ours.next(),
            Ordering::Greater => self.their_next(),
            Ordering::Equal => self.ours.next().zip(self.their_next()).map(|(one, other)| joined(one, other)),
        }
    }
}

impl<A: Iterator<Item = Fingerprint>, B: Iterator<Item = Fingerprint>> Iterator for Merged<A, B> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let next = self.next_fingerprint()?;
            if next.age > self.generations {
                continue;
            }
            let fingerprint = next.hash >> (64 - self.bits);
            self.copies = self.copies.saturating_add(next.count);
            let tag = match self.mode {
                Mode::Set => 0,
                Mode::Counting => {
                    if next.count > MANY {
                        self.counts.insert(fingerprint, next.count);
                    }
                    (next.count - 1).min(MANY)
                }
                Mode::Expiring(_) => {
                    let age = next.age as usize;
                    self.by_age.resize(self.by_age.len().max(age + 1), 0);
                    self.by_age[age] += 1;
                    self.tag_now.wrapping_sub(next.age) & ((1 << self.tag) - 1)
                }
            };
            return Some(fingerprint << self.tag | tag);
        }
    }
}
