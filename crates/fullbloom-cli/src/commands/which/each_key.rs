//! `which --keys`: for each key of files or of standard input, the filters that may hold it.
//!
//! Keys are looked up in groups, and every group in all filters: so memory holds the answers of one group,
//! whatever the number of keys.

use super::{Args, News, ask, options, path_line};
use crate::commands::problem_value;
use crate::error::{Failure, Status};
use crate::input::{KeyFormat, Keys};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::text;
use fullbloom_ops::filter::FilterFile;
use fullbloom_ops::which::{Answer, Answers};
use fullbloom_ops::{Found, Place, PlaceKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Keys of a group: ten thousand filters have 40 MB of answers about so many, a byte each.
const GROUP: usize = 4096;

/// The bytes of a group's keys, should they be long.
const GROUP_BYTES: usize = 16 << 20;

/// Looks up the keys of the files.
pub fn run(args: &Args) -> Result<Status, Failure> {
    args.paths.iter().try_for_each(|path| require_field(args, path))?;
    let format = KeyFormat {
        end: if args.null { 0 } else { b'\n' },
        hex: false, // decoded where they are looked up, so that answers show keys as they were given
        binary: args.binary,
        ..args.part.format()
    };
    let mut keys = Keys::new(&args.keys, format)?;
    let mut answering = Answering::new(args)?;
    let mut group = Group::default();
    keys.for_each_batch(&Progress::hidden(), |batch| {
        for (key, record) in batch.keys.iter().zip(batch.records) {
            group.bytes += key.len() + record.len();
            group.keys.push(key.to_vec());
            group.records.push(record.to_vec());
            if group.keys.len() == GROUP || group.bytes >= GROUP_BYTES {
                answering.look_up(std::mem::take(&mut group))?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // Without any key, too, paths that cannot be read are errors.
    if !group.keys.is_empty() || answering.counts.keys == 0 {
        answering.look_up(group)?;
    }
    answering.finish()
}

/// Refuses whole lines for a native filter whose keys were a field of lines.
fn require_field(args: &Args, path: &Path) -> Result<(), Failure> {
    if Place::detect(path, args.read.dialect()).kind() != PlaceKind::Filter {
        return Ok(());
    }
    // What is wrong with the file is reported by the lookup.
    let Ok(file) = FilterFile::map(path, &args.read.read()?) else { return Ok(()) };
    let recorded = file.open().ok().and_then(|opened| opened.filter.key_field());
    args.part.require_field(path, recorded)
}

/// Keys that are looked up together.
#[derive(Debug, Default)]
struct Group {
    keys: Vec<Vec<u8>>,
    /// The lines that they came in.
    records: Vec<Vec<u8>>,
    bytes: usize,
}

/// How many keys have which answer.
#[derive(Debug, Default)]
struct Counts {
    keys: u64,
    maybe: u64,
    no: u64,
    unknown: u64,
}

/// What is printed, and what all groups have in common.
struct Answering<'a> {
    args: &'a Args,
    out: Output,
    status: Option<Status>,
    counts: Counts,
    /// Each group meets the same problems; they are reported once.
    told: HashSet<String>,
    problems: Vec<Value>,
    recorded: HashSet<String>,
    /// With `-l` and `-v`: for each filter, whether it may hold one of the keys, and whether it surely holds
    /// none of them.
    filters: BTreeMap<PathBuf, (bool, bool)>,
}

impl Answering<'_> {
    fn new(args: &Args) -> Result<Answering<'_>, Failure> {
        let mut out = Output::stdout();
        if args.json {
            out.bytes(b"{\n  \"version\": 1,\n  \"keys\": [")?;
        }
        Ok(Answering {
            args,
            out,
            status: None,
            counts: Counts::default(),
            told: HashSet::new(),
            problems: Vec::new(),
            recorded: HashSet::new(),
            filters: BTreeMap::new(),
        })
    }

    /// Looks up a group of keys in all filters, and prints the answers.
    fn look_up(&mut self, group: Group) -> Result<(), Failure> {
        let options = options(self.args, group.keys)?;
        let all = ask(self.args, &options, |news| {
            if let News::Problem(problem) = news
                && self.told.insert(problem.to_string())
            {
                output::problem_or_warning(problem);
            }
            Ok(())
        })?;
        for problem in all.problems().filter(|_| self.args.json) {
            if self.recorded.insert(problem.to_string()) {
                self.problems.push(problem_value(problem));
            }
        }
        self.status = Some(worse(self.status, all.status.into()));
        if self.args.list || self.args.invert {
            for Found { record, .. } in all.found {
                let (maybe, no) = self.filters.entry(record.place).or_insert((false, true));
                *maybe |= record.answers.contains(&Answer::Maybe);
                *no &= record.answers.iter().all(|answer| *answer == Answer::No);
            }
            return Ok(());
        }
        for (at, record) in group.records.iter().enumerate() {
            self.print(at, record, &all.found)?;
        }
        self.out.pause()
    }

    /// Prints the filters that may hold a key, and those that cannot be read.
    fn print(&mut self, at: usize, key: &[u8], found: &[Found<Answers>]) -> Result<(), Failure> {
        let with = |wanted: Answer| {
            let all = found.iter().map(|found| &found.record);
            all.filter(move |record| record.answers[at] == wanted)
        };
        let (maybe, unknown) = (with(Answer::Maybe).count(), with(Answer::Unknown).count());
        let key = String::from_utf8_lossy(key);
        if self.args.json {
            let paths = |wanted| with(wanted).map(|record| &record.path).collect::<Vec<_>>();
            let between = if self.counts.keys == 0 { "\n    " } else { ",\n    " };
            self.out.bytes(between.as_bytes())?;
            self.out.json_part(
                &json!({ "key": key, "maybe": paths(Answer::Maybe), "unknown": paths(Answer::Unknown) }),
            )?;
        } else {
            let key = text::printable(&key);
            for record in with(Answer::Maybe).chain(with(Answer::Unknown)) {
                let (answer, path) = (record.answers[at].as_str(), text::printable(&record.path));
                let reason = record.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
                self.out.bytes(format!("{answer:<7}  {path}{reason}  {key}\n").as_bytes())?;
            }
            if maybe + unknown == 0 {
                self.out.bytes(format!("no       -  {key}\n").as_bytes())?;
            }
        }
        self.counts.keys += 1;
        match (maybe, unknown) {
            (0, 0) => self.counts.no += 1,
            (0, _) => self.counts.unknown += 1,
            _ => self.counts.maybe += 1,
        }
        Ok(())
    }

    /// Prints what is left; returns the exit status.
    fn finish(mut self) -> Result<Status, Failure> {
        for (path, (maybe, no)) in &self.filters {
            if if self.args.list { *maybe } else { *no } {
                let mut line = Vec::new();
                path_line(path, self.out.is_terminal(), &mut line);
                self.out.bytes(&line)?;
            }
        }
        if self.args.json {
            let Counts { keys, maybe, no, unknown } = self.counts;
            self.out.bytes(b"\n  ],\n  \"problems\": ")?;
            self.out.json_part(&Value::Array(self.problems))?;
            self.out.bytes(b",\n  \"summary\": ")?;
            self.out.json_part(&json!({ "keys": keys, "maybe": maybe, "no": no, "unknown": unknown }))?;
            self.out.bytes(b"\n}\n")?;
        }
        self.out.finish()?;
        Ok(self.status.unwrap_or(Status::No))
    }
}

/// The status of two groups of keys: an error in one is an error, and a key found in one is found.
fn worse(before: Option<Status>, now: Status) -> Status {
    match (before, now) {
        (Some(Status::Failed), _) | (_, Status::Failed) => Status::Failed,
        (Some(Status::Yes), _) | (_, Status::Yes) => Status::Yes,
        _ => Status::No,
    }
}
