//! `plan`: rows for every dialect, notes where a dialect falls short, numbers as people type them.

use crate::common::run;
use fullbloom_dialects::Name;
use serde_json::Value;

/// The rows, each with the messages of its problems.
fn with_notes(report: &Value) -> Vec<Value> {
    let note = |row: &Value| {
        let problems = report["problems"].as_array().unwrap().iter().filter(|p| p["place"] == row["dialect"]);
        let messages: Vec<&str> = problems.filter_map(|problem| problem["message"].as_str()).collect();
        if messages.is_empty() { Value::Null } else { messages.join("; ").into() }
    };
    let mut rows = report["places"].as_array().expect("rows").clone();
    rows.iter_mut().for_each(|row| row["note"] = note(row));
    rows
}

#[track_caller]
fn rows(args: &[&str]) -> Vec<Value> {
    let report = run(&[&["plan", "--json"], args].concat(), b"").exits(0).json();
    with_notes(&report)
}

#[track_caller]
fn row(dialect: &str, args: &[&str]) -> Value {
    let rows = rows(&[args, &["--dialect", dialect]].concat());
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["dialect"], dialect);
    rows[0].clone()
}

#[test]
fn every_dialect_has_a_row_with_every_column() {
    let rows = rows(&["--expected-keys", "1M", "--fpr", "0.01"]);
    let names: Vec<&str> = rows.iter().map(|row| row["dialect"].as_str().unwrap()).collect();
    assert_eq!(names, Name::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>());
    for row in &rows {
        for column in ["bits", "bytes", "bits_per_key", "probes", "expected_fpr"] {
            assert!(row[column].is_number(), "{column}: {row}");
        }
        let (bits, bytes) = (row["bits"].as_u64().unwrap(), row["bytes"].as_u64().unwrap());
        // The native file begins its bits at a page.
        let header = if row["dialect"] == "native" { 8192 } else { 200 };
        assert!(bytes >= bits / 8 && bytes < bits / 8 + header, "{row}");
        assert!((row["bits_per_key"].as_f64().unwrap() - bits as f64 / 1e6).abs() < 1e-9, "{row}");
    }
}

#[test]
fn sizes_are_those_the_systems_choose() {
    let plan = row("cassandra", &["--expected-keys", "1M", "--fpr", "1%"]);
    assert_eq!((plan["bits"].as_u64(), plan["probes"].as_u64()), (Some(10_000_064), Some(5)));
    let plan = row("leveldb", &["--expected-keys", "1000", "--bits-per-key", "10"]);
    assert_eq!(
        (plan["bits"].as_u64(), plan["bytes"].as_u64(), plan["probes"].as_u64()),
        (Some(10_000), Some(1251), Some(6))
    );
    let plan = row("libbloom", &["--expected-keys", "1000", "--fpr", "0.1"]);
    assert_eq!((plan["bits"].as_u64(), plan["probes"].as_u64()), (Some(4792), Some(4)));
}

#[test]
fn numbers_may_be_written_short() {
    let plan = |keys: &str, fpr: &str| {
        run(&["plan", "--dialect", "cassandra", "--expected-keys", keys, "--fpr", fpr], b"")
    };
    let long = plan("2000000", "0.01").exits(0).out;
    for short in ["2e6", "2M", "2000k", "2_000_000"] {
        assert_eq!(plan(short, "1%").exits(0).out, long, "{short}");
    }
    for wrong in ["ten", "-5", "1.5", "", "1e99", "18446744073709551616"] {
        plan(wrong, "0.01").fails_with("--expected-keys");
    }
}

#[test]
fn a_dialect_that_cannot_keep_the_rate_says_so() {
    let plan = row("java-lsm", &["--expected-keys", "1M", "--fpr", "0.01"]);
    assert!(plan["expected_fpr"].as_f64().unwrap() > 0.0101);
    assert!(plan["note"].as_str().unwrap().contains("cannot keep a rate of 1 %"), "{plan}");
    assert_eq!(row("cassandra", &["--expected-keys", "1M", "--fpr", "0.01"])["note"], Value::Null);
    let capped = row("cassandra", &["--expected-keys", "1M", "--bits-per-key", "30"]);
    assert!(capped["note"].as_str().unwrap().contains("20 of the 30"), "{capped}");
    let table = run(&["plan", "--expected-keys", "1M", "--fpr", "0.01"], b"").exits(0);
    assert!(table.text().contains("\njava-lsm: cannot keep"), "{table:?}");
}

