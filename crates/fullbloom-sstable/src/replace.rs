//! A new `Filter.db` in its place, with the files that must agree with it, by the rules of each engine.
//!
//! **Cassandra and DataStax.** The filter is replaced by one rename, and the old one stays beside it under a
//! name that no release takes for a component. If `TOC.txt` does not list the filter, it is added afterwards:
//! a node loads an unlisted filter, so a crash in between does no harm.
//!
//! **ScyllaDB.** Every file of a table's directory must have the name of a component, else the node does not
//! start. And since 2026.2 `Scylla.db` records a checksum of `Filter.db`, and the node does not start if they
//! disagree. So nothing but components is ever in that directory: backups and temporary files are in
//! directories of their own under `snapshots`, which a node does not read. The two files are replaced in
//! three renames, and a node starts after each of them:
//!
//! | after | `Filter.db` | `Scylla.db` records |
//! |---|---|---|
//! | the start | old | old |
//! | 1 | old | nothing: a component without a checksum is not checked |
//! | 2 | new | nothing |
//! | 3 | new | new |
//!
//! With another directory as output, `Scylla.db` is written there beside the filter.
//!
//! A crash leaves one of these rows. The next rebuild finishes it; `verify` reports that the checksum of the
//! filter is missing.

use crate::digests::{self, Which};
use crate::rebuild::Rebuilt;
use crate::scylla::{self, with_filter_digest};
use crate::sstable::{DATA, FILTER, INDEX, PARTITIONS, SCYLLA, STATISTICS, Scylla, Sstable, TOC};
use crate::{DigestMismatch, Engine, running, toc};
use flate2::Crc;
use fullbloom::FileError;
use fullbloom_files::file_lock::FileLock;
use fullbloom_files::replace;
use fullbloom_files::replace::{Output, Replacement};
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files that a replacement has written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Written {
    /// The new filter; `None` if the old one has the same bytes and was left alone.
    pub path: Option<PathBuf>,
    /// The old files.
    pub backups: Vec<PathBuf>,
    /// Other components that were rewritten to agree with the filter.
    pub others: Vec<PathBuf>,
}

/// Why the filter of an sstable must not be replaced. Nothing was written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// A ScyllaDB node runs on this directory.
    Running {
        /// The file that it has locked.
        lock: PathBuf,
    },
    /// Components are encrypted.
    Encrypted,
    /// `Scylla.db` cannot be read.
    ScyllaUnreadable(String),
    /// Another component is not the one whose checksum `Scylla.db` records.
    Damaged(DigestMismatch),
    /// There is no `TOC.txt`, or it cannot be read.
    NoToc,
    /// ScyllaDB reads only what `TOC.txt` lists, and `TOC.txt` has a checksum too.
    NotListed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Running { lock } => write!(
                f,
                "a ScyllaDB node is running: it has locked {}, and it reads filters again while it runs",
                lock.display()
            ),
            Refusal::Encrypted => f.write_str("the sstable is encrypted"),
            Refusal::ScyllaUnreadable(e) => {
                write!(f, "{SCYLLA} cannot be read, and must agree with the filter: {e}")
            }
            Refusal::Damaged(mismatch) => mismatch.fmt(f),
            Refusal::NoToc => {
                write!(f, "{TOC} is missing or unreadable, and ScyllaDB does not start without it")
            }
            Refusal::NotListed => write!(
                f,
                "the sstable was written without a filter: ScyllaDB reads only what {TOC} lists, and {SCYLLA} has \
                 a checksum of {TOC}"
            ),
        }
    }
}

/// Whether the filter of this sstable may be replaced in place.
pub fn check(sstable: &Sstable) -> Result<(), Refusal> {
    if sstable.engine() != Engine::Scylla {
        return Ok(());
    }
    if let Some(lock) = running::held_lock(&sstable.directory) {
        return Err(Refusal::Running { lock });
    }
    let read = match &sstable.scylla {
        Scylla::Absent => return Ok(()),
        Scylla::Unreadable(e) => return Err(Refusal::ScyllaUnreadable(e.to_string())),
        Scylla::Read(read) => read,
    };
    if read.has_encryption() {
        return Err(Refusal::Encrypted);
    }
    match sstable.lists(FILTER) {
        None if read.digests.is_some() => return Err(Refusal::NoToc),
        Some(false) if read.digests.is_some() => return Err(Refusal::NotListed),
        _ => {}
    }
    let others = digests::mismatches(sstable, Which::All).into_iter().find(|other| other.component != FILTER);
    others.map_or(Ok(()), |other| Err(Refusal::Damaged(other)))
}

