//! `cassandra`, `cassandra-3`, `cassandra-2` and `cassandra-1`: sizes, bytes and answers are those of
//! Cassandra 5.0.2, 3.11.17 and 1.2.19.

use fullbloom::SizeError;
use fullbloom::error::Quantity;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::cassandra::sizing;
use fullbloom_dialects::cassandra::sizing::{Counter, RATES, Spec};
use fullbloom_dialects::filter::{Dialect, Format, Insert, Size};
use fullbloom_dialects::{Cassandra, Cassandra1, Cassandra2, Cassandra3};
use fullbloom_dialects::{Filter, View};
use fullbloom_testkit::vectors::{self, Record, Value};
use fullbloom_testkit::{sha256_hex, to_hex};

fn calc() -> Value {
    vectors::json("cassandra/calc.json")
}

fn spec_of(record: &Value) -> Spec {
    Spec { probes: record.count("k") as u32, bits_per_key: record.count("buckets") as u32 }
}

/// Whether our error corresponds to Cassandra's exception.
#[track_caller]
fn assert_same_refusal(error: &SizeError, record: &Value) {
    let message = record.field("message").as_str().unwrap_or("");
    let alike = match *error {
        SizeError::Unreachable { max_bits_per_key, .. } => {
            message.starts_with("Unable to satisfy ")
                && message.ends_with(&format!(" with {max_bits_per_key} buckets per element"))
        }
        SizeError::TooLarge { .. } => message.starts_with("Bloom filter size is > 16GB"),
        SizeError::Value { what: Quantity::Fpr, .. } => message == "Invalid probability",
        SizeError::Count { what: Quantity::BitsPerKey, .. } => record.text("error") == "AssertionError",
        _ => false,
    };
    assert!(alike, "{error:?} for {record}");
}

#[test]
fn the_table_of_rates_is_cassandras() {
    let calc = calc();
    let rows = calc.list("probs");
    assert_eq!(rows.len(), RATES.len());
    for (ours, theirs) in RATES.iter().zip(rows) {
        let theirs: Vec<f64> = theirs.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(*ours, theirs);
    }
    assert_eq!(RATES.last().unwrap().last(), Some(&calc.real("min_supported_fp")));
}

#[test]
fn probes_for_whole_bits_per_key_are_cassandras() {
    let calc = calc();
    assert_eq!(calc.list("optimum_per_row").len(), 22);
    for record in calc.list("optimum_per_row") {
        let bits_per_key = record.count("buckets_per_element") as u32;
        match sizing::spec_for_bits_per_key(bits_per_key) {
            Ok(spec) => {
                assert_eq!((u64::from(spec.probes), spec.bits_per_key), (record.count("k"), bits_per_key));
            }
            Err(error) => assert_same_refusal(&error, record),
        }
    }
}

#[test]
fn specs_for_a_rate_are_cassandras_and_so_are_refusals() {
    let calc = calc();
    let records = calc.list("spec_for_max_buckets_and_fp");
    assert_eq!(records.len(), 680);
    for record in records {
        match sizing::spec_for_fpr(record.count("max_buckets") as u32, record.real("fp")) {
            Ok(spec) => assert_eq!(spec, spec_of(record), "{record}"),
            Err(error) => assert_same_refusal(&error, record),
        }
    }
}

#[test]
fn the_room_for_bits_per_key_is_cassandras() {
    let calc = calc();
    assert_eq!(calc.list("max_buckets_per_element").len(), 16);
    for record in calc.list("max_buckets_per_element") {
        let room = sizing::max_bits_per_key(record.int("n"), Counter::Long);
        assert_eq!(room, Ok(record.count("max_buckets") as u32), "{record}");
    }
}

fn sized(record: &Value, target: Target) -> Result<Cassandra, SizeError> {
    Cassandra::size(&Request { expected_keys: record.count("n"), target })
}

