//! Many keys at once: the lines of later keys are prefetched while earlier keys are processed.

use super::filter::{DynamicFilter, NotDeletable, Store, cpu};
use super::flat::Flat;
use super::options::Mode;
use super::shards::{Aim, Shards};
use crate::error::SizeError;
use crate::kernel::pipeline::{Answers, hash_all};
use crate::kernel::slots::Select;
use crate::kernel::{Body, Task};
use crate::keys::Keys;
use crate::native::Hasher;
use crate::native::stored::assert_unlocked;

/// Keys hashed at once.
const CHUNK: usize = 1024;

/// How many keys ahead of its turn a key's line is prefetched.
const AHEAD: usize = 32;

/// The answers of a chunk.
type Bits = [u64; CHUNK / 64];

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// Looks up many keys, in any of the forms of [`Keys`]. Faster than single lookups.
    ///
    /// # Panics
    /// If the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch<'a, K: Keys<Hasher> + ?Sized>(&self, keys: &K, answers: impl Into<Answers<'a>>) {
        let mut answers = answers.into();
        answers.check_len(keys.count());
        if self.locked.is_some() {
            return answers.fill(keys.count(), true);
        }
        let done = chunks(keys, &self.hasher, Some(answers), |hashes, bits| {
            match &self.store {
                Store::Shards(shards) => cpu().run(Look { filter: self, store: shards, hashes, bits }),
                Store::Flat(flat) => {
                    // The bytes are asked for once, not for each key.
                    let store = &flat.as_ref().clone_with(flat.bytes.as_ref());
                    cpu().run(Look { filter: self, store, hashes, bits });
                }
            }
            Ok::<(), core::convert::Infallible>(())
        });
        let Ok(_) = done;
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> u64 {
        let mut words = alloc::vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch(keys, &mut words);
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Calls `work` with the hashes of chunks of keys, stores the answers, and counts those that are yes.
fn chunks<K: Keys<Hasher> + ?Sized, E>(
    keys: &K,
    hasher: &Hasher,
    mut answers: Option<Answers<'_>>,
    mut work: impl FnMut(&[u64], &mut Bits) -> Result<(), E>,
) -> Result<u64, E> {
    let mut hashes = [0; CHUNK];
    let mut count = 0;
    for start in (0..keys.count()).step_by(CHUNK) {
        let hashes = &mut hashes[..CHUNK.min(keys.count() - start)];
        hash_all(cpu(), keys, hasher, start, hashes);
        let mut bits = [0; CHUNK / 64];
        let done = work(hashes, &mut bits);
        count += bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        match &mut answers {
            None => {}
            Some(Answers::Bools(bools)) => {
                for (i, yes) in bools[start..][..hashes.len()].iter_mut().enumerate() {
                    *yes = bits[i / 64] >> (i % 64) & 1 == 1;
                }
            }
            Some(Answers::Bits(words)) => {
                let words = &mut words[start / 64..][..hashes.len().div_ceil(64)];
                words.copy_from_slice(&bits[..words.len()]);
            }
        }
        done?;
    }
    Ok(count)
}

/// A store in which keys are looked up.
trait Lookup {
    type Aim: Copy + Default;

    fn aim(&self, hash: u64) -> Self::Aim;
    fn prefetch(&self, aim: &Self::Aim);
    /// The tag of the key, if it is there; 0 unless `TAGS`.
    fn find<const TAGS: bool>(&self, kernel: impl Select, aim: &Self::Aim) -> Option<u64>;
}

impl Lookup for Shards {
    type Aim = Aim;

    #[inline(always)]
    fn aim(&self, hash: u64) -> Aim {
        Shards::aim(self, hash)
    }

    #[inline(always)]
    fn prefetch(&self, aim: &Aim) {
        Shards::prefetch(self, aim);
    }

    #[inline(always)]
    fn find<const TAGS: bool>(&self, kernel: impl Select, aim: &Aim) -> Option<u64> {
        self.locate(kernel, aim).map(|location| if TAGS { self.tag(aim, location) } else { 0 })
    }
}

impl<S: AsRef<[u8]>> Lookup for Flat<S> {
    type Aim = (u64, u64, u64);

    #[inline(always)]
    fn aim(&self, hash: u64) -> Self::Aim {
        Flat::aim(self, hash)
    }

    #[inline(always)]
    fn prefetch(&self, aim: &Self::Aim) {
        Flat::prefetch(self, aim);
    }

    #[inline(always)]
    fn find<const TAGS: bool>(&self, kernel: impl Select, aim: &Self::Aim) -> Option<u64> {
        self.locate(kernel, *aim).map(|location| if TAGS { self.tag(location) } else { 0 })
    }
}

/// Looks up a chunk of keys.
struct Look<'a, S, L> {
    filter: &'a DynamicFilter<S>,
    store: &'a L,
    hashes: &'a [u64],
    bits: &'a mut Bits,
}

