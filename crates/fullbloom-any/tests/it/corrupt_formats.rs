//! A small file of each dialect without checksums, damaged in every way: refused, or answered from the
//! existing bytes; never a panic, a read past the end, or memory for bytes that do not exist.
//!
//! The rules of each format are restated here: which bytes are a filter, and what it answers.

use crate::common::options;
use fullbloom::DecodeError;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Format, Insert, Size};
use fullbloom_dialects::hash::wyhash_poppy;
use fullbloom_dialects::poppy::Opt;
use fullbloom_dialects::{
    Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07, Dcso, Guava, Guava32, JavaLsm,
    LevelDb, Libbloom, Libbloom1, Name, Orc, Parquet, Poppy, RocksDbBlock, Spark, Spark2,
};
use fullbloom_testkit::alloc::peak_of;
use fullbloom_testkit::damage::{byte_changes, every_form};
use fullbloom_testkit::naive::formats::{self, positions};
use fullbloom_testkit::naive::{Family, Naive};
use fullbloom_testkit::vectors;
use std::ops::Range;

const KEYS: [&[u8]; 7] =
    [b"", b"a", b"key-7", b"hello", "grün 😀".as_bytes(), b"\xff\xfe\xfd", b"sixteen bytes...and a tail\x80"];

/// The keys that filters of this dialect can have: some take only text.
pub fn keys(name: Name) -> impl Iterator<Item = &'static [u8]> {
    let only_text = matches!(name, Name::Cassandra0 | Name::JavaLsm);
    KEYS.into_iter().filter(move |key| !only_text || str::from_utf8(key).is_ok())
}

/// A filter with those keys, sized for this many.
pub fn small<D: Size + Insert + Format>(expected_keys: u64, fpr: f64) -> Vec<u8> {
    filled(Filter::<D>::with_fpr(expected_keys, fpr).unwrap())
}

fn filled<D: Insert + Format>(mut filter: Filter<D>) -> Vec<u8> {
    filter.extend(keys(D::NAME));
    filter.encode()
}

/// The answer of a filter for a key.
type Oracle = Box<dyn Fn(&[u8]) -> bool>;

/// Reads the bytes in every way. The verdict must be that of the rules, which is `Some` for a filter, and so
/// must the answers be.
pub fn judge<D: Format>(bytes: &[u8], geometry: Option<(u64, u32)>, rules: Option<Oracle>) {
    let ((view, copy, any), peak) = peak_of(|| {
        let (view, copy) = match geometry {
            Some((bits, probes)) => (Filter::<D>::view_exact(bytes, bits, probes), None),
            None => (Filter::<D>::view(bytes), Some(Filter::<D>::decode(bytes))),
        };
        (view, copy, AnyFilter::decode(bytes, &options(D::NAME, geometry)))
    });
    assert!(peak <= 2 * bytes.len() as u64 + 65_536, "{peak} bytes for {}", bytes.len());
    let shown = || format!("{}: {:x?}", D::NAME, &bytes[..bytes.len().min(100)]);
    assert_eq!(view.as_ref().err(), any.as_ref().err(), "{}", shown());
    assert_eq!(view.is_ok(), rules.is_some(), "{}: {:?}", shown(), view.err());
    assert!(copy.as_ref().is_none_or(|copy| copy.is_ok() == rules.is_some()), "{}", shown());
    let (Ok(view), Ok(any), Some(rules)) = (view, any, rules) else { return };
    let copy = copy.map_or_else(|| view.try_clone().unwrap(), Result::unwrap);
    for key in keys(D::NAME) {
        let expected = rules(key);
        assert_eq!(view.may_contain(key), expected, "{}", shown());
        assert_eq!(copy.may_contain(key), expected, "{}", shown());
        assert_eq!(any.may_contain(key), expected, "{}", shown());
    }
}

/// Judges every damaged form of the file: in `header`, all values of each byte.
fn every_damage<D: Format>(
    file: &[u8],
    header: Range<usize>,
    filler: u8,
    rules: impl Fn(&[u8]) -> Option<Oracle>,
) {
    assert!(rules(file).is_some(), "{}: the undamaged file is refused", D::NAME);
    every_form(file, header, filler, |bytes| judge::<D>(bytes, None, rules(bytes)));
}

