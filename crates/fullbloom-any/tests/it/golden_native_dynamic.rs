//! The kind `dynamic` against the second implementation: files byte for byte, both ways; and damaged ones.

use fullbloom::typed::KeyType;
use fullbloom::{Hashing, Secret};
use fullbloom_any::sniff;
use fullbloom_any::{Kind, StoredFilter};
use fullbloom_dialects::Name;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Expiry, Keep, Mode};
use fullbloom_testkit::steps::Steps;
use fullbloom_testkit::vectors::{self, Record};
use std::time::Duration;

const FILES: [&str; 6] = ["set", "promised", "counting", "expiring", "keyed", "renewed"];

fn secret() -> Secret {
    Secret::new(vectors::json("native/hash.json").hex("secret").try_into().unwrap())
}

/// The filter of the file, with its secret.
fn read(golden: &[u8]) -> DynamicFilter {
    let mut read = DynamicFilter::decode(golden).unwrap();
    read.unlock(&secret()).unwrap();
    read
}

fn golden(name: &str) -> Vec<u8> {
    vectors::bytes(&format!("native/dynamic-{name}.bloom"))
}

fn key(number: u64) -> String {
    format!("key-{number}")
}

/// The filter of a golden file, built from its keys in this order.
fn built(name: &str, order: impl Iterator<Item = u64> + Clone) -> DynamicFilter {
    let options = match name {
        // Ten bits are the fewest; these have twelve.
        "set" => DynamicOptions::new(30, 0.01),
        "promised" => DynamicOptions::new(1_000, 0.01).up_to(1_000_000),
        "counting" => DynamicOptions::new(1_000, 0.001).mode(Mode::Counting),
        "expiring" => {
            let expiry = Expiry { generations: 4, ..Expiry::of(Keep::Time(Duration::from_secs(10))) };
            DynamicOptions::new(1_000, 0.01).mode(Mode::Expiring(expiry))
        }
        "keyed" => DynamicOptions::new(1_000, 0.01).hashing(Hashing::Secret(secret())),
        _ => {
            let expiry = Expiry { keep: Keep::Keys(40), generations: 4, refresh: true };
            let options = DynamicOptions::new(1_000, 0.01).mode(Mode::Expiring(expiry));
            options.hashing(Hashing::Secret(secret()))
        }
    };
    let mut filter = DynamicFilter::new(options).unwrap();
    match name {
        "expiring" => {
            for number in 0..300 {
                filter.advance_millis(1_000_000 + 100 * number).unwrap();
                filter.insert(key(number).as_bytes()).unwrap();
            }
        }
        "renewed" => {
            for number in (0..70).chain(55..75) {
                filter.insert(key(number).as_bytes()).unwrap();
            }
            filter.store_secret(true);
            filter.set_key_type(Some(KeyType::Text));
        }
        "counting" => {
            for number in order.filter(|number| *number < 200) {
                for _ in 0..=number % 6 {
                    filter.insert(key(number).as_bytes()).unwrap();
                }
            }
        }
        _ => {
            for number in order {
                filter.insert(key(number).as_bytes()).unwrap();
            }
        }
    }
    if name == "set" {
        filter.set_label("a set");
    }
    filter
}

#[test]
fn dynamic_filters_are_written_as_by_the_second_implementation() {
    for name in FILES {
        let golden = golden(name);
        assert!(built(name, 0..700).encode() == golden, "{name}");
        assert!(built(name, (0..700).rev()).encode() == golden, "{name}, in another order");
        assert_eq!(sniff::dialect(None, &golden), Ok(Name::Native));
        let stored = StoredFilter::decode(&golden).unwrap();
        assert_eq!((stored.kind(), stored.encoded_len()), (Kind::Dynamic, golden.len() as u64));
        let mut again = Vec::new();
        stored.write_to(&mut again).unwrap();
        assert!(again == golden, "{name}, read and written again");
    }
}

