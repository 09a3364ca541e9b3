//! Every classic dialect against a filter written to be obvious: same bits, same answers, same bytes, for
//! arrays of one word and more, including odd lengths, and keys of 0 to 70 bytes.

use crate::common::cases;
use fullbloom::sizing::{Request, Target};
use fullbloom_core::keys::KeyHashOf;
use fullbloom_dialects::Filter;
use fullbloom_dialects::filter::{Format, Insert, Size};
use fullbloom_dialects::{
    Cassandra, Cassandra0, Cassandra1, Cassandra2, Cassandra3, Cassandra07, JavaLsm, LevelDb, Libbloom,
    Libbloom1, RocksDbBlock,
};
use fullbloom_testkit::keys::SplitMix;
use fullbloom_testkit::naive::{Family, Naive};
use proptest::prelude::*;

/// Cases per dialect; each case checks a dozen keys in every way.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(100_000, 10_000) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A key of 0 to 70 bytes; of whole characters where keys are text.
fn key(random: &mut SplitMix, text: bool) -> Vec<u8> {
    let len = random.below(71) as usize;
    if !text {
        return random.bytes(len);
    }
    let mut key = String::new();
    while key.len() + 4 <= len {
        let top = [0x80, 0x800, 0x1_0000, 0x11_0000][random.below(4) as usize];
        key.extend(char::from_u32(random.below(top) as u32));
    }
    key.into_bytes()
}

fn keys(seed: u64, count: usize, family: Family) -> Vec<Vec<u8>> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|_| key(&mut random, family.text_keys())).collect()
}

/// All properties for one geometry and some keys. `empty` creates the filter.
fn check<D: Insert + Format>(family: Family, empty: impl Fn() -> Filter<D>, seed: u64, count: usize) {
    let mut filter = empty();
    let geometry = filter.geometry();
    let mut naive = Naive::new(family, geometry.bit_len as usize, geometry.probes);
    let (present, absent) = (keys(seed, count, family), keys(!seed, 8, family));

    // The result of insert, and the bits.
    for key in &present {
        assert_eq!(filter.insert(key), naive.insert(key), "insert of {key:x?}");
    }
    assert_eq!(filter.bits(), naive.array());
    assert_eq!(filter.count_ones(), naive.set_bits() as u64);

    // Answers: singly, in a batch, by hash. More lookups than a batch keeps in flight.
    let once: Vec<&Vec<u8>> = present.iter().chain(&absent).collect();
    let questions = once.repeat(2);
    let expected = once.iter().map(|key| naive.may_contain(key)).collect::<Vec<bool>>().repeat(2);
    assert!(expected[..count].iter().all(|&yes| yes));
    let hashes = once.iter().chain(&once).map(|key| filter.hash(key)).collect::<Vec<KeyHashOf<D::Hasher>>>();
    let (mut batch, mut by_hash) = (vec![false; questions.len()], vec![false; questions.len()]);
    filter.may_contain_batch_into(&questions, &mut batch).unwrap();
    filter.may_contain_batch_into(hashes.as_slice(), &mut by_hash).unwrap();
    assert_eq!(batch, expected);
    assert_eq!(by_hash, expected);
    for ((key, hash), &answer) in once.iter().zip(&hashes).zip(&expected) {
        assert_eq!(filter.may_contain(key), answer, "{key:x?}");
        assert_eq!(filter.may_contain_hash(*hash), answer, "{key:x?}");
    }

    // Other ways to insert.
    let (mut batched, mut hashed) = (empty(), empty());
    batched.insert_batch(&present).unwrap();
    assert_eq!(batched.bits(), filter.bits());
    for hash in &hashes[..count] {
        hashed.insert_hash(*hash).unwrap();
    }
    assert_eq!(hashed.bits(), filter.bits());

    // The file, and the filter read from it.
    let file = filter.encode();
    if family == Family::Libbloom {
        assert_eq!(file[75..], naive.encode());
    } else {
        assert_eq!(file, naive.encode());
    }
    assert!(file.len() as u64 <= filter.dialect().encoded_len());
    let view = Filter::<D>::view_exact(&file, geometry.bit_len, geometry.probes).unwrap();
    let copy = view.try_clone().unwrap();
    assert_eq!((view.geometry(), copy.geometry()), (geometry, geometry));
    assert_eq!(copy.bits(), filter.bits());
    assert_eq!(copy.encode(), file);
    assert_eq!(view.encode(), file);
    for (key, &answer) in once.iter().zip(&expected) {
        assert_eq!(view.may_contain(key), answer, "{key:x?}");
        assert_eq!(copy.may_contain(key), answer, "{key:x?}");
    }
    let headerless = matches!(family, Family::Libbloom1 | Family::JavaLsm);
    assert_eq!(Filter::<D>::view(&file).is_ok(), !headerless);
    if let Ok(decoded) = Filter::<D>::decode(&file) {
        assert_eq!(decoded.bits(), filter.bits());
    }

    // Merging two halves gives the whole.
    let (mut left, mut right) = (empty(), empty());
    let (one, other) = present.split_at(count / 2);
    left.extend(one);
    right.extend(other);
    left.merge(&right).unwrap();
    assert_eq!(left.bits(), filter.bits());
    left.clear().unwrap();
    assert_eq!(left.count_ones(), 0);
}

