//! `libbloom` and `libbloom-1`: parameters, positions, bits, return codes and files are those of libbloom 2.0
//! and 1.6.

use fullbloom::DecodeError;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Dialect, Format, Insert, Size};
use fullbloom_dialects::libbloom::sizing::{params_1_6, params_2_0};
use fullbloom_dialects::{Libbloom, Libbloom1};
use fullbloom_testkit::from_hex;
use fullbloom_testkit::vectors::{self, Record, Value};

/// The offset at which a save file holds the address of its writer's array.
const POINTER: std::ops::Range<usize> = 67..75;

fn f64_be(record: &Value, name: &str) -> f64 {
    f64::from_bits(record.hex_int(name))
}

#[test]
fn parameters_and_refusals_are_those_of_1_6() {
    let file = vectors::json("libbloom/params_v1.json");
    let rows = file.list("rows");
    assert_eq!(rows.len(), 440);
    let mut refused = 0;
    for row in rows {
        let (entries, error) = (row.int("entries") as i32, row.real("error"));
        let params = params_1_6(entries, error);
        if row.int("rv") != 0 {
            assert!(params.is_err(), "{row}");
            assert!(Libbloom1::with_params(entries, error).is_err(), "{row}");
            refused += 1;
            continue;
        }
        let params = params.unwrap_or_else(|e| panic!("{e} for {row}"));
        let got = (i64::from(params.bits), i64::from(params.bytes), i64::from(params.hashes));
        assert_eq!(got, (row.int("bits"), row.int("bytes"), row.int("hashes")), "{row}");
        assert_eq!(params.bpe.to_bits(), f64_be(row, "bpe_f64be").to_bits(), "{row}");
        // Probes without bits: the original creates the filter and dies with SIGFPE at the first key.
        let deadly = params.bits == 0 && params.hashes != 0;
        match Libbloom1::with_params(entries, error) {
            Ok(sized) => {
                assert!(!deadly, "{row}");
                assert_eq!(sized.geometry().bit_len, row.int("bits").max(0) as u64);
                assert_eq!(i64::from(sized.geometry().probes), row.int("hashes"));
                assert_eq!(sized.byte_len() as i64, row.int("bytes"));
            }
            Err(e) => assert!(deadly, "{e} for {row}"),
        }
    }
    assert_eq!(refused, 22);
}

#[test]
fn parameters_and_refusals_are_those_of_2_0() {
    let file = vectors::json("libbloom/params_v2.json");
    let rows = file.list("rows");
    assert_eq!(rows.len(), 442);
    let mut refused = 0;
    for row in rows {
        // `bloom_init` of 2.0 reads its int as unsigned.
        let (entries, error) = (row.int("entries") as u32, row.real("error"));
        let params = params_2_0(entries, error);
        if row.int("rv") != 0 {
            assert!(params.is_err(), "{row}");
            assert!(Libbloom::with_params(entries, error).is_err(), "{row}");
            refused += 1;
            continue;
        }
        let params = params.unwrap_or_else(|e| panic!("{e} for {row}"));
        let got = (params.bits, params.bytes, u64::from(params.hashes));
        assert_eq!(got, (row.count("bits"), row.count("bytes"), row.count("hashes")), "{row}");
        assert_eq!(u64::from(entries), row.count("s_entries"));
        if row.text("fn") == "bloom_init2" {
            assert_eq!(params.bpe.to_bits(), f64_be(row, "bpe_f64be").to_bits(), "{row}");
        }
        let deadly = params.bits == 0 && params.hashes != 0;
        match Libbloom::with_params(entries, error) {
            Ok(sized) => {
                assert!(!deadly, "{row}");
                assert_eq!(sized.geometry().bit_len, params.bits);
                assert_eq!(sized.geometry().probes, u32::from(params.hashes));
                assert_eq!(sized.byte_len(), params.bytes);
            }
            Err(e) => assert!(deadly, "{e} for {row}"),
        }
    }
    assert_eq!(refused, 13);
}

fn check_positions<D: Size + Insert>(record: &Value) {
    let mut filter = Filter::<D>::with_fpr(record.count("entries"), record.real("error")).unwrap();
    let geometry = filter.geometry();
    assert_eq!(geometry.bit_len, record.count("bits"), "{record}");
    let key = record.hex("key");
    assert!(filter.insert(&key));
    let positions: Vec<u64> = record.list("index").iter().map(|v| v.as_u64().unwrap()).collect();
    let mut bits = filter.bits().to_vec();
    assert!(positions.iter().all(|at| bits[(at >> 3) as usize] >> (at & 7) & 1 == 1), "{record}");
    for at in &positions {
        bits[(at >> 3) as usize] &= !(1 << (at & 7));
    }
    assert!(bits.iter().all(|&byte| byte == 0), "more bits than the original sets: {record}");
}

