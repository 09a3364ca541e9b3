//! Sstables made by hand: which problems they have, alone and in a directory.

use crate::support::{Table, family, filter, index, keys};
use fullbloom_dialects::Name;
use fullbloom_files::replace::Output;
use fullbloom_ops::rebuild::{RebuildReport, Size};
use fullbloom_ops::{
    Code, InspectOptions, InspectReport, Inspected, Need, Place, PlaceKind, Problem, RebuildOptions,
    Severity, Status, VerifyOptions, VerifyReport, inspect, rebuild, verify,
};
use std::fs;
use std::path::Path;

fn look(path: &Path) -> InspectReport {
    inspect(&Place::detect(path, None), &InspectOptions::default(), &mut ()).unwrap()
}

/// What is wrong with the one sstable of a table.
fn problems(table: &Table) -> Vec<Problem> {
    let report = look(&table.directory);
    report.found[0].problems.clone()
}

fn codes(table: &Table) -> Vec<Code> {
    problems(table).iter().map(|problem| problem.code).collect()
}

#[test]
fn a_filter_that_is_not_there_matters_by_what_the_toc_says() {
    for (toc, code) in [
        (Some("Filter.db\nIndex.db\n"), Code::FilterMissing),
        (Some("Index.db\n"), Code::WrittenWithoutFilter),
        (None, Code::FilterMissing),
    ] {
        let table = Table::new();
        table.add("nb", 1, &keys(20), 0.01);
        fs::remove_file(table.path("nb", 1, "Filter.db")).unwrap();
        fs::remove_file(table.path("nb", 1, "TOC.txt")).unwrap();
        if let Some(toc) = toc {
            table.put("nb", 1, "TOC.txt", toc.as_bytes());
        }
        assert_eq!(codes(&table), [code], "{toc:?}");
        let place = Place::detect(&table.directory, None);
        let verified = verify(&place, &VerifyOptions::default(), &mut ()).unwrap();
        assert_eq!(verified.status == Status::Well, code == Code::WrittenWithoutFilter);
    }
}

#[test]
fn a_filter_with_too_many_keys_is_too_full_for_its_promise() {
    let keys = keys(1000);
    for (version, promise) in [("nb", "0.01 is recorded"), ("jb", "0.031 is usual for 5 probes")] {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        table.put(version, 1, "Filter.db", &filter(family(version), 400, 0.01, &keys));
        let problems = problems(&table);
        assert_eq!(problems.len(), 1, "{version}: {problems:?}");
        assert_eq!((problems[0].code, problems[0].severity), (Code::TooFull, Severity::Warning));
        assert!(problems[0].message.contains(promise), "{}", problems[0].message);
        let report = look(&table.directory);
        let Inspected::Sstable(record) = &report.found[0].record else { panic!("an sstable") };
        assert!(record.expected_fpr > Some(0.1));
        assert_eq!(report.status, Status::NotWell, "it costs needless reads");
    }
}

#[test]
fn a_filter_for_many_more_keys_is_far_larger_than_needed_but_a_small_one_may_be() {
    let keys = keys(100);
    for (version, expected, flagged) in
        [("nb", 10_000, true), ("jb", 10_000, true), ("nb", 128, false), ("nb", 190, false)]
    {
        let table = Table::new();
        table.add(version, 1, &keys, 0.01);
        table.put(version, 1, "Filter.db", &filter(family(version), expected, 0.01, &keys));
        let found = codes(&table);
        assert_eq!(found.contains(&Code::TooLarge), flagged, "{version} {expected}: {found:?}");
    }
}

#[test]
fn the_rate_that_gets_one_bit_for_each_key_does_not_keep_its_promise() {
    let table = Table::new();
    table.add("nb", 1, &keys(1000), 0.5);
    let problems = problems(&table);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, Code::TooFull);
    assert!(problems[0].message.contains("0.5 is recorded"), "{}", problems[0].message);
}

