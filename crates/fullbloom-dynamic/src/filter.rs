//! The dynamic filter: one key at a time.

use super::expiry::Clock;
use super::flat::Flat;
use super::options::{DynamicOptions, Mode};
use super::shards::Shards;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::fmt;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, InsertError, SizeError};
use fullbloom_core::kernel::lines::Inlined;
use fullbloom_core::kernel::scalar::Scalar;
use fullbloom_core::kernel::{Cpu, Task};
use fullbloom_core::keys::Key;
use fullbloom_core::native::hashing::{Hasher, Hashing, KeyHash, Secret};
use fullbloom_core::native::head::Head;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;
use fullbloom_core::typed::KeyType;

/// A filter that grows with its keys, and, depending on its [`Mode`], supports
/// deletion or expiry.
///
/// For numbers of keys that are not known, or that change. For a known number of keys that stay, a
/// [`Filter`](fullbloom::Filter) is two to four times as fast for lookups in batches, and two to nine
/// times for inserts.
///
/// ```
/// use fullbloom_dynamic::keys::Column;
/// use fullbloom_dynamic::DynamicFilter;
///
/// let mut filter = DynamicFilter::with_fpr(1_000, 0.001)?; // memory for a thousand keys to begin with
/// let keys: Vec<u64> = (0..1_000).collect();
/// filter.insert_batch(&Column(&keys))?;
/// assert_eq!(filter.count_batch(&Column(&keys))?, 1_000); // never a false negative
/// assert!(filter.expected_fpr() <= 0.001);                // with the expected keys, and stated with more
/// assert!(filter.insert(b"alice")?);                      // true: surely new
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It grows in small parts: an insertion is never delayed by more than the time for one shard, about 200,000
/// keys.
#[derive(Debug)]
pub struct DynamicFilter<S = Owned> {
    /// `keys` and `estimated` are not used: the number is always known.
    pub(crate) head: Head,
    pub(crate) hasher: Hasher,
    pub(crate) plan: Plan,
    /// Of a filter with expiry.
    pub(crate) clock: Option<Box<Clock>>,
    /// Fingerprints that were inserted more than three times, and how often; of a counting filter.
    pub(crate) counts: BTreeMap<u64, u64>,
    /// Insertions minus removals; of a counting filter.
    pub(crate) copies: u64,
    pub(crate) store: Store<S>,
    /// Counts insertions, so that now and then the expired keys of a shard are dropped.
    pub(crate) sweep_next: usize,
}

/// What does not change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// Bits of a fingerprint.
    pub(crate) bits: u32,
    /// Bits of a tag.
    pub(crate) tag: u32,
    pub(crate) mode: Mode,
    pub(crate) fpr: f64,
    pub(crate) up_to: u64,
}

/// The fingerprints: in memory, or in a file that was not changed yet.
#[derive(Debug)]
pub(crate) enum Store<S> {
    Shards(Box<Shards>),
    Flat(Box<Flat<S>>),
}

/// The tag of fingerprints whose count is in the table.
pub(crate) const MANY: u64 = 3;

/// Why keys cannot be removed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RemoveError {
    /// The filter does not count its keys, so none can be removed.
    NotDeletable,
    /// The filter or the keys do not allow a change: those for which an insertion fails, too.
    Change(InsertError),
}

impl From<InsertError> for RemoveError {
    fn from(cause: InsertError) -> RemoveError {
        RemoveError::Change(cause)
    }
}

impl From<SizeError> for RemoveError {
    fn from(cause: SizeError) -> RemoveError {
        RemoveError::Change(cause.into())
    }
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoveError::NotDeletable => {
                f.write_str("the filter does not support deletion: it does not count its keys")
            }
            RemoveError::Change(cause) => cause.fmt(f),
        }
    }
}

impl core::error::Error for RemoveError {}

/// Runs a task on lines of fingerprints, compiled for this CPU.
#[inline(always)]
pub(crate) fn run<O, T: Task<Scalar, Output = O> + Task<Inlined, Output = O>>(task: T) -> O {
    Cpu::in_use().run_narrow(task)
}

impl DynamicFilter {
    /// An empty set for this many keys at this rate. It grows beyond that number, and its rate then rises in
    /// proportion; see [`DynamicOptions::up_to`].
    pub fn with_fpr(expected_keys: u64, fpr: f64) -> Result<Self, SizeError> {
        Self::new(DynamicOptions::new(expected_keys, fpr))
    }

