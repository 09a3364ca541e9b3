//! The native filter against a set of bit numbers: every method of insertion and lookup, and the laws of its
//! operations.

use fullbloom::SizeError;
use fullbloom::bulk::Builder;
use fullbloom::error::MergeError;
use fullbloom::error::Quantity;
use fullbloom::keys::{Column, Offsets};
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Layout, Request, Target};
use fullbloom::{Hashing, Secret, SharedFilter};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The layout's bits of a hash, written from the format's page without shortcuts.
fn naive_bits(layout: Layout, blocks: u64, hash: u64) -> Vec<u64> {
    const P: u64 = 0x9e37_79b9_7f4a_7c15;
    const Q: u64 = 0xbf58_476d_1ce4_e5b9;
    let mut x = vec![hash, hash.wrapping_mul(P)];
    for factor in [Q, P, P, P] {
        let last = x[x.len() - 1];
        x.push((last ^ (last >> 32)).wrapping_mul(factor));
    }
    let block = ((u128::from(x[1]) * u128::from(blocks)) >> 64) as u64;
    let (lines, in_block) = (u64::from(layout.lines()), layout.block_lines());
    let mut bits = Vec::new();
    for i in 0..lines {
        let region = in_block / lines;
        let line = block * in_block + i * region + (x[2] >> (58 - 6 * i)) % region;
        let at = if i == 0 { 0 } else { i as usize + 1 };
        let (a, b) = (x[at], x[at + 1]);
        let fields = a.rotate_left(32) ^ b;
        for lane in (0..u64::from(layout.line_probes())).map(|p| ((b >> 5) + p) % 8) {
            let field = fields >> (8 * lane) & 255;
            let word = lane + 8 * (field / 128);
            bits.push(line * 512 + word * 32 + 31 - field % 32);
        }
    }
    bits
}

/// A filter as a set of bit numbers.
struct Naive {
    layout: Layout,
    blocks: u64,
    bits: BTreeSet<u64>,
}

impl Naive {
    fn like(filter: &fullbloom::Filter) -> Naive {
        Naive { layout: filter.layout(), blocks: filter.blocks(), bits: BTreeSet::new() }
    }

    fn insert(&mut self, hash: u64) -> bool {
        let bits = naive_bits(self.layout, self.blocks, hash);
        bits.into_iter().fold(false, |new, bit| self.bits.insert(bit) | new)
    }

    fn may_contain(&self, hash: u64) -> bool {
        naive_bits(self.layout, self.blocks, hash).iter().all(|bit| self.bits.contains(bit))
    }

    fn array(&self) -> Vec<u8> {
        let mut array = vec![0; (self.blocks * self.layout.block_lines() * 64) as usize];
        self.bits.iter().for_each(|bit| array[(bit / 8) as usize] |= 1 << (bit % 8));
        array
    }
}

/// Bits and probes of every kind of layout, small enough to be densely filled.
fn geometries() -> impl Strategy<Value = (u64, u32)> {
    let one = (1..40u64, 1..=8u32).prop_map(|(lines, probes)| (lines * 512, probes));
    let two = (1..20u64, 5..=8u32).prop_map(|(pairs, probes)| (pairs * 1024, probes * 2));
    let four = (1..10u64, 5..=8u32).prop_map(|(fours, probes)| (fours * 2048, probes * 4));
    let pages = (1..3u64, 5..=8u32).prop_map(|(pages, probes)| (pages * 64 * 512, probes * 2));
    prop_oneof![one, two, four, pages]
}

fn hashing() -> impl Strategy<Value = Hashing> {
    prop_oneof![
        any::<u64>().prop_map(Hashing::Seed),
        any::<[u8; 16]>().prop_map(|bytes| Hashing::Secret(Secret::new(bytes)))
    ]
}

fn empty((bit_len, probes): (u64, u32), hashing: Hashing) -> fullbloom::Filter {
    let plan =
        Sizing::new(&Request { expected_keys: 100, target: Target::Exact { bit_len, probes } }).unwrap();
    fullbloom::Filter::with_sizing(&plan, hashing).unwrap()
}

