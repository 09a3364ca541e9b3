//! The formats of other systems through the command: files of the real programs answered, made again and
//! judged.

use crate::common::{Dir, run};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, sha256_hex};

/// The keys of a record, one per line; `None` where one cannot be written so.
fn lines(record: &Value, list: &str) -> Option<String> {
    let mut text = String::new();
    for key in record.list(list) {
        let key = key.as_str().unwrap();
        if key.contains(['\n', ':']) {
            return None; // bytes and bits of floats
        }
        text += key;
        text.push('\n');
    }
    Some(text)
}

fn key_type(record: &Value) -> &'static str {
    let funnel = record.get("funnel").and_then(Value::as_str).unwrap_or("");
    match record.text("kind") {
        "int" => "int",
        "long" => "long",
        _ if funnel.contains("unencodedChars") => "utf16",
        _ => "string",
    }
}

/// Builds the record's filter and asks it, with the keys as text.
fn check(record: &Value, dialect: &str, sizing: &[&str], expected: &[u8]) -> bool {
    let (Some(keys), Some(probes)) = (lines(record, "keys"), lines(record, "probes")) else { return false };
    let dir = Dir::new();
    let file = dir.arg("filter");
    let typed = ["--key-type", key_type(record)];
    let args = [&["build", "-q", "--dialect", dialect, "-o", &file], sizing, &typed].concat();
    run(&args, keys.as_bytes()).exits(0);
    assert_eq!(dir.read("filter"), expected, "{}", record.text("name"));
    let answers: String = record.text("answers").chars().flat_map(|c| [c, '\n']).collect();
    let status = i32::from(!answers.contains('1'));
    let asked = run(&[&["check", &file, "--answers"], &typed[..]].concat(), probes.as_bytes());
    assert_eq!(asked.exits(status).text(), answers, "{}", record.text("name"));
    true
}

#[test]
fn guava_and_orc_files_are_made_and_asked_with_typed_keys() {
    let mut checked = 0;
    for record in vectors::json("guava/guava.json").list("filters") {
        let file = vectors::bytes(&format!("guava/{}", record.text("file")));
        let dialect = if record.text("strategy").ends_with("32") { "guava-32" } else { "guava" };
        let (n, p) = (record.count("n").to_string(), record.text("p"));
        checked += u32::from(check(record, dialect, &["--expected-keys", &n, "--fpr", p], &file));
    }
    for record in vectors::json("orc/orc.json").list("filters") {
        if record.text("class") == "BloomFilterUtf8" {
            let file = vectors::bytes(&format!("orc/{}", record.text("file")));
            let (n, p) = (record.count("n").to_string(), record.text("p"));
            checked += u32::from(check(record, "orc", &["--expected-keys", &n, "--fpr", p], &file));
        }
    }
    assert_eq!(checked, 18 + 5);
}

#[test]
fn spark_and_parquet_files_are_made_and_asked_with_typed_keys() {
    let mut checked = 0;
    for record in vectors::json("spark/spark.json").list("filters") {
        let file = vectors::bytes(&format!("spark/{}", record.text("file")));
        if record.text("version") == "V2" && record.int("seed") != 0 {
            continue;
        }
        let dialect = if record.text("version") == "V1" { "spark" } else { "spark-2" };
        let bits = record.count("bitSize").to_string();
        let probes = u32::from_be_bytes(file[4..8].try_into().unwrap()).to_string();
        checked += u32::from(check(record, dialect, &["--bits", &bits, "--probes", &probes], &file));
    }
    for record in vectors::json("parquet/parquet.json").list("filters") {
        let file = vectors::bytes(&format!("parquet/{}", record.text("file")));
        let bits = (8 * record.count("bitset_bytes")).to_string();
        checked += u32::from(check(record, "parquet", &["--bits", &bits, "--probes", "8"], &file));
    }
    assert!(checked >= 14, "{checked}");
}

