//! The memory of the lines: pages that shards take and give back.

use super::shape::PAGE;
use crate::bits::Owned;
use crate::error::SizeError;
use crate::kernel::lines::Line;
use alloc::vec::Vec;

/// Pages of a chunk: 4 MiB, for which huge pages are requested.
const CHUNK_PAGES: u64 = 256;

/// Lines and bytes of a chunk.
const CHUNK_LINES: usize = (CHUNK_PAGES * PAGE) as usize;
const CHUNK_LEN: usize = CHUNK_LINES * 64;

/// Lines with numbers, in a few large chunks. A page is [`PAGE`] lines in a row, from any number on.
#[derive(Debug, Default)]
pub(super) struct Pool {
    chunks: Vec<Owned>,
    /// The first lines of pages that nobody uses.
    free: Vec<u32>,
}

impl Pool {
    /// Exactly this many lines, all in use: 0, 1, 2 …
    pub(super) fn exact(lines: u64) -> Result<Pool, SizeError> {
        let count = lines.div_ceil(CHUNK_LINES as u64);
        let mut chunks = Vec::new();
        let memory = |_| SizeError::Memory { bytes: count * size_of::<Owned>() as u64 };
        chunks.try_reserve_exact(count as usize).map_err(memory)?;
        for first in (0..lines).step_by(CHUNK_LINES) {
            chunks.push(Owned::zeroed((lines - first).min(CHUNK_LINES as u64) * 64)?);
        }
        Ok(Pool { chunks, free: Vec::new() })
    }

    /// Takes a page: its first line. Its lines are those of its last user, or zero.
    pub(super) fn take(&mut self) -> Result<u32, SizeError> {
        if let Some(page) = self.free.pop() {
            return Ok(page);
        }
        let memory = |_| SizeError::Memory { bytes: CHUNK_PAGES * 4 };
        self.free.try_reserve(CHUNK_PAGES as usize * (self.chunks.len() + 1)).map_err(memory)?;
        // In the first chunk, most of which small filters do not need, untouched pages cost nothing.
        self.chunks.push(match self.chunks.len() {
            0 => Owned::zeroed_in_small_pages(CHUNK_LEN)?,
            _ => Owned::zeroed(CHUNK_LEN as u64)?,
        });
        let first = (self.chunks.len() - 1) * CHUNK_LINES;
        self.free.extend((first..first + CHUNK_LINES).step_by(PAGE as usize).rev().map(|line| line as u32));
        Ok(self.free.pop().expect("a chunk has pages"))
    }

    /// Gives a page back.
    pub(super) fn give(&mut self, first: u32) {
        self.free.push(first);
    }

    /// A line by its number.
    #[inline(always)]
    pub(super) fn line(&self, number: u32) -> &Line {
        &self.chunks[number as usize / CHUNK_LINES].as_ref().as_chunks().0[number as usize % CHUNK_LINES]
    }

    #[inline(always)]
    pub(super) fn line_mut(&mut self, number: u32) -> &mut Line {
        let chunk = self.chunks[number as usize / CHUNK_LINES].as_mut().as_chunks_mut().0;
        &mut chunk[number as usize % CHUNK_LINES]
    }

    /// Bytes of the lines in use.
    pub(super) fn byte_len(&self) -> u64 {
        let all: usize = self.chunks.iter().map(|chunk| chunk.as_ref().len()).sum();
        all as u64 - self.free.len() as u64 * PAGE * 64
    }
}
