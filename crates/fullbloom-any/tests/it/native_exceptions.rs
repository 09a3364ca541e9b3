//! Known-good keys are answered "no"; members never are.

use fullbloom::exceptions::ExceptError;
use fullbloom::keys::Column;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::StoredFilter;
use fullbloom_any::{AnyFilter, GoodKeys};
use fullbloom_compact::CompactFilter;
use fullbloom_dialects::Name;
use fullbloom_testkit::keys::mix;

/// Different keys for different numbers, on either side of a boundary.
fn numbers(from: u64, count: u64) -> Vec<u64> {
    (from..from + count).map(mix).collect()
}

fn filter_of(members: &[u64], fpr: f64, hashing: Hashing) -> fullbloom::Filter {
    let plan =
        Sizing::new(&Request { expected_keys: members.len() as u64, target: Target::Fpr(fpr) }).unwrap();
    let mut filter = fullbloom::Filter::with_sizing(&plan, hashing).unwrap();
    filter.insert_batch(&Column(members)).unwrap();
    filter
}

#[track_caller]
fn assert_exact<S: AsRef<[u8]>>(guarded: &fullbloom::Filter<S>, members: &[u64], good: &[u64]) {
    let mut answers = vec![false; members.len()];
    guarded.may_contain_batch_into(&Column(members), &mut answers).unwrap();
    assert!(answers.iter().all(|yes| *yes), "a member is refused");
    let mut answers = vec![true; good.len()];
    guarded.may_contain_batch_into(&Column(good), &mut answers).unwrap();
    assert!(answers.iter().all(|yes| !yes), "a known-good key is let through");
    assert!(members.iter().take(1000).all(|key| guarded.may_contain(key.to_le_bytes())));
    assert!(good.iter().take(1000).all(|key| !guarded.may_contain(key.to_le_bytes())));
}

#[test]
fn a_million_known_good_keys_are_all_answered_no() {
    let (members, good) = (numbers(0, 1_000_000), numbers(1 << 40, 1_000_000));
    for (fpr, least, most, bits_each) in [(0.01, 9_000, 11_000, 20), (0.0001, 50, 160, 45)] {
        let filter = filter_of(&members, fpr, Hashing::Seed(0));
        let false_positives = filter.count_batch(&Column(&good)).unwrap();
        assert!((least..most).contains(&false_positives), "{false_positives}");
        let guarded = filter.with_exceptions(&Column(&good), &Column(&members)).unwrap();
        assert_exact(&guarded, &members, &good);
        let facts = guarded.exceptions().unwrap();
        // A list alone would take 64 bits for each false positive.
        assert!(facts.levels > 0, "{facts:?}");
        assert!(facts.bytes * 8 < bits_each * false_positives, "{facts:?} for {false_positives}");
        // Other keys are reported present no more often than before.
        let others = numbers(1 << 50, 200_000);
        let mut answers = vec![false; others.len()];
        guarded.may_contain_batch_into(&Column(&others), &mut answers).unwrap();
        let yes = answers.iter().filter(|yes| **yes).count() as u64;
        assert!(yes <= guarded.without_exceptions().count_batch(&Column(&others)).unwrap());
        let read = fullbloom::Filter::over(guarded.encode()).unwrap();
        assert_eq!(read.exceptions(), guarded.exceptions());
        assert_exact(&read, &members, &good);
    }
}

#[test]
fn sides_of_every_size_are_exact_with_and_without_a_secret() {
    for hashing in [Hashing::Seed(9), Hashing::Secret(Secret::new([3; 16]))] {
        for (members, good) in
            [(0, 0), (1, 0), (0, 1000), (1, 1000), (10, 10), (1000, 10), (10, 100_000), (30_000, 3_000)]
        {
            let (members, good) = (numbers(0, members), numbers(1 << 40, good));
            for fpr in [0.5, 0.1, 0.003] {
                let guarded = filter_of(&members, fpr, hashing.clone())
                    .with_exceptions(&Column(&good), &Column(&members))
                    .unwrap();
                assert_exact(&guarded, &members, &good);
            }
        }
    }
}

#[test]
fn few_exceptions_are_a_list() {
    let (members, good) = (numbers(0, 1000), numbers(1 << 40, 100));
    let guarded = filter_of(&members, 0.05, Hashing::Seed(0))
        .with_exceptions(&Column(&good), &Column(&members))
        .unwrap();
    let facts = guarded.exceptions().unwrap();
    assert_eq!((facts.levels, facts.bytes), (0, facts.listed * 8));
    assert!(facts.listed > 0);
}

#[test]
fn known_good_keys_that_are_members_stay_members() {
    let members = numbers(0, 50_000);
    for good_len in [100, 100_000] {
        // Half of the known-good keys are members.
        let strangers = numbers(1 << 40, good_len / 2);
        let good: Vec<u64> = members
            .iter()
            .copied()
            .cycle()
            .take(good_len as usize / 2)
            .chain(strangers.iter().copied())
            .collect();
        let filter = filter_of(&members, 0.05, Hashing::Seed(0));
        let guarded = filter.with_exceptions(&Column(&good), &Column(&members)).unwrap();
        assert_exact(&guarded, &members, &strangers);
    }
}

