//! Saves a dynamic filter often: whole, or as a frame of its journal.

use super::frames::{HEADER_LEN, Seal, frame, header, longest_body, push};
use super::read::base_of;
use super::{Base, Journal};
use crate::{DynamicFilter, Mode};
use alloc::vec::Vec;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::{DecodeError, FileError};
use fullbloom_files::file;
use fullbloom_files::file_lock::{FileLock, journal_of};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Files up to this length are always written whole.
const SMALL: u64 = 64 << 10;

/// Files up to this length are written whole at the end, so that no journal stays beside them.
const CHEAP: u64 = 4 << 20;

/// The file of a dynamic filter, which one process changes and saves now and then.
///
/// ```
/// use fullbloom_dynamic::{DynamicFilter, JournalWriter};
/// use fullbloom_files::FileLock;
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("seen.bloom");
/// let mut filter = DynamicFilter::with_fpr(1_000, 1e-6)?;
/// let mut writer = JournalWriter::new(FileLock::new(&path)?);
/// let hash = filter.hash(b"alice");
/// if filter.insert_hash(hash)? {
///     writer.record(&filter, &[hash.to_raw()], &[true]);
/// }
/// writer.save(&filter)?; // on the disk now
///
/// let read = DynamicFilter::load(&path)?;
/// assert!(read.may_contain(b"alice"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalWriter {
    lock: FileLock,
    /// What is at the path now; `None` if that is no native filter.
    base: Option<Base>,
    /// The length of the journal that extends it; 0 if there is none.
    journal_len: u64,
    /// The number of its frames.
    frames: u64,
    file: Option<File>,
    torn_bytes: u64,
    needed_seal: bool,
    changes: Changes,
}

/// What was inserted since the last save.
#[derive(Debug)]
enum Changes {
    /// The body of a frame.
    Recorded(Vec<u8>),
    /// Too much for a frame.
    TooMany,
}

impl JournalWriter {
    /// For a file that does not exist yet, or will be replaced at the first save.
    pub fn new(lock: FileLock) -> JournalWriter {
        let changes = Changes::TooMany;
        JournalWriter {
            lock,
            base: None,
            journal_len: 0,
            frames: 0,
            file: None,
            torn_bytes: 0,
            needed_seal: false,
            changes,
        }
    }

    /// Reads the file and its journal: `decode` makes a filter of them, such as
    /// [`DynamicFilter::decode_with`].
    pub fn load<F>(
        lock: FileLock,
        decode: impl FnOnce(Owned, Option<&Journal>) -> Result<F, DecodeError>,
    ) -> Result<(F, JournalWriter), FileError> {
        let path = lock.place();
        let bytes = file::read(path)?;
        let base = Base::of(bytes.as_ref(), bytes.as_ref().len() as u64);
        let journal = match base {
            Some(base) => Journal::find(path, base)?.filter(|journal| !journal.is_of_another()),
            None => None,
        };
        let filter = decode(bytes, journal.as_ref()).map_err(|e| FileError::decode(path, e))?;
        let (mut journal_len, mut frames, mut torn_bytes, mut needed_seal) = (0, 0, 0, false);
        let mut changes = Changes::Recorded(Vec::new());
        if let Some(journal) = journal {
            (journal_len, frames) = (journal.complete_len(), journal.frames());
            (torn_bytes, needed_seal) = (journal.torn_bytes(), journal.needs_seal());
            if needed_seal {
                changes = Changes::TooMany; // the next save writes a whole file instead of mending the journal
            }
        }
        let file = None;
        let writer =
            JournalWriter { lock, base, journal_len, frames, file, torn_bytes, needed_seal, changes };
        Ok((filter, writer))
    }

    /// The lock, for a filter that has no journal.
    pub fn into_lock(self) -> FileLock {
        self.lock
    }

    /// Whether there was a file when it was locked, or it has been saved since.
    pub fn exists(&self) -> bool {
        self.lock.exists()
    }

    /// Bytes of the journal that a crash left incomplete, and that were cut off.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// Whether the last save before it was loaded had not been acknowledged; see [`Journal::needs_seal`].
    pub fn needed_seal(&self) -> bool {
        self.needed_seal
    }

