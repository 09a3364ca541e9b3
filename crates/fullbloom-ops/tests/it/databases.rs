//! Databases that the real engines made: problems of their tables, alone and together.

use fullbloom_ops::{Code, InspectOptions, Inspected, Place, Status, VerifyOptions, inspect, table, verify};
use fullbloom_table::{Table, TableOptions};
use fullbloom_testkit::vectors;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of a database.
pub fn copy(engine: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(vectors::root().join("databases").join(engine)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    dir
}

pub fn tables(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_table = |path: &PathBuf| path.extension().is_some_and(|e| e == "sst" || e == "ldb");
    let mut tables: Vec<_> = entries.filter(is_table).collect();
    tables.sort();
    tables
}

/// Half a table, one that is gone, and one that does not belong to the database.
pub fn damage(dir: &Path) -> Vec<PathBuf> {
    let paths = tables(dir);
    let bytes = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &bytes[..bytes.len() / 2]).unwrap();
    fs::remove_file(&paths[1]).unwrap();
    fs::write(dir.join("000099.sst"), b"half a table").unwrap();
    paths
}

#[test]
fn a_table_has_the_same_problems_alone_and_in_its_directory() {
    let directory = vectors::root().join("rocksdb/tables");
    let all = inspect(&Place::detect(&directory, None), &InspectOptions::default(), &mut ()).unwrap();
    assert!(all.found.len() > 20);
    let mut seen = Vec::new();
    for found in &all.found {
        let place = Place::detect(found.record.path(), None);
        let alone = inspect(&place, &InspectOptions::default(), &mut ()).unwrap();
        assert_eq!(alone.found[0].problems, found.problems);
        seen.extend(found.problems.iter().map(|problem| problem.code));
    }
    for code in [Code::NoFilter, Code::OldKind] {
        assert!(seen.contains(&code), "{code}");
    }
}

#[test]
fn a_broken_checksum_has_one_code_however_the_table_is_reached() {
    let dir = copy("rocksdb");
    let path = tables(dir.path())[1].clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[300] ^= 1; // in a data block
    fs::write(&path, bytes).unwrap();
    let options = VerifyOptions { absent: 100, ..VerifyOptions::default() };
    let alone = verify(&Place::detect(&path, None), &options, &mut ()).unwrap();
    assert_eq!(alone.status, Status::NotWell);
    let alone = alone.found.into_iter().flat_map(|found| found.problems).next().unwrap();
    assert_eq!(alone.code, Code::Checksum);
    let all = verify(&Place::detect(dir.path(), None), &options, &mut ()).unwrap();
    let problems: Vec<_> = all.problems().collect();
    assert_eq!(problems, [&alone]);
    assert_eq!(all.status, Status::NotWell);
}

#[test]
fn tables_that_are_truncated_missing_or_left_over_are_reported() {
    let dir = copy("rocksdb");
    let paths = damage(dir.path());
    let report = inspect(&Place::detect(dir.path(), None), &InspectOptions::default(), &mut ()).unwrap();
    let codes = |name: &Path| {
        let found = report.found.iter().find(|found| found.record.path() == name.to_str().unwrap()).unwrap();
        found.problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&paths[0]), [Code::LengthDiffers, Code::TableUnreadable]);
    assert_eq!(codes(&dir.path().join("000099.sst")), [Code::NotInManifest]);
    assert!(codes(&paths[2]).is_empty());
    let missing: Vec<_> = report.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(missing, [Code::TableMissing]);
    assert_eq!(report.status, Status::NotWell);
}

#[test]
fn tables_in_memory_are_judged_without_files() {
    let path = vectors::root().join("rocksdb/tables/r783_full_fv4_lz4.sst");
    let bytes = fs::read(&path).unwrap();
    let open = Table::new(bytes, TableOptions::default()).unwrap();
    let found = table::inspect(Path::new("from the network"), &open).unwrap();
    let from_file = inspect(&Place::detect(&path, None), &InspectOptions::default(), &mut ()).unwrap();
    let Inspected::Table(of_file) = &from_file.found[0].record else { panic!("a table") };
    assert_eq!((found.record.bits, found.record.keys), (of_file.bits, of_file.keys));
    assert_eq!(found.problems[0].code, Code::OldKind);
    let verified = table::verify(Path::new("from the network"), &open, 100).unwrap();
    assert_eq!((verified.record.missing, verified.record.rebuilt_identical), (Some(0), Some(true)));
}
