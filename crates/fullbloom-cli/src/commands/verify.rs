//! `fullbloom verify TABLE…`: is a table's filter what its keys ask for?

use crate::error::{Failure, Status};
use crate::input::open_table;
use crate::numbers;
use crate::output::Output;
use crate::text;
use fullbloom_table::filter::build::Rules;
use fullbloom_table::{PrefixExtractor, Rebuilt, Verification};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Verify tables: every key found by its filter, the rate measured, the filter's bytes made again
///
/// Reads all of each table of LevelDB or RocksDB, checksums included. Exit status: 0 if all is well, 1 if a key is
/// missing or a filter is not the one its keys give, 2 if a file could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fullbloom verify 000123.sst
  fullbloom verify --json db/*.sst")]
pub struct Args {
    /// Tables
    #[arg(required = true, value_name = "TABLE")]
    files: Vec<PathBuf>,

    /// How many absent keys to make up for measuring the rate
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "100000")]
    absent: u64,

    /// The prefix extractor of tables whose own is not known by name: fixed:N, capped:N or noop
    #[arg(long, value_name = "E")]
    prefix_extractor: Option<PrefixExtractor>,

    /// One JSON object: {"files": […], "errors": […]}
    #[arg(long)]
    json: bool,
}

/// Verifies each file.
pub fn run(args: &Args) -> Result<Status, Failure> {
    let mut out = Output::stdout()?;
    let mut files = Vec::new();
    let mut errors = Vec::new();
    let mut well = true;
    for path in &args.files {
        match verify(path, args) {
            Ok(found) => {
                well &= found.is_sound();
                if args.json {
                    files.push(as_json(path, &found));
                } else {
                    out.bytes(as_text(path, &found).as_bytes())?;
                    out.pause()?;
                }
            }
            Err(failure) => {
                failure.report();
                errors.push(json!({ "path": path.display().to_string(), "error": failure.to_string() }));
            }
        }
    }
    if args.json {
        out.json(&json!({ "files": files, "errors": errors }))?;
    }
    out.finish()?;
    Ok(if errors.is_empty() { Status::selected(well) } else { Status::Failed })
}

fn verify(path: &Path, args: &Args) -> Result<Verification, Failure> {
    match open_table(path, None, args.prefix_extractor)? {
        Some(table) => Ok(table.verify(args.absent)?),
        // What cannot be opened at all is told by opening it.
        None => {
            fullbloom::file::Mapped::open(path)?;
            Err(Failure::new(path.display(), "not a table of LevelDB or RocksDB"))
        }
    }
}

fn as_json(path: &Path, found: &Verification) -> Value {
    let (bits_per_key, rules) = match found.rebuilt {
        Rebuilt::Identical { bits_per_key, rules } => (json!(bits_per_key), json!(rules_name(rules))),
        Rebuilt::IdenticalInLength { rules } => (Value::Null, json!(rules_name(rules))),
        Rebuilt::Nothing | Rebuilt::Differs => (Value::Null, Value::Null),
    };
    json!({
        "path": path.display().to_string(),
        "keys": found.keys,
        "missing": found.missing,
        "missing_in_seek": found.missing_in_seek,
        "missing_in_seek_back": found.missing_in_seek_back,
        "absent_asked": found.absent_asked,
        "absent_passed": found.absent_passed,
        "measured_fpr": found.measured_fpr(),
        "rebuilt_identical": found.rebuilt.is_identical(),
        "rebuilt_bits_per_key": bits_per_key,
        "rebuilt_rules": rules,
    })
}

fn rules_name(rules: Rules) -> &'static str {
    match rules {
        Rules::Since9_6 => "RocksDB 9.6 and later",
        Rules::Of9_5 => "RocksDB 9.5",
        Rules::UpTo9_4 => "RocksDB up to 9.4",
    }
}

fn as_text(path: &Path, found: &Verification) -> String {
    let mut text = format!("{}\n", text::printable(&path.display().to_string()));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<15} {value}"); // a String takes everything
    };
    line("keys", found.keys.to_string());
    line("missing", found.missing.to_string());
    if found.missing_in_seek + found.missing_in_seek_back > 0 {
        line(
            "missing in seek",
            format!("{} forward, {} backward", found.missing_in_seek, found.missing_in_seek_back),
        );
    }
    if let Some(key) = &found.first_missing {
        line(
            "first missing",
            format!("{} (hex)", key.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        );
    }
    match found.measured_fpr() {
        Some(fpr) => {
            line("measured rate", format!("{} of {} absent keys", text::rate(fpr), found.absent_asked));
        }
        None => line("measured rate", "no absent keys to ask for".to_owned()),
    }
    let rebuilt = match found.rebuilt {
        Rebuilt::Nothing => "nothing to build".to_owned(),
        Rebuilt::Identical { bits_per_key, .. } => {
            format!("identical, with {} bits per key", text::decimal(bits_per_key, 2))
        }
        Rebuilt::IdenticalInLength { .. } => "identical, in the length the allocator chose".to_owned(),
        Rebuilt::Differs => "DIFFERS: damaged, or not made from these keys".to_owned(),
    };
    line("rebuilt", rebuilt);
    text
}
