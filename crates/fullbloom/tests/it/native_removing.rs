//! Removing filters against an exact model: no present key is ever reported absent.

use fullbloom::NativeFilter;
use fullbloom::keys::{Column, Hashes};
use fullbloom::native::{Hashing, RemovingFilter, Sizing};
use fullbloom::sizing::{Request, Target};
use fullbloom_testkit::keys::{SplitMix, mix};
use std::collections::HashMap;

fn empty(expected_keys: u64, target: Target) -> RemovingFilter {
    let plan = Sizing::new(&Request { expected_keys, target }).unwrap();
    RemovingFilter::with_sizing(&plan, Hashing::default()).unwrap()
}

/// Random insertions, and removals of present keys; at intervals all present keys are looked up.
fn against_the_model(mut filter: RemovingFilter, operations: u64, universe: u64, seed: u64) {
    let mut random = SplitMix::new(seed);
    let mut exact: HashMap<u64, u32> = HashMap::new();
    let mut held: Vec<u64> = Vec::new();
    for step in 0..operations {
        // Waves: mostly insertions, then mostly removals.
        let inserts = if (step / (operations / 6)).is_multiple_of(2) { 70 } else { 40 };
        if held.is_empty() || random.below(100) < inserts {
            let hash = mix(random.below(universe));
            let known = filter.filter().may_contain_hash(hash);
            assert_eq!(filter.insert_hash(hash), !known);
            *exact.entry(hash).or_default() += 1;
            held.push(hash);
        } else {
            let hash = held.swap_remove(random.below(held.len() as u64) as usize);
            assert!(filter.remove_hash(hash), "an inserted key is refused");
            let count = exact.get_mut(&hash).unwrap();
            *count -= 1;
            if *count == 0 {
                exact.remove(&hash);
            }
        }
        // Removing a key that is certainly absent is refused, and nothing changes.
        if step % 100 == 0 {
            let absent = mix((1 << 50) + step);
            if !filter.filter().may_contain_hash(absent) {
                assert!(!filter.remove_hash(absent));
            }
        }
        if step % (operations / 50) == 0 || step == operations - 1 {
            let present: Vec<u64> = exact.keys().copied().collect();
            assert_eq!(filter.filter().count_batch(&Hashes(&present)), present.len() as u64, "a key is lost");
            assert_eq!(filter.keys(), held.len() as u64);
        }
    }
    // With all keys removed the filter is empty again, unless counters were full.
    for hash in held {
        assert!(filter.remove_hash(hash));
    }
    assert_eq!(filter.keys(), 0);
    if filter.full_counters() == 0 {
        assert_eq!(filter.filter().count_ones(), 0);
        assert!(filter.encode().iter().rev().take(filter.filter().bits().len() * 5).all(|byte| *byte == 0));
    }
}

#[test]
fn a_million_random_operations_lose_no_present_key() {
    against_the_model(empty(150_000, Target::Fpr(0.01)), 1_000_000, 1 << 40, 1);
}

#[test]
fn crowded_filters_and_repeated_keys_lose_none_either() {
    // Few keys inserted repeatedly, in filters far too small: counters become full.
    against_the_model(empty(500, Target::Fpr(0.01)), 100_000, 300, 2);
    against_the_model(empty(2_000, Target::Exact { bit_len: 64 * 512, probes: 14 }), 100_000, 50_000, 3);
    against_the_model(empty(2_000, Target::Exact { bit_len: 4 * 512, probes: 32 }), 60_000, 5_000, 4);
}

#[test]
fn batches_do_what_keys_one_by_one_do() {
    for (bit_len, probes) in [(512, 3), (37 * 512, 6), (5000 * 512, 8), (64 * 512, 14), (24 * 512, 28)] {
        let target = Target::Exact { bit_len, probes };
        let (mut alone, mut together) = (empty(1000, target), empty(1000, target));
        let mut random = SplitMix::new(bit_len);
        for len in [0, 1, 63, 64, 65, 1000] {
            let keys: Vec<u64> = (0..len).map(|_| random.below(700)).collect();
            let mut new = vec![false; keys.len()];
            let count = together.insert_batch_new(&Column(&keys), &mut new);
            assert_eq!(count, new.iter().filter(|new| **new).count() as u64);
            for (key, new) in keys.iter().zip(new) {
                assert_eq!(alone.insert(&key.to_le_bytes()), new);
            }
            assert!(alone.encode() == together.encode());
            // Some present, some absent, some twice.
            let gone: Vec<u64> = (0..len / 2).map(|_| random.below(1000)).collect();
            let mut removed = vec![false; gone.len()];
            let count = together.remove_batch_told(&Column(&gone), &mut removed);
            assert_eq!(count, removed.iter().filter(|removed| **removed).count() as u64);
            for (key, removed) in gone.iter().zip(removed) {
                assert_eq!(alone.remove(&key.to_le_bytes()), removed);
            }
            assert!(alone.encode() == together.encode());
        }
    }
}

#[test]
fn the_plain_filter_of_it_has_the_bits_of_one_that_got_the_same_keys() {
    let keys: Vec<u64> = (0..10_000).collect();
    let mut removing = RemovingFilter::with_fpr(10_000, 0.001).unwrap();
    let mut fast = NativeFilter::with_fpr(10_000, 0.001).unwrap();
    removing.insert_batch(&Column(&keys));
    assert_eq!(removing.remove_batch(&Column(&keys[5_000..])), 5_000);
    fast.insert_batch(&Column(&keys[..5_000]));
    assert_eq!(removing.to_fast().unwrap().bits(), fast.bits());
    assert_eq!(removing.into_fast().bits(), fast.bits());
}

#[test]
fn merged_counters_are_those_of_all_insertions() {
    let target = Target::Exact { bit_len: 20 * 512, probes: 6 };
    let (mut ours, mut theirs, mut both) = (empty(500, target), empty(500, target), empty(500, target));
    let mut random = SplitMix::new(5);
    for i in 0..4_000u64 {
        let key = random.below(300).to_le_bytes(); // often, so that counters become full
        if i % 3 == 0 {
            ours.insert(&key)
        } else {
            theirs.insert(&key)
        };
        both.insert(&key);
    }
    ours.merge(&theirs).unwrap();
    assert!(ours.encode() == both.encode());
    assert!(ours.full_counters() > 0);
    assert!(ours.merge(&empty(500, Target::Exact { bit_len: 21 * 512, probes: 6 })).is_err());
    both.clear();
    assert!(both.encode() == empty(500, target).encode());
}
