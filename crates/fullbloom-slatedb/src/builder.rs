//! From the entries of a table to its filter.

use crate::filter::{self, Prefix};
use crate::policy::Build;
use crate::targets::Targets;
use bytes::Bytes;
use fullbloom_compact::CompactFilter;
use slatedb::{Filter, FilterBuilder, RowEntry};
use std::sync::Arc;

/// Collects the keys of a table, which come in order.
pub(crate) struct Builder {
    build: Build,
    targets: Targets,
    keys: fullbloom::FilterBuilder,
    /// The extractor returned a length that is longer than the key: the filter would miss prefixes.
    broken_prefix: bool,
}

impl Builder {
    pub(crate) fn new(build: Build, targets: Targets) -> Self {
        let keys = match build {
            Build::Fast { bits_per_key } => fullbloom::FilterBuilder::with_bits_per_key(bits_per_key),
            Build::Compact { fpr } => fullbloom::FilterBuilder::with_fpr(fpr),
        };
        Builder { build, targets, keys, broken_prefix: false }
    }

    /// The filter of the keys; `None` when there is not enough memory.
    fn filter(&self) -> Option<Arc<dyn Filter>> {
        let targets = self.targets.clone();
        match self.build {
            Build::Fast { .. } => Some(filter::table(self.keys.build().ok()?, targets)),
            Build::Compact { fpr } => {
                let filter = CompactFilter::build(&self.keys.hashes(), fpr).ok()?;
                Some(filter::table(filter, targets))
            }
        }
    }
}

impl FilterBuilder for Builder {
    #[inline]
    fn add_entry(&mut self, entry: &RowEntry) {
        let prefix = match self.targets.stored_prefix(&entry.key).map(|length| entry.key.get(..length)) {
            Some(None) => {
                self.broken_prefix = true;
                return;
            }
            Some(Some(prefix)) => Some(Prefix(prefix)),
            None => None,
        };
        match prefix {
            prefix if self.targets.whole_key => self.keys.add_with_prefix(&entry.key, prefix),
            Some(prefix) => self.keys.add(prefix),
            None => {}
        }
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let filter = if self.broken_prefix { None } else { self.filter() };
        self.keys.clear();
        // Without a filter the table is read for every key.
        filter.unwrap_or_else(|| filter::unknown(Bytes::new(), self.targets.clone()))
    }
}
