//! Directories of Cassandra: inspected, verified, rebuilt, planned for.

use crate::common::{self, command, finish, run};
use crate::support::{Table, VERSIONS, filter, index, keys, statistics};
use fullbloom::dialect::Name;
use fullbloom_testkit::vectors;
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
fn everything_that_is_wrong_is_flagged_and_stops_nothing_else() {
    let table = with_damage();
    let seen = run(&["inspect", "--json", &arg(table.root.path())], b"").exits(1).json();
    let filters = &seen["places"];
    assert_eq!(filters.as_array().unwrap().len(), 40);
    for (generation, flag) in [
        ("3", "filter-truncated"),
        ("4", "trailing-bytes"),
        ("5", "filter-missing"),
        ("6", "mislabelled"),
        ("7", "too-full"),
        ("8", "too-large"),
        ("9", "filter-empty"),
        ("10", "keys-unreadable"),
        ("11", "key-missing"),
    ] {
        assert!(codes(&seen, entry(filters, generation)).contains(&flag), "{}", entry(filters, generation));
    }
    assert!(codes(&seen, entry(filters, "12")).is_empty());
    let text = run(&["inspect", "--summary", &arg(table.root.path())], b"").exits(1);
    for part in [
        "nb-3-big-Filter.db: Filter.db is truncated: 500 of",
        "nb-7-big-Filter.db: too full",
        "as cassandra-3",
    ] {
        assert!(text.text().contains(part), "{part}: {text:?}");
    }
    assert!(!text.text().contains("\n  12 "), "sound ones are left out: {text:?}");
}

#[test]
fn what_only_costs_memory_or_reads_does_not_set_the_exit_code() {
    let table = Table::new();
    table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, 20_000, 0.01, &keys(1000)));
    table.put("nb", 1, "Index.db", &index("nb", &keys(1000)));
    let text = run(&["inspect", &arg(&table.directory)], b"").exits(0);
    assert!(text.text().contains("far larger than needed"), "{text:?}");
    run(&["verify", &arg(&table.directory)], b"").exits(0);
}

#[test]
fn a_filter_that_lets_too_many_keys_pass_is_not_well_for_any_command() {
    let table = Table::new();
    let path = arg(table.path("nb", 1, "Filter.db"));
    // Sized for no keys, as bulk loaders do; and for a third of the keys.
    for (sized, code) in [(0, "too-small"), (300, "too-full")] {
        table.add("nb", 1, &keys(1000), 0.01);
        table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, sized, 0.01, &keys(1000)));
        for command in ["inspect", "verify"] {
            let found = run(&[command, "--json", &path], b"").exits(1);
            assert_eq!(found.codes("Filter.db"), [code], "{command}");
            assert_eq!(found.json()["problems"][0]["severity"], "warning");
            run(&[command, &path], b"").exits(1);
        }
        let rebuilt = run(&["rebuild", "--damaged", "--no-backup", &path, "--json"], b"").exits(0);
        assert_eq!(
            (rebuilt.codes("Filter.db"), &rebuilt.json()["summary"]["filters"]),
            (vec![code.into()], &1.into())
        );
        for command in ["inspect", "verify"] {
            run(&[command, &path], b"").exits(0);
        }
    }
    // A rebuild at the same size would change nothing.
    table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, 0, 0.01, &keys(1000)));
    run(&["rebuild", "--damaged", "--same-size", &path], b"").exits(1);
    // The requested rate counts, if there is one.
    table.add("nb", 1, &keys(1000), 0.01);
    run(&["verify", "--fpr", "0.1%", &path], b"").exits(1);
    run(&["verify", "--fpr", "2%", &path], b"").exits(0);
}