#[test]
fn filters_for_a_rate_have_cassandras_sizes() {
    let calc = calc();
    let records = calc.list("filter_size");
    assert_eq!(records.len(), 945);
    let mut always_present = 0;
    for record in records {
        let sized = match sized(record, Target::Fpr(record.real("fp"))) {
            Ok(sized) => sized,
            Err(error) => {
                assert_same_refusal(&error, record);
                continue;
            }
        };
        if record.get("always_present").is_some() {
            assert_eq!(sized.geometry().probes, 0, "{record}");
            assert_eq!(sized.encoded_len(), 0);
            always_present += 1;
            continue;
        }
        let geometry = sized.geometry();
        assert_eq!(u64::from(geometry.probes), record.count("k"), "{record}");
        assert_eq!(geometry.bit_len, record.count("capacity_bits"), "{record}");
        assert_eq!(sized.byte_len(), record.count("offheap_bytes"), "{record}");
        // serializedSize() adds up in an int, so filters over 2 GiB report a wrapped number in Cassandra.
        assert_eq!(i64::from(sized.encoded_len() as i32), record.int("reported_serialized_size"), "{record}");
        let spec = sizing::spec_by_fpr(record.int("n"), record.real("fp")).unwrap();
        assert_eq!(spec, Some(spec_of(record)), "{record}");
        let num_bits = record.count("n") * record.count("buckets") + sizing::EXCESS_BITS as u64;
        assert_eq!(num_bits, record.count("num_bits"));
    }
    assert_eq!(always_present, 27);
}

#[test]
fn filters_for_target_buckets_have_cassandras_sizes() {
    let calc = calc();
    assert_eq!(calc.list("filter_size_by_target_buckets").len(), 112);
    for record in calc.list("filter_size_by_target_buckets") {
        let geometry = sized(record, Target::BitsPerKey(record.real("target_buckets"))).unwrap().geometry();
        let got = (u64::from(geometry.probes), geometry.bit_len);
        assert_eq!(got, (record.count("k"), record.count("capacity_bits")), "{record}");
    }
}

#[test]
fn rates_that_cassandra_refuses_are_refused() {
    let calc = calc();
    assert_eq!(calc.list("invalid_fp").len(), 5);
    for record in calc.list("invalid_fp") {
        let error = sized(record, Target::Fpr(record.real("fp"))).unwrap_err();
        assert_same_refusal(&error, record);
    }
}

/// Builds the filter, compares the file, reads it back in both ways, and compares the answers.
fn check<D: Size + Insert + Format>(record: &Value, target: Target, file: &str, answers: &str) {
    let request = Request { expected_keys: record.count("n"), target };
    let mut filter = Filter::<D>::new(&request).unwrap();
    assert_eq!(u64::from(filter.geometry().probes), record.count("k"));
    assert_eq!(filter.geometry().bit_len, record.count("capacity_bits"));
    let inserted = record.hex_list("inserted");
    filter.extend(&inserted);
    let bytes = filter.encode();
    assert_eq!(to_hex(&bytes), record.text(file), "{file} of {record}");
    assert_eq!(filter.dialect().encoded_len(), bytes.len() as u64);

    let view = Filter::<D>::view(&bytes).unwrap();
    let copy = Filter::<D>::decode(&bytes).unwrap();
    assert_eq!(copy.encode(), bytes);
    assert!(inserted.iter().all(|key| view.may_contain(key) && copy.may_contain(key)));
    let probes = record.hex_list("probes_not_inserted");
    let expected = record.answers(answers);
    assert_eq!(probes.len(), expected.len());
    for (probe, answer) in probes.iter().zip(expected) {
        assert_eq!(view.may_contain(probe), answer, "{probe:x?} of {record}");
        assert_eq!(copy.may_contain(probe), answer, "{probe:x?} of {record}");
    }
}

#[test]
fn four_families_write_the_bytes_of_their_cassandras_and_answer_alike() {
    let file = vectors::json("cassandra/filters.json");
    let records = file.list("filters");
    assert_eq!(records.len(), 48);
    for record in records {
        let target = Target::Fpr(record.real("fp"));
        check::<Cassandra>(record, target, "filter_db_na_and_later", "answers_ma_and_later");
        check::<Cassandra3>(record, target, "filter_db_ma_to_me", "answers_ma_and_later");
        check::<Cassandra2>(record, target, "filter_db_ia_to_lb", "answers_ia_to_lb");
        check::<Cassandra1>(record, target, "filter_db_f_to_hf", "answers_f_to_hf");
    }
}

