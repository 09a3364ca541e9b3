//! A filter for an unknown number of keys: a chain of filters, each for twice as many keys as the previous
//! one.
//!
//! ```text
//!   link 0       link 1            link 2                        …
//!   | 1,000 |    |  2,000   |      |        4,000        |          capacity in keys
//!   fpr / 2      fpr / 6           fpr / 12                         its rate: fpr / ((i + 1) · (i + 2))
//! ```
//!
//! A lookup queries all links, so their rates add up. `1/2 + 1/6 + 1/12 + …` is less than one for any number
//! of links (the first `n` terms sum to `n / (n + 1)`), so the whole filter stays below the requested rate at
//! any size. That is cheaper than rates which halve: the eighteenth link, which takes a chain from a thousand
//! to a hundred million keys, needs 12 bits per key more than a single filter would, not 26. A link accepts
//! exactly its planned number of keys: no batch overfills it, and the chain does not depend on how the keys
//! are divided into batches.

use super::hashing::{Hasher, Hashing};
use super::sizing::Sizing;
use super::{NativeFilter, Secret};
use crate::bits::Owned;
use crate::error::{DecodeError, MergeError, SizeError};
use crate::keys::{Hashes, Keys};
use crate::sizing::{Request, Target};
use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;

/// Keys processed at once.
pub(super) const CHUNK: usize = 1024;

/// If the link has room for fewer keys than this, keys are inserted one by one: a batch for each new key
/// would cost more.
const WORTH_A_BATCH: u64 = 64;

/// The maximum number of links, of all generations together, that are written and read. Links double, so a
/// generation has at most 64, and there are up to 1001 generations.
pub(super) const MAX_LINKS: usize = 65_536;

/// A native filter that grows: a chain of [`NativeFilter`]s whose rates add up to less than the requested
/// rate.
///
/// For a number of keys that is not known in advance. It has a cost: a lookup queries every link, and the
/// memory is that of a filter at a lower rate. If the number, or an upper bound, is known, a [`NativeFilter`]
/// of that size, folded at the end ([`folded_to`](crate::Filter::folded_to)), is faster and smaller.
///
/// One thread inserts at a time: whether a key is new depends on all links, so no method inserts through
/// `&self`. For many threads use [`SharedFilter`](super::SharedFilter), which has a fixed size.
///
/// ```
/// use fullbloom::{keys::Column, native::GrowingFilter};
///
/// let mut filter = GrowingFilter::with_fpr(1_000, 0.001)?; // a thousand keys to begin with
/// let keys: Vec<u64> = (0..100_000).collect();
/// filter.insert_batch(&Column(&keys))?;
/// assert_eq!(filter.links().len(), 7);                      // 1,000 + 2,000 + … + 64,000
/// assert_eq!(filter.count_batch(&Column(&keys)), 100_000);  // never a false negative
/// assert!(filter.expected_fpr() < 0.001);                   // at any size
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug)]
pub struct GrowingFilter<S = Owned> {
    /// At least one link; keys go into the last.
    pub(super) links: Vec<NativeFilter<S>>,
    pub(super) growth: Growth,
    /// Keyed, with an unknown secret: the check value of the right secret.
    pub(super) locked: Option<u64>,
}

/// How a chain grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Growth {
    /// The rate that the whole filter stays below.
    pub(super) fpr: f64,
    /// Keys of the first link.
    pub(super) first: u64,
}

impl Growth {
    pub(super) fn new(fpr: f64, first_keys: u64) -> Result<Growth, SizeError> {
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizeError::Value { what: "fpr", got: fpr, allowed: "0 < fpr < 1" });
        }
        Ok(Growth { fpr, first: first_keys.max(1) })
    }

    /// An empty link that follows the existing links.
    fn link(&self, links: &[NativeFilter], hashing: &Hashing) -> Result<NativeFilter, SizeError> {
        let last = links.last().map_or(0, NativeFilter::expected_keys);
        let expected_keys = last.saturating_mul(2).max(self.first);
        let i = links.len() as f64;
        let plan = |fpr| Sizing::new(&Request { expected_keys, target: Target::Fpr(fpr) });
        let planned = plan(self.fpr / ((i + 1.0) * (i + 2.0))).or_else(|refused| match refused {
            // 64-bit hashes collide. With very many keys at a very low rate a link's own share may be
            // unreachable, but the share left over by the others is reachable.
            SizeError::Unreachable { .. } if !links.is_empty() => {
                let left = self.fpr - links.iter().map(NativeFilter::planned_fpr).sum::<f64>();
                if left > 0.0 { plan(left / 2.0).map_err(|_| refused) } else { Err(refused) }
            }
            _ => Err(refused),
        });
        NativeFilter::with_sizing(&planned?, hashing.clone())
    }
}