impl<S: AsRef<[u8]>, L: Lookup> Task for Look<'_, S, L> {
    type Output = ();

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) {
        let Look { filter, store, hashes, bits } = self;
        match filter.plan.mode {
            Mode::Expiring(_) => look::<L, true>(kernel, store, hashes, bits, |tag| filter.is_live(tag)),
            _ => look::<L, false>(kernel, store, hashes, bits, |_| true),
        }
    }
}

#[inline(always)]
fn look<L: Lookup, const TAGS: bool>(
    kernel: impl Select,
    store: &L,
    hashes: &[u64],
    bits: &mut Bits,
    is_live: impl Fn(u64) -> bool,
) {
    let aim = |i: usize| {
        let aim = store.aim(hashes[i]);
        store.prefetch(&aim);
        aim
    };
    let mut ring = [L::Aim::default(); AHEAD];
    (0..hashes.len().min(AHEAD)).for_each(|i| ring[i] = aim(i));
    for i in 0..hashes.len() {
        let now = ring[i % AHEAD];
        if i + AHEAD < hashes.len() {
            ring[i % AHEAD] = aim(i + AHEAD);
        }
        let yes = store.find::<TAGS>(kernel, &now).is_some_and(&is_live);
        bits[i / 64] |= u64::from(yes) << (i % 64);
    }
}

impl DynamicFilter {
    /// Adds many keys. Returns how many were new.
    ///
    /// # Errors
    /// When the memory to grow cannot be allocated; some of the keys have then been inserted.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<u64, SizeError> {
        self.insert_chunks(keys, None)
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not new.
    /// Returns how many were new.
    ///
    /// # Errors
    /// As [`insert_batch`](Self::insert_batch). The keys after the failure are reported as not new.
    ///
    /// # Panics
    /// If the number of places in `new` is not the number of keys, or if the filter is [locked](Self::is_locked).
    pub fn insert_batch_new<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: impl Into<Answers<'a>>,
    ) -> Result<u64, SizeError> {
        let mut new = new.into();
        new.check_len(keys.count());
        new.fill(keys.count(), false);
        self.insert_chunks(keys, Some(new))
    }

    fn insert_chunks<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: Option<Answers<'_>>,
    ) -> Result<u64, SizeError> {
        assert_unlocked(self.locked);
        self.make_shards()?;
        let hasher = self.hasher.clone();
        chunks(keys, &hasher, new, |hashes, bits| {
            cpu().run(Change { filter: self, hashes, bits, insert: true })
        })
    }

    /// Removes many keys, and reports for each whether it was removed; see [`remove`](Self::remove). Returns how many
    /// were.
    ///
    /// # Errors
    /// If the filter does not count its keys.
    ///
    /// # Panics
    /// If the number of places in `removed` is not the number of keys; and as [`remove`](Self::remove).
    pub fn remove_batch<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        removed: impl Into<Answers<'a>>,
    ) -> Result<u64, NotDeletable> {
        assert_unlocked(self.locked);
        let removed = removed.into();
        removed.check_len(keys.count());
        if self.plan.mode != Mode::Counting {
            return Err(NotDeletable);
        }
        self.make_shards().expect("memory for the filter's lines");
        let hasher = self.hasher.clone();
        chunks(keys, &hasher, Some(removed), |hashes, bits| {
            cpu().run(Change { filter: self, hashes, bits, insert: false }).map_err(|_| NotDeletable)
        })
    }
}

/// Inserts or removes a chunk of keys.
struct Change<'a> {
    filter: &'a mut DynamicFilter,
    hashes: &'a [u64],
    bits: &'a mut Bits,
    insert: bool,
}

impl Task for Change<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<K: Body>(self, kernel: K) -> Self::Output {
        let Change { filter, hashes, bits, insert } = self;
        let aim = |filter: &DynamicFilter, i: usize| {
            let aim = filter.shards().aim(hashes[i]);
            filter.shards().prefetch(&aim);
            aim
        };
        if insert {
            filter.sweep_some(hashes.len())?;
        }
        let mut ring = [Aim::default(); AHEAD];
        (0..hashes.len().min(AHEAD)).for_each(|i| ring[i] = aim(filter, i));
        for i in 0..hashes.len() {
            let now = ring[i % AHEAD];
            if i + AHEAD < hashes.len() {
                ring[i % AHEAD] = aim(filter, i + AHEAD);
            }
            let (yes, has_grown) = match insert {
                true => filter.insert_at(kernel, hashes[i], now)?,
                false => (filter.remove_at(kernel, hashes[i], now), false),
            };
            bits[i / 64] |= u64::from(yes) << (i % 64);
            if has_grown {
                // The places of the keys ahead may have changed.
                (i + 1..hashes.len().min(i + 1 + AHEAD)).for_each(|j| ring[j % AHEAD] = aim(filter, j));
            }
        }
        Ok(())
    }
}
