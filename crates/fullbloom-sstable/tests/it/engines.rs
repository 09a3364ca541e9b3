//! Sstables of Cassandra 6.0, ScyllaDB and DataStax against their manifests: the selection under `vectors/`,
//! and all of them where they are at hand: `FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it
//! engines -- --ignored`.

use fullbloom_any::AnyFilter;
use fullbloom_files::replace::Output;
use fullbloom_sstable::rebuild::{Rate, propose};
use fullbloom_sstable::scylla::{ScyllaDb, with_filter_digest};
use fullbloom_sstable::{
    ComponentError, Engine, FilterProblem, Flag, Keys, Sstable, replace, report, verify,
};
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
        // Its own, or that of another sstable beside it.
        let in_scylla_table = files(&sstable.directory).iter().any(|name| name.ends_with("-Scylla.db"));
        assert_eq!(sstable.engine() == Engine::Scylla, in_scylla_table, "{entry}");
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

fn rewrites() -> Vec<Value> {
    serde_json::from_slice(&fs::read(vectors::root().join("scylla/rewrite.json")).unwrap()).unwrap()
}

fn bytes(entry: &Value, field: &str) -> Vec<u8> {
    hex(entry[field].as_str().unwrap())
}

#[test]
fn scylla_db_gets_the_new_digest_and_keeps_everything_else() {
    let entries = rewrites();
    assert_eq!(entries.len(), 10);
    for entry in entries {
        let (before, after) = (bytes(&entry, "scylla_db_before"), bytes(&entry, "scylla_db_after"));
        let digest = u32::try_from(entry["filter_crc32_after"].as_u64().unwrap()).unwrap();
        assert_eq!(with_filter_digest(&before, Some(digest)).unwrap(), after);
        let between = with_filter_digest(&before, None).unwrap();
        let read = ScyllaDb::decode(&between).unwrap();
        assert_eq!((between.len(), read.filter_digest()), (before.len() - 8, None));
    }
}

/// Copies the components of an sstable into a directory of its own.
fn copied(sstable: &Sstable) -> (tempfile::TempDir, Sstable) {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("ks/table");
    fs::create_dir_all(&table).unwrap();
    for component in &sstable.components {
        let from = sstable.path(component);
        fs::copy(&from, table.join(from.file_name().unwrap())).unwrap();
    }
    let copy = Sstable::of_file(&table.join(format!("{}Filter.db", sstable.prefix))).unwrap();
    (dir, copy)
}

/// The files of a directory, without those below it.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let mut names: Vec<String> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[ignore = "needs real sstables: FULLBLOOM_SHARED=DIR cargo test -p fullbloom-sstable --test it engines -- --ignored"]
fn a_rebuild_of_scyllas_sstables_writes_the_pairs_of_the_vectors() {
    for entry in rewrites() {
        let path = shared("fetched/scylla").join(format!("{}Filter.db", entry["sstable"].as_str().unwrap()));
        let (_dir, sstable) = copied(&Sstable::of_file(&path).unwrap());
        let names = files(&sstable.directory);
        replace::check(&sstable).unwrap();
        let rate = Rate::Fpr(entry["fp_chance"].as_f64().unwrap());
        propose(&sstable, rate).unwrap().build().unwrap().save(&Output::InPlace { backup: true }).unwrap();
        assert_eq!(fs::read(sstable.path("Filter.db")).unwrap(), bytes(&entry, "filter_db_after"));
        assert_eq!(fs::read(sstable.path("Scylla.db")).unwrap(), bytes(&entry, "scylla_db_after"));
        assert_eq!(files(&sstable.directory), names, "no foreign file in the table's directory");
    }
}

/// An sstable with digests.
fn mt() -> (tempfile::TempDir, Sstable) {
    let path = vectors::root().join("scylla/dictionaries/mt-lz4/mt-1-big-Filter.db");
    copied(&Sstable::of_file(&path).unwrap())
}

fn rebuilt(sstable: &Sstable, output: &Output) -> replace::Written {
    propose(sstable, Rate::Fpr(0.2)).unwrap().build().unwrap().save(output).unwrap()
}

#[test]
fn a_table_of_scylla_is_known_by_its_directory_where_an_sstable_has_no_scylla_db() {
    let support = crate::support::Table::new();
    for version in ["mc", "nb"] {
        support.add(version, 1, &crate::support::keys(20), 0.01);
    }
    let engine = |version| Sstable::of_file(&support.path(version, 1, "Filter.db")).unwrap().engine();
    let both = || (engine("mc"), engine("nb"));
    assert_eq!(both(), (Engine::Cassandra, Engine::Cassandra));
    for made in ["upload", "staging"] {
        fs::create_dir(support.directory.join(made)).unwrap();
        assert_eq!(both(), (Engine::Scylla, Engine::Cassandra), "nb is never ScyllaDB's");
        fs::remove_dir(support.directory.join(made)).unwrap();
    }
    support.put("md", 7, "Scylla.db", &[0; 4]);
    assert_eq!(both(), (Engine::Scylla, Engine::Cassandra));
    // So its backup does not stop a node.
    let sstable = Sstable::of_file(&support.path("mc", 1, "Filter.db")).unwrap();
    let written = rebuilt(&sstable, &Output::InPlace { backup: true });
    assert!(written.backups[0].starts_with(support.directory.join("snapshots/fullbloom-1")), "{written:?}");
}

