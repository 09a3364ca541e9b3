//! The kind `compact`: no key is lost, the rate is the planned one, the bytes depend on the set of keys only,
//! and the file is that of the second implementation.

use crate::common::cases;
use fullbloom::error::Quantity;
use fullbloom::keys::Column;
use fullbloom::typed::KeyType;
use fullbloom::{DecodeError, SizeError};
use fullbloom::{Hashing, Secret};
use fullbloom_any::AnyFilter;
use fullbloom_any::{Kind, KindFacts, StoredFilter, verify};
use fullbloom_compact::CompactFacts;
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_core::part::Check;
use fullbloom_dialects::Name;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions};
use fullbloom_testkit::stats::Measured;
use fullbloom_testkit::vectors::{self, Record};

/// Numbers that count up, spread, and in few bits: what real keys look like.
fn shape_of_keys(shape: u32, count: u64) -> Vec<u64> {
    (0..count)
        .map(|i| match shape {
            0 => i,
            1 => i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            _ => i << 40,
        })
        .collect()
}

fn absent(count: u64) -> Vec<u64> {
    (0..count).map(|i| i | 1 << 63).collect()
}

#[test]
fn no_key_is_lost_and_the_rate_is_the_planned_one() {
    let rates = [0.5, 0.4, 0.2, 0.1, 0.05, 0.01, 1.0 / 256.0, 1e-3, 1e-4, 1e-9, 0.5f64.powi(64)];
    let counts = [0u64, 1, 2, 8, 9, 58, 59, 100, 629, 631, 1000, 20_000];
    for (shape, fpr) in rates.into_iter().enumerate() {
        for count in counts {
            let keys = shape_of_keys(shape as u32 % 3, count);
            let filter = CompactFilter::build(&Column(&keys), fpr).unwrap();
            assert_eq!(filter.keys(), count);
            assert_eq!(filter.count_batch(&Column(&keys)).unwrap(), count, "{count} keys at {fpr}");
            assert!(keys.iter().all(|key| filter.may_contain(key.to_le_bytes())), "{count} keys at {fpr}");
            let others = absent(100_000);
            let mut answers = vec![false; others.len()];
            filter.may_contain_batch_into(&Column(&others), &mut answers).unwrap();
            for (key, answer) in others.iter().zip(&answers).step_by(7) {
                assert_eq!(filter.may_contain(key.to_le_bytes()), *answer);
            }
            let expected = filter.expected_fpr();
            Measured::of(answers).assert_within_3_sigma(expected, &format!("{count} keys at {fpr}"));
            // Whole hashes of 64 bits collide as well.
            let collisions = (count + 1) as f64 * 0.5f64.powi(64);
            assert!(expected <= fpr * 1.02 + collisions, "{count} keys at {fpr}: {expected}");
            let planned = filter.planned_fpr();
            assert!(
                count < 1000 || (planned - expected).abs() <= 0.03 * fpr + collisions,
                "{count} keys at {fpr}: {expected}"
            );
            // A list of hashes is exact. Lines have the requested rate, at every size.
            assert!(
                count <= 8 || (planned - fpr).abs() <= 0.004 * fpr + collisions,
                "{count} keys at {fpr}: {planned}"
            );
        }
    }
    for fpr in [0.0, 0.51, 1.0, 1e-20, f64::NAN] {
        assert!(
            matches!(CompactBuilder::new(fpr), Err(SizeError::Value { what: Quantity::Fpr, .. })),
            "{fpr}"
        );
    }
}

