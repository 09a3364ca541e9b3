//! Requests with extreme numbers: each has one known outcome in each dialect, and none is a panic or a
//! wrapped size.

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Name;
use fullbloom_dialects::filter::{Dialect, Format, Size};
use fullbloom_dialects::{Cassandra, LevelDb, Libbloom, RocksDbBlock};
use fullbloom_testkit::keys::SplitMix;

const EPSILON: f64 = f64::EPSILON;
const DENORMAL: f64 = 5e-324;

/// `bits/probes`, or the refused number and the reason.
fn outcome(name: Name, expected_keys: u64, target: Target) -> String {
    match any::plan(name, &Request { expected_keys, target }) {
        Ok(plan) => {
            let rate = plan.expected_fpr;
            assert!((0.0..=1.0).contains(&rate), "{name}, {expected_keys} keys, {target:?}: rate {rate}");
            format!("{}/{}", plan.geometry.bit_len, plan.geometry.probes)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            match error {
                SizeError::Value { what, .. } | SizeError::Count { what, .. } => what.to_string(),
                SizeError::Unreachable { .. } => "unreachable".to_owned(),
                SizeError::TooLarge { .. } => "too large".to_owned(),
                SizeError::NoFilter { .. } => "no filter".to_owned(),
                SizeError::Unsupported { .. } => "unsupported".to_owned(),
                other => panic!("{name}, {expected_keys} keys, {target:?}: {other:?}"),
            }
        }
    }
}

/// The dialects of a table's columns; dialects with the same sizing share one.
const COLUMNS: [&[Name]; 7] = [
    &[Name::Cassandra, Name::Cassandra3, Name::Cassandra2, Name::Cassandra1],
    &[Name::Cassandra07, Name::Cassandra0],
    &[Name::Libbloom],
    &[Name::Libbloom1],
    &[Name::LevelDb],
    &[Name::RocksDbBlock],
    &[Name::JavaLsm],
];

#[track_caller]
fn assert_row(expected_keys: u64, target: Target, row: [&str; 7]) {
    for (names, expected) in COLUMNS.into_iter().zip(row) {
        for &name in names {
            assert_eq!(
                outcome(name, expected_keys, target),
                expected,
                "{name}, {expected_keys} keys, {target:?}"
            );
        }
    }
}

/// A thousand keys at rates that are invalid, nearly zero, or nearly one.
#[test]
fn every_rate_has_its_outcome() {
    const REFUSED: &str = "fpr";
    const NOT_REACHED: &str = "unreachable";
    let none = [REFUSED; 7];
    // Cassandra tests whether the smallest cell of the table is small enough; for 0 and below it is not.
    let zero = [NOT_REACHED, NOT_REACHED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED];
    let tiny = |libbloom, libbloom_1, java| {
        [NOT_REACHED, NOT_REACHED, libbloom, libbloom_1, NOT_REACHED, NOT_REACHED, java]
    };
    let rows: [(f64, [&str; 7]); 20] = [
        (f64::NAN, none),
        (-f64::NAN, none),
        (0.0, zero),
        (-0.0, zero),
        (-1.0, zero),
        (f64::NEG_INFINITY, zero),
        (-DENORMAL, zero),
        (f64::INFINITY, none),
        (2.0, none),
        (1e300, none),
        // 1 is "always present" in Cassandra since 1.2, one bit per key before, no bits in libbloom 1.6 and
        // in Java.
        (1.0, ["0/0", "1024/2", REFUSED, "0/0", REFUSED, REFUSED, "0/0"]),
        // libbloom 1.6 treats a rate just above 1 as 1.
        (1.0 + EPSILON, [REFUSED, REFUSED, REFUSED, "0/0", REFUSED, REFUSED, REFUSED]),
        // Zero bits but one probe: libbloom divides by zero, we refuse.
        (1.0 - EPSILON / 2.0, ["1024/2", "1024/2", REFUSED, REFUSED, "1000/1", "1000/1", "0/0"]),
        // Java's truncation gives zero probes at 0.5: its filter always answers true.
        (0.5, ["1024/2", "1024/2", "1442/2", "1442/2", "2000/1", "2000/1", "1442/0"]),
        (0.393, ["1024/2", "1024/2", "1943/2", "1943/2", "3000/2", "3000/2", "1943/1"]),
        (6.71e-5, ["20032/14", "20032/14", "20000/14", "20000/14", "21000/14", "21000/14", "20000/13"]),
        (
            6.709_999e-5,
            [NOT_REACHED, NOT_REACHED, "20000/14", "20000/14", "21000/14", "21000/14", "20000/13"],
        ),
        // 997 probes become 229 in eight bits.
        (1e-300, tiny("1437758/229", "1437758/997", "1437758/996")),
        (f64::MIN_POSITIVE, tiny("1474434/255", "1474434/1023", "1474434/1021")),
        (DENORMAL, tiny("1549454/51", "1549454/1075", "1549454/1073")),
    ];
    for (fpr, row) in rows {
        assert_row(1000, Target::Fpr(fpr), row);
    }
}

