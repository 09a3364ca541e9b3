//! Where keys come from: files, standard input, and the kept part of it.

use crate::error::Failure;
use crate::output;
use crate::progress::Progress;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes kept in memory of a stream that must be read twice; the rest goes to a temporary file.
const SPOOL_IN_MEMORY: usize = 64 << 20;

/// Compressed bytes read at once.
const COMPRESSED_BLOCK: usize = 64 << 10;

/// One key file, or standard input.
#[derive(Debug)]
pub struct Source {
    name: Label,
    place: Place,
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
    /// What was read of a stream, to be read again.
    Kept(Spool),
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
            return Ok(Source { name, place });
        }
        let name = Label::File(file.to_owned());
        let meta = fs::metadata(file).map_err(|e| name.failed(&e))?;
        if meta.is_dir() {
            let failure = Failure::new(&name, "is a directory, not a key file");
            return Err(failure.hint("name the files in it"));
        }
        let place =
            if meta.is_file() { Place::File(file.to_owned()) } else { Place::Stream(file.to_owned()) };
        Ok(Source { name, place })
    }

    /// Keys that are in memory.
    pub fn given(keys: &[u8]) -> Result<Source, Failure> {
        let mut spool = Spool::new();
        spool.write(keys)?;
        Ok(Source { name: Label::Given, place: Place::Kept(spool) })
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
            Place::File(file) => File::open(file),
            Place::Redirected { start } => stdin().and_then(|mut stdin| {
                stdin.seek(SeekFrom::Start(*start))?;
                Ok(stdin)
            }),
            Place::Stream(_) | Place::StdinStream | Place::Kept(_) => return false,
        };
        let mut magic = Vec::with_capacity(4);
        let read = open.and_then(|file| file.take(4).read_to_end(&mut magic));
        read.is_ok() && Packing::of(&magic) == Packing::None
    }

    /// Bytes to be read, where that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.place {
            Place::File(file) => fs::metadata(file).ok().map(|meta| meta.len()),
            Place::Redirected { start } => {
                let meta = stdin().and_then(|stdin| stdin.metadata()).ok()?;
                Some(meta.len().saturating_sub(*start))
            }
            Place::Stream(_) | Place::StdinStream => None,
            Place::Kept(spool) => Some(spool.len),
        }
    }

    /// Its bytes from the beginning, decompressed.
    pub fn open<'a>(&'a mut self, progress: &'a Progress) -> Result<Box<dyn Read + Send + 'a>, Failure> {
        let raw: io::Result<Box<dyn Read + Send + 'a>> = match &mut self.place {
            Place::File(file) | Place::Stream(file) => File::open(file).map(|file| Box::new(file) as _),
            Place::Redirected { start } => stdin().and_then(|mut stdin| {
                stdin.seek(SeekFrom::Start(*start))?;
                Ok(Box::new(stdin) as _)
            }),
            Place::StdinStream => stdin().map(|stdin| Box::new(stdin) as _),
            Place::Kept(spool) => return Ok(Box::new(Tracked { source: spool.rewind()?, progress })),
        };
        let tracked = raw.map(|source| Tracked { source, progress });
        tracked.and_then(decompressed).map_err(|e| self.name.failed(&e))
    }

    /// A buffer that keeps the bytes while they are read, if they can be read only once.
    pub fn spool(&self) -> Option<Spool> {
        matches!(self.place, Place::Stream(_) | Place::StdinStream).then(Spool::new)
    }

    /// From now on the kept bytes are the source.
    pub fn keep(&mut self, spool: Spool) {
        self.place = Place::Kept(spool);
    }
}

impl Label {
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

/// The stream itself, or its decompressed contents; detected by its first bytes.
pub fn decompressed<'a>(mut raw: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    // One read, if its bytes are enough: a line from a slow pipe is not held back until the next one arrives.
    let mut front = vec![0; COMPRESSED_BLOCK];
    let mut filled = 0;
    while filled < 4 && Packing::may_begin(&front[..filled]) {
        match raw.read(&mut front[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    front.truncate(filled);
    let packing = Packing::of(&front[..filled.min(4)]);
    let whole = Cursor::new(front).chain(raw);
    Ok(match packing {
        Packing::None => Box::new(whole),
        Packing::Gzip => {
            let buffered = BufReader::with_capacity(COMPRESSED_BLOCK, whole);
            Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
        }
        Packing::Zstd => {
            let buffered = BufReader::with_capacity(COMPRESSED_BLOCK, whole);
            Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?)
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// Whether compressed data may begin with these bytes.
    fn may_begin(front: &[u8]) -> bool {
        matches!(front.first(), None | Some(0x1f | 0x28 | 0x50..=0x5f))
    }

    fn of(magic: &[u8]) -> Packing {
        match *magic {
            // The method is deflate, and the reserved flags are clear (RFC 1952).
            [0x1f, 0x8b, 8, flags] if flags & 0xe0 == 0 => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Packing::Zstd,
            // A skippable frame may come first (RFC 8878).
            [low, 0x2a, 0x4d, 0x18] if low & 0xf0 == 0x50 => Packing::Zstd,
            _ => Packing::None,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_told_by_whole_magic_bytes_only() {
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8, 0]), Packing::Gzip);
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8, 0x20]), Packing::None);
        assert_eq!(Packing::of(&[0x1f, 0x8b, 7, 0]), Packing::None);
        assert_eq!(Packing::of(&[0x1f, 0x8b, 8]), Packing::None);
        assert_eq!(Packing::of(&[0x28, 0xb5, 0x2f, 0xfd]), Packing::Zstd);
        assert_eq!(Packing::of(&[0x5f, 0x2a, 0x4d, 0x18]), Packing::Zstd);
        assert_eq!(Packing::of(b""), Packing::None);
        assert_eq!(Packing::of(b"key\n"), Packing::None);
    }
}
