//! `fullbloom keys PATH…`: prints the keys of sstables, tables and Parquet columns.

use crate::error::{Failure, Status};
use crate::output::{self, Output};
use crate::text;
use fullbloom_ops::{self as ops, KeysOptions, Place, keys};
use fullbloom_table::EnginePrefix;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Print the keys of sstables, tables, databases and Parquet columns
///
/// One key per line, in the order of the file. A database lists its tables one by one, then its logs, deleted
/// keys included: --live leaves these out.
///
/// Partition keys of Cassandra are written in the types that Statistics.db records, as check --key-type reads
/// them; a key that is not of its type is written in hex after 0x. Keys of tables are printed as they are:
/// use --hex or --null if they may hold newlines. The logs of a database are those that are in no table yet.
/// Exit status: 0 if keys were printed, 1 if no key was found or the file could not be read to its end, 2 on
/// errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom keys nb-1-big-Filter.db
  fullbloom keys --hex 000123.sst
  fullbloom keys --live db/ > keys.txt
  fullbloom keys people.parquet --column id
  fullbloom keys --hex old/000123.sst | fullbloom check --hex -v new/000123.sst")]
pub struct Args {
    /// Tables, components of sstables, directories of them, and Parquet files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Write keys in hex
    #[arg(long)]
    hex: bool,

    /// End keys with a zero byte instead of a newline
    #[arg(short = '0', long)]
    null: bool,

    /// Print only keys of a database that are alive, each once
    #[arg(long)]
    live: bool,

    /// Print this column of Parquet files
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
}

/// Prints the keys of each path.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let options = KeysOptions {
        column: args.column.clone(),
        snapshots: args.snapshots,
        prefix_extractor: args.prefix_extractor,
        live: args.live,
    };
    let mut out = Output::stdout();
    let end = if args.null { 0 } else { b'\n' };
    let (mut count, mut status, mut failure, mut ambiguous) = (0, ops::Status::Well, None, 0);
    let mut line = Vec::new();
    for path in &args.paths {
        let place = Place::detect(path, None);
        let _quiet = super::QuietPanics::of(&place);
        let found = keys(&place, &options, &mut |key, written| {
            line.clear();
            match args.hex {
                true => line.extend_from_slice(text::hex(key).as_bytes()),
                false => written.write(key, &mut line),
            }
            ambiguous += u64::from(line.contains(&end));
            match out.record(&line, end) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    failure = Some(e);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        match found {
            Ok(found) => {
                count += found.keys;
                status = status.max(found.status);
                found.problems.iter().for_each(output::problem_or_warning);
            }
            Err(problem) => {
                output::problem(&problem);
                status = ops::Status::Failed;
            }
        }
    }
    out.finish()?;
    if ambiguous > 0 {
        output::warning(&format!("{} the byte that ends a key", contain(ambiguous)));
        output::hint("--hex writes keys in hex, --null ends them with a zero byte");
    }
    if count == 0 {
        status = status.max(ops::Status::NotWell);
    }
    Ok(status.into())
}

fn contain(keys: u64) -> String {
    format!("{} contain{}", text::counted(keys, "key"), if keys == 1 { "s" } else { "" })
}