/// Begins the exceptions of a filter whose keys are given in pieces.
fn exceptions_of(filter: fullbloom::Filter) -> GoodKeys {
    AnyFilter::from(filter).except().unwrap()
}

#[test]
fn passes_in_pieces_give_the_same_as_at_once() {
    let (members, good) = (numbers(0, 20_000), numbers(1 << 40, 50_000));
    let filter = filter_of(&members, 0.02, Hashing::Seed(1));
    assert!(filter.count_batch(&Column(&good)).unwrap() > 500);
    let mut first = exceptions_of(filter);
    good.chunks(777).for_each(|some| first.add(Column(some)).unwrap());
    let mut second = first.members().unwrap();
    members.chunks(1001).for_each(|some| second.add(Column(some)).unwrap());
    let Ok(StoredFilter::FixedFast(in_pieces)) = second.finish().unwrap().into_native() else { panic!() };
    let at_once = filter_of(&members, 0.02, Hashing::Seed(1))
        .with_exceptions(&Column(&good), &Column(&members))
        .unwrap();
    assert_eq!(in_pieces.encode(), at_once.encode());
    assert_exact(&in_pieces, &members, &good);
}

#[test]
fn members_that_are_not_in_the_filter_are_refused() {
    let (members, good) = (numbers(0, 1000), numbers(1 << 40, 1000));
    let filter = filter_of(&members[..900], 0.0001, Hashing::Seed(0));
    match filter.with_exceptions(&Column(&good), &Column(&members)) {
        Err(ExceptError::NotMembers { count }) => assert!((95..=100).contains(&count), "{count}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_filter_without_exceptions_takes_keys_again_and_one_with_them_does_not() {
    let (members, good) = (numbers(0, 1000), numbers(1 << 40, 1000));
    let guarded = filter_of(&members, 0.05, Hashing::Seed(0))
        .with_exceptions(&Column(&good), &Column(&members))
        .unwrap();
    assert_exact(&guarded, &members, &good);
    let again = AnyFilter::decode(&guarded.encode(), &Name::Native.into()).unwrap();
    assert!(matches!(again.except(), Err(ExceptError::Closed)));
    let mut plain = filter_of(&members, 0.05, Hashing::Seed(0));
    assert!(plain.exceptions().is_none());
    assert!(plain.insert(b"another"));
}

#[test]
fn a_hash_alone_is_enough_for_a_lookup() {
    let (members, good) = (numbers(0, 5000), numbers(1 << 40, 5000));
    let filter = filter_of(&members, 0.05, Hashing::Seed(0));
    let filter = filter.with_exceptions(&Column(&good), &Column(&members)).unwrap();
    assert!(members.iter().all(|key| filter.may_contain_hash(filter.hash(key.to_le_bytes()))));
    assert!(good.iter().all(|key| !filter.may_contain_hash(filter.hash(key.to_le_bytes()))));
}

#[test]
fn good_keys_that_are_members_are_counted() {
    let (members, strangers) = (numbers(0, 1000), numbers(1 << 40, 1000));
    let mut first = exceptions_of(filter_of(&members, 0.05, Hashing::Seed(0)));
    first.add(Column(&strangers)).unwrap();
    first.add(Column(&members[..10])).unwrap();
    let mut second = first.members().unwrap();
    second.add(Column(&members)).unwrap();
    assert_eq!(second.good_members(), 10);
}

/// Absent keys that look like the known-good ones are excepted with them, which lowers the rate.
#[test]
fn the_expected_rate_counts_what_the_exceptions_reject() {
    let keys = |name: &str, count: u32| (0..count).map(|i| format!("{name}-{i}")).collect::<Vec<_>>();
    let (members, absent) = (keys("member", 3_000), keys("absent", 400_000));
    for (fpr, good) in [(0.3, 30_000), (0.3, 300), (0.05, 50_000), (0.01, 5_000)] {
        let good = keys("good", good);
        let mut fast = fullbloom::Filter::with_fpr(3_000, fpr).unwrap();
        fast.insert_batch(&members).unwrap();
        let fast = fast.with_exceptions(&good, &members).unwrap();
        let compact = CompactFilter::build(&members, fpr).unwrap();
        let compact = compact.with_exceptions(&good, &members).unwrap();
        let passed = |may: &dyn Fn(&[u8]) -> bool| absent.iter().filter(|key| may(key.as_bytes())).count();
        let measured = [passed(&|key| fast.may_contain(key)), passed(&|key| compact.may_contain(key))];
        for (passed, expected) in measured.into_iter().zip([fast.expected_fpr(), compact.expected_fpr()]) {
            let mean = expected * absent.len() as f64;
            let sigmas = (passed as f64 - mean) / (mean * (1.0 - expected)).sqrt();
            assert!(sigmas.abs() < 5.0, "{fpr}, {}: {passed} of {mean:.0}: {sigmas:.1}", good.len());
        }
    }
}