#[test]
fn one_key_sets_exactly_the_bits_the_original_sets() {
    let file = vectors::json("libbloom/indexes.json");
    let mut checked = 0;
    for record in file.as_array().unwrap().iter().filter(|r| r.count("entries") < 10_000) {
        match record.text("version") {
            "1.6" => check_positions::<Libbloom1>(record),
            _ => check_positions::<Libbloom>(record),
        }
        checked += 1;
    }
    assert_eq!(checked, 120);
}

/// Filters of 1.2, 5.1 and 5.4 GB, of which only the touched pages cost memory.
#[test]
#[cfg(target_pointer_width = "64")] // elsewhere such an array is refused
fn arrays_beyond_32_bits_are_probed_where_the_original_probes_them() {
    let file = vectors::json("libbloom/indexes.json");
    let records = file.as_array().unwrap();
    for (entries, error) in [(1_000_000_000, 0.01), (4_294_967_295, 0.01), (3_000_000_000, 0.001)] {
        let mut filter = Filter::<Libbloom>::with_fpr(entries, error).unwrap();
        let of_this = |r: &&Value| r.text("version") == "2.0" && r.count("entries") == entries;
        let mut past_32_bits = 0;
        for record in records.iter().filter(of_this) {
            assert_eq!(filter.geometry().bit_len, record.count("bits"));
            let key = record.hex("key");
            assert!(!filter.may_contain(&key), "{record}");
            assert!(filter.insert(&key), "{record}");
            assert!(filter.may_contain(&key), "{record}");
            for at in record.list("index").iter().map(|v| v.as_u64().unwrap()) {
                assert!(filter.bits()[(at >> 3) as usize] >> (at & 7) & 1 == 1, "{at} of {record}");
                past_32_bits += u32::from(at > u64::from(u32::MAX));
            }
        }
        assert!(past_32_bits > 20, "{past_32_bits}");
    }
}

/// Adds the keys and compares every return code (0 is "was new") and every answer.
fn filled<D: Size + Insert>(record: &Value, keys: &Value) -> Filter<D> {
    let mut filter = Filter::<D>::with_fpr(record.count("entries"), record.real("error")).unwrap();
    assert_eq!(filter.geometry().bit_len, record.count("bits"));
    assert_eq!(u64::from(filter.geometry().probes), record.count("hashes"));
    assert_eq!(filter.bits().len() as u64, record.count("bytes"));
    let added = keys.hex_list("add_keys_hex");
    let codes = record.answers("add_return_codes");
    assert_eq!(added.len(), codes.len());
    for (key, all_were_set) in added.iter().zip(codes) {
        assert_eq!(filter.insert(key), !all_were_set, "{}: {key:x?}", record.text("name"));
    }
    let probes = keys.hex_list("probe_keys_hex");
    let answers = record.answers("check_return_codes");
    assert_eq!(probes.len(), answers.len());
    for (key, answer) in probes.iter().zip(answers) {
        assert_eq!(filter.may_contain(key), answer, "{}: {key:x?}", record.text("name"));
    }
    filter
}

#[test]
fn bits_and_return_codes_are_those_of_1_6() {
    let file = vectors::json("libbloom/filters_v1.json");
    let records = file.as_array().unwrap();
    assert_eq!(records.len(), 9);
    for record in records {
        let filter = filled::<Libbloom1>(record, record);
        assert!(filter.encode() == record.hex("bf_hex"), "{}", record.text("name"));
        let (bit_len, probes) = (record.count("bits"), record.count("hashes") as u32);
        let view = Filter::<Libbloom1>::view_exact(filter.bits(), bit_len, probes).unwrap();
        assert!(record.hex_list("add_keys_hex").iter().all(|key| view.may_contain(key)));
    }
}

