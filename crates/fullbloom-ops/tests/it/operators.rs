//! What operators must be able to rely on: the same answer however a place is named, nothing rebuilt from
//! half of the keys, nothing written under an open database.

use crate::databases::{copy, tables};
use fullbloom_files::replace::Output;
use fullbloom_ops::rebuild::Size;
use fullbloom_ops::{
    Code, InspectOptions, Inspected, KeySpec, KeysOptions, Place, RebuildOptions, Rebuilt, Status,
    VerifyOptions, WhichOptions, WhichReport, inspect, keys, rebuild, verify, which, which::Answer,
};
use fullbloom_table::checksum::Checksum;
use fullbloom_table::compression::Compression;
use fullbloom_table::writer::{TableWriter, WriterOptions};
use fullbloom_table::{Table, TableOptions};
use fullbloom_testkit::vectors;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn place(path: &Path) -> Place {
    Place::detect(path, None)
}

fn quick() -> VerifyOptions {
    VerifyOptions { absent: 10, ..VerifyOptions::default() }
}

/// The codes of a report's problems.
fn codes<'a>(problems: impl Iterator<Item = &'a fullbloom_ops::Problem>) -> Vec<Code> {
    problems.map(|problem| problem.code).collect()
}

/// A table without checksums whose property has another value: the suffix of its name, and what to add.
fn with_property(suffix: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(vectors::root().join("rocksdb/tables/r984_full_fv6_nochecksum.sst")).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - suffix.len()).filter(|at| bytes[*at..].starts_with(suffix)).collect();
    let at = places[0] + suffix.len();
    bytes[at] ^= 1; // the lowest bits of a variable-length number come first
    let path = dir.path().join("000007.sst");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn a_table_that_records_other_entries_is_a_problem_and_is_not_rebuilt() {
    let (_dir, path) = with_property(b"entries");
    let found = verify(&place(&path), &quick(), &mut ()).unwrap();
    assert_eq!(codes(found.problems()), [Code::EntriesDiffer]);
    assert_eq!(found.status, Status::NotWell);

    let before = fs::read(&path).unwrap();
    let mut options = RebuildOptions { size: Size::AsBefore, ..RebuildOptions::default() };
    let refused = rebuild(&[place(&path)], &options, &mut ()).unwrap();
    assert_eq!((codes(refused.problems()), refused.status), (vec![Code::EntriesDiffer], Status::Failed));
    assert_eq!(fs::read(&path).unwrap(), before);
    options.force = true;
    let forced = rebuild(&[place(&path)], &options, &mut ()).unwrap();
    assert_eq!(forced.found.len(), 1, "{forced:?}");

    let (_dir, path) = with_property(b"data.blocks");
    let found = inspect(&place(&path), &InspectOptions::default(), &mut ()).unwrap();
    assert_eq!(codes(found.problems()), [Code::EntriesDiffer]);
}

#[test]
fn no_table_that_an_engine_wrote_has_other_entries_than_it_records() {
    let directory = vectors::root().join("rocksdb/tables");
    let seen = inspect(&place(&directory), &InspectOptions::default(), &mut ()).unwrap();
    assert!(seen.found.len() > 40);
    assert!(!codes(seen.problems()).contains(&Code::EntriesDiffer));
    let seen = verify(&place(&directory), &quick(), &mut ()).unwrap();
    assert!(
        !codes(seen.problems()).contains(&Code::EntriesDiffer),
        "{:?}",
        seen.problems().collect::<Vec<_>>()
    );
}

#[test]
fn the_probes_of_partitions_are_a_range_that_filters_can_have() {
    let directory = vectors::root().join("rocksdb/tables");
    for found in inspect(&place(&directory), &InspectOptions::default(), &mut ()).unwrap().found {
        let Inspected::Table(record) = found.record else { continue };
        let (Some(fewest), Some(most)) = (record.fewest_probes, record.probes) else { continue };
        assert!(fewest <= most && most <= 64, "{}: {fewest} to {most}", record.path);
    }
}

