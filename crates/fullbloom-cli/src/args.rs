//! The command line: its commands, and the options that several of them share.

use crate::commands::{
    bench, build, change, check, completions, convert, dialects, inspect, keys, man, merge, plan, rebuild,
    table, unique, verify, which,
};
use crate::error::Failure;
use crate::input::{KeyFormat, KeyPart, Keys};
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use fullbloom::dialect::Name;
use fullbloom::typed::KeyForm;
use fullbloom_ops::{KeySpec, Place, Problem};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    Which(which::Args),
    Keys(keys::Args),
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

/// The heading of the options about keys.
const KEYS: &str = "Keys";

/// The key files and their format.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// Key files: plain, gzip, zstd, xz or bzip2; - or none: standard input
    #[arg(value_name = "KEYS")]
    pub files: Vec<PathBuf>,

    /// Each line is the hex of a key
    #[arg(long, help_heading = KEYS)]
    pub hex: bool,

    /// Keys end with a zero byte, in input and output
    #[arg(short = '0', long, help_heading = KEYS)]
    pub null: bool,

    /// Lines are keys of any bytes; without it, files that are not text are refused
    #[arg(long, help_heading = KEYS)]
    binary: bool,

    #[command(flatten)]
    part: PartArgs,
}

/// Keys on the command line.
#[derive(Debug, Args)]
pub struct GivenArgs {
    /// A key; may be given several times. Without KEYS, standard input is not read
    #[arg(
        short = 'e',
        long = "key",
        value_name = "KEY",
        conflicts_with = "files",
        allow_hyphen_values = true
    )]
    given: Vec<OsString>,
}

impl GivenArgs {
    /// The keys of `-e`, or else those of the files.
    pub fn keys(&self, files: &[PathBuf], format: KeyFormat) -> Result<Keys, Failure> {
        match (self.given.as_slice(), files) {
            ([], [file, ..]) if !file.exists() && file != Path::new("-") => Keys::new(files, format)
                .map_err(|failure| failure.hint("-e KEY takes a key; KEYS are files of keys")),
            ([], _) => Keys::new(files, format),
            (given, _) => Keys::given(given, format),
        }
    }
}

/// The files of a table's entries and their format.
#[derive(Debug, Args)]
pub struct EntryArgs {
    /// Files of entries: plain, gzip, zstd, xz, bzip2; - or none: standard input
    #[arg(value_name = "ENTRIES")]
    pub files: Vec<PathBuf>,

    /// Keys and values are in hex
    #[arg(long)]
    pub hex: bool,

    /// Entries end with a zero byte instead of a newline
    #[arg(short = '0', long)]
    pub null: bool,

    /// Lines have any bytes; without it, files that are not text are refused
    #[arg(long)]
    binary: bool,
}

impl EntryArgs {
    /// The format of the lines.
    pub fn format(&self) -> KeyFormat {
        KeyFormat { end: if self.null { 0 } else { b'\n' }, binary: self.binary, ..KeyFormat::LINES }
    }
}

/// The part of a line that is the key.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// The separator of the fields of a line [default: tab, or a comma with --csv]
    #[arg(short = 'd', long, value_name = "C", help_heading = KEYS, value_parser = delimiter, requires = "field")]
    delimiter: Option<u8>,

    /// The key is this field of the line, from 1
    #[arg(short = 'f', long, value_name = "N", help_heading = KEYS, value_parser = clap::value_parser!(u32).range(1..))]
    field: Option<u32>,

    /// Fields may be in quotes, "like ""this"""
    #[arg(long, help_heading = KEYS, requires = "field")]
    csv: bool,

    /// Convert keys to lower case; a native filter records it, and lookups do the same
    #[arg(long, help_heading = KEYS)]
    ignore_case: bool,

    /// Leave out white space around keys; a native filter records it, and lookups do the same
    #[arg(long, help_heading = KEYS)]
    trim: bool,

    /// Skip empty lines and lines that begin with #
    #[arg(long, help_heading = KEYS)]
    skip_comments: bool,

    /// Lines end with CR LF: the CR is not part of the key
    #[arg(long, help_heading = KEYS)]
    crlf: bool,
}

impl PartArgs {
    fn part(&self) -> KeyPart {
        let usual = if self.csv { b',' } else { b'\t' };
        KeyPart {
            field: self.field.map(|number| (self.delimiter.unwrap_or(usual), number as usize)),
            csv: self.csv,
            skip_comments: self.skip_comments,
            crlf: self.crlf,
        }
    }

    fn form(&self) -> KeyForm {
        KeyForm { trim: self.trim, ignore_case: self.ignore_case }
    }
}

/// One byte: a character of ASCII, or `\t`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("a delimiter is one character of ASCII; \\t is a tab".to_owned()),
    }
}

impl KeyArgs {
    /// The form that keys are brought into.
    pub fn form(&self) -> KeyForm {
        self.part.form()
    }

    /// The format of the keys.
    pub fn format(&self) -> KeyFormat {
        let end = if self.null { 0 } else { b'\n' };
        KeyFormat {
            end,
            hex: self.hex,
            binary: self.binary,
            typed: None,
            part: self.part.part(),
            form: self.form(),
        }
    }
}

/// The type of the keys.
#[derive(Debug, Args)]
pub struct TypeArgs {
    /// The type of the keys: bytes, text, int and others (see: fullbloom dialects)
    #[arg(long, value_name = "T", help_heading = KEYS, value_parser = key_type(), default_value = "bytes",
          conflicts_with = "hex")]
    pub key_type: KeySpec,
}

impl TypeArgs {
    /// The format of keys of this type in this dialect.
    pub fn apply(&self, format: KeyFormat, dialect: Name) -> Result<KeyFormat, Failure> {
        if self.key_type == KeySpec::BYTES {
            return Ok(format);
        }
        let known = self.key_type.require(dialect);
        known.map_err(|e| Failure::new(format_args!("--key-type {}", self.key_type), e))?;
        Ok(KeyFormat { typed: Some((self.key_type.clone(), dialect)), ..format })
    }
}

/// The type of keys that are looked up.
#[derive(Debug, Args)]
pub struct LookupTypeArgs {
    /// The type of the keys: bytes, text, int and others (see: fullbloom dialects) [default: for sstables the
    /// type that Statistics.db records, else bytes]
    #[arg(long, value_name = "T", help_heading = KEYS, value_parser = key_type(), conflicts_with = "hex")]
    pub key_type: Option<KeySpec>,
}

impl LookupTypeArgs {
    /// The type of keys that are looked up in this place.
    pub fn of(&self, place: &Place, hex: bool) -> Result<TypeArgs, Problem> {
        KeySpec::for_place(self.key_type.as_ref(), hex, place).map(|key_type| TypeArgs { key_type })
    }

    /// What to know if the type had to be assumed.
    pub fn assumed(&self, place: &Place, hex: bool) -> Option<Problem> {
        KeySpec::assumed(self.key_type.as_ref(), hex, place)
    }
}

/// Reads a key type. A composite key has any number of columns, so the types are not listed.
pub fn key_type() -> impl TypedValueParser<Value = KeySpec> {
    NonEmptyStringValueParser::new().try_map(|name| name.parse::<KeySpec>())
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

/// What matters more for a native filter.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Prefer {
    /// The fewest lines for a key: fast lookups
    Speed,
    /// The fewest bits for the rate
    Space,
}

impl From<Prefer> for fullbloom::native::Prefer {
    fn from(prefer: Prefer) -> Self {
        match prefer {
            Prefer::Speed => fullbloom::native::Prefer::Speed,
            Prefer::Space => fullbloom::native::Prefer::Space,
        }
    }
}
