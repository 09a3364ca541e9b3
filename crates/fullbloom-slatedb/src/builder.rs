//! From the entries of a table to its filter.

use crate::filter::{self, SEED, prefix_hash};
use crate::policy::Build;
use crate::targets::Targets;
use bytes::Bytes;

use fullbloom::keys::Hashes;
use fullbloom_compact::CompactFilter;
use fullbloom_core::hash::Fold64;
use slatedb::{Filter, FilterBuilder, RowEntry};
use std::sync::Arc;

/// Collects the hashes of a table's keys, which come in order.
pub(crate) struct Builder {
    build: Build,
    targets: Targets,
    hasher: Fold64,
    hashes: Vec<u64>,
    last_key: Option<u64>,
    /// A prefix of the last key that had one.
    last_prefix: Option<Bytes>,
    /// The extractor returned a length that is longer than the key: the filter would miss prefixes.
    broken_prefix: bool,
}

impl Builder {
    pub(crate) fn new(build: Build, targets: Targets) -> Self {
        let (hasher, hashes) = (Fold64::new(SEED), Vec::new());
        Builder { build, targets, hasher, hashes, last_key: None, last_prefix: None, broken_prefix: false }
    }

    fn add_prefix(&mut self, key: &Bytes, length: usize) {
        if length > key.len() {
            self.broken_prefix = true;
            return;
        }
        let prefix = &key[..length];
        if self.last_prefix.as_deref() != Some(prefix) {
            self.hashes.push(prefix_hash(self.hasher.hash(prefix)));
            self.last_prefix = Some(key.slice(..length));
        }
    }

    /// A key can have several entries, one for each version.
    #[inline]
    fn add_key(&mut self, key: &[u8]) {
        let hash = self.hasher.hash(key);
        if self.last_key != Some(hash) {
            self.hashes.push(hash);
            self.last_key = Some(hash);
        }
    }

    /// The filter of these hashes; `None` when there is not enough memory.
    fn filter(&self, hashes: &[u64]) -> Option<Arc<dyn Filter>> {
        let (expected_keys, targets) = (hashes.len() as u64, self.targets.clone());
        match self.build {
            Build::Fast { bits_per_key } => {
                let mut filter = fullbloom::Filter::with_bits_per_key(expected_keys, bits_per_key).ok()?;
                filter.insert_batch(&Hashes(hashes));
                Some(filter::fast(filter, targets))
            }
            Build::Compact { fpr } => {
                let filter = CompactFilter::build(&Hashes(hashes), fpr).ok()?;
                Some(filter::compact(filter, targets))
            }
        }
    }
}

impl FilterBuilder for Builder {
    #[inline]
    fn add_entry(&mut self, entry: &RowEntry) {
        if let Some(length) = self.targets.stored_prefix(&entry.key) {
            self.add_prefix(&entry.key, length);
        }
        if self.targets.whole_key {
            self.add_key(&entry.key);
        }
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let hashes = std::mem::take(&mut self.hashes);
        (self.last_key, self.last_prefix) = (None, None);
        let filter = if self.broken_prefix { None } else { self.filter(&hashes) };
        // Without a filter the table is read for every key.
        filter.unwrap_or_else(|| filter::unknown(Bytes::new(), self.targets.clone()))
    }
}
