//! `fullbloom which -e KEY PATH…`: the filters that may hold a key.

use crate::args::LookupTypeArgs;
use crate::error::{Failure, Status};
use crate::filter_args::FilterArgs;
use crate::output::{self, Output};
use crate::progress::Places;
use crate::text;
use fullbloom_ops::which::Answers;
use fullbloom_ops::{Found, Place, WhichOptions, WhichReport, which};
use fullbloom_table::EnginePrefix;
use std::ffi::OsString;
use std::path::PathBuf;

/// Find the filters, tables and sstables that may hold a key
///
/// Looks the keys up in the filter of every file that is given, and of every table or sstable of a directory.
/// For each it prints maybe, or no: the key is surely not there. Where there is no filter, the answer is
/// maybe; unknown means that the filter cannot be read. Without --key-type, keys are read in the type that
/// each sstable records for its partition keys. Exit status: 0 if a filter may hold a key, 1 if none does, 2
/// on errors, and if no sstable has keys of this type.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom which -e user:17 db/
  fullbloom which -e user:17 -l db/*.sst
  fullbloom which -e 17 /var/lib/cassandra/data/ks
  fullbloom which --key-type text,int -e eu:7 --json data/
  fullbloom which -e example.org lists/*.bloom")]
pub struct Args {
    /// The key; may be given several times
    #[arg(short = 'e', long = "key", value_name = "KEY", required = true, allow_hyphen_values = true)]
    keys: Vec<OsString>,

    /// Filter files, tables, sstables, and directories
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Keys are written in hex
    #[arg(long)]
    hex: bool,

    #[command(flatten)]
    types: LookupTypeArgs,

    #[command(flatten)]
    read: FilterArgs,

    /// The column of Parquet files
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// For tables whose prefix extractor is not recognised: fixed:N, capped:N or noop
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// In directories of Cassandra, also look into snapshots and backups
    #[arg(long)]
    snapshots: bool,

    /// Print only the paths of filters that may hold one of the keys
    #[arg(short, long, conflicts_with_all = ["invert", "json"])]
    list: bool,

    /// Print only the paths of filters that surely hold none of the keys
    #[arg(short = 'v', long, conflicts_with = "json")]
    invert: bool,

    /// One JSON object: {"version": 1, "places": […], "problems": […], "summary": {…}}
    #[arg(long)]
    json: bool,
}

/// Asks the filters of each path.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let options = options(args)?;
    let mut out = Output::stdout();
    let mut all = WhichReport::empty(&options);
    let mut places = Places::new("looking up");
    for path in &args.paths {
        let place = Place::detect(path, args.read.dialect());
        let _quiet = super::QuietPanics::of(&place);
        let (before, problems) = (all.found.len(), all.problems.len());
        if let Err(problem) = which(&place, &options, &mut all, &mut places) {
            all.fail(problem);
        }
        all.problems[problems..].iter().for_each(output::problem_or_warning);
        let found = &all.found[before..];
        found
            .iter()
            .flat_map(|found| &found.problems)
            .filter(|problem| problem.is_error())
            .for_each(output::problem);
        if !args.json {
            let text = lines(args, found, out.is_terminal());
            out.bytes(&text)?;
            out.pause()?;
        }
    }
    let problems = all.problems.len();
    all.finish(&options);
    all.problems[problems..].iter().for_each(output::problem);
    if args.json {
        out.json(&super::report_value(&all))?;
    }
    out.finish()?;
    Ok(all.status.into())
}

fn options(args: &Args) -> Result<WhichOptions, Failure> {
    Ok(WhichOptions {
        keys: args.keys.iter().map(|key| key.as_encoded_bytes().to_vec()).collect(),
        hex: args.hex,
        spec: args.types.key_type.clone(), // none: the type of each place
        read: args.read.read()?,
        column: args.column.clone(),
        prefix_extractor: args.prefix_extractor,
        snapshots: args.snapshots,
    })
}

/// One line for each filter and key; only paths if that is asked for. Paths alone are for other programs,
/// which open them: only on a terminal they are escaped.
fn lines(args: &Args, found: &[Found<Answers>], is_terminal: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    for Found { record, .. } in found {
        let path = text::printable(&record.path);
        if args.list || args.invert {
            let selected = match args.list {
                true => record.answers.contains(&"maybe"),
                false => record.answers.iter().all(|answer| *answer == "no"),
            };
            if selected {
                let raw = record.place.as_os_str().as_encoded_bytes();
                output::append(&mut lines, if is_terminal { path.as_bytes() } else { raw }, b'\n');
            }
            continue;
        }
        let groups = record.row_groups.as_deref().filter(|groups| !groups.is_empty()).map(row_groups);
        let reason: Vec<String> = groups.into_iter().chain(record.reason.clone()).collect();
        let reason = if reason.is_empty() { reason.concat() } else { format!(" ({})", reason.join("; ")) };
        for (key, answer) in args.keys.iter().zip(&record.answers) {
            let key = match args.keys.len() {
                1 => String::new(),
                _ => format!("  {}", text::printable(&key.to_string_lossy())),
            };
            lines.extend_from_slice(format!("{answer:<7}  {path}{reason}{key}\n").as_bytes());
        }
    }
    lines
}

/// `row groups 0, 7`
fn row_groups(groups: &[usize]) -> String {
    let numbers: Vec<String> = groups.iter().map(usize::to_string).collect();
    format!("row group{} {}", if groups.len() == 1 { "" } else { "s" }, numbers.join(", "))
}
