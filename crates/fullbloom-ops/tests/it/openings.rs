//! What the engines do with a rebuilt filter.

use crate::support::{Table, VERSIONS, keys};
use fullbloom_dialects::Name;
use fullbloom_ops::sstable::damage::{self, FilterState, WhenDamaged};
use fullbloom_ops::sstable::opening::{
    self, Circumstance, Rule, WhenAbsent, WhenPresent, circumstances, openings,
};
use fullbloom_ops::{InspectOptions, Inspected, Place, inspect};
use fullbloom_sstable::report::recorded;
use fullbloom_sstable::{Engine, Sstable};
use fullbloom_testkit::vectors;
use std::fs;
use std::path::Path;

fn opening_of(version: &str) -> Vec<&'static Rule> {
    let table = Table::new();
    match version {
        "da" => table.add_bti(1, &keys(3), 0.01, false),
        _ => table.add(version, 1, &keys(3), 0.01),
    }
    openings(&table.one())
}

#[test]
fn each_release_does_with_the_file_what_its_rules_say() {
    let of = |version: &str, releases: &str| {
        let found = opening_of(version).into_iter().find(|opening| opening.releases == releases);
        found.map(|opening| (opening.present, opening.absent))
    };
    let (loaded, rebuilt) = (WhenPresent::Loaded, WhenAbsent::Rebuilt);
    for (version, releases, expected) in [
        ("b", "0.7 - 1.1", Some((WhenPresent::Rebuilt, rebuilt))),
        ("b", "1.2", Some((WhenPresent::Rebuilt, rebuilt))),
        ("hf", "0.7 - 1.1", Some((loaded, rebuilt))),
        ("hf", "2.0 - 3.11.2", None),
        ("ic", "1.2", Some((loaded, rebuilt))),
        ("ic", "3.11.3 - 3.11.x", None),
        ("jb", "2.0 - 3.11.2", Some((WhenPresent::LoadedAtRecordedRate, rebuilt))),
        ("lb", "4.0 - 4.1", None),
        ("me", "2.0 - 3.11.2", Some((WhenPresent::LoadedAtRecordedRate, rebuilt))),
        ("me", "3.11.3 - 3.11.x", Some((loaded, rebuilt))),
        ("me", "4.0 - 4.1", Some((loaded, WhenAbsent::RebuiltInWrongOrder))),
        ("me", "5.0", Some((loaded, WhenAbsent::Refused))),
        ("nb", "3.11.3 - 3.11.x", None),
        ("nb", "4.0 - 4.1", Some((loaded, rebuilt))),
        ("nb", "5.0", Some((loaded, rebuilt))),
        ("oa", "4.0 - 4.1", None),
        ("oa", "5.0", Some((loaded, rebuilt))),
        ("oa", "6.0", Some((loaded, rebuilt))),
        ("pa", "5.0", None),
        ("pa", "6.0", Some((loaded, rebuilt))),
        ("me", "6.0", Some((loaded, WhenAbsent::Refused))),
        ("da", "5.0", Some((loaded, WhenAbsent::RebuiltForRows))),
        ("da", "6.0", Some((loaded, WhenAbsent::RebuiltForRows))),
        ("da", "0.7 - 1.1", None),
    ] {
        assert_eq!(of(version, releases), expected, "{version} in {releases}");
    }
    for version in VERSIONS {
        assert!(!opening_of(version).is_empty(), "{version} is opened by some release");
    }
}

#[test]
fn circumstances_that_keep_the_file_from_being_used_are_listed() {
    let table = Table::new();
    table.add("nb", 1, &keys(3), 0.01);
    let of = |fpr: f64| {
        let sstable = table.one();
        circumstances(&sstable, &recorded(&sstable).unwrap(), Some(fpr))
    };
    assert!(!of(0.01).iter().any(|c| matches!(c, Circumstance::RecordedRateStays { .. })));
    assert!(of(0.1).contains(&Circumstance::RecordedRateStays { recorded: 0.01 }));
    table.put("nb", 1, "TOC.txt", b"Index.db\n");
    assert!(of(0.1).contains(&Circumstance::NotListed));
    fs::remove_file(table.path("nb", 1, "Statistics.db")).unwrap();
    assert!(of(0.1).contains(&Circumstance::NoValidation));
    for line in of(0.1).iter().map(ToString::to_string) {
        assert!(line.len() > 20, "{line}");
    }
    for opening in opening_of("nb") {
        assert!(opening.to_string().starts_with("Cassandra "), "{opening}");
    }
}