#[test]
fn dcso_files_are_made_read_and_told_apart_compressed_or_not() {
    let dir = Dir::new();
    let (plain, packed) = (dir.arg("list.bloom"), dir.arg("list.bloom.gz"));
    let text: String = (0..400).map(|i| format!("{i:040X}\n")).collect();
    for file in [&plain, &packed] {
        run(&["build", "-q", "--dialect", "dcso", "--fpr", "1e-4", "-o", file], text.as_bytes()).exits(0);
        assert_eq!(run(&["check", file], text.as_bytes()).exits(0).text(), text);
        let told = run(&["inspect", "--json", file], b"").exits(0).json();
        assert_eq!(told["places"][0]["dialect"], "dcso");
    }
    assert_eq!(dir.read("list.bloom.gz")[..2], [0x1f, 0x8b]);
    let both = dir.arg("both.bloom");
    run(&["merge", "-q", &plain, &packed, "-o", &both], b"").exits(0);
    assert_eq!(dir.read("both.bloom")[40..48], 800u64.to_le_bytes(), "counts are added");

    let file = vectors::json("dcso/v1_filters.json");
    let record = file.list("filters").iter().find(|r| r.text("name") == "sha1-uppercase").unwrap();
    let keys: Vec<Vec<u8>> = record.hex_list("keys_hex");
    let lines = [keys.join(&b'\n'), b"\n".to_vec()].concat();
    for name in ["v1_two_members.bloom.gz", "v1_named.bloom.gz", "v1_sha1.bloom"] {
        let path = vectors::root().join("dcso").join(name);
        let asked = run(&["check", "-c", path.to_str().unwrap()], &lines);
        assert_eq!(asked.exits(0).text(), "400\n", "{name}");
    }
    let built =
        run(&["build", "--dialect", "dcso", "--expected-keys", "500", "--fpr", "0.0001", "-o", "-"], &lines);
    assert_eq!(sha256_hex(&built.exits(0).out), record.text("plain_sha256"));
}

#[test]
fn damaged_gzip_is_refused_where_the_original_refuses_it() {
    let dir = Dir::new();
    let mut seen = 0;
    for case in vectors::json("dcso/v1_malformed.json").list("cases") {
        if case.field("gzip") != &Value::Bool(true) {
            continue;
        }
        let filter = dir.file("filter.bloom.gz", unpack(case.text("bytes")));
        let asked = run(&["check", &filter, "--dialect", "dcso"], b"key\n");
        let name = case.text("name");
        match case.field("go").get("answers") {
            Some(_) => asked.exits(1),
            // What is not compressed at all is simply read.
            None if name == "plain read as gzip" => asked.exits(1),
            None => asked.exits(2),
        };
        seen += 1;
    }
    assert!(seen >= 9, "{seen}");
}

/// The bytes of a damaged file; `(n)` stands for n zeros.
fn unpack(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in text.split_inclusive(')') {
        let (hex, zeros) = piece.split_once('(').unwrap_or((piece, "0)"));
        bytes.extend(from_hex(hex));
        bytes.resize(bytes.len() + zeros.trim_end_matches(')').parse::<usize>().unwrap(), 0);
    }
    bytes
}

