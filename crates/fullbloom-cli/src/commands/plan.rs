//! `fullbloom plan`: what a filter would cost in each dialect, and whether it would keep the rate.

use crate::args;
use crate::commands::plan_from;
use crate::error::{Failure, Status};
use crate::numbers;
use crate::output::{self, Output};
use crate::report::{self, ReportArgs};
use crate::sizing::{self, TargetArgs};
use crate::table::Table;
use crate::text;
use fullbloom::SizeError;
use fullbloom::any::{self, Plan};
use fullbloom::dialect::Name;
use fullbloom::native;
use fullbloom::sizing::{Request, Target};
use serde_json::{Value, json};
use std::path::PathBuf;

/// An expected rate counts as kept up to this much above the asked one: sizing rules round, and the last
/// percent of a rate cannot be measured with fewer than 10^6 false positives.
const TOLERANCE: f64 = 1.01;

/// What would a filter cost, and which dialects can keep the rate?
///
/// Each dialect is sized by its own system's rule. Exit status: 0 if at least one dialect can do it, 1 if none
/// can, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "\
Examples:
  fullbloom plan --expected-keys 1M --fpr 1%
  fullbloom plan --expected-keys 2e9 --bits-per-key 10 --dialect cassandra
  fullbloom plan --expected-keys 100M --memory 64MiB --json
  fullbloom plan --from data/ks/table-1b255f4d/
  fullbloom plan --from db/ --memory 2GiB",
    group = clap::ArgGroup::new("wish").args(["fpr", "bits_per_key", "memory", "from"]).multiple(true).required(true)
)]
pub struct Args {
    /// How many keys the filter will hold: 1000000, 1e6, 1M
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true, default_value = "0",
          hide_default_value = true, required_unless_present = "from")]
    expected_keys: u64,

    /// Take the keys from the sstables or tables in this directory: what would other filters cost them?
    #[arg(long, value_name = "DIR", conflicts_with_all = ["expected_keys", "bits_per_key", "dialect"])]
    from: Option<PathBuf>,

    #[command(flatten)]
    target: TargetArgs,

    /// Memory to spend: 64MiB, 500MB; the largest filter that fits is planned
    #[arg(long, value_name = "SIZE", value_parser = numbers::size, allow_negative_numbers = true, group = "target")]
    memory: Option<u64>,

    /// One dialect, or all
    #[arg(long, value_name = "D", value_parser = args::dialects(), default_value = "all")]
    dialect: args::Dialects,

    #[command(flatten)]
    report: ReportArgs,

    /// One JSON object: {"rows": […]}
    #[arg(long)]
    json: bool,
}

/// What one dialect comes to.
#[derive(Debug)]
struct Row {
    dialect: Name,
    plan: Result<Plan, SizeError>,
    /// Of the native dialect: the layout, and what else was considered.
    native: Option<native::Plan>,
    /// The plan misses what was asked.
    note: Option<String>,
}

/// Plans and prints the rows.
pub fn run(args: &Args) -> Result<Status, Failure> {
    args.report.check()?;
    if let Some(directory) = &args.from {
        let (fpr, memory, json, report) = (args.target.fpr, args.memory, args.json, &args.report);
        return plan_from::run(&plan_from::From { directory, fpr, memory, json, report });
    }
    if let Some(mistake) = mistake(args) {
        return Err(Failure::new("plan", mistake));
    }
    let rows: Vec<Row> = args.dialect.names().iter().map(|name| row(*name, args)).collect();
    let mut out = Output::stdout()?;
    let whole = json(&rows, args);
    args.report.write(|| report::of_plan(&whole))?;
    if args.json {
        out.json(&whole)?;
    } else {
        out.bytes(table(&rows, args.expected_keys).as_bytes())?;
    }
    out.finish()?;
    let possible = rows.iter().any(|row| row.plan.is_ok());
    if !possible {
        output::warning("no dialect can be sized like this");
    }
    Ok(Status::selected(possible))
}

fn row(dialect: Name, args: &Args) -> Row {
    let expected_keys = args.expected_keys;
    if dialect == Name::Native {
        let plan = match (args.target.target(), args.memory) {
            (Some(target), _) => native::Plan::new(&Request { expected_keys, target }),
            (None, memory) => native::Plan::within(expected_keys, memory.unwrap_or(u64::MAX)),
        };
        let common = plan.as_ref().map(Plan::from).map_err(Clone::clone);
        return Row { native: plan.ok(), ..Row::new(dialect, common, args) };
    }
    let plan = match (args.target.target(), args.memory) {
        (Some(target), _) => any::plan(dialect, &Request { expected_keys, target }),
        (None, memory) => any::plan_within(dialect, expected_keys, memory.unwrap_or(u64::MAX)),
    };
    Row::new(dialect, plan, args)
}

impl Row {
    fn new(dialect: Name, plan: Result<Plan, SizeError>, args: &Args) -> Row {
        let note = match &plan {
            Ok(plan) => {
                let notes = shortfall(plan, args).into_iter().chain(plan.weakness.map(|w| w.to_string()));
                notes.reduce(|all, note| format!("{all}; {note}"))
            }
            Err(e) => Some(e.to_string()),
        };
        Row { dialect, plan, native: None, note }
    }
}

