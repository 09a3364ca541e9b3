//! Where a filter is written: a file, replaced whole by one process at a time, or standard output.

use crate::error::Failure;
use crate::output;
use fullbloom_any::AnyFilter;
use fullbloom_dialects::Name;
use fullbloom_files::file_lock::FileLock;
use fullbloom_ops::filter::{lock, require_replaceable, write_to};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// `--force`, where a file is replaced.
#[derive(Debug, clap::Args)]
pub struct ForceArgs {
    /// Replace a read-only file
    #[arg(long)]
    pub force: bool,
}

/// What `--force` does where a new filter is written.
pub const FORCE_NEW: &str = "Replace a read-only file, or one that is not a filter";

/// Where the filter goes.
#[derive(Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file. Other processes that would replace it wait until the destination is dropped.
    File(Box<Target>),
}

/// A file to be replaced.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    lock: FileLock,
}

impl Destination {
    /// Checks, before any work is done, that the filter can be written, and locks the file. Comes before the
    /// old file is read, so that no change of another process is lost.
    pub fn new(path: &Path, force: bool) -> Result<Destination, Failure> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                let failure = Failure::new("standard output", "is a terminal; a filter is not text");
                return Err(failure.hint("name a file: -o FILTER"));
            }
            return Ok(Destination::Stdout);
        }
        Self::file(path, force)
    }

    /// As [`new`](Destination::new), for a file only: `-` is one, too.
    pub fn file(path: &Path, force: bool) -> Result<Destination, Failure> {
        let lock = lock(path, force, || output::waiting(path))?;
        if let Some(e) = lock.unlocked() {
            let why = format!("cannot be locked: {e}: make sure that no other process changes it meanwhile");
            output::warning(&format!("{}: {why}", path.display()));
        }
        Ok(Destination::File(Box::new(Target { path: path.to_owned(), lock })))
    }

    /// Refuses, unless `force` is given, to replace a file that is not a filter by one of this dialect.
    pub fn require_replaceable(&self, dialect: Name, force: bool) -> Result<(), Failure> {
        match self {
            Destination::File(target) if !force => Ok(require_replaceable(&target.path, dialect)?),
            _ => Ok(()),
        }
    }

    /// The lock to the file; `None` for standard output.
    pub fn into_lock(self) -> Option<FileLock> {
        match self {
            Destination::File(target) => Some(target.lock),
            Destination::Stdout => None,
        }
    }

    /// Only its owner can read the new file.
    pub fn make_private(&mut self) {
        if let Destination::File(target) = self {
            target.lock.make_private();
        }
    }

    /// Writes what `write` writes, all of it or nothing.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        self.write_after(write, || Ok(()))
    }

    /// As [`write`](Destination::write); `last` is done when the new file is on the disk, just before it
    /// takes the place of the old one.
    pub fn write_after(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        last: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Destination::File(target) => {
                let prepared = target.lock.prepare(write)?;
                last()?;
                Ok(prepared.commit()?)
            }
            Destination::Stdout => {
                last()?;
                let written = output::stdout().and_then(|mut stdout| {
                    let mut out = io::BufWriter::with_capacity(64 << 10, &mut stdout);
                    write(&mut out)?;
                    out.flush()
                });
                // A reader that closed the pipe early has half a filter, so this is an error.
                written.map_err(|e| Failure::new("standard output", format_args!("cannot write: {e}")))
            }
        }
    }

    /// Writes a new filter. A filter with its secret is readable by its owner only.
    pub fn write_filter(&mut self, filter: &AnyFilter) -> Result<(), Failure> {
        self.write_filter_after(filter, || Ok(()))
    }

    /// As [`write_filter`](Destination::write_filter); `last` is done as
    /// [`write_after`](Destination::write_after) says.
    pub fn write_filter_after(
        &mut self,
        filter: &AnyFilter,
        last: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if filter.stores_secret() {
            self.make_private();
        }
        let path = match self {
            Destination::File(target) => target.path.clone(),
            Destination::Stdout => PathBuf::new(),
        };
        self.write_after(|out| write_to(filter, &path, out), last)
    }

    /// Whether it is the file at `path`, which need not exist yet.
    pub fn is(&self, path: &Path) -> bool {
        let Destination::File(target) = self else { return false };
        let own = &target.path;
        let place = |path: &Path| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
            fs::canonicalize(path).ok().or_else(|| Some(directory.join(path.file_name()?)))
        };
        place(own).is_some() && place(own) == place(path)
    }

    /// Length of what was written, where that is known.
    pub fn byte_len(&self) -> Option<u64> {
        match self {
            Destination::File(target) => fs::metadata(&target.path).ok().map(|meta| meta.len()),
            Destination::Stdout => None,
        }
    }
}
