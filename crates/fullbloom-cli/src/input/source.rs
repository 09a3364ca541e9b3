//! Where keys come from: files, standard input, and the kept part of it.

use super::KeyFormat;
use super::blocks::LONGEST;
use super::content::{self, Content, Expected, NotKeys, Refused, contents};
use super::part::Column;
use crate::error::Failure;
use crate::output;
use crate::progress::Progress;
use fullbloom_core::typed::KeyField;
use fullbloom_ops::filter::{FilterFile, ReadOptions};
use fullbloom_ops::{self as ops, PlaceKind};
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes kept in memory of a stream that must be read twice; the rest goes to a temporary file.
const SPOOL_IN_MEMORY: usize = 64 << 20;

/// One key file, or standard input.
#[derive(Debug)]
pub struct Source {
    name: Label,
    place: Place,
    /// A byte-order mark has been reported.
    mark_noted: bool,
    /// The header line, if a column was looked up in it.
    header: Option<Header>,
}

/// The header line of a source, which has no key.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// The field of the column that was looked up.
    pub field: KeyField,
    /// Lines up to the end of the header line: comments may come before it.
    pub lines: u64,
    /// Their bytes that come again when the source is opened.
    bytes: u64,
}

/// The name of a source in messages.
#[derive(Debug, Clone)]
pub enum Label {
    /// By its path.
    File(PathBuf),
    /// `standard input`
    Stdin,
    /// The command line.
    Given,
}

#[derive(Debug)]
enum Place {
    /// A regular file, read from its beginning each time.
    File(PathBuf),
    /// Standard input from a regular file, read from this offset each time.
    Redirected { start: u64 },
    /// A pipe, a terminal, a device: read once.
    Stream(PathBuf),
    /// Standard input that is one of these.
    StdinStream,
    /// The rest of a stream whose header line has been read.
    Begun(Begun),
    /// What was read of a stream, to be read again.
    Kept(Spool),
}

/// What follows the header line of a stream, decompressed.
struct Begun(BufReader<Box<dyn Read + Send>>);

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Begun")
    }
}

impl Source {
    /// The file of this name, or standard input for `-`.
    pub fn new(file: &Path) -> Result<Source, Failure> {
        if file == Path::new("-") {
            let name = Label::Stdin;
            let mut stdin = stdin().map_err(|e| name.failed(&e))?;
            let regular = stdin.metadata().is_ok_and(|meta| meta.is_file());
            let place = match stdin.stream_position() {
                Ok(start) if regular => Place::Redirected { start },
                _ => Place::StdinStream,
            };
            return Ok(Source { name, place, mark_noted: false, header: None });
        }
        let name = Label::File(file.to_owned());
        let meta = fs::metadata(file).map_err(|e| name.failed(&e))?;
        if meta.is_dir() {
            let failure = Failure::new(&name, "is a directory, not a key file");
            return Err(failure.hint("name the files in it"));
        }
        let place =
            if meta.is_file() { Place::File(file.to_owned()) } else { Place::Stream(file.to_owned()) };
        Ok(Source { name, place, mark_noted: false, header: None })
    }

    /// Keys that are in memory.
    pub fn given(keys: &[u8]) -> Result<Source, Failure> {
        let mut spool = Spool::new();
        spool.write(keys)?;
        Ok(Source { name: Label::Given, place: Place::Kept(spool), mark_noted: true, header: None })
    }

    /// Its name in messages.
    pub fn name(&self) -> Label {
        self.name.clone()
    }

    /// Whether it is the file at `path`.
    pub fn is(&self, path: &Path) -> bool {
        match &self.place {
            Place::File(file) => {
                fs::canonicalize(file).ok().is_some_and(|own| Some(own) == fs::canonicalize(path).ok())
            }
            Place::Redirected { .. } => stdin().is_ok_and(|stdin| is_same_file(&stdin, path)),
            _ => false,
        }
    }

