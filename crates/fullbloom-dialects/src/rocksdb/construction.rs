//! From collected hashes to a filter, and the check that it holds them.

use super::entries::Entries;
use super::memory::Length;
use super::reservation::Account;
use super::ribbon::banding::{self, Banding};
use super::ribbon::{sizing::BLOCK, solution};
use super::sizing::{Policy, Space, probes_by_length};
use super::{FullFilter, RocksDb, RocksDbLegacy, RocksDbRibbon};
use crate::filter::{Dialect, Filter, Format, Insert};
use core::fmt;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::SizeError;
use fullbloom_core::keys::Hashes as Hashed;

/// No filter could be built, or it must not be used.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// The size is invalid, or there is not enough memory.
    Size(SizeError),
    /// The hashes are not those that were added: memory or CPU failed while they were kept. RocksDB stores
    /// [`MATCHES_EVERYTHING`](super::MATCHES_EVERYTHING) instead of the filter.
    HashesChanged,
    /// The filter reports keys absent that are in it.
    KeysLost {
        /// The number of hashes it reports absent.
        missing: u64,
        /// The total number of hashes.
        of: u64,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Size(e) => e.fmt(f),
            BuildError::HashesChanged => f.write_str("the hashes changed while the filter was built"),
            BuildError::KeysLost { missing, of } => {
                write!(f, "the filter reports {missing} of the {of} hashes it was built from as absent")
            }
        }
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            BuildError::Size(e) => Some(e),
            _ => None,
        }
    }
}

impl From<SizeError> for BuildError {
    fn from(e: SizeError) -> BuildError {
        BuildError::Size(e)
    }
}

/// Hashes of either width: 32 bits for the legacy type, 64 for the others.
#[derive(Debug)]
pub(crate) enum Hashes {
    Narrow(Entries<u32>),
    Wide(Entries<u64>),
}

impl Hashes {
    /// Returns an error unless these bytes, as RocksDB would read them, match every hash.
    pub(crate) fn all_in(&self, content: &[u8]) -> Result<(), BuildError> {
        let (missing, of) = match (FullFilter::read(content), self) {
            (FullFilter::Everything, _) => return Ok(()),
            (FullFilter::Legacy(filter), Hashes::Narrow(entries)) => {
                (missing(&filter, entries), entries.len())
            }
            (FullFilter::FastLocal(filter), Hashes::Wide(entries)) => {
                (missing(&filter, entries), entries.len())
            }
            (FullFilter::Ribbon(filter), Hashes::Wide(entries)) => (missing(&filter, entries), entries.len()),
            // No filter, or a filter for the other width: no hash is in it.
            (_, Hashes::Narrow(entries)) => (entries.len(), entries.len()),
            (_, Hashes::Wide(entries)) => (entries.len(), entries.len()),
        };
        if missing == 0 { Ok(()) } else { Err(BuildError::KeysLost { missing, of }) }
    }
}

fn missing<D: Dialect>(filter: &Filter<D, &[u8]>, entries: &Entries<D::Hash>) -> u64
where
    D::Hash: PartialEq + Into<u64>,
{
    const BATCH: usize = 4096;
    let mut answers = [false; BATCH];
    let batches = entries.groups().flat_map(|group| group.chunks(BATCH));
    let denied = batches.map(|batch| {
        let answers = &mut answers[..batch.len()];
        filter.dialect.test_batch(
            filter.bits.as_ref(),
            &Hashed::new(batch, filter.dialect.hasher()),
            answers.into(),
        );
        answers.iter().filter(|&&yes| !yes).count() as u64
    });
    denied.sum()
}

/// The construction of one filter.
pub(crate) struct Construction<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) length: &'a Length<'a>,
    pub(crate) account: &'a mut Option<Account>,
    pub(crate) detects_corruption: bool,
}

