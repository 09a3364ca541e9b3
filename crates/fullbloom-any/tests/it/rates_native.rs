//! The native filter's promised rate is the measured rate: 10^3 to 10^7 keys, 8 to 24 bits each, three shapes
//! of keys.

use crate::common::cases;

use fullbloom::Hashing;
use fullbloom::sizing::{Prefer, Sizing};
use fullbloom::sizing::{Request, Target, classic_fpr};
use fullbloom_core::hash::Fold64;
use fullbloom_testkit::keys::Shape;
use fullbloom_testkit::stats::Measured;

const BITS_PER_KEY: [f64; 5] = [8.0, 10.0, 12.0, 16.0, 24.0];

/// Hashes of the keys with these numbers.
fn hashes(shape: Shape, seed: u64, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let fold = Fold64::new(seed);
    let mut key = Vec::new();
    numbers
        .map(|i| {
            shape.key_into(i, &mut key);
            fold.hash(&key)
        })
        .collect()
}

fn plan(expected_keys: u64, bits_per_key: f64) -> Sizing {
    Sizing::new(&Request { expected_keys, target: Target::BitsPerKey(bits_per_key) }).unwrap()
}

fn filled(plan: &Sizing, present: &[u64]) -> fullbloom::Filter {
    let mut filter = fullbloom::Filter::with_sizing(plan, Hashing::Seed(0)).unwrap();
    filter.insert_batch(&Hashing::default().hashes(present)).unwrap();
    filter
}

fn measured(filter: &fullbloom::Filter, absent: &[u64]) -> Measured {
    Measured {
        lookups: absent.len() as u64,
        hits: filter.count_batch(&Hashing::default().hashes(absent)).unwrap(),
    }
}

/// Large filters: one is enough, because its own rate hardly differs from the average over filters.
#[test]
fn millions_of_keys_of_every_shape_keep_the_planned_rate() {
    let count = cases(10_000_000, 2_000_000);
    for shape in Shape::ALL {
        let present = hashes(shape, 0, 0..count);
        let absent = hashes(shape, 0, 1 << 40..(1 << 40) + count);
        for bits_per_key in BITS_PER_KEY {
            let plan = plan(count, bits_per_key);
            let filter = filled(&plan, &present);
            assert!(
                present
                    .iter()
                    .step_by(101)
                    .all(|&hash| filter.may_contain_hash(Hashing::default().from_raw(hash)))
            );
            let what = format!("{shape:?}, {bits_per_key} bits per key");
            let measured = measured(&filter, &absent);
            measured.assert_within_3_sigma(plan.expected_fpr, &what);
            measured.assert_within_3_sigma(filter.expected_fpr(), &what);
        }
    }
}

/// Small filters differ from each other, because keys are distributed unevenly: many are averaged, and the
/// deviation is that of the average.
#[test]
fn a_thousand_to_a_million_keys_of_every_shape_keep_the_planned_rate() {
    for shape in Shape::ALL {
        let sizes = [(1_000u64, 400u64), (10_000, 80), (100_000, 20), (1_000_000, 4)];
        for (keys, filters) in sizes.into_iter().take(cases(4, 3) as usize) {
            let sets: Vec<(Vec<u64>, Vec<u64>)> = (0..filters)
                .map(|seed| {
                    let absent = cases(4_000_000, 1_000_000) / filters;
                    (hashes(shape, seed, 0..keys), hashes(shape, seed, 1 << 40..(1 << 40) + absent))
                })
                .collect();
            for bits_per_key in BITS_PER_KEY {
                let plan = plan(keys, bits_per_key);
                let (mut lookups, mut hits, mut own) = (0, 0, Vec::new());
                for (present, absent) in &sets {
                    let filter = filled(&plan, present);
                    let measured = measured(&filter, absent);
                    (lookups, hits) = (lookups + measured.lookups, hits + measured.hits);
                    own.push(filter.expected_fpr());
                }
                let expected = plan.expected_fpr;
                let mean = own.iter().sum::<f64>() / filters as f64;
                let spread = own.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (filters - 1) as f64;
                let variance = expected * (1.0 - expected) / lookups as f64;
                let deviation = (variance + spread / filters as f64).sqrt();
                let z = (hits as f64 / lookups as f64 - expected) / deviation;
                assert!(
                    z.abs() <= 3.0,
                    "{shape:?}, {keys} keys, {bits_per_key} bits: {z:+.2} sigma from {expected}"
                );
                // The rate that each filter reports is right, too.
                Measured { lookups, hits }
                    .assert_within_3_sigma(mean, &format!("{shape:?}, {keys}, {bits_per_key}, own"));
            }
        }
    }
}

