//! Building compact filters from all their keys.

use super::construct::{Constructed, WORTH_A_THREAD, construct, on_threads};
use super::scatter::{Lane, bits_for};
use super::shape::Columns;
use super::{Compact, CompactFilter};
use crate::error::SizeError;
use crate::filter::Filter;
use crate::kernel::pipeline::hash_all;
use crate::kernel::{Body, Cpu, Task};
use crate::keys::Keys;
use crate::native::dialect::Head;
use crate::native::hashing::{Hasher, Hashing};
use crate::probe::systems::first_z;
use std::sync::Mutex;
use std::vec::Vec;

/// Keys that are hashed at a time.
const AT_A_TIME: usize = 1024;

/// Collects the keys of a compact filter and builds it.
///
/// The bytes of the filter depend on the set of keys, the rate and the hash only: not on their order, on repeated
/// keys, or on the number of threads.
///
/// ```
/// use fullbloom::keys::Column;
/// use fullbloom::native::CompactBuilder;
///
/// let mut builder = CompactBuilder::new(0.01)?;
/// for start in (0..100_000u64).step_by(10_000) {
///     let some: Vec<u64> = (start..start + 10_000).collect();
///     builder.insert_batch(&Column(&some))?;
/// }
/// builder.insert(b"alice")?;
/// builder.insert(b"alice")?; // counts once
/// let filter = builder.finish()?;
/// assert_eq!(filter.keys(), 100_001);
/// assert!(filter.may_contain(b"alice") && filter.bits().len() * 8 < 710_000);
/// # Ok::<(), fullbloom::SizeError>(())
/// ```
#[derive(Debug)]
pub struct CompactBuilder {
    columns: Columns,
    hashing: Hashing,
    hasher: Hasher,
    threads: usize,
    lanes: Vec<Lane>,
}

impl CompactBuilder {
    /// For a filter with this rate, from 2^-64 to 0.5.
    pub fn new(fpr: f64) -> Result<CompactBuilder, SizeError> {
        let (columns, hashing) = (Columns::for_fpr(fpr)?, Hashing::default());
        let hasher = Hasher::new(&hashing);
        Ok(CompactBuilder { columns, hashing, hasher, threads: 1, lanes: vec![Lane::new(0)] })
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
        if self.len() == 0 {
            self.lanes = vec![Lane::new(bits_for(keys))];
        }
        self
    }

    /// Insertions so far, repeated keys included.
    pub fn len(&self) -> u64 {
        self.lanes.iter().map(Lane::len).sum()
    }

    /// Whether no key has been inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a key.
    pub fn insert(&mut self, key: &[u8]) -> Result<(), SizeError> {
        use crate::keys::KeyHasher as _;
        let z = first_z(self.hasher.hash(key));
        self.lanes[0].add(&[z])
    }

    /// Adds many keys.
    pub fn insert_batch<K: Keys<Hasher> + Sync + ?Sized>(&mut self, keys: &K) -> Result<(), SizeError> {
        let count = keys.count();
        let threads = self.threads.min(count / WORTH_A_THREAD as usize + 1);
        let bits = self.lanes[0].bits();
        while self.lanes.len() < threads {
            self.lanes.push(Lane::new(bits));
        }
        let part = count.div_ceil(threads).next_multiple_of(AT_A_TIME);
        let hasher = &self.hasher;
        let lanes: Vec<Mutex<&mut Lane>> = self.lanes.iter_mut().map(Mutex::new).collect();
        on_threads(threads, |i| {
            let range = (i * part).min(count)..((i + 1) * part).min(count);
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

    /// The filter of all keys.
    pub fn finish(self) -> Result<CompactFilter, SizeError> {
        let Constructed { shape, array, keys } = construct(self.lanes, self.columns, self.threads)?;
        let mut head = Head::new(self.hashing, keys);
        head.keys = keys;
        Ok(Filter { dialect: Compact::from_parts(shape, head), bits: array })
    }
}

/// From hashes to the numbers of the first layer, and into buckets.
struct Distribute<'a>(&'a mut Lane, &'a mut [u64]);

impl Task for Distribute<'_> {
    type Output = Result<(), SizeError>;

    #[inline(always)]
    fn run<B: Body>(self, _: B) -> Result<(), SizeError> {
        let Distribute(lane, hashes) = self;
        hashes.iter_mut().for_each(|hash| *hash = first_z(*hash));
        lane.add(hashes)
    }
}
