//! The filter: keys in, answers out.

use super::hashing::{Hasher, Hashing};
use super::keys::Keys;
use super::pipeline::Answers;
use super::plan::Plan;
use super::shape::Shape;
use crate::bits::{self, Owned};
use crate::error::{MergeError, SizeError};
use crate::kernel::lines::Line;
use crate::sizing::{self, Geometry, Layout, Request, Target};

/// A native filter whose bits live in `S`: [`Owned`] memory, borrowed bytes, a mapped file.
///
/// ```
/// use fullbloom::native::NativeFilter;
///
/// let mut filter = NativeFilter::with_fpr(1_000, 0.01)?;
/// assert!(filter.insert(b"alice"));       // new
/// assert!(!filter.insert(b"alice"));      // known
/// assert!(filter.may_contain(b"alice"));  // never a false no
/// assert_eq!(filter.keys(), 1);
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct NativeFilter<S = Owned> {
    pub(super) shape: Shape,
    pub(super) hasher: Hasher,
    pub(super) head: Head,
    pub(super) bits: S,
}

/// What a filter knows about itself besides its bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) hashing: Hashing,
    pub(super) expected_keys: u64,
    pub(super) keys: u64,
    /// `keys` is not a count of insertions but an estimate, after a union or an intersection.
    pub(super) estimated: bool,
    pub(super) store_secret: bool,
    pub(super) label: String,
}

impl Head {
    /// Of an empty filter.
    pub(super) fn new(hashing: Hashing, expected_keys: u64) -> Head {
        Head { hashing, expected_keys, keys: 0, estimated: false, store_secret: false, label: String::new() }
    }
}

impl NativeFilter {
    /// An empty filter for `expected_keys` keys at the rate `fpr`.
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        Self::new(&Request { expected_keys, target: Target::Fpr(fpr) })
    }

    /// An empty filter that spends this many bits on each of `expected_keys` keys.
    pub fn with_bits_per_key(expected_keys: u64, bits_per_key: f64) -> Result<Self, SizeError> {
        Self::new(&Request { expected_keys, target: Target::BitsPerKey(bits_per_key) })
    }

    /// An empty filter for this request, hashing with seed 0.
    pub fn new(request: &Request) -> Result<Self, SizeError> {
        Self::from_plan(&Plan::new(request)?, Hashing::default())
    }

    /// An empty filter of this plan.
    pub fn from_plan(plan: &Plan, hashing: Hashing) -> Result<Self, SizeError> {
        let shape = Shape::new(plan.layout, plan.blocks);
        let bits = Owned::zeroed(shape.byte_len())?;
        let head = Head::new(hashing, plan.expected_keys);
        Ok(NativeFilter { shape, hasher: Hasher::new(&head.hashing), head, bits })
    }
}

