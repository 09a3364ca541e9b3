//! What keeps commands short and quick on nodes with many sstables.

use crate::common::{Dir, copy_tree, run};
use crate::support::{self, Table, keys};
use fullbloom_testkit::vectors;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Sets when a file, or every file of a directory, was changed.
fn changed(path: &Path, days_ago: u64) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| changed(&entry.unwrap().path(), days_ago));
        return;
    }
    let time = SystemTime::now() - Duration::from_secs(86_400 * days_ago);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn verified(path: &str, more: &[&str]) -> u64 {
    let seen = run(&[&["verify", "--json", "--absent", "10", path], more].concat(), b"");
    assert!(seen.code < 2, "{seen:?}");
    seen.json()["summary"]["filters"].as_u64().unwrap()
}

#[test]
fn only_what_changed_since_then_is_verified_in_directories() {
    let table = Table::new();
    for generation in 1..=3 {
        table.add("nb", generation, &keys(100), 0.01);
    }
    changed(&table.directory, 10);
    let root = table.root.path().to_str().unwrap();
    assert_eq!(verified(root, &[]), 3);
    assert_eq!(verified(root, &["--since", "7d"]), 0);
    assert_eq!(verified(root, &["--since", "2000-01-01"]), 3);
    // A rebuilt filter is new, and so is an sstable that came by streaming.
    changed(&table.path("nb", 2, "Filter.db"), 1);
    assert_eq!(verified(root, &["--since", "7d"]), 1);
    // A file that is named is verified.
    let named = table.path("nb", 3, "Filter.db");
    assert_eq!(verified(named.to_str().unwrap(), &["--since", "1d"]), 1);
    run(&["verify", root, "--since", "soon"], b"").fails_with("not a moment");

    let dir = Dir::new();
    copy_tree(&vectors::root().join("databases/rocksdb"), &dir.path("db"));
    changed(&dir.path("db"), 10);
    let newest = fs::read_dir(dir.path("db")).unwrap().map(|entry| entry.unwrap().path());
    changed(&newest.filter(|path| path.extension().is_some_and(|end| end == "sst")).max().unwrap(), 1);
    assert_eq!(verified(&dir.arg("db"), &["--since", "7d"]), 1);
    assert_eq!(verified(&dir.arg("db"), &[]), 4);
}

#[test]
fn sstables_that_have_no_filter_on_purpose_are_one_line() {
    let table = Table::new();
    for generation in 1..=20 {
        table.add("nb", generation, &keys(100), 0.01);
        if generation > 5 {
            fs::remove_file(table.path("nb", generation, "Filter.db")).unwrap();
            let toc = table.path("nb", generation, "TOC.txt");
            let listed = fs::read_to_string(&toc).unwrap_or_default();
            let listed: String =
                listed.lines().filter(|line| *line != "Filter.db").map(|line| format!("{line}\n")).collect();
            fs::write(&toc, listed + "Data.db\nIndex.db\nStatistics.db\n").unwrap();
            fs::write(table.path("nb", generation, "Statistics.db"), support::statistics("nb", 1.0, 100))
                .unwrap();
        }
    }
    let root = table.root.path().to_str().unwrap();
    let seen = run(&["verify", "--summary", "--absent", "10", root], b"");
    assert!(
        seen.text().contains("note: 15 sstables without a filter, as the table is configured\n"),
        "{seen:?}"
    );
    assert!(seen.text().lines().count() <= 3, "{seen:?}");
}

#[test]
fn rebuild_says_as_much_as_is_wanted() {
    let table = Table::new();
    for generation in 1..=20 {
        table.add("nb", generation, &keys(100), 0.01);
    }
    let root = table.root.path().to_str().unwrap();
    let all = run(&["rebuild", "--fpr", "0.1", "--dry-run", root], b"").exits(0);
    assert!(all.text().matches("nb-7-big-Filter.db").count() == 1, "{all:?}");
    let summary = run(&["rebuild", "--fpr", "0.1", "--dry-run", "--summary", root], b"").exits(0);
    assert!(summary.text().starts_with("\ndry run: 20 filters: "), "{summary:?}");
    assert!(!summary.text().contains("nb-7-big-Filter.db"), "{summary:?}");
    let quiet = run(&["rebuild", "--fpr", "0.1", "-q", root], b"").exits(0);
    assert_eq!((quiet.text(), quiet.err.as_str()), ("", ""));
    let json = run(&["inspect", "--json", root], b"").json();
    assert!(json["places"][0]["bits_per_key"].as_f64().unwrap() < 6.0, "it was rebuilt");
    run(&["rebuild", "-q", "--summary", root], b"").exits(2);
}
