//! Replaces an engine's file (a `Filter.db`, a table) atomically by a new one, and keeps the old one. The
//! file is [locked](crate::file_lock) from before the old one is read until the new one is in place.
//!
//! A crash at any moment leaves the old or the new file, never none:
//!
//! 1. the old file gets a second name (a hard link; a copy where the file system has no links), and the
//!    directory is flushed;
//! 2. the new file is written beside it and flushed;
//! 3. the new file is renamed over the old name, and the directory is flushed.
//!
//! Snapshots are hard links to the old file and keep it.

use crate::file_lock::FileLock;
use fullbloom_core::error::FileError;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Where a new file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// In place of the old one.
    InPlace {
        /// Keep the old one under another name.
        backup: bool,
    },
    /// Into this directory, under the same name.
    Into(PathBuf),
}

/// The result of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The new file.
    pub path: PathBuf,
    /// The old file's new name.
    pub backup: Option<PathBuf>,
    /// Bytes of the new file.
    pub bytes: u64,
}

/// A file that is going to be written to the place that an [`Output`] names. Other processes that replace the
/// same file wait until it is dropped.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    /// The directory it is written into, if not in place.
    into: Option<PathBuf>,
    backup: bool,
    lock: FileLock,
}

impl Replacement {
    /// Claims the file, before the old one is read. `old` is the path of the old file, which may not exist.
    /// Calls `waiting` once if another process has locked it.
    pub fn begin(old: &Path, output: &Output, waiting: impl FnOnce()) -> Result<Replacement, FileError> {
        let (path, into, backup) = match output {
            Output::Into(directory) => (into(directory, old)?, Some(directory.clone()), false),
            Output::InPlace { backup } => (old.to_owned(), None, *backup),
        };
        let lock = FileLock::wait(&path, waiting)?;
        Ok(Replacement { path, into, backup, lock })
    }

    /// If there is no old file, the new one takes owner, group and permissions from this one.
    pub fn like(mut self, other: &Path) -> Replacement {
        self.lock.like(other);
        self
    }

    /// The directory that the file is written into; `None` in place.
    pub fn directory(&self) -> Option<&Path> {
        self.into.as_deref()
    }

    /// The lock of the file.
    pub fn lock(&self) -> &FileLock {
        &self.lock
    }

    /// Writes the file. `write` produces the bytes and returns their number.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<u64>,
    ) -> Result<Written, FileError> {
        // Symbolic links are followed first: the file they point to is replaced, so that file is backed up.
        let backup = if self.backup { keep(self.lock.place())? } else { None };
        let mut bytes = 0;
        let replaced = self.lock.replace(|out| {
            bytes = write(out)?;
            Ok(())
        });
        if let Err(e) = replaced {
            if let (Some(backup), false) = (&backup, e.is_in_place()) {
                let _ = fs::remove_file(backup); // a second name for a file that is still in place
            }
            return Err(e);
        }
        Ok(Written { path: self.path, backup, bytes })
    }
}

/// The path of the same name in another directory.
fn into(directory: &Path, old: &Path) -> Result<PathBuf, FileError> {
    match old.file_name() {
        Some(name) => Ok(directory.join(name)),
        None => Err(FileError::io(old, "save", io::ErrorKind::InvalidInput.into())),
    }
}

/// Gives the old file a second name; `None` if there is no old file.
fn keep(target: &Path) -> Result<Option<PathBuf>, FileError> {
    match fs::metadata(target) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Ok(None), // not a regular file: the replacement refuses it
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(FileError::io(target, "back up", e)),
    }
    for number in 1.. {
        let name = backup_name(target, number);
        match link_or_copy(target, &name) {
            Ok(()) => return Ok(Some(name)),
            // An earlier run was interrupted after this step: the second name already exists.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_second_name(target, &name) => {
                return Ok(Some(name));
            }
            // An older backup is kept too: it may be the original file.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(FileError::io(&name, "save the backup", e)),
        }
    }
    unreachable!("the loop has no end")
}

