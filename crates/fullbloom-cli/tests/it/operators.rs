//! One key or many filters, keys that are part of a line, and the options of operators.

use crate::common::{Dir, run};
use crate::support;
use fullbloom_testkit::vectors;
use std::fs;

fn copy(engine: &str) -> Dir {
    let dir = Dir::new();
    for entry in fs::read_dir(vectors::root().join("databases").join(engine)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    dir
}

#[test]
fn a_key_on_the_command_line_is_looked_up_without_standard_input() {
    let dir = Dir::new();
    fs::write(dir.path("keys"), "apple\npear\n").unwrap();
    run(&["build", &dir.arg("keys"), "-o", &dir.arg("f"), "--fpr", "1e-9"], b"").exits(0);
    let found =
        run(&["check", &dir.arg("f"), "-e", "apple", "-e", "plum", "-e", "pear"], b"plum\napple\n").exits(0);
    assert_eq!(found.text(), "apple\npear\n");
    run(&["check", &dir.arg("f"), "-q", "-e", "plum"], b"").exits(1);
    run(&["check", &dir.arg("f"), "-e", "a\nb"], b"").fails_with("ends keys");
    run(&["check", &dir.arg("f"), "--null", "-v", "-e", "a\nb"], b"").exits(0);
}

#[test]
fn a_key_can_be_a_field_of_a_line_in_any_case() {
    let dir = Dir::new();
    let list = "# name, host\r\n\r\n1,Example.ORG,x\r\n2,example.com,y\r\n";
    fs::write(dir.path("list.csv"), list).unwrap();
    let part = ["-d", ",", "-f", "2", "--ignore-case", "--skip-comments", "--crlf"];
    let out = dir.arg("f");
    let built = run(
        &[&["build", &dir.arg("list.csv"), "-o", &out, "--fpr", "1e-9", "--json"][..], &part].concat(),
        b"",
    );
    assert_eq!(built.exits(0).json()["keys"], 2);
    let asked = b"a,EXAMPLE.org\nb,example.net\n# c,example.com\nd,example.com,z\n";
    let found = run(&[&["check", &out][..], &part].concat(), asked).exits(0);
    assert_eq!(found.text(), "a,EXAMPLE.org\nd,example.com,z\n", "whole lines are printed");
    let missing = run(&[&["check", &out][..], &part].concat(), b"# x\na,example.org\nb\n");
    missing.fails_with("line 3, it has 1 field");
    let unique = b"1,A\n# 2,A\n3,a\n\n4,b\n5,B\n";
    let new = run(&[&["unique"][..], &part].concat(), unique).exits(0);
    assert_eq!(new.text(), "1,A\n4,b\n");
    // Without the options a line is its key.
    assert_eq!(run(&["unique"], b"# a\n\nA\na\n").exits(0).text(), "# a\n\nA\na\n");
}

#[test]
fn many_filters_are_asked_about_one_key() {
    let dir = copy("rocksdb");
    let out = run(&["which", "-e", "user000001", &dir.arg("")], b"").exits(0);
    let lines: Vec<&str> = out.text().lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().any(|line| line.starts_with("maybe  ")), "{out:?}");
    assert!(lines.iter().any(|line| line.starts_with("no     ")), "{out:?}");
    let listed = run(&["which", "-l", "-e", "user000001", &dir.arg("")], b"").exits(0);
    let absent = run(&["which", "-v", "-e", "user000001", &dir.arg("")], b"").exits(0);
    assert_eq!(listed.text().lines().count() + absent.text().lines().count(), 4);
    let report = run(&["which", "--json", "-e", "user000001", "-e", "nobody", &dir.arg("")], b"").json();
    assert_eq!(report["summary"]["filters"], 4);
    assert_eq!(report["places"][0]["answers"].as_array().unwrap().len(), 2);
    fs::write(dir.path("keys"), "a\n").unwrap();
    run(&["build", &dir.arg("keys"), "-o", &dir.arg("f"), "--fpr", "1e-9"], b"").exits(0);
    run(&["which", "-e", "b", &dir.arg("f")], b"").exits(1);
    run(&["which", "-e", "b", &dir.arg("f"), &dir.arg("missing")], b"").exits(2);
}

