//! The filter every dialect shares: a [`Dialect`] that knows how to probe, over storage that holds the bits.
//!
//! ```text
//!   Filter<D, S>  =  D: geometry, hash, probes   over   S: bytes
//!   Filter<D>          owns its bits (64-byte aligned)
//!   View<'a, D>        borrows them: a mapped file, a block from a cache, memory of a C caller
//! ```

mod ring;

use crate::bits::{self, Owned};
use crate::dialect::Name;
use crate::error::{DecodeError, MergeError, SizeError};
use crate::sizing::{self, Geometry, Request, Target};
use crate::typed::{TypeError, Value};
use ring::{set_ring, test_ring};
use std::fmt;
use std::io;
use std::ops::Range;

/// One system's way from a key to an answer, exactly; a value of it is bound to one geometry.
///
/// Implemented by the types in [`dialect`](crate::dialect). The methods taking `bits` may rely on what
/// [`Filter`] has checked: there are [`byte_len`](Dialect::byte_len) bytes.
pub trait Dialect: Clone + Send + Sync {
    /// The dialect's name.
    const NAME: Name;

    /// What is made from a key, once, and is enough to ask any filter of this dialect.
    type Hash: Copy + Default + Send + Sync;

    /// The shape of the filter.
    fn geometry(&self) -> Geometry;

    /// Hashes a key.
    fn hash(&self, key: &[u8]) -> Self::Hash;

    /// Whether a key with this hash may be present.
    fn test(&self, bits: &[u8], hash: Self::Hash) -> bool;

    /// Asks the CPU for the cache lines that [`test`](Dialect::test) will read.
    fn prefetch(&self, bits: &[u8], hash: Self::Hash);

    /// Tests many keys; for dialects with a better pipeline than the shared one.
    #[inline]
    fn test_keys<K: AsRef<[u8]>>(&self, bits: &[u8], keys: &[K], answers: Answers<'_>) {
        test_ring(self, bits, keys.iter().map(|key| self.hash(key.as_ref())), answers);
    }

    /// As [`test_keys`](Dialect::test_keys), for hashes made before.
    #[inline]
    fn test_hashes(&self, bits: &[u8], hashes: &[Self::Hash], answers: Answers<'_>) {
        test_ring(self, bits, hashes.iter().copied(), answers);
    }

    /// The rate to expect of these bits: every probe of an absent key hits a set bit with the chance `fill`.
    /// Reads the whole array.
    fn fpr_of(&self, bits: &[u8]) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        if probes == 0 {
            return 1.0;
        }
        let fill = self.count_ones(bits) as f64 / bit_len.max(1) as f64;
        fill.powf(f64::from(probes))
    }

    /// How many distinct keys these bits speak of; `None` when they do not tell. Reads the whole array.
    fn keys_of(&self, bits: &[u8]) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        sizing::estimated_keys(self.count_ones(bits), bit_len, probes)
    }

    /// The rate to expect when this many distinct keys are in, by the dialect's own model.
    fn expected_fpr(&self, keys: f64) -> f64 {
        let Geometry { bit_len, probes, .. } = self.geometry();
        sizing::classic_fpr(keys, bit_len, probes)
    }

    /// The same dialect for keys that are numbers: given as their bytes ([`Value::key`](crate::typed::Value::key)), but
    /// hashed as numbers where the system has another hash for those.
    #[must_use]
    fn for_numbers(self) -> Self {
        self
    }

    /// Number of set bits. Reads the whole array.
    fn count_ones(&self, bits: &[u8]) -> u64 {
        bits::count_ones(bits, self.geometry().bit_len)
    }

    /// Where the format does not keep what it promises; `None` for nothing known.
    fn weakness(&self) -> Option<Weakness> {
        None
    }

    /// Bytes the array occupies in memory.
    fn byte_len(&self) -> u64 {
        self.geometry().byte_len()
    }
}

/// A dialect whose filters take keys one by one, in any order.
pub trait Insert: Dialect {
    /// Sets the bits of this hash; true if at least one was clear.
    fn set(&self, bits: &mut [u8], hash: Self::Hash) -> bool;

    /// Sets the bits of many keys; memory is asked for ahead.
    #[inline]
    fn set_keys<K: AsRef<[u8]>>(&self, bits: &mut [u8], keys: &[K]) {
        set_ring(self, bits, keys.iter().map(|key| self.hash(key.as_ref())));
    }

    /// As [`set_keys`](Insert::set_keys), for hashes made before.
    #[inline]
    fn set_hashes(&self, bits: &mut [u8], hashes: &[Self::Hash]) {
        set_ring(self, bits, hashes.iter().copied());
    }

