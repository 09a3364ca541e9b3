//! The command line: its commands, and the options that several of them share.

use crate::commands::{
    bench, build, change, check, completions, convert, dialects, inspect, man, merge, plan, rebuild, table,
    unique, verify,
};
use crate::error::Failure;
use crate::input::KeyFormat;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use fullbloom::dialect::Name;
use fullbloom::typed::KeyType;
use std::path::PathBuf;

/// Bloom filters of storage engines, bit for bit: plan, build, check and inspect them
///
/// Keys are bytes, one per line; the answer to a lookup is "maybe" or "surely not". The exit status is like
/// that of grep: 0 if a key was selected or all is well, 1 if no key was selected or a problem was found, 2
/// on errors.
#[derive(Debug, Parser)]
#[command(name = "fullbloom", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  fullbloom plan --expected-keys 1M --fpr 1%
  fullbloom build keys.txt -o keys.bloom
  fullbloom check keys.bloom < lookups.txt
  fullbloom unique --state seen.bloom < keys.txt
  fullbloom inspect keys.bloom
  fullbloom inspect data/ks/table-*/
  fullbloom verify db/*.sst";

/// The commands. The arguments of each one carry its help text.
#[derive(Debug, Subcommand)]
pub enum Command {
    Plan(plan::Args),
    Build(build::Args),
    Check(check::Args),
    Unique(unique::Args),
    Insert(change::InsertArgs),
    Remove(change::RemoveArgs),
    Inspect(inspect::Args),
    Verify(verify::Args),
    Rebuild(rebuild::Args),
    Merge(merge::Args),
    Convert(convert::Args),
    Dialects(dialects::Args),
    Bench(bench::Args),
    Table(table::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The key files and their format.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Key files: plain, gzip or zstd. Without one, or with -, keys come from standard input
    #[arg(value_name = "KEYS")]
    pub files: Vec<PathBuf>,

    /// Each line is the hex of a key
    #[arg(long)]
    pub hex: bool,

    /// Keys end with a zero byte instead of a newline, in input and output
    #[arg(short = '0', long)]
    pub null: bool,
}

impl KeyArgs {
    /// The format of the keys.
    pub fn format(&self) -> KeyFormat {
        KeyFormat { end: if self.null { 0 } else { b'\n' }, hex: self.hex, typed: None }
    }
}

/// The type of the keys.
#[derive(Debug, Args)]
pub struct TypeArgs {
    /// The type of the keys: bytes, text (UTF-8), utf16, int, long, float or double; the dialect's system
    /// decides how such values are hashed
    #[arg(long, value_name = "T", value_parser = key_type(), hide_possible_values = true, default_value = "bytes",
          conflicts_with = "hex")]
    pub key_type: KeyType,
}

impl TypeArgs {
    /// The format of keys of this type in this dialect.
    pub fn apply(&self, format: KeyFormat, dialect: Name) -> Result<KeyFormat, Failure> {
        if self.key_type == KeyType::Bytes {
            return Ok(format);
        }
        let known = self.key_type.require(dialect);
        known.map_err(|e| Failure::new(format_args!("--key-type {}", self.key_type), e))?;
        Ok(KeyFormat { typed: Some((self.key_type, dialect)), ..format })
    }
}

/// Reads a key type. Completions list them with their meaning; help only with their names, to stay short.
fn key_type() -> impl TypedValueParser<Value = KeyType> {
    let about = |known: KeyType| match known {
        KeyType::Bytes => "bytes as they are",
        KeyType::Text => "text in UTF-8",
        KeyType::Utf16 => "text, hashed as UTF-16 (Guava's unencodedCharsFunnel)",
        KeyType::Int => "32-bit integers in decimal",
        KeyType::Long => "64-bit integers in decimal",
        KeyType::Float => "32-bit floating-point numbers",
        _ => "64-bit floating-point numbers",
    };
    let listed = KeyType::ALL.iter().map(|known| PossibleValue::new(known.as_str()).help(about(*known)));
    PossibleValuesParser::new(listed.collect::<Vec<_>>()).try_map(|name| name.parse::<KeyType>())
}

/// Reads the name of a dialect. Completions list the names; help refers to `fullbloom dialects`.
pub fn dialect() -> impl TypedValueParser<Value = Name> {
    PossibleValuesParser::new(listed()).try_map(|name| name.parse::<Name>())
}

/// The dialects that an option selects.
#[derive(Debug, Clone, Copy)]
pub enum Dialects {
    /// All of them.
    All,
    /// One dialect.
    One(Name),
}

impl Dialects {
    /// Their names.
    pub fn names(&self) -> &[Name] {
        match self {
            Dialects::All => Name::ALL,
            Dialects::One(name) => std::slice::from_ref(name),
        }
    }
}

/// Reads the name of a dialect, or `all`.
pub fn dialects() -> impl TypedValueParser<Value = Dialects> {
    let all = PossibleValue::new("all").help("every dialect");
    PossibleValuesParser::new(listed().chain([all])).try_map(|name| match name.as_str() {
        "all" => Ok(Dialects::All),
        name => name.parse::<Name>().map(Dialects::One),
    })
}

fn listed() -> impl Iterator<Item = PossibleValue> {
    Name::ALL.iter().map(|name| PossibleValue::new(name.as_str()).help(name.about()))
}
