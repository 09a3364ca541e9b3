//! The plan for a request in each dialect.

use super::build::policy;
use super::dispatch::AtRunTime;
use fullbloom::sizing::Sizing;
use fullbloom_core::error::SizeError;
use fullbloom_core::sizing::{Geometry, Request, Target};
use fullbloom_dialects::filter::{Dialect, Format, Size, Weakness};
use fullbloom_dialects::rocksdb::{FilterType, Full, Policy};
use fullbloom_dialects::{Name, RocksDb, RocksDbLegacy, with_dialect};

/// The filter that a request leads to in one dialect.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The dialect.
    pub dialect: Name,
    /// The shape given by the dialect's sizing rule.
    pub geometry: Geometry,
    /// Length of the encoded filter in bytes.
    pub encoded_len: u64,
    /// The expected rate with the expected number of keys, by the dialect's model.
    pub expected_fpr: f64,
    /// A known case in which the format misses the rate it promises.
    pub weakness: Option<Weakness>,
}

fn of_native(request: &Request) -> Result<Plan, SizeError> {
    Sizing::new(request).map(|sizing| Plan::from(&sizing))
}

impl From<&Sizing> for Plan {
    fn from(sizing: &Sizing) -> Plan {
        Plan {
            dialect: Name::Native,
            geometry: sizing.geometry(),
            encoded_len: sizing.encoded_len(),
            expected_fpr: sizing.expected_fpr,
            weakness: None,
        }
    }
}

/// The plan for this request, without allocating the filter.
pub fn plan(dialect: Name, request: &Request) -> Result<Plan, SizeError> {
    with_dialect!(dialect, D => D::plan(request), native => of_native(request))
}

/// The length of the encoded filter of a request.
fn planned_len(dialect: Name, request: &Request) -> Result<u64, SizeError> {
    with_dialect!(dialect, D => D::planned_len(request), native => Ok(of_native(request)?.encoded_len))
}

pub(super) fn sized<D: Size + Format>(request: &Request) -> Result<Plan, SizeError> {
    let sized = D::size(request)?;
    Ok(Plan {
        dialect: D::NAME,
        geometry: sized.geometry(),
        encoded_len: sized.encoded_len(),
        expected_fpr: sized.fpr_with(request.expected_keys as f64),
        weakness: sized.weakness(),
    })
}

/// The same for RocksDB's full filters.
pub(super) fn full<D: Full>(request: &Request) -> Result<Plan, SizeError> {
    let keys = request.expected_keys;
    match (request.target, D::KIND) {
        (Target::Exact { .. }, FilterType::Legacy) => return sized::<RocksDbLegacy>(request),
        (Target::Exact { .. }, FilterType::FastLocal) => return sized::<RocksDb>(request),
        _ => {}
    }
    let policy = policy(D::KIND, keys, request.target)?;
    Ok(Plan {
        dialect: D::NAME,
        geometry: policy.geometry(keys),
        encoded_len: content_len(&policy, keys),
        expected_fpr: policy.fpr_with(keys),
        weakness: None,
    })
}

/// RocksDB stores zero bytes for zero keys.
pub(super) fn content_len(policy: &Policy, keys: u64) -> u64 {
    if keys == 0 { 0 } else { policy.content_len(keys) }
}

/// More bits per key than this bring no measurable gain, however much memory there is.
const MOST_BITS_PER_KEY: u32 = 100;

/// The largest filter for `expected_keys` keys whose encoded form fits in `bytes`, up to 100 bits per key; a
/// smaller one if that has a lower rate.
///
/// Tries whole bits per key first, then thousandths, where the dialect supports them.
///
/// ```
/// use fullbloom_dialects::Name;
///
/// let plan = fullbloom_any::plan_within(Name::LevelDb, 1_000_000, 1_300_000)?;
/// assert_eq!((plan.geometry.bit_len, plan.encoded_len), (10_000_000, 1_250_001));
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
pub fn plan_within(dialect: Name, expected_keys: u64, bytes: u64) -> Result<Plan, SizeError> {
    let target = target_within(dialect, expected_keys, bytes)?;
    plan(dialect, &Request { expected_keys, target })
}

/// The bits per key of the best filter for `expected_keys` keys whose encoded form fits in `bytes`: what
/// [`plan_within`] plans, to be built.
pub fn target_within(dialect: Name, expected_keys: u64, bytes: u64) -> Result<Target, SizeError> {
    if dialect == Name::Native {
        return Sizing::bits_within(expected_keys, bytes).map(|(_, bits)| Target::BitsPerKey(bits));
    }
    let request = |thousandths: u32| {
        let target = Target::BitsPerKey(f64::from(thousandths) / 1000.0);
        Request { expected_keys, target }
    };
    let fits = |thousandths: u32| match planned_len(dialect, &request(thousandths)) {
        Ok(len) if len > bytes => Err(SizeError::OverBudget { bytes }),
        other => other.map(|_| thousandths),
    };
    let mut refusal = SizeError::OverBudget { bytes };
    let mut whole = MOST_BITS_PER_KEY * 1000;
    while whole > 0 {
        match fits(whole) {
            Ok(_) => break,
            Err(e) => refusal = e,
        }
        whole -= 1000;
    }
    let finer_parts = if whole < MOST_BITS_PER_KEY * 1000 { 1..1000 } else { 0..0 };
    let finer = finer_parts.rev().find_map(|part| fits(whole + part).ok());
    match finer.or((whole > 0).then_some(whole)) {
        Some(most) if with_dialect!(dialect, D => D::RATE_NOT_MONOTONIC, native => false) => {
            best_up_to(dialect, most, request)
        }
        Some(thousandths) => Ok(request(thousandths).target),
        None => Err(refusal),
    }
}

/// The target with the lowest rate among those with at most this many thousandths of a bit per key.
fn best_up_to(dialect: Name, most: u32, request: impl Fn(u32) -> Request) -> Result<Target, SizeError> {
    let mut best = (plan(dialect, &request(most))?, most);
    // The fewest bits per key that give the same length: the real figure, where the filter could not grow
    // further.
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        match planned_len(dialect, &request(middle)) {
            Ok(len) if len >= best.0.encoded_len => high = middle,
            _ => low = middle + 1,
        }
    }
    for thousandths in (1..=most / 1000).map(|bits| bits * 1000).chain([low]) {
        match plan(dialect, &request(thousandths)) {
            Ok(plan) if plan.expected_fpr < best.0.expected_fpr => best = (plan, thousandths),
            _ => {}
        }
    }
    Ok(request(best.1).target)
}
