//! The filter type of every dialect: a [`Dialect`] that computes the probes, over storage that holds the
//! bits.
//!
//! ```text
//!   Filter<D, S>  =  D: geometry, hash, probes   over   S: bytes
//!   Filter<D>              owns its bits (64-byte aligned)
//!   View<'a, D>            borrows them: a block from a cache, memory of a C caller
//!   Filter<D, Part<S>>     keeps the storage of an encoded filter: a mapping, an `Arc<[u8]>`, `Bytes`
//! ```

mod lenient;
mod traits;

pub use fullbloom_core::part::{Check, Part};
pub use lenient::Lenient;
pub(crate) use traits::by_positions;
pub use traits::{Counted, Dialect, Doubt, Format, Insert, Size, Weakness};

use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, InsertError, KeysError, MergeError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Key, KeyHashOf, KeyHasher, Keys, each_valid, each_valid_new, look_up};
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_core::typed::{TypeError, Value};

/// A filter of dialect `D` whose bits live in `S`.
#[derive(Debug, Clone)]
pub struct Filter<D, S = Owned> {
    #[doc(hidden)]
    pub dialect: D,
    #[doc(hidden)]
    pub bits: S,
}

/// A filter over borrowed bits, without a copy.
pub type View<'a, D> = Filter<D, &'a [u8]>;

impl<D: Dialect, S: AsRef<[u8]>> Filter<D, S> {
    /// A filter over these bits. Fails when their number differs from the dialect's geometry.
    pub fn from_parts(dialect: D, bits: S) -> Result<Self, DecodeError> {
        let (need, have) = (dialect.byte_len(), bits.as_ref().len() as u64);
        if have < need {
            return Err(DecodeError::Truncated { field: "bits", at: 0, need, have });
        }
        if have > need {
            return Err(DecodeError::Trailing { at: need, extra: have - need });
        }
        Ok(Filter { dialect, bits })
    }

    /// The same bits, read by a dialect of the same size.
    pub(crate) fn map_dialect(self, map: impl FnOnce(D) -> D) -> Self {
        let byte_len = self.dialect.byte_len();
        let dialect = map(self.dialect);
        debug_assert_eq!(byte_len, dialect.byte_len());
        Filter { dialect, bits: self.bits }
    }

    /// The same filter for keys that are numbers; see [`Dialect::set_numbers`].
    #[must_use]
    pub fn for_numbers(mut self) -> Self {
        self.dialect.set_numbers(true);
        self
    }

    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    #[inline(always)]
    pub fn may_contain(&self, key: impl Key<D::Hasher>) -> bool {
        self.dialect.test(self.bits.as_ref(), key.hash_with(self.dialect.hasher()))
    }

