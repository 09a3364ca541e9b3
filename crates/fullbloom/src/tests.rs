//! What the front door refuses, and its forms for engines.

use crate::error::{DecodeError, InsertError, KeysError};
use crate::keys::{Column, Hasher, Nullable, Offsets};
use crate::typed::KeyType;
use crate::{Filter, FilterBuilder, FilterRef, FilterSet, Hashing, KeyHash, Secret, SharedFilter};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use fullbloom_core::native::sizing::Sizing;
use fullbloom_core::sizing::{Request, Target};

fn filter_by(hashing: Hashing, fpr: f64) -> Filter {
    let request = Request { expected_keys: 1_000, target: Target::Fpr(fpr) };
    Filter::with_sizing(&Sizing::new(&request).unwrap(), hashing).unwrap()
}

#[test]
fn a_hash_of_another_seed_or_secret_is_refused_and_never_a_no() {
    let secret = |byte| Hashing::Secret(Secret::new([byte; 16]));
    let all = [Hashing::default(), Hashing::Seed(1), secret(0), secret(1)];
    for (i, ours) in all.iter().enumerate() {
        let mut filter = filter_by(ours.clone(), 0.01);
        let shared = SharedFilter::from(filter_by(ours.clone(), 0.01));
        for (j, theirs) in all.iter().enumerate() {
            let (hash, raw) = (theirs.hash("alice"), [theirs.hash("bob").to_raw()]);
            assert_eq!(theirs.from_raw(hash.to_raw()), hash);
            let batch = theirs.hashes(&raw);
            if i == j {
                assert_eq!(filter.insert_hash(hash), Ok(true));
                assert_eq!(shared.insert_hash(hash), Ok(true));
                filter.insert_batch(&batch).unwrap();
                filter.insert_batch(&[hash][..]).unwrap();
                assert!(
                    filter.may_contain("alice") && filter.may_contain("bob") && shared.may_contain("alice")
                );
                continue;
            }
            let foreign = InsertError::Keys(KeysError::Hash);
            assert_eq!(filter.insert_hash(hash), Err(foreign.clone()));
            assert_eq!(shared.insert_hash(hash), Err(foreign.clone()));
            assert_eq!(filter.insert_batch(&batch), Err(foreign.clone()));
            assert_eq!(filter.insert_batch(&[hash][..]), Err(foreign.clone()));
            assert_eq!(shared.insert_batch(&batch), Err(foreign));
            assert_eq!(filter.may_contain_batch(&batch), Err(KeysError::Hash));
            assert!(filter.may_contain_hash(hash) && shared.may_contain_hash(hash));
            let mut builder = FilterBuilder::with_fpr(0.01).hashing(ours.clone());
            assert!(builder.add_batch(&batch).is_err());
            builder.add_hash(hash);
            assert!(builder.finish().is_err() && builder.finish().is_ok(), "the next table is not affected");
        }
    }
    let unknown = FilterRef::read(b"?".as_slice());
    assert!(unknown.storage() == b"?" && unknown.accepts(Hashing::Seed(3).hash("x")));
    let known = FilterRef::read(filter_by(Hashing::Seed(3), 0.01).encode());
    assert!(known.accepts(Hashing::Seed(3).hash("x")) && !known.accepts(Hashing::default().hash("x")));
    assert!(known.storage().len() > 256);
    assert!(filter_by(Hashing::default(), 0.01).may_contain_hash(unknown.hash("alice")));
}

#[test]
fn a_column_of_another_type_than_the_recorded_one_is_an_error() {
    let mut text = Filter::with_fpr(10, 0.01).unwrap();
    text.set_key_type(Some(KeyType::Text));
    text.insert("5");
    assert!(matches!(text.may_contain_batch(&Column(&[5])), Err(KeysError::Type(_))));
    assert!(text.insert_batch(&Column(&[5u8])).is_err());
    let shared = SharedFilter::from(text.clone());
    assert!(shared.may_contain_batch(&Column(&[5])).is_err() && shared.insert_batch(&Column(&[5])).is_err());
    assert_eq!(text.may_contain_batch(&["5", "6"]), Ok(vec![true, false]));

    let mut numbers = Filter::with_fpr(10, 0.01).unwrap();
    numbers.set_key_type(Some(KeyType::Long));
    numbers.insert_batch(&Column(&[5i16, -7])).unwrap();
    assert_eq!(numbers.may_contain_batch(&Column(&[5u64, 6, -7i64 as u64])), Ok(vec![true, false, true]));
    assert!(matches!(numbers.may_contain_batch(&Column(&[5.0])), Err(KeysError::Type(_))));
    // Bytes may be those of numbers.
    assert_eq!(numbers.count_batch(&[5u64.to_le_bytes()]), Ok(1));
}

