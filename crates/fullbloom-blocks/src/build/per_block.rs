//! Per-block filter blocks: one filter for every 2 KiB of the file.

use super::{FilterOptions, Finished};
use crate::holds::Holds;
use crate::policy::Policy;
use alloc::vec::Vec;
use fullbloom::SizeError;
use fullbloom_dialects::Name;

/// Filters cover ranges of this many bytes, as a power of two.
pub const BASE_LG: u8 = 11;

#[derive(Debug)]
pub(super) struct PerBlockBuilder {
    policy: Policy,
    holds: Holds,
    /// Entries of the open filter, one after the other, and where each begins.
    pending: Vec<u8>,
    starts: Vec<usize>,
    /// The last prefix of the open filter: where it is in `pending`.
    last_prefix: Option<(usize, usize)>,
    filters: Vec<u8>,
    offsets: Vec<u32>,
    entries: u64,
}

fn refuse_prefixes(policy: Policy) -> Result<(), SizeError> {
    if policy.dialect() != Name::LevelDb {
        return Ok(());
    }
    let what = "holds whole keys; prefixes are RocksDB's";
    Err(SizeError::Unsupported { dialect: policy.dialect().as_str(), what })
}

impl PerBlockBuilder {
    pub(super) fn new(options: &FilterOptions) -> Result<PerBlockBuilder, SizeError> {
        let policy = options.policy;
        policy.per_block_filter::<&[u8]>(&[])?;
        if options.holds != Holds::default() {
            refuse_prefixes(policy)?;
        }
        Ok(PerBlockBuilder {
            policy,
            holds: options.holds.clone(),
            pending: Vec::new(),
            starts: Vec::new(),
            last_prefix: None,
            filters: Vec::new(),
            offsets: Vec::new(),
            entries: 0,
        })
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Makes filters until there is one for every range before the block: the first takes all pending
    /// entries, the others are empty.
    pub(super) fn start_block(&mut self, offset: u64) -> Result<(), SizeError> {
        let needed = offset >> BASE_LG;
        while needed > self.offsets.len() as u64 {
            self.close()?;
        }
        Ok(())
    }

    /// # Errors
    /// If there is a prefix, and the dialect is LevelDB's, whose filters have none.
    pub(super) fn add(&mut self, key: &[u8], prefix: Option<&[u8]>) -> Result<(), SizeError> {
        if let Some(prefix) = prefix {
            refuse_prefixes(self.policy)?;
            let last = self.last_prefix.map(|(start, end)| &self.pending[start..end]);
            if last != Some(prefix) {
                let start = self.pending.len();
                self.push(prefix);
                self.last_prefix = Some((start, self.pending.len()));
            }
        }
        if self.holds.whole_keys {
            self.push(key);
        }
        Ok(())
    }

    fn push(&mut self, entry: &[u8]) {
        self.starts.push(self.pending.len());
        self.pending.extend_from_slice(entry);
        self.entries += 1;
    }

    fn close(&mut self) -> Result<(), SizeError> {
        self.offsets.push(self.filters.len() as u32);
        if self.starts.is_empty() {
            return Ok(());
        }
        let ends = self.starts.iter().skip(1).copied().chain([self.pending.len()]);
        let entries: Vec<&[u8]> =
            self.starts.iter().zip(ends).map(|(&start, end)| &self.pending[start..end]).collect();
        let filter = self.policy.per_block_filter(&entries)?;
        const LIMIT: u64 = u32::MAX as u64;
        let len = (self.filters.len() + filter.len()) as u64;
        if len > LIMIT {
            return Err(SizeError::TooLarge { bit_len: len.saturating_mul(8), limit: LIMIT * 8 });
        }
        self.filters.extend_from_slice(&filter);
        self.pending.clear();
        self.starts.clear();
        self.last_prefix = None;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Finished, SizeError> {
        if !self.starts.is_empty() {
            self.close()?;
        }
        if self.entries == 0 && self.policy.dialect() != Name::LevelDb {
            return Ok(Finished::None);
        }
        let array = self.filters.len() as u32;
        let mut block = self.filters;
        for offset in self.offsets.iter().chain([&array]) {
            block.extend_from_slice(&offset.to_le_bytes());
        }
        block.push(BASE_LG);
        Ok(Finished::Block(block))
    }
}