fn some_keys(most: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn single_keys_are_as_in_the_naive_filter(
        geometry in geometries(), hashing in hashing(), keys in some_keys(200), absent in some_keys(100)
    ) {
        let mut filter = empty(geometry, hashing);
        let mut naive = Naive::like(&filter);
        for key in &keys {
            prop_assert_eq!(filter.insert(key), naive.insert(filter.hash(key).to_raw()));
            prop_assert!(filter.may_contain(key));
        }
        prop_assert_eq!(filter.keys(), filter.estimated_keys().map_or(u64::MAX, |keys| keys.round() as u64));
        prop_assert_eq!(filter.count_ones(), naive.bits.len() as u64);
        prop_assert_eq!(filter.bits(), naive.array());
        for key in &absent {
            prop_assert_eq!(filter.may_contain(key), naive.may_contain(filter.hash(key).to_raw()));
        }
    }

    #[test]
    fn every_way_to_insert_gives_the_same_filter_and_every_lookup_the_same_answers(
        geometry in geometries(), hashing in hashing(), numbers in prop::collection::vec(any::<u64>(), 0..300)
    ) {
        let bytes: Vec<[u8; 8]> = numbers.iter().map(|n| n.to_le_bytes()).collect();
        let mut one_by_one = empty(geometry, hashing.clone());
        let expected: Vec<bool> = bytes.iter().map(|key| one_by_one.insert(key)).collect();

        let hashes: Vec<u64> = bytes.iter().map(|key| one_by_one.hash(key).to_raw()).collect();
        let data = bytes.as_flattened();
        let offsets: Vec<i32> = (0..=numbers.len() as i32).map(|i| i * 8).collect();
        let wide: Vec<i64> = offsets.iter().map(|&o| o.into()).collect();
        let mut batches: Vec<fullbloom::Filter> = (0..7).map(|_| empty(geometry, hashing.clone())).collect();
        batches[0].insert_batch(&Column(&numbers)).unwrap();
        batches[1].insert_batch(bytes.as_slice()).unwrap();
        batches[2].insert_batch(&Offsets::new(data, &offsets).unwrap()).unwrap();
        batches[3].insert_batch(&Offsets::new(data, &wide).unwrap()).unwrap();
        batches[4].insert_batch(&hashing.hashes(&hashes)).unwrap();
        batches[5].insert_parallel(&Column(&numbers), 2).unwrap();
        batches[6].extend(&bytes);
        let shared = SharedFilter::from(empty(geometry, hashing.clone()));
        shared.insert_batch(&Column(&numbers)).unwrap();
        batches.push(shared.into_filter());
        let mut builder = Builder::new(empty(geometry, hashing.clone()), 2);
        builder.add_batch(bytes.as_slice()).unwrap();
        batches.push(builder.build());
        for batch in &batches {
            prop_assert_eq!(batch.encode(), one_by_one.encode());
        }
        let mut reported = vec![false; numbers.len()];
        let mut filter = empty(geometry, hashing);
        filter.insert_batch_new(&Column(&numbers), &mut reported).unwrap();
        prop_assert_eq!(filter.encode(), one_by_one.encode());
        prop_assert_eq!(reported, expected);

        let queried: Vec<u64> = numbers.iter().flat_map(|&n| [n, n.wrapping_add(1), n ^ 0xff]).collect();
        let expected: Vec<bool> = queried.iter().map(|n| one_by_one.may_contain(n.to_le_bytes())).collect();
        let mut answers = vec![false; queried.len()];
        one_by_one.may_contain_batch_into(&Column(&queried), &mut answers).unwrap();
        prop_assert_eq!(&answers, &expected);
        let mut bitmap = vec![u64::MAX; queried.len().div_ceil(64)];
        one_by_one.may_contain_batch_into(&Column(&queried), &mut bitmap).unwrap();
        let bit = |i: usize| bitmap[i / 64] >> (i % 64) & 1 == 1;
        prop_assert!((0..queried.len()).map(bit).eq(expected.iter().copied()));
        prop_assert!((queried.len()..bitmap.len() * 64).all(|i| !bit(i)));
        prop_assert_eq!(one_by_one.count_batch(&Column(&queried)).unwrap(), expected.iter().filter(|yes| **yes).count() as u64);
        let shared = SharedFilter::from(one_by_one);
        shared.may_contain_batch_into(&Column(&queried), &mut answers).unwrap();
        prop_assert_eq!(answers, expected);
    }

    #[test]
    fn the_file_gives_the_filter_back(
        geometry in geometries(), hashing in hashing(), keys in some_keys(50), label in ".{0,40}", store in any::<bool>()
    ) {
        let mut filter = empty(geometry, hashing.clone());
        filter.insert_batch(keys.as_slice()).unwrap();
        filter.set_label(&label);
        filter.store_secret(store);
        let file = filter.encode();
        prop_assert_eq!(file.len() as u64, filter.encoded_len());
        let mut read = fullbloom::Filter::view(&file).unwrap();
        let keyed = matches!(hashing, Hashing::Secret(_));
        prop_assert_eq!(read.is_locked(), keyed && !store);
        prop_assert_eq!(fullbloom::Filter::decode(&file).is_ok(), !read.is_locked());
        if let Hashing::Secret(secret) = hashing {
            read.unlock(&secret).unwrap();
        }
        prop_assert_eq!(read.bits(), filter.bits());
        prop_assert_eq!(read.label(), label);
        prop_assert_eq!(read.keys(), filter.keys());
        prop_assert!(keys.iter().all(|key| read.may_contain(key)));
        if !keyed || store {
            prop_assert_eq!(read.encode(), file);
        }
    }

    #[test]
    fn union_and_intersection_keep_their_laws(
        geometry in geometries(), ours in some_keys(60), theirs in some_keys(60), both in some_keys(30)
    ) {
        let filter_of = |sets: &[&[Vec<u8>]]| {
            let mut filter = empty(geometry, Hashing::Seed(3));
            sets.iter().for_each(|keys| { filter.insert_batch(*keys).unwrap(); });
            filter
        };
        let (a, b) = (filter_of(&[&ours, &both]), filter_of(&[&theirs, &both]));
        let together = filter_of(&[&ours, &both, &theirs]);
        let merged = |x: &fullbloom::Filter, y: &fullbloom::Filter| { let mut z = x.try_clone().unwrap(); z.merge(y).unwrap(); z };
        let common = |x: &fullbloom::Filter, y: &fullbloom::Filter| { let mut z = x.try_clone().unwrap(); z.intersect(y).unwrap(); z };
        let union = merged(&a, &b);
        prop_assert_eq!(union.bits(), together.bits());
        prop_assert!(union.bits() == merged(&b, &a).bits());
        prop_assert!(merged(&a, &a).bits() == a.bits());
        prop_assert!(union.encode() == together.encode());
        let intersection = common(&a, &b);
        prop_assert!(intersection.bits() == common(&b, &a).bits());
        prop_assert!(common(&a, &a).bits() == a.bits());
        prop_assert!(common(&a, &union).bits() == a.bits());
        prop_assert!(both.iter().all(|key| intersection.may_contain(key)));
        prop_assert!(intersection.keys() <= a.keys().min(b.keys()));
        let mut cleared = union;
        cleared.clear().unwrap();
        prop_assert_eq!((cleared.keys(), cleared.count_ones()), (0, 0));
    }

    #[test]
    fn folding_gives_the_filter_of_half_the_blocks(
        blocks in 1..30u64, kind in 0..3usize, probes in 5..=8u32, keys in some_keys(100)
    ) {
        let lines = [1, 2, 4][kind];
        let geometry = |blocks: u64| (blocks * [1, 64, 64][kind] * 512, lines * probes);
        let mut whole = empty(geometry(2 * blocks), Hashing::Seed(0));
        whole.insert_batch(keys.as_slice()).unwrap();
        let mut half = empty(geometry(blocks), Hashing::Seed(0));
        half.insert_batch(keys.as_slice()).unwrap();
        // 64 lines in a block or, for whole multiples, still 64: the exact geometry takes the largest block.
        prop_assert_eq!(whole.layout(), half.layout());
        let folded = whole.folded().unwrap();
        prop_assert_eq!(folded.bits(), half.bits());
        prop_assert!(keys.iter().all(|key| folded.may_contain(key)));
        prop_assert_eq!(folded.expected_keys(), 50);
        if half.blocks() % 2 == 1 {
            let odd = matches!(half.folded(), Err(SizeError::Count { what: Quantity::Blocks, .. }));
            prop_assert!(odd);
        }
    }
}

