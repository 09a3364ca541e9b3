//! The filter: insertion, lookup, merging, folding, and what it knows about itself.

use crate::KeyHash;
use crate::builder::FilterBuilder;
use crate::filter_ref::FilterRef;
use crate::native::Native;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::bits::{self, Owned};
use fullbloom_core::error::{DecodeError, InsertError, KeysError, MergeError, Quantity, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Hashes, Key, Keys, each_valid, each_valid_new, look_up};
use fullbloom_core::native::bare;
use fullbloom_core::native::exceptions::Exceptions;
use fullbloom_core::native::format::{Decoded, Encoder};
use fullbloom_core::native::guard::{Except, ExceptError, ExceptionFacts};
use fullbloom_core::native::hashing::{Hasher, Hashing, Secret};
use fullbloom_core::native::head::Head;
use fullbloom_core::native::shape::Shape;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::part::{Check, Part};
use fullbloom_core::sizing::{Geometry, Layout, Request, Target};
use fullbloom_core::typed::KeyType;
use fullbloom_core::wire::{Output, Stop};

/// A Bloom filter whose bits live in `S`: insertion and lookup, single or in batches; merge, fold, save.
///
/// ```
/// use fullbloom::Filter;
///
/// let mut filter = Filter::with_fpr(1_000, 0.01)?;
/// assert!(filter.insert("alice"));       // new
/// assert!(!filter.insert("alice"));      // known
/// assert!(filter.may_contain("alice"));  // never a false negative
/// assert_eq!(filter.keys(), 1);
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// A `Filter` without a parameter owns its bits and takes keys. A filter read in place, one with exceptions,
/// and a keyed one whose secret is not known are of another type, such as `Filter<Part<S>>`, which has no
/// `insert`.
#[derive(Debug, Clone)]
pub struct Filter<S = Owned> {
    pub(crate) native: Native,
    pub(crate) bits: S,
}