#[test]
fn bytes_depend_on_the_set_of_keys_only() {
    for (count, fpr) in [(3u64, 0.01), (900, 0.01), (70_000, 1.0 / 256.0), (70_000, 1e-5), (40_000, 0.02)] {
        let keys = shape_of_keys(0, count);
        let expected = CompactFilter::build(&Column(&keys), fpr).unwrap().encode();
        let mut other: Vec<u64> = keys.iter().rev().copied().collect();
        other.extend_from_slice(&keys[..keys.len() / 2]);
        other.extend(std::iter::repeat_n(keys[0], 1000));
        for (threads, expected_keys) in [(1, 0), (1, 10), (2, 0), (3, 1 << 20), (5, count)] {
            let mut builder = CompactBuilder::new(fpr).unwrap().threads(threads).expected_keys(expected_keys);
            for some in other.chunks(30_011) {
                builder.add_batch(&Column(some)).unwrap();
            }
            builder.add(keys[0].to_le_bytes()).unwrap();
            assert_eq!(builder.len(), other.len() as u64 + 1);
            assert!(!builder.is_empty());
            let filter = builder.build().unwrap();
            assert_eq!(filter.keys(), count);
            assert_eq!(
                filter.encode(),
                expected,
                "{count} keys, {threads} threads, {expected_keys} expected"
            );
        }
    }
}

#[test]
fn it_is_as_small_as_promised() {
    for fpr in [0.01, 1.0 / 256.0, 1e-3, 1e-4, 1e-6, 1e-9, 0.5f64.powi(40)] {
        // With 1,000 keys, the last line and the last further column are partly unused. At 1/256 there is no
        // further column.
        let few = if fpr == 1.0 / 256.0 { 1.10 } else { 1.30 };
        for (count, most) in [(1000u64, few), (100_000, 1.06), (cases(1_000_000, 300_000), 1.06)] {
            let filter = CompactFilter::build(&Column(&shape_of_keys(1, count)), fpr).unwrap();
            let over = filter.bits().len() as f64 * 8.0 / count as f64 / -fpr.log2();
            assert!(over <= most, "{count} keys at {fpr}: {over}");
        }
    }
    // Two lines; a set in ten has some keys that fit in neither of them.
    let small = (0..50u64).filter(|set| {
        let keys: Vec<u64> = (0..100).map(|i| i + 1000 * set).collect();
        CompactFilter::build(&Column(&keys), 1.0 / 256.0).unwrap().bits().len() <= 128
    });
    assert!(small.count() >= 35);
}

#[test]
fn a_compact_filter_is_made_of_a_dynamic_one() {
    let secret = Secret::new(*b"sixteen bytes ok");
    for hashing in [Hashing::Seed(3), Hashing::Secret(secret.clone())] {
        let options = DynamicOptions::new(10_000, 1e-5).hashing(hashing);
        let mut dynamic = DynamicFilter::new(options).unwrap();
        let keys = shape_of_keys(0, 10_000);
        dynamic.insert_batch(&Column(&keys)).unwrap();
        dynamic.set_label("mine");
        let compact = fullbloom_any::to_compact(&dynamic, 1e-3).unwrap();
        assert_eq!((compact.keys(), compact.label()), (dynamic.keys(), "mine"));
        assert_eq!(compact.count_batch(&Column(&keys)).unwrap(), 10_000);
        // Its own rate, and that of the fingerprints.
        let expected = compact.expected_fpr();
        assert!((expected / (1e-3 + dynamic.expected_fpr()) - 1.0).abs() < 0.02, "{expected}");
        let mut read = CompactFilter::decode(&compact.encode()).unwrap();
        read.unlock(&secret).unwrap();
        assert_eq!(read.count_batch(&Column(&keys)).unwrap(), 10_000);
        assert!(keys.iter().all(|key| read.may_contain(key.to_le_bytes())));
        let mut answers = vec![false; 300_000];
        read.may_contain_batch_into(&Column(&absent(300_000)), &mut answers).unwrap();
        Measured::of(answers).assert_within_3_sigma(expected, "absent keys");
        assert!(fullbloom_any::to_compact(&dynamic, 0.7).is_err());
    }
}

