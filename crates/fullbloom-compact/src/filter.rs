//! The filter: what it answers, and what it knows about itself.

use crate::compact::Compact;
use crate::format;
use crate::shape::{Columns, Layer, Shape};
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::bits::{self, Owned};
#[cfg(feature = "std")]
use fullbloom_core::error::BuildError;
use fullbloom_core::error::{DecodeError, KeysError, SizeError};
use fullbloom_core::kernel::pipeline::Answers;
use fullbloom_core::keys::{Hashes, Key, Keys, look_up};
use fullbloom_core::native::exceptions::Exceptions;
use fullbloom_core::native::format::Decoded;
use fullbloom_core::native::guard::{Except, ExceptError, ExceptionFacts};
use fullbloom_core::native::hashing::{Hasher, Hashing, KeyHash, Secret};
use fullbloom_core::native::head::Head;
use fullbloom_core::part::{Check, Part};
use fullbloom_core::sizing::Geometry;
use fullbloom_core::typed::KeyType;
use fullbloom_core::wire::{Output, Stop};

/// A filter for a set that does not change: built once from all its keys, then only looked up.
///
/// ```
/// use fullbloom_compact::CompactFilter;
///
/// let keys: Vec<String> = (0..100_000).map(|i| format!("key-{i}")).collect();
/// let filter = CompactFilter::build(&keys, 1.0 / 256.0)?;
/// assert!(filter.may_contain(b"key-17"));   // never a false negative
/// assert_eq!(filter.keys(), 100_000);       // exactly, whatever was repeated
/// assert!(filter.bits().len() * 8 < 848_000); // 8.5 bits per key; a Bloom filter needs 12
/// # Ok::<(), fullbloom_compact::error::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompactFilter<S = Owned> {
    pub(crate) compact: Compact,
    pub(crate) bits: S,
}

/// The size of a compact filter before it is built.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CompactPlan {
    /// Length of the array in bits: what filters of random keys have on average.
    pub bit_len: u64,
    /// Length of the file in bytes, without a label.
    pub encoded_len: u64,
    /// The expected rate.
    pub expected_fpr: f64,
}

/// The composition of a compact filter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactFacts {
    /// The fewest columns of a line: a key is compared in these.
    pub columns: u32,
    /// The lines of each layer.
    pub layers: Vec<u64>,
    /// Bytes of the further columns, which are not in the lines.
    pub further_bytes: u64,
    /// Hashes in the list of the keys that no layer holds.
    pub listed: u64,
}

impl CompactFilter {
    /// The size of a filter of this many different keys with this rate.
    pub fn plan(keys: u64, fpr: f64) -> Result<CompactPlan, SizeError> {
        let shape = Shape::planned(Columns::for_fpr(fpr)?, keys)?;
        let compact = Compact::from_parts(shape, Head { keys, ..Head::new(Hashing::default(), keys) });
        Ok(CompactPlan {
            bit_len: compact.geometry().bit_len,
            encoded_len: compact.encoder(&[]).encoded_len(),
            expected_fpr: compact.planned_fpr(),
        })
    }

    /// The filter of these keys with this rate, from 2^-64 to 0.5, with the default hash, on one thread. A
    /// [`CompactBuilder`](super::CompactBuilder) has more choices.
    #[cfg(feature = "std")]
    pub fn build<K: Keys<Hasher> + Sync + ?Sized>(keys: &K, fpr: f64) -> Result<CompactFilter, BuildError> {
        let mut builder = super::CompactBuilder::new(fpr)?.expected_keys(keys.count() as u64);
        builder.add_batch(keys)?;
        builder.build()
    }

    /// Reads an encoded filter strictly, checks all of it, and copies its bits.
    pub fn decode(bytes: &[u8]) -> Result<CompactFilter, DecodeError> {
        let (compact, range) = Compact::decode(bytes, Check::All)?;
        let view = CompactFilter { compact, bits: &bytes[range] };
        view.try_clone().map_err(|_| DecodeError::Memory { bytes: view.bits.len() as u64 })
    }

    /// Reads an encoded filter strictly and uses the bytes in place. The bits are not compared with
    /// checksums.
    pub fn view(bytes: &[u8]) -> Result<CompactFilter<&[u8]>, DecodeError> {
        let (compact, range) = Compact::decode(bytes, Check::Header)?;
        Ok(CompactFilter { compact, bits: &bytes[range] })
    }