#[test]
fn the_old_pair_of_scylla_is_kept_under_snapshots_and_goes_back() {
    let (_dir, sstable) = mt();
    let again = |sstable: &Sstable| Sstable::of_file(&sstable.path("Filter.db")).unwrap();
    let pair = |sstable: &Sstable| {
        (fs::read(sstable.path("Filter.db")).unwrap(), fs::read(sstable.path("Scylla.db")).unwrap())
    };
    let (names, old) = (files(&sstable.directory), pair(&sstable));
    let written = rebuilt(&sstable, &Output::InPlace { backup: true });
    let kept = sstable.directory.join("snapshots/fullbloom-1");
    assert_eq!(written.backups, [kept.join("mt-1-big-Scylla.db"), kept.join("mt-1-big-Filter.db")]);
    assert_eq!(written.others, [sstable.path("Scylla.db")]);
    assert_eq!((files(&sstable.directory), files(&kept).len()), (names, 2));
    assert!(verify::verify(&again(&sstable), verify::Options::default()).is_well());
    let second = rebuilt(&again(&sstable), &Output::InPlace { backup: true });
    assert_eq!((second.path, second.backups.len()), (None, 0), "left alone");
    let backup = replace::newest_backup(&sstable).unwrap();
    assert_eq!(backup.path, kept.join("mt-1-big-Filter.db"));
    assert!(replace::restore(&again(&sstable), || {}).unwrap().is_some());
    assert_eq!(pair(&sstable), old);
    assert!(!kept.exists() && replace::newest_backup(&sstable).is_none());
    let other = tempfile::tempdir().unwrap();
    let written = rebuilt(&again(&sstable), &Output::Into(other.path().to_owned()));
    assert_eq!(pair(&sstable), old, "another directory leaves the old pair alone");
    let digest = ScyllaDb::decode(&fs::read(&written.others[0]).unwrap()).unwrap().filter_digest();
    assert!(digest.is_some() && digest != again(&sstable).scylla_db().unwrap().filter_digest());
}

