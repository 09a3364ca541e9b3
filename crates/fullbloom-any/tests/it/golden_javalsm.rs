//! `java-lsm`: numbers, bytes and answers are those of java-lsm-tree, including its incorrect restore.

use fullbloom_dialects::Filter;
use fullbloom_dialects::JavaLsm;
use fullbloom_dialects::filter::Dialect;
use fullbloom_dialects::java_lsm::params as java_lsm_params;
use fullbloom_testkit::vectors::{self, Record, Text};
use fullbloom_testkit::{from_hex, to_hex};
use serde::Deserialize;

#[test]
fn size_and_probes_are_javas_and_exceptions_are_refusals() {
    let file = vectors::json("javalsm/params.json");
    let records = file.as_array().unwrap();
    assert_eq!(records.len(), 609);
    let mut refused = 0;
    for record in records {
        let got = java_lsm_params(record.int("n") as i32, record.real("p"));
        if record.get("throws").is_some() {
            assert!(got.is_err(), "{record}");
            refused += 1;
        } else {
            assert_eq!(got, Ok((record.count("size") as u32, record.count("k") as u32)), "{record}");
        }
    }
    assert_eq!(refused, 57);
}

#[derive(Deserialize)]
struct FilterRecord {
    name: String,
    n: u64,
    p: String,
    size: u64,
    k: u32,
    file: String,
    file_bytes: usize,
    restored_size: u64,
    restored_k: u32,
    restored_bytes_equal: bool,
    keys: Vec<Text>,
    probes: Vec<Text>,
    answers: String,
    #[serde(rename = "answers_after_fromByteArray")]
    answers_after: String,
    #[serde(rename = "false_negatives_after_fromByteArray")]
    false_negatives_after: usize,
}

fn filters() -> Vec<FilterRecord> {
    let records: Vec<FilterRecord> = vectors::typed("javalsm/filters.json");
    assert_eq!(records.len(), 10);
    records
}

fn assert_answers<S: AsRef<[u8]>>(filter: &Filter<JavaLsm, S>, probes: &[Text], answers: &str, name: &str) {
    assert_eq!(probes.len(), answers.len());
    for (probe, answer) in probes.iter().zip(answers.chars()) {
        assert_eq!(filter.may_contain(&probe.0), answer == '1', "{name}: {probe:x?}");
    }
}

#[test]
fn bytes_and_answers_are_javas() {
    for record in filters() {
        let mut filter = Filter::<JavaLsm>::with_fpr(record.n, record.p.parse().unwrap()).unwrap();
        let geometry = filter.geometry();
        assert_eq!((geometry.bit_len, geometry.probes), (record.size, record.k), "{}", record.name);
        for key in &record.keys {
            filter.insert(&key.0);
        }
        let bytes = vectors::bytes(&format!("javalsm/{}", record.file));
        assert_eq!(bytes.len(), record.file_bytes);
        assert!(filter.encode() == bytes, "{}", record.name);
        assert_answers(&filter, &record.probes, &record.answers, &record.name);
    }
}

#[test]
fn a_filter_restored_from_its_bytes_and_two_numbers_is_whole() {
    for record in filters() {
        let bytes = vectors::bytes(&format!("javalsm/{}", record.file));
        let view = Filter::<JavaLsm>::view_exact(&bytes, record.size, record.k).unwrap();
        assert_answers(&view, &record.probes, &record.answers, &record.name);
        assert!(record.keys.iter().all(|key| view.may_contain(&key.0)), "{}", record.name);
        let mut owned = view.try_clone().unwrap();
        assert_eq!(owned.bits().len() as u64, owned.dialect().byte_len());
        owned.insert(b"one more");
        assert!(owned.may_contain(b"one more"));
    }
}

#[test]
fn the_originals_restore_loses_the_keys_it_loses_in_java() {
    for record in filters() {
        let bytes = vectors::bytes(&format!("javalsm/{}", record.file));
        let restored = JavaLsm::as_restored_by_original(&bytes);
        let geometry = restored.geometry();
        assert_eq!((geometry.bit_len, geometry.probes), (record.restored_size, record.restored_k));
        assert_answers(&restored, &record.probes, &record.answers_after, &record.name);
        let lost = record.keys.iter().filter(|key| !restored.may_contain(&key.0)).count();
        assert_eq!(lost, record.false_negatives_after, "{}", record.name);
        assert_eq!(restored.encode() == bytes, record.restored_bytes_equal, "{}", record.name);
    }
}

/// The keys of the table file, as `writeUTF` wrote them: NUL as C0 80, which is not UTF-8.
fn keys_of_table(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut at = 0;
    let mut take = |len: usize| {
        at += len;
        &bytes[at - len..at]
    };
    let count = u32::from_be_bytes(take(4).try_into().unwrap());
    let mut keys = Vec::new();
    for _ in 0..count {
        let len = u16::from_be_bytes(take(2).try_into().unwrap());
        keys.push(take(len.into()).to_vec());
        let deleted = take(1) == [1];
        if !deleted {
            let len = u16::from_be_bytes(take(2).try_into().unwrap());
            take(len.into());
        }
        take(8);
    }
    assert_eq!(at, bytes.len());
    keys
}

#[test]
fn the_filter_of_a_table_is_the_one_java_made_when_it_wrote_it_and_when_it_opened_it() {
    let record = vectors::json("javalsm/sstable.json");
    let texts: Vec<&str> = record.list("entries").iter().map(|entry| entry.text("key")).collect();
    let stored = keys_of_table(&vectors::bytes(&format!("javalsm/{}", record.text("file"))));
    assert_eq!(stored.len(), texts.len());
    assert!(stored.iter().any(|key| key.windows(2).any(|pair| pair == [0xc0, 0x80])), "no NUL in a key");
    for (part, expected_keys) in [("filter_at_write", texts.len() as u64), ("filter_after_reload", 1000)] {
        let part = record.field(part);
        let mut from_text = Filter::<JavaLsm>::with_fpr(expected_keys, 0.01).unwrap();
        from_text.extend(&texts);
        let geometry = from_text.geometry();
        assert_eq!((geometry.bit_len, u64::from(geometry.probes)), (part.count("size"), part.count("k")));
        assert_eq!(to_hex(&from_text.encode()), part.text("bytes"));

        let mut from_stored = Filter::<JavaLsm>::with_fpr(expected_keys, 0.01).unwrap();
        from_stored.extend(&stored);
        assert_eq!(from_stored.bits(), from_text.bits());

        let bytes = from_hex(part.text("bytes"));
        let view = Filter::<JavaLsm>::view_exact(&bytes, part.count("size"), part.count("k") as u32).unwrap();
        assert!(texts.iter().all(|key| view.may_contain(key.as_bytes())));
    }
}
