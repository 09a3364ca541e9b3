//! A small filter of every dialect: built, encoded, decoded, queried by key and by batch, cut and damaged.
//!
//! Few operations on few bytes, so that Miri can run them: `proofs/miri/run`.

use crate::common::{raw_geometry, view};
use fullbloom::keys::{Column, Offsets};
use fullbloom::sizing::Sizing;
use fullbloom::sizing::{Layout, Request, Target};
use fullbloom::{Hashing, Secret};
use fullbloom_any::{AnyFilter, Builder};
use fullbloom_dialects::Name;
use fullbloom_dialects::{Cassandra, Filter};
use fullbloom_testkit::damage::patched;

const KEYS: [&[u8]; 5] = [b"", b"a", b"key-7", b"name", "gr\u{fc}n".as_bytes()];

/// A small filter. Sized by bits per key: some dialects measure rates to size a filter for one, which takes
/// Miri minutes.
fn filter(name: Name) -> AnyFilter {
    let target = Target::BitsPerKey(10.0);
    let made = |expected_keys| Builder::new(name, &Request { expected_keys, target }).ok();
    let mut builder = [20, 1000].into_iter().find_map(made).unwrap();
    builder.add_batch(&KEYS);
    builder.build().unwrap()
}

#[test]
fn every_dialect_is_built_read_and_queried() {
    for &name in Name::ALL {
        let built = filter(name);
        let (file, geometry) = (built.encode(), raw_geometry(&built));
        let filter = view(name, &file, geometry).unwrap();
        let texts: Vec<String> = (0..70).map(|i| format!("key-{i}")).collect();
        let keys: Vec<&[u8]> = KEYS.iter().copied().chain(texts.iter().map(String::as_bytes)).collect();
        let mut answers = vec![false; keys.len()];
        filter.may_contain_batch_into(keys.as_slice(), &mut answers).unwrap();
        for (key, answer) in keys.iter().zip(&answers) {
            assert_eq!(filter.may_contain(key), *answer, "{name}");
        }
        assert!(answers[..KEYS.len()].iter().all(|&yes| yes), "{name}");
        for len in (0..file.len()).step_by(file.len() / 8 + 1) {
            let _ = view(name, &file[..len], geometry); // refused or answered; never read past its end
        }
        for at in (0..file.len()).step_by(file.len() / 8 + 1) {
            if let Ok(damaged) = view(name, &patched(&file, at, &[file[at] ^ 0x81]), geometry) {
                let _ = damaged.may_contain(b"a");
            }
        }
    }
}

#[test]
fn keys_of_every_form_are_inserted_and_found() {
    let (mut native, mut cassandra) =
        (fullbloom::Filter::with_fpr(100, 0.01).unwrap(), Filter::<Cassandra>::with_fpr(100, 0.01).unwrap());
    let numbers: Vec<u64> = (0..70).collect();
    native.insert_batch(&Column(&numbers)).unwrap();
    assert_eq!(native.count_batch(&Column(&numbers)).unwrap(), 70);
    let offsets: [i32; 4] = [0, 1, 1, 4];
    let column = Offsets::new(b"abcd", &offsets).unwrap();
    native.insert_batch(&column).unwrap();
    cassandra.insert_batch(&column).unwrap();
    for key in [&b"a"[..], b"", b"bcd"] {
        assert!(native.may_contain(key) && cassandra.may_contain(key));
    }
    let hashes: Vec<_> = KEYS.iter().map(|key| cassandra.hash(key)).collect();
    cassandra.insert_batch(hashes.as_slice()).unwrap();
    assert_eq!(cassandra.count_batch(hashes.as_slice()).unwrap(), KEYS.len() as u64);
}

#[test]
fn native_filters_with_several_lines_a_key_or_exceptions_are_read_back_with_their_secret() {
    let empty = |layout, blocks| {
        let hashing = Hashing::Secret(Secret::new([7; 16]));
        let sizing = Sizing::with_layout(layout, blocks, 100);
        let mut filter = fullbloom::Filter::with_sizing(&sizing, hashing).unwrap();
        filter.store_secret(true);
        filter
    };
    let read = |filter: &fullbloom::Filter| view(Name::Native, &filter.encode(), None).unwrap();

    let two_lines = Layout::new(2, 4, 5).unwrap();
    let (mut filter, mut other) = (empty(two_lines, 3), empty(two_lines, 3));
    filter.insert_batch(&KEYS).unwrap();
    other.insert(b"other");
    filter.merge(&other).unwrap();
    let merged = read(&filter);
    assert!(KEYS.iter().all(|key| merged.may_contain(key)) && merged.may_contain(b"other"));

    let (members, good): (Vec<u64>, Vec<u64>) = ((0..100).collect(), (1000..1050).collect());
    let mut filter = empty(Layout::new(1, 1, 2).unwrap(), 1);
    filter.insert_batch(&Column(&members)).unwrap();
    assert!(filter.count_batch(&Column(&good)).unwrap() > 0, "nothing to except");
    let guarded = filter.with_exceptions(&Column(&good), &Column(&members)).unwrap();
    let guarded = fullbloom::Filter::over(guarded.encode()).unwrap();
    assert!(members.iter().all(|key| guarded.may_contain(key.to_le_bytes())));
    assert!(good.iter().all(|key| !guarded.may_contain(key.to_le_bytes())));
}
