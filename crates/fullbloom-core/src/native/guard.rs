//! Building the exceptions of a filter, in two passes.

use super::exceptions::{Exceptions, next_level};
use super::hashing::Hasher;
use super::head::Head;
use crate::error::{KeysError, SizeError};
use crate::keys::Keys;
use crate::memory;
use alloc::vec::Vec;
use core::fmt;

/// Keys processed at once.
const CHUNK: usize = 1024;

/// A filter that can have exceptions: of kind `fast` or `compact`.
pub trait Except: Sized {
    /// Its header.
    fn head(&self) -> &Head;

    /// Its hasher.
    fn hasher(&self) -> &Hasher;

    /// How many keys it has, exactly or by its bits.
    fn keys(&self) -> u64;

    /// Whether its bits report these hashes present: one bit for each.
    fn test_hashes(&self, hashes: &[u64], found: &mut [u64]);

    /// The same with these exceptions.
    fn with(self, exceptions: Exceptions) -> Self;

    /// The filter with exceptions: `good` keys are answered "no" unless they are `members`.
    fn excepting<G, M>(self, good: &G, members: &M) -> Result<Self, ExceptError>
    where
        G: Keys<Hasher> + ?Sized,
        M: Keys<Hasher> + ?Sized,
    {
        let mut first = GoodKeys::new(self)?;
        first.add(good)?;
        let mut second = first.members()?;
        second.add(members)?;
        second.finish()
    }

    /// Calls `each` with the hashes of up to 1,024 keys at a time, and one bit for each: whether the filter's
    /// bits report it present.
    fn for_each_chunk<K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        mut each: impl FnMut(&[u64], &[u64; CHUNK / 64]) -> Result<(), ExceptError>,
    ) -> Result<(), ExceptError> {
        keys.require(self.hasher(), self.head().key_type)?;
        let mut hashes = [0; CHUNK];
        for start in (0..keys.count()).step_by(CHUNK) {
            let hashes = &mut hashes[..CHUNK.min(keys.count() - start)];
            keys.hash_into(self.hasher(), start, hashes, false);
            let kept = keys.validity().map_or(hashes.len(), |validity| validity.keep_valid(start, hashes));
            let hashes = &hashes[..kept];
            let mut found = [0; CHUNK / 64];
            self.test_hashes(hashes, &mut found[..hashes.len().div_ceil(64)]);
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

impl ExceptionFacts {
    /// Those of the filter with this header.
    pub fn of(head: &Head) -> Option<ExceptionFacts> {
        head.exceptions.as_ref().map(|exceptions| ExceptionFacts {
            levels: exceptions.levels().len(),
            listed: exceptions.list().len() as u64,
            bytes: exceptions.byte_len(),
        })
    }
}

/// First pass: takes the known-good keys and remembers those that the filter reports present.
#[derive(Debug)]
pub struct GoodKeys<F> {
    filter: F,
    found: Vec<u64>,
}

/// Second pass: takes every member again, so that none is rejected.
#[derive(Debug)]
pub struct Members<F> {
    filter: F,
    exceptions: Exceptions,
    /// The false positives among the known-good keys, sorted. One that turns out to be a member is marked.
    candidates: Vec<(u64, bool)>,
    /// Whether the candidates' own filter is the first level, or only speeds up this pass.
    keep_level: bool,
    passed: Vec<u64>,
    strangers: u64,
}

impl<F: Except> GoodKeys<F> {
    /// Begins to build exceptions, in two passes: first the known-good keys, then all members again.
    ///
    /// # Errors
    /// If the filter has exceptions already, or is locked.
    pub fn new(filter: F) -> Result<GoodKeys<F>, ExceptError> {
        if !filter.head().takes_keys() {
            return Err(ExceptError::Closed);
        }
        Ok(GoodKeys { filter, found: Vec::new() })
    }

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
    pub fn members(mut self) -> Result<Members<F>, ExceptError> {
        self.found.sort_unstable();
        self.found.dedup();
        let next = next_level(self.found.len() as f64, self.filter.keys().max(1) as f64);
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

impl<F: Except> Members<F> {
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
    pub fn finish(self) -> Result<F, ExceptError> {
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
        Ok(self.filter.with(exceptions))
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
    /// The keys do not fit the filter.
    Keys(KeysError),
    /// There is not enough memory.
    Size(SizeError),
}

impl From<KeysError> for ExceptError {
    fn from(error: KeysError) -> Self {
        ExceptError::Keys(error)
    }
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
            ExceptError::Keys(error) => error.fmt(f),
            ExceptError::Size(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ExceptError {}
