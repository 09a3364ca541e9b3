//! The native dialect against a second implementation, written from `docs/formats/native.md`: hashes, and
//! files byte for byte both ways.

use crate::common;
use fullbloom::DecodeError;

use fullbloom::keys::Column;
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::sniff;
use fullbloom_any::verify;
use fullbloom_any::{AnyFilter, ReadOptions};
use fullbloom_core::hash::{fold64, siphash13};
use fullbloom_core::typed::{KeyField, KeyForm, KeyType, TypeError};
use fullbloom_dialects::Name;
use fullbloom_testkit::sha256_hex;
use fullbloom_testkit::vectors::{self, Record};

fn keys() -> Vec<String> {
    (0..100).map(|i| format!("key-{i}")).collect()
}

fn secret() -> Secret {
    let bytes = vectors::json("native/hash.json").hex("secret");
    Secret::new(bytes.try_into().unwrap())
}

/// The filter of the hundred keys with this geometry and hash.
fn built(bit_len: u64, probes: u32, hashing: Hashing, expected_keys: u64) -> fullbloom::Filter {
    let plan = Sizing::new(&Request { expected_keys, target: Target::Exact { bit_len, probes } }).unwrap();
    let mut filter = fullbloom::Filter::with_sizing(&plan, hashing).unwrap();
    filter.insert_batch(keys().as_slice()).unwrap();
    filter
}

#[test]
fn hashes_are_those_of_the_second_implementation() {
    let file = vectors::json("native/hash.json");
    let secret: [u8; 16] = file.hex("secret").try_into().unwrap();
    let records = file.list("hashes");
    assert_eq!(records.len(), 76);
    for record in records {
        let key = record.hex("key");
        assert_eq!(fold64(&key, 0), record.hex_int("seed_0"), "{record}");
        assert_eq!(fold64(&key, 1), record.hex_int("seed_1"), "{record}");
        assert_eq!(fold64(&key, u64::MAX), record.hex_int("seed_max"), "{record}");
        assert_eq!(siphash13(&key, &secret), record.hex_int("siphash13"), "{record}");
    }
}

/// Our file of the same filter equals the golden file, and the golden file decodes to our filter.
#[track_caller]
fn same(name: &str, ours: &fullbloom::Filter) {
    let golden = vectors::bytes(name);
    assert_eq!(ours.encode(), golden, "{name}");
    assert_eq!(ours.encoded_len(), golden.len() as u64);
    verify(&golden).unwrap();
    let mut read = fullbloom::Filter::view(&golden).unwrap();
    read.unlock(&secret()).unwrap();
    assert_eq!(read.bits(), ours.bits());
    assert_eq!(read.hashing(), ours.hashing());
    assert_eq!((read.keys(), read.expected_keys()), (ours.keys(), ours.expected_keys()));
    assert_eq!((read.label(), read.layout(), read.blocks()), (ours.label(), ours.layout(), ours.blocks()));
    assert_eq!(read.encode(), golden, "{name}, read and written again");
    assert!(keys().iter().all(|key| read.may_contain(key.as_bytes())));
    assert_eq!(sniff::dialect(None, &golden), Ok(Name::Native));
}

#[test]
fn files_are_written_and_read_as_by_the_second_implementation() {
    same("native/one-line.bloom", &built(1024, 6, Hashing::Seed(0), 100));
    let mut two = built(64 * 512, 14, Hashing::Seed(7), 1000);
    two.set_label("zwei Zeilen für jeden Schlüssel");
    same("native/two-lines.bloom", &two);
    same("native/keyed.bloom", &built(4 * 512, 8, Hashing::Secret(secret()), 100));
    let mut open = built(4 * 512, 8, Hashing::Secret(secret()), 100);
    open.set_label("open");
    open.store_secret(true);
    same("native/keyed-with-secret.bloom", &open);
}

