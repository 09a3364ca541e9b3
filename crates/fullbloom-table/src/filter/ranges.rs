//! How LevelDB's filters divide a table: one filter for every 2 KiB of the file.
//!
//! LevelDB has no filter of the whole table. The keys of a data block are in the filter of the 2 KiB in which
//! the block begins, so that most filters hold a few dozen keys, and their rate is not that of one large
//! filter. The data blocks are before the filters in the file: other filters do not move them.

use super::build::BASE_LG;
use crate::error::{Problem, TableError};
use crate::index::DataBlocks;
use crate::reader::Table;
use crate::role::Role;
use crate::source::Source;
use fullbloom::SizeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::LevelDb;
use std::collections::BTreeMap;

/// The filters that LevelDB makes for some tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilterRanges {
    /// How many filters hold this many entries.
    pub filters: BTreeMap<u64, u64>,
    /// Offsets that are stored: one for each 2 KiB, also where there is no filter.
    pub offsets: u64,
    /// The number of tables that were read.
    pub tables: u64,
    /// The keys of some of the filters, spread evenly over the tables. LevelDB's hash does not spread keys
    /// that resemble each other evenly, so the rate is found with the keys themselves.
    pub samples: Vec<Vec<Vec<u8>>>,
}

/// More samples than twice this many are thinned out.
const SAMPLES: usize = 512;

/// Drops every second sample while there are too many; returns how often.
fn thin(samples: &mut Vec<Vec<Vec<u8>>>) -> u32 {
    let mut times = 0;
    while samples.len() > 2 * SAMPLES {
        let mut is_kept = false;
        samples.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        times += 1;
    }
    times
}

impl FilterRanges {
    /// Bytes that are stored besides the filters: offsets of four bytes, for each table also that of the
    /// offsets themselves, and the size of the ranges in one byte.
    pub fn overhead(&self) -> u64 {
        4 * self.offsets + 5 * self.tables
    }

    /// The rate to expect of filters with this many bits per key: the filters of the samples are built and
    /// looked up. A lookup meets a filter as often as the filter has keys: absent keys are taken to lie
    /// between the present ones.
    pub fn expected_fpr(&self, bits_per_key: f64) -> Result<f64, SizeError> {
        let asked = LOOKUPS / self.samples.len().max(1) as u32 + 1;
        let (mut passed, mut all, mut hash) = (0.0, 0.0, 0u32);
        for keys in &self.samples {
            let mut filter = Filter::<LevelDb>::with_bits_per_key(keys.len() as u64, bits_per_key)?;
            for key in keys {
                filter.insert(key);
            }
            let mut next = || {
                hash = hash.wrapping_add(0x9e37_79b9); // other hashes for each filter
                hash
            };
            let hits = (0..asked).filter(|_| filter.may_contain_raw(next())).count();
            passed += hits as f64 / f64::from(asked) * keys.len() as f64;
            all += keys.len() as f64;
        }
        Ok(if all > 0.0 { passed / all } else { 0.0 })
    }

    /// Adds the filters of other tables.
    pub fn add(&mut self, other: &FilterRanges) {
        for (entries, filters) in &other.filters {
            *self.filters.entry(*entries).or_default() += filters;
        }
        self.offsets += other.offsets;
        self.tables += other.tables;
        self.samples.extend_from_slice(&other.samples);
        thin(&mut self.samples);
    }
}

/// Hashes looked up in all samples together: a rate of 0.1 % is found to 2 % of itself.
const LOOKUPS: u32 = 1 << 21;

/// Bytes of the compression type and the checksum after each block.
const TRAILER: u64 = 5;

impl<S: Source> Table<S> {
    /// The filters that LevelDB makes for this table. Reads all data blocks.
    pub fn filter_ranges(&self) -> Result<FilterRanges, TableError> {
        self.count_ranges().map_err(|problem| self.error(problem))
    }

    fn count_ranges(&self) -> Result<FilterRanges, Problem> {
        let mut ranges = FilterRanges { tables: 1, ..FilterRanges::default() };
        let (mut blocks, mut pending) = (DataBlocks::new(self)?, Pending { every: 1, ..Pending::default() });
        while let Some(handle) = blocks.step()? {
            let mut entries = self.block(handle, Role::Data)?.into_entries();
            while entries.advance()? {
                pending.entries += 1;
                if pending.is_sampled() {
                    pending.keys.push(self.filter_key_of(entries.key()).to_vec());
                }
            }
            let end = handle.offset.saturating_add(handle.size).saturating_add(TRAILER);
            while end >> BASE_LG > ranges.offsets {
                pending.close(&mut ranges);
            }
        }
        if pending.entries > 0 {
            pending.close(&mut ranges);
        }
        Ok(ranges)
    }
}

/// The filter that is being filled.
#[derive(Default)]
struct Pending {
    entries: u64,
    /// Its keys, if it is one of the samples.
    keys: Vec<Vec<u8>>,
    /// Filters before it that hold keys.
    number: u64,
    /// One filter in this many is sampled.
    every: u64,
}

impl Pending {
    fn is_sampled(&self) -> bool {
        self.number.is_multiple_of(self.every)
    }

    fn close(&mut self, ranges: &mut FilterRanges) {
        ranges.offsets += 1;
        if self.entries == 0 {
            return;
        }
        *ranges.filters.entry(self.entries).or_default() += 1;
        if self.is_sampled() {
            ranges.samples.push(std::mem::take(&mut self.keys));
            self.every <<= thin(&mut ranges.samples);
        }
        self.entries = 0;
        self.number += 1;
    }
}
