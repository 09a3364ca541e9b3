//! Extreme numbers of keys, rates, sizes and budgets in every dialect: a plan or a refusal, never a panic or
//! a wrapped size.

use crate::common::cases;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Name;

fn counts() -> Vec<u64> {
    let mut counts = vec![0, 1, 2, 999, 1000, u64::MAX, u64::MAX - 1];
    for exponent in [8, 16, 29, 31, 32, 53, 61, 63] {
        let power = 1u64 << exponent;
        counts.extend([power - 1, power, power + 1]);
    }
    counts
}

fn targets() -> Vec<Target> {
    let reals = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        0.01,
        1e-6,
        1e-9,
        1e-77,
        1e-300,
        5e-324,
        10.0,
        20.0,
        100.0,
        1549.0,
        1e10,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
    ];
    let mut targets: Vec<Target> =
        reals.iter().flat_map(|real| [Target::Fpr(*real), Target::BitsPerKey(*real)]).collect();
    for bit_len in counts() {
        for probes in [0, 1, 30, 31, 255, 256, u32::MAX] {
            targets.push(Target::Exact { bit_len, probes });
        }
    }
    targets
}

/// Whether this dialect plans the `i`th request. LevelDB's and RocksDB's block filters are planned by the
/// same code, which fills filters to measure their rate and takes milliseconds: each of them plans one request
/// in `turns`.
fn has_the_turn(name: Name, i: usize, turns: usize) -> bool {
    match name {
        Name::LevelDb => i.is_multiple_of(turns),
        Name::RocksDbBlock => i % turns == turns / 2,
        _ => true,
    }
}

#[test]
fn every_request_is_planned_or_refused_in_every_dialect() {
    let (counts, targets) = (counts(), targets());
    for name in Name::ALL {
        for (i, &expected_keys) in counts.iter().enumerate() {
            for (j, &target) in targets.iter().enumerate() {
                if !has_the_turn(*name, i + j, cases(2, 16) as usize) {
                    continue;
                }
                let Ok(plan) = any::plan(*name, &Request { expected_keys, target }) else { continue };
                let rate = plan.expected_fpr;
                assert!((0.0..=1.0).contains(&rate), "{name} {expected_keys} {target:?}: {rate}");
            }
        }
    }
}

#[test]
fn a_budget_is_kept_or_refused_in_every_dialect() {
    for name in Name::ALL {
        for (i, expected_keys) in counts().into_iter().enumerate() {
            let budgets = [0, 1, 9, 100, 1 << 10, 1 << 20, 1 << 29, 1 << 32, u64::MAX];
            for (j, bytes) in budgets.into_iter().enumerate() {
                if !has_the_turn(*name, i + j, cases(2, 16) as usize) {
                    continue;
                }
                let Ok(plan) = any::plan_within(*name, expected_keys, bytes) else { continue };
                assert!(plan.encoded_len <= bytes, "{name} {expected_keys} {bytes}: {plan:?}");
            }
        }
    }
}

#[test]
fn more_memory_is_never_planned_into_a_worse_filter() {
    for name in Name::ALL {
        // Their rate also depends on the divisors of the number of bits.
        let slack = if matches!(name, Name::Libbloom | Name::Spark2) { 4.0 } else { 1.1 };
        let counts = [1, 10, 1000, 100_000, 100_000_000, 1_000_000_000, 4_000_000_000];
        for (i, expected_keys) in counts.into_iter().enumerate() {
            if !has_the_turn(*name, i, 2) {
                continue;
            }
            let mut before = 1.0_f64;
            for shift in 5..36 {
                let Ok(plan) = any::plan_within(*name, expected_keys, 1 << shift) else { continue };
                let rate = plan.expected_fpr;
                assert!(rate <= before * slack, "{name} {expected_keys} 2^{shift}: {rate} after {before}");
                before = rate;
            }
        }
    }
    let plan = any::plan_within(Name::RocksDb, 4_000_000_000, 10 << 30).unwrap();
    assert!(plan.expected_fpr < 0.02, "{plan:?}");
    let plan = any::plan_within(Name::RocksDbLegacy, 1_000_000_000, 1 << 30).unwrap();
    assert!(plan.expected_fpr < 0.4, "{plan:?}");
}
