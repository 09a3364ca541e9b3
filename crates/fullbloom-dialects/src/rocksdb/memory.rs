//! `optimize_filters_for_memory`: lengths that fit the allocator, rates that are right on average.
//!
//! RocksDB asks the allocator for the usable size and lets the filter use it. That makes some filters better
//! than requested; in return, a running balance of rates lets later ones be smaller. So the length is not a
//! function of the keys. Given the length, the bytes are.

use super::sizing::{FilterType, MAX_FAST_LOCAL, Policy, Space};
use super::{TRAILER, fast_local, ribbon};
use core::sync::atomic::{AtomicI64, Ordering};
use fullbloom_core::error::{Quantity, SizeError};

/// The balance of rates of one policy, in units of 2^-32: negative when its filters were better than
/// requested.
#[derive(Debug, Default)]
pub struct MemoryBalance(AtomicI64);

impl MemoryBalance {
    /// A balance of this many units; a new policy has 0.
    pub fn new(units: i64) -> MemoryBalance {
        MemoryBalance(AtomicI64::new(units))
    }

    /// The number of units, which may be negative.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that the table's own block trailer takes after the filter in the cache.
const BLOCK_TRAILER: u64 = 5;

/// How the length of a filter is decided.
pub(crate) enum Length<'a> {
    /// The policy's rule.
    ByRule,
    /// Given by the caller: exactly this, trailer included.
    Exact(u64),
    /// By the allocator and the balance. The function returns the usable size of an allocation.
    Balanced { balance: &'a MemoryBalance, usable: &'a dyn Fn(u64) -> u64 },
}

impl Length<'_> {
    /// Whether the number of probes follows the length.
    pub(crate) fn is_free(&self) -> bool {
        !matches!(self, Length::ByRule)
    }

    /// Bytes of data for this many keys; `space` is the length by the policy's rule.
    pub(crate) fn choose(&self, policy: &Policy, keys: u64, space: Space) -> Result<u64, SizeError> {
        let target = space.content_len(policy.line_len);
        let (kind, granule) = match space {
            Space::Legacy { .. } => (FilterType::Legacy, u64::from(policy.line_len)),
            Space::FastLocal { .. } => (FilterType::FastLocal, fast_local::BLOCK),
            Space::Ribbon { .. } => (FilterType::Ribbon, ribbon::solution::SEGMENT),
        };
        let chosen = match *self {
            Length::ByRule => target,
            // RocksDB has no such option for the legacy filter.
            Length::Balanced { .. } if kind == FilterType::Legacy => target,
            Length::Exact(len) => {
                let data_len = len.saturating_sub(TRAILER as u64);
                let whole = data_len != 0 && data_len.is_multiple_of(granule) && len <= u32::MAX.into();
                if !whole || kind == FilterType::Legacy && len != target {
                    let allowed =
                        "5 bytes and whole blocks (64), segments (16) or the legacy rule's lines, below 2^32";
                    return Err(SizeError::Count { what: Quantity::ContentLen, got: len, allowed });
                }
                len
            }
            Length::Balanced { balance, usable } => {
                balanced(&Policy { filter_type: kind, ..*policy }, keys, target, granule, balance, usable)
            }
        };
        Ok(chosen - TRAILER as u64)
    }
}

fn balanced(
    policy: &Policy,
    keys: u64,
    target: u64,
    granule: u64,
    balance: &MemoryBalance,
    usable: &dyn Fn(u64) -> u64,
) -> u64 {
    let rate = |len| policy.estimated_fpr_with(keys, len, true);
    let most =
        if policy.filter_type == FilterType::FastLocal { MAX_FAST_LOCAL } else { u64::from(u32::MAX) - 5 };
    let rounded_down = |data_len: u64| data_len.min(most) / granule * granule + TRAILER as u64;
    let target_rate = rate(target);
    let mut len = target;
    let units = balance.get();
    if units < 0 {
        let allowed = -(units as f64) / UNITS + target_rate;
        let data_len = target - TRAILER as u64;
        let sixteenths = [12, 13, 14, 15].map(|n| rounded_down(data_len * n / 16));
        len = sixteenths.into_iter().find(|&smaller| rate(smaller) <= allowed).unwrap_or(target);
    }
    let request = len + BLOCK_TRAILER;
    let given = usable(request);
    // More than a third of excess is not worth the bytes on disk.
    if given > request && given - given / 4 <= request {
        len = rounded_down(given - BLOCK_TRAILER - TRAILER as u64);
    }
    balance.0.fetch_add(((rate(len) - target_rate) * UNITS) as i64, Ordering::Relaxed);
    len
}

const UNITS: f64 = 4294967296.0;