#[test]
fn save_files_are_those_of_2_0_but_for_the_savers_pointer() {
    let file = vectors::json("libbloom/filters_v2.json");
    let first = vectors::json("libbloom/filters_v1.json");
    let records = file.as_array().unwrap();
    assert_eq!(records.len(), 9);
    for record in records {
        let name = record.text("name");
        let shared = first.as_array().unwrap().iter().find(|r| r.text("name") == name).unwrap();
        let keys = if record.field("add_keys_hex").is_array() { record } else { shared };
        let filter = filled::<Libbloom>(record, keys);
        let mut saved = vectors::bytes(&format!("libbloom/{}", record.text("file")));
        assert_eq!(saved.len() as u64, record.count("file_size"));

        let loaded = Filter::<Libbloom>::decode(&saved).unwrap();
        assert_eq!(loaded.dialect(), filter.dialect(), "{name}");
        assert!(loaded.bits() == filter.bits(), "{name}");
        assert_eq!(loaded.dialect().doubt(), None, "{name}");
        assert_eq!(u64::from(loaded.dialect().expected_keys()), record.count("entries"));
        assert_eq!(loaded.dialect().fpr().to_bits(), f64_be(record, "error_f64be").to_bits());

        saved[POINTER].fill(0);
        assert!(filter.encode() == saved, "{name}");
        assert!(loaded.encode() == saved, "{name}");
    }
}

/// The result of `bloom_load` for each file, compared with ours: every refusal of the original is a refusal
/// here, at the same field. In addition we refuse files that it cannot use safely (`ready` 0, an array too
/// short for its bits) and bytes after the end.
#[test]
fn files_are_refused_where_bloom_load_refuses_them_and_where_they_cannot_be_used() {
    let file = vectors::json("libbloom/load_codes.json");
    let records: Vec<&Value> = file.as_array().unwrap().iter().filter(|r| r.get("file").is_some()).collect();
    assert_eq!(records.len(), 29);
    let mut accepted = 0;
    for record in records {
        let name = record.text("file");
        let bytes = vectors::bytes(&format!("libbloom/{name}"));
        let loaded = Filter::<Libbloom>::view(&bytes);
        match (&loaded, record.int("rv")) {
            (Ok(view), 0) => {
                assert!(record.field("add_safe").as_bool().unwrap(), "{name}");
                let hello = record.int("check_hello_rv") == 1;
                assert_eq!(view.may_contain(b"hello"), hello, "{name}");
                let changed = ["load/hashes0.bin", "load/entries_changed.bin"].contains(&name);
                assert_eq!(view.dialect().doubt().is_some(), changed, "{name}");
                accepted += 1;
            }
            (Err(error), code) => {
                let alike = match *error {
                    DecodeError::Truncated { field: "magic", .. } => code == 4,
                    DecodeError::Magic { field: "magic", .. } => code == 5,
                    DecodeError::Truncated { field: "struct size", .. } => code == 6,
                    DecodeError::Value { field: "struct size", .. } => code == 7,
                    DecodeError::Value { field: "major", .. } => code == 9,
                    DecodeError::Truncated { field: "bit array", .. } => code == 10 || code == 11,
                    DecodeError::Truncated { .. } => code == 8,
                    DecodeError::Value { field: "ready", .. } => name == "load/ready0.bin",
                    DecodeError::Trailing { .. } => name == "load/trailing.bin",
                    DecodeError::Mismatch { field: "bytes", .. } => {
                        record.get("add_safe").and_then(Value::as_bool) == Some(false)
                    }
                    _ => false,
                };
                assert!(alike, "{name}: {error:?}, bloom_load says {code}");
            }
            (Ok(_), code) => panic!("{name}: bloom_load says {code}, and we take it"),
        }
    }
    assert_eq!(accepted, 5);
}

/// `bloom_merge` of equal filters; it also merges filters whose bits or probes differ, which loses keys and
/// is refused.
#[test]
fn merging_is_the_union_and_needs_equal_numbers() {
    let mut left = Filter::<Libbloom>::with_fpr(1000, 0.1).unwrap();
    let mut right = Filter::<Libbloom>::with_fpr(1000, 0.1).unwrap();
    left.insert(from_hex("68656c6c6f20776f726c64"));
    right.insert(b"hello");
    left.merge(&right).unwrap();
    assert!(left.may_contain(b"hello") && left.may_contain(b"hello world"));
    assert!(!right.may_contain(b"hello world"));
    for (entries, error) in [(1001, 0.1), (1000, 0.100_000_000_000_000_02)] {
        let other = Filter::<Libbloom>::with_fpr(entries, error).unwrap();
        assert!(left.merge(&other).is_err());
    }
    let bits_differ = vectors::bytes("libbloom/load/hashes0.bin");
    assert!(left.merge(&Filter::<Libbloom>::view(&bits_differ).unwrap()).is_err());
}
