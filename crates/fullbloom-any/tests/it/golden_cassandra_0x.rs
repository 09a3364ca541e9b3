//! `cassandra-0.7` and `cassandra-0`: the filter of Cassandra 0.3 to 0.7, with its Java object stream.

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::Filter;
use fullbloom_dialects::cassandra::sizing;
use fullbloom_dialects::cassandra::sizing::Vintage;
use fullbloom_dialects::filter::{Dialect, Format, Insert, Size};
use fullbloom_dialects::{Cassandra0, Cassandra07};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{from_hex, to_hex};

fn legacy() -> Value {
    vectors::json("cassandra/legacy_0x.json")
}

fn texts(record: &Value, name: &str) -> Vec<Vec<u8>> {
    record.list(name).iter().map(|v| v.as_str().unwrap().as_bytes().to_vec()).collect()
}

fn check<D: Size + Insert + Format>(record: &Value, inserted: &[Vec<u8>], absent: &[Vec<u8>]) {
    let mut filter = Filter::<D>::with_fpr(record.count("n"), record.real("fp")).unwrap();
    assert_eq!(u64::from(filter.geometry().probes), record.count("k"));
    assert_eq!(filter.geometry().bit_len, record.count("buckets_total"));
    filter.extend(inserted);
    let bytes = filter.encode();
    assert_eq!(to_hex(&bytes), record.text("serialized"), "{record}");
    let view = Filter::<D>::view(&bytes).unwrap();
    assert!(inserted.iter().all(|key| view.may_contain(key)));
    let answers = record.answers("answers");
    assert_eq!(answers.len(), absent.len());
    for (key, answer) in absent.iter().zip(answers) {
        assert_eq!(view.may_contain(key), answer, "{key:x?} of {record}");
        assert_eq!(filter.may_contain(key), answer, "{key:x?} of {record}");
    }
}

#[test]
fn byte_keys_give_the_stream_of_0_6_13_and_its_answers() {
    let legacy = legacy();
    let records = legacy.list("filters_raw_bytes_0_6_13");
    assert_eq!(records.len(), 16);
    for record in records {
        check::<Cassandra07>(record, &record.hex_list("inserted"), &record.hex_list("probes_not_inserted"));
    }
}

#[test]
fn text_keys_are_hashed_as_utf_16_as_in_0_3_and_0_6() {
    let legacy = legacy();
    let records = legacy.list("filters_utf16_strings_0_3_0_and_0_6_13");
    assert_eq!(records.len(), 3);
    for record in records {
        let inserted = texts(record, "inserted_strings");
        check::<Cassandra0>(record, &inserted, &texts(record, "probe_strings_not_inserted"));
        // The same filter, given the bytes that 0.6 hashed.
        let mut raw = Filter::<Cassandra07>::with_fpr(record.count("n"), record.real("fp")).unwrap();
        raw.extend(record.hex_list("hashed_bytes_of_inserted"));
        assert_eq!(to_hex(&raw.encode()), record.text("serialized"));
    }
}

#[test]
fn sizes_for_a_rate_are_those_of_0_6_13_up_to_its_overflow() {
    let legacy = legacy();
    let records = legacy.list("filter_size_0_6_13");
    assert_eq!(records.len(), 36);
    let mut overflows = 0;
    for record in records {
        let target = Target::Fpr(record.real("fp"));
        let sized = Cassandra07::size(&Request { expected_keys: record.count("n"), target });
        match record.get("buckets_total").map(|v| v.as_i64().unwrap()) {
            Some(bits) if bits > 0 => {
                let geometry = sized.unwrap().geometry();
                assert_eq!((geometry.bit_len as i64, u64::from(geometry.probes)), (bits, record.count("k")));
            }
            // BitSet.size() is negative in the original and every lookup fails.
            Some(_) => {
                assert!(matches!(sized, Err(SizeError::TooLarge { .. })), "{record}");
                overflows += 1;
            }
            None => {
                let Err(SizeError::Unreachable { max_bits_per_key, .. }) = sized else { panic!("{record}") };
                let with = format!("with {max_bits_per_key} buckets per element");
                assert!(record.text("message").ends_with(&with), "{record}");
            }
        }
    }
    assert_eq!(overflows, 1);
}

#[test]
fn probes_for_whole_bits_per_key_are_those_of_three_vintages() {
    let legacy = legacy();
    for record in legacy.list("best_k_0_6_13") {
        let spec = sizing::spec_for_bits_per_key(record.count("buckets") as u32);
        let probes = spec.ok().map(|spec| u64::from(spec.probes));
        assert_eq!(probes, record.get("k").map(|k| k.as_u64().unwrap()), "{record}");
    }
    for (name, vintage) in [("best_k_0_3_0", Vintage::V0_3), ("best_k_streamlib_2_9_6", Vintage::StreamLib)] {
        for record in legacy.list(name) {
            let probes = vintage.best_probes(record.count("buckets") as u32);
            assert_eq!(u64::from(probes), record.count("k"), "{name}: {record}");
        }
    }
}

#[test]
fn specs_for_a_rate_are_those_of_0_3_and_of_stream_lib() {
    let legacy = legacy();
    for (name, vintage) in
        [("spec_by_fp_0_3_0", Vintage::V0_3), ("spec_by_fp_streamlib_2_9_6", Vintage::StreamLib)]
    {
        assert_eq!(legacy.list(name).len(), 34);
        for record in legacy.list(name) {
            let spec = vintage.spec_for_fpr(record.real("fp"));
            let got = (u64::from(spec.probes), u64::from(spec.bits_per_key));
            assert_eq!(got, (record.count("k"), record.count("buckets")), "{name}: {record}");
        }
    }
}

#[test]
fn the_always_matching_filter_of_0_6_is_read_and_matches() {
    let bytes = from_hex(legacy().text("always_matching_serialized"));
    let view = Filter::<Cassandra07>::view(&bytes).unwrap();
    assert_eq!((view.geometry().bit_len, view.geometry().probes), (64, 1));
    assert_eq!(view.fill(), 1.0);
    assert!(view.may_contain(b"anything") && view.may_contain(b""));
}
