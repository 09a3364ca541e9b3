//! Rotating filters under a simulated clock: remembered for at least the retention time, expired soon after.

use fullbloom::SizeError;
use fullbloom::keys::Column;
use fullbloom::native::{GrowingFilter, Keep, RotatingFilter, Rotation, StoredFilter};
use fullbloom_testkit::keys::SplitMix;
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn by_time(millis: u64, generations: u32, refresh: bool) -> Rotation {
    Rotation { keep: Keep::Time(Duration::from_millis(millis)), generations, refresh }
}

fn filter(rotation: Rotation, now: u64) -> RotatingFilter {
    RotatingFilter::new(rotation, 64, 1e-9, at(now)).unwrap()
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
        let mut filter = filter(by_time(keep, generations, refresh), now);
        let part = keep.div_ceil(generations.into());
        let mut since: HashMap<u64, u64> = HashMap::new();
        for _ in 0..400 {
            now += if random.below(10) == 0 { random.below(largest) } else { random.below(1 + largest / 20) };
            if random.below(25) == 0 {
                filter = RotatingFilter::decode(&filter.encode()).unwrap();
            }
            let key = random.below(60);
            let age = since.get(&key).map(|at| now - at);
            let new = if random.below(2) == 0 {
                filter.insert(&key.to_le_bytes(), at(now)).unwrap()
            } else {
                let mut new = [false];
                filter.insert_batch_new(&Column(&[key]), &mut new, at(now)).unwrap();
                new[0]
            };
            match age {
                None => prop_assert!(new, "never came"),
                Some(age) if age < keep => prop_assert!(!new, "forgotten after {age} of {keep}"),
                Some(age) if age >= keep + part => prop_assert!(new, "known after {age} of {keep} and {part}"),
                Some(_) => {}
            }
            if new || refresh {
                since.insert(key, now);
            }
            prop_assert!(filter.generations().count() <= generations as usize + 1);
            for (key, at) in &since {
                let found = filter.may_contain(&key.to_le_bytes());
                prop_assert!(found || now - at >= keep);
                prop_assert!(!found || now - at < keep + part);
            }
        }
    }

    #[test]
    fn by_number_the_last_keys_are_remembered_and_one_part_more(
        seed: u64, keep in 1u64..1_000, generations in 1u32..12
    ) {
        let mut random = SplitMix::new(seed);
        let rotation = Rotation { keep: Keep::Keys(keep), generations, refresh: false };
        let (mut alone, mut together) = (filter(rotation, 5), filter(rotation, 5));
        let part = keep.div_ceil(generations.into());
        let whole = part * u64::from(generations);
        let keys: Vec<u64> = (0..4_000).map(|_| random.below(3 * keep)).collect();
        let (mut count, mut since) = (0u64, HashMap::new());
        let mut reported = Vec::new();
        for key in &keys {
            let new = alone.insert(&key.to_le_bytes(), at(5)).unwrap();
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
            together.insert_batch_new(&Column(keys), new, at(5)).unwrap();
        }
        prop_assert!(reported == new, "other answers in batches");
        prop_assert!(alone.encode() == together.encode(), "other bytes in batches");
    }
}

#[test]
fn a_clock_that_goes_back_a_little_stands_still_and_forgets_nothing_early() {
    let mut filter = filter(by_time(1_000, 4, false), 10_000);
    filter.insert(b"early", at(10_000)).unwrap();
    filter.insert(b"late", at(10_900)).unwrap();
    assert!(!filter.insert(b"early", at(10_100)).unwrap());
    assert_eq!(filter.time(), at(10_900));
    // Two machines whose clocks differ by 800 ms take turns: time advances once, not with every turn.
    for turn in 0..50 {
        filter.insert(&[turn], at(if turn % 2 == 0 { 10_100 } else { 10_900 } + u64::from(turn))).unwrap();
    }
    assert!(filter.may_contain(b"early") && filter.may_contain(b"late"));
    filter.advance(at(12_300));
    assert!(!filter.may_contain(b"late"), "1,400 ms and more after");
}

#[test]
fn a_clock_that_was_far_ahead_is_put_right_without_forgetting() {
    let mut filter = filter(by_time(1_000, 4, false), 5_000_000);
    filter.insert(b"from the future", at(5_000_000)).unwrap();
    // The clock is set back by more than an hour: ages continue from their current values.
    assert!(!filter.insert(b"from the future", at(1_000_000)).unwrap());
    filter.insert(b"now", at(1_000_500)).unwrap();
    filter.advance(at(1_000_999));
    assert!(filter.may_contain(b"from the future") && filter.may_contain(b"now"));
    filter.advance(at(1_001_250));
    assert!(!filter.may_contain(b"from the future") && filter.may_contain(b"now"));
    let read = RotatingFilter::decode(&filter.encode()).unwrap();
    assert_eq!(read.time(), at(1_001_250));
}