    /// As [`may_contain`](Filter::may_contain), for a precomputed hash. Of a filter with another seed or hash
    /// function the answer is "maybe".
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHashOf<D::Hasher>) -> bool {
        hash.by(self.dialect.hasher()).map_or(true, |hash| self.dialect.test(self.bits.as_ref(), hash))
    }

    /// Whether the key of a hash by this filter's own hasher may be present.
    #[inline(always)]
    pub fn may_contain_raw(&self, hash: D::Hash) -> bool {
        self.dialect.test(self.bits.as_ref(), hash)
    }

    /// Prefetches the cache lines that [`may_contain_raw`](Self::may_contain_raw) reads for this hash.
    #[inline(always)]
    pub fn prefetch_raw(&self, hash: D::Hash) {
        self.dialect.prefetch(self.bits.as_ref(), hash);
    }

    /// Looks up many keys, in any of the forms of [`Keys`]: one answer for each. Faster than single lookups,
    /// most of all when the filter is larger than the cache: the cache lines of later keys are prefetched
    /// while earlier keys are tested.
    ///
    /// ```
    /// use fullbloom_dialects::{Filter, LevelDb};
    ///
    /// let mut filter = Filter::<LevelDb>::with_bits_per_key(1_000, 10.0)?;
    /// filter.insert_batch(&["apple", "pear"])?;
    /// assert_eq!(filter.may_contain_batch(&["pear", "plum"])?, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the keys are hashes with another seed or hash function. A null key is answered "no".
    pub fn may_contain_batch<K: Keys<D::Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch_into(keys, &mut answers)?;
        Ok(answers)
    }

    /// As [`may_contain_batch`](Filter::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch_into<'a, K: Keys<D::Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        look_up(keys, self.dialect.hasher(), None, answers.into(), |answers| {
            self.dialect.test_batch(self.bits.as_ref(), keys, answers);
        })
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<D::Hasher> + ?Sized>(&self, keys: &K) -> Result<u64, KeysError> {
        let mut words = vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch_into(keys, &mut words)?;
        Ok(words.iter().map(|word| u64::from(word.count_ones())).sum())
    }

    /// The hash of a typed key, as the dialect's system hashes it.
    pub fn hash_value(&self, value: Value<'_>) -> Result<KeyHashOf<D::Hasher>, TypeError> {
        Ok(KeyHashOf::from_raw(self.raw_hash_of(value)?, self.dialect.hasher()))
    }

    fn raw_hash_of(&self, value: Value<'_>) -> Result<D::Hash, TypeError> {
        let key = D::NAME.key(value)?;
        if !value.is_number() {
            return Ok(self.dialect.hasher().hash(key.as_ref()));
        }
        let mut numbers = self.dialect.clone();
        numbers.set_numbers(true);
        Ok(numbers.hasher().hash(key.as_ref()))
    }

    /// Whether a typed key may be present.
    pub fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        Ok(self.dialect.test(self.bits.as_ref(), self.raw_hash_of(value)?))
    }

    /// The hash of a key, for lookups in several filters of this dialect.
    #[inline(always)]
    pub fn hash(&self, key: impl Key<D::Hasher>) -> KeyHashOf<D::Hasher> {
        KeyHashOf::new(key, self.dialect.hasher())
    }

    /// The dialect with its parameters.
    pub fn dialect(&self) -> &D {
        &self.dialect
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        self.dialect.geometry()
    }

    /// The bit array, in the byte order of the encoded form.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The bits that a lookup of this key tests, in the order of the probes: position `p` is bit `p % 8` of
    /// byte `p / 8` of [`bits`](Filter::bits). `None` if lookups of this dialect do not test single bits.
    pub fn probes_of(&self, key: impl Key<D::Hasher>) -> Option<Vec<u64>> {
        let mut positions = Vec::new();
        let visited = self
            .dialect
            .visit_probes(key.hash_with(self.dialect.hasher()), &mut |position| positions.push(position));
        visited.then_some(positions)
    }

    /// Number of set bits. Reads the whole array.
    pub fn count_ones(&self) -> u64 {
        self.dialect.count_ones(self.bits.as_ref())
    }

    /// Share of bits set; 0 for an array without bits. Reads the whole array.
    pub fn fill(&self) -> f64 {
        match self.geometry().bit_len {
            0 => 0.0,
            bit_len => self.count_ones() as f64 / bit_len as f64,
        }
    }

    /// The expected rate of the filter in its current state. Reads the whole array.
    pub fn expected_fpr(&self) -> f64 {
        self.dialect.fpr_of(&Counted::new(self.bits.as_ref()))
    }

    /// The number of distinct keys, estimated from the bits; `None` when it cannot be estimated, for example
    /// for a full filter. Reads the whole array.
    pub fn estimated_keys(&self) -> Option<f64> {
        self.dialect.keys_of(&Counted::new(self.bits.as_ref()))
    }

    /// Set bits, estimated keys and expected rate, with one count of the bits.
    pub fn occupancy(&self) -> (u64, Option<f64>, f64) {
        let bits = Counted::new(self.bits.as_ref());
        // First, because it may note the number of set bits on its way.
        let fpr = self.dialect.fpr_of(&bits);
        (bits.set_bits(&self.dialect), self.dialect.keys_of(&bits), fpr)
    }

    /// The same filter over the same bits, borrowed.
    pub fn as_view(&self) -> View<'_, D> {
        Filter { dialect: self.dialect.clone(), bits: self.bits.as_ref() }
    }

    /// A copy that owns its bits. Fails when there is not enough memory.
    pub fn try_clone(&self) -> Result<Filter<D>, SizeError> {
        let bits = self.bits.as_ref();
        let mut owned = Owned::zeroed(self.dialect.byte_len().max(bits.len() as u64))?;
        owned.as_mut()[..bits.len()].copy_from_slice(bits);
        Ok(Filter { dialect: self.dialect.clone(), bits: owned })
    }
}

impl<D: Insert, S: AsRef<[u8]> + AsMut<[u8]>> Filter<D, S> {
    /// Adds a key. Returns true if at least one bit changed, so the key was certainly not present before.
    #[inline(always)]
    pub fn insert(&mut self, key: impl Key<D::Hasher>) -> bool {
        let hash = key.hash_with(self.dialect.hasher());
        self.dialect.set(self.bits.as_mut(), hash)
    }

