//! The formats of data systems against positions written to be obvious: same bits, same answers, same results
//! of insertion, with every method of insertion and lookup; and every truncated file is refused.

use crate::common::cases;
use fullbloom::sizing::{Request, Target};
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Dialect, Format, Insert, Size};
use fullbloom_dialects::orc::Class;
use fullbloom_dialects::typed::Value;
use fullbloom_dialects::{Dcso, Guava, Guava32, Orc, Parquet, Poppy, Spark, Spark2};
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::naive::formats::{self, positions};
use proptest::prelude::*;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(20_000, 4_000) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn keys(seed: u64, count: usize, fixed: Option<usize>) -> Vec<Vec<u8>> {
    let mut random = SplitMix::new(seed);
    let mut key = || {
        let len = fixed.unwrap_or_else(|| random.below(71) as usize);
        random.bytes(len)
    };
    (0..count).map(|_| key()).collect()
}

/// For each position whether it is set; `place` locates it in the filter's array.
fn set_positions<D: Dialect>(filter: &Filter<D>, place: impl Fn(u64) -> usize) -> Vec<bool> {
    let set = |at: u64| filter.bits()[place(at)] >> (at % 8) & 1 == 1;
    (0..filter.geometry().bit_len).map(set).collect()
}

/// All properties. `place` is the byte of a position in the array.
fn check<D: Insert + Format>(
    format: formats::Format,
    empty: impl Fn() -> Filter<D>,
    place: impl Fn(u64) -> usize,
    seed: u64,
    count: usize,
) {
    let mut filter = empty();
    let geometry = filter.geometry();
    let fixed = (format == formats::Format::OrcNumber).then_some(8);
    let (present, absent) = (keys(seed, count, fixed), keys(!seed, 8, fixed));
    let of = |key: &[u8]| positions(format, key, geometry.bit_len, geometry.probes);
    let mut expected = vec![false; geometry.bit_len as usize];
    for key in &present {
        let mut new = false;
        for at in of(key) {
            new |= !std::mem::replace(&mut expected[at as usize], true);
        }
        assert_eq!(filter.insert(key), new, "{key:x?}");
    }
    assert_eq!(set_positions(&filter, &place), expected);
    assert_eq!(filter.count_ones(), expected.iter().filter(|set| **set).count() as u64);

    // More lookups than a batch keeps in flight.
    let queried = present.iter().chain(&absent).collect::<Vec<_>>().repeat(3);
    let answer = |key: &&Vec<u8>| of(key).iter().all(|&at| expected[at as usize]);
    let answers = queried[..count + 8].iter().map(answer).collect::<Vec<bool>>().repeat(3);
    let mut batch = vec![false; queried.len()];
    filter.may_contain_batch_into(&queried, &mut batch).unwrap();
    assert_eq!(batch, answers);
    let file = filter.encode();
    assert_eq!(file.len() as u64, filter.dialect().encoded_len());
    let view = Filter::<D>::view(&file).unwrap();
    for (key, answer) in queried.iter().zip(&answers) {
        assert_eq!(filter.may_contain(key), *answer);
        if fixed.is_none() {
            assert_eq!(view.may_contain(key), *answer);
        }
    }

    let (mut batched, mut left, mut right) = (empty(), empty(), empty());
    batched.insert_batch(&present).unwrap();
    assert_eq!(batched.bits(), filter.bits());
    let (one, other) = present.split_at(count / 2);
    left.extend(one);
    right.extend(other);
    left.merge(&right).unwrap();
    assert_eq!(set_positions(&left, &place), expected);
    left.clear().unwrap();
    assert_eq!(left.count_ones(), 0);
    assert_eq!(Filter::<D>::decode(&file).unwrap().encode(), file);
}

/// Where 64-bit words are stored most significant byte first.
fn big_endian(at: u64) -> usize {
    (at / 64 * 8 + 7 - at % 64 / 8) as usize
}

fn little_endian(at: u64) -> usize {
    (at / 8) as usize
}

