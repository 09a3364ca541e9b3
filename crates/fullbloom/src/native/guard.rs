//! Building the exceptions of a filter, in two passes.

use super::exceptions::{Exceptions, next_level};
use super::hashing::Hasher;
use crate::error::SizeError;
use crate::filter::{Dialect, Filter, View};
use crate::kernel::pipeline::Answers;
use crate::keys::{Hashes, Keys};
use crate::memory;
use alloc::vec::Vec;
use core::fmt;

/// Keys processed at once.
const CHUNK: usize = 1024;

/// The native kinds that can have exceptions: `fast` and `compact`.
pub trait Except: Dialect<Hash = u64, Hasher = Hasher> {
    /// Whether exceptions can be added: there are none yet, and the secret is known.
    fn is_open(&self) -> bool;

    /// The number of keys.
    fn member_count(&self) -> u64;

    /// The exceptions, if there are any.
    fn exceptions(&self) -> Option<&Exceptions>;

    /// The same with these exceptions, or without any.
    fn with(self, exceptions: Option<Exceptions>) -> Self;
}

impl<D: Except, S: AsRef<[u8]>> Filter<D, S> {
    /// The filter with exceptions: `good` keys are answered "no" unless they are members. `members` must be
    /// all keys of the filter. The filter accepts no more keys afterwards.
    ///
    /// For keys that do not fit in memory use [`AnyFilter::except`](crate::any::AnyFilter::except).
    ///
    /// ```
    /// use fullbloom::NativeFilter;
    ///
    /// let members: Vec<String> = (0..1000).map(|i| format!("bad-{i}")).collect();
    /// let good: Vec<String> = (0..100_000).map(|i| format!("good-{i}")).collect();
    /// let mut filter = NativeFilter::with_fpr(1000, 0.01)?;
    /// filter.insert_batch(&members);
    /// assert!(good.iter().any(|key| filter.may_contain(key.as_bytes()))); // about 1,000 false positives
    ///
    /// let filter = filter.with_exceptions(&good, &members)?;
    /// assert!(good.iter().all(|key| !filter.may_contain(key.as_bytes())));
    /// assert!(members.iter().all(|key| filter.may_contain(key.as_bytes())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_exceptions<G, M>(self, good: &G, members: &M) -> Result<Self, ExceptError>
    where
        G: Keys<Hasher> + ?Sized,
        M: Keys<Hasher> + ?Sized,
    {
        let mut first = self.except()?;
        first.add(good)?;
        let mut second = first.members()?;
        second.add(members)?;
        second.finish()
    }

    /// Begins to build exceptions, in two passes: first the known-good keys, then all members again.
    ///
    /// # Errors
    /// If the filter has exceptions already, or is locked.
    pub(crate) fn except(self) -> Result<GoodKeys<S, D>, ExceptError> {
        if !self.dialect.is_open() {
            return Err(ExceptError::Closed);
        }
        Ok(GoodKeys { filter: self, found: Vec::new() })
    }

    /// The same bits without the exceptions: known-good keys that are false positives are reported present.
    pub fn without_exceptions(&self) -> View<'_, D> {
        Filter { dialect: self.dialect.clone().with(None), bits: self.bits.as_ref() }
    }

    /// The composition of the exceptions; `None` when there are none.
    pub fn exceptions(&self) -> Option<ExceptionFacts> {
        self.dialect.exceptions().map(|exceptions| ExceptionFacts {
            levels: exceptions.levels().len(),
            listed: exceptions.list().len() as u64,
            bytes: exceptions.byte_len(),
        })
    }

    /// Calls `each` with the hashes of up to 1,024 keys at a time, and one bit for each: whether the filter's
    /// bits report it present.
    fn for_each_chunk<K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        mut each: impl FnMut(&[u64], &[u64; CHUNK / 64]) -> Result<(), ExceptError>,
    ) -> Result<(), ExceptError> {
        let mut hashes = [0; CHUNK];
        for start in (0..keys.count()).step_by(CHUNK) {
            let hashes = &mut hashes[..CHUNK.min(keys.count() - start)];
            keys.hash_into(self.dialect.hasher(), start, hashes, false);
            let mut found = [0; CHUNK / 64];
            let answers = Answers::Bits(&mut found[..hashes.len().div_ceil(64)]);
            self.dialect.test_batch(self.bits.as_ref(), &Hashes(hashes), answers);
            each(hashes, &found)?;
        }
        Ok(())
    }
}

/// The composition of a filter's exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExceptionFacts {
    /// Small filters in the chain.
    pub levels: usize,
    /// Hashes in the list at its end.
    pub listed: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

/// First pass: takes the known-good keys and remembers those that the filter reports present.
#[derive(Debug)]
pub(crate) struct GoodKeys<S, D> {
    filter: Filter<D, S>,
    found: Vec<u64>,
}

