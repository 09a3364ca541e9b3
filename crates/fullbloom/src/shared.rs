//! A filter for concurrent insertions and lookups by many threads.

use crate::native::Native;
use crate::{Filter, KeyHash};
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use fullbloom_core::bits::atomic::{self, AtomicBits, Mask};
use fullbloom_core::bits::prefetch;
use fullbloom_core::error::{InsertError, KeysError, SizeError};
use fullbloom_core::kernel::pipeline::{self, Answers, Pipe, Source};
use fullbloom_core::keys::{Key, Keys, each_valid, look_up};
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::probe::lines::{LINE, Lines};
use fullbloom_core::sizing::Geometry;

/// A native filter whose `insert` takes `&self`.
///
/// Inserting is wait-free and never loses a bit: a key inserted by one thread is found by every thread that
/// synchronises with the insertion. Of several insertions of one key, concurrent or not, at most one returns
/// "new". Exactly one does, unless the key was already reported present as a false positive.
///
/// ```
/// use fullbloom::SharedFilter;
///
/// let filter = SharedFilter::with_fpr(1_000, 0.001)?;
/// let new: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| filter.insert(b"once") as usize)).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(new, 1);
/// let filter = filter.into_filter(); // to save it, merge it, look up batches
/// assert!(filter.may_contain(b"once"));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug)]
pub struct SharedFilter {
    native: Native,
    bits: AtomicBits,
    keys: Counter,
}

impl SharedFilter {
    /// An empty filter for `expected_keys` keys at the rate `fpr`.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        Filter::with_fpr(expected_keys, fpr).map(Self::from)
    }

    /// An empty filter that spends this many bits on each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Self, SizeError> {
        Filter::with_bits_per_key(expected_keys, bits_per_key).map(Self::from)
    }

    /// An empty filter of this size, hashing with this seed or secret.
    pub fn with_sizing(sizing: &Sizing, hashing: Hashing) -> Result<Self, SizeError> {
        Filter::with_sizing(sizing, hashing).map(Self::from)
    }

    /// Adds a key. Returns true if it was certainly not present before.
    #[inline]
    pub fn insert(&self, key: impl Key<Hasher>) -> bool {
        self.set(key.hash_with(&self.native.hasher))
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    ///
    /// # Errors
    /// If the hash was made with another seed or secret.
    pub fn insert_hash(&self, hash: KeyHash) -> Result<bool, InsertError> {
        Ok(self.set(hash.by(&self.native.hasher)?))
    }

    fn set(&self, hash: u64) -> bool {
        match self.native.shape.layout.lines() {
            1 => self.insert_bits::<8>(hash),
            2 => self.insert_bits::<16>(hash),
            _ => self.insert_bits::<32>(hash),
        }
    }

    /// Inserts a key that has at most `MOST` bits.
    #[inline(always)]
    fn insert_bits<const MOST: usize>(&self, hash: u64) -> bool {
        let mut bits = [(0, Mask::of_bit(0)); MOST];
        let mut count = 0;
        for (slot, bit) in bits.iter_mut().zip(self.bits_of(hash)) {
            *slot = bit;
            count += 1;
        }
        let new = atomic::insert(self.bits.words(), &bits[..count]);
        if new {
            self.keys.add(hash);
        }
        new
    }

    /// Adds many keys; see [`Filter::insert_batch`].
    ///
    /// # Errors
    /// If the keys do not fit the filter. None is inserted.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<(), InsertError> {
        let hasher = &self.native.hasher;
        keys.require(hasher, self.native.head.key_type)?;
        match keys.validity() {
            None => self.set_batch(keys),
            Some(validity) => each_valid(keys, validity, hasher, |hashes| {
                self.set_batch(hashes);
                Ok::<(), InsertError>(())
            })?,
        }
        Ok(())
    }

    fn set_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) {
        let mut pipe = Together { filter: self, work: |hash| self.set(hash) };
        pipeline::run(&mut pipe, Source::new(keys, &self.native.hasher), |_, _, _, _| ());
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.test(key.hash_with(&self.native.hasher))
    }

    /// As [`may_contain`](Self::may_contain), for a precomputed hash. Of a filter with another seed or secret
    /// the answer is "maybe".
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        hash.by(&self.native.hasher).map_or(true, |hash| self.test(hash))
    }

    #[inline]
    fn test(&self, hash: u64) -> bool {
        let (shape, words) = (&self.native.shape, self.bits.words());
        let tested = shape.inlined.and_then(|kernel| kernel.test_shared(words, hash, shape.probes));
        tested.unwrap_or_else(|| self.contains_bits(hash))
    }

    #[inline(never)]
    fn contains_bits(&self, hash: u64) -> bool {
        atomic::contains(self.bits.words(), self.bits_of(hash))
    }

    /// Looks up many keys; see [`Filter::may_contain_batch`].
    ///
    /// # Errors
    /// If the keys do not fit the filter.
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch_into(keys, &mut answers)?;
        Ok(answers)
    }

    /// As [`may_contain_batch`](Self::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys.
    pub fn may_contain_batch_into<'a, K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        let hasher = &self.native.hasher;
        look_up(keys, hasher, self.native.head.key_type, answers.into(), |answers| {
            let pipe = Together { filter: self, work: |hash| self.test(hash) };
            pipeline::collect(pipe, Source::new(keys, hasher), answers);
        })
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    #[inline]
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &self.native.hasher)
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        self.native.shape.geometry()
    }

    /// The number of insertions reported as new so far.
    pub fn keys(&self) -> u64 {
        self.native.head.keys.saturating_add(self.keys.sum())
    }

    /// Whether it holds more keys than it was sized for. The rate is then above the planned one, and rises
    /// further.
    pub fn is_overfull(&self) -> bool {
        self.native.head.expected_keys > 0 && self.keys() > self.native.head.expected_keys
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bits.exclusive().fill(0);
        self.native.head.keys = 0;
        self.native.head.estimated = false;
        self.keys = Counter::default();
    }

    /// A copy of the filter as it is now, to save, encode or merge it while other threads go on inserting.
    ///
    /// Every key whose insertion returned before the call is in the copy. A key that is being inserted at the
    /// same time may be in it, or not.
    ///
    /// ```
    /// use fullbloom::SharedFilter;
    ///
    /// let filter = SharedFilter::with_fpr(1_000, 0.01)?;
    /// filter.insert("alice");
    /// let copy = filter.snapshot()?;
    /// filter.insert("bob");
    /// assert!(copy.may_contain("alice") && !copy.may_contain("bob") && copy.keys() == 1);
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    ///
    /// # Errors
    /// When there is not enough memory for the copy.
    pub fn snapshot(&self) -> Result<Filter, SizeError> {
        let mut native = self.native.clone();
        native.head.keys = self.keys();
        let mut filter = Filter::empty(native)?;
        let (bytes, _) = filter.bits.as_mut().as_chunks_mut::<8>();
        for (copy, word) in bytes.iter_mut().zip(self.bits.words()) {
            *copy = word.load(Ordering::Acquire).to_ne_bytes(); // the bytes as they are in memory
        }
        Ok(filter)
    }

    /// The encoded filter as it is now; see [`snapshot`](Self::snapshot).
    ///
    /// # Errors
    /// When there is not enough memory for the copy.
    pub fn encode(&self) -> Result<Vec<u8>, SizeError> {
        self.snapshot().map(|filter| filter.encode())
    }

    /// The filter, once no other thread uses it. No bit is copied.
    pub fn into_filter(self) -> Filter {
        let keys = self.keys();
        let mut native = self.native;
        native.head.keys = keys;
        Filter { native, bits: self.bits.into_inner() }
    }

    /// The bits of a hash as (word, bit) pairs, always in the same order.
    #[inline(always)]
    fn bits_of(&self, hash: u64) -> impl Iterator<Item = (usize, Mask)> {
        let probes = self.native.shape.layout.line_probes();
        Lines::new(self.native.shape.layout, self.native.shape.blocks, hash).flat_map(move |(line, mark)| {
            let first_word = line as usize * WORDS;
            mark.bits(probes).map(move |bit| (first_word + bit as usize / 64, Mask::of_bit(bit % 64)))
        })
    }
}

