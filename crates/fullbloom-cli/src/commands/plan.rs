//! `fullbloom plan`: the cost of a filter in each dialect, and whether it keeps the rate.

use crate::args;
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::progress::Places;
use crate::render;
#[cfg(feature = "report")]
use crate::report::{self, ReportArgs};
use crate::sizing::TargetArgs;
use fullbloom_ops::{self as ops, Place, PlacePlan, PlaceWish, Wish, plan, plan_from};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Compute what a filter costs in each dialect, and which dialects keep the rate
///
/// Each dialect is sized by its own system's rule. --from reads what is there and plans other sizes for it.
///
/// Exit status: 0 if at least one dialect can do it, 1 if none can, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "\
Examples:
  fullbloom plan --expected-keys 1M --fpr 1%
  fullbloom plan --expected-keys 2e9 --bits-per-key 10 --dialect cassandra
  fullbloom plan --expected-keys 100M --memory 64MiB --json
  fullbloom plan --from data/ks/table-1b255f4d/
  fullbloom plan --from db/ --fpr 1%
  fullbloom plan --from db/ --memory 2GiB",
    group = clap::ArgGroup::new("wish").args(["fpr", "bits_per_key", "memory", "from"]).multiple(true).required(true)
)]
pub struct Args {
    /// Plan for this many keys: 1000000, 1e6, 1M
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true, default_value = "0",
          hide_default_value = true, required_unless_present = "from")]
    expected_keys: u64,

    /// Plan other filters for the sstables, tables or Parquet files in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["expected_keys", "dialect"])]
    from: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArgs,

    /// Plan the largest filter that fits: 64MiB, 500MB
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, allow_negative_numbers = true, group = "target")]
    memory: Option<u64>,

    /// Plan one dialect, or all (see: fullbloom dialects)
    #[arg(long, value_name = "D", value_parser = args::dialects(), hide_possible_values = true, default_value = "all")]
    dialect: args::Dialects,

    /// Choose the fastest or the smallest native layout [default: speed, up to 15 % more bits]
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["from", "memory"])]
    prefer: Option<args::Prefer>,

    #[cfg(feature = "report")]
    #[command(flatten)]
    report: ReportArgs,

    /// Print one JSON object: places, problems, summary (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Plans and prints.
pub fn run(args: &Args) -> Result<Status, Failure> {
    #[cfg(feature = "report")]
    args.report.check()?;
    match &args.from {
        Some(directory) => from_directory(args, directory),
        None => by_dialect(args),
    }
}

fn by_dialect(args: &Args) -> Result<Status, Failure> {
    let wish = match (args.target.target(), args.memory) {
        (Some(target), _) => Wish::Target(target),
        (None, memory) => Wish::Memory(memory.unwrap_or(u64::MAX)),
    };
    let planned = plan(args.dialect.names(), args.expected_keys, wish, args.prefer.map(Into::into))?;
    #[cfg(feature = "report")]
    args.report.write(|| report::of_dialects(&planned))?;
    show(args, &planned, || render::dialect_plans(&planned))?;
    if planned.status == ops::Status::NotWell {
        output::warning("no dialect can be sized like this");
    }
    Ok(planned.status.into())
}

fn from_directory(args: &Args, directory: &Path) -> Result<Status, Failure> {
    let TargetArgs { fpr, bits_per_key } = args.target;
    let wish = PlaceWish { fpr, bits_per_key, memory: args.memory, snapshots: false };
    let place = Place::detect(directory, None);
    let planned = plan_from(&place, &wish, &mut Places::new("counting keys"))?;
    #[cfg(feature = "report")]
    args.report.write(|| report::of_place(&planned))?;
    show(args, &planned, || match &planned {
        PlacePlan::Sstables(report) => render::cassandra_plan(report),
        PlacePlan::Database(report) => render::database_plan(report),
        #[cfg(feature = "parquet")]
        PlacePlan::Columns(report) => render::column_plan(report),
    })?;
    for problem in planned.problems() {
        match problem.is_error() {
            true => output::problem(problem),
            false if args.json => {}
            false => output::warning(&problem.message),
        }
    }
    Ok(planned.status().into())
}

/// Prints JSON or text.
fn show(args: &Args, planned: &impl Serialize, text: impl Fn() -> String) -> Result<(), Failure> {
    let mut out = Output::stdout();
    match args.json {
        true => out.json(&super::value(planned))?,
        false => out.bytes(text().as_bytes())?,
    }
    out.finish()
}
