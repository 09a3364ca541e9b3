//! Where a table's bytes come from: memory, a file read piece by piece, or a mapped file.
//!
//! ```text
//!   Table ── read(offset, len) ──► Source:  &[u8], Vec<u8>, Arc<[u8]>   borrowed, no copy
//!                                           PlainFile                   one positioned read per block
//!                                           Mapped                      borrowed from the mapping
//! ```

use fullbloom::storage::Mapped;
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Random access to the bytes of a table.
pub trait Source: Send + Sync {
    /// The number of bytes in the source.
    fn byte_len(&self) -> u64;

    /// The bytes `offset .. offset + len`; the caller has compared them with [`byte_len`](Source::byte_len).
    /// A source that has become shorter since then answers with an error.
    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>>;
}

fn slice_of(bytes: &[u8], offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
    let start = usize::try_from(offset).ok();
    let range = start.and_then(|start| Some(start..start.checked_add(len)?));
    match range.and_then(|range| bytes.get(range)) {
        Some(part) => Ok(Cow::Borrowed(part)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Source for [u8] {
    fn byte_len(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        slice_of(self, offset, len)
    }
}

impl Source for Vec<u8> {
    fn byte_len(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        slice_of(self, offset, len)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn byte_len(&self) -> u64 {
        (**self).byte_len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        (**self).read(offset, len)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn byte_len(&self) -> u64 {
        (**self).byte_len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        (**self).read(offset, len)
    }
}

impl<S: Source + ?Sized> Source for Arc<S> {
    fn byte_len(&self) -> u64 {
        (**self).byte_len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        (**self).read(offset, len)
    }
}

/// A file read piece by piece. If another process truncates it, reads return an error.
#[derive(Debug)]
pub struct PlainFile {
    file: File,
    len: u64,
}

impl PlainFile {
    /// Opens a regular file and refuses others, because a table needs random access.
    pub fn open(path: &Path) -> io::Result<PlainFile> {
        // Checked before opening, because opening a pipe waits for its writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(PlainFile { file, len })
    }
}

impl Source for PlainFile {
    fn byte_len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        bytes.resize(len, 0);
        read_exact_at(&self.file, &mut bytes, offset)?;
        Ok(Cow::Owned(bytes))
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (bytes, offset) = (&mut bytes[n..], offset + n as u64),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

impl Source for Mapped {
    fn byte_len(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Cow<'_, [u8]>> {
        slice_of(self.as_ref(), offset, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_gives_the_same_bytes_and_refuses_what_is_not_there() {
        let bytes: Vec<u8> = (0..=255).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, &bytes).unwrap();
        let sources: [Box<dyn Source>; 4] = [
            Box::new(bytes.clone()),
            Box::new(Arc::<[u8]>::from(&bytes[..])),
            Box::new(PlainFile::open(&path).unwrap()),
            Box::new(Mapped::open(&path).unwrap()),
        ];
        for source in sources {
            assert_eq!(source.byte_len(), 256);
            assert_eq!(*source.read(10, 4).unwrap(), [10, 11, 12, 13]);
            assert_eq!(*source.read(256, 0).unwrap(), []);
            assert!(source.read(250, 7).is_err());
            assert!(source.read(u64::MAX, 2).is_err());
        }
        assert!(PlainFile::open(dir.path()).is_err());
        assert!(Mapped::open(dir.path()).is_err());
    }
}