    /// As [`insert`](Filter::insert), for a precomputed hash.
    ///
    /// # Errors
    /// If the hash was made with another seed or hash function: the filter would not find the key again.
    #[inline(always)]
    pub fn insert_hash(&mut self, hash: KeyHashOf<D::Hasher>) -> Result<bool, InsertError> {
        let hash = hash.by(self.dialect.hasher())?;
        Ok(self.dialect.set(self.bits.as_mut(), hash))
    }

    /// Adds a typed key, as the dialect's system hashes it.
    pub fn insert_value(&mut self, value: Value<'_>) -> Result<bool, TypeError> {
        let hash = self.raw_hash_of(value)?;
        Ok(self.dialect.set(self.bits.as_mut(), hash))
    }

    /// Adds many keys, in any of the forms of [`Keys`]. Null keys are left out.
    ///
    /// # Errors
    /// If the keys are hashes with another seed or hash function. None is inserted.
    pub fn insert_batch<K: Keys<D::Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), InsertError> {
        let Filter { dialect, bits } = self;
        keys.require(dialect.hasher(), None)?;
        let Some(validity) = keys.validity() else {
            dialect.set_batch(bits.as_mut(), keys);
            return Ok(());
        };
        let hasher = dialect.hasher().clone();
        each_valid(keys, validity, &hasher, |hashes| {
            dialect.set_batch(bits.as_mut(), hashes);
            Ok(())
        })
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not
    /// new, and a null key is not.
    ///
    /// # Errors
    /// As of [`insert_batch`](Filter::insert_batch); also if the number of places in `new` is not the number
    /// of keys.
    pub fn insert_batch_new<'a, K: Keys<D::Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: impl Into<Answers<'a>>,
    ) -> Result<(), InsertError> {
        let mut new = new.into();
        new.require_places(keys.count())?;
        let Filter { dialect, bits } = self;
        keys.require(dialect.hasher(), None)?;
        let Some(validity) = keys.validity() else {
            dialect.set_batch_new(bits.as_mut(), keys, new);
            return Ok(());
        };
        let hasher = dialect.hasher().clone();
        each_valid_new(keys, validity, &hasher, &mut new, |hashes, new| {
            dialect.set_batch_new(bits.as_mut(), hashes, new);
            Ok(())
        })
    }

    /// Removes all keys. What remains is a new filter of the same shape, with the same hash function.
    ///
    /// # Errors
    /// None: the signature is that of every filter, of which those that grow need memory.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        self.dialect.clear(self.bits.as_mut());
        Ok(())
    }

    /// Adds all keys of another filter of the same shape.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &Filter<D, T>) -> Result<(), MergeError> {
        self.dialect.mergeable(&other.dialect)?;
        self.dialect.merge(self.bits.as_mut(), &other.dialect, other.bits.as_ref())
    }

    /// Keeps only the keys that both filters may contain.
    ///
    /// Every key that is in both is still found. The rate is at most the lower of the two, but above that of
    /// a filter of the common keys alone, because bits that different keys set in each filter remain.
    pub fn intersect<T: AsRef<[u8]>>(&mut self, other: &Filter<D, T>) -> Result<(), MergeError> {
        self.dialect.mergeable(&other.dialect)?;
        self.dialect.intersect(self.bits.as_mut(), &other.dialect, other.bits.as_ref());
        Ok(())
    }
}

impl<K: Key<D::Hasher>, D: Insert, S: AsRef<[u8]> + AsMut<[u8]>> Extend<K> for Filter<D, S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<D: Insert> Filter<D> {
    /// An empty filter of a dialect whose parameters are known.
    pub fn from_dialect(dialect: D) -> Result<Self, SizeError> {
        let bits = Owned::zeroed(dialect.byte_len())?;
        Ok(Filter { dialect, bits })
    }
}

impl<D: Size> Filter<D> {
    /// An empty filter for this request.
    pub fn new(request: &Request) -> Result<Self, SizeError> {
        let dialect = D::size(request)?;
        let bits = Owned::zeroed(dialect.byte_len())?;
        Ok(Filter { dialect, bits })
    }