#[test]
fn a_dialect_that_cannot_do_it_at_all_has_a_note_and_no_numbers() {
    let rows = rows(&["--expected-keys", "1G", "--bits-per-key", "10"]);
    let leveldb = rows.iter().find(|row| row["dialect"] == "leveldb").unwrap();
    assert_eq!(leveldb["bits"], Value::Null);
    assert!(leveldb["note"].as_str().unwrap().contains("more than the 4294967288"), "{leveldb}");
    let small =
        run(&["plan", "--expected-keys", "999", "--fpr", "0.01", "--dialect", "libbloom"], b"").exits(1);
    assert!(small.text().contains("libbloom: expected_keys 999"), "{small:?}");
    assert!(small.err.starts_with("warning: "), "{small:?}");
    let none =
        run(&["plan", "--expected-keys", "1M", "--bits-per-key", "0.3", "--dialect", "rocksdb-block"], b"")
            .exits(1);
    assert!(none.text().contains("stores no filter"), "{none:?}");
}

#[test]
fn numbers_no_dialect_takes_are_errors() {
    for fpr in ["nan", "0", "-1", "2", "inf", "-inf"] {
        for dialect in ["all", "cassandra", "leveldb", "libbloom"] {
            let args = ["plan", "--expected-keys", "5000", &format!("--fpr={fpr}"), "--dialect", dialect];
            let refused = run(&args, b"").fails_with("--fpr: ");
            assert!(refused.err.contains("false-positive rate"), "{}", refused.err);
        }
    }
    run(&["plan", "--expected-keys", "1000", "--fpr", "much"], b"").fails_with("--fpr");
    run(&["plan", "--expected-keys", "1000"], b"").fails_with("--fpr");
    run(&["plan", "--fpr", "0.1"], b"").fails_with("--expected-keys");
    run(&["plan", "--expected-keys", "1000", "--fpr", "0.1", "--bits-per-key", "3"], b"")
        .fails_with("cannot be used");
    run(&["plan", "--expected-keys", "1000", "--fpr", "0.1", "--dialect", "levldb"], b"")
        .fails_with("'leveldb'");
}

#[test]
fn two_to_the_63_keys_are_more_than_any_dialect_keeps_a_rate_for() {
    for keys in ["9223372036854775807", "9223372036854775808", "18446744073709551615"] {
        for target in [["--fpr", "0.01"], ["--bits-per-key", "10"], ["--memory", "1TiB"]] {
            let out = run(&["plan", "--json", "--expected-keys", keys, target[0], target[1]], b"");
            for row in with_notes(&out.json()) {
                // RocksDB's filters stop growing; whatever fits 1 TiB is an answer.
                assert!(row["note"].is_string() || target[0] == "--memory", "{row}");
            }
        }
    }
}

#[test]
fn no_keys_have_no_bits_per_key() {
    let plan = row("cassandra", &["--expected-keys", "0", "--fpr", "0.01"]);
    assert_eq!((&plan["bits_per_key"], &plan["bits"]), (&Value::Null, &Value::from(64)));
}

#[test]
fn memory_is_filled_as_far_as_each_dialect_can_and_never_exceeded() {
    for memory in ["100kB", "1MiB", "1250000", "1250001", "2MiB", "64MiB"] {
        let asked = run(&["plan", "--json", "--expected-keys", "1M", "--memory", memory], b"").json();
        let limit = asked["summary"]["memory"].as_u64().unwrap();
        for row in with_notes(&asked) {
            match row["bytes"].as_u64() {
                Some(bytes) => assert!(bytes <= limit, "{memory}: {row}"),
                None => assert!(row["note"].as_str().unwrap().contains("fits"), "{memory}: {row}"),
            }
        }
    }
    let bits = |memory: &str| row("leveldb", &["--expected-keys", "1M", "--memory", memory])["bits"].as_u64();
    assert_eq!(bits("1250001"), Some(10_000_000));
    assert_eq!(bits("1250000"), Some(9_000_000), "the probes byte has no room");
    let bits = |memory: &str| {
        row("libbloom-1", &["--expected-keys", "1M", "--memory", memory])["bits_per_key"].as_f64()
    };
    assert!(bits("1250000").is_some_and(|bits| bits > 9.99), "dialects that take fractions use them");
    run(&["plan", "--expected-keys", "1M", "--memory", "1XB"], b"").fails_with("--memory");
    run(&["plan", "--expected-keys", "1M", "--memory", "8", "--dialect", "cassandra"], b"").exits(1);
}

#[test]
fn the_table_lines_up() {
    let out = run(&["plan", "--expected-keys", "1M", "--fpr", "0.01"], b"").exits(0);
    let table: Vec<&str> = out.text().lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), 1 + Name::ALL.len());
    assert_eq!(
        table[0].split_whitespace().collect::<Vec<_>>(),
        ["dialect", "bits", "bytes", "bits/key", "probes", "expected", "rate"]
    );
    assert!(table.iter().all(|line| line.len() == table[0].len()), "{out:?}");
}
