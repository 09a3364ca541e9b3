//! Files for filters: one writer at a time, atomic replacement, backups, and files mapped into memory.

pub mod claim;
pub mod file;
pub mod replace;

pub use claim::Claim;
#[cfg(feature = "mmap")]
pub use file::Mapped;
pub use file::{read, replace, save};