/// The right to replace the filter of an sstable, until it is dropped: other processes that want to replace
/// it wait. Taken before the sstable is read.
#[derive(Debug)]
pub enum Locked {
    /// A file, in its place or in another directory.
    File {
        /// The locked file.
        replacement: Replacement,
        /// Keep the old files.
        backup: bool,
    },
    /// The directory of a ScyllaDB table, in which no other file may be.
    Scylla {
        /// The lock of the filter.
        lock: FileLock,
        /// Keep the old files.
        backup: bool,
    },
}

impl Locked {
    /// Locks the filter; calls `waiting` once if another process has locked it.
    pub fn new(sstable: &Sstable, output: &Output, waiting: impl FnOnce()) -> Result<Locked, FileError> {
        let filter = sstable.path(FILTER);
        match *output {
            Output::InPlace { backup } if sstable.engine() == Engine::Scylla => {
                Ok(Locked::Scylla { lock: FileLock::of_directory(&filter, waiting)?, backup })
            }
            Output::InPlace { backup } => {
                let replacement = Replacement::begin(&filter, output, waiting)?.like(&like(sstable));
                Ok(Locked::File { replacement, backup })
            }
            Output::Into(_) => {
                let replacement = Replacement::begin(&filter, output, waiting)?;
                Ok(Locked::File { replacement, backup: false })
            }
        }
    }

    /// The lock of the filter.
    pub fn lock(&self) -> &FileLock {
        match self {
            Locked::File { replacement, .. } => replacement.lock(),
            Locked::Scylla { lock, .. } => lock,
        }
    }
}

impl Rebuilt<'_> {
    /// Writes the filter to the place that was locked, and makes the other components agree with it. A
    /// filter that has these bytes already is left alone.
    ///
    /// In place, [`check`] must have been asked first.
    pub fn write(&self, locked: Locked) -> Result<Written, FileError> {
        let sstable = self.sstable;
        let (replacement, backup) = match locked {
            Locked::Scylla { lock, backup } => return self.write_scylla(lock, backup),
            Locked::File { replacement, backup } => (replacement, backup),
        };
        let elsewhere = replacement.directory().map(Path::to_owned);
        let mut written = Written::default();
        if elsewhere.is_some() || !self.is_in_place() {
            let done = replacement.write(|out| {
                self.filter().write_to(out)?;
                Ok(self.filter().encoded_len())
            })?;
            written.path = Some(done.path);
            written.backups.extend(done.backup);
        }
        match elsewhere {
            None => {
                if let Some((toc, kept)) = list_filter(sstable, backup)? {
                    written.others.push(toc);
                    written.backups.extend(kept);
                }
            }
            Some(directory) if sstable.scylla_db().is_some_and(|read| read.digests.is_some()) => {
                let (from, to) =
                    (sstable.path(SCYLLA), directory.join(format!("{}{SCYLLA}", sstable.prefix)));
                let new = with_filter_digest(&original(sstable)?, Some(self.digest()));
                let new = new.map_err(|e| FileError::decode(&from, e))?;
                replace(&to, |out| out.write_all(&new))?;
                written.others.push(to);
            }
            Some(_) => {}
        }
        Ok(written)
    }

    /// Whether the sstable has this filter already, and the components that must agree with it do: then
    /// nothing is written in place.
    pub fn is_done(&self) -> bool {
        let recorded = self.sstable.scylla_db().filter(|read| read.digests.is_some());
        let agrees = recorded.is_none_or(|read| read.filter_digest() == Some(self.digest()));
        agrees && self.sstable.lists(FILTER) != Some(false) && self.is_in_place()
    }

    /// As [`write`](Rebuilt::write), for programs that are the only ones to replace filters: locks the
    /// filter only now.
    pub fn save(&self, output: &Output) -> Result<Written, FileError> {
        self.write(Locked::new(self.sstable, output, || {})?)
    }

    /// The checksum that `Scylla.db` records.
    fn digest(&self) -> u32 {
        let mut crc = Crc::new();
        self.filter().write_to(&mut Summing(&mut crc)).expect("summing up cannot fail");
        crc.sum()
    }

    fn write_scylla(&self, mut lock: FileLock, backup: bool) -> Result<Written, FileError> {
        let sstable = self.sstable;
        let (filter, scylla_db) = (sstable.path(FILTER), sstable.path(SCYLLA));
        let digest = self.digest();
        let has_digests = sstable.scylla_db().is_some_and(|read| read.digests.is_some());
        let recorded = sstable.scylla_db().and_then(|read| read.filter_digest());
        let in_place = self.is_in_place();
        let agrees = !has_digests || recorded == Some(digest);
        if in_place && agrees && sstable.lists(FILTER) != Some(false) {
            let _ = fs::remove_dir(Staging::place(sstable)); // a run that was killed at its end left it empty
            return Ok(Written::default());
        }
        let staging = Staging::new(sstable)?;
        lock.temporary_in(&staging.path);
        let original = if has_digests { original(sstable)? } else { Vec::new() };
        let mut written = Written::default();
        if !in_place {
            if backup && sstable.has(FILTER) {
                written.backups = keep(sstable)?;
            } else if backup && is_created(sstable) {
                written.backups.push(keep_toc(sstable)?);
            }
            if recorded.is_some() {
                rewrite(&lock, &scylla_db, &original, None)?;
            }
            lock.like(&like(sstable));
            lock.replace(|out| self.filter().write_to(out))?;
            written.path = Some(filter);
        }
        if !has_digests {
            written.others.extend(list_in_scylla(&lock, sstable)?);
        } else if !in_place || !agrees {
            rewrite(&lock, &scylla_db, &original, Some(digest))?;
            written.others.push(scylla_db);
        }
        Ok(written)
    }
}

