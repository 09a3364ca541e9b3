//! A file in memory is judged as the same file on disk is.

use crate::files::filter;
use fullbloom_dialects::Name;
use fullbloom_ops::{Code, InspectOptions, KeySpec, Look, LookOptions, Place, inspect};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn vectors(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.is_file() && !path.extension().is_some_and(|end| end == "json" || end == "md" || end == "py")
    });
    files.sort();
    files
}

fn open(name: &str, bytes: Vec<u8>) -> Result<Look, fullbloom_ops::Problem> {
    Look::open(name, bytes, &LookOptions::at(SystemTime::now()))
}

/// The report as JSON, without what only a directory knows, and with paths as names.
fn comparable(report: impl serde::Serialize, directory: &Path) -> Value {
    let text = serde_json::to_string(&report).unwrap();
    let mut value: Value =
        serde_json::from_str(&text.replace(&format!("{}/", directory.display()), "")).unwrap();
    for list in ["places", "/summary/tables"] {
        let list = if list.starts_with('/') { value.pointer_mut(list) } else { value.get_mut(list) };
        for record in list.and_then(Value::as_array_mut).into_iter().flatten() {
            for field in ["keyspace", "table"] {
                record.as_object_mut().unwrap().remove(field);
            }
        }
    }
    value
}

#[test]
fn bytes_in_memory_give_the_report_of_the_file() {
    let mut compared = 0;
    for folder in [
        "native",
        "libbloom",
        "dcso",
        "guava",
        "spark",
        "orc",
        "parquet",
        "rocksdb/tables",
        "cassandra/sstables",
    ] {
        for path in vectors(folder) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if folder == "cassandra/sstables" && !name.ends_with("Filter.db") {
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let alone = dir.path().join(&name);
            fs::copy(&path, &alone).unwrap();
            let on_disk = inspect(&Place::detect(&alone, None), &InspectOptions::default(), &mut ());
            let in_memory = open(&name, fs::read(&path).unwrap());
            match (on_disk, in_memory) {
                (Ok(report), Ok(look)) => {
                    let expected = comparable(&report, dir.path());
                    assert_eq!(comparable(look.report(), dir.path()), expected, "{name}");
                    compared += 1;
                }
                (Err(expected), Err(problem)) => {
                    assert_eq!((problem.code, problem.hint), (expected.code, expected.hint), "{name}");
                }
                (on_disk, in_memory) => {
                    panic!("{name}: {:?}, in memory {:?}", on_disk.map(|_| ()), in_memory.map(|_| ()))
                }
            }
        }
    }
    assert!(compared > 80, "{compared}");
}

#[test]
fn probes_show_why_a_key_is_absent_in_every_dialect() {
    for dialect in Name::ALL {
        let bytes = filter(*dialect, 1000, 1000);
        let read = fullbloom_ops::filter::ReadOptions::from(*dialect);
        let options = LookOptions { read, now: SystemTime::now() };
        // Raw bits cannot be read without their numbers.
        let Ok(look) = Look::open("f", bytes, &options) else {
            assert!(matches!(dialect, Name::Libbloom1 | Name::JavaLsm), "{dialect}");
            continue;
        };
        assert!(look.fill(0).len() > 10 && look.array_len(0) > 1000, "{dialect}");
        let mut absent = 0;
        for i in 0..2000 {
            let answer = look.lookup(0, format!("key{i}").as_bytes(), None).unwrap();
            assert!(answer.may_contain || i >= 1000, "{dialect} {i}");
            if *dialect != Name::RocksDbRibbon {
                assert_eq!(answer.may_contain, answer.probes.iter().all(|probe| probe.set), "{dialect} {i}");
                assert!(answer.probes.iter().all(|probe| probe.position < look.array_len(0)));
            }
            absent += u64::from(!answer.may_contain);
        }
        assert!(absent > 950, "{dialect} {absent}");
    }
}

#[test]
fn tables_answer_as_their_engine_does_and_full_filters_show_probes() {
    let mut drawn = 0;
    for path in vectors("rocksdb/tables") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".sst") && !name.ends_with(".ldb") {
            continue;
        }
        let table = fullbloom_ops::table::open(&path, None).unwrap();
        let filter = table.filter().unwrap();
        let look = open(name, fs::read(&path).unwrap()).unwrap();
        let mut keys = table.keys().unwrap();
        let mut some: Vec<Vec<u8>> = (0..50).map(|i| format!("absent{i}").into_bytes()).collect();
        while let Some(key) = keys.next().unwrap() {
            some.push(key.to_vec());
            if some.len() == 100 {
                break;
            }
        }
        for key in &some {
            let answer = look.lookup(0, key, None).unwrap();
            assert_eq!(answer.may_contain, filter.may_contain(key).unwrap(), "{name}");
            drawn += u64::from(!answer.probes.is_empty());
        }
    }
    assert!(drawn > 500, "{drawn}");
}

