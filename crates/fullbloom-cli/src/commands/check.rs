//! `fullbloom check FILTER [KEYS…]`: prints the keys that may be in a filter, like `grep`.

use crate::args::{GivenArgs, KeyArgs, LookupTypeArgs, TypeArgs};
use crate::error::{Failure, Status};
use crate::filter_args::FilterArgs;
use crate::input::{BATCH, KeyFormat, threads};
use crate::output::{self, Output};
use crate::progress::Progress;
use fullbloom_core::typed::KeyForm;
#[cfg(feature = "parquet")]
use fullbloom_dialects::Name;
use fullbloom_ops::filter::FilterFile;
#[cfg(feature = "parquet")]
use fullbloom_ops::parquet::Column;
use fullbloom_ops::{Code, Place, PlaceKind, Severity, table};
use fullbloom_table::EnginePrefix;
use fullbloom_table::filter::Question;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Look up keys in a filter or a table: print those that may be present
///
/// A key that is not printed is surely absent. Keys are printed exactly as they were read.
///
/// A table of LevelDB or RocksDB answers like its engine's read path, with the same rules for partitions and
/// prefixes. Partition keys of Cassandra are read in the types that Statistics.db records, as keys prints
/// them. Exit status: 0 if a key was selected, 1 if none was, 2 on errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom check keys.bloom lookups.txt
  fullbloom check keys.bloom -e example.org && echo maybe
  zcat urls.gz | fullbloom check -c keys.bloom
  fullbloom check people.parquet --column id < ids.txt
  fullbloom check 000123.sst --op seek --answers < prefixes.txt")]
pub struct Args {
    /// The filter file, or a table
    filter: PathBuf,

    #[command(flatten)]
    keys: KeyArgs,

    #[command(flatten)]
    given: GivenArgs,

    #[command(flatten)]
    types: LookupTypeArgs,

    #[command(flatten)]
    read: FilterArgs,

    /// Ask a table as its engine does for get, seek or seek-back
    #[arg(long, value_name = "OP", value_enum, hide_possible_values = true, default_value_t = Op::Get)]
    op: Op,

    /// Take table prefixes like this: fixed:N, capped:N, noop
    ///
    /// For tables whose prefix extractor is not recognised.
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<EnginePrefix>,

    /// Look up values of this column of a Parquet file: decimal numbers or text
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// Map the filter instead of reading all of it
    ///
    /// For native filters, verifies the checksums of the parts that lookups read. Truncating the file while
    /// it is mapped kills the command (SIGBUS).
    #[arg(long)]
    map: bool,

    /// Use a filter with inconsistent header fields, which may deny its own keys
    #[arg(long)]
    force: bool,

    /// Report which dialect was detected, and how
    #[arg(long)]
    explain: bool,

    /// Print the keys that are surely absent instead
    #[arg(short = 'v', long)]
    invert: bool,

    /// Print only how many keys were selected
    #[arg(short = 'c', long, conflicts_with = "quiet")]
    count: bool,

    /// Print nothing, stop at the first selected key: the exit status is the answer
    #[arg(short = 'q', long)]
    quiet: bool,

    /// Print 1 (maybe) or 0 (surely absent) for each key
    #[arg(long, conflicts_with_all = ["invert", "count", "quiet"])]
    answers: bool,
}

/// The operations of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Op {
    /// Look the key up
    Get,
    /// Seek to the first key >= KEY that shares its prefix
    Seek,
    /// Seek to the last key <= KEY that shares its prefix
    SeekBack,
}

impl From<Op> for Question {
    fn from(op: Op) -> Question {
        match op {
            Op::Get => Question::Get,
            Op::Seek => Question::Seek,
            Op::SeekBack => Question::SeekBack,
        }
    }
}

