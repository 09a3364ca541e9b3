//! Where the footer puts a filter, and what the header there says: positions outside the file, overlaps, and
//! headers that disagree with the section.

use crate::common::{Place, column, file_of, filtered, footer_start, moved, open, plain, section, verify};
use fullbloom_parquet::Error;
use fullbloom_testkit::alloc::peak_of;
use parquet::data_type::Int32Type;

const SCHEMA: &str = "message m { required int32 a; required int32 b; }";
const VALUES: [i32; 2] = [3, 5];

/// Two columns with a filter each.
fn two() -> Vec<u8> {
    file_of(SCHEMA, filtered(), 1, |_, rows| {
        column::<Int32Type>(rows, &VALUES, None, None);
        column::<Int32Type>(rows, &[3000, 5000], None, None);
    })
}

/// One column without a filter. Its long name makes the footer longer than the filters that are forged.
fn bare() -> Vec<u8> {
    let schema = format!("message m {{ required int32 {}; }}", "a".repeat(200));
    file_of(&schema, plain(), 1, |_, rows| {
        column::<Int32Type>(rows, &VALUES, None, None);
    })
}

/// What verifying the first column says, with its filter at this place.
fn at(file: &[u8], place: impl Fn(Place) -> Place) -> Result<bool, Error> {
    let forged = moved(file, &[], |_, column, old| if column == 0 { place(old) } else { old });
    judge(&forged)
}

/// What verifying the first column says if `section` is written into the file as its filter.
fn with_section(section: &[u8], len: Option<i32>) -> Result<bool, Error> {
    let file = bare();
    let offset = footer_start(&file) as i64;
    judge(&moved(&file, section, |_, _, _| (Some(offset), len)))
}

fn judge(bytes: &[u8]) -> Result<bool, Error> {
    let (judged, peak) = peak_of(|| {
        let file = open(bytes).unwrap();
        let chunk = &file.chunks()[0];
        assert!(chunk.has_filter());
        verify(&file, chunk).map(|verified| verified.unwrap().is_well())
    });
    assert!(peak < 1 << 20, "{peak} bytes of memory");
    judged
}

/// A header as the compact protocol writes it: the number of bytes, then three unions with this field each.
fn header(bytes: i64, fields: [u8; 3]) -> Vec<u8> {
    let mut header = vec![0x15];
    let mut zigzag = (bytes << 1 ^ bytes >> 63) as u64;
    while zigzag >= 0x80 {
        header.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    header.push(zigzag as u8);
    for field in fields {
        header.extend([0x1c, field << 4 | 0xc, 0, 0]);
    }
    header.push(0);
    header
}

#[test]
fn offsets_and_lengths_outside_the_file_are_refused() {
    let file = two();
    let end = footer_start(&file) as i64;
    assert!(at(&file, |old| old).unwrap());
    let offsets = [i64::MIN, i64::MIN + 1, -1, end, end + 1, file.len() as i64, 1 << 40, i64::MAX];
    for offset in offsets {
        for len in [None, Some(47), Some(0), Some(-1), Some(i32::MIN), Some(i32::MAX)] {
            let judged = at(&file, |_| (Some(offset), len));
            assert!(matches!(judged, Err(Error::Place { .. })), "{offset}, {len:?}: {judged:?}");
        }
    }
    for len in [-1, i32::MIN, i32::MAX, end as i32] {
        let judged = at(&file, |(offset, _)| (offset, Some(len)));
        assert!(matches!(judged, Err(Error::Place { .. })), "{len}: {judged:?}");
    }
    for len in [0, 1, 15, 32, 46, 48, 64] {
        let judged = at(&file, |(offset, _)| (offset, Some(len)));
        assert!(matches!(judged, Err(Error::Filter(_))), "{len}: {judged:?}");
    }
}

#[test]
fn no_other_offset_of_the_file_is_read_as_the_filter() {
    let file = two();
    let mut right = None;
    let checked = at(&file, |old| {
        assert_eq!(old.1, Some(47), "the length that is tried below");
        old
    });
    assert!(checked.unwrap());
    for offset in 0..file.len() as i64 {
        for len in [None, Some(47), Some(32), Some(64)] {
            match at(&file, |_| (Some(offset), len)) {
                Ok(well) => {
                    assert!(well, "{offset}, {len:?}");
                    assert_eq!(*right.get_or_insert(offset), offset);
                }
                Err(Error::Place { .. } | Error::Filter(_) | Error::Malformed { .. }) => {}
                Err(e) => panic!("{offset}, {len:?}: {e}"),
            }
        }
    }
    assert!(right.is_some());
}

#[test]
fn two_chunks_with_the_same_filter_and_filters_that_overlap_are_refused() {
    let file = two();
    let mut second = (None, None);
    moved(&file, &[], |_, column, old| {
        if column == 1 {
            second = old;
        }
        old
    });
    // Values of the first column are absent from the filter of the second: a confident and wrong "no".
    assert!(matches!(at(&file, |_| second), Err(Error::Malformed { .. })));
    assert!(matches!(at(&file, |_| (second.0, None)), Err(Error::Malformed { .. })));
    // A filter of three blocks, whose last block is also a valid filter of the second column.
    let file = file_of(SCHEMA, plain(), 1, |_, rows| {
        column::<Int32Type>(rows, &VALUES, None, None);
        column::<Int32Type>(rows, &VALUES, None, None);
    });
    let start = footer_start(&file) as i64;
    let keys: Vec<[u8; 4]> = VALUES.iter().map(|value| value.to_le_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 4]>::as_slice).collect();
    let mut outer = section(3, &keys);
    let inner = section(1, &keys);
    let inside = outer.len() - inner.len();
    outer[inside..].copy_from_slice(&inner);
    let (outer_len, inner_len) = (Some(outer.len() as i32), Some(inner.len() as i32));
    for lengths in [(outer_len, inner_len), (None, inner_len), (outer_len, None), (None, None)] {
        let forged = moved(&file, &outer, |_, column, _| match column {
            0 => (Some(start), lengths.0),
            _ => (Some(start + inside as i64), lengths.1),
        });
        let opened = open(&forged).unwrap();
        let first = opened.filter_bytes(&opened.chunks()[0]);
        assert!(matches!(first, Err(Error::Malformed { .. })), "{lengths:?}: {first:?}");
    }
}

