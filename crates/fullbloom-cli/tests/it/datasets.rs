//! Directories of Parquet files, written by arrow-rs.

use crate::common::{Dir, run};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// How a file is written.
struct Part {
    path: &'static str,
    /// The first id; ids are far apart.
    first: i64,
    /// The distinct values that the filters of `id` are made for; `None` for no filter.
    ndv: Option<u64>,
    row_groups: i64,
}

const ROWS: i64 = 1000;

fn id(row: i64) -> i64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64)
}

/// Writes a file with ids, numbers of rows, countries, and notes. `id` has filters as the part says, `row` and
/// `country` have some, `note` has none.
fn write(dir: &Dir, part: &Part) {
    let path = dir.path(part.path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let schema = "message events { required int64 id; required int64 row; required byte_array country (UTF8); \
                  required byte_array note (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let column = |name: &str| ColumnPath::from(name);
    let mut properties = WriterProperties::builder()
        .set_column_dictionary_enabled(column("id"), false)
        .set_column_dictionary_enabled(column("row"), false);
    for (name, ndv) in [("id", part.ndv), ("row", Some(ROWS as u64)), ("country", Some(ROWS as u64))] {
        if let Some(ndv) = ndv {
            properties = properties
                .set_column_bloom_filter_enabled(column(name), true)
                .set_column_bloom_filter_fpp(column(name), 0.01)
                .set_column_bloom_filter_max_ndv(column(name), ndv);
        }
    }
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for group in 0..part.row_groups {
        let rows: Vec<i64> = (0..ROWS).map(|row| part.first + group * ROWS + row).collect();
        let ids: Vec<i64> = rows.iter().map(|row| id(*row)).collect();
        let text = |make: &dyn Fn(i64) -> String| -> Vec<ByteArray> {
            rows.iter().map(|row| make(*row).into_bytes().into()).collect()
        };
        let countries = text(&|row| ["de", "fr", "it"][row as usize % 3].to_owned());
        let notes = text(&|row| format!("note {row}"));
        let mut next = writer.next_row_group().unwrap();
        for numbers in [&ids, &rows] {
            let mut column = next.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(numbers, None, None).unwrap();
            column.close().unwrap();
        }
        for texts in [&countries, &notes] {
            let mut column = next.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(texts, None, None).unwrap();
            column.close().unwrap();
        }
        next.close().unwrap();
    }
    writer.close().unwrap();
}

/// Two days: the filters of `a` are as they should be, those of `b` far too small, `c` has none for `id`.
fn lake(dir: &Dir) -> String {
    for (path, first, ndv) in [
        ("lake/day=2026-11-17/a.parquet", 0, Some(1000)),
        ("lake/day=2026-11-17/b.parquet", 10_000, Some(10)),
        ("lake/day=2026-11-18/c.parquet", 20_000, None),
    ] {
        write(dir, &Part { path, first, ndv, row_groups: 2 });
    }
    fs::write(dir.path("lake/_SUCCESS"), "").unwrap();
    fs::write(dir.path("lake/day=2026-11-17/.a.parquet.crc"), "crc").unwrap();
    fs::write(dir.path("lake/notes.txt"), "not a table").unwrap();
    dir.arg("lake")
}

fn column<'a>(report: &'a Value, name: &str) -> &'a Value {
    let columns = report["summary"]["columns"].as_array().unwrap();
    columns.iter().find(|column| column["column"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field} of {value}"))
}

#[test]
fn each_column_says_which_filters_are_too_full_wasted_or_missing() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let seen = run(&["inspect", "--json", &lake], b"").exits(1).json();
    let id = column(&seen, "id");
    let counts =
        ["files", "row_groups", "filters", "saturated", "wasted", "missing"].map(|field| number(id, field));
    assert_eq!(counts, [3, 6, 4, 2, 0, 2], "{id}");
    // Whole numbers in a row, and three values that are all in a dictionary, need no filter.
    let row = column(&seen, "row");
    assert_eq!((number(row, "wasted"), number(row, "wasted_min_max")), (6, 6), "{row}");
    let country = column(&seen, "country");
    assert_eq!((number(country, "wasted"), number(country, "wasted_dictionary")), (6, 6), "{country}");
    assert_eq!(number(column(&seen, "note"), "filters"), 0);
    // A saturated filter is read by every lookup, and so is a row group without one.
    let reads = id["useless_reads"].as_f64().unwrap();
    assert!(reads > 3.9 && reads < 4.1, "{reads}");
    let strict = run(&["inspect", "--json", "--fpr", "0.01%", &lake], b"").exits(1).json();
    assert_eq!(number(column(&strict, "id"), "saturated"), 4);
    let text = run(&["inspect", &lake], b"").exits(1);
    assert!(
        text.text().contains(": 3 Parquet files\n") && text.text().contains("\n1 column has no filter\n"),
        "{text:?}"
    );
    let lines = text.text().lines().filter(|line| line.starts_with("warning: ")).count();
    assert_eq!(lines, 4, "equal problems are one line: {text:?}");
}

