//! The command line: its commands, and the options that several of them share.

use crate::commands::{
    bench, build, change, check, completions, convert, dialects, explain, inspect, keys, man, merge, plan,
    rebuild, report, table, unique, verify, which,
};
use crate::error::Failure;
use crate::input::{Column, KeyFormat, KeyPart, Keys};
use crate::output;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use fullbloom_core::typed::{KeyField, KeyForm};
use fullbloom_dialects::Name;
use fullbloom_ops::{KeySpec, Place, Problem};
use std::ffi::OsString;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};

/// Bloom filters of storage engines, bit for bit: plan, build, check and inspect them
///
/// A filter holds a set of keys in about ten bits each, and answers "maybe" or "surely not". Keys are bytes, one
/// per line; `fullbloom explain` explains the words: dialect, probe, fill, rate and others. Exit status, as with
/// grep: 0 if a key was selected, something was done, or all is well; 1 if no key was selected, nothing could be
/// done, or a problem was found; 2 on errors.
#[derive(Debug, Parser)]
#[command(name = "fullbloom", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  fullbloom build keys.txt -o keys.bloom
  fullbloom check keys.bloom < lookups.txt
  fullbloom inspect data/ks/table-*/";

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
    Report(report::Args),
    Merge(merge::Args),
    Convert(convert::Args),
    Dialects(dialects::Args),
    Explain(explain::Args),
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
    /// Files of keys, one per line, plain or compressed; - or none: standard input
    #[arg(value_name = "KEYS")]
    pub files: Vec<PathBuf>,

    /// Read each line as the hex of a key
    #[arg(long, help_heading = KEYS)]
    pub hex: bool,

    /// End keys with a zero byte, in input and output
    #[arg(short = '0', long, help_heading = KEYS)]
    pub null: bool,

    /// Accept lines of any bytes; without it, files that are not text are refused
    #[arg(long, help_heading = KEYS)]
    binary: bool,

    #[command(flatten)]
    pub part: PartArgs,
}

/// Keys on the command line.
#[derive(Debug, Args)]
pub struct GivenArgs {
    /// Use this key; may be given several times
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
    /// Files of entries, plain or compressed; - or none: standard input
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
    /// Separate the fields of a line by this character [default: tab, or a comma with --csv]
    #[arg(short = 'd', long, value_name = "C", help_heading = KEYS, value_parser = delimiter, requires = "field")]
    delimiter: Option<u8>,

    /// Take this field of the line as the key: its number, from 1 (0: the whole line), or its name in the header line
    ///
    /// A name is looked up in the first line, which then has no key. A native filter records the field's number, and
    /// commands that read lines for it then need -f.
    #[arg(short = 'f', long, value_name = "N|NAME", help_heading = KEYS, value_parser = field)]
    field: Option<Field>,

    /// Read fields in quotes, "like ""this"""
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

    /// Leave out the CR of lines that end with CR LF
    #[arg(long, help_heading = KEYS)]
    crlf: bool,
}

/// Which field of a line is the key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    /// By its number, from 1; 0 is the whole line.
    Number(u32),
    /// By its name in the header line.
    Name(String),
}

/// Digits are a number, and anything else is a name.
fn field(text: &str) -> Result<Field, ParseIntError> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        true => text.parse().map(Field::Number),
        false => Ok(Field::Name(text.to_owned())),
    }
}

impl PartArgs {
    /// Lines of which this part is the key.
    pub fn format(&self) -> KeyFormat {
        let delimiter = self.delimiter.unwrap_or(usual_delimiter(self.csv));
        let (field, column) = match &self.field {
            None => (None, None),
            Some(Field::Number(number)) => (KeyField::new(*number, delimiter, self.csv), None),
            Some(Field::Name(name)) => {
                (None, Some(Column { name: name.clone(), delimiter, quoted: self.csv }))
            }
        };
        let part = KeyPart { field, skip_comments: self.skip_comments, crlf: self.crlf };
        KeyFormat { part, column, form: self.form(), ..KeyFormat::LINES }
    }

    /// Refuses lines if the keys of the filter were a field of lines, and no option says which part of these
    /// lines is the key: whole lines would be reported absent, although their keys may be in the filter.
    /// Warns of quotes that are left out here and were part of the keys there.
    pub fn require_field(&self, filter: &Path, recorded: Option<KeyField>) -> Result<(), Failure> {
        let Some(recorded) = recorded else { return Ok(()) };
        let csv = if recorded.is_quoted() { " --csv" } else { "" };
        if let Some(field) = &self.field {
            // Quotes that are kept by mistake are warned of when lines have them.
            if self.csv && *field != Field::Number(0) && !recorded.is_quoted() {
                let filter = filter.display();
                output::warning(&format!(
                    "{filter}: built from {recorded}; with --csv, quoted fields are other keys"
                ));
            }
            return Ok(());
        }
        let why = format!("built from {recorded}: say which part of these lines is the key");
        let delimiter = match recorded.delimiter() {
            usual if usual == usual_delimiter(recorded.is_quoted()) => String::new(),
            b'\'' => " -d \"'\"".to_owned(),
            printable @ b' '..=b'~' => format!(" -d '{}'", char::from(printable)),
            other => format!(" -d $'\\x{other:02x}'"),
        };
        let hint =
            format!("-f {}{delimiter}{csv} takes the same field, -f 0 the whole line", recorded.number());
        Err(Failure::new(filter.display(), why).hint(hint))
    }

    /// The form that keys are brought into.
    pub fn form(&self) -> KeyForm {
        KeyForm { trim: self.trim, ignore_case: self.ignore_case }
    }
}

/// The separator of fields if none is given.
fn usual_delimiter(csv: bool) -> u8 {
    if csv { b',' } else { b'\t' }
}

/// One byte: a character of ASCII, or `\t`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\n" => Err("a newline ends the line".to_owned()),
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

    /// Refuses lines of which nothing says which part is the key; see [`PartArgs::require_field`]. Keys of
    /// `-e` are no lines.
    pub fn require_field(
        &self,
        given: &GivenArgs,
        filter: &Path,
        recorded: Option<KeyField>,
    ) -> Result<(), Failure> {
        if given.given.is_empty() { self.part.require_field(filter, recorded) } else { Ok(()) }
    }

    /// The format of the keys.
    pub fn format(&self) -> KeyFormat {
        let end = if self.null { 0 } else { b'\n' };
        KeyFormat { end, hex: self.hex, binary: self.binary, ..self.part.format() }
    }
}

/// The type of the keys.
#[derive(Debug, Args)]
pub struct TypeArgs {
    /// Read keys as this type: bytes, text, int and others (see: fullbloom dialects)
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
    /// Read keys as this type (see: fullbloom dialects) [default: for sstables the type that Statistics.db
    /// records, else bytes]
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

impl From<Prefer> for fullbloom::sizing::Prefer {
    fn from(prefer: Prefer) -> Self {
        match prefer {
            Prefer::Speed => fullbloom::sizing::Prefer::Speed,
            Prefer::Space => fullbloom::sizing::Prefer::Space,
        }
    }
}
