//! Hashes of keys: computed by several threads, and kept if the keys can be read only once.

use super::Keys;
use super::batches::Batch;
use crate::error::Failure;
use crate::progress::Progress;
use fullbloom::Hashing;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

/// Hashes kept in memory, 128 MiB of them. The rest goes to a temporary file without a name.
const IN_MEMORY: usize = 16 << 20;

/// Hashes read back at once.
const PIECE: usize = 32 << 10;

/// A block of keys: their hashes, and where their records are in the block.
#[derive(Debug, Default)]
pub struct Hashed {
    hashes: Vec<u64>,
    /// Where each record begins and ends, if that is wanted; the byte that ends it is not included.
    spans: Vec<(u32, u32)>,
}

/// The records of a block.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a> {
    block: &'a [u8],
    spans: &'a [(u32, u32)],
}

impl<'a> Records<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the last record lacks its end: the very last one of a stream may.
    pub fn last_is_unended(&self) -> bool {
        self.spans.last().is_some_and(|(_, end)| *end as usize == self.block.len())
    }

    /// These records with their ends, as they came. Nothing that was skipped may be between them.
    #[inline]
    pub fn run(&self, range: Range<usize>) -> &'a [u8] {
        let Some(spans) = self.spans.get(range).filter(|spans| !spans.is_empty()) else { return &[] };
        let (start, end) = (spans[0].0 as usize, spans[spans.len() - 1].1 as usize + 1);
        &self.block[start..end.min(self.block.len())]
    }

    /// Whether something was skipped before the record at this place.
    #[inline]
    pub fn follows_gap(&self, at: usize) -> bool {
        at > 0 && self.spans[at].0 != self.spans[at - 1].1 + 1
    }
}

impl Keys {
    /// Hashes all keys on `threads` threads; `commit` gets the hashes of a block of keys, in order.
    pub fn in_order_hashed(
        &mut self,
        progress: &Progress,
        threads: usize,
        hashing: &Hashing,
        mut commit: impl FnMut(&[u64]) -> Result<ControlFlow<()>, Failure> + Send,
    ) -> Result<(), Failure> {
        self.in_order(
            progress,
            threads,
            |batch, hashed: &mut Hashed| {
                hashed.add(batch, hashing);
                Ok(())
            },
            |hashed, _| {
                let flow = commit(&hashed.hashes);
                hashed.hashes.clear();
                flow
            },
        )
    }

    /// As [`in_order_hashed`](Keys::in_order_hashed), with the records.
    pub fn in_order_hashed_records(
        &mut self,
        progress: &Progress,
        threads: usize,
        hashing: &Hashing,
        mut commit: impl FnMut(&[u64], Records<'_>) -> Result<ControlFlow<()>, Failure> + Send,
    ) -> Result<(), Failure> {
        self.in_order(
            progress,
            threads,
            |batch, hashed: &mut Hashed| {
                hashed.add(batch, hashing);
                let mut start = hashed.spans.last().map_or(0, |(_, end)| end + 1);
                for (i, record) in batch.records.iter().enumerate() {
                    start += batch.gaps.get(i).copied().unwrap_or(0);
                    let end = start + record.len() as u32; // a block is shorter than 1 GiB
                    hashed.spans.push((start, end));
                    start = end + 1;
                }
                Ok(())
            },
            |hashed, block| {
                let flow = commit(&hashed.hashes, Records { block, spans: &hashed.spans });
                hashed.hashes.clear();
                hashed.spans.clear();
                flow
            },
        )
    }
}

impl Hashed {
    fn add(&mut self, batch: &Batch<'_>, hashing: &Hashing) {
        let start = self.hashes.len();
        self.hashes.resize(start + batch.keys.len(), 0);
        hashing.hash_batch_into(batch.keys, &mut self.hashes[start..]).expect("a place for each key");
    }
}

/// Hashes kept for later.
#[derive(Debug)]
pub struct HashSpool {
    memory: Vec<u64>,
    /// The most hashes kept in memory.
    room: usize,
    /// Those that come after the ones in memory.
    file: Option<File>,
    /// Where that file is made.
    directory: PathBuf,
    bytes: Vec<u8>,
    len: u64,
}

impl Default for HashSpool {
    fn default() -> HashSpool {
        HashSpool::new(IN_MEMORY, std::env::temp_dir())
    }
}

impl HashSpool {
    /// An empty one that keeps `room` hashes in memory and the rest in a file in this directory.
    pub fn new(room: usize, directory: PathBuf) -> HashSpool {
        HashSpool { memory: Vec::new(), room, file: None, directory, bytes: Vec::new(), len: 0 }
    }

