//! Files with few or no filters, and footers and pages that announce more than is there.

use crate::common::{Rows, column, file_of, filtered, moved, open, plain, section, verify, with_footer};
use bytes::Bytes;
use fullbloom_parquet::{Error, File, is_parquet};
use fullbloom_testkit::alloc::peak_of;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};

const ONE: &str = "message m { required int32 a; }";

fn groups(count: usize) -> Vec<u8> {
    file_of(ONE, filtered(), count, |group, rows| {
        column::<Int32Type>(rows, &[group as i32], None, None);
    })
}

/// Fields of Thrift's compact encoding; `last` is the id of the field before.
fn field(id: u8, last: u8, kind: u8) -> u8 {
    (id - last) << 4 | kind
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// An element of the schema: a group of this many children, or a leaf of 32-bit integers.
fn element(children: Option<i32>) -> Vec<u8> {
    match children {
        None => vec![field(1, 0, 5), 2, field(3, 1, 5), 0, field(4, 3, 8), 1, b'a', 0],
        Some(n) => {
            let n = varint((n << 1 ^ n >> 31) as u32 as u64);
            [&[field(3, 0, 5), 0, field(4, 3, 8), 1, b'g', field(5, 4, 5)][..], &n, &[0]].concat()
        }
    }
}

/// A footer with this schema, no rows and no row groups.
fn footer(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut footer = vec![field(1, 0, 5), 2, field(2, 1, 9), 0xfc];
    footer.extend(varint(elements.len() as u64));
    footer.extend(elements.concat());
    footer.extend([field(3, 2, 6), 0, field(4, 3, 9), 0x0c, 0]);
    with_footer(b"PAR1", &footer)
}

/// Opens bytes, which must not take more memory than this.
fn open_within(most: u64, bytes: &[u8]) -> Result<File, Error> {
    let (file, peak) = peak_of(|| open(bytes));
    assert!(peak <= most, "{peak} bytes of memory for a file of {}", bytes.len());
    file
}

#[test]
fn a_file_without_filters_has_none_to_verify() {
    let bytes = file_of(ONE, plain(), 2, |_, rows| column::<Int32Type>(rows, &[1], None, None));
    let file = open(&bytes).unwrap();
    assert_eq!(file.chunks().len(), 2);
    for chunk in file.chunks() {
        assert!(!chunk.has_filter());
        assert_eq!(file.filter_bytes(chunk).unwrap(), None);
        assert_eq!(verify(&file, chunk).unwrap(), None);
    }
}

#[test]
fn filters_of_some_row_groups_belong_to_those_row_groups() {
    let bytes = moved(&groups(3), &[], |group, _, old| if group == 1 { (None, None) } else { old });
    let file = open(&bytes).unwrap();
    let has_filter: Vec<bool> = file.chunks().iter().map(|chunk| chunk.has_filter()).collect();
    assert_eq!(has_filter, [true, false, true]);
    for chunk in file.chunks() {
        let verified = verify(&file, chunk).unwrap();
        assert_eq!(verified.is_some(), chunk.has_filter());
        assert!(verified.is_none_or(|verified| verified.is_well() && verified.values == 1));
    }
    // A length without an offset is no filter.
    let bytes = moved(&groups(1), &[], |_, _, (_, len)| (None, len));
    assert!(!open(&bytes).unwrap().chunks()[0].has_filter());
}

#[test]
fn files_of_no_row_groups_and_of_no_columns_have_no_chunks() {
    assert_eq!(open(&groups(0)).unwrap().chunks(), []);
    let nothing = file_of("message m { }", filtered(), 2, |_, _| {});
    assert_eq!(open(&nothing).unwrap().chunks(), []);
    assert_eq!(open(&footer(&[element(Some(1)), element(None)])).unwrap().chunks(), []);
}

#[test]
fn an_encrypted_footer_is_refused() {
    let mut bytes = groups(1);
    let end = bytes.len() - 4;
    bytes[end..].copy_from_slice(b"PARE");
    assert!(matches!(open(&bytes), Err(Error::File(_))));
    bytes[..4].copy_from_slice(b"PARE");
    assert!(matches!(open(&bytes), Err(Error::File(_))));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("encrypted.parquet");
    std::fs::write(&path, &bytes).unwrap();
    assert!(!is_parquet(&path) && File::open(&path).is_err());
}

#[test]
fn a_footer_longer_than_the_file_is_refused() {
    let whole = groups(1);
    for len in [whole.len() as u32 - 7, whole.len() as u32, 1 << 31, u32::MAX] {
        let mut bytes = whole.clone();
        let at = bytes.len() - 8;
        bytes[at..at + 4].copy_from_slice(&len.to_le_bytes());
        assert!(open_within(1 << 20, &bytes).is_err(), "{len}");
    }
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1", b"\0\0\0\0PAR1"] {
        assert!(open_within(1 << 20, bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_group_of_the_schema_with_more_children_than_elements_is_refused_before_memory_is_allocated() {
    for children in [2, 1000, 1 << 24, i32::MAX, -1, i32::MIN] {
        for groups in 0..3 {
            let mut elements = vec![element(Some(1)); groups];
            elements.extend([element(Some(children)), element(None)]);
            assert!(open_within(1 << 16, &footer(&elements)).is_err(), "{children} children");
        }
    }
}

#[test]
fn a_schema_of_many_levels_is_refused_before_the_stack_ends() {
    let nested = |levels| {
        let mut elements = vec![element(Some(1)); levels];
        elements.push(element(None));
        footer(&elements)
    };
    assert!(open(&nested(100)).is_ok());
    assert!(matches!(open(&nested(100_000)), Err(Error::Malformed { .. })));
    // As many groups beside each other are no problem.
    let mut wide = vec![element(Some(2000))];
    wide.extend((0..2000).flat_map(|_| [element(Some(1)), element(None)]));
    assert!(open(&footer(&wide)).is_ok());
}

/// A page header: a plain data page of `values` values, whose bytes are `size` long.
fn page(values: i32, size: i32) -> Vec<u8> {
    let number = |n: i32| varint((n << 1 ^ n >> 31) as u32 as u64);
    let mut header = vec![field(1, 0, 5), 0, field(2, 1, 5)];
    header.extend(number(size));
    header.push(field(3, 2, 5));
    header.extend(number(size));
    header.extend([field(5, 3, 12), field(1, 0, 5)]);
    header.extend(number(values));
    // Plain values, and runs of levels.
    header.extend([field(2, 1, 5), 0, field(3, 2, 5), 6, field(4, 3, 5), 6, 0, 0]);
    header
}

/// Replaces the pages of the only column by `pages`, and its filter by one that is empty.
fn with_pages(schema: &str, write: impl Fn(&mut Rows<'_>), pages: &[u8], values: i64) -> Vec<u8> {
    let file = file_of(schema, plain(), 1, |_, rows| write(rows));
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(file)).unwrap();
    let group = metadata.row_groups()[0].clone();
    let filter = section(1, &[]);
    let chunk = group.columns()[0].clone().into_builder();
    let chunk = chunk
        .set_data_page_offset(4)
        .set_num_values(values)
        .set_total_compressed_size(pages.len() as i64)
        .set_total_uncompressed_size(pages.len() as i64)
        .set_bloom_filter_offset(Some(4 + pages.len() as i64))
        .set_bloom_filter_length(Some(filter.len() as i32))
        .build()
        .unwrap();
    let group = group.into_builder().set_num_rows(1).set_column_metadata(vec![chunk]).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &metadata).finish().unwrap();
    [b"PAR1", pages, &filter, &footer].concat()
}

#[test]
fn a_record_of_a_billion_nulls_in_ten_bytes_is_refused() {
    let values = 1 << 30;
    // One value that begins the record, then a run of values that continue it; all are null.
    let levels = |first: &[u8], rest: u8| {
        let run = [first, &varint((values as u64 - 1) << 1), &[rest]].concat();
        [&(run.len() as u32).to_le_bytes()[..], &run].concat()
    };
    let body = [levels(&[2, 0], 1), levels(&[2, 0], 0)].concat();
    let pages = [page(values, body.len() as i32), body].concat();
    let bytes = with_pages(
        "message m { repeated int32 a; }",
        |rows| column::<Int32Type>(rows, &[], Some(&[0]), Some(&[0])),
        &pages,
        values.into(),
    );
    let file = open(&bytes).unwrap();
    let (verified, peak) = peak_of(|| verify(&file, &file.chunks()[0]));
    assert!(matches!(verified, Err(Error::TooManyValues { values: 0x4000_0000 })), "{verified:?}");
    assert!(peak < 1 << 20, "{peak} bytes of memory");
}

#[test]
fn a_large_value_that_a_dictionary_repeats_is_not_held_once_for_each_row() {
    let large = ByteArray::from(vec![7; 1 << 18]);
    let bytes = file_of(
        "message m { required binary a; }",
        filtered().set_dictionary_enabled(true).set_bloom_filter_for_dictionary_encoded_chunks(true),
        1,
        |_, rows| column::<ByteArrayType>(rows, &vec![large.clone(); 200], None, None),
    );
    assert!(bytes.len() < 1 << 19, "the value is stored once: {} bytes", bytes.len());
    let file = open(&bytes).unwrap();
    let (verified, peak) = peak_of(|| verify(&file, &file.chunks()[0]).unwrap().unwrap());
    assert!(verified.is_well() && verified.values == 200, "{verified:?}");
    assert!(peak < 4 << 20, "{peak} bytes of memory");
}

#[test]
fn pages_without_their_required_fields_are_refused() {
    let zeros = vec![0; 1 << 16];
    let bytes = with_pages(ONE, |rows| column::<Int32Type>(rows, &[1], None, None), &zeros, 1);
    let file = open(&bytes).unwrap();
    let verified = verify(&file, &file.chunks()[0]);
    assert!(matches!(verified, Err(Error::Malformed { .. })), "{verified:?}");
}
