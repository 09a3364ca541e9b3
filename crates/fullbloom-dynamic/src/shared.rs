//! A dynamic filter for many threads: a lock for each part.

use super::filter::{DynamicFilter, Plan, RemoveError, Store, cpu};
use super::merge::{Items, working};
use super::options::{DynamicOptions, Mode};
use super::shape::MIN_BITS;
use super::shards::Shards;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::pipeline::hash_all;
use fullbloom_core::keys::{Hashes, Key, Keys};
use fullbloom_core::memory;
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::head::Head;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The parts are those of all prefixes of at most this many bits: eight times as many as most machines have
/// threads, so that two threads rarely want the same one.
const MAX_DEPTH: u32 = 7;

/// Keys of a batch that are distributed over the parts at once: about a hundred for each lock.
const CHUNK: usize = 1 << 14;

/// A dynamic filter whose `insert` takes `&self`, for many threads.
///
/// It consists of up to 128 parts by the first bits of the hash. Each is a [`DynamicFilter`] behind a lock,
/// so a part grows while the others take keys. Of several insertions of one key by several threads, exactly
/// one returns "new", unless the key looked present before. [`into_filter`](Self::into_filter) makes one
/// filter of it, whose file is the same whatever the threads and the order of the keys were.
///
/// ```
/// use fullbloom_dynamic::{DynamicOptions, SharedDynamicFilter};
///
/// let filter = SharedDynamicFilter::new(DynamicOptions::new(1_000, 0.001))?;
/// std::thread::scope(|scope| {
///     for thread in 0..4u64 {
///         let filter = &filter;
///         scope.spawn(move || filter.insert(&thread.to_le_bytes()).unwrap());
///     }
/// });
/// let filter = filter.into_filter()?; // to save it, merge it, look up batches
/// assert_eq!(filter.keys(), 4);
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug)]
pub struct SharedDynamicFilter {
    head: Head,
    hasher: Hasher,
    plan: Plan,
    /// Bits of the hash that say which part a key is in.
    depth: u32,
    /// Each has the fingerprints without these bits.
    parts: Vec<Mutex<DynamicFilter>>,
    /// Held while the clocks of all parts are set, so that all of them are set to the same times in the same
    /// order.
    clock: Mutex<()>,
}

