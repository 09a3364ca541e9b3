//! What a command reads: keys, in any of the ways they come, and filter files.
//!
//! ```text
//!   source (file, pipe; gzip, zstd) ─► blocks of whole records ─► batches of keys
//! ```

mod batches;
mod blocks;
mod filter;
mod hex;
mod source;

pub use batches::{BATCH, Batch};
pub use filter::{FilterFile, name_contradicts};

use crate::error::Failure;
use crate::progress::Progress;
use batches::Splitter;
use blocks::Blocks;
use source::Source;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFormat {
    /// The byte that ends a record: a newline, or zero.
    pub end: u8,
    /// Each record is the hex of a key.
    pub hex: bool,
}

/// All the keys a command is given.
#[derive(Debug)]
pub struct Keys {
    sources: Vec<Source>,
    format: KeyFormat,
}

impl Keys {
    /// The keys of these files, in order; `-` is standard input, and so is no file at all.
    pub fn new(files: &[PathBuf], format: KeyFormat) -> Result<Keys, Failure> {
        let files = if files.is_empty() { &[PathBuf::from("-")] } else { files };
        let sources = files.iter().map(|file| Source::new(file)).collect::<Result<_, _>>()?;
        Ok(Keys { sources, format })
    }

    /// How they are written.
    pub fn format(&self) -> KeyFormat {
        self.format
    }

    /// Whether one of the files is `path`.
    pub fn include(&self, path: &Path) -> bool {
        self.sources.iter().any(|source| source.is(path))
    }

    /// Bytes there are to read, as far as it is known.
    pub fn total(&self) -> Option<u64> {
        self.sources.iter().map(Source::len).sum()
    }

    /// Counts the keys. What cannot be read twice is kept: up to 64 MiB in memory, more in a temporary file
    /// that has no name and so goes with the process, however it ends.
    pub fn count(&mut self, progress: &Progress) -> Result<u64, Failure> {
        let end = self.format.end;
        let mut keys = 0;
        for source in &mut self.sources {
            let name = source.name();
            let mut spool = source.spool();
            let mut blocks = Blocks::new(source.open(progress)?, end);
            while let Some(block) = blocks.next().map_err(|e| name.failed(&e))? {
                keys += count_records(block, end);
                if let Some(spool) = &mut spool {
                    spool.write(block)?;
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
        for source in &mut self.sources {
            let name = source.name();
            let mut blocks = Blocks::new(source.open(progress)?, self.format.end);
            let mut splitter = Splitter::new(self.format);
            while let Some(block) = blocks.next().map_err(|e| name.failed(&e))? {
                match splitter.split(block, &mut each).map_err(|e| e.in_source(&name))? {
                    ControlFlow::Continue(()) => {}
                    ControlFlow::Break(()) => return Ok(()),
                }
            }
        }
        Ok(())
    }
}

/// Records in a block; the last one may lack its end.
fn count_records(block: &[u8], end: u8) -> u64 {
    let ended = memchr::memchr_iter(end, block).count() as u64;
    ended + u64::from(block.last().is_some_and(|last| *last != end))
}