impl Filter {
    /// An empty filter for `expected_keys` keys at the rate `fpr`.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Filter, SizeError> {
        Filter::new(&Request { expected_keys, target: Target::Fpr(fpr) })
    }

    /// An empty filter with this many bits for each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Filter, SizeError> {
        Filter::new(&Request { expected_keys, target: Target::BitsPerKey(bits_per_key) })
    }

    /// An empty filter for this request.
    pub fn new(request: &Request) -> Result<Filter, SizeError> {
        Filter::with_sizing(&Sizing::new(request)?, Hashing::default())
    }

    /// An empty filter of this size, hashing with this seed or secret.
    pub fn with_sizing(sizing: &Sizing, hashing: Hashing) -> Result<Filter, SizeError> {
        Filter::empty(Native::new(sizing, hashing))
    }

    pub(crate) fn empty(native: Native) -> Result<Filter, SizeError> {
        let bits = Owned::zeroed(native.shape.byte_len())?;
        Ok(Filter { native, bits })
    }

    /// Reads an encoded filter strictly, checks all of it, and copies its bits. More keys can be inserted.
    ///
    /// # Errors
    /// Also [`DecodeError::ReadOnly`] for a filter that takes no keys, because it has exceptions or a secret
    /// that is not in the file: read it with [`over`](Filter::over) or [`view`](Filter::view).
    pub fn decode(bytes: &[u8]) -> Result<Filter, DecodeError> {
        let filter = Filter::decode_any(bytes)?;
        filter.native.head.require_takes_keys().map_err(|why| DecodeError::ReadOnly { why })?;
        Ok(filter)
    }

    /// As [`decode`](Filter::decode), also of a filter that takes no keys, which the caller has to respect.
    #[doc(hidden)]
    pub fn decode_any(bytes: &[u8]) -> Result<Filter, DecodeError> {
        let (native, range) = Native::decode(bytes, Check::All)?;
        let bits = &bytes[range];
        let memory = |_| DecodeError::Memory { bytes: bits.len() as u64 };
        Ok(Filter { native, bits: Owned::copied(bits).map_err(memory)? })
    }

    /// Reads an encoded filter strictly and uses the bytes in place. The bits are not compared with
    /// checksums.
    pub fn view(bytes: &[u8]) -> Result<Filter<&[u8]>, DecodeError> {
        let (native, range) = Native::decode(bytes, Check::Header)?;
        Ok(Filter { native, bits: &bytes[range] })
    }

    /// As [`view`](Filter::view), over any owner of the bytes: a mapping, `Bytes`, an `Arc<[u8]>`, a
    /// `Vec<u8>`.
    ///
    /// ```
    /// use fullbloom::Filter;
    /// use std::sync::Arc;
    ///
    /// let mut filter = Filter::with_bits_per_key(100, 10.0)?;
    /// filter.insert("apple");
    /// let block: Arc<[u8]> = filter.encode().into(); // as held in a block cache
    /// let cached = Filter::over(block)?;
    /// assert!(cached.may_contain("apple"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<S: AsRef<[u8]>>(storage: S) -> Result<Filter<Part<S>>, DecodeError> {
        Filter::over_or(storage).map_err(|(_, error)| error)
    }

    /// As [`over`](Filter::over); an error gives the storage back.
    pub(crate) fn over_or<S: AsRef<[u8]>>(storage: S) -> Result<Filter<Part<S>>, (S, DecodeError)> {
        match Native::decode(storage.as_ref(), Check::Header) {
            Ok((native, range)) => Ok(Filter { native, bits: Part::new(storage, range) }),
            Err(error) => Err((storage, error)),
        }
    }

    /// A filter that was encoded by [`encode_bare`](Filter::encode_bare), over any owner of its bytes. Its
    /// keys must have been hashed with this seed or secret: the bytes do not say which, and with another one
    /// the filter answers "no" for its own keys.
    pub fn over_bare<S: AsRef<[u8]>>(storage: S, hashing: &Hashing) -> Result<Filter<Part<S>>, DecodeError> {
        Filter::over_bare_or(storage, hashing).map_err(|(_, error)| error)
    }

    /// Looks a hash up in bytes by [`encode_bare`](Filter::encode_bare), without anything that is kept between
    /// lookups: for an engine whose block cache holds bytes alone. The keys of the filter and this one must
    /// have been hashed by `hasher`. A hash by another one, and bytes that are no such filter, give "maybe".
    ///
    /// ```
    /// use fullbloom::keys::Hasher;
    /// use fullbloom::{Filter, FilterBuilder, Hashing, KeyHash};
    ///
    /// let mut builder = FilterBuilder::with_bits_per_key(10.0);
    /// builder.add("apple");
    /// let block: Vec<u8> = builder.finish_bare()?; // 68 bytes
    ///
    /// let hasher = Hasher::new(&Hashing::default()); // once for all lookups
    /// assert!(Filter::bare_may_contain(&block, KeyHash::new("apple", &hasher), &hasher));
    /// assert!(!Filter::bare_may_contain(&block, KeyHash::new("pear", &hasher), &hasher));
    /// # Ok::<(), fullbloom::BuildError>(())
    /// ```
    #[inline]
    pub fn bare_may_contain(bytes: &[u8], hash: KeyHash, hasher: &Hasher) -> bool {
        hash.by(hasher).map_or(true, |hash| bare::may_contain(bytes, hash))
    }

    /// As [`over_bare`](Filter::over_bare); an error gives the storage back.
    pub(crate) fn over_bare_or<S: AsRef<[u8]>>(
        storage: S,
        hashing: &Hashing,
    ) -> Result<Filter<Part<S>>, (S, DecodeError)> {
        match bare::decode(storage.as_ref(), hashing) {
            Ok((head, shape, range)) => {
                Ok(Filter { native: Native::from_parts(shape, head), bits: Part::new(storage, range) })
            }
            Err(error) => Err((storage, error)),
        }
    }

    /// As [`over`](Filter::over), for engines: never fails. Bytes that cannot be decoded answer "maybe" to
    /// every key.
    pub fn read<S: AsRef<[u8]>>(storage: S) -> FilterRef<S> {
        FilterRef::read(storage)
    }
}

impl<S> Filter<S> {
    /// Of a native file whose sections are known, over any storage of its bits.
    #[doc(hidden)]
    pub fn of_file(decoded: &Decoded, file: &[u8], bits: S) -> Result<Self, DecodeError> {
        Ok(Filter { native: Native::of_file(decoded, file)?, bits })
    }

