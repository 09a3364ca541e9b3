//! Pruning: no row group that has a value is dropped, absent values are pruned, and a file behind an
//! asynchronous reader gives the same answers as the same bytes in memory.

use crate::common::{Place, Rows, column, file_of, filtered, footer_start, moved, open, plain, section};
use fullbloom_parquet::{Answer, AsyncFile, Error, ReadRanges, Value};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::byte_changes;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// Polls until the future is ready. The futures here wake nobody, so it never sleeps.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

/// A file elsewhere, which records what is read.
struct Remote<'a> {
    bytes: &'a [u8],
    reads: Mutex<Vec<Range<u64>>>,
    /// A byte whose reads fail.
    broken: Option<u64>,
    /// How many bytes each read returns too few.
    short: usize,
}

impl<'a> Remote<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Remote { bytes, reads: Mutex::new(Vec::new()), broken: None, short: 0 }
    }

    fn reads(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

impl ReadRanges for Remote<'_> {
    async fn byte_len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    async fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        assert!(range.start < range.end && range.end <= self.bytes.len() as u64, "{range:?}");
        let mut is_later = false;
        poll_fn(|_| match std::mem::replace(&mut is_later, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        self.reads.lock().unwrap().push(range.clone());
        if self.broken.is_some_and(|at| range.contains(&at)) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(self.bytes[range.start as usize..range.end as usize - self.short].to_vec())
    }
}

/// The row groups that are kept, and the answers; the asynchronous reader must give the same.
fn prune(bytes: &[u8], name: &str, values: &[Value<'_>]) -> Result<(Vec<usize>, String), Error> {
    let all = |pruned: fullbloom_parquet::Pruned| {
        (pruned.row_groups().collect::<Vec<_>>(), format!("{:?}", pruned.answers()))
    };
    let here = open(bytes).and_then(|file| file.prune(name, values)).map(all);
    let remote = Remote::new(bytes);
    let there = block_on(async { AsyncFile::open(&remote).await?.prune(name, values).await }).map(all);
    assert_eq!(format!("{here:?}"), format!("{there:?}"));
    here
}

fn kept(bytes: &[u8], name: &str, values: &[Value<'_>]) -> Vec<usize> {
    prune(bytes, name, values).unwrap().0
}

/// Whether the value is of a type that does not fit.
fn misfits(bytes: &[u8], name: &str, value: Value<'_>) -> bool {
    matches!(prune(bytes, name, &[value]), Err(Error::ValueType { .. } | Error::ValueLen { .. }))
}

/// No row group is kept.
const NONE: [usize; 0] = [];

const GROUPS: usize = 3;
const ROWS: usize = 1000;

const SCHEMA: &str = "message m {
    required int32 small;
    required int64 large;
    required int96 old;
    required float ratio;
    required double weight;
    required binary name (UTF8);
    required fixed_len_byte_array(5) code;
    required fixed_len_byte_array(9) price (DECIMAL(20, 2));
    required int32 day (DATE);
    required int64 time (TIMESTAMP_MICROS);
    required boolean flag;
}";

/// A value of each column, in the order of the schema.
struct Row {
    number: i64,
    name: String,
    code: [u8; 5],
    price: [u8; 9],
}

impl Row {
    fn new(number: i64) -> Row {
        let mut price = [0; 9];
        price[1..].copy_from_slice(&number.to_be_bytes());
        Row {
            number,
            name: format!("näme {number}"),
            code: *format!("{number:05}").as_bytes().first_chunk().unwrap(),
            price,
        }
    }

    fn old(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    fn values(&self) -> [(&'static str, Value<'_>); 10] {
        let number = self.number;
        [
            ("small", Value::Int32(number as i32 - 1500)),
            ("large", Value::Int64(number << 33)),
            ("old", Value::Int96(self.old())),
            ("ratio", Value::Float(number as f32 / 3.0)),
            ("weight", Value::Double(number as f64 / 3.0)),
            ("name", self.name.as_str().into()),
            ("code", Value::FixedLenByteArray(&self.code)),
            ("price", Value::FixedLenByteArray(&self.price)),
            ("day", Value::Int32(number as i32)),
            ("time", Value::Int64(number * 1_000_000)),
        ]
    }
}

/// Row group `group` has the rows `ROWS * group ..`.
fn all_types(groups: usize) -> Vec<u8> {
    let properties = filtered().set_bloom_filter_max_ndv(ROWS as u64).set_bloom_filter_fpp(0.01);
    file_of(SCHEMA, properties, groups, |group, rows| {
        let all: Vec<Row> = (0..ROWS).map(|i| Row::new((group * ROWS + i) as i64)).collect();
        macro_rules! write {
            ($type:ty, $value:expr) => {
                column::<$type>(rows, &all.iter().map($value).collect::<Vec<_>>(), None, None)
            };
        }
        write!(Int32Type, |row| row.number as i32 - 1500);
        write!(Int64Type, |row| row.number << 33);
        write!(Int96Type, |row| Int96::from(vec![row.number as u32, 0, 0]));
        write!(FloatType, |row| row.number as f32 / 3.0);
        write!(DoubleType, |row| row.number as f64 / 3.0);
        write!(ByteArrayType, |row| ByteArray::from(row.name.as_str()));
        write!(FixedLenByteArrayType, |row| FixedLenByteArray::from(row.code.to_vec()));
        write!(FixedLenByteArrayType, |row| FixedLenByteArray::from(row.price.to_vec()));
        write!(Int32Type, |row| row.number as i32);
        write!(Int64Type, |row| row.number * 1_000_000);
        write!(BoolType, |row| row.number % 2 == 0);
    })
}

#[test]
fn values_of_every_type_are_kept_and_absent_values_are_pruned_at_the_rate_of_the_filter() {
    let bytes = all_types(GROUPS);
    let file = open(&bytes).unwrap();
    assert_eq!(file.row_groups(), GROUPS);
    for number in 0..GROUPS * ROWS {
        let row = Row::new(number as i64);
        for (name, value) in row.values() {
            let group = number / ROWS;
            let query = file.query(name, &[value]).unwrap();
            assert!(file.may_contain(&query, group).may_contain(), "{name}: {value:?}");
        }
    }
    let mut wrong = [0; 10];
    for number in GROUPS * ROWS..4 * GROUPS * ROWS {
        let row = Row::new(number as i64);
        for (column, (name, value)) in row.values().into_iter().enumerate() {
            wrong[column] += file.prune(name, &[value]).unwrap().row_groups().count();
        }
    }
    // 27,000 lookups of each column, 270 expected at 1 %; the filters are folded to at most this rate.
    assert!(wrong.iter().all(|wrong| (1..270 + 5 * 17).contains(wrong)), "{wrong:?}");
    // The same by the asynchronous reader, for some rows, and for all values at once.
    for number in [0, 999, 1000, 2500, 2999, 3000, 10_000] {
        let row = Row::new(number);
        for (name, value) in row.values() {
            let group = number as usize / ROWS;
            assert!(group >= GROUPS || kept(&bytes, name, &[value]).contains(&group));
        }
    }
    let many: Vec<Value<'_>> = (0..2000).map(|i| Value::Int32(i - 1500)).collect();
    assert!(kept(&bytes, "small", &many).starts_with(&[0, 1]));
    let absent: Vec<Value<'_>> = (5000..6000).map(|i| Value::Int32(i - 1500)).collect();
    let last = [&absent[..], &[Value::Int32(-1500)]].concat();
    assert!(kept(&bytes, "small", &last).contains(&0), "the last value counts as the first");
}

#[test]
fn without_values_nothing_is_kept_and_null_keeps_everything() {
    let bytes = all_types(2);
    assert_eq!(kept(&bytes, "small", &[]), NONE);
    for name in ["small", "name", "flag", "code"] {
        assert_eq!(kept(&bytes, name, &[Value::Null]), [0, 1]);
    }
    assert_eq!(kept(&bytes, "small", &[Value::Int32(1 << 30), Value::Null]), [0, 1]);
    assert_eq!(kept(&all_types(0), "small", &[Value::Int32(1)]), NONE);
    // There is no hash of booleans, whether or not a writer made a filter of them.
    assert_eq!(kept(&bytes, "flag", &[true.into()]), [0, 1]);
}

#[test]
fn values_that_do_not_fit_the_column_are_errors() {
    let bytes = all_types(1);
    let text = Value::ByteArray(b"12345");
    let every = [
        Value::Boolean(true),
        Value::Int32(1),
        Value::Int64(1),
        Value::Int96([0; 12]),
        Value::Float(0.5),
        Value::Double(0.5),
        text,
        Value::FixedLenByteArray(b"12345"),
    ];
    let fits = [
        ("small", "01100000"),
        ("large", "01100000"),
        ("old", "00010000"),
        ("ratio", "00001100"),
        ("weight", "00001100"),
        ("name", "00000011"),
        ("code", "00000011"),
        ("price", "00000000"),
        ("day", "01000000"),
        ("time", "00100000"),
        ("flag", "10000000"),
    ];
    for (name, fits) in fits {
        let fit: String =
            every.iter().map(|value| if misfits(&bytes, name, *value) { '0' } else { '1' }).collect();
        assert_eq!(fit, fits, "{name}");
    }
    // One that does not fit is an error beside others that do.
    assert!(prune(&bytes, "small", &[Value::Int32(1), text]).is_err());
    assert!(prune(&bytes, "small", &[Value::Null, text]).is_err());
    // 0.1 is rounded: whether it equals a value of the column depends on who compares.
    assert!(misfits(&bytes, "ratio", Value::Double(0.1)));
    assert!(misfits(&bytes, "ratio", Value::Double(1e300)));
    for len in [0, 4, 6] {
        let wrong = prune(&bytes, "code", &[Value::ByteArray(&[b'0'; 6][..len])]);
        assert!(matches!(wrong, Err(Error::ValueLen { column_len: 5, .. })), "{wrong:?}");
    }
    let unknown = prune(&bytes, "smal", &[Value::Int32(1)]);
    assert!(matches!(&unknown, Err(Error::NoColumn { name }) if name == "smal"), "{unknown:?}");
}

/// One column, with a filter, in one row group of these values. A value that is absent is not kept by chance:
/// the filter has few.
fn one<T: parquet::data_type::DataType>(schema: &str, values: &[T::T]) -> Vec<u8> {
    let properties = filtered().set_bloom_filter_max_ndv(100);
    file_of(&format!("message m {{ {schema} }}"), properties, 1, |_, rows| {
        column::<T>(rows, values, None, None);
    })
}

#[test]
fn integers_of_another_width_are_found_signed_and_unsigned() {
    for annotation in ["", " (UINT_32)", " (DECIMAL(9, 2))"] {
        let bytes = one::<Int32Type>(&format!("required int32 a{annotation};"), &[-1, i32::MIN, 7, i32::MAX]);
        for found in [-1, i64::from(i32::MIN), 7, i64::from(i32::MAX), i64::from(u32::MAX), 1 << 31] {
            assert_eq!(kept(&bytes, "a", &[Value::Int64(found)]), [0], "{found}");
        }
        for absent in [i64::from(i32::MIN) - 1, 1 << 32, (1 << 32) + 7, i64::MAX, i64::MIN, 8] {
            assert_eq!(kept(&bytes, "a", &[Value::Int64(absent)]), NONE, "{absent}");
        }
    }
    let bytes = one::<Int64Type>("required int64 a;", &[-1, 7, i64::from(u32::MAX) - 1, i64::MAX]);
    for found in [-1, 7, -2] {
        assert_eq!(kept(&bytes, "a", &[Value::Int32(found)]), [0], "{found}");
    }
    assert_eq!(kept(&bytes, "a", &[Value::Int32(8)]), NONE);
}

#[test]
fn zeros_of_both_signs_are_equal_and_a_nan_may_be_anywhere() {
    for zero in [0.0, -0.0] {
        let single = one::<FloatType>("required float a;", &[zero, 1.5]);
        let double = one::<DoubleType>("required double a;", &[f64::from(zero), 1.5]);
        for bytes in [&single, &double] {
            for value in [Value::Float(0.0), Value::Float(-0.0), Value::Double(0.0), Value::Double(-0.0)] {
                assert_eq!(kept(bytes, "a", &[value]), [0], "{zero}: {value:?}");
            }
            for value in
                [Value::Float(1.5), Value::Double(1.5), Value::Float(f32::NAN), Value::Double(f64::NAN)]
            {
                assert_eq!(kept(bytes, "a", &[value]), [0], "{value:?}");
            }
            for value in [Value::Float(2.5), Value::Double(f64::INFINITY), Value::Double(-1.5)] {
                assert_eq!(kept(bytes, "a", &[value]), NONE, "{value:?}");
            }
        }
    }
    let halves = |halves: &[u16]| {
        let halves: Vec<_> = halves.iter().map(|half| half.to_le_bytes().to_vec().into()).collect();
        one::<FixedLenByteArrayType>("required fixed_len_byte_array(2) a (FLOAT16);", &halves)
    };
    for (stored, value, expected) in [
        (0x0000, 0x8000, true),
        (0x8000, 0x0000, true),
        (0x7e00, 0xfe01, true),
        (0x7c00, 0xfc00, false),
        (0x3c00, 0xbc00, false),
        (0x3c00, 0x3c00, true),
    ] {
        let value = u16::to_le_bytes(value);
        let kept = kept(&halves(&[stored]), "a", &[Value::FixedLenByteArray(&value)]);
        assert_eq!(kept == [0], expected, "{stored:04x}, {value:?}");
    }
}

const NESTED: &str = "message m {
    required group address { required binary city (UTF8); optional group point { required double x; } }
    optional group tags (LIST) { repeated group list { optional int32 element; } }
}";

fn write_nested(group: usize, rows: &mut Rows<'_>) {
    let city = ["Aachen", "Bonn"][group];
    column::<ByteArrayType>(rows, &[ByteArray::from(city), ByteArray::from("Köln")], None, None);
    column::<DoubleType>(rows, &[group as f64 + 0.5], Some(&[1, 0]), None);
    let tag = 10 * group as i32;
    column::<Int32Type>(rows, &[tag, tag + 1], Some(&[3, 3, 2]), Some(&[0, 1, 0]));
}

#[test]
fn nested_columns_are_found_by_their_path() {
    let bytes = file_of(NESTED, filtered().set_bloom_filter_max_ndv(100), 2, write_nested);
    assert_eq!(kept(&bytes, "address.city", &["Bonn".into()]), [1]);
    assert_eq!(kept(&bytes, "address.city", &["Köln".into()]), [0, 1]);
    assert_eq!(kept(&bytes, "address.point.x", &[0.5.into()]), [0]);
    assert_eq!(kept(&bytes, "tags.list.element", &[11.into(), 99.into()]), [1]);
    for name in ["city", "address", "address.", "tags", "tags.list", "element", "", "."] {
        assert!(matches!(prune(&bytes, name, &[1.into()]), Err(Error::NoColumn { .. })), "{name}");
    }
    // A name with a dot in it, and a group: nobody can know which is meant.
    let schema = "message m { required int32 a.b; required group a { required int32 b; } }";
    let bytes = file_of(schema, filtered(), 1, |_, rows| {
        column::<Int32Type>(rows, &[1], None, None);
        column::<Int32Type>(rows, &[2], None, None);
    });
    assert!(matches!(prune(&bytes, "a.b", &[1.into()]), Err(Error::AmbiguousColumn { .. })));
}

/// Four row groups of one value each: the number of the row group.
fn four() -> Vec<u8> {
    file_of("message m { required int32 a; }", filtered(), 4, |group, rows| {
        column::<Int32Type>(rows, &[group as i32], None, None);
    })
}

#[test]
fn row_groups_without_a_usable_filter_are_kept() {
    let whole = four();
    let absent = [Value::Int32(1 << 20)];
    assert_eq!(kept(&whole, "a", &absent), NONE);
    let places: [fn(Place) -> Place; 9] = [
        |_| (None, None),
        |(_, len)| (None, len),
        |(_, len)| (Some(-1), len),
        |(_, len)| (Some(i64::MAX), len),
        |(at, _)| (at, Some(-1)),
        |(at, _)| (at, Some(0)),
        |(at, _)| (at, Some(i32::MAX)),
        |(at, len)| (at.map(|at| at + 1), len),
        |(at, len)| (at, len.map(|len| len + 32)),
    ];
    for (number, place) in places.into_iter().enumerate() {
        let forged = moved(&whole, &[], |group, _, old| if group == 2 { place(old) } else { old });
        let (pruned, peak) = peak_of(|| kept(&forged, "a", &absent));
        assert_eq!(pruned, [2], "{number}");
        assert!(peak < 1 << 20, "{number}: {peak} bytes of memory");
        assert!(kept(&forged, "a", &[Value::Int32(1)]).contains(&1));
    }
    // The filter of another row group is a filter, but not of these values.
    let mut third = (None, None);
    moved(&whole, &[], |group, _, old| {
        if group == 3 {
            third = old;
        }
        old
    });
    let forged = moved(&whole, &[], |group, _, old| if group == 2 { third } else { old });
    assert_eq!(kept(&forged, "a", &absent), [2, 3]);
    // Without a length in the footer, filters are found by their headers.
    let forged = moved(&whole, &[], |_, _, (at, _)| (at, None));
    assert_eq!(kept(&forged, "a", &absent), NONE);
    assert_eq!(kept(&forged, "a", &[Value::Int32(2)]), [2]);
}

#[test]
fn a_recorded_length_that_lies_within_a_large_file_costs_little_memory() {
    let file = file_of("message m { required int32 a; }", plain(), 1, |_, rows| {
        column::<Int32Type>(rows, &[5], None, None);
    });
    let at = footer_start(&file) as i64;
    let extra = [section(1, &[&5i32.to_le_bytes()]), vec![0; 20 << 20]].concat();
    let forged = moved(&file, &extra, |_, _, _| (Some(at), Some(extra.len() as i32)));
    let remote = Remote::new(&forged);
    let prune = || block_on(async { AsyncFile::open(&remote).await?.prune("a", &[6.into()]).await });
    let (pruned, peak) = peak_of(|| prune().unwrap());
    assert!(matches!(pruned.answers(), [Answer::Unreadable(Error::Filter(_))]), "{pruned:?}");
    assert!(peak < 1 << 20, "{peak} bytes of memory");
    // A filter that is as large as the footer and its header say is read.
    let extra = section((20 << 20) / 32, &[&5i32.to_le_bytes()]);
    let forged = moved(&file, &extra, |_, _, _| (Some(at), Some(extra.len() as i32)));
    assert_eq!(kept(&forged, "a", &[5.into()]), [0]);
    assert_eq!(kept(&forged, "a", &[6.into()]), NONE);
}

#[test]
fn a_filter_of_zeros_is_damage_unless_the_column_may_be_all_null() {
    let schemas = [("required", true), ("optional", false)];
    for (repetition, is_damage) in schemas {
        let schema = format!("message m {{ {repetition} int32 a; }}");
        let levels = (repetition == "optional").then_some(&[1][..]);
        let bytes = file_of(&schema, plain(), 1, |_, rows| column::<Int32Type>(rows, &[5], levels, None));
        let (at, zeros) = (footer_start(&bytes) as i64, section(1, &[]));
        let forged = moved(&bytes, &zeros, |_, _, _| (Some(at), Some(zeros.len() as i32)));
        // Nothing records that the optional column is not all null: this damage cannot be seen.
        assert_eq!(kept(&forged, "a", &[Value::Int32(5)]) == [0], is_damage, "{repetition}");
    }
}

#[test]
fn every_changed_byte_outside_the_blocks_keeps_the_row_groups_that_have_the_value_or_is_an_error() {
    let whole = four();
    let file = open(&whole).unwrap();
    let blocks: Vec<Range<usize>> = (file.chunks().iter())
        .map(|chunk| {
            let filter = file.filter_bytes(chunk).unwrap().unwrap();
            let at = whole.windows(filter.len()).position(|window| window == filter).unwrap();
            at + filter.len() - 32..at + filter.len()
        })
        .collect();
    let footer = footer_start(&whole);
    for (at, damaged) in byte_changes(&whole, 0..0) {
        let (pruned, peak) = peak_of(|| prune(&damaged, "a", &[Value::Int32(2)]));
        assert!(peak < 1 << 20, "byte {at}: {peak} bytes of memory");
        // The type of the column, the number of row groups, and the names are in the footer without a checksum.
        if at < footer && !blocks.iter().any(|blocks| blocks.contains(&at)) {
            assert!(pruned.unwrap().0.contains(&2), "byte {at}");
        }
    }
    for len in 0..whole.len() {
        assert!(prune(&whole[..len], "a", &[Value::Int32(2)]).is_err(), "cut to {len} bytes");
    }
}

#[test]
fn the_footer_takes_one_read_and_each_filter_one_more() {
    let bytes = all_types(GROUPS);
    let len = bytes.len() as u64;
    let remote = Remote::new(&bytes);
    let file = block_on(AsyncFile::open(&remote)).unwrap();
    assert_eq!(remote.reads().as_slice(), std::slice::from_ref(&(len - (64 << 10)..len)));
    let pruned = block_on(file.prune("name", &["näme 7".into()])).unwrap();
    assert!(pruned.row_groups().any(|group| group == 0));
    let name = |group: usize| &file.chunks()[group * 11 + 5];
    let reads = remote.reads();
    assert_eq!(reads.len(), GROUPS);
    for (group, range) in reads.iter().enumerate() {
        let filter = block_on(file.filter_bytes(name(group))).unwrap().unwrap();
        assert_eq!(filter, bytes[range.start as usize..range.end as usize]);
    }
    remote.reads();
    // What no filter decides, reads nothing.
    for values in [&[][..], &[Value::Null]] {
        block_on(file.prune("name", values)).unwrap();
        assert_eq!(remote.reads(), []);
    }
    // Lengths that the footer does not record cost a read of the header.
    let forged = moved(&bytes, &[], |_, _, (at, _)| (at, None));
    let remote = Remote::new(&forged);
    let file = block_on(AsyncFile::open(&remote)).unwrap();
    remote.reads();
    block_on(file.prune("name", &["näme 7".into()])).unwrap();
    let lens: Vec<u64> = remote.reads().iter().map(|range| range.end - range.start).collect();
    assert_eq!((lens.len(), lens[0], lens[2]), (2 * GROUPS, 64, 64));
    // A footer longer than the first read.
    let long = format!("message m {{ required int32 {}; required int32 b; }}", "a".repeat(100_000));
    let bytes = file_of(&long, filtered(), 1, |_, rows| {
        column::<Int32Type>(rows, &[1], None, None);
        column::<Int32Type>(rows, &[2], None, None);
    });
    let remote = Remote::new(&bytes);
    block_on(AsyncFile::open(&remote)).unwrap();
    let (at, len) = (footer_start(&bytes) as u64, bytes.len() as u64);
    assert_eq!(remote.reads(), [len - (64 << 10)..len, at..len - (64 << 10)]);
    assert_eq!(kept(&bytes, "b", &[2.into()]), [0]);
    assert_eq!(kept(&bytes, "b", &[1.into()]), NONE);
}

#[test]
fn a_read_that_fails_or_is_short_keeps_the_row_group() {
    let bytes = four();
    let mut at = 0;
    moved(&bytes, &[], |group, _, old| {
        if group == 1 {
            at = old.0.unwrap() as u64;
        }
        old
    });
    let absent = [Value::Int32(1 << 20)];
    let mut remote = Remote::new(&bytes);
    let footer = block_on(AsyncFile::open(&remote)).map(|file| file.row_groups());
    assert_eq!(footer.unwrap(), 4);
    remote.short = 1;
    assert!(matches!(block_on(AsyncFile::open(&remote)).map(|_| ()), Err(Error::Io(_))));
    // The footer is far from the filters, so that they are not in the same read.
    let far = moved(&bytes, &vec![0; 1 << 17], |_, _, old| old);
    let mut remote = Remote::new(&far);
    remote.broken = Some(at);
    let opened = block_on(AsyncFile::open(&remote)).unwrap();
    let pruned = block_on(opened.prune("a", &absent)).unwrap();
    assert_eq!(pruned.row_groups().collect::<Vec<_>>(), [1]);
    assert!(matches!(pruned.answers()[1], Answer::Unreadable(Error::Io(_))));
}

#[test]
fn a_query_serves_files_with_the_same_column_and_no_others() {
    let write = |schema: &str, value: i32| one::<Int32Type>(schema, &[value]);
    let first = open(&write("required int32 a;", 1)).unwrap();
    let query = first.query("a", &[1.into()]).unwrap();
    let answer = |bytes: &[u8], group| open(bytes).unwrap().may_contain(&query, group);
    assert!(matches!(answer(&write("required int32 a;", 1), 0), Answer::Maybe));
    assert!(matches!(answer(&write("required int32 a;", 2), 0), Answer::No));
    let other = answer(&write("required int32 b;", 2), 0);
    assert!(matches!(other, Answer::Unreadable(Error::OtherColumn { .. })) && other.may_contain());
    let other = answer(&one::<Int64Type>("required int64 a;", &[1]), 0);
    assert!(matches!(other, Answer::Unreadable(Error::OtherColumn { .. })));
    let beyond = answer(&write("required int32 a;", 2), 1);
    assert!(matches!(beyond, Answer::Unreadable(Error::NoRowGroup { row_group: 1, row_groups: 1 })));
}

/// Futures can be moved to another thread, as runtimes of several threads do.
#[test]
fn the_futures_can_be_sent() {
    fn sent<T: Send>(future: T) -> T {
        future
    }
    let bytes = four();
    let remote = Remote::new(&bytes);
    let file = block_on(sent(AsyncFile::open(&remote))).unwrap();
    block_on(sent(file.prune("a", &[1.into()]))).unwrap();
}
