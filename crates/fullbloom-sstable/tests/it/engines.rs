//! Sstables of Cassandra 6.0, ScyllaDB and DataStax against their manifests: the selection under `vectors/`, and all of
//! them where they are at hand: `FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it engines -- --ignored`.

use fullbloom::any::AnyFilter;
use fullbloom_sstable::rebuild::{Rate, propose};
use fullbloom_sstable::{ComponentError, Engine, FilterProblem, Flag, Keys, Sstable, report, verify};
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn manifest(root: &Path) -> Vec<Value> {
    serde_json::from_slice(&fs::read(root.join("manifest.json")).unwrap()).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn hexes(list: &Value) -> Vec<Vec<u8>> {
    list.as_array().unwrap().iter().map(|text| hex(text.as_str().unwrap())).collect()
}

fn filter_path(root: &Path, entry: &Value) -> PathBuf {
    match entry["filter"].as_str() {
        Some(path) => root.join(path),
        None => root
            .join(entry["directory"].as_str().unwrap())
            .join(format!("{}Filter.db", entry["prefix"].as_str().unwrap())),
    }
}

/// The keys by the manifest; `None` where they cannot be read.
fn expected_keys(root: &Path, entry: &Value) -> Option<Vec<Vec<u8>>> {
    match entry["keys_file"].as_str() {
        Some(name) => Some(fs::read_to_string(root.join(name)).unwrap().lines().map(hex).collect()),
        None => entry["keys"].as_array().map(|_| hexes(&entry["keys"])),
    }
}

fn read_keys(sstable: &Sstable) -> Result<Vec<Vec<u8>>, ComponentError> {
    let mut keys = Vec::new();
    Keys::open(sstable)?.visit(|batch| {
        keys.extend(batch.iter().map(|key| key.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(keys)
}

/// Compares everything we say about an sstable with the manifest. Returns the number of keys.
fn check(root: &Path, entry: &Value) -> usize {
    let path = filter_path(root, entry);
    let what = path.display();
    let sstable = Sstable::of_file(&path).unwrap();
    let inspection = report::inspect(&sstable);
    let probes = entry["filter"]["probes"].as_u64().or(entry["probes"].as_u64());
    let bits = entry["filter"]["bits"].as_u64().or(entry["bits"].as_u64());
    assert_eq!(inspection.filter.map(|facts| facts.bits), bits, "{what}");
    assert_eq!(inspection.filter.map(|facts| u64::from(facts.probes)), probes, "{what}");
    let rate = entry["fp_chance"].as_f64().or(entry["recorded_fp_chance"].as_f64());
    if let (Some(rate), Some(recorded)) = (rate, inspection.recorded.fpr()) {
        assert_eq!(recorded, rate, "{what}");
    }
    let Some(keys) = expected_keys(root, entry) else {
        assert!(read_keys(&sstable).is_err(), "{what}");
        assert!(inspection.flags.iter().any(|flag| matches!(flag, Flag::Keys(_))), "{what}");
        return 0;
    };
    assert_eq!(read_keys(&sstable).unwrap(), keys, "{what}");
    assert_eq!(inspection.keys, Some(keys.len() as u64), "{what}");
    let found = verify::verify(&sstable, verify::Options { absent_keys: 1000, examples: 1 });
    assert_eq!(found.keys, keys.len() as u64, "{what}");
    if bits.is_none() {
        assert!(matches!(found.problem, Some(FilterProblem::Missing { listed: Some(false) })), "{what}");
        return keys.len();
    }
    assert_eq!((found.missing, found.rebuilt_identical), (Some(0), Some(true)), "{what}");
    assert!(found.is_well(), "{what}: {found:?}");
    let bytes = fs::read(&path).unwrap();
    let filter = AnyFilter::decode(&bytes, &sstable.dialect.into()).unwrap();
    let absent = match &entry["absent"] {
        Value::Null => (0..200).map(|i| format!("absent-{i}").into_bytes()).collect(),
        list => hexes(list),
    };
    let answers = entry["absent_answers"].as_str().unwrap();
    assert_eq!(answers.len(), absent.len(), "{what}");
    for (key, answer) in absent.iter().zip(answers.bytes()) {
        assert_eq!(filter.may_contain(key), answer == b'1', "{what}");
    }
    let rebuilt = propose(&sstable, Rate::Geometry).unwrap().build().unwrap().encode().unwrap();
    assert_eq!(rebuilt, bytes, "{what}");
    let unexpected = |flag: &&Flag| {
        !matches!(flag, Flag::ComponentsMissing(_) | Flag::Statistics(_) | Flag::NotListed | Flag::Toc(_))
    };
    let flags: Vec<_> = inspection.flags.iter().filter(unexpected).collect();
    assert!(flags.is_empty(), "{what}: {flags:?}");
    keys.len()
}

fn check_all(root: &Path) -> usize {
    let entries = manifest(root);
    let keys: usize = entries.iter().map(|entry| check(root, entry)).sum();
    println!("{}: {} sstables, {keys} keys", root.display(), entries.len());
    keys
}

fn shared(part: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("FULLBLOOM_SHARED").expect("FULLBLOOM_SHARED names the directory"))
        .join(part)
}

#[test]
fn sstables_of_cassandra_6_are_read_in_both_formats_with_dictionaries_and_without_filters() {
    assert_eq!(check_all(&vectors::root().join("cassandra6")), 13_000);
}

#[test]
fn scyllas_dictionaries_are_joined_and_used() {
    let root = vectors::root().join("scylla/dictionaries");
    assert!(check_all(&root) > 500);
    for entry in manifest(&root) {
        let sstable = Sstable::of_file(&filter_path(&root, &entry)).unwrap();
        assert_eq!(sstable.engine(), Engine::Scylla);
    }
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it engines -- --ignored"]
fn every_sstable_of_cassandra_6_is_as_its_manifest_says() {
    check_all(&shared("vectors/cassandra6"));
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it engines -- --ignored"]
fn every_sstable_of_scylla_is_as_its_manifest_says() {
    let root = shared("fetched/scylla");
    check_all(&root);
    for entry in manifest(&root) {
        let sstable = Sstable::of_file(&filter_path(&root, &entry)).unwrap();
        let written_by_scylla =
            entry["components"].as_array().unwrap().iter().any(|name| name == "Scylla.db");
        assert_eq!(sstable.engine() == Engine::Scylla, written_by_scylla);
        let digests = entry["scylla_db"]["digests"].as_object().map_or(0, serde_json::Map::len);
        let found = sstable.scylla_db().and_then(|read| read.digests.as_ref()).map_or(0, Vec::len);
        assert_eq!(found, digests, "{entry}");
    }
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it engines -- --ignored"]
fn every_sstable_of_datastax_is_as_its_manifest_says() {
    let root = shared("fetched/datastax");
    check_all(&root);
    for entry in manifest(&root) {
        let sstable = Sstable::of_file(&filter_path(&root, &entry)).unwrap();
        assert_eq!(sstable.engine(), Engine::DataStax);
        if entry["keys"].is_null() {
            assert!(matches!(Keys::open(&sstable), Err(ComponentError::Encrypted { .. })), "{entry}");
        }
    }
}
