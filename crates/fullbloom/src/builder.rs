//! A filter for keys whose number is known only at the end, as in the filter block of a sorted table.

use crate::{Filter, KeyHash};
use alloc::vec::Vec;
use fullbloom_core::error::{BuildError, InsertError};
use fullbloom_core::keys::{Hashes, Key, Keys};
use fullbloom_core::memory;
use fullbloom_core::native::format::plain_len;
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::sizing::{MAX_BITS_PER_KEY, Sizing};
use fullbloom_core::probe::lines::LINE;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::sizing::{Request, Target};

/// A number of keys for which the bits per key of a rate are computed.
const SAMPLE: u64 = 10_000;

/// Collects the keys of a table, sizes the filter for them at the end, and gives its bytes.
///
/// ```
/// use fullbloom::{FilterBuilder, Filter};
///
/// let mut builder = FilterBuilder::with_bits_per_key(10.0);
/// for key in ["apple", "pear", "plum"] {
///     builder.add(key);
/// }
/// let block = builder.finish()?;          // store these bytes in the table
///
/// let filter = Filter::read(block); // never fails
/// assert!(filter.may_contain("pear"));
/// # Ok::<(), fullbloom::BuildError>(())
/// ```
///
/// A key is kept as its hash, in eight bytes. The versions of a key that follow each other count as one key,
/// and so do the prefixes of keys that share one: add the keys in the order of the table.
#[derive(Debug, Clone)]
pub struct FilterBuilder {
    target: Target,
    hashing: Hashing,
    hasher: Hasher,
    hashes: Vec<u64>,
    last_prefix: Option<u64>,
    /// Why the hashes are incomplete: no filter can be built of them.
    failed: Option<InsertError>,
    /// The bits for each key that give the rate, once they were asked for.
    bits_of_rate: Option<f64>,
}

impl FilterBuilder {
    /// A filter with this many bits for each key. 10 bits give a rate of about 1 %.
    ///
    /// More than 0 and at most 512 are possible; others are an error when the filter is built.
    pub fn with_bits_per_key(bits_per_key: f64) -> FilterBuilder {
        FilterBuilder::new(Target::BitsPerKey(bits_per_key))
    }

    /// A filter with this rate of false positives.
    ///
    /// Rates between 0 and 1, exclusive, are possible; others are an error when the filter is built.
    pub fn with_fpr(fpr: f64) -> FilterBuilder {
        FilterBuilder::new(Target::Fpr(fpr))
    }

    fn new(target: Target) -> FilterBuilder {
        let hashing = Hashing::default();
        let hasher = Hasher::new(&hashing);
        FilterBuilder {
            target,
            hashing,
            hasher,
            hashes: Vec::new(),
            last_prefix: None,
            failed: None,
            bits_of_rate: None,
        }
    }

    /// Hashes keys with this seed or secret instead of seed 0.
    ///
    /// # Panics
    /// If keys have been added: they have been hashed.
    #[must_use]
    pub fn hashing(self, hashing: Hashing) -> FilterBuilder {
        assert!(self.is_empty(), "keys were added, and hashed in another way");
        FilterBuilder { hasher: Hasher::new(&hashing), hashing, ..self }
    }

    /// Adds a key. Adding a key again, directly after itself, changes nothing.
    #[inline]
    pub fn add(&mut self, key: impl Key<Hasher>) {
        self.add_raw(key.hash_with(&self.hasher));
    }

