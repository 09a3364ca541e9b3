//! The kinds of the native filter against the second implementation: files byte for byte, both ways.

use crate::common;
use fullbloom::dialect::Name;
use fullbloom::native::{
    GrowingFilter, Hashing, Keep, RemovingFilter, RotatingFilter, Rotation, Secret, Sizing, StoredFilter,
};
use fullbloom::sizing::{Request, Target};
use fullbloom::{DecodeError, sniff};
use fullbloom_testkit::vectors::{self, Record};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn keys() -> Vec<String> {
    (0..100).map(|i| format!("key-{i}")).collect()
}

fn secret() -> Secret {
    Secret::new(vectors::json("native/hash.json").hex("secret").try_into().unwrap())
}

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// Checks that hold for every kind: it is detected, read, and written again unchanged.
#[track_caller]
fn the_same_again(golden: &[u8], ours: &[u8], kind: &str) {
    assert!(ours == golden, "other bytes than the second implementation's");
    assert_eq!(sniff::dialect(None, golden), Ok(Name::Native));
    let stored = StoredFilter::decode(golden).unwrap();
    assert_eq!(stored.kind(), kind);
    let mut again = Vec::new();
    stored.write_to(&mut again).unwrap();
    assert!(again == golden, "read and written again");
    assert_eq!(common::view(Name::Native, golden, None).unwrap().encoded_len(), golden.len() as u64);
}

#[test]
fn growing_filters_are_written_as_by_the_second_implementation() {
    let golden = vectors::bytes("native/growing.bloom");
    let mut alone = GrowingFilter::with_fpr(10, 0.01).unwrap();
    let mut together = GrowingFilter::with_fpr(10, 0.01).unwrap();
    for _ in 0..2 {
        for key in keys() {
            alone.insert(key.as_bytes()).unwrap();
        }
        together.insert_batch(keys().as_slice()).unwrap();
    }
    for mut ours in [alone, together] {
        ours.set_label("grows");
        assert_eq!(ours.links().len(), 4);
        the_same_again(&golden, &ours.encode(), "growing");
    }
    let read = GrowingFilter::decode(&golden).unwrap();
    assert!(keys().iter().all(|key| read.may_contain(key.as_bytes())));
    assert_eq!((read.label(), read.planned_fpr(), read.first_keys()), ("grows", 0.01, 10));
}

#[test]
fn a_keyed_chain_needs_its_secret_and_goes_on_with_it() {
    let golden = vectors::bytes("native/growing-keyed.bloom");
    let mut ours = GrowingFilter::new(10, 0.01, Hashing::Secret(secret())).unwrap();
    ours.insert_batch(&keys()[..25]).unwrap();
    the_same_again(&golden, &ours.encode(), "growing");
    assert!(matches!(GrowingFilter::decode(&golden), Err(DecodeError::Unknown { .. })));
    let StoredFilter::Growing(locked) = StoredFilter::view(&golden).unwrap() else { panic!() };
    assert!(locked.is_locked() && locked.may_contain(b"anything"));
    let mut answers = [false; 2];
    locked.may_contain_batch(["a", "b"].as_slice(), &mut answers);
    assert_eq!(answers, [true; 2]);
    assert!(GrowingFilter::decode_keyed(&golden, &Secret::new([0; 16])).is_err());
    let mut read = GrowingFilter::decode_keyed(&golden, &secret()).unwrap();
    assert!(read.may_contain(b"key-24") && !read.may_contain(b"key-25"));
    assert_eq!(read.insert_batch(keys().as_slice()).unwrap(), 75);
    ours.insert_batch(&keys()[25..]).unwrap();
    assert_eq!(read.encode(), ours.encode());
}

fn removing(bit_len: u64, probes: u32, seed: u64) -> RemovingFilter {
    let target = Target::Exact { bit_len, probes };
    let plan = Sizing::new(&Request { expected_keys: 100, target }).unwrap();
    let mut filter = RemovingFilter::with_sizing(&plan, Hashing::Seed(seed)).unwrap();
    filter.insert_batch(keys().as_slice());
    filter.insert(b"key-0");
    filter.insert_batch(&["key-1"; 20][..]);
    filter
}

