//! Measured false-positive rates compared with the expected ones, on random, sequential and common-prefix
//! keys.
//!
//! Present keys are numbers 0 to n - 1 of a shape, absent keys the ones after them. Everything is fixed,
//! so a figure that is right once stays right. Where a dialect's rate is *not* the formula's, the measured
//! figure is recorded and pinned.

use crate::common::cases;
use fullbloom::sizing::{Geometry, classic_fpr};
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Dialect, Insert, Size};
use fullbloom_dialects::{
    Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07, JavaLsm, LevelDb, Libbloom,
    Libbloom1, RocksDbBlock,
};
use fullbloom_testkit::keys::{Shape, mix};
use fullbloom_testkit::stats::Measured;

fn absent() -> u64 {
    cases(1_000_000, 300_000)
}

/// Keys of a shape as bytes, or as text for the dialects whose keys are text.
fn key(shape: Shape, text: bool, i: u64) -> Vec<u8> {
    match shape {
        Shape::Random if text => format!("{:016x}{:016x}", mix(i ^ 0x5eed), mix(!i)).into_bytes(),
        Shape::Sequential if text => format!("key{i}").into_bytes(),
        _ => shape.key(i),
    }
}

/// The filter with keys 0 to n - 1 in it.
fn filled<D: Insert>(mut filter: Filter<D>, keys: u64, key: impl Fn(u64) -> Vec<u8>) -> Filter<D> {
    filter.extend((0..keys).map(key));
    filter
}

fn measured<D: Insert>(filter: &Filter<D>, keys: u64, absent: u64, key: impl Fn(u64) -> Vec<u8>) -> Measured {
    Measured::of((keys..keys + absent).map(|i| filter.may_contain(key(i))))
}

/// Both predictions, the one made before any key was inserted and the one read from the bits, hold within
/// three sigma.
fn keeps_its_promise<D: Size + Insert>(keys: u64, fpr: f64, text: bool) {
    for shape in Shape::ALL {
        let filter = filled(Filter::<D>::with_fpr(keys, fpr).unwrap(), keys, |i| key(shape, text, i));
        let measured = measured(&filter, keys, absent(), |i| key(shape, text, i));
        let what = format!("{}, {keys} {shape:?} keys at {fpr}", D::NAME);
        measured.assert_within_3_sigma(filter.dialect().fpr_with(keys as f64), &what);
        measured.assert_within_3_sigma(filter.expected_fpr(), &what);
        let estimate = filter.estimated_keys().unwrap();
        assert!((estimate / keys as f64 - 1.0).abs() < 0.01, "{what}: {estimate} keys estimated");
    }
}

#[test]
fn cassandra_keeps_its_rates_for_every_shape_of_keys() {
    for fpr in [0.1, 0.01, 0.001] {
        keeps_its_promise::<Cassandra>(100_000, fpr, false);
    }
    keeps_its_promise::<Cassandra3>(50_000, 0.01, false);
}

#[test]
fn older_cassandras_keep_their_rates_for_every_shape_of_keys() {
    keeps_its_promise::<Cassandra2>(100_000, 0.01, false);
    keeps_its_promise::<Cassandra1>(100_000, 0.01, false);
    keeps_its_promise::<Cassandra07>(100_000, 0.01, false);
    keeps_its_promise::<Cassandra0>(100_000, 0.01, true);
}

#[test]
fn libbloom_keeps_its_rates_for_every_shape_of_keys() {
    for fpr in [0.1, 0.01, 0.001] {
        keeps_its_promise::<Libbloom>(100_000, fpr, false);
        keeps_its_promise::<Libbloom1>(100_000, fpr, false);
    }
}

/// A rate of 0.393 and more gives one bit per key and two probes in Cassandra: a rate of about 0.75, not the
/// requested one.
#[test]
fn cassandras_quirk_at_high_rates_follows_the_model_and_exceeds_the_requested_rate() {
    let keys = 100_000;
    let filter = filled(Filter::<Cassandra>::with_fpr(keys, 0.5).unwrap(), keys, |i| Shape::Random.key(i));
    let measured = measured(&filter, keys, absent(), |i| Shape::Random.key(i));
    // At one bit per key the fill itself scatters by more than a sigma of the count: predict from the bits.
    measured.assert_within_3_sigma(filter.expected_fpr(), "cassandra at 0.5");
    assert!((filter.dialect().fpr_with(keys as f64) - measured.rate()).abs() < 0.005);
    assert!((0.74..0.76).contains(&measured.rate()), "{}", measured.rate());
}

/// Ten times the keys it was sized for: the rate it reports still equals the measured one.
#[test]
fn an_overfull_filter_knows_its_rate() {
    fn check<D: Size + Insert>() {
        let keys = 100_000;
        let filter = filled(Filter::<D>::with_fpr(keys / 10, 0.01).unwrap(), keys, |i| Shape::Random.key(i));
        let measured = measured(&filter, keys, 200_000, |i| Shape::Random.key(i));
        let off = filter.expected_fpr() / measured.rate() - 1.0;
        assert!(
            off.abs() < 0.02,
            "{}: {} reported, {} measured",
            D::NAME,
            filter.expected_fpr(),
            measured.rate()
        );
        // In libbloom some 60 clear bits remain for the estimate: 1.7 % of scatter.
        let estimate = filter.estimated_keys().unwrap();
        assert!((estimate / keys as f64 - 1.0).abs() < 0.05, "{}: {estimate} keys estimated", D::NAME);
    }
    check::<Cassandra>();
    check::<Cassandra1>();
    check::<Cassandra07>();
    check::<Libbloom>();
    check::<Libbloom1>();
}

