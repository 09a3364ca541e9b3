//! Filter files, and paths that do not name a filter file.

use fullbloom::sizing::{Request, Target};
use fullbloom_any as any;
use fullbloom_dialects::Name;
use fullbloom_ops::filter::{FilterFile, ReadOptions, inspect_bytes, verify_keys};
use fullbloom_ops::{
    Code, InspectOptions, Need, Place, Problem, RebuildOptions, Status, VerifyOptions, inspect, rebuild,
    verify,
};
use std::fs;

pub fn filter(dialect: Name, expected: u64, keys: u64) -> Vec<u8> {
    let request = Request { expected_keys: expected, target: Target::Fpr(0.01) };
    let mut builder = any::Builder::new(dialect, &request).unwrap();
    (0..keys).for_each(|key| builder.add(format!("key{key}").as_bytes()));
    let mut bytes = Vec::new();
    builder.build().unwrap().write_to(&mut bytes).unwrap();
    bytes
}

fn of(dialect: Name) -> ReadOptions {
    ReadOptions::from(dialect)
}

#[test]
fn bytes_in_memory_are_judged_without_files() {
    let bytes = filter(Name::Libbloom, 2000, 2000);
    let found = inspect_bytes("from the network", bytes.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((found.record.dialect, found.problems.len()), (Name::Libbloom, 0));
    assert_eq!(found.record.bytes, bytes.len() as u64);
    let longer = [bytes.as_slice(), b"xyz"].concat();
    let found = inspect_bytes("f", longer, &ReadOptions::default()).unwrap();
    assert_eq!(found.problems[0].code, Code::TrailingBytes);
    let cut = inspect_bytes("f", bytes[..100].to_vec(), &ReadOptions::default()).unwrap_err();
    assert_eq!(cut.code, Code::NotAFilter);
    let unknown = inspect_bytes("f", b"hello".to_vec(), &ReadOptions::default()).unwrap_err();
    assert_eq!(unknown.code, Code::UnknownDialect);
    assert_eq!(unknown.need, Some(Need::Dialect));
    assert!(unknown.hint.unwrap().contains("give the dialect"));
    let cassandra_3 = filter(Name::Cassandra3, 10, 10);
    let named = inspect_bytes("nb-1-big-Filter.db", cassandra_3, &of(Name::Cassandra3)).unwrap();
    assert_eq!(named.problems[0].code, Code::Mislabelled);
}

#[test]
fn a_native_filter_with_more_keys_than_planned_is_overfull() {
    let found = inspect_bytes("f", filter(Name::Native, 100, 500), &ReadOptions::default()).unwrap();
    assert!(found.record.native.unwrap().overfull);
    assert_eq!(found.problems[0].code, Code::Overfull);
}

#[test]
fn the_callers_keys_are_looked_up_and_a_missing_one_is_named() {
    let bytes = filter(Name::LevelDb, 1000, 1000);
    let file = FilterFile::from_bytes("f", bytes, &of(Name::LevelDb)).unwrap();
    let lookup = |count: u64, prefix: &str| {
        let keys: Vec<String> = (0..count).map(|key| format!("{prefix}{key}")).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        verify_keys::<Problem>(&file, 1000, |_, each| {
            keys.chunks(64).for_each(each);
            Ok(())
        })
    };
    let found = lookup(1000, "key").unwrap();
    assert!(found.problems.is_empty());
    assert_eq!((found.record.missing, found.record.rebuilt_identical), (Some(0), Some(true)));
    let found = lookup(1000, "other").unwrap();
    let codes: Vec<_> = found.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::KeyMissing, Code::BytesDiffer]);
    assert_eq!(found.record.first_missing.unwrap(), "6f7468657230");
}

#[test]
fn paths_that_cannot_be_looked_at_fail_with_a_code() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| Place::detect(dir.path().join(name), None);
    let look = |place: &Place| inspect(place, &InspectOptions::default(), &mut ()).unwrap_err().code;
    assert_eq!(look(&at("missing")), Code::Unreadable);
    assert_eq!(look(&at("nb-1-big-Filter.db")), Code::Unreadable);
    assert_eq!(look(&at("")), Code::NothingFound);
    fs::write(dir.path().join("notes.txt"), "not a filter").unwrap();
    assert_eq!(look(&at("notes.txt")), Code::UnknownDialect);
    let refused = verify(&at("notes.txt"), &VerifyOptions::default(), &mut ()).unwrap_err();
    assert!(refused.message.contains("not a table of LevelDB or RocksDB"), "{refused}");
    let report = rebuild(&[at("notes.txt"), at("missing")], &RebuildOptions::default(), &mut ()).unwrap();
    let codes: Vec<_> = report.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(
        (codes.as_slice(), report.status),
        (&[Code::Unsupported, Code::Unreadable][..], Status::Failed)
    );
}