    /// How many hashes there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether this many more still fit into memory.
    pub fn has_room_for(&self, more: usize) -> bool {
        self.file.is_none() && self.memory.len() + more <= self.room
    }

    /// Keeps more hashes. If that fails, those kept before remain.
    pub fn write(&mut self, hashes: &[u64]) -> Result<(), Failure> {
        if self.has_room_for(hashes.len()) && self.memory.try_reserve(hashes.len()).is_ok() {
            self.memory.extend_from_slice(hashes);
        } else {
            self.write_file(hashes).map_err(|e| {
                Failure::new(self.directory.display(), format_args!("cannot keep the keys: {e}"))
                    .hint("give --expected-keys, then nothing is kept; or set TMPDIR to another directory")
            })?;
        }
        self.len += hashes.len() as u64;
        Ok(())
    }

    fn write_file(&mut self, hashes: &[u64]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.directory)?),
        };
        self.bytes.clear();
        self.bytes.extend(hashes.iter().flat_map(|hash| hash.to_ne_bytes()));
        file.write_all(&self.bytes)
    }

    /// Hands out all of them, in order.
    pub fn read(&mut self, progress: &Progress, mut each: impl FnMut(&[u64])) -> Result<(), Failure> {
        for piece in self.memory.chunks(PIECE) {
            each(piece);
            progress.advance(size_of_val(piece) as u64);
        }
        let read = self.read_file(progress, &mut each);
        read.map_err(|e| {
            Failure::new(self.directory.display(), format_args!("cannot read the keys kept: {e}"))
        })
    }

    fn read_file(&mut self, progress: &Progress, each: &mut impl FnMut(&[u64])) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.rewind()?;
        let mut hashes = Vec::with_capacity(PIECE);
        let mut left = self.len - self.memory.len() as u64;
        while left > 0 {
            let count = left.min(PIECE as u64) as usize;
            self.bytes.resize(8 * count, 0);
            file.read_exact(&mut self.bytes)?;
            hashes.clear();
            hashes.extend(self.bytes.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)));
            each(&hashes);
            progress.advance(8 * count as u64);
            left -= count as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_hashes_come_back_in_order_from_memory_and_from_a_file() {
        for count in [0, 1, PIECE as u64, PIECE as u64 + 1, IN_MEMORY as u64 + 70_007] {
            let mut spool = HashSpool::default();
            let all: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            for some in all.chunks(10_000) {
                spool.write(some).unwrap();
            }
            assert_eq!(spool.len(), count);
            let mut back = Vec::new();
            spool.read(&Progress::hidden(), |hashes| back.extend_from_slice(hashes)).unwrap();
            assert!(back == all, "{count}");
        }
    }

    #[test]
    fn what_was_kept_before_a_failure_is_still_there() {
        let mut spool = HashSpool::new(10, "/no/such/directory".into());
        spool.write(&[1, 2, 3, 4, 5, 6, 7]).unwrap();
        assert!(spool.write(&[8, 9, 10, 11]).is_err());
        let mut back = Vec::new();
        spool.read(&Progress::hidden(), |hashes| back.extend_from_slice(hashes)).unwrap();
        assert_eq!((back, spool.len()), (vec![1, 2, 3, 4, 5, 6, 7], 7));
    }

    #[test]
    fn records_are_found_again_in_their_block() {
        let block = b"one\n\nthree";
        let records = Records { block, spans: &[(0, 3), (4, 4), (5, 10)] };
        assert!(records.len() == 3 && records.last_is_unended());
        assert!(!Records { block: b"one\n", spans: &[(0, 3)] }.last_is_unended());
        assert_eq!(records.run(0..1), b"one\n");
        assert_eq!(records.run(1..3), b"\nthree");
        assert_eq!(records.run(0..0), b"");
        let skipped = Records { block: b"a\n# x\nb\n", spans: &[(0, 1), (6, 7)] };
        assert!(skipped.follows_gap(1) && !skipped.follows_gap(0) && !records.follows_gap(1));
        assert_eq!((skipped.run(0..1), skipped.run(1..2)), (&b"a\n"[..], &b"b\n"[..]));
    }
}