/// Second pass: takes every member again, so that none is rejected.
#[derive(Debug)]
pub(crate) struct Members<S, D> {
    filter: Filter<D, S>,
    exceptions: Exceptions,
    /// The false positives among the known-good keys, sorted. One that turns out to be a member is marked.
    candidates: Vec<(u64, bool)>,
    /// Whether the candidates' own filter is the first level, or only speeds up this pass.
    keep_level: bool,
    passed: Vec<u64>,
    strangers: u64,
}

impl<D: Except, S: AsRef<[u8]>> GoodKeys<S, D> {
    /// Takes known-good keys; may be called any number of times. Memory is used only for the false positives
    /// among them.
    pub fn add<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), ExceptError> {
        let GoodKeys { filter, found } = self;
        filter.for_each_chunk(keys, |hashes, present| {
            memory::reserve(found, present.iter().map(|word| word.count_ones() as usize).sum())?;
            let is_present = |(i, _): &(usize, &u64)| present[i / 64] >> (i % 64) & 1 == 1;
            found.extend(hashes.iter().enumerate().filter(is_present).map(|(_, hash)| *hash));
            Ok(())
        })
    }

    /// Proceeds to the second pass.
    pub fn members(mut self) -> Result<Members<S, D>, ExceptError> {
        self.found.sort_unstable();
        self.found.dedup();
        let next = next_level(self.found.len() as f64, self.filter.dialect.member_count().max(1) as f64);
        // Even if it is not kept as the first level, a filter that passes few members saves most of the
        // lookups.
        let mut exceptions = Exceptions::default();
        exceptions.push_level(&self.found, next.unwrap_or(1e-4))?;
        let mut candidates = memory::vec_of(self.found.len())?;
        candidates.extend(self.found.into_iter().map(|candidate| (candidate, false)));
        Ok(Members {
            filter: self.filter,
            exceptions,
            candidates,
            keep_level: next.is_some(),
            passed: Vec::new(),
            strangers: 0,
        })
    }
}

impl<D: Except, S: AsRef<[u8]>> Members<S, D> {
    /// Takes members, in any order; may be called any number of times.
    pub fn add<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), ExceptError> {
        let Members { filter, exceptions, candidates, passed, strangers, .. } = self;
        filter.for_each_chunk(keys, |hashes, present| {
            let found: u64 = present.iter().map(|word| u64::from(word.count_ones())).sum();
            *strangers += hashes.len() as u64 - found;
            for &hash in hashes.iter().filter(|hash| exceptions.passes_last(**hash)) {
                memory::push(passed, hash)?;
                if let Ok(i) = candidates.binary_search_by_key(&hash, |(candidate, _)| *candidate) {
                    candidates[i].1 = true;
                }
            }
            Ok(())
        })
    }

    /// How many known-good keys have turned out to be members so far.
    pub fn good_members(&self) -> u64 {
        self.candidates.iter().filter(|(_, member)| *member).count() as u64
    }

    /// The hashes of those keys.
    pub fn good_member_hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.candidates.iter().filter(|(_, member)| *member).map(|(hash, _)| *hash)
    }

    /// The filter with its exceptions.
    pub fn finish(self) -> Result<Filter<D, S>, ExceptError> {
        if self.strangers > 0 {
            return Err(ExceptError::NotMembers { count: self.strangers });
        }
        let mut good = memory::vec_of(self.candidates.len())?;
        good.extend(self.candidates.iter().filter(|(_, member)| !member).map(|(hash, _)| *hash));
        let mut exceptions = self.exceptions;
        if self.keep_level {
            exceptions.finish(self.passed, good)?;
        } else {
            exceptions = Exceptions::default();
            exceptions.set_list(good);
        }
        let Filter { dialect, bits } = self.filter;
        Ok(Filter { dialect: dialect.with(Some(exceptions)), bits })
    }
}

/// Exceptions cannot be built.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ExceptError {
    /// Some keys given as members are not in the filter.
    NotMembers {
        /// How many.
        count: u64,
    },
    /// The filter has exceptions already, or it is locked.
    Closed,
    /// Such filters cannot have exceptions.
    Unsupported,
    /// There is not enough memory.
    Size(SizeError),
}

impl From<SizeError> for ExceptError {
    fn from(error: SizeError) -> Self {
        ExceptError::Size(error)
    }
}

impl fmt::Display for ExceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExceptError::NotMembers { count } => {
                write!(f, "{count} of the keys given as members are not in the filter")
            }
            ExceptError::Closed => {
                f.write_str("the filter has exceptions already, or its secret is not known")
            }
            ExceptError::Unsupported => {
                f.write_str("only native filters of the kinds fast and compact can have exceptions")
            }
            ExceptError::Size(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ExceptError {}