#[test]
fn removing_filters_are_written_as_by_the_second_implementation() {
    let golden = vectors::bytes("native/removing.bloom");
    let mut ours = removing(1024, 7, 5);
    assert_eq!(ours.remove_batch(&keys()[50..60]), 10);
    assert!(ours.remove(b"key-0"));
    assert_eq!(ours.remove_batch(&["key-1"; 20][..]), 20);
    ours.set_label("shrinks");
    the_same_again(&golden, &ours.encode(), "removing");
    assert_eq!((ours.keys(), ours.full_counters() > 0), (90, true));

    let golden = vectors::bytes("native/removing-two-lines.bloom");
    let mut ours = removing(8 * 512, 14, 0);
    let mut removed = [false; 10];
    ours.remove_batch_told(&keys()[50..60], &mut removed);
    assert_eq!(removed, [true; 10]);
    the_same_again(&golden, &ours.encode(), "removing");
    let mut read = RemovingFilter::decode(&golden).unwrap();
    let here = |i: &usize| !(50..60).contains(i);
    assert!((0..100).filter(here).all(|i| read.may_contain(keys()[i].as_bytes())));
    assert!(read.remove(b"key-99"));
    let fast = read.into_fast();
    assert_eq!((fast.keys(), fast.keys_are_estimated()), (110, true));
}

#[test]
fn rotating_filters_are_written_as_by_the_second_implementation() {
    let golden = vectors::bytes("native/rotating-time.bloom");
    let rotation = Rotation { generations: 2, ..Rotation::of(Keep::Time(Duration::from_secs(10))) };
    let mut ours = RotatingFilter::new(rotation, 12, 0.02, at(1_000_000)).unwrap();
    for (i, key) in keys()[..46].iter().enumerate() {
        assert!(ours.insert(key.as_bytes(), at(1_000_000 + 500 * i as u64)).unwrap());
    }
    assert!(!ours.insert(b"key-45", at(1_022_900)).unwrap(), "known");
    assert!(ours.insert(b"key-0", at(1_023_000)).unwrap(), "forgotten");
    ours.set_label("turns");
    the_same_again(&golden, &ours.encode(), "rotating");
    let read = RotatingFilter::decode(&golden).unwrap();
    let opened: Vec<SystemTime> = read.generations().map(|one| one.opened()).collect();
    assert_eq!(opened, [at(1_020_000), at(1_015_000), at(1_010_000)]);
    assert_eq!((read.time(), read.rotation(), read.label()), (at(1_023_000), rotation, "turns"));

    let golden = vectors::bytes("native/rotating-keys.bloom");
    let rotation = Rotation { keep: Keep::Keys(40), generations: 4, refresh: true };
    let coming: Vec<String> = [&keys()[..70], &keys()[55..75]].concat();
    let hashing = || Hashing::Secret(secret());
    let mut alone = RotatingFilter::with_hashing(rotation, 0, 0.01, hashing(), at(5)).unwrap();
    let mut together = RotatingFilter::with_hashing(rotation, 0, 0.01, hashing(), at(5)).unwrap();
    let mut new = vec![false; coming.len()];
    together.insert_batch_new(coming.as_slice(), &mut new, at(5)).unwrap();
    for (key, new) in coming.iter().zip(new) {
        assert_eq!(alone.insert(key.as_bytes(), at(5)).unwrap(), new, "{key}");
    }
    for mut ours in [alone, together] {
        ours.store_secret(true);
        the_same_again(&golden, &ours.encode(), "rotating");
    }
    let read = RotatingFilter::decode(&golden).unwrap();
    assert!(keys()[55..75].iter().all(|key| read.may_contain(key.as_bytes())));
    assert!(!read.may_contain(b"key-0"));
}
