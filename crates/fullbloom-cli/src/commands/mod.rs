//! The commands, one file each.

pub mod bench;
pub mod build;
pub mod change;
pub mod check;
pub mod completions;
pub mod convert;
pub mod dialects;
pub mod explain;
mod insert_other;
pub mod inspect;
pub mod keys;
mod made;
pub mod man;
pub mod merge;
pub mod plan;
pub mod rebuild;
pub mod report;
pub mod table;
pub mod unique;
pub mod verify;
pub mod which;

use crate::args::{Cli, Command};
use crate::error::{Failure, Status};
use crate::help;
use crate::hints;
use crate::output::{self, Output};
use clap::{CommandFactory, FromArgMatches};
use fullbloom::kernel::Kernel;
use fullbloom_ops::{Place, PlaceKind, Problem, Report};
use serde::Serialize;
use serde_json::Value;
use std::ffi::OsString;
use std::io;

/// Runs the command that the arguments ask for.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Result<Status, Failure> {
    let arguments: Vec<OsString> = arguments.collect();
    let mut command = help::compact(Cli::command());
    // The CPU is examined only if the version is asked for.
    if arguments.iter().any(|argument| argument == "--version") {
        command = command.long_version(&*version().leak());
    }
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(message) => return print_help(&message),
    };
    match cli.command {
        Command::Plan(args) => plan::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Which(args) => which::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Unique(args) => unique::run(&args),
        Command::Insert(args) => change::insert(&args),
        Command::Remove(args) => change::remove(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Rebuild(args) => rebuild::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Dialects(args) => dialects::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// `-V` is the version; `--version` also names the commit, if it is known, and the kernel in use on this CPU.
fn version() -> String {
    let others: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    format!(
        "{}{}\nkernel {} (this CPU can run {}; FULLBLOOM_KERNEL forces one)",
        env!("CARGO_PKG_VERSION"),
        option_env!("FULLBLOOM_COMMIT").map_or(String::new(), |commit| format!(" (commit {commit})")),
        Kernel::in_use(),
        others.join(", ")
    )
}

/// Help and version go to standard output, wrong usage to standard error.
fn print_help(message: &clap::Error) -> Result<Status, Failure> {
    if message.use_stderr() {
        let _ = message.print(); // there is no other place to report to
        return Ok(Status::Failed);
    }
    let text = message.render();
    let mut out = Output::stdout();
    if output::coloured(&io::stdout()) {
        out.bytes(text.ansi().to_string().as_bytes())?;
    } else {
        out.bytes(text.to_string().as_bytes())?;
    }
    out.finish()?;
    Ok(Status::Yes)
}

/// A report as JSON. Its hints are those of the text: with the options of the command.
fn report_value<R: Serialize, S: Serialize>(report: &Report<R, S>) -> Value {
    let mut value = value(report);
    let problems = value["problems"].as_array_mut();
    for (written, problem) in problems.into_iter().flatten().zip(report.problems()) {
        *written = problem_value(problem);
    }
    value
}

/// A problem as JSON, with the hint of the text.
fn problem_value(problem: &Problem) -> Value {
    let mut value = value(problem);
    value["hint"] = hints::of(problem).into();
    value
}

/// A record as JSON.
fn value(report: &impl Serialize) -> Value {
    // Only maps with keys that are not text cannot be written as JSON, and reports have none.
    serde_json::to_value(report).unwrap_or_default()
}

/// The parquet crate panics on some damaged files. That is caught and reported, so the panic itself prints
/// nothing while this value lives.
struct QuietPanics(Option<Hook>);

type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send + 'static>;

impl QuietPanics {
    fn of(place: &Place) -> QuietPanics {
        QuietPanics(matches!(place.kind(), PlaceKind::Parquet | PlaceKind::Dataset).then(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            usual
        }))
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        if let Some(usual) = self.0.take().filter(|_| !std::thread::panicking()) {
            std::panic::set_hook(usual);
        }
    }
}
