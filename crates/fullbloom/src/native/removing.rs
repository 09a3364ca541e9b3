//! A filter that supports deletion: the fast filter, and a four-bit counter for each of its bits.

use super::dialect::{Head, Native, lines};
use super::hashing::{Hasher, Hashing};
use super::sizing::Sizing;
use super::{NativeFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, MergeError, SizeError};
use crate::filter::{Filter, Insert};
use crate::kernel::counters::{COUNTERS_LEN, Counted, Counters, full};
use crate::kernel::lines::GROUP;
use crate::kernel::pipeline::{Answers, Source};
use crate::keys::Keys;
use crate::probe::lines::{LINE, Lines};

/// A native filter whose keys can be removed.
///
/// It consists of a [`NativeFilter`], which answers lookups, and counters beside it: five times the memory in
/// total. Lookups, single or in batches, are those of the fast filter and as fast.
/// [`into_fast`](Self::into_fast) converts it into one without copying a bit.
///
/// ```
/// use fullbloom::native::RemovingFilter;
///
/// let mut filter = RemovingFilter::with_fpr(1_000, 0.001)?;
/// filter.insert(b"alice");
/// filter.insert(b"bob");
/// assert!(filter.remove(b"alice"));       // taken out
/// assert!(!filter.may_contain(b"alice"));
/// assert!(!filter.remove(b"carol"));      // certainly never inserted: refused
/// assert!(filter.may_contain(b"bob"));    // no false negatives, as long as only inserted keys are removed
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// # Limits
///
/// - **Remove only what was inserted.** Removing a key that was never inserted is refused, unless the filter
///   reports it present, which happens at the filter's rate. In that case bits of other keys may be cleared,
///   and those keys may be reported absent.
/// - **Insertions count.** A key inserted twice stays present until it has been removed twice.
/// - **Counters saturate at 15**, that is after the sixteenth key on one bit. Such a bit is never cleared
///   again, so no key is lost, but removed keys that use it leave it set. Random keys do not cause this (at
///   the planned number of keys, less than one bit in 10^14); inserting the same key many times does.
///   [`full_counters`](Self::full_counters) reports how many there are.
#[derive(Debug)]
pub struct RemovingFilter<S = Owned> {
    pub(super) filter: NativeFilter<S>,
    /// The [`Counters`] of each line.
    pub(super) counters: S,
    /// Keyed, with an unknown secret: the check value of the right secret.
    pub(super) locked: Option<u64>,
}

/// Bytes of the counters of an array.
pub(super) fn counters_len(bits_len: u64) -> u64 {
    bits_len * (COUNTERS_LEN / LINE) as u64
}

