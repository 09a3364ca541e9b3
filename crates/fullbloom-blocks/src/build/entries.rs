//! The entries that a key adds to a full filter or a partition.

use super::collector::Collector;
use super::{FilterOptions, Rules};
use crate::error::BlockError;
use crate::policy::FullPolicy;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use fullbloom::SizeError;

/// Hands keys and prefixes to the filter's own builder, by the rules of a release.
#[derive(Debug)]
pub(super) struct EntryBuilder {
    builder: Collector,
    policy: FullPolicy,
    whole_keys: bool,
    rules: Rules,
    partitioned: bool,
    by_text: ByText,
    /// Entries of finished partitions.
    finished: u64,
    /// Lengths of the next filters, if given.
    lengths: VecDeque<u64>,
}

/// What the releases up to 9.5 remember to recognise repeats: the keys themselves.
#[derive(Debug, Default)]
struct ByText {
    /// The last whole key inserted, unless the partition is new.
    whole: Option<Vec<u8>>,
    /// The last prefix inserted. Kept across a cut, because the next partition begins with it.
    prefix: Vec<u8>,
    /// `prefix` is in this partition.
    prefix_is_in: bool,
    /// The last key had a prefix.
    in_domain: bool,
    /// Calls to `insert` in this partition; these releases count them instead of entries.
    calls: u64,
}

impl EntryBuilder {
    pub(super) fn new(options: &FilterOptions, partitioned: bool) -> Result<EntryBuilder, SizeError> {
        let (builder, policy) = (Collector::new(options)?, options.policy.full()?);
        let (whole_keys, rules) = (options.holds.whole_keys, options.rules);
        Ok(EntryBuilder {
            builder,
            policy,
            whole_keys,
            rules,
            partitioned,
            by_text: ByText::default(),
            finished: 0,
            lengths: VecDeque::new(),
        })
    }

    pub(super) fn fix_lengths(&mut self, lengths: Vec<u64>) {
        self.lengths = lengths.into();
    }

    pub(super) fn policy(&self) -> &FullPolicy {
        &self.policy
    }

    /// Entries of all partitions.
    pub(super) fn entries(&self) -> u64 {
        self.finished + self.builder.entries()
    }

    /// Entries of the open partition.
    pub(super) fn open_entries(&self) -> u64 {
        self.builder.entries()
    }

    /// The count that decides where partitions end: entries in the open one, or calls in the releases that
    /// counted those.
    pub(super) fn open_count(&self) -> u64 {
        match self.rules {
            Rules::Since9_6 => self.builder.entries(),
            Rules::Of9_5 | Rules::UpTo9_4 => self.by_text.calls,
        }
    }

    pub(super) fn add(&mut self, key: &[u8], prefix: Option<&[u8]>) {
        if self.rules != Rules::Since9_6 {
            return self.add_by_text(key, prefix);
        }
        match prefix {
            prefix if self.whole_keys => self.builder.add_with_prefix(key, prefix),
            Some(prefix) => self.builder.add(prefix),
            None => {}
        }
    }

    fn insert(&mut self, entry: &[u8]) {
        self.by_text.calls += 1;
        self.builder.add(entry);
    }

    fn add_by_text(&mut self, key: &[u8], prefix: Option<&[u8]>) {
        // A new partition begins with the last prefix of the one before, for backward seeks. The old rule
        // runs in filters of prefixes alone too, where nothing was remembered: it inserts the empty prefix.
        let first = self.by_text.in_domain && !self.by_text.prefix_is_in;
        if first && (self.rules == Rules::UpTo9_4 || self.remembers_prefix()) {
            let last = core::mem::take(&mut self.by_text.prefix);
            self.insert(&last);
            self.by_text.prefix = last;
            self.by_text.prefix_is_in = true;
        }
        if self.whole_keys && (prefix.is_none() || self.by_text.whole.as_deref() != Some(key)) {
            self.insert(key);
            if prefix.is_some() {
                self.by_text.whole = Some(key.to_vec());
            }
        }
        self.by_text.in_domain = prefix.is_some();
        let Some(prefix) = prefix else { return };
        if !self.remembers_prefix() {
            self.insert(prefix);
        } else if !self.by_text.prefix_is_in || self.by_text.prefix != prefix {
            self.insert(prefix);
            self.by_text.prefix_is_in = true;
            self.by_text.prefix.clear();
            self.by_text.prefix.extend_from_slice(prefix);
        }
    }

    fn remembers_prefix(&self) -> bool {
        self.whole_keys || self.partitioned && self.rules == Rules::Of9_5
    }

    /// Before a partition is closed: the prefix of the key after it, for forward seeks that end here.
    pub(super) fn add_next_prefix(&mut self, prefix: &[u8]) {
        match self.rules {
            Rules::Since9_6 if self.whole_keys => self.builder.add_with_prefix(prefix, Some(prefix)),
            Rules::Since9_6 => self.builder.add(prefix),
            Rules::Of9_5 | Rules::UpTo9_4 if self.by_text.prefix != prefix => self.insert(prefix),
            Rules::Of9_5 | Rules::UpTo9_4 => {}
        }
    }

    /// In a new partition: the prefix of the key before it, for backward seeks that end here. The older
    /// releases do it with the next key.
    pub(super) fn add_last_prefix(&mut self, prefix: &[u8]) {
        if self.rules == Rules::Since9_6 {
            self.builder.add(prefix);
        }
    }

    /// The encoded filter of what was added since the last one.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, BlockError> {
        self.finished += self.builder.entries();
        let empty = self.builder.entries() == 0;
        let len = self.lengths.pop_front().filter(|_| !empty);
        let content = match self.rules {
            _ if !empty => self.builder.finish(len)?,
            Rules::Since9_6 => Vec::new(),
            Rules::Of9_5 | Rules::UpTo9_4 => self.builder.stub(),
        };
        self.by_text.whole = None;
        self.by_text.prefix_is_in = false;
        self.by_text.calls = 0;
        Ok(content)
    }
}
