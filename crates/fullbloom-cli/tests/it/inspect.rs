//! `inspect`: numbers for people and machines, and files that cannot be read.

use crate::common::{Dir, lines, run};
use serde_json::{Value, json};

#[test]
fn json_has_every_promised_field_and_the_numbers_agree() {
    let dir = Dir::new();
    let filter = dir.arg("nb-1-big-Filter.db");
    run(&["build", "--dialect", "cassandra", "--fpr", "0.01", "-q", "-o", &filter], lines(10_000).as_bytes())
        .exits(0);
    let report = run(&["inspect", "--json", &filter], b"").exits(0).json();
    assert_eq!(report["places"].as_array().unwrap().len(), 1);
    let facts = &report["places"][0];
    assert_eq!(facts["path"], filter);
    assert_eq!(facts["dialect"], "cassandra");
    assert_eq!(facts["bits"], 100_032, "10,000 · 10 + 20 bits, in words");
    assert_eq!(facts["probes"], 5);
    assert_eq!(facts["bytes"], 100_032 / 8 + 8);
    let fill = facts["fill"].as_f64().unwrap();
    assert!((fill - 0.3934).abs() < 0.01, "1 - e^(-5/10): {fill}");
    let fpr = facts["expected_fpr"].as_f64().unwrap();
    assert!((fpr - fill.powi(5)).abs() < 1e-12, "{fpr}");
    let keys = facts["estimated_keys"].as_u64().expect("a whole number");
    assert!(keys.abs_diff(10_000) < 200, "{keys}");
    assert_eq!(report["problems"][0]["code"], "index-missing", "it lies alone");
    assert_eq!(report["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn a_full_filter_has_no_estimate_and_its_json_is_null() {
    let dir = Dir::new();
    let full = dir.file("full", [&[0xff; 64][..], &[6]].concat());
    let report = run(&["inspect", "--json", "--dialect", "leveldb", &full], b"").exits(1).json();
    assert_eq!(report["places"][0]["estimated_keys"], Value::Null);
    assert_eq!(report["places"][0]["fill"], 1.0);
    assert_eq!(report["places"][0]["expected_fpr"], 1.0);
    let text = run(&["inspect", "--dialect", "leveldb", &full], b"").exits(1);
    assert!(text.text().contains("estimated keys  unknown"), "{text:?}");
}

#[test]
fn an_empty_filter_holds_no_keys_and_lets_none_pass() {
    let dir = Dir::new();
    let filter = dir.arg("nb-1-big-Filter.db");
    run(&["build", "--dialect", "cassandra", "-q", "-o", &filter], b"").exits(0);
    let facts = &run(&["inspect", "--json", &filter], b"").exits(0).json()["places"][0];
    assert_eq!(
        (&facts["fill"], &facts["estimated_keys"], &facts["expected_fpr"]),
        (&json!(0.0), &json!(0), &json!(0.0))
    );
}

#[test]
fn the_text_names_what_the_json_names() {
    let dir = Dir::new();
    let filter = dir.arg("ks-table-ka-7-Filter.db");
    run(&["build", "--dialect", "cassandra-2", "-q", "-o", &filter], lines(100).as_bytes()).exits(0);
    let out = run(&["inspect", &filter], b"").exits(0);
    let text = out.text();
    assert!(text.starts_with(&format!("{filter}\n")), "{text}");
    for line in
        ["dialect", "bits", "probes", "bytes", "fill", "estimated keys", "bits per key", "expected rate"]
    {
        assert!(text.contains(&format!("\n  {line:<15} ")), "{line}: {text}");
    }
    assert!(text.contains("cassandra-2, Cassandra 1.2"), "{text}");
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let dir = Dir::new();
    let (first, last) = (dir.arg("nb-1-big-Filter.db"), dir.arg("nb-3-big-Filter.db"));
    for filter in [&first, &last] {
        run(&["build", "--dialect", "cassandra", "-q", "-o", filter], b"a\n").exits(0);
    }
    let bad = dir.file("nb-2-big-Filter.db", b"\0\0\0\x05\x7f\xff\xff\xff\0\0\0\0");
    let missing = dir.arg("missing");
    let out = run(&["inspect", &first, &bad, &missing, &last], b"").exits(2);
    assert!(out.text().contains(&first) && out.text().contains(&last), "{out:?}");
    assert!(out.text().contains("Filter.db is truncated"), "{out:?}");
    assert_eq!(out.err.matches("error: ").count(), 1, "{out:?}");

    let out = run(&["inspect", "--json", &first, &bad, &missing, &last], b"").exits(2);
    let report = out.json();
    let paths: Vec<&Value> =
        report["places"].as_array().unwrap().iter().map(|facts| &facts["path"]).collect();
    assert_eq!(paths, [&json!(first), &json!(bad), &json!(last)]);
    assert_eq!(out.codes("nb-2-big-Filter.db"), ["filter-truncated", "index-missing"]);
    assert_eq!(report["places"][1]["bits"], Value::Null);
    assert_eq!(out.codes("missing"), ["unreadable"]);
}

#[test]
fn trailing_bytes_are_reported() {
    let dir = Dir::new();
    let filter = dir.arg("nb-1-big-Filter.db");
    run(&["build", "--dialect", "cassandra", "-q", "-o", &filter], lines(50).as_bytes()).exits(0);
    let mut bytes = dir.read("nb-1-big-Filter.db");
    let sound = bytes.len();
    bytes.extend_from_slice(b"tail");
    dir.file("nb-1-big-Filter.db", &bytes);
    let report = run(&["inspect", "--json", &filter], b"").exits(1).json();
    assert_eq!(report["places"][0]["bits"], 8 * (sound - 8));
    assert_eq!(report["places"][0]["bytes"], bytes.len());
    assert_eq!(report["problems"][0]["code"], "trailing-bytes");
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("4 bytes follow"), "{report}");
    let out = run(&["inspect", &filter], b"").exits(1);
    assert!(out.text().contains("error           4 bytes follow"), "{out:?}");
}

#[test]
fn no_file_at_all_is_wrong_usage() {
    run::<&str>(&["inspect"], b"").fails_with("<FILE>");
}

#[cfg(unix)]
#[test]
fn a_file_name_cannot_steer_the_terminal() {
    let dir = Dir::new();
    let filter = dir.arg("evil\x1b[2J-name");
    run(&["build", "--dialect", "leveldb", "-q", "-o", &filter], b"a\n").exits(0);
    let out = run(&["inspect", "--dialect", "leveldb", &filter], b"").exits(0);
    assert!(out.text().contains("evil\\u{1b}[2J-name") && !out.text().contains('\x1b'), "{out:?}");
    let out = run(&["inspect", "--json", "--dialect", "leveldb", &filter], b"").exits(0);
    assert_eq!(out.json()["places"][0]["path"], filter);
    let out = run(&["check", &dir.arg("gone\x1b[2J")], b"").fails_with("gone");
    assert!(!out.err.contains('\x1b'), "{out:?}");
}
