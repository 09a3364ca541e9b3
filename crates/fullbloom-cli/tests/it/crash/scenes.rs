//! The commands that write files, each in a directory of its own with what it reads and what it replaces.

use crate::common::{self, Dir, lines, run};
use fullbloom_table::{Table, TableOptions};
use fullbloom_testkit::{steps, vectors};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files by name, without temporary ones.
pub type Files = BTreeMap<String, Vec<u8>>;

/// One command. In its arguments `@name` is a file of the test's directory; it writes into `@d`.
pub struct Scenario {
    /// What is told when it fails.
    pub name: &'static str,
    args: &'static [&'static str],
    prepare: fn(&Dir),
    /// The old files stay under other names.
    keeps_old: bool,
    /// The new bytes are not the same each time: they are judged by what they answer.
    keyed: bool,
    /// Every lookup of a file is always made to fail: a state that cannot be read is not a missing one.
    pub all_lookups: bool,
}

const SCENARIO: Scenario =
    Scenario { name: "", args: &[], prepare: nothing, keeps_old: false, keyed: false, all_lookups: false };

/// Every command that writes filters or tables, and every way it does so.
pub const SCENARIOS: [Scenario; 12] = [
    Scenario {
        name: "build",
        args: &["build", "-q", "--expected-keys", "200k", "@keys", "-o", "@d/f"],
        prepare: |dir| build(dir, "old\n", &["--expected-keys", "200k"], "d/f"),
        ..SCENARIO
    },
    Scenario {
        name: "build --dialect cassandra",
        args: &[
            "build",
            "-q",
            "--dialect",
            "cassandra",
            "--fpr",
            "0.01",
            "@keys",
            "-o",
            "@d/nb-1-big-Filter.db",
        ],
        prepare: |dir| build(dir, "old\n", &["--dialect", "cassandra"], "d/nb-1-big-Filter.db"),
        ..SCENARIO
    },
    Scenario {
        name: "build --secret",
        args: &["build", "-q", "@keys", "--secret", "@d/secret", "-o", "@d/f"],
        prepare: |dir| build(dir, "old\n", &[], "d/f"),
        keyed: true,
        ..SCENARIO
    },
    Scenario {
        name: "merge",
        args: &["merge", "-q", "@a", "@b", "-o", "@d/f"],
        prepare: |dir| {
            for (name, keys) in [("a", "a\n"), ("b", &*lines(5000)), ("d/f", "old\n")] {
                build(dir, keys, &["--expected-keys", "200k"], name);
            }
        },
        ..SCENARIO
    },
    Scenario {
        name: "convert",
        args: &["convert", "-q", "@me-1-big-Filter.db", "--to", "cassandra", "-o", "@d/nb-1-big-Filter.db"],
        prepare: |dir| {
            build(dir, &lines(5000), &["--dialect", "cassandra-3"], "me-1-big-Filter.db");
            build(dir, "old\n", &["--dialect", "cassandra"], "d/nb-1-big-Filter.db");
        },
        ..SCENARIO
    },
    Scenario {
        name: "unique with a state",
        args: &["unique", "--state", "@d/f", "--fpr", "1%", "@keys"],
        prepare: |dir| build(dir, "old\n", &["--expected-keys", "100k"], "d/f"),
        all_lookups: true,
        ..SCENARIO
    },
    Scenario {
        name: "unique with a state to be made",
        args: &["unique", "--state", "@d/f", "--expected-keys", "100k", "@keys"],
        ..SCENARIO
    },
    Scenario {
        name: "table build",
        args: &["table", "build", "-q", "@keys", "-o", "@d/t.sst"],
        prepare: |dir| drop(dir.file("d/t.sst", "old")),
        ..SCENARIO
    },
    Scenario {
        name: "table build --sorted, in partitions",
        args: &[
            "table",
            "build",
            "-q",
            "--sorted",
            "--kind",
            "partitioned",
            "--compression",
            "zstd",
            "@sorted",
            "-o",
            "@d/t.sst",
        ],
        prepare: |dir| drop(dir.file("d/t.sst", "old")),
        ..SCENARIO
    },
    Scenario {
        name: "rebuild in place",
        args: &["rebuild", "--fpr", "0.2", "@d"],
        prepare: |dir| sstables(&dir.path("d")),
        keeps_old: true,
        ..SCENARIO
    },
    Scenario {
        name: "rebuild into another directory",
        args: &["rebuild", "--fpr", "0.2", "@sstables", "-o", "@d"],
        prepare: |dir| {
            fs::create_dir(dir.path("sstables")).unwrap();
            sstables(&dir.path("sstables"));
            dir.file("d/nb-1-big-Filter.db", "old");
        },
        ..SCENARIO
    },
    Scenario {
        name: "rebuild of a table's damaged filter",
        args: &["rebuild", "@d/t.sst"],
        prepare: |dir| damaged_table(&dir.path("d/t.sst")),
        keeps_old: true,
        ..SCENARIO
    },
];

fn nothing(_: &Dir) {}

fn build(dir: &Dir, keys: &str, options: &[&str], name: &str) {
    run(&[&["build", "-q", "-o", &dir.arg(name)], options].concat(), keys.as_bytes()).exits(0);
}

/// The sstables of the examples: two of the four decide as much, and are walked in half the time.
fn sstables(into: &Path) {
    let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cassandra/shop");
    let table = fs::read_dir(shop).unwrap().next().unwrap().unwrap().path();
    let taken = |name: &String| steps::all() || name.starts_with("nb-1-") || name.starts_with("me-4-");
    for name in common::list(&table).into_iter().filter(taken) {
        fs::copy(table.join(&name), into.join(&name)).unwrap();
    }
}

