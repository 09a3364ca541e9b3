//! The rates that RocksDB's full filters promise are their measured rates.
//!
//! Seeds are fixed, so a run either always passes or never.

use crate::common::cases;
use fullbloom_dialects::rocksdb::{Builder, FilterType, FullFilter, Policy};
use fullbloom_testkit::keys::{Shape, SplitMix};
use fullbloom_testkit::stats::Measured;

const BITS_PER_KEY: [f64; 4] = [8.0, 10.0, 12.0, 16.0];

fn built(kind: FilterType, bits_per_key: f64, shape: Shape, keys: u64) -> FullFilter {
    let mut builder = Builder::new(Policy::new(kind, bits_per_key).unwrap());
    let mut key = Vec::new();
    for i in 0..keys {
        shape.key_into(i, &mut key);
        builder.add(&key);
    }
    builder.build().unwrap()
}

fn measured(filter: &FullFilter, shape: Shape, keys: u64, absent: u64) -> Measured {
    let mut key = Vec::new();
    Measured::of((keys..keys + absent).map(|i| {
        shape.key_into(i, &mut key);
        filter.may_contain(&key)
    }))
}

#[test]
fn fast_local_has_the_rate_that_is_promised_before_it_is_built() {
    for bits_per_key in BITS_PER_KEY {
        let keys = 1_000_000;
        let filter = built(FilterType::FastLocal, bits_per_key, Shape::Random, keys);
        let promised = Policy::new(FilterType::FastLocal, bits_per_key).unwrap().fpr_with(keys);
        let measured = measured(&filter, Shape::Random, keys, cases(5_000_000, 1_000_000));
        measured.assert_within_3_sigma(promised, &format!("{bits_per_key} bits per key"));
        let FullFilter::FastLocal(filter) = filter else { panic!() };
        assert!((filter.expected_fpr() / promised - 1.0).abs() < 0.01, "{bits_per_key}");
        assert!((filter.estimated_keys().unwrap() / keys as f64 - 1.0).abs() < 0.01, "{bits_per_key}");
    }
}

/// Ten times the keys it was sized for: the expected rate follows.
#[test]
fn an_overfull_fast_local_filter_knows_its_rate() {
    let (expected, keys) = (10_000, 100_000);
    let mut filter =
        fullbloom_dialects::Filter::<fullbloom_dialects::RocksDb>::with_bits_per_key(expected, 10.0).unwrap();
    let mut stream = SplitMix::new(1);
    (0..keys).for_each(|_| {
        filter.insert(stream.next_u64().to_le_bytes());
    });
    let absent = (0..200_000).map(|_| filter.may_contain(stream.next_u64().to_le_bytes()));
    let measured = Measured::of(absent).rate();
    assert!((filter.expected_fpr() / measured - 1.0).abs() < 0.02);
    let promised = fullbloom_dialects::filter::Dialect::fpr_with(filter.dialect(), keys as f64);
    assert!((promised / measured - 1.0).abs() < 0.02, "{promised} {measured}");
}

#[test]
fn fast_local_and_ribbon_know_their_rate_for_keys_of_every_shape() {
    for shape in Shape::ALL {
        for kind in [FilterType::FastLocal, FilterType::Ribbon] {
            for bits_per_key in BITS_PER_KEY {
                for keys in [1000, 100_000] {
                    let filter = built(kind, bits_per_key, shape, keys);
                    let expected = match &filter {
                        FullFilter::FastLocal(filter) => filter.expected_fpr(),
                        FullFilter::Ribbon(filter) => filter.expected_fpr(),
                        other => panic!("{:?}", other.dialect()),
                    };
                    let what = format!("{kind:?}, {shape:?}, {keys} keys at {bits_per_key}");
                    measured(&filter, shape, keys, cases(1_000_000, 200_000))
                        .assert_within_3_sigma(expected, &what);
                }
            }
        }
    }
}

/// The legacy filter measures itself, so both numbers have an error: that of its 2^20 lookups and that of
/// ours.
#[test]
fn the_legacy_filter_knows_its_rate_for_keys_that_its_hash_scatters() {
    for bits_per_key in BITS_PER_KEY {
        let keys = 100_000;
        let filter = built(FilterType::Legacy, bits_per_key, Shape::Random, keys);
        let lookups = 1 << 20;
        let rate = measured(&filter, Shape::Random, keys, lookups).rate();
        let FullFilter::Legacy(filter) = filter else { panic!() };
        let expected = filter.expected_fpr();
        let sigma = (2.0 * expected * (1.0 - expected) / lookups as f64).sqrt();
        assert!((rate - expected).abs() < 3.0 * sigma, "{bits_per_key}: {rate} {expected}");
        // RocksDB's estimate errs on the safe side.
        let estimated = Policy::new(FilterType::Legacy, bits_per_key).unwrap().fpr_with(keys);
        assert!((0.85..1.0).contains(&(rate / estimated)), "{bits_per_key}: {rate} {estimated}");
    }
}

/// A quirk, and the reason for FastLocalBloom: the 32-bit hash does not scatter the end of a key, so keys
/// that differ only there get similar lines and probes.
#[test]
fn the_legacy_filter_fails_its_promise_for_consecutive_numbers() {
    let keys = 100_000;
    let filter = built(FilterType::Legacy, 10.0, Shape::Sequential, keys);
    let rate = measured(&filter, Shape::Sequential, keys, 1_000_000).rate();
    assert!(rate > 2.0 * Policy::new(FilterType::Legacy, 10.0).unwrap().fpr_with(keys), "{rate}");
}
