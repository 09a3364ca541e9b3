//! Methods that only compact filters have.

use super::dialect::Compact;
use super::shape::{Columns, Shape};
use crate::bits::Owned;
use crate::error::{DecodeError, SizeError};
use crate::filter::{Dialect, Filter, Format};
use crate::native::dialect::Head;
use crate::native::hashing::{Hashing, Secret};
use crate::native::key_type::recorded;
use crate::typed::KeyType;
#[cfg(feature = "std")]
use {super::error::BuildError, crate::keys::Keys, crate::native::hashing::Hasher};

/// A native filter of kind `compact`: built once from all its keys, then only looked up.
///
/// ```
/// use fullbloom::native::CompactFilter;
///
/// let keys: Vec<String> = (0..100_000).map(|i| format!("key-{i}")).collect();
/// let filter = CompactFilter::build(&keys, 1.0 / 256.0)?;
/// assert!(filter.may_contain(b"key-17"));   // never a false negative
/// assert_eq!(filter.keys(), 100_000);       // exactly, whatever was repeated
/// assert!(filter.bits().len() * 8 < 848_000); // 8.5 bits per key; a Bloom filter needs 12
/// # Ok::<(), fullbloom::error::BuildError>(())
/// ```
pub type CompactFilter<S = Owned> = Filter<Compact, S>;

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

impl CompactFilter {
    /// The size of a filter of this many different keys with this rate.
    pub fn plan(keys: u64, fpr: f64) -> Result<CompactPlan, SizeError> {
        let shape = Shape::planned(Columns::for_fpr(fpr)?, keys)?;
        let dialect = Compact::from_parts(shape, Head { keys, ..Head::new(Hashing::default(), keys) });
        Ok(CompactPlan {
            bit_len: dialect.geometry().bit_len,
            encoded_len: dialect.encoded_len(),
            expected_fpr: dialect.fpr_with(keys as f64),
        })
    }
}

#[cfg(feature = "std")]
impl CompactFilter {
    /// The filter of these keys with this rate, from 2^-64 to 0.5, with the default hash, on one thread. A
    /// [`CompactBuilder`](super::CompactBuilder) has more choices.
    pub fn build<K: Keys<Hasher> + Sync + ?Sized>(keys: &K, fpr: f64) -> Result<CompactFilter, BuildError> {
        let mut builder = super::CompactBuilder::new(fpr)?.expected_keys(keys.count() as u64);
        builder.insert_batch(keys)?;
        builder.finish()
    }
}

impl<S: AsRef<[u8]>> CompactFilter<S> {
    /// The number of different keys: exact.
    pub fn keys(&self) -> u64 {
        self.dialect.head.keys
    }

    /// The label: a text set by the owner and stored with the filter.
    pub fn label(&self) -> &str {
        &self.dialect.head.label
    }

    /// Whether the secret of a keyed filter is, or will be, stored in its file.
    pub fn stores_secret(&self) -> bool {
        self.dialect.head.store_secret
    }

    /// Whether it is keyed and its secret is unknown: it answers "maybe" to every key until it is
    /// [unlocked](Self::unlock).
    pub fn is_locked(&self) -> bool {
        self.dialect.locked.is_some()
    }

    /// Gives a keyed filter its secret, so that it can answer. Fails when it is the secret of another filter.
    pub fn unlock(mut self, secret: &Secret) -> Result<Self, DecodeError> {
        self.dialect.unlock(secret)?;
        Ok(self)
    }

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.dialect.head.hashing
    }

    /// The planned rate.
    pub fn planned_fpr(&self) -> f64 {
        self.dialect.fpr_with(self.keys() as f64)
    }
}

impl<S> CompactFilter<S> {
    /// Sets the label of the filter, which is stored in the file. At most 65,535 bytes are kept.
    pub fn set_label(&mut self, label: &str) {
        self.dialect.head.set_label(label);
    }

    /// Whether to store the secret of a keyed filter in its file, which then needs the same protection as the
    /// secret. Off by default. A filter hashed with a seed has no secret.
    pub fn store_secret(&mut self, store: bool) {
        self.dialect.head.store_secret = store;
    }

    /// The recorded type of its keys; `None` if it is not recorded.
    pub fn key_type(&self) -> Option<KeyType> {
        self.dialect.head.key_type
    }

    /// Records the type of its keys in its file. Types that native filters do not have are not recorded.
    pub fn set_key_type(&mut self, key_type: Option<KeyType>) {
        self.dialect.head.key_type = key_type.and_then(recorded);
    }
}
