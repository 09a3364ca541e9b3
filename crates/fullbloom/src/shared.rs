//! A filter for concurrent insertions and lookups by many threads.

use crate::native::Native;
use crate::{Filter, KeyHash};
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::error::{InsertError, KeysError, SizeError};
use fullbloom_core::kernel::pipeline::{self, Answers, Pipe, Source};
use fullbloom_core::keys::{Key, Keys, each_valid, look_up};
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::shared::SharedLines;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::sizing::Geometry;

/// A native filter whose `insert` takes `&self`.
///
/// A key inserted by one thread is found by every thread that synchronises with the insertion. Of several
/// insertions of one key, concurrent or not, exactly one returns "new", unless the key was already reported present
/// as a false positive. Lookups never wait. An insertion waits for one into the same part of the array, of which
/// there are up to 1,024: so signal handlers must not insert, nor must a forked process if a thread of its parent
/// was inserting.
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
    lines: SharedLines,
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
        self.lines.insert(key.hash_with(&self.native.hasher))
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    ///
    /// # Errors
    /// If the hash was made with another seed or secret.
    pub fn insert_hash(&self, hash: KeyHash) -> Result<bool, InsertError> {
        Ok(self.lines.insert(hash.by(&self.native.hasher)?))
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
        let mut pipe = Together { filter: self, work: |hash| self.lines.insert(hash) };
        pipeline::run(&mut pipe, Source::new(keys, &self.native.hasher), |_, _, _, _| ());
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.lines.test(key.hash_with(&self.native.hasher))
    }

    /// As [`may_contain`](Self::may_contain), for a precomputed hash. Of a filter with another seed or secret
    /// the answer is "maybe".
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        hash.by(&self.native.hasher).map_or(true, |hash| self.lines.test(hash))
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
            let pipe = Together { filter: self, work: |hash| self.lines.test(hash) };
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

    /// The number of distinct keys, estimated from the bits; `None` when it cannot be estimated, for example
    /// for a full filter. Reads the whole array.
    pub fn estimated_keys(&self) -> Option<f64> {
        self.native.shape.keys_of(self.lines.words().map(|word| u64::from(word.count_ones())).sum())
    }

    /// Removes all keys. What remains is a new filter of the same shape, with the same hash function, label
    /// and key type.
    ///
    /// # Errors
    /// None: the signature is that of every filter, of which those that grow need memory.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        self.lines.clear();
        Ok(())
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
    /// assert!(copy.may_contain("alice") && !copy.may_contain("bob") && !copy.may_contain("carol"));
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    ///
    /// # Errors
    /// When there is not enough memory for the copy.
    pub fn snapshot(&self) -> Result<Filter, SizeError> {
        let mut filter = Filter::empty(self.native.clone())?;
        let (bytes, _) = filter.bits.as_mut().as_chunks_mut::<8>();
        for (copy, word) in bytes.iter_mut().zip(self.lines.words()) {
            *copy = word.to_ne_bytes(); // the bytes as they are in memory
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
        Filter { native: self.native, bits: self.lines.into_inner() }
    }
}

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
        for &hash in slot {
            self.filter.lines.prefetch(hash);
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
        // Insertions through a shared reference could not forget the number of keys that a file said.
        let native = Native { keys: None, ..native };
        SharedFilter { lines: SharedLines::new(native.shape, bits), native }
    }
}