#[test]
fn every_number_of_bits_per_key_has_its_outcome() {
    const REFUSED: &str = "bits_per_key";
    let most_refuse = |leveldb, rocksdb| [REFUSED, REFUSED, REFUSED, REFUSED, leveldb, rocksdb, REFUSED];
    let rows: [(f64, [&str; 7]); 16] = [
        // RocksDB clamps everything that is not below 100, including NaN, to 100.
        (f64::NAN, most_refuse(REFUSED, "100000/30")),
        (f64::INFINITY, most_refuse(REFUSED, "100000/30")),
        (1e300, most_refuse(REFUSED, "100000/30")),
        (f64::NEG_INFINITY, most_refuse(REFUSED, "no filter")),
        (-1.0, most_refuse(REFUSED, "no filter")),
        // LevelDB builds 64 bits and one probe for zero keys.
        (0.0, most_refuse("64/1", "no filter")),
        (-0.0, most_refuse("64/1", "no filter")),
        (DENORMAL, most_refuse(REFUSED, "no filter")),
        (0.4, [REFUSED, REFUSED, "400/1", "400/1", REFUSED, "no filter", "400/0"]),
        (1.0, ["1024/1", "1024/1", "999/1", "999/1", "1000/1", "1000/1", "1000/0"]),
        (9.5, [REFUSED, REFUSED, "9500/7", "9500/7", REFUSED, "10000/6", "9499/6"]),
        (10.0, ["10048/7", "10048/7", "10000/7", "10000/7", "10000/6", "10000/6", "10000/6"]),
        (20.0, ["20032/14", "20032/14", "20000/14", "20000/14", "20000/13", "20000/13", "20000/13"]),
        (21.0, ["20032/14", "20032/14", "21000/15", "21000/15", "21000/14", "21000/14", "21000/14"]),
        (
            1000.0,
            ["20032/14", "20032/14", "1000000/182", "1000000/694", "1000000/30", "100000/30", "999999/693"],
        ),
        (1e9, ["20032/14", "20032/14", REFUSED, REFUSED, "too large", "100000/30", REFUSED]),
    ];
    for (bits_per_key, row) in rows {
        assert_row(1000, Target::BitsPerKey(bits_per_key), row);
    }
}

