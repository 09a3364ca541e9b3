//! A key hashed once answers as the key does, and only where its hash belongs.
#![allow(unsafe_code)]

use crate::common::*;

use fullbloom::sizing::Target;
use fullbloom::{Hashing, Secret};
use fullbloom_any::Kind;
use fullbloom_any::{BuildOptions, KeyHash};
use fullbloom_c::dialect::{UNKNOWN, number};
use fullbloom_c::filter::fullbloom_filter_unlock;
use fullbloom_c::sizing::Sizing;
use fullbloom_c::status::Status;
use fullbloom_dialects::Name;
use fullbloom_dynamic::DynamicFilter;

/// More than two of the groups in which batches are processed.
const KEYS: u64 = 1200;

fn keys(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|i| format!("{:016x}", (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

fn slices(keys: &[String]) -> Vec<&[u8]> {
    keys.iter().map(|key| key.as_bytes()).collect()
}

fn ten_bits(expected_keys: u64) -> Sizing {
    Sizing { bits_per_key: 10.0, ..sizing(expected_keys) }
}

fn hashes(filter: &Filter, keys: &[&[u8]]) -> Vec<KeyHash> {
    keys.iter().map(|key| filter.hash(key).unwrap()).collect()
}

/// The fields as C sees them.
fn fields(hash: &KeyHash) -> ([u64; 2], u64, u32, u32) {
    #[repr(C)]
    struct Fields {
        words: [u64; 2],
        seed: u64,
        dialect: u32,
        variant: u32,
    }
    // SAFETY: two structs of integers and of one size.
    let Fields { words, seed, dialect, variant } = unsafe { std::mem::transmute_copy(hash) };
    (words, seed, dialect, variant)
}

/// Dialects whose hashes belong to each other's filters.
fn hashed_as(dialect: Name) -> Name {
    if dialect == Name::RocksDbRibbon { Name::RocksDb } else { dialect }
}

#[test]
fn a_filter_of_hashes_is_the_filter_of_the_keys_in_every_dialect() {
    let (inside, outside) = (keys(0..KEYS), keys(KEYS..2 * KEYS));
    let (inside, outside) = (slices(&inside), slices(&outside));
    for &dialect in Name::ALL {
        // Hashes of a filter of another size, which is empty, and in RocksDB's case not finished.
        let other = create(dialect, &ten_bits(5000)).unwrap();
        let (ours, theirs) = (hashes(&other, &inside), hashes(&other, &outside));
        let expected = create(dialect, &ten_bits(KEYS)).unwrap();
        assert_eq!(expected.insert_batch(&inside), Status::Ok);
        assert_eq!(expected.finish(), Status::Ok);
        let filter = create(dialect, &ten_bits(KEYS)).unwrap();
        assert_eq!(filter.insert_hash(&ours[0]), Ok(true), "{dialect}");
        assert_eq!(filter.insert_hashes(&ours[1..]), Status::Ok, "{dialect}");
        assert_eq!(filter.finish(), Status::Ok);
        let bytes = filter.encode().unwrap();
        assert_eq!(bytes, expected.encode().unwrap(), "{dialect}");
        let facts = filter.facts().unwrap();
        let geometry = match dialect {
            Name::Libbloom1 | Name::JavaLsm => (facts.bits, facts.probes),
            _ => (0, 0),
        };
        let view = view(number(dialect), &bytes, geometry).unwrap();
        for filter in [&filter, &view] {
            assert!(ours.iter().all(|hash| filter.may_contain_hash(hash).unwrap()), "{dialect}");
            assert!(filter.answers_of_hashes(&ours).unwrap().iter().all(|&yes| yes), "{dialect}");
            let answers = expected.answers(&outside).unwrap();
            assert_eq!(filter.answers_of_hashes(&theirs).unwrap(), answers, "{dialect}");
            let singly: Vec<bool> =
                theirs.iter().map(|hash| filter.may_contain_hash(hash).unwrap()).collect();
            assert_eq!(singly, answers, "{dialect}");
            assert!(hashes(filter, &inside) == ours, "{dialect}: the size of a filter does not matter");
        }
        assert_eq!(view.insert_hash(&ours[0]), Err(Status::ReadOnly), "{dialect}");
        if facts.takes_keys == 1 {
            assert_eq!(filter.insert_hash(&ours[0]), Ok(false), "{dialect}");
        } else {
            assert_eq!(filter.insert_hash(&ours[0]), Err(Status::ReadOnly), "{dialect}");
            assert_eq!(filter.insert_hashes(&ours), Status::ReadOnly, "{dialect}");
        }
        assert_eq!(fields(&ours[0]).2, number(hashed_as(dialect)) as u32);
    }
}

#[test]
fn a_hash_of_another_dialect_is_an_error_and_changes_nothing() {
    let filters: Vec<(Name, Filter)> = Name::ALL
        .iter()
        .map(|&dialect| {
            let filter = create(dialect, &ten_bits(1000)).unwrap();
            filter.insert(b"key").unwrap();
            filter.finish();
            (dialect, filter)
        })
        .collect();
    for (dialect, filter) in &filters {
        let ours = filter.hash(b"key").unwrap();
        let before = filter.encode().unwrap();
        for (other, theirs) in &filters {
            let hash = theirs.hash(b"key").unwrap();
            if hashed_as(*other) == hashed_as(*dialect) {
                assert_eq!(filter.may_contain_hash(&hash), Ok(true), "{dialect} {other}");
                continue;
            }
            assert_eq!(filter.may_contain_hash(&hash), Err(Status::Hash), "{dialect} {other}");
            assert!(message().contains("this is a hash for "), "{}", message());
            // The wrong one at the end of a batch: no key before it is added or answered.
            assert_eq!(filter.answers_of_hashes(&[ours, hash]), Err(Status::Hash), "{dialect} {other}");
            if filter.facts().unwrap().takes_keys == 1 {
                let fresh = filter.hash(b"other").unwrap();
                assert_eq!(filter.insert_hash(&hash), Err(Status::Hash), "{dialect} {other}");
                assert_eq!(filter.insert_hashes(&[fresh, hash]), Status::Hash, "{dialect} {other}");
            }
        }
        assert_eq!(filter.may_contain_hash(&no_hash()), Err(Status::Hash));
        assert!(message().contains("not a hash that a filter made"), "{}", message());
        assert!(filter.encode().unwrap() == before, "{dialect}");
    }
    // While a RocksDB filter is being built, too.
    let building = create(Name::RocksDb, &ten_bits(1000)).unwrap();
    let foreign = create(Name::RocksDbLegacy, &ten_bits(1000)).unwrap().hash(b"key").unwrap();
    assert_eq!(building.insert_hash(&foreign), Err(Status::Hash));
    assert_eq!(building.insert_hashes(&[foreign]), Status::Hash);
    assert_eq!(building.may_contain_hash(&foreign), Err(Status::NotFinished));
    assert_eq!(building.answers_of_hashes(&[foreign]), Err(Status::NotFinished));
}

/// The filter of one key, built by the core and read as a C program reads it.
fn built(options: &BuildOptions) -> (Filter, Vec<u8>) {
    let mut builder = options.clone().expected_keys(100).begin().unwrap();
    builder.add(b"key");
    let bytes = builder.build().unwrap().encode();
    (decode(UNKNOWN, &bytes, (0, 0)).unwrap(), bytes)
}

#[test]
fn native_kinds_share_hashes_and_other_seeds_and_secrets_are_errors() {
    let hashings = [
        Hashing::Seed(0),
        Hashing::Seed(1),
        Hashing::Secret(Secret::new([0; 16])),
        Hashing::Secret(Secret::new([1; 16])),
    ];
    let mut filters = Vec::new();
    for (i, hashing) in hashings.iter().enumerate() {
        for kind in [Kind::Fast, Kind::Dynamic, Kind::Compact] {
            let options = BuildOptions::new(Name::Native).kind(kind).target(Target::Fpr(1e-6));
            let (filter, _) = built(&options.hashing(hashing.clone()).store_secret(i >= 2));
            filters.push((i, kind, filter));
        }
    }
    for (i, kind, filter) in &filters {
        for (j, other, theirs) in &filters {
            let (key, absent) = (theirs.hash(b"key").unwrap(), theirs.hash(b"absent").unwrap());
            let expected =
                if i == j { (Ok(true), Ok(false)) } else { (Err(Status::Hash), Err(Status::Hash)) };
            let answers = (filter.may_contain_hash(&key), filter.may_contain_hash(&absent));
            assert_eq!(answers, expected, "{i} {kind:?}, {j} {other:?}");
            if i != j {
                assert!(message().contains("another seed, secret"), "{}", message());
            }
        }
    }
    assert_eq!(fields(&filters[3].2.hash(b"key").unwrap()).1, 1, "the seed");
}

#[test]
fn spark_s_seeds_and_fingerprints_of_dynamic_filters_are_told_apart() {
    let spark = |seed| {
        let options = BuildOptions::new(Name::Spark2).target(Target::Fpr(1e-6)).seed(seed).unwrap();
        let mut builder = options.expected_keys(100).begin().unwrap();
        builder.add(b"key");
        decode(number(Name::Spark2), &builder.build().unwrap().encode(), (0, 0)).unwrap()
    };
    let (one, two) = (spark(1), spark(-2));
    assert_eq!(one.may_contain_hash(&one.hash(b"key").unwrap()), Ok(true));
    assert_eq!(one.may_contain_hash(&two.hash(b"key").unwrap()), Err(Status::Hash));

    // A fast filter made of fingerprints knows only the leading bits of each hash.
    let mut dynamic = DynamicFilter::with_fpr(100, 0.01).unwrap();
    dynamic.insert(b"key").unwrap();
    let fast = decode(UNKNOWN, &dynamic.to_fast(0.01).unwrap().encode(), (0, 0)).unwrap();
    let dynamic = decode(UNKNOWN, &dynamic.encode(), (0, 0)).unwrap();
    let (whole, leading) = (dynamic.hash(b"key").unwrap(), fast.hash(b"key").unwrap());
    assert_eq!((dynamic.may_contain_hash(&whole), fast.may_contain_hash(&leading)), (Ok(true), Ok(true)));
    assert_eq!(dynamic.may_contain_hash(&leading), Err(Status::Hash));
    assert_eq!(fast.may_contain_hash(&whole), Err(Status::Hash));
}

#[test]
fn a_locked_filter_takes_and_makes_no_hashes_until_it_has_its_secret() {
    let secret = [7u8; 16];
    for kind in [Kind::Fast, Kind::Dynamic, Kind::Compact] {
        let hashing = Hashing::Secret(Secret::new(secret));
        let options = BuildOptions::new(Name::Native).kind(kind).target(Target::Fpr(1e-6)).hashing(hashing);
        let (filter, _) = built(&options);
        let seeded = create(Name::Native, &ten_bits(1000)).unwrap().hash(b"key").unwrap();
        for hash in [no_hash(), seeded] {
            assert_eq!(filter.may_contain_hash(&hash), Err(Status::Locked));
            assert_eq!(filter.answers_of_hashes(&[hash]), Err(Status::Locked));
            assert_eq!(filter.insert_hash(&hash), Err(Status::Locked));
            assert_eq!(filter.insert_hashes(&[hash]), Status::Locked);
        }
        assert_eq!(filter.hash(b"key"), Err(Status::Locked));
        // SAFETY: a live handle, and 16 bytes.
        assert_eq!(unsafe { fullbloom_filter_unlock(filter.0, secret.as_ptr()) }, Status::Ok);
        let (key, absent) = (filter.hash(b"key").unwrap(), filter.hash(b"absent").unwrap());
        assert_eq!((filter.may_contain_hash(&key), filter.may_contain_hash(&absent)), (Ok(true), Ok(false)));
        assert_eq!(filter.may_contain_hash(&seeded), Err(Status::Hash));
    }
}

#[test]
fn filters_without_bits_answer_hashes_as_keys() {
    let everything = [0, 0, 0, 0, 0, 0]; // RocksDB's bytes for a filter that matches every key
    for dialect in [Name::RocksDb, Name::RocksDbLegacy, Name::RocksDbRibbon] {
        let hash = create(dialect, &ten_bits(1000)).unwrap().hash(b"key").unwrap();
        let foreign = create(Name::Native, &ten_bits(1000)).unwrap().hash(b"key").unwrap();
        let empty = create(dialect, &ten_bits(1000)).unwrap();
        assert_eq!(empty.finish(), Status::Ok);
        let mut filters = vec![empty, decode(number(dialect), &[], (0, 0)).unwrap()];
        filters.extend(decode(number(dialect), &everything, (0, 0)));
        for filter in filters {
            let expected = filter.may_contain(b"key");
            assert_eq!(filter.may_contain_hash(&hash), expected, "{dialect}");
            assert_eq!(filter.answers_of_hashes(&[hash]), expected.map(|yes| vec![yes]), "{dialect}");
            assert_eq!(filter.may_contain_hash(&foreign), Err(Status::Hash), "{dialect}");
            assert!(filter.hash(b"key").unwrap() == hash, "{dialect}");
            assert_eq!(filter.insert_hash(&hash), Err(Status::ReadOnly), "{dialect}");
        }
    }
}

#[test]
fn filters_with_exceptions_and_always_maybe_answer_hashes_as_keys() {
    let (members, good) = (keys(0..1000), keys(10_000..60_000));
    let mut filter = fullbloom::Filter::with_fpr(1000, 0.05).unwrap();
    filter.insert_batch(members.as_slice()).unwrap();
    let bytes = filter.with_exceptions(good.as_slice(), members.as_slice()).unwrap().encode();
    let filter = view(UNKNOWN, &bytes, (0, 0)).unwrap();
    let found = filter.answers_of_hashes(&hashes(&filter, &slices(&members))).unwrap();
    assert!(found.iter().all(|&yes| yes));
    assert!(!filter.answers_of_hashes(&hashes(&filter, &slices(&good))).unwrap().contains(&true));
    assert_eq!(filter.insert_hash(&filter.hash(b"key").unwrap()), Err(Status::ReadOnly));

    // A filter of Cassandra that is sized for the rate 1 answers "maybe" to everything.
    for &dialect in Name::ALL {
        let Ok(always) = create(dialect, &Sizing { fpr: 1.0, ..sizing(100) }) else { continue };
        if always.facts().is_ok_and(|facts| facts.probes == 0) {
            assert_eq!(always.may_contain(b"key"), Ok(true), "{dialect}");
            assert_eq!(always.may_contain_hash(&always.hash(b"key").unwrap()), Ok(true), "{dialect}");
        }
    }
}
