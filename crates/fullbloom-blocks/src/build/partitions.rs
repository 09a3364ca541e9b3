//! Partitioned filters: where one partition ends and the next begins.

use super::entries::EntryBuilder;
use super::{FilterOptions, Finished, Partitioning, Rules};
use crate::block::IndexFormat;
use crate::block_builder::IndexBlockBuilder;
use crate::error::BlockError;
use crate::handle::Handle;
use crate::internal_key::FOOTER_LEN;
use alloc::vec::Vec;
use fullbloom::SizeError;

/// A finished partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its key in the top-level index, with an 8-byte footer: not less than any key in it, less than all
    /// after.
    pub key: Vec<u8>,
    /// The encoded filter of the partition.
    pub content: Vec<u8>,
    /// The number of entries in the filter.
    pub entries: u64,
}

/// A finished partitioned filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partitions {
    /// In the order of their keys. They must be written one directly after the other.
    pub partitions: Vec<Partition>,
}

impl Partitions {
    /// The top-level index, once it is known where each partition was written.
    ///
    /// `user_keys` leaves the footers out, and `delta_values` delta-codes the handles. A table's properties
    /// set both for its index and for this one.
    ///
    /// # Panics
    /// If there is not one handle for each partition.
    pub fn top_level(
        &self,
        handles: &[Handle],
        restart_interval: u32,
        user_keys: bool,
        delta_values: bool,
    ) -> Vec<u8> {
        assert_eq!(handles.len(), self.partitions.len(), "one handle for each partition");
        let format = IndexFormat { delta_values, first_keys: false };
        let mut index = IndexBlockBuilder::new(restart_interval, format);
        for (partition, handle) in self.partitions.iter().zip(handles) {
            let footer = if user_keys { FOOTER_LEN } else { 0 };
            index.add(&partition.key[..partition.key.len() - footer], *handle, &[]);
        }
        index.finish()
    }
}

/// Cuts the keys of a table into partitions.
#[derive(Debug)]
pub(super) struct PartitionedBuilder {
    entries: EntryBuilder,
    with_index: bool,
    asks_once: bool,
    keys_per_partition: u64,
    /// The separator given with the last cut of the index, until the cut is made.
    cut: Option<Vec<u8>>,
    last_key: Vec<u8>,
    /// The prefix of the last key, if it has one.
    last_prefix: Option<Vec<u8>>,
    any_key: bool,
    done: Partitions,
}

impl PartitionedBuilder {
    pub(super) fn new(options: &FilterOptions, partitioning: Partitioning) -> Result<Self, SizeError> {
        let entries = EntryBuilder::new(options, true)?;
        let mut keys_per_partition =
            keys_per_partition(&partitioning, |len| entries.policy().approximate_keys(len));
        // Room for the prefix of the next key.
        if options.rules == Rules::Since9_6 && options.holds.prefixes.is_some() && keys_per_partition > 1 {
            keys_per_partition -= 1;
        }
        Ok(PartitionedBuilder {
            entries,
            with_index: partitioning.with_index,
            asks_once: options.rules != Rules::Since9_6,
            keys_per_partition,
            cut: None,
            last_key: Vec::new(),
            last_prefix: None,
            any_key: false,
            done: Partitions::default(),
        })
    }

    pub(super) fn fix_lengths(&mut self, lengths: Vec<u64>) {
        self.entries.fix_lengths(lengths);
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries.entries()
    }

    /// The releases that counted calls compare for equality with the limit. Where the count grows by two, for
    /// a key and its prefix, it can skip the limit, and then the index alone decides.
    pub(super) fn wants_cut(&self) -> bool {
        let reached = match self.asks_once {
            true => self.entries.open_count() == self.keys_per_partition,
            false => self.is_full(),
        };
        self.with_index && reached
    }

    fn is_full(&self) -> bool {
        self.entries.open_count() >= self.keys_per_partition
    }

    pub(super) fn cut_before_next(&mut self, separator: &[u8]) {
        if self.with_index {
            self.cut = Some(separator.to_vec());
        }
    }

    pub(super) fn add(&mut self, key: &[u8], prefix: Option<&[u8]>) -> Result<(), BlockError> {
        if let Some(partition_key) = self.cut.take() {
            self.close(partition_key, Some(prefix))?;
        } else if !self.with_index && self.is_full() && self.any_key {
            let partition_key = self.last_key_with_footer();
            self.close(partition_key, Some(prefix))?;
        }
        self.entries.add(key, prefix);
        self.any_key = true;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        match (&mut self.last_prefix, prefix) {
            (Some(last), Some(prefix)) => {
                last.clear();
                last.extend_from_slice(prefix);
            }
            (last, prefix) => *last = prefix.map(<[u8]>::to_vec),
        }
        Ok(())
    }

    /// Sequence number and type zero: after every version of the key.
    fn last_key_with_footer(&self) -> Vec<u8> {
        let mut key = self.last_key.clone();
        key.extend_from_slice(&[0; FOOTER_LEN]);
        key
    }

    /// Closes the open partition; `next` is the prefix of the key after it, unless it is the last.
    fn close(&mut self, partition_key: Vec<u8>, next: Option<Option<&[u8]>>) -> Result<(), BlockError> {
        if let Some(next_prefix) = next.flatten() {
            self.entries.add_next_prefix(next_prefix);
        }
        let entries = self.entries.open_entries();
        let content = self.entries.finish()?;
        self.done.partitions.push(Partition { key: partition_key, content, entries });
        if let (Some(_), Some(last_prefix)) = (next, &self.last_prefix) {
            self.entries.add_last_prefix(last_prefix);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Finished, BlockError> {
        let partition_key = self.cut.take().unwrap_or_else(|| self.last_key_with_footer());
        if self.any_key {
            self.close(partition_key, None)?;
        }
        if self.entries.entries() == 0 {
            return Ok(Finished::None);
        }
        Ok(Finished::Partitions(self.done))
    }
}

/// RocksDB's rule: as many keys as fit into the target, or, where none does, into the next size that takes
/// one.
fn keys_per_partition(partitioning: &Partitioning, approximate_keys: impl Fn(u64) -> u64) -> u64 {
    let share = u64::from(100u32.saturating_sub(partitioning.deviation));
    let target = partitioning.target.saturating_mul(share).div_ceil(100).max(1);
    let keys = approximate_keys(target);
    if keys > 0 {
        return keys;
    }
    let mut larger = target.saturating_add(4).max(16);
    while larger < 100_000 {
        match approximate_keys(larger) {
            0 => larger += larger / 4,
            keys => return keys,
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbloom_dialects::rocksdb::{FilterType, Policy};

    #[test]
    fn a_partition_takes_what_fits_and_at_least_one_key() {
        let policy = Policy::new(FilterType::FastLocal, 10.0).unwrap();
        let keys = |target, deviation| {
            let partitioning = Partitioning { target, deviation, with_index: false };
            keys_per_partition(&partitioning, |len| policy.approximate_keys(len))
        };
        assert_eq!(keys(4096, 10), policy.approximate_keys(3687));
        assert_eq!(keys(160, 10), policy.approximate_keys(144));
        assert_eq!(keys(160, 200), keys(1, 0), "a deviation past 100 is 100");
        assert!(keys(1, 10) >= 1);
    }
}
