//! `rebuild` and `rebuild --restore` of a ScyllaDB sstable, killed before every system call. After each kill
//! a checker applies the rules by which a ScyllaDB node starts or does not start; it shares no code with the
//! command.

use super::trace::{self, Deed};
use crate::common::{Dir, run};
use fullbloom_testkit::steps::Steps;
use fullbloom_testkit::vectors;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PREFIX: &str = "mt-1-big-";

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = !0u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The digests in a `Scylla.db`, by component number; `Err` if a node would refuse the file.
fn digests(scylla_db: &[u8]) -> Result<BTreeMap<u32, u32>, String> {
    let (mut at, mut found) = (4, None);
    for _ in 0..number(scylla_db, 0) {
        let (tag, len) = (number(scylla_db, at), number(scylla_db, at + 4) as usize);
        at += 8;
        if tag == 12 {
            let count = number(scylla_db, at) as usize;
            if len != 4 + 8 * count {
                return Err("the digests do not fill their part".into());
            }
            let entry = |i| (number(scylla_db, at + 4 + 8 * i), number(scylla_db, at + 8 + 8 * i));
            found = Some((0..count).map(entry).collect());
        }
        at += len;
    }
    match found {
        Some(_) if crc32(&scylla_db[..at]) != number(scylla_db, at) || at + 4 != scylla_db.len() => {
            Err("the checksum of Scylla.db is wrong".into())
        }
        Some(found) => Ok(found),
        None => Ok(BTreeMap::new()),
    }
}

/// Whether the name has the form `(la|m[cdest])-<generation>-big-<anything>`.
fn is_component(name: &str) -> bool {
    let mut parts = name.splitn(4, '-');
    let mut next = || parts.next().unwrap_or_default();
    let (version, generation, token, component) = (next(), next(), next(), next());
    let uuid = || {
        let lens: Vec<usize> = generation.split('_').map(str::len).collect();
        lens == [4, 4, 18]
            && generation.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase() || b == b'_')
    };
    ["la", "mc", "md", "me", "ms", "mt"].contains(&version)
        && (generation.parse::<u64>().is_ok() || uuid())
        && token == "big"
        && !component.is_empty()
}

/// Why a ScyllaDB node would not start on this table.
fn stops_a_node(table: &Path) -> Option<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(table).unwrap().map(Result::unwrap) {
        // Directories are not looked into.
        if entry.file_type().unwrap().is_file() {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    if let Some(name) = names.iter().find(|name| !is_component(name)) {
        return Some(format!("invalid version for file {name}"));
    }
    let path = |component: &str| table.join(format!("{PREFIX}{component}"));
    let Ok(toc) = fs::read_to_string(path("TOC.txt")) else { return Some("no TOC.txt".into()) };
    for component in toc.lines() {
        if !path(component).exists() {
            return Some(format!("{component} is listed and not there"));
        }
    }
    let filter = fs::read(path("Filter.db")).unwrap();
    if filter.len() < 8 || number(&filter, 4) == 0 || filter.len() < 8 + 8 * number(&filter, 4) as usize {
        return Some("the filter is malformed".into());
    }
    let digests = match digests(&fs::read(path("Scylla.db")).unwrap()) {
        Ok(digests) => digests,
        Err(why) => return Some(why),
    };
    for (component, name) in
        [(1, "CompressionInfo.db"), (3, "TOC.txt"), (7, "Filter.db"), (8, "Statistics.db")]
    {
        let computed = crc32(&fs::read(path(name)).unwrap());
        if digests.get(&component).is_some_and(|recorded| *recorded != computed) {
            return Some(format!("{name} digest mismatch"));
        }
    }
    None
}

struct Scene {
    dir: Dir,
    source: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let dir = Dir::of_walk();
        Scene { dir, source: vectors::root().join("scylla/dictionaries/mt-lz4") }
    }

    fn table(&self) -> PathBuf {
        self.dir.path("ks/table-1c6ace40fad111e7b9cf000000000002")
    }

    /// The sstable as it was, and no backups.
    fn reset(&self) {
        let table = self.table();
        let _ = fs::remove_dir_all(&table);
        fs::create_dir_all(&table).unwrap();
        for entry in fs::read_dir(&self.source).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), table.join(entry.file_name())).unwrap();
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fullbloom"));
        command.arg("rebuild").args(args).arg(self.table());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// `Scylla.db`.
    fn scylla_db(&self) -> Vec<u8> {
        fs::read(self.table().join(format!("{PREFIX}Scylla.db"))).unwrap()
    }

    /// Filter and digest of it.
    fn pair(&self) -> (Vec<u8>, Option<u32>) {
        let read = |name: &str| fs::read(self.table().join(format!("{PREFIX}{name}"))).unwrap();
        (read("Filter.db"), digests(&read("Scylla.db")).unwrap().get(&7).copied())
    }
}

