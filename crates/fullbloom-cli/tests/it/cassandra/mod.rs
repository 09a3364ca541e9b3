//! Directories of Cassandra: inspected, verified, rebuilt, planned for.

mod findings;
mod rebuild;

use crate::common::{self, command, finish, run};
use crate::support::{Table, VERSIONS, filter, index, keys};
use fullbloom_dialects::Name;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn arg(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

/// The codes of the problems of a record.
fn codes<'a>(report: &'a Value, record: &Value) -> Vec<&'a str> {
    let problems = report["problems"].as_array().unwrap().iter();
    problems.filter(|p| p["place"] == record["path"]).map(|p| p["code"].as_str().unwrap()).collect()
}

/// The entry of a generation.
fn entry<'a>(list: &'a Value, generation: &str) -> &'a Value {
    let found = list.as_array().unwrap().iter().find(|entry| entry["generation"] == generation);
    found.unwrap_or_else(|| panic!("no generation {generation} in {list}"))
}

/// A directory with one of everything, among forty sound ones.
fn with_damage() -> Table {
    let table = Table::new();
    for generation in 1..=40 {
        table.add("nb", generation, &keys(1000), 0.01);
    }
    let sound = filter(Name::Cassandra, 1000, 0.01, &keys(1000));
    table.put("nb", 3, "Filter.db", &sound[..500]);
    table.put("nb", 4, "Filter.db", &[sound.as_slice(), b"more"].concat());
    fs::remove_file(table.path("nb", 5, "Filter.db")).unwrap();
    table.put("nb", 6, "Filter.db", &filter(Name::Cassandra3, 1000, 0.01, &keys(1000)));
    table.put("nb", 7, "Filter.db", &filter(Name::Cassandra, 300, 0.01, &keys(1000)));
    table.put("nb", 8, "Filter.db", &filter(Name::Cassandra, 20_000, 0.01, &keys(1000)));
    table.put("nb", 9, "Filter.db", b"");
    table.put("nb", 10, "Index.db", &index("nb", &keys(1000))[..5000]);
    let mut holes = sound;
    holes[8..40].fill(0);
    table.put("nb", 11, "Filter.db", &holes);
    table
}

#[test]
fn a_sound_directory_of_all_versions_is_well_and_every_number_is_there() {
    let table = Table::new();
    for (i, version) in VERSIONS.iter().enumerate() {
        table.add(version, i as u32 + 1, &keys(1000), 0.01);
    }
    table.add_bti(100, &keys(1000), 0.01, true);
    let seen = run(&["inspect", "--json", &arg(table.root.path())], b"").exits(0).json();
    let filters = seen["places"].as_array().unwrap();
    assert_eq!(filters.len(), VERSIONS.len() + 1);
    for entry in filters {
        assert_eq!(entry["keys"], 1000, "{entry}");
        let old = matches!(entry["version"].as_str().unwrap(), "a" | "b" | "e");
        assert_eq!(entry["bytes"].as_u64().unwrap() % 8, if old { 5 } else { 0 }, "{entry}");
        for field in ["path", "dialect", "bits", "probes", "fill", "estimated_keys", "expected_fpr"] {
            assert!(!entry[field].is_null(), "{field}: {entry}");
        }
        assert!(entry["expected_fpr"].as_f64().unwrap() < 0.012, "{entry}");
        assert!(codes(&seen, entry).is_empty(), "{entry}");
    }
    let bti = entry(&seen["places"], "100");
    assert_eq!(
        (&bti["format"], &bti["version"], &bti["recorded_fpr"]),
        (&"bti".into(), &"da".into(), &0.01.into())
    );
    let sums: u64 =
        seen["summary"]["tables"].as_array().unwrap().iter().map(|t| t["keys"].as_u64().unwrap()).sum();
    assert_eq!(sums, 1000 * filters.len() as u64);
    let text = run(&["inspect", &arg(table.root.path())], b"").exits(0);
    assert!(text.text().contains("ks.table: "), "{text:?}");
}

