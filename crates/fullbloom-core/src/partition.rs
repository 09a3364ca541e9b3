//! Hashes distributed over buckets, so that those of one bucket can be processed in the cache.
//!
//! Memory grows by chunks of 4 KiB: nothing is reserved for a bucket before its hashes come, and no hash is copied when
//! a bucket grows.

use crate::error::SizeError;
use crate::memory;
use alloc::vec::Vec;

/// Hashes of a chunk.
const CHUNK: usize = 512;

/// Chunks that a lane, or a bucket, allocates between two checks of the memory that is left.
const CHUNKS_A_CHECK: u32 = 64;

fn new_chunk() -> Result<Vec<u64>, SizeError> {
    let mut chunk = Vec::new();
    chunk.try_reserve_exact(CHUNK).map_err(|_| SizeError::Memory { bytes: 8 * CHUNK as u64 })?;
    Ok(chunk)
}

/// A list of hashes.
#[derive(Debug, Default)]
pub struct Bucket {
    chunks: Vec<Vec<u64>>,
}

impl Bucket {
    /// Adds hashes: at most a chunk of them at a time.
    #[inline(always)]
    fn add(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        if let Some(last) = self.chunks.last_mut()
            && last.len() + hashes.len() <= CHUNK
        {
            last.extend_from_slice(hashes);
            return Ok(());
        }
        self.add_chunk(hashes)
    }

    /// Fills the last chunk, and begins a new one with the rest.
    #[inline(never)]
    fn add_chunk(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        let room = self.chunks.last().map_or(0, |last| CHUNK - last.len());
        let (now, rest) = hashes.split_at(room.min(hashes.len()));
        if let Some(last) = self.chunks.last_mut() {
            last.extend_from_slice(now);
        }
        if self.chunks.len() % CHUNKS_A_CHECK as usize == 1 {
            memory::require(u64::from(CHUNKS_A_CHECK) * 8 * CHUNK as u64)?;
        }
        self.reserve_chunk()?;
        let mut chunk = new_chunk()?;
        chunk.extend_from_slice(rest);
        self.chunks.push(chunk);
        Ok(())
    }

    /// Makes room for one more chunk. The room grows with the chunks, because most buckets have few.
    fn reserve_chunk(&mut self) -> Result<(), SizeError> {
        let bytes = (size_of::<Vec<u64>>() * (self.chunks.len() + 1)) as u64;
        self.chunks.try_reserve(1).map_err(|_| SizeError::Memory { bytes })
    }

    /// Adds any number of hashes.
    pub fn extend(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        hashes.chunks(CHUNK).try_for_each(|some| self.add(some))
    }

    /// Adds the chunks of another list.
    pub fn append(&mut self, mut other: Bucket) {
        self.chunks.append(&mut other.chunks);
    }

    pub fn count(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// The hashes, in slices.
    pub fn chunks(&self) -> &[Vec<u64>] {
        &self.chunks
    }

    /// Replaces the hashes by as many or fewer, in the same memory.
    pub fn replace(&mut self, hashes: &[u64]) {
        let mut rest = hashes;
        for chunk in &mut self.chunks {
            let (now, later) = rest.split_at(rest.len().min(CHUNK));
            chunk.clear();
            chunk.extend_from_slice(now);
            rest = later;
        }
        debug_assert!(rest.is_empty());
        self.chunks.retain(|chunk| !chunk.is_empty());
    }
}

/// The buckets that one thread fills.
#[derive(Debug)]
pub struct Lane {
    bits: u32,
    /// The chunks that are full.
    buckets: Vec<Bucket>,
    /// The chunk of each bucket that is being filled: kept apart, so that finding it touches nothing else.
    open: Vec<Vec<u64>>,
    len: u64,
    /// Chunks that were allocated, for the next check of the memory.
    begun: u32,
}

impl Lane {
    /// Distributes hashes by this many of their top bits.
    pub fn new(bits: u32) -> Lane {
        let (mut buckets, mut open) = (Vec::new(), Vec::new());
        buckets.resize_with(1 << bits, Bucket::default);
        open.resize_with(1 << bits, Vec::new);
        Lane { bits, buckets, open, len: 0, begun: 0 }
    }

    /// Adds hashes.
    #[inline(always)]
    pub fn add(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        self.len += hashes.len() as u64;
        for &hash in hashes {
            // Shifts by 64 are not possible; with 0 bits there is one bucket.
            let i = (hash >> 1 >> (63 - self.bits)) as usize;
            // Either full, or not allocated yet.
            if self.open[i].len().is_multiple_of(CHUNK) {
                self.next_chunk(i)?;
            }
            self.open[i].push(hash);
        }
        Ok(())
    }

    /// Puts the open chunk of a bucket, which is full, to the others, and begins a new one.
    #[inline(never)]
    fn next_chunk(&mut self, i: usize) -> Result<(), SizeError> {
        if self.begun.is_multiple_of(CHUNKS_A_CHECK) {
            memory::require(u64::from(CHUNKS_A_CHECK) * 8 * CHUNK as u64)?;
        }
        self.begun = self.begun.wrapping_add(1);
        // All memory comes first: a chunk of hashes must not get lost when there is none.
        self.buckets[i].reserve_chunk()?;
        let full = core::mem::replace(&mut self.open[i], new_chunk()?);
        if !full.is_empty() {
            self.buckets[i].chunks.push(full);
        }
        Ok(())
    }

    /// The most bytes that adding this many hashes allocates: every bucket may begin a chunk.
    pub fn growth(&self, hashes: u64) -> u64 {
        8 * (hashes + (CHUNK * self.buckets.len()) as u64)
    }

    pub fn count(&self) -> u64 {
        self.len
    }

    /// The number of top bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Distributes by more top bits, if there are fewer buckets.
    pub fn refined(mut self, bits: u32) -> Result<Lane, SizeError> {
        if bits <= self.bits {
            return Ok(self);
        }
        let mut finer = Lane::new(bits);
        for bucket in self.take()? {
            for chunk in bucket.chunks {
                finer.add(&chunk)?;
            }
        }
        Ok(finer)
    }

    /// The buckets, in order; the lane is empty afterwards.
    pub fn take(&mut self) -> Result<Vec<Bucket>, SizeError> {
        for i in 0..self.buckets.len() {
            self.buckets[i].reserve_chunk()?;
            let open = core::mem::take(&mut self.open[i]);
            if !open.is_empty() {
                self.buckets[i].chunks.push(open);
            }
        }
        self.len = 0;
        Ok(self.buckets.iter_mut().map(core::mem::take).collect())
    }
}
