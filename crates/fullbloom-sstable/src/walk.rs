//! Finding the sstables of a data directory.

use crate::replace::BACKUP_DIRECTORY;
use crate::sstable::{DATA, FILTER, Sstable, group};
use fullbloom::FileError;
use std::fs;
use std::path::{Path, PathBuf};

/// Which directories are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Also directories called `snapshots` and `backups`: they hold links to sstables of the past, which a
    /// node does not load. A directory given by the caller is always searched.
    pub snapshots: bool,
}

/// The sstables of a directory, and what was left out.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Walk {
    /// By keyspace, table and generation.
    pub sstables: Vec<Sstable>,
    /// Files that were not looked into, sorted by path.
    pub skipped: Vec<Skipped>,
}

impl Walk {
    /// One sstable, and nothing left out.
    pub fn of(sstable: Sstable) -> Walk {
        Walk { sstables: vec![sstable], skipped: Vec::new() }
    }
}

/// Something that was left out.
#[derive(Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The path that was skipped.
    pub path: PathBuf,
    /// Why it was skipped.
    pub why: Why,
}

/// Why something was left out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// It could not be read.
    Unreadable(FileError),
    /// It is a symbolic link to a directory: following it could lead anywhere, or in a circle.
    Link,
    /// It holds copies that a node does not load.
    Snapshots,
    /// Its name has unknown version letters, which this sentence names.
    UnknownVersion(String),
    /// It was still being written (up to 2.2), or is left over from an interrupted write.
    Temporary,
}

/// The sstables of a directory and all below it; or the one sstable that a file is a component of.
pub fn find(path: &Path, options: Options) -> Result<Walk, FileError> {
    let meta = fs::metadata(path).map_err(|e| FileError::io(path, "open", e))?;
    if meta.is_dir() {
        return walk(path, options);
    }
    Ok(Walk { sstables: vec![Sstable::of_file(path)?], skipped: Vec::new() })
}

/// The sstables of a directory and all below it. Only the directory itself must be readable: what cannot be
/// read below it is listed as skipped.
pub fn walk(root: &Path, options: Options) -> Result<Walk, FileError> {
    let mut found = Walk::default();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        match look_into(&directory, options, &mut directories, &mut found) {
            Ok(()) => {}
            Err(e) if directory == root => return Err(e),
            Err(e) => found.skipped.push(Skipped { path: directory, why: Why::Unreadable(e) }),
        }
    }
    found.sstables.sort_by(Sstable::listed_before);
    found.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// A directory with filters that a rebuild has replaced.
fn is_our_backup(path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    name(path).is_some_and(|name| name.starts_with(BACKUP_DIRECTORY))
        && path.parent().and_then(name).as_deref() == Some("snapshots")
}

fn look_into(
    directory: &Path,
    options: Options,
    below: &mut Vec<PathBuf>,
    found: &mut Walk,
) -> Result<(), FileError> {
    let fail = |e| FileError::io(directory, "read", e);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(fail)?);
        let copies = matches!(entry.file_name().to_str(), Some("snapshots" | "backups"));
        if kind.is_dir() && is_our_backup(&path) {
            continue;
        }
        let why = if kind.is_dir() && copies && !options.snapshots {
            Why::Snapshots
        } else if kind.is_dir() {
            below.push(path);
            continue;
        } else if kind.is_symlink() && path.is_dir() {
            Why::Link
        } else {
            // Opening it reports whether it is a regular file. Names that are not text are not those of
            // sstables.
            names.extend(entry.file_name().into_string());
            continue;
        };
        found.skipped.push(Skipped { path, why });
    }
    let group = group(directory, names.into_iter());
    found.sstables.extend(group.sstables);
    let unknown: Vec<&str> = group.unknown.iter().map(|(name, _)| name.as_str()).collect();
    for (name, why) in group.unknown.iter().filter(|(name, _)| stands_for_sstable(name, &unknown)) {
        found.skipped.push(Skipped { path: directory.join(name), why: Why::UnknownVersion(why.clone()) });
    }
    let temporary: Vec<&str> = group.temporary.iter().map(String::as_str).collect();
    for name in temporary.iter().filter(|name| stands_for_sstable(name, &temporary)) {
        found.skipped.push(Skipped { path: directory.join(name), why: Why::Temporary });
    }
    Ok(())
}