fn exact<D: Size>(bit_len: u64, probes: u32) -> Filter<D> {
    Filter::new(&Request { expected_keys: 0, target: Target::Exact { bit_len, probes } }).unwrap()
}

/// One property test: a dialect, its oracle, and the geometries it is given.
macro_rules! equals_the_naive_filter {
    ($($name:ident: $D:ty, $family:expr, ($bits:expr, $probes:expr);)*) => {$(
        proptest! {
            #![proptest_config(config())]
            #[test]
            fn $name(bits in $bits, probes in $probes, seed: u64, count in 0usize..12) {
                check::<$D>($family, || exact(bits, probes), seed, count);
            }
        }
    )*};
}

/// Whole 64-bit words.
fn words() -> impl Strategy<Value = u64> {
    prop_oneof![Just(64u64), (1u64..40).prop_map(|words| 64 * words)]
}

/// Any length, powers of two and their neighbours among them.
fn any_length() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..70,
        1u64..2600,
        (0u32..11, 0u64..3).prop_map(|(power, off)| ((1u64 << power) + off).max(2) - 1)
    ]
}

equals_the_naive_filter! {
    cassandra_equals_the_naive_filter: Cassandra, Family::Cassandra, (words(), 1u32..=21);
    cassandra_3_equals_the_naive_filter: Cassandra3, Family::Cassandra3, (words(), 1u32..=21);
    cassandra_2_equals_the_naive_filter: Cassandra2, Family::Cassandra2, (words(), 1u32..=21);
    cassandra_1_equals_the_naive_filter: Cassandra1, Family::Cassandra1, (words(), 1u32..=21);
    cassandra_0_7_equals_the_naive_filter: Cassandra07, Family::Cassandra07, (words(), 1u32..=21);
    cassandra_0_equals_the_naive_filter: Cassandra0, Family::Cassandra0, (words(), 1u32..=21);
    libbloom_1_equals_the_naive_filter: Libbloom1, Family::Libbloom1, (any_length(), 0u32..=40);
    leveldb_equals_the_naive_filter: LevelDb, Family::LevelDb, ((1u64..300).prop_map(|bytes| 8 * bytes), 1u32..=30);
    rocksdb_block_equals_the_naive_filter: RocksDbBlock, Family::RocksDbBlock, ((1u64..300).prop_map(|bytes| 8 * bytes), 1u32..=30);
    java_lsm_equals_the_naive_filter: JavaLsm, Family::JavaLsm, (any_length(), 0u32..=40);
}

proptest! {
    #![proptest_config(config())]

    /// 2.0 is always built from keys and a rate: 2 to 9600 bits here, including odd lengths.
    #[test]
    fn libbloom_equals_the_naive_filter(
        expected_keys in 1000u64..1100,
        fpr in prop_oneof![0.2f64..0.999, 0.01f64..0.2],
        seed: u64,
        count in 0usize..12,
    ) {
        check::<Libbloom>(Family::Libbloom, || Filter::with_fpr(expected_keys, fpr).unwrap(), seed, count);
    }

    /// Any units, paired or not, written as UTF-8 or surrogate by surrogate as Java's `writeUTF` does.
    #[test]
    fn utf_16_units_survive_both_of_javas_encodings(units in prop::collection::vec(unit(), 0..40)) {
        use fullbloom_dialects::hash::utf16_units;
        let mut modified = Vec::new();
        for &unit in &units {
            if unit == 0 {
                modified.extend_from_slice(&[0xc0, 0x80]);
            } else {
                three_bytes_at_most(unit.into(), &mut modified);
            }
        }
        assert_eq!(utf16_units(&modified).collect::<Vec<_>>(), units);

        let mut paired = Vec::new();
        for piece in char::decode_utf16(units.iter().copied()) {
            match piece {
                Ok(char) => paired.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(lone) => three_bytes_at_most(lone.unpaired_surrogate().into(), &mut paired),
            }
        }
        assert_eq!(utf16_units(&paired).collect::<Vec<_>>(), units);
    }
}

fn unit() -> impl Strategy<Value = u16> {
    prop_oneof![0u16..0x80, any::<u16>(), 0xd800u16..0xe000]
}

/// UTF-8 of a number below 2^16, including surrogates.
fn three_bytes_at_most(unit: u32, out: &mut Vec<u8>) {
    match unit {
        0..0x80 => out.push(unit as u8),
        0x80..0x800 => out.extend([0xc0 | unit >> 6, 0x80 | unit & 0x3f].map(|b| b as u8)),
        _ => out.extend([0xe0 | unit >> 12, 0x80 | unit >> 6 & 0x3f, 0x80 | unit & 0x3f].map(|b| b as u8)),
    }
}
