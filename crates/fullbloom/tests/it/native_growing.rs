//! Growing filters: new keys across all links, the rate at any size, merging, folding.

use fullbloom::NativeFilter;
use fullbloom::keys::{Column, Hashes};
use fullbloom::native::{GrowingFilter, Hashing, Secret, Sizing, StoredFilter};
use fullbloom::sizing::{Request, Target};
use fullbloom::{MergeError, SizeError};
use fullbloom_testkit::keys::{SplitMix, mix};
use fullbloom_testkit::stats::Measured;
use proptest::prelude::*;
use std::collections::HashSet;

/// Looks up absent keys in pieces. Returns how many the filter reports present.
fn measure(filter: &GrowingFilter, lookups: u64) -> Measured {
    let mut hits = 0;
    for start in (0..lookups).step_by(100_000) {
        let keys: Vec<u64> = (start..(start + 100_000).min(lookups)).map(|i| (1 << 60) + i).collect();
        hits += filter.count_batch(&Column(&keys));
    }
    Measured { lookups, hits }
}

fn grow(filter: &mut GrowingFilter, from: u64, to: u64) -> u64 {
    let mut new = 0;
    for start in (from..to).step_by(100_000) {
        let keys: Vec<u64> = (start..(start + 100_000).min(to)).collect();
        new += filter.insert_batch(&Column(&keys)).unwrap();
    }
    new
}

/// Grows a filter from a thousand keys and checks its rate at every power of ten.
fn rates_while_growing(to: u64, lookups: u64) {
    for fpr in [0.01, 1e-4] {
        let mut filter = GrowingFilter::with_fpr(1_000, fpr).unwrap();
        let (mut keys, mut new) = (0, 0);
        while keys < to {
            let next = (keys * 10).max(1_000);
            new += grow(&mut filter, keys, next);
            keys = next;
            let measured = measure(&filter, lookups);
            let expected = filter.expected_fpr();
            assert!(expected < fpr, "{keys} keys: {expected} is expected where {fpr} was requested");
            assert!(measured.rate() < fpr, "{keys} keys: {measured:?} where {fpr} was requested");
            measured.assert_within_3_sigma(expected, &format!("{keys} keys"));
            println!(
                "{keys} keys, {} links, {:.1} bits per key: requested {fpr:e}, expected {expected:.3e}, measured {:.3e}",
                filter.links().len(),
                8.0 * filter.encoded_len() as f64 / keys as f64,
                measured.rate()
            );
        }
        // Keys that were reported as known when they were inserted are false positives, no more than the
        // requested rate allows.
        assert_eq!(new, filter.keys());
        let lost = keys - new;
        assert!((lost as f64) < fpr * keys as f64, "{lost} of {keys}");
        for start in (0..keys).step_by(100_000) {
            let keys: Vec<u64> = (start..(start + 100_000).min(keys)).collect();
            assert_eq!(filter.count_batch(&Column(&keys)), keys.len() as u64, "a key is lost");
        }
    }
}

#[test]
fn the_rate_stays_below_the_requested_one_up_to_a_million_keys() {
    rates_while_growing(1_000_000, 1_000_000);
}

#[test]
#[ignore = "a minute: cargo test --release -p fullbloom --test it native_growing:: -- --ignored --nocapture"]
fn the_rate_stays_below_the_requested_one_up_to_a_hundred_million_keys() {
    rates_while_growing(100_000_000, 10_000_000);
}

#[test]
fn new_is_reported_across_all_links_and_known_keys_are_never_new() {
    let mut filter = GrowingFilter::with_fpr(1_000, 1e-6).unwrap();
    let (mut exact, mut lost) = (HashSet::new(), 0);
    for start in (0..400_000).step_by(10_000) {
        // Every key is inserted twice, the second time 10,000 keys later.
        let hashes: Vec<u64> = (start..start + 20_000u64).map(mix).collect();
        let mut new = vec![false; hashes.len()];
        let count = filter.insert_batch_new(&Hashes(&hashes), &mut new).unwrap();
        assert_eq!(count, new.iter().filter(|new| **new).count() as u64);
        for (hash, new) in hashes.iter().zip(&new) {
            let first = exact.insert(*hash);
            assert!(first || !new, "a known key is never new");
            lost += u64::from(first && !new);
        }
    }
    assert_eq!(filter.keys() + lost, exact.len() as u64);
    assert!(lost <= 5, "{lost} of {} lost at one in a million", exact.len());
    assert!(filter.links().iter().rev().skip(1).all(|link| link.keys() == link.expected_keys()), "full");
    assert!(filter.links().len() >= 9 && !filter.links().iter().any(NativeFilter::is_overfull));
}