#[test]
fn totals_add_up_over_damaged_sstables() {
    let table = Table::new();
    for generation in 1..=40 {
        table.add("nb", generation, &keys(100), 0.01);
    }
    table.put("nb", 7, "Filter.db", b"\0\0\0\x05\0\0");
    table.put("nb", 9, "Index.db", b"\xff\xff");
    fs::remove_file(table.path("nb", 11, "Filter.db")).unwrap();
    let report = look(table.root.path());
    let bad =
        report.found.iter().filter(|found| found.problems.iter().any(|p| p.severity == Severity::Error));
    let bad: Vec<&str> = bad
        .map(|found| match &found.record {
            Inspected::Sstable(record) => record.generation.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bad, ["7", "9", "11"]);
    let [totals] = &report.summary.tables[..] else { panic!("one table") };
    assert_eq!((totals.keyspace.as_deref(), totals.table.as_deref()), (Some("ks"), Some("table")));
    assert_eq!((totals.sstables, totals.filters, totals.keys, totals.uncounted), (40, 38, 3900, 1));
    assert_eq!((totals.memory_bytes, totals.flagged), (38 * 128, 3));
    assert_eq!(totals.bytes, 38 * 136 + 6);
    assert_eq!(totals.bits_per_key, Some(10.24));
    assert!((2.0..2.5).contains(&totals.useless_reads), "{}", totals.useless_reads);
    assert_eq!((report.summary.filters, report.summary.keys), (40, 3900));
    assert_eq!(report.summary.problems.errors, 3);
}

/// Everything that can be wrong with a filter and its sstable.
pub fn damaged() -> Table {
    let table = Table::new();
    for generation in 1..=12 {
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
    let mut holes = sound.clone();
    holes[8..40].fill(0);
    table.put("nb", 9, "Filter.db", &holes);
    table.put("nb", 10, "Filter.db", &[&[0, 0, 0, 99], &sound[4..]].concat());
    table.put("nb", 11, "Statistics.db", b"nonsense");
    fs::remove_file(table.path("nb", 12, "Index.db")).unwrap();
    table
}

#[test]
fn a_file_and_its_directory_have_the_same_problems() {
    let table = damaged();
    let all = look(table.root.path());
    assert_eq!(all.found.len(), 12);
    let mut seen = Vec::new();
    for found in &all.found {
        let place = Place::detect(found.record.path(), None);
        assert_eq!(place.kind(), PlaceKind::Sstable);
        let alone = inspect(&place, &InspectOptions::default(), &mut ()).unwrap();
        assert_eq!(alone.found, std::slice::from_ref(found), "{}", found.record.path());
        seen.extend(found.problems.iter().map(|problem| problem.code));
    }
    for code in [
        Code::FilterTruncated,
        Code::TrailingBytes,
        Code::Mislabelled,
        Code::TooFull,
        Code::TooLarge,
        Code::FilterEmpty,
        Code::KeysUnreadable,
        Code::KeyMissing,
        Code::FilterMalformed,
        Code::StatisticsUnreadable,
        Code::ComponentLost,
    ] {
        assert!(seen.contains(&code), "{code} is not in {seen:?}");
    }
    let options = VerifyOptions { absent: 100, ..VerifyOptions::default() };
    let verified = verify(&Place::detect(table.root.path(), None), &options, &mut ()).unwrap();
    for (found, seen) in verified.found.iter().zip(&all.found) {
        let alone = verify(&Place::detect(seen.record.path(), None), &options, &mut ()).unwrap();
        assert_eq!(alone.found, std::slice::from_ref(found));
    }
}

#[test]
fn hints_name_the_command_that_repairs_a_filter_if_its_keys_are_there() {
    let table = damaged();
    let hint = |generation: u32| {
        let report = look(&table.path("nb", generation, "Filter.db"));
        let truncated = report.found[0].problems.iter().find(|p| p.code == Code::FilterTruncated);
        truncated.unwrap().hint.clone()
    };
    let path = table.path("nb", 2, "Filter.db");
    assert_eq!(hint(2), Some(format!("rebuild it with: fullbloom rebuild {}", path.display())));
    fs::remove_file(table.path("nb", 2, "Index.db")).unwrap();
    assert_eq!(hint(2), None);
}

#[test]
fn a_lone_filter_is_well_and_verify_says_that_its_keys_are_not_here() {
    let table = Table::new();
    table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, 100, 0.01, &keys(100)));
    let path = table.path("nb", 1, "Filter.db");
    let report = look(&path);
    assert_eq!(report.status, Status::Well);
    assert!(report.problems().all(|problem| problem.severity == Severity::Note));
    let verified = verify(&Place::detect(&path, None), &VerifyOptions::default(), &mut ()).unwrap();
    assert_eq!(verified.status, Status::NotWell);
    assert_eq!(verified.found[0].problems[0].code, Code::IndexMissing);
}

fn rebuild_all(table: &Table, options: RebuildOptions) -> RebuildReport {
    rebuild(&[Place::detect(&table.directory, None)], &options, &mut ()).unwrap()
}

