//! Tables that RocksDB 6.29, 7.8, 9.8, 11.0 and LevelDB wrote: keys, filters and answers.

use crate::common::{self, keys_of};
use fullbloom_table::filter::Question;
use fullbloom_table::{Rebuilt, Table};
use fullbloom_testkit::vectors::{self, Record};

#[test]
fn every_key_the_engine_was_given_comes_out_in_order() {
    for golden in common::all() {
        let table = golden.table();
        assert_eq!(table.has_internal_keys(), !golden.has_plain_keys(), "{}", golden.name);
        let found = keys_of(&table);
        if let Some(keys) = golden.keys() {
            assert!(found == keys, "{}: {} keys, not {}", golden.name, found.len(), keys.len());
        }
        assert!(found.is_sorted() && !found.is_empty(), "{}", golden.name);
    }
}

#[test]
fn every_key_of_a_table_is_found_by_its_filter() {
    for golden in common::all() {
        let table = golden.table();
        let filter = table.filter().unwrap();
        for key in keys_of(&table) {
            for question in [Question::Get, Question::Seek, Question::SeekBack] {
                assert!(filter.may_match(question, &key).unwrap(), "{}: {question:?} {key:?}", golden.name);
            }
        }
    }
}

#[test]
fn answers_are_those_of_the_engines_read_path() {
    let mut asked = [0; 3];
    for golden in common::all() {
        let table = golden.table();
        let filter = table.filter().unwrap();
        let fields = ["get_answers", "seek_answers", "seek_for_prev_answers"];
        for (i, question) in [Question::Get, Question::Seek, Question::SeekBack].into_iter().enumerate() {
            let Some(recorded) = golden.record.get(fields[i]) else { continue };
            let probes = recorded.hex_list("probes");
            let answers = recorded.answers("may_match");
            assert_eq!(probes.len(), answers.len());
            for (probe, answer) in probes.iter().zip(answers) {
                let ours = filter.may_match(question, probe).unwrap();
                assert_eq!(ours, answer, "{}: {question:?} {probe:?}", golden.name);
                asked[i] += 1;
            }
        }
    }
    println!("{asked:?}");
}

/// Filters whose length the allocator chose are made again in that length.
#[test]
fn every_filter_is_made_again_byte_for_byte() {
    for golden in common::all() {
        let table = golden.table();
        let rebuilt = table.rebuild_filter().unwrap();
        match (table.filter().unwrap().layout(), rebuilt) {
            (None, rebuilt) => assert_eq!(rebuilt, Rebuilt::Nothing, "{}", golden.name),
            (Some(_), rebuilt) => assert_eq!(rebuilt.is_identical(), Some(true), "{}", golden.name),
        }
        // With few keys many settings give the same bytes.
        let many = keys_of(&table).len() > 100;
        if let (Rebuilt::Identical { bits_per_key, .. }, Some(policy), true) =
            (rebuilt, golden.option("filter_policy"), many)
        {
            let given: f64 = policy.split(':').nth(1).unwrap().parse().unwrap();
            assert!((bits_per_key - given).abs() < 1.01, "{}: {bits_per_key} for {given}", golden.name);
        }
    }
}

#[test]
fn a_flushed_table_of_the_ribbon_policy_has_its_bloom_filter_made_again() {
    let table = Table::open(vectors::root().join("rocksdb/ribbon-policy-flushed.sst")).unwrap();
    assert!(table.properties().filter_policy().unwrap().starts_with("ribbonfilter"));
    let rebuilt = table.rebuild_filter().unwrap();
    let Rebuilt::Identical { bits_per_key, rules: None } = rebuilt else { panic!("{rebuilt:?}") };
    assert!((bits_per_key - 6.4).abs() < 1.01, "{bits_per_key}");
}

#[test]
fn verification_finds_every_key_and_measures_the_promised_rate() {
    for golden in common::all() {
        let table = golden.table();
        let found = table.verify(20_000).unwrap();
        assert!(found.is_sound(), "{}: {found:?}", golden.name);
        assert_eq!(found.keys, keys_of(&table).len() as u64);
        let inspected = table.inspect().unwrap();
        assert_eq!(inspected.keys, found.keys, "{}", golden.name);
        assert_eq!(inspected.layout.is_some(), golden.name != "r783_nofilter.sst");
        // Absent prefixes are few, and the legacy hash hardly tells neighbours of four bytes apart.
        if let (Some(measured), true) = (found.measured_fpr(), table.filter().unwrap().holds().whole_keys) {
            let expected = inspected.expected_fpr;
            assert!(measured <= 1.5 * expected + 0.001, "{}: {measured} for {expected}", golden.name);
            assert!(found.absent_asked > 10_000, "{}: {}", golden.name, found.absent_asked);
        }
    }
}
