//! A filter that many threads insert into and ask at once.

use super::Hashing;
use super::NativeFilter;
use super::filter::Head;
use super::hashing::Hasher;
use super::keys::Keys;
use super::plan::Plan;
use super::shape::Shape;
use crate::bits::Owned;
use crate::bits::atomic::{self, AtomicBits, Mask};
use crate::bits::prefetch;
use crate::error::SizeError;
use crate::probe::lines::{LINE, Lines, bits_in_line};
use crate::sizing::Geometry;
use std::sync::atomic::{AtomicU64, Ordering};

/// A native filter whose `insert` takes `&self`.
///
/// Inserting is wait-free and never loses a bit: a key inserted by one thread is found by every thread that
/// knows of the insertion. Of several insertions of one key, at the same time or not, at most one is told "new", and
/// exactly one unless the key looked known already, as false positives do.
///
/// ```
/// use fullbloom::native::SharedFilter;
///
/// let filter = SharedFilter::with_fpr(1_000, 0.001)?;
/// let new: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| filter.insert(b"once") as usize)).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(new, 1);
/// let filter = filter.into_filter(); // to save it, merge it, ask it in batches
/// assert!(filter.may_contain(b"once"));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug)]
pub struct SharedFilter {
    shape: Shape,
    hasher: Hasher,
    head: Head,
    bits: AtomicBits,
    keys: Counter,
}

/// The most bits a key can have.
const MAX_PROBES: usize = 32;

/// Keys whose lines are asked of memory together in a batch.
const TOGETHER: usize = 32;

impl SharedFilter {
    /// An empty filter for `expected_keys` keys at the rate `fpr`.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        NativeFilter::with_fpr(expected_keys, fpr).map(Self::from)
    }

    /// An empty filter that spends this many bits on each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Self, SizeError> {
        NativeFilter::with_bits_per_key(expected_keys, bits_per_key).map(Self::from)
    }

    /// An empty filter of this plan.
    pub fn from_plan(plan: &Plan, hashing: Hashing) -> Result<Self, SizeError> {
        NativeFilter::from_plan(plan, hashing).map(Self::from)
    }

    /// Adds a key; true if it was surely not there before.
    #[inline]
    pub fn insert(&self, key: &[u8]) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// As [`insert`](Self::insert), for a hash made before.
    pub fn insert_hash(&self, hash: u64) -> bool {
        let mut bits = [(0, Mask::of_bit(0)); MAX_PROBES];
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

    /// Adds many keys; how many were new.
    pub fn insert_batch<K: Keys + ?Sized>(&self, keys: &K) -> u64 {
        let mut new = 0;
        self.in_groups(keys, |_, hash| new += u64::from(self.insert_hash(hash)));
        new
    }

    /// Whether the key may be present.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.may_contain_hash(self.hasher.hash(key))
    }

    /// As [`may_contain`](Self::may_contain), for a hash made before.
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        atomic::contains(self.bits.words(), self.bits_of(hash))
    }

    /// Answers many keys.
    ///
    /// # Panics
    /// If `answers` is not as long as there are keys.
    pub fn may_contain_batch<K: Keys + ?Sized>(&self, keys: &K, answers: &mut [bool]) {
        assert_eq!(keys.count(), answers.len(), "one answer for each key");
        self.in_groups(keys, |i, hash| answers[i] = self.may_contain_hash(hash));
    }

    /// The hash of a key, to be asked of several filters with the same seed or secret.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash(key)
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        self.shape.geometry()
    }

    /// How many insertions were told "new" so far.
    pub fn keys(&self) -> u64 {
        self.head.keys.saturating_add(self.keys.sum())
    }

    /// Whether more keys are in than it was made for: the rate is then above the planned one, and grows.
    pub fn is_overfull(&self) -> bool {
        self.head.expected_keys > 0 && self.keys() > self.head.expected_keys
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.bits.as_mut().fill(0);
        self.head.keys = 0;
        self.head.estimated = false;
        self.keys = Counter::default();
    }

    /// The filter, when no other thread uses it any more. No bit is copied.
    pub fn into_filter(self) -> NativeFilter {
        let head = Head { keys: self.keys(), ..self.head };
        NativeFilter { shape: self.shape, hasher: self.hasher, head, bits: self.bits.into_inner() }
    }

    /// The bits of a hash as (word, bit): always in the same order.
    #[inline(always)]
    fn bits_of(&self, hash: u64) -> impl Iterator<Item = (usize, Mask)> {
        let probes = self.shape.layout.line_probes();
        Lines::new(self.shape.layout, self.shape.blocks, hash).flat_map(move |(line, fields)| {
            let first_word = line as usize * (LINE / 8);
            bits_in_line(fields, probes)
                .map(move |bit| (first_word + bit as usize / 64, Mask::of_bit(bit % 64)))
        })
    }

    /// Calls `each` with the number and hash of every key, after asking for the lines of its group.
    fn in_groups<K: Keys + ?Sized>(&self, keys: &K, mut each: impl FnMut(usize, u64)) {
        let mut hashes = [0; TOGETHER];
        for start in (0..keys.count()).step_by(TOGETHER) {
            let group = &mut hashes[..TOGETHER.min(keys.count() - start)];
            keys.hash_into(&self.hasher, start, group);
            for &hash in &*group {
                for (line, _) in Lines::new(self.shape.layout, self.shape.blocks, hash) {
                    prefetch::ahead(self.bits.words(), line as usize * (LINE / 8), 1);
                }
            }
            for (i, &hash) in group.iter().enumerate() {
                each(start + i, hash);
            }
        }
    }
}

impl From<NativeFilter<Owned>> for SharedFilter {
    /// The same filter with the same keys, to be shared. No bit is copied.
    fn from(filter: NativeFilter<Owned>) -> Self {
        let NativeFilter { shape, hasher, head, bits } = filter;
        SharedFilter { shape, hasher, head, bits: AtomicBits::new(bits), keys: Counter::default() }
    }
}

/// A count kept in several places, so that threads do not queue for one.
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
