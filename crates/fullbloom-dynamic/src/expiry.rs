//! Expiry: the clock of a filter, the generations of its keys, and the removal of those that have expired.

use super::filter::{DynamicFilter, Store};
use super::options::{Expiry, Mode};
use super::shards::Position;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::SizeError;
#[cfg(feature = "std")]
use std::time::{Duration, SystemTime};

/// The keys of one step of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// When it began, in milliseconds since the Unix epoch, or in keys inserted before it.
    pub began: u64,
    /// Its keys.
    pub keys: u64,
}

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// The latest time set, in milliseconds since the Unix epoch, or the number of keys inserted; 0 without
    /// expiry.
    pub fn time_millis(&self) -> u64 {
        self.clock.as_ref().map_or(0, |clock| clock.time)
    }

    /// The latest time set.
    #[cfg(feature = "std")]
    pub fn time(&self) -> SystemTime {
        // Times that the system cannot express become the latest one that it certainly can, in the year 2262.
        let latest = i64::MAX as u64 / 1_000_000;
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.time_millis().min(latest))
    }

    /// The generations whose keys have not expired, newest first; none without expiry.
    pub fn generations(&self) -> impl Iterator<Item = Generation> {
        let clock = self.clock.as_ref();
        let counts = clock.map(|clock| clock.by_age()).unwrap_or_default();
        counts.into_iter().enumerate().map(move |(age, keys)| Generation {
            began: clock.map_or(0, |clock| clock.began(age as u64)),
            keys,
        })
    }

    /// Sets the time for a filter whose keys expire by time. Keys that have expired by then are no longer
    /// found, and keys inserted from now on begin at this time. Their memory is freed while further keys are
    /// inserted.
    ///
    /// A clock that goes back by no more than the retention time is treated as standing still until it has
    /// caught up: keys are remembered a little longer. If it goes back further, the earlier time was wrong:
    /// the ages of all keys continue from their current values. A clock that jumps ahead looks like a long
    /// pause, and keys expire.
    ///
    /// # Errors
    /// When there is no memory to drop expired keys from a shard; the time is not changed then.
    #[cfg(feature = "std")]
    pub fn advance(&mut self, now: SystemTime) -> Result<(), SizeError> {
        // Times before the epoch count as the epoch.
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        self.advance_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// As `advance`, in milliseconds since the Unix epoch.
    pub fn advance_millis(&mut self, now: u64) -> Result<(), SizeError> {
        match &self.clock {
            Some(clock) if !clock.expiry.is_by_keys() => self.turn(now),
            _ => Ok(()),
        }
    }

    /// Sets the clock. Shards whose expired keys would be taken for young ones are swept before.
    fn turn(&mut self, now: u64) -> Result<(), SizeError> {
        let Some(clock) = &mut self.clock else { return Ok(()) };
        let mut next = clock.clone();
        next.set(now);
        if next.generation() != clock.generation()
            && let Store::Shards(shards) = &mut self.store
        {
            let generation = next.generation();
            for number in 0..shards.shards().len() {
                if generation - shards.shards()[number].swept > next.patience() {
                    shards.sweep(number, |tag| next.is_live(tag), generation)?;
                }
            }
            next.rebase();
        }
        *clock = next;
        Ok(())
    }
}

impl DynamicFilter {
    /// The clock of a filter whose keys expire by number: one more key.
    pub(crate) fn tick(&mut self, by_keys: bool) -> Result<(), SizeError> {
        match &self.clock {
            Some(clock) if by_keys => self.turn(clock.time.saturating_add(1)),
            _ => Ok(()),
        }
    }

    /// Makes room in the shard of a key. Returns the key's new position.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, hash: u64, position: Position) -> Result<Position, SizeError> {
        let clock = self.clock.as_ref();
        let now = clock.map_or(0, |clock| clock.generation());
        let keep = |tag| clock.is_none_or(|clock| clock.is_live(tag));
        let Store::Shards(shards) = &mut self.store else { unreachable!("made before") };
        shards.grow(position.shard, keep, now)?;
        Ok(shards.position(hash))
    }

    /// Drops the expired keys of a shard, each time that this many further keys have been inserted; see
    /// [`SWEEP_EVERY`].
    #[inline(always)]
    pub(crate) fn sweep_some(&mut self, keys: usize) -> Result<(), SizeError> {
        match self.plan.mode {
            Mode::Expiring(_) => self.sweep_one(keys),
            _ => Ok(()),
        }
    }

    #[inline(never)]
    fn sweep_one(&mut self, keys: usize) -> Result<(), SizeError> {
        let (Some(clock), Store::Shards(shards)) = (&self.clock, &mut self.store) else { return Ok(()) };
        let before = self.sweep_next / SWEEP_EVERY;
        self.sweep_next += keys;
        let now = self.sweep_next / SWEEP_EVERY;
        if now == before {
            return Ok(());
        }
        let (number, generation) = (now % shards.shards().len(), clock.generation());
        if shards.shards()[number].swept < generation {
            shards.sweep(number, |tag| clock.is_live(tag), generation)?;
        }
        Ok(())
    }
}

