//! Whether a ScyllaDB node runs on the data directory of an sstable.
//!
//! A node holds a lock on the file `.lock` in each of its data directories while it runs, and removes the
//! file when it ends. A killed node leaves the file, but not the lock.

use std::fs;
use std::path::{Path, PathBuf};

/// How far above a table's directory its data directory can be: keyspace, table, and `staging` or a snapshot.
const ABOVE: usize = 5;

/// The lock file that a running node holds.
pub(crate) fn held_lock(directory: &Path) -> Option<PathBuf> {
    let whole = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    whole.ancestors().take(ABOVE).map(|above| above.join(".lock")).find(|lock| is_held(lock))
}

#[cfg(unix)]
fn is_held(lock: &Path) -> bool {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let Ok(file) = fs::File::open(lock) else { return false };
    fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).is_ok_and(|holder| holder.is_some())
}

#[cfg(not(unix))]
fn is_held(_: &Path) -> bool {
    false // ScyllaDB runs on Linux only
}
