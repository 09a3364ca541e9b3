//! Where the bytes of a Parquet file come from.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Random access to the bytes of a file.
pub trait Source: Send + Sync + 'static {
    /// How many bytes there are.
    fn byte_len(&self) -> u64;

    /// The bytes `at .. at + len`; the caller has compared them with [`byte_len`](Source::byte_len).
    fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>>;
}

impl Source for Vec<u8> {
    fn byte_len(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let part = usize::try_from(at).ok().and_then(|at| self.get(at..at.checked_add(len)?));
        part.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A file on disk, with its length when it was opened.
pub(crate) struct OnDisk {
    pub(crate) file: fs::File,
    pub(crate) len: u64,
}

impl Source for OnDisk {
    fn byte_len(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; len]; // at most the length of the file
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// The same source for the parquet crate and for us.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Arc<dyn Source>);

impl Shared {
    /// Up to `len` bytes from `at`, as many as there are.
    pub(crate) fn read(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let len = len.min(self.0.byte_len().saturating_sub(at));
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if len == 0 { Ok(Vec::new()) } else { self.0.read(at, len) }
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.byte_len()
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Reading>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<BufReader<Reading>> {
        Ok(BufReader::new(Reading { source: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, len: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.read(start, len as u64)?;
        if bytes.len() < len {
            return Err(ParquetError::EOF(format!("{len} bytes at byte {start}")));
        }
        Ok(bytes.into())
    }
}

/// Reads on from a position.
pub(crate) struct Reading {
    source: Shared,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(self.at, out.len() as u64)?;
        out[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
}