#[test]
fn a_file_has_the_same_problems_alone_as_in_its_directory() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let all = run(&["inspect", "--json", &lake], b"").exits(1);
    for name in ["a.parquet", "b.parquet"] {
        let path = format!("{lake}/day=2026-11-17/{name}");
        let alone = run(&["inspect", "--json", &path], b"");
        let mut codes = (alone.codes(name), all.codes(name));
        codes.0.sort();
        codes.1.sort();
        assert_eq!(codes.0, codes.1, "{name}");
    }
}

#[test]
fn every_value_of_every_file_is_looked_up() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let all = run(&["verify", "--json", &lake], b"").exits(1);
    let seen = all.json();
    assert_eq!(number(&seen["summary"], "filters"), 4 + 6 + 6);
    assert_eq!(number(&seen["summary"], "keys"), 16 * ROWS as u64);
    assert_eq!(number(&seen["summary"], "missing"), 0);
    // The distinct values are counted, whatever the bits say.
    for place in seen["places"].as_array().unwrap() {
        let distinct = if place["column"] == "country" { 3 } else { ROWS as u64 };
        assert_eq!((number(place, "distinct"), &place["distinct_exact"]), (distinct, &Value::Bool(true)));
        let full = place["path"].as_str().unwrap().ends_with("b.parquet") && place["column"] == "id";
        assert_eq!(place["distinct_fpr"].as_f64().unwrap() > 0.9, full, "{place}");
    }
    assert_eq!(all.codes("b.parquet"), ["too-full", "too-full"]);
    assert_eq!(run(&["verify", "--json", "--fpr", "100%", &lake], b"").exits(0).codes("b.parquet"), [""; 0]);
    let strict = run(&["verify", "--json", "--fpr", "0.01%", &lake], b"").exits(1);
    assert_eq!(strict.codes("a.parquet"), ["too-full"; 4], "id and row, but not country");
    let lines = run(&["verify", &lake], b"").exits(1);
    assert_eq!(lines.text().lines().filter(|line| line.starts_with("warning: ")).count(), 1, "{lines:?}");
    // A hole in one filter is found, and its file is named.
    let path = dir.path("lake/day=2026-11-17/a.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let header = b"\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0";
    let at = bytes.windows(header.len()).position(|window| window == header).unwrap() + header.len();
    bytes[at..at + 200].fill(0);
    fs::write(&path, bytes).unwrap();
    let damaged = run(&["verify", &lake], b"").exits(1);
    assert!(damaged.text().contains("a.parquet: row group 0, column "), "{damaged:?}");
    assert!(damaged.text().contains(" are absent, the first is "), "{damaged:?}");
}

#[test]
fn which_names_files_and_row_groups_and_decides_partitions_by_the_path() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let answers = |column: &str, key: &str| -> Vec<(String, String, Value)> {
        let seen = run(&["which", "--json", "--column", column, "-e", key, &lake], b"");
        let places = seen.json()["places"].as_array().unwrap().clone();
        let name = |place: &Value| {
            Path::new(place["path"].as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned()
        };
        places
            .iter()
            .map(|place| {
                (name(place), place["answers"][0].as_str().unwrap().to_owned(), place["row_groups"].clone())
            })
            .collect()
    };
    let found = answers("id", &id(1500).to_string());
    assert_eq!(found[0], ("a.parquet".into(), "maybe".into(), serde_json::json!([1])));
    assert_eq!(found[2].1, "maybe", "a row group without a filter may have any value");
    let days: Vec<String> = answers("day", "2026-11-18").into_iter().map(|(_, answer, _)| answer).collect();
    assert_eq!(days, ["no", "no", "maybe"]);
    let list = run(&["which", "--column", "id", "-l", "-e", &id(20_500).to_string(), &lake], b"").exits(0);
    assert!(list.text().ends_with("c.parquet\n") && !list.text().contains("a.parquet"), "{list:?}");
    let text = run(&["which", "--column", "id", "-e", &id(1500).to_string(), &lake], b"").exits(0);
    assert!(text.text().contains("a.parquet (row group 1)"), "{text:?}");
    run(&["which", "--column", "nmae", "-e", "1", &lake], b"").fails_with("no file has a column");
    run(&["which", "-e", "1", &lake], b"").fails_with("country, day, id, note, row");
    run(&["which", "--column", "id", "-e", "one", &lake], b"").fails_with("not a number");
}

