//! Keys chosen by an adversary: forged keys fool every filter whose hash is public, and not the keyed one.

use fullbloom_dialects::Filter;

use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_core::hash::fold64;
use fullbloom_dialects::Cassandra;
use fullbloom_dialects::hash::murmur3_cassandra;
use fullbloom_testkit::forge;
use fullbloom_testkit::stats::Measured;

const KEYS: u64 = 100_000;
const FORGED: u64 = 1_000_000;

fn keys() -> Vec<String> {
    (0..KEYS).map(|i| format!("user-{i}")).collect()
}

fn native(hashing: Hashing) -> fullbloom::Filter {
    let request = Request { expected_keys: KEYS, target: Target::Fpr(0.01) };
    let mut filter = fullbloom::Filter::with_sizing(&Sizing::new(&request).unwrap(), hashing).unwrap();
    filter.insert_batch(keys().as_slice()).unwrap();
    filter
}

/// How often the filter reports these keys, none of which is in it, present.
fn measure(filter: &fullbloom::Filter, keys: &[[u8; 32]]) -> Measured {
    let mut answers = vec![false; keys.len()];
    filter.may_contain_batch_into(keys, &mut answers).unwrap();
    Measured::of(answers)
}

/// Keys that were not forged.
fn chance() -> Vec<[u8; 32]> {
    (0..FORGED).map(|i| forge::fold64(!0, fold64(&i.to_le_bytes(), 7), i)).collect()
}

#[test]
fn keys_forged_from_one_known_key_and_the_public_seed_all_pass_an_unkeyed_filter() {
    for seed in [0, 17] {
        let filter = native(Hashing::Seed(seed));
        let target = fold64(b"user-17", seed);
        let forged: Vec<[u8; 32]> = (0..FORGED).map(|number| forge::fold64(seed, target, number)).collect();
        assert_eq!(measure(&filter, &forged), Measured { lookups: FORGED, hits: FORGED }, "seed {seed}");
        // The reason is not that the filter is full.
        measure(&filter, &chance()).assert_within_3_sigma(filter.expected_fpr(), "keys that were not forged");
    }
}

#[test]
fn keys_forged_from_one_known_key_all_pass_a_cassandra_filter() {
    let mut filter = Filter::<Cassandra>::with_fpr(KEYS, 0.01).unwrap();
    filter.insert_batch(&keys()).unwrap();
    let target = murmur3_cassandra(b"user-17");
    let forged: Vec<[u8; 32]> = (0..FORGED).map(|number| forge::murmur3(target, number)).collect();
    let hits = forged.iter().filter(|key| filter.may_contain(&key[..])).count() as u64;
    assert_eq!(hits, FORGED);
    let hits = chance().iter().filter(|key| filter.may_contain(&key[..])).count();
    assert!(hits < FORGED as usize / 50, "{hits} by chance");
}

#[test]
fn the_same_forged_keys_pass_a_keyed_filter_no_more_often_than_others() {
    let filter = native(Hashing::Secret(Secret::new(*b"not in the file!")));
    for seed in [0, 17] {
        let target = fold64(b"user-17", seed);
        let forged: Vec<[u8; 32]> = (0..FORGED).map(|number| forge::fold64(seed, target, number)).collect();
        measure(&filter, &forged).assert_within_3_sigma(filter.expected_fpr(), "forged for fold64");
    }
    let target = murmur3_cassandra(b"user-17");
    let forged: Vec<[u8; 32]> = (0..FORGED).map(|number| forge::murmur3(target, number)).collect();
    measure(&filter, &forged).assert_within_3_sigma(filter.expected_fpr(), "forged for Murmur3");
}

#[test]
fn keys_found_by_querying_one_keyed_filter_do_not_help_against_another() {
    let one = native(Hashing::Secret(Secret::new([1; 16])));
    let other = native(Hashing::Secret(Secret::new([2; 16])));
    let learnt: Vec<[u8; 32]> = chance().into_iter().filter(|key| one.may_contain(key)).collect();
    assert!(learnt.len() > 9000, "about one in a hundred");
    measure(&other, &learnt).assert_within_3_sigma(other.expected_fpr(), "keys that passed another secret");
}