    /// Notes keys that were just inserted, with the answers of
    /// [`insert_batch_new`](DynamicFilter::insert_batch_new).
    ///
    /// # Panics
    /// If the numbers of hashes and answers differ.
    pub fn record(&mut self, filter: &DynamicFilter, hashes: &[u64], new: &[bool]) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        let limit = self.limit();
        let Changes::Recorded(body) = &mut self.changes else { return };
        let all = match filter.mode() {
            Mode::Set => false,
            Mode::Counting => true,
            Mode::Expiring(expiry) => expiry.refresh,
        };
        let changed = hashes.iter().zip(new).filter(|(_, new)| all || **new);
        push(body, filter.time_millis(), changed.map(|(hash, _)| *hash));
        if body.len() as u64 > limit {
            self.changes = Changes::TooMany;
        }
    }

    /// The largest frame that the journal takes.
    fn limit(&self) -> u64 {
        match self.base {
            Some(base) if base.len > SMALL => longest_body(base, self.journal_len),
            _ => 0,
        }
    }

    /// The next save writes the whole file: it was changed in another way than by inserting keys.
    pub fn rewrite(&mut self) {
        self.changes = Changes::TooMany;
    }

    /// Saves what was inserted since the last time. When it returns, the keys are on the disk.
    pub fn save(&mut self, filter: &DynamicFilter) -> Result<(), FileError> {
        match (&mut self.changes, self.base) {
            (Changes::Recorded(body), _) if body.is_empty() => Ok(()),
            (Changes::Recorded(body), Some(base)) if journal_of(self.lock.place()).is_some() => {
                let body = core::mem::take(body);
                let appended = self.append(base, &body);
                if appended.is_err() {
                    self.changes = Changes::TooMany; // the frame is lost: a further save writes everything
                }
                appended
            }
            _ => self.fold(filter),
        }
    }

    /// Saves for the last time. Small files are left without a journal.
    pub fn finish(mut self, filter: &DynamicFilter) -> Result<(), FileError> {
        let has_journal =
            self.journal_len > 0 || matches!(&self.changes, Changes::Recorded(body) if !body.is_empty());
        if has_journal && self.base.is_some_and(|base| base.len <= CHEAP) {
            return self.fold(filter);
        }
        self.save(filter)
    }

    /// Writes the whole file. The journal, whose keys it then holds, goes with the old one.
    fn fold(&mut self, filter: &DynamicFilter) -> Result<(), FileError> {
        if filter.stores_secret() && !self.lock.exists() {
            self.lock.make_private();
        }
        self.file = None;
        self.lock.replace(|out| filter.write_to(out))?;
        let path = self.lock.place();
        // The file is saved. If it cannot be read now, there is no journal for it, and a further save writes
        // everything.
        self.base = base_of(path).unwrap_or(None);
        (self.journal_len, self.frames, self.changes) = (0, 0, Changes::Recorded(Vec::new()));
        Ok(())
    }

    /// Adds a frame to the journal, and makes the journal if there is none.
    fn append(&mut self, base: Base, body: &[u8]) -> Result<(), FileError> {
        let path = self.journal_path()?;
        self.lock.require_unchanged()?;
        if self.journal_len == 0 {
            let mut lock = self.lock.beside(&path)?;
            lock.like(self.lock.place());
            let first = frame(base, HEADER_LEN as u64, body);
            let end = (HEADER_LEN + first.len()) as u64;
            lock.replace(|out| {
                out.write_all(&header(base, end))?;
                out.write_all(&first)
            })?;
            (self.journal_len, self.frames) = (end, 1);
            return Ok(());
        }
        let fail = |e| FileError::io(&path, "save", e);
        let at = self.journal_len;
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = file::open_unlinked(&path, OpenOptions::new().write(true)).map_err(fail)?;
                file.set_len(at).map_err(fail)?; // cuts off what a crash left incomplete
                file
            }
        };
        let bytes = frame(base, at, body);
        if let Err(e) = write_at(&mut file, at, &bytes) {
            let _ = file.set_len(at); // else the next reader cuts it off
            return Err(fail(e));
        }
        // If the seal cannot be written, the frame stays: a part of the seal may be on the disk, and the seal
        // of a frame that is not there would be taken for damage.
        let seal = Seal { end: at + bytes.len() as u64, frames: self.frames + 1 };
        write_at(&mut file, seal.at() as u64, &seal.bytes(base)).map_err(fail)?;
        (self.journal_len, self.frames) = (seal.end, seal.frames);
        self.file = Some(file);
        Ok(())
    }

    fn journal_path(&self) -> Result<PathBuf, FileError> {
        let path = self.lock.place();
        journal_of(path).ok_or_else(|| FileError::io(path, "save", io::ErrorKind::InvalidInput.into()))
    }
}

/// Writes these bytes and waits until they are on the disk.
fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    file.sync_data()
}
