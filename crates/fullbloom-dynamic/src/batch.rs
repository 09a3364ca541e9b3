//! Many keys at once: the lines of later keys are prefetched while earlier keys are processed.

use super::filter::{DynamicFilter, RemoveError, Store, run};
use super::lookup::Look;
use super::options::Mode;
use super::shards::Position;
use crate::slots::{GROUP, Select};
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::{InsertError, KeysError, SizeError};
use fullbloom_core::kernel::pipeline::{Answers, eight_bools, hash_all};
use fullbloom_core::kernel::{Cpu, Task};
use fullbloom_core::keys::{Keys, each_valid, each_valid_new, look_up};
use fullbloom_core::native::hashing::Hasher;

/// Keys hashed at once; a multiple of 64.
pub(crate) const CHUNK: usize = 1024;

/// The hashes of a chunk, and after them hashes that mean nothing, so that there is always one more group.
/// The lines of a group are prefetched one group before its keys are processed.
pub(crate) type Ahead = [u64; CHUNK + GROUP];

/// The answers of a chunk.
pub(crate) type Bits = [u64; CHUNK / 64];

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// Looks up many keys, in any of the forms of [`Keys`]: one answer for each. Faster than single lookups.
    ///
    /// # Errors
    /// If the keys do not fit the filter: numbers where text is [recorded](Self::key_type), or hashes with
    /// another seed. A null key is answered "no".
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch_into(keys, &mut answers)?;
        Ok(answers)
    }

    /// As [`may_contain_batch`](Self::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch_into<'a, K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        look_up(keys, &self.hasher, self.key_type(), answers.into(), |mut answers| {
            if self.head.locked.is_some() {
                return answers.fill(keys.count(), true);
            }
            let done = chunks(keys, 0, &self.hasher, Some(answers), |hashes, len, bits| {
                let (mode, clock) = (self.plan.mode, self.clock.as_deref());
                match &self.store {
                    Store::Shards(shards) => match shards.even() {
                        Some(store) => run(Look { mode, clock, store, hashes, len, bits }),
                        None => run(Look { mode, clock, store: shards.as_ref(), hashes, len, bits }),
                    },
                    Store::Flat(flat) => run(Look { mode, clock, store: flat.even(), hashes, len, bits }),
                }
                Ok::<(), core::convert::Infallible>(())
            });
            let Ok(()) = done;
        })
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<u64, KeysError> {
        let mut words = vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch_into(keys, &mut words)?;
        Ok(words.iter().map(|word| u64::from(word.count_ones())).sum())
    }
}

/// Calls `work` with the hashes of chunks of keys, from this key on, and their number, and stores the
/// answers.
fn chunks<K: Keys<Hasher> + ?Sized, E>(
    keys: &K,
    first: usize,
    hasher: &Hasher,
    mut answers: Option<Answers<'_>>,
    mut work: impl FnMut(&Ahead, usize, &mut Bits) -> Result<(), E>,
) -> Result<(), E> {
    let mut hashes = [0; CHUNK + GROUP];
    for start in (first..keys.count()).step_by(CHUNK) {
        let len = CHUNK.min(keys.count() - start);
        hash_all(Cpu::in_use(), keys, hasher, start, &mut hashes[..len]);
        let mut bits = [0; CHUNK / 64];
        let done = work(&hashes, len, &mut bits);
        match &mut answers {
            None => {}
            Some(Answers::Bools(bools)) => {
                for (bools, word) in bools[start..][..len].chunks_mut(64).zip(bits) {
                    for (eight, byte) in bools.chunks_mut(8).zip(word.to_le_bytes()) {
                        eight.copy_from_slice(&eight_bools(byte)[..eight.len()]);
                    }
                }
            }
            Some(Answers::Bits(words)) => {
                let words = &mut words[start / 64..][..len.div_ceil(64)];
                words.copy_from_slice(&bits[..words.len()]);
            }
        }
        done?;
    }
    Ok(())
}

/// The hashes of a group.
#[inline(always)]
pub(crate) fn group(hashes: &Ahead, group: usize) -> &[u64; GROUP] {
    &hashes.as_chunks().0[group]
}