#[test]
fn an_index_that_has_lost_keys_is_named_and_rebuild_refuses_it_without_force() {
    for kept in [0, 150] {
        let table = Table::new();
        table.add("nb", 1, &keys(300), 0.01);
        let sound = fs::read(table.path("nb", 1, "Filter.db")).unwrap();
        table.put("nb", 1, "Index.db", &index("nb", &keys(300)[..kept]));
        // Nothing is said about the filter's size, nor that it should be rebuilt: keys are missing.
        assert_eq!(codes(&table), [Code::IndexShort]);
        let verified =
            verify(&Place::detect(&table.directory, None), &VerifyOptions::default(), &mut ()).unwrap();
        let found: Vec<Code> = verified.found[0].problems.iter().map(|problem| problem.code).collect();
        assert_eq!((found, verified.status), (vec![Code::IndexShort], Status::NotWell));
        let report = rebuild_all(&table, RebuildOptions::default());
        assert_eq!(report.status, Status::Failed);
        assert_eq!(report.problems[0].code, Code::IndexShort);
        assert_eq!(report.problems[0].need, Some(Need::Force));
        assert_eq!(fs::read(table.path("nb", 1, "Filter.db")).unwrap(), sound, "the filter is as it was");
        let forced = rebuild_all(&table, RebuildOptions { force: true, ..RebuildOptions::default() });
        assert_eq!((forced.status, forced.summary.filters), (Status::Well, 1));
    }
}

#[test]
fn an_empty_index_beside_data_is_short_though_nothing_else_counts_the_keys() {
    let table = Table::new();
    table.add("nb", 1, &keys(3), 0.01);
    table.put("nb", 1, "Data.db", b"three partitions");
    table.put("nb", 1, "Index.db", b"");
    for component in ["Statistics.db", "Filter.db"] {
        fs::remove_file(table.path("nb", 1, component)).unwrap();
    }
    assert!(codes(&table).contains(&Code::IndexShort));
    let report = rebuild_all(&table, RebuildOptions { size: Size::Fpr(0.01), ..RebuildOptions::default() });
    assert_eq!((report.status, report.problems[0].code), (Status::Failed, Code::IndexShort));
    assert!(report.problems[0].message.contains("Data.db has bytes"));
    assert!(!table.path("nb", 1, "Filter.db").exists());
}

#[test]
fn new_filters_are_never_written_into_the_directory_of_other_sstables() {
    let (table, other) = (Table::new(), Table::new());
    table.add("nb", 1, &keys(300), 0.01);
    other.add("nb", 1, &keys(20), 0.01);
    let before = fs::read(other.path("nb", 1, "Filter.db")).unwrap();
    let into = |directory: &Path| RebuildOptions {
        output: Output::Into(directory.to_owned()),
        ..RebuildOptions::default()
    };
    let places = [Place::detect(&table.directory, None)];
    let refused = rebuild(&places, &into(&other.directory), &mut ()).unwrap_err();
    assert_eq!(refused.code, Code::NameClash);
    assert!(refused.message.contains("an engine keeps other data in this directory"), "{}", refused.message);
    assert_eq!(fs::read(other.path("nb", 1, "Filter.db")).unwrap(), before);
    // A directory of new filters can be written to again.
    let new = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let report = rebuild(&places, &into(new.path()), &mut ()).unwrap();
        assert_eq!((report.status, report.summary.filters), (Status::Well, 1));
    }
}

#[test]
fn filters_that_are_right_are_left_alone_and_restore_goes_back_step_by_step() {
    let table = Table::new();
    table.add("nb", 1, &keys(300), 0.01);
    let path = table.path("nb", 1, "Filter.db");
    let original = fs::read(&path).unwrap();
    let same = rebuild_all(&table, RebuildOptions::default());
    assert_eq!((same.status, same.summary.filters, same.summary.unchanged), (Status::Well, 0, 1));
    assert_eq!(fs::read_dir(&table.directory).unwrap().count(), 4, "no backup was made");
    let dry = rebuild_all(&table, RebuildOptions { dry_run: true, ..RebuildOptions::default() });
    assert_eq!((dry.summary.filters, dry.summary.unchanged), (0, 1), "a dry run says so too");
    let at = |fpr| RebuildOptions { size: Size::Fpr(fpr), ..RebuildOptions::default() };
    rebuild_all(&table, at(0.1));
    let second = fs::read(&path).unwrap();
    rebuild_all(&table, at(0.02));
    let restore = RebuildOptions { restore: true, ..RebuildOptions::default() };
    let dry = rebuild_all(&table, RebuildOptions { dry_run: true, ..restore.clone() });
    assert_eq!((dry.status, dry.summary.restored), (Status::Well, 1));
    for expected in [second, original] {
        let report = rebuild_all(&table, restore.clone());
        assert_eq!((report.status, report.summary.restored), (Status::Well, 1));
        assert_eq!(fs::read(&path).unwrap(), expected);
    }
    let none = rebuild_all(&table, restore);
    // In a directory, only some filters have backups: one without is no problem of its own.
    assert_eq!((none.status, none.summary.restored, none.problems.len()), (Status::NotWell, 0, 0));
}