impl<S: AsRef<[u8]>> NativeFilter<S> {
    /// The array as lines. `bits` is as long as the shape says, which every constructor has seen to.
    #[inline(always)]
    pub(super) fn lines(&self) -> &[Line] {
        self.bits.as_ref().as_chunks().0
    }

    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate.
    #[inline(always)]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.may_contain_hash(self.hash(key))
    }

    /// As [`may_contain`](Self::may_contain), for a hash made before.
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: u64) -> bool {
        self.shape.test(self.lines(), hash)
    }

    /// The hash of a key, to be asked of several filters with the same seed or secret.
    ///
    /// Hashes of another origin do as well, if all 64 bits of them are as good as random; numbers that merely
    /// differ do not.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash(key)
    }

    /// Answers many keys, a `bool` each.
    ///
    /// # Panics
    /// If `answers` is not as long as there are keys.
    pub fn may_contain_batch<K: Keys + ?Sized>(&self, keys: &K, answers: &mut [bool]) {
        assert_eq!(keys.count(), answers.len(), "one answer for each key");
        self.shape.test_batch(self.lines(), keys, &self.hasher, |start, group| {
            self.shape.bools(group, &mut answers[start..]);
        });
    }

    /// Answers many keys, a bit each: bit `i % 64` of word `i / 64` is the answer for key `i`. Bits after the last
    /// key are clear.
    ///
    /// # Panics
    /// If `answers` has not one word for every 64 keys, the last group's included.
    pub fn may_contain_bitmap<K: Keys + ?Sized>(&self, keys: &K, answers: &mut [u64]) {
        assert_eq!(keys.count().div_ceil(64), answers.len(), "one word for every 64 keys");
        self.shape
            .test_batch(self.lines(), keys, &self.hasher, |start, group| answers[start / 64] = group.bits);
    }

    /// How many of these keys may be present.
    pub fn count_batch<K: Keys + ?Sized>(&self, keys: &K) -> u64 {
        let mut count = 0;
        self.shape.test_batch(self.lines(), keys, &self.hasher, |_, group| {
            count += u64::from(group.bits.count_ones());
        });
        count
    }

    /// The shape of the filter.
    pub fn geometry(&self) -> Geometry {
        self.shape.geometry()
    }

    /// How a key's bits are laid out.
    pub fn layout(&self) -> Layout {
        self.shape.layout
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.shape.blocks
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.head.hashing
    }

    /// Whether the secret of a keyed filter is, or will be, in its file.
    pub fn stores_secret(&self) -> bool {
        self.head.store_secret
    }

    /// The keys it was made for; 0 when that is not known.
    pub fn expected_keys(&self) -> u64 {
        self.head.expected_keys
    }

    /// How many insertions changed a bit. Keys whose bits were all set already, known ones and false positives,
    /// do not count. After a union or an intersection it is an estimate; see [`keys_are_estimated`](Self::keys_are_estimated).
    pub fn keys(&self) -> u64 {
        self.head.keys
    }

    /// Whether [`keys`](Self::keys) is an estimate.
    pub fn keys_are_estimated(&self) -> bool {
        self.head.estimated
    }

    /// Whether more keys are in than it was made for: the rate is then above the planned one, and grows.
    pub fn is_overfull(&self) -> bool {
        self.head.expected_keys > 0 && self.head.keys > self.head.expected_keys
    }

    /// A text of the owner's, kept with the filter.
    pub fn label(&self) -> &str {
        &self.head.label
    }

    /// The rate planned for: with the expected keys in.
    pub fn planned_fpr(&self) -> f64 {
        self.fpr_with(self.head.expected_keys)
    }

    /// The rate to expect with this many keys in.
    pub fn fpr_with(&self, keys: u64) -> f64 {
        let keys = keys as f64;
        sizing::combine(
            self.shape.layout.expected_fpr(keys, self.shape.blocks),
            sizing::collision_fpr(keys, 64),
        )
    }

    /// The rate of the filter as it is: the exact chance, over all hashes, that one is called present. Reads the
    /// whole array.
    pub fn expected_fpr(&self) -> f64 {
        self.shape.fpr_now(self.lines())
    }

    /// Number of set bits. Reads the whole array.
    pub fn set_bits(&self) -> u64 {
        bits::count_ones(self.bits.as_ref(), self.geometry().bit_len)
    }

    /// Share of bits set. Reads the whole array.
    pub fn fill(&self) -> f64 {
        self.set_bits() as f64 / self.geometry().bit_len as f64
    }

    /// How many distinct keys the set bits speak of; `None` when all are set. Reads the whole array.
    pub fn estimated_keys(&self) -> Option<f64> {
        let Geometry { bit_len, probes, .. } = self.geometry();
        sizing::estimated_keys(self.set_bits(), bit_len, probes)
    }

    /// The bit array, as in the file.
    pub fn bits(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// A copy that owns its bits.
    pub fn to_owned(&self) -> Result<NativeFilter, SizeError> {
        let mut bits = Owned::zeroed(self.shape.byte_len())?;
        bits.as_mut().copy_from_slice(self.bits.as_ref());
        Ok(NativeFilter { shape: self.shape, hasher: self.hasher.clone(), head: self.head.clone(), bits })
    }

    /// The filter with half as many blocks: each holds the keys of two. The same keys are found, at the rate of a
    /// filter of that size.
    ///
    /// Refused when the number of blocks is odd. Planned filters of 4096 blocks and more can be folded four times.
    pub fn folded(&self) -> Result<NativeFilter, SizeError> {
        if !self.shape.blocks.is_multiple_of(2) {
            let allowed = "an even number, to be folded";
            return Err(SizeError::Count { what: "blocks", got: self.shape.blocks, allowed });
        }
        let shape = Shape::new(self.shape.layout, self.shape.blocks / 2);
        let mut bits = Owned::zeroed(shape.byte_len())?;
        let block_len = self.geometry().block_len as usize / 8;
        let pairs = self.bits.as_ref().chunks_exact(2 * block_len);
        for (one, pair) in bits.as_mut().chunks_exact_mut(block_len).zip(pairs) {
            let (even, odd) = pair.split_at(block_len);
            one.copy_from_slice(even);
            bits::or_into(one, odd);
        }
        let head = Head { expected_keys: self.head.expected_keys.div_ceil(2), ..self.head.clone() };
        Ok(NativeFilter { shape, hasher: self.hasher.clone(), head, bits })
    }

    /// The filter folded as often as its keys allow: the smallest of its sizes whose rate, with the keys that are in, is at
    /// most `fpr`. For keys whose number is not known beforehand but bounded: build large, and shrink to the right size.
    ///
    /// A filter can be halved while its number of blocks is even; [`Plan::foldable`] makes sure of that.
    ///
    /// ```
    /// use fullbloom::native::{Column, Hashing, NativeFilter, Plan};
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// // A million keys at most; it turns out that there are 50,000.
    /// let request = Request { expected_keys: 1_000_000, target: Target::Fpr(0.01) };
    /// let mut filter = NativeFilter::from_plan(&Plan::new(&request)?.foldable(8)?, Hashing::default())?;
    /// let keys: Vec<u64> = (0..50_000).collect();
    /// filter.insert_batch(&Column(&keys));
    /// let small = filter.folded_to(0.01)?;
    /// assert_eq!(small.blocks(), filter.blocks() / 16);
    /// assert!(small.expected_fpr() <= 0.01 && small.count_batch(&Column(&keys)) == 50_000);
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    pub fn folded_to(&self, fpr: f64) -> Result<NativeFilter, SizeError> {
        let fits = |times: u32| {
            let layout = self.shape.layout.expected_fpr(self.head.keys as f64, self.shape.blocks >> times);
            sizing::combine(layout, sizing::collision_fpr(self.head.keys as f64, 64)) <= fpr
        };
        let most = self.shape.blocks.trailing_zeros();
        let times = (1..=most).take_while(|times| fits(*times)).last().unwrap_or(0);
        if times == 0 {
            return self.to_owned();
        }
        (1..times).try_fold(self.folded()?, |filter, _| filter.folded())
    }

    /// `Ok` when the other filter's bits mean the same keys as ours.
    pub(super) fn comparable<T: AsRef<[u8]>>(&self, other: &NativeFilter<T>) -> Result<(), MergeError> {
        let (ours, theirs) = (self.geometry(), other.geometry());
        MergeError::require_equal("bits", ours.bit_len, theirs.bit_len)?;
        MergeError::require_equal("bits in a block", ours.block_len, theirs.block_len)?;
        MergeError::require_equal("probes", ours.probes, theirs.probes)?;
        self.same_hash(other)
    }

    /// `Ok` when both hash keys alike.
    pub(super) fn same_hash<T>(&self, other: &NativeFilter<T>) -> Result<(), MergeError> {
        match (&self.head.hashing, &other.head.hashing) {
            (Hashing::Seed(ours), Hashing::Seed(theirs)) => {
                MergeError::require_equal("the seed", ours, theirs)
            }
            (Hashing::Secret(ours), Hashing::Secret(theirs)) if ours == theirs => Ok(()),
            (Hashing::Secret(_), Hashing::Secret(_)) => {
                MergeError::require_equal("the secret", "one", "another")
            }
            (Hashing::Seed(_), _) => MergeError::require_equal("the hash", "seeded", "keyed"),
            (Hashing::Secret(_), _) => MergeError::require_equal("the hash", "keyed", "seeded"),
        }
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> NativeFilter<S> {
    /// Adds a key; true if it was surely not there before.
    #[inline(always)]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// As [`insert`](Self::insert), for a hash made before.
    #[inline(always)]
    pub fn insert_hash(&mut self, hash: u64) -> bool {
        let new = self.shape.set(self.bits.as_mut().as_chunks_mut().0, hash);
        self.head.keys = self.head.keys.saturating_add(u64::from(new));
        new
    }

    /// Adds many keys; how many were new.
    pub fn insert_batch<K: Keys + ?Sized>(&mut self, keys: &K) -> u64 {
        self.insert_groups(keys, |_, _| {})
    }

    /// Adds many keys in order, and tells of each whether it was new: the second of two equal ones is not.
    ///
    /// # Panics
    /// If `new` is not as long as there are keys.
    pub fn insert_batch_new<K: Keys + ?Sized>(&mut self, keys: &K, new: &mut [bool]) -> u64 {
        assert_eq!(keys.count(), new.len(), "one answer for each key");
        let shape = self.shape;
        self.insert_groups(keys, |start, group| shape.bools(group, &mut new[start..]))
    }

    fn insert_groups<K: Keys + ?Sized>(&mut self, keys: &K, mut sink: impl FnMut(usize, Answers)) -> u64 {
        let mut count = 0;
        let lines = self.bits.as_mut().as_chunks_mut().0;
        self.shape.set_batch(lines, keys, &self.hasher, |start, group| {
            count += u64::from(group.bits.count_ones());
            sink(start, group);
        });
        self.head.keys = self.head.keys.saturating_add(count);
        count
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.bits.as_mut().fill(0);
        self.head.keys = 0;
        self.head.estimated = false;
    }

    /// Adds all keys of another filter of the same shape and hash.
    ///
    /// How many keys the two share cannot be known; [`keys`](Self::keys) becomes an estimate, unless one was empty.
    pub fn union<T: AsRef<[u8]>>(&mut self, other: &NativeFilter<T>) -> Result<(), MergeError> {
        self.comparable(other)?;
        let (ours, theirs) = (self.head.keys, other.head.keys);
        bits::or_into(self.bits.as_mut(), other.bits.as_ref());
        self.head.estimated |= other.head.estimated;
        self.head.keys = if ours == 0 || theirs == 0 {
            ours + theirs
        } else {
            self.head.estimated = true;
            let estimate = self.estimated_keys().map_or(u64::MAX, |keys| keys.round() as u64);
            estimate.clamp(ours.max(theirs), ours.saturating_add(theirs))
        };
        Ok(())
    }

    /// Keeps only what both filters may contain.
    ///
    /// Every key that is in both is still found. The rate is at most the lower of the two, but above that of a filter
    /// built from the common keys alone: bits that different keys set in each stay.
    pub fn intersect<T: AsRef<[u8]>>(&mut self, other: &NativeFilter<T>) -> Result<(), MergeError> {
        self.comparable(other)?;
        let most = self.head.keys.min(other.head.keys);
        bits::and_into(self.bits.as_mut(), other.bits.as_ref());
        let estimate = self.estimated_keys().map_or(u64::MAX, |keys| keys.round() as u64);
        self.head.keys = estimate.min(most);
        self.head.estimated = true;
        Ok(())
    }
}

impl<S> NativeFilter<S> {
    /// Puts a text of the owner's on the filter; it is kept in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        let end = (0..=label.len().min(MAX_LABEL)).rev().find(|&end| label.is_char_boundary(end));
        self.head.label = label[..end.unwrap_or(0)].to_owned();
    }

    /// Whether the secret of a keyed filter goes into its file, which then needs the same care as the secret. Off
    /// unless asked for; a filter hashed with a seed has none.
    pub fn store_secret(&mut self, store: bool) {
        self.head.store_secret = store;
    }
}

/// Longest label in bytes.
pub(super) const MAX_LABEL: usize = 65_535;

impl<K: AsRef<[u8]>, S: AsRef<[u8]> + AsMut<[u8]>> Extend<K> for NativeFilter<S> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key.as_ref());
        }
    }
}

/// A filter of just these keys, at a rate of 1 %.
///
/// # Panics
/// If the memory cannot be had; size a filter yourself where that matters.
impl<K: AsRef<[u8]>> FromIterator<K> for NativeFilter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let hasher = Hasher::new(&Hashing::default());
        let hashes: Vec<u64> = keys.into_iter().map(|key| hasher.hash(key.as_ref())).collect();
        let mut filter = NativeFilter::with_fpr(hashes.len() as u64, 0.01).expect("memory for the filter");
        filter.insert_batch(&super::Hashes(&hashes));
        filter
    }
}
