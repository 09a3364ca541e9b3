//! Methods that only native filters have: facts, folding, secrets.

use super::builder::FilterBuilder;
use super::dialect::{Head, Native};
use super::hashing::{Hasher, Hashing, Secret};
use super::shape::Shape;
use super::sizing::Sizing;
use crate::bits::{self, Owned};
use crate::error::{DecodeError, SizeError};
use crate::filter::{Dialect, Filter};
use crate::keys::Key;
use crate::sizing::Layout;

/// A native filter of kind `fast`: insertion and lookup, single or in batches; merge, fold, save.
///
/// ```
/// use fullbloom::NativeFilter;
///
/// let mut filter = NativeFilter::with_fpr(1_000, 0.01)?;
/// assert!(filter.insert(b"alice"));       // new
/// assert!(!filter.insert(b"alice"));      // known
/// assert!(filter.may_contain(b"alice"));  // never a false negative
/// assert_eq!(filter.keys(), 1);
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
///
/// Inserting panics if the filter has exceptions or is locked; see [`takes_keys`](Filter::takes_keys).
pub type NativeFilter<S = Owned> = Filter<Native, S>;

impl NativeFilter {
    /// An empty filter of this size, hashing with this seed or secret.
    pub fn with_sizing(sizing: &Sizing, hashing: Hashing) -> Result<Self, SizeError> {
        Filter::from_dialect(Native::new(sizing, hashing))
    }
}

impl<S: AsRef<[u8]>> NativeFilter<S> {
    /// How a key's bits are laid out.
    pub fn layout(&self) -> Layout {
        self.dialect.shape.layout
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.dialect.shape.blocks
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.dialect.head.hashing
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.dialect.head.store_secret
    }

    /// The number of keys it was sized for; 0 when that is unknown.
    pub fn expected_keys(&self) -> u64 {
        self.dialect.head.expected_keys
    }

    /// The number of insertions that changed a bit. Keys whose bits were all set already (known keys, false
    /// positives) do not count. After a merge or an intersection this is an estimate; see
    /// [`keys_are_estimated`](Self::keys_are_estimated).
    pub fn keys(&self) -> u64 {
        self.dialect.head.keys
    }

    /// Whether [`keys`](Self::keys) is an estimate.
    pub fn keys_are_estimated(&self) -> bool {
        self.dialect.head.estimated
    }

    /// Whether it holds more keys than it was sized for. An estimated number counts only if it is over by
    /// more than three standard deviations. The rate is then above the planned one.
    pub fn is_overfull(&self) -> bool {
        self.dialect.head.is_overfull()
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.dialect.head.label
    }

    /// The planned rate: with the expected number of keys.
    pub fn planned_fpr(&self) -> f64 {
        self.fpr_with(self.expected_keys())
    }

    /// The expected rate with this many keys.
    pub fn fpr_with(&self, keys: u64) -> f64 {
        self.dialect.fpr_with(keys as f64)
    }

    /// Whether keys can be inserted: the filter has no [exceptions](Self::exceptions) and is not
    /// [locked](Self::is_locked). Inserting panics otherwise.
    pub fn takes_keys(&self) -> bool {
        self.dialect.takes_keys()
    }