#[test]
fn the_type_of_keys_is_written_and_read_as_by_the_second_implementation() {
    let numbers: Vec<u64> = (-50i64..50).map(|n| (n * n * n - 100).cast_unsigned()).collect();
    for (name, key_type) in
        [("bytes", KeyType::Bytes), ("text", KeyType::Text), ("int", KeyType::Int), ("long", KeyType::Long)]
    {
        let golden = vectors::bytes(&format!("native/{name}-keys.bloom"));
        let mut ours = match key_type.is_number() {
            false => built(1024, 6, Hashing::Seed(0), 100),
            true => {
                let target = Target::Exact { bit_len: 1024, probes: 6 };
                let plan = Sizing::new(&Request { expected_keys: 100, target }).unwrap();
                let mut filter = fullbloom::Filter::with_sizing(&plan, Hashing::Seed(0)).unwrap();
                filter.insert_batch(&Column(&numbers)).unwrap();
                filter
            }
        };
        ours.set_key_type(Some(key_type));
        assert_eq!(ours.encode(), golden, "{name}");
        let read = fullbloom::Filter::decode(&golden).unwrap();
        assert_eq!((read.key_type(), read.encode()), (Some(key_type), golden.clone()), "{name}");

        for given in [KeyType::Bytes, KeyType::Text, KeyType::Int, KeyType::Long] {
            let options = ReadOptions::from(Name::Native).key_type(given);
            let read = AnyFilter::decode(&golden, &options);
            if given.is_number() == key_type.is_number() {
                assert_eq!(read.unwrap().recorded_key_type(), Some(key_type));
            } else {
                let refused = TypeError::Recorded { recorded: key_type, given };
                assert_eq!(read.unwrap_err(), DecodeError::KeyType(refused));
            }
        }
    }
    let mut newer = vectors::bytes("native/long-keys.bloom");
    let at = 64 + 3 * 32 + 6; // after the header and three entries of the table
    assert_eq!(newer[at], 4);
    newer[at] = 5;
    let header = u32::from_le_bytes(newer[16..20].try_into().unwrap()) as usize;
    let sum = fullbloom_core::checksum::crc32c(&newer[12..header]);
    newer[8..12].copy_from_slice(&sum.to_le_bytes());
    let refused = fullbloom::Filter::decode(&newer).unwrap_err();
    assert_eq!(refused, DecodeError::Newer { field: "key type", at: at as u64, got: 5 });
}

/// The other languages build and read the same two files: tests of `fullbloom-capi`, of the command, of the page's
/// module, of the Python package, and of Spark.
#[test]
fn an_integer_of_every_width_and_sign_is_the_key_of_the_golden_files() {
    let lists = vectors::json("native/integers.json");
    let parsed = |width: &str| lists[width].as_array().unwrap().iter().map(|number| number.as_str().unwrap());
    for (name, key_type, keys) in [("integers", Some(KeyType::Long), 21), ("integers-wide", None, 5)] {
        let golden = vectors::bytes(&format!("native/{name}.bloom"));
        let read = fullbloom::Filter::decode(&golden).unwrap();
        assert!(parsed("absent").all(|n| !read.may_contain(n.parse::<i64>().unwrap())), "{name}");
        let target = Target::Exact { bit_len: 16 * 512, probes: 8 };
        let plan = Sizing::new(&Request { expected_keys: keys, target }).unwrap();
        let mut built = fullbloom::Filter::with_sizing(&plan, Hashing::Seed(0)).unwrap();
        built.set_key_type(key_type);
        macro_rules! widths {
            ($($width:ty)*) => {
                $(
                    let numbers: Vec<$width> =
                        parsed(stringify!($width)).map(|number| number.parse().unwrap()).collect();
                    assert!(numbers.iter().all(|number| read.may_contain(*number)), stringify!($width));
                    assert_eq!(read.count_batch(&Column(&numbers)).unwrap(), numbers.len() as u64);
                    built.insert_batch(&Column(&numbers)).unwrap();
                )*
            };
        }
        match key_type {
            Some(_) => {
                widths!(i8 u8 i16 u16 i32 u32 i64 u64);
            }
            None => {
                widths!(i128 u128);
            }
        }
        assert_eq!(built.encode(), golden, "{name}");
    }
}