/// Damages the tables of a database in several ways.
fn damaged() -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = copy("rocksdb");
    let paths = tables(dir.path());
    let bytes = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &bytes[..bytes.len() / 2]).unwrap(); // ends too early
    let mut bytes = fs::read(&paths[1]).unwrap();
    bytes[300] ^= 1; // a data block
    fs::write(&paths[1], bytes).unwrap();
    fs::write(dir.path().join("000099.sst"), b"half a table").unwrap(); // left over
    let nofilter = vectors::root().join("rocksdb/tables/r783_nofilter.sst");
    fs::copy(nofilter, dir.path().join("000098.sst")).unwrap();
    let paths = tables(dir.path());
    (dir, paths)
}

#[test]
fn problems_and_status_are_the_same_by_name_and_by_directory() {
    let (dir, paths) = damaged();
    let all = inspect(&place(dir.path()), &InspectOptions::default(), &mut ()).unwrap();
    let mut worst = Status::Well;
    for path in &paths {
        let alone = inspect(&place(path), &InspectOptions::default(), &mut ()).unwrap();
        worst = worst.max(alone.status);
        let of_directory =
            all.found.iter().find(|found| found.record.path() == path.to_str().unwrap()).unwrap();
        assert_eq!(alone.found[0].problems, of_directory.problems, "{}", path.display());
    }
    assert_eq!((worst, all.status), (Status::NotWell, Status::NotWell));

    let all = verify(&place(dir.path()), &quick(), &mut ()).unwrap();
    let mut alone = fullbloom_ops::VerifyReport::empty();
    for path in &paths {
        alone.append(verify(&place(path), &quick(), &mut ()).unwrap());
    }
    let sorted = |report: &fullbloom_ops::VerifyReport| {
        let mut all: Vec<String> =
            report.problems().map(|problem| format!("{} {}", problem.code, problem)).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&alone), sorted(&all));
    assert_eq!(alone.status, all.status);
}

#[test]
fn a_table_without_a_filter_is_a_finding_of_inspect_and_of_verify() {
    let path = vectors::root().join("rocksdb/tables/r783_nofilter.sst");
    let seen = inspect(&place(&path), &InspectOptions::default(), &mut ()).unwrap();
    let verified = verify(&place(&path), &quick(), &mut ()).unwrap();
    assert_eq!(codes(seen.problems()), [Code::NoFilter]);
    assert_eq!(codes(verified.problems()), [Code::NoFilter]);
    assert_eq!((seen.status, verified.status), (Status::NotWell, Status::NotWell));
}