fn exact<D: Size>(bit_len: u64, probes: u32) -> Filter<D> {
    Filter::new(&Request { expected_keys: 0, target: Target::Exact { bit_len, probes } }).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn guava_sets_the_positions_of_its_definition(words in 1u64..40, probes in 1u32..30, seed: u64, count in 0usize..12) {
        check(formats::Format::Guava, || exact::<Guava>(64 * words, probes), big_endian, seed, count);
        check(formats::Format::Guava32, || exact::<Guava32>(64 * words, probes), big_endian, seed, count);
    }

    #[test]
    fn spark_sets_the_positions_of_its_definition(words in 1u64..40, probes in 1u32..30, salt: i32, seed: u64, count in 0usize..12) {
        check(formats::Format::Spark, || exact::<Spark>(64 * words, probes), big_endian, seed, count);
        let seeded = || Filter::<Spark2>::with_seed(64 * words, probes, salt).unwrap();
        check(formats::Format::Spark2(salt), seeded, big_endian, seed, count);
    }

    #[test]
    fn parquet_sets_the_positions_of_its_definition(blocks in 1u64..60, header: bool, seed: u64, count in 0usize..40) {
        let empty = || exact::<Parquet>(256 * blocks, 8).with_header(header);
        check(formats::Format::Parquet, empty, little_endian, seed, count);
    }

    #[test]
    fn orc_sets_the_positions_of_its_definition(words in 1u64..40, probes in 1u32..50, seed: u64, count in 0usize..12) {
        let utf8 = || exact::<Orc>(64 * words, probes);
        check(formats::Format::Orc, utf8, little_endian, seed, count);
        let plain = || utf8().with_class(Class::Plain).unwrap();
        let behind_tags = |at: u64| (at / 64 * 9 + 1 + at % 64 / 8) as usize;
        check(formats::Format::Orc, plain, behind_tags, seed, count);
        check(formats::Format::OrcNumber, || utf8().for_numbers(), little_endian, seed, count);
    }

    #[test]
    fn dcso_sets_the_positions_of_its_definition(keys in 1u64..60, fpr in 0.00001f64..0.9, seed: u64, count in 0usize..12) {
        let empty = || Filter::<Dcso>::with_fpr(keys, fpr).unwrap();
        if empty().geometry().bit_len > 0 {
            check(formats::Format::Dcso, empty, |at| 8 + (at / 8) as usize, seed, count);
        }
    }
}

/// Every truncation of a small file of each format is refused; so are bytes after it, unless they are data.
#[test]
fn cut_files_are_refused() {
    fn one<D: Insert + Format + Size>(has_data: bool) {
        let mut filter = Filter::<D>::with_fpr(20, 0.05).unwrap();
        filter.extend(["a", "b", "key"]);
        let file = filter.encode();
        for len in 0..file.len() {
            assert!(Filter::<D>::view(&file[..len]).is_err(), "{}, cut to {len}", D::NAME);
        }
        let longer = [&file[..], &[0]].concat();
        assert_eq!(Filter::<D>::view(&longer).is_ok(), has_data, "{}", D::NAME);
    }
    one::<Guava>(false);
    one::<Guava32>(false);
    one::<Spark>(false);
    one::<Spark2>(false);
    one::<Parquet>(false);
    one::<Orc>(false);
    one::<Dcso>(true);
    one::<Poppy>(true);
}

/// Protocol Buffers have no message length: truncated between words, a plain message is a complete, shorter
/// one.
#[test]
fn a_plain_orc_message_is_refused_when_cut_inside_a_word() {
    let mut filter = Filter::<Orc>::with_fpr(40, 0.05).unwrap().with_class(Class::Plain).unwrap();
    filter.extend(["a", "b", "key"]);
    let file = filter.encode();
    for len in 0..file.len() {
        let between = len > 2 && (len - 2) % 9 == 0;
        assert_eq!(Filter::<Orc>::view(&file[..len]).is_ok(), between, "cut to {len}");
    }
}

