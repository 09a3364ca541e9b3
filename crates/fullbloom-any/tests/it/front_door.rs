//! What a program writes first, and one integer as one key in every width, sign and form.

use fullbloom::keys::Hasher;
use fullbloom::keys::{Column, Key, Nullable};
use fullbloom::{FilterBuilder, SizeError};
use fullbloom::{Hashing, SharedFilter};
use fullbloom_compact::{CompactBuilder, CompactFilter};
use fullbloom_dialects::Filter;
use fullbloom_dialects::typed::Value;
use fullbloom_dialects::{Spark, rocksdb};
use fullbloom_dynamic::{DynamicFilter, DynamicOptions, Mode};

#[test]
fn keys_are_taken_as_programs_hold_them() {
    let mut filter = fullbloom::Filter::with_fpr(1_000, 0.001).unwrap();
    let (name, bytes) = (String::from("carol"), vec![1u8, 2, 3]);
    filter.insert("alice");
    filter.insert(b"bob");
    filter.insert(&name);
    filter.insert(&bytes);
    filter.insert(bytes.as_slice());
    filter.insert(17u64);
    filter.insert(-3);
    filter.insert(("eve", 4u8, &name));
    filter.extend(["dan", "erin"]);
    filter.extend(100..110u16);
    filter.extend(vec![String::from("frank")]);
    assert!(filter.may_contain(b"alice") && filter.may_contain("bob") && filter.may_contain(name.as_bytes()));
    assert!(filter.may_contain([1, 2, 3]) && filter.may_contain(17u8) && filter.may_contain(-3i64));
    assert!(filter.may_contain(("eve", 4, "carol")) && !filter.may_contain(("ev", "e4", "carol")));
    assert!(filter.may_contain("frank") && filter.may_contain(105i128));
    let names = ["alice", "zoe"].map(String::from);
    assert_eq!(names.iter().filter(|name| filter.may_contain(name)).count(), 1);
    assert_eq!(filter.clone(), filter);
    let collected: fullbloom::Filter = (0..10u64).collect();
    assert!((0..10).all(|key| collected.may_contain(key)));
    assert_ne!(collected, filter);

    let shared = SharedFilter::with_fpr(100, 0.01).unwrap();
    shared.insert("alice");
    assert_eq!(fullbloom::Filter::decode(&shared.encode().unwrap()).unwrap(), shared.snapshot().unwrap());
    assert!(shared.snapshot().unwrap().may_contain("alice") && shared.may_contain("alice"));

    let mut dynamic = DynamicFilter::with_fpr(100, 0.01).unwrap();
    assert!(dynamic.insert("alice").unwrap() && dynamic.insert(5).unwrap() && !dynamic.insert(5u8).unwrap());
    assert!(dynamic.may_contain("alice") && dynamic.count(5i128) == Ok(1));

    let mut spark = Filter::<Spark>::with_fpr(100, 0.01).unwrap();
    spark.insert(7);
    assert!(spark.may_contain_value(Value::Int(7)).unwrap() && spark.may_contain(7i64.to_le_bytes()));
}

/// What five newcomers typed first, in the words that the library has for it. Left out are `contains` (a
/// filter says "may"), `len` and `is_empty` (a filter counts keys only nearly: `keys`), `Default` (a filter
/// has a size), `SharedFilter::clone` (a copy is a `snapshot`), conversions by `From` and `TryFrom` (`encode`
/// and `decode`), and `DynamicFilter::with_bits_per_key` (its fingerprints have a rate).
#[test]
fn one_liners_compile() -> Result<(), Box<dyn std::error::Error>> {
    let (name, pair, bytes) = (String::from("bob"), ("alice", 7), vec![1u8]);
    let mut filter = fullbloom::Filter::with_fpr(100, 0.01)?;
    assert!(filter.insert("alice") && filter.insert(&name) && filter.insert(17u64) && filter.insert(pair));
    filter.insert(&bytes);
    filter.insert(name.clone());
    assert!(filter.may_contain("alice") && filter.may_contain(&name) && filter.may_contain(17));
    filter.extend(0..10u64);
    filter.insert_batch(&["carol", "dave"])?;
    let answers: Vec<bool> = filter.may_contain_batch(&["carol", "dave"])?;
    assert_eq!(answers, [true, true]);
    let known: Vec<String> = [name.clone()].into_iter().filter(|name| filter.may_contain(name)).collect();
    assert_eq!(known, ["bob"]);
    let numbers: fullbloom::Filter = (0..10u64).collect();
    assert!(numbers.clone() == numbers && format!("{numbers:?}").contains("Filter"));
    assert_eq!(fullbloom::Filter::decode(&numbers.encode())?, numbers);
    let (hash, hashes) = (filter.hash("alice"), Hashing::default().hash_batch(&["alice", "bob"])?);
    assert!(filter.may_contain_hash(hash) && filter.count_batch(&Hashing::default().hashes(&hashes))? == 2);

    let builder = FilterBuilder::with_fpr(0.01);
    assert!(builder.is_empty() && ["a", "b"].into_iter().collect::<FilterBuilder>().len() == 2);

    let shared = std::sync::Arc::new(SharedFilter::with_fpr(100, 0.01)?);
    assert!(shared.insert("alice") && shared.snapshot()?.encode() == shared.encode()?);

    let mut dynamic: DynamicFilter = ["alice", "bob"].into_iter().collect();
    dynamic.extend(["carol"]);
    assert!(!dynamic.insert("alice")? && dynamic.may_contain("carol") && dynamic.keys() == 3);
    let mut counting = DynamicFilter::new(DynamicOptions::new(100, 0.01).mode(Mode::Counting))?;
    assert!(counting.insert("alice")? && counting.remove("alice")? && counting.keys() == 0);

    let compact: CompactFilter = (0..1_000u64).collect();
    assert!((0..1_000u64).all(|key| compact.may_contain(key)));
    Ok(())
}