impl RemovingFilter {
    /// An empty filter for `expected_keys` keys at the rate `fpr`.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        let target = crate::sizing::Target::Fpr(fpr);
        let request = crate::sizing::Request { expected_keys, target };
        Self::with_sizing(&Sizing::new(&request)?, Hashing::default())
    }

    /// An empty filter of this size, which counts the bits alone; counters take four times as much in
    /// addition.
    pub fn with_sizing(sizing: &Sizing, hashing: Hashing) -> Result<Self, SizeError> {
        let filter = NativeFilter::with_sizing(sizing, hashing)?;
        let counters = Owned::zeroed(counters_len(filter.dialect.shape.byte_len()))?;
        Ok(RemovingFilter { filter, counters, locked: None })
    }

    /// The parts to change. A locked filter cannot be changed: under another hash other keys' bits would be
    /// counted.
    fn parts(&mut self) -> (Counted<'_>, &mut Head) {
        super::stored::assert_unlocked(self.locked);
        let Filter { dialect: Native { shape, head, .. }, bits } = &mut self.filter;
        let lines = bits.as_mut().as_chunks_mut().0;
        let counters = self.counters.as_mut().as_chunks_mut().0;
        (Counted { lines, counters, probes: shape.probes }, head)
    }

    /// Adds a key. Returns true if it was certainly not present before. In either case one more removal is
    /// needed.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked), as for all methods that change its keys.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        self.insert_hash(self.filter.hash(key))
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    pub fn insert_hash(&mut self, hash: u64) -> bool {
        let shape = self.filter.dialect.shape;
        let (counted, head) = self.parts();
        head.keys = head.keys.saturating_add(1);
        counted.add(shape.cpu, Lines::new(shape.layout, shape.blocks, hash))
    }

    /// Adds many keys. Returns how many were new.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> u64 {
        self.insert_keys(keys, None)
    }

    /// Adds many keys in order, and reports for each whether it was new. The second of two equal keys is not
    /// new.
    ///
    /// # Panics
    /// If the length of `new` is not the number of keys.
    pub fn insert_batch_new<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K, new: &mut [bool]) -> u64 {
        assert_eq!(keys.count(), new.len(), "one answer for each key");
        self.insert_keys(keys, Some(new.into()))
    }

    fn insert_keys<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K, new: Option<Answers<'_>>) -> u64 {
        let (shape, hasher) = (self.filter.dialect.shape, self.filter.dialect.hasher.clone());
        let (Counted { lines, counters, .. }, head) = self.parts();
        let new = shape.count_batch(lines, counters, Source::new(keys, &hasher), new);
        head.keys = head.keys.saturating_add(keys.count() as u64);
        new
    }

    /// Removes one insertion of a key. Returns false, and changes nothing, if the key is certainly not
    /// present.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.remove_hash(self.filter.hash(key))
    }

    /// As [`remove`](Self::remove), for a precomputed hash.
    pub fn remove_hash(&mut self, hash: u64) -> bool {
        let mut removed = false;
        self.remove_hashes(&[hash], |_, was_there| removed = was_there);
        removed
    }

    /// Removes many keys in order. Returns how many were present.
    pub fn remove_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> u64 {
        self.remove_groups(keys, |_, _| {})
    }

    /// Removes many keys in order, and reports for each whether it was present.
    ///
    /// # Panics
    /// If the length of `removed` is not the number of keys.
    pub fn remove_batch_told<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K, removed: &mut [bool]) -> u64 {
        assert_eq!(keys.count(), removed.len(), "one answer for each key");
        self.remove_groups(keys, |i, was_there| removed[i] = was_there)
    }

    fn remove_groups<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        mut sink: impl FnMut(usize, bool),
    ) -> u64 {
        let mut count = 0;
        let mut hashes = [0; GROUP];
        for start in (0..keys.count()).step_by(GROUP) {
            let hashes = &mut hashes[..GROUP.min(keys.count() - start)];
            keys.hash_into(&self.filter.dialect.hasher, start, hashes, false);
            self.remove_hashes(hashes, |i, was_there| {
                count += u64::from(was_there);
                sink(start + i, was_there);
            });
        }
        count
    }

    fn remove_hashes(&mut self, hashes: &[u64], mut sink: impl FnMut(usize, bool)) {
        let shape = self.filter.dialect.shape;
        let (counted, head) = self.parts();
        counted.take(shape.cpu, shape.layout, shape.blocks, hashes, |i, was_there| {
            head.keys = head.keys.saturating_sub(u64::from(was_there));
            sink(i, was_there);
        });
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.filter.clear();
        self.counters.as_mut().fill(0);
    }

    /// The fast filter of the same keys. No bit is copied; the counters are freed. Its number of keys is an
    /// estimate: the insertions minus the removals.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked): a fast filter without its hash would report every key
    /// absent.
    pub fn into_fast(mut self) -> NativeFilter {
        super::stored::assert_unlocked(self.locked);
        self.filter.dialect.head.estimated = true;
        self.filter
    }

    /// Adds all keys of another filter of the same shape and hash: the counters are added.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &RemovingFilter<T>) -> Result<(), MergeError> {
        if self.is_locked() || other.is_locked() {
            return Err(MergeError::Unsupported {
                dialect: "native",
                why: "one is locked: its secret is not known",
            });
        }
        self.filter.dialect.mergeable(&other.filter.dialect)?;
        let theirs = lines(other.filter.bits()).iter().zip(other.counter_lines());
        let (Counted { lines, counters, .. }, head) = self.parts();
        for ((line, counters), (their_line, theirs)) in lines.iter_mut().zip(counters).zip(theirs) {
            crate::kernel::counters::add_all(line, counters, their_line, theirs);
        }
        head.keys = head.keys.saturating_add(other.filter.dialect.head.keys);
        head.estimated |= other.filter.dialect.head.estimated;
        Ok(())
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.filter.set_label(label);
    }

    /// Whether the secret of a keyed filter goes into its file; see
    /// [`Filter::store_secret`](crate::Filter::store_secret).
    pub fn store_secret(&mut self, store: bool) {
        self.filter.store_secret(store);
    }
}

impl<S: AsRef<[u8]>> RemovingFilter<S> {
    pub(super) fn counter_lines(&self) -> &[Counters] {
        self.counters.as_ref().as_chunks().0
    }

    /// Whether the key may be present. A locked filter answers "maybe" to every key.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.locked.is_some() || self.filter.may_contain(key)
    }

    /// Looks up many keys, one `bool` each.
    ///
    /// # Panics
    /// If the length of `answers` is not the number of keys.
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K, answers: &mut [bool]) {
        self.filter.may_contain_batch(keys, &mut *answers);
        if self.locked.is_some() {
            answers.fill(true);
        }
    }

    /// The fast filter of the same keys, for lookups (unless the filter is [locked](Self::is_locked)) and
    /// inspection. Its number of [keys](crate::Filter::keys) is the insertions minus the removals.
    pub fn filter(&self) -> &NativeFilter<S> {
        &self.filter
    }

    /// Insertions minus removals.
    pub fn keys(&self) -> u64 {
        self.filter.keys()
    }

    /// A copy as a fast filter; see [`into_fast`](Self::into_fast).
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked).
    pub fn to_fast(&self) -> Result<NativeFilter, SizeError> {
        super::stored::assert_unlocked(self.locked);
        let mut fast = self.filter.try_clone()?;
        fast.dialect.head.estimated = true;
        Ok(fast)
    }

    /// The number of counters that are saturated at 15. Reads all of them.
    pub fn full_counters(&self) -> u64 {
        full(self.counter_lines())
    }

    /// Whether it is keyed and its secret is unknown; see [`unlock`](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.unlock_in_place(secret)?;
        Ok(self)
    }

    pub(super) fn unlock_in_place(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        super::stored::unlock(&mut self.locked, core::iter::once(&mut self.filter.dialect), secret)
    }
}
