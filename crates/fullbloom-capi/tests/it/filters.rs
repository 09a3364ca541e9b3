//! Every dialect through the C functions: the bytes and answers are those of the core.
#![allow(unsafe_code)]

use crate::common::*;

use fullbloom::sizing::{Request, Target};
use fullbloom_any::Builder;
use fullbloom_c::dialect::{UNKNOWN, number};
use fullbloom_c::facts::fullbloom_plan;
use fullbloom_c::filter::fullbloom_filter_unlock;
use fullbloom_c::key_type::{fullbloom_filter_require_key_type, fullbloom_filter_set_key_type};
use fullbloom_c::status::Status;
use fullbloom_dialects::Name;

const KEYS: u64 = 3000;

fn keys(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|i| format!("{:016x}", (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

fn slices(keys: &[String]) -> Vec<&[u8]> {
    keys.iter().map(|key| key.as_bytes()).collect()
}

fn ten_bits() -> fullbloom_c::sizing::Sizing {
    fullbloom_c::sizing::Sizing { bits_per_key: 10.0, ..sizing(KEYS) }
}

/// The same filter by the core.
fn expected(dialect: Name, keys: &[&[u8]]) -> Vec<u8> {
    let request = Request { expected_keys: KEYS, target: Target::BitsPerKey(10.0) };
    let mut builder = Builder::new(dialect, &request).unwrap();
    builder.add_batch(keys);
    builder.build().unwrap().encode()
}

#[test]
fn every_dialect_is_built_looked_up_encoded_and_read_again_in_four_ways() {
    let directory = tempfile::tempdir().unwrap();
    let (inside, outside) = (keys(0..KEYS), keys(KEYS..2 * KEYS));
    let (inside, outside) = (slices(&inside), slices(&outside));
    for &dialect in Name::ALL {
        let filter = create(dialect, &ten_bits()).unwrap();
        assert!(filter.insert(inside[0]).unwrap(), "{dialect}");
        assert_eq!(filter.insert_batch(&inside[1..]), Status::Ok, "{dialect}");
        assert_eq!(filter.finish(), Status::Ok);
        let bytes = filter.encode().unwrap();
        assert_eq!(bytes, expected(dialect, &inside), "{dialect}");
        let expected_answers = filter.answers(&outside).unwrap();
        assert!(expected_answers.iter().filter(|&&yes| yes).count() < outside.len() / 20, "{dialect}");
        let facts = filter.facts().unwrap();
        assert_eq!(facts.dialect, number(dialect));
        assert!(facts.fill > 0.0 && facts.expected_fpr > 0.0 && facts.expected_fpr < 0.05, "{dialect}");

        let path = directory.path().join(dialect.as_str());
        assert_eq!(filter.save(&path), Status::Ok);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{dialect}");
        let geometry = match dialect {
            Name::Libbloom1 | Name::JavaLsm => (facts.bits, facts.probes),
            _ => (0, 0),
        };
        let d = number(dialect);
        let read = [
            view(d, &bytes, geometry),
            decode(d, &bytes, geometry),
            load(d, &path, geometry),
            open(d, &path, geometry),
        ];
        for (i, again) in read.into_iter().enumerate() {
            let again = again.unwrap_or_else(|status| panic!("{dialect} {i}: {status:?}: {}", message()));
            assert!(inside.iter().all(|key| again.may_contain(key).unwrap()), "{dialect} {i}");
            assert!(again.answers(&inside).unwrap().iter().all(|&yes| yes), "{dialect} {i}");
            assert_eq!(again.answers(&outside).unwrap(), expected_answers, "{dialect} {i}");
            assert_eq!(again.encode().unwrap(), bytes, "{dialect} {i}");
            let copied = i == 1 || i == 2;
            let built_at_once = matches!(dialect, Name::RocksDb | Name::RocksDbLegacy | Name::RocksDbRibbon);
            let takes_keys = copied && !built_at_once;
            assert_eq!(again.facts().unwrap().takes_keys, u8::from(takes_keys), "{dialect} {i}");
            match takes_keys {
                true => assert!(!again.insert(inside[7]).unwrap()),
                false => assert_eq!(again.insert(inside[7]), Err(Status::ReadOnly)),
            }
        }
    }
}

#[test]
fn halves_merge_to_the_whole_where_the_dialect_allows() {
    let all = keys(0..KEYS);
    let all = slices(&all);
    for &dialect in Name::ALL {
        let parts: Vec<Filter> = all
            .chunks(all.len() / 2)
            .map(|half| {
                let filter = create(dialect, &ten_bits()).unwrap();
                assert_eq!(filter.insert_batch(half), Status::Ok);
                assert_eq!(filter.finish(), Status::Ok);
                filter
            })
            .collect();
        let status = parts[0].merge(&parts[1]);
        if dialect == Name::RocksDbRibbon {
            assert_eq!(status, Status::Merge);
            continue;
        }
        assert_eq!(status, Status::Ok, "{dialect}: {}", message());
        assert!(parts[0].answers(&all).unwrap().iter().all(|&yes| yes), "{dialect}");
        assert_eq!(parts[0].merge(&parts[0]), Status::Ok);
        // A view of memory that is not the filter's own cannot be merged into.
        let bytes = parts[1].encode().unwrap();
        let facts = parts[1].facts().unwrap();
        let borrowed = view(number(dialect), &bytes, (facts.bits, facts.probes)).unwrap();
        assert_eq!(borrowed.merge(&parts[0]), Status::ReadOnly, "{dialect}");
        assert_eq!(parts[0].merge(&borrowed), Status::Ok, "{dialect}: {}", message());
    }
}

#[test]
fn filters_of_two_dialects_or_shapes_do_not_merge_and_the_message_says_why() {
    let leveldb = create(Name::LevelDb, &ten_bits()).unwrap();
    let native = create(Name::Native, &ten_bits()).unwrap();
    assert_eq!(leveldb.merge(&native), Status::Merge);
    assert!(message().contains("dialect is leveldb in one and native"), "{}", message());
    let larger = fullbloom_c::sizing::Sizing { expected_keys: 2 * KEYS, ..ten_bits() };
    assert_eq!(leveldb.merge(&create(Name::LevelDb, &larger).unwrap()), Status::Merge);
}

#[test]
fn a_rocksdb_filter_answers_only_when_finished_and_then_takes_no_keys() {
    for dialect in [Name::RocksDb, Name::RocksDbLegacy, Name::RocksDbRibbon] {
        let filter = create(dialect, &ten_bits()).unwrap();
        filter.insert(b"key").unwrap();
        assert_eq!(filter.may_contain(b"key"), Err(Status::NotFinished));
        assert_eq!(filter.answers(&[b"key"]), Err(Status::NotFinished));
        assert_eq!(filter.encode(), Err(Status::NotFinished));
        assert_eq!(filter.save("/dev/null".as_ref()), Status::NotFinished);
        assert_eq!(filter.facts().err(), Some(Status::NotFinished));
        assert_eq!(filter.clear(), Status::NotFinished);
        assert_eq!((filter.finish(), filter.finish()), (Status::Ok, Status::Ok));
        assert_eq!(filter.may_contain(b"key"), Ok(true));
        assert_eq!(filter.insert(b"other"), Err(Status::ReadOnly));
        assert_eq!(filter.insert_batch(&[b"other"]), Status::ReadOnly);
        assert_eq!(filter.clear(), Status::ReadOnly);
    }
}

#[test]
fn a_cleared_filter_is_empty_and_takes_keys() {
    for dialect in [Name::Cassandra, Name::Native, Name::Libbloom] {
        let filter = create(dialect, &ten_bits()).unwrap();
        filter.insert(b"key").unwrap();
        assert_eq!(filter.clear(), Status::Ok);
        assert_eq!((filter.may_contain(b"key"), filter.facts().unwrap().set_bits), (Ok(false), 0));
        assert_eq!((filter.insert(b"key"), filter.insert(b"key")), (Ok(true), Ok(false)));
    }
}

#[test]
fn a_keyed_filter_needs_its_secret_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keyed.bloom");
    let secret = [7u8; 16];
    let asked = fullbloom_c::sizing::Sizing { secret: secret.as_ptr(), ..ten_bits() };
    let filter = create(Name::Native, &asked).unwrap();
    filter.insert(b"key").unwrap();
    assert_eq!(filter.save(&path), Status::Ok);
    assert_eq!(create(Name::LevelDb, &asked).err(), Some(Status::Argument));
    for (i, again) in [load(UNKNOWN, &path, (0, 0)), open(UNKNOWN, &path, (0, 0))].into_iter().enumerate() {
        let again = again.unwrap();
        assert_eq!(again.facts().unwrap().locked, 1);
        assert_eq!(again.may_contain(b"key"), Err(Status::Locked));
        assert_eq!(again.answers(&[b"key"]), Err(Status::Locked));
        assert_eq!(again.merge(&filter), if i == 0 { Status::Locked } else { Status::ReadOnly });
        assert_eq!(filter.merge(&again), Status::Locked);
        let mut wrong = secret;
        wrong[15] ^= 1;
        // SAFETY: a live handle, and 16 bytes.
        assert_eq!(unsafe { fullbloom_filter_unlock(again.0, wrong.as_ptr()) }, Status::Decode);
        assert_eq!(again.may_contain(b"key"), Err(Status::Locked));
        // SAFETY: a live handle, and 16 bytes.
        assert_eq!(unsafe { fullbloom_filter_unlock(again.0, secret.as_ptr()) }, Status::Ok);
        assert_eq!((again.may_contain(b"key"), again.may_contain(b"other")), (Ok(true), Ok(false)));
        assert_eq!(again.facts().unwrap().locked, 0);
        assert_eq!(again.insert(b"more").is_ok(), i == 0);
    }
}

#[test]
fn the_type_of_keys_is_recorded_in_a_native_file_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ids.bloom");
    let filter = create(Name::Native, &ten_bits()).unwrap();
    assert_eq!(filter.facts().unwrap().key_type, 0);
    // SAFETY: live handles.
    let (set, require) = unsafe {
        (
            |filter: &Filter, key_type| fullbloom_filter_set_key_type(filter.0, key_type),
            |filter: &Filter, key_type| fullbloom_filter_require_key_type(filter.0, key_type),
        )
    };
    assert!((1..=4).all(|key_type| require(&filter, key_type) == Status::Ok), "none is recorded");
    assert_eq!(set(&filter, 4), Status::Ok);
    assert_eq!(
        (set(&filter, 0), set(&filter, 5), require(&filter, -1)),
        (Status::Argument, Status::Argument, Status::Argument)
    );
    filter.insert(&7u64.to_le_bytes()).unwrap();
    assert_eq!(filter.save(&path), Status::Ok);
    let mapped = open(UNKNOWN, &path, (0, 0)).unwrap();
    assert_eq!(mapped.facts().unwrap().key_type, 4);
    assert_eq!((require(&mapped, 3), require(&mapped, 4)), (Status::Ok, Status::Ok));
    assert_eq!((require(&mapped, 1), require(&mapped, 2)), (Status::KeyType, Status::KeyType));
    assert_eq!(set(&mapped, 1), Status::ReadOnly);
    let other = create(Name::LevelDb, &ten_bits()).unwrap();
    assert_eq!((set(&other, 1), require(&other, 4)), (Status::Argument, Status::Ok));
}

#[test]
fn a_filter_with_exceptions_answers_and_takes_no_keys() {
    let members = keys(0..1000);
    let good = keys(10_000..60_000);
    let mut filter = fullbloom::Filter::with_fpr(1000, 0.05).unwrap();
    filter.insert_batch(members.as_slice()).unwrap();
    let bytes = filter.with_exceptions(good.as_slice(), members.as_slice()).unwrap().encode();
    for filter in [decode(UNKNOWN, &bytes, (0, 0)), view(UNKNOWN, &bytes, (0, 0))] {
        let filter = filter.unwrap();
        assert!(filter.answers(&slices(&members)).unwrap().iter().all(|&yes| yes));
        assert!(!filter.answers(&slices(&good)).unwrap().iter().any(|&yes| yes));
        assert_eq!(filter.insert(b"key"), Err(Status::ReadOnly));
    }
}

#[test]
fn a_plan_has_the_facts_of_the_filter() {
    for &dialect in Name::ALL {
        let mut planned = empty_facts();
        // SAFETY: live handles, and pointers to as many bytes as the lengths say.
        let status = unsafe { fullbloom_plan(number(dialect), &ten_bits(), &mut planned) };
        assert_eq!(status, Status::Ok, "{dialect}: {}", message());
        let filter = create(dialect, &ten_bits()).unwrap();
        let all = keys(0..KEYS);
        filter.insert_batch(&slices(&all));
        filter.finish();
        let made = filter.facts().unwrap();
        assert_eq!((planned.bits, planned.dialect), (made.bits, made.dialect), "{dialect}");
        assert_eq!(planned.takes_keys, made.takes_keys, "{dialect}");
        assert_eq!(planned.encoded_len, filter.encode().unwrap().len() as u64, "{dialect}");
        let ratio = planned.expected_fpr / made.expected_fpr;
        assert!((0.5..2.0).contains(&ratio), "{dialect}: {ratio}");
    }
}

#[test]
fn the_dialect_is_detected_by_bytes_and_by_the_name_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for (dialect, file) in [
        (Name::Native, "any"),
        (Name::Libbloom, "any"),
        (Name::Cassandra, "nb-1-big-Filter.db"),
        (Name::Cassandra2, "ks-cf-ic-1-Filter.db"),
    ] {
        let filter = create(dialect, &ten_bits()).unwrap();
        filter.insert(b"key").unwrap();
        let path = directory.path().join(file);
        assert_eq!(filter.save(&path), Status::Ok);
        let found = load(UNKNOWN, &path, (0, 0)).unwrap();
        assert_eq!(found.facts().unwrap().dialect, number(dialect));
        assert_eq!(found.may_contain(b"key"), Ok(true));
    }
    let filter = create(Name::Cassandra, &ten_bits()).unwrap();
    assert_eq!(decode(UNKNOWN, &filter.encode().unwrap(), (0, 0)).err(), Some(Status::Decode));
}

