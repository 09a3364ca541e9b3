//! A filter with expiry: generations of keys, the oldest dropped as a whole.
//!
//! ```text
//!   retention: 7 days, in 7 generations      | day 1 | day 2 | … | day 7 | day 8 |
//!                                              oldest                      keys go here
//!                                              ▼ dropped when day 8 is over: its last key is then 7 days old, its first 8
//! ```
//!
//! A generation accepts keys for one part of the retention time, or for one part of the retained number of
//! keys, and is kept until its *last* key has expired. So with `n` generations per retention time there are
//! up to `n + 1` at once. A key is remembered for at least the retention time, and for at most one part more.
//! Every generation is a [`GrowingFilter`], since the number of keys per day is unknown; each has a share of
//! the requested rate.

use super::growing::{CHUNK, GrowingFilter, Growth, Left, combined_rate};
use super::hashing::{Hasher, Hashing};
use super::{NativeFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, SizeError};
use crate::keys::Keys;
use alloc::vec::Vec;
use core::time::Duration;
#[cfg(feature = "std")]
use std::time::SystemTime;

/// The maximum number of generations per retention time.
const MAX_GENERATIONS: u32 = 1000;

/// How long keys are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// At least this time, rounded up to whole milliseconds.
    Time(Duration),
    /// While fewer than this many new keys have been inserted since. With [`refresh`](Rotation::refresh),
    /// known keys that are inserted again count too, once per generation.
    Keys(u64),
}

/// When keys expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// The minimum time or number of keys for which keys are remembered.
    pub keep: Keep,
    /// The number of steps in which they expire, 1 to 1000. With more steps, keys are kept less long beyond
    /// the retention time, and a lookup takes longer.
    pub generations: u32,
    /// Whether inserting a known key again restarts its time. Otherwise its time counts from when it was new,
    /// and a new key that is taken for a known one (which happens at the filter's rate) is not inserted and
    /// expires with that one.
    pub refresh: bool,
}

impl Rotation {
    /// Keys are remembered this long after they were new, in seven generations.
    pub fn of(keep: Keep) -> Rotation {
        Rotation { keep, generations: 7, refresh: false }
    }

    /// Milliseconds or keys.
    pub(super) fn amount(&self) -> u64 {
        match self.keep {
            Keep::Time(time) => u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
            Keep::Keys(keys) => keys,
        }
    }

    /// Milliseconds or keys of one generation.
    fn span(&self) -> u64 {
        self.amount().div_ceil(self.generations.into()).max(1)
    }

    fn is_by_keys(&self) -> bool {
        matches!(self.keep, Keep::Keys(_))
    }

    /// Refuses invalid values.
    pub fn check(&self) -> Result<(), SizeError> {
        let generations = u64::from(self.generations);
        if !(1..=MAX_GENERATIONS).contains(&self.generations) {
            return Err(SizeError::Count { what: "generations", got: generations, allowed: "1 to 1000" });
        }
        if self.amount() == 0 {
            let what = if self.is_by_keys() { "keys to remember" } else { "time to remember" };
            return Err(SizeError::Count { what, got: 0, allowed: "1 or more" });
        }
        Ok(())
    }
}

/// A native filter whose keys expire after a time, or after a number of other keys.
///
/// The caller sets the time; the filter never reads a clock.
///
/// ```
/// use fullbloom::native::{Keep, RotatingFilter, Rotation};
/// use std::time::{Duration, SystemTime};
///
/// let day = Duration::from_secs(86_400);
/// let start = SystemTime::now();
/// let rotation = Rotation::of(Keep::Time(7 * day));                   // in steps of a day
/// let mut seen = RotatingFilter::new(rotation, 1_000, 0.001, start)?; // about a thousand keys a day
/// assert!(seen.insert(b"alice", start)?);              // new
/// assert!(!seen.insert(b"alice", start + 7 * day)?);   // known: remembered for at least the seven days,
/// assert!(seen.insert(b"alice", start + 8 * day)?);    // and a day more at most
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// **A clock that goes back** by no more than the retention time is treated as standing still until it has
/// caught up: keys are remembered a little longer. If it goes back further, the earlier time was wrong: the
/// ages of all keys continue from their current values. A clock that jumps ahead looks like a long pause, and
/// keys expire.
///
/// One thread inserts at a time, as with a [`GrowingFilter`]. Two rotating filters cannot be merged: their
/// generations do not begin at the same times.
#[derive(Debug)]
pub struct RotatingFilter<S = Owned> {
    pub(super) rotation: Rotation,
    /// Of all generations together, and of the first link of each.
    pub(super) growth: Growth,
    /// The latest time set, in milliseconds since the Unix epoch.
    pub(super) clock: u64,
    /// Oldest first, at least one; keys go into the last.
    pub(super) generations: Vec<Generation<S>>,
}

