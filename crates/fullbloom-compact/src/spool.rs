//! Numbers on the disk, in parts by their top bits, for more keys than the memory may hold.

use fullbloom_core::error::BuildError;
use fullbloom_core::partition::{Bucket, Lane};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec::Vec;

/// Top bits of a part: 256 parts, each of which must fit into the memory.
pub(crate) const PART_BITS: u32 = 8;

/// A file that is gone when it is dropped; on Unix it never has a name that anybody sees for long.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    path: PathBuf,
    /// Where the numbers of each part are: offset in bytes, and how many.
    parts: Vec<Vec<(u64, usize)>>,
    end: u64,
    len: u64,
}

impl Spool {
    /// A new file in this directory.
    pub(crate) fn new(directory: &Path) -> Result<Spool, BuildError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".fullbloom-{}-{number}.spool", std::process::id()));
        let failed = |e| BuildError::spool(&path, e);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(failed)?;
        // Without a name it is gone with the process, however that ends.
        #[cfg(unix)]
        std::fs::remove_file(&path).map_err(failed)?;
        let mut parts = Vec::new();
        parts.resize_with(1 << PART_BITS, Vec::new);
        Ok(Spool { file, path, parts, end: 0, len: 0 })
    }

    /// Numbers in the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Moves the numbers of a lane into the file.
    pub(crate) fn write(&mut self, lane: Lane) -> Result<(), BuildError> {
        let mut lane = lane.refined(PART_BITS)?;
        let each = 1usize << (lane.bits() - PART_BITS);
        let buckets = lane.take()?;
        let Spool { file, path, parts, end, len } = self;
        let mut failed = |e| BuildError::spool(path, e);
        file.seek(SeekFrom::Start(*end)).map_err(&mut failed)?;
        let mut out = BufWriter::with_capacity(1 << 18, &*file);
        for (part, buckets) in parts.iter_mut().zip(buckets.chunks(each)) {
            let count: usize = buckets.iter().map(Bucket::count).sum();
            if count == 0 {
                continue;
            }
            for number in buckets.iter().flat_map(|bucket| bucket.chunks()).flatten() {
                out.write_all(&number.to_le_bytes()).map_err(&mut failed)?;
            }
            part.push((*end, count));
            *end += 8 * count as u64;
            *len += count as u64;
        }
        out.flush().map_err(failed)
    }

    /// The numbers of a part, distributed by `bits` bits.
    pub(crate) fn read(&mut self, part: usize, bits: u32) -> Result<Lane, BuildError> {
        let mut lane = Lane::new(bits);
        let (mut bytes, mut numbers) = (vec![0; 1 << 16], Vec::new());
        for &(at, count) in &self.parts[part] {
            self.file.seek(SeekFrom::Start(at)).map_err(|e| BuildError::spool(&self.path, e))?;
            let mut left = 8 * count;
            while left > 0 {
                let some = &mut bytes[..left.min(1 << 16)];
                self.file.read_exact(some).map_err(|e| BuildError::spool(&self.path, e))?;
                left -= some.len();
                numbers.clear();
                numbers.extend(some.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)));
                lane.add(&numbers)?;
            }
        }
        Ok(lane)
    }

    /// Numbers of a part.
    pub(crate) fn part_len(&self, part: usize) -> u64 {
        self.parts[part].iter().map(|(_, count)| *count as u64).sum()
    }
}

#[cfg(not(unix))]
impl Drop for Spool {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_file(&self.path);
    }
}