#[test]
fn components_of_an_sstable_in_memory_are_one_sstable() {
    let files: Vec<(String, Vec<u8>)> = vectors("cassandra/sstables")
        .iter()
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/cassandra/sstables");
    for name in ["oa-5-big-Filter.db", "da-5-bti-Filter.db"] {
        let (own, others): (Vec<_>, Vec<_>) = files.iter().cloned().partition(|(file, _)| file == name);
        let source = std::sync::Arc::new(own.into_iter().next().unwrap().1);
        let look = Look::open_with(name, source, others, &LookOptions::at(SystemTime::now())).unwrap();
        let place = Place::detect(Path::new(dir).join(name), None);
        let expected = inspect(&place, &InspectOptions::default(), &mut ()).unwrap();
        assert_eq!(comparable(look.report(), Path::new(dir)), comparable(&expected, Path::new(dir)));
        assert!(comparable(look.report(), Path::new(dir))["places"][0]["keys"].as_u64().unwrap() > 0);
    }
}

#[test]
fn damaged_and_foreign_bytes_are_refused_in_words() {
    let refused = |name: &str, bytes: &[u8]| open(name, bytes.to_vec()).map(|_| ()).unwrap_err();
    assert_eq!(refused("notes.txt", b"hello").code, Code::UnknownDialect);
    assert_eq!(refused("f.parquet", b"PAR1 and nothing else").code, Code::TableUnreadable);
    let mut native = filter(Name::Native, 100, 100);
    *native.last_mut().unwrap() ^= 1;
    assert_eq!(refused("f.bloom", &native).code, Code::NotAFilter);
    // What a directory would report, a file in memory reports too.
    let cut = open("nb-1-big-Filter.db", filter(Name::Cassandra, 100, 100)[..50].to_vec()).unwrap();
    assert_eq!(cut.report().problems().next().unwrap().code, Code::FilterTruncated);
    assert!(cut.lookup(0, b"x", None).is_err());
    let table = open("1.sst", vec![0; 300]).unwrap();
    assert_eq!(table.report().problems().next().unwrap().code, Code::TableUnreadable);
    let sound = open("f.bloom", filter(Name::Native, 100, 100)).unwrap();
    let uuid: KeySpec = "uuid".parse().unwrap();
    assert!(sound.lookup(0, b"x", Some(&uuid)).unwrap_err().contains("Cassandra"));
}

#[test]
fn text_is_refused_where_a_filter_records_integers_and_integers_where_it_records_text() {
    for (file, fits, other) in [("long-keys", "long", "string"), ("text-keys", "string", "long")] {
        let bytes = fullbloom_testkit::vectors::bytes(&format!("native/{file}.bloom"));
        let look = open(file, bytes).unwrap();
        assert!(look.lookup(0, b"7", Some(&fits.parse().unwrap())).is_ok(), "{file}");
        assert!(look.lookup(0, b"7", Some(&other.parse().unwrap())).is_err(), "{file}");
        assert!(look.lookup(0, b"7", None).is_ok(), "{file}");
    }
}

#[test]
fn numbers_in_a_filter_of_orc_are_found_and_their_probes_are_set() {
    let golden: Value =
        serde_json::from_slice(&fullbloom_testkit::vectors::bytes("orc/orc.json")).expect("JSON");
    let spec: KeySpec = "long".parse().unwrap();
    let mut looked_up = 0;
    for record in golden["filters"].as_array().unwrap().iter().filter(|record| record["kind"] == "long") {
        let file = record["file"].as_str().unwrap();
        let bytes = fullbloom_testkit::vectors::bytes(&format!("orc/{file}"));
        let look = open(file, bytes).unwrap();
        for key in record["keys"].as_array().unwrap() {
            let answer = look.lookup(0, key.as_str().unwrap().as_bytes(), Some(&spec)).unwrap();
            assert!(answer.may_contain && answer.probes.iter().all(|probe| probe.set), "{file}: {key}");
            looked_up += 1;
        }
    }
    assert_eq!(looked_up, 1000);
}