#[test]
fn keys_in_hex_are_looked_up_as_bytes_and_reported_as_given() {
    let dir = Dir::new();
    let filter = dir.arg("f");
    run(&["build", "--hex", "--fpr", "1e-9", "-o", &filter], b"00ff6162\n").exits(0);
    let which =
        |keys: [&str; 2]| run(&["which", "--hex", "--json", "-e", keys[0], "-e", keys[1], &filter], b"");
    let report = which(["00FF6162", "00ff6163"]).exits(0).json();
    assert_eq!(report["summary"]["keys"], serde_json::json!(["00FF6162", "00ff6163"]));
    assert_eq!(report["places"][0]["answers"], serde_json::json!(["maybe", "no"]));
    which(["00ff6162", "xy"]).fails_with("'xy': column 1: 'x'");
}

#[test]
fn partition_keys_are_written_in_their_own_types() {
    let table = support::Table::new();
    let uuid = "5a1c395e-0b1f-11ef-9a3f-0242ac120002";
    let id: Vec<u8> =
        (0..16).map(|i| u8::from_str_radix(&uuid.replace('-', "")[2 * i..2 * i + 2], 16).unwrap()).collect();
    let pair = b"\x00\x02eu\x00\x00\x04\x00\x00\x00\x07\x00".to_vec();
    table.add("nb", 1, &[id.clone(), 258i32.to_be_bytes().to_vec(), pair], 0.0001);
    let filter = table.path("nb", 1, "Filter.db");
    let filter = filter.to_str().unwrap();
    for (kind, key) in [("uuid", uuid), ("timeuuid", uuid), ("int", "258"), ("text,int", "eu:7")] {
        run(&["check", filter, "--key-type", kind, "-e", key], b"").exits(0);
        run(&["which", "--key-type", kind, "-e", key, filter], b"").exits(0);
    }
    run(&["check", filter, "--key-type", "uuid", "-e", "no uuid"], b"").fails_with("of type uuid");
    run(&["check", filter, "--key-type", "text,int", "-e", "eu"], b"").fails_with("write them with colons");
    run(&["check", filter, "--key-type", "text,number", "-e", "eu"], b"").exits(2);
    let hex = run(&["keys", "--hex", filter], b"").exits(0);
    assert!(hex.text().lines().any(|line| line == uuid.replace('-', "")), "{hex:?}");
}

#[test]
fn the_type_of_a_partition_key_is_compared_with_the_schema() {
    for name in ["oa-5-big-Filter.db", "da-5-bti-Filter.db"] {
        let path = vectors::root().join("cassandra/sstables").join(name);
        let path = path.to_str().unwrap();
        let keys = run(&["keys", path], b"").exits(0);
        assert!(keys.text().lines().any(|key| key == "system_auth"), "{keys:?}");
        run(&["check", path, "--key-type", "text", "-e", "system_auth"], b"").exits(0);
        run(&["check", path, "-e", "system_auth"], b"").exits(0);
        let refused = run(&["check", path, "--key-type", "uuid", "-e", "system_auth"], b"");
        refused.fails_with("the partition key of").fails_with("is text");
        let report = run(&["which", "--json", "--key-type", "int", "-e", "7", path], b"").exits(2).json();
        assert_eq!(report["problems"][0]["code"], "other-key-type");
        let text = run(&["which", "--key-type", "int", "-e", "7", path], b"").exits(2);
        assert!(text.text().contains("keys are text)"), "{text:?}");
    }
}

#[test]
fn keys_come_out_as_they_went_in() {
    let dir = copy("leveldb");
    let out = run(&["keys", &dir.arg("")], b"").exits(0);
    assert!(out.text().lines().count() >= 6000 && out.text().contains("key00000042\n"), "{}", out.err);
    let table = dir.names().into_iter().find(|name| name.ends_with(".ldb")).unwrap();
    let keys = run(&["keys", "--hex", &dir.arg(&table)], b"").exits(0);
    let missing = run(&["check", "--hex", "-v", "-c", &dir.arg(&table)], &keys.out);
    assert_eq!(missing.exits(1).text(), "0\n", "every key of a table is in its filter");
    run(&["keys", &dir.arg("CURRENT")], b"").fails_with("not store its keys");
}