/// Nothing panics while a lock is held, so a part is never left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedDynamicFilter {
    /// An empty filter with these properties.
    ///
    /// # Errors
    /// Those of [`DynamicFilter::new`]; and for keys that expire after a number of others, which depends on
    /// the order of the insertions.
    pub fn new(options: DynamicOptions) -> Result<Self, SizeError> {
        let empty = DynamicFilter::new(DynamicOptions { expected_keys: 0, ..options.clone() })?;
        let Plan { bits, tag, .. } = empty.plan;
        let depth = depth_of(bits);
        let expected = options.expected_keys.div_ceil(1 << depth);
        let shards = |_| Shards::new(bits - depth, tag, expected);
        Self::of_parts(&empty, options.expected_keys, (0..1u64 << depth).map(shards))
    }

    /// The keys of this filter, to insert more of them by many threads. The memory is there twice for a
    /// moment.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    ///
    /// # Panics
    /// If the filter is [locked](DynamicFilter::is_locked).
    pub fn from_filter<S: AsRef<[u8]>>(filter: &DynamicFilter<S>) -> Result<Self, SizeError> {
        assert!(!filter.is_locked(), "the filter is locked: its secret is not known");
        let Plan { bits, tag, .. } = filter.plan;
        let depth = depth_of(bits);
        let now = filter.clock.as_ref().map_or(0, |clock| clock.generation());
        memory::require(working(filter.distinct()))?;
        let mut items = Items::new(filter)?.peekable();
        let width = bits - depth + tag;
        let mut by_tag = Vec::with_capacity(1 << depth);
        let shards = (0..1u64 << depth).map(|part| {
            let (mut own, mut tags) = (Vec::new(), vec![0u64; 1 << tag]);
            while let Some(item) = items.next_if(|item| *item >> width == part) {
                memory::push(&mut own, item & ((1 << width) - 1))?;
                tags[(item & ((1 << tag) - 1)) as usize] += 1;
            }
            by_tag.push(tags);
            let mut shards = Shards::new(bits - depth, tag, own.len() as u64)?;
            shards.fill_sorted(&mut own.into_iter(), now)?;
            Ok(shards)
        });
        let shared = Self::of_parts(filter, filter.expected_keys(), shards)?;
        for (part, tags) in by_tag.into_iter().enumerate() {
            let mut own = lock(&shared.parts[part]);
            let first = (part as u64) << (bits - depth);
            let counted = filter.counts.range(first..first + (1 << (bits - depth)));
            own.counts = counted.map(|(fingerprint, count)| (fingerprint - first, *count)).collect();
            if let Mode::Counting = filter.plan.mode {
                let inline: u64 =
                    (1..).zip(&tags[..tags.len() - 1]).map(|(copies, keys): (u64, _)| copies * keys).sum();
                own.copies = own.counts.values().fold(inline, |sum, count| sum.saturating_add(*count));
            }
            own.clock.clone_from(&filter.clock);
            if let Some(clock) = &mut own.clock {
                clock.rebase();
                clock.set_by_tag(tags);
            }
        }
        Ok(shared)
    }

    /// Parts with these shards, otherwise as this filter.
    fn of_parts<S: AsRef<[u8]>>(
        like: &DynamicFilter<S>,
        expected_keys: u64,
        shards: impl Iterator<Item = Result<Shards, SizeError>>,
    ) -> Result<Self, SizeError> {
        let plan = like.plan;
        if matches!(plan.mode, Mode::Expiring(expiry) if expiry.is_by_keys()) {
            let what =
                "keys that expire after a number of others cannot be inserted by several threads at once";
            return Err(SizeError::Unsupported { dialect: "native", what });
        }
        let depth = depth_of(plan.bits);
        let own = Plan { bits: plan.bits - depth, ..plan };
        let part = |shards: Result<Shards, SizeError>| {
            // Parts get hashes, so their own hash is never used.
            let head = Head::new(Hashing::default(), 0);
            Ok(Mutex::new(DynamicFilter::from_parts(own, head, Store::Shards(Box::new(shards?)))))
        };
        let parts = shards.map(part).collect::<Result<Vec<_>, SizeError>>()?;
        let head = Head { expected_keys, ..like.head.clone() };
        Ok(SharedDynamicFilter {
            hasher: like.hasher.clone(),
            head,
            plan,
            depth,
            parts,
            clock: Mutex::new(()),
        })
    }

    /// The number of a hash's part.
    fn part(&self, hash: u64) -> usize {
        (hash >> 1 >> (63 - self.depth)) as usize
    }

    fn of(&self, hash: u64) -> MutexGuard<'_, DynamicFilter> {
        lock(&self.parts[self.part(hash)])
    }

    /// The hash of a key.
    pub fn hash(&self, key: impl Key<Hasher>) -> u64 {
        key.hash_with(&self.hasher)
    }

    /// Adds a key. Returns true if it was certainly not present before (or has expired).
    ///
    /// # Errors
    /// When the memory to grow cannot be allocated; the key is then not inserted.
    pub fn insert(&self, key: impl Key<Hasher>) -> Result<bool, SizeError> {
        self.insert_hash(self.hash(key))
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    pub fn insert_hash(&self, hash: u64) -> Result<bool, SizeError> {
        self.of(hash).insert_hash(hash << self.depth)
    }

    /// Adds many keys. Returns how many were new. Takes the lock of each part once for thousands of keys.
    ///
    /// # Errors
    /// When the memory to grow cannot be allocated; some of the keys have then been inserted.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<u64, SizeError> {
        let mut hashes = vec![0; CHUNK.min(keys.count())];
        let mut sorted = vec![0; hashes.len()];
        let mut new = 0;
        for start in (0..keys.count()).step_by(CHUNK) {
            let hashes = &mut hashes[..CHUNK.min(keys.count() - start)];
            hash_all(cpu(), keys, &self.hasher, start, hashes);
            // First where the keys of each part begin, then where they end.
            let mut ends = vec![0usize; self.parts.len()];
            hashes.iter().for_each(|hash| ends[self.part(*hash)] += 1);
            ends.iter_mut().fold(0, |begin, end| begin + core::mem::replace(end, begin));
            for hash in &*hashes {
                let place = &mut ends[self.part(*hash)];
                sorted[*place] = hash << self.depth;
                *place += 1;
            }
            // Threads begin with different parts, so that they rarely wait for each other.
            let first = self.part(hashes[0]);
            for number in (first..self.parts.len()).chain(0..first) {
                let begin = if number == 0 { 0 } else { ends[number - 1] };
                let own = &sorted[begin..ends[number]];
                if !own.is_empty() {
                    new += lock(&self.parts[number]).insert_batch(&Hashes(own))?;
                }
            }
        }
        Ok(new)
    }

    /// Removes a key, or one copy of it; see [`DynamicFilter::remove`].
    ///
    /// # Errors
    /// If the filter does not count its keys.
    pub fn remove(&self, key: impl Key<Hasher>) -> Result<bool, RemoveError> {
        self.remove_hash(self.hash(key))
    }

    /// As [`remove`](Self::remove), for a precomputed hash.
    pub fn remove_hash(&self, hash: u64) -> Result<bool, RemoveError> {
        self.of(hash).remove_hash(hash << self.depth)
    }

    /// Whether the key may be present. A key that a thread has inserted is found by every thread from then
    /// on.
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.may_contain_hash(self.hash(key))
    }

    /// As [`may_contain`](Self::may_contain), for a precomputed hash.
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        self.of(hash).may_contain_hash(hash << self.depth)
    }

    /// The number of keys, as of [`DynamicFilter::keys`]; while others insert, one that was right at some
    /// time.
    pub fn keys(&self) -> u64 {
        self.parts.iter().map(|part| lock(part).keys()).sum()
    }

    /// Sets the time; see [`DynamicFilter::advance`].
    ///
    /// # Errors
    /// When there is no memory to drop expired keys from a shard; parts of the filter may then have the old
    /// time.
    pub fn advance(&self, now: SystemTime) -> Result<(), SizeError> {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        self.advance_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// As [`advance`](Self::advance), in milliseconds since the Unix epoch.
    pub fn advance_millis(&self, now: u64) -> Result<(), SizeError> {
        let _clock = lock(&self.clock);
        self.parts.iter().try_for_each(|part| lock(part).advance_millis(now))
    }

    /// One filter of all parts. Its memory comes while that of the parts goes: one part is there twice.
    ///
    /// # Errors
    /// When the memory cannot be allocated.
    pub fn into_filter(self) -> Result<DynamicFilter, SizeError> {
        let SharedDynamicFilter { head, hasher, plan, depth, parts, .. } = self;
        let parts: Vec<DynamicFilter> =
            parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        let keys: u64 = parts.iter().map(DynamicFilter::distinct).sum();
        let mut shards = Shards::new(plan.bits, plan.tag, keys.max(head.expected_keys))?;
        let mut whole = DynamicFilter::from_parts(
            plan,
            head,
            Store::Shards(Box::new(Shards::new(plan.bits, plan.tag, 0)?)),
        );
        whole.hasher = hasher;
        whole.copies = parts.iter().fold(0, |sum, part| sum.saturating_add(part.copies));
        for (first, part) in (0..).map(|number: u64| number << (plan.bits - depth)).zip(&parts) {
            whole.counts.extend(part.counts.iter().map(|(fingerprint, count)| (first + fingerprint, *count)));
        }
        let clock = parts.first().and_then(|part| part.clock.clone());
        let now = clock.as_ref().map_or(0, |clock| clock.generation());
        whole.clock = clock.map(|mut clock| {
            let ages = parts.iter().filter_map(|part| part.clock.as_ref()).map(|clock| clock.by_age());
            let sums =
                ages.reduce(|one, other| one.iter().zip(other).map(|(one, other)| one + other).collect());
            clock.rebase();
            clock.set_by_age(&sums.unwrap_or_default());
            clock
        });
        memory::require(working(keys))?;
        let most = parts.iter().map(DynamicFilter::most_items).max().unwrap_or(0);
        let mut items = PartItems {
            parts: parts.into_iter(),
            number: 0,
            width: plan.bits - depth + plan.tag,
            current: None,
            next: 0,
            items: memory::vec_of(most)?,
            at: 0,
        };
        shards.fill_sorted(&mut items, now)?;
        whole.store = Store::Shards(Box::new(shards));
        Ok(whole)
    }
}

/// Bits of the hash that say which part a key is in.
fn depth_of(bits: u32) -> u32 {
    MAX_DEPTH.min(bits - MIN_BITS)
}

/// The live items of all parts in order. A part is freed when it has been read.
struct PartItems {
    parts: vec::IntoIter<DynamicFilter>,
    number: u64,
    width: u32,
    current: Option<DynamicFilter>,
    next: u64,
    /// Those of one shard of the part, and how many of them were returned. There is room for every shard.
    items: Vec<u64>,
    at: usize,
}

impl Iterator for PartItems {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(part) = &self.current {
                let tags = (1 << part.plan.tag) - 1;
                while let Some(item) = self.items.get(self.at) {
                    self.at += 1;
                    if part.is_live(item & tags) {
                        return Some((self.number - 1) << self.width | item);
                    }
                }
                self.at = 0;
                let more = part.items(&mut self.next, &mut self.items);
                if more.expect("there is room for the items of every shard") {
                    continue;
                }
            }
            self.current = Some(self.parts.next()?);
            (self.number, self.next) = (self.number + 1, 0);
        }
    }
}
