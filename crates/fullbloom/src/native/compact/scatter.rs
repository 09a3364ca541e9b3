//! Numbers distributed over buckets by their top bits, in memory that grows by small chunks.

use crate::error::SizeError;
use std::vec::Vec;

/// Numbers of a chunk.
const CHUNK: usize = 512;

/// Numbers that are written to a chunk at once: a cache line of them.
const STAGED: usize = 8;

/// The average number of keys of a bucket is between this and its double: sorted in the second-level cache.
const BUCKET_KEYS: u64 = 1 << 12;

/// The most top bits that are used: more buckets than this need more cache lines than there are.
const MAX_BITS: u32 = 13;

/// The number of top bits to distribute this many keys by.
pub(super) fn bits_for(keys: u64) -> u32 {
    (keys / BUCKET_KEYS).checked_ilog2().unwrap_or(0).min(MAX_BITS)
}

/// A list of numbers.
#[derive(Debug, Default)]
pub(super) struct Bucket {
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
        let mut chunk = Vec::new();
        let refused = SizeError::Memory { bytes: 8 * CHUNK as u64 };
        chunk.try_reserve_exact(CHUNK).map_err(|_| refused.clone())?;
        chunk.extend_from_slice(rest);
        self.chunks.try_reserve(1).map_err(|_| refused)?;
        self.chunks.push(chunk);
        Ok(())
    }

    /// Adds any number of numbers.
    pub(super) fn extend(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        numbers.chunks(CHUNK).try_for_each(|some| self.add(some))
    }

    /// Adds the chunks of another list.
    pub(super) fn append(&mut self, mut other: Bucket) {
        self.chunks.append(&mut other.chunks);
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// The numbers, in slices.
    pub(super) fn chunks(&self) -> &[Vec<u64>] {
        &self.chunks
    }

    /// Replaces the numbers by as many or fewer, in the same memory.
    pub(super) fn replace(&mut self, numbers: &[u64]) {
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
pub(super) struct Lane {
    bits: u32,
    buckets: Vec<Bucket>,
    /// Numbers on their way to each bucket: written one by one, they would touch a line of memory each.
    staged: Vec<[u64; STAGED]>,
    fill: Vec<u8>,
    len: u64,
}

impl Lane {
    /// Distributes by so many top bits.
    pub(super) fn new(bits: u32) -> Lane {
        let count = 1 << bits;
        let mut buckets = Vec::new();
        buckets.resize_with(count, Bucket::default);
        Lane { bits, buckets, staged: vec![[0; STAGED]; count], fill: vec![0; count], len: 0 }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
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
                let staged = *staged;
                self.buckets[i].add(&staged)?;
            }
        }
        Ok(())
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The buckets, in order; the lane is empty afterwards.
    pub(super) fn take(&mut self) -> Result<Vec<Bucket>, SizeError> {
        for ((bucket, staged), fill) in self.buckets.iter_mut().zip(&self.staged).zip(&mut self.fill) {
            bucket.add(&staged[..core::mem::take(fill) as usize])?;
        }
        self.len = 0;
        Ok(self.buckets.iter_mut().map(core::mem::take).collect())
    }

    /// Distributes by more bits, if there are too many numbers in each bucket.
    pub(super) fn refined(mut self, bits: u32) -> Result<Lane, SizeError> {
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
