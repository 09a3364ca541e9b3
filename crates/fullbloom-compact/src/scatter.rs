//! Numbers distributed over buckets by their top bits, in memory that grows by small chunks.

use fullbloom_core::bits::prefetch;
use fullbloom_core::error::SizeError;
use fullbloom_core::memory;
use std::vec::Vec;

/// Numbers of a chunk.
const CHUNK: usize = 512;

/// Numbers that are written to a chunk at once: a cache line of them.
const STAGED: usize = 8;

/// The average number of keys of a bucket is between this and its double: sorted in the second-level cache.
const BUCKET_KEYS: u64 = 1 << 12;

/// The most top bits that are used: what is staged for more buckets does not stay in the second-level cache.
const MAX_BITS: u32 = 11;

/// The number of top bits to distribute this many keys by.
pub(crate) fn bits_for(keys: u64) -> u32 {
    (keys / BUCKET_KEYS).checked_ilog2().unwrap_or(0).min(MAX_BITS)
}

/// Chunks that a lane, or a list, begins between two looks at the memory that is left.
const CHUNKS_A_LOOK: u32 = 64;

/// A list of numbers.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    chunks: Vec<Vec<u64>>,
}

impl Bucket {
    /// Adds numbers: at most a chunk of them at a time.
    #[inline(always)]
    fn add(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        if let Some(last) = self.chunks.last_mut()
            && last.len() + numbers.len() <= CHUNK
        {
            last.extend_from_slice(numbers);
            return Ok(());
        }
        self.add_chunk(numbers)
    }

    /// Fills the last chunk, and begins a new one with the rest.
    #[inline(never)]
    fn add_chunk(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        let room = self.chunks.last().map_or(0, |last| CHUNK - last.len());
        let (now, rest) = numbers.split_at(room.min(numbers.len()));
        if let Some(last) = self.chunks.last_mut() {
            last.extend_from_slice(now);
        }
        if self.chunks.len() % CHUNKS_A_LOOK as usize == 1 {
            memory::require(u64::from(CHUNKS_A_LOOK) * 8 * CHUNK as u64)?;
        }
        let mut chunk = Vec::new();
        let refused = SizeError::Memory { bytes: 8 * CHUNK as u64 };
        chunk.try_reserve_exact(CHUNK).map_err(|_| refused.clone())?;
        chunk.extend_from_slice(rest);
        self.chunks.try_reserve(1).map_err(|_| refused)?;
        self.chunks.push(chunk);
        Ok(())
    }

    /// Adds any number of numbers.
    pub(crate) fn extend(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        numbers.chunks(CHUNK).try_for_each(|some| self.add(some))
    }

    /// Adds the chunks of another list.
    pub(crate) fn append(&mut self, mut other: Bucket) {
        self.chunks.append(&mut other.chunks);
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// The numbers, in slices.
    pub(crate) fn chunks(&self) -> &[Vec<u64>] {
        &self.chunks
    }

    /// Replaces the numbers by as many or fewer, in the same memory.
    pub(crate) fn replace(&mut self, numbers: &[u64]) {
        let mut rest = numbers;
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
pub(crate) struct Lane {
    bits: u32,
    /// The chunks that are full.
    buckets: Vec<Bucket>,
    /// The chunk of each bucket that is being filled: found without a look at the others.
    open: Vec<Vec<u64>>,
    /// Numbers on their way to each bucket: written one by one, they would touch a line of memory each.
    staged: Vec<[u64; STAGED]>,
    fill: Vec<u8>,
    len: u64,
    /// Chunks begun.
    begun: u32,
}

impl Lane {
    /// Distributes by so many top bits.
    pub(crate) fn new(bits: u32) -> Lane {
        let count = 1 << bits;
        let (mut buckets, mut open) = (Vec::new(), Vec::new());
        buckets.resize_with(count, Bucket::default);
        open.resize_with(count, Vec::new);
        Lane { bits, buckets, open, staged: vec![[0; STAGED]; count], fill: vec![0; count], len: 0, begun: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        self.len += numbers.len() as u64;
        if self.bits == 0 {
            return self.buckets[0].extend(numbers);
        }
        let shift = 64 - self.bits;
        for &number in numbers {
            let i = (number >> shift) as usize;
            let (staged, fill) = (&mut self.staged[i], &mut self.fill[i]);
            staged[*fill as usize % STAGED] = number;
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
        if self.begun.is_multiple_of(CHUNKS_A_LOOK) {
            memory::require(u64::from(CHUNKS_A_LOOK) * 8 * CHUNK as u64)?;
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

    /// The most bytes that adding this many numbers allocates: every bucket may begin a chunk.
    pub(crate) fn growth(&self, numbers: u64) -> u64 {
        8 * (numbers + ((CHUNK as u64) << self.bits))
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The buckets, in order; the lane is empty afterwards.
    pub(crate) fn take(&mut self) -> Result<Vec<Bucket>, SizeError> {
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

    /// Distributes by more bits, if there are too many numbers in each bucket.
    pub(crate) fn refined(mut self, bits: u32) -> Result<Lane, SizeError> {
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
}