    /// Forgets all keys.
    fn clear(&self, bits: &mut [u8]) {
        bits.fill(0);
    }

    /// Adds the keys of another filter's bits, after [`mergeable`](Insert::mergeable) has agreed. On an error nothing
    /// has changed.
    fn unite(&self, ours: &mut [u8], theirs: &[u8]) -> Result<(), MergeError> {
        bits::or_into(ours, theirs);
        Ok(())
    }

    /// Keeps only what another filter's bits have too, after [`mergeable`](Insert::mergeable) has agreed.
    fn intersect(&self, ours: &mut [u8], theirs: &[u8]) {
        bits::and_into(ours, theirs);
    }

    /// Whether the union of two filters' bits is the filter of the union of their keys.
    fn mergeable(&self, other: &Self) -> Result<(), MergeError> {
        let (ours, theirs) = (self.geometry(), other.geometry());
        MergeError::require_equal("bits", ours.bit_len, theirs.bit_len)?;
        MergeError::require_equal("probes", ours.probes, theirs.probes)
    }
}

/// A dialect that can be sized from a [`Request`], by its system's own rule.
pub trait Size: Dialect {
    /// The geometry for this request.
    fn size(request: &Request) -> Result<Self, SizeError>;
}

/// A dialect whose bytes say all that is needed to answer from them.
pub trait Format: Dialect + Sized {
    /// Reads and checks everything but the bits: the dialect, and where in `bytes` the array is.
    ///
    /// Strict: what is damaged, cut or followed by other bytes is refused. A dialect whose bytes are the
    /// array and nothing else always refuses; it has [`view_exact`](Format::view_exact).
    fn decode(bytes: &[u8]) -> Result<(Self, Range<usize>), DecodeError>;

    /// A view with the geometry given from elsewhere. Where the bytes say it too, both must agree.
    fn view_exact(bytes: &[u8], bit_len: u64, probes: u32) -> Result<View<'_, Self>, DecodeError> {
        let view = View::<Self>::view(bytes)?;
        let found = view.geometry();
        if found.bit_len != bit_len {
            return Err(DecodeError::Mismatch {
                field: "bits given",
                at: 0,
                got: bit_len,
                expected: found.bit_len,
            });
        }
        if found.probes != probes {
            let (got, expected) = (probes.into(), found.probes.into());
            return Err(DecodeError::Mismatch { field: "probes given", at: 0, got, expected });
        }
        Ok(view)
    }

    /// Writes the whole encoded filter.
    fn encode(&self, bits: &[u8], out: &mut dyn io::Write) -> io::Result<()>;

    /// Length of the encoded filter in bytes; an upper bound where it depends on the bits.
    fn encoded_len(&self) -> u64;

    /// What in the decoded numbers cannot be as the system wrote it, though it can be answered from.
    fn doubt(&self) -> Option<Doubt> {
        None
    }
}

/// Something in a filter's numbers is not as its system writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The field, and what it would have to be.
    pub cause: DecodeError,
    /// If that field is the damaged one, keys that are in the filter are called absent.
    pub may_lose_keys: bool,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

/// A format does not keep what it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weakness {
    /// Why, and what to do about it.
    pub why: &'static str,
    /// Whatever the keys are; else only with some keys.
    pub with_all_keys: bool,
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)
    }
}

/// A filter of dialect `D` whose bits live in `S`.
#[derive(Debug, Clone)]
pub struct Filter<D, S = Owned> {
    dialect: D,
    bits: S,
}

/// A filter over borrowed bytes: it answers without copying them.
pub type View<'a, D> = Filter<D, &'a [u8]>;

/// Where the answers of a batch go.
#[derive(Debug)]
pub enum Answers<'a> {
    /// One bool for each key.
    Bools(&'a mut [bool]),
    /// Bit `i % 64` of word `i / 64` for key `i`; bits after the last key become zero.
    Bits(&'a mut [u64]),
}

impl Answers<'_> {
    fn clear(&mut self) {
        if let Answers::Bits(words) = self {
            words.fill(0);
        }
    }

    /// After [`clear`](Answers::clear), once for each key.
    #[inline(always)]
    fn put(&mut self, i: usize, yes: bool) {
        match self {
            Answers::Bools(bools) => bools[i] = yes,
            Answers::Bits(words) => words[i / 64] |= u64::from(yes) << (i % 64),
        }
    }
}

impl<D: Dialect, S: AsRef<[u8]>> Filter<D, S> {
    /// A filter over these bits; refused when they are fewer or more than the dialect's geometry says.
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