#[test]
fn the_measured_rate_counts_where_the_bits_look_right() {
    // Fewer bits than a sound filter has, but all at one end of the array: keys whose probes stay close
    // together pass more often than the number of bits suggests.
    let table = Table::new();
    table.add("nb", 1, &keys(4000), 0.01);
    let mut bytes = filter(Name::Cassandra, 4000, 0.01, &keys(4000));
    let end = 8 + (bytes.len() - 8) * 41 / 100;
    bytes[8..end].fill(0xff);
    bytes[end..].fill(0);
    table.put("nb", 1, "Filter.db", &bytes);
    let found = run(&["verify", "--json", &arg(table.path("nb", 1, "Filter.db"))], b"").exits(1);
    assert!(found.codes("Filter.db").contains(&"too-full".to_owned()), "{found:?}");
    assert!(found.text().contains("the measured rate is"), "{found:?}");
}

#[test]
fn sound_filters_that_may_not_be_replaced_do_not_stop_a_repair() {
    let table = Table::new();
    for generation in [1, 2] {
        table.add("nb", generation, &keys(1000), 0.01);
    }
    let (sound, broken) = (table.path("nb", 1, "Filter.db"), table.path("nb", 2, "Filter.db"));
    let mut permissions = fs::metadata(&sound).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&sound, permissions).unwrap();
    let bytes = fs::read(&broken).unwrap();
    fs::write(&broken, &bytes[..100]).unwrap();
    let out = run(&["rebuild", "--damaged", &arg(table.root.path())], b"").exits(0);
    assert_eq!(out.err, "");
    assert_eq!(fs::read(&broken).unwrap(), bytes);

    let dir = common::Dir::new();
    let from = vectors::root().join("databases/rocksdb/000023.sst");
    let copy = dir.file("000023.sst", fs::read(from).unwrap());
    let mut permissions = fs::metadata(&copy).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&copy, permissions).unwrap();
    let out = run(&["rebuild", "--damaged", &dir.arg("")], b"").exits(1);
    assert!(out.text().contains("nothing to rebuild") && out.err.is_empty(), "{out:?}");
}

#[test]
fn verify_finds_each_lost_key_and_the_sstable_of_a_file() {
    let table = with_damage();
    let found = run(&["verify", "--json", "--absent", "5000", &arg(table.root.path())], b"").exits(1).json();
    let files = &found["places"];
    assert_eq!(files.as_array().unwrap().len(), 40);
    for generation in ["1", "2", "12", "40"] {
        let entry = entry(files, generation);
        assert_eq!((&entry["keys"], &entry["missing"]), (&1000.into(), &0.into()));
        assert_eq!(entry["rebuilt_identical"], true);
        assert!((entry["measured_fpr"].as_f64().unwrap() - 0.009).abs() < 0.006, "{entry}");
    }
    assert!(entry(files, "11")["missing"].as_u64().unwrap() > 10);
    assert_eq!(entry(files, "6")["reads_as"], serde_json::json!(["cassandra-3"]));
    assert_eq!(entry(files, "4")["missing"], 0);
    assert_eq!(codes(&found, entry(files, "4")), ["trailing-bytes", "bytes-differ"]);
    assert_eq!(entry(files, "5")["rebuilt_identical"], Value::Null);

    let one = |generation| arg(table.path("nb", generation, "Filter.db"));
    run(&["verify", &one(1)], b"").exits(0);
    let lost = run(&["verify", &one(11)], b"").exits(1);
    assert!(lost.text().contains("their rows are invisible"), "{lost:?}");
    run(&["verify", &one(3)], b"").exits(1);
    run(&["verify", &one(1), &one(11)], b"").exits(1);
}

#[test]
fn rebuilding_at_the_recorded_rate_gives_the_original_bytes_in_every_version() {
    let table = Table::new();
    for (i, version) in ["ma", "mc", "me", "na", "nb", "oa"].iter().enumerate() {
        table.add(version, i as u32, &keys(777), 0.01);
    }
    table.add_bti(50, &keys(777), 0.01, false);
    let before: Vec<(PathBuf, Vec<u8>)> = table
        .sstables()
        .iter()
        .map(|s| (s.path("Filter.db"), fs::read(s.path("Filter.db")).unwrap()))
        .collect();
    let done = run(&["rebuild", "--json", "--no-backup", &arg(table.root.path())], b"").exits(0).json();
    assert_eq!(done["places"].as_array().unwrap().len(), before.len());
    for (path, bytes) in before {
        assert_eq!(fs::read(&path).unwrap(), bytes, "{}", path.display());
    }
    assert!(!common::list(&table.directory).iter().any(|name| name.contains("backup")));
}