impl GrowingFilter {
    /// An empty filter whose rate stays below `fpr`. Its first link accepts `first_keys` keys, at least 1.
    /// Best set it to the likely number of keys, so that there is one link.
    pub fn with_fpr(first_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        Self::new(first_keys, fpr, Hashing::default())
    }

    /// As [`with_fpr`](Self::with_fpr), hashing with this seed or secret.
    pub fn new(first_keys: u64, fpr: f64, hashing: Hashing) -> Result<Self, SizeError> {
        let growth = Growth::new(fpr, first_keys)?;
        Ok(GrowingFilter { links: vec![growth.link(&[], &hashing)?], growth, locked: None })
    }

    /// Adds a key. Returns true if it was certainly not present before.
    ///
    /// # Errors
    /// When the memory for another link cannot be allocated; the key is then not inserted.
    ///
    /// # Panics
    /// If the filter is [locked](Self::is_locked): without its secret the key's bits are unknown.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, SizeError> {
        self.insert_hash(self.hash(key))
    }

    /// As [`insert`](Self::insert), for a precomputed hash.
    pub fn insert_hash(&mut self, hash: u64) -> Result<bool, SizeError> {
        super::stored::assert_unlocked(self.locked);
        if self.links.iter().rev().any(|link| link.may_contain_hash(hash)) {
            return Ok(false);
        }
        self.make_room()?;
        Ok(self.links.last_mut().expect("a chain has a link").insert_hash(hash))
    }

    /// Adds many keys. Returns how many were new.
    ///
    /// # Errors
    /// When the memory for another link cannot be allocated; some of the keys have then been inserted.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<u64, SizeError> {
        let mut new = [false; CHUNK];
        self.insert_chunks(keys, |filter, _, hashes| {
            filter.insert_until(hashes, &mut new[..hashes.len()], u64::MAX).map(|(_, count)| count)
        })
    }

    /// Adds many keys in order, and reports for each whether it was new. The second of two equal keys is not
    /// new.
    ///
    /// # Errors
    /// As [`insert_batch`](Self::insert_batch).
    ///
    /// # Panics
    /// If the length of `new` is not the number of keys.
    pub fn insert_batch_new<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: &mut [bool],
    ) -> Result<u64, SizeError> {
        assert_eq!(keys.count(), new.len(), "one answer for each key");
        self.insert_chunks(keys, |filter, start, hashes| {
            let new = &mut new[start..][..hashes.len()];
            filter.insert_until(hashes, new, u64::MAX).map(|(_, count)| count)
        })
    }

    fn insert_chunks<K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        mut insert: impl FnMut(&mut Self, usize, &[u64]) -> Result<u64, SizeError>,
    ) -> Result<u64, SizeError> {
        let hasher = self.links[0].dialect.hasher.clone();
        let mut hashes = [0; CHUNK];
        let mut count = 0;
        for start in (0..keys.count()).step_by(CHUNK) {
            let hashes = &mut hashes[..CHUNK.min(keys.count() - start)];
            keys.hash_into(&hasher, start, hashes, false);
            count += insert(self, start, hashes)?;
        }
        Ok(count)
    }

    /// Adds hashes in order until `most` of them were new. Returns how many were processed, and how many were
    /// new.
    pub(super) fn insert_until(
        &mut self,
        hashes: &[u64],
        new: &mut [bool],
        most: u64,
    ) -> Result<(usize, u64), SizeError> {
        super::stored::assert_unlocked(self.locked);
        let (mut done, mut count) = (0, 0);
        while done < hashes.len() && count < most {
            let len = CHUNK.min(hashes.len() - done);
            let (hashes, new) = (&hashes[done..][..len], &mut new[done..][..len]);
            if self.is_full() {
                // Known keys never create a link; the first new key does.
                let mut left = Left::all(hashes);
                self.drop_known(&mut left);
                let known = left.places().next().unwrap_or(len);
                new[..known].fill(false);
                done += known;
                if known < len {
                    self.make_room()?;
                }
                continue;
            }
            let (last, older) = self.links.split_last_mut().expect("a chain has a link");
            let room = last.expected_keys().saturating_sub(last.keys()).min(most - count);
            let (looked_at, added) = if older.is_empty() {
                last.insert_until(hashes, new, room)
            } else {
                let mut left = Left::all(hashes);
                older.iter().rev().for_each(|link| left.drop_known(link));
                let mut answers = [false; CHUNK];
                let (used, added) = last.insert_until(left.hashes(), &mut answers[..left.len], room);
                new.fill(false);
                left.places().zip(&answers[..used]).for_each(|(at, answer)| new[at] = *answer);
                // The rest must also be looked up in the link that has just become full.
                (left.places().nth(used).unwrap_or(len), added)
            };
            done += looked_at;
            count += added;
        }
        Ok((done, count))
    }

    fn is_full(&self) -> bool {
        self.links.last().is_none_or(|last| last.keys() >= last.expected_keys())
    }

    /// A link with room for a key.
    fn make_room(&mut self) -> Result<(), SizeError> {
        if self.is_full() {
            let next = self.growth.link(&self.links, self.hashing())?;
            self.links.push(next);
        }
        Ok(())
    }

    /// Adds all keys of another chain with the same hash, by taking over its links. The requested rate
    /// becomes the sum of both, and the number of keys an estimate, since the two may share some.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &GrowingFilter<T>) -> Result<(), MergeError> {
        if self.is_locked() || other.is_locked() {
            return Err(MergeError::Unsupported {
                dialect: "native",
                why: "one is locked: its secret is not known",
            });
        }
        self.links[0].dialect.head.same_hash(&other.links[0].dialect.head)?;
        if self.links.len() + other.links.len() > MAX_LINKS {
            let why = "together they have more than 65,536 links";
            return Err(MergeError::Unsupported { dialect: "native", why });
        }
        let is_estimate = self.keys() > 0 && other.keys() > 0;
        let theirs: Result<Vec<_>, _> = other.links.iter().map(NativeFilter::try_clone).collect();
        let theirs = theirs.map_err(|e| match e {
            SizeError::Memory { bytes } => DecodeError::Memory { bytes },
            other => DecodeError::Geometry(other),
        })?;
        let (label, store) = (self.label().to_owned(), self.links[0].stores_secret());
        let key_type = super::key_type::common(self.links[0].key_type(), other.links[0].key_type());
        self.links.extend(theirs);
        // Each link keeps its planned rate, and the next one is planned by the number of links, so the total
        // still stays below the sum of both. The largest link must be the last, because the next one must be
        // larger.
        self.links.sort_by_key(NativeFilter::expected_keys);
        for link in &mut self.links {
            link.dialect.head.estimated |= is_estimate;
            link.set_label("");
        }
        self.growth.fpr = (self.growth.fpr + other.growth.fpr).min(1.0 - f64::EPSILON);
        self.set_label(&label);
        self.store_secret(store);
        self.links[0].set_key_type(key_type);
        Ok(())
    }

    /// The chain as one fast filter, if it has one link and is not locked; otherwise returns the chain.
    pub fn into_fast(mut self) -> Result<NativeFilter, GrowingFilter> {
        match self.links.len() {
            1 if self.locked.is_none() => Ok(self.links.remove(0)),
            _ => Err(self),
        }
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.links[0].set_label(label);
    }

    /// Whether the secret of a keyed filter goes into its file; see
    /// [`Filter::store_secret`](crate::Filter::store_secret).
    pub fn store_secret(&mut self, store: bool) {
        self.links[0].store_secret(store);
    }
}