    /// Adds many keys, in any of the forms of [`Keys`]. Null keys are left out.
    ///
    /// # Errors
    /// If the keys are hashes with another seed or secret, or memory does not suffice.
    pub fn add_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), InsertError> {
        keys.require(&self.hasher, None)?;
        let (start, count) = (self.hashes.len(), keys.count());
        memory::reserve(&mut self.hashes, count)?;
        self.hashes.resize(start + count, 0);
        let added = &mut self.hashes[start..];
        keys.hash_into(&self.hasher, 0, added, false);
        let kept = keys.validity().map_or(count, |validity| validity.keep_valid(0, added));
        self.hashes.truncate(start + kept);
        Ok(())
    }

    /// Adds a key, and its prefix if it has one; both can be looked up. Adding the next version of a key, or the next key of a prefix, does not add the key
    /// or the prefix again.
    ///
    /// ```
    /// let mut builder = fullbloom::FilterBuilder::with_bits_per_key(10.0);
    /// for key in ["user/17", "user/18", "version"] {
    ///     builder.add_with_prefix(key, key.split_once('/').map(|(table, _)| table));
    /// }
    /// assert_eq!(builder.len(), 4); // three keys and a prefix
    /// ```
    #[inline]
    pub fn add_with_prefix(&mut self, key: impl Key<Hasher>, prefix: Option<impl Key<Hasher>>) {
        let Some(prefix) = prefix else { return self.add(key) };
        let (hash, prefix) = (key.hash_with(&self.hasher), prefix.hash_with(&self.hasher));
        let (last, last_prefix) = (self.hashes.last().copied(), self.last_prefix);
        // The prefix is stored before the key, so that the last stored hash is that of the last key.
        if Some(prefix) != last_prefix && prefix != hash && Some(prefix) != last {
            self.store(prefix);
        }
        self.last_prefix = Some(prefix);
        if Some(hash) != last && Some(hash) != last_prefix {
            self.store(hash);
        }
    }

    /// As [`add`](Self::add), for a hash that [`hash`](Self::hash) or a filter with the same seed or secret
    /// computed. With a hash of another seed or secret, no filter can be built: [`finish`](Self::finish)
    /// fails.
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) {
        match hash.by(&self.hasher) {
            Ok(hash) => self.add_raw(hash),
            Err(foreign) => self.failed = Some(foreign.into()),
        }
    }

    #[inline]
    fn add_raw(&mut self, hash: u64) {
        if self.hashes.last() != Some(&hash) {
            self.store(hash);
        }
    }

    #[inline]
    fn store(&mut self, hash: u64) {
        if let Err(failed) = memory::push(&mut self.hashes, hash) {
            self.failed = Some(failed.into());
        }
    }

    /// The hash of a key under the seed or secret of the filter.
    #[inline]
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &self.hasher)
    }

    /// The hashes that the filter will have: of keys and prefixes, without repeats that followed each other.
    pub fn hashes(&self) -> Hashes<'_, Hasher> {
        Hashes::new(&self.hashes, &self.hasher)
    }

    /// The number of keys and prefixes, without repeats that followed each other.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether no key has been added.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// About how many bytes [`finish`](Self::finish) would give now, for engines that end a partition when its
    /// filter is large enough. [`finish_bare`](Self::finish_bare) gives at least 252 fewer.
    ///
    /// It takes a few nanoseconds, so that it can be asked after every key; with a rate, the first call takes as
    /// long as sizing a filter, up to a millisecond. The estimate is within 5 % and 256 bytes. It is 0 for a
    /// size that is out of range, of which no filter can be built.
    ///
    /// ```
    /// use fullbloom::FilterBuilder;
    ///
    /// let mut builder = FilterBuilder::with_bits_per_key(10.0);
    /// let mut partitions = Vec::new();
    /// for key in 0..10_000 {
    ///     builder.add(key);
    ///     if builder.estimated_len() >= 4096 {
    ///         partitions.push(builder.finish()?);
    ///     }
    /// }
    /// assert!(partitions.len() > 2 && partitions.iter().all(|bytes| bytes.len().abs_diff(4096) <= 128));
    /// # Ok::<(), fullbloom::BuildError>(())
    /// ```
    pub fn estimated_len(&mut self) -> u64 {
        let bits_per_key = match (self.target, self.bits_of_rate) {
            (Target::BitsPerKey(bits), _) | (_, Some(bits)) => bits,
            // The bits for each key that a rate needs are nearly the same for every number of keys.
            (target, None) => {
                let request = Request { expected_keys: SAMPLE, target };
                let bits = Sizing::new(&request).map_or(0.0, |sizing| sizing.bits_per_key());
                *self.bits_of_rate.insert(bits)
            }
        };
        if !(bits_per_key > 0.0 && bits_per_key <= MAX_BITS_PER_KEY) {
            return 0;
        }
        let lines = (bits_per_key * self.hashes.len() as f64 / 512.0).ceil().max(1.0);
        plain_len(lines as u64 * LINE as u64)
    }

    /// The filter of the keys so far.
    ///
    /// # Errors
    /// [`BuildError::Size`] if the rate or the bits per key are out of range, or memory did not suffice, also
    /// earlier for the keys. [`BuildError::Keys`] if a hash was of another seed or secret.
    pub fn build(&self) -> Result<Filter, BuildError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        let request = Request { expected_keys: self.hashes.len() as u64, target: self.target };
        let mut filter = Filter::with_sizing(&Sizing::new(&request)?, self.hashing.clone())?;
        filter.insert_batch(&self.hashes())?;
        Ok(filter)
    }

    /// The encoded filter of the keys so far. The builder is empty afterwards and keeps its memory, for the
    /// next table.
    ///
    /// # Errors
    /// As of [`build`](Self::build).
    pub fn finish(&mut self) -> Result<Vec<u8>, BuildError> {
        let filter = self.build();
        self.clear();
        filter.map(|filter| filter.encode())
    }

    /// As [`finish`](Self::finish), without a header; see [`Filter::encode_bare`].
    ///
    /// # Errors
    /// As of [`build`](Self::build).
    pub fn finish_bare(&mut self) -> Result<Vec<u8>, BuildError> {
        let filter = self.build();
        self.clear();
        Ok(filter?.encode_bare()?)
    }

    /// Removes all keys; keeps the memory for the next table.
    pub fn clear(&mut self) {
        self.hashes.clear();
        (self.last_prefix, self.failed) = (None, None);
    }
}

