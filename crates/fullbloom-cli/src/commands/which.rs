//! `fullbloom which -e KEY PATH…`: the filters that may hold a key.

mod each_key;

use crate::args::{LookupTypeArgs, PartArgs};
use crate::error::{Failure, Status};
use crate::filter_args::FilterArgs;
use crate::output::{self, Output};
use crate::progress::Places;
use crate::text;
use fullbloom_ops::which::{Answer, Answers};
use fullbloom_ops::{Conditions, Found, Place, Problem, WhichOptions, WhichReport, which};
use fullbloom_table::EnginePrefix;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Find the filters, tables and sstables that may hold a key
///
/// Prints maybe, no (surely not there), or unknown (the filter cannot be read) for each file, and for every
/// table or sstable of a directory. Without a filter the answer is maybe.
///
/// Without --key-type, keys are read in the type that each sstable records for its partition keys. With
/// --keys, the lines are by key: each filter that may hold it, or "no" and a dash if none does. Exit status:
/// 0 if a filter may hold a key, 1 if none does, 2 on errors, and if no sstable has keys of this type.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom which -e user:17 db/
  fullbloom which -e user:17 -l db/*.sst
  fullbloom which --key-type text,int -e eu:7 --json data/
  fullbloom which --cql \"id = 17 AND day = 'x'\" --partition-key id,day ks/
  fullbloom which --keys lost.txt /var/lib/cassandra/data/ks
  zcat lost.gz | fullbloom which --keys - --json db/")]
#[command(mut_arg("field", |field| field.conflicts_with("given")))]
#[command(mut_arg("ignore_case", |ignore_case| ignore_case.conflicts_with("given")))]
#[command(mut_arg("trim", |trim| trim.conflicts_with("given")))]
#[command(mut_arg("skip_comments", |skip_comments| skip_comments.conflicts_with("given")))]
#[command(mut_arg("crlf", |crlf| crlf.conflicts_with("given")))]
pub struct Args {
    /// Look up this key; may be given several times
    #[arg(
        short = 'e',
        long = "key",
        value_name = "KEY",
        required_unless_present_any = ["keys", "cql"],
        allow_hyphen_values = true
    )]
    given: Vec<OsString>,

    /// Look up the keys in these files; - for standard input
    #[arg(long, value_name = "KEYS", conflicts_with = "given")]
    keys: Vec<PathBuf>,

    /// Look up a partition key in CQL: "id = 17 AND day = 'x'"
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["given", "keys", "hex"])]
    cql: Option<String>,

    /// Name the columns of that key in their order: id,day
    ///
    /// As in PRIMARY KEY ((id, day), …). Sstables do not record these names; only a key of one column can do
    /// without them.
    #[arg(long, value_name = "NAMES", requires = "cql")]
    partition_key: Option<String>,

    /// Filter files, tables, sstables, and directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Keys are written in hex
    #[arg(long)]
    hex: bool,

    /// Keys in the key files end with a zero byte, not a newline
    #[arg(short = '0', long, conflicts_with = "given")]
    null: bool,

    /// Lines of the key files are keys of any bytes; without it, files that are not text are refused
    #[arg(long, conflicts_with = "given")]
    binary: bool,

    #[command(flatten)]
    part: PartArgs,

    #[command(flatten)]
    types: LookupTypeArgs,

    #[command(flatten)]
    read: FilterArgs,

    /// Look up values of this column of Parquet files
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// Take table prefixes like this: fixed:N, capped:N, noop
    ///
    /// For tables whose prefix extractor is not recognised.
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// Also look into snapshots and backups of Cassandra
    #[arg(long)]
    snapshots: bool,

    /// Print only the paths of filters that may hold one of the keys
    #[arg(short, long, conflicts_with_all = ["invert", "json"])]
    list: bool,

    /// Print only the paths of filters that surely hold none of the keys
    #[arg(short = 'v', long, conflicts_with = "json")]
    invert: bool,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    ///
    /// With --keys, "keys" instead of "places".
    #[arg(long)]
    json: bool,
}

/// Asks the filters of each path.
pub fn run(args: &Args) -> Result<Status, Failure> {
    if !args.keys.is_empty() {
        return each_key::run(args);
    }
    let conditions =
        args.cql.as_deref().map(|cql| conditions(cql, args.partition_key.as_deref())).transpose()?;
    let keys = match &conditions {
        Some(conditions) => vec![conditions.key()],
        None => args.given.iter().map(|key| key.as_encoded_bytes().to_vec()).collect(),
    };
    let options = WhichOptions { conditions, ..options(args, keys)? };
    let mut out = Output::stdout();
    let all = ask(args, &options, |news| {
        match news {
            News::Problem(problem) => output::problem_or_warning(problem),
            News::Found(found) if !args.json => {
                let text = lines(args, &options.keys, found, out.is_terminal());
                out.bytes(&text)?;
                out.pause()?;
            }
            News::Found(_) => {}
        }
        Ok(())
    })?;
    if args.json {
        out.json(&super::report_value(&all))?;
    }
    out.finish()?;
    Ok(all.status.into())
}

/// What comes up while filters are asked.
enum News<'a> {
    /// What is wrong with a filter, or with a path.
    Problem(&'a Problem),
    /// The filters of a path.
    Found(&'a [Found<Answers>]),
}

/// Asks the filters of all paths about the keys.
fn ask(
    args: &Args,
    options: &WhichOptions,
    mut each: impl FnMut(News<'_>) -> Result<(), Failure>,
) -> Result<WhichReport, Failure> {
    let mut all = WhichReport::empty(options);
    let mut places = Places::new("looking up");
    for path in &args.paths {
        let place = Place::detect(path, args.read.dialect());
        let _quiet = super::QuietPanics::of(&place);
        let (before, problems) = (all.found.len(), all.problems.len());
        if let Err(problem) = which(&place, options, &mut all, &mut places) {
            all.fail(problem);
        }
        let found = &all.found[before..];
        let mut problems = all.problems[problems..]
            .iter()
            .chain(found.iter().flat_map(|found| &found.problems).filter(|problem| problem.is_error()));
        problems.try_for_each(|problem| each(News::Problem(problem)))?;
        each(News::Found(found))?;
    }
    let problems = all.problems.len();
    all.finish(options);
    all.problems[problems..].iter().try_for_each(|problem| each(News::Problem(problem)))?;
    Ok(all)
}

fn conditions(cql: &str, partition_key: Option<&str>) -> Result<Conditions, Failure> {
    Conditions::parse(cql, partition_key).map_err(|why| {
        let failure = Failure::new("--cql", why);
        match partition_key {
            Some(_) => failure,
            None => failure.hint("--partition-key id,day names the partition key's columns in their order"),
        }
    })
}

fn options(args: &Args, keys: Vec<Vec<u8>>) -> Result<WhichOptions, Failure> {
    Ok(WhichOptions {
        keys: keys.into(),
        hex: args.hex,
        spec: args.types.key_type.clone(), // none: the type of each place
        conditions: None,
        read: args.read.read()?,
        column: args.column.clone(),
        prefix_extractor: args.prefix_extractor,
        snapshots: args.snapshots,
    })
}

/// One line for each filter and key; only paths if that is asked for.
fn lines(args: &Args, keys: &[Vec<u8>], found: &[Found<Answers>], is_terminal: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    for Found { record, .. } in found {
        if args.list || args.invert {
            let selected = match args.list {
                true => record.answers.contains(&Answer::Maybe),
                false => record.answers.iter().all(|answer| *answer == Answer::No),
            };
            if selected {
                path_line(&record.place, is_terminal, &mut lines);
            }
            continue;
        }
        let path = text::printable(&record.path);
        let groups = record.row_groups.as_deref().filter(|groups| !groups.is_empty()).map(row_groups);
        let reason: Vec<String> = groups.into_iter().chain(record.reason.clone()).collect();
        let reason = if reason.is_empty() { reason.concat() } else { format!(" ({})", reason.join("; ")) };
        for (key, answer) in keys.iter().zip(&record.answers) {
            let key = match keys.len() {
                1 => String::new(),
                _ => format!("  {}", text::printable(&String::from_utf8_lossy(key))),
            };
            lines.extend_from_slice(format!("{:<7}  {path}{reason}{key}\n", answer.as_str()).as_bytes());
        }
    }
    lines
}

/// A line of a path alone. It is for other programs, which open the path: only on a terminal it is escaped.
fn path_line(path: &Path, is_terminal: bool, lines: &mut Vec<u8>) {
    let shown = path.display().to_string();
    let (shown, raw) = (text::printable(&shown), path.as_os_str().as_encoded_bytes());
    output::append(lines, if is_terminal { shown.as_bytes() } else { raw }, b'\n');
}

/// `row groups 0, 7`
fn row_groups(groups: &[usize]) -> String {
    let numbers: Vec<String> = groups.iter().map(usize::to_string).collect();
    format!("row group{} {}", if groups.len() == 1 { "" } else { "s" }, numbers.join(", "))
}