/// The keys of one period of time.
#[derive(Debug)]
pub struct Generation<S = Owned> {
    /// When it began to accept keys, in milliseconds since the Unix epoch.
    pub(super) opened: u64,
    pub(super) filter: GrowingFilter<S>,
}

impl<S> Generation<S> {
    #[cfg(feature = "std")]
    /// When it began to accept keys.
    pub fn opened(&self) -> SystemTime {
        at(self.opened)
    }

    /// Its keys.
    pub fn filter(&self) -> &GrowingFilter<S> {
        &self.filter
    }
}

#[cfg(feature = "std")]
/// Times before the epoch count as the epoch.
fn millis(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(feature = "std")]
/// Times that the system cannot express become the latest one that it certainly can, in the year 2262.
fn at(millis: u64) -> SystemTime {
    let latest = i64::MAX as u64 / 1_000_000;
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis.min(latest))
}

impl RotatingFilter {
    #[cfg(feature = "std")]
    /// An empty filter whose rate stays below `fpr`. A generation begins with room for `first_keys` keys, or
    /// for the number of keys in the previous generation if that is larger. Where generations end after a
    /// number of keys, it has room for that number.
    pub fn new(rotation: Rotation, first_keys: u64, fpr: f64, now: SystemTime) -> Result<Self, SizeError> {
        Self::with_hashing(rotation, first_keys, fpr, Hashing::default(), now)
    }

    #[cfg(feature = "std")]
    /// As [`new`](Self::new), hashing with this seed or secret.
    pub fn with_hashing(
        rotation: Rotation,
        first_keys: u64,
        fpr: f64,
        hashing: Hashing,
        now: SystemTime,
    ) -> Result<Self, SizeError> {
        rotation.check()?;
        let first_keys = if rotation.is_by_keys() { rotation.span() } else { first_keys };
        let growth = Growth::new(fpr, first_keys)?;
        let clock = millis(now);
        let mut filter = RotatingFilter { rotation, growth, clock, generations: Vec::new() };
        filter.open(hashing, growth.first)?;
        Ok(filter)
    }

    #[cfg(feature = "std")]
    fn open(&mut self, hashing: Hashing, first_keys: u64) -> Result<(), SizeError> {
        // A lookup queries up to one generation more than the retention time is divided into.
        let fpr = self.growth.fpr / (f64::from(self.rotation.generations) + 1.0);
        let filter = GrowingFilter::new(first_keys, fpr, hashing)?;
        self.generations.push(Generation { opened: self.clock, filter });
        Ok(())
    }

    #[cfg(feature = "std")]
    fn current(&self) -> &Generation {
        self.generations.last().expect("there is always a generation")
    }

    #[cfg(feature = "std")]
    /// How many new keys the current generation still accepts.
    fn room(&self) -> u64 {
        let current = self.current();
        match self.rotation.keep {
            Keep::Keys(_) => self.rotation.span().saturating_sub(current.filter.keys()),
            Keep::Time(_) if self.age(current) >= self.rotation.span() => 0,
            Keep::Time(_) => u64::MAX,
        }
    }