    /// A filter with this header over these bits, whose number the caller has checked.
    #[doc(hidden)]
    pub fn from_parts(shape: Shape, head: Head, bits: S) -> Filter<S> {
        Filter { native: Native::from_parts(shape, head), bits }
    }

    #[doc(hidden)]
    pub fn head(&self) -> &Head {
        &self.native.head
    }

    #[doc(hidden)]
    pub fn head_mut(&mut self) -> &mut Head {
        &mut self.native.head
    }

    #[doc(hidden)]
    pub fn shape(&self) -> &Shape {
        &self.native.shape
    }

    #[doc(hidden)]
    pub fn hasher(&self) -> &Hasher {
        &self.native.hasher
    }

    /// The memory that holds the bits.
    pub fn storage(&self) -> &S {
        &self.bits
    }

    /// The same filter over other memory with the same bits.
    pub fn map<T>(self, bits: impl FnOnce(S) -> T) -> Filter<T> {
        Filter { native: self.native, bits: bits(self.bits) }
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.native.head.set_label(label);
    }

    /// Whether to store the secret of a keyed filter in its file, which then needs the same protection as the
    /// secret. Off by default. A filter hashed with a seed has no secret.
    pub fn store_secret(&mut self, store: bool) {
        self.native.head.store_secret = store;
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    ///
    /// ```
    /// use fullbloom::{Filter, typed::KeyType};
    /// let mut filter = Filter::with_fpr(1_000, 0.01)?;
    /// filter.set_key_type(Some(KeyType::Long));
    /// let read = Filter::decode(&filter.encode())?;
    /// assert_eq!(read.key_type(), Some(KeyType::Long));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.native.head.set_key_type(key_type);
    }

    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.native.head.key_type
    }
}

