//! Inserting and removing single keys.

use super::filter::{DynamicFilter, MANY, RemoveError, Store, run};
use super::lines::Location;
use super::options::Mode;
use super::shard::Removed;
use super::shards::{Position, Shards};
use crate::slots::Select;
use alloc::boxed::Box;
use fullbloom::FilterBuilder;
use fullbloom_core::error::{InsertError, SizeError};
use fullbloom_core::kernel::Task;
use fullbloom_core::keys::Key;
use fullbloom_core::native::hashing::{Hasher, KeyHash};

impl DynamicFilter {
    /// Adds a key. Returns true if it was certainly not present before (or has expired). A counting filter
    /// counts the key in both cases.
    ///
    /// # Errors
    /// If the filter is [locked](Self::is_locked), or the memory to grow cannot be allocated; the key is then
    /// not inserted.
    pub fn insert(&mut self, key: impl Key<Hasher>) -> Result<bool, InsertError> {
        self.require_unlocked()?;
        Ok(self.set(key.hash_with(&self.hasher))?)
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    ///
    /// # Errors
    /// Also if the hash was made with another seed or secret.
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
        self.require_unlocked()?;
        Ok(self.set(hash.by(&self.hasher)?)?)
    }

    /// Inserts the key of this hash into a filter that is not locked.
    pub(crate) fn set(&mut self, hash: u64) -> Result<bool, SizeError> {
        self.make_shards()?;
        struct One<'a>(&'a mut DynamicFilter, u64);
        impl<B: Select> Task<B> for One<'_> {
            type Output = Result<bool, SizeError>;