fn i32_be(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..at + 4).map(|number| i32::from_be_bytes(number.try_into().unwrap()))
}

fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).map(|number| u64::from_le_bytes(number.try_into().unwrap()))
}

/// The answers of a classic family over this array.
fn classic(family: Family, bits: u64, probes: u32, array: &[u8]) -> Oracle {
    let naive = Naive::from_array(family, bits as usize, probes, array);
    Box::new(move |key| naive.may_contain(key))
}

/// The answers of a format over this array; `place` is the byte of a position.
fn format(
    format: formats::Format,
    bits: u64,
    probes: u32,
    array: &[u8],
    place: impl Fn(u64) -> usize + 'static,
) -> Oracle {
    let array = array.to_vec();
    let set = move |at: u64| array[place(at)] >> (at % 8) & 1 == 1;
    Box::new(move |key| positions(format, key, bits, probes).into_iter().all(&set))
}

fn big_endian(at: u64) -> usize {
    (at / 64 * 8 + 7 - at % 64 / 8) as usize
}

fn little_endian(at: u64) -> usize {
    (at / 8) as usize
}

/// 1 to 21 probes and exactly the existing words. No bytes are the filter that is always present.
fn cassandra(bytes: &[u8], family: Family) -> Option<Oracle> {
    if bytes.is_empty() {
        return Some(Box::new(|_| true));
    }
    let (probes, words) = (i32_be(bytes, 0)?, i32_be(bytes, 4)?);
    let sound = (1..=21).contains(&probes) && words >= 1 && bytes.len() as i64 == 8 + 8 * i64::from(words);
    sound.then(|| classic(family, words as u64 * 64, probes as u32, &bytes[8..]))
}

#[test]
fn cassandra_words_are_refused_or_answered_by_the_rules() {
    fn one<D: Size + Insert + Format>(family: Family) {
        let file = small::<D>(15, 0.01);
        assert_eq!(file.len(), 8 + 24);
        every_damage::<D>(&file, 0..8, 0xff, |bytes| cassandra(bytes, family));
    }
    one::<Cassandra>(Family::Cassandra);
    one::<Cassandra3>(Family::Cassandra3);
    one::<Cassandra2>(Family::Cassandra2);
    one::<Cassandra1>(Family::Cassandra1);
}

/// 1 to 21 probes, the stream header of a good file, exactly the existing words, and the end marker.
#[test]
fn cassandra_object_streams_are_refused_or_answered_by_the_rules() {
    fn one<D: Size + Insert + Format>(family: Family) {
        let good = small::<D>(10, 0.01);
        assert_eq!(good.len(), 76 + 16 + 1);
        let rules = |bytes: &[u8]| {
            let (probes, words) = (i32_be(bytes, 0)?, i32_be(bytes, 72)?);
            let sound = (1..=21).contains(&probes)
                && bytes[4..72] == good[4..72]
                && words >= 1
                && bytes.len() as i64 == 76 + 8 * i64::from(words) + 1
                && bytes.last() == Some(&0x78);
            sound.then(|| classic(family, words as u64 * 64, probes as u32, &bytes[76..]))
        };
        every_damage::<D>(&good, 0..76, 0x78, rules);
        for (_, changed) in byte_changes(&good, good.len() - 1..good.len()) {
            judge::<D>(&changed, None, rules(&changed));
        }
    }
    one::<Cassandra07>(Family::Cassandra07);
    one::<Cassandra0>(Family::Cassandra0);
}