impl<S: AsRef<[u8]>> Filter<S> {
    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    #[inline(always)]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.native.test(self.bits.as_ref(), key.hash_with(&self.native.hasher))
    }

    /// As [`may_contain`](Filter::may_contain), for a precomputed hash. Of a filter with another seed or
    /// secret the answer is "maybe".
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        hash.by(&self.native.hasher).map_or(true, |hash| self.native.test(self.bits.as_ref(), hash))
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    #[inline(always)]
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &self.native.hasher)
    }

    /// Looks up many keys, in any of the forms of [`Keys`]: one answer for each. Faster than single lookups,
    /// most of all when the filter is larger than the cache: the cache lines of later keys are prefetched
    /// while earlier keys are tested.
    ///
    /// ```
    /// use fullbloom::Filter;
    ///
    /// let mut filter = Filter::with_fpr(1_000, 0.01)?;
    /// filter.insert_batch(&["apple", "pear"])?;
    /// assert_eq!(filter.may_contain_batch(&["pear", "plum"])?, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the keys do not fit the filter: numbers where text is [recorded](Filter::key_type), or hashes with
    /// another seed. A null key is answered "no".
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch_into(keys, &mut answers)?;
        Ok(answers)
    }

    /// As [`may_contain_batch`](Filter::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// ```
    /// use fullbloom::Filter;
    /// use fullbloom::keys::Column;
    ///
    /// let mut filter = Filter::with_fpr(1_000, 0.01)?;
    /// filter.insert(7);
    /// let mut bitmap = [0u64; 2]; // one bit for each of 100 keys
    /// filter.may_contain_batch_into(&Column(&[8; 100]), &mut bitmap[..])?;
    /// assert_eq!(bitmap, [0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch_into<'a, K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        look_up(keys, &self.native.hasher, self.key_type(), answers.into(), |answers| {
            self.native.test_batch(self.bits.as_ref(), keys, answers);
        })
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<u64, KeysError> {
        let mut words = vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch_into(keys, &mut words)?;
        Ok(words.iter().map(|word| u64::from(word.count_ones())).sum())
    }

    /// Whether the key of a hash by this filter's own hasher may be present.
    #[inline(always)]
    pub fn may_contain_raw(&self, hash: u64) -> bool {
        self.native.test(self.bits.as_ref(), hash)
    }

    /// Prefetches the first line of the lookup of this hash, which shows most absent keys.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self, hash: KeyHash) {
        self.native.prefetch_first(self.bits.as_ref(), hash.to_raw());
    }

    /// Prefetches the memory that the lookup of this hash reads.
    pub fn prefetch(&self, hash: KeyHash) {
        self.native.prefetch(self.bits.as_ref(), hash.to_raw());
    }

    /// The number of distinct keys, estimated from the bits as a whole number; `u64::MAX` if all bits are set. It is
    /// stored in the file; after a change it is counted again, from the whole array.
    pub fn keys(&self) -> u64 {
        self.native.stored_keys(self.bits.as_ref())
    }

    /// The number of keys it was sized for; 0 when that is unknown.
    pub fn expected_keys(&self) -> u64 {
        self.native.head.expected_keys
    }

    /// Whether it holds more keys than it was sized for, by more than three standard deviations of the estimate.
    /// The rate is then above the planned one. Reads the whole array.
    pub fn is_overfull(&self) -> bool {
        self.native.is_overfull(self.bits.as_ref())
    }

    /// The expected rate of the filter in its current state. Reads the whole array.
    pub fn expected_fpr(&self) -> f64 {
        self.native.fpr_of(self.bits.as_ref())
    }

    /// The planned rate: with the expected number of keys.
    pub fn planned_fpr(&self) -> f64 {
        self.fpr_with(self.expected_keys())
    }

    /// The expected rate with this many keys.
    pub fn fpr_with(&self, keys: u64) -> f64 {
        self.native.fpr_with(keys as f64)
    }

    /// The number of distinct keys, estimated from the bits; `None` when it cannot be estimated, for example
    /// for a full filter. Reads the whole array.
    pub fn estimated_keys(&self) -> Option<f64> {
        self.native.keys_of(self.bits.as_ref())
    }

    /// Number of set bits. Reads the whole array.
    pub fn count_ones(&self) -> u64 {
        self.native.count_ones(self.bits.as_ref())
    }

    /// Share of bits set. Reads the whole array.
    pub fn fill(&self) -> f64 {
        self.count_ones() as f64 / self.geometry().bit_len as f64
    }

    /// The bit array, in the byte order of the encoded form.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The bits that a lookup of this key tests, in the order of the probes: position `p` is bit `p % 8` of
    /// byte `p / 8` of [`bits`](Filter::bits). `None` if the filter is locked.
    pub fn probes_of(&self, key: impl Key<Hasher>) -> Option<Vec<u64>> {
        (!self.is_locked()).then(|| self.native.positions(key.hash_with(&self.native.hasher)).collect())
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        self.native.geometry()
    }

    /// How a key's bits are laid out.
    pub fn layout(&self) -> Layout {
        self.native.shape.layout
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.native.shape.blocks
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.native.head.hashing
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.native.head.store_secret
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.native.head.label
    }

    /// Whether it is keyed and its secret is unknown: it answers "maybe" to every key until it is
    /// [unlocked](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.native.head.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    ///
    /// ```
    /// use fullbloom::{Filter, Hashing, Secret};
    /// use fullbloom::sizing::Sizing;
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// let secret = Secret::new(*b"from /dev/random");
    /// let sizing = Sizing::new(&Request { expected_keys: 100, target: Target::Fpr(0.01) })?;
    /// let mut filter = Filter::with_sizing(&sizing, Hashing::Secret(secret.clone()))?;
    /// filter.insert(b"alice");
    /// let mut read = Filter::over(filter.encode())?; // the bytes do not hold the secret
    /// assert!(read.is_locked() && read.may_contain(b"mallory"));
    /// read.unlock(&secret)?;
    /// assert!(!read.may_contain(b"mallory"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.native.unlock(secret)
    }

    /// The filter with exceptions: `good` keys are answered "no" unless they are members. `members` must be
    /// all keys of the filter. The result takes no more keys.
    ///
    /// ```
    /// use fullbloom::Filter;
    ///
    /// let members: Vec<String> = (0..1000).map(|i| format!("bad-{i}")).collect();
    /// let good: Vec<String> = (0..100_000).map(|i| format!("good-{i}")).collect();
    /// let mut filter = Filter::with_fpr(1000, 0.01)?;
    /// filter.insert_batch(&members)?;
    /// assert!(good.iter().any(|key| filter.may_contain(key))); // about 1,000 false positives
    ///
    /// let filter = filter.with_exceptions(&good, &members)?;
    /// assert!(good.iter().all(|key| !filter.may_contain(key)));
    /// assert!(members.iter().all(|key| filter.may_contain(key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_exceptions<G, M>(self, good: &G, members: &M) -> Result<Filter<Part<S>>, ExceptError>
    where
        G: Keys<Hasher> + ?Sized,
        M: Keys<Hasher> + ?Sized,
    {
        let Filter { native, bits } = self.excepting(good, members)?;
        Ok(Filter { native, bits: Part::whole(bits) })
    }

    /// The same bits without the exceptions: known-good keys that are false positives are reported present.
    pub fn without_exceptions(&self) -> Filter<&[u8]> {
        Filter { native: self.native.clone().with_exceptions(None), bits: self.bits.as_ref() }
    }

    /// The composition of the exceptions; `None` when there are none.
    pub fn exceptions(&self) -> Option<ExceptionFacts> {
        ExceptionFacts::of(&self.native.head)
    }

    /// The same filter over the same bits, borrowed.
    pub fn as_view(&self) -> Filter<&[u8]> {
        Filter { native: self.native.clone(), bits: self.bits.as_ref() }
    }

    /// A copy that owns its bits and takes keys.
    ///
    /// # Errors
    /// If the filter has exceptions or is locked, or memory does not suffice.
    pub fn to_mutable(&self) -> Result<Filter, DecodeError> {
        self.native.head.require_takes_keys().map_err(|why| DecodeError::ReadOnly { why })?;
        self.copied().map_err(|_| DecodeError::Memory { bytes: self.bits.as_ref().len() as u64 })
    }

    /// A copy that owns its bits, also of a filter that takes no keys, which the caller has to respect.
    #[doc(hidden)]
    pub fn copied(&self) -> Result<Filter, SizeError> {
        Ok(Filter { native: self.native.clone(), bits: Owned::copied(self.bits.as_ref())? })
    }

    /// The encoded filter.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bits.as_ref().len() + 128);
        let written = self.encode_to(&mut bytes);
        debug_assert!(written.is_ok(), "writing to a Vec cannot fail");
        bytes
    }

    #[doc(hidden)]
    pub fn encode_to(&self, out: &mut dyn Output) -> Result<(), Stop> {
        self.native.encoder(self.bits.as_ref()).write_to(out)
    }

    /// The filter without its header of at least 256 bytes: the lines and four bytes. For partitions, and for
    /// filters of up to 64 KiB, in an engine that keeps the seed or secret itself, has a checksum for each
    /// block, and says in a byte of its own which form a block has. [`FilterRef::read_bare`] reads it.
    ///
    /// ```
    /// use fullbloom::{FilterBuilder, FilterRef, Hashing};
    ///
    /// let builder: FilterBuilder = (0..50).collect();
    /// let filter = builder.build()?;
    /// assert_eq!((filter.encode().len(), filter.encode_bare()?.len()), (320, 68));
    /// let read = FilterRef::read_bare(filter.encode_bare()?, &Hashing::default());
    /// assert!((0..50).all(|key| read.may_contain(key)));
    /// # Ok::<(), fullbloom::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the filter was made from the fingerprints of a dynamic filter, or memory does not suffice.
    pub fn encode_bare(&self) -> Result<Vec<u8>, SizeError> {
        bare::encode(&self.native.head, &self.native.shape, self.bits.as_ref())
    }

    /// Length of the encoded filter in bytes.
    pub fn encoded_len(&self) -> u64 {
        Encoder::fast(&self.native.head, &self.native.shape, &[], 0).encoded_len()
    }
}