#[test]
fn keys_of_a_column_come_from_all_files() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let keys = run(&["keys", "--column", "row", &lake], b"").exits(0);
    let mut rows: Vec<i64> = keys.text().lines().map(|line| line.parse().unwrap()).collect();
    rows.sort_unstable();
    let expected: Vec<i64> = [0, 10_000, 20_000].iter().flat_map(|first| *first..*first + 2 * ROWS).collect();
    assert_eq!(rows, expected);
}

#[test]
fn damaged_files_are_errors_and_do_not_stop_the_others() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let whole = fs::read(dir.path("lake/day=2026-11-17/a.parquet")).unwrap();
    fs::write(dir.path("lake/cut.parquet"), &whole[..whole.len() - 20]).unwrap();
    fs::write(dir.path("lake/text.parquet"), "no table at all").unwrap();
    for command in ["inspect", "verify"] {
        let seen = run(&[command, &lake], b"");
        assert!(seen.code >= 1, "{seen:?}");
        let all = format!("{}{}", seen.text(), seen.err);
        for name in ["cut.parquet", "text.parquet"] {
            assert!(all.contains(name), "{command} {name}: {seen:?}");
        }
        assert!(seen.text().contains("country"), "{seen:?}");
    }
    // By its dashes, this name of Spark's could be that of an sstable.
    let spark = Dir::new();
    let path = "lake/part-00000-300d306a-cacd-49e1-9631-918dd81d5f5b.c000.snappy.parquet";
    write(&spark, &Part { path, first: 0, ndv: Some(1000), row_groups: 1 });
    assert!(run(&["inspect", &spark.arg("lake")], b"").exits(0).text().contains(": 1 Parquet file"));
    let plain = Dir::new();
    write(&plain, &Part { path: "lake/x", first: 0, ndv: None, row_groups: 1 });
    fs::create_dir(plain.path("empty")).unwrap();
    fs::write(plain.path("empty/notes.txt"), "no table").unwrap();
    run(&["inspect", &plain.arg("empty")], b"").fails_with("cannot find sstables");
    let seen = run(&["inspect", &plain.arg("lake")], b"");
    assert!(seen.text().contains("1 Parquet file"), "a name without an ending is no obstacle: {seen:?}");
}

#[test]
fn a_plan_sizes_the_filters_that_are_too_small_and_drops_those_that_save_nothing() {
    let dir = Dir::new();
    let lake = lake(&dir);
    let planned = run(&["plan", "--json", "--from", &lake], b"").exits(0).json();
    let columns: Vec<&str> = planned["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["column"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["id", "row", "country"]);
    let steps = planned["summary"]["next"]["steps"].as_array().unwrap();
    let command = |name: &str| {
        let step =
            steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{name}: {steps:?}"));
        step["command"].as_str().unwrap().to_owned()
    };
    assert_eq!(command("row"), "parquet.bloom.filter.enabled#row=false");
    assert_eq!(command("country"), "parquet.bloom.filter.enabled#country=false");
    // The sound filters say how many values there are; the full ones do not, and there are no more than rows.
    assert_eq!(
        command("id"),
        "parquet.bloom.filter.enabled#id=true parquet.bloom.filter.expected.ndv#id=1000 parquet.bloom.filter.fpp#id=0.01"
    );
    let id = &planned["places"][0];
    assert_eq!((number(id, "row_groups"), number(id, "filters")), (6, 4));
    assert!(id["now"]["useless_reads"].as_f64().unwrap() > 3.9);
    // Within a budget, and never above it.
    for memory in ["7KiB", "12KiB", "24KiB"] {
        let planned = run(&["plan", "--json", "--from", &lake, "--memory", memory], b"").exits(0).json();
        let summary = &planned["summary"];
        assert!(
            number(&summary["next"]["planned"], "bytes") <= number(summary, "memory"),
            "{memory}: {summary:#}"
        );
    }
    run(&["plan", "--from", &lake, "--memory", "100"], b"").exits(1);
    run(&["plan", "--from", &lake, "--fpr", "2"], b"").exits(2);
    run(&["plan", "--from", &lake, "--bits-per-key", "9"], b"").fails_with("sized by a rate");
    let file = format!("{lake}/day=2026-11-17/b.parquet");
    let text = run(&["plan", "--from", &file, "--report", &dir.arg("p.html")], b"").exits(0);
    assert!(text.text().starts_with("column id: 2 row groups, 2 with a filter"), "{text:?}");
}