#[test]
fn sstables_of_scylla_have_its_rules_and_no_others() {
    let path = vectors::root().join("scylla/dictionaries/mt-lz4/mt-1-big-Filter.db");
    let sstable = Sstable::of_file(&path).unwrap();
    let rules: Vec<_> =
        openings(&sstable).iter().map(|rule| (rule.engine, rule.releases, rule.present)).collect();
    assert_eq!(
        rules,
        [
            (Engine::Scylla, "2026.1.7 - 2026.1.x", WhenPresent::LoadedIfListed),
            (Engine::Scylla, "2026.2 and later", WhenPresent::LoadedIfChecksumAgrees)
        ]
    );
    let found = circumstances(&sstable, &recorded(&sstable).unwrap(), Some(0.1));
    assert!(found.contains(&Circumstance::NodeStopped));
    assert!(found.contains(&Circumstance::ChecksumCompared { recorded: true }));
    assert!(!found.contains(&Circumstance::ReadAtOpening));
}

#[test]
fn the_page_has_the_table_of_rules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/cassandra.md");
    let page = fs::read_to_string(page).unwrap();
    for table in [opening::markdown(), damage::markdown()] {
        assert!(page.contains(&table), "docs/formats/cassandra.md needs:\n{table}");
    }
}

#[test]
fn damaged_filters_are_used_as_each_release_uses_them() {
    let of = |version: &str, releases: &str, state: FilterState| {
        let rules = opening_of(version);
        let rule = rules.into_iter().find(|rule| rule.releases == releases).unwrap();
        let dialect = if version < "na" { Name::Cassandra3 } else { Name::Cassandra };
        rule.when_damaged(dialect, state)
    };
    for (version, releases, state, expected) in [
        ("nb", "4.0 - 4.1", FilterState::Empty, Some(WhenDamaged::Corrupt)),
        ("nb", "5.0", FilterState::Empty, Some(WhenDamaged::AlwaysPresent)),
        ("pa", "6.0", FilterState::Headless, Some(WhenDamaged::AsMissing)),
        ("pa", "6.0", FilterState::Truncated, Some(WhenDamaged::RowsInvisible)),
        ("me", "4.0 - 4.1", FilterState::Truncated, Some(WhenDamaged::Corrupt)),
        ("me", "5.0", FilterState::Truncated, Some(WhenDamaged::AsMissing)),
        ("oa", "5.0", FilterState::Zeroed, Some(WhenDamaged::RowsInvisible)),
        ("oa", "5.0", FilterState::Unrecorded, Some(WhenDamaged::AsMissing)),
        ("oa", "5.0", FilterState::Sound, None),
    ] {
        assert_eq!(of(version, releases, state), expected, "{version} in {releases}: {state}");
    }
}

/// `on_open` of an sstable, and the codes of its problems.
fn inspected(table: &Table, version: &str) -> (Vec<String>, Vec<&'static str>) {
    let place = Place::detect(table.path(version, 1, "Filter.db"), None);
    let report = inspect(&place, &InspectOptions::default(), &mut ()).unwrap();
    let codes = report.problems().map(|problem| problem.code.as_str()).collect();
    let Inspected::Sstable(record) = &report.found[0].record else { panic!("an sstable") };
    (record.on_open.clone(), codes)
}

#[test]
fn inspect_says_what_releases_do_with_a_damaged_filter() {
    let table = Table::new();
    table.add("nb", 1, &keys(300), 0.01);
    let whole = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
    let zeroed = [&whole[..8], &vec![0; whole.len() - 8]].concat();
    for (bytes, sentence, code) in [
        (&[][..], "Cassandra 5.0: the file is empty: it lets every key pass", "filter-empty"),
        (
            &whole[..5],
            "Cassandra 5.0: the file ends within its header: it is not loaded; the node",
            "filter-truncated",
        ),
        (
            &whole[..99],
            "Cassandra 5.0: the file ends within its array: it is loaded without",
            "filter-truncated",
        ),
        (&zeroed, "Cassandra 5.0: no bit is set: it is loaded without a warning", "key-missing"),
    ] {
        table.put("nb", 1, "Filter.db", bytes);
        let (on_open, codes) = inspected(&table, "nb");
        assert!(on_open.iter().any(|line| line.starts_with(sentence)), "{sentence}: {on_open:?}");
        assert_eq!(codes, [code]);
    }
    table.put("nb", 1, "Filter.db", &whole);
    fs::remove_file(table.path("nb", 1, "Statistics.db")).unwrap();
    let (on_open, _) = inspected(&table, "nb");
    assert!(on_open[0].contains("Statistics.db does not record the rate: it is not loaded"), "{on_open:?}");

    // A filter alone, all of whose bits are zero: an sstable has a key.
    for component in ["Index.db", "TOC.txt"] {
        let _ = fs::remove_file(table.path("nb", 1, component));
    }
    table.put("nb", 1, "Filter.db", &zeroed);
    let (on_open, codes) = inspected(&table, "nb");
    assert!(on_open[0].contains("no bit is set") && codes.contains(&"key-missing"), "{on_open:?} {codes:?}");
}
