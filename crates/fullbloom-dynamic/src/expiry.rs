//! Growth, time and expiry.

use super::filter::{DynamicFilter, Store};
use super::options::Mode;
use super::shards::Position;
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