            #[inline(always)]
            fn run(self, kernel: B) -> Self::Output {
                self.0.sweep_some(1)?;
                let position = self.0.shards().position(self.1);
                self.0.insert_at(kernel, self.1, position).map(|(new, _)| new)
            }
        }
        run(One(self, hash))
    }

    /// The shards; only after [`make_shards`](Self::make_shards).
    #[inline(always)]
    pub(crate) fn shards(&self) -> &Shards {
        match &self.store {
            Store::Shards(shards) => shards,
            Store::Flat(_) => unreachable!("made before"),
        }
    }

    #[inline(always)]
    pub(crate) fn shards_mut(&mut self) -> &mut Shards {
        match &mut self.store {
            Store::Shards(shards) => shards,
            Store::Flat(_) => unreachable!("made before"),
        }
    }

    /// A filter from a file takes its lines into memory that can grow, before it is changed.
    pub(crate) fn make_shards(&mut self) -> Result<(), SizeError> {
        if let Store::Flat(_) = self.store {
            self.store = Store::Shards(Box::new(self.copied_shards()?));
            if let Some(clock) = &mut self.clock {
                clock.rebase();
            }
        }
        Ok(())
    }

    /// Adds a key whose place is known. Returns whether it was new, and whether a shard has grown: then the
    /// places of other keys are no longer valid.
    #[inline(always)]
    pub(crate) fn insert_at(
        &mut self,
        kernel: impl Select,
        hash: u64,
        mut position: Position,
    ) -> Result<(bool, bool), SizeError> {
        let has_grown = self.shards().is_full(&position);
        if has_grown {
            position = self.grow(hash, position)?;
        }
        if self.plan.tag == 0 {
            let known = self.shards_mut().insert(kernel, hash, &position, 0);
            return Ok((known.is_none(), has_grown));
        }
        let tag = self.clock.as_ref().map_or(0, |clock| clock.tag());
        let new = match self.shards_mut().insert(kernel, hash, &position, tag) {
            None if self.clock.is_none() => {
                self.copies = self.copies.saturating_add(1);
                true
            }
            known => self.tagged(hash, position, known, tag)?,
        };
        Ok((new, has_grown))
    }

    /// What follows an insertion in a counting or expiring filter.
    #[inline(never)]
    fn tagged(
        &mut self,
        hash: u64,
        position: Position,
        known: Option<Location>,
        tag: u64,
    ) -> Result<bool, SizeError> {
        let Some(clock) = &mut self.clock else {
            self.copies = self.copies.saturating_add(1);
            if let Some(location) = known {
                self.count_up(hash, position, location);
            }
            return Ok(known.is_none());
        };
        let by_keys = clock.expiry.is_by_keys();
        let Some(location) = known else {
            clock.add(tag);
            return self.tick(by_keys).map(|()| true);
        };
        let Store::Shards(shards) = &mut self.store else { unreachable!("made before") };
        let before = shards.tag(&position, location);
        let was_live = clock.is_live(before);
        if was_live && (!clock.expiry.refresh || before == tag) {
            return Ok(false);
        }
        if was_live {
            clock.take(before);
        }
        clock.add(tag);
        shards.set_tag(&position, location, tag);
        // A known key that is refreshed is not one more key.
        self.tick(by_keys && !was_live).map(|()| !was_live)
    }

    /// One more copy of a fingerprint that is there.
    fn count_up(&mut self, hash: u64, position: Position, location: Location) {
        let tag = self.shards().tag(&position, location);
        if tag == MANY {
            let count = self.counts.entry(hash >> (64 - self.plan.bits)).or_insert(MANY + 1);
            *count = count.saturating_add(1);
            return;
        }
        if tag + 1 == MANY {
            self.counts.insert(hash >> (64 - self.plan.bits), MANY + 1);
        }
        self.shards_mut().set_tag(&position, location, tag + 1);
    }

    /// Removes a key, or one copy of it if it was inserted several times. Returns false if it is surely
    /// absent; then nothing is changed.
    ///
    /// Removing a key that was never inserted removes the fingerprint of another key if the two are equal,
    /// which has the probability [`expected_fpr`](Self::expected_fpr). No other key is affected.
    ///
    /// # Errors
    /// If the filter does not count its keys, is [locked](Self::is_locked), or was read from a file and there
    /// is no memory to change it.
    pub fn remove(&mut self, key: impl Key<Hasher>) -> Result<bool, RemoveError> {
        self.remove_hash(self.hash(key))
    }

    /// As [`remove`](Self::remove), for a precomputed hash.
    ///
    /// # Errors
    /// Also if the hash was made with another seed or secret.
    pub fn remove_hash(&mut self, hash: KeyHash) -> Result<bool, RemoveError> {
        self.require_unlocked()?;
        let hash = hash.by(&self.hasher).map_err(InsertError::Keys)?;
        if self.plan.mode != Mode::Counting {
            return Err(RemoveError::NotDeletable);
        }
        self.make_shards()?;
        struct One<'a>(&'a mut DynamicFilter, u64);
        impl<B: Select> Task<B> for One<'_> {
            type Output = bool;

            #[inline(always)]
            fn run(self, kernel: B) -> bool {
                let position = self.0.shards().position(self.1);
                self.0.remove_at(kernel, self.1, position)
            }
        }
        Ok(run(One(self, hash)))
    }

    #[inline(always)]
    pub(crate) fn remove_at(&mut self, kernel: impl Select, hash: u64, position: Position) -> bool {
        match self.shards_mut().remove(kernel, hash, &position) {
            Removed::Absent => return false,
            Removed::Done => {}
            Removed::Tagged(location) => self.count_down(hash, position, location),
        }
        self.copies = self.copies.saturating_sub(1); // a copy of an unchecked file may have fewer than it has tags
        true
    }

    /// One copy less of a fingerprint that is there at least twice.
    #[inline(never)]
    fn count_down(&mut self, hash: u64, position: Position, location: Location) {
        let tag = self.shards().tag(&position, location);
        if tag == MANY {
            let fingerprint = hash >> (64 - self.plan.bits);
            if let Some(count) = self.counts.get_mut(&fingerprint)
                && *count > MANY + 1
            {
                *count -= 1;
                return;
            }
            self.counts.remove(&fingerprint);
        }
        self.shards_mut().set_tag(&position, location, tag - 1);
    }

    /// Removes all keys. The memory is that of a new filter.
    ///
    /// # Errors
    /// If the filter is [locked](Self::is_locked), or the memory cannot be allocated; nothing is changed
    /// then.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        self.require_unlocked()?;
        self.store =
            Store::Shards(Box::new(Shards::new(self.plan.bits, self.plan.tag, self.head.expected_keys)?));
        self.counts.clear();
        self.copies = 0;
        if let Some(clock) = &mut self.clock {
            clock.clear();
        }
        Ok(())
    }
}

/// Inserts the keys one by one.
///
/// # Panics
/// If the filter is [locked](DynamicFilter::is_locked), or the memory to grow cannot be allocated. Use
/// [`insert_batch`](DynamicFilter::insert_batch) where that matters.
impl<K: Key<Hasher>> Extend<K> for DynamicFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key).expect("memory for the filter");
        }
    }
}

/// A set of these keys, whose rate is 1 % up to their number.
///
/// # Panics
/// If there is not enough memory.
impl<K: Key<Hasher>> FromIterator<K> for DynamicFilter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let builder: FilterBuilder = keys.into_iter().collect();
        let mut filter = DynamicFilter::with_fpr(builder.len() as u64, 0.01).expect("memory for the filter");
        filter.insert_batch(&builder.hashes()).expect("memory for the filter");
        filter
    }
}