/// Magic, struct size 64, major 2, ready, bits if there are probes, room for them in the bytes, and exactly
/// the existing bytes. All other header fields may have any value.
#[test]
fn libbloom_save_files_are_refused_or_answered_by_the_rules() {
    let rules = |bytes: &[u8]| {
        let (bits, array) = (u64_le(bytes, 19)?, u64_le(bytes, 27)?);
        let probes = *bytes.get(35)?;
        let sound = bytes.len() >= 75
            && bytes.starts_with(b"libbloom2\x40\x00")
            && bytes[51] != 0
            && bytes[52] == 2
            && (bits > 0 || probes == 0)
            && u128::from(bits) <= u128::from(array) * 8
            && (bytes.len() - 75) as u64 == array;
        sound.then(|| classic(Family::Libbloom, bits, probes.into(), &bytes[75..]))
    };
    every_damage::<Libbloom>(&vectors::bytes("libbloom/v2_e.bloom"), 0..75, 0, rules);
}

/// Exactly the bytes that the given bits need.
#[test]
fn libbloom_raw_bits_are_refused_or_answered_by_the_rules() {
    let file = small::<Libbloom1>(1000, 0.5);
    every_form(&file, 0..0, 0, |bytes| {
        let rules = (bytes.len() == 181).then(|| classic(Family::Libbloom1, 1442, 2, bytes));
        judge::<Libbloom1>(bytes, Some((1442, 2)), rules);
    });
}

/// At most the bytes that the given bits need: `BitSet` drops zeros at the end.
#[test]
fn java_lsm_bits_are_refused_or_answered_by_the_rules() {
    let rules = |bytes: &[u8], bits: u64, probes| {
        let fits = bytes.len() as u64 <= bits.div_ceil(8);
        let sound = fits && bits < 1 << 31 && (bits > 0 || probes == 0);
        sound.then(|| classic(Family::JavaLsm, bits, probes, bytes))
    };
    let file = small::<JavaLsm>(10, 0.01);
    every_form(&file, 0..file.len(), 0xff, |bytes| {
        judge::<JavaLsm>(bytes, Some((95, 6)), rules(bytes, 95, 6));
    });
    for bits in [0, 1, 8, 88, 89, 95, 96, 97, 1000] {
        for probes in [0, 1, 6, 30] {
            judge::<JavaLsm>(&file, Some((bits, probes)), rules(&file, bits, probes));
        }
    }
}

/// At least two bytes, the last of them 1 to 30 probes.
#[test]
fn policy_filters_are_refused_or_answered_by_the_rules() {
    fn one<D: Size + Insert + Format>(family: Family) {
        let rules = |bytes: &[u8]| {
            let (&probes, array) = bytes.split_last()?;
            let sound = !array.is_empty() && (1..=30).contains(&probes);
            sound.then(|| classic(family, array.len() as u64 * 8, probes.into(), array))
        };
        let file = filled(Filter::<D>::with_bits_per_key(20, 10.0).unwrap());
        every_damage::<D>(&file, file.len() - 1..file.len(), 0xff, rules);
        for probes in 0..=255u8 {
            for (fill, len) in [(0x00, 1usize), (0xff, 1), (0x00, 8), (0xff, 8), (0x00, 127), (0xff, 127)] {
                let mut bytes = vec![fill; len];
                bytes.push(probes);
                judge::<D>(&bytes, None, rules(&bytes));
            }
        }
    }
    one::<LevelDb>(Family::LevelDb);
    one::<RocksDbBlock>(Family::RocksDbBlock);
}

/// The strategy, any probes but none, and exactly the existing words.
#[test]
fn guava_filters_are_refused_or_answered_by_the_rules() {
    fn one<D: Size + Insert + Format>(strategy: u8, of: formats::Format) {
        every_damage::<D>(&small::<D>(15, 0.01), 0..6, 0xff, |bytes| {
            let words = i32_be(bytes, 2)?;
            let sound = bytes[0] == strategy
                && bytes[1] >= 1
                && words >= 1
                && bytes.len() as i64 == 6 + 8 * i64::from(words);
            sound.then(|| format(of, words as u64 * 64, bytes[1].into(), &bytes[6..], big_endian))
        });
    }
    one::<Guava32>(0, formats::Format::Guava32);
    one::<Guava>(1, formats::Format::Guava);
}