    /// An empty filter for `expected_keys` keys at the rate `fpr`, by the dialect's own sizing rule.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        Self::new(&Request { expected_keys, target: Target::Fpr(fpr) })
    }

    /// An empty filter with this many bits for each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Self, SizeError> {
        Self::new(&Request { expected_keys, target: Target::BitsPerKey(bits_per_key) })
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, S> {
    /// The encoded filter, in the bytes its system writes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bits.as_ref().len() + 128);
        let written = self.dialect.encode(self.bits.as_ref(), &mut bytes);
        debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
        bytes
    }

    /// Writes the encoded filter without copying it first.
    #[cfg(feature = "std")]
    pub fn write_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        fullbloom_core::wire::write_with(out, |out| self.dialect.encode(self.bits.as_ref(), out))
    }

    /// Length of the encoded filter in bytes; an upper bound where it depends on the bits.
    pub fn encoded_len(&self) -> u64 {
        self.dialect.encoded_len()
    }

    /// A filter over bits located by [`Format::decode`]: some formats drop trailing zeros.
    pub fn from_decoded(dialect: D, bits: S) -> Result<Self, DecodeError> {
        let have = bits.as_ref().len() as u64;
        if have >= dialect.least_len() && have < dialect.byte_len() {
            return Ok(Filter { dialect, bits });
        }
        Filter::from_parts(dialect, bits)
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, Part<S>> {
    /// Reads the whole storage again and checks every byte against its checksums, in the formats that have
    /// them.
    pub fn verify(&self) -> Result<(), DecodeError> {
        D::decode(self.bits.storage().as_ref(), Check::All).map(|_| ())
    }
}

impl<D: Format> Filter<D> {
    /// Reads an encoded filter strictly, checks all of it, and copies its bits.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (dialect, range) = D::decode(bytes, Check::All)?;
        Self::copied(dialect, &bytes[range])
    }

    /// As [`decode`](Filter::decode), for bytes that hold only the array: the caller gives the numbers of
    /// bits and probes.
    pub fn decode_exact(bytes: &[u8], bit_len: u64, probes: u32) -> Result<Self, DecodeError> {
        let (dialect, range) = D::decode_exact(bytes, bit_len, probes, Check::All)?;
        Self::copied(dialect, &bytes[range])
    }

    fn copied(dialect: D, bits: &[u8]) -> Result<Self, DecodeError> {
        let view = Filter::from_decoded(dialect, bits)?;
        view.try_clone().map_err(|_| DecodeError::Memory { bytes: bits.len() as u64 })
    }

    /// Reads an encoded filter strictly and uses the bytes in place. The bits are not compared with
    /// checksums.
    pub fn view(bytes: &[u8]) -> Result<View<'_, D>, DecodeError> {
        let (dialect, range) = D::decode(bytes, Check::Header)?;
        Filter::from_decoded(dialect, &bytes[range])
    }

    /// As [`view`](Filter::view), for bytes that hold only the array: the caller gives the numbers of bits
    /// and probes.
    pub fn view_exact(bytes: &[u8], bit_len: u64, probes: u32) -> Result<View<'_, D>, DecodeError> {
        let (dialect, range) = D::decode_exact(bytes, bit_len, probes, Check::Header)?;
        Filter::from_decoded(dialect, &bytes[range])
    }

    /// As [`view`](Filter::view), over any owner of the bytes: a mapping, `Bytes`, an `Arc<[u8]>`, a
    /// `Vec<u8>`.
    ///
    /// ```
    /// use fullbloom_dialects::{Filter, LevelDb};
    /// use std::sync::Arc;
    ///
    /// let mut filter = Filter::<LevelDb>::with_bits_per_key(100, 10.0)?;
    /// filter.insert(b"apple");
    /// let block: Arc<[u8]> = filter.encode().into(); // as held in a block cache
    /// let cached = Filter::<LevelDb>::over(block)?;
    /// assert!(cached.may_contain(b"apple"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<S: AsRef<[u8]>>(storage: S) -> Result<Filter<D, Part<S>>, DecodeError> {
        let (dialect, range) = D::decode(storage.as_ref(), Check::Header)?;
        Filter::from_decoded(dialect, Part::new(storage, range))
    }

    /// As [`over`](Filter::over), for engines: never fails. Bytes that cannot be decoded answer "maybe" to
    /// every key.
    ///
    /// RocksDB's own reader has further rules, which [`FullFilter::read`] follows.
    ///
    /// [`FullFilter::read`]: crate::rocksdb::FullFilter::read
    pub fn read<S: AsRef<[u8]>>(storage: S) -> Lenient<D, S> {
        Lenient::new(Filter::<D>::over(storage).ok())
    }
}