#[test]
fn a_filter_that_reaches_into_the_footer_is_refused() {
    let file = bare();
    let section = header(96, [1; 3]);
    for len in [None, Some(section.len() as i32 + 96)] {
        let forged = moved(&file, &section, |_, _, _| (Some(footer_start(&file) as i64), len));
        assert!(forged.len() > footer_start(&forged) + 96, "the footer is longer than the blocks");
        assert!(matches!(judge(&forged), Err(Error::Place { .. })), "{len:?}");
    }
}

#[test]
fn a_header_that_disagrees_with_the_length_of_the_section_is_refused() {
    let keys = VALUES.map(i32::to_le_bytes);
    let good = section(2, &[&keys[0], &keys[1]]);
    let len = good.len() as i32;
    assert!(with_section(&good, Some(len)).unwrap());
    assert!(with_section(&good, None).unwrap());
    // The section without its header, without its last block, and one block too long.
    for wrong in [64, len - 32, len + 32, len - 1, len + 1] {
        let padded = [good.as_slice(), &[0; 64]].concat();
        let judged = with_section(&padded, Some(wrong));
        assert!(matches!(judged, Err(Error::Filter(_))), "{wrong}: {judged:?}");
    }
    // Without a length in the footer the header alone counts, and what follows it is not read.
    assert!(with_section(&[good.as_slice(), &[0xff; 64]].concat(), None).unwrap());
    assert!(matches!(with_section(&good[..good.len() - 1], None), Err(Error::Place { .. })));
}

#[test]
fn impossible_numbers_of_bytes_are_refused() {
    let huge = i64::from(i32::MAX);
    for bytes in [0, 1, 16, 31, 33, 48, -1, -32, huge, huge + 1, 1 << 32, i64::MAX & !31, i64::MIN] {
        let section = [header(bytes, [1; 3]), vec![0xff; 64]].concat();
        for len in [None, Some(section.len() as i32), Some(64)] {
            let judged = with_section(&section, len);
            assert!(matches!(judged, Err(Error::Filter(_))), "{bytes}, {len:?}: {judged:?}");
        }
    }
    // Two gibibytes are possible, but not in this file.
    let section = [header(huge - 31, [1; 3]), vec![0xff; 64]].concat();
    for len in [None, Some(section.len() as i32), Some(i32::MAX)] {
        assert!(with_section(&section, len).is_err(), "{len:?}");
    }
    let endless = [&[0x15][..], &[0xff; 80]].concat();
    assert!(matches!(with_section(&endless, None), Err(Error::Filter(_))));
}

#[test]
fn unknown_algorithms_hashes_and_compressions_are_refused_even_if_the_section_is_whole_blocks() {
    for unknown in 0..3 {
        let mut fields = [1; 3];
        fields[unknown] = 2;
        let header = header(64, fields);
        // All bits are clear: read as blocks, it would say no to every key.
        for len in [header.len() + 64, 96, 64, 32] {
            let section = [header.as_slice(), &vec![0; len - header.len()]].concat();
            let judged = with_section(&section, Some(len as i32));
            assert!(matches!(judged, Err(Error::Filter(_))), "{unknown}, {len}: {judged:?}");
        }
        assert!(with_section(&[header.as_slice(), &[0; 64]].concat(), None).is_err());
    }
}

#[test]
fn blocks_without_a_header_are_refused_in_a_parquet_file() {
    for blocks in [1, 2, 64] {
        let bits = vec![0; 32 * blocks];
        let judged = with_section(&bits, Some(bits.len() as i32));
        assert!(matches!(judged, Err(Error::Filter(_))), "{blocks} blocks: {judged:?}");
    }
}
