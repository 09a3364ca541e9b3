//! A small filter of every dialect: built, encoded, decoded, queried by key and by batch, cut and damaged.
//!
//! Few operations on few bytes, so that Miri can run them: `proofs/miri/run`.

use crate::common::{options, view};
use fullbloom::any::{AnyFilter, Builder};
use fullbloom::dialect::Name;
use fullbloom::keys::{Column, Hashes, Offsets};
use fullbloom::native::{Hashing, Secret, Sizing};
use fullbloom::sizing::{Request, Target};
use fullbloom::{Filter, NativeFilter, dialect::Cassandra};
use fullbloom_testkit::damage::patched;

const KEYS: [&[u8]; 5] = [b"", b"a", b"key-7", b"name", "gr\u{fc}n".as_bytes()];

/// A small filter. Sized by bits per key: some dialects measure rates to size a filter for one, which takes Miri minutes.
fn file(name: Name) -> Vec<u8> {
    let target = Target::BitsPerKey(10.0);
    let made = |expected_keys| Builder::new(name, &Request { expected_keys, target }).ok();
    let mut builder = [20, 1000].into_iter().find_map(made).unwrap();
    builder.insert_batch(&KEYS);
    builder.finish().unwrap().encode()
}

#[test]
fn every_dialect_is_built_read_and_queried() {
    for &name in Name::ALL {
        let file = file(name);
        // Formats without a header are read with the numbers that the filter was built with.
        let Ok(filter) = view(name, &file, None) else { continue };
        let texts: Vec<String> = (0..70).map(|i| format!("key-{i}")).collect();
        let keys: Vec<&[u8]> = KEYS.iter().copied().chain(texts.iter().map(String::as_bytes)).collect();
        let mut answers = vec![false; keys.len()];
        filter.may_contain_batch(keys.as_slice(), &mut answers);
        for (key, answer) in keys.iter().zip(&answers) {
            assert_eq!(filter.may_contain(key), *answer, "{name}");
        }
        assert!(answers[..KEYS.len()].iter().all(|&yes| yes), "{name}");
        for len in (0..file.len()).step_by(file.len() / 8 + 1) {
            let _ = view(name, &file[..len], None); // refused or answered; never read past its end
        }
        for at in (0..file.len()).step_by(file.len() / 8 + 1) {
            if let Ok(damaged) = view(name, &patched(&file, at, &[file[at] ^ 0x81]), None) {
                let _ = damaged.may_contain(b"a");
            }
        }
    }
}

#[test]
fn keys_of_every_form_are_inserted_and_found() {
    let (mut native, mut cassandra) =
        (NativeFilter::with_fpr(100, 0.01).unwrap(), Filter::<Cassandra>::with_fpr(100, 0.01).unwrap());
    let numbers: Vec<u64> = (0..70).collect();
    native.insert_batch(&Column(&numbers));
    assert_eq!(native.count_batch(&Column(&numbers)), 70);
    let offsets: [i32; 4] = [0, 1, 1, 4];
    let column = Offsets::new(b"abcd", &offsets).unwrap();
    native.insert_batch(&column);
    cassandra.insert_batch(&column);
    for key in [&b"a"[..], b"", b"bcd"] {
        assert!(native.may_contain(key) && cassandra.may_contain(key));
    }
    let hashes: Vec<_> = KEYS.iter().map(|key| cassandra.hash(key)).collect();
    cassandra.insert_batch(&Hashes(&hashes));
    assert_eq!(cassandra.count_batch(&Hashes(&hashes)), KEYS.len() as u64);
}

#[test]
fn native_filters_with_a_secret_exceptions_and_two_parts_are_read_back() {
    let hashing = Hashing::Secret(Secret::new([7; 16]));
    let sizing = Sizing::new(&Request { expected_keys: 100, target: Target::Fpr(1e-5) }).unwrap();
    let mut filter = NativeFilter::with_sizing(&sizing, hashing).unwrap();
    filter.insert_batch(&KEYS);
    filter.store_secret(true);
    let mut other = filter.try_clone().unwrap();
    other.insert(b"other");
    filter.merge(&other).unwrap();
    let file = filter.encode();
    let read = AnyFilter::over(file, &options(Name::Native, None), fullbloom::filter::Check::All).unwrap();
    assert!(KEYS.iter().all(|key| read.may_contain(key)) && read.may_contain(b"other"));
}