#[test]
fn filters_that_differ_cannot_be_merged_and_say_why() {
    let differs = |a: fullbloom::Filter, b: fullbloom::Filter, what: &str| {
        let mut ours = a;
        let before = ours.bits().to_vec();
        match ours.merge(&b) {
            Err(MergeError::Differs { what: field, .. }) => assert_eq!(field, what),
            other => panic!("{other:?}"),
        }
        assert!(ours.intersect(&b).is_err());
        assert_eq!(ours.bits(), before);
    };
    let secret = |byte| Hashing::Secret(Secret::new([byte; 16]));
    differs(empty((1024, 6), Hashing::Seed(0)), empty((2048, 6), Hashing::Seed(0)), "bits");
    differs(empty((1024, 6), Hashing::Seed(0)), empty((1024, 5), Hashing::Seed(0)), "probes");
    differs(empty((1024, 8), Hashing::Seed(0)), empty((1024, 10), Hashing::Seed(0)), "bits in a block");
    differs(empty((1024, 6), Hashing::Seed(0)), empty((1024, 6), Hashing::Seed(1)), "the seed");
    differs(empty((1024, 6), secret(1)), empty((1024, 6), secret(2)), "the secret");
    differs(empty((1024, 6), secret(1)), empty((1024, 6), Hashing::Seed(1)), "the hash");
}