#[test]
fn filters_by_target_buckets_are_cassandras() {
    let file = vectors::json("cassandra/filters_by_target_buckets.json");
    let records = file.list("filters");
    assert_eq!(records.len(), 8);
    for record in records {
        let target = Target::BitsPerKey(record.real("target_buckets"));
        check::<Cassandra>(record, target, "filter_db_na_and_later", "answers");
    }
}

/// SHA-256 of the file, and false positives among 20,000 absent keys.
fn large<D: Size + Insert + Format>(record: &Value) -> (String, u64) {
    let (keys, fpr) = (record.count("n"), record.real("fp"));
    let mut filter = Filter::<D>::with_fpr(keys, fpr).unwrap();
    assert_eq!(filter.geometry().bit_len, record.count("capacity_bits"));
    assert_eq!(u64::from(filter.geometry().probes), record.count("k"));
    let key = |i: u64| (i * 2_654_435_761 + 20_240_601).to_be_bytes();
    filter.extend((0..keys).map(key));
    let absent = (0..20_000i64).map(|i| (-1 - i * 40_503).to_be_bytes());
    let hits = absent.filter(|probe| filter.may_contain(probe)).count();
    (sha256_hex(&filter.encode()), hits as u64)
}

#[test]
fn larger_filters_have_cassandras_digest_and_its_false_positives() {
    let file = vectors::json("cassandra/filters_large.json");
    let records = file.list("filters");
    assert_eq!(records.len(), 3);
    for record in records {
        let digest = |name: &str| record.text(name).to_owned();
        let hits = record.count("false_positives_ma_and_later");
        assert_eq!(large::<Cassandra>(record), (digest("sha256_na_and_later"), hits), "{record}");
        assert_eq!(large::<Cassandra3>(record), (digest("sha256_ma_to_me"), hits), "{record}");
        let old_hits = record.count("false_positives_ia_to_lb");
        assert_eq!(large::<Cassandra2>(record), (digest("sha256_ia_to_lb"), old_hits), "{record}");
    }
}

/// How 5.0.2 reads odd files, and how we read them: strictly, and in its manner.
fn malformed<F: fullbloom_dialects::cassandra::words::Family>(case: &Value) {
    use fullbloom_dialects::cassandra::words::Words;
    let bytes = case.hex("file");
    let name = case.text("name");
    let strict = Filter::<Words<F>>::view(&bytes);
    let accepted = ["valid_new", "k_21", "all_ones", "all_zero", "wrong_byte_order"];
    assert_eq!(strict.is_ok(), accepted.contains(&name), "{name}: {:?}", strict.map(|view| view.geometry()));
    let compatible = View::<Words<F>>::compatible(&bytes);
    if case.get("java_error").is_some() {
        assert!(compatible.is_err(), "{name}: Cassandra cannot use it, and we do");
        return;
    }
    let compatible = compatible.unwrap_or_else(|e| panic!("{name}: Cassandra answers, and we say {e}"));
    assert_eq!(compatible.geometry().bit_len, case.count("capacity_bits"), "{name}");
    assert_eq!(i64::from(compatible.geometry().probes), case.int("k").max(0), "{name}");
    for (probe, answer) in case.hex_list("probes").iter().zip(case.answers("answers")) {
        assert_eq!(compatible.may_contain(probe), answer, "{name}: {probe:x?}");
        if let Ok(view) = &strict {
            assert_eq!(view.may_contain(probe), answer, "{name}: {probe:x?}");
        }
    }
}

#[test]
fn odd_files_are_answered_as_cassandra_does_or_refused() {
    use fullbloom_dialects::cassandra::words::{V3, V4};
    let file = vectors::json("cassandra/malformed.json");
    let cases = file.list("cases");
    assert_eq!(cases.len(), 15);
    for case in cases {
        match case.text("format") {
            "na_and_later" => malformed::<V4>(case),
            "ma_to_me" => malformed::<V3>(case),
            other => panic!("format {other}"),
        }
    }
}
