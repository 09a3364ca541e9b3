//! Filters of sstables, rebuilt and restored.

use super::arg;
use crate::common::{self, run};
use crate::support::{Table, filter, index, keys, statistics};
use fullbloom_dialects::Name;
use fullbloom_testkit::vectors;
use std::fs;
use std::path::PathBuf;

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
    assert!(dry.text().contains("1.2 KiB before, 640 B after"), "{dry:?}");
    assert!(dry.text().contains("Cassandra 5.0: "), "{dry:?}");
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
    assert!(none.err.contains("keeps no filter"), "{none:?}");
    run(&["rebuild", &path("jb", 2)], b"").fails_with("no rate").fails_with("--fpr P");
    run(&["rebuild", &path("nb", 3)], b"").fails_with("keys cannot be read");
    run(&["rebuild", &path("nb", 4)], b"").fails_with("Index.db is missing");
    run(&["rebuild", &path("nb", 5)], b"").fails_with("keys may be missing");
    run(&["rebuild", "--fpr", "2", &path("nb", 3)], b"").exits(2);
    run(&["rebuild", "--fpr", "nan", &path("nb", 3)], b"").exits(2);
    run(&["rebuild", "--fpr", "0.1", "--bits-per-key", "3", &path("nb", 3)], b"").exits(2);
    assert_eq!(common::list(&table.directory), before);
    run(&["rebuild", "--force", "--fpr", "0.1", &path("nb", 5)], b"").exits(0);
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
    assert!(all.err.contains("bloom_filter_fp_chance"), "{all:?}");
    assert!(!filter.exists());
    run(&["rebuild", "--fpr", "0.05", &arg(&filter)], b"").exits(0);
    assert!(filter.exists(), "the sstable is named");
    run(&["rebuild", "--restore", &arg(table.root.path())], b"").exits(0);
    assert!(!filter.exists());
    run(&["rebuild", "--fpr", "0.05", &arg(&never)], b"").exits(0);
    assert!(filter.exists(), "the table is named");
}
