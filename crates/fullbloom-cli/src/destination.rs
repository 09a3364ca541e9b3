//! Where a filter is written: a file, replaced whole, or standard output.

use crate::error::Failure;
use crate::output;
use flate2::Compression;
use flate2::write::GzEncoder;
use fullbloom::any::AnyFilter;
use fullbloom::dialect::Name;
use fullbloom::file;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Where the filter goes.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// Standard output.
    Stdout,
    /// A file.
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// Checks, before any work is done, that the filter can be written.
    pub fn new(path: &'a Path) -> Result<Destination<'a>, Failure> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                let failure = Failure::new("standard output", "is a terminal; a filter is not text");
                return Err(failure.hint("name a file: -o FILTER"));
            }
            return Ok(Destination::Stdout);
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(Err(e)) = directory.map(fs::metadata) {
            return Err(Failure::new(path.display(), format_args!("cannot save: {e}")));
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(Failure::new(path.display(), "cannot save: is a directory")),
            Ok(meta) if !meta.is_file() => {
                let failure = Failure::new(path.display(), "cannot save: not a regular file");
                Err(failure.hint("-o - writes to standard output"))
            }
            _ => Ok(Destination::File(path)),
        }
    }

    /// Writes what `write` writes, all of it or nothing.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        match self {
            Destination::File(path) => Ok(file::replace(path, write)?),
            Destination::Stdout => {
                let written = output::duplicate(&io::stdout()).and_then(|mut stdout| {
                    let mut out = io::BufWriter::with_capacity(64 << 10, &mut stdout);
                    write(&mut out)?;
                    out.flush()
                });
                // A reader that closed the pipe early has half a filter, so this is an error.
                written.map_err(|e| Failure::new("standard output", format_args!("cannot write: {e}")))
            }
        }
    }

    /// Writes a filter; in gzip, as DCSO's program can, if the file is named `.gz` and the dialect is DCSO's.
    pub fn write_filter(&self, filter: &AnyFilter) -> Result<(), Failure> {
        let packed =
            matches!(self, Destination::File(path) if path.extension().is_some_and(|ext| ext == "gz"));
        if !packed || filter.dialect() != Name::Dcso {
            return self.write(|out| filter.write_to(out));
        }
        self.write(|out| {
            let mut gzip = GzEncoder::new(out, Compression::default());
            filter.write_to(&mut gzip)?;
            gzip.finish().map(|_| ())
        })
    }

    /// Whether it is the file at `path`, which need not exist yet.
    pub fn is(&self, path: &Path) -> bool {
        let Destination::File(own) = self else { return false };
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
            Destination::File(path) => fs::metadata(path).ok().map(|meta| meta.len()),
            Destination::Stdout => None,
        }
    }
}