/// A table that RocksDB wrote, with a byte of its filter changed.
fn damaged_table(path: &Path) {
    let table = vectors::root().join("rocksdb/tables/r783_full_fv5_zlib.sst");
    let mut bytes = fs::read(table).unwrap();
    let table = Table::new(&bytes[..], TableOptions::default()).unwrap();
    let filter = table.metaindex().filter.as_ref().unwrap().handle.offset as usize;
    bytes[filter] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// A scenario in its directory, with what is there before and after.
pub struct Scene {
    /// The scenario.
    pub scenario: &'static Scenario,
    /// Where it plays.
    pub dir: Dir,
    /// The files of `d` before.
    pub old: Files,
    /// The files of `d` after a run that nothing happened to.
    pub new: Files,
}

impl Scene {
    /// Plays it once.
    pub fn new(scenario: &'static Scenario) -> Scene {
        let dir = Dir::of_walk();
        fs::create_dir(dir.path("d")).unwrap();
        dir.file("keys", lines(3000));
        let mut sorted: Vec<String> = (0..3000).map(|i| format!("key{i:05}\tvalue\n")).collect();
        sorted.sort();
        dir.file("sorted", sorted.concat());
        (scenario.prepare)(&dir);
        let mut scene = Scene { scenario, dir, old: Files::new(), new: Files::new() };
        scene.old = scene.files();
        let status = scene.command().status().unwrap();
        assert!(status.success(), "{}: {status:?}: {}", scenario.name, scene.said());
        scene.new = scene.files();
        assert_ne!(scene.old, scene.new, "{}", scenario.name);
        scene.restore();
        scene
    }

    /// The command; its messages go to a file.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fullbloom"));
        command.args(self.scenario.args.iter().map(|arg| match arg.strip_prefix('@') {
            Some(name) => self.dir.arg(name),
            None => (*arg).to_owned(),
        }));
        let said = fs::File::create(self.dir.path("said")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        command.env_remove("CLICOLOR_FORCE");
        command
    }

    /// What the last command said on standard error.
    pub fn said(&self) -> String {
        String::from_utf8(self.dir.read("said")).unwrap()
    }

    /// The files of `d` now. Others may be at work there, so what goes while we look was not there.
    pub fn files(&self) -> Files {
        let d = self.dir.path("d");
        let names = common::list(&d).into_iter().filter(|name| !is_temporary(name));
        names.filter_map(|name| fs::read(d.join(&name)).ok().map(|bytes| (name, bytes))).collect()
    }

    /// Temporary files in `d`.
    pub fn strays(&self) -> usize {
        common::list(&self.dir.path("d")).iter().filter(|name| is_temporary(name)).count()
    }

    /// As it was before.
    pub fn restore(&self) {
        let d = self.dir.path("d");
        for name in common::list(&d) {
            if !self.old.contains_key(&name) {
                fs::remove_file(d.join(name)).unwrap();
            }
        }
        for (name, bytes) in &self.old {
            // By renaming, as a saver does it: whoever has the file mapped keeps it.
            let beside = self.dir.path("restored");
            fs::write(&beside, bytes).unwrap();
            fs::rename(beside, d.join(name)).unwrap();
        }
    }

    /// Every file is an old or a new one, whole.
    #[track_caller]
    pub fn judge_files(&self, now: &Files, when: &str) {
        let (what, from) = (self.scenario.name, [&self.old, &self.new]);
        for (name, bytes) in now {
            let known = from.iter().any(|files| files.get(name) == Some(bytes));
            let kept =
                name.contains(".backup") && from.iter().any(|files| files.values().any(|b| b == bytes));
            assert!(
                known || kept || self.scenario.keyed,
                "{what}: {when}: {name} has {} bytes of neither file",
                bytes.len()
            );
        }
        for name in self.old.keys() {
            assert!(now.contains_key(name), "{what}: {when}: {name} is gone");
        }
    }

    /// Looks at a moment when nobody writes; whether the command has done all its work.
    #[track_caller]
    pub fn is_new(&self, when: &str) -> bool {
        let (what, now) = (self.scenario.name, self.files());
        self.judge_files(&now, when);
        if self.scenario.keyed {
            return self.judge_keyed(&now, when);
        }
        if self.scenario.keeps_old {
            for (name, bytes) in &self.old {
                assert!(now.values().any(|b| b == bytes), "{what}: {when}: the old {name} is lost");
            }
        }
        self.new.iter().all(|(name, bytes)| now.get(name) == Some(bytes))
    }

    /// How many files the command was to write, and did not.
    pub fn unwritten(&self) -> usize {
        let now = self.files();
        self.written().filter(|(name, bytes)| now.get(*name) != Some(bytes)).count()
    }

    /// The files that the command is to write, without what comes with them.
    pub fn written(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        let aside = |name: &str| name == "secret" || name.contains(".backup");
        self.new.iter().filter(move |(name, bytes)| self.old.get(*name) != Some(bytes) && !aside(name))
    }

    /// A keyed filter that is there has its secret.
    #[track_caller]
    fn judge_keyed(&self, now: &Files, when: &str) -> bool {
        if now["f"] == self.old["f"] {
            return false;
        }
        let (f, secret, keys) = (self.dir.arg("d/f"), self.dir.arg("d/secret"), self.dir.arg("keys"));
        let found = run(&["check", &f, "--secret", &secret, "-c", &keys], b"");
        assert_eq!(found.text(), "3000\n", "{when}: {found:?}");
        true
    }
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".fullbloom-")
}
