//! Filters of more than 2^32 bits, in every dialect that supports them: keys are found, and their bits lie
//! where only 64-bit positions reach. Untouched memory costs nothing, and the keys are few.

#![cfg(target_pointer_width = "64")]

use fullbloom::Filter;
use fullbloom::any::{self, AnyFilter};
use fullbloom::dialect::Name;
use fullbloom::dialect::{RocksDb, RocksDbLegacy};
use fullbloom::sizing::{Request, Target};
use std::io::{self, Write};

const LARGE: u64 = 1 << 32;

/// A request that makes each dialect that large.
const REQUESTS: [Request; 4] = [
    Request { expected_keys: 500_000_000, target: Target::Fpr(0.01) },
    Request { expected_keys: 500_000_000, target: Target::BitsPerKey(10.0) },
    Request { expected_keys: 500_000_000, target: Target::Exact { bit_len: LARGE + 512, probes: 7 } },
    Request { expected_keys: 900_000_000, target: Target::Fpr(0.03) },
];

/// Dialects limited to 2^32 bits or fewer, by the width of their positions or of the length in their bytes.
const SMALL: [Name; 8] = [
    Name::Cassandra07,
    Name::Cassandra0,
    Name::Libbloom1,
    Name::LevelDb,
    Name::RocksDbBlock,
    Name::JavaLsm,
    Name::Parquet,
    Name::Orc,
];

/// Dialects whose arrays may be larger than their 31-bit positions reach, which they report as a weakness.
const SHORT_OF_BITS: [Name; 2] = [Name::Guava32, Name::Spark];

/// Built when all keys are known, and sized by their number.
const SIZED_BY_KEYS: [Name; 3] = [Name::RocksDbLegacy, Name::RocksDb, Name::RocksDbRibbon];

fn keys(of: &str) -> Vec<String> {
    (0..12).map(|i| format!("{of} {i}")).collect()
}

/// Accepts an encoded filter of any size, and records the position of its last set bit.
#[derive(Default)]
struct Sink {
    len: u64,
    last_set: Option<u64>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(at) = bytes.iter().rposition(|byte| *byte != 0) {
            self.last_set = Some(self.len + at as u64);
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_found(filter: &AnyFilter, keys: &[String], name: Name) {
    assert!(keys.iter().all(|key| filter.may_contain(key.as_bytes())), "{name}");
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut answers = vec![false; keys.len()];
    filter.may_contain_batch(keys.as_slice(), &mut answers);
    assert!(answers.iter().all(|yes| *yes), "{name}: by batch");
}

fn is_large(filter: &mut AnyFilter, name: Name) {
    assert!(filter.geometry().bit_len > LARGE);
    let (one_by_one, batch, absent) = (keys("one"), keys("batch"), keys("absent"));
    for key in &one_by_one {
        assert!(filter.insert(key.as_bytes()).unwrap(), "{name}: an empty filter changes");
    }
    filter.insert_batch(batch.iter().map(String::as_bytes).collect::<Vec<_>>().as_slice()).unwrap();
    is_found(filter, &[one_by_one, batch].concat(), name);
    assert!(
        !absent.iter().any(|key| filter.may_contain(key.as_bytes())),
        "{name}: two dozen keys in 2^32 bits"
    );
    let mut sink = Sink::default();
    filter.write_to(&mut sink).unwrap();
    assert_eq!(sink.len, filter.encoded_len(), "{name}");
    let last_set = sink.last_set.unwrap();
    match SHORT_OF_BITS.contains(&name) {
        true => assert!(filter.weakness().unwrap().why.contains("2^31") && last_set <= LARGE / 16 + 100),
        false => assert!(last_set > LARGE / 8, "{name}: {last_set}"),
    }
}

#[test]
fn keys_are_found_in_filters_of_more_than_2_to_the_32_bits() {
    let mut large = Vec::new();
    for &name in Name::ALL {
        if SIZED_BY_KEYS.contains(&name) {
            continue;
        }
        let fits = |request: &&Request| {
            any::plan(name, request)
                .is_ok_and(|plan| (LARGE + 1..=2 * LARGE).contains(&plan.geometry.bit_len))
        };
        let Some(request) = REQUESTS.iter().find(fits) else {
            assert!(SMALL.contains(&name), "{name} cannot be large, and is not in SMALL");
            continue;
        };
        let mut filter = AnyFilter::new(name, request).unwrap();
        is_large(&mut filter, name);
        large.push(name);
    }
    assert_eq!(large.len() + SMALL.len() + SIZED_BY_KEYS.len(), Name::ALL.len(), "{large:?}");
}

#[test]
fn rocksdbs_full_filter_is_large_and_its_legacy_one_is_not() {
    let mut filter = Filter::<RocksDb>::with_bits_per_key(500_000_000, 10.0).unwrap();
    assert!(filter.geometry().bit_len > LARGE);
    let (one_by_one, batch, absent) = (keys("one"), keys("batch"), keys("absent"));
    assert!(one_by_one.iter().all(|key| filter.insert(key.as_bytes())));
    filter.insert_batch(&batch);
    let all = [one_by_one, batch].concat();
    assert!(all.iter().all(|key| filter.may_contain(key.as_bytes())));
    assert_eq!(filter.count_batch(&all), all.len() as u64);
    assert_eq!(filter.count_batch(&absent), 0);
    let mut sink = Sink::default();
    filter.write_to(&mut sink).unwrap();
    assert!(sink.len == filter.encoded_len() && sink.last_set.unwrap() > LARGE / 8);
    let legacy = Filter::<RocksDbLegacy>::with_bits_per_key(500_000_000, 10.0).unwrap();
    assert!(legacy.geometry().bit_len < LARGE, "as there: more keys are given what there is");
}

#[test]
fn sizes_a_dialect_cannot_hold_are_refused_and_not_truncated() {
    for &name in Name::ALL.iter().filter(|name| !SIZED_BY_KEYS.contains(name)) {
        for expected_keys in [1 << 40, 1 << 62, 1 << 63, u64::MAX] {
            for target in [Target::Fpr(0.01), Target::BitsPerKey(10.0)] {
                let request = Request { expected_keys, target };
                if let Ok(plan) = any::plan(name, &request) {
                    let bits = plan.geometry.bit_len;
                    assert!(bits >= expected_keys, "{name}: {bits} bits for {expected_keys} keys");
                }
            }
        }
    }
}