#[test]
fn plan_from_a_directory_shows_what_each_rate_costs_its_keys() {
    let table = Table::new();
    table.add("nb", 1, &keys(10_000), 0.01);
    table.add("me", 2, &keys(5_000), 0.01);
    let planned = run(&["plan", "--from", &arg(&table.directory), "--json"], b"").exits(0).json();
    let planned = &planned["summary"];
    let rows = planned["rows"].as_array().unwrap();
    let row = |fpr: f64| rows.iter().find(|row| row["fpr"] == fpr).unwrap();
    assert_eq!((&row(0.01)["bits_per_key"], &row(0.1)["bits_per_key"]), (&10.into(), &5.into()));
    assert_eq!(row(0.01)["memory_bytes"], planned["now"]["memory_bytes"]);
    // 10 bits for each key and 20 more, in whole words.
    assert_eq!(row(0.01)["memory_bytes"], 8 * (100_020u64.div_ceil(64) + 50_020u64.div_ceil(64)));
    assert_eq!(row(0.1)["memory_bytes"], 8 * (50_020u64.div_ceil(64) + 25_020u64.div_ceil(64)));
    let text = run(&["plan", "--from", &arg(&table.directory), "--memory", "14KiB"], b"").exits(0);
    assert!(text.text().contains("\n  0.05 * "), "{text:?}");
    let text = run(&["plan", "--from", &arg(&table.directory), "--fpr", "0.03"], b"").exits(0);
    assert!(text.text().contains("\n  0.03 * "), "{text:?}");
    run(&["plan", "--from", &arg(&table.directory), "--memory", "1KiB"], b"").exits(1);
    run(&["plan", "--from", &arg(&table.directory), "--expected-keys", "1"], b"").exits(2);
    run(&["plan", "--from", &arg(table.root.path().join("none"))], b"").fails_with("none");
}

