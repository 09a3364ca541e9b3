//! A filter with its exceptions: built in two passes, asked, and as found in a file.

use super::NativeFilter;
use super::exceptions::{Exceptions, next_level};
use super::keys::ByteKeys;
use super::pipeline::Answers;
use crate::bits::Owned;
use crate::error::SizeError;
use std::fmt;

/// A native filter that answers "no" to known-good keys, and takes no more keys of its own.
///
/// This is also what a file is read as: with exceptions or, as most, without.
///
/// ```
/// use fullbloom::native::NativeFilter;
///
/// let members: Vec<String> = (0..1000).map(|i| format!("bad-{i}")).collect();
/// let good: Vec<String> = (0..100_000).map(|i| format!("good-{i}")).collect();
/// let mut filter = NativeFilter::with_fpr(1000, 0.01)?;
/// filter.insert_batch(members.as_slice());
/// assert!(good.iter().any(|key| filter.may_contain(key.as_bytes()))); // about a thousand of them
///
/// let guarded = filter.guard(good.as_slice(), members.as_slice())?;
/// assert!(good.iter().all(|key| !guarded.may_contain(key.as_bytes())));
/// assert!(members.iter().all(|key| guarded.may_contain(key.as_bytes())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GuardedFilter<S = Owned> {
    pub(super) filter: NativeFilter<S>,
    pub(super) exceptions: Option<Exceptions>,
    /// Keyed, and the secret is not known: the check value of the right one.
    pub(super) locked: Option<u64>,
}

impl<S: AsRef<[u8]>> GuardedFilter<S> {
    /// Whether the key may be present; never for the known-good keys. A locked filter says "maybe" to all.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        if self.locked.is_some() {
            return true;
        }
        self.filter.may_contain(key) && !self.exceptions.as_ref().is_some_and(|e| e.excepts(key))
    }

    /// Answers many keys.
    ///
    /// # Panics
    /// If `answers` is not as long as there are keys.
    pub fn may_contain_batch<K: ByteKeys + ?Sized>(&self, keys: &K, answers: &mut [bool]) {
        assert_eq!(keys.count(), answers.len(), "one answer for each key");
        if self.locked.is_some() {
            answers.fill(true);
            return;
        }
        self.filter.may_contain_batch(keys, answers);
        if let Some(exceptions) = &self.exceptions {
            for (i, answer) in answers.iter_mut().enumerate().filter(|(_, answer)| **answer) {
                let mut hash = [0];
                keys.hash_into(exceptions.hasher(), i, &mut hash);
                *answer = !exceptions.excepts_hash(hash[0]);
            }
        }
    }

    /// The filter without its exceptions, to be looked at.
    pub fn filter(&self) -> &NativeFilter<S> {
        &self.filter
    }

    /// Whether it is keyed and its secret is not known; see [`unlock`](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.locked.is_some()
    }

    /// What the exceptions are made of; `None` when there are none.
    pub fn exceptions(&self) -> Option<ExceptionFacts> {
        self.exceptions.as_ref().map(|exceptions| ExceptionFacts {
            levels: exceptions.levels().len(),
            listed: exceptions.list().len() as u64,
            bytes: exceptions.byte_len(),
        })
    }

    /// The filter, which takes keys again; the whole back if it has exceptions, which could not be kept, or is locked.
    pub fn into_filter(self) -> Result<NativeFilter<S>, Box<GuardedFilter<S>>> {
        if self.exceptions.is_some() || self.locked.is_some() {
            return Err(Box::new(self));
        }
        Ok(self.filter)
    }
}

impl<S> From<NativeFilter<S>> for GuardedFilter<S> {
    /// The filter without exceptions.
    fn from(filter: NativeFilter<S>) -> Self {
        GuardedFilter { filter, exceptions: None, locked: None }
    }
}

/// What the exceptions of a filter are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceptionFacts {
    /// Small filters in the chain.
    pub levels: usize,
    /// Hashes in the list at its end.
    pub listed: u64,
    /// Bytes of all of it.
    pub bytes: u64,
}

/// First pass: takes the known-good keys, remembers those that the filter calls present.
#[derive(Debug)]
pub struct GoodKeys<S = Owned> {
    filter: NativeFilter<S>,
    exceptions: Exceptions,
    found: Vec<Candidate>,
}

/// A false positive among the known-good keys: its hash for the exceptions, and the filter's.
type Candidate = (u64, u64);

/// Second pass: takes every member again, so that none is refused.
#[derive(Debug)]
pub struct Members<S = Owned> {
    filter: NativeFilter<S>,
    exceptions: Exceptions,
    /// Sorted. A candidate that turns out to be a member is marked.
    candidates: Vec<(Candidate, bool)>,
    /// Whether the candidates' own filter is the first level, or only here to make the pass fast.
    keep_level: bool,
    passed: Vec<u64>,
    collisions: u64,
    strangers: u64,
}

impl<S: AsRef<[u8]>> NativeFilter<S> {
    /// The filter with exceptions: `good` keys are answered "no" unless they are members. `members` must be all keys
    /// that are in the filter.
    ///
    /// For keys that do not fit into memory there is [`exceptions`](Self::exceptions).
    pub fn guard<G, M>(self, good: &G, members: &M) -> Result<GuardedFilter<S>, GuardError>
    where
        G: ByteKeys + ?Sized,
        M: ByteKeys + ?Sized,
    {
        let mut first = self.exceptions();
        first.add(good)?;
        let mut second = first.members()?;
        second.add(members)?;
        second.finish()
    }

