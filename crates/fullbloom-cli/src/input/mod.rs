//! What a command reads: keys in all their formats, and native filters that it changes.
//!
//! ```text
//!   source (file, pipe; gzip, zstd, xz, bzip2) ─► blocks of whole records ─► batches of keys
//! ```

mod batches;
mod blocks;
mod content;
mod ends;
#[cfg(fuzzing)]
pub mod fuzz;
mod hashes;
mod ordered;
mod part;
mod source;

pub use batches::BATCH;
use batches::Batch;
pub use hashes::{HashSpool, Records};
pub use ordered::threads;
pub use part::{Column, KeyPart};

use crate::error::Failure;
use crate::output;
use crate::progress::Progress;
use batches::Splitter;
use blocks::{Block, Blocks};
use content::Expected;
use fullbloom_core::typed::{KeyField, KeyForm};
use fullbloom_dialects::Name;
use fullbloom_ops::KeySpec;
use source::{Label, Source};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The format of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFormat {
    /// The byte that ends a record: a newline, or zero.
    pub end: u8,
    /// Each record is the hex of a key.
    pub hex: bool,
    /// Lines may have any bytes, not only text.
    pub binary: bool,
    /// Each record is a value of this type, and the key is the bytes that this dialect hashes for it.
    pub typed: Option<(KeySpec, Name)>,
    /// The part of a record that is its key.
    pub part: KeyPart,
    /// The key is the field of this column. Each source then begins with a header line.
    pub column: Option<Column>,
    /// The form that keys are brought into.
    pub form: KeyForm,
}

impl KeyFormat {
    /// Records that are their keys.
    pub const LINES: KeyFormat = KeyFormat {
        end: b'\n',
        hex: false,
        binary: false,
        typed: None,
        part: WHOLE,
        column: None,
        form: AS_GIVEN,
    };

    /// What a file of such records may contain.
    fn expected(&self) -> Expected {
        match self.end {
            b'\n' if self.hex => Expected::Lines,
            b'\n' if !self.binary => Expected::Text,
            _ => Expected::Anything,
        }
    }
}

/// The whole record is the key.
const WHOLE: KeyPart = KeyPart { field: None, skip_comments: false, crlf: false };

/// Keys stay as they are.
const AS_GIVEN: KeyForm = KeyForm { trim: false, ignore_case: false };

/// All keys given to a command.
#[derive(Debug)]
pub struct Keys {
    sources: Vec<Source>,
    format: KeyFormat,
    /// The first lines have been looked at, or need not be.
    lines_checked: bool,
}

impl Keys {
    /// The keys of these files, in order; `-` is standard input, and so is no file at all.
    pub fn new(files: &[PathBuf], format: KeyFormat) -> Result<Keys, Failure> {
        let files = if files.is_empty() { &[PathBuf::from("-")] } else { files };
        let mut sources: Vec<_> = files.iter().map(|file| Source::new(file)).collect::<Result<_, _>>()?;
        if let Some(column) = &format.column {
            sources.iter_mut().try_for_each(|source| source.read_header(column, &format))?;
        }
        let lines_checked = format.expected() != Expected::Text;
        Ok(Keys { sources, format, lines_checked })
    }

    /// Keys that were given on the command line.
    pub fn given(keys: &[OsString], format: KeyFormat) -> Result<Keys, Failure> {
        if format.column.is_some() {
            let failure = Failure::new("-e", "keys of the command line have no header line");
            return Err(failure.hint("-f N takes a field by its number"));
        }
        let mut bytes = Vec::new();
        for key in keys {
            let key = key.as_encoded_bytes();
            if key.contains(&format.end) {
                let failure = Failure::new("-e", "the key has the byte that ends keys");
                return Err(failure.hint("--null ends keys with a zero byte; --hex takes them in hex"));
            }
            bytes.extend_from_slice(key);
            bytes.push(format.end);
        }
        Ok(Keys { sources: vec![Source::given(&bytes)?], format, lines_checked: true })
    }

    /// From now on, brings keys into this form, too: that of the filter's own keys.
    pub fn apply_form(&mut self, recorded: KeyForm) {
        self.format.form = self.format.form.and(recorded);
    }

    /// Their format.
    pub fn format(&self) -> &KeyFormat {
        &self.format
    }

    /// The field of each line that is the key; that of the first source, if header lines name the column. A filter
    /// that records it refuses whole lines, whatever the field's number is in other sources.
    pub fn key_field(&self) -> Option<KeyField> {
        let header = self.sources.first().and_then(Source::header);
        header.map(|header| header.field).or(self.format.part.field)
    }

    /// Warns if keys that are a field of lines go into a filter that does not record it: the lines themselves
    /// are then reported absent.
    pub fn warn_unrecorded(&self, filter: &Path, recorded: Option<KeyField>) {
        if let (Some(given), None) = (self.key_field(), recorded) {
            let filter = filter.display();
            output::warning(&format!(
                "{filter}: does not record that keys are {given}; lines without -f are not found"
            ));
        }
    }

