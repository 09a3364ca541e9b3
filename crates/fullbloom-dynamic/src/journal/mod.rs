//! The journal of a dynamic filter's file: keys that were saved since the file was written.
//!
//! ```text
//!   seen.bloom            the file: a whole filter
//!   seen.bloom.journal    | header 80 | frame | frame | ...     hashes of keys inserted since
//! ```
//!
//! A save of a few keys appends a frame instead of writing the whole filter again. The header names the exact
//! bytes that the journal extends, by a hash of the file's header, which holds the checksums of everything
//! else. A journal of any other file is never applied. When the journal has grown to a share of the file, a
//! new file takes the place of the old one, and the journal, which no longer fits, is removed.
//!
//! Every reader of a path sees the keys of its journal: [`DynamicFilter::load`](crate::DynamicFilter::load),
//! [`DynamicFilter::open`](crate::DynamicFilter::open), and those of the crate `fullbloom-any`. Code that
//! reads the bytes in another way calls [`read_with_journal`] and [`Journal::replay`].
//!
//! The header is sealed before a save is reported as done: it says how many frames there are, and where they
//! end. After a crash, bytes after that may be incomplete: they are cut off. Damage anywhere else is an
//! error, also in the last frame.

mod frames;
mod read;
mod write;

pub use read::{Journal, read_with_journal};
pub use write::JournalWriter;

use fullbloom_core::native::format::MAGIC;

/// What a journal extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base {
    /// The hash of the file's header.
    header: u64,
    /// The file's length.
    len: u64,
}

impl Base {
    /// The identity of a file, of which at least the header is in `bytes`; `None` if it is not a native
    /// filter.
    fn of(bytes: &[u8], len: u64) -> Option<Base> {
        let header = bytes.get(..header_len(bytes)?)?;
        Some(Base { header: fullbloom_core::hash::xxh64(header), len })
    }
}

/// The length of the header of a native file.
fn header_len(bytes: &[u8]) -> Option<usize> {
    let len = bytes.get(16..20).filter(|_| bytes.starts_with(MAGIC))?;
    usize::try_from(u32::from_le_bytes(len.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests;