    /// As [`view`](CompactFilter::view), over any owner of the bytes: a mapping, `Bytes`, an `Arc<[u8]>`, a
    /// `Vec<u8>`.
    pub fn over<S: AsRef<[u8]>>(storage: S) -> Result<CompactFilter<Part<S>>, DecodeError> {
        let (compact, range) = Compact::decode(storage.as_ref(), Check::Header)?;
        Ok(CompactFilter { compact, bits: Part::new(storage, range) })
    }
}

impl<S> CompactFilter<S> {
    /// The filter of a file whose sections have been read, over the storage of its bits.
    #[doc(hidden)]
    pub fn of_file(decoded: &Decoded, file: &[u8], bits: S) -> Result<Self, DecodeError> {
        let (head, shape) = format::decode(decoded, file)?;
        Ok(CompactFilter { compact: Compact::from_parts(shape, head), bits })
    }

    #[doc(hidden)]
    pub fn head(&self) -> &Head {
        &self.compact.head
    }

    #[doc(hidden)]
    pub fn head_mut(&mut self) -> &mut Head {
        &mut self.compact.head
    }

    /// The memory that holds the bits.
    #[doc(hidden)]
    pub fn storage(&self) -> &S {
        &self.bits
    }

    /// The same filter over other memory with the same bits.
    #[doc(hidden)]
    pub fn map<T>(self, bits: impl FnOnce(S) -> T) -> CompactFilter<T> {
        CompactFilter { compact: self.compact, bits: bits(self.bits) }
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.compact.head.set_label(label);
    }

    /// Whether to store the secret of a keyed filter in its file, which then needs the same protection as the
    /// secret. Off by default. A filter hashed with a seed has no secret.
    pub fn store_secret(&mut self, store: bool) {
        self.compact.head.store_secret = store;
    }

    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.compact.head.key_type
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.compact.head.set_key_type(key_type);
    }
}

