//! What a command reads: keys in all their formats, and native filters that it changes.
//!
//! ```text
//!   source (file, pipe; gzip, zstd) ─► blocks of whole records ─► batches of keys
//! ```

mod batches;
mod blocks;
mod ends;
#[cfg(fuzzing)]
pub mod fuzz;
mod hashes;
mod hex;
mod ordered;
mod source;
mod stored;

pub use batches::BATCH;
use batches::Batch;
pub use hashes::{HashSpool, Records};
pub use hex::decode as decode_hex;
pub use ordered::threads;
pub use stored::load_stored;

use crate::error::Failure;
use crate::output;
use crate::progress::Progress;
use batches::Splitter;
use blocks::{Block, Blocks};
use fullbloom::dialect::Name;
use fullbloom::typed::KeyType;
use source::{Label, Source};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The format of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFormat {
    /// The byte that ends a record: a newline, or zero.
    pub end: u8,
    /// Each record is the hex of a key.
    pub hex: bool,
    /// Each record is a value of this type, and the key is the bytes that this dialect hashes for it.
    pub typed: Option<(KeyType, Name)>,
}

/// All keys given to a command.
#[derive(Debug)]
pub struct Keys {
    sources: Vec<Source>,
    format: KeyFormat,
    /// The line ends have been checked, or need no check.
    line_ends_checked: bool,
}

impl Keys {
    /// The keys of these files, in order; `-` is standard input, and so is no file at all.
    pub fn new(files: &[PathBuf], format: KeyFormat) -> Result<Keys, Failure> {
        let files = if files.is_empty() { &[PathBuf::from("-")] } else { files };
        let sources = files.iter().map(|file| Source::new(file)).collect::<Result<_, _>>()?;
        Ok(Keys { sources, format, line_ends_checked: format.hex || format.end != b'\n' })
    }

    /// Their format.
    pub fn format(&self) -> KeyFormat {
        self.format
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
        let end = self.format.end;
        let mut keys = 0;
        let mut block = Block::default();
        for source in &mut self.sources {
            let name = source.name();
            let mut spool = source.spool();
            let mut blocks = Blocks::new(source.open(progress)?, end);
            while blocks.next(&mut block).map_err(|e| name.failed(&e))? {
                keys += count_records(block.bytes(), end);
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
            let name = source.name();
            let mut blocks = Blocks::new(source.open(progress)?, self.format.end);
            let mut splitter = Splitter::new(self.format);
            while blocks.next(&mut block).map_err(|e| name.failed(&e))? {
                warn_of_carriage_returns(&mut self.line_ends_checked, &name, block.bytes());
                match splitter.split(block.bytes(), &mut each).map_err(|e| e.in_source(&name))? {
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

/// Warns once of Windows line ends, which are easily overlooked: the carriage return is part of each key.
fn warn_of_carriage_returns(checked: &mut bool, name: &Label, block: &[u8]) {
    if *checked {
        return;
    }
    *checked = true; // only the first block is checked
    let mut lines = block.split_inclusive(|byte| *byte == b'\n').take(FIRST_LINES).peekable();
    if lines.peek().is_some() && lines.all(|line| line.ends_with(b"\r\n") || line.ends_with(b"\r")) {
        output::warning(&format!(
            "{name}: lines end with a carriage return, which counts as part of each key"
        ));
        output::hint("tr -d '\\r' removes them");
    }
}

/// Records in a block; the last one may lack its end.
fn count_records(block: &[u8], end: u8) -> u64 {
    let ended = memchr::memchr_iter(end, block).count() as u64;
    ended + u64::from(block.last().is_some_and(|last| *last != end))
}
