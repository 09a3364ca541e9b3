//! `report`: the nodes of a cluster, side by side.

use crate::common::{Dir, Outcome, copy_tree, run};
use crate::support::{self, Table};
use fullbloom_testkit::vectors;
use serde_json::{Value, json};
use std::fs;

/// A node's directory: sstables of this table with 500 keys each, made for this rate. The files of the
/// numbers in `cut` are truncated.
fn sstables(dir: &Dir, node: &str, table: &str, version: &str, count: u32, fpr: f64, cut: &[u32]) {
    let made = Table::new();
    for generation in 1..=count {
        made.add(version, generation, &support::keys(500), fpr);
    }
    for generation in cut {
        let whole = fs::read(made.path(version, *generation, "Filter.db")).unwrap();
        made.put(version, *generation, "Filter.db", &whole[..100]);
    }
    let id = "5a1c395e0b1f11ef9a3f0242ac120002";
    copy_tree(&made.directory, &dir.path(&format!("{node}/shop/{table}-{id}")));
}

/// What `inspect` prints about a node, as a file.
fn inspected(dir: &Dir, node: &str) -> String {
    let seen = run(&["inspect", "--json", &dir.arg(node)], b"");
    assert!(seen.code < 2, "{seen:?}");
    dir.file(&format!("{node}.json"), &seen.out)
}

/// Three nodes: `a` has two damaged sstables, `b` one, `c` another rate and version and one table less.
fn cluster(dir: &Dir) -> [String; 3] {
    sstables(dir, "a", "orders", "nb", 4, 0.01, &[2, 3]);
    sstables(dir, "b", "orders", "nb", 5, 0.01, &[5]);
    sstables(dir, "c", "orders", "me", 4, 0.1, &[]);
    sstables(dir, "a", "carts", "nb", 1, 0.01, &[]);
    sstables(dir, "b", "carts", "nb", 1, 0.01, &[]);
    ["a", "b", "c"].map(|node| inspected(dir, node))
}

fn report(files: &[String], more: &[&str]) -> Outcome {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run(&[&["report"], more, &files].concat(), b"")
}

#[test]
fn sums_are_those_of_the_nodes_and_the_worst_come_first() {
    let dir = Dir::new();
    let files = cluster(&dir);
    let seen = report(&files, &["--json"]).exits(1).json();
    let of_nodes: Vec<Value> =
        files.iter().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect();
    let sum = |field: &str| of_nodes.iter().map(|node| node["summary"][field].as_u64().unwrap()).sum::<u64>();
    for field in ["keys", "bytes", "errors", "warnings", "notes"] {
        assert_eq!(seen["summary"][field].as_u64(), Some(sum(field)), "{field}");
    }
    assert_eq!(
        (seen["summary"]["data_files"].as_u64(), seen["summary"]["filters"].as_u64()),
        (Some(15), Some(12))
    );
    assert_eq!(seen["summary"]["nodes"], 3);
    let names = |list: &Value, field: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&seen["places"], "name"), ["a", "b", "c"]);
    let groups = &seen["summary"]["groups"];
    assert_eq!(names(groups, "name"), ["shop.orders", "shop.carts"]);
    let orders = &groups[0]["nodes"];
    assert_eq!(names(orders, "node"), ["a", "b", "c"]);
    for (node, of_node) in orders.as_array().unwrap().iter().zip(&of_nodes) {
        let tables = of_node["summary"]["tables"].as_array().unwrap();
        let table = tables.iter().find(|table| table["table"] == "orders").unwrap();
        for field in ["keys", "bytes", "memory_bytes", "bits_per_key", "useless_reads"] {
            assert_eq!(node[field], table[field], "{field}");
        }
    }
    let mean: f64 =
        orders.as_array().unwrap().iter().map(|node| node["useless_reads"].as_f64().unwrap()).sum::<f64>()
            / 3.0;
    assert!((groups[0]["useless_reads"].as_f64().unwrap() - mean).abs() < 1e-12);
}

#[test]
fn what_differs_between_nodes_is_listed_and_what_does_not_is_not() {
    let dir = Dir::new();
    let files = cluster(&dir);
    let differences = |files: &[String]| {
        let seen = report(files, &["--json"]).json();
        let mut all: Vec<String> = Vec::new();
        for difference in seen["summary"]["differences"].as_array().unwrap() {
            let of_value = |value: &Value| {
                let nodes: Vec<&str> =
                    value["nodes"].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect();
                format!("{} {}", value["value"].as_str().unwrap(), nodes.join("+"))
            };
            let values: Vec<String> = difference["values"].as_array().unwrap().iter().map(of_value).collect();
            let text = |field: &str| difference[field].as_str().unwrap();
            all.push(format!("{} {}: {}", text("group"), text("what"), values.join(", ")));
        }
        all
    };
    let found = differences(&files);
    for expected in [
        "shop.carts absent: there a+b, absent c",
        "shop.orders recorded-rate: 1 % a+b, 10 % c",
        "shop.orders versions: nb a+b, me c",
        "shop.orders missing-filters: 2 of 4 a, 1 of 5 b, none c",
    ] {
        assert!(found.iter().any(|difference| difference == expected), "{expected}: {found:?}");
    }
    sstables(&dir, "d", "carts", "nb", 1, 0.01, &[]);
    sstables(&dir, "e", "carts", "nb", 1, 0.01, &[]);
    assert_eq!(differences(&["d", "e"].map(|node| inspected(&dir, node))), [""; 0]);
}