#[test]
fn nulls_are_neither_inserted_nor_found() {
    let keys: Vec<u64> = (0..1_000).collect();
    let bitmap: Vec<u8> = (0..127u32).map(|i| ((i * 73) ^ (i >> 2)) as u8).collect();
    for offset in [0, 3, 16] {
        let is_valid = |key: usize| bitmap[(key + offset) / 8] >> ((key + offset) % 8) & 1 == 1;
        let valid: Vec<u64> = (0..1_000).filter(|key| is_valid(*key as usize)).collect();
        let nullable = Nullable::new(Column(&keys), &bitmap, offset);
        let mut expected = Filter::with_fpr(1_000, 1e-9).unwrap();
        expected.insert_batch(&Column(&valid)).unwrap();

        let (mut filter, mut new) = (Filter::with_fpr(1_000, 1e-9).unwrap(), vec![0u64; 16]);
        filter.insert_batch(&nullable).unwrap();
        assert_eq!(filter, expected);
        filter.clear().unwrap();
        filter.insert_batch_new(&nullable, &mut new).unwrap();
        assert!((0..1_000).all(|key| new[key / 64] >> (key % 64) & 1 == u64::from(is_valid(key))));
        assert_eq!(filter, expected);
        filter.clear().unwrap();
        filter.insert_parallel(&nullable, 2).unwrap();
        assert_eq!(filter, expected);
        let shared = SharedFilter::with_fpr(1_000, 1e-9).unwrap();
        shared.insert_batch(&nullable).unwrap();
        assert_eq!(shared.snapshot().unwrap(), expected);
        let mut builder = FilterBuilder::with_fpr(1e-9);
        builder.add_batch(&nullable).unwrap();
        assert_eq!(builder.len(), valid.len());

        let mut all = Filter::with_fpr(1_000, 1e-9).unwrap();
        all.insert_batch(&Column(&keys)).unwrap();
        let answers: Vec<bool> = (0..1_000).map(is_valid).collect();
        assert_eq!(all.may_contain_batch(&nullable), Ok(answers.clone()));
        assert_eq!(all.count_batch(&nullable), Ok(valid.len() as u64));
        assert_eq!(SharedFilter::from(all).may_contain_batch(&nullable), Ok(answers));
    }
    let short = Nullable::new(Column(&keys), &bitmap[..100], 0);
    let mut filter = Filter::with_fpr(1_000, 0.01).unwrap();
    assert!(filter.insert_batch(&short).is_err() && filter.may_contain_batch(&short).is_err());
    let text = Nullable::new(Offsets::new(b"ab", &[0i32, 1, 1, 2]).unwrap(), &[0b101], 0);
    filter.insert_batch(&text).unwrap();
    assert!(filter.may_contain("a") && filter.may_contain("b") && !filter.may_contain(""));
}

#[test]
fn answers_need_one_place_for_each_key() {
    let mut filter = Filter::with_fpr(100, 0.01).unwrap();
    let keys = [1u64; 100];
    let (mut few, mut words) = ([false; 99], [0u64; 1]);
    assert_eq!(
        filter.may_contain_batch_into(&Column(&keys), &mut few),
        Err(KeysError::Answers { keys: 100, places: 99 })
    );
    assert_eq!(
        filter.may_contain_batch_into(&Column(&keys), &mut words[..]),
        Err(KeysError::Answers { keys: 100, places: 64 })
    );
    assert!(filter.insert_batch_new(&Column(&keys), &mut few).is_err());
    assert_eq!(filter.keys(), 0);
}

#[test]
fn a_filter_that_takes_no_keys_is_read_in_place_only() {
    let members = ["alice", "bob"];
    let good: Vec<String> = (0..2_000).map(|i| alloc::format!("good-{i}")).collect();
    let mut filter = Filter::with_fpr(2, 0.1).unwrap();
    filter.insert_batch(&members).unwrap();
    let excepting = filter.clone().with_exceptions(&good, &members).unwrap();
    let secret = Secret::new(*b"0123456789abcdef");
    let mut keyed = filter_by(Hashing::Secret(secret.clone()), 0.01);
    keyed.insert("alice");
    for bytes in [excepting.encode(), keyed.encode()] {
        assert!(matches!(Filter::decode(&bytes), Err(DecodeError::ReadOnly { .. })));
        let read = Filter::over(bytes.as_slice()).unwrap();
        assert!(read.may_contain("alice"));
        assert!(matches!(read.to_mutable(), Err(DecodeError::ReadOnly { .. })));
    }
    // With its secret, a keyed filter takes keys again.
    let mut read = Filter::over(keyed.encode()).unwrap();
    read.unlock(&secret).unwrap();
    let mut unlocked = read.to_mutable().unwrap();
    assert!(unlocked.insert("bob") && unlocked.may_contain("alice"));
    let mut locked = FilterRef::read(keyed.encode());
    assert!(locked.may_contain("mallory") && locked.unlock(&Secret::new([1; 16])).is_err());
    locked.unlock(&secret).unwrap();
    assert!(!locked.may_contain("mallory") && locked.may_contain("alice"));
}