/// The version, 1 to 1075 probes, any seed, and exactly the existing words.
#[test]
fn spark_filters_are_refused_or_answered_by_the_rules() {
    every_damage::<Spark>(&small::<Spark>(15, 0.01), 0..12, 0xff, |bytes| {
        let (version, probes, words) = (i32_be(bytes, 0)?, i32_be(bytes, 4)?, i32_be(bytes, 8)?);
        let sound = version == 1
            && (1..=1075).contains(&probes)
            && words >= 1
            && bytes.len() as i64 == 12 + 8 * i64::from(words);
        let of = formats::Format::Spark;
        sound.then(|| format(of, words as u64 * 64, probes as u32, &bytes[12..], big_endian))
    });
    every_damage::<Spark2>(&small::<Spark2>(15, 0.01), 0..16, 0xff, |bytes| {
        let (version, probes) = (i32_be(bytes, 0)?, i32_be(bytes, 4)?);
        let (seed, words) = (i32_be(bytes, 8)?, i32_be(bytes, 12)?);
        let sound = version == 2
            && (1..=1075).contains(&probes)
            && words >= 1
            && bytes.len() as i64 == 16 + 8 * i64::from(words);
        let of = formats::Format::Spark2(seed);
        sound.then(|| format(of, words as u64 * 64, probes as u32, &bytes[16..], big_endian))
    });
}

/// A number in groups of seven bits, the lowest first, at most five groups and none of them superfluous; and
/// what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = 1 + bytes.iter().take(5).position(|byte| byte >> 7 == 0)?;
    let (number, rest) = bytes.split_at(len);
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (len == 1 || number[len - 1] != 0).then_some((value, rest))
}

/// A header that announces exactly the blocks that follow it; or whole blocks that do not begin with a
/// header.
#[test]
fn parquet_filters_are_refused_or_answered_by_the_rules() {
    const END: [u8; 13] = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];
    fn announced(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let (zigzag, rest) = varint(bytes.strip_prefix(&[0x15])?)?;
        let blocks = rest.strip_prefix(&END)?;
        let positive = zigzag % 2 == 0 && zigzag > 0 && zigzag / 2 < 1 << 31;
        (positive && zigzag / 2 % 32 == 0).then_some((zigzag / 2, blocks))
    }
    let rules = |bytes: &[u8]| {
        let (len, blocks) = announced(bytes).unwrap_or((bytes.len() as u64, bytes));
        let sound = len > 0 && len % 32 == 0 && len == blocks.len() as u64;
        sound.then(|| format(formats::Format::Parquet, len * 8, 8, blocks, little_endian))
    };
    let with_header = small::<Parquet>(100, 0.01);
    assert!(announced(&with_header).is_some());
    every_damage::<Parquet>(&with_header, 0..with_header.len().min(17), 0xff, rules);
    let (_, blocks) = announced(&with_header).unwrap();
    every_damage::<Parquet>(blocks, 0..0, 0xff, rules);
}

/// ORC's fields in its order, each once and no others: 1 to 1109 probes, then all words as one field, or each
/// as its own.
#[test]
fn orc_messages_are_refused_or_answered_by_the_rules() {
    let rules = |bytes: &[u8]| {
        let (probes, rest) = varint(bytes.strip_prefix(&[8])?)?;
        if !(1..=1109).contains(&probes) {
            return None;
        }
        if rest.first() == Some(&0x11) {
            let sound = rest.len() % 9 == 0 && rest.iter().step_by(9).all(|tag| *tag == 0x11);
            let behind_tags = |at: u64| (at / 64 * 9 + 1 + at % 64 / 8) as usize;
            let bits = rest.len() as u64 / 9 * 64;
            return sound.then(|| format(formats::Format::Orc, bits, probes as u32, rest, behind_tags));
        }
        let (len, words) = varint(rest.strip_prefix(&[0x1a])?)?;
        let sound = len > 0 && len % 8 == 0 && len == words.len() as u64;
        sound.then(|| format(formats::Format::Orc, len * 8, probes as u32, words, little_endian))
    };
    every_damage::<Orc>(&small::<Orc>(15, 0.01), 0..4, 0xff, rules);
    let plain = Filter::<Orc>::with_fpr(15, 0.01).unwrap();
    let plain = filled(plain.with_class(fullbloom_dialects::orc::Class::Plain).unwrap());
    every_damage::<Orc>(&plain, 0..3, 0x11, rules);
}

