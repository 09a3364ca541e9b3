//! The checksums of a file that is read in place, compared when an answer first depends on a chunk.

use super::format::Decoded;
use super::hashing::Hasher;
use super::shape::Shape;
use crate::checksum::crc32c;
use crate::error::DecodeError;
use crate::keys::Keys;
use crate::probe::lines::{LINE, Lines};
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Keys hashed at once.
const GROUP: usize = 256;

/// The chunks of a file, and which of them have been compared with their checksums.
#[derive(Debug)]
pub struct Chunks {
    data: Range<usize>,
    bits: Range<usize>,
    chunk_len: usize,
    sums: Range<usize>,
    checked: Vec<AtomicBool>,
    /// How many are left; 0 makes further lookups cheap.
    left: AtomicUsize,
    /// What is in the data beside the bits has been compared.
    rest_checked: AtomicBool,
}

impl Chunks {
    /// The chunks of a native file, none of them compared yet.
    pub fn of(decoded: &Decoded) -> Chunks {
        let (data, chunk_len, sums) = decoded.chunks();
        let bits = decoded.bits.range();
        let count = data.len().div_ceil(chunk_len); // as many as there are checksums in the file
        let checked = (0..count).map(|_| AtomicBool::new(false)).collect();
        let (left, rest_checked) = (AtomicUsize::new(count), AtomicBool::new(false));
        Chunks { data, bits, chunk_len, sums, checked, left, rest_checked }
    }

    /// Compares the chunks that the answers for these keys depend on, unless that has been done before.
    pub fn check_keys<K: Keys<Hasher> + ?Sized>(
        &self,
        file: &[u8],
        shape: &Shape,
        hasher: &Hasher,
        keys: &K,
    ) -> Result<(), DecodeError> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        if !self.rest_checked.load(Ordering::Relaxed) {
            self.check(file, self.data.start..self.bits.start)?;
            self.check(file, self.bits.end..self.data.end)?;
            self.rest_checked.store(true, Ordering::Relaxed);
        }
        let mut hashes = [0; GROUP];
        for start in (0..keys.count()).step_by(GROUP) {
            let hashes = &mut hashes[..GROUP.min(keys.count() - start)];
            keys.hash_into(hasher, start, hashes, false);
            for hash in hashes {
                for (line, _) in Lines::new(shape.layout, shape.blocks, *hash) {
                    let at = self.bits.start + line as usize * LINE;
                    self.check(file, at..at + LINE)?;
                }
            }
        }
        Ok(())
    }

    /// Compares all chunks that have not been compared before.
    pub fn check_all(&self, file: &[u8]) -> Result<(), DecodeError> {
        self.check(file, self.data.clone())
    }

    /// Compares the chunks with these bytes of the file.
    fn check(&self, file: &[u8], bytes: Range<usize>) -> Result<(), DecodeError> {
        if bytes.is_empty() || self.left.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let first = (bytes.start - self.data.start) / self.chunk_len;
        let last = (bytes.end - 1 - self.data.start) / self.chunk_len;
        for number in first..=last {
            if !self.checked[number].load(Ordering::Relaxed) {
                self.check_one(file, number)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn check_one(&self, file: &[u8], number: usize) -> Result<(), DecodeError> {
        let start = self.data.start + number * self.chunk_len;
        let chunk = start..self.data.end.min(start + self.chunk_len);
        let damaged = DecodeError::Checksum { field: "data", at: start as u64, len: chunk.len() as u64 };
        // A mapped file may have become shorter: then the bytes are not there.
        let sums = file.get(self.sums.clone()).map_or(&[][..], |sums| sums.as_chunks::<4>().0);
        match (file.get(chunk), sums.get(number)) {
            (Some(bytes), Some(sum)) if crc32c(bytes) == u32::from_le_bytes(*sum) => {}
            _ => return Err(damaged),
        }
        // Two threads may compare the same chunk; only one counts it.
        if !self.checked[number].swap(true, Ordering::Relaxed) {
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
