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