impl Construction<'_> {
    pub(crate) fn build(mut self, hashes: &Hashes) -> Result<FullFilter, BuildError> {
        match hashes {
            Hashes::Narrow(entries) => {
                entries.complete()?;
                if entries.len() == 0 {
                    return Ok(FullFilter::Nothing);
                }
                self.legacy(entries).map(FullFilter::Legacy)
            }
            Hashes::Wide(entries) => {
                entries.complete()?;
                let Some(first) = entries.first() else { return Ok(FullFilter::Nothing) };
                let space = self.policy.space(entries.len(), (first >> 32) as u32);
                if let Space::Ribbon { slots, .. } = space
                    && let Some(filter) = self.ribbon(entries, first as u8, space, slots)?
                {
                    return Ok(FullFilter::Ribbon(filter));
                }
                self.fast_local(entries).map(FullFilter::FastLocal)
            }
        }
    }

    fn legacy(&self, entries: &Entries<u32>) -> Result<Filter<RocksDbLegacy>, BuildError> {
        let keys = entries.len();
        let data_len = self.length.choose(self.policy, keys, self.policy.space(keys, 0))?;
        let line_len = u64::from(self.policy.line_len);
        let lines = (data_len / line_len) as u32; // below 2^23, by the rule
        let dialect = RocksDbLegacy::with_lines(lines, line_len, self.policy.legacy_probes())?;
        filled(dialect, entries, self.detects_corruption)
    }

    fn fast_local(&mut self, entries: &Entries<u64>) -> Result<Filter<RocksDb>, BuildError> {
        let keys = entries.len();
        let space = Space::FastLocal { data_len: self.policy.fast_local_len(keys) };
        let data_len = self.length.choose(self.policy, keys, space)?;
        let by_length = self.length.is_free();
        let probes =
            if by_length { probes_by_length(keys, data_len) } else { self.policy.fast_local_probes() };
        let dialect = RocksDb::with_len(data_len, probes)?;
        let detects_corruption = self.detects_corruption;
        self.charged(dialect.encoded_len(), || filled(dialect, entries, detects_corruption))
    }

    /// Solved with the first seed that works, or `None` where RocksDB builds FastLocalBloom instead because
    /// the budget refused the rows or no seed works.
    fn ribbon(
        &mut self,
        entries: &Entries<u64>,
        first_seed: u8,
        space: Space,
        slots: u32,
    ) -> Result<Option<Filter<RocksDbRibbon>>, BuildError> {
        let rows = banding::memory(slots);
        let granted = self.account.as_mut().is_none_or(|account| account.charge(rows));
        let solved = if granted { self.solved(entries, first_seed, space, slots) } else { Ok(None) };
        if let Some(account) = self.account {
            account.release(rows);
        }
        solved
    }

    fn solved(
        &mut self,
        entries: &Entries<u64>,
        first_seed: u8,
        space: Space,
        slots: u32,
    ) -> Result<Option<Filter<RocksDbRibbon>>, BuildError> {
        let mut banding = Banding::new(slots)?;
        let Some(seed) = banding.find_seed(first_seed, || entries.groups()) else { return Ok(None) };
        check(entries, self.detects_corruption)?;
        let data_len = self.length.choose(self.policy, entries.len(), space)?;
        let dialect = RocksDbRibbon::new(slots / BLOCK, seed, data_len);
        self.charged(dialect.encoded_len(), || {
            let mut data = Owned::zeroed(data_len)?;
            solution::solve(dialect.layout(), &banding, data.as_mut());
            Ok(Some(with_data(dialect, data)))
        })
    }

    /// Charges the filter's bytes, and releases them if no filter results. A refusal is ignored.
    fn charged<T>(
        &mut self,
        bytes: u64,
        make: impl FnOnce() -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        if let Some(account) = self.account {
            account.charge(bytes);
        }
        let made = make();
        if let (Err(_), Some(account)) = (&made, &mut *self.account) {
            account.release(bytes);
        }
        made
    }
}

/// A Bloom filter of these hashes. Their blocks are prefetched (the dialect's batch).
///
/// Sorting the hashes by block first was tried for filters beyond the cache: with vector kernels it gains 6 %
/// at 256 MiB, loses as much at 512 MiB, and takes a buffer.
fn filled<D: Insert>(
    dialect: D,
    entries: &Entries<D::Hash>,
    detects_corruption: bool,
) -> Result<Filter<D>, BuildError>
where
    D::Hash: PartialEq + Into<u64>,
{
    let data = Owned::zeroed(dialect.byte_len())?;
    let mut filter = with_data(dialect, data);
    let Filter { dialect, bits } = &mut filter;
    let hasher = dialect.hasher().clone();
    entries.groups().for_each(|group| dialect.set_batch(bits.as_mut(), &Hashed::new(group, &hasher)));
    check(entries, detects_corruption)?;
    Ok(filter)
}

/// Compares the hashes with their checksum after use: this detects a flip before or during the use.
fn check<H: Copy + PartialEq + Into<u64>>(entries: &Entries<H>, detect: bool) -> Result<(), BuildError> {
    if detect && !entries.unchanged() { Err(BuildError::HashesChanged) } else { Ok(()) }
}

fn with_data<D: Dialect>(dialect: D, data: Owned) -> Filter<D> {
    Filter::from_parts(dialect, data).expect("the data was allocated for this dialect")
}