#[test]
fn bare_filters_answer_as_those_with_a_header() {
    let hashings = [Hashing::default(), Hashing::Secret(Secret::new([7; 16]))];
    for (hashing, fpr) in hashings.iter().flat_map(|h| [0.1, 0.01, 1e-4, 1e-8].map(|fpr| (h, fpr))) {
        for keys in [0, 1, 50, 3_000u64] {
            let mut builder = FilterBuilder::with_fpr(fpr).hashing(hashing.clone());
            builder.extend(0..keys);
            let filter = builder.build().unwrap();
            let bare = builder.finish_bare().unwrap();
            assert_eq!((bare.len(), filter.encode_bare().unwrap()), (filter.bits().len() + 4, bare.clone()));
            let read = Filter::over_bare(bare.as_slice(), hashing).unwrap();
            let asked: Vec<u64> = (0..10_000).collect();
            assert_eq!(read.may_contain_batch(&Column(&asked)), filter.may_contain_batch(&Column(&asked)));
            assert!(read.layout() == filter.layout() && read.bits() == filter.bits());
            let (hasher, other) = (Hasher::new(hashing), Hasher::new(&Hashing::Seed(1)));
            for key in &asked {
                let found = Filter::bare_may_contain(&bare, KeyHash::new(*key, &hasher), &hasher);
                assert_eq!(found, filter.may_contain(*key), "{key}");
            }
            let foreign = KeyHash::new(1u64 << 40, &other);
            assert!(Filter::bare_may_contain(&bare, foreign, &hasher), "a hash by another hasher");
            let absent = KeyHash::new(1u64 << 40, &hasher);
            for cut in 0..bare.len() {
                assert!(!FilterRef::read_bare(&bare[..cut], hashing).is_known(), "{cut} of {}", bare.len());
                assert!(Filter::bare_may_contain(&bare[..cut], absent, &hasher), "{cut} of {}", bare.len());
            }
            for bit in 8 * filter.bits().len()..8 * bare.len() {
                let mut flipped = bare.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!FilterRef::read_bare(flipped, hashing).is_known(), "bit {bit}");
            }
        }
    }
}

#[test]
fn a_set_of_filters_names_those_that_may_contain_a_key() {
    let mut set = FilterSet::new();
    assert_eq!(set.candidates("any").count(), 0);
    set.push(FilterRef::read(b"unknown".to_vec()));
    assert_eq!(set.candidates("any").collect::<Vec<_>>(), [0]);
    let secret = Hashing::Secret(Secret::new([1; 16]));
    for table in 1..200u64 {
        let hashing = [Hashing::default(), Hashing::Seed(9), secret.clone()][table as usize % 3].clone();
        let mut builder = FilterBuilder::with_fpr(if table % 2 == 0 { 1e-3 } else { 1e-6 }).hashing(hashing);
        builder.extend(100 * table..100 * table + 100);
        set.push(FilterRef::read(builder.finish().unwrap()));
    }
    for key in [100, 150, 6_400, 6_499, 19_999, 50_000] {
        let one_by_one: Vec<usize> = (0..200).filter(|i| set.filters()[*i].may_contain(key)).collect();
        assert_eq!(set.candidates(key).collect::<Vec<_>>(), one_by_one, "{key}");
        let by_hash: Vec<usize> = set.candidates_hash(Hashing::default().hash(key)).collect();
        assert!(by_hash.iter().all(|i| i % 3 != 0 || *i == 0 || one_by_one.contains(i)), "{key}");
        assert!(
            (1..200).all(|i| i % 3 == 0 || by_hash.contains(&i)),
            "those with another seed are candidates"
        );
        assert!(key >= 20_000 || one_by_one.contains(&(key as usize / 100)));
    }
}

#[test]
fn too_many_keys_are_named_as_the_cause() {
    use crate::SizeError::TooLarge;
    assert!(matches!(Filter::with_fpr(u64::MAX, 0.01), Err(TooLarge { .. })));
    assert!(matches!(Filter::with_fpr(10u64.pow(15), 0.01), Err(TooLarge { .. })));
    assert!(matches!(Filter::with_bits_per_key(u64::MAX, 10.0), Err(TooLarge { .. })));
}