#[test]
fn golden_files_have_their_keys_in_place_and_in_memory() {
    for name in FILES {
        let (golden, built) = (golden(name), built(name, 0..700));
        let mut view = DynamicFilter::view(&golden).unwrap();
        view.unlock(&secret()).unwrap();
        let read = read(&golden);
        assert_eq!((view.keys(), read.keys(), view.mode()), (built.keys(), built.keys(), built.mode()));
        for number in 0..2_000 {
            let expected = built.may_contain(key(number).as_bytes());
            assert_eq!(view.may_contain(key(number).as_bytes()), expected, "{name} {number}");
            assert_eq!(read.may_contain(key(number).as_bytes()), expected, "{name} {number}");
            assert_eq!(view.count(key(number).as_bytes()), built.count(key(number).as_bytes()));
        }
        assert!(view.fingerprints().unwrap().eq(built.fingerprints().unwrap()));
    }
}

/// Every flipped bit and every prefix of these files is tested in `corrupt_native`.
#[test]
fn a_keyed_filter_needs_its_secret_and_goes_on_with_it() {
    let golden = golden("keyed");
    let locked = DynamicFilter::view(&golden).unwrap();
    assert!(locked.is_locked() && locked.may_contain(b"anything"));
    let mut answers = [false; 2];
    locked.may_contain_batch_into(["a", "b"].as_slice(), &mut answers).unwrap();
    assert_eq!(answers, [true; 2]);
    assert!(DynamicFilter::decode(&golden).unwrap().unlock(&Secret::new([0; 16])).is_err());
    let mut read = read(&golden);
    assert!(read.may_contain(b"key-699") && !read.may_contain(b"key-700"));
    let more: Vec<String> = (0..1_000).map(key).collect();
    read.insert_batch(more.as_slice()).unwrap();
    assert!((295..=300).contains(&(read.keys() - locked.keys())));
    let mut whole = built("keyed", 0..700);
    whole.insert_batch(&more[700..]).unwrap();
    assert!(read.encode() == whole.encode());
}

fn header_len(file: &[u8]) -> usize {
    u32::from_le_bytes(file[16..20].try_into().unwrap()) as usize
}

/// With new checksums, so that only the checks of the contents are left: data is accepted only if a
/// writer would write it, and so are all numbers of the header that it depends on. Reserved fields, labels and
/// numbers that nothing else depends on may differ.
#[test]
fn changed_contents_are_refused_or_another_filter() {
    let secret = secret();
    for name in FILES {
        let golden = golden(name);
        let header = header_len(&golden);
        let mut refused = 0;
        let steps = Steps::every(5);
        for bit in (8 * 12..8 * golden.len()).filter(|bit| steps.takes(*bit as u64)) {
            let mut file = golden.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            resign(&mut file);
            if let Ok(view) = DynamicFilter::view(&file) {
                // Whatever the bytes are, lookups and listing end.
                let _ =
                    (view.may_contain(b"x"), view.fingerprints().unwrap().take(2_000).count(), view.keys());
            }
            let read = DynamicFilter::decode(&file).and_then(|mut read| read.unlock(&secret).map(|()| read));
            match read {
                Ok(mut read) => {
                    let again = read.encode();
                    let same = again[header_len(&again)..] == file[header_len(&file)..];
                    assert!(same, "{name}: bit {bit} is accepted and lost");
                    read.insert(b"x").unwrap();
                }
                Err(_) => refused += 1,
            }
        }
        let taken = 8 * (golden.len() - header) / steps.distance() as usize;
        assert!(refused > taken / 3, "{name}: {refused}");
    }
}

/// Writes the checksums of a file of one chunk.
fn resign(file: &mut [u8]) {
    let number = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let header = number(file, 16).min(file.len());
    for entry in (64..header.saturating_sub(32).min(64 + 32 * 8)).step_by(32) {
        if number(file, entry) == 4 {
            let at = number(file, entry + 8);
            if at + 4 <= header && header < file.len() {
                let sum = fullbloom_core::checksum::crc32c(&file[header..]);
                file[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            }
            break;
        }
    }
    if header > 12 {
        let sum = fullbloom_core::checksum::crc32c(&file[12..header]);
        file[8..12].copy_from_slice(&sum.to_le_bytes());
    }
}