/// Words of a line.
const WORDS: usize = LINE / 8;

/// Keys whose lines are prefetched together in a batch.
const TOGETHER: usize = 32;

/// Processes the keys of a batch one by one, with their lines prefetched.
struct Together<'a, W> {
    filter: &'a SharedFilter,
    /// Whether the key of this hash is new, or present.
    work: W,
}

impl<W: Fn(u64) -> bool> Pipe<TOGETHER, 2> for Together<'_, W> {
    type Hash = u64;
    type Slot = [u64; TOGETHER];
    const PREPARE: usize = 0;
    const PREFETCH: usize = 0;
    const FINISH: usize = 1;

    fn empty(&self) -> Self::Slot {
        [0; TOGETHER]
    }

    fn hashes(slot: &mut Self::Slot) -> &mut [u64; TOGETHER] {
        slot
    }

    fn prepare(&self, _: &mut Self::Slot) {}

    fn prefetch(&mut self, slot: &Self::Slot, _: &Self::Slot) {
        let shape = &self.filter.native.shape;
        for &hash in slot {
            for (line, _) in Lines::new(shape.layout, shape.blocks, hash) {
                prefetch::ahead(self.filter.bits.words(), line as usize * WORDS, 1);
            }
        }
    }

    fn finish(&mut self, slot: &Self::Slot, _: &Self::Slot, count: usize) -> u64 {
        slot[..count].iter().enumerate().fold(0, |bits, (i, hash)| bits | u64::from((self.work)(*hash)) << i)
    }
}

impl From<Filter> for SharedFilter {
    /// Converts the filter into a shared one with the same keys. No bit is copied.
    fn from(filter: Filter) -> Self {
        let Filter { native, bits } = filter;
        SharedFilter { native, bits: AtomicBits::new(bits), keys: Counter::default() }
    }
}

/// A count kept in several places, so that threads do not contend for one.
#[derive(Debug, Default)]
struct Counter([Stripe; 16]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

impl Counter {
    #[inline(always)]
    fn add(&self, hash: u64) {
        self.0[(hash >> 32) as usize % self.0.len()].0.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}
