//! Reads a journal, and inserts its keys.

use super::frames::{Frames, HEADER_LEN, frames, groups, longest_journal, read_header};
use super::{Base, header_len};
use crate::DynamicFilter;
use alloc::vec::Vec;
use fullbloom_core::error::{DecodeError, FileError, SizeError};
use fullbloom_core::keys::Hashes;
use fullbloom_files::file;
use fullbloom_files::file_lock::{identity, journal_of};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The journal of one file: keys that were inserted after the file was written.
#[derive(Debug, Clone)]
pub struct Journal {
    bytes: Vec<u8>,
    frames: Frames,
    is_of_another: bool,
}

/// How often the file may be replaced between reading it and looking for its journal.
const TRIES: u32 = 100;

/// Reads a file with `read`, and the journal that extends exactly these bytes, if there is one.
///
/// # Errors
/// Those of `read`, and those of a journal that is damaged or cannot be read: without it, keys would be
/// missing.
pub fn read_with_journal<B: AsRef<[u8]>>(
    path: &Path,
    read: impl Fn(&Path) -> Result<B, FileError>,
) -> Result<(B, Option<Journal>), FileError> {
    for _ in 0..TRIES {
        let before = fs::metadata(path);
        let bytes = read(path)?;
        let Some(base) = Base::of(bytes.as_ref(), bytes.as_ref().len() as u64) else {
            return Ok((bytes, None));
        };
        let journal = Journal::find(path, base)?;
        // A new file takes over the keys of the journal before the journal is removed, and may have a journal
        // of its own soon.
        let is_its_own = journal.as_ref().is_some_and(|journal| !journal.is_of_another());
        if is_its_own || is_same(before, fs::metadata(path)) {
            return Ok((bytes, journal));
        }
    }
    Err(FileError::io(path, "read", io::Error::other("the file was replaced each of 100 times it was read")))
}

fn is_same(before: io::Result<Metadata>, after: io::Result<Metadata>) -> bool {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            identity(&before) == identity(&after)
                && before.len() == after.len()
                && before.modified().ok() == after.modified().ok()
        }
        _ => false,
    }
}

impl Journal {
    /// The journal beside the file at this path. It has no keys if it [extends other
    /// bytes](Self::is_of_another).
    pub(crate) fn find(path: &Path, base: Base) -> Result<Option<Journal>, FileError> {
        let Some(path) = journal_of(path) else { return Ok(None) };
        let mut file = match file::open_unlinked(&path, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(FileError::io(&path, "read", e)),
        };
        let fail = |e| FileError::decode(&path, e);
        let mut bytes = Vec::new();
        let mut read = |bytes: &mut Vec<u8>, most: u64| {
            (&mut file).take(most).read_to_end(bytes).map_err(|e| FileError::io(&path, "read", e))
        };
        read(&mut bytes, HEADER_LEN as u64)?;
        if read_header(&bytes).map_err(fail)? != base {
            let frames = Frames { bodies: Vec::new(), end: bytes.len(), needs_seal: false };
            return Ok(Some(Journal { bytes, frames, is_of_another: true }));
        }
        // Until the end, not up to the length that the file had before its header was read: the header may be
        // newer than that.
        let longest = longest_journal(base);
        read(&mut bytes, longest - HEADER_LEN as u64 + 1)?;
        if bytes.len() as u64 > longest {
            let (got, allowed) = (bytes.len() as i128, "at most a quarter of the filter's length");
            return Err(fail(DecodeError::Value { field: "journal length", at: 0, got, allowed }));
        }
        let frames = frames(base, &bytes).map_err(fail)?;
        Ok(Some(Journal { bytes, frames, is_of_another: false }))
    }

    /// Its length in bytes.
    pub fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether it holds no keys.
    pub fn is_empty(&self) -> bool {
        self.frames.bodies.is_empty()
    }

    /// Bytes at the end that were not completely written when the system or a process stopped. They were not
    /// reported as saved, and are ignored.
    pub fn torn_bytes(&self) -> u64 {
        (self.bytes.len() - self.frames.end) as u64
    }

    /// Whether it extends other bytes than those of the file: an older version of it, whose keys the file
    /// has, or another file that was replaced by this one. Its keys are not used.
    pub fn is_of_another(&self) -> bool {
        self.is_of_another
    }

    /// Whether the last save was interrupted between writing its keys and acknowledging them. They are whole,
    /// and are used.
    pub fn needs_seal(&self) -> bool {
        self.frames.needs_seal
    }

    /// Its length, without incomplete bytes.
    pub(crate) fn complete_len(&self) -> u64 {
        self.frames.end as u64
    }

    /// The number of its frames.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.bodies.len() as u64
    }

    /// Inserts its keys into the filter of its file. A mapped filter is copied into memory first.
    ///
    /// # Errors
    /// When the memory cannot be allocated.
    pub fn replay<S: AsRef<[u8]>>(&self, filter: DynamicFilter<S>) -> Result<DynamicFilter<S>, DecodeError> {
        if self.is_empty() {
            return Ok(filter);
        }
        let memory = |_: SizeError| DecodeError::Memory { bytes: filter.memory() };
        let mut copy = filter.try_clone().map_err(memory)?;
        // The keys are hashed already: this needs no secret.
        let locked = copy.head.locked.take();
        for body in &self.frames.bodies {
            groups(&self.bytes[body.clone()], |time, hashes| {
                copy.advance_millis(time).map_err(memory)?;
                copy.insert_chunks(&Hashes::new(hashes, &copy.hasher.clone()), None).map_err(memory)?;
                Ok(())
            })?;
        }
        copy.head.locked = locked;
        Ok(copy.map(|_| unreachable!("a copy has memory of its own")))
    }
}

/// The identity of the file at this path, without reading all of it.
pub(crate) fn base_of(path: &Path) -> io::Result<Option<Base>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut header = Vec::new();
    (&mut file).take(64).read_to_end(&mut header)?;
    let rest = header_len(&header).unwrap_or(0).saturating_sub(header.len());
    file.take(rest as u64).read_to_end(&mut header)?;
    Ok(Base::of(&header, len))
}