proptest! {
    #[test]
    fn the_chain_is_the_same_however_the_keys_are_cut(
        first in 1u64..200, seed: u64, keys in 0usize..3000, distinct in 1u64..3000, cuts in prop::collection::vec(0usize..1500, 0..9)
    ) {
        let mut random = SplitMix::new(seed);
        let hashes: Vec<u64> = (0..keys).map(|_| mix(random.below(distinct))).collect();
        let mut alone = GrowingFilter::with_fpr(first, 0.01).unwrap();
        let reported: Vec<bool> = hashes.iter().map(|&hash| alone.insert_hash(hash).unwrap()).collect();
        let mut together = GrowingFilter::with_fpr(first, 0.01).unwrap();
        let mut new = Vec::new();
        let mut rest = hashes.as_slice();
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (some, later) = rest.split_at(cut.min(rest.len()));
            let mut answers = vec![false; some.len()];
            together.insert_batch_new(&Hashes(some), &mut answers).unwrap();
            new.extend(answers);
            rest = later;
        }
        prop_assert!(reported == new, "other answers in batches");
        prop_assert!(alone.encode() == together.encode(), "other bytes in batches");
        let mut answers = vec![false; hashes.len()];
        together.may_contain_batch(&Hashes(&hashes), &mut answers);
        prop_assert!(answers.iter().all(|answer| *answer));
        prop_assert!(together.planned_fpr() > together.links().iter().map(NativeFilter::planned_fpr).sum::<f64>());
    }
}

#[test]
fn merged_chains_have_the_keys_of_both_and_grow_on_under_the_sum_of_their_rates() {
    let mut ours = GrowingFilter::with_fpr(1_000, 0.001).unwrap();
    let mut theirs = GrowingFilter::with_fpr(500, 0.002).unwrap();
    grow(&mut ours, 0, 10_000);
    grow(&mut theirs, 8_000, 30_000);
    ours.set_label("both");
    ours.merge(&theirs).unwrap();
    assert_eq!(ours.count_batch(&Column(&(0..30_000).collect::<Vec<u64>>())), 30_000);
    assert!(ours.keys_are_estimated() && ours.label() == "both");
    assert!((ours.planned_fpr() - 0.003).abs() < 1e-12);
    grow(&mut ours, 30_000, 300_000);
    assert!(ours.expected_fpr() < 0.003);
    assert!(measure(&ours, 1_000_000).rate() < 0.003);
    let read = GrowingFilter::decode(&ours.encode()).unwrap();
    assert_eq!(read.encode(), ours.encode());
    let other = GrowingFilter::new(10, 0.01, Hashing::Seed(1)).unwrap();
    assert!(matches!(ours.merge(&other), Err(MergeError::Differs { what: "the seed", .. })));
}

#[test]
fn one_link_is_a_plain_filter_and_several_are_not() {
    let mut filter = GrowingFilter::with_fpr(1_000, 0.01).unwrap();
    grow(&mut filter, 0, 900);
    let fast = filter.into_fast().unwrap();
    assert_eq!(fast.keys(), NativeFilter::decode(&fast.encode()).unwrap().keys());
    let mut filter = GrowingFilter::with_fpr(1_000, 0.01).unwrap();
    grow(&mut filter, 0, 1_200);
    assert_eq!(filter.into_fast().unwrap_err().links().len(), 2);
}

#[test]
fn invalid_rates_are_refused_and_very_low_ones_end_where_hashes_collide() {
    for fpr in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            matches!(GrowingFilter::with_fpr(10, fpr), Err(SizeError::Value { what: "fpr", .. })),
            "{fpr}"
        );
    }
    assert!(matches!(GrowingFilter::with_fpr(1 << 40, 1e-12), Err(SizeError::Unreachable { .. })));
    assert_eq!(GrowingFilter::with_fpr(0, 0.01).unwrap().first_keys(), 1);
}

#[test]
fn a_large_filter_is_folded_to_the_size_of_its_keys() {
    let request = Request { expected_keys: 1_000_000, target: Target::Fpr(0.001) };
    let plan = Sizing::new(&request).unwrap().foldable(10).unwrap();
    assert!(plan.blocks.is_multiple_of(1024) && plan.expected_fpr <= 0.001);
    for keys in [0u64, 1, 1_000, 30_000, 400_000, 1_000_000] {
        let mut filter = NativeFilter::with_sizing(&plan, Hashing::default()).unwrap();
        let numbers: Vec<u64> = (0..keys).collect();
        filter.insert_batch(&Column(&numbers));
        let folded = filter.folded_to(0.001).unwrap();
        assert_eq!(folded.count_batch(&Column(&numbers)), keys, "a key is lost");
        assert!(folded.fpr_with(folded.keys()) <= 0.001);
        let blocks = folded.blocks();
        let halved = folded.layout().expected_fpr(folded.keys() as f64, blocks / 2);
        assert!(blocks % 2 == 1 || blocks == filter.blocks() >> 10 || halved > 0.00099, "could be smaller");
    }
    assert!(Sizing::new(&request).unwrap().foldable(60).is_err());
}

#[test]
#[should_panic(expected = "the filter is locked")]
fn a_locked_chain_takes_no_keys_under_another_hash() {
    let mut filter = GrowingFilter::new(100, 0.01, Hashing::Secret(Secret::new([7; 16]))).unwrap();
    filter.insert(b"key").unwrap();
    let Ok(StoredFilter::Growing(mut locked)) = StoredFilter::decode(&filter.encode()) else {
        panic!("a growing filter is read")
    };
    assert!(locked.is_locked() && locked.may_contain(b"other"));
    let _ = locked.insert(b"more");
}
