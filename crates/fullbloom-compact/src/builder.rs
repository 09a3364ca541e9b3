//! Building compact filters from all their keys.

use super::collect::{Collected, Room};
use super::construct::{Constructed, WORTH_A_THREAD, construct};
use super::shape::Columns;
use crate::CompactFilter;
use crate::compact::Compact;
use core::ops::Range;
use fullbloom_core::error::BuildError;
use fullbloom_core::error::SizeError;
use fullbloom_core::kernel::pipeline::hash_all;
use fullbloom_core::kernel::{Body, Cpu, Task};
use fullbloom_core::keys::{Hashes, Key, Keys, each_valid};
use fullbloom_core::memory;
use fullbloom_core::native::hashing::{Hasher, Hashing};
use fullbloom_core::native::head::Head;
use fullbloom_core::partition::Lane;
use fullbloom_core::threads::try_on_threads;
use std::sync::Mutex;
use std::vec::Vec;

/// Keys that are hashed at a time.
const AT_A_TIME: usize = 1024;

/// Collects the keys of a compact filter and builds it.
///
/// The bytes of the filter depend on the set of keys, the rate and the hash only: not on their order, on
/// repeated keys, or on the number of threads.
///
/// ```
/// use fullbloom_compact::keys::Column;
/// use fullbloom_compact::CompactBuilder;
///
/// let mut builder = CompactBuilder::new(0.01)?;
/// for start in (0..100_000u64).step_by(10_000) {
///     let some: Vec<u64> = (start..start + 10_000).collect();
///     builder.add_batch(&Column(&some))?;
/// }
/// builder.add(b"alice")?;
/// builder.add(b"alice")?; // counts once
/// let filter = builder.build()?;
/// assert_eq!(filter.keys(), 100_001);
/// assert!(filter.may_contain(b"alice") && filter.bits().len() * 8 < 710_000);
/// # Ok::<(), fullbloom_compact::error::BuildError>(())
/// ```
///
/// It keeps eight bytes of each key. When they need more than the [memory](CompactBuilder::memory) it may
/// take, they go to a file, which is gone when the filter is built or the process ends.
#[derive(Debug)]
pub struct CompactBuilder {
    columns: Columns,
    hashing: Hashing,
    hasher: Hasher,
    threads: usize,
    keys: Collected,
}

/// Scratch memory, unless set.
const MEMORY: u64 = 1 << 30;

impl CompactBuilder {
    /// For a filter with this rate, from 2^-64 to 0.5.
    pub fn new(fpr: f64) -> Result<CompactBuilder, SizeError> {
        let (columns, hashing) = (Columns::for_fpr(fpr)?, Hashing::default());
        let hasher = Hasher::new(&hashing);
        let room = Room { memory: MEMORY, directory: None };
        Ok(CompactBuilder { columns, hashing, hasher, threads: 1, keys: Collected::new(room, 0) })
    }

    /// Hashes keys with this seed or secret.
    ///
    /// # Panics
    /// If keys have been inserted.
    #[must_use]
    pub fn hashing(mut self, hashing: Hashing) -> CompactBuilder {
        assert_eq!(self.len(), 0, "the hash is chosen before the first key");
        self.hasher = Hasher::new(&hashing);
        self.hashing = hashing;
        self
    }