/// Version 1 without flags, at most 1075 probes and none without bits, and at least the words; data follows.
#[test]
fn dcso_filters_are_refused_or_answered_by_the_rules() {
    let file = small::<Dcso>(15, 0.01);
    every_damage::<Dcso>(&file, 0..48, 0xff, |bytes| {
        let [flags, _, _, probes, bits, _] = [0, 8, 16, 24, 32, 40].map(|at| u64_le(bytes, at));
        u64_le(bytes, 40)?;
        let (probes, bits) = (probes?, bits?);
        let sound = flags == Some(1)
            && probes <= 1075
            && (bits > 0 || probes == 0)
            && u128::from(bits.div_ceil(64)) * 8 <= bytes.len() as u128 - 48;
        sound.then(|| format(formats::Format::Dcso, bits, probes as u32, &bytes[48..], little_endian))
    });
}

/// Version 2, a known `opt`, zeros, at least one key, a rate, at most 1075 probes, a cache of zero or a power
/// of two of bits, and at least the buckets; data follows.
#[test]
fn poppy_filters_are_refused_or_answered_by_the_rules() {
    const BUCKET: u64 = 32_768;
    let rules = |bytes: &[u8]| -> Option<Oracle> {
        let (keys, rate, probes) = (u64_le(bytes, 8)?, u64_le(bytes, 16)?, u64_le(bytes, 24)?);
        let cache_bits = u64_le(bytes, 40)?;
        let cache_end = usize::try_from(cache_bits / 8).ok()?.checked_add(48)?;
        let buckets = bytes.get(cache_end..).and_then(|rest| u64_le(rest, 0))?;
        let sound = bytes[0] == 2
            && bytes[1] <= 3
            && bytes[2..8] == [0; 6]
            && keys >= 1
            && (f64::MIN_POSITIVE..=1.0).contains(&f64::from_bits(rate))
            && probes <= 1075
            && (cache_bits == 0 || (cache_bits >= 8 && cache_bits.is_power_of_two()))
            && buckets >= 1
            && u128::from(buckets) * 4096 <= (bytes.len() - cache_end - 8) as u128;
        if !sound {
            return None;
        }
        let (cache, rest) = (bytes[48..cache_end].to_vec(), bytes[cache_end + 8..].to_vec());
        Some(Box::new(move |key| {
            const SEED: u64 = 0x706f_7070_7953_3d42;
            let set = |array: &[u8], at: u64| array[(at / 8) as usize] >> (at % 8) & 1 == 1;
            let short = || key.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let hash = if key.len() > 8 { wyhash_poppy(key, SEED) } else { short() };
            let mut spread = hash ^ hash << 12;
            spread ^= spread >> 25;
            spread ^= spread << 27;
            spread = spread.wrapping_mul(2_685_821_657_736_338_717);
            let bucket = spread % buckets * BUCKET;
            let (mut at, mut step) = (hash, wyhash_poppy(&hash.to_be_bytes(), SEED));
            let mut found = cache_bits == 0 || set(&cache, spread % cache_bits);
            for i in 1..=probes {
                found &= set(&rest, bucket + at % BUCKET);
                at = at.wrapping_add(step);
                step = step.wrapping_add(i);
            }
            found
        }))
    };
    let filter = Filter::from_dialect(Poppy::with_params(15, 0.01, Opt::Best).unwrap()).unwrap();
    every_damage::<Poppy>(&filled(filter), 0..58, 0xff, rules);
}

/// Formats without a header are not read without its numbers.
#[test]
fn raw_bits_are_not_read_without_their_geometry() {
    fn one<D: Format>(bytes: &[u8]) {
        assert!(matches!(Filter::<D>::view(bytes), Err(DecodeError::Unknown { .. })));
    }
    one::<Libbloom1>(&small::<Libbloom1>(1000, 0.5));
    one::<JavaLsm>(&small::<JavaLsm>(10, 0.01));
}