impl Filter {
    /// The filter with half as many blocks; each holds the keys of two old blocks. The same keys are found,
    /// at the rate of a filter of that size.
    ///
    /// Fails when the number of blocks is odd. Planned filters of 4096 blocks and more can be folded four
    /// times.
    pub fn folded(&self) -> Result<Filter, SizeError> {
        let Native { shape, head, .. } = &self.native;
        if !shape.blocks.is_multiple_of(2) {
            return Err(SizeError::Count {
                what: Quantity::Blocks,
                got: shape.blocks,
                allowed: "an even number",
            });
        }
        let half = Shape::new(shape.layout, shape.blocks / 2);
        let mut bits = Owned::zeroed(half.byte_len())?;
        let block_len = self.geometry().block_len as usize / 8;
        let pairs = self.bits.as_ref().chunks_exact(2 * block_len);
        for (one, pair) in bits.as_mut().chunks_exact_mut(block_len).zip(pairs) {
            let (even, odd) = pair.split_at(block_len);
            one.copy_from_slice(even);
            bits::or_into(one, odd);
        }
        let head = Head { expected_keys: head.expected_keys.div_ceil(2), ..head.clone() };
        Ok(Filter { native: Native::from_parts(half, head), bits })
    }

    /// The filter folded as often as its keys allow: the smallest of its sizes whose rate, with its keys, is
    /// at most `fpr`. For keys whose number has an upper bound but is unknown: build large, then shrink to
    /// the right size.
    ///
    /// A filter can be halved while its number of blocks is even; [`Sizing::foldable`] makes sure of that.
    ///
    /// ```
    /// use fullbloom::Filter;
    /// use fullbloom::keys::Column;
    /// use fullbloom::Hashing;
    /// use fullbloom::sizing::Sizing;
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// // sized for a million keys; only 50,000 come
    /// let request = Request { expected_keys: 1_000_000, target: Target::Fpr(0.01) };
    /// let mut filter = Filter::with_sizing(&Sizing::new(&request)?.foldable(8)?, Hashing::default())?;
    /// let keys: Vec<u64> = (0..50_000).collect();
    /// filter.insert_batch(&Column(&keys))?;
    /// let small = filter.folded_to(0.01)?;
    /// assert_eq!(small.blocks(), filter.blocks() / 16);
    /// assert!(small.expected_fpr() <= 0.01 && small.count_batch(&Column(&keys))? == 50_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn folded_to(&self, fpr: f64) -> Result<Filter, SizeError> {
        let keys = self.estimated_keys().unwrap_or(f64::INFINITY);
        let fits = |times: u32| {
            let Native { shape, head, .. } = &self.native;
            let smaller = Shape::new(shape.layout, shape.blocks >> times);
            Native::from_parts(smaller, head.clone()).fpr_with(keys) <= fpr
        };
        let most = self.blocks().trailing_zeros();
        let times = (1..=most).take_while(|times| fits(*times)).last().unwrap_or(0);
        if times == 0 {
            return self.copied();
        }
        (1..times).try_fold(self.folded()?, |filter, _| filter.folded())
    }
}

