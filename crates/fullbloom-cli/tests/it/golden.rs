//! The command writes the bytes that the real programs wrote, and answers what they answered.
//!
//! The library's own tests take every record of the vectors, so `cargo test` takes one of [`FEW`] here, and all
//! with `FULLBLOOM_TESTS=all`.

use crate::common::{Dir, run};
use fullbloom_testkit::steps::Steps;
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, keys, sha256_hex, to_hex};

/// One of this many records of a long list is taken, unless all are.
const FEW: u64 = 6;

/// The records that are taken.
fn taken<T>(records: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let steps = Steps::every(FEW);
    let numbered = (0..).zip(records).filter(move |(number, _)| steps.takes(*number));
    numbered.map(|(_, record)| record)
}

/// Keys as the hex lines of `--hex`.
fn hex_lines<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    keys.into_iter().map(|key| format!("{key}\n")).collect()
}

fn texts(list: &[Value]) -> impl Iterator<Item = &str> {
    list.iter().map(|value| value.as_str().expect("a text"))
}

/// Builds from hex keys, saves as `name`, and gives the bytes.
#[track_caller]
fn build(dir: &Dir, name: &str, dialect: &str, size: &[&str], hex: &str) -> Vec<u8> {
    let filter = dir.arg(name);
    let args = [&["build", "--dialect", dialect, "--hex", "-q", "--force", "-o", &filter], size].concat();
    run(&args, hex.as_bytes()).exits(0);
    dir.read(name)
}

/// The answers to hex keys, as the vectors write them.
#[track_caller]
fn answers(dir: &Dir, name: &str, how: &[&str], hex: &str) -> String {
    let out = run(&[&["check", &dir.arg(name), "--hex", "--answers"], how].concat(), hex.as_bytes());
    assert!(out.code < 2, "{out:?}");
    out.text().replace('\n', "")
}

#[test]
fn cassandras_filters_in_four_families() {
    let dir = Dir::new();
    let file = vectors::json("cassandra/filters.json");
    let records = file.list("filters");
    assert_eq!(records.len(), 48);
    for record in taken(records) {
        let (n, fpr) = (record.count("n").to_string(), record.real("fp").to_string());
        let inserted = hex_lines(texts(record.list("inserted")));
        let asked = hex_lines(texts(record.list("probes_not_inserted")));
        for (name, dialect, bytes, expected) in [
            ("nb-1-big-Filter.db", "cassandra", "filter_db_na_and_later", "answers_ma_and_later"),
            ("da-1-bti-Filter.db", "cassandra", "filter_db_na_and_later", "answers_ma_and_later"),
            ("me-1-big-Filter.db", "cassandra-3", "filter_db_ma_to_me", "answers_ma_and_later"),
            ("ks-t-ka-1-Filter.db", "cassandra-2", "filter_db_ia_to_lb", "answers_ia_to_lb"),
            ("ks-t-hc-1-Filter.db", "cassandra-1", "filter_db_f_to_hf", "answers_f_to_hf"),
        ] {
            let built = build(&dir, name, dialect, &["--expected-keys", &n, "--fpr", &fpr], &inserted);
            assert_eq!(to_hex(&built), record.text(bytes), "{name}, n {n}, fpr {fpr}");
            assert_eq!(answers(&dir, name, &[], &asked), record.text(expected), "{name}, n {n}, fpr {fpr}");
        }
    }
}

#[test]
fn cassandras_filters_by_bits_per_key() {
    let dir = Dir::new();
    let file = vectors::json("cassandra/filters_by_target_buckets.json");
    for record in file.list("filters") {
        let (n, target) = (record.count("n").to_string(), record.count("target_buckets").to_string());
        let inserted = hex_lines(texts(record.list("inserted")));
        let built =
            build(&dir, "f", "cassandra", &["--expected-keys", &n, "--bits-per-key", &target], &inserted);
        assert_eq!(to_hex(&built), record.text("filter_db_na_and_later"));
    }
}

#[test]
fn cassandra_0_filters_of_bytes_and_of_text() {
    let dir = Dir::new();
    let file = vectors::json("cassandra/legacy_0x.json");
    for record in file.list("filters_raw_bytes_0_6_13") {
        let (n, fpr) = (record.count("n").to_string(), record.real("fp").to_string());
        let inserted = hex_lines(texts(record.list("inserted")));
        let name = "ks-t-d-1-Filter.db";
        let built = build(&dir, name, "cassandra-0.7", &["--expected-keys", &n, "--fpr", &fpr], &inserted);
        assert_eq!(to_hex(&built), record.text("serialized"));
        let asked = hex_lines(texts(record.list("probes_not_inserted")));
        assert_eq!(answers(&dir, name, &[], &asked), record.text("answers"));
    }
    for record in file.list("filters_utf16_strings_0_3_0_and_0_6_13") {
        let (n, fpr) = (record.count("n").to_string(), record.real("fp").to_string());
        let to_line = |text: &str| to_hex(text.as_bytes()) + "\n";
        let inserted: String = texts(record.list("inserted_strings")).map(to_line).collect();
        let asked: String = texts(record.list("probe_strings_not_inserted")).map(to_line).collect();
        let name = "ks-t-b-1-Filter.db";
        let built = build(&dir, name, "cassandra-0", &["--expected-keys", &n, "--fpr", &fpr], &inserted);
        assert_eq!(to_hex(&built), record.text("serialized"));
        assert_eq!(answers(&dir, name, &[], &asked), record.text("answers"));
    }
}

