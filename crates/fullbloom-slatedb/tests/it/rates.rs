//! Measured false-positive rates.

use crate::policies::{built, ours, point};
use fullbloom_slatedb::FullbloomPolicy;

const KEYS: u64 = 100_000;
const ABSENT: u64 = 1_000_000;

fn measured(policy: &FullbloomPolicy) -> f64 {
    let keys: Vec<_> = (0..KEYS).map(|key| format!("user:{key:08}")).collect();
    let filter = built(policy, &keys);
    let found =
        (KEYS..KEYS + ABSENT).filter(|key| point(&*filter, format!("user:{key:08}").as_bytes())).count();
    found as f64 / ABSENT as f64
}

#[test]
fn the_rate_of_both_kinds_is_below_one_percent() {
    for (name, policy) in ours() {
        let rate = measured(&policy);
        // Three standard deviations of the measurement.
        assert!(rate < 0.01 + 3.0 * (0.01 / ABSENT as f64).sqrt(), "{name}: {rate}");
        assert!(rate > 0.008, "{name}: {rate} is too good to be the filter of this size");
    }
}

#[test]
fn more_bits_give_a_lower_rate() {
    let rates: Vec<f64> =
        [8, 10, 12, 16].map(|bits: i32| measured(&FullbloomPolicy::fast(bits).unwrap())).to_vec();
    assert!(rates.is_sorted_by(|more, less| more > less), "{rates:?}");
}