    #[cfg(feature = "std")]
    /// Opens a generation if the last one has ended.
    fn make_room(&mut self) -> Result<(), SizeError> {
        if self.room() > 0 {
            return Ok(());
        }
        let last = &self.current().filter;
        let (first, hashing) = (self.growth.first.max(last.keys()), last.hashing().clone());
        let (label, store) = (self.label().to_owned(), self.link().stores_secret());
        let key_type = self.link().key_type();
        self.open(hashing, first)?;
        let new = self.generations.last_mut().expect("just opened");
        new.filter.set_label(&label);
        new.filter.store_secret(store);
        new.filter.links[0].set_key_type(key_type);
        let over = match self.rotation.keep {
            Keep::Keys(_) => self.generations.len().saturating_sub(self.rotation.generations as usize + 1),
            Keep::Time(_) => self.generations.iter().take_while(|one| !self.is_live(one)).count(),
        };
        self.generations.drain(..over);
        Ok(())
    }

    #[cfg(feature = "std")]
    /// Adds a key. Returns true if it was certainly not present before, or has expired.
    ///
    /// # Errors
    /// When the memory for more keys cannot be allocated; the key is then not inserted.
    pub fn insert(&mut self, key: &[u8], now: SystemTime) -> Result<bool, SizeError> {
        let hash = self.hash(key);
        self.advance(now);
        let refresh = self.rotation.refresh;
        if refresh {
            self.make_room()?;
        }
        let known = self.generations().any(|one| one.filter.may_contain_hash(hash));
        if !known || refresh {
            self.make_room()?;
            self.generations.last_mut().expect("there is always a generation").filter.insert_hash(hash)?;
        }
        Ok(!known)
    }

    #[cfg(feature = "std")]
    /// Adds many keys in order, and reports for each whether it was new. The second of two equal keys is not
    /// new.
    ///
    /// # Errors
    /// When the memory for more keys cannot be allocated; some of the keys have then been inserted.
    ///
    /// # Panics
    /// If the length of `new` is not the number of keys.
    pub fn insert_batch_new<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: &mut [bool],
        now: SystemTime,
    ) -> Result<u64, SizeError> {
        assert_eq!(keys.count(), new.len(), "one answer for each key");
        self.advance(now);
        let hasher = self.link().dialect.hasher.clone();
        let mut hashes = [0; CHUNK];
        let mut count = 0;
        for (i, new) in new.chunks_mut(CHUNK).enumerate() {
            let hashes = &mut hashes[..new.len()];
            keys.hash_into(&hasher, i * CHUNK, hashes, false);
            let mut done = 0;
            while done < hashes.len() {
                let (hashes, new) = (&hashes[done..], &mut new[done..]);
                if !self.rotation.refresh && self.room() == 0 {
                    // Known keys never open a generation; the first new key does.
                    let mut left = Left::all(hashes);
                    self.generations().for_each(|one| one.filter.drop_known(&mut left));
                    let known = left.places().next().unwrap_or(hashes.len());
                    new[..known].fill(false);
                    done += known;
                    if known == hashes.len() {
                        break;
                    }
                    self.make_room()?;
                    continue;
                }
                self.make_room()?;
                let (looked_at, added) = self.insert_some(hashes, new)?;
                done += looked_at;
                count += added;
            }
        }
        Ok(count)
    }

    #[cfg(feature = "std")]
    /// Adds hashes until the current generation is full. Returns how many were processed, and how many were
    /// new.
    fn insert_some(&mut self, hashes: &[u64], new: &mut [bool]) -> Result<(usize, u64), SizeError> {
        let room = self.room();
        let mut left = Left::all(hashes);
        let (_, older) = self.generations.split_last().expect("there is always a generation");
        older.iter().rev().filter(|one| self.is_live(one)).for_each(|one| one.filter.drop_known(&mut left));
        let refresh = self.rotation.refresh;
        let current = &mut self.generations.last_mut().expect("there is always a generation").filter;
        let mut answers = [false; CHUNK];
        new.fill(false);
        if refresh {
            let (used, _) = current.insert_until(hashes, &mut answers[..hashes.len()], room)?;
            left.places().take_while(|at| *at < used).for_each(|at| new[at] = answers[at]);
            let added = new.iter().filter(|new| **new).count();
            return Ok((used, added as u64));
        }
        let (used, added) = current.insert_until(left.hashes(), &mut answers[..left.hashes().len()], room)?;
        left.places().zip(&answers[..used]).for_each(|(at, answer)| new[at] = *answer);
        Ok((left.places().nth(used).unwrap_or(hashes.len()), added))
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.generations.iter_mut().for_each(|one| one.filter.set_label(label));
    }

    /// Whether the secret of a keyed filter goes into its file; see
    /// [`Filter::store_secret`](crate::Filter::store_secret).
    pub fn store_secret(&mut self, store: bool) {
        self.generations.iter_mut().for_each(|one| one.filter.store_secret(store));
    }
}