#[test]
fn hashes_that_no_layer_can_keep_end_in_the_list() {
    // The same line and priority in the first layers, many of them: the layers end, and what is left is
    // listed.
    let hashes: Vec<u64> = (0..40_000u64).collect();
    let mut builder = CompactBuilder::new(1.0 / 256.0).unwrap();
    builder.add_batch(&Hashing::default().hashes(&hashes)).unwrap();
    let filter = builder.build().unwrap();
    assert_eq!(filter.keys(), 40_000);
    assert_eq!(filter.count_batch(&Hashing::default().hashes(&hashes)).unwrap(), 40_000);
    // Keys whose whole hashes collide are one key.
    let mut builder = CompactBuilder::new(1e-6).unwrap();
    builder.add_batch(&Hashing::default().hashes(&vec![u64::MAX; 100_000])).unwrap();
    let filter = builder.build().unwrap();
    assert!(
        filter.keys() == 1
            && filter.may_contain_hash(Hashing::default().from_raw(u64::MAX))
            && filter.bits().len() == 64
    );
}

#[test]
fn a_file_keeps_everything_and_a_mapped_one_answers() {
    let keys = shape_of_keys(1, 5000);
    let secret = Secret::new(*b"sixteen bytes ok");
    for (hashing, stored) in [
        (Hashing::Seed(7), false),
        (Hashing::Secret(secret.clone()), false),
        (Hashing::Secret(secret.clone()), true),
    ] {
        let keyed = matches!(hashing, Hashing::Secret(_));
        let mut builder = CompactBuilder::new(1e-3).unwrap().hashing(hashing.clone());
        builder.add_batch(&Column(&keys)).unwrap();
        let mut filter = builder.build().unwrap();
        filter.set_label("Straße");
        filter.set_key_type(Some(KeyType::Long));
        filter.store_secret(stored);
        let bytes = filter.encode();
        assert_eq!(bytes.len() as u64, filter.encoded_len());
        verify(&bytes).unwrap();
        let mut read = CompactFilter::decode(&bytes).unwrap();
        assert_eq!(read.is_locked(), keyed && !stored);
        assert_eq!((read.label(), read.key_type(), read.keys()), ("Straße", Some(KeyType::Long), 5000));
        assert_eq!(read.encode(), bytes);
        assert!(!read.is_locked() || (read.may_contain(b"no") && read.count_batch(&[b"no"]).unwrap() == 1));
        assert!(!keyed || stored || read.unlock(&Secret::new([1; 16])).is_err());
        read.unlock(&secret).unwrap();
        assert_eq!(read.count_batch(&Column(&keys)).unwrap(), 5000);
        assert_eq!(read.hashing(), &hashing);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("compact.bloom");
        filter.save(&path).unwrap();
        let mut opened = CompactFilter::open(&path).unwrap();
        opened.unlock(&secret).unwrap();
        opened.verify().unwrap();
        assert_eq!(opened.count_batch(&Column(&keys)).unwrap(), 5000);
        let any = AnyFilter::open(&path, &Name::Native.into(), Check::All).unwrap();
        assert_eq!((any.kind(), any.dialect()), (Some(Kind::Compact), Name::Native));
        let StoredFilter::Compact(stored) = StoredFilter::load(&path).unwrap() else {
            panic!("another kind")
        };
        assert_eq!(stored.bits(), filter.bits());
        assert!(matches!(fullbloom::Filter::decode(&bytes), Err(DecodeError::Kind { found: "compact", .. })));
    }
    let fast = fullbloom::Filter::with_fpr(10, 0.01).unwrap().encode();
    assert!(matches!(
        CompactFilter::decode(&fast),
        Err(DecodeError::Kind { found: "fast", wanted: "compact" })
    ));
}

