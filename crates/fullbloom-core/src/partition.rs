//! Hashes distributed over buckets, so that those of one bucket can be processed in the cache.
//!
//! Memory grows by chunks of 4 KiB: nothing is reserved for a bucket before its hashes come, and no hash is copied when
//! a bucket grows. A hash waits in a cache line of its bucket until the line is full, because writing single hashes to
//! hundreds of places would fetch a line of memory for each.

use crate::bits::prefetch;
use crate::error::SizeError;
use crate::memory;
use alloc::vec;
use alloc::vec::Vec;

/// Hashes of a chunk.
const CHUNK: usize = 512;

/// Hashes that are written to a chunk at once: a cache line of them.
const STAGED: usize = 8;

/// Chunks that a lane, or a bucket, allocates between two checks of the memory that is left.
const CHUNKS_A_CHECK: u32 = 64;

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
        let mut chunk = Vec::new();
        let refused = SizeError::Memory { bytes: 8 * CHUNK as u64 };
        chunk.try_reserve_exact(CHUNK).map_err(|_| refused.clone())?;
        chunk.extend_from_slice(rest);
        self.chunks.try_reserve(1).map_err(|_| refused)?;
        self.chunks.push(chunk);
        Ok(())
    }

    /// Adds any number of hashes.
    pub fn extend(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        hashes.chunks(CHUNK).try_for_each(|some| self.add(some))
    }

    /// Adds the chunks of another list.
    pub fn append(&mut self, mut other: Bucket) {
        self.chunks.append(&mut other.chunks);
    }

    pub fn len(&self) -> usize {
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
    /// The chunks that are full.
    buckets: Vec<Bucket>,
    /// The chunk of each bucket that is being filled: kept apart, so that finding it touches nothing else.
    open: Vec<Vec<u64>>,
    /// The hashes that wait for a full cache line of their bucket, and how many wait.
    staged: Vec<[u64; STAGED]>,
    fill: Vec<u8>,
    len: u64,
    /// Chunks begun.
    begun: u32,
}

impl Lane {
    /// With this many buckets, all empty.
    pub fn new(count: usize) -> Lane {
        let (mut buckets, mut open) = (Vec::new(), Vec::new());
        buckets.resize_with(count, Bucket::default);
        open.resize_with(count, Vec::new);
        Lane { buckets, open, staged: vec![[0; STAGED]; count], fill: vec![0; count], len: 0, begun: 0 }
    }

    /// Adds hashes, each to the bucket that `bucket_of` gives for it.
    #[inline(always)]
    pub fn add(&mut self, hashes: &[u64], bucket_of: impl Fn(u64) -> usize) -> Result<(), SizeError> {
        self.len += hashes.len() as u64;
        if self.buckets.len() == 1 {
            return self.buckets[0].extend(hashes);
        }
        for &hash in hashes {
            let i = bucket_of(hash);
            let (staged, fill) = (&mut self.staged[i], &mut self.fill[i]);
            staged[*fill as usize % STAGED] = hash;
            *fill += 1;
            if *fill as usize == STAGED {
                *fill = 0;
                let (staged, open) = (*staged, &mut self.open[i]);
                if open.len() + STAGED > open.capacity() {
                    self.next_chunk(i)?;
                }
                let open = &mut self.open[i];
                open.extend_from_slice(&staged);
                // The line that is written next, long before it is.
                prefetch::address(open.as_ptr().wrapping_add(open.len()).cast());
            }
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
        let refused = SizeError::Memory { bytes: 8 * CHUNK as u64 };
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(CHUNK).map_err(|_| refused.clone())?;
        let full = core::mem::replace(&mut self.open[i], chunk);
        if !full.is_empty() {
            let chunks = &mut self.buckets[i].chunks;
            chunks.try_reserve(1).map_err(|_| refused)?;
            chunks.push(full);
        }
        Ok(())
    }

    /// The most bytes that adding this many hashes allocates: every bucket may begin a chunk.
    pub fn growth(&self, hashes: u64) -> u64 {
        8 * (hashes + (CHUNK * self.buckets.len()) as u64)
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The number of top bits that [`add_by_top_bits`](Self::add_by_top_bits) uses.
    pub fn bits(&self) -> u32 {
        self.buckets.len().ilog2()
    }

    /// Adds hashes to the buckets of their top bits; the number of buckets is a power of two.
    #[inline(always)]
    pub fn add_by_top_bits(&mut self, hashes: &[u64]) -> Result<(), SizeError> {
        let bits = self.bits();
        self.add(hashes, |hash| (hash >> 1 >> (63 - bits)) as usize)
    }

    /// Distributes by more top bits, if there are fewer buckets.
    pub fn refined(mut self, bits: u32) -> Result<Lane, SizeError> {
        if bits <= self.bits() {
            return Ok(self);
        }
        let mut finer = Lane::new(1 << bits);
        for bucket in self.take()? {
            for chunk in bucket.chunks {
                finer.add_by_top_bits(&chunk)?;
            }
        }
        Ok(finer)
    }

    /// The buckets, in order; the lane is empty afterwards.
    pub fn take(&mut self) -> Result<Vec<Bucket>, SizeError> {
        for i in 0..self.buckets.len() {
            let open = core::mem::take(&mut self.open[i]);
            let bucket = &mut self.buckets[i];
            if !open.is_empty() {
                bucket.chunks.push(open);
            }
            bucket.add(&self.staged[i][..core::mem::take(&mut self.fill[i]) as usize])?;
        }
        self.len = 0;
        Ok(self.buckets.iter_mut().map(core::mem::take).collect())
    }
}