#[test]
fn tables_fit_the_width_they_are_given() {
    let table = with_damage();
    for width in [60usize, 80, 100, 132] {
        for args in [&["inspect", "--summary"][..], &["inspect"], &["plan", "--from"]] {
            let path = arg(table.root.path());
            let mut command = command(&[args, &[path.as_str()]].concat());
            command.env("COLUMNS", width.to_string());
            let out = finish(command, b"");
            let rows = out.text().lines().filter(|line| line.starts_with("  ") && !line.contains(": "));
            for line in rows {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn what_is_no_directory_of_sstables_is_an_error_with_a_way_out() {
    let dir = common::Dir::new();
    for command in ["inspect", "verify", "rebuild"] {
        let refused = run(&[command, &dir.arg("")], b"").fails_with("cannot find sstables");
        assert!(refused.err.contains("hint: "), "{refused:?}");
        run(&[command, &dir.arg("none")], b"").fails_with("none");
    }
    let notes = dir.file("notes.txt", "not a filter");
    run(&["verify", &notes], b"").fails_with("not a table");
    run(&["rebuild", &notes], b"").fails_with("component of an sstable");
    run(&["rebuild", &dir.arg("nb-9-big-Filter.db")], b"").fails_with("nb-9-big-Filter.db");
}

#[cfg(unix)]
#[test]
fn pipes_full_disks_and_closed_outputs_are_errors_and_leave_no_half_file() {
    use std::process::{Command, Stdio};
    let table = Table::new();
    table.add("nb", 1, &keys(100_000), 0.01);
    let (names, path) = (common::list(&table.directory), arg(table.path("nb", 1, "Filter.db")));
    let old = fs::read(&path).unwrap();
    // A limit of 64 blocks of 512 bytes or 1 KiB, by the shell: less than the new filter's 125 kB.
    let script = format!("ulimit -f 64; exec {} rebuild --fpr 0.02 {path}", env!("CARGO_BIN_EXE_fullbloom"));
    let mut limited = Command::new("sh");
    limited.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(limited, b"").fails_with("cannot save");
    assert_eq!(common::list(&table.directory), names);
    assert_eq!(fs::read(&path).unwrap(), old);

    for args in [["inspect", &arg(&table.directory)], ["verify", &path], ["plan", "--from"]] {
        let mut args = args.to_vec();
        let directory = arg(&table.directory);
        if args[1] == "--from" {
            args.push(&directory);
        }
        let mut full = command(&args);
        full.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        finish(full, b"").fails_with("standard output: cannot write");
    }
    let fifo = table.root.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for name in ["inspect", "verify", "rebuild"] {
        run(&[name, &arg(&fifo)], b"").fails_with("pipe");
    }
    let fifo = table.path("nb", 2, "Filter.db");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let seen = run(&["inspect", "--json", &arg(&table.directory)], b"").exits(2).json();
    assert_eq!(seen["places"].as_array().unwrap().len(), 2);
    run(&["verify", &arg(&table.directory)], b"").exits(2);
}

/// Real sstables of twenty versions, where they are at hand.
#[test]
#[ignore = "needs real sstables: FULLBLOOM_FETCHED=DIR cargo test -p fullbloom-cli --test it cassandra:: -- --ignored"]
fn real_sstables_are_as_their_manifest_says() {
    let root =
        PathBuf::from(std::env::var_os("FULLBLOOM_FETCHED").expect("FULLBLOOM_FETCHED names the directory"));
    let manifest: Value = serde_json::from_slice(&fs::read(root.join("manifest.json")).unwrap()).unwrap();
    let seen = run(&["inspect", "--json", &arg(&root)], b"").exits(1).json();
    let verified = run(&["verify", "--json", "--absent", "0", &arg(&root)], b"").exits(1).json();
    let mut checked = 0;
    for expected in manifest.as_array().unwrap().iter().filter(|entry| entry["compressed"].is_null()) {
        let path = arg(root.join(expected["filter"].as_str().unwrap()));
        let of = |list: &Value| {
            list.as_array().unwrap().iter().find(|e| e["path"] == path.as_str()).unwrap().clone()
        };
        let (inspected, verified) = (of(&seen["places"]), of(&verified["places"]));
        assert_eq!(inspected["bits"], expected["capacity_bits"], "{path}");
        assert_eq!(inspected["probes"], expected["k"], "{path}");
        assert_eq!(inspected["keys"], expected["keys"].as_array().unwrap().len(), "{path}");
        let trap = path.contains("la/foo") || path.contains("legacy_na_simple_compact");
        assert_eq!(codes(&seen, &inspected).contains(&"mislabelled"), trap, "{path}");
        assert_eq!(verified["missing"] == 0, !trap, "{path}");
        assert_eq!(verified["reads_as"] == serde_json::json!(["cassandra-3"]), trap, "{path}");
        checked += 1;
    }
    assert_eq!(checked, 38);
}

#[test]
fn tables_of_one_name_and_different_ids_are_two_tables() {
    let table = Table::new();
    let recreated = table.root.path().join("ks/table-2c255f4def2540a60000000000000006");
    for generation in 1..=4 {
        table.add("nb", generation, &keys(1000), 0.01);
    }
    common::copy_tree(&table.directory, &recreated);
    let seen = run(&["inspect", "--json", &arg(table.root.path())], b"").exits(0).json();
    let tables = seen["summary"]["tables"].as_array().unwrap();
    let ids: Vec<_> = tables.iter().map(|table| (&table["table_id"], &table["sstables"])).collect();
    let id = |id: &str| Value::from(id);
    let (first, second) = (id("1b255f4def2540a60000000000000005"), id("2c255f4def2540a60000000000000006"));
    assert_eq!(ids, [(&first, &4.into()), (&second, &4.into())]);
    let text = run(&["inspect", &arg(table.root.path())], b"").exits(0);
    assert!(text.text().contains("ks.table-2c255f4def2540a60000000000000006: 4 sstables"), "{text:?}");

    // A lookup reads one table: what it reads needlessly does not add up over several.
    let one = run(&["plan", "--from", &arg(&table.directory), "--json"], b"").exits(0).json();
    assert_eq!(one["summary"]["now"]["useless_reads"], one["places"][0]["now"]["useless_reads"]);
    assert!(one["summary"]["rows"][0]["useless_reads"].is_f64());
    let two = run(&["plan", "--from", &arg(table.root.path()), "--json"], b"").exits(0).json();
    assert_eq!(two["places"].as_array().unwrap().len(), 2);
    assert!(two["places"][1]["now"]["useless_reads"].is_f64());
    assert_eq!(two["summary"]["now"]["useless_reads"], Value::Null);
    assert_eq!(two["summary"]["rows"][0]["useless_reads"], Value::Null);
}