#[test]
fn many_threads_may_look_up_keys_in_one_filter() {
    let filter = create(Name::Native, &ten_bits()).unwrap();
    let all = keys(0..KEYS);
    let all = slices(&all);
    filter.insert_batch(&all);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(filter.answers(&all).unwrap().iter().all(|&yes| yes)));
        }
    });
}

#[test]
fn dynamic_filters_grow_and_remove_keys_and_their_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dynamic.bloom");
    let sizing =
        fullbloom_c::sizing::Sizing { expected_keys: 100, fpr: 0.001, bits_per_key: 0.0, ..ten_bits() };
    let all = keys(0..KEYS);
    for deletable in [false, true] {
        let filter =
            dynamic(&sizing, &Dynamic { up_to: 1 << 20, deletable: deletable.into(), ..SET }).unwrap();
        filter.insert_batch(&slices(&all));
        assert!(filter.answers(&slices(&all)).unwrap().iter().all(|&yes| yes));
        assert!(filter.facts().unwrap().expected_fpr <= 0.001);
        if deletable {
            assert_eq!(
                (filter.remove(all[0].as_bytes()), filter.remove(all[0].as_bytes())),
                (Ok(true), Ok(false))
            );
            assert_eq!(
                (filter.may_contain(all[0].as_bytes()), filter.may_contain(all[1].as_bytes())),
                (Ok(false), Ok(true))
            );
            filter.insert(all[0].as_bytes()).unwrap();
        } else {
            assert!(filter.remove(all[0].as_bytes()).is_err());
            assert!(message().contains("deletion"), "{}", message());
        }
        assert_eq!(filter.save(&path), Status::Ok);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes, filter.encode().unwrap());
        for read in [
            view(UNKNOWN, &bytes, (0, 0)),
            decode(UNKNOWN, &bytes, (0, 0)),
            load(UNKNOWN, &path, (0, 0)),
            open(UNKNOWN, &path, (0, 0)),
        ] {
            assert!(read.unwrap().answers(&slices(&all)).unwrap().iter().all(|&yes| yes));
        }
    }
    assert_eq!(dynamic(&ten_bits(), &SET).err(), Some(Status::Argument));

    let unknown = fullbloom_c::sizing::Sizing { expected_keys: 0, ..sizing };
    let filter = dynamic(&unknown, &SET).unwrap();
    filter.insert_batch(&slices(&all));
    let same = fullbloom_c::sizing::Sizing { expected_keys: 4096, ..sizing };
    let same = dynamic(&same, &Dynamic { up_to: 1_000_000_000, ..SET }).unwrap();
    same.insert_batch(&slices(&all));
    assert!(filter.encode().unwrap() == same.encode().unwrap(), "0 is a number that is not given");
}