    /// Whether it can be read again from the beginning as cheaply as the first time: a regular file that is
    /// not compressed.
    pub fn is_plain_file(&self) -> bool {
        let open = match &self.place {
            Place::File(_) | Place::Redirected { .. } => self.place.open(),
            Place::Stream(_) | Place::StdinStream | Place::Begun(_) | Place::Kept(_) => return false,
        };
        let mut magic = Vec::with_capacity(content::DECISIVE);
        let read = open.and_then(|file| file.take(content::DECISIVE as u64).read_to_end(&mut magic));
        read.is_ok() && !content::is_packed(&magic)
    }

    /// Bytes to be read, where that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.place {
            Place::File(file) => fs::metadata(file).ok().map(|meta| meta.len()),
            Place::Redirected { start } => {
                let meta = stdin().and_then(|stdin| stdin.metadata()).ok()?;
                Some(meta.len().saturating_sub(*start))
            }
            Place::Stream(_) | Place::StdinStream | Place::Begun(_) => None,
            Place::Kept(spool) => Some(spool.len),
        }
    }

    /// Reads the header line, in which `column` is looked up. Bytes up to its end are left out from now on.
    pub fn read_header(&mut self, column: &Column, format: &KeyFormat) -> Result<(), Failure> {
        let name = self.name();
        let file = self.place.open().map_err(|e| name.failed(&e))?;
        let mut rest = BufReader::new(examined(file, format.expected(), &name, &mut self.mark_noted)?);
        let (mut line, mut lines, mut bytes) = (Vec::new(), 0, 0);
        loop {
            line.clear();
            let read = rest.by_ref().take(LONGEST as u64).read_until(format.end, &mut line);
            let read = read.map_err(|e| name.failed(&e))?;
            if read == 0 {
                let failure = Failure::new(
                    &name,
                    format_args!("is empty: no header line names a column {:?}", column.name),
                );
                return Err(failure.hint("-f NAME looks the column up in the first line; -f N takes field N"));
            }
            (lines, bytes) = (lines + 1, bytes + read as u64);
            line.pop_if(|last| *last == format.end);
            if !format.part.skips(&line) {
                break;
            }
        }
        let (header, has_return) = match line.strip_suffix(b"\r") {
            Some(stripped) if format.part.crlf => (stripped, false),
            stripped => (line.as_slice(), stripped.is_some()),
        };
        let field = column.find(header).map_err(|why| {
            let failure = Failure::new(&name, why);
            match column.delimiter {
                _ if has_return => failure.hint("--crlf leaves carriage returns out"),
                delimiter if header.contains(&delimiter) => failure,
                _ => failure.hint("--csv separates fields by commas, -d C by another character"),
            }
        })?;
        self.header = Some(Header { field, lines, bytes });
        if matches!(self.place, Place::Stream(_) | Place::StdinStream) {
            self.place = Place::Begun(Begun(rest));
            self.header = Some(Header { field, lines, bytes: 0 });
        }
        Ok(())
    }

    /// The header line, if it has been read.
    pub fn header(&self) -> Option<Header> {
        self.header
    }

    /// Its bytes from the beginning, or from the end of the header line, decompressed. If its records are
    /// lines, a byte-order mark is left out, and contents that are not what is expected are refused.
    pub fn open<'a>(
        &'a mut self,
        progress: &'a Progress,
        expected: Expected,
    ) -> Result<Box<dyn Read + Send + 'a>, Failure> {
        let file = match &mut self.place {
            Place::Begun(Begun(rest)) => return Ok(Box::new(Tracked { source: rest, progress })),
            Place::Kept(spool) => return Ok(Box::new(Tracked { source: spool.rewind()?, progress })),
            place => place.open().map_err(|e| self.name.failed(&e))?,
        };
        let tracked = Tracked { source: file, progress };
        let mut bytes = examined(tracked, expected, &self.name, &mut self.mark_noted)?;
        let header = self.header.map_or(0, |header| header.bytes);
        let skipped = io::copy(&mut bytes.by_ref().take(header), &mut io::sink());
        skipped.map_err(|e| self.name.failed(&e))?;
        Ok(bytes)
    }

    /// A buffer that keeps the bytes while they are read, if they can be read only once.
    pub fn spool(&self) -> Option<Spool> {
        matches!(self.place, Place::Stream(_) | Place::StdinStream | Place::Begun(_)).then(Spool::new)
    }

    /// From now on the kept bytes are the source.
    pub fn keep(&mut self, spool: Spool) {
        self.place = Place::Kept(spool); // without the header line
    }
}

