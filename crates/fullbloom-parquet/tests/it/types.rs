//! Every physical type with edge values: the keys are the plain encoding, and every one is found.

use crate::common::{Rows, column, file_of, filtered, open, plain, verify};
use fullbloom_dialects::Filter;
use fullbloom_dialects::Parquet;
use fullbloom_parquet::{Error, PhysicalType};
use parquet::basic::Encoding;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};

/// Writes one column with a filter, plainly and with a dictionary; its keys must be these.
fn check(schema: &str, physical_type: PhysicalType, keys: &[Vec<u8>], write: impl Fn(&mut Rows<'_>)) {
    for dictionary in [false, true] {
        let properties = filtered().set_bloom_filter_max_ndv(100).set_dictionary_enabled(dictionary);
        let bytes = file_of(&format!("message m {{ {schema} }}"), properties, 1, |_, rows| write(rows));
        let file = open(&bytes).unwrap();
        let [chunk] = file.chunks() else { panic!("{} chunks", file.chunks().len()) };
        assert_eq!(chunk.physical_type, physical_type);
        let mut found = Vec::new();
        file.for_each_values(chunk, |values| found.extend_from_slice(values)).unwrap();
        assert_eq!(found, keys, "{schema}");
        let verified = verify(&file, chunk).unwrap().unwrap();
        assert!(verified.is_well() && verified.values == keys.len() as u64, "{schema}: {verified:?}");
        let bytes = file.filter_bytes(chunk).unwrap().unwrap();
        let filter = Filter::<Parquet>::view(&bytes).unwrap();
        assert!(keys.iter().all(|key| filter.may_contain(key)));
        assert!(!filter.may_contain(b"absent") && !filter.may_contain(b"also absent"), "{schema}");
    }
}

fn le<const N: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<Vec<u8>> {
    values.iter().map(|&value| bytes(value).to_vec()).collect()
}

#[test]
fn integers_are_hashed_as_little_endian_bytes_at_their_limits_too() {
    let small = [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX];
    let large = [i64::MIN, i64::from(i32::MIN) - 1, -1, 0, 1, i64::from(u32::MAX), i64::MAX];
    for annotation in ["", " (DATE)", " (UINT_32)", " (DECIMAL(9, 2))"] {
        let schema = format!("required int32 a{annotation};");
        check(&schema, PhysicalType::Int32, &le(&small, i32::to_le_bytes), |rows| {
            column::<Int32Type>(rows, &small, None, None);
        });
    }
    for annotation in ["", " (TIMESTAMP_MICROS)", " (UINT_64)", " (DECIMAL(18, 2))"] {
        let schema = format!("required int64 a{annotation};");
        check(&schema, PhysicalType::Int64, &le(&large, i64::to_le_bytes), |rows| {
            column::<Int64Type>(rows, &large, None, None);
        });
    }
    let mut old = Int96::new();
    old.set_data(u32::MAX, 1, 0x8000_0000);
    let key = [[0xff; 4], [1, 0, 0, 0], [0, 0, 0, 0x80]].concat();
    check("required int96 a;", PhysicalType::Int96, &[key, vec![0; 12]], |rows| {
        column::<Int96Type>(rows, &[old, Int96::from(vec![0, 0, 0])], None, None);
    });
}

#[test]
fn floats_are_hashed_by_their_bits_so_zeros_and_nans_of_different_bits_are_different_keys() {
    let other_nan = [f32::from_bits(0x7fc0_0001), f32::from_bits(0xffff_ffff)];
    let single = [-0.0, 0.0, f32::NAN, other_nan[0], other_nan[1], f32::INFINITY, f32::MIN_POSITIVE / 2.0];
    check("required float a;", PhysicalType::Float, &le(&single, f32::to_le_bytes), |rows| {
        column::<FloatType>(rows, &single, None, None);
    });
    let double = [-0.0, 0.0, f64::NAN, f64::from_bits(0xfff8_0000_0000_0001), f64::NEG_INFINITY, f64::MAX];
    check("required double a;", PhysicalType::Double, &le(&double, f64::to_le_bytes), |rows| {
        column::<DoubleType>(rows, &double, None, None);
    });
    // Only the negative zero is in the file.
    let bytes = file_of("message m { required double a; }", filtered(), 1, |_, rows| {
        column::<DoubleType>(rows, &[-0.0], None, None);
    });
    let file = open(&bytes).unwrap();
    let bytes = file.filter_bytes(&file.chunks()[0]).unwrap().unwrap();
    let filter = Filter::<Parquet>::view(&bytes).unwrap();
    assert!(filter.may_contain((-0.0f64).to_le_bytes()) && !filter.may_contain(0.0f64.to_le_bytes()));
}

#[test]
fn byte_arrays_are_hashed_without_their_length_even_if_they_are_empty() {
    let texts: [&[u8]; 5] = [b"", b"\0", b"a", &[0xff; 300], "näme".as_bytes()];
    let keys: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    let arrays: Vec<ByteArray> = keys.iter().map(|key| ByteArray::from(key.clone())).collect();
    for annotation in ["", " (UTF8)", " (DECIMAL(20, 2))"] {
        let schema = format!("required binary a{annotation};");
        check(&schema, PhysicalType::ByteArray, &keys, |rows| {
            column::<ByteArrayType>(rows, &arrays, None, None);
        });
    }
    for (len, annotation) in [(1, ""), (2, " (FLOAT16)"), (9, " (DECIMAL(20, 2))"), (16, ""), (33, "")] {
        let keys = [vec![0; len], vec![0xff; len], vec![0x80; len]];
        let arrays = keys.clone().map(FixedLenByteArray::from);
        let schema = format!("required fixed_len_byte_array({len}) a{annotation};");
        check(&schema, PhysicalType::FixedLenByteArray, &keys, |rows| {
            column::<FixedLenByteArrayType>(rows, &arrays, None, None);
        });
    }
}

#[test]
fn nulls_are_no_keys_and_a_column_of_nulls_has_an_empty_filter() {
    let levels = [1, 0, 0, 1, 0];
    check("optional int32 a;", PhysicalType::Int32, &le(&[7, 0], i32::to_le_bytes), |rows| {
        column::<Int32Type>(rows, &[7, 0], Some(&levels), None);
    });
    check("optional binary a;", PhysicalType::ByteArray, &[], |rows| {
        column::<ByteArrayType>(rows, &[], Some(&[0; 1000]), None);
    });
    check("repeated int64 a;", PhysicalType::Int64, &le(&[5, 6], i64::to_le_bytes), |rows| {
        column::<Int64Type>(rows, &[5, 6], Some(&[0, 1, 1, 0]), Some(&[0, 0, 1, 0]));
    });
    check("required int64 a;", PhysicalType::Int64, &[], |rows| column::<Int64Type>(rows, &[], None, None));
}

#[test]
fn every_encoding_of_a_value_gives_the_same_key() {
    let encodings = [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];
    let texts = ["", "prefix", "prefixed", "prefixes"];
    let keys: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    for encoding in encodings {
        let properties = filtered().set_encoding(encoding);
        let bytes = file_of("message m { required binary a; }", properties, 1, |_, rows| {
            column::<ByteArrayType>(rows, &texts.map(ByteArray::from), None, None);
        });
        let file = open(&bytes).unwrap();
        let mut found = Vec::new();
        file.for_each_values(&file.chunks()[0], |values| found.extend_from_slice(values)).unwrap();
        assert_eq!(found, keys, "{encoding}");
        assert!(verify(&file, &file.chunks()[0]).unwrap().unwrap().is_well());
    }
}

#[test]
fn a_column_of_booleans_is_refused_with_or_without_a_filter() {
    for properties in [plain(), filtered()] {
        let bytes = file_of("message m { required boolean a; }", properties, 1, |_, rows| {
            column::<BoolType>(rows, &[true, false], None, None);
        });
        let file = open(&bytes).unwrap();
        let chunk = &file.chunks()[0];
        assert_eq!(chunk.physical_type, PhysicalType::Boolean);
        assert!(matches!(file.for_each_values(chunk, |_| panic!("no values")), Err(Error::Type)));
        assert!(matches!(verify(&file, chunk), Ok(None) | Err(Error::Type)));
    }
}