#[test]
fn the_form_of_keys_is_recorded_and_required() {
    let golden = vectors::bytes("native/formed-keys.bloom");
    let form = KeyForm { trim: true, ignore_case: true };
    let refused = AnyFilter::decode(&golden, &ReadOptions::new()).unwrap_err();
    assert_eq!(refused, DecodeError::KeyType(TypeError::Form { recorded: form }));
    let read = AnyFilter::decode(&golden, &ReadOptions::new().key_form_applied()).unwrap();
    assert_eq!((read.key_form(), read.encode()), (form, golden));
    assert!((0..100).all(|i| read.may_contain(&form.apply(format!(" KEY-{i}\t").as_bytes()))));
}

#[test]
fn the_field_of_keys_is_recorded() {
    let golden = vectors::bytes("native/field-keys.bloom");
    let read = AnyFilter::decode(&golden, &ReadOptions::new()).unwrap();
    assert_eq!(read.key_field(), KeyField::new(3, b',', true));
    assert_eq!(read.encode(), golden);
    assert!((0..100).all(|i| read.may_contain(format!("key-{i}").as_bytes())));
}

#[test]
fn four_lines_are_written_and_read_as_by_the_second_implementation() {
    let golden = vectors::bytes("native/four-lines.bloom");
    let read = fullbloom::Filter::decode(&golden).unwrap();
    assert_eq!((read.layout().lines(), read.layout().block_lines(), read.blocks()), (4, 8, 3));
    assert_eq!(read.encode(), golden);
    let ours = built(3 * 8 * 512, 32, Hashing::Seed(u64::MAX), 0);
    assert_eq!((ours.bits(), ours.keys()), (read.bits(), read.keys()));
}

#[test]
fn large_arrays_begin_at_a_page() {
    let plan = Sizing::new(&Request {
        expected_keys: 840_000,
        target: Target::Exact { bit_len: (16384 + 16) * 512, probes: 5 },
    });
    let mut filter = fullbloom::Filter::with_sizing(&plan.unwrap(), Hashing::Seed(3)).unwrap();
    filter.insert_batch(keys().as_slice()).unwrap();
    let file = filter.encode();
    assert_eq!(sha256_hex(&file), vectors::json("native/hash.json").text("large_sha256"));
    assert_eq!(u32::from_le_bytes(file[16..20].try_into().unwrap()), 4096);
}

#[test]
fn both_forms_of_exceptions_answer_as_the_second_implementation_meant() {
    for (name, levels) in [("native/exceptions-list.bloom", 0), ("native/exceptions-chain.bloom", 3)] {
        let golden = vectors::bytes(name);
        let guarded = fullbloom::Filter::over(golden.as_slice()).unwrap();
        assert_eq!(guarded.exceptions().unwrap().levels, levels, "{name}");
        let good: Vec<String> = (0..1000).map(|i| format!("good-{i}")).collect();
        assert!(
            good.iter().filter(|key| guarded.without_exceptions().may_contain(key.as_bytes())).count() > 50
        );
        assert!(good.iter().all(|key| !guarded.may_contain(key.as_bytes())), "{name}");
        assert!(keys().iter().all(|key| guarded.may_contain(key.as_bytes())), "{name}");
        assert_eq!(guarded.encode(), golden, "{name}, read and written again");
        let view = common::view(Name::Native, &golden, None).unwrap();
        assert!(!view.may_contain(b"good-1") && view.may_contain(b"key-1"));
        assert!(matches!(fullbloom::Filter::decode(&golden), Err(DecodeError::ReadOnly { .. })));
    }
}

#[test]
fn a_filter_without_its_secret_says_maybe_and_can_be_copied() {
    let golden = vectors::bytes("native/keyed.bloom");
    let mut locked = fullbloom::Filter::view(&golden).unwrap();
    assert!(locked.is_locked());
    assert!(locked.may_contain(b"anything"));
    assert_eq!(locked.encode(), golden);
    assert!(matches!(fullbloom::Filter::decode(&golden), Err(DecodeError::ReadOnly { .. })));
    let wrong = locked.unlock(&Secret::new([1; 16]));
    assert!(matches!(wrong, Err(DecodeError::Unknown { .. })));
    assert!(locked.is_locked());
    locked.unlock(&secret()).unwrap();
    assert!(locked.may_contain(b"key-1") && !locked.may_contain(b"key-100"));
}