impl DynamicFilter {
    /// Adds many keys. Null keys are left out.
    ///
    /// If a set must grow for them, and there are many compared with the keys that it has, they are sorted
    /// first; if the filter is larger than the caches, they are inserted in the order of its lines. This
    /// takes 16 bytes for each of up to two million keys while it lasts; without that memory they are
    /// inserted one by one.
    ///
    /// # Errors
    /// If the keys do not fit the filter, or it is [locked](Self::is_locked): none is inserted. If the memory
    /// to grow cannot be allocated: some of the keys have been inserted.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), InsertError> {
        let hasher = self.require_fit(keys)?;
        match keys.validity() {
            None => self.insert_chunks(keys, None)?,
            Some(validity) => each_valid(keys, validity, &hasher, |some| self.insert_chunks(some, None))?,
        }
        Ok(())
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not
    /// new, and a null key is not.
    ///
    /// # Errors
    /// As of [`insert_batch`](Self::insert_batch); also if the number of places in `new` is not the number of
    /// keys. The keys after a failure are reported as not new.
    pub fn insert_batch_new<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: impl Into<Answers<'a>>,
    ) -> Result<(), InsertError> {
        let mut new = new.into();
        new.require_places(keys.count())?;
        new.fill(keys.count(), false);
        let hasher = self.require_fit(keys)?;
        match keys.validity() {
            None => self.insert_chunks(keys, Some(new))?,
            Some(validity) => each_valid_new(keys, validity, &hasher, &mut new, |some, new| {
                self.insert_chunks(some, Some(new))
            })?,
        }
        Ok(())
    }

    /// Checks that these keys can be inserted or removed. Returns a copy of the hasher.
    fn require_fit<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Hasher, InsertError> {
        self.require_unlocked()?;
        keys.require(&self.hasher, self.key_type())?;
        Ok(self.hasher.clone())
    }

    /// Inserts keys that fit, none of which is null.
    pub(crate) fn insert_chunks<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: Option<Answers<'_>>,
    ) -> Result<(), SizeError> {
        self.make_shards()?;
        let hasher = self.hasher.clone();
        // Whether a key was new depends on the keys before it, and so does its age if it is counted in keys.
        let has_order = new.is_some() || self.clock.as_ref().is_some_and(|clock| clock.expiry.is_by_keys());
        let start = if has_order { 0 } else { self.insert_in_order(keys, &hasher)? };
        chunks(keys, start, &hasher, new, |hashes, len, bits| {
            run(Change { filter: self, hashes, len, bits, insert: true })
        })
    }

    /// Removes many keys, and reports for each whether it was removed; see [`remove`](Self::remove). A null
    /// key is not.
    ///
    /// # Errors
    /// If the filter does not count its keys, is [locked](Self::is_locked), or the keys do not fit it; also
    /// if the number of places in `removed` is not the number of keys.
    pub fn remove_batch<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        removed: impl Into<Answers<'a>>,
    ) -> Result<(), RemoveError> {
        let mut removed = removed.into();
        removed.require_places(keys.count()).map_err(InsertError::Keys)?;
        let hasher = self.require_fit(keys)?;
        if self.plan.mode != Mode::Counting {
            return Err(RemoveError::NotDeletable);
        }
        self.make_shards()?;
        match keys.validity() {
            None => self.remove_chunks(keys, removed)?,
            Some(validity) => each_valid_new(keys, validity, &hasher, &mut removed, |some, removed| {
                self.remove_chunks(some, removed)
            })?,
        }
        Ok(())
    }

    fn remove_chunks<K>(&mut self, keys: &K, removed: Answers<'_>) -> Result<(), SizeError>
    where
        K: Keys<Hasher> + ?Sized,
    {
        let hasher = self.hasher.clone();
        chunks(keys, 0, &hasher, Some(removed), |hashes, len, bits| {
            run(Change { filter: self, hashes, len, bits, insert: false })
        })
    }
}

/// Inserts a chunk of keys, or removes them.
pub(crate) struct Change<'a> {
    pub(crate) filter: &'a mut DynamicFilter,
    pub(crate) hashes: &'a Ahead,
    pub(crate) len: usize,
    /// Which keys were new, or were removed.
    pub(crate) bits: &'a mut Bits,
    /// Otherwise they are removed.
    pub(crate) insert: bool,
}

impl<B: Select> Task<B> for Change<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run(self, kernel: B) -> Self::Output {
        let Change { filter, hashes, len, bits, insert } = self;
        if insert {
            filter.sweep_some(len)?;
        }
        // Those of this group of keys, and those of the next one, whose lines are on their way into the cache.
        let mut positions = [[Position::default(); GROUP]; 2];
        filter.shards().positions(group(hashes, 0), &mut positions[0]);
        for at in 0..len.div_ceil(GROUP) {
            let (now, next) = (at % 2, (at + 1) % 2);
            filter.shards().positions(group(hashes, at + 1), &mut positions[next]);
            let these = group(hashes, at);
            for i in 0..GROUP.min(len - at * GROUP) {
                let (yes, has_grown) = match insert {
                    true => filter.insert_at(kernel, these[i], positions[now][i])?,
                    false => (filter.remove_at(kernel, these[i], positions[now][i]), false),
                };
                bits[at * GROUP / 64] |= u64::from(yes) << (at * GROUP % 64 + i);
                if has_grown {
                    filter.shards().positions(these, &mut positions[now]);
                    filter.shards().positions(group(hashes, at + 1), &mut positions[next]);
                }
            }
        }
        Ok(())
    }
}
