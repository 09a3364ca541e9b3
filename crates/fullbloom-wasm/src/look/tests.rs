use super::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;

/// A moment in 2026.
const NOW: f64 = 1_785_000_000_000.0;

fn vector(path: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    std::fs::read(root.join(path)).unwrap()
}

/// Opens bytes as the page opens a file of this name.
fn open_bytes(name: &str, bytes: Vec<u8>, dialect: &str, raw: (f64, u32)) -> Result<Looked, String> {
    let len = bytes.len() as u64;
    let fill = Box::new(move |at: f64, out: &mut [u8]| {
        let part = bytes.get(at as usize..).and_then(|rest| rest.get(..out.len()));
        part.is_some_and(|part| {
            out.copy_from_slice(part);
            true
        })
    });
    open(name, PageFile { len, fill }, NOW, dialect, raw)
}

fn open_vector(path: &str) -> Looked {
    let name = path.rsplit('/').next().unwrap();
    open_bytes(name, vector(path), "", (0.0, 0)).unwrap()
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn may_contain(looked: &Looked, index: usize, key: &str, spec: &str) -> bool {
    parsed(&looked.lookup(index, key, spec).unwrap())["may_contain"].as_bool().unwrap()
}

#[test]
fn a_filter_of_guava_is_reported_with_the_numbers_that_guava_printed() {
    let looked = open_vector("guava/a_mitz64.bin");
    let golden: Value = serde_json::from_slice(&vector("guava/guava.json")).unwrap();
    let filters = golden["filters"].as_array().unwrap();
    let golden = filters.iter().find(|filter| filter["file"] == "a_mitz64.bin").unwrap();
    let report = parsed(&looked.report());
    let place = &report["places"][0];
    assert_eq!(place["dialect"], "guava");
    assert_eq!(place["bits"], golden["bitSize"]);
    assert_eq!(place["bytes"], golden["serializedSize"]);
    let fpr: f64 = golden["expectedFpp"].as_str().unwrap().parse().unwrap();
    assert!((place["expected_fpr"].as_f64().unwrap() / fpr - 1.0).abs() < 1e-9);
    for key in golden["keys"].as_array().unwrap() {
        let key = key.as_str().unwrap();
        assert!(may_contain(&looked, 0, key, ""), "{key}");
        let hex: String = key.bytes().map(|byte| format!("{byte:02x} ")).collect();
        assert!(may_contain(&looked, 0, &hex, "hex"), "{key} in hex");
    }
    assert!((0..100).filter(|i| may_contain(&looked, 0, &format!("absent {i}"), "")).count() < 8);
    assert_eq!(looked.next_steps(), "[]");
}

#[test]
fn what_is_drawn_has_the_length_and_the_mean_fill_of_the_array() {
    let looked = open_vector("guava/a_mitz64.bin");
    let (drawn, report) = (parsed(&looked.drawn(0)), parsed(&looked.report()));
    assert_eq!(drawn["array_len"], 960);
    let fill: Vec<f64> =
        drawn["fill"].as_array().unwrap().iter().map(|part| part.as_f64().unwrap()).collect();
    assert!(!fill.is_empty() && fill.iter().all(|part| (0.0..=1.0).contains(part)));
    let mean = fill.iter().sum::<f64>() / fill.len() as f64;
    assert!((mean - report["places"][0]["fill"].as_f64().unwrap()).abs() < 0.02, "{mean}");
    assert_eq!(looked.drawn(1), r#"{"fill":[],"array_len":0}"#, "a filter that is not there");
    assert!(looked.lookup(1, "key0", "").is_err());
}

#[test]
fn a_parquet_file_of_pyarrow_has_a_place_for_each_filter_and_its_values_are_found() {
    let looked = open_vector("parquet/people.parquet");
    let report = parsed(&looked.report());
    let columns: Vec<(&str, u64)> = report["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| (place["column"].as_str().unwrap(), place["row_group"].as_u64().unwrap()))
        .collect();
    assert_eq!(columns, [("id", 0), ("name", 0), ("id", 1), ("name", 1)]);
    for id in [0, 250, 499] {
        assert!(may_contain(&looked, 0, &id.to_string(), ""), "{id}");
        assert!(may_contain(&looked, 1, &format!("name{id}"), ""), "name{id}");
        assert!(may_contain(&looked, 2, &(500 + id).to_string(), ""), "{id}");
    }
    assert!(!may_contain(&looked, 0, "-1", "") && !may_contain(&looked, 1, "nobody", ""));
    assert!(looked.lookup(0, "seven", "").is_err(), "not a number");
}

#[test]
fn tables_and_native_filters_of_every_kind_are_reported() {
    let table = parsed(&open_vector("rocksdb/tables/plyvel_bloom10_snappy.ldb").report());
    assert_eq!(table["places"][0]["type"], "table");
    for (file, kind) in [("text-keys", "fast"), ("compact", "compact"), ("dynamic-set", "dynamic")] {
        let report = parsed(&open_vector(&format!("native/{file}.bloom")).report());
        let place = &report["places"][0];
        assert_eq!(
            (place["dialect"].as_str(), place["kind"].as_str()),
            (Some("native"), Some(kind)),
            "{file}"
        );
    }
    let keyed = open_vector("native/keyed.bloom");
    assert!(keyed.lookup(0, "alice", "").unwrap_err().contains("secret"));
}

#[test]
fn raw_bits_need_a_dialect_with_bits_and_probes() {
    let mut bits = vec![0; 128];
    bits[5] = 0xff;
    assert!(open_bytes("keys.filter", bits.clone(), "", (0.0, 0)).is_err());
    let unknown = open_bytes("keys.filter", bits.clone(), "nonsense", (0.0, 0)).err().unwrap();
    assert!(unknown.contains("nonsense"), "{unknown}");
    for wrong in
        [(1024.0, 0), (0.0, 3), (f64::NAN, 3), (-1.0, 3), (1e300, 3), (1025.0, 3), (1024.0, u32::MAX)]
    {
        assert!(open_bytes("keys.filter", bits.clone(), "libbloom-1", wrong).is_err(), "{wrong:?}");
    }
    let looked = open_bytes("keys.filter", bits, "libbloom-1", (1024.0, 3)).unwrap();
    let place = &parsed(&looked.report())["places"][0];
    assert_eq!((place["bits"].as_u64(), place["probes"].as_u64()), (Some(1024), Some(3)));
}

#[test]
fn damaged_files_give_a_problem_as_json_or_a_report_and_never_a_panic() {
    let files = [
        "guava/a_mitz64.bin",
        "libbloom/v2_a.bloom",
        "native/compact.bloom",
        "native/dynamic-set.bloom",
        "parquet/people.parquet",
        "rocksdb/tables/plyvel_bloom10_snappy.ldb",
    ];
    for path in files {
        let whole = vector(path);
        let name = path.rsplit('/').next().unwrap();
        let judge = |bytes: Vec<u8>, what: &str| match open_bytes(name, bytes, "", (0.0, 0)) {
            Ok(looked) => {
                let places = parsed(&looked.report())["places"].as_array().unwrap().len();
                for index in 0..places {
                    parsed(&looked.drawn(index));
                    let _ = looked.lookup(index, "user:1", "");
                }
            }
            Err(problem) => {
                let problem = parsed(&problem);
                assert!(!problem["message"].as_str().unwrap().is_empty(), "{path}, {what}");
                assert!(problem["code"].is_string() && problem["severity"].is_string(), "{path}, {what}");
            }
        };
        let step = (whole.len() / 40).max(1);
        for at in (0..whole.len()).step_by(step) {
            judge(whole[..at].to_vec(), &format!("cut to {at} bytes"));
            let mut changed = whole.clone();
            changed[at] ^= 0x81;
            judge(changed, &format!("byte {at} changed"));
        }
        judge(vec![0xa5; whole.len()], "noise");
    }
}

#[test]
fn a_file_is_read_in_pieces_in_order() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = calls.clone();
    let fill = Box::new(move |at: f64, out: &mut [u8]| {
        seen.lock().unwrap().push((at as u64, out.len()));
        out.fill(at as u8);
        true
    });
    let file = PageFile { len: u64::MAX, fill };
    let len = 2 * PIECE + 7;
    assert_eq!(file.read(1 << 40, len).unwrap().len(), len);
    let start = 1 << 40;
    let expected = [(start, PIECE), (start + PIECE as u64, PIECE), (start + 2 * PIECE as u64, 7)];
    assert_eq!(*calls.lock().unwrap(), expected);
    assert!(file.read(0, 0).unwrap().is_empty());
}

#[test]
fn a_file_that_became_unreadable_or_does_not_fit_into_memory_is_an_error_that_says_so() {
    let unreadable = |len| PageFile { len, fill: Box::new(|_, _: &mut [u8]| false) };
    let problem = open("keys.bloom", unreadable(1000), NOW, "", (0.0, 0)).err().unwrap();
    assert!(problem.contains("the browser cannot read the file"), "{problem}");
    let error = unreadable(u64::MAX).read(0, isize::MAX as usize).unwrap_err();
    assert!(error.to_string().contains("do not fit into the memory"), "{error}");
    assert!(open("keys.bloom", unreadable(0), NOW, "", (0.0, 0)).is_err(), "an empty file");
}

#[test]
fn hex_digits_are_read_in_pairs_whatever_the_spaces_and_the_case() {
    assert!(unhex("").unwrap().is_empty());
    assert_eq!(unhex(" 0aFf\t00 ").unwrap(), [0x0a, 0xff, 0]);
    assert_eq!(unhex("abc").unwrap_err(), "an odd number of hex digits");
    assert_eq!(unhex("0g").unwrap_err(), "'g' is not a hex digit");
    assert!(unhex("é0").is_err());
}