#[test]
fn keys_of_dynamic_filters_expire_by_time_and_by_number() {
    let sizing =
        fullbloom_c::sizing::Sizing { expected_keys: 100, fpr: 1e-9, bits_per_key: 0.0, ..ten_bits() };
    for refresh in [0, 1] {
        let by_time = Dynamic { expire_ms: 7_000, refresh, ..SET };
        let filter = dynamic(&sizing, &by_time).unwrap();
        assert_eq!(filter.advance(1_000_000), Status::Ok);
        assert_eq!((filter.insert(b"a"), filter.insert(b"a")), (Ok(true), Ok(false)));
        assert_eq!(filter.advance(1_006_000), Status::Ok);
        assert_eq!((filter.insert(b"a"), filter.insert(b"b")), (Ok(false), Ok(true)));
        assert_eq!(filter.advance(1_008_000), Status::Ok);
        assert_eq!(filter.may_contain(b"a"), Ok(refresh == 1), "renewed, or forgotten after eight seconds");
        assert_eq!(filter.may_contain(b"b"), Ok(true));
        let read = decode(UNKNOWN, &filter.encode().unwrap(), (0, 0)).unwrap();
        assert_eq!((read.advance(1_014_000), read.may_contain(b"b")), (Status::Ok, Ok(false)));
    }
    let by_keys = Dynamic { expire_keys: 10, generations: 2, ..SET };
    let filter = dynamic(&sizing, &by_keys).unwrap();
    for key in 0..15u8 {
        assert_eq!(filter.insert(&[key]), Ok(true));
    }
    let found = |key: u8| filter.may_contain(&[key]).unwrap();
    assert!((5..15).all(found) && !(0..5).any(found));
    assert_eq!(filter.advance(5), Status::Ok, "its clock counts keys");
    assert!((5..15).all(found));
    assert_eq!(create(Name::LevelDb, &ten_bits()).unwrap().advance(5), Status::Ok, "no clock");
    for wrong in [
        Dynamic { struct_size: 8, ..SET },
        Dynamic { reserved: [1, 0], ..SET },
        Dynamic { deletable: 1, expire_ms: 1, ..SET },
        Dynamic { expire_keys: 1, expire_ms: 1, ..SET },
    ] {
        assert_eq!(dynamic(&sizing, &wrong).err(), Some(Status::Argument), "{wrong:?}");
    }
    let many = Dynamic { expire_ms: 1, generations: 201, ..SET };
    assert_eq!(dynamic(&sizing, &many).err(), Some(Status::Size));
}

/// It would answer "no" for its own keys, because the caller does not know that they are in lower case.
#[test]
fn a_filter_of_keys_in_another_form_is_refused() {
    let bytes = fullbloom_testkit::vectors::bytes("native/formed-keys.bloom");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.bloom");
    std::fs::write(&path, &bytes).unwrap();
    let none = (0, 0);
    for made in [
        view(UNKNOWN, &bytes, none),
        decode(UNKNOWN, &bytes, none),
        load(UNKNOWN, &path, none),
        open(UNKNOWN, &path, none),
    ] {
        assert_eq!(made.err(), Some(Status::KeyType));
        assert!(message().contains("in lower case"), "{}", message());
    }
}
