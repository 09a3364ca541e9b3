//! Every truncation and every changed byte of a small file.

use crate::common::{TAIL, column, file_of, filtered, footer_start, open, verify};
use fullbloom_parquet::{Error, File};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{byte_changes, prefixes};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use std::ops::Range;

/// Damage can announce a page of up to 64 MiB: pages of that size are read.
const MOST_MEMORY: u64 = 65 << 20;

/// Two columns of one row group, each with a filter.
fn small() -> Vec<u8> {
    file_of("message m { required int32 a; optional binary b; }", filtered(), 1, |_, rows| {
        column::<Int32Type>(rows, &[1, -7, i32::MAX], None, None);
        let texts = [ByteArray::from("x"), ByteArray::from("")];
        column::<ByteArrayType>(rows, &texts, Some(&[1, 0, 1]), None);
    })
}

/// The ranges of a file's filters.
fn filters(bytes: &[u8]) -> Vec<Range<usize>> {
    let file = open(bytes).unwrap();
    let range = |filter: Vec<u8>| {
        let at = bytes.windows(filter.len()).position(|window| window == filter).unwrap();
        at..at + filter.len()
    };
    file.chunks().iter().map(|chunk| range(file.filter_bytes(chunk).unwrap().unwrap())).collect()
}

/// Opens the bytes, and verifies every chunk: its filter is well, or is not, or there is an error.
fn judge(bytes: &[u8]) -> Result<Vec<Result<bool, Error>>, Error> {
    let (judged, peak) = peak_of(|| {
        let file: File = open(bytes)?;
        let judged = file.chunks().iter().map(|chunk| {
            verify(&file, chunk).map(|verified| verified.is_none_or(|verified| verified.is_well()))
        });
        Ok(judged.collect())
    });
    assert!(peak <= MOST_MEMORY, "{peak} bytes of memory for a file of {}", bytes.len());
    judged
}

fn is_well(judged: &Result<Vec<Result<bool, Error>>, Error>) -> bool {
    judged.as_ref().is_ok_and(|chunks| chunks.iter().all(|chunk| matches!(chunk, Ok(true))))
}

#[test]
fn every_truncation_is_refused() {
    let whole = small();
    assert!(is_well(&judge(&whole)));
    for prefix in prefixes(&whole) {
        assert!(judge(prefix).is_err(), "cut to {} bytes", prefix.len());
    }
}

#[test]
fn every_changed_byte_of_a_filter_header_is_an_error_and_every_changed_bit_is_found_by_verify() {
    let whole = small();
    let ranges = filters(&whole);
    for (filter, range) in ranges.iter().enumerate() {
        let header = range.start..range.end - 32;
        for (at, changed) in byte_changes(&whole, header.clone()).filter(|(at, _)| range.contains(at)) {
            let chunks = judge(&changed).unwrap();
            assert!(matches!(chunks[1 - filter], Ok(true)), "the other filter, byte {at}");
            match &chunks[filter] {
                Err(Error::Filter(_) | Error::Place { .. } | Error::Malformed { .. }) => {
                    assert!(header.contains(&at), "byte {at}");
                }
                Ok(well) => assert!(!well && !header.contains(&at), "byte {at}"),
                Err(e) => panic!("byte {at}: {e}"),
            }
        }
    }
}

#[test]
fn a_changed_byte_of_the_footer_or_of_a_page_never_panics_and_never_gives_a_chunk_another_filter() {
    let whole = small();
    let (ranges, footer) = (filters(&whole), footer_start(&whole));
    let mut seen = 0;
    for (at, changed) in byte_changes(&whole, footer..footer + 4) {
        if ranges.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let judged = judge(&changed);
        seen += usize::from(!is_well(&judged));
        // The length of the footer and the magic are at the end.
        assert!(at < whole.len() - TAIL || judged.is_err(), "byte {at}");
        let Ok(file) = open(&changed) else { continue };
        for (chunk, range) in file.chunks().iter().zip(&ranges) {
            if let Ok(Some(filter)) = file.filter_bytes(chunk) {
                assert_eq!(filter, whole[range.clone()], "byte {at}");
            }
        }
    }
    assert!(seen > 1000, "{seen} changes were seen");
}

#[test]
fn bytes_appended_to_a_file_are_refused() {
    let whole = small();
    for extra in 1..=17 {
        let mut longer = whole.clone();
        longer.resize(whole.len() + extra, b'1');
        assert!(judge(&longer).is_err(), "{extra} bytes appended");
    }
}
