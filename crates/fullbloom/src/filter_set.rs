//! Many filters, such as those of the tables of an engine, and one key.

use crate::{Filter, FilterRef, KeyHash};
use alloc::vec::Vec;
use fullbloom_core::keys::Key;
use fullbloom_core::native::hashing::Hasher;
use fullbloom_core::part::Part;

/// The filters of many tables: which of them may contain a key?
///
/// The key is hashed once. The cache lines that the lookups need are fetched together, 64 filters at a time,
/// instead of one after the other.
///
/// ```
/// use fullbloom::{FilterBuilder, FilterRef, FilterSet};
///
/// let mut tables = FilterSet::new();
/// for table in 0..100 {
///     let mut builder = FilterBuilder::with_bits_per_key(12.0);
///     builder.extend(100 * table..100 * table + 100);
///     tables.push(FilterRef::read(builder.finish()?));
/// }
/// assert!(tables.candidates(4_321).any(|table| table == 43));
/// assert!(tables.candidates(4_321).count() < 10); // few others
/// # Ok::<(), fullbloom::BuildError>(())
/// ```
///
/// Filters may have different seeds or secrets: the key is then hashed again for those that differ from the
/// first. Bytes that could not be decoded, and locked filters, are always candidates.
#[derive(Debug, Clone)]
pub struct FilterSet<S> {
    filters: Vec<FilterRef<S>>,
}

/// Filters that are asked together: as many as a word has bits.
const TOGETHER: usize = 64;

impl<S> FilterSet<S> {
    /// An empty set of filters.
    pub fn new() -> FilterSet<S> {
        FilterSet { filters: Vec::new() }
    }

    /// Adds a filter at the end.
    pub fn push(&mut self, filter: FilterRef<S>) {
        self.filters.push(filter);
    }

    /// The filters, in the order of their numbers.
    pub fn filters(&self) -> &[FilterRef<S>] {
        &self.filters
    }

    /// The filters, to insert, remove or reorder some.
    pub fn filters_mut(&mut self) -> &mut Vec<FilterRef<S>> {
        &mut self.filters
    }
}

impl<S: AsRef<[u8]>> FilterSet<S> {
    /// The numbers of the filters that may contain the key, in order. The answer for each 64 filters is
    /// computed when it is needed: a search that ends early does not ask the later ones.
    pub fn candidates(&self, key: impl Key<Hasher>) -> impl Iterator<Item = usize> {
        let hasher = self.filters.iter().find_map(FilterRef::filter).map(Filter::hasher);
        let hash = hasher.map(|hasher| KeyHash::from_raw(key.hash_with(hasher), hasher));
        let by_key = move |filter: &Filter<Part<S>>| filter.may_contain_raw(key.hash_with(filter.hasher()));
        Candidates { filters: &self.filters, hash, foreign: by_key, first: 0, found: 0, next: 0 }
    }

    /// As [`candidates`](Self::candidates), for a precomputed hash. Filters with another seed or secret are
    /// candidates.
    pub fn candidates_hash(&self, hash: KeyHash) -> impl Iterator<Item = usize> {
        let foreign = |_: &Filter<Part<S>>| true;
        Candidates { filters: &self.filters, hash: Some(hash), foreign, first: 0, found: 0, next: 0 }
    }
}

impl<S> Default for FilterSet<S> {
    fn default() -> Self {
        FilterSet::new()
    }
}

impl<S> FromIterator<FilterRef<S>> for FilterSet<S> {
    fn from_iter<I: IntoIterator<Item = FilterRef<S>>>(filters: I) -> Self {
        FilterSet { filters: filters.into_iter().collect() }
    }
}

impl<S> Extend<FilterRef<S>> for FilterSet<S> {
    fn extend<I: IntoIterator<Item = FilterRef<S>>>(&mut self, filters: I) {
        self.filters.extend(filters);
    }
}

/// The numbers of the filters that may contain a key.
struct Candidates<'a, S, F> {
    filters: &'a [FilterRef<S>],
    /// By the first filter's seed or secret; `None` if there is no filter.
    hash: Option<KeyHash>,
    /// The answer of a filter with another seed or secret.
    foreign: F,
    /// The number of the first filter in `found`.
    first: usize,
    /// The candidates among 64 filters that have not been returned yet.
    found: u64,
    /// The number of the first filter that has not been asked.
    next: usize,
}

impl<S: AsRef<[u8]>, F: Fn(&Filter<Part<S>>) -> bool> Candidates<'_, S, F> {
    /// Asks some filters: the cache lines of all are requested before the first is tested.
    fn ask(&self, filters: &[FilterRef<S>]) -> u64 {
        let Some(hash) = self.hash else { return u64::MAX >> (TOGETHER - filters.len()) };
        for filter in filters.iter().filter_map(FilterRef::filter) {
            filter.prefetch_first(hash);
        }
        let may_contain = |filter: &FilterRef<S>| match filter.filter() {
            None => true,
            Some(filter) => match hash.by(filter.hasher()) {
                Ok(hash) => filter.may_contain_raw(hash),
                Err(_) => (self.foreign)(filter),
            },
        };
        filters.iter().rev().fold(0, |found, filter| found << 1 | u64::from(may_contain(filter)))
    }
}

impl<S: AsRef<[u8]>, F: Fn(&Filter<Part<S>>) -> bool> Iterator for Candidates<'_, S, F> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            let rest = &self.filters[self.next..];
            let some = &rest[..rest.len().min(TOGETHER)];
            if some.is_empty() {
                return None;
            }
            self.found = self.ask(some);
            self.first = self.next;
            self.next += some.len();
        }
        let number = self.first + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(number)
    }
}
