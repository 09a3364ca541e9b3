//! Filters of more than 2^32 bits, in every dialect that supports them: keys are found, and their bits lie
//! where only 64-bit positions reach. Untouched memory costs nothing, and the keys are few.

#![cfg(target_pointer_width = "64")]

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Filter;
use fullbloom_dialects::{Cassandra, LevelDb, Libbloom, Name, RocksDb, RocksDbBlock, RocksDbLegacy};
use fullbloom_testkit::keys::Shape;
use fullbloom_testkit::naive;
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
    filter.may_contain_batch_into(keys.as_slice(), &mut answers).unwrap();
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
    filter.insert_batch(&batch).unwrap();
    let all = [one_by_one, batch].concat();
    assert!(all.iter().all(|key| filter.may_contain(key.as_bytes())));
    assert_eq!(filter.count_batch(&all).unwrap(), all.len() as u64);
    assert_eq!(filter.count_batch(&absent).unwrap(), 0);
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

#[test]
fn leveldb_refuses_what_its_32_bit_positions_cannot_reach() {
    for expected_keys in [1 << 32, 1 << 61, 1 << 63, u64::MAX] {
        for target in [Target::BitsPerKey(10.0), Target::BitsPerKey(1.0), Target::Fpr(0.01)] {
            for name in [Name::LevelDb, Name::RocksDbBlock] {
                let refused = any::plan(name, &Request { expected_keys, target });
                assert!(refused.is_err(), "{name} {expected_keys} {target:?}: {refused:?}");
            }
        }
    }
    let most = Request { expected_keys: (1 << 32) - 8, target: Target::BitsPerKey(1.0) };
    assert_eq!(any::plan(Name::LevelDb, &most).unwrap().geometry.bit_len, (1 << 32) - 8);
}

/// A gigabyte of bits, of which a hundred keys touch few pages: positions past 2^32 are where the formula
/// puts them.
#[test]
fn arrays_beyond_32_bits_lose_no_key() {
    const BITS: u64 = (1 << 33) + 64;
    let exact = Request { expected_keys: 0, target: Target::Exact { bit_len: BITS, probes: 5 } };
    let mut filter = Filter::<Cassandra>::new(&exact).unwrap();
    let mut past_32_bits = 0;
    for key in (0..100).map(|i| Shape::Random.key(i)) {
        assert!(!filter.may_contain(&key));
        assert!(filter.insert(&key));
        assert!(filter.may_contain(&key));
        let (h1, h2) = naive::hash::murmur3_cassandra(&key);
        for i in 0..5 {
            let sum = i128::from(h2) + i * i128::from(h1);
            let at = (i128::from(sum as i64) % i128::from(BITS)).unsigned_abs();
            assert!(filter.bits()[(at >> 3) as usize] >> (at & 7) & 1 == 1, "{at}");
            past_32_bits += u32::from(at > u128::from(u32::MAX));
        }
    }
    assert!((200..300).contains(&past_32_bits), "{past_32_bits} of 500");

    let mut largest = Filter::<LevelDb>::with_bits_per_key((1 << 32) - 8, 1.0).unwrap();
    for key in (0..100).map(|i| Shape::Random.key(i)) {
        largest.insert(&key);
        assert!(largest.may_contain(&key));
    }
}

/// A filter larger than any memory gives an error from the sizing or the allocator, and does not end the
/// process.
#[test]
fn filters_larger_than_memory_are_refused() {
    assert!(matches!(Filter::<Cassandra>::with_fpr(1 << 40, 0.01), Err(SizeError::TooLarge { .. })));
    assert!(matches!(Filter::<LevelDb>::with_bits_per_key(u64::MAX, 10.0), Err(SizeError::TooLarge { .. })));
    assert!(matches!(
        Filter::<RocksDbBlock>::with_bits_per_key(1 << 63, 10.0),
        Err(SizeError::TooLarge { .. })
    ));
    assert!(matches!(Filter::<Libbloom>::with_fpr(u64::MAX, 0.01), Err(SizeError::Count { .. })));
}