#[test]
fn a_hash_is_the_same_from_every_place_that_computes_one() {
    for hashing in [Hashing::default(), Hashing::Seed(9)] {
        let mut builder = FilterBuilder::with_bits_per_key(12.0).hashing(hashing.clone());
        let hash = hashing.hash("alice");
        builder.add_hash(hash);
        assert_eq!(hash, builder.hash("alice"));
        let read = fullbloom::Filter::read(builder.finish().unwrap());
        assert!(read.may_contain_hash(hash) && read.hash("alice") == hash);
    }
}

fn fit<N: TryFrom<i128>>(number: i128) -> Option<N> {
    number.try_into().ok()
}

/// Every form in which the integer can be given, where its type has room for it.
fn forms(number: i128) -> Vec<Vec<u64>> {
    let hashing = Hashing::default();
    let mut forms = Vec::new();
    macro_rules! form {
        ($($width:ty)*) => {
            $(if let Some(number) = fit::<$width>(number) {
                forms.push(hashing.hash_batch(&Column(&[number; 3])).unwrap());
                forms.push(vec![hashing.hash(number).to_raw(); 3]);
            })*
        };
    }
    form!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);
    forms
}

#[test]
fn an_integer_is_one_key_in_every_width_and_sign() {
    let edges = [7, 8, 15, 16, 31, 32, 63, 64, 127].map(|bits| 1i128.checked_shl(bits).unwrap_or(0));
    let near = |edge: i128| {
        (-2..=2i128).flat_map(move |by| [edge.wrapping_add(by), edge.wrapping_neg().wrapping_add(by)])
    };
    for number in edges.into_iter().chain([0, 5]).flat_map(near) {
        let forms = forms(number);
        assert!(!forms.is_empty() && forms.iter().all(|form| *form == forms[0]), "{number}: {forms:?}");
        let bytes = match i64::try_from(number).map(|n| n as u64).or_else(|_| u64::try_from(number)) {
            Ok(word) => word.to_le_bytes().to_vec(),
            Err(_) => number.to_le_bytes().to_vec(),
        };
        assert_eq!(forms[0][0], Hashing::default().hash(&bytes).to_raw(), "{number}");
    }
}

#[test]
fn integers_of_one_width_are_found_by_every_other_in_every_kind() {
    let numbers = || -50..50i32;
    let long: Vec<i64> = numbers().map(i64::from).collect();
    let short: Vec<i8> = numbers().map(|n| n as i8).collect();
    let mut fast = fullbloom::Filter::with_fpr(100, 1e-6).unwrap();
    fast.insert_batch(&Column(&short)).unwrap();
    assert_eq!(fast.count_batch(&Column(&long)).unwrap(), 100);
    assert!(numbers().all(|n| fast.may_contain(n)));
    assert!(numbers().all(|n| fast.may_contain(i64::from(n))));
    let compact = CompactFilter::build(&Column(&long), 1e-6).unwrap();
    assert_eq!(compact.count_batch(&Column(&short)).unwrap(), 100);
    let mut dynamic = DynamicFilter::with_fpr(100, 1e-6).unwrap();
    dynamic.insert_batch(&Column(&numbers().collect::<Vec<_>>())).unwrap();
    assert_eq!(dynamic.count_batch(&Column(&short)).unwrap(), 100);
    dynamic.insert_batch(&Column(&long)).unwrap();
    assert_eq!(dynamic.keys(), 100);
    let shared = SharedFilter::with_fpr(100, 1e-6).unwrap();
    shared.insert_batch(&Column(&long)).unwrap();
    assert!(numbers().all(|n| shared.may_contain(n)));
}