/// Zero keys, one key, and the neighbours of every power of two at which an integer type ends, at a rate of
/// 0.01.
#[test]
fn every_number_of_keys_has_its_outcome() {
    const KEYS: &str = "expected_keys";
    const LARGE: &str = "too large";
    let small = |cassandra, leveldb, java| [cassandra, cassandra, KEYS, KEYS, leveldb, leveldb, java];
    let at_2_31 = |cassandra, libbloom| [cassandra, KEYS, libbloom, KEYS, LARGE, LARGE, KEYS];
    let beyond = |cassandra| [cassandra, KEYS, KEYS, KEYS, LARGE, LARGE, KEYS];
    let rows: [(u64, [&str; 7]); 16] = [
        (0, small("64/5", "64/1", "0/0")),
        (1, small("64/5", "64/2", "9/6")),
        (999, small("10048/5", "9992/6", "9575/6")),
        // Java's bits end at 2^31 - 1, and so few bits per key give zero probes.
        ((1 << 31) - 1, ["21474836544/5", KEYS, "20583756120/7", LARGE, LARGE, LARGE, "2147483647/0"]),
        (1 << 31, at_2_31("21474836544/5", "20583756130/7")),
        ((1 << 31) + 1, at_2_31("21474836544/5", "20583756140/7")),
        ((1 << 32) - 1, at_2_31("42949673024/5", "41167512251/7")),
        (1 << 32, beyond("42949673024/5")),
        ((1 << 32) + 1, beyond("42949673024/5")),
        ((1 << 53) - 1, beyond(LARGE)),
        (1 << 53, beyond(LARGE)),
        ((1 << 53) + 1, beyond(LARGE)),
        // Java's long has room for only one bit per key, and only rate 1 is reachable with that.
        ((1 << 63) - 1, beyond("unreachable")),
        (1 << 63, beyond(KEYS)),
        ((1 << 63) + 1, beyond(KEYS)),
        (u64::MAX, beyond(KEYS)),
    ];
    for (keys, row) in rows {
        assert_row(keys, Target::Fpr(0.01), row);
    }
    // With bits per key, the same numbers of keys are refused.
    for (keys, cassandra) in [((1 << 63) - 1, LARGE), (1 << 63, KEYS), (u64::MAX, KEYS)] {
        assert_row(keys, Target::BitsPerKey(10.0), beyond(cassandra));
    }
    // The last numbers of keys for which a filter exists, and the first for which none does.
    let at = |name, keys, target| outcome(name, keys, target);
    assert_eq!(at(Name::Cassandra, 13_743_895_338, Target::Fpr(0.01)), "137438953408/5");
    assert_eq!(at(Name::Cassandra, 13_743_895_339, Target::Fpr(0.01)), LARGE);
    assert_eq!(at(Name::LevelDb, 429_496_728, Target::BitsPerKey(10.0)), "4294967280/6");
    assert_eq!(at(Name::LevelDb, 429_496_729, Target::BitsPerKey(10.0)), LARGE);
    assert_eq!(at(Name::LevelDb, (1 << 32) - 8, Target::BitsPerKey(1.0)), "4294967288/1");
    assert_eq!(at(Name::LevelDb, (1 << 32) - 7, Target::BitsPerKey(1.0)), LARGE);
    assert_eq!(at(Name::Cassandra07, 107_374_178, Target::Fpr(0.0001)), "2147483584/10"); // 20 bits each
    assert_eq!(at(Name::Cassandra07, 107_374_179, Target::Fpr(0.0001)), LARGE); // where BitSet.size() turns negative
}

#[test]
fn every_exact_geometry_has_its_outcome() {
    const BITS: &str = "bits";
    const PROBES: &str = "probes";
    let no = "unsupported"; // libbloom 2.0 stores keys and rate, so it cannot be built without them
    let rows: [(u64, u32, [&str; 7]); 13] = [
        (0, 0, [BITS, PROBES, no, "0/0", PROBES, PROBES, "0/0"]),
        (0, 1, [BITS, BITS, no, BITS, BITS, BITS, BITS]),
        (1, 1, [BITS, BITS, no, "1/1", BITS, BITS, "1/1"]),
        (64, 0, [PROBES, PROBES, no, "64/0", PROBES, PROBES, "64/0"]),
        (64, 21, ["64/21", "64/21", no, "64/21", "64/21", "64/21", "64/21"]),
        (64, 22, [PROBES, PROBES, no, "64/22", "64/22", "64/22", "64/22"]),
        (64, 255, [PROBES, PROBES, no, "64/255", PROBES, PROBES, "64/255"]),
        (64, 1075, [PROBES, PROBES, no, "64/1075", PROBES, PROBES, "64/1075"]),
        (64, 1076, [PROBES, PROBES, no, PROBES, PROBES, PROBES, PROBES]),
        (64, u32::MAX, [PROBES, PROBES, no, PROBES, PROBES, PROBES, PROBES]),
        ((1 << 32) - 8, 1, [BITS, BITS, no, BITS, "4294967288/1", "4294967288/1", BITS]),
        (64 * i32::MAX as u64, 5, ["137438953408/5", BITS, no, BITS, BITS, BITS, BITS]),
        (u64::MAX, 5, [BITS, BITS, no, BITS, BITS, BITS, BITS]),
    ];
    for (bit_len, probes, row) in rows {
        assert_row(0, Target::Exact { bit_len, probes }, row);
    }
}