#[test]
fn a_scylla_sstable_is_refused_where_the_pair_could_not_be_right() {
    let refusal = |change: &dyn Fn(&Sstable)| {
        let (_dir, sstable) = mt();
        change(&sstable);
        let sstable = Sstable::of_file(&sstable.path("Data.db")).unwrap();
        replace::check(&sstable).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(refusal(&|_| ()), Ok(()));
    assert_eq!(refusal(&|sstable| fs::write(sstable.path("Filter.db"), b"damaged").unwrap()), Ok(()));
    let message = |change: &dyn Fn(&Sstable)| refusal(change).unwrap_err();
    assert!(
        message(&|sstable| fs::write(sstable.path("Statistics.db"), b"x").unwrap())
            .starts_with("Statistics.db has")
    );
    assert!(
        message(&|sstable| fs::write(sstable.path("Scylla.db"), b"x").unwrap()).contains("cannot be read")
    );
    let without = |sstable: &Sstable| {
        let toc = fs::read_to_string(sstable.path("TOC.txt")).unwrap().replace("Filter.db\n", "");
        fs::write(sstable.path("TOC.txt"), toc).unwrap();
    };
    assert!(message(&without).contains("without a filter"));
    let no_toc = |sstable: &Sstable| fs::remove_file(sstable.path("TOC.txt")).unwrap();
    assert!(message(&no_toc).starts_with("TOC.txt is missing"));
}

#[test]
fn a_scylla_sstable_without_a_toc_is_not_well_and_a_copy_of_some_files_is() {
    let (_dir, sstable) = mt();
    fs::remove_file(sstable.path("TOC.txt")).unwrap();
    let without = Sstable::of_file(&sstable.path("Data.db")).unwrap();
    let flags = report::inspect(&without).flags;
    assert!(matches!(&flags[..], [Flag::TocMissing]), "{flags:?}");
    let found = verify::verify(&without, verify::Options::default());
    assert!(found.toc_missing && !found.is_well());
    fs::remove_file(sstable.path("Scylla.db")).unwrap();
    let copied = Sstable::of_file(&sstable.path("Data.db")).unwrap();
    assert!(verify::verify(&copied, verify::Options::default()).is_well());
}

#[test]
fn damage_that_only_scyllas_checksums_show_is_found() {
    let (_dir, sstable) = mt();
    let path = sstable.path("Filter.db");
    let mut filter = fs::read(&path).unwrap();
    // One more bit set: every key is still found.
    let at = filter.iter().rposition(|byte| *byte != 0xff).unwrap();
    filter[at] |= !filter[at] & filter[at].wrapping_add(1);
    fs::write(&path, filter).unwrap();
    let sstable = Sstable::of_file(&path).unwrap();
    let flags = report::inspect(&sstable).flags;
    let [Flag::Digest(mismatch)] = &flags[..] else { panic!("{flags:?}") };
    assert_eq!(mismatch.component, "Filter.db");
    assert!(mismatch.to_string().contains("does not start"), "{mismatch}");
    let found = verify::verify(&sstable, verify::Options::default());
    assert_eq!((found.missing, found.digests.len()), (Some(0), 1));
    assert!(!found.is_well());
}

#[cfg(unix)]
#[test]
fn a_running_scylla_node_is_noticed_by_its_lock() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let (dir, sstable) = mt();
    let lock = dir.path().join(".lock");
    fs::write(&lock, b"").unwrap();
    replace::check(&sstable).expect("a lock file that a killed node left");
    // The node locks with lockf(F_TLOCK). Only another process's lock counts.
    let program = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked', flush=True); sys.stdin.read()";
    let Ok(mut node) = Command::new("python3")
        .args(["-c", program, lock.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    else {
        println!("not run: there is no python3 to hold the lock");
        return;
    };
    let mut line = String::new();
    BufReader::new(node.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    let refused = replace::check(&sstable);
    node.stdin.take().unwrap().flush().unwrap(); // dropped: the program ends
    node.wait().unwrap();
    assert!(matches!(refused, Err(replace::Refusal::Running { .. })), "{refused:?}");
    replace::check(&sstable).unwrap();
}

#[test]
fn what_scylla_has_encrypted_is_named_and_not_called_damaged() {
    let (_dir, sstable) = mt();
    let text = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    // Filter.db, Statistics.db and Partitions.db, by their numbers.
    let set = (1u32 << 7 | 1 << 8 | 1 << 13).to_le_bytes();
    let mut attributes = 2u32.to_be_bytes().to_vec();
    for part in [&b"scylla_encryption_options"[..], b"x", b"encrypted_components", &set] {
        attributes.extend(text(part));
    }
    let scylla_db = [&1u32.to_be_bytes()[..], &3u32.to_be_bytes(), &text(&attributes)].concat();
    fs::write(sstable.path("Scylla.db"), scylla_db).unwrap();
    let sstable = Sstable::of_file(&sstable.path("Filter.db")).unwrap();
    let inspection = report::inspect(&sstable);
    assert!(inspection.filter.is_none() && matches!(inspection.recorded, report::Recorded::Encrypted));
    let flags: Vec<String> = inspection.flags.iter().map(ToString::to_string).collect();
    assert_eq!(flags.len(), 2, "{flags:?}");
    assert!(flags[0].starts_with("Filter.db is encrypted"), "{flags:?}");
    assert!(flags[1].contains("Partitions.db is encrypted"), "{flags:?}");
    assert!(matches!(replace::check(&sstable), Err(replace::Refusal::Encrypted)));
}

#[test]
fn a_filter_created_in_a_table_of_scylla_goes_again_and_leaves_no_unknown_file() {
    let support = crate::support::Table::new();
    support.add("mc", 1, &crate::support::keys(200), 0.01);
    support.put("mc", 1, "TOC.txt", b"Index.db\nStatistics.db\nTOC.txt\n");
    fs::remove_file(support.path("mc", 1, "Filter.db")).unwrap();
    fs::create_dir(support.directory.join("staging")).unwrap();
    let sstable = || Sstable::of_file(&support.path("mc", 1, "Index.db")).unwrap();
    assert_eq!(sstable().engine(), Engine::Scylla);
    let (names, toc) = (files(&support.directory), fs::read(support.path("mc", 1, "TOC.txt")).unwrap());
    let written = rebuilt(&sstable(), &Output::InPlace { backup: true });
    let kept = support.directory.join("snapshots/fullbloom-1/mc-1-big-TOC.txt");
    assert_eq!((&written.backups[..], written.others.len()), (&[kept.clone()][..], 1));
    assert_eq!(sstable().lists("Filter.db"), Some(true));
    let backup = replace::newest_backup(&sstable()).unwrap();
    assert_eq!((backup.path, backup.of_toc), (kept, true));
    assert!(replace::restore(&sstable(), || {}).unwrap().is_some());
    assert_eq!(fs::read(support.path("mc", 1, "TOC.txt")).unwrap(), toc);
    assert_eq!(files(&support.directory), names);
    assert!(replace::newest_backup(&sstable()).is_none());
}