    /// Whether it is keyed and its secret is unknown: it answers "maybe" to every key until it is
    /// [unlocked](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.dialect.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    ///
    /// ```
    /// use fullbloom::NativeFilter;
    /// use fullbloom::native::{Hashing, Secret, Sizing};
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// let secret = Secret::new(*b"from /dev/random");
    /// let sizing = Sizing::new(&Request { expected_keys: 100, target: Target::Fpr(0.01) })?;
    /// let mut filter = NativeFilter::with_sizing(&sizing, Hashing::Secret(secret.clone()))?;
    /// filter.insert(b"alice");
    /// let read = NativeFilter::decode(&filter.encode())?; // the file does not hold the secret
    /// assert!(read.is_locked() && read.may_contain(b"mallory"));
    /// assert!(!read.unlock(&secret)?.may_contain(b"mallory"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.dialect.unlock(secret)?;
        Ok(self)
    }

    /// The filter with half as many blocks; each holds the keys of two old blocks. The same keys are found,
    /// at the rate of a filter of that size.
    ///
    /// Fails when the number of blocks is odd. Planned filters of 4096 blocks and more can be folded four
    /// times.
    pub fn folded(&self) -> Result<NativeFilter, SizeError> {
        let Native { shape, head, .. } = &self.dialect;
        if !shape.blocks.is_multiple_of(2) || !self.takes_keys() {
            let allowed = "an even number, in a filter that takes keys";
            return Err(SizeError::Count { what: "blocks", got: shape.blocks, allowed });
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
        Ok(Filter { dialect: Native::from_parts(half, head), bits })
    }

    /// The filter folded as often as its keys allow: the smallest of its sizes whose rate, with its keys, is
    /// at most `fpr`. For keys whose number has an upper bound but is unknown: build large, then shrink to
    /// the right size.
    ///
    /// A filter can be halved while its number of blocks is even; [`Sizing::foldable`] makes sure of that.
    ///
    /// ```
    /// use fullbloom::NativeFilter;
    /// use fullbloom::keys::Column;
    /// use fullbloom::native::{Hashing, Sizing};
    /// use fullbloom::sizing::{Request, Target};
    ///
    /// // sized for a million keys; only 50,000 come
    /// let request = Request { expected_keys: 1_000_000, target: Target::Fpr(0.01) };
    /// let mut filter = NativeFilter::with_sizing(&Sizing::new(&request)?.foldable(8)?, Hashing::default())?;
    /// let keys: Vec<u64> = (0..50_000).collect();
    /// filter.insert_batch(&Column(&keys));
    /// let small = filter.folded_to(0.01)?;
    /// assert_eq!(small.blocks(), filter.blocks() / 16);
    /// assert!(small.expected_fpr() <= 0.01 && small.count_batch(&Column(&keys)) == 50_000);
    /// # Ok::<(), fullbloom::SizeError>(())
    /// ```
    pub fn folded_to(&self, fpr: f64) -> Result<NativeFilter, SizeError> {
        let fits = |times: u32| {
            let Native { shape, head, .. } = &self.dialect;
            let smaller = Shape::new(shape.layout, shape.blocks >> times);
            Native::from_parts(smaller, head.clone()).fpr_with(head.keys as f64) <= fpr
        };
        let most = self.blocks().trailing_zeros();
        let times = (1..=most).take_while(|times| fits(*times)).last().unwrap_or(0);
        if times == 0 {
            return self.try_clone();
        }
        (1..times).try_fold(self.folded()?, |filter, _| filter.folded())
    }
}

impl<S> NativeFilter<S> {
    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.dialect.head.set_label(label);
    }

    /// Whether to store the secret of a keyed filter in its file, which then needs the same protection as the
    /// secret. Off by default. A filter hashed with a seed has no secret.
    pub fn store_secret(&mut self, store: bool) {
        self.dialect.head.store_secret = store;
    }
}

/// Longest label in bytes.
pub(super) const MAX_LABEL: usize = 65_535;

/// A filter of exactly these keys, at a rate of 1 %.
///
/// # Panics
/// If there is not enough memory. Size the filter yourself where that matters.
impl<K: Key<Hasher>> FromIterator<K> for NativeFilter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut builder = FilterBuilder::with_fpr(0.01);
        builder.extend(keys);
        builder.build().expect("memory for the filter")
    }
}

/// Filters are equal if they have the same parameters and the same bits, wherever those are stored.
impl<S: AsRef<[u8]>, T: AsRef<[u8]>> PartialEq<NativeFilter<T>> for NativeFilter<S> {
    fn eq(&self, other: &NativeFilter<T>) -> bool {
        let (ours, theirs) = (&self.dialect, &other.dialect);
        ours.shape.layout == theirs.shape.layout
            && ours.shape.blocks == theirs.shape.blocks
            && ours.head == theirs.head
            && ours.locked == theirs.locked
            && ours.exceptions == theirs.exceptions
            && self.bits.as_ref() == other.bits.as_ref()
    }
}
