//! `inspect` and `verify` on Parquet files.

use crate::common::{Dir, run};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A file of ids and names, with filters on both or on none.
fn write(dir: &Dir, name: &str, filters: bool) -> String {
    let schema = "message people { required int64 id; required byte_array name (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut properties = WriterProperties::builder();
    if filters {
        properties = properties.set_bloom_filter_max_ndv(2000);
    }
    let file = std::fs::File::create(dir.path(name)).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for group in 0..3i64 {
        let ids: Vec<i64> = (0..2000).map(|i| 2000 * group + i).collect();
        let names: Vec<ByteArray> = ids.iter().map(|i| format!("name-{i}").into_bytes().into()).collect();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
    dir.arg(name)
}

#[test]
fn the_filters_of_every_column_chunk_are_listed_and_verified() {
    let dir = Dir::new();
    let file = write(&dir, "people.parquet", true);
    let told = run(&["inspect", "--json", &file], b"").exits(0).json();
    let filters = told["places"].as_array().unwrap();
    assert_eq!(filters.len(), 6);
    for (i, filter) in filters.iter().enumerate() {
        assert_eq!(
            (filter["dialect"].as_str(), filter["row_group"].as_u64()),
            (Some("parquet"), Some(i as u64 / 2))
        );
        assert_eq!(filter["column"], ["id", "name"][i % 2]);
        assert_eq!(filter["values"], 2000);
        let keys = filter["estimated_keys"].as_f64().unwrap();
        assert!((keys - 2000.0).abs() < 60.0, "{filter}");
        let rate = filter["expected_fpr"].as_f64().unwrap();
        assert!(rate > 0.0 && rate < 0.06, "{filter}");
        assert!(filter["bits_per_distinct"].as_f64().unwrap() > 5.0, "{filter}");
    }
    assert!(run(&["inspect", &file], b"").exits(0).text().contains("row group  column"));
    let verified = run(&["verify", "--json", &file], b"").exits(0).json();
    for file in verified["places"].as_array().unwrap() {
        assert_eq!((file["keys"].as_u64(), file["missing"].as_u64()), (Some(2000), Some(0)));
        assert_eq!(file["rebuilt_identical"], true);
    }
    assert_eq!(run(&["verify", &file], b"").exits(0).text().matches("identical").count(), 6);
}

#[test]
fn keys_are_asked_of_a_column_in_all_row_groups() {
    let dir = Dir::new();
    let file = write(&dir, "people.parquet", true);
    let asked = "0\n1999\n2000\n5999\n-77\n123456789\n";
    let ids = run(&["check", &file, "--column", "id"], asked.as_bytes()).exits(0);
    assert!(ids.text().starts_with("0\n1999\n2000\n5999\n"), "{}", ids.text());
    let names = run(&["check", &file, "--column", "name", "--answers"], b"name-5999\nname-0\n").exits(0);
    assert_eq!(names.text(), "1\n1\n");
    run(&["check", &file], b"1\n").fails_with("id, name (--column NAME)");
    run(&["check", &file, "--column", "nmae"], b"1\n").fails_with("has no column \"nmae\"");
    run(&["check", &file, "--column", "id"], b"one\n").fails_with("of type long");
    let plain = write(&dir, "plain.parquet", false);
    assert_eq!(run(&["check", "-c", &plain, "--column", "id"], b"1\n").exits(0).text(), "1\n");
}

#[test]
fn files_without_filters_and_damaged_files_say_so() {
    let dir = Dir::new();
    let file = write(&dir, "plain.parquet", false);
    assert!(run(&["inspect", &file], b"").exits(1).text().contains("no Bloom filter"));
    assert!(run(&["verify", &file], b"").exits(1).text().contains("no Bloom filter"));
    let whole = dir.read("plain.parquet");
    let cut = dir.file("cut.parquet", &whole[..whole.len() - 20]);
    for command in ["inspect", "verify"] {
        run(&[command, &cut], b"").fails_with("damaged Parquet file");
    }
    let filtered = write(&dir, "people.parquet", true);
    let mut bytes = dir.read("people.parquet");
    // The header of the first filter: xxHash in 15 or 16 bytes.
    let header = b"\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0";
    let at = bytes.windows(header.len()).position(|window| window == header).unwrap();
    bytes[at + header.len()..at + header.len() + 512].fill(0);
    std::fs::write(&filtered, &bytes).unwrap();
    let told = run(&["verify", &filtered], b"").exits(1);
    assert!(told.text().contains("the filter says that "), "{}", told.text());
}

#[test]
fn a_file_that_is_read_as_another_dialect_is_shown_as_such() {
    let dir = Dir::new();
    let path = write(&dir, "p.parquet", true);
    let bits = (8 * dir.read("p.parquet").len()).to_string();
    let args = ["verify", &path, "--dialect", "java-lsm", "--bits", &bits, "--probes", "3"];
    let out = run(&args, b"").exits(0);
    assert!(out.text().contains("java-lsm") && !out.text().contains("row group"), "{out:?}");
}

#[test]
fn a_column_is_refused_where_there_are_none() {
    for place in ["rocksdb/tables", "databases/leveldb", "scylla"] {
        let place = fullbloom_testkit::vectors::root().join(place).display().to_string();
        run(&["which", "--column", "id", "-e", "17", &place], b"")
            .fails_with("only Parquet files have columns");
        run(&["keys", "--column", "id", &place], b"").fails_with("only Parquet files have columns");
    }
}