#[test]
fn invalid_numbers_are_refused_by_field() {
    let refused = |bytes: &[u8], read: fn(&[u8]) -> Option<String>, part: &str| {
        let why = read(bytes).unwrap_or_else(|| panic!("accepted: {bytes:x?}"));
        assert!(why.contains(part), "{why}");
    };
    let guava: fn(&[u8]) -> Option<String> = |b| Filter::<Guava>::view(b).err().map(|e| e.to_string());
    refused(&[0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], guava, "strategy at byte 0");
    refused(&[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], guava, "probes at byte 1");
    refused(&[1, 5, 0x80, 0, 0, 0], guava, "words at byte 2");
    refused(&[1, 5, 0x7f, 0xff, 0xff, 0xff], guava, "needs 17179869176 bytes");
    let spark: fn(&[u8]) -> Option<String> = |b| Filter::<Spark2>::view(b).err().map(|e| e.to_string());
    refused(&[0, 0, 0, 1], spark, "version at byte 0");
    refused(&[0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff], spark, "probes at byte 4");
    refused(&[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], spark, "words at byte 12");
    let parquet: fn(&[u8]) -> Option<String> = |b| Filter::<Parquet>::view(b).err().map(|e| e.to_string());
    let tail = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];
    refused(&[&[0x15, 0x3e], &tail[..]].concat(), parquet, "bytes at byte 1: 31");
    refused(&[&[0x15, 0x3f], &tail[..]].concat(), parquet, "bytes at byte 1: -32");
    refused(&[&[0x15, 0x40], &tail[..]].concat(), parquet, "blocks at byte 15: needs 32 bytes, 0 are there");
    refused(&[&[0x15, 0xc0, 0x00], &tail[..]].concat(), parquet, "shortest form");
    refused(&[&[0x15, 0x40, 0x1c, 0x2c], &tail[..]].concat(), parquet, "algorithm");
    let orc: fn(&[u8]) -> Option<String> = |b| Filter::<Orc>::view(b).err().map(|e| e.to_string());
    refused(&[8, 0, 0x1a, 8], orc, "probes at byte 1");
    refused(&[8, 3, 0x1a, 7], orc, "bytes of words at byte 3: 7");
    refused(&[8, 3, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 1], orc, "bytes of words at byte 3");
    refused(&[8, 3, 0x22, 0], orc, "field 3, words");
}

#[test]
fn typed_keys_are_the_bytes_that_the_table_says() {
    use fullbloom_dialects::Name;
    let of = |value: Value<'_>, name: Name| name.key(value).map(|key| key.as_ref().to_vec());
    assert_eq!(of(Value::Int(-2), Name::Parquet).unwrap(), [0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(of(Value::Int(-2), Name::Spark).unwrap(), (-2i64).to_le_bytes());
    assert_eq!(of(Value::Int(-2), Name::Cassandra3).unwrap(), (-2i32).to_be_bytes());
    assert_eq!(of(Value::Float(1.5), Name::Orc).unwrap(), 1.5f64.to_le_bytes());
    assert_eq!(of(Value::Float(1.5), Name::Parquet).unwrap(), 1.5f32.to_le_bytes());
    assert_eq!(of(Value::Double(1.5), Name::Cassandra).unwrap(), 1.5f64.to_be_bytes());
    assert_eq!(of(Value::Utf16("é"), Name::Guava).unwrap(), [0xe9, 0]);
    assert_eq!(of(Value::Text("é"), Name::Native).unwrap(), "é".as_bytes());
    for (value, name) in [
        (Value::Double(1.0), Name::Guava),
        (Value::Utf16("a"), Name::Poppy),
        (Value::Long(1), Name::LevelDb),
        (Value::Int(1), Name::Dcso),
    ] {
        let message = of(value, name).unwrap_err().to_string();
        assert!(message.starts_with(name.as_str()), "{message}");
    }
    // poppy hashes a number of eight bytes, but not a key of eight bytes.
    let filter = Filter::<Poppy>::with_fpr(10, 0.01).unwrap();
    assert_eq!(filter.hash(7i64.to_le_bytes()).to_raw(), 7);
    assert_ne!(filter.hash_value(Value::Long(7)).unwrap().to_raw(), 7);
}