    /// For a dialect that answers from fewer bytes than [`byte_len`](Dialect::byte_len).
    pub(crate) fn from_trimmed(dialect: D, bits: S) -> Self {
        Filter { dialect, bits }
    }

    /// The same bits, read by a dialect that differs in nothing that has to do with their number.
    pub(crate) fn map_dialect(self, map: impl FnOnce(D) -> D) -> Self {
        let byte_len = self.dialect.byte_len();
        let dialect = map(self.dialect);
        debug_assert_eq!(byte_len, dialect.byte_len());
        Filter { dialect, bits: self.bits }
    }

    /// The same filter for keys that are numbers; see [`Dialect::for_numbers`].
    #[must_use]
    pub fn for_numbers(self) -> Self {
        self.map_dialect(D::for_numbers)
    }

    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.dialect.test(self.bits.as_ref(), self.dialect.hash(key))
    }

    /// As [`may_contain`](Filter::may_contain), for a hash made before.
    #[inline]
    pub fn may_contain_hash(&self, hash: D::Hash) -> bool {
        self.dialect.test(self.bits.as_ref(), hash)
    }

    /// Answers many keys; faster than one by one when the filter is larger than the cache, because the
    /// cache lines of later keys are on their way while earlier ones are tested.
    ///
    /// # Panics
    /// If `keys` and `answers` differ in length.
    pub fn may_contain_batch<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [bool]) {
        assert_eq!(keys.len(), answers.len(), "one answer for each key");
        self.dialect.test_keys(self.bits.as_ref(), keys, Answers::Bools(answers));
    }

    /// As [`may_contain_batch`](Filter::may_contain_batch), for hashes made before.
    ///
    /// # Panics
    /// If `hashes` and `answers` differ in length.
    pub fn may_contain_hashes(&self, hashes: &[D::Hash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        self.dialect.test_hashes(self.bits.as_ref(), hashes, Answers::Bools(answers));
    }

    /// As [`may_contain_batch`](Filter::may_contain_batch), with one bit for each key: bit `i % 64` of word
    /// `i / 64` for key `i`. Bits after the last key become zero.
    ///
    /// # Panics
    /// Unless there is one word for every 64 keys or part of them.
    pub fn may_contain_bitmap<K: AsRef<[u8]>>(&self, keys: &[K], answers: &mut [u64]) {
        assert_eq!(keys.len().div_ceil(64), answers.len(), "one word for every 64 keys");
        self.dialect.test_keys(self.bits.as_ref(), keys, Answers::Bits(answers));
    }

    /// As [`may_contain_bitmap`](Filter::may_contain_bitmap), for hashes made before.
    ///
    /// # Panics
    /// Unless there is one word for every 64 hashes or part of them.
    pub fn may_contain_hashes_bitmap(&self, hashes: &[D::Hash], answers: &mut [u64]) {
        assert_eq!(hashes.len().div_ceil(64), answers.len(), "one word for every 64 hashes");
        self.dialect.test_hashes(self.bits.as_ref(), hashes, Answers::Bits(answers));
    }

    /// The hash of a typed key, as the dialect's system hashes it.
    pub fn hash_value(&self, value: Value<'_>) -> Result<D::Hash, TypeError> {
        let key = value.key(D::NAME)?;
        Ok(match value.is_number() {
            true => self.dialect.clone().for_numbers().hash(key.as_ref()),
            false => self.dialect.hash(key.as_ref()),
        })
    }

    /// Whether a typed key may be present.
    pub fn may_contain_value(&self, value: Value<'_>) -> Result<bool, TypeError> {
        Ok(self.may_contain_hash(self.hash_value(value)?))
    }

    /// The hash of a key, to be asked of several filters of this dialect.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> D::Hash {
        self.dialect.hash(key)
    }

    /// The dialect with its numbers.
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

    /// Number of set bits. Reads the whole array.
    pub fn set_bits(&self) -> u64 {
        self.dialect.count_ones(self.bits.as_ref())
    }

    /// Share of bits set; 0 for an array without bits. Reads the whole array.
    pub fn fill(&self) -> f64 {
        match self.geometry().bit_len {
            0 => 0.0,
            bit_len => self.set_bits() as f64 / bit_len as f64,
        }
    }

    /// The rate to expect of the filter as it is now. Reads the whole array.
    pub fn expected_fpr(&self) -> f64 {
        self.dialect.fpr_of(self.bits.as_ref())
    }

    /// How many distinct keys the bits speak of; `None` when they do not tell, as in a full filter. Reads
    /// the whole array.
    pub fn estimated_keys(&self) -> Option<f64> {
        self.dialect.keys_of(self.bits.as_ref())
    }

    /// The same filter over the same bits, borrowed.
    pub fn as_view(&self) -> View<'_, D> {
        Filter { dialect: self.dialect.clone(), bits: self.bits.as_ref() }
    }

    /// A copy that owns its bits.
    pub fn to_owned(&self) -> Result<Filter<D>, SizeError> {
        let bits = self.bits.as_ref();
        let mut owned = Owned::zeroed(self.dialect.byte_len().max(bits.len() as u64))?;
        owned.as_mut()[..bits.len()].copy_from_slice(bits);
        Ok(Filter { dialect: self.dialect.clone(), bits: owned })
    }
}