#[test]
fn a_compact_filter_behind_the_run_time_filter_reports_itself_and_takes_no_more_keys() {
    let keys = shape_of_keys(2, 3000);
    let filter = CompactFilter::build(&Column(&keys), 1e-5).unwrap();
    let (len, bits) = (filter.encoded_len(), filter.bits().to_vec());
    let mut any = AnyFilter::from(filter);
    assert_eq!((any.encoded_len(), any.bits()), (len, &bits[..]));
    assert_eq!(any.geometry().bit_len, bits.len() as u64 * 8);
    assert_eq!(any.estimated_keys(), Some(3000.0));
    assert!((any.expected_fpr() / 1e-5 - 1.0).abs() < 0.1);
    for refused in [any.insert(b"x").map(|_| ()), any.require_takes_keys(), any.clear()] {
        assert!(refused.unwrap_err().to_string().contains("all its keys at once"));
    }
    let other = AnyFilter::decode(&any.encode(), &Name::Native.into()).unwrap();
    assert!(any.merge(&other).is_err());
    let facts = other.native_facts().unwrap();
    let KindFacts::Compact(CompactFacts { columns, layers, further_bytes, listed, .. }) = facts.kind else {
        panic!("another kind")
    };
    assert_eq!((columns, facts.keys, facts.layout), (16, 3000, None));
    assert!(layers.len() > 1 && further_bytes > 3000 && listed <= 8);
}

#[test]
fn exceptions_are_answered_no_and_no_member_is_lost() {
    let members = shape_of_keys(0, 20_000);
    let good = absent(300_000);
    let filter = CompactFilter::build(&Column(&members), 0.01).unwrap();
    assert!(filter.count_batch(&Column(&good)).unwrap() > 2000);
    let filter = filter.with_exceptions(&Column(&good), &Column(&members)).unwrap();
    assert_eq!(filter.count_batch(&Column(&good)).unwrap(), 0);
    assert_eq!(filter.count_batch(&Column(&members)).unwrap(), 20_000);
    assert!(filter.exceptions().is_some());
    let read = CompactFilter::decode(&filter.encode()).unwrap();
    assert_eq!(read.count_batch(&Column(&good)).unwrap(), 0);
    assert!(members.iter().all(|key| read.may_contain(key.to_le_bytes())));
    assert!(good.iter().take(10_000).all(|key| !read.may_contain(key.to_le_bytes())));
    assert!(read.without_exceptions().count_batch(&Column(&good)).unwrap() > 2000);
    assert!(AnyFilter::from(read).except().is_err());
}

#[test]
fn hashes_that_agree_in_most_bits_still_make_a_filter() {
    // All in a few lines of every layer, or with equal priorities.
    for hashes in [
        (0..3000u64).map(|i| i << 1).collect::<Vec<_>>(),
        (0..3000u64).map(|i| i << 52).collect(),
        vec![17; 5000],
        vec![u64::MAX, 0, 1, u64::MAX],
    ] {
        let mut builder = CompactBuilder::new(0.01).unwrap();
        builder.add_batch(&Hashing::default().hashes(&hashes)).unwrap();
        let filter = builder.build().unwrap();
        let distinct: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!(filter.keys(), distinct.len() as u64);
        assert_eq!(filter.count_batch(&Hashing::default().hashes(&hashes)).unwrap(), hashes.len() as u64);
        assert!(hashes.iter().all(|hash| filter.may_contain_hash(Hashing::default().from_raw(*hash))));
    }
}

#[test]
fn keys_on_the_disk_make_the_same_filter_and_leave_nothing() {
    let count = cases(4_000_000, 2_000_000); // 1.6 million are kept in memory at least
    let keys = shape_of_keys(0, count);
    let dir = tempfile::tempdir().unwrap();
    let left = || std::fs::read_dir(dir.path()).unwrap().count();
    let mut builder = CompactBuilder::new(1e-3).unwrap().memory(0).spool_in(dir.path()).threads(2);
    for some in keys.chunks(300_001) {
        builder.add_batch(&Column(some)).unwrap();
    }
    builder.add_batch(&Column(&keys[..1000])).unwrap();
    assert!(builder.len() == count + 1_000 && left() == 0 || cfg!(not(unix)));
    let bounded = builder.build().unwrap();
    assert_eq!((bounded.keys(), left()), (count, 0));
    let whole = CompactFilter::build(&Column(&keys), 1e-3).unwrap();
    assert!(bounded.encode() == whole.encode(), "the bytes differ");

    let mut builder = CompactBuilder::new(1e-3).unwrap().memory(0).spool_in(dir.path().join("missing"));
    let refused = builder.add_batch(&Column(&keys)).unwrap_err();
    assert!(refused.to_string().contains("cannot be kept on the disk"), "{refused}");
}

