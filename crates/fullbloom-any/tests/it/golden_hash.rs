//! Every hash equals the one its own system computed.

use fullbloom_dialects::hash::{
    bloom32_leveldb, bloom32_rocksdb, java_string_hash, murmur2_32_cassandra, murmur2_64_cassandra,
    murmur2_libbloom, murmur3_cassandra, utf16_units, xxph3, xxph3_rocksdb,
};
use fullbloom_dialects::probe::{Mod32, Mod63, int32, long64, stepping64, wrapping32};
use fullbloom_testkit::vectors::{self, Record, Text, Value};

fn positions(record: &Value, name: &str) -> Vec<u64> {
    record.list(name).iter().map(|v| v.as_u64().expect("a position")).collect()
}

#[test]
fn the_32_bit_bloom_hashes_are_leveldbs_and_rocksdbs() {
    let file = vectors::json("rocksdb/hash.json");
    let records = file.list("vectors");
    assert_eq!(records.len(), 364);
    for record in records {
        let key = record.hex("key");
        assert_eq!(u64::from(bloom32_rocksdb(&key)), record.hex_int("rocksdb_bloom_hash"), "{record}");
        assert_eq!(u64::from(bloom32_leveldb(&key)), record.hex_int("leveldb_bloom_hash"), "{record}");
    }
}

#[test]
fn the_64_bit_hash_is_rocksdbs_at_both_seeds_and_all_lengths() {
    let file = vectors::json("rocksdb/hash.json");
    for record in file.list("vectors") {
        let key = record.hex("key");
        assert_eq!(xxph3_rocksdb(&key), record.hex_int("hash64"), "{record}");
        let seeded = record.hex_int("hash64_seed_0123456789abcdef");
        assert_eq!(xxph3(&key, 0x0123_4567_89ab_cdef), seeded, "{record}");
    }
}

#[test]
fn murmur3_and_both_orders_of_its_walk_are_cassandras() {
    let file = vectors::json("cassandra/hash_murmur3.json");
    let records = file.list("vectors");
    assert_eq!(records.len(), 352);
    for record in records {
        let [h1, h2] = murmur3_cassandra(&record.hex("key"));
        assert_eq!([h1, h2], [record.hex_int("h1"), record.hex_int("h2")], "{record}");
        let (probes, bit_len) = (record.count("count") as u32, Mod63::new(record.count("max")).unwrap());
        assert!(long64(h2, h1, probes, bit_len).eq(positions(record, "indexes")), "{record}");
        assert!(long64(h1, h2, probes, bit_len).eq(positions(record, "indexes_old_order")), "{record}");
    }
}

#[test]
fn murmur2_of_64_bits_is_cassandras() {
    let file = vectors::json("cassandra/hash_murmur2_64.json");
    let records = file.list("vectors");
    assert_eq!(records.len(), 242);
    for record in records {
        let key = record.hex("key");
        let h1 = murmur2_64_cassandra(&key, 0);
        assert_eq!(h1, record.hex_int("h1"), "{record}");
        assert_eq!(murmur2_64_cassandra(&key, h1), record.hex_int("h2"), "{record}");
    }
}

#[test]
fn murmur2_of_32_bits_and_its_walk_are_cassandra_0s() {
    let file = vectors::json("cassandra/hash_murmur2_32.json");
    let records = file.list("vectors");
    assert_eq!(records.len(), 242);
    for record in records {
        let key = record.hex("key");
        let first = murmur2_32_cassandra(&key, 0);
        let second = murmur2_32_cassandra(&key, first);
        assert_eq!(u64::from(first), record.hex_int("hash1"), "{record}");
        assert_eq!(u64::from(second), record.hex_int("hash2"), "{record}");
        let seeded = murmur2_32_cassandra(&key, record.int("seed") as u32);
        assert_eq!(u64::from(seeded), record.hex_int("hash_seeded"), "{record}");
        let bit_len = Mod32::new(record.count("max") as u32).unwrap();
        let walk = int32(first as i32, second as i32, record.count("count") as u32, bit_len);
        assert!(walk.eq(positions(record, "buckets")), "{record}");
    }
}

/// The C function takes a signed length and reads nothing when it is negative. A slice has no such length, so
/// those records belong to the tests of the C interface.
#[test]
fn murmur2_is_libblooms() {
    let file = vectors::json("libbloom/murmur2.json");
    let records: Vec<&Value> = file.as_array().unwrap().iter().filter(|r| r.int("len") >= 0).collect();
    assert!(records.len() > 300, "{}", records.len());
    for record in records {
        let data = record.hex("data");
        let hash = murmur2_libbloom(&data[..record.count("len") as usize], record.count("seed") as u32);
        assert_eq!(u64::from(hash), record.count("hash"), "{record}");
    }
}

#[test]
fn the_walks_are_those_of_libbloom_1_and_2() {
    let file = vectors::json("libbloom/indexes.json");
    let records = file.as_array().unwrap();
    assert_eq!(records.len(), 270);
    let mut past_32_bits = 0;
    for record in records {
        let key = record.hex("key");
        let a = murmur2_libbloom(&key, 0x9747_b28c);
        let b = murmur2_libbloom(&key, a);
        assert_eq!([u64::from(a), u64::from(b)], [record.count("a"), record.count("b")], "{record}");
        let (bit_len, probes) = (record.count("bits"), record.count("hashes") as u32);
        let narrow = u32::try_from(bit_len).ok().and_then(Mod32::new);
        let expected = positions(record, "index");
        past_32_bits += expected.iter().filter(|&&position| position > u64::from(u32::MAX)).count();
        match record.text("version") {
            "1.6" => assert!(wrapping32(a, b, probes, narrow.unwrap()).eq(expected), "{record}"),
            "2.0" => assert!(stepping64(a, b, probes, bit_len, narrow).eq(expected), "{record}"),
            other => panic!("version {other}"),
        }
    }
    assert!(past_32_bits > 0, "no record goes past 2^32 bits");
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct JavaHash {
    size: u32,
    k: u32,
    key: Text,
    hash_code: i32,
    hashes: Vec<i32>,
    index: Vec<u64>,
}

#[test]
fn hash_codes_and_probes_are_javas_for_unpaired_surrogates_too() {
    let records: Vec<JavaHash> = vectors::typed("javalsm/hashes.json");
    assert_eq!(records.len(), 350);
    let surrogates = records.iter().filter(|r| String::from_utf8(r.key.0.clone()).is_err()).count();
    assert!(surrogates > 0, "no key has an unpaired surrogate");
    for record in &records {
        let hash = java_string_hash(utf16_units(&record.key.0));
        assert_eq!(hash, record.hash_code, "{:x?}", record.key);
        let step = (hash as u32 >> 16) as i32;
        let raw = (0..record.k as i32).map(|i| hash.wrapping_add(i.wrapping_mul(step)));
        assert!(raw.eq(record.hashes.iter().copied()), "{:x?}", record.key);
        let walk = int32(hash, step, record.k, Mod32::new(record.size).unwrap());
        assert!(walk.eq(record.index.iter().copied()), "{:x?}", record.key);
    }
}