const REBUILD: [&str; 2] = ["--fpr", "0.2"];

#[test]
fn killed_before_any_system_call_a_scylla_rebuild_never_leaves_a_state_that_stops_a_node() {
    if !trace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    scene.reset();
    assert_eq!(stops_a_node(&scene.table()), None);
    let old = scene.pair();
    assert!(scene.command(&REBUILD).status().unwrap().success());
    let (new, new_scylla_db) = (scene.pair(), scene.scylla_db());
    assert!(old.0 != new.0 && new.1 == Some(crc32(&new.0)));
    scene.reset();
    let calls = trace::run(scene.command(&REBUILD), Deed::Watch, |_| false).calls;
    let mut rows = BTreeMap::new();
    let points = super::kill_points(&calls, Steps::every(super::FEW));
    for &at in &points {
        scene.reset();
        trace::run(scene.command(&REBUILD), Deed::Kill, trace::again(&calls, at));
        assert_eq!(stops_a_node(&scene.table()), None, "killed before call {at}");
        let now = scene.pair();
        let row = match (now.0 == old.0, now.0 == new.0, now.1) {
            (true, _, digest) if digest == old.1 => "old filter, old digest",
            (true, _, None) => "old filter, no digest",
            (_, true, None) => "new filter, no digest",
            (_, true, digest) if digest == new.1 => "new filter, new digest",
            other => panic!("killed before call {at}: {other:?}"),
        };
        if now.1.is_none() && rows.get(row).is_none_or(|count| *count == 1) {
            let verified = run(&["verify", "--json", scene.table().to_str().unwrap()], b"").exits(1);
            let codes: Vec<Value> =
                verified.json()["problems"].as_array().unwrap().iter().map(|p| p["code"].clone()).collect();
            assert!(codes.contains(&"checksum-missing".into()), "{codes:?}");
        }
        *rows.entry(row).or_insert(0) += 1;
        assert!(
            scene.command(&REBUILD).status().unwrap().success(),
            "the run after one killed before call {at}"
        );
        assert_eq!((scene.pair(), stops_a_node(&scene.table())), (new.clone(), None), "after call {at}");
        assert_eq!(scene.scylla_db(), new_scylla_db, "after call {at}");
        assert!(!scene.table().join("snapshots/fullbloom-tmp").exists(), "after call {at}");
        // Whatever happened, one backup of the old pair is there, and goes back.
        assert!(scene.command(&["--restore"]).status().unwrap().success(), "after call {at}");
        assert_eq!(
            (scene.pair(), stops_a_node(&scene.table())),
            (old.clone(), None),
            "restored after call {at}"
        );
    }
    println!("{} kills: {rows:?}", points.len());
    assert_eq!(rows.len(), 4, "{rows:?}");
}

#[test]
fn killed_before_any_system_call_a_scylla_restore_never_leaves_a_state_that_stops_a_node() {
    if !trace::is_allowed() {
        return;
    }
    let scene = Scene::new();
    scene.reset();
    let old = scene.pair();
    let rebuilt = || {
        scene.reset();
        assert!(scene.command(&REBUILD).status().unwrap().success());
    };
    rebuilt();
    let calls = trace::run(scene.command(&["--restore"]), Deed::Watch, |_| false).calls;
    assert_eq!(scene.pair(), old);
    for at in super::kill_points(&calls, Steps::every(super::FEW)) {
        rebuilt();
        trace::run(scene.command(&["--restore"]), Deed::Kill, trace::again(&calls, at));
        assert_eq!(stops_a_node(&scene.table()), None, "killed before call {at}");
        if scene.pair() != old {
            assert!(scene.command(&["--restore"]).status().unwrap().success(), "after call {at}");
        }
        assert_eq!((scene.pair(), stops_a_node(&scene.table())), (old.clone(), None), "after call {at}");
    }
}

#[test]
fn the_checker_notices_what_stops_a_node() {
    let scene = Scene::new();
    let table = scene.table();
    let damage: [(&str, &[u8]); 6] = [
        ("mt+1+big+Filter.db.backup", b"x"),
        (".fullbloom-1.tmp", b"x"),
        ("mt-1-big-TOC.txt", b"Filter.db\n"),
        ("mt-1-big-Filter.db", b"short"),
        ("mt-1-big-Statistics.db", b"x"),
        ("mt-1-big-TOC.txt", b"Filter.db\nIndex.db\n"),
    ];
    for (name, bytes) in damage {
        scene.reset();
        assert_eq!(stops_a_node(&table), None);
        fs::write(table.join(name), bytes).unwrap();
        assert!(stops_a_node(&table).is_some(), "{name}");
    }
}
