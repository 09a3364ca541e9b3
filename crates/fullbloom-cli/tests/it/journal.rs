//! The journal beside a dynamic filter: damage of what was acknowledged is an error in every command, and
//! nothing is overwritten.

use crate::common::{Dir, run};
use fullbloom_dynamic::JournalWriter;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions};
use fullbloom_files::file_lock::FileLock;
use std::fs;

/// A filter of 20,000 keys in the file `f`, and two saves of one key each in its journal.
fn with_journal(dir: &Dir) {
    let mut filter = DynamicFilter::new(DynamicOptions::new(30_000, 1e-9)).unwrap();
    let hash = |i: u64| filter.hash(format!("key{i}").as_bytes());
    let hashes: Vec<_> = (0..20_002).map(hash).collect();
    filter.insert_batch(&hashes[..20_000]).unwrap();
    let mut writer = JournalWriter::new(FileLock::new(&dir.path("f")).unwrap());
    writer.save(&filter).unwrap();
    for hash in &hashes[20_000..] {
        assert!(filter.insert_hash(*hash).unwrap());
        writer.record(&filter, &[hash.to_raw()], &[true]);
        writer.save(&filter).unwrap();
    }
    assert!(dir.path("f.journal").exists());
}

#[test]
fn damage_of_the_last_acknowledged_key_is_an_error_everywhere_and_nothing_is_overwritten() {
    let dir = Dir::new();
    with_journal(&dir);
    let (filter, journal) = (dir.arg("f"), dir.path("f.journal"));
    let new = dir.file("new", "another\n");
    let found = |key: &str| run(&["check", &filter, "-e", key], b"").code;
    assert_eq!((found("key20000"), found("key20001"), found("key9999999")), (0, 0, 1));
    let whole = fs::read(&journal).unwrap();
    let frame = 40; // a head of 16 bytes, and one group with one hash
    let last = whole.len() - frame;
    let mut damages: Vec<Vec<u8>> = (last..whole.len())
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        })
        .collect();
    damages.push(whole[..last].to_vec()); // cut exactly at the end of a frame
    for bytes in damages {
        fs::write(&journal, &bytes).unwrap();
        for args in [
            &["check", &filter, "-e", "key20001"][..],
            &["inspect", &filter],
            &["verify", &filter],
            &["insert", &filter, &new],
            &["unique", "--state", &filter, &new],
            &["convert", &filter, "--to", "native", "--compact", "-o", &dir.arg("c")],
        ] {
            let told = run(args, b"");
            assert_eq!(told.code, 2, "{args:?}: {told:?}");
            let errors = &told.err;
            assert!(
                errors.contains("journal cannot be used") && errors.contains("hint:"),
                "{args:?}: {told:?}"
            );
            assert!(!told.text().contains("checksum is right"), "{args:?}: {told:?}");
        }
        assert!(fs::read(&journal).unwrap() == bytes, "overwritten");
    }
    fs::write(&journal, &whole).unwrap();
    assert_eq!(found("key20001"), 0);
}

/// An older version of the file may have been put back beside a newer journal.
#[test]
fn a_journal_of_another_version_of_the_file_is_named() {
    let dir = Dir::new();
    with_journal(&dir);
    let filter = dir.arg("f");
    let journal = dir.read("f.journal");
    let more = dir.file("more", "another\n");
    run(&["insert", "-q", &filter, &more], b"").exits(0); // writes a new file, and removes the journal
    dir.file("f.journal", &journal);
    let told = run(&["verify", "--json", &filter], b"").exits(0);
    assert_eq!(told.codes("f"), ["journal-unused"]);
    let told = run(&["check", &filter, "-e", "key20001"], b"").exits(0);
    assert!(told.err.contains("another version"), "{told:?}");
}

#[test]
fn an_interrupted_save_is_a_note_and_loses_nothing() {
    let dir = Dir::new();
    with_journal(&dir);
    let (filter, journal) = (dir.arg("f"), dir.path("f.journal"));
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, [&whole[..], &[7; 20]].concat()).unwrap();
    let told = run(&["verify", &filter], b"");
    assert!(told.code == 0 && told.text().contains("are not acknowledged"), "{told:?}");
    assert_eq!(run(&["check", &filter, "-e", "key20001"], b"").code, 0);
    let new = dir.file("new", "another\n");
    assert_eq!(run(&["insert", "-q", &filter, &new], b"").code, 0);
    assert!(!journal.exists());
    for key in ["key20000", "key20001", "another"] {
        assert_eq!(run(&["check", &filter, "-e", key], b"").code, 0, "{key}");
    }
}