impl<K> Extend<K> for FilterBuilder
where
    K: Key<Hasher>,
{
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.add(key));
    }
}

/// Collects keys for a filter with a rate of 1 %.
impl<K> FromIterator<K> for FilterBuilder
where
    K: Key<Hasher>,
{
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut builder = FilterBuilder::with_fpr(0.01);
        builder.extend(keys);
        builder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_core::error::SizeError;

    #[test]
    fn versions_and_prefixes_that_repeat_count_once() {
        let mut builder = FilterBuilder::with_bits_per_key(10.0);
        for key in ["a/1", "a/1", "a/2", "a/2", "b/1", "b/2", "b/2", "b"] {
            builder.add_with_prefix(key, key.split('/').next());
        }
        assert_eq!(builder.len(), 6, "four keys and two prefixes; the key \"b\" is its own prefix");
        let filter = Filter::decode(&builder.finish().unwrap()).unwrap();
        assert!(["a", "b", "a/1", "a/2", "b/1", "b/2"].iter().all(|key| filter.may_contain(key)));
        assert!(builder.is_empty());
        builder.extend(["x", "x", "y"]);
        assert_eq!(builder.len(), 2);
    }

    #[test]
    fn the_filter_is_that_of_a_known_number_of_keys() {
        let mut builder = FilterBuilder::with_fpr(0.001).hashing(Hashing::Seed(7));
        let sizing = Request { expected_keys: 5_000, target: Target::Fpr(0.001) };
        let mut expected = Filter::with_sizing(&Sizing::new(&sizing).unwrap(), Hashing::Seed(7)).unwrap();
        for key in 0..5_000 {
            builder.add(key);
            expected.insert(key);
        }
        assert_eq!(builder.build().unwrap().encode(), expected.encode());
        assert_eq!(builder.finish().unwrap(), expected.encode());
    }

    #[test]
    fn the_estimated_length_is_near_the_real_one() {
        let targets = [10.0, 16.0, 24.0, 5.5].map(Target::BitsPerKey);
        for target in targets.into_iter().chain([0.5, 0.01, 1e-3, 1e-4].map(Target::Fpr)) {
            let mut builder = FilterBuilder::new(target);
            let mut added = 0u64;
            for keys in [0, 1, 10, 100, 1_000, 5_000, 70_000] {
                (added..keys).for_each(|key| builder.add(key));
                added = keys;
                let (estimated, real) =
                    (builder.estimated_len(), builder.build().unwrap().encode().len() as u64);
                assert!(estimated.abs_diff(real) <= 256 + real / 20, "{target:?} {keys}: {estimated} {real}");
            }
        }
        for target in [Target::BitsPerKey(-1.0), Target::Fpr(0.0), Target::BitsPerKey(f64::NAN)] {
            assert_eq!(FilterBuilder::new(target).estimated_len(), 0);
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_errors_at_the_end() {
        let mut builder = FilterBuilder::with_bits_per_key(-1.0);
        builder.add("key");
        assert!(matches!(builder.finish(), Err(BuildError::Size(SizeError::Value { .. }))));
        assert!(FilterBuilder::with_fpr(f64::NAN).finish().is_err());
        assert!(!FilterBuilder::with_fpr(0.01).build().unwrap().may_contain("key"));
    }
}