#[test]
fn only_rebuild_replaces_the_filter_of_a_scylla_sstable() {
    let dir = Dir::new();
    let from = vectors::root().join("scylla/dictionaries/mt-lz4");
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        fs::write(dir.path(entry.file_name().to_str().unwrap()), fs::read(entry.path()).unwrap()).unwrap();
    }
    let (names, filter) = (dir.names(), dir.arg("mt-1-big-Filter.db"));
    let before = dir.read("mt-1-big-Filter.db");
    for args in [
        &["insert", &filter][..],
        &["build", "--dialect", "cassandra-3", "-o", &filter],
        &["merge", &filter, &filter, "-o", &filter],
        &["convert", &filter, "--to", "cassandra", "-o", &filter],
    ] {
        run(args, b"a\n").fails_with("ScyllaDB").fails_with("fullbloom rebuild");
        assert!(dir.read("mt-1-big-Filter.db") == before && dir.names() == names, "{args:?}");
    }
    run(&["rebuild", "--fpr", "0.2", &filter], b"").exits(0);
    // A copy of the filter alone is nobody's.
    let alone = Dir::new();
    fs::write(alone.path("mt-1-big-Filter.db"), &before).unwrap();
    run(&["insert", "-q", &alone.arg("mt-1-big-Filter.db")], b"a\n").exits(0);
}

#[test]
fn filters_of_other_systems_take_more_keys() {
    for (dialect, more) in [
        ("cassandra", &[][..]),
        ("cassandra-3", &[]),
        ("guava", &[]),
        ("spark", &[]),
        ("libbloom", &[]),
        ("dcso", &[]),
        ("java-lsm", &["--bits", "20000", "--probes", "5"]),
    ] {
        let dir = Dir::new();
        let old: String = (0..1000).map(|i| format!("old {i}\n")).collect();
        let new: String = (0..200).map(|i| format!("new {i}\n")).collect();
        let sized = if more.is_empty() { &["--expected-keys", "1200", "--fpr", "0.001"][..] } else { more };
        let f = dir.arg("f");
        run(&[&["build", "--dialect", dialect, "-o", &f][..], sized].concat(), old.as_bytes()).exits(0);
        let insert =
            run(&[&["insert", "--dialect", dialect, "--json", &f][..], more].concat(), new.as_bytes());
        let done = insert.exits(0).json();
        assert_eq!(done["inserted"], 200, "{dialect}");
        assert!(done["new"].as_u64().unwrap() > 190, "{dialect} {done}");
        let all = old + &new;
        let found = run(&[&["check", "--dialect", dialect, "-c", &f][..], more].concat(), all.as_bytes());
        assert_eq!(found.exits(0).text(), "1200\n", "{dialect}");
        let built = dir.arg("built");
        run(&[&["build", "--dialect", dialect, "-o", &built][..], sized].concat(), all.as_bytes()).exits(0);
        assert!(fs::read(dir.path("f")).unwrap() == fs::read(dir.path("built")).unwrap(), "{dialect}");
    }
    let dir = Dir::new();
    run(&["build", "--dialect", "rocksdb", "--bits-per-key", "10", "-o", &dir.arg("f")], b"a\nb\n").exits(0);
    run(&["insert", "--dialect", "rocksdb", &dir.arg("f")], b"c\n").fails_with("at once");
}

#[test]
fn a_filter_is_built_for_a_memory_budget() {
    for dialect in ["native", "cassandra", "leveldb", "rocksdb", "guava"] {
        let dir = Dir::new();
        let keys: String = (0..5000).map(|i| format!("{i}\n")).collect();
        let args = ["build", "--dialect", dialect, "--memory", "8KiB", "-o", &dir.arg("f")];
        run(&args, keys.as_bytes()).exits(0);
        let len = fs::metadata(dir.path("f")).unwrap().len();
        assert!(len <= 8192 && len > 7000, "{dialect}: {len}");
    }
}