impl<D: Insert, S: AsRef<[u8]> + AsMut<[u8]>> Filter<D, S> {
    pub(crate) fn bits_mut(&mut self) -> &mut [u8] {
        self.bits.as_mut()
    }

    /// Adds a key; true if at least one bit changed, so the key was surely not there before.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        self.dialect.set(self.bits.as_mut(), self.dialect.hash(key))
    }

    /// As [`insert`](Filter::insert), for a typed key.
    pub fn insert_value(&mut self, value: Value<'_>) -> Result<bool, TypeError> {
        let hash = self.hash_value(value)?;
        Ok(self.insert_hash(hash))
    }

    /// As [`insert`](Filter::insert), for a hash made before.
    #[inline]
    pub fn insert_hash(&mut self, hash: D::Hash) -> bool {
        self.dialect.set(self.bits.as_mut(), hash)
    }

    /// Adds many keys; as with [`may_contain_batch`](Filter::may_contain_batch), memory is asked for ahead.
    pub fn insert_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        self.dialect.set_keys(self.bits.as_mut(), keys);
    }

    /// As [`insert_batch`](Filter::insert_batch), for keys that are numbers; see [`Dialect::for_numbers`].
    pub fn insert_numbers<K: AsRef<[u8]>>(&mut self, keys: &[K]) {
        self.dialect.clone().for_numbers().set_keys(self.bits.as_mut(), keys);
    }

    /// As [`insert_batch`](Filter::insert_batch), for hashes made before.
    pub fn insert_hashes(&mut self, hashes: &[D::Hash]) {
        self.dialect.set_hashes(self.bits.as_mut(), hashes);
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.dialect.clear(self.bits.as_mut());
    }

    /// Adds all keys of another filter of the same shape.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &Filter<D, T>) -> Result<(), MergeError> {
        self.dialect.mergeable(&other.dialect)?;
        self.dialect.unite(self.bits.as_mut(), other.bits.as_ref())
    }

    /// Keeps only what both filters may contain.
    ///
    /// Every key that is in both is still found. The rate is at most the lower of the two, but above that of a filter
    /// of the common keys alone: bits that different keys set in each stay.
    pub fn intersect<T: AsRef<[u8]>>(&mut self, other: &Filter<D, T>) -> Result<(), MergeError> {
        self.dialect.mergeable(&other.dialect)?;
        self.dialect.intersect(self.bits.as_mut(), other.bits.as_ref());
        Ok(())
    }
}

impl<K: AsRef<[u8]>, D: Insert, S: AsRef<[u8]> + AsMut<[u8]>> Extend<K> for Filter<D, S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key.as_ref());
        }
    }
}

impl<D: Insert> Filter<D> {
    /// An empty filter of a dialect that has its numbers already.
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

    /// An empty filter that spends this many bits on each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Self, SizeError> {
        Self::new(&Request { expected_keys, target: Target::BitsPerKey(bits_per_key) })
    }
}

impl<D: Format, S: AsRef<[u8]>> Filter<D, S> {
    /// The encoded filter, as its system writes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bits.as_ref().len() + 128);
        self.write_to(&mut bytes).expect("writing to a Vec cannot fail");
        bytes
    }

    /// Writes the encoded filter without making a copy of it first.
    pub fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.dialect.encode(self.bits.as_ref(), out)
    }
}

impl<D: Format> Filter<D> {
    /// Reads an encoded filter strictly and copies its bits.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let view = View::<D>::view(bytes)?;
        view.to_owned().map_err(|_| DecodeError::Memory { bytes: bytes.len() as u64 })
    }
}

impl<'a, D: Format> View<'a, D> {
    /// Reads an encoded filter strictly and answers from the bytes where they are.
    pub fn view(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (dialect, range) = D::decode(bytes)?;
        Filter::from_parts(dialect, &bytes[range])
    }
}
