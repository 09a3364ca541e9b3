//! `leveldb` and `rocksdb-block` write the bytes of LevelDB 1.23 and RocksDB 6.29.5 and answer as they do.

use fullbloom_dialects::Filter;
use fullbloom_dialects::leveldb::Compatible;
use fullbloom_dialects::leveldb::policy::{Policy, Signed, Tail, Unsigned};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, keys, to_hex};

fn check<T: Tail>(record: &Value) {
    let keys = keys::of_rule(record.field("keys"));
    assert_eq!(keys::sha256_of(&keys), record.text("keys_sha256"), "the rule makes other keys: {record}");
    let mut filter =
        Filter::<Policy<T>>::with_bits_per_key(keys.len() as u64, record.count("bits_per_key") as f64)
            .unwrap();
    filter.extend(&keys);
    let bytes = filter.encode();
    assert_eq!(
        to_hex(&bytes),
        record.text("filter"),
        "{} at {}",
        record.text("software"),
        record.field("keys")
    );
    assert_eq!(filter.geometry().byte_len() + 1, bytes.len() as u64);

    let view = Filter::<Policy<T>>::view(&bytes).unwrap();
    let engine = Compatible::<Policy<T>>::read(&bytes);
    let probes = keys::of_rule(record.field("probes"));
    for (probe, answer) in probes.iter().zip(record.answers("probe_answers")) {
        assert_eq!(filter.may_contain(probe), answer, "{probe:?}");
        assert_eq!(view.may_contain(probe), answer, "{probe:?}");
        assert_eq!(engine.may_contain(probe), answer, "{probe:?}");
    }
    assert!(keys.iter().all(|key| view.may_contain(key)));
}

fn cases(policy: &str) -> Vec<Value> {
    let file = vectors::json("rocksdb/block_filter_policy.json");
    file.list("cases").iter().filter(|case| case.text("policy_name") == policy).cloned().collect()
}

#[test]
fn leveldb_reads_what_we_write_and_answers_alike() {
    let cases = cases("leveldb.BuiltinBloomFilter2");
    assert_eq!(cases.len(), 54);
    cases.iter().for_each(check::<Unsigned>);
}

#[test]
fn rocksdb_6_reads_what_we_write_and_answers_alike() {
    let cases = cases("rocksdb.BuiltinBloomFilter");
    assert_eq!(cases.len(), 54);
    cases.iter().for_each(check::<Signed>);
}

/// The keys of the records are ASCII; here one tail byte is 0x80 or more, where the two dialects differ.
#[test]
fn a_tail_byte_above_7f_separates_the_two_dialects() {
    let key = from_hex("6162ff");
    let mut leveldb = Filter::<Policy<Unsigned>>::with_bits_per_key(1, 10.0).unwrap();
    let mut rocksdb = Filter::<Policy<Signed>>::with_bits_per_key(1, 10.0).unwrap();
    leveldb.insert(&key);
    rocksdb.insert(&key);
    assert_ne!(leveldb.encode(), rocksdb.encode());
    assert!(!Filter::<Policy<Signed>>::view(&leveldb.encode()).unwrap().may_contain(&key));
}

/// The last byte that `NewBloomFilterPolicy(b)->CreateFilter` of LevelDB 1.23 wrote for one key and b from 0
/// to 44; from there on it is 30. With ln 2 instead of 0.69 it would be one more at 13, 26, 39 and 42.
#[test]
fn every_number_of_bits_per_key_has_leveldbs_probes() {
    const PROBES: [u8; 45] = [
        1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 13, 14, 15, 15, 16, 17, 17, 18, 19,
        20, 20, 21, 22, 22, 23, 24, 24, 25, 26, 26, 27, 28, 28, 29, 30,
    ];
    for bits in 1..=100usize {
        let probes = *PROBES.get(bits).unwrap_or(&30);
        for encoded in [
            Filter::<Policy<Unsigned>>::with_bits_per_key(1, bits as f64).unwrap().encode(),
            Filter::<Policy<Signed>>::with_bits_per_key(1, bits as f64).unwrap().encode(),
        ] {
            assert_eq!(encoded.last(), Some(&probes), "{bits} bits per key");
        }
    }
}