#[test]
fn a_filter_rebuilt_at_another_rate_is_not_too_full() {
    let table = Table::new();
    table.add("nb", 1, &keys(3000), 0.01);
    rebuild_all(&table, RebuildOptions { size: Size::Fpr(0.02), ..RebuildOptions::default() });
    assert_eq!(codes(&table), [Code::OtherRate]);
    let wanted = |fpr| {
        let options = InspectOptions { fpr: Some(fpr), ..InspectOptions::default() };
        let report = inspect(&Place::detect(&table.directory, None), &options, &mut ()).unwrap();
        report.found[0].problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    assert!(wanted(0.02).is_empty());
    assert_eq!(wanted(0.001), [Code::TooFull]);
    for (rate, expected) in
        [("0.02", vec![]), ("0.005", vec![Code::TooFull]), ("often", vec![Code::OtherRate])]
    {
        let schema =
            format!("CREATE TABLE ks.t (k text) WITH bloom_filter_fp_chance = {rate}\n    AND gc = 1;");
        fs::write(table.directory.join("schema.cql"), schema).unwrap();
        assert_eq!(codes(&table), expected, "{rate}");
    }
}

#[test]
fn a_filter_made_for_zero_keys_is_too_small() {
    let table = Table::new();
    table.add("nb", 1, &keys(1000), 0.01);
    table.put("nb", 1, "Filter.db", &filter(Name::Cassandra, 0, 0.01, &keys(1000)));
    let problems = problems(&table);
    assert_eq!(problems[0].code, Code::TooSmall, "{problems:?}");
    assert!(problems[0].hint.as_deref().unwrap().contains("fullbloom rebuild"));
}

/// Keys in the order of their tokens, as Cassandra writes them.
fn by_token(count: usize) -> Vec<Vec<u8>> {
    let mut keys = keys(count);
    keys.sort_by_key(|key| fullbloom_dialects::hash::murmur3_cassandra(key)[0] as i64);
    keys
}

#[test]
fn useless_reads_count_each_sstable_by_the_tokens_it_covers() {
    let all = by_token(4000);
    let useless = |parts: &[&[Vec<u8>]]| {
        let table = Table::new();
        for (generation, keys) in parts.iter().enumerate() {
            table.add("nb", generation as u32 + 1, keys, 0.01);
        }
        look(&table.directory).summary.tables[0].useless_reads
    };
    let one = useless(&[&all]);
    assert!((0.006..0.011).contains(&one), "{one}");
    let level: Vec<&[Vec<u8>]> = all.chunks(400).collect();
    let leveled = useless(&level);
    assert!(
        (leveled / one - 1.0).abs() < 0.2,
        "ten sstables that do not overlap cost as one: {leveled} {one}"
    );
    let tiered = useless(&[&all[..]; 4]);
    assert!((tiered / one - 4.0).abs() < 0.1, "four that overlap cost four times as much: {tiered} {one}");
}

#[test]
fn sstables_of_unknown_versions_are_named_and_verify_does_not_pass_over_them() {
    let table = Table::new();
    for name in ["qa-1-big-Data.db", "qa-1-big-Filter.db", "qa-2-big-Data.db", "fa-3-bti-Filter.db"] {
        fs::write(table.directory.join(name), b"x").unwrap();
    }
    let place = Place::detect(&table.directory, None);
    let alone = verify(&place, &VerifyOptions::default(), &mut ()).unwrap_err();
    assert_eq!(alone.code, Code::UnknownVersion);
    for what in ["\"qa\" of format big", "\"fa\" of format bti"] {
        assert_eq!(alone.message.matches(what).count(), 1, "{alone}");
    }
    assert!(alone.hint.is_some());
    let counted = VerifyReport::failed(alone);
    assert_eq!((counted.status, counted.summary.problems.errors), (Status::Failed, 1));
    table.add("nb", 1, &keys(20), 0.01);
    let beside = verify(&place, &VerifyOptions::default(), &mut ()).unwrap();
    assert_eq!(beside.status, Status::NotWell);
    let names: Vec<&str> =
        beside.problems.iter().map(|problem| problem.place.rsplit('/').next().unwrap()).collect();
    assert_eq!(
        names,
        ["fa-3-bti-Filter.db", "qa-1-big-Filter.db", "qa-2-big-Data.db"],
        "one for each sstable"
    );
    assert!(beside.problems.iter().all(|problem| problem.code == Code::UnknownVersion));
    assert_eq!(beside.summary.problems.errors, 3);
    let rebuilt = rebuild_all(&table, RebuildOptions::default());
    assert_eq!(rebuilt.status, Status::NotWell, "three were left out");
}