impl<S: AsRef<[u8]>> RotatingFilter<S> {
    #[cfg(feature = "std")]
    /// Sets the time. Keys that have expired by then are no longer found; their memory is freed when new keys
    /// are inserted.
    pub fn advance(&mut self, now: SystemTime) {
        let now = millis(now);
        if now >= self.clock {
            self.clock = now;
            return;
        }
        let back = self.clock - now;
        if !self.rotation.is_by_keys() && back > self.rotation.amount() {
            self.clock = now;
            self.generations.iter_mut().for_each(|one| one.opened = one.opened.saturating_sub(back));
        }
    }

    #[cfg(feature = "std")]
    /// The latest time set.
    pub fn time(&self) -> SystemTime {
        at(self.clock)
    }

    /// Whether the keys of this generation have not expired.
    fn is_live(&self, generation: &Generation<S>) -> bool {
        let kept = self.rotation.span().saturating_add(self.rotation.amount());
        self.rotation.is_by_keys() || self.age(generation) < kept
    }

    /// Milliseconds since it began to accept keys. A generation that has just begun never counts as expired,
    /// whatever the clock says.
    fn age(&self, generation: &Generation<S>) -> u64 {
        self.clock.saturating_sub(generation.opened)
    }

    pub(super) fn link(&self) -> &NativeFilter<S> {
        &self.generations[0].filter.links[0]
    }

    /// Whether the key may be present, at the latest time set. "No" is certain for keys that were reported as
    /// new and have not expired; with [`refresh`](Rotation::refresh), for all inserted keys.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        let hash = self.hash(key);
        self.generations().any(|one| one.filter.may_contain_hash(hash))
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.link().hash(key)
    }

    /// Looks up many keys, one `bool` each.
    ///
    /// # Panics
    /// If the length of `answers` is not the number of keys.
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K, answers: &mut [bool]) {
        assert_eq!(keys.count(), answers.len(), "one answer for each key");
        let mut hashes = [0; CHUNK];
        for (i, answers) in answers.chunks_mut(CHUNK).enumerate() {
            let hashes = &mut hashes[..answers.len()];
            keys.hash_into(&self.link().dialect.hasher, i * CHUNK, hashes, false);
            let mut left = Left::all(hashes);
            self.generations().for_each(|one| one.filter.drop_known(&mut left));
            answers.fill(true);
            left.places().for_each(|at| answers[at] = false);
        }
    }

    /// When keys expire.
    pub fn rotation(&self) -> Rotation {
        self.rotation
    }

    /// The generations that have not expired, newest first.
    pub fn generations(&self) -> impl Iterator<Item = &Generation<S>> {
        self.generations.iter().rev().filter(|one| self.is_live(one))
    }

    /// The number of remembered keys; a key in several generations counts once for each.
    pub fn keys(&self) -> u64 {
        self.generations().map(|one| one.filter.keys()).fold(0, u64::saturating_add)
    }

    /// The requested rate, which the filter stays below.
    pub fn planned_fpr(&self) -> f64 {
        self.growth.fpr
    }

    /// The rate of the filter in its current state. Reads all arrays.
    pub fn expected_fpr(&self) -> f64 {
        combined_rate(self.generations().map(|one| one.filter.expected_fpr()))
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        self.link().hashing()
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        self.link().label()
    }

    /// Whether it is keyed and its secret is unknown; see [`unlock`](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.generations[0].filter.is_locked()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.unlock_in_place(secret)?;
        Ok(self)
    }

    pub(super) fn unlock_in_place(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.generations.iter_mut().try_for_each(|one| one.filter.unlock_in_place(secret))
    }
}