#[test]
fn a_dry_run_changes_nothing_and_another_rate_halves_the_filter_with_the_old_one_kept() {
    let table = Table::new();
    table.add("nb", 1, &keys(1000), 0.01);
    let (names, old) = (common::list(&table.directory), fs::read(table.path("nb", 1, "Filter.db")).unwrap());
    let dry = run(&["rebuild", "--fpr", "0.1", "--dry-run", &arg(&table.directory)], b"").exits(0);
    assert!(dry.text().contains("dry run: 1 filter: 1.2 KiB before, 640 B after"), "{dry:?}");
    assert!(dry.text().contains("Cassandra 5.0: the file is loaded unchanged"), "{dry:?}");
    assert!(dry.text().contains("Statistics.db still records 0.01"), "{dry:?}");
    assert_eq!(common::list(&table.directory), names);
    assert_eq!(fs::read(table.path("nb", 1, "Filter.db")).unwrap(), old);

    run(&["rebuild", "--fpr", "0.1", &arg(table.path("nb", 1, "Filter.db"))], b"").exits(0);
    let new = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    assert_eq!(new, filter(Name::Cassandra, 1000, 0.1, &keys(1000)));
    assert_eq!(fs::read(table.directory.join("nb+1+big+Filter.db.backup")).unwrap(), old);
    run(&["verify", &arg(&table.directory)], b"").exits(0);
}

#[test]
fn only_damaged_filters_are_made_anew_when_asked_and_a_lost_one_comes_back() {
    let table = Table::new();
    for generation in 1..=5 {
        table.add("nb", generation, &keys(500), 0.01);
    }
    let sound = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    fs::remove_file(table.path("nb", 2, "Filter.db")).unwrap();
    table.put("nb", 3, "Filter.db", &sound[..100]);
    let done = run(&["rebuild", "--damaged", "--json", &arg(table.root.path())], b"").exits(0).json();
    let made: Vec<_> = done["places"].as_array().unwrap().iter().map(|s| s["generation"].clone()).collect();
    assert_eq!(made, ["2", "3"]);
    assert_eq!(fs::read(table.path("nb", 2, "Filter.db")).unwrap(), sound);
    assert_eq!(fs::read(table.path("nb", 3, "Filter.db")).unwrap(), sound);
    run(&["inspect", &arg(table.root.path())], b"").exits(0);
    run(&["rebuild", "--damaged", &arg(table.root.path())], b"").exits(1);
}

#[test]
fn another_directory_takes_the_new_filters_and_the_old_ones_stay() {
    let table = Table::new();
    table.add("oa", 1, &keys(500), 0.01);
    let (old, out) =
        (fs::read(table.path("oa", 1, "Filter.db")).unwrap(), table.root.path().join("new/deep"));
    run(&["rebuild", "--fpr", "0.05", "-o", &arg(&out), &arg(&table.directory)], b"").exits(0);
    assert_eq!(fs::read(table.path("oa", 1, "Filter.db")).unwrap(), old);
    let new = fs::read(out.join("oa-1-big-Filter.db")).unwrap();
    assert_eq!(new, filter(Name::Cassandra, 500, 0.05, &keys(500)));
    let directory = arg(&table.directory);
    let twice = ["rebuild", "--fpr", "0.05", "-o", &arg(&out), &directory, &directory];
    run(&twice, b"").fails_with("same name");
}

