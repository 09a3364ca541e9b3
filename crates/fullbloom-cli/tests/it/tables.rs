//! Tables of LevelDB and RocksDB: asked, inspected, verified and built.

use crate::common::{Dir, lines, run};
use fullbloom_table::checksum::Checksum;
use fullbloom_table::footer::Footer;
use fullbloom_table::{Table, TableOptions};
use fullbloom_testkit::vectors::{self, Record, Value};
use serde_json::json;

fn path(name: &str) -> String {
    vectors::root().join("rocksdb").join(name).to_str().expect("a path of ours").to_owned()
}

fn records() -> Vec<Value> {
    vectors::json("rocksdb/tables.json").as_array().expect("a list").clone()
}

#[test]
fn answers_to_lookups_and_seeks_are_those_of_the_engine() {
    let mut asked = 0;
    for record in records() {
        for (field, op) in
            [("get_answers", "get"), ("seek_answers", "seek"), ("seek_for_prev_answers", "seek-back")]
        {
            let Some(recorded) = record.get(field) else { continue };
            let probes: String = recorded
                .list("probes")
                .iter()
                .map(|probe| format!("{}\n", probe.as_str().unwrap()))
                .collect();
            let table = path(record.text("file"));
            let outcome = run(&["check", &table, "--hex", "--answers", "--op", op], probes.as_bytes());
            let answers: String = outcome.text().lines().collect();
            assert_eq!(answers, recorded.text("may_match"), "{table} {op}");
            asked += answers.len();
        }
    }
    assert!(asked > 5000, "{asked}");
}

#[test]
fn every_key_of_every_table_may_be_there() {
    for record in records() {
        let Some(keys) = record.get("keys").and_then(Value::as_str) else { continue };
        let count = record.count("num_keys").to_string();
        let outcome = run(&["check", "-c", "--hex", &path(record.text("file")), &path(keys)], b"").exits(0);
        assert_eq!(outcome.text().trim(), count, "{}", record.text("file"));
    }
}

#[test]
fn inspect_tells_kind_policy_partitions_and_prefixes() {
    let look = |name: &str| {
        let report = run(&["inspect", "--json", &path(&format!("tables/{name}"))], b"")
            .exits(i32::from(name.contains("nofilter")))
            .json();
        report["places"][0].clone()
    };
    let partitioned = look("r783_part_fixed_wktrue_fv5.sst");
    for (field, expected) in [
        ("dialect", json!("rocksdb")),
        ("kind", json!("partitioned")),
        ("keys", json!(1373)),
        ("partitions", json!(25)),
        ("policy", json!("bloomfilter")),
        ("prefix_extractor", json!("fixed:4")),
        ("whole_key", json!(true)),
        ("format_version", json!(5)),
    ] {
        assert_eq!(partitioned[field], expected, "{field}");
    }
    let ribbon = look("r783_ribbon_fv5_lz4.sst");
    assert_eq!(
        (&ribbon["dialect"], &ribbon["kind"], &ribbon["bytes"]),
        (&json!("rocksdb-ribbon"), &json!("full"), &json!(885))
    );
    let per_block = look("plyvel_bloom10_snappy.ldb");
    assert_eq!((&per_block["dialect"], &per_block["kind"]), (&json!("leveldb"), &json!("block")));
    let prefixes = look("r783_capped_wkfalse_fv5.sst");
    assert_eq!((&prefixes["prefix_extractor"], &prefixes["whole_key"]), (&json!("capped:3"), &json!(false)));
    let none = look("r783_nofilter.sst");
    assert_eq!((&none["kind"], &none["dialect"], &none["keys"]), (&json!("none"), &Value::Null, &json!(40)));
    let none = run(&["inspect", "--json", &path("tables/r783_nofilter.sst")], b"").exits(1);
    assert_eq!(none.codes("r783_nofilter.sst"), ["no-filter"]);
}

#[test]
fn verify_finds_all_golden_tables_well() {
    let files: Vec<String> = records().iter().map(|record| path(record.text("file"))).collect();
    let mut args = vec!["verify", "--json", "--absent", "2000"];
    args.extend(files.iter().map(String::as_str));
    let report = run(&args, b"").exits(1).json();
    let problems = report["problems"].as_array().unwrap();
    assert!(problems.iter().all(|problem| problem["code"] == "no-filter"), "{problems:?}");
    assert_eq!(problems.len(), files.iter().filter(|file| file.contains("nofilter")).count());
    for (record, found) in records().iter().zip(report["places"].as_array().unwrap()) {
        let name = record.text("file");
        assert_eq!(found["missing"], 0, "{name}");
        if let Some(keys) = record.get("num_keys").and_then(Value::as_u64) {
            assert_eq!(found["keys"], keys, "{name}");
        }
        let expected = if name.contains("nofilter") { Value::Null } else { json!(true) };
        assert_eq!(found["rebuilt_identical"], expected, "{name}");
    }
}