    /// An empty filter with these properties.
    pub fn new(options: DynamicOptions) -> Result<Self, SizeError> {
        let (bits, tag) = (options.bits()?, options.mode.tag_bits());
        let DynamicOptions { expected_keys, fpr, up_to, mode, hashing } = options;
        let plan = Plan { bits, tag, mode, fpr, up_to };
        let store = Store::Shards(Box::new(Shards::new(bits, tag, expected_keys)?));
        Ok(Self::from_parts(plan, Head::new(hashing, expected_keys), store))
    }
}

impl<S> DynamicFilter<S> {
    pub(crate) fn from_parts(plan: Plan, head: Head, store: Store<S>) -> Self {
        DynamicFilter {
            hasher: Hasher::new(&head.hashing),
            head,
            plan,
            clock: match plan.mode {
                Mode::Expiring(expiry) => Some(Box::new(Clock::new(expiry, 0, 0))),
                _ => None,
            },
            counts: BTreeMap::new(),
            copies: 0,
            store,
            sweep_next: 0,
        }
    }

    /// The same filter over other memory.
    #[doc(hidden)]
    pub fn map<T>(self, bytes: impl FnOnce(S) -> T) -> DynamicFilter<T> {
        let store = match self.store {
            Store::Shards(shards) => Store::Shards(shards),
            Store::Flat(flat) => Store::Flat(Box::new(flat.map(bytes))),
        };
        let DynamicFilter { head, hasher, plan, clock, counts, copies, sweep_next, .. } = self;
        DynamicFilter { head, hasher, plan, clock, counts, copies, store, sweep_next }
    }
}

impl<S: AsRef<[u8]>> DynamicFilter<S> {
    /// Whether the key may be present. "No" is certain; "yes" is wrong at the filter's rate. A locked filter
    /// answers "maybe" to every key.
    pub fn may_contain(&self, key: impl Key<Hasher>) -> bool {
        self.may_contain_raw(key.hash_with(&self.hasher))
    }