/// Puts the old filter of an sstable back, with what belongs to it, newest backup first; `None` if there is
/// no backup. Calls `waiting` once if another process has locked the filter. [`check`] must have been asked
/// first.
pub fn restore(sstable: &Sstable, waiting: impl FnOnce()) -> Result<Option<Written>, FileError> {
    let (filter, scylla_db) = (sstable.path(FILTER), sstable.path(SCYLLA));
    let toc = sstable.path(TOC);
    if sstable.engine() != Engine::Scylla {
        let is_created = newest_backup(sstable).is_some_and(|backup| backup.of_toc);
        let restored = replace::restore(if is_created { &toc } else { &filter }, waiting)?;
        return match restored {
            Some(_) if is_created => remove_created(filter, toc).map(Some),
            restored => Ok(restored.map(|_| Written { path: Some(filter), ..Written::default() })),
        };
    }
    let mut lock = FileLock::of_directory(&filter, waiting)?;
    let Some(kept) = Kept::newest(sstable) else { return Ok(None) };
    if kept.is_of_toc() {
        replace::move_over(&kept.toc, &toc)?;
        let _ = fs::remove_dir(&kept.directory); // other sstables may have backups there
        return remove_created(filter, toc).map(Some);
    }
    let staging = Staging::new(sstable)?;
    lock.temporary_in(&staging.path);
    let mut written = Written::default();
    if kept.filter.exists() {
        if sstable.has(SCYLLA) {
            rewrite(&lock, &scylla_db, &read(&scylla_db)?, None)?;
        }
        replace::move_over(&kept.filter, &filter)?;
    }
    written.path = Some(filter);
    if kept.scylla_db.exists() {
        replace::move_over(&kept.scylla_db, &scylla_db)?;
        written.others.push(scylla_db);
    }
    let _ = fs::remove_dir(&kept.directory); // other sstables may have backups there
    Ok(Some(written))
}

/// Removes a filter that a rebuild has created, after `TOC.txt` is as it was. In between, a starting node
/// loads a filter that is not listed, which does no harm.
fn remove_created(filter: PathBuf, toc: PathBuf) -> Result<Written, FileError> {
    match fs::remove_file(&filter) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(FileError::io(&filter, "remove", e)),
        _ => {}
    }
    Ok(Written { path: Some(filter), others: vec![toc], ..Written::default() })
}

/// The files that [`restore`] would put back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// The kept file.
    pub path: PathBuf,
    /// It is the `TOC.txt` from before a rebuild created the filter, which is removed.
    pub of_toc: bool,
}

/// The backup that [`restore`] would put back. A filter that was created is undone last: what was rebuilt
/// later is older then.
pub fn newest_backup(sstable: &Sstable) -> Option<Backup> {
    if sstable.engine() == Engine::Scylla {
        return Kept::newest(sstable).map(|kept| match kept.is_of_toc() {
            true => Backup { path: kept.toc, of_toc: true },
            false if kept.filter.exists() => Backup { path: kept.filter, of_toc: false },
            false => Backup { path: kept.scylla_db, of_toc: false },
        });
    }
    let newest = |component, of_toc| {
        replace::newest_backup(&sstable.path(component)).map(|path| Backup { path, of_toc })
    };
    newest(FILTER, false).or_else(|| newest(TOC, true))
}

