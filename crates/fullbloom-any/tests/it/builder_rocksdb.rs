//! The builder of full filters: memory charges, corruption detection, and Ribbon filters of many keys.

use fullbloom::SizeError;
use fullbloom_dialects::Name;
use fullbloom_dialects::rocksdb::MATCHES_EVERYTHING;
use fullbloom_dialects::rocksdb::reservation::BUCKET;
use fullbloom_dialects::rocksdb::{
    AltOrder, BuildError, Builder, FilterType, FullFilter, MemoryBalance, Policy, Reservation,
};
use fullbloom_testkit::keys::SplitMix;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A budget that records the peak of its reservations.
#[derive(Default)]
struct Budget {
    limit: Option<u64>,
    held: AtomicU64,
    peak: AtomicU64,
    refusals: AtomicU64,
}

impl Budget {
    fn limited(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit: Some(limit), ..Budget::default() })
    }

    fn buckets(&self) -> u64 {
        let held = self.held.load(Ordering::Relaxed);
        assert_eq!(held % BUCKET, 0);
        held / BUCKET
    }

    fn peak_buckets(&self) -> u64 {
        self.peak.load(Ordering::Relaxed) / BUCKET
    }
}

impl Reservation for Budget {
    fn reserve(&self, bytes: u64) -> bool {
        assert_eq!(bytes, BUCKET);
        let held = self.held.load(Ordering::Relaxed) + bytes;
        if self.limit.is_some_and(|limit| held > limit) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.held.store(held, Ordering::Relaxed);
        self.peak.fetch_max(held, Ordering::Relaxed);
        true
    }

    fn release(&self, bytes: u64) {
        assert!(bytes > 0 && bytes.is_multiple_of(BUCKET));
        assert!(self.held.fetch_sub(bytes, Ordering::Relaxed) >= bytes, "more given back than taken");
    }
}

fn builder(kind: FilterType) -> Builder {
    Builder::new(Policy::new(kind, 10.0).unwrap())
}

fn insert(builder: &mut Builder, keys: std::ops::Range<u64>) {
    keys.for_each(|i| builder.add(&i.to_be_bytes()));
}

#[test]
fn hashes_are_charged_by_the_bucket_when_it_is_half_full() {
    let budget = Arc::new(Budget::default());
    let mut builder = builder(FilterType::FastLocal).with_reservation(budget.clone());
    for (upto, buckets) in
        [(16_383, 0), (16_384, 1), (32_768, 1), (49_151, 1), (49_152, 2), (81_919, 2), (81_920, 3)]
    {
        let from = builder.entries();
        insert(&mut builder, from..upto);
        assert_eq!(budget.buckets(), buckets, "{upto} keys");
    }
    insert(&mut builder, 81_919..81_920); // a repeat is not an entry
    assert_eq!(builder.entries(), 81_920);
    // 102,405 bytes of filter: the three buckets of the hashes are released, the one of the filter is kept.
    let filter = builder.build().unwrap();
    assert_eq!(filter.encoded_len(), 102_405);
    assert_eq!((budget.buckets(), budget.peak_buckets()), (1, 4));
    drop(filter);
    assert_eq!(budget.buckets(), 1, "the charge is the builder's, not the filter's");
    drop(builder);
    assert_eq!(budget.buckets(), 0);
}

#[test]
fn key_and_alternative_cannot_jump_over_a_bucket() {
    let budget = Arc::new(Budget::default());
    let mut builder = builder(FilterType::FastLocal).with_reservation(budget.clone());
    insert(&mut builder, 0..16_383);
    builder.add_with_prefix(b"key", Some(b"alt")); // entries 16,384 and 16,385
    assert_eq!((builder.entries(), budget.buckets()), (16_385, 1));
}

#[test]
fn finished_filters_add_up_until_the_builder_is_dropped() {
    let budget = Arc::new(Budget::default());
    let mut builder = builder(FilterType::FastLocal).with_reservation(budget.clone());
    for (round, buckets) in [(1, 1), (2, 1), (3, 2)] {
        insert(&mut builder, 0..81_920); // 102,405 bytes each: 100, 200, 300 KiB
        builder.build().unwrap();
        assert_eq!(budget.buckets(), buckets, "filter {round}");
    }
    drop(builder);
    assert_eq!(budget.buckets(), 0);
}