    /// As [`may_contain`](Self::may_contain), for a precomputed hash. Of a filter with another seed or secret
    /// the answer is "maybe".
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        hash.by(&self.hasher).map_or(true, |hash| self.may_contain_raw(hash))
    }

    /// Whether the key of a hash by this filter's own hasher may be present.
    #[doc(hidden)]
    pub fn may_contain_raw(&self, hash: u64) -> bool {
        self.head.locked.is_some() || self.tag_of(hash).is_some_and(|tag| self.is_live(tag))
    }

    /// How often the key was inserted and not removed, at most; 1 for keys that may be present in a filter
    /// that does not count.
    ///
    /// # Errors
    /// If the filter is [locked](Self::is_locked).
    pub fn count(&self, key: impl Key<Hasher>) -> Result<u64, InsertError> {
        self.count_hash(self.hash(key))
    }

    /// As [`count`](Self::count), for a precomputed hash.
    ///
    /// # Errors
    /// Also if the hash was made with another seed or secret.
    pub fn count_hash(&self, hash: KeyHash) -> Result<u64, InsertError> {
        self.require_unlocked()?;
        let hash = hash.by(&self.hasher)?;
        Ok(match self.tag_of(hash) {
            Some(tag) if self.is_live(tag) => self.count_of(tag, hash >> (64 - self.plan.bits)),
            _ => 0,
        })
    }

    /// A key hashed without the filter's secret would be lost.
    pub(crate) fn require_unlocked(&self) -> Result<(), InsertError> {
        if self.head.locked.is_some() { Err(InsertError::Locked) } else { Ok(()) }
    }

    /// The tag of the key, if its fingerprint is there, even if it has expired.
    fn tag_of(&self, hash: u64) -> Option<u64> {
        match &self.store {
            Store::Shards(shards) => shards.find(hash),
            Store::Flat(flat) => flat.find(hash),
        }
    }

    /// Whether a fingerprint with this tag counts.
    #[inline(always)]
    pub(crate) fn is_live(&self, tag: u64) -> bool {
        self.clock.as_ref().is_none_or(|clock| clock.is_live(tag))
    }

    /// The number of copies of a fingerprint with this tag.
    pub(crate) fn count_of(&self, tag: u64, fingerprint: u64) -> u64 {
        match self.plan.mode {
            Mode::Counting if tag == MANY => self.counts.get(&fingerprint).copied().unwrap_or(MANY + 1),
            Mode::Counting => tag + 1,
            _ => 1,
        }
    }

    /// The hash of a key, for lookups in several filters with the same seed or secret.
    pub fn hash(&self, key: impl Key<Hasher>) -> KeyHash {
        KeyHash::new(key, &self.hasher)
    }

    /// The number of keys: of a set, the insertions that returned true; of a counting filter, insertions
    /// minus removals; of a filter with expiry, the keys that have not expired. Exact.
    pub fn keys(&self) -> u64 {
        match (&self.clock, &self.plan.mode) {
            (Some(clock), _) => clock.keys(),
            (None, Mode::Counting) => self.copies,
            _ => self.distinct(),
        }
    }

    /// Fingerprints that count.
    #[doc(hidden)]
    pub fn distinct(&self) -> u64 {
        match (&self.clock, &self.store) {
            (Some(clock), _) => clock.keys(),
            (None, Store::Shards(shards)) => shards.keys(),
            (None, Store::Flat(_)) => self.head.keys,
        }
    }

    /// The number of keys it was made for; it had memory for them from the beginning.
    pub fn expected_keys(&self) -> u64 {
        self.head.expected_keys
    }

    /// The number of keys up to which it keeps the requested rate.
    pub fn up_to(&self) -> u64 {
        self.plan.up_to
    }

    /// Whether it holds more keys than it keeps its rate for. The rate is then above the planned one, and
    /// rises further.
    pub fn is_overfull(&self) -> bool {
        self.keys() > self.plan.up_to
    }

    /// The requested rate, kept up to [`up_to`](Self::up_to) keys.
    pub fn planned_fpr(&self) -> f64 {
        self.plan.fpr
    }

    /// The rate with the present keys, exactly.
    pub fn expected_fpr(&self) -> f64 {
        self.distinct() as f64 / self.fingerprint_count()
    }

    /// The expected rate with this many keys.
    pub fn fpr_with(&self, keys: u64) -> f64 {
        // Two keys with the same fingerprint count once: 1 - (1 - 1 / 2^bits)^keys.
        let mean = keys as f64 / self.fingerprint_count();
        -(-mean).exp_m1()
    }

    fn fingerprint_count(&self) -> f64 {
        (1u64 << self.plan.bits) as f64
    }

    /// Bits of a fingerprint: the first bits of the hash of a key.
    pub fn fingerprint_bits(&self) -> u32 {
        self.plan.bits
    }

    /// What it remembers of keys besides their fingerprints.
    pub fn mode(&self) -> Mode {
        self.plan.mode
    }

    /// Bytes of memory that the fingerprints occupy.
    pub fn memory(&self) -> u64 {
        self.array_len() + self.counts.len() as u64 * 32
    }

    /// Bytes of the array: in its file if it is read in place, otherwise in memory.
    #[doc(hidden)]
    pub fn array_len(&self) -> u64 {
        match &self.store {
            Store::Shards(shards) => shards.byte_len(),
            Store::Flat(flat) => flat.bytes.as_ref().len() as u64,
        }
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.head.hashing
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.head.store_secret
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.head.label
    }

    /// Whether it is keyed and its secret is unknown; see [`unlock`](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.head.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(&mut self, secret: &Secret) -> Result<(), DecodeError> {
        self.head.unlock(secret)?;
        self.hasher = Hasher::new(&self.head.hashing);
        Ok(())
    }

    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.head.set_label(label);
    }

    /// Whether the secret of a keyed filter goes into its file; see
    /// [`Filter::store_secret`](fullbloom::Filter::store_secret).
    pub fn store_secret(&mut self, store: bool) {
        self.head.store_secret = store;
    }

    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<DynamicFilter, SizeError> {
        let mut copy = DynamicFilter::from_parts(
            self.plan,
            self.head.clone(),
            Store::Shards(Box::new(self.copied_shards()?)),
        );
        copy.hasher = self.hasher.clone();
        copy.clock.clone_from(&self.clock);
        copy.counts.clone_from(&self.counts);
        copy.copies = self.copies;
        if let Some(clock) = &mut copy.clock {
            clock.rebase();
        }
        Ok(copy)
    }
}

impl<S> DynamicFilter<S> {
    #[doc(hidden)]
    pub fn head(&self) -> &Head {
        &self.head
    }

    #[doc(hidden)]
    pub fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.head.key_type
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.head.set_key_type(key_type);
    }

    /// The memory of the file it was read from, while it uses it.
    #[doc(hidden)]
    pub fn storage(&self) -> Option<&S> {
        match &self.store {
            Store::Flat(flat) => Some(&flat.bytes),
            Store::Shards(_) => None,
        }
    }
}
