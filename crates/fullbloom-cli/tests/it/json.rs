//! Every kind of place, sound and damaged, in the JSON of every command. Each output is checked against the
//! schema where it is parsed; see `common::schema`.

use crate::common::{Dir, lines, run, schema};
use crate::support::{Table, filter, index, keys};
use fullbloom_dialects::Name;
use fullbloom_ops::{Code, Severity, Status};
use fullbloom_testkit::vectors;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn arg(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

/// The output of a command, with its problems collected.
fn json(seen: &mut BTreeSet<String>, args: &[&str]) -> Value {
    let out = run(&[args, &["--json"]].concat(), b"");
    assert!(out.code >= 0 && !out.err.contains("panicked"), "{out:?}");
    let value = out.json();
    assert_eq!(value["version"], 1);
    for problem in value["problems"].as_array().unwrap() {
        let code = problem["code"].as_str().unwrap().to_owned();
        let known = Code::ALL.iter().find(|known| known.as_str() == code).unwrap();
        assert_eq!(problem["severity"], known.severity().as_str(), "{problem}");
        seen.insert(code);
    }
    value
}

/// Sstables with everything that can be wrong.
fn sstables() -> Table {
    let table = Table::new();
    for generation in 1..=13 {
        table.add("nb", generation, &keys(1000), 0.01);
    }
    let sound = filter(Name::Cassandra, 1000, 0.01, &keys(1000));
    table.put("nb", 2, "Filter.db", &sound[..500]);
    table.put("nb", 3, "Filter.db", &[sound.as_slice(), b"more"].concat());
    table.put("nb", 4, "Filter.db", &filter(Name::Cassandra3, 1000, 0.01, &keys(1000)));
    table.put("nb", 5, "Filter.db", &filter(Name::Cassandra, 300, 0.01, &keys(1000)));
    table.put("nb", 6, "Filter.db", &filter(Name::Cassandra, 20_000, 0.01, &keys(1000)));
    table.put("nb", 7, "Filter.db", b"");
    table.put("nb", 8, "Index.db", &index("nb", &keys(1000))[..5000]);
    let mut holes = sound;
    holes[8..40].fill(0);
    table.put("nb", 9, "Filter.db", &holes);
    table.put("nb", 10, "Statistics.db", b"nonsense");
    fs::remove_file(table.path("nb", 11, "Index.db")).unwrap();
    fs::remove_file(table.path("nb", 12, "Filter.db")).unwrap();
    table.put("nb", 13, "TOC.txt", b"Index.db\nStatistics.db\n");
    table.add_bti(20, &keys(100), 0.01, true);
    table.add("me", 30, &keys(100), 0.01);
    fs::create_dir_all(table.directory.join("snapshots/s")).unwrap();
    table
}

#[test]
fn every_output_fits_the_schema() {
    let mut seen = BTreeSet::new();
    let seen = &mut seen;
    let table = sstables();
    let directory = arg(table.root.path());
    for command in ["inspect", "verify"] {
        let all = json(seen, &[command, &directory]);
        for record in all["places"].as_array().unwrap() {
            // The same record and the same problems for the file alone.
            let path = record["path"].as_str().unwrap();
            if !Path::new(path).exists() {
                continue;
            }
            let alone = json(seen, &[command, path]);
            assert_eq!(alone["places"][0], *record);
            let of_file = all["problems"].as_array().unwrap().iter().filter(|p| p["place"] == path);
            assert_eq!(
                alone["problems"].as_array().unwrap().iter().collect::<Vec<_>>(),
                of_file.collect::<Vec<_>>()
            );
        }
    }
    json(seen, &["plan", "--from", &directory, "--memory", "1MiB"]);
    json(seen, &["plan", "--from", &directory, "--memory", "1KiB"]);
    json(seen, &["rebuild", "--dry-run", &directory]);
    json(seen, &["rebuild", &directory]);

    let dir = Dir::new();
    for engine in ["rocksdb", "leveldb"] {
        let database = arg(vectors::root().join("databases").join(engine));
        json(seen, &["inspect", &database]);
        json(seen, &["verify", "--absent", "1000", &database]);
        json(seen, &["plan", "--from", &database]);
        json(seen, &["plan", "--from", &database, "--memory", "7KiB"]);
    }
    let tables = vectors::root().join("rocksdb/tables");
    json(seen, &["inspect", &arg(&tables)]);
    let one = dir.file("one.sst", fs::read(tables.join("r783_full_fv4_lz4.sst")).unwrap());
    json(seen, &["inspect", &one]);
    json(seen, &["verify", &one]);
    json(seen, &["rebuild", "--bits-per-key", "16", &one, "-o", &dir.arg("new")]);
    json(seen, &["rebuild", &one]);
    let copy = dir.file("bad.sst", &fs::read(&one).unwrap()[8..]);
    json(seen, &["verify", &copy]);

    for (name, build) in [
        ("plain", &["--fpr", "0.01"][..]),
        ("dynamic", &["--dynamic"]),
        ("deletable", &["--deletable"]),
        ("libbloom", &["--dialect", "libbloom", "--expected-keys", "2000"]),
        ("java", &["--dialect", "java-lsm"]),
        ("full", &["--expected-keys", "10"]),
    ] {
        let path = dir.arg(name);
        run(&[&["build", "-q", "-o", &path], build].concat(), lines(1500).as_bytes()).exits(0);
        let keys = dir.file("keys", lines(1500));
        let dialect: &[&str] = if name == "java" { &["--dialect", "java-lsm"] } else { &[] };
        json(seen, &[&["inspect", &path], dialect].concat());
        json(seen, &[&["verify", &path], dialect].concat());
        json(seen, &[&["verify", &path, "--keys", &keys, "--absent", "100"], dialect].concat());
    }
    let notes = dir.file("notes", "not a filter");
    for command in ["inspect", "verify", "rebuild"] {
        json(seen, &[command, &notes, &dir.arg("missing")]);
    }
    json(seen, &["inspect", "--dialect", "cassandra", &notes]);
    json(seen, &["plan", "--expected-keys", "1G", "--bits-per-key", "10"]);
    json(seen, &["plan", "--expected-keys", "1M", "--memory", "1MiB"]);

    for code in [
        "filter-truncated",
        "trailing-bytes",
        "mislabelled",
        "too-full",
        "too-large",
        "filter-empty",
        "keys-unreadable",
        "key-missing",
        "bytes-differ",
        "statistics-unreadable",
        "component-lost",
        "filter-missing",
        "not-listed",
        "snapshots-skipped",
        "old-kind",
        "no-filter",
        "overfull",
        "unknown-dialect",
        "not-a-filter",
        "unreadable",
        "unsupported",
        "cannot-size",
        "uncounted",
        "over-budget",
    ] {
        assert!(seen.contains(code), "{code} is not in {seen:?}");
    }
}

#[test]
fn the_schema_and_the_page_list_every_code_and_no_other() {
    let listed: BTreeSet<&str> = schema::schema()["$defs"]["code"]["enum"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c.as_str().unwrap())
        .collect();
    let known: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(listed, known);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")).unwrap();
    for code in Code::ALL {
        let ends = match (code.ends_inspect(), code.ends_verify()) {
            (Status::Failed, _) | (_, Status::Failed) => "2 (inspect, verify)",
            (Status::NotWell, Status::NotWell) => "1 (inspect, verify)",
            (Status::NotWell, Status::Well) => "1 (inspect)",
            (Status::Well, Status::NotWell) => "1 (verify)",
            (Status::Well, Status::Well) => "",
        };
        let row = format!("| `{code}` | {} | {ends} | {} |", code.severity(), code.meaning());
        assert!(page.contains(&row), "docs/json.md has not: {row}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 3);
    assert_eq!(
        rows.filter(|row| [Severity::Error, Severity::Warning, Severity::Note]
            .iter()
            .any(|s| row.contains(&format!("| {s} |"))))
            .count(),
        Code::ALL.len()
    );
}

#[test]
fn what_does_not_fit_the_schema_is_found() {
    let whole = run(&["plan", "--json", "--expected-keys", "1M", "--fpr", "0.01"], b"").exits(0).json();
    let change = |at: &str, to: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(at).unwrap() = to;
        std::panic::catch_unwind(|| schema::check(&changed)).is_err()
    };
    assert!(change("/version", json!(2)));
    assert!(change("/places/0/bits", json!("many")));
    assert!(change("/places/0/type", json!("filter")));
    assert!(change("/problems", json!([{ "place": "x" }])));
    assert!(change(
        "/problems",
        json!([{ "place": "x", "code": "no-such", "severity": "error", "message": "", "hint": null }])
    ));
    assert!(change("/summary/fpr", json!("low")));
    assert!(change("/summary", json!({})));
    let mut more = whole.clone();
    more["places"][0]["undocumented"] = json!(1);
    assert!(std::panic::catch_unwind(|| schema::check(&more)).is_err());
}