/// Clears part of a table's filter.
fn clear_filter(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(11).rposition(|window| window == b"fullfilter.").unwrap() - 2000;
    bytes[at..at + 64].fill(0);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_database_is_rebuilt_where_it_is_damaged_and_the_reason_is_given() {
    let dir = copy("rocksdb");
    let paths = tables(dir.path());
    let sound = fs::read(&paths[0]).unwrap();
    clear_filter(&paths[0]);
    let cleared = fs::read(&paths[0]).unwrap();
    let options = RebuildOptions { damaged: true, ..RebuildOptions::default() };
    let done = rebuild(&[place(dir.path())], &options, &mut ()).unwrap();
    assert_eq!((done.found.len(), done.status), (1, Status::Well), "{done:?}");
    assert_eq!(codes(done.found[0].problems.iter()), [Code::Checksum], "why it was chosen");
    assert_eq!(fs::read(&paths[0]).unwrap(), sound);

    // What is already right is left alone, and the backup can be put back.
    let all = rebuild(&[place(dir.path())], &RebuildOptions::default(), &mut ()).unwrap();
    assert_eq!((all.summary.filters, all.summary.unchanged, all.status), (0, 4, Status::Well));
    assert!(
        all.found
            .iter()
            .all(|found| matches!(&found.record, Rebuilt::Table(table) if table.written.is_none()))
    );
    let restore = RebuildOptions { restore: true, ..RebuildOptions::default() };
    let back = rebuild(&[place(dir.path())], &restore, &mut ()).unwrap();
    assert_eq!((back.summary.restored, back.status), (1, Status::Well));
    assert_eq!(fs::read(&paths[0]).unwrap(), cleared);
}

#[test]
fn new_tables_are_never_written_into_a_database() {
    let (dir, other) = (copy("rocksdb"), copy("rocksdb"));
    let options = RebuildOptions {
        size: Size::Fpr(0.2),
        output: Output::Into(other.path().to_owned()),
        ..RebuildOptions::default()
    };
    let bytes = || tables(other.path()).iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
    let before = bytes();
    let refused = rebuild(&[place(dir.path())], &options, &mut ()).unwrap_err();
    assert_eq!(refused.code, Code::NameClash, "{refused}");
    assert_eq!(bytes(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_database_that_is_open_is_refused_before_anything_is_written() {
    let dir = copy("rocksdb");
    let paths = tables(dir.path());
    clear_filter(&paths[0]);
    let before = fs::read(&paths[0]).unwrap();
    let lock = fs::File::create(dir.path().join("LOCK")).unwrap();
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    for place in [place(dir.path()), place(&paths[0])] {
        let refused = rebuild(&[place], &RebuildOptions::default(), &mut ()).unwrap_err();
        assert_eq!(refused.code, Code::EngineRunning);
    }
    assert_eq!(fs::read(&paths[0]).unwrap(), before);
    // A table that goes elsewhere, or a dry run, does not touch the database.
    let new = tempfile::tempdir().unwrap();
    let into = RebuildOptions { output: Output::Into(new.path().join("x")), ..RebuildOptions::default() };
    assert_eq!(rebuild(&[place(&paths[0])], &into, &mut ()).unwrap().status, Status::Well);
    let dry = RebuildOptions { dry_run: true, ..RebuildOptions::default() };
    rebuild(&[place(dir.path())], &dry, &mut ()).unwrap();
    drop(lock);
    assert_eq!(
        rebuild(&[place(dir.path())], &RebuildOptions::default(), &mut ()).unwrap().summary.filters,
        1
    );
}

#[test]
fn what_an_engine_does_not_take_is_said_before_anything_is_written() {
    struct Notes(Vec<String>, bool);
    impl fullbloom_ops::Watch<Rebuilt> for Notes {
        fn notes(&mut self, notes: &[String]) {
            assert!(!self.1, "after a table was written");
            self.0.extend_from_slice(notes);
        }

        fn found(&mut self, _: &fullbloom_ops::Found<Rebuilt>) -> ControlFlow<()> {
            self.1 = true;
            ControlFlow::Continue(())
        }
    }
    let (dir, new) = (copy("rocksdb"), tempfile::tempdir().unwrap());
    let output = Output::Into(new.path().to_owned());
    let options = RebuildOptions { size: Size::BitsPerKey(16.0), output, ..RebuildOptions::default() };
    let mut notes = Notes(Vec::new(), false);
    rebuild(&[place(dir.path())], &options, &mut notes).unwrap();
    let said = notes.0.join("\n");
    for part in ["IngestExternalFile", "allow_db_generated_files", "filter_policy=bloomfilter:16:false"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn tables_say_which_releases_use_their_filter() {
    let of = |name: &str| {
        let path = vectors::root().join("rocksdb/tables").join(name);
        let report = inspect(&place(&path), &InspectOptions::default(), &mut ()).unwrap();
        let found = report.found.into_iter().next().unwrap();
        let Inspected::Table(record) = found.record else { panic!("a table") };
        (record.used_by, codes(found.problems.iter()))
    };
    let (uses, problems) = of("r984_full_fv6_xxhash.sst");
    assert_eq!(uses.len(), 1);
    assert_eq!((uses[0].releases.as_str(), uses[0].used), ("RocksDB 8.6 and later", true));
    assert!(problems.is_empty());
    let (uses, _) = of("r783_ribbon_fv5_lz4.sst");
    assert_eq!(uses[0].releases, "RocksDB 6.15 to 6.29");
    assert!(!uses[1].used && uses[1].releases == "RocksDB 7.0.0 to 7.0.2");
    let (uses, problems) = of("r629_blockbased_fv1_snappy.sst");
    assert!(uses.last().is_some_and(|last| !last.used && last.releases == "RocksDB 11.0 and later"));
    assert_eq!(problems, [Code::OldKind, Code::OldFormat]);
}

#[test]
fn tables_that_cannot_be_read_count_as_reads() {
    let dir = copy("rocksdb");
    let level = |dir: &Path| {
        let seen = inspect(&place(dir), &InspectOptions::default(), &mut ()).unwrap();
        seen.summary.levels.into_iter().find(|level| level.column_family == "users").unwrap()
    };
    let sound = level(dir.path());
    let users = tables(dir.path())[0].clone();
    let bytes = fs::read(&users).unwrap();
    fs::write(&users, &bytes[..bytes.len() - 1]).unwrap();
    let damaged = level(dir.path());
    assert_eq!((damaged.tables, damaged.unreadable), (sound.tables, 1));
    assert!(damaged.useless_reads > sound.useless_reads + 0.9, "{damaged:?}");
}

#[test]
fn keys_are_handed_out_and_found_where_they_are() {
    let dir = copy("rocksdb");
    let mut all = Vec::new();
    let found = keys(&place(dir.path()), &KeysOptions::default(), &mut |key, _| {
        all.push(key.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!((found.unwrap().keys, all.len()), (8000, 8000));
    let options = WhichOptions {
        keys: vec![b"user000001".to_vec(), b"nobody has this".to_vec()].into(),
        hex: false,
        spec: Some(KeySpec::BYTES),
        conditions: None,
        read: fullbloom_ops::filter::ReadOptions::default(),
        column: None,
        prefix_extractor: None,
        snapshots: false,
    };
    let mut report = WhichReport::empty(&options);
    which(&place(dir.path()), &options, &mut report, &mut ()).unwrap();
    assert_eq!(report.summary.filters, 4);
    let holders: Vec<_> =
        report.found.iter().filter(|found| found.record.answers[0] == Answer::Maybe).collect();
    assert!(!holders.is_empty() && holders.len() < 4, "{report:?}");
    assert_eq!(report.status, Status::Well);
}

/// A table of LevelDB with several filters, whose first index key was replaced by another of its length.
fn with_separator(separator: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let options =
        WriterOptions { block_size: 2500, compression: Compression::None, ..WriterOptions::leveldb() };
    let mut writer = TableWriter::new(Vec::new(), options).unwrap();
    for i in 0..2000 {
        writer.put(format!("key{i:05}").as_bytes(), b"a value").unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    let index = Table::new(bytes.clone(), TableOptions::default()).unwrap().footer().index.unwrap();
    let (start, end) = (index.offset as usize, (index.offset + index.size) as usize);
    let at = start + bytes[start..end].windows(3).position(|part| part == b"key").unwrap();
    bytes[at..at + separator.len()].copy_from_slice(separator);
    let sum = Checksum::Crc32c.of(&bytes[start..end], bytes[end]);
    bytes[end + 1..end + 5].copy_from_slice(&sum.to_le_bytes());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("000007.ldb");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn a_table_whose_index_lies_is_refused_and_not_rebuilt_into_a_broken_one() {
    // Less than the last key of its block; and not less than the first key of the next.
    for separator in [&b"key00000"[..], b"key00250"] {
        let (_dir, path) = with_separator(separator);
        let before = fs::read(&path).unwrap();
        for (damaged, size) in [(false, Size::AsBefore), (true, Size::Recorded), (false, Size::Fpr(0.01))] {
            let options = RebuildOptions { damaged, size, ..RebuildOptions::default() };
            let refused = rebuild(&[place(&path)], &options, &mut ()).unwrap();
            assert_eq!(
                (codes(refused.problems()), refused.status),
                (vec![Code::TableUnreadable], Status::Failed)
            );
            assert!(refused.problems[0].message.contains("the index does not separate"), "{refused:?}");
            assert_eq!(fs::read(&path).unwrap(), before);
        }
        assert_eq!(verify(&place(&path), &quick(), &mut ()).unwrap().status, Status::NotWell);
    }
    let (_dir, path) = with_separator(b"key");
    let sound = rebuild(&[place(&path)], &RebuildOptions::default(), &mut ()).unwrap();
    assert_eq!((sound.status, sound.summary.unchanged), (Status::Well, 1), "nothing was changed in this one");
}