/// Clears the bits of one byte of the filter and makes the block's checksum fit again.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let table = Table::new(bytes, TableOptions::default()).unwrap();
    let Footer { checksum: Checksum::Xxh3, base_context_checksum: 0, .. } = *table.footer() else {
        panic!("another checksum than this test makes")
    };
    let handle = table.metaindex().filter.as_ref().unwrap().handle;
    let (start, size) = (handle.offset as usize, handle.size as usize);
    let mut bytes = bytes.to_vec();
    let byte = bytes[start..start + size].iter().position(|byte| *byte != 0).unwrap();
    bytes[start + byte] = 0;
    let sum = Checksum::Xxh3.of(&bytes[start..start + size], bytes[start + size]);
    bytes[start + size + 1..start + size + 5].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn a_filter_that_lost_bits_behind_a_valid_checksum_is_not_well() {
    let dir = Dir::new();
    let good = vectors::bytes("rocksdb/tables/r783_bloom_small.sst");
    let bad = dir.file("bad.sst", damaged(&good));
    let report = run(&["verify", "--json", &bad], b"").exits(1).json();
    let found = &report["places"][0];
    assert!(found["missing"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["rebuilt_identical"], false);
    let text = run(&["verify", &bad], b"").exits(1);
    assert!(text.text().contains("bytes differ"), "{text:?}");
}

#[test]
fn damage_is_a_finding_with_its_place_and_what_cannot_be_read_an_error() {
    let dir = Dir::new();
    let mut bytes = vectors::bytes("rocksdb/tables/r783_bloom_small.sst");
    bytes[100] ^= 1;
    let bad = dir.file("bad.sst", bytes);
    let found = run(&["verify", &bad], b"").exits(1);
    assert!(found.text().contains("data block at byte 0"), "{found:?}");
    run(&["verify", &dir.file("text", "no table")], b"").fails_with("not a table");
    run(&["verify", &dir.arg("missing")], b"").fails_with("missing");
    run(&["check", "--op", "seek", "--dialect", "leveldb", &dir.file("x", "abc")], b"").fails_with("--op");
}

#[test]
fn a_table_built_from_lines_holds_them_and_verifies() {
    let dir = Dir::new();
    let entries: String = (0..5000).rev().map(|i| format!("user{i:05}\tvalue {i}\n")).collect();
    for (name, options) in [
        ("full.sst", &[][..]),
        ("ribbon.sst", &["--ribbon", "--format-version", "6"]),
        ("legacy.sst", &["--format-version", "4", "--compression", "snappy"]),
        ("old.sst", &["--format-version", "0", "--compression", "zstd"]),
        ("parts.sst", &["--kind", "partitioned", "--prefix-extractor", "fixed:7", "--compression", "zstd"]),
        ("coupled.sst", &["--kind", "partitioned-with-index", "--checksum", "crc32c"]),
        ("000005.ldb", &["--engine", "leveldb", "--compression", "snappy"]),
    ] {
        let table = dir.arg(name);
        let mut args = vec!["table", "build", "-o", &table, "--json"];
        args.extend(options);
        let made = run(&args, entries.as_bytes()).exits(0).json();
        assert_eq!(made["entries"], 5000, "{name}");
        let found = &run(&["verify", "--json", &table], b"").exits(0).json()["places"][0];
        assert_eq!(
            (&found["keys"], &found["missing"], &found["rebuilt_identical"]),
            (&json!(5000), &json!(0), &json!(true))
        );
        let opened = Table::open(&table).unwrap();
        assert_eq!(opened.get(b"user00077").unwrap().unwrap().value, b"value 77", "{name}");
    }
}

#[test]
fn repeated_keys_keep_their_last_value_and_sorted_input_refuses_them() {
    let dir = Dir::new();
    let table = dir.arg("t.sst");
    let outcome = run(&["table", "build", "-q", "-o", &table], b"b\t1\na\t2\nb\t3\nc").exits(0);
    assert!(outcome.err.contains("1 key appeared"), "{outcome:?}");
    let opened = Table::open(&table).unwrap();
    assert_eq!(opened.get(b"b").unwrap().unwrap().value, b"3");
    assert_eq!(opened.get(b"c").unwrap().unwrap().value, b"");
    let before = std::fs::read(&table).unwrap();
    run(&["table", "build", "--sorted", "-o", &table], b"b\t1\na\t2\n").fails_with("keys must ascend");
    assert_eq!(std::fs::read(&table).unwrap(), before, "the old table is still there");
    run(&["table", "build", "-o", &table, "--ribbon", "--engine", "leveldb"], b"a").fails_with("Ribbon");
    run(&["table", "build", "--hex", "-o", &table], b"00ff\t0a0b\n0\t00\n").fails_with("line 2");
    let hex = dir.arg("hex.sst");
    run(&["table", "build", "-q", "--hex", "-o", &hex], b"00ff\t0a0b\n").exits(0);
    assert_eq!(Table::open(&hex).unwrap().get(&[0, 255]).unwrap().unwrap().value, [10, 11]);
}

#[test]
fn absent_keys_are_rejected_at_the_promised_rate() {
    let dir = Dir::new();
    let table = dir.arg("t.sst");
    run(&["table", "build", "-q", "-o", &table], lines(20_000).as_bytes()).exits(0);
    let absent: String = (0..20_000).map(|i| format!("absent{i}\n")).collect();
    let passed: u64 = run(&["check", "-c", &table], absent.as_bytes()).text().trim().parse().unwrap();
    assert!((100..320).contains(&passed), "{passed} of 20,000 at about one per cent");
}

#[test]
fn a_damaged_filter_is_mended_in_its_table_and_the_old_table_kept() {
    for name in ["r783_full_fv5_zlib.sst", "r783_part_fv5_restart3.sst", "r783_ribbon_fv5_lz4.sst"] {
        let dir = Dir::new();
        let sound = std::fs::read(path(&format!("tables/{name}"))).unwrap();
        let table = Table::new(&sound[..], TableOptions::default()).unwrap();
        let mut at = table.metaindex().filter.as_ref().unwrap().handle;
        let mut last = |handle| at = handle;
        let filter = table.filter().unwrap();
        filter
            .for_each_partition(|_, handle, _| {
                last(handle);
                Ok(())
            })
            .unwrap();
        let mut damaged = sound.clone();
        damaged[at.offset as usize] ^= 0x10;
        let file = dir.file(name, damaged.clone());
        run(&["verify", &file], b"").exits(1);
        assert_eq!(run(&["rebuild", "--damaged", "--dry-run", &file], b"").exits(0).err, "");
        assert_eq!(std::fs::read(&file).unwrap(), damaged, "a dry run changes nothing");
        let told = run(&["rebuild", "--damaged", "--json", &file], b"").exits(0);
        assert_eq!(told.codes(name), ["checksum"]);
        let told = &told.json()["places"][0];
        let seen = (&told["same_length"], &told["before"]["damaged"]);
        assert_eq!(seen, (&json!(true), &json!(true)), "{told}");
        assert!(std::fs::read(&file).unwrap() == sound, "{name}");
        assert!(std::fs::read(told["backup"].as_str().unwrap()).unwrap() == damaged, "{name}");
        run(&["verify", &file], b"").exits(0);
        let again = run(&["rebuild", "--damaged", &file], b"").exits(1);
        assert_eq!(again.text(), "nothing to rebuild\n");
    }
}

#[test]
fn a_filter_of_another_size_is_written_with_its_table_elsewhere_and_never_in_place() {
    let dir = Dir::new();
    let sound = std::fs::read(path("tables/r783_full_fv5_zlib.sst")).unwrap();
    let file = dir.file("a.sst", sound.clone());
    let refused = run(&["rebuild", "--bits-per-key", "20", &file], b"").fails_with("length of its table");
    assert!(refused.err.contains("another directory") && refused.err.contains("(-o DIR)"), "{}", refused.err);
    assert!(std::fs::read(&file).unwrap() == sound);
    let planned = run(&["rebuild", "--bits-per-key", "20", "--dry-run", &file], b"").exits(0);
    assert!(planned.text().contains("the length changes"), "{planned:?}");
    let out = dir.arg("out");
    let planned = run(&["rebuild", "--bits-per-key", "20", "--dry-run", &file, "-o", &out], b"").exits(0);
    assert!(planned.text().contains(&format!("would be written to {out}/a.sst")), "{planned:?}");
    assert!(!planned.text().contains("-o DIR"), "{planned:?}");
    let told = run(&["rebuild", "--bits-per-key", "20", &file, "-o", &out], b"").exits(0);
    for sentence in ["IngestExternalFile", "must not be copied"] {
        let times = [told.text(), &told.err].map(|text| text.matches(sentence).count());
        assert_eq!(times, [0, 1], "{sentence}: {told:?}");
    }
    assert!(
        told.text().contains("rocksdb full") && told.text().contains("20 bits per key"),
        "{}",
        told.text()
    );
    let new = format!("{out}/a.sst");
    run(&["verify", &new], b"").exits(0);
    let seen = run(&["inspect", "--json", &new], b"").exits(0).json();
    assert!((seen["places"][0]["bits_per_key"].as_f64().unwrap() - 20.0).abs() < 1.0, "{seen}");
    // A table without a filter gets one.
    let none = path("tables/r783_nofilter.sst");
    let refused = run(&["rebuild", &none, "-o", &out], b"").exits(2);
    assert!(refused.err.contains("error: ") && refused.err.contains("has no filter"), "{}", refused.err);
    run(&["rebuild", &none, "--fpr", "0.01", "-o", &out], b"").exits(0);
    let seen = run(&["inspect", "--json", &format!("{out}/r783_nofilter.sst")], b"").exits(0).json();
    assert_eq!(
        (&seen["places"][0]["kind"], &seen["places"][0]["dialect"]),
        (&json!("full"), &json!("rocksdb"))
    );
    run(&["rebuild", &file, &file, "-o", &out], b"").fails_with("under the same name");
}