#[test]
fn hashes_kept_for_verification_stay_charged_until_it_is_done() {
    let budget = Arc::new(Budget::default());
    let mut builder =
        builder(FilterType::FastLocal).with_reservation(budget.clone()).with_corruption_detection();
    insert(&mut builder, 0..81_920);
    let content = builder.build().unwrap().encode();
    assert_eq!(budget.buckets(), 4, "three of hashes, one of filter");
    builder.verify(&content).unwrap();
    assert_eq!(budget.buckets(), 1);
    insert(&mut builder, 0..81_920);
    builder.build().unwrap();
    assert_eq!(budget.buckets(), 4);
    builder.build().unwrap(); // not verified: the hashes are released with the next filter
    assert_eq!(budget.buckets(), 1);
}

#[test]
fn ribbon_rows_are_charged_while_it_is_solved() {
    let budget = Arc::new(Budget::default());
    let mut builder = builder(FilterType::Ribbon).with_reservation(budget.clone());
    insert(&mut builder, 0..100_000);
    assert_eq!(budget.buckets(), 3); // 768 KiB of hashes: 100,000 / 32,768 is 3.05
    let FullFilter::Ribbon(filter) = builder.build().unwrap() else { panic!("no Ribbon") };
    let slots = u64::from(filter.dialect().blocks()) * 128;
    let peak = (3 * BUCKET + slots * 20 + filter.encode().len() as u64).div_ceil(BUCKET);
    assert_eq!(budget.peak_buckets(), peak);
    assert_eq!(budget.buckets(), 1, "87 KiB of filter");
}

#[test]
fn refused_rows_turn_ribbon_into_bloom_and_other_refusals_into_nothing() {
    // Room for the hashes and one bucket, not for two megabytes of rows.
    let budget = Budget::limited(4 * BUCKET);
    let mut ribbon = builder(FilterType::Ribbon).with_reservation(budget.clone());
    insert(&mut ribbon, 0..100_000);
    let filter = ribbon.build().unwrap();
    assert_eq!(filter.dialect(), Some(Name::RocksDb));
    assert_eq!(budget.refusals.load(Ordering::Relaxed), 1);
    assert_eq!(budget.buckets(), 1, "what was taken for the rows is given back");

    let mut bloom = builder(FilterType::FastLocal);
    insert(&mut bloom, 0..100_000);
    assert_eq!(bloom.build().unwrap().encode(), filter.encode());

    // No room at all: nothing is charged, and nothing else changes.
    let nothing = Budget::limited(0);
    let mut bloom = builder(FilterType::FastLocal).with_reservation(nothing.clone());
    insert(&mut bloom, 0..100_000);
    assert_eq!(bloom.build().unwrap().encode(), filter.encode());
    assert_eq!((nothing.buckets(), nothing.refusals.load(Ordering::Relaxed) > 0), (0, true));
}

#[test]
fn the_legacy_builder_charges_nothing() {
    let budget = Arc::new(Budget::default());
    let mut builder = builder(FilterType::Legacy).with_reservation(budget.clone());
    insert(&mut builder, 0..100_000);
    builder.build().unwrap();
    assert_eq!(budget.peak_buckets(), 0);
}

/// Every set bit of a Bloom filter belongs to some key: if a bit is lost, the key is reported missing.
#[test]
fn every_lost_bit_of_a_finished_bloom_filter_is_found() {
    for kind in [FilterType::Legacy, FilterType::FastLocal] {
        let content = {
            let mut builder = builder(kind);
            insert(&mut builder, 0..300);
            builder.build().unwrap().encode()
        };
        let data_len = content.len() - 5;
        for position in (0..data_len * 8).filter(|at| content[at / 8] & 1 << (at % 8) != 0) {
            let mut builder = builder(kind).with_corruption_detection();
            insert(&mut builder, 0..300);
            let mut bytes = builder.build().unwrap().encode();
            bytes[position / 8] ^= 1 << (position % 8);
            let lost = builder.verify(&bytes).unwrap_err();
            assert!(matches!(lost, BuildError::KeysLost { missing: 1.., of: 300 }), "{kind:?} {position}");
        }
    }
}

#[test]
fn a_flipped_bit_of_a_finished_ribbon_filter_is_found_wherever_a_key_looks() {
    let mut flips = SplitMix::new(5);
    for _ in 0..200 {
        let mut builder = builder(FilterType::Ribbon).with_corruption_detection();
        insert(&mut builder, 0..2000);
        let mut bytes = builder.build().unwrap().encode();
        assert_eq!(bytes[bytes.len() - 5], 0xfe);
        let position = flips.below((bytes.len() as u64 - 5) * 8) as usize;
        bytes[position / 8] ^= 1 << (position % 8);
        let lost = builder.verify(&bytes).unwrap_err();
        assert!(matches!(lost, BuildError::KeysLost { missing: 1.., of: 2000 }), "{position}");
    }
}

