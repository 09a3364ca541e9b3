//! The naive hashes are themselves right: they equal what the real programs printed.

use fullbloom_testkit::naive::hash;
use fullbloom_testkit::vectors::{self, Record};

#[test]
fn the_oracles_hashes_are_the_originals() {
    for record in vectors::json("cassandra/hash_murmur3.json").list("vectors") {
        let expected = (record.hex_int("h1"), record.hex_int("h2"));
        assert_eq!(hash::murmur3_cassandra(&record.hex("key")), expected, "{record}");
    }
    for record in vectors::json("cassandra/hash_murmur2_64.json").list("vectors") {
        let (key, h1) = (record.hex("key"), record.hex_int("h1"));
        assert_eq!(hash::murmur2_64_cassandra(&key, 0), h1, "{record}");
        assert_eq!(hash::murmur2_64_cassandra(&key, h1), record.hex_int("h2"), "{record}");
    }
    for record in vectors::json("cassandra/hash_murmur2_32.json").list("vectors") {
        let hash = hash::murmur2_32_cassandra(&record.hex("key"), record.int("seed") as u32);
        assert_eq!(u64::from(hash), record.hex_int("hash_seeded"), "{record}");
    }
    for record in vectors::json("rocksdb/hash.json").list("vectors") {
        let key = record.hex("key");
        assert_eq!(u64::from(hash::bloom32(&key, true)), record.hex_int("rocksdb_bloom_hash"), "{record}");
        assert_eq!(u64::from(hash::bloom32(&key, false)), record.hex_int("leveldb_bloom_hash"), "{record}");
    }
    for record in
        vectors::json("libbloom/murmur2.json").as_array().unwrap().iter().filter(|r| r.int("len") >= 0)
    {
        let hash = hash::murmur2_libbloom(&record.hex("data"), record.count("seed") as u32);
        assert_eq!(u64::from(hash), record.count("hash"), "{record}");
    }
    assert_eq!(hash::java_string(&"hello".encode_utf16().collect::<Vec<_>>()), 99_162_322);
    assert_eq!(hash::java_string(&"polygenelubricants".encode_utf16().collect::<Vec<_>>()), i32::MIN);
}