/// How far LevelDB and RocksDB's per-block filter are from Bloom's formula.
///
/// Step and first position come from one 32-bit hash, so probe i of a key is `h + i * rotate(h)`: positions
/// are not uniform. In arrays of 2^17 bits and fewer, which the engines build for 2 KiB of data, the effect
/// is small; from there on the rate climbs to 1.8 times the formula at 2^22 bits, and falls back to 1.2 at
/// 2^25. Measured at 10 bits per key, in units of the formula's 0.00844:
///
/// | keys | random | sequential | common prefix |
/// |---|---|---|---|
/// | 1,000 | 1.05 | 0.36 | 0.99 |
/// | 10,000 | 1.08 | 0.77 | 1.06 |
/// | 100,000 | 1.75 | 0.93 | 0.95 |
fn ratio_to_formula<D: Size + Insert>(keys: u64, shape: Shape) -> f64 {
    let filter = filled(Filter::<D>::with_bits_per_key(keys, 10.0).unwrap(), keys, |i| shape.key(i));
    let Geometry { bit_len, probes, .. } = filter.geometry();
    measured(&filter, keys, 1_000_000, |i| shape.key(i)).rate() / classic_fpr(keys as f64, bit_len, probes)
}

#[test]
fn leveldb_is_near_the_formula_in_small_filters_and_at_most_twice_above_it_in_large_ones() {
    fn check<D: Size + Insert>() {
        for (shape, figures) in [
            (Shape::Random, [1.05, 1.08, 1.75]),
            (Shape::Sequential, [0.36, 0.77, 0.93]),
            (Shape::CommonPrefix, [0.99, 1.06, 0.95]),
        ] {
            for (keys, figure) in [1_000, 10_000, 100_000].into_iter().zip(figures) {
                let ratio = ratio_to_formula::<D>(keys, shape);
                assert!((ratio - figure).abs() < 0.01, "{}, {keys} {shape:?} keys: {ratio:.3}", D::NAME);
            }
        }
    }
    check::<LevelDb>();
    check::<RocksDbBlock>();
}

/// As LevelDB uses it: many filters of few keys. One key in `bit_len` has a step that returns to its first
/// position at once, one in `bit_len` a step that alternates between two positions, and so on; each tests
/// fewer bits than it should. That costs 12 % at 100 keys and 10 bits each, and is not in the formula.
#[test]
fn leveldb_filters_of_a_hundred_keys_have_a_rate_one_eighth_above_the_formula() {
    let (filters, keys, absent) = (300, 100, 10_000);
    let hits: u64 = (0..filters)
        .map(|number| {
            let key = |i| Shape::Random.key(number << 32 | i);
            let filter = filled(Filter::<LevelDb>::with_bits_per_key(keys, 10.0).unwrap(), keys, key);
            measured(&filter, keys, absent, key).hits
        })
        .sum();
    let rate = hits as f64 / (filters * absent) as f64;
    let ratio = rate / classic_fpr(keys as f64, 1000, 6);
    assert!((1.08..1.18).contains(&ratio), "{ratio:.3}");
}

#[test]
fn java_lsm_keeps_its_rate_for_keys_that_are_spread() {
    let keys = 100_000;
    let key = |i| key(Shape::Random, true, i);
    let filter = filled(Filter::<JavaLsm>::with_fpr(keys, 0.01).unwrap(), keys, key);
    let measured = measured(&filter, keys, absent(), key);
    measured.assert_within_3_sigma(filter.dialect().fpr_with(keys as f64), "java-lsm, random keys");
}

/// The weakness of java-lsm-tree, to the digit as measured with its own classes: sequential keys, promised
/// 0.01.
#[test]
fn java_lsm_has_the_originals_rates_for_keys_that_count_up() {
    type Key = fn(u64) -> Vec<u8>;
    let kinds: [(&str, Key, [f64; 3]); 3] = [
        ("key{i}", |i| format!("key{i}").into_bytes(), [0.0342, 0.0033, 0.1171]),
        ("key_{i:08}", |i| format!("key_{i:08}").into_bytes(), [0.0343, 0.0254, 0.0902]),
        (
            "user.{i}@mail{i % 13}",
            |i| format!("user.{i}@mail{}.example.com", i % 13).into_bytes(),
            [0.0113, 0.0076, 0.0106],
        ),
    ];
    for (kind, key, figures) in kinds {
        for (keys, figure) in [1_000, 10_000, 100_000].into_iter().zip(figures) {
            let filter = filled(Filter::<JavaLsm>::with_fpr(keys, 0.01).unwrap(), keys, key);
            let rate = measured(&filter, keys, 200_000, key).rate();
            assert!(
                (rate - figure).abs() <= 0.00005,
                "{keys} keys {kind}: {rate:.5}, the original has {figure}"
            );
        }
    }
}

/// After a restart the original fills a filter sized for 1000 keys, however many there are.
#[test]
fn java_lsm_reopened_by_the_original_is_overfull() {
    let key = |i| format!("key{i}").into_bytes();
    for (keys, figure) in [(1_000, 0.034), (2_000, 0.194), (3_000, 0.518), (5_000, 0.869), (10_000, 1.000)] {
        let filter = filled(Filter::<JavaLsm>::with_fpr(1000, 0.01).unwrap(), keys, key);
        let rate = measured(&filter, keys, 200_000, key).rate();
        assert!((rate - figure).abs() <= 0.001, "{keys} keys: {rate:.4}, the original has {figure}");
    }
}