#[test]
fn verification_finds_stubs_and_other_filters_but_not_bytes_that_match_everything() {
    for kind in [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon] {
        let verified = |content: &[u8]| {
            let mut builder = builder(kind).with_corruption_detection();
            insert(&mut builder, 0..1200);
            builder.build().unwrap();
            builder.verify(content)
        };
        let all_lost = Err(BuildError::KeysLost { missing: 1200, of: 1200 });
        assert_eq!(verified(&[]), all_lost);
        assert_eq!(verified(&[0; 5]), all_lost);
        assert_eq!(verified(&MATCHES_EVERYTHING), Ok(()));
        let mut other =
            builder(if kind == FilterType::Legacy { FilterType::FastLocal } else { FilterType::Legacy });
        insert(&mut other, 0..1200);
        assert_eq!(verified(&other.build().unwrap().encode()), all_lost);
    }
}

#[test]
fn the_order_of_key_and_alternative_changes_which_hash_is_first() {
    let built = |order| {
        let mut builder = builder(FilterType::Ribbon).with_alt_order(order);
        for i in 0..2000u64 {
            let key = i.to_be_bytes();
            builder.add_with_prefix(&key, Some(&key[..7]));
        }
        let prefixes = if order == AltOrder::AltFirst { 8 } else { 2000 };
        assert_eq!(builder.entries(), 2000 + prefixes);
        let FullFilter::Ribbon(filter) = builder.build().unwrap() else { panic!("no Ribbon") };
        for i in 0..2000u64 {
            assert!(filter.may_contain(i.to_be_bytes()) && filter.may_contain(&i.to_be_bytes()[..7]));
        }
        filter.dialect().seed()
    };
    let first_seed = |key: &[u8]| fullbloom_dialects::hash::xxph3_rocksdb(key) as u8;
    let tries = |seed: u8, first: u8| seed.wrapping_sub(first);
    assert!(tries(built(AltOrder::AltFirst), first_seed(&[0; 7])) < 4);
    assert!(tries(built(AltOrder::KeyFirst), first_seed(&[0; 8])) < 4);
}

/// Before 9.6 the bits builder compared only neighbours: a prefix after each key is stored each time.
#[test]
fn key_first_drops_only_repeats_of_the_hash_before() {
    let mut builder = builder(FilterType::FastLocal).with_alt_order(AltOrder::KeyFirst);
    for key in [b"ab1", b"ab2", b"ab2"] {
        builder.add_with_prefix(key, Some(b"ab"));
    }
    assert_eq!(builder.entries(), 6);
    builder.add(b"ab");
    assert_eq!(builder.entries(), 6);
}

#[test]
fn ribbon_filters_of_up_to_a_million_keys_lose_none_and_keep_their_rate() {
    for (keys, bits_per_key) in
        [(300u64, 10.0), (1_500, 1.0), (5_000, 30.0), (20_000, 100.0), (300_000, 5.0), (1_000_000, 10.0)]
    {
        let mut stream = SplitMix::new(keys);
        let present: Vec<u64> = (0..keys).map(|_| stream.next_u64()).collect();
        let mut builder =
            Builder::new(Policy::new(FilterType::Ribbon, bits_per_key).unwrap()).with_corruption_detection();
        present.iter().for_each(|key| builder.add(&key.to_le_bytes()));
        let filter = builder.build().unwrap();
        builder.verify(&filter.encode()).unwrap();
        let FullFilter::Ribbon(filter) = filter else { panic!("no Ribbon for {keys}") };
        assert!(present.iter().all(|key| filter.may_contain(key.to_le_bytes())));
        let lookups = 500_000;
        let hits =
            (0..lookups).filter(|_| filter.may_contain(stream.next_u64().to_le_bytes())).count() as f64;
        let expected = filter.expected_fpr();
        let sigma = (f64::from(lookups) * expected * (1.0 - expected)).sqrt();
        assert!((hits - f64::from(lookups) * expected).abs() <= 3.0 * sigma.max(1.0), "{keys}: {hits} hits");
        let estimated = filter.estimated_keys().unwrap();
        assert!((estimated - keys as f64).abs() < 130.0 + keys as f64 * 0.001, "{keys}: {estimated}");
    }
}

#[test]
fn a_length_that_no_filter_can_have_is_refused() {
    for (kind, wrong) in [
        (FilterType::FastLocal, vec![0, 5, 64, 70, 1284, 1286, 0x1_0000_0005]),
        (FilterType::Ribbon, vec![0, 5, 16, 22, 884, 886]),
        (FilterType::Legacy, vec![0, 5, 69, 1285, 1413]), // the rule gives 1349, and no other length works
    ] {
        for len in wrong {
            let mut builder = builder(kind);
            insert(&mut builder, 0..1000);
            let refused = builder.build_with_len(len).unwrap_err();
            assert!(
                matches!(refused, BuildError::Size(SizeError::Count { .. })),
                "{kind:?} {len}: {refused}"
            );
        }
    }
    let mut legacy = builder(FilterType::Legacy);
    insert(&mut legacy, 0..1000);
    assert_eq!(legacy.build_with_len(1349).unwrap().encoded_len(), 1349);
}