impl NativeFilter {
    /// Adds hashes in order until `most` of them were new. Returns how many were processed, and how many were
    /// new.
    fn insert_until(&mut self, hashes: &[u64], new: &mut [bool], most: u64) -> (usize, u64) {
        let (mut done, mut count) = (0, 0);
        while done < hashes.len() && count < most {
            let room = most - count;
            if room < WORTH_A_BATCH {
                new[done] = self.insert_hash(hashes[done]);
                count += u64::from(new[done]);
                done += 1;
                continue;
            }
            let len = room.min((hashes.len() - done) as u64) as usize;
            let before = self.keys();
            self.insert_batch_new(&Hashes(&hashes[done..][..len]), &mut new[done..][..len]);
            count += self.keys() - before;
            done += len;
        }
        (done, count)
    }
}

impl<S: AsRef<[u8]>> GrowingFilter<S> {
    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate. A locked filter
    /// answers "maybe" to every key.
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.may_contain_hash(self.hash(key))
    }

    /// As [`may_contain`](Self::may_contain), for a precomputed hash.
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        // The last link has half of all keys.
        self.locked.is_some() || self.links.iter().rev().any(|link| link.may_contain_hash(hash))
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.links[0].hash(key)
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
            keys.hash_into(&self.links[0].dialect.hasher, i * CHUNK, hashes, false);
            let mut left = Left::all(hashes);
            self.drop_known(&mut left);
            answers.fill(true);
            left.places().for_each(|at| answers[at] = false);
        }
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> u64 {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch(keys, &mut answers);
        answers.iter().filter(|answer| **answer).count() as u64
    }

    /// Drops the hashes that may be present.
    pub(super) fn drop_known(&self, left: &mut Left) {
        if self.locked.is_some() {
            left.len = 0;
        }
        self.links.iter().rev().for_each(|link| left.drop_known(link));
    }

    /// The filters of the chain, oldest first; keys go into the last.
    pub fn links(&self) -> &[NativeFilter<S>] {
        &self.links
    }

    /// The number of insertions reported as new.
    pub fn keys(&self) -> u64 {
        self.links.iter().map(NativeFilter::keys).fold(0, u64::saturating_add)
    }

    /// Whether [`keys`](Self::keys) is an estimate: after a merge.
    pub fn keys_are_estimated(&self) -> bool {
        self.links.iter().any(NativeFilter::keys_are_estimated)
    }

    /// The requested rate, which the filter stays below at any size.
    pub fn planned_fpr(&self) -> f64 {
        self.growth.fpr
    }

    /// Keys of the first link.
    pub fn first_keys(&self) -> u64 {
        self.growth.first
    }

    /// The rate of the filter in its current state. Reads all arrays.
    pub fn expected_fpr(&self) -> f64 {
        combined_rate(self.links.iter().map(NativeFilter::expected_fpr))
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        self.links[0].hashing()
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        self.links[0].label()
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
        super::stored::unlock(&mut self.locked, self.links.iter_mut().map(|link| &mut link.dialect), secret)
    }
}