/// Few keys that count up, in filters of two lines: the mean over 200 seeds is the planned rate, and the
/// seeds differ from each other no more than they do for random keys.
#[test]
fn a_hundred_keys_that_count_up_behave_as_random_keys_do() {
    const KEYS: u64 = 100;
    const SEEDS: u64 = 200;
    const LOOKUPS: u64 = 20_000;
    let plan = plan(KEYS, 10.0);
    let mut spread_of_random = 0.0;
    for shape in Shape::ALL {
        let rates: Vec<f64> = (0..SEEDS)
            .map(|seed| {
                let present = hashes(shape, seed, 1..KEYS + 1);
                // Both the keys that follow and keys far away.
                let following = hashes(shape, seed, KEYS + 1..KEYS + 1 + LOOKUPS);
                let far = hashes(shape, seed, 1 << 40..(1 << 40) + LOOKUPS);
                let filter = filled(&plan, &present);
                (measured(&filter, &following).rate() + measured(&filter, &far).rate()) / 2.0
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / SEEDS as f64;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
        let z = (mean - plan.expected_fpr) / (variance / SEEDS as f64).sqrt();
        assert!(z.abs() <= 3.0, "{shape:?}: {mean}, {z:+.2} sigma from {}", plan.expected_fpr);
        if shape == Shape::Random {
            spread_of_random = variance.sqrt();
        }
        let spread = variance.sqrt() / spread_of_random;
        // The standard deviation of 200 values is known to 5 %: three of those.
        assert!((0.8..1.2).contains(&spread), "{shape:?}: {spread} times the spread of random keys");
    }
}

/// Every layout that a plan can choose: all that were considered at several rates.
#[test]
fn every_layout_keeps_its_planned_rate() {
    let mut layouts = std::collections::BTreeSet::new();
    let present = hashes(Shape::CommonPrefix, 3, 0..300_000);
    let absent = hashes(Shape::CommonPrefix, 3, 1 << 40..(1 << 40) + 4_000_000);
    for bits_per_key in [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 24.0] {
        let both = plan(present.len() as u64, bits_per_key);
        for prefer in [Prefer::Speed, Prefer::Space] {
            let plan = both.clone().prefer(prefer);
            let layout = (plan.layout.lines(), plan.layout.line_probes());
            if !layouts.insert(layout) {
                continue;
            }
            let filter = filled(&plan, &present);
            let measured = measured(&filter, &absent);
            measured.assert_within_3_sigma(filter.expected_fpr(), &format!("{layout:?}, {bits_per_key}"));
            // The filter's own rate is near the mean of all filters of this size.
            let own = filter.expected_fpr() / plan.expected_fpr;
            assert!((0.97..1.03).contains(&own), "{layout:?}: {own} times the planned rate");
        }
    }
    assert!(layouts.len() >= 8, "{layouts:?}");
}

#[test]
fn rates_stay_near_the_textbook() {
    let textbook = |bits_per_key: f64| {
        (1..40).map(|probes| classic_fpr(1e6, (1e6 * bits_per_key) as u64, probes)).fold(1.0, f64::min)
    };
    for (bits_per_key, most, smallest) in [
        (8.0, 1.10, 1.10),
        (10.0, 1.20, 1.20),
        (12.0, 1.35, 1.35), // 1.34 with seven of the eight lanes
        (16.0, 2.0, 1.25),
        (24.0, 1.85, 1.85),
        (32.0, 4.0, 1.6),
    ] {
        let plan = plan(1_000_000, bits_per_key);
        let ratio = plan.expected_fpr / textbook(bits_per_key);
        assert!(ratio <= most, "{bits_per_key} bits per key: x{ratio:.3}");
        let ratio = plan.prefer(Prefer::Space).expected_fpr / textbook(bits_per_key);
        assert!(ratio <= smallest, "{bits_per_key} bits per key, smallest: x{ratio:.3}");
    }
    assert!(plan(1_000_000_000, 10.0).expected_fpr < 0.00975);
}

#[test]
fn requested_rates_are_kept_without_wasting_bits() {
    for keys in [1_000u64, 100_000, 10_000_000, 1_000_000_000, 10_000_000_000] {
        for fpr in [0.3, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-8] {
            let plan = Sizing::new(&Request { expected_keys: keys, target: Target::Fpr(fpr) }).unwrap();
            assert!(plan.expected_fpr <= fpr, "{keys} keys at {fpr}: {}", plan.expected_fpr);
            let textbook = -fpr.log2() / std::f64::consts::LN_2;
            let most = if keys == 1_000 { 1.30 } else { 1.12 };
            assert!(plan.bits_per_key() <= 1.15 * most * textbook, "{keys} keys at {fpr}: {plan}");
            let small = plan.prefer(Prefer::Space);
            assert!(small.expected_fpr <= fpr, "{keys} keys at {fpr}: {}", small.expected_fpr);
            assert!(small.bits_per_key() <= most * textbook, "{keys} keys at {fpr}: {small}");
        }
    }
}

#[test]
fn a_keyed_filter_makes_other_mistakes_for_every_secret() {
    use fullbloom::Secret;
    use fullbloom::keys::Column;
    let members: Vec<u64> = (0..20_000).collect();
    let absent: Vec<u64> = (1 << 40..(1 << 40) + 200_000).collect();
    let fooled = |secret: u8| {
        let plan = plan(20_000, 10.0);
        let mut filter =
            fullbloom::Filter::with_sizing(&plan, Hashing::Secret(Secret::new([secret; 16]))).unwrap();
        filter.insert_batch(&Column(&members)).unwrap();
        let mut answers = vec![false; absent.len()];
        filter.may_contain_batch_into(&Column(&absent), &mut answers).unwrap();
        Measured::of(answers.iter().copied()).assert_within_3_sigma(filter.expected_fpr(), "keyed");
        answers
    };
    // Keys found by querying a filter with one secret are no better than any others against a filter with
    // another secret.
    let (ours, theirs) = (fooled(1), fooled(2));
    let chosen: Vec<bool> =
        ours.iter().zip(&theirs).filter(|(ours, _)| **ours).map(|(_, theirs)| *theirs).collect();
    assert!(chosen.len() > 1500);
    Measured::of(chosen).assert_within_3_sigma(0.00975, "keys that fool another secret's filter");
}
