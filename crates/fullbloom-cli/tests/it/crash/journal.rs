//! Kills at every system call of a save into the journal, and of the save that folds the journal into the
//! file. No key that was saved before is lost; the keys of the killed run are all there, or none is.

use super::trace::{self, Deed};
use super::{FEW, kill_points};
use crate::common::{Dir, command, run};
use fullbloom::Hashing;
use fullbloom_any::StoredFilter;
use fullbloom_dynamic::JournalWriter;
use fullbloom_dynamic::{DynamicFilter, DynamicOptions};
use fullbloom_files::file_lock::FileLock;
use fullbloom_testkit::steps::Steps;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

const SAVED: u64 = 50;
const NEW: u64 = 40;

fn keys(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|i| format!("key{i}\n")).collect()
}

fn hashes(filter: &DynamicFilter, numbers: std::ops::Range<u64>) -> Vec<u64> {
    numbers.map(|i| filter.hash(format!("key{i}").as_bytes()).to_raw()).collect()
}

/// Hashes of further keys, whose bytes nobody needs.
fn other_hashes(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A filter with `old` keys in its file and `saved` further ones in its journal. Returns the hashes of all of
/// them, and of `NEW` new keys.
fn prepare(dir: &Dir, old: u64, saved: u64) -> Vec<u64> {
    let path = dir.path("d/f");
    let mut filter = DynamicFilter::new(DynamicOptions::new(1_000, 1e-13)).unwrap();
    let mut all: Vec<u64> = other_hashes(old).collect();
    filter.insert_batch(&Hashing::default().hashes(&all)).unwrap();
    let mut writer = JournalWriter::new(FileLock::new(&path).unwrap());
    writer.save(&filter).unwrap();
    if saved > 0 {
        let hashes = hashes(&filter, 0..saved);
        let mut new = vec![false; hashes.len()];
        filter.insert_batch_new(&Hashing::default().hashes(&hashes), &mut new[..]).unwrap();
        writer.record(&filter, &hashes, &new);
        writer.save(&filter).unwrap();
        assert!(dir.path("d/f.journal").exists());
    }
    all.extend(hashes(&filter, 0..saved + NEW));
    all
}

type Files = BTreeMap<String, Vec<u8>>;

fn files(dir: &Dir) -> Files {
    let entries = fs::read_dir(dir.path("d")).unwrap().map(|entry| entry.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

/// Puts the files back; those that have not changed are left alone.
fn restore(dir: &Dir, old: &Files) {
    let now = files(dir);
    for name in now.keys().filter(|name| !old.contains_key(*name)) {
        fs::remove_file(dir.path("d").join(name)).unwrap();
    }
    for (name, bytes) in old.iter().filter(|(name, bytes)| now.get(*name) != Some(bytes)) {
        fs::write(dir.path("d").join(name), bytes).unwrap();
    }
}

/// The filter of the file and its journal.
fn load(dir: &Dir, when: &str) -> DynamicFilter {
    let StoredFilter::Dynamic(filter) = StoredFilter::load(dir.path("d/f")).expect(when) else { panic!() };
    filter
}

/// How many of the new keys, whose hashes are the last ones, the file and its journal hold; all others must
/// be there. A file with the same bytes as before has the same keys, so then it is enough to look up those of
/// the journal and some others.
fn judged(dir: &Dir, old: &Files, hashes: &[u64], when: &str) -> u64 {
    let filter = load(dir, when);
    let (mut before, new) = hashes.split_at(hashes.len() - NEW as usize);
    if dir.read("d/f") == old["f"] {
        before = &before[before.len() - 2 * SAVED as usize..];
    }
    let own = |hashes| filter.count_batch(&Hashing::default().hashes(hashes)).unwrap();
    assert_eq!(own(before), before.len() as u64, "{when}: a saved key is lost");
    let new = own(new);
    assert!(new == 0 || new == NEW, "{when}: {new} of {NEW} new keys");
    new
}

/// Kills the command before the system calls of the walk. Returns the kills, how often the keys were there,
/// and the names that stay after a run without a kill.
fn kill_everywhere(dir: &Dir, args: &[&str], hashes: &[u64], steps: Steps) -> (u64, u64, Vec<String>) {
    let old = files(dir);
    let start = || {
        let mut command = command(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let whole = trace::run(start(), Deed::Watch, |_| false);
    assert_eq!(whole.code, Some(0));
    assert_eq!(judged(dir, &old, hashes, "after a run that nothing happened to"), NEW);
    let names: Vec<String> = files(dir).into_keys().collect();
    let (mut points, mut done) = (0, 0);
    for at in kill_points(&whole.calls, steps) {
        restore(dir, &old);
        let killed = trace::run(start(), Deed::Kill, trace::again(&whole.calls, at));
        let when = format!("{args:?} killed before call {at}");
        let new = judged(dir, &old, hashes, &when);
        assert!(killed.code.is_none() || new == NEW, "{when}: reported as saved");
        points += 1;
        done += u64::from(new == NEW);
        let again = start().status().unwrap();
        assert!(again.success() || new == NEW, "{when}: the next run");
        assert_eq!(judged(dir, &old, hashes, &when), NEW, "{when}: after the next run");
        // A run that had nothing to do leaves the journal of a small file where it is.
        let left: Vec<String> = files(dir).into_keys().collect();
        assert!(left.iter().all(|name| ["f", "f.journal"].contains(&name.as_str())), "{when}: {left:?}");
    }
    (points, done, names)
}

#[test]
fn killed_before_any_system_call_of_a_journal_or_its_folding_no_saved_key_is_lost() {
    if !trace::is_allowed() {
        return;
    }
    let steps = Steps::every(FEW);
    // Folded into a small file: at the end of insert, and of unique.
    for command in [&["insert", "-q"][..], &["unique", "--state"]] {
        let dir = Dir::of_walk();
        fs::create_dir(dir.path("d")).unwrap();
        let hashes = prepare(&dir, 20_000, SAVED);
        let new = dir.file("new", keys(SAVED..SAVED + NEW));
        let (points, done, names) =
            kill_everywhere(&dir, &[command, &[&dir.arg("d/f"), &new]].concat(), &hashes, steps);
        assert_eq!(names, ["f"], "folded");
        assert!(points > steps.least(30, 10) && done > steps.least(2, 0), "{points} {done}");
    }
}

/// The file is so large that it is not written again: the keys are appended, to a new journal or an old one.
#[test]
fn killed_before_any_system_call_of_an_append_no_saved_key_is_lost() {
    if !trace::is_allowed() {
        return;
    }
    let steps = Steps::every(FEW);
    for saved in [0, SAVED] {
        let dir = Dir::of_walk();
        fs::create_dir(dir.path("d")).unwrap();
        let hashes = prepare(&dir, 660_000, saved);
        let file = fs::read(dir.path("d/f")).unwrap();
        assert!(file.len() > 4 << 20, "{}", file.len());
        let new = dir.file("new", keys(saved..saved + NEW));
        let insert = ["insert", "-q", &dir.arg("d/f"), &new];
        let (points, done, names) = kill_everywhere(&dir, &insert, &hashes, steps);
        assert_eq!(names, ["f", "f.journal"]);
        assert_eq!(fs::read(dir.path("d/f")).unwrap(), file, "not written again");
        assert!(points > steps.least(20, 5) && done > steps.least(1, 0), "{points} {done}");
        // What an interrupted save left is said, by the one who reads and by the one who writes.
        let mut journal = fs::OpenOptions::new().append(true).open(dir.path("d/f.journal")).unwrap();
        journal.write_all(&[7; 50]).unwrap();
        let out = run(&["inspect", &dir.arg("d/f")], b"");
        assert!(out.text().contains("interrupted"), "{out:?}");
        let further = dir.file("further", keys(saved + NEW..saved + 2 * NEW));
        let out = run(&["insert", &dir.arg("d/f"), &further], b"").exits(0);
        assert!(
            out.text().contains("40 keys inserted, 40 new") && out.err.contains("interrupted"),
            "{out:?}"
        );
        // A damaged journal is not ignored.
        let mut bytes = fs::read(dir.path("d/f.journal")).unwrap();
        bytes[20] ^= 1;
        fs::write(dir.path("d/f.journal"), bytes).unwrap();
        for command in [&["check"][..], &["insert"], &["inspect"]] {
            let out = run(&[command, &[&dir.arg("d/f")]].concat(), b"key1\n");
            assert!(
                out.code == 2 && (out.err + &String::from_utf8_lossy(&out.out)).contains("journal"),
                "{command:?}"
            );
        }
    }
}