    /// Begins to make exceptions, in two passes: the known-good keys, then all members once more.
    pub fn exceptions(self) -> GoodKeys<S> {
        GoodKeys { exceptions: Exceptions::none(self.hashing()), filter: self, found: Vec::new() }
    }
}

impl<S: AsRef<[u8]>> GoodKeys<S> {
    /// Takes known-good keys, any number of times. Memory is used for the false positives among them.
    pub fn add<K: ByteKeys + ?Sized>(&mut self, keys: &K) -> Result<(), GuardError> {
        let GoodKeys { filter, exceptions, found } = self;
        let mut full = false;
        let mut hashes = [[0; 64]; 2];
        filter.shape.test_batch(filter.lines(), keys, &filter.hasher, |start, group: Answers| {
            if group.bits == 0 || full {
                return;
            }
            let [first, second] = &mut hashes;
            keys.hash_into(exceptions.hasher(), start, &mut first[..group.len]);
            keys.hash_into(&filter.hasher, start, &mut second[..group.len]);
            full |= found.try_reserve(group.len).is_err();
            if !full {
                found.extend(group.ones().map(|i| (first[i], second[i])));
            }
        });
        if full { Err(out_of_memory::<Candidate>(self.found.len())) } else { Ok(()) }
    }

    /// How many of the keys so far the filter called present.
    pub fn false_positives(&self) -> usize {
        self.found.len()
    }

    /// Goes over to the second pass.
    pub fn members(mut self) -> Result<Members<S>, GuardError> {
        self.found.sort_unstable();
        self.found.dedup();
        let hashes: Vec<u64> = self.found.iter().map(|&(hash, _)| hash).collect();
        let next = next_level(hashes.len() as f64, self.filter.keys().max(1) as f64);
        // Without a first level to keep, one that passes few members still saves most of the look-ups.
        self.exceptions.push_level(&hashes, next.unwrap_or(1e-4))?;
        Ok(Members {
            filter: self.filter,
            exceptions: self.exceptions,
            candidates: self.found.into_iter().map(|candidate| (candidate, false)).collect(),
            keep_level: next.is_some(),
            passed: Vec::new(),
            collisions: 0,
            strangers: 0,
        })
    }
}

impl<S: AsRef<[u8]>> Members<S> {
    /// Takes members, any number of times, in any order.
    pub fn add<K: ByteKeys + ?Sized>(&mut self, keys: &K) -> Result<(), GuardError> {
        let Members { filter, exceptions, candidates, passed, collisions, strangers, .. } = self;
        let mut full = false;
        let mut hashes = [0; 64];
        filter.shape.test_batch(filter.lines(), keys, &filter.hasher, |start, group: Answers| {
            *strangers += group.len as u64 - u64::from(group.bits.count_ones());
            keys.hash_into(exceptions.hasher(), start, &mut hashes[..group.len]);
            for (i, &hash) in hashes[..group.len].iter().enumerate() {
                if !exceptions.passes_last(hash) {
                    continue;
                }
                full |= passed.try_reserve(1).is_err();
                if full {
                    return;
                }
                passed.push(hash);
                let mut own = [0];
                keys.hash_into(&filter.hasher, start + i, &mut own);
                let first = candidates.partition_point(|((known, _), _)| *known < hash);
                for ((_, theirs), member) in
                    candidates[first..].iter_mut().take_while(|((known, _), _)| *known == hash)
                {
                    if *theirs == own[0] {
                        *member = true;
                    } else {
                        *collisions += 1;
                    }
                }
            }
        });
        if full { Err(out_of_memory::<u64>(self.passed.len())) } else { Ok(()) }
    }

    /// The filter with its exceptions.
    pub fn finish(mut self) -> Result<GuardedFilter<S>, GuardError> {
        if self.strangers > 0 {
            return Err(GuardError::NotMembers { count: self.strangers });
        }
        if self.collisions > 0 {
            return Err(GuardError::Collision);
        }
        let good = self.candidates.iter().filter(|(_, member)| !member).map(|&((hash, _), _)| hash).collect();
        let mut exceptions = self.exceptions;
        if self.keep_level {
            exceptions.finish(std::mem::take(&mut self.passed), good)?;
        } else {
            exceptions = Exceptions::none(self.filter.hashing());
            exceptions.set_list(good);
        }
        Ok(GuardedFilter { filter: self.filter, exceptions: Some(exceptions), locked: None })
    }
}

fn out_of_memory<T>(count: usize) -> GuardError {
    GuardError::Size(SizeError::Memory { bytes: (count * size_of::<T>()) as u64 * 2 })
}

/// Exceptions cannot be made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GuardError {
    /// Keys that were given as members are not in the filter.
    NotMembers {
        /// How many.
        count: u64,
    },
    /// A member and a known-good key have the same hash: with another seed they will not.
    Collision,
    /// The memory could not be had.
    Size(SizeError),
}

impl From<SizeError> for GuardError {
    fn from(error: SizeError) -> Self {
        GuardError::Size(error)
    }
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GuardError::NotMembers { count } => {
                write!(f, "{count} of the keys given as members are not in the filter")
            }
            GuardError::Collision => {
                f.write_str("a member and a known-good key have the same hash; build with another seed")
            }
            GuardError::Size(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GuardError {}
