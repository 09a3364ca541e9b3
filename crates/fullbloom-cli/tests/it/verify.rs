//! `verify` with keys that the caller has: of a type, of filters that are solved, of damaged files.

use crate::common::{Dir, Outcome, lines, run};
use serde_json::Value;

fn built(dir: &Dir, name: &str, args: &[&str], keys: &str) -> String {
    let filter = dir.arg(name);
    run(&[&["build", "-q", "--force", "-o", &filter], args].concat(), keys.as_bytes()).exits(0);
    filter
}

fn verify(args: &[&str], keys: &str) -> Outcome {
    run(&[&["verify", "--json", "--keys", "-"], args].concat(), keys.as_bytes())
}

#[test]
fn keys_of_a_type_are_asked_for_as_they_were_built() {
    let dir = Dir::new();
    let numbers: String = (0..2000).map(|n| format!("{}\n", n * 7 - 5000)).collect();
    for (dialect, key_type) in [
        ("spark", "long"),
        ("spark-2", "int"),
        ("orc", "long"),
        ("orc", "double"),
        ("parquet", "int"),
        ("parquet", "float"),
        ("guava", "int"),
        ("guava-32", "utf16"),
        ("poppy", "int"),
        ("cassandra", "int"),
        ("native", "long"),
    ] {
        let typed = ["--dialect", dialect, "--key-type", key_type];
        let filter = built(&dir, "f", &typed, &numbers);
        let found = &verify(&[&[&filter[..]], &typed[..]].concat(), &numbers).exits(0).json()["places"][0];
        let seen = (&found["keys"], &found["missing"], &found["rebuilt_identical"]);
        assert_eq!(seen, (&2000.into(), &0.into(), &true.into()), "{dialect} {key_type}");
        let code = if dialect == "native" { 2 } else { 1 }; // it records the type
        verify(&[&filter, "--dialect", dialect], &numbers).exits(code);
    }
    let filter = built(&dir, "f", &["--dialect", "leveldb"], "1\n");
    verify(&[&filter, "--dialect", "leveldb", "--key-type", "int"], "1\n").fails_with("of type int");
}

#[test]
fn a_ribbon_filter_is_solved_anew_from_keys_in_their_order() {
    let dir = Dir::new();
    for (keys, bits_per_key) in [(200, "10"), (240, "12"), (1200, "100"), (3000, "1"), (2500, "6.5")] {
        let text = lines(keys);
        let filter =
            built(&dir, "f", &["--dialect", "rocksdb-ribbon", "--bits-per-key", bits_per_key], &text);
        let found = &verify(&[&filter], &text).exits(0).json()["places"][0];
        assert_eq!(found["dialect"], "rocksdb-ribbon");
        assert_eq!(found["rebuilt_identical"], true, "{keys} at {bits_per_key}");
    }
    // In another order the same keys give other bytes, and that is no damage.
    let text = lines(3000);
    let filter = built(&dir, "f", &["--dialect", "rocksdb-ribbon", "--bits-per-key", "10"], &text);
    let turned: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
    let found = verify(&[&filter], &turned).exits(0).json();
    assert_eq!(found["places"][0]["rebuilt_identical"], Value::Null, "{found}");
    let told = run(&["verify", &filter, "--keys", "-"], turned.as_bytes()).exits(0);
    assert!(told.text().contains("in another order"), "{told:?}");
    let mut bytes = dir.read("f");
    bytes[100..200].fill(0x5a);
    let damaged = dir.file("damaged", &bytes);
    let found = verify(&[&damaged], &text).exits(1).json();
    assert_eq!(found["places"][0]["rebuilt_identical"], false, "{found}");
    // Few keys become a Bloom filter, whichever of the two names it is asked by.
    let small = built(&dir, "small", &["--dialect", "rocksdb-ribbon", "--bits-per-key", "10"], &lines(20));
    for dialect in ["rocksdb-ribbon", "rocksdb"] {
        let found = verify(&[&small, "--dialect", dialect], &lines(20)).exits(0).json();
        let found = &found["places"][0];
        let seen = (&found["dialect"], &found["rebuilt_identical"]);
        assert_eq!(seen, (&"rocksdb".into(), &true.into()), "{dialect}");
    }
}

#[test]
fn a_filter_db_cut_short_is_told_with_every_number_the_others_have() {
    let dir = Dir::new();
    built(&dir, "whole", &["--dialect", "cassandra"], &lines(100));
    let cut = dir.file("nb-1-big-Filter.db", &dir.read("whole")[..20]);
    let report = verify(&[&cut], &lines(100)).exits(1).json();
    let found = report["places"][0].as_object().unwrap();
    for number in ["keys", "missing", "measured_fpr", "rebuilt_identical"] {
        assert_eq!(found.get(number), Some(&Value::Null), "{number} of {found:?}");
    }
    assert_eq!(report["problems"][0]["code"], "filter-truncated");
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("bits at byte 8: needs"), "{report}");
}