#[test]
fn formats_that_break_their_promise_say_so() {
    let plan = |dialect: &str, args: &[&str]| {
        let all = [&["plan", "--json", "--dialect", dialect], args].concat();
        let planned = run(&all, b"").exits(0).json();
        let messages: Vec<_> =
            planned["problems"].as_array().unwrap().iter().filter_map(|p| p["message"].as_str()).collect();
        let mut row = planned["places"][0].clone();
        row["note"] = if messages.is_empty() { Value::Null } else { messages.join("; ").into() };
        row
    };
    // 8192 bits for a thousand keys.
    let collapsed = plan("dcso", &["--expected-keys", "1000", "--fpr", "0.019525"]);
    assert_eq!(collapsed["bits"], 8192);
    assert!(collapsed["note"].as_str().unwrap().contains("one key more"), "{collapsed}");
    assert!(collapsed["expected_fpr"].as_f64().unwrap() > 0.2, "{collapsed}");
    assert!(plan("dcso", &["--expected-keys", "1001", "--fpr", "0.019525"])["note"].is_null());
    let billion = plan("spark", &["--expected-keys", "1e9", "--fpr", "0.03"]);
    assert!(billion["note"].as_str().unwrap().contains("2^31"), "{billion}");
    assert!(billion["expected_fpr"].as_f64().unwrap() > 0.06, "{billion}");
    assert!(plan("spark-2", &["--expected-keys", "1e9", "--fpr", "0.03"])["note"].is_null());
    assert!(plan("java-lsm", &["--expected-keys", "1000", "--fpr", "0.01"])["note"].is_string());

    let dir = Dir::new();
    let file = dir.arg("collapsed.bloom");
    let text: String = (0..1000).map(|i| format!("key{i}\n")).collect();
    let args =
        ["build", "-q", "--dialect", "dcso", "--expected-keys", "1000", "--fpr", "0.019525", "-o", &file];
    run(&args, text.as_bytes()).exits(0);
    let told = run(&["inspect", "--json", &file], b"").exits(1).json();
    assert_eq!(told["problems"][0]["code"], "weak");
    assert!(told["problems"][0]["message"].as_str().unwrap().contains("one key more"), "{told}");
}

#[test]
fn key_types_that_a_dialect_does_not_have_are_refused() {
    let dir = Dir::new();
    let file = dir.arg("filter");
    for (dialect, key_type) in
        [("dcso", "int"), ("spark", "double"), ("native", "double"), ("parquet", "utf16")]
    {
        let args = ["build", "--dialect", dialect, "--key-type", key_type, "--fpr", "0.01", "-o", &file];
        run(&args, b"1\n").fails_with(&format!("{dialect} has no keys of type {key_type}"));
    }
    let args = ["build", "--dialect", "parquet", "--key-type", "int", "--fpr", "0.01", "-o", &file];
    run(&args, b"1\n2\nthree\n").fails_with("line 3");
    run(&args, b"1\n2\n").exits(0);
    assert_eq!(run(&["check", &file, "--key-type", "int"], b"1\n5000000\n2\n").exits(0).text(), "1\n2\n");
}

#[test]
fn filters_of_numbers_are_verified_with_their_numbers() {
    let dir = Dir::new();
    let (file, keys) =
        (dir.arg("f"), dir.file("keys", (0..2_000).map(|i| format!("{i}\n")).collect::<String>()));
    for (dialect, key_type) in [
        ("spark", "long"),
        ("spark-2", "int"),
        ("guava", "int"),
        ("parquet", "double"),
        ("orc", "float"),
        ("orc", "long"),
        ("poppy", "long"),
        ("cassandra", "int"),
        ("native", "long"),
    ] {
        let typed = ["--dialect", dialect, "--key-type", key_type];
        run(&[&["build", "-q", "--force", "--fpr", "0.01", "-o", &file, &keys], &typed[..]].concat(), b"")
            .exits(0);
        let verify = ["verify", "--json", &file, "--keys", &keys];
        let told = run(&[&verify, &typed[..]].concat(), b"").exits(0).json();
        let told = &told["places"][0];
        assert_eq!((told["missing"].as_u64(), &told["rebuilt_identical"]), (Some(0), &true.into()), "{told}");
        let measured = told["measured_fpr"].as_f64().unwrap();
        assert!(measured > 0.0005 && measured < 0.05, "{dialect} {key_type}: {measured}");
        // Asked for the digits, which are other keys.
        let code = if dialect == "native" { 2 } else { 1 }; // it records the type
        run(&[&verify, &typed[..2]].concat(), b"").exits(code);
    }
    run(&["verify", &file, "--keys", &keys, "--key-type", "double"], b"").fails_with("double");
    run(&["verify", &file, "--key-type", "long"], b"").exits(2);
}