#[test]
fn after_a_long_pause_all_is_forgotten_and_the_memory_given_back() {
    let mut filter = filter(by_time(1_000, 5, false), 0);
    for i in 0..1_400u64 {
        filter.insert(&i.to_le_bytes(), at(i)).unwrap();
    }
    let full = filter.encoded_len();
    assert_eq!(filter.generations().count(), 6);
    filter.advance(at(1 << 40));
    assert_eq!((filter.generations().count(), filter.keys()), (0, 0));
    assert!(!filter.may_contain(&7u64.to_le_bytes()));
    // The state of that time can be read and used.
    let mut read = RotatingFilter::decode(&filter.encode()).unwrap();
    assert!(read.insert(&7u64.to_le_bytes(), at((1 << 40) + 1)).unwrap());
    assert!(read.encoded_len() < full / 3, "{} of {full}", read.encoded_len());
    // Times before 1970 and in the far future do no harm.
    read.advance(UNIX_EPOCH - Duration::from_secs(1));
    read.advance(UNIX_EPOCH + Duration::from_secs(1 << 40));
    assert!(read.insert(b"x", UNIX_EPOCH).unwrap());
}

#[test]
fn the_rate_of_all_generations_together_stays_below_the_requested_one() {
    let rotation = by_time(1_000, 4, false);
    let mut filter = RotatingFilter::new(rotation, 100, 0.01, at(0)).unwrap();
    let mut next = 0u64;
    for step in 0..40 {
        // The load changes: generations that get more keys than the first one grow.
        let some: Vec<u64> = (next..next + 200 * (1 + step % 7)).collect();
        next += some.len() as u64;
        let mut new = vec![false; some.len()];
        filter.insert_batch_new(&Column(&some), &mut new, at(100 * step)).unwrap();
        assert!(filter.expected_fpr() < 0.01, "{}", filter.expected_fpr());
    }
    let absent: Vec<u64> = (0..500_000).map(|i| (1 << 50) + i).collect();
    let mut answers = vec![false; absent.len()];
    filter.may_contain_batch(&Column(&absent), &mut answers);
    let rate = answers.iter().filter(|answer| **answer).count() as f64 / absent.len() as f64;
    assert!(rate < 0.01 && rate > 0.0, "{rate}");
    // Later generations begin with room for the number of keys in earlier ones.
    assert!(filter.generations().all(|one| one.filter().links().len() <= 4));
}

#[test]
fn invalid_rotations_are_refused() {
    for rotation in [
        by_time(0, 5, false),
        by_time(5, 0, false),
        by_time(5, 1001, false),
        Rotation::of(Keep::Keys(0)),
        Rotation::of(Keep::Time(Duration::ZERO)),
    ] {
        let refused = RotatingFilter::new(rotation, 1, 0.01, at(0));
        assert!(matches!(refused, Err(SizeError::Count { .. })), "{rotation:?}");
    }
    for fpr in [0.0, 1.0, f64::NAN] {
        assert!(RotatingFilter::new(by_time(5, 5, true), 1, fpr, at(0)).is_err());
    }
    let rotating = filter(by_time(5, 5, true), 0).encode();
    assert!(GrowingFilter::decode(&rotating).unwrap_err().to_string().contains("rotating"));
    assert_eq!(StoredFilter::view(&rotating).unwrap().kind(), "rotating");
}

#[test]
fn at_the_end_of_time_keys_are_still_taken_and_found() {
    for keep in [1, 5_000, u64::MAX] {
        let mut filter = filter(by_time(keep, 3, false), u64::MAX / 2);
        for now in [u64::MAX / 2 + 10_000, u64::MAX / 2 + 20_000] {
            filter.insert(&now.to_le_bytes(), at(now)).unwrap();
            assert!(filter.may_contain(&now.to_le_bytes()));
        }
    }
}

#[test]
fn a_state_of_very_many_links_is_read_again() {
    // Long and short generations alternate: each one begins small after a short one and has many links after
    // a long one.
    let mut filter = RotatingFilter::new(by_time(1_000_000, 1_000, false), 1, 0.5, at(0)).unwrap();
    let mut key = 0u64;
    for generation in 0..1_001u64 {
        for _ in 0..if generation % 2 == 0 { 255 } else { 1 } {
            key += 1;
            filter.insert(&key.to_le_bytes(), at(generation * 1_000)).unwrap();
        }
    }
    let links: usize = filter.generations().map(|one| one.filter().links().len()).sum();
    assert!(links > 4_096, "{links}");
    let read = RotatingFilter::decode(&filter.encode()).unwrap();
    assert_eq!(read.keys(), filter.keys());
}

#[test]
fn with_refresh_no_key_is_forgotten_early_even_at_a_high_rate() {
    let mut filter = RotatingFilter::new(by_time(1_000, 4, true), 1_000, 0.3, at(0)).unwrap();
    for round in 0..40u64 {
        let now = round * 100;
        for key in 0..200 {
            filter.insert(&(round * 1_000 + key).to_le_bytes(), at(now)).unwrap();
        }
        for earlier in round.saturating_sub(9)..=round {
            let found =
                (0..200).filter(|key| filter.may_contain(&(earlier * 1_000 + key).to_le_bytes())).count();
            assert_eq!(found, 200, "of round {earlier} in {round}");
        }
    }
}

#[test]
fn the_label_outlives_the_generation_it_was_read_with() {
    let mut filter = filter(by_time(1_000, 2, false), 0);
    filter.set_label("mine");
    for now in [0u64, 600, 1_200] {
        filter.insert(&now.to_le_bytes(), at(now)).unwrap();
    }
    let mut read = RotatingFilter::decode(&filter.encode()).unwrap();
    for now in [5_000, 6_000, 7_000u64] {
        read.insert(&now.to_le_bytes(), at(now)).unwrap();
    }
    assert_eq!(read.label(), "mine");
}