#[test]
fn more_keys_than_any_filter_holds_are_named_as_the_cause() {
    for keys in [u64::MAX, 10_u64.pow(18)] {
        let refused = fullbloom::Filter::with_fpr(keys, 0.01).unwrap_err();
        assert!(matches!(refused, SizeError::TooLarge { .. }), "{refused}");
    }
}

/// A key of a program's own type.
struct Address {
    host: u32,
    port: u16,
}

impl Key<Hasher> for Address {
    fn hash_with(&self, hasher: &Hasher) -> u64 {
        (self.host, self.port).hash_with(hasher)
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        Key::<Hasher>::append_to(&(self.host, self.port), bytes);
    }
}

#[test]
fn a_program_can_have_its_own_keys() {
    let mut filter = fullbloom::Filter::with_fpr(10, 0.01).unwrap();
    filter.insert(Address { host: 0x7f00_0001, port: 80 });
    assert!(filter.may_contain((0x7f00_0001u64, 80u8)));
    assert!(filter.may_contain(("", Address { host: 1, port: 2 })) == filter.may_contain(("", (1, 2))));
    filter.insert_batch(&[Hashing::default().hash("given")][..]).unwrap();
    assert!(filter.may_contain("given"));
}

#[test]
fn nulls_are_no_keys_in_every_kind_and_dialect() {
    let keys: Vec<u64> = (0..300).collect();
    // The second run of 64 keys is all null, the third all valid.
    let is_valid = |key: u64| key / 64 == 2 || (key / 64 != 1 && key.is_multiple_of(3));
    let bitmap: Vec<u8> =
        (0..38).map(|byte| (0..8).fold(0, |b, i| b | u8::from(is_valid(8 * byte + i)) << i)).collect();
    let valid: Vec<u64> = keys.iter().copied().filter(|key| is_valid(*key)).collect();
    let expected: Vec<bool> = keys.iter().map(|key| is_valid(*key)).collect();
    let column = || Nullable::new(Column(&keys), &bitmap, 0);
    for mode in [Mode::Set, Mode::Counting] {
        let empty = || DynamicFilter::new(DynamicOptions::new(300, 1e-9).mode(mode)).unwrap();
        let (mut dynamic, mut by_valid, mut new) = (empty(), empty(), vec![true; 300]);
        dynamic.insert_batch_new(&column(), &mut new).unwrap();
        by_valid.insert_batch(&Column(&valid)).unwrap();
        assert!(new == expected && dynamic.encode() == by_valid.encode());
        assert_eq!(dynamic.may_contain_batch(&column()), Ok(expected.clone()));
        dynamic.insert_batch(&column()).unwrap();
        let copies = if mode == Mode::Counting { 2 } else { 1 };
        assert_eq!(dynamic.keys(), copies * valid.len() as u64);
        if mode == Mode::Counting {
            let mut removed = vec![true; 300];
            dynamic.remove_batch(&column(), &mut removed).unwrap();
            assert!(removed == expected && dynamic.keys() == valid.len() as u64);
        }
    }
    let mut builder = CompactBuilder::new(1e-9).unwrap();
    builder.add_batch(&column()).unwrap();
    let compact = builder.build().unwrap();
    assert_eq!(
        (compact.keys(), compact.may_contain_batch(&column())),
        (valid.len() as u64, Ok(expected.clone()))
    );
    let (mut spark, mut new) = (Filter::<Spark>::with_fpr(300, 1e-6).unwrap(), vec![true; 300]);
    spark.insert_batch_new(&column(), &mut new).unwrap();
    assert!(
        valid.iter().all(|key| spark.may_contain(*key)) && spark.may_contain_batch(&column()) == Ok(expected)
    );
    let mut rocksdb =
        rocksdb::Builder::new(rocksdb::Policy::new(rocksdb::FilterType::FastLocal, 10.0).unwrap());
    rocksdb.add_batch(&column()).unwrap();
    assert_eq!(rocksdb.entries(), valid.len() as u64);
}