/// The newest backup of a file: the one with the highest number. `None` if there is none.
pub fn newest_backup(target: &Path) -> Option<PathBuf> {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let backups = (1..).map(|number| backup_name(&target, number));
    backups.take_while(|name| fs::symlink_metadata(name).is_ok()).last()
}

/// Puts the newest backup of a file back in its place, by one rename. Returns the backup's name; `None` if
/// there is no backup. Calls `waiting` once if another process has locked the file.
pub fn restore(target: &Path, waiting: impl FnOnce()) -> Result<Option<PathBuf>, FileError> {
    let lock = FileLock::wait(target, waiting)?;
    let Some(backup) = newest_backup(lock.place()) else { return Ok(None) };
    move_over(&backup, lock.place())?;
    Ok(Some(backup))
}

/// Renames a file over another and flushes the directory.
pub fn move_over(from: &Path, to: &Path) -> Result<(), FileError> {
    let fail = |e| FileError::io(to, "restore", e);
    fs::rename(from, to).map_err(fail)?;
    // Renaming one name of a file over another of the same file does nothing.
    if is_second_name(from, to) {
        fs::remove_file(from).map_err(fail)?;
    }
    flush_directory_of(to).map_err(|e| FileError::io(to, "flush the directory of", e))
}

fn flush_directory_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(directory) = path.parent() {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        File::open(directory)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// `nb-1-big-Filter.db` becomes `nb+1+big+Filter.db.backup`, then `….backup.2`.
///
/// Cassandra takes every name with the right number of dashes for an sstable component, whatever its last
/// part. No release takes a name without dashes for one.
fn backup_name(target: &Path, number: u32) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().replace('-', "+");
    let suffix = if number == 1 { String::new() } else { format!(".{number}") };
    target.with_file_name(format!("{name}.backup{suffix}"))
}

/// Creates a second name for the same bytes and flushes it to the disk; never overwrites a file.
pub fn link_or_copy(target: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(target, name) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
        Err(_) => copy(target, name)?,
    }
    flush_directory_of(name)
}

/// Whether two paths name the same file, through links of either kind.
#[cfg(unix)]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether two paths name the same file, through symbolic links.
#[cfg(not(unix))]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Whether `name` is a hard link to the target.
pub fn is_second_name(target: &Path, name: &Path) -> bool {
    cfg!(unix) && !name.is_symlink() && is_same_file(target, name)
}

