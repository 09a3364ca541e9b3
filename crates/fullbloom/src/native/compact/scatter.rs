//! Numbers distributed over buckets by their top bits, in memory that grows by small chunks.

use crate::bits::Words;
use crate::error::SizeError;
use core::ops::Deref;
use std::vec::Vec;

/// Numbers of a chunk.
const CHUNK: usize = 512;

/// Numbers that are written to a chunk at once: a cache line of them.
const STAGED: usize = 8;

/// The average number of keys of a bucket is between this and its double: sorted in the second-level cache.
const BUCKET_KEYS: u64 = 1 << 14;

/// The most top bits that are used: more buckets than this need more cache lines than there are.
const MAX_BITS: u32 = 13;

/// The number of top bits to distribute this many keys by.
pub(super) fn bits_for(keys: u64) -> u32 {
    (keys / BUCKET_KEYS).checked_ilog2().unwrap_or(0).min(MAX_BITS)
}

/// Memory that chunks are cut from: small ones first, then from 4 MiB at a time, which are two large pages. With small pages
/// alone, each bucket is on a page of its own, and building 250 million keys took a third longer.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Words>,
    given: usize,
}

/// Chunks that are allocated one by one.
const SINGLE: usize = 2 * LARGE;

/// Chunks of a large piece of memory.
const LARGE: usize = 1024;

impl Pool {
    #[inline(never)]
    fn chunk(&mut self) -> Result<Chunk, SizeError> {
        self.given += 1;
        let words = match self.free.pop() {
            Some(words) => words,
            None if self.given <= SINGLE => Words::zeroed(CHUNK)?,
            None => {
                self.free = Words::zeroed(LARGE * CHUNK)?.split(CHUNK);
                self.free.reverse(); // the first one first
                self.free.pop().ok_or(SizeError::Memory { bytes: 0 })?
            }
        };
        Ok(Chunk { words, len: 0 })
    }
}

/// Up to [`CHUNK`] numbers.
#[derive(Debug)]
pub(super) struct Chunk {
    words: Words,
    len: usize,
}

impl Chunk {
    /// Adds numbers for which there is room.
    #[inline(always)]
    fn extend(&mut self, numbers: &[u64]) {
        self.words.as_mut()[self.len..self.len + numbers.len()].copy_from_slice(numbers);
        self.len += numbers.len();
    }
}

impl Deref for Chunk {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        &self.words.as_ref()[..self.len]
    }
}

impl<'a> IntoIterator for &'a Chunk {
    type Item = &'a u64;
    type IntoIter = core::slice::Iter<'a, u64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A list of numbers.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    chunks: Vec<Chunk>,
}

impl Bucket {
    /// Adds numbers: at most a chunk of them at a time.
    #[inline(always)]
    fn add(&mut self, numbers: &[u64], pool: &mut Pool) -> Result<(), SizeError> {
        if let Some(last) = self.chunks.last_mut()
            && last.len + numbers.len() <= CHUNK
        {
            last.extend(numbers);
            return Ok(());
        }
        self.add_chunk(numbers, pool)
    }

    /// Fills the last chunk, and begins a new one with the rest.
    #[inline(never)]
    fn add_chunk(&mut self, numbers: &[u64], pool: &mut Pool) -> Result<(), SizeError> {
        let room = self.chunks.last().map_or(0, |last| CHUNK - last.len);
        let (now, rest) = numbers.split_at(room.min(numbers.len()));
        if let Some(last) = self.chunks.last_mut() {
            last.extend(now);
        }
        let mut chunk = pool.chunk()?;
        chunk.extend(rest);
        self.chunks.try_reserve(1).map_err(|_| SizeError::Memory { bytes: 8 * CHUNK as u64 })?;
        self.chunks.push(chunk);
        Ok(())
    }

    /// Adds any number of numbers.
    pub(super) fn extend(&mut self, numbers: &[u64], pool: &mut Pool) -> Result<(), SizeError> {
        numbers.chunks(CHUNK).try_for_each(|some| self.add(some, pool))
    }

    /// Adds the chunks of another list.
    pub(super) fn append(&mut self, mut other: Bucket) {
        self.chunks.append(&mut other.chunks);
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len).sum()
    }

    /// The numbers, in slices.
    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Replaces the numbers by as many or fewer, in the same memory.
    pub(super) fn replace(&mut self, numbers: &[u64]) {
        let mut rest = numbers;
        for chunk in &mut self.chunks {
            let (now, later) = rest.split_at(rest.len().min(CHUNK));
            chunk.len = 0;
            chunk.extend(now);
            rest = later;
        }
        debug_assert!(rest.is_empty());
        self.chunks.retain(|chunk| chunk.len > 0);
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
    pool: Pool,
}

impl Lane {
    /// Distributes by so many top bits.
    pub(super) fn new(bits: u32) -> Lane {
        let count = 1 << bits;
        let mut buckets = Vec::new();
        buckets.resize_with(count, Bucket::default);
        Lane {
            bits,
            buckets,
            staged: vec![[0; STAGED]; count],
            fill: vec![0; count],
            len: 0,
            pool: Pool::default(),
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, numbers: &[u64]) -> Result<(), SizeError> {
        self.len += numbers.len() as u64;
        if self.bits == 0 {
            return self.buckets[0].extend(numbers, &mut self.pool);
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
                self.buckets[i].add(&staged, &mut self.pool)?;
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
            bucket.add(&staged[..core::mem::take(fill) as usize], &mut self.pool)?;
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