    /// Uses this many threads; 0 means one per core. One, unless set.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> CompactBuilder {
        self.threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        self
    }

    /// The number of keys that will be inserted, roughly. It makes building faster and changes nothing else.
    #[must_use]
    pub fn expected_keys(mut self, keys: u64) -> CompactBuilder {
        if self.is_empty() {
            self.keys = Collected::new(self.keys.room().clone(), keys);
        }
        self
    }

    /// Takes about this much memory besides the filter itself, at least 16 MiB. 1 GiB, unless set.
    ///
    /// # Panics
    /// If keys have been inserted.
    #[must_use]
    pub fn memory(self, bytes: u64) -> CompactBuilder {
        let directory = self.keys.room().directory.clone();
        self.with_room(Room { memory: bytes, directory })
    }

    /// Keeps what does not fit into the memory in a file in this directory. The system's directory for
    /// temporary files, unless set.
    ///
    /// # Panics
    /// If keys have been inserted.
    #[must_use]
    pub fn spool_in(self, directory: impl Into<std::path::PathBuf>) -> CompactBuilder {
        let memory = self.keys.room().memory;
        self.with_room(Room { memory, directory: Some(directory.into()) })
    }

    fn with_room(mut self, room: Room) -> CompactBuilder {
        assert!(self.is_empty(), "the memory is chosen before the first key");
        self.keys = Collected::new(room, 0);
        self
    }

    /// Insertions so far, repeated keys included.
    pub fn len(&self) -> u64 {
        self.keys.len()
    }

    /// Whether no key has been inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a key. Adding it again changes nothing.
    pub fn add(&mut self, key: impl Key<Hasher>) -> Result<(), BuildError> {
        let hash = key.hash_with(&self.hasher);
        self.keys.lanes(1)[0].add(&[hash])?;
        self.keys.spill()
    }

    /// Adds many keys. Null keys are left out.
    pub fn add_batch<K: Keys<Hasher> + Sync + ?Sized>(&mut self, keys: &K) -> Result<(), BuildError> {
        let hasher = self.hasher.clone();
        keys.require(&hasher, None)?;
        match keys.validity() {
            None => self.add_valid(keys),
            Some(validity) => each_valid(keys, validity, &hasher, |hashes| self.add_valid(hashes)),
        }
    }

    fn add_valid<K: Keys<Hasher> + Sync + ?Sized>(&mut self, keys: &K) -> Result<(), BuildError> {
        let mut start = 0;
        while start < keys.count() {
            let room = usize::try_from(self.keys.room_left()).unwrap_or(usize::MAX);
            let end = keys.count().min(start.saturating_add(room));
            self.insert_range(keys, start..end)?;
            self.keys.spill()?;
            start = end;
        }
        Ok(())
    }

    fn insert_range<K: Keys<Hasher> + Sync + ?Sized>(
        &mut self,
        keys: &K,
        all: Range<usize>,
    ) -> Result<(), SizeError> {
        let threads = self.threads.min(all.len() / WORTH_A_THREAD as usize + 1);
        let part = all.len().div_ceil(threads).next_multiple_of(AT_A_TIME);
        let hasher = &self.hasher;
        let lanes = self.keys.lanes(threads);
        if threads > 1 {
            memory::require(lanes[..threads].iter().map(|lane| lane.growth(part as u64)).sum())?;
        }
        let lanes: Vec<Mutex<&mut Lane>> = lanes.iter_mut().map(Mutex::new).collect();
        try_on_threads(threads, |i| {
            let start = (all.start + i * part).min(all.end);
            let range = start..(start + part).min(all.end);
            let mut lane = lanes[i].lock().unwrap_or_else(|e| e.into_inner());
            let (cpu, mut hashes) = (Cpu::in_use(), [0; AT_A_TIME]);
            for start in range.clone().step_by(AT_A_TIME) {
                let hashes = &mut hashes[..(range.end - start).min(AT_A_TIME)];
                hash_all(cpu, keys, hasher, start, hashes);
                cpu.run(Distribute(&mut lane, hashes))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The encoded filter of all keys.
    pub fn finish(self) -> Result<Vec<u8>, BuildError> {
        self.build().map(|filter| filter.encode())
    }

    /// The filter of all keys.
    pub fn build(self) -> Result<CompactFilter, BuildError> {
        let Constructed { shape, array, keys } = construct(self.keys, self.columns, self.threads)?;
        let mut head = Head::new(self.hashing, keys);
        head.keys = keys;
        Ok(CompactFilter { compact: Compact::from_parts(shape, head), bits: array })
    }
}

impl CompactFilter {
    /// The filter of hashes that the hasher of these facts makes of its keys.
    #[doc(hidden)]
    pub fn of_hashes(
        mut hashes: impl Iterator<Item = u64>,
        head: Head,
        fpr: f64,
    ) -> Result<CompactFilter, BuildError> {
        let mut builder = CompactBuilder::new(fpr)?.expected_keys(head.expected_keys);
        loop {
            let some: Vec<u64> = hashes.by_ref().take(AT_A_TIME).collect();
            if some.is_empty() {
                break;
            }
            builder.add_valid(&Hashes::new(&some, &builder.hasher.clone()))?;
        }
        let Constructed { shape, array, keys } = construct(builder.keys, builder.columns, 1)?;
        let head = Head { keys, expected_keys: keys, ..head };
        Ok(CompactFilter { compact: Compact::from_parts(shape, head), bits: array })
    }
}

/// A filter of these keys with a rate of 1 %.
///
/// # Panics
/// If there is not enough memory, or no room for a temporary file of keys that do not fit into a gigabyte.
impl<K: Key<Hasher>> FromIterator<K> for CompactFilter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut builder = CompactBuilder::new(0.01).expect("a rate of 1 % is possible");
        keys.into_iter().try_for_each(|key| builder.add(key)).expect("memory for the keys");
        builder.build().expect("memory for the filter")
    }
}

/// Puts hashes, which are the numbers of the first layer, into buckets.
struct Distribute<'a>(&'a mut Lane, &'a [u64]);

impl<B: Body> Task<B> for Distribute<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run(self, _: B) -> Result<(), SizeError> {
        let Distribute(lane, hashes) = self;
        lane.add(hashes)
    }
}