#[test]
fn rebuilding_that_cannot_be_done_says_why_and_leaves_everything_as_it_was() {
    let table = Table::new();
    table.add("nb", 1, &keys(500), 1.0);
    table.add("jb", 2, &keys(500), 0.01);
    table.add("nb", 3, &keys(500), 0.01);
    table.put("nb", 3, "Index.db", &index("nb", &keys(500))[..3000]);
    table.add("nb", 4, &keys(500), 0.01);
    fs::remove_file(table.path("nb", 4, "Index.db")).unwrap();
    table.add("nb", 5, &keys(500), 0.01);
    let mut doubled = index("nb", &keys(500));
    doubled.extend(index("nb", &keys(1)));
    table.put("nb", 5, "Index.db", &doubled);
    let before = common::list(&table.directory);
    let path = |version, generation| arg(table.path(version, generation, "Filter.db"));
    let none = run(&["rebuild", &path("nb", 1)], b"").exits(1);
    assert!(none.err.contains("at a rate of 1 Cassandra keeps no filter"), "{none:?}");
    run(&["rebuild", &path("jb", 2)], b"").fails_with("no rate to build for").err.contains("hint: --fpr P");
    run(&["rebuild", &path("nb", 3)], b"").fails_with("the keys cannot be read");
    run(&["rebuild", &path("nb", 4)], b"").fails_with("Index.db is missing");
    run(&["rebuild", &path("nb", 5)], b"").fails_with("keys may be missing from it");
    run(&["rebuild", "--fpr", "2", &path("nb", 3)], b"").exits(2);
    run(&["rebuild", "--fpr", "nan", &path("nb", 3)], b"").exits(2);
    run(&["rebuild", "--fpr", "0.1", "--bits-per-key", "3", &path("nb", 3)], b"").exits(2);
    assert_eq!(common::list(&table.directory), before);
    run(&["rebuild", "--force", "--fpr", "0.1", &path("nb", 5)], b"").exits(0);
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
    assert!(text.text().contains("\n  0.03  "), "{text:?}");
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
        let refused = run(&[command, &dir.arg("")], b"").fails_with("cannot find sstables of Cassandra");
        assert!(refused.err.contains("hint: "), "{refused:?}");
        run(&[command, &dir.arg("none")], b"").fails_with("none");
    }
    let notes = dir.file("notes.txt", "not a filter");
    run(&["verify", &notes], b"").fails_with("not a table of LevelDB or RocksDB");
    run(&["rebuild", &notes], b"").fails_with("neither a component of an sstable");
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
fn a_lost_index_or_statistics_is_an_error_of_its_own() {
    for component in ["Index.db", "Statistics.db"] {
        let table = Table::new();
        table.add("nb", 1, &keys(1000), 0.01);
        fs::remove_file(table.path("nb", 1, component)).unwrap();
        let said = format!("{component} is missing, though TOC.txt lists it");
        for command in ["inspect", "verify"] {
            for place in [table.path("nb", 1, "Filter.db"), table.directory.clone()] {
                let found = run(&[command, "--json", &arg(place)], b"").exits(1);
                assert!(found.codes("Filter.db").contains(&"component-lost".to_owned()), "{found:?}");
                assert_eq!(found.json()["problems"][0]["severity"], "error");
            }
            let summary = run(&[command, "--summary", &arg(&table.directory)], b"").exits(1);
            assert!(summary.text().contains(&said), "{summary:?}");
        }
    }
    // Without a TOC, a filter that was copied out of its directory is not a damaged sstable.
    let table = Table::new();
    table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, 1000, 0.01, &keys(1000)));
    run(&["inspect", &arg(&table.directory)], b"").exits(0);
}