impl Place {
    /// The file or stream at its beginning.
    fn open(&self) -> io::Result<File> {
        match self {
            Place::File(file) | Place::Stream(file) => File::open(file),
            Place::Redirected { start } => {
                let mut stdin = stdin()?;
                stdin.seek(SeekFrom::Start(*start))?;
                Ok(stdin)
            }
            Place::StdinStream => stdin(),
            Place::Begun(_) | Place::Kept(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// The bytes of a stream, decompressed, if they are what is expected.
fn examined<'a>(
    raw: impl Read + Send + 'a,
    expected: Expected,
    name: &Label,
    mark_noted: &mut bool,
) -> Result<Box<dyn Read + Send + 'a>, Failure> {
    let Content { bytes, had_mark } = contents(raw, expected).map_err(|refused| match refused {
        Refused::Io(e) => name.failed(&e),
        Refused::NotKeys(found) => name.refused(found),
        Refused::Binary(found) => name.refused(name.recognised().unwrap_or(found)),
    })?;
    if had_mark && !std::mem::replace(mark_noted, true) {
        output::note(&format!("{name}: the byte-order mark is not part of the first key"));
    }
    Ok(bytes)
}

impl Label {
    /// The source is not a list of keys.
    fn refused(&self, found: NotKeys) -> Failure {
        let failure = Failure::new(self, format_args!("{}, not lines of keys", found.what));
        failure.hint(format!(
            "{}; --binary takes lines of any bytes, --null keys that end with a zero byte",
            found.hint
        ))
    }

    /// What a file of binary data is, if `inspect` recognises it.
    fn recognised(&self) -> Option<NotKeys> {
        let Label::File(path) = self else { return None };
        let (what, hint) = match ops::Place::detect(path, None).kind() {
            PlaceKind::Table => ("a table of LevelDB or RocksDB", "fullbloom keys FILE prints its keys"),
            PlaceKind::Sstable => {
                ("a component of an sstable", "fullbloom keys FILE prints its partition keys")
            }
            _ if FilterFile::map(path, &ReadOptions::new()).is_ok() => {
                ("a filter", "fullbloom inspect FILE shows it; a filter does not store its keys")
            }
            _ => return None,
        };
        Some(NotKeys { what, hint })
    }

    /// Reading the source failed.
    pub fn failed(&self, cause: &io::Error) -> Failure {
        Failure::new(self, format_args!("cannot read keys: {cause}"))
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::File(path) => path.display().fmt(f),
            Label::Stdin => f.write_str("standard input"),
            Label::Given => f.write_str("-e"),
        }
    }
}

/// Whether an open file is the one at `path`.
#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().ok().map(identity) == fs::metadata(path).ok().map(identity)
}

/// Whether an open file is the one at `path`: not known on this system.
#[cfg(not(unix))]
fn is_same_file(_: &File, _: &Path) -> bool {
    false
}

/// Standard input without the buffer of [`io::Stdin`].
fn stdin() -> io::Result<File> {
    output::duplicate(&io::stdin())
}

/// Reports what is read to a progress bar.
struct Tracked<'a, R> {
    source: R,
    progress: &'a Progress,
}

impl<R: Read> Read for Tracked<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

/// Bytes kept for a second reading.
#[derive(Debug)]
pub struct Spool {
    file: tempfile::SpooledTempFile,
    len: u64,
}

impl Spool {
    fn new() -> Spool {
        Spool { file: tempfile::spooled_tempfile(SPOOL_IN_MEMORY), len: 0 }
    }

    /// Keeps more bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.len += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|e| {
            let failure =
                Failure::new(std::env::temp_dir().display(), format_args!("cannot keep the keys: {e}"));
            failure.hint(
                "give --expected-keys, then the keys are read only once; or set TMPDIR to another directory",
            )
        })
    }

    fn rewind(&mut self) -> Result<&mut tempfile::SpooledTempFile, Failure> {
        let rewound = self.file.rewind();
        rewound.map_err(|e| {
            Failure::new(std::env::temp_dir().display(), format_args!("cannot read the keys kept: {e}"))
        })?;
        Ok(&mut self.file)
    }
}