impl<S: AsRef<[u8]>> Filter<Part<S>> {
    /// Reads the whole storage again and checks every byte against its checksums.
    pub fn verify(&self) -> Result<(), DecodeError> {
        Native::decode(self.bits.storage().as_ref(), Check::All).map(|_| ())
    }
}

impl Filter {
    /// A copy, unless memory does not suffice.
    pub fn try_clone(&self) -> Result<Filter, SizeError> {
        self.copied()
    }

    /// Adds a key. Returns true if at least one bit changed, so the key was certainly not present before.
    #[inline(always)]
    pub fn insert(&mut self, key: impl Key<Hasher>) -> bool {
        let hash = key.hash_with(&self.native.hasher);
        self.native.set(self.bits.as_mut(), hash)
    }

    /// As [`insert`](Filter::insert), for a precomputed hash.
    ///
    /// # Errors
    /// If the hash was made with another seed or secret: the filter would not find the key again.
    #[inline(always)]
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<bool, InsertError> {
        let hash = hash.by(&self.native.hasher)?;
        Ok(self.native.set(self.bits.as_mut(), hash))
    }

    /// Adds many keys, in any of the forms of [`Keys`]. Null keys are left out.
    ///
    /// # Errors
    /// If the keys do not fit the filter, as of [`may_contain_batch`](Filter::may_contain_batch). None is
    /// inserted.
    pub fn insert_batch<K: Keys<Hasher> + ?Sized>(&mut self, keys: &K) -> Result<(), InsertError> {
        let Filter { native, bits } = self;
        keys.require(&native.hasher, native.head.key_type)?;
        let Some(validity) = keys.validity() else {
            native.set_batch(bits.as_mut(), keys);
            return Ok(());
        };
        let hasher = native.hasher.clone();
        each_valid(keys, validity, &hasher, |hashes| {
            native.set_batch(bits.as_mut(), hashes);
            Ok(())
        })
    }