    /// Whether one of the files is `path`.
    pub fn include(&self, path: &Path) -> bool {
        self.sources.iter().any(|source| source.is(path))
    }

    /// Whether one of them is standard input.
    pub fn use_stdin(&self) -> bool {
        self.sources.iter().any(|source| matches!(source.name(), Label::Stdin))
    }

    /// The bytes to read, if known.
    pub fn total(&self) -> Option<u64> {
        self.sources.iter().map(Source::len).sum()
    }

    /// Whether all of them can be read twice cheaply: regular files that are not compressed.
    pub fn are_plain_files(&self) -> bool {
        self.sources.iter().all(Source::is_plain_file)
    }

    /// Counts the keys. A stream that cannot be read twice is kept: up to 64 MiB in memory, the rest in a
    /// temporary file without a name, which disappears with the process.
    pub fn count(&mut self, progress: &Progress) -> Result<u64, Failure> {
        let (end, expected) = (self.format.end, self.format.expected());
        let mut keys = 0;
        let mut block = Block::default();
        for source in &mut self.sources {
            let name = source.name();
            let mut spool = source.spool();
            let mut blocks = Blocks::new(source.open(progress, expected)?, end);
            while blocks.next(&mut block).map_err(|e| name.failed(&e))? {
                keys += count_keys(block.bytes(), &self.format);
                if let Some(spool) = &mut spool {
                    spool.write(block.bytes())?;
                }
            }
            drop(blocks);
            if let Some(spool) = spool {
                source.keep(spool);
            }
        }
        Ok(keys)
    }

    /// Hands out all keys in batches, until there are no more or `each` breaks off.
    pub fn for_each_batch(
        &mut self,
        progress: &Progress,
        mut each: impl FnMut(&Batch<'_>) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        let mut block = Block::default();
        for source in &mut self.sources {
            let (name, header) = (source.name(), source.header());
            let mut blocks = Blocks::new(source.open(progress, self.format.expected())?, self.format.end);
            let mut format = self.format.clone();
            format.part.field = header.map_or(format.part.field, |header| Some(header.field));
            let mut splitter = Splitter::new(format.clone());
            while blocks.next(&mut block).map_err(|e| name.failed(&e))? {
                warn_of_lines(&mut self.lines_checked, &name, block.bytes(), &format);
                match splitter.split(block.bytes(), &mut each).map_err(|e| e.in_source(&name, header))? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(()) => return Ok(()),
                }
            }
        }
        Ok(())
    }
}

/// Lines examined to detect the line ends.
const FIRST_LINES: usize = 8;

/// Warns once of lines that are probably not what they seem: the first block is looked at.
fn warn_of_lines(checked: &mut bool, name: &Label, block: &[u8], format: &KeyFormat) {
    if *checked {
        return;
    }
    *checked = true;
    if memchr::memchr(0, block).is_some() {
        output::warning(&format!(
            "{name}: zero bytes in lines: is this text? They count as part of the keys"
        ));
        output::hint("--null takes keys that end with a zero byte; iconv converts text in UTF-16");
    } else if std::str::from_utf8(block).is_err() {
        output::warning(&format!("{name}: not UTF-8: keys are compared byte by byte, in whatever encoding"));
    }
    if !format.part.crlf {
        warn_of_carriage_returns(name, block);
    }
    let whole = block.strip_suffix(b"\n").unwrap_or(block);
    if whole.split(|byte| *byte == b'\n').take(FIRST_LINES).any(|line| format.part.keeps_quotes(line)) {
        output::warning(&format!("{name}: a field is in quotes, which count as part of the key"));
        output::hint("--csv reads quoted fields");
    }
}

/// Windows line ends are easily overlooked: the carriage return is part of each key.
fn warn_of_carriage_returns(name: &Label, block: &[u8]) {
    let mut lines = block.split_inclusive(|byte| *byte == b'\n').take(FIRST_LINES).peekable();
    if lines.peek().is_some() && lines.all(|line| line.ends_with(b"\r\n") || line.ends_with(b"\r")) {
        output::warning(&format!(
            "{name}: lines end with a carriage return, which counts as part of each key"
        ));
        output::hint("--crlf leaves it out");
    }
}

/// Records in a block that have a key.
fn count_keys(block: &[u8], format: &KeyFormat) -> u64 {
    if !format.part.skip_comments {
        return count_records(block, format.end);
    }
    let whole = block.strip_suffix(&[format.end]).unwrap_or(block);
    let records = whole.split(|byte| *byte == format.end);
    if block.is_empty() { 0 } else { records.filter(|record| !format.part.skips(record)).count() as u64 }
}

/// Records in a block; the last one may lack its end.
fn count_records(block: &[u8], end: u8) -> u64 {
    let ended = memchr::memchr_iter(end, block).count() as u64;
    ended + u64::from(block.last().is_some_and(|last| *last != end))
}