/// A component that is there, whose owner, group and permissions a new one takes.
fn like(sstable: &Sstable) -> PathBuf {
    let there = [DATA, INDEX, PARTITIONS, STATISTICS].into_iter().find(|component| sstable.has(component));
    sstable.path(there.unwrap_or(FILTER))
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|e| FileError::io(path, "read", e))
}

/// `Scylla.db` with a digest of the filter: after an interrupted rebuild, the one that the backup has. So the
/// digest gets its old place, wherever the rebuild was interrupted.
fn original(sstable: &Sstable) -> Result<Vec<u8>, FileError> {
    let now = read(&sstable.path(SCYLLA))?;
    let kept = Kept::newest(sstable).and_then(|kept| fs::read(kept.scylla_db).ok());
    let before = kept.filter(|kept| with_filter_digest(kept, None).is_ok_and(|without| without == now));
    Ok(before.unwrap_or(now))
}

/// Replaces `Scylla.db` by `original` with another digest of the filter, or none.
fn rewrite(lock: &FileLock, scylla_db: &Path, original: &[u8], digest: Option<u32>) -> Result<(), FileError> {
    let new = with_filter_digest(original, digest).map_err(|e| FileError::decode(scylla_db, e))?;
    match new == read(scylla_db)? {
        true => Ok(()),
        false => lock.beside(scylla_db)?.replace(|out| out.write_all(&new)),
    }
}

/// `TOC.txt` with the filter in it; `None` if it lists it already, or is not there.
fn toc_with_filter(sstable: &Sstable) -> Result<Option<(PathBuf, Vec<u8>)>, FileError> {
    if sstable.lists(FILTER) != Some(false) {
        return Ok(None);
    }
    let path = sstable.path(TOC);
    let new = toc::with(&read(&path)?, FILTER);
    Ok(Some((path, new)))
}

/// Whether the sstable was written without a filter, so that a new one is an addition to its components.
fn is_created(sstable: &Sstable) -> bool {
    !sstable.has(FILTER) && sstable.lists(FILTER) == Some(false)
}

/// Adds the filter to a `TOC.txt` that does not list it. Returns its path if it was rewritten, and the old
/// one, which is kept only if the filter was created: it tells [`restore`] to remove the filter.
fn list_filter(sstable: &Sstable, backup: bool) -> Result<Option<(PathBuf, Option<PathBuf>)>, FileError> {
    let Some((path, new)) = toc_with_filter(sstable)? else { return Ok(None) };
    let output = Output::InPlace { backup: backup && is_created(sstable) };
    let written = Replacement::begin(&path, &output, || ())?.write(|out| {
        out.write_all(&new)?;
        Ok(new.len() as u64)
    })?;
    Ok(Some((path, written.backup)))
}

/// The same in a ScyllaDB table, whose directory is locked.
fn list_in_scylla(lock: &FileLock, sstable: &Sstable) -> Result<Option<PathBuf>, FileError> {
    let Some((path, new)) = toc_with_filter(sstable)? else { return Ok(None) };
    lock.beside(&path)?.replace(|out| out.write_all(&new))?;
    Ok(Some(path))
}

/// The directory for temporary files of a ScyllaDB table; removed again when it is empty.
struct Staging {
    path: PathBuf,
    /// `snapshots`, if it was not there before.
    made: Option<PathBuf>,
}

/// Where ScyllaDB and Cassandra keep copies of a table that a node does not load.
const SNAPSHOTS: &str = "snapshots";

impl Staging {
    fn place(sstable: &Sstable) -> PathBuf {
        sstable.directory.join(SNAPSHOTS).join("fullbloom-tmp")
    }

    fn new(sstable: &Sstable) -> Result<Staging, FileError> {
        let snapshots = sstable.directory.join(SNAPSHOTS);
        let made = (!snapshots.exists()).then(|| snapshots.clone());
        let path = Staging::place(sstable);
        make_directory(&path, &sstable.directory)?;
        Ok(Staging { path, made })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Not empty: another process is at work there, or left something. It stays, and does no harm.
        let _ = fs::remove_dir(&self.path);
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
    }
}

/// Creates a directory and those above it, with the owner and permissions of `like`: a node does not start if
/// it does not own everything below its data directory.
fn make_directory(path: &Path, like: &Path) -> Result<(), FileError> {
    let fail = |e| FileError::io(path, "create", e);
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.is_dir()) {
        make_directory(above, like)?;
    }
    match fs::create_dir(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(fail(e)),
        _ => {}
    }
    let meta = fs::metadata(like).map_err(fail)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let _ = chown(path, Some(meta.uid()), Some(meta.gid())); // only root may change the owner
    }
    fs::set_permissions(path, meta.permissions()).map_err(fail)
}