    /// Adds many keys in order and reports for each whether it was new. The second of two equal keys is not
    /// new, and a null key is not.
    ///
    /// # Errors
    /// As of [`insert_batch`](Filter::insert_batch); also if the number of places in `new` is not the number
    /// of keys.
    pub fn insert_batch_new<'a, K: Keys<Hasher> + ?Sized>(
        &mut self,
        keys: &K,
        new: impl Into<Answers<'a>>,
    ) -> Result<(), InsertError> {
        let mut new = new.into();
        new.require_places(keys.count())?;
        let Filter { native, bits } = self;
        keys.require(&native.hasher, native.head.key_type)?;
        let Some(validity) = keys.validity() else {
            native.set_batch_new(bits.as_mut(), keys, new);
            return Ok(());
        };
        let hasher = native.hasher.clone();
        each_valid_new(keys, validity, &hasher, &mut new, |hashes, new| {
            native.set_batch_new(bits.as_mut(), hashes, new);
            Ok(())
        })
    }

    /// Removes all keys. What remains is a new filter of the same shape, with the same hash function, label
    /// and key type.
    ///
    /// # Errors
    /// None: the signature is that of every filter, of which those that grow need memory.
    pub fn clear(&mut self) -> Result<(), InsertError> {
        self.bits.as_mut().fill(0);
        self.native.keys = None;
        Ok(())
    }

    /// Adds all keys of another filter of the same shape.
    pub fn merge<T: AsRef<[u8]>>(&mut self, other: &Filter<T>) -> Result<(), MergeError> {
        self.native.mergeable(&other.native)?;
        self.native.merge(self.bits.as_mut(), &other.native, other.bits.as_ref());
        Ok(())
    }

    /// Keeps only the keys that both filters may contain.
    ///
    /// Every key that is in both is still found. The rate is at most the lower of the two, but above that of
    /// a filter of the common keys alone, because bits that different keys set in each filter remain.
    pub fn intersect<T: AsRef<[u8]>>(&mut self, other: &Filter<T>) -> Result<(), MergeError> {
        self.native.mergeable(&other.native)?;
        self.native.intersect(self.bits.as_mut(), &other.native, other.bits.as_ref());
        Ok(())
    }
}

#[doc(hidden)]
impl<S: AsRef<[u8]>> Except for Filter<S> {
    fn head(&self) -> &Head {
        &self.native.head
    }

    fn hasher(&self) -> &Hasher {
        &self.native.hasher
    }

    fn keys(&self) -> u64 {
        self.native.stored_keys(self.bits.as_ref())
    }

    fn test_hashes(&self, hashes: &[u64], found: &mut [u64]) {
        self.native.test_batch(self.bits.as_ref(), &Hashes::new(hashes, &self.native.hasher), found.into());
    }

    fn with(self, exceptions: Exceptions) -> Self {
        Filter { native: self.native.with_exceptions(Some(exceptions)), bits: self.bits }
    }
}

impl<K: Key<Hasher>> Extend<K> for Filter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

/// A filter of exactly these keys, at a rate of 1 %.
///
/// # Panics
/// If there is not enough memory. Size the filter yourself where that matters.
impl<K: Key<Hasher>> FromIterator<K> for Filter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut builder = FilterBuilder::with_fpr(0.01);
        builder.extend(keys);
        builder.build().expect("memory for the filter")
    }
}

/// Filters are equal if they have the same parameters and the same bits, wherever those are stored.
impl<S: AsRef<[u8]>, T: AsRef<[u8]>> PartialEq<Filter<T>> for Filter<S> {
    fn eq(&self, other: &Filter<T>) -> bool {
        let (ours, theirs) = (&self.native, &other.native);
        ours.shape.layout == theirs.shape.layout
            && ours.shape.blocks == theirs.shape.blocks
            && ours.head == theirs.head
            && self.bits.as_ref() == other.bits.as_ref()
    }
}
