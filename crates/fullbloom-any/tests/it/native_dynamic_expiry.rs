//! Dynamic filters with expiry under a simulated clock: keys are remembered for at least the retention time,
//! and forgotten at most one generation later.

use fullbloom::SizeError;
use fullbloom::keys::Column;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Expiry, Keep, Mode};
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::stats::Measured;
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn by_time(millis: u64, generations: u32, refresh: bool) -> Expiry {
    Expiry { keep: Keep::Time(Duration::from_millis(millis)), generations, refresh }
}

fn filter(expiry: Expiry) -> DynamicFilter {
    DynamicFilter::new(DynamicOptions::new(64, 1e-12).mode(Mode::Expiring(expiry))).unwrap()
}

/// Inserts a key at a time.
fn insert(filter: &mut DynamicFilter, key: &[u8], now: u64) -> bool {
    filter.advance(at(now)).unwrap();
    filter.insert(key).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Time advances in small and large steps, and the state is saved and read at random. Every answer lies
    /// between what the contract requires and what it allows.
    #[test]
    fn keys_are_remembered_for_the_retention_time_and_expire_a_generation_later(
        seed: u64, keep in 1u64..5_000, generations in 1u32..12, refresh: bool, largest in 1u64..3_000
    ) {
        let mut random = SplitMix::new(seed);
        let mut now = 1_000_000 + random.below(1 << 40);
        let mut filter = filter(by_time(keep, generations, refresh));
        let part = keep.div_ceil(generations.into());
        let whole = part * u64::from(generations);
        let mut since: HashMap<u64, u64> = HashMap::new();
        for _ in 0..400 {
            now += if random.below(10) == 0 { random.below(largest) } else { random.below(1 + largest / 20) };
            if random.below(25) == 0 {
                filter = DynamicFilter::decode(&filter.encode()).unwrap();
            }
            let key = random.below(60);
            let age = since.get(&key).map(|at| now - at);
            filter.advance(at(now)).unwrap();
            let new = if random.below(2) == 0 {
                filter.insert(key.to_le_bytes()).unwrap()
            } else {
                let mut new = [false];
                filter.insert_batch_new(&Column(&[key]), &mut new).unwrap();
                new[0]
            };
            match age {
                None => prop_assert!(new, "never came"),
                Some(age) if age < keep => prop_assert!(!new, "forgotten after {age} of {keep}"),
                Some(age) if age >= whole + part => prop_assert!(new, "known after {age} of {whole} and {part}"),
                Some(_) => {}
            }
            if new || refresh {
                since.insert(key, now);
            }
            prop_assert!(filter.generations().count() == generations as usize + 1);
            for (key, at) in &since {
                let found = filter.may_contain(key.to_le_bytes());
                prop_assert!(found || now - at >= keep);
                prop_assert!(!found || now - at < whole + part);
            }
        }
    }

    #[test]
    fn by_number_the_last_keys_are_remembered_and_one_part_more(
        seed: u64, keep in 1u64..1_000, generations in 1u32..12
    ) {
        let mut random = SplitMix::new(seed);
        let expiry = Expiry { keep: Keep::Keys(keep), generations, refresh: false };
        let (mut alone, mut together) = (filter(expiry), filter(expiry));
        let part = keep.div_ceil(generations.into());
        let whole = part * u64::from(generations);
        let keys: Vec<u64> = (0..4_000).map(|_| random.below(3 * keep)).collect();
        let (mut count, mut since) = (0u64, HashMap::new());
        let mut reported = Vec::new();
        for key in &keys {
            let new = alone.insert(key.to_le_bytes()).unwrap();
            match since.get(key).map(|at| count - at) {
                None => prop_assert!(new),
                Some(age) if age < keep => prop_assert!(!new, "forgotten after {age} of {keep}"),
                Some(age) if age >= whole + part => prop_assert!(new, "known after {age} of {whole} and {part}"),
                Some(_) => {}
            }
            if new {
                count += 1;
                since.insert(*key, count);
            }
            reported.push(new);
        }
        let mut new = vec![false; keys.len()];
        for (keys, new) in keys.chunks(777).zip(new.chunks_mut(777)) {
            together.insert_batch_new(&Column(keys), new).unwrap();
        }
        prop_assert!(reported == new, "other answers in batches");
        prop_assert!(alone.encode() == together.encode(), "other bytes in batches");
    }
}

#[test]
fn a_clock_that_goes_back_a_little_stands_still_and_forgets_nothing_early() {
    let mut filter = filter(by_time(1_000, 4, false));
    insert(&mut filter, b"early", 10_000);
    insert(&mut filter, b"late", 10_900);
    assert!(!insert(&mut filter, b"early", 10_100));
    assert_eq!(filter.time(), at(10_900));
    // Two machines whose clocks differ by 800 ms take turns: time advances once, not with every turn.
    for turn in 0..50 {
        insert(&mut filter, &[turn], if turn % 2 == 0 { 10_100 } else { 10_900 } + u64::from(turn));
    }
    assert!(filter.may_contain(b"early") && filter.may_contain(b"late"));
    filter.advance(at(12_300)).unwrap();
    assert!(!filter.may_contain(b"late"), "1,400 ms and more after");
}

