//! Batches of any dialect, by key and by hash, as bools and as bits, answer as single lookups do.

use fullbloom::error::KeysError;
use fullbloom_core::keys::KeyHashOf;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Dialect, Insert, Size};
use fullbloom_dialects::{
    Cassandra, Cassandra1, Cassandra3, JavaLsm, LevelDb, Libbloom, RocksDb, RocksDbLegacy,
};
use fullbloom_testkit::keys::SplitMix;

/// Keys of one length, of lengths that take one path through RocksDB's hash, and of any length.
fn key_sets(random: &mut SplitMix, count: usize) -> Vec<Vec<Vec<u8>>> {
    let mut ascii = |least: u64, most: u64| -> Vec<Vec<u8>> {
        let mut key = || {
            let len = (least + random.below(most - least + 1)) as usize;
            random.bytes(len).iter().map(|byte| b'a' + byte % 26).collect() // some dialects' keys are text
        };
        (0..count).map(|_| key()).collect()
    };
    vec![ascii(8, 8), ascii(16, 16), ascii(4, 8), ascii(9, 16), ascii(17, 32), ascii(33, 128), ascii(0, 300)]
}

/// A filter that fits in the cache, where batches are plain loops, and one that is treated as larger.
const SIZES: [u64; 2] = [1_000, 1_000_000];

fn sized<D: Size>(expected_keys: u64) -> Filter<D> {
    Filter::with_bits_per_key(expected_keys, 10.0)
        .or_else(|_| Filter::with_fpr(expected_keys, 0.01))
        .expect("sized one way or the other")
}

fn check<D: Dialect + Insert + Size>(name: &str) {
    let mut random = SplitMix::new(1);
    for (keys, size) in
        key_sets(&mut random, 400).into_iter().flat_map(|keys| SIZES.map(|size| (keys.clone(), size)))
    {
        let mut filter = sized::<D>(size);
        filter.insert_batch(&keys[..200]).unwrap();
        let mut single = sized::<D>(size);
        single.extend(&keys[..200]);
        assert_eq!(filter.bits(), single.bits(), "{name}");
        let hashes: Vec<KeyHashOf<D::Hasher>> = keys.iter().map(|key| filter.hash(key)).collect();
        let expected: Vec<bool> = keys.iter().map(|key| filter.may_contain(key)).collect();
        assert!(expected[..200].iter().all(|&yes| yes), "{name}");
        for len in (0..=140).chain([255, 256, 257, 400]) {
            let (keys, hashes) = (&keys[400 - len..], &hashes[400 - len..]);
            let expected = &expected[400 - len..];
            let mut answers = vec![!expected.first().unwrap_or(&false); len];
            filter.may_contain_batch_into(keys, &mut answers).unwrap();
            assert_eq!(answers, expected, "{name}, {len} keys");
            answers.fill(false);
            filter.may_contain_batch_into(hashes, &mut answers).unwrap();
            assert_eq!(answers, expected, "{name}, {len} hashes");
            let word = |chunk: &[bool]| chunk.iter().enumerate().map(|(i, &yes)| u64::from(yes) << i).sum();
            let expected: Vec<u64> = expected.chunks(64).map(word).collect();
            let mut answers = vec![!0; len.div_ceil(64)];
            filter.may_contain_batch_into(keys, &mut answers).unwrap();
            assert_eq!(answers, expected, "{name}, bits of {len} keys");
            answers.fill(!0);
            filter.may_contain_batch_into(hashes, &mut answers).unwrap();
            assert_eq!(answers, expected, "{name}, bits of {len} hashes");
        }
    }
}

#[test]
fn batches_answer_as_single_keys_do_in_every_kind_of_dialect() {
    check::<Cassandra>("cassandra");
    check::<Cassandra3>("cassandra-3");
    check::<Cassandra1>("cassandra-1");
    check::<Libbloom>("libbloom");
    check::<LevelDb>("leveldb");
    check::<RocksDbLegacy>("rocksdb-legacy");
    check::<RocksDb>("rocksdb");
    check::<JavaLsm>("java-lsm");
}

#[test]
fn a_batch_inserts_what_its_keys_do_one_by_one() {
    let mut random = SplitMix::new(2);
    for keys in key_sets(&mut random, 300) {
        for len in [0, 1, 15, 16, 17, 100, 300] {
            let mut batch = Filter::<RocksDb>::with_bits_per_key(300, 16.0).unwrap();
            let mut single = Filter::<RocksDb>::with_bits_per_key(300, 16.0).unwrap();
            batch.insert_batch(&keys[..len]).unwrap();
            keys[..len].iter().for_each(|key| {
                single.insert(key);
            });
            assert_eq!(batch.bits(), single.bits());
            let hashes: Vec<_> = keys[..len].iter().map(|key| single.hash(key)).collect();
            let mut by_hash = Filter::<RocksDb>::with_bits_per_key(300, 16.0).unwrap();
            by_hash.insert_batch(hashes.as_slice()).unwrap();
            assert_eq!(by_hash.bits(), single.bits());
        }
    }
}

#[test]
fn a_bitmap_of_the_wrong_length_is_refused() {
    let filter = Filter::<LevelDb>::with_bits_per_key(10, 10.0).unwrap();
    let refused = filter.may_contain_batch_into(&[b"key"; 65], &mut [0u64; 1][..]);
    assert_eq!(refused, Err(KeysError::Answers { keys: 65, places: 64 }));
}