fn copy(target: &Path, name: &Path) -> io::Result<()> {
    let mut from = File::open(target)?;
    let mut to = OpenOptions::new().write(true).create_new(true).open(name)?;
    let copied = io::copy(&mut from, &mut to).and_then(|_| to.sync_all());
    if copied.is_err() {
        let _ = fs::remove_file(name); // half a copy is useless
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const NEW: &[u8] = b"the bytes of a new filter";

    fn write_new(old: &Path, output: &Output) -> Result<Written, FileError> {
        Replacement::begin(old, output, || {})?.write(|out| out.write_all(NEW).map(|()| NEW.len() as u64))
    }

    #[test]
    fn the_old_file_is_kept_under_a_name_without_dashes_and_older_backups_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nb-1-big-Filter.db");
        fs::write(&path, b"first").unwrap();
        let written = write_new(&path, &Output::InPlace { backup: true }).unwrap();
        assert_eq!(
            written.backup.as_deref(),
            Some(&*dir.path().canonicalize().unwrap().join("nb+1+big+Filter.db.backup"))
        );
        assert_eq!(fs::read(&path).unwrap(), NEW);
        assert_eq!(written.bytes, NEW.len() as u64);
        fs::write(&path, b"second").unwrap();
        write_new(&path, &Output::InPlace { backup: true }).unwrap();
        assert_eq!(
            names(dir.path()),
            ["nb+1+big+Filter.db.backup", "nb+1+big+Filter.db.backup.2", "nb-1-big-Filter.db"]
        );
        assert_eq!(fs::read(dir.path().join("nb+1+big+Filter.db.backup")).unwrap(), b"first");
        assert_eq!(fs::read(dir.path().join("nb+1+big+Filter.db.backup.2")).unwrap(), b"second");
    }

    #[test]
    fn without_an_old_file_or_when_none_is_requested_there_is_no_backup() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nb-1-big-Filter.db");
        assert_eq!(write_new(&path, &Output::InPlace { backup: true }).unwrap().backup, None);
        assert_eq!(write_new(&path, &Output::InPlace { backup: false }).unwrap().backup, None);
        assert_eq!(names(dir.path()), ["nb-1-big-Filter.db"]);
    }

    #[test]
    fn a_run_interrupted_after_the_backup_does_not_lead_to_a_second_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nb-1-big-Filter.db");
        fs::write(&path, b"old").unwrap();
        fs::hard_link(&path, dir.path().join("nb+1+big+Filter.db.backup")).unwrap();
        write_new(&path, &Output::InPlace { backup: true }).unwrap();
        let expected = if cfg!(unix) { 2 } else { 3 };
        assert_eq!(names(dir.path()).len(), expected);
        assert_eq!(fs::read(dir.path().join("nb+1+big+Filter.db.backup")).unwrap(), b"old");
    }

    #[test]
    fn a_full_disk_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nb-1-big-Filter.db");
        fs::write(&path, b"old").unwrap();
        assert!(
            Replacement::begin(&path, &Output::InPlace { backup: true }, || {})
                .unwrap()
                .write(|out| {
                    out.write_all(&[7; 100_000])?;
                    Err(io::ErrorKind::StorageFull.into())
                })
                .is_err()
        );
        assert_eq!(names(dir.path()), ["nb-1-big-Filter.db"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn another_directory_leaves_the_old_file_alone() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = dir.path().join("nb-1-big-Filter.db");
        fs::write(&path, b"old").unwrap();
        let written = write_new(&path, &Output::Into(other.path().to_owned())).unwrap();
        assert_eq!(written.path, other.path().join("nb-1-big-Filter.db"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read(&written.path).unwrap(), NEW);
        assert!(write_new(&path, &Output::Into(other.path().join("none"))).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_its_target_replaced_and_the_backup_holds_the_old_bytes() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (path, real) = (dir.path().join("nb-1-big-Filter.db"), other.path().join("real"));
        fs::write(&real, b"old").unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        let written = write_new(&path, &Output::InPlace { backup: true }).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), NEW);
        assert_eq!(fs::read(written.backup.unwrap()).unwrap(), b"old");
    }

    #[test]
    fn the_newest_backup_goes_back_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nb-1-big-Filter.db");
        fs::write(&path, b"first").unwrap();
        write_new(&path, &Output::InPlace { backup: true }).unwrap();
        fs::write(&path, b"second").unwrap();
        write_new(&path, &Output::InPlace { backup: true }).unwrap();
        for expected in [&b"second"[..], b"first"] {
            assert!(restore(&path, || {}).unwrap().is_some());
            assert_eq!(fs::read(&path).unwrap(), expected);
        }
        assert_eq!(restore(&path, || {}).unwrap(), None);
        assert_eq!(names(dir.path()), ["nb-1-big-Filter.db"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_takes_its_permissions_from_another_one() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (path, like) = (dir.path().join("nb-1-big-Filter.db"), dir.path().join("nb-1-big-Data.db"));
        fs::write(&like, b"data").unwrap();
        fs::set_permissions(&like, fs::Permissions::from_mode(0o640)).unwrap();
        let replacement = Replacement::begin(&path, &Output::InPlace { backup: true }, || {}).unwrap();
        replacement.like(&like).write(|out| out.write_all(NEW).map(|()| 1)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
