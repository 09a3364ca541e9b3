//! What `inspect` and `verify` find in sstables, and how they say it.

use super::{arg, codes, entry, with_damage};
use crate::common::{self, run};
use crate::support::{Table, filter, index, keys};
use fullbloom_dialects::Name;
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::fs;
use std::path::Path;

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
    for part in ["nb-3-big-Filter.db: ", "nb-7-big-Filter.db: ", "as cassandra-3"] {
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
    assert!(one.text().contains("512 keys"), "{one:?}");
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
    assert!(text.text().contains(&format!("  error: {path}: ")), "{text:?}");
    assert!(text.text().contains(&format!("fullbloom rebuild {path}\n")), "{text:?}");
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
    let said = "of another sstable";
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
    assert!(found.text().contains("not in the filter") && !found.text().contains(said), "{found:?}");
}