#[test]
fn too_little_memory_for_a_useful_filter_is_said() {
    let dir = Dir::new();
    let keys = dir.file("keys", (0..100_000).map(|i| format!("{i}\n")).collect::<String>());
    for (memory, is_useful) in [("1KiB", false), ("20KiB", false), ("100KiB", true)] {
        let out = run(&["build", "-q", "--memory", memory, "-o", &dir.arg("f"), &keys], b"").exits(0);
        assert_eq!(out.err.contains("--memory: too small"), !is_useful, "{memory}: {out:?}");
    }
    let few = run(&["build", "-q", "--memory", "1KiB", "--expected-keys", "1M", "-o", "-"], b"a\n").exits(0);
    assert!(few.err.contains("too small for 1000000 keys"), "{few:?}");
    // A rate that was asked for is kept, or nothing is written.
    let both =
        |memory, fpr| run(&["build", "--memory", memory, "--fpr", fpr, "-o", &dir.arg("g"), &keys], b"");
    let refused = both("20KiB", "1%").fails_with("--memory: a rate of 1 %");
    assert!(refused.err.contains("hint: without --fpr") && !dir.path("g").exists(), "{refused:?}");
    assert!(both("200KiB", "1%").exits(0).text().contains("at a rate of 0.9"));
    run(&["build", "--memory", "1MiB", "--bits-per-key", "9", "-o", "-", &keys], b"")
        .fails_with("--bits-per-key");
    run(&["build", "--memory", "1MiB", "--dynamic", "-o", "-", &keys], b"")
        .fails_with("a dynamic filter grows");
}

#[test]
fn verify_ends_with_totals_and_can_be_short_or_silent() {
    let dir = copy("rocksdb");
    let all = run(&["verify", &dir.arg("")], b"").exits(0);
    assert!(
        all.text().ends_with("\n\n4 filters: 8000 keys looked up, 0 missing, 0 errors, 0 warnings\n"),
        "{all:?}"
    );
    let short = run(&["verify", "--summary", &dir.arg("")], b"").exits(0);
    assert_eq!(short.text(), "4 filters: 8000 keys looked up, 0 missing, 0 errors, 0 warnings\n");
    assert_eq!(run(&["verify", "-q", &dir.arg("")], b"").exits(0).text(), "");
    let table = dir.names().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let bytes = fs::read(dir.path(&table)).unwrap();
    fs::write(dir.path(&table), &bytes[..100]).unwrap();
    assert_eq!(run(&["verify", "-q", &dir.arg("")], b"").exits(1).text(), "");
    let short = run(&["verify", "--summary", &dir.arg("")], b"").exits(1);
    assert!(short.text().contains(&table) && short.text().contains("2 errors"), "{short:?}");
}

#[test]
fn plans_of_databases_take_a_rate_or_bits_and_show_rates_by_level() {
    let dir = copy("rocksdb");
    let plan = run(&["plan", "--from", &dir.arg(""), "--fpr", "0.001", "--json"], b"").exits(0).json();
    for level in plan["places"].as_array().unwrap() {
        assert!(level["requested"]["expected_fpr"].as_f64().unwrap() <= 0.001, "{level}");
    }
    assert_eq!(plan["summary"]["fpr"], 0.001);
    let text = run(&["plan", "--from", &dir.arg(""), "--bits-per-key", "14.5"], b"").exits(0);
    assert!(text.text().contains("14.5 *") && text.text().contains("requested: bits/key"), "{text:?}");
    let text = run(&["plan", "--from", &dir.arg(""), "--memory", "20KiB"], b"").exits(0);
    assert!(text.text().contains("20.0 KiB split"), "{text:?}");
    run(&["plan", "--from", &dir.arg(""), "--fpr", "0"], b"").exits(2);
    run(&["plan", "--from", &dir.arg(""), "--bits-per-key", "0.1"], b"").exits(2);
}

#[test]
fn rebuild_says_why_what_and_how_to_go_back() {
    let dir = copy("rocksdb");
    let table = dir.names().into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let mut bytes = fs::read(dir.path(&table)).unwrap();
    let at = bytes.windows(11).rposition(|window| window == b"fullfilter.").unwrap() - 2000;
    bytes[at..at + 64].fill(0);
    fs::write(dir.path(&table), &bytes).unwrap();
    let done = run(&["rebuild", "--damaged", &dir.arg("")], b"").exits(0);
    assert!(done.text().contains("the old one: checksum: "), "{done:?}");
    let again = run(&["rebuild", &dir.arg("")], b"").exits(0);
    assert!(again.text().ends_with("4 filters right already\n"), "{again:?}");
    let back = run(&["rebuild", "--restore", &dir.arg("")], b"").exits(0);
    assert!(back.text().contains(": restored from "), "{back:?}");
    assert!(fs::read(dir.path(&table)).unwrap() == bytes);
    run(&["rebuild", "--restore", &dir.arg("")], b"").exits(1);
    let new = dir.arg("new");
    let said = run(&["rebuild", "--bits-per-key", "16", "-o", &new, &dir.arg("")], b"").exits(0);
    assert!(said.err.contains("note: "), "{said:?}");
}