#[test]
fn a_clock_that_was_far_ahead_is_put_right_without_forgetting() {
    let mut filter = filter(by_time(1_000, 4, false));
    insert(&mut filter, b"from the future", 5_000_000);
    // The clock is set back by more than an hour: ages continue from their current values.
    assert!(!insert(&mut filter, b"from the future", 1_000_000));
    insert(&mut filter, b"now", 1_000_500);
    filter.advance(at(1_000_999)).unwrap();
    assert!(filter.may_contain(b"from the future") && filter.may_contain(b"now"));
    filter.advance(at(1_001_250)).unwrap();
    assert!(!filter.may_contain(b"from the future") && filter.may_contain(b"now"));
    let read = DynamicFilter::decode(&filter.encode()).unwrap();
    assert_eq!(read.time(), at(1_001_250));
}

#[test]
fn after_a_long_pause_all_is_forgotten_and_the_memory_given_back() {
    let mut filter = filter(by_time(1_000, 5, false));
    for i in 0..1_400u64 {
        insert(&mut filter, &i.to_le_bytes(), i);
    }
    let full = filter.encoded_len();
    assert_eq!(filter.generations().filter(|one| one.keys > 0).count(), 6);
    filter.advance(at(1 << 40)).unwrap();
    assert_eq!((filter.keys(), filter.fingerprints().unwrap().count()), (0, 0));
    assert!(!filter.may_contain(7u64.to_le_bytes()));
    // The state of that time can be read and used.
    let mut read = DynamicFilter::decode(&filter.encode()).unwrap();
    assert!(insert(&mut read, &7u64.to_le_bytes(), (1 << 40) + 1));
    assert!(read.encoded_len() < full / 3, "{} of {full}", read.encoded_len());
    // Times before 1970 and in the far future do no harm.
    read.advance(UNIX_EPOCH - Duration::from_secs(1)).unwrap();
    read.advance(UNIX_EPOCH + Duration::from_secs(1 << 40)).unwrap();
    assert!(insert(&mut read, b"x", 0));
}

#[test]
fn the_rate_of_all_generations_together_is_the_stated_one_and_below_the_promised_one() {
    let options = DynamicOptions::new(100, 0.01).up_to(12_000).mode(Mode::Expiring(by_time(1_000, 4, false)));
    let mut filter = DynamicFilter::new(options).unwrap();
    let mut next = 0u64;
    for step in 0..40 {
        // The load changes.
        let some: Vec<u64> = (next..next + 200 * (1 + step % 7)).collect();
        next += some.len() as u64;
        filter.advance(at(100 * step)).unwrap();
        filter.insert_batch(&Column(&some)).unwrap();
        assert!(filter.keys() <= 12_000 && filter.expected_fpr() < 0.01, "{}", filter.expected_fpr());
    }
    let absent: Vec<u64> = (0..500_000).map(|i| (1 << 50) + i).collect();
    let measured = Measured { lookups: 500_000, hits: filter.count_batch(&Column(&absent)).unwrap() };
    measured.assert_within_3_sigma(filter.expected_fpr(), "all generations");
}

#[test]
fn invalid_expiries_are_refused() {
    for expiry in [
        by_time(0, 5, false),
        by_time(5, 0, false),
        by_time(5, 201, false),
        Expiry::of(Keep::Keys(0)),
        Expiry::of(Keep::Time(Duration::ZERO)),
    ] {
        let refused = DynamicFilter::new(DynamicOptions::new(1, 0.01).mode(Mode::Expiring(expiry)));
        assert!(matches!(refused, Err(SizeError::Count { .. })), "{expiry:?}");
    }
}

#[test]
fn at_the_end_of_time_keys_are_still_taken_and_found() {
    for keep in [1, 5_000, u64::MAX] {
        let mut filter = filter(by_time(keep, 3, false));
        for now in [u64::MAX / 2, u64::MAX / 2 + 10_000, u64::MAX / 2 + 20_000] {
            insert(&mut filter, &now.to_le_bytes(), now);
            assert!(filter.may_contain(now.to_le_bytes()));
        }
        filter.advance_millis(u64::MAX).unwrap();
        filter.insert(b"last").unwrap();
        assert!(filter.may_contain(b"last"));
        assert!(DynamicFilter::decode(&filter.encode()).unwrap().may_contain(b"last"));
    }
}

#[test]
fn with_refresh_no_key_is_forgotten_early_even_at_a_high_rate() {
    let options = DynamicOptions::new(1_000, 0.3).mode(Mode::Expiring(by_time(1_000, 4, true)));
    let mut filter = DynamicFilter::new(options).unwrap();
    for round in 0..40u64 {
        for key in 0..200 {
            insert(&mut filter, &(round * 1_000 + key).to_le_bytes(), round * 100);
        }
        for earlier in round.saturating_sub(9)..=round {
            let found =
                (0..200).filter(|key| filter.may_contain((earlier * 1_000 + key).to_le_bytes())).count();
            assert_eq!(found, 200, "of round {earlier} in {round}");
        }
    }
}

#[test]
fn the_label_outlives_the_keys_it_was_set_with() {
    let mut filter = filter(by_time(1_000, 2, false));
    filter.set_label("mine");
    for now in [0u64, 600, 1_200] {
        insert(&mut filter, &now.to_le_bytes(), now);
    }
    let mut read = DynamicFilter::decode(&filter.encode()).unwrap();
    for now in [5_000, 6_000, 7_000u64] {
        insert(&mut read, &now.to_le_bytes(), now);
    }
    assert_eq!(read.label(), "mine");
}
