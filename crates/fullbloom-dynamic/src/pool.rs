//! The memory of the lines: pages that shards take and return.

use super::shape::PAGE;
use alloc::vec::Vec;
use fullbloom_core::bits::Owned;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::lines::Line;

/// Pages of a chunk: 4 MiB, for which huge pages are requested.
const CHUNK_PAGES: u64 = 256;

/// Lines and bytes of a chunk.
const CHUNK_LINES: usize = (CHUNK_PAGES * PAGE) as usize;
const CHUNK_LEN: usize = CHUNK_LINES * 64;

/// Lines with numbers: first those that were there from the beginning, then chunks. A page is [`PAGE`] lines
/// in a row, from any number on.
#[derive(Debug)]
pub(crate) struct Pool {
    first: Owned,
    chunks: Vec<Owned>,
    /// The first lines of unused pages.
    free: Vec<u32>,
}

impl Pool {
    /// A pool of exactly this many lines, all in use, with the numbers 0, 1, 2 …
    pub(crate) fn exact(lines: u64) -> Result<Pool, SizeError> {
        Ok(Pool { first: Owned::zeroed(lines * 64)?, chunks: Vec::new(), free: Vec::new() })
    }

    /// Takes a page, and returns the number of its first line. The page is not cleared: it may hold stale lines.
    pub(crate) fn take(&mut self) -> Result<u32, SizeError> {
        #[cfg(test)]
        if refusing::is_now() {
            return Err(SizeError::Memory { bytes: CHUNK_PAGES * PAGE * 64 });
        }
        if let Some(page) = self.free.pop() {
            return Ok(page);
        }
        let memory = |_| SizeError::Memory { bytes: CHUNK_PAGES * 4 };
        // So that pages can always be given back.
        let pages = self.first().len() / PAGE as usize + CHUNK_PAGES as usize * (self.chunks.len() + 1);
        self.free.try_reserve(pages).map_err(memory)?;
        // In the first chunk, most of which small filters do not need, untouched pages cost nothing.
        self.chunks.push(match (self.first().len(), self.chunks.len()) {
            (0, 0) => Owned::zeroed_in_small_pages(CHUNK_LEN)?,
            _ => Owned::zeroed(CHUNK_LEN as u64)?,
        });
        let first = self.first().len() + (self.chunks.len() - 1) * CHUNK_LINES;
        self.free.extend((first..first + CHUNK_LINES).step_by(PAGE as usize).rev().map(|line| line as u32));
        Ok(self.free.pop().expect("a chunk has pages"))
    }

    /// Returns a page, which [`take`](Self::take) may hand out again.
    pub(crate) fn give(&mut self, first: u32) {
        self.free.push(first);
    }

    /// The lines that were there from the beginning.
    #[inline(always)]
    pub(crate) fn first(&self) -> &[Line] {
        self.first.as_ref().as_chunks().0
    }

    /// A line by its number.
    #[inline(always)]
    pub(crate) fn line(&self, number: u32) -> &Line {
        let first = self.first();
        match (number as usize).checked_sub(first.len()) {
            None => &first[number as usize],
            Some(rest) => &self.chunks[rest / CHUNK_LINES].as_ref().as_chunks().0[rest % CHUNK_LINES],
        }
    }

    #[inline(always)]
    pub(crate) fn line_mut(&mut self, number: u32) -> &mut Line {
        let first = self.first.as_mut().as_chunks_mut().0;
        match (number as usize).checked_sub(first.len()) {
            None => &mut first[number as usize],
            Some(rest) => &mut self.chunks[rest / CHUNK_LINES].as_mut().as_chunks_mut().0[rest % CHUNK_LINES],
        }
    }

    /// Bytes of the lines in use.
    pub(crate) fn byte_len(&self) -> u64 {
        let lines = self.first().len() + self.chunks.len() * CHUNK_LINES;
        lines as u64 * 64 - self.free.len() as u64 * PAGE * 64
    }
}

/// Lets unit tests refuse the memory of pages.
#[cfg(test)]
pub(crate) mod refusing {
    use core::cell::Cell;

    std::thread_local! {
        static AFTER: Cell<u32> = const { Cell::new(u32::MAX) };
    }

    /// Refuses this thread's pages after so many more.
    pub(crate) fn after(pages: u32) {
        AFTER.set(pages);
    }

    pub(super) fn is_now() -> bool {
        let left = AFTER.get();
        AFTER.set(if left == u32::MAX { left } else { left.saturating_sub(1) });
        left == 0
    }
}