#[test]
fn libblooms_bits_and_save_files() {
    let dir = Dir::new();
    let (v1, v2) = (vectors::json("libbloom/filters_v1.json"), vectors::json("libbloom/filters_v2.json"));
    for (one, two) in v1.as_array().unwrap().iter().zip(v2.as_array().unwrap()) {
        assert_eq!(one.text("name"), two.text("name"));
        let (n, fpr) = (one.count("entries").to_string(), one.text("error").to_owned());
        let size = ["--expected-keys", &n, "--fpr", &fpr];
        let [added, asked] = ["add_keys_hex", "probe_keys_hex"].map(|keys| hex_lines(texts(one.list(keys))));

        let (bits, probes) = (one.count("bits").to_string(), one.count("hashes").to_string());
        assert_eq!(to_hex(&build(&dir, "one", "libbloom-1", &size, &added)), one.text("bf_hex"));
        let geometry = ["--bits", &bits, "--probes", &probes];
        assert_eq!(to_hex(&build(&dir, "raw", "libbloom-1", &geometry, &added)), one.text("bf_hex"));
        let how = [&["--dialect", "libbloom-1"], &geometry[..]].concat();
        assert_eq!(answers(&dir, "one", &how, &asked), one.text("check_return_codes"));

        // "as in filters_v1.json", or a list of its own
        let own =
            |keys: &str, shared: String| two[keys].as_array().map_or(shared, |list| hex_lines(texts(list)));
        let (added, asked) = (own("add_keys_hex", added), own("probe_keys_hex", asked));
        let mut built = build(&dir, "two", "libbloom", &size, &added);
        let mut file = vectors::bytes(&format!("libbloom/{}", two.text("file")));
        let pointer = two.count("pointer_field_offset") as usize;
        for bytes in [&mut built, &mut file] {
            bytes[pointer..pointer + 8].fill(0); // an address of the process that saved it
        }
        assert!(built == file, "{}", two.text("name"));
        assert_eq!(answers(&dir, "two", &[], &asked), two.text("check_return_codes"));
    }
}

#[test]
fn java_lsm_trees_filters() {
    let dir = Dir::new();
    let records = vectors::json("javalsm/filters.json");
    for record in records.as_array().unwrap() {
        let (n, fpr) = (record.count("n").to_string(), record.text("p").to_owned());
        let to_line = |text: &str| to_hex(text.as_bytes()) + "\n";
        let added: String = texts(record.list("keys")).map(to_line).collect();
        let asked: String = texts(record.list("probes")).map(to_line).collect();
        let built = build(&dir, "f", "java-lsm", &["--expected-keys", &n, "--fpr", &fpr], &added);
        assert_eq!(
            built,
            vectors::bytes(&format!("javalsm/{}", record.text("file"))),
            "{}",
            record.text("name")
        );
        let (bits, probes) = (record.count("size").to_string(), record.count("k").to_string());
        let how = ["--dialect", "java-lsm", "--bits", &bits, "--probes", &probes];
        assert_eq!(answers(&dir, "f", &how, &asked), record.text("answers"), "{}", record.text("name"));
    }
}

#[test]
fn leveldbs_and_rocksdbs_block_filters() {
    let dir = Dir::new();
    let file = vectors::json("rocksdb/block_filter_policy.json");
    for record in taken(file.list("cases")) {
        let dialect =
            if record.text("software").starts_with("LevelDB") { "leveldb" } else { "rocksdb-block" };
        let lines =
            |rule: &Value| keys::of_rule(rule).iter().map(|key| to_hex(key) + "\n").collect::<String>();
        let bits_per_key = record.field("bits_per_key").to_string();
        let built =
            build(&dir, "f", dialect, &["--bits-per-key", &bits_per_key], &lines(record.field("keys")));
        assert_eq!(built, from_hex(record.text("filter")), "{record}");
        let asked = lines(record.field("probes"));
        assert_eq!(answers(&dir, "f", &["--dialect", dialect], &asked), record.text("probe_answers"));
    }
}

#[test]
fn rocksdbs_full_filters() {
    let dir = Dir::new();
    let file = vectors::json("rocksdb/raw_filters.json");
    let lines = |keys: &[Vec<u8>]| keys.iter().map(|key| to_hex(key) + "\n").collect::<String>();
    let sized_by_rule = |record: &&Value| record["optimize_filters_for_memory"] == false;
    let records: Vec<&Value> = file.list("cases").iter().filter(sized_by_rule).collect();
    assert_eq!(records.len(), 294);
    for record in taken(records) {
        let dialect = match record.text("impl") {
            "legacy" => "rocksdb-legacy",
            "fastlocal" => "rocksdb",
            other => &format!("rocksdb-{other}"),
        };
        let keys = match record.get("keys_hex") {
            Some(list) => hex_lines(texts(list.as_array().unwrap())),
            None => lines(&keys::of_rule(record.field("keys"))),
        };
        let bits_per_key = record.field("bits_per_key").to_string();
        if record.get("no_filter").is_some() {
            let args =
                ["build", "--dialect", dialect, "--bits-per-key", &bits_per_key, "-o", &dir.arg("none")];
            run(&args, b"").exits(1);
            assert!(!dir.path("none").exists());
            continue;
        }
        let built = build(&dir, "f", dialect, &["--bits-per-key", &bits_per_key], &keys);
        if keys.is_empty() {
            assert!(built.is_empty(), "as since 9.6; older ones wrote a bare trailer");
            continue;
        }
        assert_eq!(sha256_hex(&built), record.text("filter_sha256"), "{}", record.text("id"));
        let asked = lines(&keys::of_rule(record.field("probes")));
        let answered = answers(&dir, "f", &["--dialect", dialect], &asked);
        assert_eq!(answered, record.text("probe_answers"), "{}", record.text("id"));
    }
}
