//! Tables that RocksDB 6.29, 7.8, 9.8, 11.0 and LevelDB wrote: keys, filters and answers.

mod common;

use common::keys_of;
use fullbloom_table::filter::Question;
use fullbloom_testkit::vectors::Record;

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
