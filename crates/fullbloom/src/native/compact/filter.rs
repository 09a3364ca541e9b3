//! Methods that only compact filters have.

use super::dialect::Compact;
use crate::bits::Owned;
use crate::filter::Filter;
use crate::native::hashing::Hashing;
#[cfg(feature = "std")]
use crate::{error::SizeError, keys::Keys, native::hashing::Hasher};

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
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
pub type CompactFilter<S = Owned> = Filter<Compact, S>;

#[cfg(feature = "std")]
impl CompactFilter {
    /// The filter of these keys with this rate, from 2^-64 to 0.5, with the default hash, on one thread. A
    /// [`CompactBuilder`](super::CompactBuilder) has more choices.
    pub fn build<K: Keys<Hasher> + Sync + ?Sized>(keys: &K, fpr: f64) -> Result<CompactFilter, SizeError> {
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

    /// The seed or secret of its hash.
    pub fn hashing(&self) -> &Hashing {
        &self.dialect.head.hashing
    }

    /// The planned rate.
    pub fn planned_fpr(&self) -> f64 {
        use crate::filter::Dialect as _;
        self.dialect.expected_fpr(self.keys() as f64)
    }
}
