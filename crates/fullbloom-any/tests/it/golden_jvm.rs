//! `guava`, `guava-32`, `spark`, `spark-2`, `parquet` and `orc`: sizes, hashes, results of insertion, bytes
//! and answers are those of the Java classes.

use fullbloom::SizeError;
use fullbloom::sizing::{Request, Target};
use fullbloom_core::sizing::classic_bits;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Dialect, Format, Insert, Size};
use fullbloom_dialects::hash::{murmur3_128, xxh64};
use fullbloom_dialects::orc::Class;
use fullbloom_dialects::typed::Value as Key;
use fullbloom_dialects::{Guava, Guava32, Orc, Parquet, Spark, Spark2};
use fullbloom_testkit::from_hex;
use fullbloom_testkit::vectors::{self, Record, Value};

/// Calls `use_key` with the key in the form the system received it.
fn with_key<T>(kind: &str, funnel: &str, text: &str, use_key: impl FnOnce(Key<'_>) -> T) -> T {
    if let Some(hex) = text.strip_prefix("hex:") {
        return use_key(Key::Bytes(&from_hex(hex)));
    }
    if let Some(bits) = text.strip_prefix("f64bits:") {
        return use_key(Key::Double(f64::from_bits(u64::from_str_radix(bits, 16).unwrap())));
    }
    if let Some(bits) = text.strip_prefix("f32bits:") {
        return use_key(Key::Float(f32::from_bits(u32::from_str_radix(bits, 16).unwrap())));
    }
    match kind {
        "int" => use_key(Key::Int(text.parse().unwrap())),
        "long" => use_key(Key::Long(text.parse().unwrap())),
        _ if funnel.contains("unencodedChars") => use_key(Key::Utf16(text)),
        _ => use_key(Key::Text(text)),
    }
}

/// Inserts the record's keys, compares all results, and reads the file back.
fn check<D: Insert + Format>(record: &Value, mut filter: Filter<D>, file: &[u8]) {
    let kind = record.text("kind");
    let funnel = record.get("funnel").and_then(Value::as_str).unwrap_or("");
    let changed = record.answers("put_changed");
    assert_eq!(changed.len(), record.list("keys").len());
    for (key, changed) in record.list("keys").iter().zip(changed) {
        let got = with_key(kind, funnel, key.as_str().unwrap(), |key| filter.insert_value(key).unwrap());
        assert_eq!(got, changed, "{key} in {}", record.text("name"));
    }
    assert_eq!(filter.encode(), file, "{}", record.text("name"));
    assert_eq!(filter.dialect().encoded_len(), file.len() as u64);
    let view = Filter::<D>::view(file).unwrap();
    assert_eq!(view.geometry(), filter.geometry());
    assert_eq!(view.encode(), file);
    assert_eq!(view.count_ones(), filter.count_ones());
    let answers = record.answers("answers");
    assert!(!answers.is_empty());
    for (key, answer) in record.list("probes").iter().zip(answers) {
        let got = with_key(kind, funnel, key.as_str().unwrap(), |key| view.may_contain_value(key).unwrap());
        assert_eq!(got, answer, "{key} in {}", record.text("name"));
    }
}

#[test]
fn guava_filters_have_guavas_bytes_and_answers() {
    fn one<D: Insert + Format + Size>(record: &Value) {
        let filter = Filter::<D>::with_fpr(record.count("n"), record.real("p")).unwrap();
        assert_eq!(filter.geometry().bit_len, record.count("bitSize"));
        let file = vectors::bytes(&format!("guava/{}", record.text("file")));
        assert_eq!(file.len() as u64, record.count("serializedSize"));
        check(record, filter, &file);
        let view = Filter::<D>::view(&file).unwrap();
        assert!((view.expected_fpr() - record.real("expectedFpp")).abs() <= 1e-6, "{record}");
        if let Some(keys) = view.estimated_keys() {
            assert!((keys - record.count("approximateElementCount") as f64).abs() <= 0.5, "{record}");
        }
    }
    let file = vectors::json("guava/guava.json");
    assert_eq!(file.list("filters").len(), 20);
    for record in file.list("filters") {
        match record.text("strategy") {
            "MURMUR128_MITZ_32" => one::<Guava32>(record),
            _ => one::<Guava>(record),
        }
    }
}

#[test]
fn guava_sizes_and_hashes_are_guavas() {
    let file = vectors::json("guava/guava.json");
    let mut sized = 0;
    for row in file.list("params") {
        let (keys, fpr) = (row.count("n"), row.real("p"));
        if fpr == 0.0 {
            assert!(Filter::<Guava>::with_fpr(keys, fpr).is_err()); // create() refuses it too
            continue;
        }
        assert_eq!(classic_bits(keys, fpr), row.count("optimalNumOfBits"), "{row}");
        assert_eq!(
            u64::from(fullbloom_dialects::guava::optimal_probes(fpr)),
            row.count("optimalNumOfHashFunctions"),
            "{row}"
        );
        let request = Request { expected_keys: keys, target: Target::Fpr(fpr) };
        match Guava::size(&request) {
            Ok(dialect) => {
                let bits = classic_bits(keys.max(1), fpr);
                assert_eq!(dialect.geometry().bit_len, bits.div_ceil(64) * 64);
                sized += 1;
            }
            Err(SizeError::TooLarge { .. }) => assert!(row.count("optimalNumOfBits") > 64 * i32::MAX as u64),
            Err(error) => assert_eq!(classic_bits(keys.max(1), fpr), 0, "{error} for {row}"),
        }
    }
    assert!(sized > 50, "{sized}");
    for row in file.list("murmur3_128") {
        let [h1, h2] = murmur3_128(&row.hex("data"));
        assert_eq!([h1.to_le_bytes(), h2.to_le_bytes()].concat(), row.hex("hash"), "{row}");
    }
}

#[test]
fn spark_filters_have_sparks_bytes_and_answers() {
    let file = vectors::json("spark/spark.json");
    assert_eq!(file.list("filters").len(), 14);
    for record in file.list("filters") {
        let (keys, bits) = (record.count("n"), record.count("numBits"));
        let bytes = vectors::bytes(&format!("spark/{}", record.text("file")));
        let set_bits = match record.text("version") {
            "V1" => {
                let probes = fullbloom_dialects::spark::optimal_probes(keys, bits);
                let target = Target::Exact { bit_len: bits, probes };
                check(
                    record,
                    Filter::<Spark>::new(&Request { expected_keys: keys, target }).unwrap(),
                    &bytes,
                );
                Filter::<Spark>::view(&bytes).unwrap().count_ones()
            }
            _ => {
                let (bit_len, probes) =
                    (bits.next_multiple_of(64), fullbloom_dialects::spark::optimal_probes(keys, bits));
                let seed = record.int("seed") as i32;
                let filter = Filter::<Spark2>::with_seed(bit_len, probes, seed).unwrap();
                assert_eq!(filter.seed(), seed);
                check(record, filter, &bytes);
                assert!(Filter::<Spark>::view(&bytes).is_err());
                Filter::<Spark2>::view(&bytes).unwrap().count_ones()
            }
        };
        assert_eq!(set_bits, record.count("cardinality"));
    }
}

#[test]
fn spark_sizes_are_sparks() {
    let file = vectors::json("spark/spark.json");
    let mut sized = 0;
    for row in file.list("params") {
        let (keys, fpr) = (row.count("n"), row.real("p"));
        match Filter::<Spark2>::with_fpr(keys, fpr) {
            Ok(filter) => {
                assert_eq!(classic_bits(keys, fpr), row.count("optimalNumOfBits"), "{row}");
                assert_eq!(filter.geometry().bit_len, row.count("bitSize"), "{row}");
                assert_eq!(filter.encode()[..20], row.hex("serialized_header_hex"), "{row}");
                assert_eq!(filter.dialect().encoded_len(), row.count("serialized_length"), "{row}");
                sized += 1;
            }
            Err(error) => assert!(row.get("throws").is_some(), "{error} for {row}"),
        }
    }
    assert!(sized > 30, "{sized}");
    assert_eq!(fullbloom_dialects::spark::optimal_probes(1, 1), 1);
}

#[test]
fn parquet_filters_have_parquets_bytes_and_answers_with_and_without_header() {
    let file = vectors::json("parquet/parquet.json");
    assert_eq!(file.list("filters").len(), 10);
    for record in file.list("filters") {
        let bytes = fullbloom_dialects::parquet::rounded_bytes(record.count("requested_bytes"));
        assert_eq!(bytes, record.count("bitset_bytes"));
        let empty = || Filter::from_dialect(Parquet::with_blocks(bytes / 32).unwrap()).unwrap();
        let file = vectors::bytes(&format!("parquet/{}", record.text("file")));
        check(record, empty(), &file);
        let header = record.count("header_bytes") as usize;
        assert_eq!(file.len(), header + bytes as usize);
        check(record, empty().with_header(false), &file[header..]);
        for (key, hash) in record.list("keys").iter().zip(record.list("key_hashes_hex")) {
            let hash = u64::from_str_radix(hash.as_str().unwrap(), 16).unwrap();
            let got = with_key(record.text("kind"), "", key.as_str().unwrap(), |key| {
                xxh64(Parquet::NAME.key(key).unwrap().as_ref())
            });
            assert_eq!(got, hash, "{key}");
        }
    }
}

#[test]
fn parquet_sizes_are_those_of_parquet_java() {
    let file = vectors::json("parquet/parquet.json");
    assert_eq!(file.list("optimalNumOfBits").len(), 42);
    for row in file.list("optimalNumOfBits") {
        assert_eq!(
            fullbloom_dialects::parquet::optimal_bits(row.count("n"), row.real("p")),
            row.count("bits"),
            "{row}"
        );
    }
    for row in file.list("sizes") {
        assert_eq!(
            fullbloom_dialects::parquet::rounded_bytes(row.int("requested").max(0) as u64),
            row.count("bytes"),
            "{row}"
        );
    }
}

#[test]
fn orc_filters_have_orcs_bytes_and_answers_in_both_classes() {
    let file = vectors::json("orc/orc.json");
    assert_eq!(file.list("filters").len(), 14);
    for record in file.list("filters") {
        let (keys, fpr) = (record.count("n"), record.real("p"));
        let filter = Filter::<Orc>::with_fpr(keys, fpr).unwrap();
        let geometry = filter.geometry();
        assert_eq!(geometry.bit_len, record.count("numBits"), "{}", record.text("name"));
        assert_eq!(u64::from(geometry.probes), record.count("numHashFunctions"));
        assert_eq!(fullbloom_dialects::orc::rounded_bits(classic_bits(keys, fpr)), Some(geometry.bit_len));
        let (class, other) = match record.text("class") {
            "BloomFilter" => (Class::Plain, Class::Utf8),
            _ => (Class::Utf8, Class::Plain),
        };
        let file = vectors::bytes(&format!("orc/{}", record.text("file")));
        check(record, filter.with_class(class).unwrap(), &file);
        let decoded = Filter::<Orc>::decode(&file).unwrap();
        assert_eq!(decoded.dialect().class(), class);
        let there_and_back = decoded.with_class(other).unwrap().with_class(class).unwrap();
        assert_eq!(there_and_back.encode(), file);
    }
}