/// The rate of several filters that are all queried: a "yes" from any of them is a yes.
pub(super) fn combined_rate(rates: impl Iterator<Item = f64>) -> f64 {
    1.0 - rates.map(|rate| 1.0 - rate).product::<f64>()
}

/// Hashes that no filter has reported present so far, and their indices in a batch.
pub(super) struct Left {
    hashes: [u64; CHUNK],
    places: [u16; CHUNK],
    len: usize,
}

impl Left {
    /// All hashes of a batch, at most [`CHUNK`].
    pub(super) fn all(hashes: &[u64]) -> Left {
        let mut left = Left { hashes: [0; CHUNK], places: [0; CHUNK], len: hashes.len() };
        left.hashes[..hashes.len()].copy_from_slice(hashes);
        left.places.iter_mut().enumerate().for_each(|(i, place)| *place = i as u16);
        left
    }

    /// Drops the hashes that the filter reports present.
    fn drop_known<S: AsRef<[u8]>>(&mut self, filter: &NativeFilter<S>) {
        let mut known = [false; CHUNK];
        let known = &mut known[..self.len];
        filter.may_contain_batch(&Hashes(&self.hashes[..self.len]), &mut *known);
        let mut kept = 0;
        for (i, known) in known.iter().enumerate() {
            // Written unconditionally, because neither we nor the branch predictor can know which are
            // present.
            (self.hashes[kept], self.places[kept]) = (self.hashes[i], self.places[i]);
            kept += usize::from(!known);
        }
        self.len = kept;
    }

    pub(super) fn hashes(&self) -> &[u64] {
        &self.hashes[..self.len]
    }

    /// Their indices in the batch, ascending.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.places[..self.len].iter().map(|place| usize::from(*place))
    }
}
