//! The kind `dynamic` against an exact model of fingerprints.

use fullbloom::error::InsertError;
use fullbloom::keys::Column;
use fullbloom::{Hashing, Secret};
use fullbloom_any::{AnyFilter, Kind, ReadOptions, StoredFilter, verify};
use fullbloom_core::part::Check;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Expiry, JournalWriter, Keep, Mode};
use fullbloom_files::FileLock;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn mix(state: u64) -> u64 {
    let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// What a filter must hold: fingerprints with their number of copies and the generation they were inserted
/// in.
struct Model {
    options: DynamicOptions,
    bits: u32,
    mode: Mode,
    map: BTreeMap<u64, (u64, u64)>,
    /// Milliseconds, or keys.
    time: u64,
}

/// Milliseconds, or keys, that a filter remembers.
fn amount(expiry: Expiry) -> u64 {
    match expiry.keep {
        Keep::Time(time) => time.as_millis() as u64,
        Keep::Keys(keys) => keys,
    }
}

impl Model {
    fn new(options: DynamicOptions, mode: Mode) -> (DynamicFilter, Model) {
        let options = options.mode(mode);
        let filter = DynamicFilter::new(options.clone()).unwrap();
        let bits = filter.fingerprint_bits();
        (filter, Model { options, bits, mode, map: BTreeMap::new(), time: 0 })
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        hash >> (64 - self.bits)
    }

    fn expiry(&self) -> Option<Expiry> {
        match self.mode {
            Mode::Expiring(expiry) => Some(expiry),
            _ => None,
        }
    }

    /// A generation is the exact share of the time or of the keys: boundaries are not rounded.
    fn generation(&self) -> u64 {
        self.expiry().map_or(0, |expiry| self.time * u64::from(expiry.generations) / amount(expiry))
    }

    fn is_live(&self, inserted: u64) -> bool {
        self.expiry().is_none_or(|expiry| self.generation() - inserted <= expiry.generations.into())
    }

    fn insert(&mut self, hash: u64) -> bool {
        let (fingerprint, now) = (self.fingerprint(hash), self.generation());
        let known = self.map.get(&fingerprint).copied().filter(|(_, inserted)| self.is_live(*inserted));
        let (count, inserted) = known.unwrap_or((0, now));
        let refresh = self.expiry().is_some_and(|expiry| expiry.refresh);
        let inserted_now = if refresh { now } else { inserted };
        self.map.insert(fingerprint, (count + 1, inserted_now));
        let by_keys = self.expiry().is_some_and(|expiry| matches!(expiry.keep, Keep::Keys(_)));
        if by_keys && (known.is_none() || inserted_now != inserted) {
            self.time += 1;
        }
        known.is_none()
    }

    fn remove(&mut self, hash: u64) -> bool {
        let fingerprint = self.fingerprint(hash);
        let Some((count, _)) = self.map.get_mut(&fingerprint) else { return false };
        *count -= 1;
        if *count == 0 {
            self.map.remove(&fingerprint);
        }
        true
    }

    fn contains(&self, hash: u64) -> bool {
        self.map.get(&self.fingerprint(hash)).is_some_and(|(_, inserted)| self.is_live(*inserted))
    }

    fn check(&mut self, filter: &DynamicFilter) {
        let now = self.generation();
        let generations = self.expiry().map_or(u64::MAX, |expiry| expiry.generations.into());
        self.map.retain(|_, (_, inserted)| now - *inserted <= generations);
        let counting = self.mode == Mode::Counting;
        let copies: u64 = self.map.values().map(|(count, _)| if counting { *count } else { 1 }).sum();
        assert_eq!(filter.keys(), copies);
        assert_eq!(filter.expected_fpr(), self.map.len() as f64 / (1u64 << self.bits) as f64);
        let mut listed = filter.fingerprints().unwrap();
        for (fingerprint, (count, inserted)) in &self.map {
            let found = listed.next().expect("as many as the model has");
            assert_eq!(found.hash, fingerprint << (64 - self.bits));
            assert_eq!(found.count, if counting { *count } else { 1 });
            assert_eq!(found.age, now - inserted);
        }
        assert_eq!(listed.next(), None);
    }

    /// The same filter built anew, in order.
    fn rebuilt(&self) -> DynamicFilter {
        let mut filter = DynamicFilter::new(self.options.clone()).unwrap();
        let mut entries: Vec<_> = self.map.iter().collect();
        entries.sort_by_key(|(_, (_, inserted))| *inserted);
        let Some(expiry) = self.expiry() else {
            for (fingerprint, (count, _)) in entries {
                for _ in 0..if self.mode == Mode::Counting { *count } else { 1 } {
                    filter.insert_hash(own(fingerprint << (64 - self.bits))).unwrap();
                }
            }
            return filter;
        };
        assert!(matches!(expiry.keep, Keep::Time(_)), "the order of keys is part of its state");
        for (fingerprint, (_, inserted)) in entries {
            let began = (inserted * amount(expiry)).div_ceil(expiry.generations.into());
            filter.advance_millis(began).unwrap();
            filter.insert_hash(own(fingerprint << (64 - self.bits))).unwrap();
        }
        filter.advance_millis(self.time).unwrap();
        filter
    }
}

/// A hash as the filters here make it.
fn own(hash: u64) -> fullbloom::KeyHash {
    Hashing::default().from_raw(hash)
}

/// Random operations on a filter and its model; `universe` keys, so that many are repeated.
fn run(options: DynamicOptions, mode: Mode, operations: u64, universe: u64, seed: u64) {
    let (mut filter, mut model) = Model::new(options, mode);
    let mut random = Random(seed);
    let key = |random: &mut Random| mix(random.below(universe) << 8 | seed & 0xff);
    let mut done = 0;
    let mut steps = 0u64;
    while done < operations {
        steps += 1;
        match random.below(1_000) {
            // Insert a batch; some of its keys are repeated.
            0..150 => {
                let count = random.below(3_000) as usize;
                let hashes: Vec<u64> = (0..count).map(|_| key(&mut random)).collect();
                let mut new = vec![false; count];
                filter.insert_batch_new(&Hashing::default().hashes(&hashes), &mut new).unwrap();
                let expected: Vec<bool> = hashes.iter().map(|hash| model.insert(*hash)).collect();
                let differs = new.iter().zip(&expected).position(|(new, expected)| new != expected);
                assert_eq!(differs, None, "{mode:?}, seed {seed}, step {steps}, a batch of {count}");
                done += count as u64;
            }
            150..450 => {
                let hash = key(&mut random);
                assert_eq!(filter.insert_hash(own(hash)).unwrap(), model.insert(hash));
                done += 1;
            }
            // Look up a batch.
            450..550 => {
                let hashes: Vec<u64> = (0..random.below(500)).map(|_| key(&mut random)).collect();
                let mut answers = vec![false; hashes.len()];
                filter.may_contain_batch_into(&Hashing::default().hashes(&hashes), &mut answers).unwrap();
                assert!(hashes.iter().zip(&answers).all(|(hash, answer)| model.contains(*hash) == *answer));
                done += hashes.len() as u64;
            }
            550..700 => {
                let hash = if random.below(2) == 0 { key(&mut random) } else { random.next() };
                assert_eq!(filter.may_contain_hash(own(hash)), model.contains(hash));
                done += 1;
            }
            700..900 if mode == Mode::Counting => {
                let hash = key(&mut random);
                assert_eq!(
                    filter.count_hash(own(hash)),
                    Ok(model.map.get(&model.fingerprint(hash)).map_or(0, |e| e.0))
                );
                assert_eq!(filter.remove_hash(own(hash)).unwrap(), model.remove(hash));
                done += 1;
            }
            900..970 if mode == Mode::Counting => {
                let hashes: Vec<u64> = (0..random.below(2_500)).map(|_| key(&mut random)).collect();
                let mut removed = vec![false; hashes.len()];
                filter.remove_batch(&Hashing::default().hashes(&hashes), &mut removed).unwrap();
                let expected: Vec<bool> = hashes.iter().map(|hash| model.remove(*hash)).collect();
                assert_eq!(removed, expected);
                done += hashes.len() as u64;
            }
            700..970 if matches!(mode, Mode::Expiring(Expiry { keep: Keep::Time(_), .. })) => {
                model.time += if random.below(40) == 0 { random.below(60_000) } else { random.below(600) };
                filter.advance_millis(model.time).unwrap();
                done += 1;
            }
            970..990 if steps.is_multiple_of(4) => {
                // Save and read again.
                let bytes = filter.encode();
                assert_eq!(bytes.len() as u64, filter.encoded_len());
                let view = DynamicFilter::view(&bytes).unwrap();
                let hash = key(&mut random);
                assert_eq!(view.may_contain_hash(own(hash)), model.contains(hash));
                filter = DynamicFilter::decode(&bytes).unwrap();
                assert!(filter.encode() == bytes, "what was read is written again");
                done += 1;
            }
            990..995 if !matches!(mode, Mode::Expiring(Expiry { keep: Keep::Keys(_), .. })) => {
                let mut other = DynamicFilter::new(model.options.clone()).unwrap();
                other.advance_millis(model.time).unwrap();
                for _ in 0..random.below(2_000) {
                    let hash = key(&mut random);
                    other.insert_hash(own(hash)).unwrap();
                    let now = model.generation();
                    let known = model.map.get(&model.fingerprint(hash)).copied();
                    model.insert(hash);
                    if let (Some((count, inserted)), true) = (known, model.expiry().is_some()) {
                        // A merge keeps the later time, whatever the option for repeated keys is.
                        let live = model.is_live(inserted);
                        model.map.insert(model.fingerprint(hash), (if live { count } else { 1 }, now));
                    }
                    done += 1;
                }
                filter.merge(&other).unwrap();
            }
            _ => model.check_now_and_then(&filter, steps),
        }
    }
    model.check(&filter);
    if !matches!(mode, Mode::Expiring(Expiry { keep: Keep::Keys(_), .. })) {
        assert!(filter.encode() == model.rebuilt().encode(), "the file is a function of the set");
    }
    assert!(verify(&filter.encode()).is_ok());
}

impl Model {
    fn check_now_and_then(&mut self, filter: &DynamicFilter, steps: u64) {
        if steps.is_multiple_of(16) {
            self.check(filter);
        }
    }
}

fn modes() -> [Mode; 5] {
    let time = Expiry::of(Keep::Time(Duration::from_millis(20_000)));
    [
        Mode::Set,
        Mode::Counting,
        Mode::Expiring(time),
        Mode::Expiring(Expiry { generations: 3, refresh: true, ..time }),
        Mode::Expiring(Expiry { keep: Keep::Keys(30_000), ..time }),
    ]
}

/// Every mode, with fingerprints of several lengths, from small memory and from enough.
fn run_all(operations: u64) {
    for (i, mode) in (0..).zip(modes()) {
        for (expected, up_to, fpr, universe) in [
            (100, 100, 0.01, 40_000),
            (10, 1_000_000, 0.01, 60_000),
            (50_000, 50_000, 0.001, 100_000),
            (1, 1, 0.5, 2_000),
            (1_000, 100_000_000, 1e-6, 900_000),
        ] {
            let options = DynamicOptions::new(expected, fpr).up_to(up_to);
            run(options, mode, operations / 25, universe, 1000 * i + expected);
        }
    }
}

#[test]
fn random_operations_agree_with_the_model() {
    run_all(400_000);
}

/// Ten million operations and more keys: `cargo test --release -p fullbloom-any --test it native_dynamic --
/// --ignored`.
#[test]
#[ignore = "minutes: cargo test --release -p fullbloom-any --test it native_dynamic -- --ignored"]
fn ten_million_random_operations_agree_with_the_model() {
    run_all(10_000_000);
    run(DynamicOptions::new(1_000, 0.01).up_to(10_000_000), Mode::Set, 3_000_000, 4_000_000, 77);
    run(DynamicOptions::new(1_000, 0.01).up_to(10_000_000), Mode::Counting, 3_000_000, 2_000_000, 78);
}

#[test]
fn an_empty_filter_is_one() {
    for mode in modes() {
        let (mut filter, _) = Model::new(DynamicOptions::new(0, 0.01), mode);
        assert_eq!((filter.keys(), filter.expected_fpr()), (0, 0.0));
        assert!(!filter.may_contain(b"") && filter.fingerprints().unwrap().next().is_none());
        let bytes = filter.encode();
        let mut read = DynamicFilter::decode(&bytes).unwrap();
        assert!(read.encode() == bytes && read.keys() == 0);
        assert!(read.insert(b"").unwrap() && !read.insert(b"").unwrap() && read.may_contain(b""));
        filter.insert_batch(&Hashing::default().hashes(&[])).unwrap();
        assert_eq!(filter.keys(), 0);
    }
}

#[test]
fn a_filter_keeps_its_label_secret_and_numbers() {
    let secret = Secret::new([7; 16]);
    let options = DynamicOptions::new(500, 0.002).up_to(9_000).hashing(Hashing::Secret(secret.clone()));
    let mut filter = DynamicFilter::new(options).unwrap();
    filter.insert(b"alice").unwrap();
    filter.set_label("guests");
    let locked = DynamicFilter::decode(&filter.encode()).unwrap();
    assert!(locked.is_locked() && locked.may_contain(b"anybody"));
    assert!(locked.encode() == filter.encode(), "a locked filter can be copied");
    let mut read = DynamicFilter::over(filter.encode()).unwrap();
    read.unlock(&secret).unwrap();
    assert!(read.may_contain(b"alice") && !read.may_contain(b"bob"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keyed.bloom");
    filter.save(&path).unwrap();
    let mut read = DynamicFilter::open(&path).unwrap();
    assert!(read.is_locked() && read.unlock(&secret).is_ok() && read.may_contain(b"alice"));
    let mut read = DynamicFilter::load(&path).unwrap();
    read.unlock(&secret).unwrap();
    assert!(read.may_contain(b"alice") && !read.may_contain(b"bob"));
    assert_eq!((read.label(), read.expected_keys(), read.up_to()), ("guests", 500, 9_000));
    assert_eq!((read.planned_fpr(), read.mode(), read.hashing()), (0.002, Mode::Set, filter.hashing()));
    filter.store_secret(true);
    assert!(DynamicFilter::decode(&filter.encode()).unwrap().may_contain(b"alice"));
    assert!(
        DynamicFilter::decode(&filter.encode()).unwrap().unlock(&Secret::new([8; 16])).is_ok(),
        "its own is in the file"
    );
}

/// The share of absent hashes that are reported present is the stated one, within three standard deviations.
#[track_caller]
fn rate_is_stated(keys: u64, fpr: f64, options: DynamicOptions) {
    let mut filter = DynamicFilter::new(options).unwrap();
    let hashes: Vec<u64> = (0..keys).map(|i| mix(mix(i))).collect();
    filter.insert_batch(&Hashing::default().hashes(&hashes)).unwrap();
    assert_eq!(filter.count_batch(&Hashing::default().hashes(&hashes)).unwrap(), keys);
    assert!(filter.keys() <= keys && filter.keys() >= keys - keys / 20 - 1);
    let rate = filter.expected_fpr();
    let expected = filter.fpr_with(keys);
    assert!(rate <= fpr && (rate / expected - 1.0).abs() < 0.02, "{keys} {rate} {expected}");
    let asked = 2_000_000u64;
    let absent: Vec<u64> = (0..asked).map(|i| mix(mix(i + (1 << 40)))).collect();
    let found = filter.count_batch(&Hashing::default().hashes(&absent)).unwrap() as f64;
    let deviation = (asked as f64 * rate * (1.0 - rate)).sqrt();
    assert!(
        (found - asked as f64 * rate).abs() <= 3.0 * deviation + 1.0,
        "{keys} keys: {found} of {asked}, stated {rate}"
    );
}

#[test]
fn the_measured_rate_is_the_stated_one() {
    for keys in [1_000, 10_000, 100_000, 1_000_000] {
        rate_is_stated(keys, 0.01, DynamicOptions::new(keys, 0.01));
        rate_is_stated(keys, 0.001, DynamicOptions::new(1_000, 0.001).up_to(keys));
    }
    // Half and a fourth of the promised keys: half and a fourth of the rate.
    rate_is_stated(50_000, 0.005, DynamicOptions::new(50_000, 0.01).up_to(100_000));
    rate_is_stated(25_000, 0.0025, DynamicOptions::new(25_000, 0.01).up_to(100_000));
}

/// Ten and a hundred million keys: as the ten million operations above.
#[test]
#[ignore = "minutes, a gigabyte: cargo test --release -p fullbloom-any --test it native_dynamic -- --ignored"]
fn the_measured_rate_is_the_stated_one_at_every_size() {
    for keys in [10_000_000, 100_000_000] {
        rate_is_stated(keys, 0.01, DynamicOptions::new(keys, 0.01));
        rate_is_stated(keys, 0.01, DynamicOptions::new(1_000, 0.01).up_to(keys));
    }
}

#[test]
fn beyond_the_promise_the_rate_rises_and_is_stated() {
    let mut filter = DynamicFilter::with_fpr(1_000, 0.01).unwrap();
    let hashes: Vec<u64> = (0..200_000).map(|i| mix(mix(i))).collect();
    filter.insert_batch(&Hashing::default().hashes(&hashes)).unwrap();
    assert!(filter.is_overfull() && filter.expected_fpr() > 0.5);
    assert_eq!(filter.count_batch(&Hashing::default().hashes(&hashes)).unwrap(), 200_000);
    assert!((filter.expected_fpr() / filter.fpr_with(200_000) - 1.0).abs() < 0.01);
    assert!(filter.encode() == DynamicFilter::decode(&filter.encode()).unwrap().encode());
}

#[test]
fn deletion_needs_counts_and_refuses_what_is_absent() {
    use fullbloom_dynamic::RemoveError;
    let mut set = DynamicFilter::with_fpr(100, 0.01).unwrap();
    set.insert(b"a").unwrap();
    assert_eq!(set.remove(b"a"), Err(RemoveError::NotDeletable));
    assert_eq!(
        set.remove_batch(&Hashing::default().hashes(&[1]), &mut [false]),
        Err(RemoveError::NotDeletable)
    );
    assert!(set.may_contain(b"a"));
    let mut counting = DynamicFilter::new(DynamicOptions::new(100, 1e-9).mode(Mode::Counting)).unwrap();
    for _ in 0..9 {
        counting.insert(b"a").unwrap();
    }
    assert_eq!((counting.count(b"a"), counting.keys(), counting.remove(b"b")), (Ok(9), 9, Ok(false)));
    for left in (0..9).rev() {
        assert_eq!((counting.remove(b"a"), counting.count(b"a")), (Ok(true), Ok(left)));
    }
    assert_eq!((counting.remove(b"a"), counting.keys()), (Ok(false), 0));
    let (_, empty) = (0, DynamicFilter::new(DynamicOptions::new(100, 1e-9).mode(Mode::Counting)).unwrap());
    assert!(counting.encode() == empty.encode());
}

#[test]
fn keys_expire_after_their_time_and_at_most_one_step_later() {
    for refresh in [false, true] {
        let expiry = Expiry { refresh, ..Expiry::of(Keep::Time(Duration::from_millis(7_000))) };
        let mut filter =
            DynamicFilter::new(DynamicOptions::new(10, 1e-9).mode(Mode::Expiring(expiry))).unwrap();
        let mut inserted: BTreeMap<u64, u64> = BTreeMap::new();
        let mut random = Random(5);
        for now in (1_000_000..1_200_000u64).step_by(137) {
            filter.advance_millis(now).unwrap();
            let key = random.below(400);
            let known = filter.may_contain(key.to_le_bytes());
            assert_eq!(filter.insert(key.to_le_bytes()).unwrap(), !known);
            if !known || refresh {
                inserted.insert(key, now);
            }
            for (key, time) in &inserted {
                let age = now - time;
                let found = filter.may_contain(key.to_le_bytes());
                assert!(found || age > 7_000, "{key} is forgotten after {age} ms");
                assert!(!found || age < 8_000, "{key} is remembered after {age} ms");
            }
        }
        // A long pause, and a clock that was wrong.
        filter.advance_millis(9_000_000).unwrap();
        assert_eq!((filter.keys(), filter.fingerprints().unwrap().count()), (0, 0));
        filter.insert(b"x").unwrap();
        filter.advance_millis(8_995_000).unwrap();
        assert_eq!(filter.time_millis(), 9_000_000);
        filter.advance_millis(10_000).unwrap();
        assert!(filter.may_contain(b"x") && filter.time_millis() == 10_000);
        let read = DynamicFilter::decode(&filter.encode()).unwrap();
        assert!(read.may_contain(b"x") && read.encode() == filter.encode());
        filter.advance_millis(19_000).unwrap();
        assert!(!filter.may_contain(b"x"));
    }
}

#[test]
fn filters_with_fingerprints_of_different_lengths_are_merged() {
    let hashes: Vec<u64> = (0..30_000).map(|i| mix(mix(i))).collect();
    let mut long = DynamicFilter::with_fpr(30_000, 1e-6).unwrap();
    let mut short = DynamicFilter::with_fpr(30_000, 1e-3).unwrap();
    long.insert_batch(&Hashing::default().hashes(&hashes[..20_000])).unwrap();
    short.insert_batch(&Hashing::default().hashes(&hashes[10_000..])).unwrap();
    let mut both = short.try_clone().unwrap();
    both.merge(&long).unwrap();
    let mut other_way = long.try_clone().unwrap();
    other_way.merge(&short).unwrap();
    assert_eq!(both.fingerprint_bits(), short.fingerprint_bits());
    assert!(both.fingerprints().unwrap().eq(other_way.fingerprints().unwrap()));
    assert_eq!(both.count_batch(&Hashing::default().hashes(&hashes)).unwrap(), 30_000);
    let mut expected = DynamicFilter::with_fpr(30_000, 1e-3).unwrap();
    expected.insert_batch(&Hashing::default().hashes(&hashes)).unwrap();
    assert!(both.encode() == expected.encode());
    let mut counting = DynamicFilter::new(DynamicOptions::new(10, 0.1).mode(Mode::Counting)).unwrap();
    assert!(counting.merge(&short).is_err());
    let seeded = DynamicOptions::new(10, 0.1).hashing(Hashing::Seed(1));
    assert!(short.merge(&DynamicFilter::new(seeded).unwrap()).is_err());
}

#[test]
fn a_fast_filter_of_the_fingerprints_has_all_keys_and_both_rates() {
    let keys: Vec<String> = (0..20_000).map(|i| format!("key-{i}")).collect();
    let secret = Secret::new([3; 16]);
    for hashing in [Hashing::Seed(9), Hashing::Secret(secret)] {
        let options = DynamicOptions::new(20_000, 0.01).hashing(hashing).mode(Mode::Counting);
        let mut filter = DynamicFilter::new(options).unwrap();
        filter.store_secret(true);
        filter.insert_batch(keys.as_slice()).unwrap();
        let fast = filter.to_fast(0.005).unwrap();
        let fast = fullbloom::Filter::decode(&fast.encode()).unwrap();
        assert_eq!(fast.count_batch(keys.as_slice()).unwrap(), 20_000);
        let stated = fast.expected_fpr();
        assert!(stated > filter.expected_fpr() && stated < filter.expected_fpr() + 0.0055, "{stated}");
        let absent: Vec<String> = (0..400_000).map(|i| format!("absent-{i}")).collect();
        let found = fast.count_batch(absent.as_slice()).unwrap() as f64 / 400_000.0;
        assert!((found - stated).abs() < 4.0 * (stated / 400_000.0).sqrt(), "{found} {stated}");
        assert!(
            fast.try_clone().unwrap().merge(&fullbloom::Filter::with_fpr(20_000, 0.005).unwrap()).is_err()
        );
    }
}

proptest! {
    /// Keys one by one or in batches of any sizes, with removals between them.
    #[test]
    fn the_filter_is_the_same_however_the_keys_are_cut(
        first in 1u64..200, seed: u64, keys in 0usize..3000, distinct in 1u64..3000,
        cuts in prop::collection::vec(0usize..1500, 0..9)
    ) {
        let mut random = Random(seed);
        let hashes: Vec<u64> = (0..keys).map(|_| mix(mix(random.below(distinct)))).collect();
        let options = DynamicOptions::new(first, 0.01).up_to(5_000).mode(Mode::Counting);
        let mut alone = DynamicFilter::new(options.clone()).unwrap();
        let mut together = DynamicFilter::new(options).unwrap();
        let mut rest = hashes.as_slice();
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (some, later) = rest.split_at(cut.min(rest.len()));
            let mut new = vec![false; some.len()];
            together.insert_batch_new(&Hashing::default().hashes(some), &mut new).unwrap();
            let reported: Vec<bool> = some.iter().map(|&hash| alone.insert_hash(own(hash)).unwrap()).collect();
            prop_assert!(reported == new, "other answers in batches");
            let gone: Vec<u64> = (0..some.len() / 3).map(|_| mix(mix(random.below(2 * distinct)))).collect();
            let mut removed = vec![false; gone.len()];
            together.remove_batch(&Hashing::default().hashes(&gone), &mut removed).unwrap();
            let reported: Vec<bool> = gone.iter().map(|&hash| alone.remove_hash(own(hash)).unwrap()).collect();
            prop_assert!(reported == removed, "other removals in batches");
            prop_assert!(alone.encode() == together.encode(), "other bytes in batches");
            rest = later;
        }
    }
}

#[test]
fn a_cleared_filter_is_a_new_one() {
    for mode in modes() {
        let (mut filter, _) = Model::new(DynamicOptions::new(50, 0.01).up_to(100_000), mode);
        let (empty, memory) = (filter.encode(), filter.memory());
        for number in 0..30_000u64 {
            filter.insert_hash(own(mix(number % 20_000))).unwrap();
        }
        assert!(filter.memory() > 10 * memory);
        filter.clear().unwrap();
        assert_eq!((filter.keys(), filter.memory()), (0, memory));
        if !matches!(mode, Mode::Expiring(Expiry { keep: Keep::Keys(_), .. })) {
            assert!(filter.encode() == empty);
        }
        assert!(filter.insert(b"new").unwrap());
    }
}

#[test]
fn a_locked_filter_takes_no_keys_under_another_hash() {
    let options = DynamicOptions::new(100, 0.01).hashing(Hashing::Secret(Secret::new([7; 16])));
    let mut filter = DynamicFilter::new(options).unwrap();
    filter.insert(b"key").unwrap();
    let Ok(StoredFilter::Dynamic(mut locked)) = StoredFilter::decode(&filter.encode()) else {
        panic!("a dynamic filter is read")
    };
    assert!(locked.is_locked() && locked.may_contain(b"other"));
    assert_eq!(locked.insert(b"more"), Err(InsertError::Locked));
    assert_eq!(locked.insert_batch(&["more"]), Err(InsertError::Locked));
    assert_eq!(locked.count(b"key"), Err(InsertError::Locked));
    assert_eq!(locked.clear(), Err(InsertError::Locked));
    assert_eq!(locked.remove(b"key"), Err(fullbloom_dynamic::RemoveError::Change(InsertError::Locked)));
}

#[test]
fn other_kinds_are_refused_and_named() {
    let fast = fullbloom::Filter::with_fpr(10, 0.01).unwrap().encode();
    let message = DynamicFilter::decode(&fast).unwrap_err().to_string();
    assert_eq!(message, "the file holds a fast filter, where a dynamic one is expected");
    let dynamic = DynamicFilter::with_fpr(10, 0.01).unwrap().encode();
    let message = fullbloom::Filter::decode(&dynamic).unwrap_err().to_string();
    assert_eq!(message, "the file holds a dynamic filter, where a fast one is expected");
    assert_eq!(StoredFilter::decode(&dynamic).unwrap().kind(), Kind::Dynamic);
}

/// How long single insertions take while a filter grows from room for 1,000 keys:
/// `cargo test --release -p fullbloom-any --test it native_dynamic::how_long -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement; the command is above"]
fn how_long_the_longest_insertions_take_while_a_filter_grows() {
    for mode in [Mode::Set, Mode::Counting] {
        let mut filter =
            DynamicFilter::new(DynamicOptions::new(1_000, 0.01).up_to(1_000_000_000).mode(mode)).unwrap();
        let (mut done, mut longest) = (0u64, Vec::new());
        for end in [100_000, 1_000_000, 10_000_000, 30_000_000u64] {
            longest.clear();
            for number in done..end {
                let begin = std::time::Instant::now();
                filter.insert_hash(own(mix(mix(number)))).unwrap();
                let took = begin.elapsed();
                if took > Duration::from_micros(100) {
                    longest.push(took);
                }
            }
            longest.sort_unstable();
            let at =
                |from_the_end: usize| longest.iter().rev().nth(from_the_end).copied().unwrap_or_default();
            println!(
                "{}, {done} to {end} keys: {} insertions over 0.1 ms; the longest {:?}, the tenth {:?}, the hundredth {:?}",
                mode.name(),
                longest.len(),
                at(0),
                at(9),
                at(99)
            );
            done = end;
        }
    }
}

#[test]
fn every_reader_of_a_path_sees_the_keys_of_its_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.bloom");
    let mut filter = DynamicFilter::with_fpr(50_000, 1e-6).unwrap();
    let keys: Vec<u64> = (0..50_000).collect();
    filter.insert_batch(&Column(&keys)).unwrap();
    let mut writer = JournalWriter::new(FileLock::new(&path).unwrap());
    writer.save(&filter).unwrap();
    let hash = filter.hash("alice");
    assert!(filter.insert_hash(hash).unwrap());
    writer.record(&filter, &[hash.to_raw()], &[true]);
    writer.save(&filter).unwrap();
    drop(writer);
    assert!(dir.path().join("seen.bloom.journal").exists());
    let (changeable, _) = StoredFilter::load_to_change(FileLock::new(&path).unwrap()).unwrap();
    assert_eq!(changeable.facts().keys, filter.keys());
    assert_eq!(StoredFilter::load(&path).unwrap().facts().keys, filter.keys());
    for any in [
        AnyFilter::load(&path, &ReadOptions::new()).unwrap(),
        AnyFilter::open(&path, &ReadOptions::new(), Check::Header).unwrap(),
    ] {
        assert_eq!(any.native_facts().unwrap().keys, filter.keys());
        assert_eq!(any.encode(), filter.encode());
    }
}
