//! Files written by the parquet crate: every filter is found, every value of its column is in it, and damage
//! is reported.

use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_parquet::{Error, File, Options, is_parquet};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::path::Path;
use std::sync::Arc;

const SCHEMA: &str = "message people {
    required int32 small;
    required int64 id;
    required float ratio;
    required double weight;
    optional byte_array name (UTF8);
    required fixed_len_byte_array(5) code;
    repeated int32 tags;
}";

/// Records of a row group: more than are read at once.
const RECORDS: usize = 4500;

/// Lookups of absent keys that measure a rate.
const ABSENT: u64 = 10_000;

/// Two row groups of this many records; filters on all columns but `ratio`.
fn write(path: &Path, records: i64, compression: Compression) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut properties = WriterProperties::builder().set_compression(compression);
    for column in ["small", "id", "weight", "name", "code", "tags"] {
        properties = properties.set_column_bloom_filter_max_ndv(column.into(), records as u64);
    }
    let properties = properties.build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for group in 0..2 {
        let ids: Vec<i64> = (0..records).map(|i| group * records + i).collect();
        let mut rows = writer.next_row_group().unwrap();
        macro_rules! column {
            ($type:ty, $values:expr, $definitions:expr, $repetitions:expr) => {{
                let mut column = rows.next_column().unwrap().unwrap();
                column.typed::<$type>().write_batch(&$values, $definitions, $repetitions).unwrap();
                column.close().unwrap();
            }};
        }
        column!(Int32Type, ids.iter().map(|&i| i as i32 * 7).collect::<Vec<_>>(), None, None);
        column!(Int64Type, ids, None, None);
        column!(FloatType, ids.iter().map(|&i| i as f32 / 3.0).collect::<Vec<_>>(), None, None);
        column!(DoubleType, ids.iter().map(|&i| i as f64 / 3.0).collect::<Vec<_>>(), None, None);
        // Every third name is null.
        let defined: Vec<i16> = ids.iter().map(|i| i16::from(i % 3 != 0)).collect();
        let names: Vec<ByteArray> = ids
            .iter()
            .filter(|&i| i % 3 != 0)
            .map(|i| ByteArray::from(format!("näme {i}").into_bytes()))
            .collect();
        column!(ByteArrayType, names, Some(&defined), None);
        let codes: Vec<FixedLenByteArray> =
            ids.iter().map(|i| FixedLenByteArray::from(format!("{:05}", i % 100_000).into_bytes())).collect();
        column!(FixedLenByteArrayType, codes, None, None);
        // Records of one and two tags, and none.
        let (mut tags, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for &i in &ids {
            for tag in 0..(i % 3).max(1) {
                defined.push(i16::from(i % 3 != 0));
                repeated.push(i16::from(tag > 0));
                if i % 3 != 0 {
                    tags.push((i * 10 + tag) as i32);
                }
            }
        }
        column!(Int32Type, tags, Some(&defined), Some(&repeated));
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn every_value_of_every_column_is_found_whatever_the_compression() {
    let dir = tempfile::tempdir().unwrap();
    let all = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(Default::default()),
    ];
    for compression in all {
        let path = dir.path().join("people.parquet");
        write(&path, RECORDS as i64, compression);
        assert!(is_parquet(&path));
        let file = File::open(&path).unwrap();
        assert_eq!(file.chunks().len(), 14);
        for chunk in file.chunks() {
            let verified = file.verify(chunk, Options { absent: ABSENT }).unwrap();
            assert_eq!(verified.is_some(), chunk.name != "ratio", "{}", chunk.name);
            assert_eq!(chunk.has_filter(), verified.is_some());
            let Some(verified) = verified else { continue };
            assert!(verified.is_well(), "{compression:?}, {}: {verified:?}", chunk.name);
            let expected = match chunk.name.as_str() {
                "name" => {
                    let is_null = |i: &usize| (i + chunk.row_group * RECORDS).is_multiple_of(3);
                    (RECORDS - (0..RECORDS).filter(is_null).count()) as u64
                }
                "tags" => chunk.values - chunk.nulls.unwrap_or(0),
                _ => RECORDS as u64,
            };
            assert!(verified.values == expected || chunk.name == "tags", "{}", chunk.name);
            let sigma = (verified.expected_fpr / ABSENT as f64).sqrt();
            assert!((verified.measured_fpr - verified.expected_fpr).abs() <= 5.0 * sigma + 1e-5);
        }
    }
}

#[test]
fn a_value_that_was_lost_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.parquet");
    write(&path, 1000, Compression::SNAPPY);
    let file = File::open(&path).unwrap();
    let chunk = &file.chunks()[1];
    let bytes = file.filter_bytes(chunk).unwrap().unwrap();
    let mut whole = std::fs::read(&path).unwrap();
    let at = whole.windows(bytes.len()).position(|window| window == bytes).unwrap();
    // The bits of the id 0, which 8 of its bits say is there.
    let mut filter = Filter::<Parquet>::decode(&bytes).unwrap();
    filter.clear().unwrap();
    filter.insert(0i64.to_le_bytes());
    let lost = filter.encode();
    let byte = (16..lost.len()).find(|&i| lost[i] != 0).unwrap();
    whole[at + byte] &= !lost[byte];
    std::fs::write(&path, &whole).unwrap();
    let file = File::open(&path).unwrap();
    let verified = file.verify(&file.chunks()[1], Options { absent: 0 }).unwrap().unwrap();
    assert!(!verified.is_well() && verified.missing >= 1 && !verified.rebuilt_identical);
    assert_eq!(verified.first_missing.as_deref(), Some(&0i64.to_le_bytes()[..]));
    assert!(Filter::<Parquet>::view(&file.filter_bytes(&file.chunks()[1]).unwrap().unwrap()).is_ok());
}

#[test]
fn cut_and_flipped_files_are_errors_or_files_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.parquet");
    write(&path, 50, Compression::SNAPPY);
    let whole = std::fs::read(&path).unwrap();
    let judge = |bytes: &[u8]| -> Result<(), Error> {
        let path = dir.path().join("damaged.parquet");
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path)?;
        for chunk in file.chunks() {
            let _ = file.verify(chunk, Options { absent: 10 });
        }
        Ok(())
    };
    for len in (0..whole.len()).step_by(61) {
        assert!(judge(&whole[..len]).is_err(), "cut to {len} bytes");
    }
    for at in (0..whole.len()).step_by(23) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        let _ = judge(&damaged);
    }
    assert!(judge(&whole).is_ok());
    assert!(!is_parquet(&dir.path().join("absent")) && !is_parquet(dir.path()));
}
