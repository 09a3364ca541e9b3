//! Which generation it is, and which keys have expired.

use super::options::Expiry;
use alloc::vec;
use alloc::vec::Vec;

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