/// Answers all keys.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let place = Place::detect(&args.filter, args.read.dialect());
    let _quiet = super::QuietPanics::of(&place);
    let types = args.types.of(&place, args.keys.hex)?;
    if place.kind() == PlaceKind::Table {
        let table = table::open(&args.filter, args.prefix_extractor)?;
        let filter = table.filter()?;
        if args.explain {
            let path = args.filter.display();
            output::note(&format!("{path}: a table of LevelDB or RocksDB, by the magic number at its end"));
        }
        if filter.layout().is_none() {
            output::warning(&format!("{}: no filter: every key may be there", args.filter.display()));
        }
        let question = args.op.into();
        return answer_all(args, args.keys.format(), KeyForm::default(), |keys, answers| {
            for (key, answer) in keys.iter().zip(answers) {
                *answer = filter.may_match(question, key)?;
            }
            Ok(())
        });
    }
    #[cfg(feature = "parquet")]
    if place.kind() == PlaceKind::Parquet {
        return check_column(args, &types);
    }
    if args.column.is_some() {
        return Err(Failure::new("--column", "only Parquet files have columns"));
    }
    if args.op != Op::Get {
        return Err(Failure::new("--op", "only tables support seeks"));
    }
    let read = if args.map { FilterFile::map } else { FilterFile::load };
    let options = args.read.read()?.key_type(types.key_type.key_type());
    let file = read(&args.filter, &options)?;
    let opened = file.open()?;
    if args.explain {
        let (path, dialect) = (args.filter.display(), opened.filter.dialect());
        output::note(&format!("{path}: {dialect}, {}", file.recognised()));
    }
    if let Err(problem) = opened.require_sound(&args.filter) {
        match problem.code {
            Code::Doubtful if args.force => {}
            Code::Doubtful => {
                let hint = "its own keys may be reported absent; --force uses it anyway";
                return Err(Failure::from(problem).hint(hint));
            }
            _ => return Err(problem.into()),
        }
    }
    if !args.force
        && let Some(problem) = place.lookups_fail()
    {
        let hint = "its own keys may be reported absent; --force uses it anyway";
        return Err(Failure::from(problem).hint(hint));
    }
    if let Some(problem) = args.types.assumed(&place, args.keys.hex) {
        output::warning(&problem.to_string());
    }
    for problem in opened.problems.iter().filter(|problem| problem.severity > Severity::Note) {
        output::warning(&problem.to_string());
    }
    let format = types.apply(args.keys.format(), file.dialect())?;
    args.keys.require_field(&args.given, &args.filter, opened.filter.key_field())?;
    let form = opened.filter.key_form();
    if opened.native.is_some() && !form.has(args.keys.form()) {
        let (path, given) = (args.filter.display(), args.keys.form());
        output::warning(&format!("{path}: does not record that its keys are {given}; others are not found"));
    }
    answer_all(args, format, form, |keys, answers| {
        let damaged = |e| {
            let failure = Failure::new(args.filter.display(), format_args!("damaged: {e}"));
            failure.hint("its answers cannot be trusted; build it again from its keys")
        };
        opened.filter.verify_keys(keys).map_err(damaged)?;
        opened.filter.may_contain_batch_into(keys, answers).expect("a place for each key");
        Ok(())
    })
}

#[cfg(feature = "parquet")]
/// Looks up keys in the filters of a column, in all row groups.
fn check_column(args: &Args, types: &TypeArgs) -> Result<Status, Failure> {
    let column = Column::open(&args.filter, args.column.as_deref())?;
    if column.is_partial {
        let path = args.filter.display();
        output::warning(&format!(
            "{path}: a row group has no filter for this column: every key may be there"
        ));
    }
    let key_type = types.key_type.for_column(column.key_type, args.keys.hex);
    let format = TypeArgs { key_type }.apply(args.keys.format(), Name::Parquet)?;
    answer_all(args, format, KeyForm::default(), |keys, answers| {
        column.may_contain_batch(keys, answers);
        Ok(())
    })
}

/// Looks up all keys, in the form of the filter's own keys, and prints the requested answers.
fn answer_all(
    args: &Args,
    format: KeyFormat,
    form: KeyForm,
    ask: impl Fn(&[&[u8]], &mut [bool]) -> Result<(), Failure> + Sync,
) -> Result<Status, Failure> {
    let mut keys = args.given.keys(&args.keys.files, format)?;
    keys.apply_form(form);
    let mut out = Output::stdout();
    // Keys printed on the terminal would garble the bar.
    let progress =
        if out.is_terminal() { Progress::hidden() } else { Progress::new("checking", keys.total()) };

    let end = keys.format().end;
    let mut selected = 0;
    // A single thread does not wait for more input after the first selected key.
    let threads = if args.quiet { 1 } else { threads() };
    keys.in_order(
        &progress,
        threads,
        |batch, found: &mut Found| {
            let mut answers = [false; BATCH];
            let answers = &mut answers[..batch.keys.len()];
            ask(batch.keys, answers)?;
            found.selected += select(args.invert, answers);
            if args.answers {
                found.text.extend(answers.iter().flat_map(|answer| if *answer { *b"1\n" } else { *b"0\n" }));
            } else if !args.count && !args.quiet {
                for (record, _) in batch.records.iter().zip(answers).filter(|(_, selected)| **selected) {
                    output::append(&mut found.text, record, end);
                }
            }
            Ok(())
        },
        |found, _| {
            selected += std::mem::take(&mut found.selected);
            out.bytes(&found.text)?;
            found.text.clear();
            out.pause()?;
            Ok(if args.quiet && selected > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        },
    )?;
    drop(progress);
    if args.count {
        out.record(selected.to_string().as_bytes(), b'\n')?;
    }
    out.finish()?;
    Ok(Status::selected(selected > 0))
}

/// The results of one block.
#[derive(Debug, Default)]
struct Found {
    selected: u64,
    text: Vec<u8>,
}

/// Turns answers into marks of the selected keys; returns their number.
fn select(invert: bool, answers: &mut [bool]) -> u64 {
    let mut count = 0;
    for answer in answers {
        *answer ^= invert;
        count += u64::from(*answer);
    }
    count
}