#[test]
fn inspect_says_that_it_looked_up_only_some_of_the_keys() {
    let table = Table::new();
    table.add("nb", 1, &keys(1000), 0.01);
    let one = run(&["inspect", &arg(table.path("nb", 1, "Filter.db"))], b"").exits(0);
    assert!(one.text().contains("512 keys were looked up; verify looks up all"), "{one:?}");
    let line = "512 keys of each sstable were looked up; fullbloom verify looks up all";
    for more in [&[][..], &["--summary"]] {
        let all = run(&[&["inspect", &arg(&table.directory)], more].concat(), b"").exits(0);
        assert!(all.text().ends_with(&format!("{line}\n")), "{all:?}");
    }
    let page = table.root.path().join("page.html");
    run(&["inspect", &arg(&table.directory), "--report", &arg(&page)], b"").exits(0);
    assert!(fs::read_to_string(page).unwrap().contains(line));
    let small = Table::new();
    small.add("nb", 1, &keys(500), 0.01);
    let all = run(&["inspect", "--summary", &arg(&small.directory)], b"").exits(0);
    assert!(!all.text().contains("looked up"), "all were: {all:?}");
}

#[test]
fn a_summary_names_paths_and_keeps_hints() {
    let table = with_damage();
    let text = run(&["inspect", "--summary", &arg(table.root.path())], b"").exits(1);
    let path = arg(table.path("nb", 3, "Filter.db"));
    assert!(text.text().contains(&format!("  error: {path}: Filter.db is truncated: 500 of")), "{text:?}");
    assert!(
        text.text().contains(&format!("  hint: rebuild it with: fullbloom rebuild {path}\n")),
        "{text:?}"
    );
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

#[test]
fn every_output_has_the_same_hint() {
    let table = with_damage();
    let all = run(&["inspect", "--json", &arg(table.root.path())], b"").exits(1).json();
    let page = table.root.path().join("page.html");
    run(&["inspect", &arg(table.root.path()), "--report", &arg(&page)], b"").exits(1);
    let page = fs::read_to_string(page).unwrap();
    for problem in all["problems"].as_array().unwrap() {
        let path = problem["place"].as_str().unwrap();
        if !Path::new(path).exists() {
            continue;
        }
        let text = run(&["inspect", path], b"").text().to_owned();
        let verified = run(&["verify", "--json", path], b"").json();
        let same = verified["problems"].as_array().unwrap().iter().find(|p| p["code"] == problem["code"]);
        assert!(same.is_none_or(|same| same["hint"] == problem["hint"]), "{problem} {same:?}");
        match problem["hint"].as_str() {
            Some(hint) => {
                assert!(text.contains(&format!("hint            {hint}\n")), "{hint} is not in {text}");
                assert!(page.contains(hint), "{hint} is not in the page");
            }
            None => assert!(!text.contains("hint"), "{problem} {text}"),
        }
    }
}

#[test]
fn missing_keys_are_shown_in_their_type_and_a_foreign_filter_is_named() {
    let dir = common::Dir::new();
    common::copy_tree(&vectors::root().join("cassandra6/pa/v6"), &dir.path("v6"));
    let path = |name: &str| {
        let names = common::list(&dir.path("v6"));
        let table = names.iter().find(|table| table.starts_with(name)).unwrap();
        dir.arg(&format!("v6/{table}/pa-1-big-Filter.db"))
    };
    // The filter of a table of text, in the place of that of a table of bigints.
    let (numbers, text) = (path("with_sai"), path("dict_none"));
    fs::copy(&text, &numbers).unwrap();
    let said = "it looks like the filter of another sstable";
    assert!(run(&["inspect", &numbers], b"").exits(1).text().contains(said));
    let found = run(&["verify", &numbers], b"").exits(1);
    assert!(found.text().contains(said), "{found:?}");
    let keys = run(&["keys", &numbers], b"").exits(0).text().to_owned();
    let shown = found.text().lines().find_map(|line| line.trim_start().strip_prefix("missing key")).unwrap();
    let (key, hex) = shown.trim_start().split_once(" (hex ").unwrap();
    assert!(keys.lines().any(|line| line == key), "{shown}");
    let bytes = u64::from_str_radix(hex.trim_end_matches(')'), 16).unwrap();
    assert_eq!(bytes as i64, key.parse::<i64>().unwrap());

    // A filter that has lost a part of its bits is its own.
    let mut bytes = fs::read(&text).unwrap();
    bytes[8..200].fill(0);
    fs::write(&text, bytes).unwrap();
    let found = run(&["verify", &text], b"").exits(1);
    assert!(found.text().contains("keys are not in the filter") && !found.text().contains(said), "{found:?}");
}

/// A table that was written without filters, in a data directory beside one that has them.
fn without_filters() -> (Table, PathBuf) {
    let table = Table::new();
    table.add("nb", 1, &keys(1000), 0.01);
    let never = table.root.path().join("ks/never-2c255f4def2540a60000000000000006");
    common::copy_tree(&table.directory, &never);
    fs::remove_file(never.join("nb-1-big-Filter.db")).unwrap();
    fs::write(never.join("nb-1-big-Statistics.db"), statistics("nb", 1.0, 1000)).unwrap();
    fs::write(never.join("nb-1-big-TOC.txt"), "Index.db\nStatistics.db\nTOC.txt\n").unwrap();
    (table, never)
}

#[test]
fn a_created_filter_is_undone_with_its_line_in_the_toc() {
    let (_table, never) = without_filters();
    let (filter, toc) = (never.join("nb-1-big-Filter.db"), never.join("nb-1-big-TOC.txt"));
    let (names, old) = (common::list(&never), fs::read(&toc).unwrap());
    run(&["rebuild", "--fpr", "0.05", &arg(&never)], b"").exits(0);
    assert!(filter.exists() && fs::read_to_string(&toc).unwrap().contains("Filter.db"));
    // A second rebuild is undone first.
    let first = fs::read(&filter).unwrap();
    run(&["rebuild", "--fpr", "0.01", &arg(&never)], b"").exits(0);
    run(&["rebuild", "--restore", &arg(&never)], b"").exits(0);
    assert_eq!(fs::read(&filter).unwrap(), first);
    let dry = run(&["rebuild", "--restore", "--dry-run", "--json", &arg(&never)], b"").exits(0).json();
    assert_eq!((&dry["places"][0]["removed"], filter.exists()), (&true.into(), true));
    let text = run(&["rebuild", "--restore", &arg(&never)], b"").exits(0);
    assert!(text.text().contains("removed: a rebuild created it"), "{text:?}");
    assert_eq!((common::list(&never), fs::read(&toc).unwrap()), (names, old));
    run(&["rebuild", "--restore", &arg(&never)], b"").exits(1);

    // A filter that was only not listed is not one that was created.
    fs::copy(
        never.with_file_name("table-1b255f4def2540a60000000000000005").join("nb-1-big-Filter.db"),
        &filter,
    )
    .unwrap();
    let unlisted = fs::read(&filter).unwrap();
    run(&["rebuild", "--fpr", "0.05", &arg(&never)], b"").exits(0);
    for _ in 0..2 {
        let _ = run(&["rebuild", "--restore", &arg(&never)], b"");
        assert_eq!(fs::read(&filter).unwrap(), unlisted);
    }
}

#[test]
fn tables_without_filters_get_one_only_if_they_are_named() {
    let (table, never) = without_filters();
    let filter = never.join("nb-1-big-Filter.db");
    let all = run(&["rebuild", "--fpr", "0.05", &arg(table.root.path())], b"").exits(0);
    assert!(
        all.err.contains("1 sstable without a filter left alone: bloom_filter_fp_chance is 1.0"),
        "{all:?}"
    );
    assert!(!filter.exists());
    run(&["rebuild", "--fpr", "0.05", &arg(&filter)], b"").exits(0);
    assert!(filter.exists(), "the sstable is named");
    run(&["rebuild", "--restore", &arg(table.root.path())], b"").exits(0);
    assert!(!filter.exists());
    run(&["rebuild", "--fpr", "0.05", &arg(&never)], b"").exits(0);
    assert!(filter.exists(), "the table is named");
}
