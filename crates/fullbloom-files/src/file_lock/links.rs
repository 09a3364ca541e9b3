//! Follows the symbolic links at the end of a path that a file will be written to.
//!
//! In a directory like `/tmp`, everybody can put a link under the name that somebody else is going to write
//! to. A process of root that follows it replaces a file of the attacker's choice. So such a link is followed
//! only by the rule of Linux (`fs.protected_symlinks`). We cannot leave it to the kernel: it looks at a link
//! when a file is opened, and not when another file is renamed over the link's target; other systems, and
//! Linux with that setting off, do not look at all.

use super::split;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// As many links as Linux follows.
const MOST: u32 = 40;

/// Where the links at the end of `path` lead: a path that is not a link, or names nothing.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let link = match fs::symlink_metadata(&path) {
            Ok(link) if link.is_symlink() => link,
            _ => return Ok(path),
        };
        let (directory, _) = split(&path)?;
        require_trusted(&path, &link)?;
        path = directory.join(fs::read_link(&path)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Refuses a link in a sticky directory that everybody can write to, unless it belongs to this process's user
/// or to the owner of the directory.
#[cfg(unix)]
fn require_trusted(path: &Path, link: &Metadata) -> io::Result<()> {
    use super::temporary::Temporary;
    use std::os::unix::fs::MetadataExt;
    const STICKY_AND_WRITABLE_BY_ALL: u32 = 0o1002;
    let (directory, name) = split(path)?;
    let within = fs::metadata(directory)?;
    let is_shared = within.mode() & STICKY_AND_WRITABLE_BY_ALL == STICKY_AND_WRITABLE_BY_ALL;
    if !is_shared || link.uid() == within.uid() {
        return Ok(());
    }
    // The standard library does not know the effective user, but a new file belongs to that user.
    let own = Temporary::create(directory, name, None, true)?.file.metadata()?;
    if link.uid() == own.uid() {
        return Ok(());
    }
    let why = format!(
        "{} is a symbolic link of another user in a directory that everybody can write to",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Other systems have no such directories.
#[cfg(not(unix))]
fn require_trusted(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}