/// Numbers near the powers of two, and anything between.
fn any_count(random: &mut SplitMix) -> u64 {
    match random.below(3) {
        0 => random.next_u64() >> random.below(64),
        1 => (1u64 << random.below(64)).wrapping_add(random.below(5)).wrapping_sub(2),
        _ => random.below(2_000_000),
    }
}

/// Half of the time any float at all; otherwise a plausible one.
fn any_float(random: &mut SplitMix, plausible: f64) -> f64 {
    match random.below(2) {
        0 => f64::from_bits(random.next_u64()),
        _ => random.next_u64() as f64 / u64::MAX as f64 * plausible,
    }
}

/// Over a million random requests: the size computed with wide integers, or an error.
#[test]
fn no_request_panics_or_wraps() {
    let mut random = SplitMix::new(2026);
    let mut sized = 0u32;
    for round in 0..200_000 {
        let keys = any_count(&mut random);
        let request = |target| Request { expected_keys: keys, target };
        let by_rate = request(Target::Fpr(any_float(&mut random, 1.0)));
        let whole = request(Target::BitsPerKey(any_float(&mut random, 40.0).floor()));

        if let Ok(filter) = Cassandra::size(&by_rate) {
            let rate_is_one = by_rate.target == Target::Fpr(1.0);
            assert!(
                rate_is_one || u128::from(filter.geometry().bit_len) >= u128::from(keys) + 20,
                "{by_rate:?}"
            );
            sized += 1;
        }
        if let Ok(filter) = Cassandra::size(&whole) {
            let Target::BitsPerKey(requested) = whole.target else { unreachable!() };
            let bits = u128::from(keys) * u128::from((requested as u64).min(20)) + 20;
            assert_eq!(u128::from(filter.geometry().bit_len), bits.div_ceil(64) * 64, "{whole:?}");
            assert_eq!(filter.encoded_len(), filter.geometry().bit_len / 8 + 8);
            sized += 1;
        }
        if let Ok(filter) = LevelDb::size(&whole) {
            let Target::BitsPerKey(requested) = whole.target else { unreachable!() };
            let bits = (u128::from(keys) * requested as u128).max(64).div_ceil(8) * 8;
            assert_eq!(u128::from(filter.geometry().bit_len), bits, "{whole:?}");
            sized += 1;
        }
        if let Ok(filter) = Libbloom::size(&by_rate) {
            let Target::Fpr(fpr) = by_rate.target else { unreachable!() };
            // The true product of real numbers, to within the 53 bits of the logarithm.
            let about = keys as f64 * -fpr.ln() / 0.480453013918201;
            assert!((filter.geometry().bit_len as f64 - about).abs() <= 1.0 + about * 1e-15, "{by_rate:?}");
            assert_eq!(filter.byte_len(), filter.geometry().bit_len.div_ceil(8));
            sized += 1;
        }
        // The others must only not panic. The policies of LevelDB's kind measure their rate by filling
        // filters, so rates are tried less often with them.
        for name in [Name::Cassandra0, Name::Libbloom1, Name::JavaLsm] {
            let target = if random.below(2) == 0 { by_rate } else { whole };
            sized += u32::from(any::plan(name, &target).is_ok());
        }
        sized += u32::from(RocksDbBlock::size(&whole).is_ok());
        if round % 10_000 == 0 {
            sized += u32::from(RocksDbBlock::size(&by_rate).is_ok());
        }
    }
    assert!(sized > 100_000, "only {sized} of the requests came to a filter");
}
