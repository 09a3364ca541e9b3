//! The numbers of slots and bytes of a Ribbon filter, by RocksDB's fitted table.
//!
//! Slots are the unknowns of the linear system; slightly more slots than keys make it solvable. The table
//! gives, for powers of two of slots, the number of keys at which one attempt in twenty fails.

use super::solution::Layout;
use crate::rocksdb::TRAILER;
#[cfg(not(feature = "std"))]
use fullbloom_core::sizing::math::Float as _;

/// Slots of a block: one bit per slot in a segment.
pub(crate) const BLOCK: u32 = 128;

/// Above this many keys RocksDB builds FastLocalBloom, so that slots fit in 32 bits.
pub(crate) const MAX_KEYS: u64 = 950_000_000;

/// Below this many slots FastLocalBloom may be smaller.
pub(crate) const SMALL: u32 = 1024;

/// Keys that fit into 2^8, 2^9, … 2^17 slots.
const CAPACITY: [f64; 10] =
    [248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126506.0];
const FIRST: u32 = 8;
const LAST: u32 = 17;

/// log2(e) with the digits RocksDB writes, which decide a slot at some sizes.
#[expect(clippy::approx_constant, reason = "it is approximate there")]
const LOG2_E: f64 = 1.4426950409;

/// Beyond the table, slots per key grow by this much each time the slots double.
const FACTOR_PER_DOUBLING: f64 = 0.0038;

/// Slots per key at 2^0, extrapolated so that the line passes through the end of the table.
fn base_factor() -> f64 {
    f64::from(1 << LAST) / CAPACITY[CAPACITY.len() - 1] - f64::from(LAST) * FACTOR_PER_DOUBLING
}

/// Keys for 2^`log2` slots; 0 below the table.
fn capacity(log2: u32) -> f64 {
    if log2 < FIRST {
        return 0.0;
    }
    let in_table = CAPACITY.get((log2 - FIRST) as usize).copied();
    in_table
        .unwrap_or_else(|| 2f64.powi(log2 as i32) / (base_factor() + f64::from(log2) * FACTOR_PER_DOUBLING))
}

/// Slots for this many keys (at least one, at most [`MAX_KEYS`]), in whole blocks, at least two.
fn slots_for(keys: u64) -> u32 {
    let n = keys as f64;
    let mut log2 = (n.ln() * LOG2_E + 0.5) as u32;
    let mut lower = capacity(log2);
    if lower == 0.0 {
        return round_up(256);
    }
    let upper;
    if n < lower {
        upper = lower;
        log2 -= 1;
        lower = capacity(log2);
    } else {
        upper = capacity(log2 + 1);
    }
    let slots = 2f64.powi(log2 as i32);
    round_up(((n - lower) / (upper - lower) * slots + slots + 0.999999999) as u32)
}

/// Keys that this many slots are meant for.
pub(crate) fn keys_for(slots: u32) -> u64 {
    if slots == 0 {
        return 0;
    }
    let n = f64::from(slots);
    let log2 = n.ln() * LOG2_E;
    let floor = log2 as u32;
    if floor < LAST {
        let (lower, upper) = (capacity(floor), capacity(floor + 1));
        let portion = n / 2f64.powi(floor as i32) - 1.0;
        return (lower + portion * (upper - lower)) as u64;
    }
    (n / (base_factor() + log2 * FACTOR_PER_DOUBLING)) as u64
}

/// Whole blocks, and at least two: a key's window may reach into the next block.
fn round_up(slots: u32) -> u32 {
    slots.checked_next_multiple_of(BLOCK).unwrap_or(u32::MAX / BLOCK * BLOCK).max(2 * BLOCK)
}

/// As [`round_up`], downwards; a single block becomes zero.
fn round_down(slots: u32) -> u32 {
    let whole = slots / BLOCK * BLOCK;
    if whole == BLOCK { 0 } else { whole }
}

/// Slots and bytes of data for this many keys at a rate of one in `one_in`; `None` where Ribbon is not used.
///
/// The rate lies between two powers of one half, so some blocks store one column less than the others. Their
/// number is rounded by `bias`, so that over many filters the average rate is the requested one.
pub(crate) fn space(keys: u64, one_in: f64, bias: u32) -> Option<(u32, u64)> {
    if keys == 0 || keys > MAX_KEYS {
        return None;
    }
    let slots = slots_for(keys);
    Some((slots, data_len(slots, one_in, bias)))
}

/// `one_in` is above 1: policies spend at least one bit per key, where FastLocalBloom's rate is 0.63.
fn data_len(slots: u32, one_in: f64, bias: u32) -> u64 {
    if one_in > f64::from(u32::MAX) {
        return u64::from(slots) * 4; // 32 columns, the maximum
    }
    let lower_columns = (one_in as u32).ilog2();
    let lower_rate = 0.5f64.powi(lower_columns as i32);
    let upper_rate = 0.5f64.powi(lower_columns as i32 + 1);
    let lower_portion = (1.0 / one_in - upper_rate) / (lower_rate - upper_rate);
    let starts = f64::from(slots - BLOCK + 1);
    let rounding = (f64::from(bias) + 0.5) / 4294967296.0;
    let upper_start_block = ((lower_portion * starts + rounding) / f64::from(BLOCK)) as u64;
    let blocks = u64::from(slots / BLOCK);
    16 * (blocks * u64::from(lower_columns) + blocks - upper_start_block)
}

/// Slots and keys for a filter of at most this length, trailer included.
pub(crate) fn approximate_keys(content_len: u64, one_in: f64) -> (u32, u64) {
    let len = content_len.saturating_sub(TRAILER as u64) & !15;
    let columns = if one_in > f64::from(u32::MAX) {
        32.0
    } else {
        let upper = 1 + (one_in as u32).ilog2() as i32;
        let upper_rate = 0.5f64.powi(upper);
        f64::from(upper) - (1.0 / one_in - upper_rate) / upper_rate
    };
    let mut slots = round_up((len as f64 * 8.0 / columns) as u32);
    for _ in 0..2 {
        if slots == 0 || data_len(slots, one_in, 0) <= len {
            break;
        }
        slots = round_down(slots - 1);
    }
    let keys = keys_for(slots);
    (slots, if slots < SMALL { keys } else { keys.min(MAX_KEYS) })
}

/// The maximum number of columns of a block.
pub(crate) fn columns(slots: u32, data_len: u64) -> u32 {
    Layout::new(slots / BLOCK, data_len).upper_columns()
}

/// The rate of a filter of this many keys in this many bytes of data.
pub(crate) fn fpr_with(keys: u64, data_len: u64) -> f64 {
    Layout::new(slots_for(keys) / BLOCK, data_len).expected_fpr()
}
