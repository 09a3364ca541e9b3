//! The numbers of a layer's keys: in memory, or on the disk when they are too many.

use super::spool::Spool;
use fullbloom_core::error::BuildError;
use fullbloom_core::partition::Lane;
use std::path::PathBuf;
use std::vec::Vec;

/// Where numbers go that the memory cannot hold, and how much it may hold.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Bytes of scratch memory.
    pub(crate) memory: u64,
    /// `None` is the system's directory for temporary files. Not every system has one: it is looked for when
    /// needed.
    pub(crate) directory: Option<PathBuf>,
}

impl Room {
    /// The most numbers that are kept in memory: sorting and the bumped keys need room as well.
    fn numbers(&self) -> u64 {
        self.memory.max(LEAST) / 10
    }
}

/// The average number of keys of a bucket is between this and its double: sorted in the second-level cache.
const BUCKET_KEYS: u64 = 1 << 12;

/// The most top bits that are used: what is staged for more buckets does not stay in the second-level cache.
const MAX_BITS: u32 = 11;

/// The number of top bits to distribute this many keys by.
pub(crate) fn bits_for(keys: u64) -> u32 {
    (keys / BUCKET_KEYS).checked_ilog2().unwrap_or(0).min(MAX_BITS)
}

/// Less memory than this is not asked for.
const LEAST: u64 = 16 << 20;

/// The numbers.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) spool: Option<Spool>,
    room: Room,
    bits: u32,
}

impl Collected {
    /// Without numbers; `expected` of them will come, roughly.
    pub(crate) fn new(room: Room, expected: u64) -> Collected {
        let bits = bits_for(expected.min(room.numbers()));
        Collected { lanes: vec![Lane::new(bits)], spool: None, room, bits }
    }

    pub(crate) fn len(&self) -> u64 {
        let in_memory: u64 = self.lanes.iter().map(Lane::count).sum();
        in_memory + self.spool.as_ref().map_or(0, Spool::len)
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// So many lanes, at least.
    pub(crate) fn lanes(&mut self, count: usize) -> &mut [Lane] {
        while self.lanes.len() < count {
            self.lanes.push(Lane::new(self.bits));
        }
        &mut self.lanes
    }

    /// The number of keys that fit into memory before the next [`spill`](Collected::spill).
    pub(crate) fn room_left(&self) -> u64 {
        let in_memory: u64 = self.lanes.iter().map(Lane::count).sum();
        self.room.numbers().saturating_sub(in_memory).max(1 << 14)
    }

    /// Moves the numbers to the disk if there are too many.
    pub(crate) fn spill(&mut self) -> Result<(), BuildError> {
        let in_memory: u64 = self.lanes.iter().map(Lane::count).sum();
        if in_memory < self.room.numbers() {
            return Ok(());
        }
        self.spill_all()
    }

    fn spill_all(&mut self) -> Result<(), BuildError> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            None => {
                let directory = self.room.directory.clone().unwrap_or_else(std::env::temp_dir);
                self.spool.insert(Spool::new(&directory)?)
            }
        };
        for lane in &mut self.lanes {
            spool.write(core::mem::replace(lane, Lane::new(self.bits)))?;
        }
        Ok(())
    }

    /// The numbers in one place: all in memory, or all on the disk.
    pub(crate) fn finish(mut self) -> Result<Finished, BuildError> {
        if self.spool.is_some() {
            self.spill_all()?;
        }
        Ok(match self.spool {
            Some(spool) => Finished::Disk(spool),
            None => Finished::Memory(self.lanes),
        })
    }
}

/// All numbers of a layer.
pub(crate) enum Finished {
    Memory(Vec<Lane>),
    Disk(Spool),
}
