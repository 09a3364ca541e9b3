use super::filter::Store;
use super::*;
use crate::Keep;
use alloc::vec::Vec;
use core::time::Duration;
use fullbloom_core::keys::Hashes;
use fullbloom_core::native::hashing::{Hasher, Hashing};

fn hashes(count: u64) -> Vec<u64> {
    let mix = |i: u64| {
        let z = (i ^ i >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    (1..=count).map(|i| mix(mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))).collect()
}

/// Hashes as the filters here make them.
fn own(hashes: &[u64]) -> Hashes<'_, Hasher> {
    Hashing::default().hashes(hashes)
}

fn listed(filter: &DynamicFilter) -> usize {
    filter.shards().shards().iter().map(shard::Shard::listed).sum()
}

#[test]
fn few_keys_are_in_lists_at_every_size_and_rate() {
    for (fpr, up_to) in [(0.3, 1), (0.01, 1), (0.01, 1 << 30), (1e-6, 1)] {
        let all = hashes(1_500_000);
        for keys in [100, 3_000, 90_000, 400_000, 1_500_000] {
            let options = DynamicOptions::new(1_000, fpr).up_to(up_to.max(keys as u64));
            let mut grown = DynamicFilter::new(options).unwrap();
            grown.insert_batch(&own(&all[..keys])).unwrap();
            assert!(listed(&grown) <= keys / 200 + 4, "{fpr} {keys}: {}", listed(&grown));
            let mut sized = DynamicFilter::with_fpr(keys as u64, fpr).unwrap();
            let memory = sized.memory();
            sized.insert_batch(&own(&all[..keys])).unwrap();
            assert!(sized.memory() - memory <= keys as u64 / 8 + 64, "a sized filter does not grow");
        }
    }
}

#[test]
fn expired_keys_are_dropped_while_others_come() {
    let expiry = Expiry::of(Keep::Time(Duration::from_millis(70_000)));
    let mut filter =
        DynamicFilter::new(DynamicOptions::new(1_000, 0.001).mode(Mode::Expiring(expiry))).unwrap();
    let all = hashes(2_000_000);
    let mut most = 0;
    for (second, some) in all.chunks(1_000).enumerate() {
        filter.advance_millis(second as u64 * 1_000).unwrap();
        filter.insert_batch(&own(some)).unwrap();
        most = most.max(filter.memory());
    }
    let Store::Shards(shards) = &filter.store else { panic!("inserted") };
    assert!(filter.keys() >= 70_000 * 99 / 100 && filter.keys() <= 81_000);
    assert!(shards.keys() < 250_000, "{} fingerprints are stored", shards.keys());
    assert!(most < 1 << 20, "{most} bytes");
}

#[test]
fn keys_that_are_sorted_make_the_filter_of_keys_one_by_one() {
    let all = hashes(300_000);
    for (expected, fpr, up_to) in [(1_000, 0.01, 1 << 30), (300_000, 0.01, 1), (1, 0.4, 1), (60_000, 1e-6, 1)]
    {
        let options = DynamicOptions::new(expected, fpr).up_to(up_to.max(expected));
        let mut sorted = DynamicFilter::new(options.clone()).unwrap();
        let mut single = DynamicFilter::new(options).unwrap();
        // Overlapping parts, so that many keys are known; some twice in one batch.
        for part in [0..5_000, 4_000..9_000, 0..70_000, 60_000..300_000, 250_000..300_000] {
            let mut keys = all[part].to_vec();
            keys.extend_from_within(..keys.len() / 3);
            sorted.insert_batch(&own(&keys)).unwrap();
            for hash in &keys {
                single.insert_hash(Hashing::default().from_raw(*hash)).unwrap();
            }
            assert_eq!(sorted.keys(), single.keys(), "{fpr}");
            assert_eq!(sorted.count_batch(&own(&keys)), Ok(keys.len() as u64));
            assert!(sorted.encode() == single.encode(), "{fpr}");
            assert!(
                sorted.memory() <= single.memory() * 5 / 4,
                "{fpr}: {} {}",
                sorted.memory(),
                single.memory()
            );
            assert!(listed(&sorted) as u64 <= sorted.keys() / 200 + 4, "{fpr}: {}", listed(&sorted));
        }
    }
}

#[test]
fn keys_in_the_order_of_the_lines_make_the_filter_of_keys_in_their_own_order() {
    let mut all = hashes(250_000);
    all.extend_from_within(..50_000); // some of them twice
    let expiry = Expiry::of(Keep::Time(Duration::from_secs(60)));
    for mode in [Mode::Set, Mode::Counting, Mode::Expiring(expiry)] {
        for (keys, up_to) in [(300_000, 1), (150_000, 1), (1_000, 1 << 30)] {
            let options = DynamicOptions::new(keys, 0.001).up_to(up_to.max(300_000)).mode(mode);
            let mut distributed = DynamicFilter::new(options.clone()).unwrap();
            let mut in_order = DynamicFilter::new(options).unwrap();
            let mut told = alloc::vec![0u64; all.len().div_ceil(64)];
            for _ in 0..2 {
                let before = distributed.keys();
                distributed.insert_batch(&own(&all)).unwrap();
                in_order.insert_batch_new(&own(&all), &mut told).unwrap();
                let new: u64 = told.iter().map(|word| u64::from(word.count_ones())).sum();
                assert!(mode == Mode::Counting || distributed.keys() - before == new, "{mode:?} {keys}");
                assert!(distributed.encode() == in_order.encode(), "{mode:?} {keys}");
            }
            assert!(distributed.array_len() > 256 << 10);
        }
    }
}

#[test]
fn the_last_keys_of_a_large_batch_do_not_expire_before_the_first() {
    // Large enough that the batch would be ordered by line, if ages did not depend on the order.
    let expiry = Expiry::of(Keep::Keys(50_000));
    let options = DynamicOptions::new(200_000, 1e-6).mode(Mode::Expiring(expiry));
    let mut filter = DynamicFilter::new(options).unwrap();
    let all = hashes(200_000);
    filter.insert_batch(&own(&all)).unwrap();
    assert_eq!(filter.count_batch(&own(&all[150_000..])), Ok(50_000));
}

#[test]
fn without_memory_for_a_shard_a_filter_finds_every_key_and_grows_later() {
    let all = hashes(420_000);
    // One shard that grows and is split twice; several shards of one grid, of which each grows or is split.
    for (expected_keys, keys) in [(1_000, 260_000), (150_000, 420_000)] {
        let options = DynamicOptions::new(expected_keys, 0.01).up_to(1 << 30);
        let mut filter = DynamicFilter::new(options).unwrap();
        let (mut refused, raw) = (0, |filter: &DynamicFilter, i: usize| filter.may_contain_raw(all[i]));
        for i in 0..keys {
            let mut pages = [0, 1, 9, u32::MAX].into_iter();
            loop {
                pool::refusing::after(pages.next().expect("nothing is refused at last"));
                if filter.set(all[i]).is_ok() {
                    break;
                }
                refused += 1;
                assert!((0..i).step_by(7).all(|key| raw(&filter, key)), "one by one, after key {i}");
                assert_eq!(filter.count_batch(&own(&all[..i])), Ok(i as u64), "after key {i}");
            }
        }
        pool::refusing::after(u32::MAX);
        assert!(refused >= 4 && (0..keys).all(|key| raw(&filter, key)), "{refused}");
        assert!(filter.keys() > keys as u64 - keys as u64 / 50);
    }
}