/// What was asked for and is not kept.
fn shortfall(plan: &Plan, args: &Args) -> Option<String> {
    let per_key = bits_per_key(plan, args.expected_keys);
    match args.target.target()? {
        Target::Fpr(asked) if plan.expected_fpr > asked * TOLERANCE => {
            let (asked, expected) = (text::rate(asked), text::rate(plan.expected_fpr));
            Some(format!("cannot keep a rate of {asked}: {expected} is to be expected"))
        }
        Target::BitsPerKey(asked) if per_key < asked / TOLERANCE => {
            Some(format!("spends {} bits per key of the {asked} asked for", text::decimal(per_key, 2)))
        }
        _ => None,
    }
}

/// A number that no dialect takes is a mistake, not an answer.
fn mistake(args: &Args) -> Option<SizeError> {
    let target = args.target.target()?;
    let mut refusals = Vec::new();
    for name in args.dialect.names() {
        match sizing::check_target(*name, target) {
            Err(e @ (SizeError::Value { .. } | SizeError::Unreachable { .. })) => refusals.push(e),
            _ => return None,
        }
    }
    refusals.into_iter().min_by_key(|e| !matches!(e, SizeError::Value { .. })) // the plainest words
}

/// Bits for each expected key; not a number when there are none.
fn bits_per_key(plan: &Plan, expected_keys: u64) -> f64 {
    plan.geometry.bit_len as f64 / expected_keys as f64
}

fn table(rows: &[Row], expected_keys: u64) -> String {
    let mut table = Table::new(&["dialect", "bits", "bytes", "bits/key", "probes", "expected rate"]);
    for row in rows {
        let mut cells = vec![row.dialect.to_string()];
        match &row.plan {
            Ok(plan) => {
                let per_key = bits_per_key(plan, expected_keys);
                cells.extend([
                    plan.geometry.bit_len.to_string(),
                    text::bytes(plan.encoded_len),
                    if per_key.is_finite() { text::decimal(per_key, 2) } else { "-".into() },
                    plan.geometry.probes.to_string(),
                    text::rate(plan.expected_fpr),
                ]);
            }
            Err(_) => cells.extend(["-"; 5].map(String::from)),
        }
        table.row(cells);
    }
    table.render() + &notes(rows)
}

/// The notes below the table; dialects with the same note share it.
fn notes(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut told: Vec<&str> = Vec::new();
    for note in rows.iter().filter_map(|row| row.note.as_deref()) {
        if told.contains(&note) {
            continue;
        }
        told.push(note);
        let of_it = rows.iter().filter(|row| row.note.as_deref() == Some(note));
        let names: Vec<&str> = of_it.map(|row| row.dialect.as_str()).collect();
        text += &format!("\n{}: {note}", names.join(", "));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for native in rows.iter().filter_map(|row| row.native.as_ref()) {
        text += "\nnative: the layouts considered, * chosen; a further line for each key must save 6 % of the bits\n";
        text += &considered(native);
    }
    text
}

/// The layouts that were considered, a line for each.
fn considered(plan: &native::Plan) -> String {
    let keys = plan.expected_keys.max(1) as f64;
    let line = |candidate: &native::Candidate| {
        let bits = candidate.blocks * candidate.layout.block_len();
        format!(
            "{} {} of 512 bits for each key, {}: {} bits per key, expected rate {}\n",
            if candidate.layout == plan.layout { '*' } else { ' ' },
            text::counted(candidate.layout.lines().into(), "line"),
            text::counted(candidate.layout.probes().into(), "probe"),
            text::decimal(bits as f64 / keys, 2),
            text::rate(candidate.expected_fpr)
        )
    };
    plan.considered.iter().map(line).collect()
}

/// The layouts that were considered, and which one was chosen.
fn layouts(plan: &native::Plan) -> Value {
    plan.considered
        .iter()
        .map(|candidate| {
            json!({
                "lines": candidate.layout.lines(),
                "block_lines": candidate.layout.block_lines(),
                "probes": candidate.layout.probes(),
                "bits": candidate.blocks * candidate.layout.block_len(),
                "expected_fpr": candidate.expected_fpr,
                "chosen": candidate.layout == plan.layout,
            })
        })
        .collect()
}

fn json(rows: &[Row], args: &Args) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let plan = row.plan.as_ref().ok();
            let mut object = json!({
                "dialect": row.dialect.as_str(),
                "bits": plan.map(|plan| plan.geometry.bit_len),
                "bytes": plan.map(|plan| plan.encoded_len),
                "bits_per_key": plan.map(|plan| bits_per_key(plan, args.expected_keys)),
                "probes": plan.map(|plan| plan.geometry.probes),
                "expected_fpr": plan.map(|plan| plan.expected_fpr),
                "note": row.note,
            });
            if let Some(native) = &row.native {
                object["layouts"] = layouts(native);
            }
            object
        })
        .collect();
    json!({
        "expected_keys": args.expected_keys,
        "fpr": args.target.fpr,
        "asked_bits_per_key": args.target.bits_per_key,
        "memory": args.memory,
        "rows": rows,
    })
}
