//! `leveldb` and `rocksdb-block` write the bytes of LevelDB 1.23 and RocksDB 6.29.5 and answer as they do.

use fullbloom::dialect::leveldb::{Compatible, Policy, Signed, Tail, Unsigned};
use fullbloom::{Filter, View};
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

    let view = View::<Policy<T>>::view(&bytes).unwrap();
    let engine = Compatible::<T>::read(&bytes);
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

/// The keys of the records are ASCII; here one tail byte is 0x80 or more, where the two part.
#[test]
fn a_tail_byte_above_7f_separates_the_two_dialects() {
    let key = from_hex("6162ff");
    let mut leveldb = Filter::<Policy<Unsigned>>::with_bits_per_key(1, 10.0).unwrap();
    let mut rocksdb = Filter::<Policy<Signed>>::with_bits_per_key(1, 10.0).unwrap();
    leveldb.insert(&key);
    rocksdb.insert(&key);
    assert_ne!(leveldb.encode(), rocksdb.encode());
    assert!(!View::<Policy<Signed>>::view(&leveldb.encode()).unwrap().may_contain(&key));
}