/// Insertions between two shards that are swept. A shard takes about a hundred times as many keys.
const SWEEP_EVERY: usize = 2048;

/// The time of an expiring filter, in milliseconds since the Unix epoch or in keys, and the keys of each
/// generation.
///
/// The tag of a key is the number of its generation modulo a power of two.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clock {
    pub(crate) expiry: Expiry,
    /// The latest time set, or the number of keys inserted.
    pub(crate) time: u64,
    /// The time of generation 0. Zero, unless a clock was set back far.
    pub(crate) origin: u64,
    /// The number of the current generation.
    current: u64,
    /// The generation at which all stored tags were distinct: the current one, or, of a file, the one in
    /// which it was written.
    reference: u64,
    /// Fingerprints with each tag.
    counts: Vec<u64>,
}

impl Clock {
    pub(crate) fn new(expiry: Expiry, time: u64, origin: u64) -> Clock {
        let counts = vec![0; 1 << expiry.tag_bits()];
        let current = expiry.generation_at(time.wrapping_sub(origin));
        Clock { expiry, time, origin, current, reference: current, counts }
    }

    /// The number of the current generation.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u64 {
        self.current
    }

    /// The time as it will be if the clock shows `now`: it never goes back, except by more than the time keys
    /// are kept. Then the earlier time was wrong, and the ages of all keys continue from their current
    /// values.
    pub(crate) fn set(&mut self, now: u64) {
        if now < self.time && !self.expiry.is_by_keys() && self.time - now > self.expiry.amount() {
            self.origin = self.origin.wrapping_sub(self.time - now);
            self.time = now;
        }
        let passed = now.saturating_sub(self.time);
        // Saturated, so that generations never go back, whatever a file says.
        let elapsed = self.time.wrapping_sub(self.origin).saturating_add(passed);
        self.time += passed;
        self.origin = self.time.wrapping_sub(elapsed);
        self.current = self.expiry.generation_at(elapsed);
    }

    /// The tag of keys inserted now.
    #[inline(always)]
    pub(crate) fn tag(&self) -> u64 {
        self.generation() & self.tag_mask()
    }

    fn tag_mask(&self) -> u64 {
        self.counts.len() as u64 - 1
    }

    /// The generations since the one with this tag.
    #[inline(always)]
    pub(crate) fn age(&self, tag: u64) -> u64 {
        (self.reference.wrapping_sub(tag) & self.tag_mask()) + (self.current - self.reference)
    }

    /// Whether keys with this tag have not expired.
    #[inline(always)]
    pub(crate) fn is_live(&self, tag: u64) -> bool {
        self.age(tag) <= u64::from(self.expiry.generations)
    }

    /// Whether all stored tags are relative to the current generation.
    pub(crate) fn is_current(&self) -> bool {
        self.reference == self.current
    }

    /// How many generations a shard may wait before its expired keys are dropped.
    pub(crate) fn patience(&self) -> u64 {
        self.tag_mask() - u64::from(self.expiry.generations)
    }

    /// Tags are now relative to the current generation; all stored ones are still distinct.
    pub(crate) fn rebase(&mut self) {
        for tag in 0..=self.tag_mask() {
            if !self.is_live(tag) {
                self.counts[tag as usize] = 0;
            }
        }
        self.reference = self.generation();
    }

    /// The number of keys with this tag has changed.
    #[inline(always)]
    pub(crate) fn add(&mut self, tag: u64) {
        self.counts[tag as usize] += 1;
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, tag: u64) {
        self.counts[tag as usize] = self.counts[tag as usize].saturating_sub(1);
    }

    /// Keys that have not expired.
    pub(crate) fn keys(&self) -> u64 {
        (0..=self.tag_mask())
            .filter(|tag| self.is_live(*tag))
            .fold(0, |sum: u64, tag| sum.saturating_add(self.counts[tag as usize]))
    }

    /// The keys of each generation that has not expired, the current one first.
    pub(crate) fn by_age(&self) -> Vec<u64> {
        let mut counts = vec![0; self.expiry.generations as usize + 1];
        for tag in (0..=self.tag_mask()).filter(|tag| self.is_live(*tag)) {
            counts[self.age(tag) as usize] += self.counts[tag as usize];
        }
        counts
    }

    /// Sets the keys of each generation, the current one first.
    pub(crate) fn set_by_age(&mut self, counts: &[u64]) {
        self.counts.fill(0);
        for (age, count) in counts.iter().enumerate() {
            let tag = self.generation().wrapping_sub(age as u64) & self.tag_mask();
            self.counts[tag as usize] = *count;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.reference = self.generation();
    }

    /// When the generation of this age began, in the unit of the clock.
    pub(crate) fn began(&self, age: u64) -> u64 {
        let number = self.generation().saturating_sub(age);
        self.expiry.began(number).wrapping_add(self.origin)
    }
}
