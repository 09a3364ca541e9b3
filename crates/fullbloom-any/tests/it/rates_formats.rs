//! The formats of data systems reach their expected rate, by plan and by bits, where it is reachable.

use crate::common::cases;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Filter;
use fullbloom_dialects::Name;
use fullbloom_dialects::Poppy;
use fullbloom_testkit::keys::SplitMix;
use std::f64::consts::LN_2;

fn lookups() -> u64 {
    cases(2_000_000, 400_000)
}

/// Rates: measured, by plan, by the bits.
fn rates(name: Name, keys: u64, target: Target) -> (f64, f64, f64) {
    let request = Request { expected_keys: keys, target };
    let mut builder = any::Builder::new(name, &request).unwrap();
    let mut random = SplitMix::new(keys);
    let mut batch = |each: &mut dyn FnMut(&[&[u8]]), count: u64| {
        for start in (0..count).step_by(1000) {
            let some: Vec<[u8; 20]> =
                (start..(start + 1000).min(count)).map(|_| random.bytes(20).try_into().unwrap()).collect();
            each(&some.iter().map(|key| &key[..]).collect::<Vec<_>>());
        }
    };
    batch(&mut |keys| builder.add_batch(keys), keys);
    let filter = builder.build().unwrap();
    let mut yes = 0;
    let mut answers = vec![false; 1000];
    batch(
        &mut |keys| {
            filter.may_contain_batch_into(keys, &mut answers[..keys.len()]).unwrap();
            yes += answers[..keys.len()].iter().filter(|&&answer| answer).count();
        },
        lookups(),
    );
    let plan = any::plan(name, &request).unwrap();
    (yes as f64 / lookups() as f64, plan.expected_fpr, filter.expected_fpr())
}

#[test]
fn measured_rates_are_the_expected_ones() {
    let names = [
        Name::Parquet,
        Name::Guava,
        Name::Guava32,
        Name::Spark,
        Name::Spark2,
        Name::Orc,
        Name::Dcso,
        Name::Poppy,
    ];
    for name in names {
        for (keys, target) in [
            (1_000, Target::Fpr(0.03)),
            (50_000, Target::Fpr(0.01)),
            (50_000, Target::BitsPerKey(8.0)),
            (300_000, Target::Fpr(0.001)),
        ] {
            let (measured, planned, of_bits) = rates(name, keys, target);
            // The bits of this one filter differ from the average: a little for many keys, more for few.
            let sigma = (of_bits / lookups() as f64).sqrt();
            // Walks of two hashes are not quite independent probes: a few percent difference in small arrays.
            let slack = 0.03 * of_bits + 4.0 * sigma;
            assert!((measured - of_bits).abs() < slack, "{name}, {keys}: {measured}, by the bits {of_bits}");
            let spread = 0.04 + 4.0 / (keys as f64).sqrt();
            let slack = spread * planned + 4.0 * sigma;
            assert!((measured - planned).abs() < slack, "{name}, {keys}: {measured}, planned {planned}");
        }
    }
}

#[test]
fn sizes_at_which_dcso_collapses_have_the_reported_rate() {
    for (keys, bits) in [(1000, 1u64 << 13), (100_000, 1 << 20), (641, 3 << 12)] {
        let fpr = (-(bits as f64 + 0.5) * LN_2 * LN_2 / keys as f64).exp();
        let plan = any::plan(Name::Dcso, &Request { expected_keys: keys, target: Target::Fpr(fpr) }).unwrap();
        assert_eq!(plan.geometry.bit_len, bits);
        assert!(plan.weakness.is_some_and(|weakness| weakness.with_all_keys));
        let (measured, planned, of_bits) = rates(Name::Dcso, keys, Target::Fpr(fpr));
        assert!(measured > 5.0 * fpr, "{keys}: {measured}");
        assert!((measured / of_bits - 1.0).abs() < 0.1, "{keys}: {measured}, by the bits {of_bits}");
        assert!((measured / planned - 1.0).abs() < 0.3, "{keys}: {measured}, planned {planned}");
    }
}

/// poppy does not hash short keys; only fifteen bits of the second hash distinguish keys with the same
/// beginning.
#[test]
fn short_keys_with_one_beginning_exceed_the_rate_of_poppy_as_its_page_says() {
    let count = 10_000u64;
    let request = Request { expected_keys: count, target: Target::Fpr(0.01) };
    let rate = |key: fn(u64) -> String| {
        let mut filter = Filter::<Poppy>::new(&request).unwrap();
        (0..count).for_each(|i| {
            filter.insert(key(i).as_bytes());
        });
        let hits = (count..11 * count).filter(|i| filter.may_contain(key(*i).as_bytes())).count();
        (hits as f64 / (10 * count) as f64, filter.geometry().bit_len / 32_768)
    };
    let (short, buckets) = rate(|i| format!("ke{i:06}"));
    let predicted = count as f64 / buckets as f64 / 32_768.0;
    assert!((0.9..1.2).contains(&(short / predicted)), "{short}, predicted {predicted}");
    let weakness = any::plan(Name::Poppy, &request).unwrap().weakness;
    assert!(weakness.unwrap().why.contains("not hashed"));
    let (long, _) = rate(|i| format!("longer-{i:06}"));
    assert!(long < 0.012, "{long}");
}
