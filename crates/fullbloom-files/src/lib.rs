//! Files for filters: one writer at a time, atomic replacement, backups, and files mapped into memory.

pub mod file;
pub mod file_lock;
pub mod replace;

#[cfg(feature = "mmap")]
pub use file::Mapped;
pub use file::{read, replace, save};
pub use file_lock::FileLock;