#[test]
fn equal_problems_are_one_entry_with_their_number() {
    let dir = Dir::new();
    let files = cluster(&dir);
    let seen = report(&files, &["--json"]).exits(1).json();
    let problems = seen["problems"].as_array().unwrap();
    let truncated: Vec<&Value> =
        problems.iter().filter(|problem| problem["code"] == "filter-truncated").collect();
    assert_eq!(truncated.len(), 1);
    assert_eq!((&truncated[0]["group"], &truncated[0]["count"]), (&json!("shop.orders"), &json!(3)));
    assert_eq!(truncated[0]["nodes"], json!([{ "node": "a", "count": 2 }, { "node": "b", "count": 1 }]));
    let text = report(&files, &[]).exits(1);
    assert_eq!(text.text().matches("is truncated").count(), 1, "{text:?}");
    assert!(text.text().contains("filter-truncated 3 times (2 on a, 1 on b), the first on a: "), "{text:?}");
    assert!(text.text().contains("hint: rebuild it with: fullbloom rebuild "), "{text:?}");
}

#[test]
fn tables_of_one_name_and_two_ids_are_two_groups() {
    let dir = Dir::new();
    let made = Table::new();
    made.add("nb", 1, &support::keys(500), 0.01);
    for id in ["1", "2"] {
        copy_tree(&made.directory, &dir.path(&format!("n/ks/t-{}", id.repeat(32))));
    }
    let seen = report(&[inspected(&dir, "n")], &["--json"]).exits(0).json();
    let groups = seen["summary"]["groups"].as_array().unwrap();
    let mut names: Vec<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [format!("ks.t-{}", "1".repeat(32)), format!("ks.t-{}", "2".repeat(32))]);
}

#[test]
fn levels_of_databases_keep_their_useless_reads() {
    let dir = Dir::new();
    let database = vectors::root().join("databases/rocksdb");
    let seen = run(&["inspect", "--json", database.to_str().unwrap()], b"").exits(0);
    let node = dir.file("r.json", &seen.out);
    let cluster = report(&[node], &["--json"]).exits(0).json();
    let levels = seen.json()["summary"]["levels"].as_array().unwrap().clone();
    let groups = cluster["summary"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), levels.len());
    for level in &levels {
        let is_same = |group: &&Value| {
            group["level"] == level["level"] && group["column_family"] == level["column_family"]
        };
        let group = groups.iter().find(is_same).unwrap_or_else(|| panic!("{level}"));
        assert_eq!(group["useless_reads"], level["useless_reads"]);
        assert_eq!(group["bytes"], level["bytes"]);
    }
}

#[test]
fn a_file_that_is_not_a_node_fails_and_the_others_are_shown() {
    let dir = Dir::new();
    let files = cluster(&dir);
    let good: Value = serde_json::from_slice(&fs::read(&files[2]).unwrap()).unwrap();
    let changed = |at: &str, to: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(at).unwrap() = to;
        changed.to_string()
    };
    let verified = run(&["verify", "--json", &dir.arg("c")], b"").out;
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("text", b"not JSON".to_vec()),
        ("verify", verified),
        ("version", changed("/version", json!(2)).into_bytes()),
        ("negative", changed("/places/0/keys", json!(-1)).into_bytes()),
        ("deep", "[".repeat(100_000).into_bytes()),
    ] {
        let bad = dir.file(&format!("{name}.json"), bytes);
        let seen = report(&[files[0].clone(), bad.clone()], &[]);
        assert!(seen.code == 2 && seen.err.starts_with(&format!("error: {bad}: ")), "{name}: {seen:?}");
        assert!(seen.text().contains("shop.orders"), "{name}: {seen:?}");
    }
    report(&[dir.arg("missing.json")], &[]).fails_with("missing.json: ");
    report(&[files[0].clone(), files[0].clone()], &[]).fails_with("was given twice");
    report(&files, &["-o", &files[0]]).fails_with("is not an HTML page");
}

#[test]
fn numbers_and_names_that_no_node_has_are_no_panic() {
    let dir = Dir::new();
    let max = u64::MAX;
    let place = json!({
        "type": "sstable", "path": "\u{1b}[31m/x", "keyspace": "<script>", "table": "\u{202e}", "keys": max, "bits": max,
        "bytes": max, "memory_bytes": max, "expected_fpr": -1e308, "recorded_fpr": 1e308, "tokens": [5, -5],
    });
    let odd = json!({
        "version": 1, "places": [place, place, null, {}, {"type": "table"}], "problems": [
            {"place": "\u{1b}[31m/x", "code": "of-a-later-release", "severity": "error", "message": "<b>", "hint": null},
        ],
        "summary": {"levels": [], "databases": []},
    });
    let node = dir.file("odd.json", odd.to_string());
    let page = dir.arg("odd.html");
    for more in [&["--json"][..], &[], &["-o", &page]] {
        let seen = report(std::slice::from_ref(&node), more).exits(1);
        assert!(!seen.text().contains('\u{1b}'), "{seen:?}");
    }
    let html = fs::read_to_string(page).unwrap();
    assert!(!html.contains('\u{1b}') && !html.contains("<b>") && html.matches("<script").count() == 1);
}

#[test]
fn two_files_of_one_name_are_two_nodes() {
    let dir = Dir::new();
    sstables(&dir, "a", "orders", "nb", 1, 0.01, &[]);
    let first = inspected(&dir, "a");
    fs::create_dir(dir.path("other")).unwrap();
    let second = dir.file("other/a.json", fs::read(&first).unwrap());
    let seen = report(&[first, second.clone()], &["--json"]).exits(0).json();
    let names: Vec<&str> =
        seen["places"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", &second]);
}