impl<S: AsRef<[u8]>> CompactFilter<S> {
    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    #[inline(always)]
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.compact.test(self.bits.as_ref(), key.hash_with(&self.compact.hasher))
    }

    /// As [`may_contain`](CompactFilter::may_contain), for a precomputed hash. Of a filter with another seed
    /// or secret the answer is "maybe".
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        hash.by(&self.compact.hasher).map_or(true, |hash| self.compact.test(self.bits.as_ref(), hash))
    }

    /// Whether the key of a hash by this filter's own hasher may be present.
    #[doc(hidden)]
    #[inline(always)]
    pub fn may_contain_raw(&self, hash: u64) -> bool {
        self.compact.test(self.bits.as_ref(), hash)
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    #[inline(always)]
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &self.compact.hasher)
    }

    /// Looks up many keys, in any of the forms of [`Keys`]: one answer for each. Faster than single lookups.
    ///
    /// # Errors
    /// If the keys do not fit the filter: numbers where text is [recorded](Self::key_type), or hashes with
    /// another seed. A null key is answered "no".
    pub fn may_contain_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<Vec<bool>, KeysError> {
        let mut answers = vec![false; keys.count()];
        self.may_contain_batch_into(keys, &mut answers)?;
        Ok(answers)
    }

    /// As [`may_contain_batch`](Self::may_contain_batch), into bools or a bitmap of the caller's.
    ///
    /// # Errors
    /// Also if the number of places in `answers` is not the number of keys; see [`Answers`].
    pub fn may_contain_batch_into<'a, K: Keys<Hasher> + ?Sized>(
        &self,
        keys: &K,
        answers: impl Into<Answers<'a>>,
    ) -> Result<(), KeysError> {
        look_up(keys, &self.compact.hasher, self.key_type(), answers.into(), |answers| {
            self.compact.test_batch(self.bits.as_ref(), keys, answers);
        })
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys<Hasher> + ?Sized>(&self, keys: &K) -> Result<u64, KeysError> {
        let mut words = vec![0u64; keys.count().div_ceil(64)];
        self.may_contain_batch_into(keys, &mut words)?;
        Ok(words.iter().map(|word| u64::from(word.count_ones())).sum())
    }

    /// Prefetches the memory that the lookup of this hash reads.
    pub fn prefetch(&self, hash: KeyHash) {
        self.compact.prefetch(self.bits.as_ref(), hash.to_raw());
    }

    /// The number of different keys: exact.
    pub fn keys(&self) -> u64 {
        self.compact.head.keys
    }

    /// The expected rate of the filter. Reads the whole array.
    pub fn expected_fpr(&self) -> f64 {
        self.compact.fpr_of(self.bits.as_ref())
    }

    /// [`count_ones`](Self::count_ones) and [`expected_fpr`](Self::expected_fpr), in one pass over the array.
    #[doc(hidden)]
    pub fn occupancy(&self) -> (u64, f64) {
        self.compact.occupancy(self.bits.as_ref())
    }

    /// The planned rate.
    pub fn planned_fpr(&self) -> f64 {
        self.compact.planned_fpr()
    }

    /// Number of set bits. Reads the whole array.
    pub fn count_ones(&self) -> u64 {
        bits::count_ones(self.bits.as_ref(), self.geometry().bit_len)
    }

    /// The array.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The length of the array, the bits of a line, and the columns that a present key is compared in.
    pub fn geometry(&self) -> Geometry {
        self.compact.geometry()
    }

    /// The composition of the filter.
    pub fn facts(&self) -> CompactFacts {
        let shape = &self.compact.shape;
        let further = |layer: &Layer| shape.further_words(layer, layer.lines) * 8;
        CompactFacts {
            columns: 8 / shape.words as u32 + shape.further,
            layers: shape.layers.iter().map(|layer| layer.lines).collect(),
            further_bytes: shape.layers.iter().map(further).sum(),
            listed: shape.listed,
        }
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.compact.head.label
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.compact.head.hashing
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.compact.head.store_secret
    }

    /// Whether it is keyed and its secret is unknown: it answers "maybe" to every key until it is
    /// [unlocked](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.compact.head.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.compact.unlock(secret)
    }

    /// The filter with exceptions: `good` keys are answered "no" unless they are members. `members` must be
    /// all keys of the filter.
    pub fn with_exceptions<G, M>(self, good: &G, members: &M) -> Result<Self, ExceptError>
    where
        G: Keys<Hasher> + ?Sized,
        M: Keys<Hasher> + ?Sized,
    {
        self.excepting(good, members)
    }

    /// The same bits without the exceptions: known-good keys that are false positives are reported present.
    pub fn without_exceptions(&self) -> CompactFilter<&[u8]> {
        CompactFilter { compact: self.compact.clone().with_exceptions(None), bits: self.bits.as_ref() }
    }

    /// The composition of the exceptions; `None` when there are none.
    pub fn exceptions(&self) -> Option<ExceptionFacts> {
        ExceptionFacts::of(&self.compact.head)
    }

    /// The same filter over the same bits, borrowed.
    pub fn as_view(&self) -> CompactFilter<&[u8]> {
        CompactFilter { compact: self.compact.clone(), bits: self.bits.as_ref() }
    }

    /// A copy that owns its bits. Fails when there is not enough memory.
    pub fn try_clone(&self) -> Result<CompactFilter, SizeError> {
        Ok(CompactFilter { compact: self.compact.clone(), bits: Owned::copied(self.bits.as_ref())? })
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
        self.compact.encoder(self.bits.as_ref()).write_to(out)
    }

    /// Length of the encoded filter in bytes.
    pub fn encoded_len(&self) -> u64 {
        self.compact.encoder(&[]).encoded_len()
    }
}

impl<S: AsRef<[u8]>> CompactFilter<Part<S>> {
    /// Reads the whole storage again and checks every byte against its checksums.
    pub fn verify(&self) -> Result<(), DecodeError> {
        Compact::decode(self.bits.storage().as_ref(), Check::All).map(|_| ())
    }
}

#[doc(hidden)]
impl<S: AsRef<[u8]>> Except for CompactFilter<S> {
    fn head(&self) -> &Head {
        &self.compact.head
    }

    fn hasher(&self) -> &Hasher {
        &self.compact.hasher
    }

    fn keys(&self) -> u64 {
        self.compact.head.keys
    }

    fn test_hashes(&self, hashes: &[u64], found: &mut [u64]) {
        self.compact.test_batch(self.bits.as_ref(), &Hashes::new(hashes, &self.compact.hasher), found.into());
    }

    fn with(self, exceptions: Exceptions) -> Self {
        CompactFilter { compact: self.compact.with_exceptions(Some(exceptions)), bits: self.bits }
    }
}