#[test]
fn the_plan_is_the_size_of_the_filter() {
    for (count, fpr) in
        [(0u64, 0.01), (5, 0.01), (1000, 1e-3), (200_000, 0.01), (200_000, 1e-6), (50_000, 0.2)]
    {
        let plan = CompactFilter::plan(count, fpr).unwrap();
        let filter = CompactFilter::build(&Column(&shape_of_keys(1, count)), fpr).unwrap();
        let (planned, real) = (plan.encoded_len as f64, filter.encoded_len() as f64);
        assert!((planned - real).abs() <= 0.01 * real + 256.0, "{count} keys at {fpr}: {planned}, {real}");
        assert!((plan.expected_fpr - filter.planned_fpr()).abs() <= 0.01 * fpr);
    }
    assert!(CompactFilter::plan(1 << 45, 0.01).is_err());
}

fn golden_keys(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("key-{i}")).collect()
}

#[track_caller]
fn same(name: &str, keys: &[String], fpr: f64, hashing: Hashing, finish: impl FnOnce(&mut CompactFilter)) {
    let golden = vectors::bytes(name);
    let mut builder = CompactBuilder::new(fpr).unwrap().hashing(hashing);
    builder.add_batch(keys).unwrap();
    let mut filter = builder.build().unwrap();
    finish(&mut filter);
    assert_eq!(filter.encode(), golden, "{name}");
    let read = CompactFilter::decode(&golden).unwrap();
    assert_eq!(read.count_batch(keys).unwrap(), keys.len() as u64);
    assert_eq!(read.keys(), keys.len() as u64);
}

#[test]
fn files_are_written_and_read_as_by_the_second_implementation() {
    let (all, hundred) = (golden_keys(3000), golden_keys(100));
    let seed = || Hashing::Seed(0);
    same("native/compact.bloom", &all, 1.0 / 256.0, seed(), |_| {});
    same("native/compact-percent.bloom", &all, 0.01, Hashing::Seed(5), |filter| {
        filter.set_label("ein Prozent");
    });
    same("native/compact-third.bloom", &all, 0.3, seed(), |_| {});
    same("native/compact-eighth.bloom", &all, 0.1, seed(), |_| {});
    same("native/compact-lowest.bloom", &hundred, 0.5f64.powi(64), seed(), |_| {});
    same("native/compact-list.bloom", &hundred[..5], 0.01, seed(), |_| {});
    same("native/compact-empty.bloom", &[], 0.01, seed(), |_| {});
    let secret = vectors::json("native/hash.json").hex("secret");
    let secret = Hashing::Secret(Secret::new(secret.try_into().unwrap()));
    same("native/compact-keyed.bloom", &hundred, 1e-6, secret, |filter| {
        filter.set_label("open");
        filter.store_secret(true);
    });
}

#[test]
fn batches_of_every_length_are_answered() {
    let keys = shape_of_keys(1, 30_000);
    for fpr in [0.3, 0.01, 1.0 / 256.0, 1e-6] {
        let filter = CompactFilter::build(&Column(&keys), fpr).unwrap();
        let view = AnyFilter::over(filter.encode(), &Name::Native.into(), Check::All).unwrap();
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 1000] {
            let mut answers = vec![0u64; usize::div_ceil(len, 64)];
            filter.may_contain_batch_into(&Column(&keys[..len]), &mut answers).unwrap();
            assert_eq!(answers.iter().map(|word| word.count_ones() as usize).sum::<usize>(), len);
            let mut bools = vec![false; len];
            view.may_contain_batch_into(Column(&keys[..len]), &mut bools).unwrap();
            assert!(bools.iter().all(|yes| *yes));
        }
    }
}