/// Whether this file is the one that is reported for its sstable, so that there is one line for an sstable,
/// not one for each of its ten files: the filter, or without a filter the data.
fn stands_for_sstable(name: &str, all: &[&str]) -> bool {
    let filter = || name.strip_suffix(DATA).map(|prefix| format!("{prefix}{FILTER}"));
    name.ends_with(FILTER) || filter().is_some_and(|filter| !all.contains(&filter.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
    }

    fn paths(walk: &Walk, root: &Path) -> Vec<String> {
        let relative =
            |s: &Sstable| s.directory.join(&s.prefix).strip_prefix(root).unwrap().display().to_string();
        walk.sstables.iter().map(relative).collect()
    }

    #[test]
    fn a_data_directory_is_walked_in_order_and_copies_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let id = "1b255f4def2540a60000000000000005";
        for name in ["nb-10-big-Filter.db", "nb-9-big-Filter.db", "snapshots/s/nb-1-big-Filter.db"] {
            touch(&dir.path().join(format!("ks/t-{id}")).join(name));
        }
        touch(&dir.path().join("ks/a/.idx/da-3gu5_0r5n_1bqpc2nzgrsg2y8jyj-bti-Filter.db"));
        touch(&dir.path().join("ks/a/xx-1-big-Data.db"));
        touch(&dir.path().join("old/old-cf-tmp-hd-1-Data.db"));
        let walked = walk(dir.path(), Options::default()).unwrap();
        let t = format!("ks/t-{id}/");
        assert_eq!(
            paths(&walked, dir.path()),
            [
                "ks/a/.idx/da-3gu5_0r5n_1bqpc2nzgrsg2y8jyj-bti-".to_owned(),
                format!("{t}nb-9-big-"),
                format!("{t}nb-10-big-")
            ]
        );
        assert_eq!(walked.sstables[0].table_name(), "ks.a.idx");
        assert_eq!(walked.sstables[1].table_id.as_deref(), Some(id));
        let why: Vec<_> = walked.skipped.iter().map(|s| format!("{:?}", s.why)).collect();
        let unknown = r#"UnknownVersion("unknown sstable version \"xx\" of format big")"#;
        assert_eq!(why, [unknown, "Snapshots", "Temporary"]);
        let all = walk(dir.path(), Options { snapshots: true }).unwrap();
        assert_eq!(all.sstables.len(), 4);
        assert_eq!(all.sstables[3].table_name(), "ks.t");
        let inside = walk(&dir.path().join(&t).join("snapshots/s"), Options::default()).unwrap();
        assert_eq!(inside.sstables.len(), 1, "a directory that is asked for is looked into");
    }

    #[cfg(unix)]
    #[test]
    fn links_to_directories_are_not_followed_and_an_unreadable_one_does_not_stop_the_rest() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        touch(&dir.path().join("ks/t/nb-1-big-Filter.db"));
        symlink(dir.path(), dir.path().join("ks/t/loop")).unwrap();
        symlink("nowhere", dir.path().join("ks/t/nb-2-big-Filter.db")).unwrap();
        let closed = dir.path().join("ks/closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let readable_by_root = fs::read_dir(&closed).is_ok();
        let walked = walk(dir.path(), Options::default()).unwrap();
        assert_eq!(paths(&walked, dir.path()), ["ks/t/nb-1-big-", "ks/t/nb-2-big-"]);
        let links = walked.skipped.iter().filter(|s| matches!(s.why, Why::Link)).count();
        let unreadable = walked.skipped.iter().filter(|s| matches!(s.why, Why::Unreadable(_))).count();
        assert_eq!((links, unreadable), (1, usize::from(!readable_by_root)));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn a_file_stands_for_its_sstable_and_other_files_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["nb-1-big-Filter.db", "nb-1-big-Index.db", "nb-11-big-Index.db", "notes.txt"] {
            touch(&dir.path().join(name));
        }
        let found = find(&dir.path().join("nb-1-big-Filter.db"), Options::default()).unwrap();
        assert_eq!(found.sstables[0].components.len(), 2);
        assert!(find(&dir.path().join("notes.txt"), Options::default()).is_err());
        assert!(find(&dir.path().join("nb-7-big-Filter.db"), Options::default()).is_err());
        assert!(walk(&dir.path().join("nb-1-big-Filter.db"), Options::default()).is_err());
    }
}
