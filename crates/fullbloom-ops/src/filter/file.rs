//! A filter file: its bytes, and what they are.

use super::gzip;
use crate::problem::{Code, Need, Problem};
use fullbloom::storage::Mapped;
use fullbloom::{DecodeError, FileError};
use fullbloom_any::sniff;
use fullbloom_any::{ReadOptions, SharedBytes};
use fullbloom_core::part::Part;
use fullbloom_dialects::Name;
use fullbloom_dialects::cassandra::descriptor::Descriptor;
use fullbloom_dynamic::{Journal, read_with_journal};
use fullbloom_files::file;
use std::path::{Path, PathBuf};

/// The bytes of a filter, and what is known about them before they are decoded.
#[derive(Debug)]
pub struct FilterFile {
    path: PathBuf,
    bytes: SharedBytes,
    origin: Origin,
    dialect: Name,
    recognised: String,
    /// Keys that were saved since the file was written.
    pub(super) journal: Option<Journal>,
    pub(super) options: ReadOptions,
}

/// Where the bytes come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    /// A file that was read, or the caller's memory.
    Memory,
    /// A mapped file: its bytes are read only where they are needed.
    Mapping,
    /// A compressed file.
    Unpacked,
}

impl FilterFile {
    /// Reads a file once: it may change or disappear afterwards. If the dialect is not given, it is detected
    /// in the mapped file first, so that a large file which is not a filter is not read.
    pub fn load(path: &Path, options: &ReadOptions) -> Result<FilterFile, Problem> {
        let unreadable =
            |e| damaged_journal(path, &e).unwrap_or_else(|| Problem::at(path, Code::Unreadable, e));
        if may_be_packed(options) {
            let map = SharedBytes::new(Mapped::open(path).map_err(unreadable)?);
            let file = Self::unpacked(path, map, Origin::Mapping, None, options)?;
            if !file.is_mapped() {
                return Ok(file);
            }
        }
        let (bytes, journal) = read_with_journal(path, file::read).map_err(unreadable)?;
        Self::detect(path, SharedBytes::new(bytes), Origin::Memory, journal, options)
    }

    /// Maps a file: only the parts that are needed are read, but the file must not be truncated meanwhile.
    pub fn map(path: &Path, options: &ReadOptions) -> Result<FilterFile, Problem> {
        let read = read_with_journal(path, Mapped::open);
        let (map, journal) = read.map_err(|e| {
            damaged_journal(path, &e).unwrap_or_else(|| Problem::at(path, Code::Unreadable, e))
        })?;
        Self::unpacked(path, SharedBytes::new(map), Origin::Mapping, journal, options)
    }

    /// Takes bytes from memory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<FilterFile, Problem> {
        Self::unpacked(Path::new(name), SharedBytes::new(bytes), Origin::Memory, None, options)
    }

    /// Unpacks a compressed file, and detects the dialect.
    fn unpacked(
        path: &Path,
        bytes: SharedBytes,
        origin: Origin,
        journal: Option<Journal>,
        options: &ReadOptions,
    ) -> Result<FilterFile, Problem> {
        let unpacked = may_be_packed(options).then(|| gzip::unpack(bytes.as_ref())).flatten();
        let (bytes, origin) = match unpacked {
            None => (bytes, origin),
            Some(Ok(unpacked)) => (SharedBytes::new(unpacked), Origin::Unpacked),
            Some(Err(e)) => return Err(Problem::at(path, Code::Unreadable, format_args!("gzip: {e}"))),
        };
        Self::detect(path, bytes, origin, journal, options)
    }

    fn detect(
        path: &Path,
        bytes: SharedBytes,
        origin: Origin,
        journal: Option<Journal>,
        options: &ReadOptions,
    ) -> Result<FilterFile, Problem> {
        let (dialect, recognised) = match options.dialect {
            Some(dialect) => (dialect, "given by the caller".to_owned()),
            None => {
                let found = sniff::recognise(Some(path), bytes.as_ref());
                let (dialect, how) = found.map_err(|e| unknown(path, bytes.as_ref(), origin, &e))?;
                (dialect, how.to_string())
            }
        };
        let (path, options) = (path.to_owned(), options.clone());
        Ok(FilterFile { path, bytes, origin, dialect, recognised, journal, options })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its dialect.
    pub fn dialect(&self) -> Name {
        self.dialect
    }

    /// How the dialect was detected.
    pub fn recognised(&self) -> &str {
        &self.recognised
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Whether its bytes are read only where they are needed.
    pub(super) fn is_mapped(&self) -> bool {
        self.origin == Origin::Mapping
    }

    /// The first `len` bytes, shared.
    pub(super) fn part(&self, len: usize) -> Part<SharedBytes> {
        Part::new(self.bytes.clone(), 0..len.min(self.bytes().len()))
    }
}

/// Whether the file may be compressed. Only DCSO's program compresses filters. If the caller gives another
/// dialect, the bytes are not decompressed, even if they begin like gzip.
fn may_be_packed(options: &ReadOptions) -> bool {
    matches!(options.dialect, None | Some(Name::Dcso))
}

/// Whether the file begins with lines of text, as a list of keys does.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let front = &bytes[..bytes.len().min(1024)];
    let end = front.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    end > 0 && std::str::from_utf8(&front[..end]).is_ok_and(|lines| lines.chars().all(is_plain))
}

/// Lists the dialects whose bytes these could be.
fn unknown(path: &Path, bytes: &[u8], origin: Origin, cause: &DecodeError) -> Problem {
    let list = |names: &[Name]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let candidates = sniff::candidates(bytes);
    let raw = "raw bits (libbloom-1, java-lsm), give the bits and probes, too";
    let hint = match candidates.as_slice() {
        _ if bytes.is_empty() => {
            "RocksDB stores nothing for no keys: give the dialect rocksdb if that is meant; otherwise the file was truncated"
                .to_owned()
        }
        _ if is_text(bytes) => {
            "it looks like lines of text, not a filter; fullbloom build makes a filter of keys".to_owned()
        }
        _ if origin == Origin::Unpacked => "it is compressed, and what is in it is not recognised: unpack it with gunzip first".to_owned(),
        [] => "no dialect can decode these bytes. If they are raw bits, give the dialect (libbloom-1 or java-lsm), \
               the bits and the probes"
            .to_owned(),
        names => format!("give the dialect: the bytes can be read as {}; for {raw}", list(names)),
    };
    // Unknown letters of an sstable are named.
    match Descriptor::parse(path) {
        Err(e) if e.is_unknown_version() => Problem::at(path, Code::UnknownDialect, e),
        _ => Problem::at(path, Code::UnknownDialect, cause),
    }
    .hint(hint)
    .needs(Need::Dialect)
}

/// The problem of a filter whose journal cannot be used, if that is the cause: without the journal, keys that
/// were saved would be reported absent.
pub(super) fn damaged_journal(path: &Path, cause: &FileError) -> Option<Problem> {
    let is_journal = |path: &Path| path.extension().is_some_and(|extension| extension == "journal");
    (is_journal(cause.path()) && !is_journal(path)).then(|| {
        Problem::at(path, Code::Unreadable, format_args!("its journal cannot be used: {cause}")).hint(
            "the journal holds the newest keys: restore it from a copy, or remove it to go on without them",
        )
    })
}