#[test]
fn a_filter_knows_when_it_is_overfull_and_what_that_costs() {
    let mut filter = fullbloom::Filter::with_fpr(1000, 0.01).unwrap();
    assert!(filter.planned_fpr() <= 0.01 && filter.expected_fpr() == 0.0);
    for key in 0..1000u64 {
        filter.insert(key.to_le_bytes());
    }
    assert!(!filter.is_overfull());
    for key in 1000..3000u64 {
        filter.insert(key.to_le_bytes());
    }
    assert!(filter.is_overfull());
    let absent: Vec<u64> = (1 << 32..(1 << 32) + 200_000).collect();
    let measured = filter.count_batch(&Column(&absent)).unwrap() as f64 / absent.len() as f64;
    assert!((filter.expected_fpr() / measured - 1.0).abs() < 0.02, "{} {measured}", filter.expected_fpr());
    assert!((filter.fpr_with(3000) / measured - 1.0).abs() < 0.1, "{} {measured}", filter.fpr_with(3000));
    assert!((filter.estimated_keys().unwrap() - 3000.0).abs() < 100.0);
}

#[test]
fn collecting_keys_makes_a_filter_of_just_their_number() {
    let filter: fullbloom::Filter = (0..5000).map(|i| format!("key {i}")).collect();
    assert_eq!(filter.expected_keys(), 5000);
    assert!((0..5000).all(|i| filter.may_contain(format!("key {i}").as_bytes())));
    let none: fullbloom::Filter = std::iter::empty::<&[u8]>().collect();
    assert!(!none.may_contain(b"") && none.geometry().bit_len == 512);
}

#[test]
fn labels_are_cut_between_characters() {
    let mut filter = fullbloom::Filter::with_fpr(10, 0.01).unwrap();
    filter.set_label(&"ä".repeat(40_000));
    assert_eq!(filter.label().len(), 65_534);
    assert_eq!(fullbloom::Filter::decode(&filter.encode()).unwrap().label(), filter.label());
}

#[test]
fn a_large_filter_is_folded_to_the_size_of_its_keys() {
    let request = Request { expected_keys: 1_000_000, target: Target::Fpr(0.001) };
    let plan = Sizing::new(&request).unwrap().foldable(10).unwrap();
    assert!(plan.blocks.is_multiple_of(1024) && plan.expected_fpr <= 0.001);
    for keys in [0u64, 1, 1_000, 30_000, 400_000, 1_000_000] {
        let mut filter = fullbloom::Filter::with_sizing(&plan, Hashing::default()).unwrap();
        let numbers: Vec<u64> = (0..keys).collect();
        filter.insert_batch(&Column(&numbers)).unwrap();
        let folded = filter.folded_to(0.001).unwrap();
        assert_eq!(folded.count_batch(&Column(&numbers)).unwrap(), keys, "a key is lost");
        assert!(folded.fpr_with(folded.keys()) <= 0.001);
        let blocks = folded.blocks();
        let halved = folded.layout().fpr_with(folded.keys() as f64, blocks / 2);
        assert!(blocks % 2 == 1 || blocks == filter.blocks() >> 10 || halved > 0.00099, "could be smaller");
    }
    assert!(Sizing::new(&request).unwrap().foldable(60).is_err());
}

#[test]
fn a_merge_that_adds_nothing_changes_nothing_and_halves_of_a_whole_are_not_overfull() {
    for keys in [100u64, 10_000, 1_000_000] {
        let numbers: Vec<u64> = (0..keys).collect();
        let mut whole = fullbloom::Filter::with_fpr(keys, 0.01).unwrap();
        whole.insert_batch(&Column(&numbers)).unwrap();
        let (file, copy) = (whole.encode(), whole.try_clone().unwrap());
        whole.merge(&copy).unwrap();
        assert!(whole.encode() == file, "merged with itself");
        let [mut one, mut other] = [0, 1].map(|_| fullbloom::Filter::with_fpr(keys, 0.01).unwrap());
        one.merge(&whole).unwrap();
        assert!(one.encode() == file, "merged into an empty one");
        let (first, second) = numbers.split_at(numbers.len() / 2);
        one.clear().unwrap();
        one.insert_batch(&Column(first)).unwrap();
        other.insert_batch(&Column(second)).unwrap();
        whole.merge(&one).unwrap();
        assert!(whole.encode() == file, "merged with a part of it");
        one.merge(&other).unwrap();
        assert!(one.encode() == whole.encode() && !one.is_overfull(), "{}", one.keys());
        let more: Vec<u64> = (keys..keys + keys).collect();
        other.clear().unwrap();
        other.insert_batch(&Column(&more)).unwrap();
        one.merge(&other).unwrap();
        assert!(one.is_overfull(), "{}", one.keys());
    }
}
