//! Runs the built command and looks at what it says.

pub mod schema;

use fullbloom_testkit::steps;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No command of these tests takes a second; one that hangs must not hang the tests.
const LONGEST: Duration = Duration::from_secs(60);

/// How a run ended.
pub struct Outcome {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: String,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out = String::from_utf8_lossy(&self.out[..self.out.len().min(2000)]);
        write!(f, "code {}, stderr {:?}, stdout {out:?}", self.code, self.err)
    }
}

impl Outcome {
    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("the output is text")
    }

    /// Standard output as JSON. A report must fit the schema.
    #[track_caller]
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        if value["version"].is_u64() {
            schema::check(&value);
        }
        value
    }

    /// The codes of the problems of a place: of the one whose path ends with `name`.
    #[track_caller]
    pub fn codes(&self, name: &str) -> Vec<String> {
        let report = self.json();
        let problems = report["problems"].as_array().expect("problems").iter();
        let of_place =
            problems.filter(|problem| problem["place"].as_str().is_some_and(|place| place.ends_with(name)));
        of_place.map(|problem| problem["code"].as_str().expect("a code").to_owned()).collect()
    }

    /// It ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Outcome {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// It is an error: code 2, a message that begins as ours do and holds `part`, no panic.
    #[track_caller]
    pub fn fails_with(self, part: &str) -> Outcome {
        let outcome = self.exits(2);
        assert!(outcome.err.starts_with("error: "), "{outcome:?}");
        assert!(outcome.err.contains(part), "{part:?} is not in {outcome:?}");
        outcome
    }
}

/// The command, not yet started; colours and terminals of whoever runs the tests play no part.
pub fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullbloom"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("CLICOLOR_FORCE");
    command
}

/// Runs the command with these bytes on its standard input.
pub fn run<S: AsRef<OsStr>>(args: &[S], stdin: &[u8]) -> Outcome {
    finish(command(args), stdin)
}

/// Starts a prepared command, feeds it, and waits for its end.
pub fn finish(mut command: Command, stdin: &[u8]) -> Outcome {
    let mut child = command.spawn().expect("the command starts");
    let mut pipe = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(pipe) = &mut pipe {
                let _ = pipe.write_all(stdin); // a command may stop reading
            }
        });
        let out = scope.spawn(move || drain(stdout));
        let err = scope.spawn(move || drain(stderr));
        let code = wait(&mut child);
        let err = String::from_utf8(err.join().unwrap()).expect("messages are text");
        Outcome { code, out: out.join().unwrap(), err }
    })
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).expect("the pipe can be read");
    }
    bytes
}

/// Waits for the end; kills what does not end.
pub fn wait(child: &mut Child) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return status.code().unwrap_or(-1);
        }
        if begun.elapsed() > LONGEST {
            child.kill().expect("the child can be killed");
            panic!("the command hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// A directory of its own for a test.
pub struct Dir(tempfile::TempDir);

impl Dir {
    /// An empty one.
    pub fn new() -> Dir {
        Dir(tempfile::tempdir().expect("a temporary directory"))
    }

    /// An empty one for a walk over many points. It is in memory, where flushes cost nothing, if that is
    /// possible and all points are not asked for: then the walk is on the disk.
    pub fn of_walk() -> Dir {
        let memory = (!steps::all()).then(|| tempfile::tempdir_in("/dev/shm").ok()).flatten();
        memory.map_or_else(Dir::new, Dir)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path in it, as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.path(name).to_str().expect("a plain path").to_owned()
    }

    /// Writes a file; its path as an argument.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).expect("a test file");
        self.arg(name)
    }

    /// The bytes of a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// What is in it, sorted; hidden files too.
    pub fn names(&self) -> Vec<String> {
        list(self.0.path())
    }
}

/// The names in a directory, sorted.
pub fn list(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Builds a `leveldb` filter of these keys with 10 bits for each and saves it as `name`; its path.
pub fn leveldb_filter(dir: &Dir, name: &str, keys: &[&str]) -> String {
    let filter = dir.arg(name);
    let lines: String = keys.iter().map(|key| format!("{key}\n")).collect();
    let args = ["build", "--dialect", "leveldb", "--bits-per-key", "10", "-q", "-o", &filter];
    run(&args, lines.as_bytes()).exits(0);
    filter
}

/// `count` lines `key0`, `key1`, …
pub fn lines(count: usize) -> String {
    (0..count).map(|i| format!("key{i}\n")).collect()
}

/// Copies a directory with all that is in it.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}