#[test]
fn ribbon_takes_any_number_of_whole_segments() {
    for len in [21, 133, 885, 901, 1605, 2053, 40_005] {
        let mut builder = builder(FilterType::Ribbon).with_corruption_detection();
        insert(&mut builder, 0..1000);
        let content = builder.build_with_len(len).unwrap().encode();
        assert_eq!(content.len() as u64, len);
        builder.verify(&content).unwrap();
    }
}

/// Larger filters compensate for smaller ones: the average rate stays the requested one.
#[test]
fn the_balance_keeps_the_mean_rate_near_the_promise() {
    for kind in [FilterType::FastLocal, FilterType::Ribbon] {
        let policy = Policy::new(kind, 10.0).unwrap();
        let (balance, calls) = (MemoryBalance::default(), Mutex::new(0));
        // An allocator with size classes a quarter apart.
        let usable = |request: u64| {
            *calls.lock().unwrap() += 1;
            let class = 1u64 << request.ilog2();
            (0..=4).map(|quarter| class + class / 4 * quarter).find(|&size| size >= request).unwrap()
        };
        let (mut lens, mut longer, mut shorter) = (Vec::new(), 0, 0);
        for keys in (1000..4000u64).step_by(100) {
            let mut builder = Builder::new(policy);
            insert(&mut builder, 0..keys);
            let filter = builder.build_for_memory(&balance, &usable).unwrap();
            lens.push(filter.encoded_len());
            longer += u32::from(filter.encoded_len() > policy.content_len(keys) + 16);
            shorter += u32::from(filter.encoded_len() + 16 < policy.content_len(keys));
            assert!((0..keys).all(|i| filter.may_contain(&i.to_be_bytes())));
        }
        assert_eq!(*calls.lock().unwrap(), lens.len());
        assert!(longer > 5 && shorter > 5, "{kind:?}: {longer} longer, {shorter} shorter");
        // In units of 2^-32: less than one filter's whole rate (0.95 % is 41 million) is left over.
        assert!(balance.get().abs() < 41_000_000, "{kind:?}: {}", balance.get());
    }
}

#[test]
fn more_keys_than_any_filter_can_hold_get_the_rate_that_is_left() {
    use fullbloom::sizing::{Request, Target};
    use fullbloom_any as any;
    for name in [Name::RocksDbLegacy, Name::RocksDb, Name::RocksDbRibbon] {
        for expected_keys in [1 << 40, 1 << 60, u64::MAX] {
            let request = |target| Request { expected_keys, target };
            let plan = any::plan(name, &request(Target::BitsPerKey(10.0))).unwrap();
            assert!(plan.encoded_len <= u64::from(u32::MAX) && plan.expected_fpr > 0.99, "{name} {plan:?}");
            let refused = any::plan(name, &request(Target::Fpr(0.01)));
            assert_eq!(refused, Err(SizeError::Unreachable { fpr: 0.01, max_bits_per_key: 100.0 }), "{name}");
        }
    }
}

/// Neighbouring repeats inside a batch, across batches and across the 16 keys hashed together; key lengths
/// that take different paths through the hash.
#[test]
fn a_batch_builds_and_charges_what_its_keys_do_one_by_one() {
    let mut random = SplitMix::new(1);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for i in 0..60_000u64 {
        let repeats = if random.below(10) == 0 { 2 } else { 1 };
        let longest = if i % 1000 < 500 { 9 } else { 40 };
        let len = 4 + random.below(longest) as usize;
        keys.extend(std::iter::repeat_n(random.bytes(len), repeats));
    }
    for kind in [FilterType::Legacy, FilterType::FastLocal, FilterType::Ribbon] {
        let budgets = [Arc::new(Budget::default()), Arc::new(Budget::default())];
        let [mut single, mut batches] = budgets.clone().map(|budget| builder(kind).with_reservation(budget));
        for part in keys.chunks(997) {
            part.iter().for_each(|key| single.add(key));
            batches.add_batch(part).unwrap();
            assert_eq!(batches.entries(), single.entries());
            assert_eq!(budgets[1].buckets(), budgets[0].buckets());
        }
        assert_eq!(batches.build().unwrap().encode(), single.build().unwrap().encode(), "{kind:?}");
    }
}