/// The backups of one ScyllaDB sstable: `snapshots/fullbloom-N/`, with the names of the components, so that
/// they can also be copied back by hand.
struct Kept {
    directory: PathBuf,
    filter: PathBuf,
    scylla_db: PathBuf,
    /// The `TOC.txt` from before the filter was created, alone in its directory.
    toc: PathBuf,
}

impl Kept {
    fn numbered(sstable: &Sstable, number: u32) -> Kept {
        let directory = sstable.directory.join(SNAPSHOTS).join(format!("{BACKUP_DIRECTORY}{number}"));
        let path = |component| directory.join(format!("{}{component}", sstable.prefix));
        Kept { filter: path(FILTER), scylla_db: path(SCYLLA), toc: path(TOC), directory }
    }

    fn exists(&self) -> bool {
        self.filter.exists() || self.scylla_db.exists() || self.toc.exists()
    }

    fn is_of_toc(&self) -> bool {
        self.toc.exists() && !self.filter.exists() && !self.scylla_db.exists()
    }

    /// The backup with the highest number.
    fn newest(sstable: &Sstable) -> Option<Kept> {
        let entries = fs::read_dir(sstable.directory.join(SNAPSHOTS)).ok()?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = names.filter_map(|name| name.strip_prefix(BACKUP_DIRECTORY)?.parse().ok());
        let kept = |number| Some(Kept::numbered(sstable, number)).filter(Kept::exists);
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.into_iter().rev().find_map(kept)
    }
}

/// The start of the names of directories with backups; a number follows.
pub(crate) const BACKUP_DIRECTORY: &str = "fullbloom-";

/// Keeps the old filter and its `Scylla.db`. An interrupted run's backup of the same filter is used again.
fn keep(sstable: &Sstable) -> Result<Vec<PathBuf>, FileError> {
    let (filter, scylla_db) = (sstable.path(FILTER), sstable.path(SCYLLA));
    for number in 1.. {
        let kept = Kept::numbered(sstable, number);
        if replace::is_second_name(&filter, &kept.filter) {
            return Ok([kept.scylla_db, kept.filter].into_iter().filter(|path| path.exists()).collect());
        }
        // A `Scylla.db` alone: an earlier run was interrupted before it kept the filter, too.
        let alone = kept.scylla_db.exists() && replace::is_second_name(&scylla_db, &kept.scylla_db);
        if kept.exists() && (!alone || kept.filter.exists()) {
            continue;
        }
        make_directory(&kept.directory, &sstable.directory)?;
        let link = |from: &Path, to: &Path| {
            replace::link_or_copy(from, to).map_err(|e| FileError::io(to, "save the backup", e))
        };
        // The filter last: a backup with a filter is complete.
        let mut paths = Vec::new();
        if sstable.has(SCYLLA) {
            if !alone {
                link(&scylla_db, &kept.scylla_db)?;
            }
            paths.push(kept.scylla_db);
        }
        link(&filter, &kept.filter)?;
        paths.push(kept.filter);
        return Ok(paths);
    }
    unreachable!("the loop has no end")
}

/// Keeps the `TOC.txt` of an sstable that was written without a filter.
fn keep_toc(sstable: &Sstable) -> Result<PathBuf, FileError> {
    let toc = sstable.path(TOC);
    let free = |kept: &Kept| !kept.exists() || kept.is_of_toc() && replace::is_second_name(&toc, &kept.toc);
    let kept = (1..).map(|number| Kept::numbered(sstable, number)).find(free).expect("numbers do not end");
    make_directory(&kept.directory, &sstable.directory)?;
    if !kept.toc.exists() {
        let failed = |e| FileError::io(&kept.toc, "save the backup", e);
        replace::link_or_copy(&toc, &kept.toc).map_err(failed)?;
    }
    Ok(kept.toc)
}

/// Sums up what is written.
struct Summing<'a>(&'a mut Crc);

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether `Scylla.db` has checksums but none of the filter that is there: a rebuild was interrupted.
pub(crate) fn is_interrupted(sstable: &Sstable) -> bool {
    let digests = sstable.scylla_db().and_then(|read| read.digests.as_ref());
    sstable.has(FILTER)
        && sstable.lists(FILTER) == Some(true)
        && digests
            .is_some_and(|digests| digests.iter().all(|digest| digest.component != scylla::FILTER_NUMBER))
}
